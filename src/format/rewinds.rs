//! Lines that undo turns, in formats in which each entry follows the one before it.
//!
//! Such a line names no parent for later entries: it says how much of the conversation is undone. The
//! entries that are undone stay in the file, as a branch.

use super::session::{Gathered, Head, Pointer, Session};
use crate::model::{BuildKeyHasher, Entries, Flags, Ix, Key, Kind};
use std::collections::HashMap;

/// The lines that undo turns, in file order.
#[derive(Clone, Debug, Default)]
pub(super) struct Rewinds(Vec<Rewind>);

#[derive(Clone, Copy, Debug)]
struct Rewind {
    /// How many entries come before the line.
    before: u32,
    line: u64,
    to: RewindTo,
}

/// How much of the conversation a line undoes.
#[derive(Clone, Copy, Debug)]
pub(super) enum RewindTo {
    /// The last so many prompts, and what follows the first of them.
    Prompts(u64),
    /// An entry and what follows it; everything if there is no such entry.
    Entry(Key),
    /// Everything: the entries of the line are the conversation now.
    Start,
    /// An entry, unless it stays (`keeps`), and what follows it; nothing if there is no such entry.
    Known { key: Key, keeps: bool },
}

impl Rewinds {
    /// Adds a line; `before` is the number of entries before it.
    pub(super) fn push(&mut self, line: u64, before: u32, to: RewindTo) {
        self.0.push(Rewind { before, line, to });
    }

    /// Appends the lines of a later segment of the file; `entries` and `lines` are the numbers
    /// before it.
    pub(super) fn append(&mut self, next: Rewinds, entries: u32, lines: u64) {
        let later =
            |rewind: Rewind| Rewind { before: rewind.before + entries, line: rewind.line + lines, ..rewind };
        self.0.extend(next.0.into_iter().map(later));
    }
}

/// Links the entries: each follows the last one that was not undone. An entry with the id of one
/// that is still there replaces it. Stores the last entry as the only pointer if it is not the last
/// one of the file.
///
/// Costs a pass over the entries, and a pass over those that each line undoes.
pub(super) fn link(entries: &mut Entries, gathered: &mut Gathered) {
    let rewinds = std::mem::take(&mut gathered.rewinds);
    let mut rewinds = rewinds.0.into_iter().peekable();
    let mut path = Path::default();
    let mut links = Vec::new();
    let mut last_line = 0;
    for ix in entries.all() {
        while let Some(rewind) = rewinds.next_if(|rewind| rewind.before <= ix.0) {
            path.rewind(entries, rewind.to);
            last_line = rewind.line;
        }
        let parent = path.add(entries, ix);
        let expected = ix.0.checked_sub(1).map(|before| entries.key(Ix(before)));
        if parent != expected || ix.0 == 0 {
            links.push((ix, parent));
        }
    }
    for rewind in rewinds {
        path.rewind(entries, rewind.to);
        last_line = rewind.line;
    }
    entries.relink(links);
    gathered.pointers.clear();
    if path.entries.last().copied() != entries.all().next_back() {
        gathered.pointers.push(Pointer {
            line: last_line,
            before: entries.len() as u32,
            target: path.entries.last().map(|ix| entries.key(*ix)),
            explicit: None,
        });
    }
}

