//! The call that a tool's result answers, in words.

use crate::format::{Content, Session, call_words};
use crate::model::{Flags, Ix, Source};
use std::collections::VecDeque;

/// How far up the path a call is looked for: results follow their calls closely.
pub const FAR: usize = 64;

/// How many replies with calls are remembered.
const REMEMBERED: usize = 16;

/// Finds the calls of results, and remembers the last replies that it read.
#[derive(Default)]
pub struct Calls {
    read: VecDeque<(Ix, Vec<(String, String)>)>,
}

impl Calls {
    /// The call that the first result in an entry answers, in words (`bash cargo test`); empty where it is not found.
    pub fn of(&mut self, session: &Session, source: &dyn Source, ix: Ix, content: &Content<'_>) -> String {
        let Some(wanted) = content.answers().next() else { return String::new() };
        for above in session.tree.ancestors(ix).skip(1).take(FAR) {
            if !session.entries.flags(above).has(Flags::CALL) {
                continue;
            }
            if let Some((_, words)) = self.calls(session, source, above).iter().find(|(id, _)| id == wanted) {
                return words.clone();
            }
        }
        String::new()
    }

    /// The calls in an entry: their ids, and what they are in words.
    fn calls(&mut self, session: &Session, source: &dyn Source, ix: Ix) -> &[(String, String)] {
        if let Some(at) = self.read.iter().position(|(known, _)| *known == ix) {
            return &self.read[at].1;
        }
        // What can't be read has no words; whoever prints the entry itself says why.
        let line = source.bytes(session.span(ix)).unwrap_or_default();
        let content = Content::of(session.format, &line);
        let calls = content.calls().map(|(id, name, arguments)| (id.to_owned(), call_words(name, arguments)));
        if self.read.len() == REMEMBERED {
            self.read.pop_front();
        }
        self.read.push_back((ix, calls.collect()));
        &self.read.back().expect("one was just put there").1
    }
}
