//! Checks that concern only Claude Code's transcripts, and the names of session files.

use super::Finder;
use crate::format::claude::KeptLists;
use crate::format::claude::head::Rule;
use crate::format::claude::request;
use crate::format::claude::request::Role;
use crate::format::{Format, NoteKind, Session};
use crate::fsck::table::Check;
use crate::json::{each_item, member_at, string, string_of};
use crate::model::{Flags, Ix, Key, Kind, Parent, Source};
use std::collections::HashSet;
use std::io;

/// The messages that a boundary of Claude Code keeps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::fsck) struct Kept {
    /// The kept messages, in order.
    pub uuids: Vec<String>,
    /// The entry after which they continue.
    pub anchor: Option<String>,
    /// The first and the last of them.
    pub ends: Vec<String>,
}

impl Kept {
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.uuids.iter().chain(&self.anchor).chain(&self.ends).map(|id| Key::hash(id.as_bytes()))
    }
}

/// Returns the lists of a boundary, or `None` if it has none.
pub(in crate::fsck) fn kept_lists(line: &[u8]) -> Option<Kept> {
    let lists = KeptLists::find(line);
    let text = |id: Option<&[u8]>| string(id?).map(|text| text.into_owned());
    let kept = Kept {
        uuids: lists.uuids().filter_map(|id| text(Some(id))).collect(),
        anchor: lists.anchors().into_iter().find_map(text),
        ends: lists.ends().into_iter().filter_map(text).collect(),
    };
    (!kept.uuids.is_empty() || !kept.ends.is_empty()).then_some(kept)
}

/// Returns the session to which a transcript belongs, as an index into the sessions that its
/// entries name.
///
/// This is the session that the file is named after, if its entries name it; otherwise the one with
/// the most entries, unless all of them are ancestors of the session of the last turn, which was
/// then resumed from it.
pub(in crate::fsck) fn own_session(session: &Session, stem: &str) -> Option<usize> {
    let entries = &session.entries;
    // Standard input has no name, and some entries have no session.
    let named = entries.sessions().iter().position(|name| name == stem);
    if let Some(named) = named.filter(|_| !stem.is_empty()) {
        return Some(named);
    }
    let mut counts = vec![0usize; entries.sessions().len()];
    let mut last = None;
    for ix in session.tree.entries_in_tree() {
        if let Some(of) = entries.session_at(ix) {
            counts[of] += 1;
            let turn = entries.kind(ix).is_turn();
            if turn && !entries.flags(ix).has(Flags::SIDECHAIN) {
                last = Some(of);
            }
        }
    }
    let most = (0..counts.len()).rev().max_by_key(|of| counts[*of]).filter(|of| counts[*of] > 0)?;
    let Some(last) = last.filter(|last| *last != most) else { return Some(most) };
    let above = own_or_ancestors(session, last);
    let inherited = session
        .tree
        .entries_in_tree()
        .filter(|ix| entries.session_at(*ix) == Some(most))
        .all(|ix| above[ix.index()]);
    Some(if inherited { last } else { most })
}

/// Returns which entries belong to a session, or are ancestors of one that does.
fn own_or_ancestors(session: &Session, of: usize) -> Vec<bool> {
    let mut above = vec![false; session.entries.len()];
    for ix in session.tree.entries_in_tree() {
        if session.entries.session_at(ix) != Some(of) {
            continue;
        }
        let mut at = Some(ix);
        while let Some(ix) = at.filter(|ix| !above[ix.index()]) {
            above[ix.index()] = true;
            at = session.tree.parent(ix);
        }
    }
    above
}

/// Returns whether a name is a UUID, like the names of Claude Code's sessions.
fn is_uuid(name: &str) -> bool {
    name.len() == 36 && uuid::Uuid::try_parse(name).is_ok()
}

