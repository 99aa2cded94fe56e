//! Excerpts of the bytes that a change removes and adds.

/// The maximum number of bytes of a line that are shown in a change.
pub(super) const MOST: usize = 400;

/// Returns bytes as a change shows them: completely if they are short.
pub(super) fn short(bytes: &[u8]) -> String {
    shortened(&bytes[..bytes.len().min(MOST)], bytes.len())
}

/// Returns an excerpt from the first bytes of a line and its length.
pub(super) fn shortened(start: &[u8], len: usize) -> String {
    let text = String::from_utf8_lossy(start).into_owned();
    if len > start.len() { format!("{text}… ({len} bytes)") } else { text }
}

/// Returns how many bytes two lines have in common at their starts and, after these, at their ends.
pub(super) fn differing(old: &[u8], new: &[u8]) -> (usize, usize) {
    let from = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let behind = old[from..].iter().rev().zip(new[from..].iter().rev()).take_while(|(a, b)| a == b).count();
    (from, behind)
}
