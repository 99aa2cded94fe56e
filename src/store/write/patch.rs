//! Backups of moved files: what must change in the new file to get the old one back.
//!
//! A move changes a few paths in a file that may be large. Its backup is not a second copy but a
//! patch: a line of JSON with the replaced stretches as hex digits (`literals`), then numbers of
//! seven bits a byte: how many hunks there are; for each, how many bytes of the new file are kept,
//! how many are skipped, and which literal takes their place; and how many bytes are kept at last.

use super::stamp;
use crate::model::Piece;
use crate::store::oplog::hex;
use std::collections::HashMap;
use std::fs::File;
use std::io;

/// How many bytes of the old file are read at a time.
const BLOCK: u64 = 64 * 1024;

/// Returns the patch that turns the content of `pieces` into the old file again, or `None` if the
/// pieces are not stretches of that file in their order.
pub(super) fn inverse(pieces: &[Piece], old: &File, len: u64) -> io::Result<Option<Vec<u8>>> {
    let mut literals: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut hunks: Vec<[u64; 3]> = Vec::new();
    let (mut keep, mut skip, mut old_at) = (0, 0, 0);
    // What was read last, and where it begins: the replaced stretches are close to each other.
    let (mut block, mut block_at) = (Vec::new(), 0);
    let mut close = |keep: &mut u64, skip: &mut u64, from: u64, to: u64| -> io::Result<()> {
        if *skip > 0 || to > from {
            if from < block_at || to > block_at + block.len() as u64 {
                block = stamp::read_at(old, from, BLOCK.min(len - from).max(to - from) as usize)?;
                block_at = from;
            }
            let place = (from - block_at) as usize..(to - block_at) as usize;
            let gone = block.get(place).ok_or(io::ErrorKind::UnexpectedEof)?;
            let next = literals.len() as u64;
            let literal = match literals.get(gone) {
                Some(known) => *known,
                None => *literals.entry(gone.to_owned()).or_insert(next),
            };
            hunks.push([std::mem::take(keep), std::mem::take(skip), literal]);
        }
        Ok(())
    };
    for piece in pieces {
        match piece {
            Piece::New(bytes) => skip += bytes.len() as u64,
            Piece::Keep(span) if span.offset < old_at || span.offset + span.len > len => return Ok(None),
            Piece::Keep(span) => {
                close(&mut keep, &mut skip, old_at, span.offset)?;
                keep += span.len;
                old_at = span.offset + span.len;
            }
        }
    }
    close(&mut keep, &mut skip, old_at, len)?;
    let mut texts = vec![String::new(); literals.len()];
    for (bytes, at) in literals {
        texts[at as usize] = hex(&bytes);
    }
    let mut out = serde_json::to_vec(&serde_json::json!({ "bough": "patch", "literals": texts }))?;
    out.push(b'\n');
    number(hunks.len() as u64, &mut out);
    hunks.iter().flatten().for_each(|value| number(*value, &mut out));
    number(keep, &mut out);
    Ok(Some(out))
}

/// Passes the old content to `put`, made of the patch and the new file.
pub(crate) fn apply(
    patch: &[u8],
    new: &File,
    put: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "the backup is not a patch");
    let end = memchr::memchr(b'\n', patch).ok_or_else(bad)?;
    let header: serde_json::Value = serde_json::from_slice(&patch[..end])?;
    let texts = header.get("literals").and_then(|list| list.as_array()).ok_or_else(bad)?;
    let literals: Option<Vec<Vec<u8>>> = texts.iter().map(|text| unhex(text.as_str()?)).collect();
    let literals = literals.ok_or_else(bad)?;
    let mut rest = &patch[end + 1..];
    let mut next = || take_number(&mut rest).ok_or_else(bad);
    let mut at = 0;
    for _ in 0..next()? {
        let (keep, skip, literal) = (next()?, next()?, next()?);
        stamp::each_block(new, at, keep, &mut *put)?;
        put(literals.get(literal as usize).ok_or_else(bad)?)?;
        at += keep + skip;
    }
    stamp::each_block(new, at, next()?, put)
}

fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Span;
    use std::io::Write;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_patch_gives_the_old_bytes_back() {
        let old = b"0123456789abcdef";
        let keep = |offset, len| Piece::Keep(Span { file: 3, offset, len });
        let new = |text: &str| Piece::New(text.into());
        let check = |pieces: &[Piece]| {
            let mut made = Vec::new();
            for piece in pieces {
                match piece {
                    Piece::Keep(span) => {
                        made.extend_from_slice(&old[span.offset as usize..(span.offset + span.len) as usize]);
                    }
                    Piece::New(bytes) => made.extend_from_slice(bytes),
                }
            }
            let patch = inverse(pieces, &file(old), old.len() as u64).unwrap().unwrap();
            let mut back = Vec::new();
            let mut put = |bytes: &[u8]| {
                back.extend_from_slice(bytes);
                Ok(())
            };
            // What was appended since is not a part of the old file.
            made.extend_from_slice(b"and more");
            apply(&patch, &file(&made), &mut put).unwrap();
            assert_eq!(back, old, "{pieces:?}");
        };
        check(&[keep(0, 16)]);
        check(&[keep(0, 4), keep(4, 12)]);
        check(&[]);
        check(&[new("x")]);
        check(&[new("x"), keep(2, 5), new(""), new("yy"), keep(7, 1), keep(12, 3)]);
        check(&[keep(0, 3), new("x"), keep(3, 3), new("x"), keep(9, 7), new("end")]);
        let long = "z".repeat(70_000);
        check(&[new(&long), keep(1, 15)]);
        let none = inverse(&[keep(4, 2), keep(0, 2)], &file(old), 16).unwrap();
        assert_eq!(none, None);
    }

    #[test]
    fn a_damaged_patch_is_refused() {
        let patch = inverse(&[Piece::New(b"x".to_vec())], &file(b"ab"), 2).unwrap().unwrap();
        for len in 0..patch.len() {
            assert!(apply(&patch[..len], &file(b"x"), &mut |_| Ok(())).is_err(), "{len}");
        }
    }
}
