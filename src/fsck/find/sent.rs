//! What a provider would refuse in the request that the agent makes at HEAD.
//!
//! Most sessions are cleared by their columns: on the part of the path that is sent, each result follows its call. Only if
//! that is not so, the context is built, which reads the lines of that part.

use super::Finder;
use crate::context::{Context, NoCall, Patch};
use crate::format::{Format, NotedKind, ToolRef};
use crate::fsck::checks::Check;
use crate::model::{Flags, Ix, Key, Kind};
use std::collections::HashSet;
use std::io;

impl Finder<'_> {
    /// Calls and results that are sent without each other at HEAD, if both are in the file.
    pub(super) fn sent(&mut self) -> io::Result<()> {
        let session = self.session;
        let is_of_pi = matches!(session.format, Format::Pi | Format::PiV1 | Format::PiV2 | Format::Harness);
        if !is_of_pi && session.format != Format::Chimera {
            // Claude Code and oh-my-pi put right what they send.
            return Ok(());
        }
        let path: Vec<Ix> = session.head.leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default();
        if path.is_empty() || self.are_paired(&path) {
            return Ok(());
        }
        let context = Context::at(session, self.source, Context::position(session))?;
        let told: HashSet<(Ix, Check)> =
            self.findings.list.iter().filter_map(|finding| Some((finding.entry?, finding.check))).collect();
        let is_told = |ix: Ix, checks: &[Check]| checks.iter().any(|check| told.contains(&(ix, *check)));
        let (mut no_call, mut no_result) = (Vec::new(), Vec::new());
        for message in context.sent() {
            let Some(entry) = message.entry else { continue };
            for patch in &message.patches {
                match patch {
                    Patch::NoCall { call, why } => no_call.push((entry, call.clone(), *why)),
                    Patch::NoResult { call, .. } if !is_told(entry, &[Check::UnpairedToolUse]) => {
                        no_result.push((entry, call.clone()));
                    }
                    _ => {}
                }
            }
        }
        for (entry, call, why) in no_call {
            let others = [Check::OrphanToolResult, Check::DuplicateToolResult, Check::MisplacedToolResult];
            // What these say is said once, and `nameless-call` tells of a result that names none.
            if why == NoCall::Unnamed || is_told(entry, &others) {
                continue;
            }
            self.entry(Check::BrokenPair, entry, why.by(), |finder, _| {
                let by = match why.by() {
                    Some(by) => format!(" (`{}`)", finder.id(by)?),
                    None => String::new(),
                };
                Ok(format!("the result of `{call}` is sent without its call: {why}{by}"))
            })?;
            if session.format == Format::PiV1 || self.is_on_more_branches(entry) {
                self.unmendable();
            }
        }
        for (entry, call) in no_result {
            self.entry(Check::BrokenPair, entry, None, |_, _| {
                Ok(format!("the call `{call}` is sent without its result, which is not on the path"))
            })?;
            self.unmendable();
        }
        Ok(())
    }

    /// Whether each result on the part of the path that is sent surely follows its call, and each call is surely answered if
    /// that matters.
    fn are_paired(&self, path: &[Ix]) -> bool {
        let session = self.session;
        let Some(side) = session.side.as_ref().filter(|side| !side.tools.is_empty()) else { return true };
        let chimera = session.format == Format::Chimera;
        let compaction = path.iter().rposition(|ix| session.entries.kind(*ix) == Kind::Compaction);
        let mut sent: Vec<Ix> = match compaction.filter(|_| !chimera) {
            None => path.to_vec(),
            Some(at) => {
                let notes = self.noted(NotedKind::Kept);
                let kept = notes.filter(|noted| noted.entry == path[at]).map(|noted| noted.key).next();
                let first =
                    kept.and_then(|kept| path[..at].iter().position(|ix| session.entries.key(*ix) == kept));
                // Version 1 names the kept entry by its place, which no column holds.
                let first = if session.format == Format::PiV1 { Some(0) } else { first };
                path[first.unwrap_or(at)..].to_vec()
            }
        };
        let may_be_edited = !chimera && sent.iter().any(|ix| session.entries.ty(*ix) == "context_edit");
        sent.retain(|ix| {
            session.entries.flags(*ix).has(Flags::CALL) || session.entries.flags(*ix).has(Flags::RESULT)
        });
        if may_be_edited && !sent.is_empty() || compaction.is_some() && session.format == Format::PiV1 {
            return false;
        }
        let mut asked: HashSet<Key> = HashSet::new();
        for ix in sent {
            // A reply that failed is not sent, and neither are its calls.
            let fails = !chimera && session.entries.flags(ix).has(Flags::ENDED_BADLY);
            let from = side.tools.partition_point(|tool| tool.entry < ix);
            for ToolRef { id, result, .. } in side.tools[from..].iter().take_while(|tool| tool.entry == ix) {
                let is_paired = match result {
                    true => asked.remove(id),
                    false => fails || asked.insert(*id),
                };
                if !is_paired {
                    return false;
                }
            }
        }
        // pi makes up results that are missing.
        asked.is_empty() || !chimera
    }

    /// Whether another branch than that of HEAD needs an entry.
    fn is_on_more_branches(&self, entry: Ix) -> bool {
        let mut at = Some(entry);
        while let Some(ix) = at {
            let mut children = self.session.tree.children(ix);
            at = children.next();
            if children.next().is_some() {
                return true;
            }
        }
        false
    }
}
