//! Checks a slimmed session: the agent would send the same messages, apart from the notes.

use super::choice::{MOST_VISITED, cost_of_context};
use crate::context::{Context, Message};
use crate::format::{Block, Session};
use crate::model::{Ix, Piece, Planned};
use crate::ops::rewrite::Rewrite;
use crate::ops::slim::parts::MARK;
use crate::ops::turns::Thread;
use crate::ops::{Error, Snapshot, branches};
use std::collections::HashSet;

/// The comparison of what is sent before and after.
pub(super) struct Check<'a> {
    pub(super) before: Snapshot<'a>,
    pub(super) after: &'a Session,
    pub(super) pieces: &'a [Piece],
    pub(super) rewrite: &'a Rewrite,
    /// The old numbers of the lines of which a part was replaced.
    pub(super) changed: &'a HashSet<u64>,
}

impl Check<'_> {
    /// Compares what is sent at HEAD and at the end of each branch; returns at how many places.
    pub(super) fn all(&self) -> Result<usize, Error> {
        let session = self.before.session;
        let (was, is) = (Context::position(session), Context::position(self.after));
        let lines = self.rewrite.lines();
        let image = |ix: Ix| {
            let line = self.rewrite.new_line(&lines, session.entries.line(ix))?;
            self.after.entries.on_line(0, line)
        };
        if was.and_then(image) != is || session.head.exact.and_then(image) != self.after.head.exact {
            return Err(not_proven("HEAD would be another entry"));
        }
        let mut compared = HashSet::new();
        self.compare(was, is, &mut compared)?;
        let thread = Thread::new(self.before)?;
        let mut left = MOST_VISITED;
        let mut places = 1;
        for tip in branches::tips(session, thread.tree()).into_iter().rev() {
            if session.entries.file(tip) != 0 || Some(tip) == was {
                continue;
            }
            let Some(rest) = left.checked_sub(cost_of_context(session, &thread, tip)) else { break };
            left = rest;
            self.compare(Some(tip), image(tip), &mut compared)?;
            places += 1;
        }
        Ok(places)
    }

    /// Compares the messages at one place. The blocks of an entry are compared once: `compared` has the entries.
    fn compare(&self, was: Option<Ix>, is: Option<Ix>, compared: &mut HashSet<Ix>) -> Result<(), Error> {
        let Snapshot { session, source } = self.before;
        let planned = Planned::new(source, self.pieces);
        let before = Context::in_full(session, source, was)?;
        let after = Context::in_full(self.after, &planned, is)?;
        let lines = self.rewrite.lines();
        // A removed line was nothing but thinking.
        let is_kept = |message: &&Message| {
            message.entry.is_none_or(|ix| self.rewrite.new_line(&lines, session.entries.line(ix)).is_some())
        };
        let one: Vec<&Message> = before.sent().filter(is_kept).collect();
        let other: Vec<&Message> = after.sent().collect();
        if one.len() != other.len() || before.models != after.models || before.thinking != after.thinking {
            return Err(not_proven("the agent would send another number of messages, or to another model"));
        }
        let (mut line, mut new_line) = (Vec::new(), Vec::new());
        for (one, other) in one.iter().zip(&other) {
            let number = one.entry.map(|ix| session.entries.line(ix));
            let new = other.entry.map(|ix| self.after.entries.line(ix));
            if one.role != other.role
                || number.and_then(|number| self.rewrite.new_line(&lines, number)) != new
            {
                return Err(not_proven("the agent would send another message"));
            }
            let Some(entry) =
                one.entry.filter(|_| number.is_some_and(|number| self.changed.contains(&number)))
            else {
                continue;
            };
            if !compared.insert(entry) {
                continue;
            }
            let old = one.read(session, source, &mut line)?;
            let new = other.read(self.after, &planned, &mut new_line)?;
            if !is_slimmed(&old.blocks, &new.blocks) {
                let line = session.entries.line(entry);
                return Err(not_proven(&format!("more than was asked for would change on line {line}")));
            }
        }
        Ok(())
    }
}

/// Returns whether blocks are those of before, but for placeholders and removed thinking.
fn is_slimmed(before: &[Block<'_>], after: &[Block<'_>]) -> bool {
    let mut after = after.iter().peekable();
    for old in before {
        let is_same = after.peek().is_some_and(|new| match (old, new) {
            (Block::Image { .. } | Block::Other(_) | Block::Text(_), Block::Text(new))
                if new.contains(MARK) =>
            {
                true
            }
            (
                Block::Result { call, is_error, text },
                Block::Result { call: new_call, is_error: new_error, text: new },
            ) => call == new_call && is_error == new_error && (text == new || new.contains(MARK)),
            (old, new) => old == *new,
        });
        if is_same {
            after.next();
            continue;
        }
        // Images in a result become a part of its text.
        if !matches!(old, Block::Thinking { .. } | Block::Other(_) | Block::Image { .. }) {
            return false;
        }
    }
    after.next().is_none()
}

pub(super) fn not_proven(what: &str) -> Error {
    Error::NoPlace { what: format!("nothing was slimmed: {what}"), instead: None }
}