/// Returns HEAD: the entry that [`link`] stored, or else `last`. `rules` say why, if nothing was undone
/// at the end, if something was, and if everything was.
pub(super) fn head(session: &Session, last: Option<Ix>, rules: [&'static str; 3]) -> Head {
    let [at_the_end, some_undone, all_undone] = rules;
    match session.pointers.last() {
        None => session.head_at(last, at_the_end),
        Some(pointer) => match pointer.target.and_then(|target| session.find(target)) {
            Some(leaf) => session.head_at(Some(leaf), some_undone),
            None => session.head_at(None, all_undone),
        },
    }
}

/// The conversation so far.
#[derive(Default)]
struct Path {
    entries: Vec<Ix>,
    /// The place of each entry, by its id.
    places: HashMap<Key, usize, BuildKeyHasher>,
    /// The places of prompts, and of compactions.
    prompts: Vec<usize>,
    compactions: Vec<usize>,
}

impl Path {
    /// Adds the next entry, and returns the id of the one before it.
    fn add(&mut self, entries: &Entries, ix: Ix) -> Option<Key> {
        let key = entries.key(ix);
        let known = self.places.get(&key).copied().filter(|at| self.entries.get(*at).is_some());
        let at = known.unwrap_or(self.entries.len());
        match known {
            Some(at) => self.entries[at] = ix,
            None => {
                self.entries.push(ix);
                self.places.insert(key, at);
                match entries.kind(ix) {
                    Kind::Compaction => self.compactions.push(at),
                    _ if begins_turn(entries, ix) => self.prompts.push(at),
                    _ => {}
                }
            }
        }
        at.checked_sub(1).map(|before| entries.key(self.entries[before]))
    }

    fn rewind(&mut self, entries: &Entries, to: RewindTo) {
        let keep = match to {
            RewindTo::Start => 0,
            RewindTo::Entry(key) => self.places.get(&key).copied().unwrap_or(0),
            RewindTo::Known { key, keeps } => match self.places.get(&key) {
                Some(place) => place + usize::from(keeps),
                None => self.entries.len(),
            },
            RewindTo::Prompts(count) => self.before_prompts(entries, count),
        };
        for ix in self.entries.drain(keep.min(self.entries.len())..) {
            self.places.remove(&entries.key(ix));
        }
        for places in [&mut self.prompts, &mut self.compactions] {
            places.truncate(places.partition_point(|at| *at < keep));
        }
    }

    /// Returns the length of the conversation before its last prompts. What the agent adds right
    /// before a prompt belongs to it; what comes before the first prompt stays, unless it is a
    /// compaction and more prompts are undone than there are.
    fn before_prompts(&self, entries: &Entries, count: u64) -> usize {
        let Some(first) = self.prompts.first().filter(|_| count > 0) else {
            return match self.compactions.first().filter(|_| count > 0) {
                Some(compaction) => *compaction,
                None => self.entries.len(),
            };
        };
        let nth = usize::try_from(count).ok().and_then(|count| self.prompts.len().checked_sub(count));
        let Some(nth) = nth else {
            return self.compactions.first().map_or(*first, |compaction| *first.min(compaction));
        };
        let mut keep = self.prompts[nth];
        while keep > *first && is_put_before(entries, self.entries[keep - 1]) {
            keep -= 1;
        }
        keep
    }
}

/// Returns whether an entry begins a turn: a prompt, or a message of another agent.
fn begins_turn(entries: &Entries, ix: Ix) -> bool {
    match entries.kind(ix) {
        Kind::User => !entries.flags(ix).has(Flags::META),
        Kind::Custom => true,
        _ => false,
    }
}

/// Returns whether the agent adds an entry before a prompt: instructions, the environment, settings,
/// commands that the user ran.
fn is_put_before(entries: &Entries, ix: Ix) -> bool {
    let flags = entries.flags(ix);
    match entries.kind(ix) {
        Kind::System | Kind::Attachment | Kind::Setting => !flags.has(Flags::HIDDEN),
        Kind::User => flags.has(Flags::META),
        _ => false,
    }
}

/// Returns HEAD of a session whose entries are all messages: the last one that was not undone.
pub(super) fn head_of_messages(session: &Session) -> Head {
    let rules =
        ["the last message in the file", "the last message that was not undone", "all messages were undone"];
    head(session, session.tree.entries_in_tree().next_back(), rules)
}

#[cfg(test)]
mod tests {
    use crate::format::Session;
    use crate::model::Key;
    use serde_json::{Value, json};

    /// Reads lines as a session, and returns the lines of the path to HEAD.
    fn path(lines: &[Value]) -> String {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let session = Session::read(text.as_bytes()).unwrap();
        let path = session.head.exact.map(|head| session.tree.path(head)).unwrap_or_default();
        path.iter().map(|ix| session.entries.line(*ix).to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    #[rustfmt::skip] // a table
    fn codex_goes_on_before_the_prompts_that_were_taken_back() {
        let line = |word: &str| {
            let (ty, payload) = match word.split_at(1) {
                ("p", _) => ("response_item", json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": word }] })),
                ("r", _) => ("response_item", json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": word }] })),
                ("e", _) => ("response_item", json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "<environment_context>x</environment_context>" }] })),
                ("d", _) => ("response_item", json!({ "type": "message", "role": "developer", "content": [] })),
                ("t", _) => ("turn_context", json!({ "model": "m" })),
                ("c", _) => ("compacted", json!({ "message": "so far", "replacement_history": [] })),
                ("-", count) => ("event_msg", json!({ "type": "thread_rolled_back", "num_turns": count.parse::<u64>().unwrap() })),
                _ => ("event_msg", json!({ "type": "task_started" })),
            };
            json!({ "timestamp": "2026-03-02T00:00:00.000Z", "type": ty, "payload": payload })
        };
        let check = |text: &str, wanted: &str| {
            let lines: Vec<Value> = text.split(' ').map(line).collect();
            assert_eq!(path(&lines), wanted, "{text}");
        };
        check("e p r p r",              "1 2 3 4 5");
        check("e p r p r -1",           "1 2 3");
        check("e p r p r -1 p r",       "1 2 3 7 8");
        check("e p r p r -2",           "1");
        check("e p r p r -9",           "1");
        check("p r -9",                 "");
        check("e p r -0",               "1 2 3");
        check("e p r -1 -1 p",          "1 6");
        // What was added right before the prompt goes with it, but not what is before the first.
        check("e d p r t e p r -1",     "1 2 3 4");
        check("e d p r t e p r -2",     "1 2");
        check("x e x p x r x -1",       "2");
        // A compaction stays as long as the prompts after it are enough.
        check("p r c p r -1",           "1 2 3");
        check("p r c p r -2",           "");
        check("p r -1 c p -2",          "");
        check("c p r -1",               "1");
        check("c -1",                   "");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn gemini_goes_on_before_the_message_that_was_taken_back() {
        let line = |word: &str| match word.split_at(1) {
            ("-", id) => json!({ "$rewindTo": id }),
            ("=", ids) => json!({ "$set": { "messages": ids.chars().map(|id| json!({ "id": id, "type": "user", "content": "x" })).collect::<Vec<_>>() } }),
            ("+", _) => json!({ "$set": { "lastUpdated": "x" } }),
            (id, _) => json!({ "id": id, "type": "gemini", "content": word }),
        };
        let check = |text: &str, wanted: &str| {
            let lines: Vec<Value> = text.split(' ').map(line).collect();
            assert_eq!(path(&lines), wanted, "{text}");
        };
        check("a b + c",        "1 2 4");
        check("a b b+ c",       "1 3 4");       // the same message again
        check("a b c a+",       "4 2 3");
        check("a b c -b",       "1");
        check("a b c -b d",     "1 5");
        check("a b -x",         "");
        check("a b -x c",       "4");
        check("a b -b b+",      "1 4");
        check("a b =xy",        "3 3");
        check("a b =bc d",      "3 3 4");
        check("a b =",          "");
    }

    #[test]
    fn a_cut_line_of_gemini_has_no_messages() {
        let text = r#"{"id":"a","type":"user","content":"x"}
{"id":"b","type":"gemini","content":"x"}
{"$set":{"messages":[{"id":"c","type":"user","content":"x"},{"id":"d","type":"us"#;
        let session = Session::read(text.as_bytes()).unwrap();
        assert_eq!((session.entries.len(), session.path().len()), (2, 2));
    }

    #[test]
    fn entries_without_ids_are_named_by_their_lines() {
        for place in [0, 1, 255, 256, u32::MAX] {
            let key = Key::of_place(place);
            assert!(key.is_some() && key.short_id().is_empty() && key.eight().is_none(), "{place}");
        }
    }
}
