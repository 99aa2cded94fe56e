//! Compressed session files: Codex compresses rollouts that were not used for a while, with Zstandard.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The first bytes of a frame of Zstandard.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// What the name of a compressed session ends with, after that of the session.
const ENDING: &str = "zst";

/// Returns whether a path has the name of a session file: `*.jsonl`, or compressed `*.jsonl.zst`.
pub fn is_session_name(path: &Path) -> bool {
    let is = |path: &Path, ending: &str| path.extension().is_some_and(|extension| extension == ending);
    is(path, "jsonl") || is_named(path) && path.file_stem().is_some_and(|stem| is(Path::new(stem), "jsonl"))
}

/// Returns whether a file has the name of a compressed one.
pub(crate) fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == ENDING)
}

/// Returns whether an open file is compressed; only the contents of files with such a name are looked
/// at.
pub(crate) fn is_compressed(path: &Path, file: &File) -> bool {
    let mut start = [0; MAGIC.len()];
    is_named(path) && file.read_exact_at(&mut start, 0).is_ok() && start == MAGIC
}

/// Returns whether bytes in memory are compressed.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Unpacks a file, at most its first `most` bytes.
///
/// The result is in memory as a whole. Fails if the file is damaged: a checksum is compared, if there
/// is one.
pub(crate) fn unpack(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(file)?;
    decoder.take(most).read_to_end(&mut bytes).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, "the compressed file is damaged, or cut off")
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Packs a text, with its checksum.
    fn pack(text: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn frames_are_unpacked_one_after_the_other() {
        let one = pack(&b"{\"a\":1}\n".repeat(100_000));
        let two = pack(b"{\"b\":2}\n");
        let both = [&one[..], &two].concat();
        assert!(is_packed(&both));
        let text = unpack(&both[..], u64::MAX).unwrap();
        assert_eq!((text.len(), &text[800_000..]), (800_008, &b"{\"b\":2}\n"[..]));
        assert_eq!(unpack(&both[..], 10).unwrap(), text[..10]);
        assert!(unpack(&both[..both.len() - 3], u64::MAX).is_err());
        // A byte of the text.
        let mut damaged = two.clone();
        let at = damaged.iter().position(|byte| *byte == b'b').unwrap();
        damaged[at] = b'c';
        assert!(unpack(&damaged[..], u64::MAX).is_err());
    }

    #[test]
    fn names_of_sessions_end_in_jsonl() {
        let is = |name: &str| is_session_name(Path::new(name));
        assert!(is("/a/rollout-1.jsonl") && is("rollout-1.jsonl.zst"));
        assert!(!is("rollout-1.zst") && !is("rollout-1.json") && !is(".zst"));
    }
}