impl Finder<'_> {
    /// Checks a transcript of Claude Code, except for its links.
    pub(crate) fn claude(&mut self) -> io::Result<()> {
        if self.session.format != Format::Claude {
            return self.name_of_pi();
        }
        let own = own_session(self.session, self.around.stem());
        self.sessions(own)?;
        self.roots(own)?;
        self.named_entries()?;
        self.kept()?;
        self.pointers()?;
        self.sidechains()?;
        self.at_head()?;
        self.files()
    }

    /// Checks the name of a file of pi, which consists of a time and an id.
    fn name_of_pi(&mut self) -> io::Result<()> {
        let Some(id) = self.session.header.as_ref().and_then(|header| header.id.as_deref()) else {
            return Ok(());
        };
        let stem = self.around.stem();
        let named = stem.rsplit('_').next().unwrap_or(stem);
        if is_uuid(named) && named != id && self.session.format != Format::Chimera {
            self.file(Check::SessionIdMismatch, || {
                format!("the file is named after `{named}`, but its session is `{id}`")
            });
        }
        Ok(())
    }

    fn sessions(&mut self, own: Option<usize>) -> io::Result<()> {
        let session = self.session;
        let stem = self.around.stem();
        let names = session.entries.sessions();
        let Some(own) = own else { return Ok(()) };
        if stem.starts_with("agent-") {
            // A subagent may serve more than one session; its file is named after the subagent.
            return Ok(());
        }
        if is_uuid(stem) && names[own] != stem {
            let message = || format!("the file is named after `{stem}`, but its session is `{}`", names[own]);
            self.file(Check::SessionIdMismatch, message);
        }
        if names.iter().filter(|name| !name.is_empty()).count() < 2 {
            return Ok(());
        }
        let above = own_or_ancestors(session, own);
        for ix in session.tree.entries_in_tree() {
            let Some(of) = session.entries.session_at(ix).filter(|of| *of != own) else { continue };
            let (check, words) = match above[ix.index()] {
                true => (Check::InheritedPrefix, "and entries of this one follow it"),
                false => (Check::ForeignSession, "and is not an ancestor of entries of this one"),
            };
            self.entry(check, ix, None, |_, _| {
                Ok(format!("the entry is of session `{}`, {words}", names[of]))
            })?;
        }
        Ok(())
    }

    fn roots(&mut self, own: Option<usize>) -> io::Result<()> {
        let session = self.session;
        let mut seen = false;
        for ix in session.tree.entries_in_tree() {
            if session.tree.link(ix) != Parent::Root {
                continue;
            }
            let flags = session.entries.flags(ix);
            let of = session.entries.session_at(ix);
            if flags.has(Flags::SIDECHAIN)
                || flags.has(Flags::COMPACT_SUMMARY)
                || of.is_some() && of != own
                || matches!(session.entries.kind(ix), Kind::Progress | Kind::Attachment | Kind::Compaction)
                || self.is_command(ix)?
            {
                continue;
            }
            if std::mem::replace(&mut seen, true) {
                self.entry(Check::UnexpectedRoot, ix, None, |_, _| {
                    Ok("a root in the middle: the agent does not see anything before it".into())
                })?;
            }
        }
        Ok(())
    }

    /// Returns whether an entry is a command that Claude Code itself carried out, or the output of
    /// one.
    fn is_command(&self, ix: Ix) -> io::Result<bool> {
        let line = self.line(ix)?;
        if self.session.entries.kind(ix) == Kind::System {
            return Ok(member_at(&line, &["subtype"]) == Some(b"\"local_command\""));
        }
        let content = member_at(&line, &["message", "content"]).unwrap_or_default();
        let text = match string(content) {
            Some(text) => text.into_owned(),
            None => each_item(content).find_map(|block| string_of(block, "text")).unwrap_or_default(),
        };
        let text = text.trim_start();
        // Any such element, whether or not `Markup` knows it.
        Ok(["<command-", "<local-command-", "<bash-"].iter().any(|mark| text.starts_with(mark)))
    }

    /// Checks lines that name an entry.
    fn named_entries(&mut self) -> io::Result<()> {
        for note in self.notes() {
            let found = self.is_there(note.key);
            match note.kind {
                NoteKind::LogicalParent if !found && self.session.tree.is_in_tree(note.entry) => {
                    self.entry(Check::DanglingLogicalParent, note.entry, None, |finder, _| {
                        let id = finder.text(note.entry, "logicalParentUuid")?.unwrap_or_default();
                        Ok(format!("the logical parent `{id}` is not in this session"))
                    })?;
                }
                NoteKind::Summary if !found => {
                    self.report_at(Check::ForeignSummary, u64::from(note.line), note.offset, || {
                        "the summary is about an entry that is not in this session".into()
                    });
                }
                NoteKind::Snapshot if found => {
                    self.report_at(Check::SnapshotIdOverlap, u64::from(note.line), note.offset, || {
                        "the file snapshot names an entry".into()
                    });
                }
                NoteKind::TurnWithoutId => {
                    self.report_at(Check::MissingUuid, u64::from(note.line), note.offset, || {
                        "the turn has no uuid, so it can't have children".into()
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks for entries that the last boundary keeps but that do not exist.
    fn kept(&mut self) -> io::Result<()> {
        let entries = &self.session.entries;
        let Some(last) = entries.all().rev().find(|ix| entries.kind(*ix) == Kind::Compaction) else {
            return Ok(());
        };
        let Some((ix, kept)) = self.lists.iter().find(|(ix, _)| *ix == last).cloned() else {
            return Ok(());
        };
        let is_there = |id: &String| self.is_there(Key::hash(id.as_bytes()));
        let lost: Vec<&String> = match kept.uuids.is_empty() {
            true => kept.ends.iter().filter(|id| !is_there(id)).collect(),
            false => kept.uuids.iter().filter(|id| !is_there(id)).collect(),
        };
        // The anchor is the summary, or the boundary itself if the summary covers the part after
        // the kept messages. It may be lost: an entry that names it as its parent continues from
        // the kept messages nevertheless. If no entry does, intact lists would drop everything else
        // before, and yield nothing.
        let anchor = kept.anchor.as_ref().and_then(|id| self.known.entry(Key::hash(id.as_bytes())));
        let is_turn = |ix| matches!(self.session.entries.kind(ix), Kind::User | Kind::Assistant | Kind::Tool);
        let anchored = match anchor {
            Some(anchor) => anchor > ix || anchor == ix && self.session.tree.children(ix).any(is_turn),
            None => kept.anchor.as_ref().is_some_and(|anchor| {
                let key = Some(Key::hash(anchor.as_bytes()));
                self.session.tree.orphans().any(|orphan| entries.parent_key(orphan) == key)
            }),
        };
        if let Some(first) = lost.first() {
            let some_left = kept.uuids.iter().any(is_there);
            self.entry(Check::MissingKept, ix, None, |_, _| {
                Ok(format!("{} of the kept messages are not in this session, e.g. `{first}`", lost.len()))
            })?;
            // If HEAD of Claude Code is an entry that would be gone, e.g. because a pointer names
            // it, HEAD would move elsewhere.
            let is_kept = |head| kept.keys().any(|key| key == self.session.entries.key(head));
            let stays = self.session.head.exact.is_none_or(|head| head > ix || is_kept(head));
            if !anchored || !some_left || !stays {
                self.mark_unrepairable();
            }
        }
        Ok(())
    }

    /// Checks the targets of pointers.
    fn pointers(&mut self) -> io::Result<()> {
        let session = self.session;
        let counts =
            |pointer: &&crate::format::Pointer| pointer.target.is_some() || pointer.explicit == Some(true);
        let Some(pointer) = session.pointers.iter().rfind(counts) else { return Ok(()) };
        let offset = match session.others.binary_search_by_key(&pointer.line, |other| other.line) {
            Ok(at) => session.others[at].span.offset,
            Err(_) => 0,
        };
        let Some(target) = pointer.target else {
            self.report_at(Check::ExplicitNullPointer, pointer.line, offset, || {
                "the last pointer says that the conversation is empty".into()
            });
            return Ok(());
        };
        let Some(found) = self.known.entry(target) else { return Ok(()) };
        let Some(tip) = tip(session) else { return Ok(()) };
        if session.tree.is_ancestor(found, tip) {
            return Ok(());
        }
        if session.entries.flags(found).has(Flags::SIDECHAIN) {
            self.report_at(Check::PointerToSidechain, pointer.line, offset, || {
                "the last pointer names an entry of a sidechain: the session can't be opened".into()
            });
        } else {
            let line = self.origin_line(tip);
            self.report_at(Check::StalePointer, pointer.line, offset, || {
                format!("the last pointer is on another branch than the newest turn, line {line}")
            });
        }
        Ok(())
    }

    /// Checks whether Claude Code opens the session, and whether the service accepts the request
    /// that it makes at HEAD.
    fn at_head(&mut self) -> io::Result<()> {
        let session = self.session;
        let kind = |ix: Ix| session.entries.kind(ix);
        if session.head.exact.is_none() {
            let rule = session.head.rule;
            let is_side = |ix: Ix| session.entries.flags(ix).has(Flags::SIDECHAIN);
            let mut turns = session.tree.entries_in_tree().filter(|ix| kind(*ix).is_turn()).peekable();
            if ![Rule::Sidechain, Rule::NoTurn].map(Rule::phrase).contains(&rule) || turns.peek().is_none() {
                return Ok(());
            }
            let opens = rule == Rule::NoTurn.phrase() && turns.any(|ix| !is_side(ix));
            self.file(Check::NoHead, || match opens {
                true => {
                    "there is no turn to continue from: the agent would send nothing of the session".into()
                }
                false => rule.into(),
            });
            return Ok(());
        }
        let Some(ix) = refused_reply(session, self.source)? else { return Ok(()) };
        // An orphan is reported as such.
        if self.findings.list.iter().any(|found| found.entry == Some(ix) && is_about_link(found.check)) {
            return Ok(());
        }
        self.entry(Check::AssistantFirst, ix, None, |_, _| {
            Ok("the next request begins with this reply, and the service rejects it".into())
        })
    }

    /// Checks for entries of the conversation that are marked as a sidechain.
    fn sidechains(&mut self) -> io::Result<()> {
        let session = self.session;
        let side = |ix: Ix| session.entries.flags(ix).has(Flags::SIDECHAIN);
        let all = session.tree.entries_in_tree().all(side);
        for ix in session.tree.entries_in_tree().filter(|ix| side(*ix)) {
            let below = session.tree.parent(ix).is_some_and(|parent| !side(parent));
            if (below || all && session.tree.link(ix) == Parent::Root)
                && session.entries.kind(ix).is_turn()
                && member_at(&self.line(ix)?, &["agentId"]).is_none()
            {
                self.entry(Check::SidechainTrunk, ix, None, |_, _| {
                    Ok("a turn of the main conversation is marked as a sidechain".into())
                })?;
            }
        }
        Ok(())
    }

    /// Checks for files beside the transcript that it names.
    fn files(&mut self) -> io::Result<()> {
        let session = self.session;
        let Some(agents) = self.around.agents() else { return Ok(()) };
        let mut named = HashSet::new();
        for note in self.notes_of(NoteKind::Agent).filter(|note| session.tree.is_in_tree(note.entry)) {
            named.insert(note.key);
            if agents.iter().all(|agent| Key::hash(agent.as_bytes()) != note.key) {
                self.entry(Check::AnchorWithoutAgent, note.entry, None, |finder, _| {
                    let line = finder.line(note.entry)?;
                    let id = member_at(&line, &["toolUseResult", "agentId"]).unwrap_or_default();
                    Ok(format!("the file of the subagent {} is missing", String::from_utf8_lossy(id)))
                })?;
            }
        }
        // Claude Code starts some by itself: to compact, to suggest a prompt, to answer a side
        // question.
        let of_client = |agent: &str| {
            ["acompact", "aprompt_suggestion", "aside_question"].iter().any(|start| agent.starts_with(start))
        };
        let unnamed = |agent: &&String| !named.contains(&Key::hash(agent.as_bytes())) && !of_client(agent);
        let unnamed: Vec<&String> = agents.iter().filter(unnamed).collect();
        if !unnamed.is_empty() {
            // Others are found by the files beside theirs, by their run, or by their prompt.
            let placed = self.around.placed_agents();
            for agent in unnamed.into_iter().filter(|agent| !placed.contains(*agent)) {
                self.file(Check::AgentWithoutAnchor, || {
                    format!("no tool call started the subagent `{agent}`")
                });
            }
        }
        for note in self.notes_of(NoteKind::ResultFile) {
            let line = self.line(note.entry)?;
            for name in result_files(&line) {
                if !self.around.has_result_file(&name) {
                    self.entry(Check::MissingResultFile, note.entry, None, |_, _| {
                        Ok(format!("`tool-results/{name}` is missing"))
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the reply with which the next request would begin: the service rejects such a request.
pub(in crate::fsck) fn refused_reply(session: &Session, source: &dyn Source) -> io::Result<Option<Ix>> {
    let Some(head) = session.head.exact.filter(|_| session.format == Format::Claude) else { return Ok(None) };
    // An agent's transcript is never resumed by itself.
    if session.head.rule == Rule::Agent.phrase() || !may_begin_with_reply(session, head) {
        return Ok(None);
    }
    let sending = request::sending(session, source, None)?;
    let first = sending.messages.first().filter(|first| first.role == Role::Assistant);
    Ok(first.and_then(|first| first.entry))
}

/// Returns whether the request at HEAD may begin with a reply, judging by the columns.
fn may_begin_with_reply(session: &Session, head: Ix) -> bool {
    let kind = |ix: Ix| session.entries.kind(ix);
    let claude = &session.claude;
    let summary_is_lost = claude.boundary.as_ref().is_some_and(|boundary| {
        boundary.keeps() && boundary.anchor.is_none_or(|anchor| session.find(anchor).is_none())
    });
    if summary_is_lost || !claude.retracted.is_empty() || !claude.links.is_empty() {
        return true;
    }
    // Claude Code continues after the last copy of an entry, but the first one has the place in the
    // tree.
    let head = match session.tree.is_in_tree(head) {
        true => head,
        false => session.find(session.entries.key(head)).unwrap_or(head),
    };
    let above = session.tree.ancestors(head).take_while(|ix| kind(*ix) != Kind::Compaction);
    above.filter(|ix| kind(*ix).is_turn()).last().is_some_and(|first| kind(first) == Kind::Assistant)
}

/// Returns whether a check is about the link of an entry.
fn is_about_link(check: Check) -> bool {
    matches!(
        check,
        Check::DanglingParent
            | Check::ParentElsewhere
            | Check::ParentCycle
            | Check::UnknownTypeLink
            | Check::IdCase
            | Check::UnexpectedRoot
    )
}

/// Returns the names of the files in `tool-results` that a line mentions.
fn result_files(line: &[u8]) -> Vec<String> {
    let mut out: Vec<String> = memchr::memmem::find_iter(line, b"/tool-results/")
        .map(|at| {
            let rest = &line[at + b"/tool-results/".len()..];
            let part_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            let len = rest.iter().position(|byte| !part_of_name(byte)).unwrap_or(rest.len());
            String::from_utf8_lossy(&rest[..len]).trim_end_matches('.').to_owned()
        })
        .filter(|name| !name.is_empty())
        .collect();
    out.sort();
    out.dedup();
    out
}

/// Returns the last entry of the conversation in the file.
pub(in crate::fsck) fn tip(session: &Session) -> Option<Ix> {
    let of_chain = |kind| {
        matches!(
            kind,
            Kind::User | Kind::Assistant | Kind::Tool | Kind::System | Kind::Attachment | Kind::Compaction
        )
    };
    session
        .tree
        .entries_in_tree()
        .rev()
        .find(|ix| of_chain(session.entries.kind(*ix)) && !session.entries.flags(*ix).has(Flags::SIDECHAIN))
}
