//! Which of several branches the thread follows, and in which order the others come.

use super::{Aside, NEAR, Reader, Why};
use crate::model::{Flags, Ix, Key, Kind};
use crate::ops::thread::line_facts::Prompt;
use crate::ops::thread::links::NONE;
use std::collections::{HashMap, HashSet};
use std::io;

/// The role of a child at a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    /// It belongs to the current turn.
    Turn,
    /// It belongs to a reply with this id: the first such reply is the turn's, any other is a
    /// retried one.
    Reply(Key),
    /// It belongs to nothing else: a prompt.
    Own,
}

/// The calls of the current reply at an entry, as far as they were looked for.
struct CallsAbove {
    ids: HashSet<Key>,
    /// The next entry to look at, and how many more.
    next: u32,
    left: usize,
    /// The reply that was met.
    reply: Option<Key>,
}

impl CallsAbove {
    /// Begins at an entry.
    fn new(at: u32) -> CallsAbove {
        CallsAbove { ids: HashSet::new(), next: at, left: NEAR, reply: None }
    }
}

impl<'r> Reader<'r> {
    /// Separates the children of the current turn from those that begin new turns.
    pub(super) fn sorted_out(&self, at: u32, kids: Vec<u32>) -> io::Result<(Vec<u32>, Vec<Vec<u32>>)> {
        let (mut turn, mut own) = (Vec::new(), Vec::<Vec<u32>>::new());
        let mut replies: Vec<Vec<u32>> = Vec::new();
        let mut place: HashMap<Key, usize> = HashMap::new();
        let mut calls = CallsAbove::new(at);
        for kid in kids {
            match self.class(at, kid, &mut calls)? {
                Class::Turn => turn.push(kid),
                Class::Own => own.push(vec![kid]),
                Class::Reply(key) => match place.get(&key) {
                    Some(at) => replies[*at].push(kid),
                    None => {
                        if key.is_some() {
                            place.insert(key, replies.len());
                        }
                        replies.push(vec![kid]);
                    }
                },
            }
        }
        let mut replies = replies.into_iter();
        turn.extend(replies.next().unwrap_or_default());
        own.extend(replies);
        Ok((turn, own))
    }

    fn class(&self, at: u32, kid: u32, calls: &mut CallsAbove) -> io::Result<Class> {
        let entries = &self.look.session.entries;
        if self.links.holes.binary_search(&kid).is_ok() {
            return Ok(Class::Turn);
        }
        if self.kind(kid) == Kind::Compaction {
            return Ok(if at == NONE { Class::Turn } else { Class::Own });
        }
        let lead = self.lead[kid as usize];
        Ok(match self.kind(lead) {
            Kind::Assistant => {
                let group = entries.group(Ix(lead));
                match self.talk_above(at) {
                    None => Class::Turn,
                    Some(above) if self.kind(above) == Kind::Assistant => {
                        let same = group.is_some() && entries.group(Ix(above)) == group;
                        if same || entries.flags(Ix(above)).has(Flags::CALL) {
                            Class::Turn
                        } else {
                            Class::Reply(group)
                        }
                    }
                    Some(_) => Class::Reply(group),
                }
            }
            Kind::Tool if at != NONE => {
                for id in self.look.tools(Ix(lead))? {
                    if !self.is_called(id, calls)? {
                        return Ok(Class::Own);
                    }
                }
                Class::Turn
            }
            Kind::Tool => Class::Turn,
            _ => match self.look.prompt(Ix(lead))? {
                Some(Prompt::Interruption) => Class::Turn,
                Some(Prompt::Injected) if at == NONE || self.quiet(kid) && lead == kid => Class::Turn,
                _ => Class::Own,
            },
        })
    }

    /// Returns the nearest user or assistant entry from `at` upward.
    fn talk_above(&self, at: u32) -> Option<u32> {
        let mut at = at;
        for _ in 0..NEAR {
            if at == NONE || self.kind(at).is_turn() {
                break;
            }
            at = self.links.up[at as usize];
        }
        Some(at).filter(|at| *at != NONE && self.kind(*at).is_turn())
    }

    /// Returns whether a call of the current reply has an id. Lines are read only as far up as they
    /// are needed: nearly always the call is in the last line.
    fn is_called(&self, id: Key, calls: &mut CallsAbove) -> io::Result<bool> {
        let entries = &self.look.session.entries;
        while !calls.ids.contains(&id) {
            let at = calls.next;
            if at == NONE || calls.left == 0 {
                return Ok(false);
            }
            calls.left -= 1;
            calls.next = self.links.up[at as usize];
            match self.kind(at) {
                Kind::Assistant => {
                    let group = entries.group(Ix(at));
                    if calls.reply.is_some_and(|known| known != group || !group.is_some()) {
                        calls.left = 0;
                        continue;
                    }
                    calls.reply = Some(group);
                    if entries.flags(Ix(at)).has(Flags::CALL) {
                        calls.ids.extend(self.look.tools(Ix(at))?);
                    }
                }
                Kind::User => calls.left = 0,
                _ => {}
            }
        }
        Ok(true)
    }

    /// Orders the parts of one turn: first those that lead nowhere, then by time, and last the one
    /// whose end is last in the file, because there the conversation continues, or HEAD is there.
    pub(super) fn by_end(&self, kids: &mut [u32]) {
        let end = kids.iter().copied().max_by_key(|kid| self.last[*kid as usize]);
        kids.sort_by_key(|kid| (Some(*kid) == end, !self.quiet(*kid)));
    }

