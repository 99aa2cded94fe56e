//! Which entries of the conversation are rows of `log`: a reply that only calls tools has no row of its own if the
//! result follows, since the row of the result shows the call.

use super::Forest;
use crate::format::{Format, Session};
use crate::model::{Flags, Ix, Kind};

/// A walk up a path, from its end, that says which entries are rows.
///
/// An entry is a row or not by what follows it on the path, so another branch changes no count.
#[derive(Clone, Copy, Default)]
pub struct RowWalk {
    below: Below,
}

/// What the walk passed last.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Below {
    /// No result.
    #[default]
    Other,
    /// A result.
    Result,
    /// A call that is part of the row of a result.
    Folded,
}

impl RowWalk {
    /// Begins above an entry, which is a row.
    pub fn above(session: &Session, ix: Ix) -> RowWalk {
        let mut walk = RowWalk::default();
        walk.pass(session, ix, false);
        walk
    }

    /// Returns whether the next entry of the conversation on the way up is a row.
    pub fn is_row(&mut self, session: &Session, ix: Ix) -> bool {
        let is_folded = match self.below {
            Below::Other => false,
            Below::Result => only_calls(session, ix),
            // Claude Code stores each call of a reply in an entry of its own.
            Below::Folded => session.format == Format::Claude && only_calls(session, ix),
        };
        self.pass(session, ix, is_folded);
        !is_folded
    }

    fn pass(&mut self, session: &Session, ix: Ix, is_folded: bool) {
        self.below = match is_folded {
            true => Below::Folded,
            false if session.entries.flags(ix).has(Flags::RESULT) => Below::Result,
            false => Below::Other,
        };
    }
}

/// The rows of a forest: an entry at which branches part has a row of its own.
pub struct ForestRows {
    /// For each entry that is part of another row, the entry of that row; itself for all others.
    row: Vec<Ix>,
}

impl ForestRows {
    /// Costs a pass over the entries.
    pub fn new(session: &Session, forest: &Forest<'_>) -> ForestRows {
        let mut row: Vec<Ix> = session.entries.all().collect();
        // The walk up to each entry, and the row that it passed last; nothing if branches part there.
        let mut below: Vec<Option<(RowWalk, Ix)>> = vec![None; row.len()];
        let mut has_child = vec![false; row.len()];
        for ix in forest.children_first() {
            let (mut walk, mut last) = below[ix.index()].unwrap_or((RowWalk::default(), ix));
            match walk.is_row(session, ix) {
                true => last = ix,
                false => row[ix.index()] = last,
            }
            if let Some(parent) = forest.parent(ix) {
                let parts = std::mem::replace(&mut has_child[parent.index()], true);
                below[parent.index()] = (!parts).then_some((walk, last));
            }
        }
        ForestRows { row }
    }

    /// Returns the entry of the row that shows an entry: mostly itself.
    pub fn row_of(&self, ix: Ix) -> Ix {
        self.row[ix.index()]
    }

    /// Returns whether an entry has a row of its own.
    pub fn is_row(&self, ix: Ix) -> bool {
        self.row_of(ix) == ix
    }
}

/// Whether an entry is a reply that only calls tools. HEAD always has a row of its own.
fn only_calls(session: &Session, ix: Ix) -> bool {
    let flags = session.entries.flags(ix);
    session.entries.kind(ix) == Kind::Assistant
        && flags.has(Flags::CALL)
        && ![Flags::TEXT, Flags::ENDED_BADLY, Flags::IMAGE, Flags::RESULT].iter().any(|flag| flags.has(*flag))
        && session.head.entry != Some(ix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A session of pi: `p` is a prompt, `t` a reply with text, `c` one with only a call, `f` a call that failed, `r` a result; `<`
    /// names the parent, else the one before.
    fn session(text: &str) -> (Vec<String>, Session) {
        let mut file = json!({ "type": "session", "version": 3, "id": "s", "cwd": "/" }).to_string();
        let mut names: Vec<String> = Vec::new();
        for item in text.split_whitespace() {
            let (name, parent) = match item.split_once('<') {
                Some((name, parent)) => (name, Some(parent.to_owned())),
                None => (item, names.last().cloned()),
            };
            let call = json!({ "type": "toolCall", "id": "1", "name": "ls", "arguments": {} });
            let said = json!({ "type": "text", "text": name });
            let message = match name.as_bytes()[0] {
                b'p' => json!({ "role": "user", "content": [said] }),
                b't' => json!({ "role": "assistant", "content": [said, call] }),
                b'c' => json!({ "role": "assistant", "content": [call] }),
                b'f' => json!({ "role": "assistant", "content": [call], "stopReason": "error" }),
                _ => json!({ "role": "toolResult", "toolCallId": "1", "content": [said] }),
            };
            let line = json!({ "type": "message", "id": name, "parentId": parent, "message": message });
            file += &format!("\n{line}");
            names.push(name.to_owned());
        }
        (names, Session::read(file.as_bytes()).unwrap())
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_call_is_in_the_row_of_its_result() {
        let check = |text: &str, wanted: &str, in_tree: &str| {
            let (names, session) = session(text);
            let row = |ix: &Ix| names[ix.index()].as_str();
            let mut walk = RowWalk::default();
            let path = session.tree.ancestors(session.head.entry.unwrap());
            let rows: Vec<Ix> = path.filter(|ix| walk.is_row(&session, *ix)).collect();
            assert_eq!(rows.iter().rev().map(row).collect::<Vec<_>>().join(" "), wanted, "{text}");
            let forest = Forest::new(&session.tree, session.entries.len(), |_| true);
            let rows = ForestRows::new(&session, &forest);
            let shown: Vec<Ix> = session.entries.all().filter(|ix| rows.is_row(*ix)).collect();
            assert_eq!(shown.iter().map(row).collect::<Vec<_>>().join(" "), in_tree, "{text}");
        };
        //     entries in file order      rows up to HEAD      rows of the tree
        check("p1 c2 r3 t4",              "p1 r3 t4",          "p1 r3 t4");
        check("p1 c2 r3",                 "p1 r3",             "p1 r3");
        check("p1 c2",                    "p1 c2",             "p1 c2");              // HEAD, and no result
        check("p1 c2 p3",                 "p1 c2 p3",          "p1 c2 p3");
        check("p1 t2 r3 t4",              "p1 t2 r3 t4",       "p1 t2 r3 t4");
        check("p1 f2 r3 t4",              "p1 f2 r3 t4",       "p1 f2 r3 t4");
        check("p1 c2 r3 r4 t5",           "p1 r3 r4 t5",       "p1 r3 r4 t5");        // parallel calls
        check("p1 c2 c3 r4 t5",           "p1 c2 r4 t5",       "p1 c2 r4 t5");        // the first call has no result
        check("p1 c2 r3 p4<c2",           "p1 c2 p4",          "p1 c2 r3 p4");        // branches part at a call
        check("p1 c2 p3 r4<c2",           "p1 r4",             "p1 c2 p3 r4");
        check("r1 c2 r3",                 "r1 r3",             "r1 r3");
    }
}
