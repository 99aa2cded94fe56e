//! Reading a text of pieces as a session.

use super::rope::{Patched, Text};
use crate::format::{Builder, Detected, Format, Session, detect_in_blocks};
use crate::model::{Copies, Source, Span};
use std::io;

/// The number of bytes that are read at a time.
const BLOCK: u64 = 256 * 1024;

/// Reads a text as a session of a format; the first copy of an id represents it.
pub(super) fn scan(format: Format, source: &Patched<'_>) -> io::Result<Session> {
    let mut builder = Builder::new(format);
    builder.copies(Copies::First);
    builder.side();
    builder.read(source, source.text.len())
}

/// Reads a text as the agent itself would, with its own rule for repeated ids.
pub(super) fn scan_as_agent(format: Format, source: &Patched<'_>) -> io::Result<Session> {
    let mut builder = Builder::new(format);
    builder.side();
    builder.read(source, source.text.len())
}

/// Passes the bytes of a text to `each`, block by block.
pub(super) fn each_block(source: &Patched<'_>, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut block = Vec::new();
    let mut offset = 0;
    while offset < source.text.len() {
        let len = BLOCK.min(source.text.len() - offset);
        source.read(Span { file: 0, offset, len }, &mut block)?;
        each(&block);
        offset += len;
    }
    Ok(())
}

/// Detects the format of a text from its first lines.
pub(super) fn detect_format(source: &Patched<'_>) -> io::Result<Detected> {
    const FIRST: u64 = 16 << 10;
    detect_in_blocks(None, |offset, block| {
        let len = FIRST.min(source.text.len() - offset);
        source.read(Span { file: 0, offset, len }, block)
    })
}

/// Returns the text as UTF-8 if it is UTF-16, or `None` for anything else.
///
/// Recognized by its byte order mark, or by zeros in every other one of the first bytes.
pub(super) fn from_utf16(source: &Patched<'_>) -> io::Result<Option<Text>> {
    let len = source.text.len();
    let head = source.bytes(Span { file: 0, offset: 0, len: len.min(64) })?;
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let (big, mark) = match head[..] {
        [0xFF, 0xFE, ..] => (false, 2),
        [0xFE, 0xFF, ..] => (true, 2),
        _ if head.len() < 4 => return Ok(None),
        [_, 0, _, 0, ..] if zeros(1) * 2 + 2 >= head.len() && zeros(0) == 0 => (false, 0),
        [0, _, 0, _, ..] if zeros(0) * 2 + 2 >= head.len() && zeros(1) == 0 => (true, 0),
        _ => return Ok(None),
    };
    let mut out = Vec::with_capacity((len / 2) as usize);
    let unit = |pair: [u8; 2]| if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
    // Half a surrogate pair at the end of a block waits for the next one.
    let mut waiting: Vec<u16> = Vec::new();
    let mut offset = mark;
    while offset < len {
        let block = source.bytes(Span { file: 0, offset, len: BLOCK.min(len - offset) })?;
        offset += block.len() as u64;
        let mut units = std::mem::take(&mut waiting);
        units.extend(block.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])));
        if offset < len && units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
            waiting.extend(units.pop());
        }
        for character in char::decode_utf16(units) {
            match character {
                Ok(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
                // As JSON writes it, so that nothing is lost and a check finds it.
                Err(half) => {
                    out.extend_from_slice(format!("\\u{:04x}", half.unpaired_surrogate()).as_bytes())
                }
            }
        }
    }
    Ok(Some(Text::recoded(out)))
}
