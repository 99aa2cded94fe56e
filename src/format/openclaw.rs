//! How OpenClaw interprets the links in its sessions: entries beside the conversation, and `leaf`
//! lines.
//!
//! It appends to a cursor of its own, which need not be the leaf. An entry with
//! `"appendMode":"side"` moves that cursor but not the leaf, and so does an entry of a type that it
//! does not know. A `leaf` line sets both, to earlier entries, and is not part of any path: its
//! children continue from its target. An entry whose parent is the cursor continues from the leaf,
//! if the two differ; so does an entry without a `parentId`.

use super::session::{Gathered, Pointer};
use crate::json::{Field, Line, Str, Value, member_at};
use crate::model::{Entries, Key};
use std::collections::HashMap;

/// The lines that have a special meaning in OpenClaw only, as entries in file order.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// Entries beside the conversation.
    sides: Vec<u32>,
    /// Entries without a parent field.
    unlinked: Vec<u32>,
    leaves: Vec<Leaf>,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    entry: u32,
    /// The entries to which it sets the leaf and the cursor; `None` if it is not well-formed.
    moves: Option<Moves>,
}

#[derive(Clone, Copy, Debug)]
struct Moves {
    target: Option<Key>,
    position: Option<Key>,
}

impl Rows {
    /// Reads the line of the next entry. Returns whether it is a side entry.
    #[inline]
    pub(super) fn line(&mut self, line: &Line<'_>, entry: u32) -> bool {
        let fields = &line.fields;
        let is_side = fields.has(Field::AppendMode)
            && fields.str(Field::AppendMode).is_some_and(|mode| mode.equals("side"));
        if is_side {
            self.sides.push(entry);
        }
        if !fields.has(Field::ParentId) {
            self.unlinked.push(entry);
        }
        is_side
    }

    /// Reads a `leaf` line.
    pub(super) fn leaf(&mut self, line: &Line<'_>, entry: u32) {
        let fields = &line.fields;
        let mode = fields.get(Field::AppendMode);
        let is_known_mode = match mode {
            Value::Absent => true,
            Value::String(mode) => mode.equals("side"),
            _ => false,
        };
        let target = reference(fields.get(Field::TargetId));
        let position = match line.bytes.and_then(|bytes| member_at(bytes, &["appendParentId"])) {
            None => target,
            Some(b"null") => Some(None),
            Some(raw) => match raw {
                [b'"', inner @ .., b'"'] => reference(Value::String(Str { raw: inner })),
                _ => None,
            },
        };
        let moves = match (reference(fields.get(Field::ParentId)), target, position) {
            (Some(_), Some(target), Some(position)) if is_known_mode => Some(Moves { target, position }),
            _ => None,
        };
        self.leaves.push(Leaf { entry, moves });
    }

    /// Returns whether there is a `leaf` line.
    pub(super) fn has_leaf(&self) -> bool {
        !self.leaves.is_empty()
    }

    /// Appends the lines of a later segment of the file; `entries` is the number of entries before
    /// it.
    pub(super) fn append(&mut self, next: Rows, entries: u32) {
        self.sides.extend(next.sides.iter().map(|entry| entry + entries));
        self.unlinked.extend(next.unlinked.iter().map(|entry| entry + entries));
        self.leaves.extend(next.leaves.iter().map(|leaf| Leaf { entry: leaf.entry + entries, ..*leaf }));
    }
}

/// Returns the reference in a field: an entry, or nothing if it is `null`; `None` if it is neither.
fn reference(value: Value<'_>) -> Option<Option<Key>> {
    match value {
        Value::Null => Some(None),
        Value::String(id) if !id.is_blank() => Some(Some(id.key())),
        _ => None,
    }
}

/// What OpenClaw knows under an id.
#[derive(Clone, Copy)]
enum Known {
    Entry,
    /// A `leaf` line, and the entry that it represents as a parent.
    Leaf {
        parent: Option<Key>,
        is_valid: bool,
    },
}

