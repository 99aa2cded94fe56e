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

impl<'r> Reader<'r> {
    /// Separates the children of the current turn from those that begin new turns.
    pub(super) fn sorted_out(&self, at: u32, kids: Vec<u32>) -> io::Result<(Vec<u32>, Vec<Vec<u32>>)> {
        let (mut turn, mut own) = (Vec::new(), Vec::<Vec<u32>>::new());
        let mut replies: Vec<Vec<u32>> = Vec::new();
        let mut place: HashMap<Key, usize> = HashMap::new();
        let mut calls = None;
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

    fn class(&self, at: u32, kid: u32, calls: &mut Option<HashSet<Key>>) -> io::Result<Class> {
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
                if calls.is_none() {
                    *calls = Some(self.calls_above(at)?);
                }
                let calls = calls.as_ref().expect("it was set just now");
                let answers = self.look.tools(Ix(lead))?.iter().all(|id| calls.contains(id));
                if answers { Class::Turn } else { Class::Own }
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

    /// Returns the calls of the current reply at an entry.
    fn calls_above(&self, at: u32) -> io::Result<HashSet<Key>> {
        let entries = &self.look.session.entries;
        let mut calls = HashSet::new();
        let mut reply = None;
        let mut at = at;
        for _ in 0..NEAR {
            if at == NONE {
                break;
            }
            match self.kind(at) {
                Kind::Assistant => {
                    let group = entries.group(Ix(at));
                    if reply.is_some_and(|known| known != group || !group.is_some()) {
                        break;
                    }
                    reply = Some(group);
                    if entries.flags(Ix(at)).has(Flags::CALL) {
                        calls.extend(self.look.tools(Ix(at))?);
                    }
                }
                Kind::User => break,
                _ => {}
            }
            at = self.links.up[at as usize];
        }
        Ok(calls)
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
