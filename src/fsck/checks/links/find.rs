//! Checks of links, times, labels and HEAD.

use crate::format::{Format, NoteKind};
use crate::fsck::checks::Finder;
use crate::fsck::excerpt::short;
use crate::fsck::table::Check;
use crate::json::member_at;
use crate::model::{Flags, Ix, Key, Parent};
use std::collections::HashSet;
use std::io;

impl Finder<'_> {
    /// Returns the ids that orphans name as their parents, in all spellings that may be meant.
    pub(crate) fn ids_of_orphans(&self) -> io::Result<Vec<Key>> {
        let mut out = Vec::new();
        for ix in self.session.tree.orphans() {
            let parent = self.parent_id(ix)?;
            out.push(Key::hash(parent.to_ascii_lowercase().as_bytes()));
            out.push(Key::hash(parent.to_ascii_uppercase().as_bytes()));
        }
        Ok(out)
    }

    /// Checks links, times and labels.
    pub(crate) fn tree(&mut self) -> io::Result<()> {
        let session = self.session;
        self.orphans()?;
        for note in self.notes_of(NoteKind::NoType).filter(|note| note.key.is_some()) {
            self.entry(Check::GarbageLine, note.entry, None, |_, _| {
                Ok("the entry has no type, but agents follow its links".into())
            })?;
            self.mark_unrepairable();
        }
        for ix in session.tree.cycle_cuts() {
            let Parent::Cycle(to) = session.tree.link(ix) else { continue };
            self.entry(Check::ParentCycle, ix, Some(to), |finder, _| {
                Ok(match ix == to {
                    true => "the entry is its own parent".into(),
                    false => format!(
                        "parent `{}` is a descendant of the entry: {} entries form a cycle",
                        finder.id(to)?,
                        session.tree.ancestors(to).take_while(|above| *above != ix).count() + 1
                    ),
                })
            })?;
        }
        let mut backward = session.tree.cycle_cuts().len() == 0;
        for ix in session.tree.entries_in_tree() {
            let time = session.entries.time(ix);
            // The format of the design document needs no times.
            let needs_none = || -> io::Result<bool> {
                Ok(session.format == Format::PiDesign && member_at(&self.line(ix)?, &["timestamp"]).is_none())
            };
            if !time.is_some() && session.entries.ty(ix) != "title" && !needs_none()? {
                self.entry(Check::BadTimestamp, ix, None, |_, _| {
                    Ok("the time of the entry is missing, or can't be read".into())
                })?;
            }
            let Some(parent) = session.tree.parent(ix) else { continue };
            if parent > ix {
                backward = false;
                self.entry(Check::ForwardParent, ix, Some(parent), |finder, _| {
                    Ok(format!("its parent comes after it, on line {}", finder.origin_line(parent)))
                })?;
            }
            let before = session.entries.time(parent);
            if time.is_some() && before.is_some() && time < before {
                self.entry(Check::TimeRegress, ix, Some(parent), |_, _| {
                    Ok(format!("the entry is {} older than its parent", Ago(before.0 - time.0)))
                })?;
            }
        }
        // If each parent comes before its child, each entry leads to a root.
        if !backward {
            self.coverage()?;
        }
        self.labels();
        self.leaves_and_tail()
    }

    pub(crate) fn origin_line(&self, ix: Ix) -> u64 {
        self.source.text.origin(self.session.entries.line(ix), self.session.span(ix).offset).line
    }

    fn coverage(&mut self) -> io::Result<()> {
        let session = self.session;
        let mut reached = vec![false; session.entries.len()];
        for root in session.tree.roots() {
            for ix in session.tree.subtree(root) {
                reached[ix.index()] = true;
            }
        }
        for ix in session.tree.entries_in_tree().filter(|ix| !reached[ix.index()]) {
            self.entry(Check::Coverage, ix, None, |_, _| Ok("the entry is not reached from a root".into()))?;
        }
        Ok(())
    }

    fn orphans(&mut self) -> io::Result<()> {
        let session = self.session;
        for note in self.notes_of(NoteKind::OddParent).filter(|note| session.tree.is_in_tree(note.entry)) {
            self.entry(Check::DanglingParent, note.entry, None, |finder, _| {
                let line = finder.line(note.entry)?;
                let parent = member_at(&line, &[session.format.names().parent]).unwrap_or_default();
                Ok(format!("the parent is not an id: {}", short(parent)))
            })?;
        }
        let orphans: Vec<Ix> = session.tree.orphans().collect();
        if orphans.is_empty() {
            return Ok(());
        }
        let header = session.header_key();
        let stray: HashSet<Key> = self.notes_of(NoteKind::StrayId).map(|note| note.key).collect();
        let mut lost = Vec::new();
        for ix in orphans {
            let parent = self.parent_id(ix)?;
            let key = Key::hash(parent.as_bytes());
            if header == Some(key) || self.deep.contains(&key) {
                continue;
            }
            let named = |spelled: String| self.known.entry(Key::hash(spelled.as_bytes()));
            let spelled = named(parent.to_ascii_lowercase()).or(named(parent.to_ascii_uppercase()));
            if stray.contains(&Key::hash(parent.as_bytes())) {
                self.entry(Check::UnknownTypeLink, ix, None, |_, _| {
                    Ok(format!("parent `{parent}` is a line that is not part of the conversation"))
                })?;
            } else if spelled.is_some_and(|found| found != ix) {
                self.entry(Check::IdCase, ix, spelled, |finder, _| {
                    let id = finder.id(spelled.unwrap_or(ix))?;
                    Ok(format!("parent `{parent}` differs from `{id}` only in case"))
                })?;
            } else {
                lost.push((ix, parent));
            }
        }
        let links: Vec<(Key, Key)> = lost
            .iter()
            .map(|(ix, parent)| (session.entries.key(*ix), Key::hash(parent.as_bytes())))
            .collect();
        let elsewhere = match session.format {
            Format::Claude if !links.is_empty() => self.around.elsewhere(&links),
            _ => HashSet::new(),
        };
        for (ix, parent) in lost {
            let (check, words) = match elsewhere.contains(&session.entries.key(ix)) {
                true => (Check::ParentElsewhere, "is in another session file of the project"),
                false => (Check::DanglingParent, "is not in this session"),
            };
            self.entry(check, ix, None, |_, _| Ok(format!("parent `{parent}` {words}")))?;
        }
        Ok(())
    }

    fn labels(&mut self) {
        let session = self.session;
        if session.format == Format::PiV1 {
            // There are no ids that a label could name.
            return;
        }
        for label in session.labels.lines.iter() {
            if self.is_there(label.target) {
                continue;
            }
            let message = || match label.text.is_empty() {
                true => "a label is cleared on an entry that is not in this session".into(),
                false => format!("label `{}` names an entry that is not in this session", label.text),
            };
            let offset = match label.entry {
                Some(ix) => session.span(ix).offset,
                None => match session.others.binary_search_by_key(&label.line, |other| other.line) {
                    Ok(at) => session.others[at].span.offset,
                    Err(_) => 0,
                },
            };
            self.report_at(Check::DanglingLabel, label.line, offset, message);
        }
    }

    /// Checks HEAD of pi and oh-my-pi: leaf entries, and the type of the last line.
    fn leaves_and_tail(&mut self) -> io::Result<()> {
        let session = self.session;
        if matches!(session.format, Format::Chimera | Format::Claude | Format::HarnessV4 | Format::PiV1)
            || session.format.is_guest()
        {
            return Ok(());
        }
        for pointer in &session.pointers {
            let Some(target) = pointer.target else { continue };
            let ix = Ix(pointer.before);
            if ix.index() < session.entries.len() && !self.is_there(target) {
                self.entry(Check::DanglingLeaf, ix, None, |finder, _| {
                    let target = finder.text(ix, "targetId")?.unwrap_or_default();
                    Ok(format!("the leaf `{target}` is not in this session"))
                })?;
            }
        }
        // How a program with a derived format finds HEAD is not known.
        if session.program.is_some() {
            return Ok(());
        }
        // An entry without an id is reported by another check.
        let tail = session.tree.entries_in_tree().rev().find(|ix| session.entries.key(*ix).is_some());
        let Some(tail) = tail else { return Ok(()) };
        let is_in_any_conversation =
            |ix: Ix| session.entries.ty(ix) == "message" || session.entries.ty(ix) == "custom_message";
        let moves = |ix: Ix| {
            matches!(session.entries.ty(ix), "leaf" | "compaction" | "branch_summary")
                || session.entries.flags(ix).has(Flags::MARKER)
        };
        if is_in_any_conversation(tail) || moves(tail) {
            return Ok(());
        }
        let newest = session.tree.entries_in_tree().rev().find(|ix| session.entries.ty(*ix) == "message");
        if let Some(newest) = newest
            && !session.tree.is_ancestor(newest, tail)
            // A label after a switch: the branch was left on purpose.
            && !session.tree.ancestors(tail).take_while(|ix| *ix > newest).any(moves)
            && !self.led_there(newest, tail)
        {
            self.entry(Check::StaleTail, tail, Some(newest), |finder, _| {
                Ok(format!(
                    "the last entry is bookkeeping ({}) on a branch without the newest message, line {}",
                    session.entries.ty(tail),
                    finder.origin_line(newest)
                ))
            })?;
        }
        Ok(())
    }

    /// Returns whether a leaf entry after the newest message moved HEAD above the tail.
    fn led_there(&self, newest: Ix, tail: Ix) -> bool {
        let later = self.session.pointers.iter().rev().take_while(|pointer| pointer.before > newest.0);
        later.take(16).any(|pointer| match pointer.target {
            Some(target) => {
                self.known.entry(target).is_some_and(|to| self.session.tree.is_ancestor(to, tail))
            }
            None => true,
        })
    }

    /// Checks the entries that branch summaries name.
    pub(crate) fn branch_origins(&mut self) -> io::Result<()> {
        for note in self.notes_of(NoteKind::From).filter(|note| self.session.tree.is_in_tree(note.entry)) {
            if !self.is_there(note.key) {
                self.entry(Check::DanglingBranchFrom, note.entry, None, |finder, _| {
                    let from = finder.text(note.entry, "fromId")?.unwrap_or_default();
                    Ok(format!("the summary is about `{from}`, which is not in this session"))
                })?;
            }
        }
        Ok(())
    }
}

/// A duration as text; holds milliseconds.
struct Ago(i64);

impl std::fmt::Display for Ago {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            ..1000 => write!(f, "{} ms", self.0),
            1000..120_000 => write!(f, "{} s", self.0 / 1000),
            120_000..7_200_000 => write!(f, "{} min", self.0 / 60_000),
            7_200_000..172_800_000 => write!(f, "{} h", self.0 / 3_600_000),
            _ => write!(f, "{} days", self.0 / 86_400_000),
        }
    }
}