/// Links the entries as OpenClaw does, and stores its leaf as the only pointer.
pub(super) fn link(entries: &mut Entries, gathered: &mut Gathered) {
    let rows = std::mem::take(&mut gathered.openclaw);
    let (mut sides, mut unlinked) = (rows.sides.iter().peekable(), rows.unlinked.iter().peekable());
    let mut leaves = rows.leaves.iter().peekable();
    let mut known: HashMap<Key, Known> = HashMap::new();
    let mut links = Vec::new();
    let (mut leaf, mut position): (Option<Key>, Option<Key>) = (None, None);
    for ix in entries.all() {
        let is_side = sides.next_if_eq(&&ix.0).is_some();
        let is_unlinked = unlinked.next_if_eq(&&ix.0).is_some();
        let row = leaves.next_if(|row| row.entry == ix.0);
        let key = entries.key(ix);
        if key == Key::NONE {
            continue;
        }
        if let Some(row) = row {
            let Some(moves) = row.moves else { continue };
            let is_there = |to: Option<Key>| {
                to.is_none_or(|to| {
                    !matches!(known.get(&to), None | Some(Known::Leaf { is_valid: false, .. }))
                })
            };
            if is_there(moves.target) && is_there(moves.position) {
                (leaf, position) = (moves.target, moves.position);
                known.insert(key, Known::Leaf { parent: leaf, is_valid: true });
                links.push((ix, leaf));
                // A target that is itself such a line represents another entry.
                leaf = through(leaf, &known);
            } else {
                known.insert(key, Known::Leaf { parent: entries.parent_key(ix), is_valid: false });
            }
            continue;
        }
        let is_canonical = is_canonical(entries.ty(ix));
        if is_unlinked && !is_canonical {
            continue;
        }
        if is_canonical {
            let raw = entries.parent_key(ix);
            let follows = !is_side && raw == position && leaf != position;
            let parent = through(if is_unlinked || follows { leaf } else { raw }, &known);
            if parent != raw {
                links.push((ix, parent));
            }
        }
        known.insert(key, Known::Entry);
        position = Some(key);
        if is_canonical && !is_side {
            leaf = Some(key);
        }
    }
    entries.relink(links);
    gathered.pointers.clear();
    gathered.pointers.push(Pointer {
        line: entries.all().next_back().map_or(0, |last| entries.line(last)),
        before: entries.len() as u32,
        target: leaf,
        explicit: None,
    });
}

/// Returns the entry that a parent represents, looking through `leaf` lines.
fn through(parent: Option<Key>, known: &HashMap<Key, Known>) -> Option<Key> {
    let mut at = parent;
    // Lines of damaged files may form a cycle.
    for _ in 0..=known.len() {
        match at.and_then(|key| known.get(&key)) {
            Some(Known::Leaf { parent, .. }) => at = *parent,
            _ => return at,
        }
    }
    None
}

/// Returns whether a type is one of OpenClaw's. All others are opaque to it.
fn is_canonical(ty: &str) -> bool {
    matches!(
        ty,
        "message"
            | "thinking_level_change"
            | "model_change"
            | "compaction"
            | "reset"
            | "branch_summary"
            | "custom"
            | "custom_message"
            | "label"
            | "session_info"
    )
}

#[cfg(test)]
mod tests {
    use crate::format::{Format, Session};
    use crate::model::{Ix, Key};

    /// Reads lines as a session of OpenClaw. Each is `id<parent`, followed by its other fields
    /// after a space; `-` means no parent, and `?` no parent field.
    fn session(rows: &[&str]) -> Session {
        let mut text = String::from(
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/p\"}\n{\"type\":\"custom\",\"id\":\"mark\",\"parentId\":null,\"customType\":\"openclaw.x\"}\n",
        );
        for row in rows {
            let (link, more) = row.split_once(' ').unwrap_or((row, ""));
            let (id, parent) = link.split_once('<').unwrap();
            let parent = match parent {
                "?" => String::new(),
                "-" => ",\"parentId\":null".into(),
                parent => format!(",\"parentId\":\"{parent}\""),
            };
            let more = match more {
                "" => ",\"type\":\"message\"".into(),
                "side" => ",\"type\":\"message\",\"appendMode\":\"side\"".into(),
                "opaque" => ",\"type\":\"plugin_note\"".into(),
                "reset" => ",\"type\":\"reset\"".into(),
                leaf => format!(",\"type\":\"leaf\",{leaf}"),
            };
            text.push_str(&format!("{{\"id\":\"{id}\"{parent}{more}}}\n"));
        }
        let session = Session::read(text.as_bytes()).unwrap();
        assert_eq!(session.format, Format::OpenClaw);
        session
    }

