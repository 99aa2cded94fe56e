//! Properties of arbitrary bytes: each function takes some bytes, and panics if they violate one.

use bough::internals::format::{Ids, Session};
use bough::internals::fsck::{self, NoSurroundings, RepairOptions};
use bough::internals::json::{Line, Reader, Shape};
use bough::internals::model::{Piece, Source, Table, Target};
use serde::de::IgnoredAny;

/// The reader agrees with a full parser about each line, and with itself whatever the pieces in
/// which the bytes arrive.
///
/// The first byte determines the size of the pieces.
pub fn lines(data: &[u8]) {
    let Some((piece, text)) = data.split_first() else { return };
    let mut whole = Vec::new();
    read(text, usize::MAX, |line| {
        if let Some(bytes) = line.bytes {
            let valid = serde_json::from_slice::<IgnoredAny>(bytes);
            let sound = matches!(line.shape, Shape::Object | Shape::Scalar);
            let too_deep = |error: &serde_json::Error| error.to_string().contains("recursion limit");
            match valid {
                Ok(_) => assert!(sound || is_deep(bytes), "{:?}", line.shape),
                // serde_json gives up at a depth that the reader still accepts.
                Err(error) => assert!(!sound || too_deep(&error), "{error}"),
            }
        }
        whole.push((line.number, line.offset, line.len, line.ending, line.shape, line.notes));
    });
    let mut at = 0;
    read(text, usize::from(*piece) + 1, |line| {
        let seen = (line.number, line.offset, line.len, line.ending, line.shape, line.notes);
        assert_eq!(whole.get(at), Some(&seen));
        at += 1;
    });
    assert_eq!(at, whole.len());
}

/// Returns whether values are nested deeper than the reader can go.
fn is_deep(line: &[u8]) -> bool {
    let (mut depth, mut most, mut text, mut escaped) = (0, 0, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if text => escaped = true,
            b'"' => text = !text,
            b'{' | b'[' if !text => depth += 1,
            b'}' | b']' if !text => depth -= 1,
            _ => {}
        }
        most = most.max(depth);
    }
    most > 1024
}

fn read(text: &[u8], piece: usize, mut each: impl FnMut(&Line<'_>)) {
    let mut reader = Reader::new();
    let mut rest = text;
    while !rest.is_empty() {
        let space = reader.space();
        let count = rest.len().min(space.len()).min(piece);
        space[..count].copy_from_slice(&rest[..count]);
        rest = &rest[count..];
        reader.advance(count, &mut each);
    }
    reader.finish(&mut each);
}

/// Any bytes that are a session of some format yield a tree in which each entry has one place.
pub fn session(data: &[u8]) {
    let Some(session) = Session::read(data) else { return };
    let (entries, tree) = (&session.entries, &session.tree);
    let depths = tree.depths();
    let below: usize = tree.roots().map(|root| tree.subtree(root).len()).sum();
    assert_eq!(below, tree.entries_in_tree().count());
    for ix in entries.all() {
        let span = session.span(ix);
        assert!(span.offset + span.len <= data.len() as u64);
        // A line may have several entries.
        let on_line = entries.on_line(0, entries.line(ix));
        assert_eq!(on_line.map(|found| entries.line(found)), Some(entries.line(ix)));
    }
    for leaf in tree.leaves().take(8) {
        assert_eq!(tree.path(leaf).len(), depths[leaf.index()] as usize);
    }
    if let Some(head) = session.head.entry {
        assert!(tree.is_in_tree(head));
    }
}

/// A file is examined without a panic; a repair that verifies itself leaves nothing to repair.
pub fn repair(data: &[u8]) {
    let source = Table(vec![data.to_vec()]);
    let around = NoSurroundings("s.jsonl");
    let Ok(examined) = fsck::examine(None, &source, data.len() as u64, None, &around) else { return };
    let options = RepairOptions::default();
    let Ok(repair) = fsck::repair(&examined, &source, &around, &options, &mut Ids::seeded("fuzz")) else {
        return;
    };
    let Some(mended) = repair.plan.targets.iter().find_map(|target| content(target, &source)) else { return };
    let source = Table(vec![mended]);
    let len = source.0[0].len() as u64;
    let Ok(again) = fsck::examine(None, &source, len, None, &around) else { return };
    let Ok(second) = fsck::repair(&again, &source, &around, &options, &mut Ids::seeded("fuzz")) else {
        return;
    };
    if let Some(twice) = second.plan.targets.iter().find_map(|target| content(target, &source)) {
        assert!(twice == source.0[0], "a second repair changed bytes");
    }
}

/// Returns the content of the main file after a target of a plan was carried out.
fn content(target: &Target, source: &Table) -> Option<Vec<u8>> {
    match target {
        Target::Append { file: 0, bytes } => Some([&source.0[0][..], bytes].concat()),
        Target::Rewrite { file: 0, pieces } => Piece::join(pieces, source as &dyn Source).ok(),
        _ => None,
    }
}
