//! Checks for anything that a provider would reject in the request that the agent makes at HEAD.
//!
//! The columns are enough to clear most sessions: on the part of the path that is sent, each result
//! follows its call. Only if that is not so, the context is built, which reads the lines of that
//! part.

use crate::context::{Context, NoCall, Patch, Why, kept_in_version_1};
use crate::format::{Content, Diagnostics, Format, NoteKind, ToolRef};
use crate::fsck::checks::Finder;
use crate::fsck::table::Check;
use crate::json::{member, text};
use crate::model::{Flags, Ix, Key, Kind, Source, Tree};
use std::collections::{HashMap, HashSet};
use std::io;

/// What the columns reveal about calls and results on a path.
enum Pairing {
    /// Each result certainly follows its call, and each call certainly has a result if that
    /// matters.
    Sound,
    /// Each result certainly follows its call, and these calls of entries have no result after
    /// them.
    Unanswered(Vec<(Ix, Key)>),
    /// Each result certainly follows its call, except for the results in these entries: the
    /// compaction cuts off their calls.
    Cut(Vec<Ix>, Ix),
    /// Only the context can decide.
    Unsure,
}

impl Finder<'_> {
    /// Checks for calls and results of which only one is sent at HEAD, although both are in the
    /// file.
    pub(crate) fn sent(&mut self) -> io::Result<()> {
        let session = self.session;
        let is_of_pi = matches!(session.format, Format::Pi | Format::PiV1 | Format::PiV2 | Format::Harness);
        if !is_of_pi && session.format != Format::Chimera {
            // Claude Code and oh-my-pi correct what they send.
            return Ok(());
        }
        let Some(side) = session.side.as_ref().filter(|side| !side.tools.is_empty()) else { return Ok(()) };
        let path: Vec<Ix> = session.head.leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default();
        match self.pairing(side, &path)? {
            Pairing::Sound => return Ok(()),
            Pairing::Unanswered(calls) => return self.unanswered(calls),
            Pairing::Cut(results, by) => return self.cut_off(&results, by),
            Pairing::Unsure => {}
        }
        let context = Context::build(session, self.source, Context::position(session))?;
        let told = self.reported();
        let (mut no_call, mut no_result) = (Vec::new(), Vec::new());
        for message in context.sent() {
            let Some(entry) = message.entry else { continue };
            for patch in &message.patches {
                match patch {
                    Patch::NoCall { call, why } => no_call.push((entry, call.clone(), *why)),
                    Patch::NoResult { call, .. } if !told.contains(&(entry, Check::UnpairedToolUse)) => {
                        no_result.push((entry, call.clone()));
                    }
                    _ => {}
                }
            }
        }
        let mut shared = Shared::default();
        for (entry, call, why) in no_call {
            self.no_call(entry, &call, why, &told, &mut shared)?;
        }
        no_result.iter().try_for_each(|(entry, call)| self.no_result(*entry, call))
    }

    /// Reports results whose calls are cut off by a compaction.
    fn cut_off(&mut self, results: &[Ix], by: Ix) -> io::Result<()> {
        let (told, mut shared) = (self.reported(), Shared::default());
        for &entry in results {
            let line = self.line(entry)?;
            let content = Content::read(self.session.format, &line);
            let call = content.answers().next().unwrap_or_default();
            self.no_call(entry, call, NoCall::NotSent(Why::Compacted { by }), &told, &mut shared)?;
        }
        Ok(())
    }

    /// Reports a result that is sent without its call, unless one of the findings in `told` says
    /// so.
    fn no_call(
        &mut self,
        entry: Ix,
        call: &str,
        why: NoCall,
        told: &HashSet<(Ix, Check)>,
        shared: &mut Shared,
    ) -> io::Result<()> {
        let others = [Check::OrphanToolResult, Check::DuplicateToolResult, Check::MisplacedToolResult];
        // `nameless-call` reports a result that names no call.
        if why == NoCall::Unnamed || others.iter().any(|check| told.contains(&(entry, *check))) {
            return Ok(());
        }
        self.entry(Check::BrokenPair, entry, why.culprit(), |finder, _| {
            let by = match why.culprit() {
                None => String::new(),
                // Entries of version 1 have no ids.
                Some(by) if !finder.session.entries.key(by).is_some() => {
                    format!(" (line {})", finder.session.entries.line(by))
                }
                Some(by) => format!(" (`{}`)", finder.id(by)?),
            };
            Ok(format!("the result of `{call}` is sent without its call: {why}{by}"))
        })?;
        if self.session.format == Format::PiV1 || shared.is_shared(&self.session.tree, entry) {
            self.mark_unrepairable();
        }
        Ok(())
    }

    /// Reports calls that are sent without their results, unless the whole file contains no result:
    /// another check reports that.
    fn unanswered(&mut self, calls: Vec<(Ix, Key)>) -> io::Result<()> {
        let told = self.reported();
        let calls: Vec<_> = calls
            .into_iter()
            .filter(|(entry, _)| !told.contains(&(*entry, Check::UnpairedToolUse)))
            .collect();
        let mut line = Vec::new();
        for (entry, id) in calls {
            self.source.read(self.session.span(entry), &mut line)?;
            let role = text(member(&line, "message").unwrap_or_default(), "role").into_owned();
            // Chimera recognizes calls only in messages of the model.
            let content = Content::read(self.session.format, &line);
            let call = content.calls().map(|(call, ..)| call).find(|call| Key::hash(call.as_bytes()) == id);
            if let Some(call) = call.filter(|_| role == "assistant") {
                self.no_result(entry, call)?;
            }
        }
        Ok(())
    }

    fn no_result(&mut self, entry: Ix, call: &str) -> io::Result<()> {
        self.entry(Check::BrokenPair, entry, None, |_, _| {
            Ok(format!("the call `{call}` is sent without its result, which is not on the path"))
        })?;
        self.mark_unrepairable();
        Ok(())
    }

    /// Returns the entries that have already been reported, each with the check.
    fn reported(&self) -> HashSet<(Ix, Check)> {
        self.findings.list.iter().filter_map(|finding| Some((finding.entry?, finding.check))).collect()
    }

    /// Returns which entry of the path the compaction at `at` names as the first kept one.
    fn first_kept(&self, path: &[Ix], at: usize) -> io::Result<Option<usize>> {
        let session = self.session;
        Ok(if session.format == Format::PiV1 {
            // The kept entry is named by its position among the lines.
            let kept = kept_in_version_1(session, &self.line(path[at])?);
            kept.and_then(|kept| path[..at].iter().position(|ix| *ix == kept))
        } else {
            let kept = self.notes_of(NoteKind::Kept).find(|note| note.entry == path[at]);
            kept.and_then(|kept| path[..at].iter().position(|ix| session.entries.key(*ix) == kept.key))
        })
    }

    /// Returns what the columns reveal about the calls and results on the part of the path that is
    /// sent.
    fn pairing(&self, side: &Diagnostics, path: &[Ix]) -> io::Result<Pairing> {
        let session = self.session;
        let chimera = session.format == Format::Chimera;
        let compaction = path.iter().rposition(|ix| session.entries.kind(*ix) == Kind::Compaction);
        let version_1 = session.format == Format::PiV1;
        if version_1 && session.entries.types().iter().any(|ty| ty == "stack_pop") {
            return Ok(Pairing::Unsure);
        }
        let from = match compaction.filter(|_| !chimera) {
            None => None,
            Some(at) => {
                let first = self.first_kept(path, at)?;
                Some(first.unwrap_or(at))
            }
        };
        let may_be_cut = matches!(session.format, Format::Pi | Format::PiV1 | Format::PiV2);
        let (mut edited, mut with_tools) = (false, false);
        // Results without a call in the part that is sent.
        let mut bare: Vec<(Ix, Key)> = Vec::new();
        // Results follow their calls closely; those that do not are left to the context.
        const NEAR: usize = 64;
        let mut asked: Vec<(Ix, Key)> = Vec::new();
        let place = |asked: &[(Ix, Key)], id: Key| {
            let from = asked.len().saturating_sub(NEAR);
            asked[from..].iter().rposition(|(_, open)| *open == id).map(|at| from + at)
        };
        let mut next = 0;
        for &ix in &path[from.unwrap_or_default()..] {
            let (kind, flags) = (session.entries.kind(ix), session.entries.flags(ix));
            edited |= kind == Kind::Setting && session.entries.ty(ix) == "context_edit";
            if !flags.has(Flags::CALL) && !flags.has(Flags::RESULT) {
                continue;
            }
            with_tools = true;
            // A failed reply is not sent, and neither are its calls.
            let fails = !chimera && flags.has(Flags::ENDED_BADLY);
            // The path is nearly always in the order of the file.
            if side.tools.get(next).is_none_or(|tool| tool.entry != ix) {
                next = side.tools.partition_point(|tool| tool.entry < ix);
            }
            while let Some(ToolRef { id, result, .. }) = side.tools.get(next).filter(|tool| tool.entry == ix)
            {
                next += 1;
                match (place(&asked, *id), result) {
                    (Some(at), true) => drop(asked.remove(at)),
                    (None, true) if may_be_cut && flags.has(Flags::RESULT) => bare.push((ix, *id)),
                    (Some(_), false) | (None, true) => return Ok(Pairing::Unsure),
                    (None, false) if fails => {}
                    (None, false) => asked.push((ix, *id)),
                }
            }
        }
        if edited && with_tools && !chimera {
            return Ok(Pairing::Unsure);
        }
        if !bare.is_empty() {
            let cut = from.zip(compaction).filter(|(from, _)| are_cut(side, &bare, &path[..*from]));
            return Ok(cut.map_or(Pairing::Unsure, |(_, compaction)| {
                Pairing::Cut(bare.iter().map(|(ix, _)| *ix).collect(), path[compaction])
            }));
        }
        // pi invents missing results.
        Ok(if chimera && !asked.is_empty() { Pairing::Unanswered(asked) } else { Pairing::Sound })
    }
}