    fn path(rows: &[&str]) -> String {
        let session = session(rows);
        let names = |ix: Ix| {
            let of = |name: &&str| session.entries.key(ix) == Key::hash(name.as_bytes());
            let names = rows.iter().map(|row| row.split('<').next().unwrap()).chain(["mark"]);
            names.collect::<Vec<_>>().into_iter().find(of).unwrap().to_owned()
        };
        session.path().into_iter().map(names).collect::<Vec<_>>().join(" ")
    }

    #[test]
    #[rustfmt::skip] // a table
    fn the_leaf_and_the_path_are_those_of_openclaw() {
        let check = |rows: &[&str], wanted: &str| assert_eq!(path(rows), wanted, "{rows:?}");
        let to_a = r#""targetId":"a""#;
        check(&["a<-", "b<a"],                                                          "a b");
        // An entry that is beside the conversation or opaque does not move the leaf; an entry
        // appended to it continues from the leaf.
        check(&["a<-", "b<a", "x<a side"],                                              "a b");
        check(&["a<-", "b<a", "x<b side", "c<x"],                                       "a b c");
        check(&["a<-", "b<a", "x<b opaque", "c<x"],                                     "a b c");
        check(&["a<-", "b<a", "x<a side", "y<x side", "c<y"],                           "a b c");
        // Only an entry at the cursor continues from the leaf.
        check(&["a<-", "b<a", "x<a side", "c<a"],                                       "a c");
        check(&["a<-", "b<a", "x<a side", "y<x side", "c<x"],                           "a x c");
        check(&["a<-", "b<a", "r<b reset"],                                             "a b r");
        // A leaf line moves both, and is not part of the path.
        check(&["a<-", "b<a", &format!("l<b {to_a}")],                                  "a");
        check(&["a<-", "b<a", &format!("l<b {to_a}"), "c<l"],                           "a c");
        check(&["a<-", "b<a", &format!("l<b {to_a}"), "c<a"],                           "a c");
        check(&["a<-", "b<a", r#"l<b "targetId":null"#],                                "");
        check(&["a<-", "b<a", r#"l<b "targetId":null"#, "c<l"],                         "c");
        check(&["a<-", "b<a", &format!("l<b {to_a}"), r#"m<l "targetId":"l""#, "c<m"],  "a c");
        check(&["a<-", "b<a", &format!(r#"l<b {to_a},"appendParentId":"b""#), "c<b"],   "a c");
        check(&["a<-", "b<a", &format!(r#"l<b {to_a},"appendParentId":null"#), "c<-"],  "a c");
        check(&["a<-", "b<a", &format!(r#"l<b {to_a},"appendMode":"side""#), "c<l"],    "a c");
        // A leaf line that is not well-formed, or names an entry that did not come before it, moves
        // nothing.
        check(&["a<-", "b<a", r#"l<b "targetId":"gone""#],                              "a b");
        check(&["a<-", "b<a", r#"l<b "targetId":"c""#, "c<l"],                          "a b c");
        check(&["a<-", "b<a", &format!(r#"l<b {to_a},"appendParentId":"gone""#)],       "a b");
        check(&["a<-", "b<a", &format!(r#"l<b {to_a},"appendMode":"top""#)],            "a b");
        check(&["a<-", "b<a", r#"l<b "x":1"#],                                          "a b");
        // An entry without a parent field continues from the leaf.
        check(&["a<-", "b<a", "x<a side", "c<?"],                                       "a b c");
        check(&["a<-", "b<a", &format!("l<b {to_a}"), "c<?"],                           "a c");
        // Lines that name each other do not loop forever.
        check(&["a<-", r#"l<m "targetId":"m""#, r#"m<l "targetId":"l""#, "c<m"],        "c");
    }
}
