//! The decision at a fork: the first rung that applies.

use super::Walker;
use crate::model::Key;
use crate::ops::claude_code_log::graph::DEEP;
use crate::ops::claude_code_log::record::RecordKind;
use crate::ops::claude_code_log::{Node, Rung};
use std::collections::HashSet;

impl Walker<'_> {
    /// Returns the decision of the first rung that applies.
    pub(super) fn step(&self, at: Node, kids: &[Node]) -> Step {
        let graph = &self.graph;
        let plain = |rung| Step { rung, stitched: vec![], dropped: vec![], next: None, queued: vec![] };
        let side = |kid: &Node| graph.structural(*kid) && graph.quiet(*kid);
        let (sides, rest): (Vec<Node>, Vec<Node>) = kids.iter().copied().partition(side);
        if !sides.is_empty() && rest.len() <= 1 {
            return Step { stitched: sides, next: rest.first().copied(), ..plain(Rung::SideBranch) };
        }
        if let Some((rung, stitched, next)) = self.stitch(kids) {
            return Step { stitched, next: Some(next), ..plain(rung) };
        }
        let (live, others): (Vec<Node>, Vec<Node>) =
            kids.iter().copied().partition(|kid| graph.structural(*kid) && !graph.quiet(*kid));
        if let [live] = live[..]
            && !others.is_empty()
            && others.iter().all(|kid| graph.quiet(*kid))
        {
            return Step { stitched: others, next: Some(live), ..plain(Rung::LivePassage) };
        }
        if self.continues_reply(at, kids) {
            return Step { queued: kids.to_vec(), ..plain(Rung::Continuation) };
        }
        if kids.iter().all(|kid| self.time(*kid) == self.time(kids[0])) {
            return Step { dropped: kids[1..].to_vec(), next: Some(kids[0]), ..plain(Rung::Replay) };
        }
        Step { queued: kids.to_vec(), ..plain(Rung::Rewind) }
    }

    /// Applies rungs 2 and 3, which consider only users and assistants.
    fn stitch(&self, kids: &[Node]) -> Option<(Rung, Vec<Node>, Node)> {
        let graph = &self.graph;
        let of = |sort| -> Vec<Node> {
            kids.iter().copied().filter(|kid| graph.sort[*kid as usize] == sort).collect()
        };
        let (users, replies) = (of(RecordKind::User), of(RecordKind::Assistant));
        if users.is_empty() || replies.is_empty() {
            return None;
        }
        if users.iter().all(|kid| graph.quiet(*kid)) {
            return match replies[..] {
                [reply] => Some((Rung::QuietResult, users, reply)),
                _ => None,
            };
        }
        let (going, ended): (Vec<Node>, Vec<Node>) =
            users.into_iter().partition(|kid| graph.kids(*kid).next().is_some());
        let [going] = going[..] else { return None };
        if !ended.iter().chain(&replies).all(|kid| graph.shallow(*kid)) {
            return None;
        }
        let mut stitched = ended;
        for reply in &replies {
            stitched.push(*reply);
        }
        for reply in &replies {
            self.lifted(*reply, &mut stitched);
        }
        let mut met = HashSet::new();
        stitched.retain(|node| met.insert(*node));
        Some((Rung::DeadEnd, self.by_time(stitched), going))
    }

    /// Collects the records below a dead end to which subagents are attached.
    fn lifted(&self, reply: Node, into: &mut Vec<Node>) {
        let mut todo = vec![(reply, 0)];
        while let Some((node, level)) = todo.pop() {
            if level >= DEEP {
                continue;
            }
            let record = self.record(node);
            if record.sort == RecordKind::User && record.agent != 0
                || record.sort == RecordKind::Assistant && record.spawns
            {
                into.push(node);
            }
            todo.extend(self.graph.kids(node).map(|kid| (kid, level + 1)));
        }
    }

    /// Returns whether the children are replies and results of this record's calls, with at least
    /// one of each.
    fn continues_reply(&self, at: Node, kids: &[Node]) -> bool {
        let record = self.record(at);
        let calls: HashSet<Key> =
            self.records.tools(record).iter().filter(|tool| tool.call).map(|tool| tool.id).collect();
        if record.sort != RecordKind::Assistant || calls.is_empty() {
            return false;
        }
        let (mut replies, mut results) = (false, false);
        for kid in kids {
            let kid = self.record(*kid);
            match kid.sort {
                RecordKind::Assistant => replies = true,
                RecordKind::User => {
                    let tools = self.records.tools(kid);
                    if tools.is_empty() || tools.iter().any(|tool| !calls.contains(&tool.id)) {
                        return false;
                    }
                    results = true;
                }
                _ => return false,
            }
        }
        replies && results
    }
}

/// The decision of a rung.
pub(super) struct Step {
    pub(super) rung: Rung,
    /// Children that join the chain, without the nodes below them.
    pub(super) stitched: Vec<Node>,
    /// Children that are dropped, with the nodes below them.
    pub(super) dropped: Vec<Node>,
    /// Where to continue.
    pub(super) next: Option<Node>,
    /// Children that begin their own chains.
    pub(super) queued: Vec<Node>,
}