/// Which entries are on more branches than one, as far as it was asked for.
#[derive(Default)]
struct Shared(HashMap<Ix, bool>);

impl Shared {
    /// Returns whether an entry is on more branches than one. Each entry is visited once.
    fn is_shared(&mut self, tree: &Tree, entry: Ix) -> bool {
        let mut path = Vec::new();
        let mut at = entry;
        let is_shared = loop {
            if let Some(known) = self.0.get(&at) {
                break *known;
            }
            path.push(at);
            let mut children = tree.children(at);
            match (children.next(), children.next()) {
                (Some(only), None) => at = only,
                (next, _) => break next.is_some(),
            }
        };
        self.0.extend(path.into_iter().map(|ix| (ix, is_shared)));
        is_shared
    }
}

/// Returns whether the call of each of these results is certainly in the part of the path that a
/// compaction cuts off: each id has one call in the file, which is in `cut`, and each entry one
/// result.
fn are_cut(side: &Diagnostics, results: &[(Ix, Key)], cut: &[Ix]) -> bool {
    // A compaction cuts through one reply.
    const MOST: usize = 64;
    let mut calls: Vec<Option<Ix>> = vec![None; results.len()];
    if results.len() > MOST || !results.is_sorted_by(|a, b| a.0 < b.0) {
        return false;
    }
    for tool in side.tools.iter().filter(|tool| !tool.result) {
        for (call, _) in calls.iter_mut().zip(results).filter(|(_, (_, id))| *id == tool.id) {
            if call.replace(tool.entry).is_some() {
                return false;
            }
        }
    }
    calls.iter().all(|call| call.is_some_and(|call| cut.contains(&call)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_shared_if_a_path_parts_at_or_below_it() {
        // 0 - 1 - 2 - 3 - 4, and 5 below 2; 6 - 7.
        let parents = [None, Some(0), Some(1), Some(2), Some(3), Some(2), None, Some(6)];
        let tree = Tree::of_links(parents.into_iter().map(|parent| parent.map(Ix)), std::iter::empty());
        let wanted = [true, true, true, false, false, false, false, false];
        for from in 0..8 {
            // Whichever is asked for first.
            let mut shared = Shared::default();
            for ix in (from..8).chain(0..from) {
                assert_eq!(shared.is_shared(&tree, Ix(ix)), wanted[ix as usize], "{ix} after {from}");
            }
        }
    }
}
