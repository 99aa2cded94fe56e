//! Replies that Claude Code forgets: it neither sends them nor continues after them.
//!
//! A reply is forgotten if its parts on the main path contain only thinking and white space. So is
//! an entry that a line on the main path retracts (`retractedMessageUuids`). A reply whose list of
//! blocks is empty is sent with an invented text, but Claude Code does not continue after it.

use super::Quiet;
use super::graph::ClaudeGraph;
use crate::format::Session;
use crate::model::{Ix, Key, Kind};
use std::collections::{HashMap, HashSet};

/// Which entries of a main path Claude Code forgets.
pub struct Forgotten<'s> {
    session: &'s Session,
    /// For each reply with a part that says nothing, by `message.id`: whether another part says
    /// something.
    replies: HashMap<Key, bool>,
    /// The retracted entries.
    retracted: HashSet<Key>,
}

/// Why an entry is forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The reply says nothing: only thinking and white space.
    SaysNothing,
    /// Its list of blocks is empty, and no other part of the reply says anything.
    Empty,
    /// A later line retracts the entry.
    Retracted,
}

impl<'s> Forgotten<'s> {
    /// Examines the entries of a main path.
    pub fn on_path(session: &'s Session, main_path: impl Iterator<Item = Ix> + Clone) -> Forgotten<'s> {
        let claude = &session.claude;
        let mut forgotten = Forgotten { session, replies: HashMap::new(), retracted: HashSet::new() };
        if !claude.retracted.is_empty() {
            for ix in main_path.clone() {
                let from = claude.retracted.partition_point(|(by, _)| *by < ix);
                let of_line = claude.retracted[from..].iter().take_while(|(by, _)| *by == ix);
                forgotten.retracted.extend(of_line.map(|(_, key)| *key));
            }
        }
        if claude.quiet.is_empty() {
            return forgotten;
        }
        let parts = || main_path.clone().filter(|ix| session.entries.kind(*ix) == Kind::Assistant);
        for ix in parts().filter(|ix| claude.quiet_at(*ix).is_some()) {
            forgotten.replies.insert(session.entries.group(ix), false);
        }
        forgotten.replies.remove(&Key::NONE);
        if !forgotten.replies.is_empty() {
            for ix in parts().filter(|ix| claude.quiet_at(*ix).is_none()) {
                if let Some(says) = forgotten.replies.get_mut(&session.entries.group(ix)) {
                    *says = true;
                }
            }
        }
        forgotten
    }

    /// Returns why an entry of the main path is forgotten, or `None` if it is not.
    pub fn why(&self, ix: Ix) -> Option<Why> {
        let entries = &self.session.entries;
        if !self.retracted.is_empty() && self.retracted.contains(&entries.key(ix)) {
            return Some(Why::Retracted);
        }
        let quiet = self.session.claude.quiet_at(ix)?;
        match entries.kind(ix) {
            Kind::Assistant if self.replies.get(&entries.group(ix)) == Some(&true) => None,
            Kind::Assistant | Kind::User if quiet == Quiet::Empty => Some(Why::Empty),
            Kind::Assistant => Some(Why::SaysNothing),
            _ => None,
        }
    }
}

impl ClaudeGraph<'_> {
    /// Returns whether Claude Code may forget a turn. Only then the main path has to be examined.
    pub(super) fn may_be_forgotten(&self, turn: u32) -> bool {
        self.session.claude.may_be_passed_over(Ix(turn), self.session.entries.key(Ix(turn)))
    }

    /// Returns the last turn that is not forgotten on the main path of a way up, and the entry that
    /// becomes the parent of the next prompt.
    pub(super) fn last_remembered(&self, way: &[u32]) -> Option<(u32, u32)> {
        let main_path: Vec<Ix> = self.whole(way).into_iter().map(|step| step.entry).collect();
        let forgotten = Forgotten::on_path(self.session, main_path.iter().copied());
        let is_remembered = |ix: &Ix| self.is_turn(ix.0) && forgotten.why(*ix).is_none();
        let at = main_path.iter().rposition(is_remembered)?;
        // A call without a result counts as if the forgotten entries did not exist.
        let on_way = way.iter().rposition(|ix| is_remembered(&Ix(*ix)));
        let turn = on_way.and_then(|at| self.last_turn(&way[..=at]));
        if let Some((turn, Some(_))) = turn
            && is_remembered(&Ix(turn))
        {
            return Some((turn, turn));
        }
        // The invented reply comes after the user's last message, and follows only attachments.
        let is_sent = |ix: &Ix| forgotten.why(*ix) == Some(Why::Empty) && self.kind(ix.0) == Kind::Assistant;
        let is_reply =
            self.kind(main_path[at].0) == Kind::Assistant || main_path[at + 1..].iter().any(is_sent);
        let follows = |ix: &&Ix| match self.kind(ix.0) {
            Kind::Attachment => true,
            _ => is_reply && !self.is_turn(ix.0),
        };
        let end = main_path[at + 1..].iter().rfind(follows).unwrap_or(&main_path[at]);
        Some((main_path[at].0, end.0))
    }
}
