//! What a change shows of the bytes that it takes and gives.

/// So many bytes of a line are shown in a change.
pub(super) const MOST: usize = 400;

/// Bytes as a change shows them: whole where they are short.
pub(super) fn short(bytes: &[u8]) -> String {
    shortened(&bytes[..bytes.len().min(MOST)], bytes.len())
}

/// The first bytes of a line of some length.
pub(super) fn shortened(start: &[u8], len: usize) -> String {
    let text = String::from_utf8_lossy(start).into_owned();
    if len > start.len() { format!("{text}… ({len} bytes)") } else { text }
}

/// How many bytes two lines have in common at their starts, and behind these at their ends.
pub(super) fn differing(old: &[u8], new: &[u8]) -> (usize, usize) {
    let from = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let behind = old[from..].iter().rev().zip(new[from..].iter().rev()).take_while(|(a, b)| a == b).count();
    (from, behind)
}