    /// Removes copies from children in time order; children of a copy become children of the
    /// original.
    pub(super) fn set_copies_aside(&mut self, kids: &mut Vec<u32>) -> io::Result<()> {
        let entries = &self.look.session.entries;
        let mut copies: Vec<(u32, u32)> = Vec::new();
        let mut from = 0;
        while from < kids.len() {
            let time = entries.time(Ix(kids[from]));
            let same = kids[from..].iter().take_while(|kid| entries.time(Ix(**kid)) == time).count();
            if same > 1 && time.is_some() {
                let mut known: HashMap<(Kind, Key), u32> = HashMap::new();
                for kid in &kids[from..from + same] {
                    let content = self.look.content(Ix(*kid))?;
                    let key = (entries.kind(Ix(*kid)), content);
                    match known.get(&key) {
                        Some(original) => copies.push((*kid, *original)),
                        None => _ = known.insert(key, *kid),
                    }
                }
            }
            from += same.max(1);
        }
        if !copies.is_empty() {
            let gone: HashSet<u32> = copies.iter().map(|(copy, _)| *copy).collect();
            kids.retain(|kid| !gone.contains(kid));
        }
        for (copy, original) in copies {
            self.aside.push(Aside { ix: Ix(copy), why: Why::Replay, by: Ix(original) });
            let below = self.kids(copy);
            for kid in &below {
                self.take_in(original, *kid);
            }
            self.last[original as usize] = self.last[original as usize].max(self.last[copy as usize]);
            self.adopted.entry(original).or_default().extend(below);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use crate::format::Session;
    use crate::model::{Source, Span, Table};
    use std::cell::Cell;
    use std::io;

    /// Builds a session of Claude Code. Each entry has a letter, that of its parent (`-` for none),
    /// and what it is: `m1:t1` is a part of the reply `m1` with the call `t1`, `t1` a result, and
    /// `?` a prompt.
    fn session(text: &str) -> Vec<u8> {
        let uuid = |name: &str| format!("\"{name:0>8}-0000-4000-8000-000000000000\"");
        let mut bytes = Vec::new();
        for (at, entry) in text.split("; ").enumerate() {
            let words: Vec<&str> = entry.split(' ').collect();
            let [name, parent, kind] = words[..] else { panic!("{entry}") };
            let parent = if parent == "-" { "null".to_owned() } else { uuid(parent) };
            let (ty, message) = match kind.split_once(':') {
                Some((reply, call)) => (
                    "assistant",
                    format!(
                        r#""id":"{reply}","content":[{{"type":"tool_use","id":"{call}","name":"x","input":{{}}}}]"#
                    ),
                ),
                None if kind == "?" => ("user", format!(r#""content":"{name}""#)),
                None => (
                    "user",
                    format!(r#""content":[{{"type":"tool_result","tool_use_id":"{kind}","content":"x"}}]"#),
                ),
            };
            bytes.extend_from_slice(
                format!(
                    r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s","version":"2.1.0","type":"{ty}","message":{{"role":"{ty}",{message}}},"uuid":{},"timestamp":"2026-03-02T00:00:00.{at:03}Z"}}"#,
                    uuid(name)
                )
                .as_bytes(),
            );
            bytes.push(b'\n');
        }
        bytes
    }

    /// A file that counts how often it is read.
    struct Counted(Table, Cell<usize>);

    impl Source for Counted {
        fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
            self.1.set(self.1.get() + 1);
            self.0.read(span, into)
        }
    }

    /// Returns the strands, e.g. `abd c`, and the number of lines that were read.
    fn strands(text: &str) -> (String, usize) {
        let bytes = session(text);
        let session = Session::read(&bytes).unwrap();
        let source = Counted(Table(vec![bytes]), Cell::new(0));
        let reading = read(&session, &source).unwrap();
        let names: Vec<&str> = text.split("; ").map(|entry| entry.split(' ').next().unwrap()).collect();
        let strand =
            |entries: &[crate::model::Ix]| entries.iter().map(|ix| names[ix.index()]).collect::<String>();
        let strands: Vec<String> = reading.strands.iter().map(|found| strand(&found.entries)).collect();
        (strands.join(" "), source.1.get())
    }

    #[test]
    #[rustfmt::skip] // a table
    fn results_belong_to_the_turn_of_their_calls() {
        let check = |text: &str, wanted: &str| assert_eq!(strands(text).0, wanted, "{text}");
        check("a - ?; b a m1:t1; c b m1:t2; d b t1; e c t2; f d m2:u; g e m2:v",         "abdfceg");
        // The call of a result is above the last part of the reply.
        check("a - ?; b a m1:t1; c b m1:t2; d c t1; e c t2; f d m2:u; g e m3:v",         "abcdfeg");
        check("a - ?; b a m1:t1; c b t1; d c m1:t2; e d t1; f d t2; g e m2:u; h f m3:v", "abcdegfh");
        // It is in the reply before, in none, or before a prompt.
        check("a - ?; b a m1:t1; c b m2:t2; d c t2; e c t1; f d m3:u; g e m4:v",         "abc df eg");
        check("a - ?; b a m1:t1; c b m1:t2; d c t2; e c t9; f d m3:u; g e m4:v",         "abc df eg");
        check("a - ?; b a m1:t1; x b ?; c x m1:t2; d c t2; e c t1; f d m3:u; g e m4:v",  "abxc df eg");
    }

    #[test]
    fn calls_are_read_only_as_far_up_as_they_are_asked_for() {
        let calls = (0..60).map(|at: u32| {
            let parent = at.checked_sub(1).map_or("-".to_owned(), |before| format!("{before:x}"));
            format!("{at:x} {parent} m1:t{at}; {:x} {at:x} t{at}", 1000 + at)
        });
        let (all, read) = strands(&calls.collect::<Vec<String>>().join("; "));
        assert_eq!(all.split(' ').count(), 1);
        // Reading all calls above at each of them would be some two thousand.
        assert!(read < 300, "{read} lines were read");
    }
}
