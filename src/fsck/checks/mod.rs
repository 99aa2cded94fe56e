//! Checks of entries: headers, ids, links, tool calls, content, and what the agent sends. Damaged
//! lines are found before these run, in [`super::lines`].

mod claude;
mod compaction;
mod content;
mod copies;
pub(super) mod flaws;
mod guests;
mod header;
pub(super) mod links;
pub(super) mod sent;
pub(super) mod tools;

use claude::Kept;
pub(super) use claude::{kept_lists, own_session, refused_reply, tip};
pub(super) use copies::{Original, Same};
pub(super) use flaws::find::check_of;
pub(super) use tools::find::{is_not_sent, repeated};

use super::Surroundings;
use super::finding::{Finding, Findings};
use super::rope::Patched;
use super::table::{Check, RepairMode};
use crate::format::{Note, NoteKind, Session, ToolRef};
use crate::json::{member_at, string, string_of};
use crate::model::{Flags, Found, Ix, Key, Source, Span, Tree};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::io;

/// Checks a session. `source` returns the bytes of the text that it was read from, and `deep`
/// contains the ids on lines that agents may read although bough can't.
pub(super) fn all(
    session: &Session,
    source: &Patched<'_>,
    around: &dyn Surroundings,
    deep: &HashSet<Key>,
    findings: &mut Findings,
) -> io::Result<()> {
    let mut finder = Finder {
        session,
        source,
        around,
        findings,
        known: Found::default(),
        deep,
        lists: Vec::new(),
        lineage: Lineage::default(),
    };
    finder.learn()?;
    finder.headers()?;
    finder.tree()?;
    finder.copies()?;
    // If the format is derived from a known one, it is unknown what the program does with its
    // messages.
    if session.program.is_some() {
        return finder.guests();
    }
    finder.compactions()?;
    finder.tools()?;
    finder.content()?;
    finder.branch_origins()?;
    finder.flaws()?;
    finder.sent()?;
    finder.claude()
}

pub(in crate::fsck) struct Finder<'a> {
    pub session: &'a Session,
    pub source: &'a Patched<'a>,
    pub around: &'a dyn Surroundings,
    pub findings: &'a mut Findings,
    /// The entries with the ids that lines name.
    pub known: Found,
    /// The ids on lines that agents may read.
    deep: &'a HashSet<Key>,
    /// Boundaries of Claude Code with the messages that they keep.
    lists: Vec<(Ix, Kept)>,
    lineage: Lineage,
}

impl<'a> Finder<'a> {
    /// Looks up all ids that lines name, in one pass.
    fn learn(&mut self) -> io::Result<()> {
        let session = self.session;
        let mut wanted: Vec<Key> = session.labels.lines.iter().map(|line| line.target).collect();
        wanted.extend(session.pointers.iter().filter_map(|pointer| pointer.target));
        wanted.extend(self.notes().filter(|note| note.key.is_some()).map(|note| note.key));
        wanted.extend(self.ids_of_orphans()?);
        self.lists = self.read_lists()?;
        wanted.extend(self.lists.iter().flat_map(|(_, kept)| kept.keys()));
        self.known = session.tree.find_all(&session.entries, wanted.iter().copied());
        Ok(())
    }

    /// Returns whether an id that lines name is in the file.
    pub(super) fn is_there(&self, key: Key) -> bool {
        self.known.entry(key).is_some() || self.deep.contains(&key)
    }

    /// Returns whether the entry that a check misses may be on a line that agents may read.
    fn is_unsure(&self, check: Check) -> bool {
        let of_others = matches!(
            check,
            Check::UnpairedToolUse
                | Check::OrphanToolResult
                | Check::MisplacedToolResult
                | Check::DanglingKept
                | Check::KeptOffPath
        );
        of_others && !self.deep.is_empty()
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = &'a Note> + use<'a> {
        self.session.side.iter().flat_map(|side| &side.notes)
    }

    pub(super) fn notes_of(&self, kind: NoteKind) -> impl Iterator<Item = &'a Note> + use<'a> {
        self.notes().filter(move |note| note.kind == kind)
    }

    pub(super) fn line(&self, ix: Ix) -> io::Result<Vec<u8>> {
        self.source.bytes(self.session.span(ix))
    }

    /// Returns a string field of an entry.
    pub(super) fn text(&self, ix: Ix, field: &str) -> io::Result<Option<String>> {
        Ok(string_of(&self.line(ix)?, field))
    }

    pub(super) fn id(&self, ix: Ix) -> io::Result<String> {
        let entries = &self.session.entries;
        if entries.flags(ix).has(Flags::LONG_ID) {
            return Ok(id_of(&self.line(ix)?, self.session.format.names().id_path).unwrap_or_default());
        }
        // The key contains a short id: this avoids reading a line of many megabytes.
        Ok(String::from_utf8_lossy(&entries.id_start(ix)).into_owned())
    }

    pub(super) fn parent_id(&self, ix: Ix) -> io::Result<String> {
        Ok(id_of(&self.line(ix)?, &[self.session.format.names().parent]).unwrap_or_default())
    }

    /// Reports a finding about an entry. The message is created only if the finding is kept.
    pub(super) fn entry(
        &mut self,
        check: Check,
        ix: Ix,
        other: Option<Ix>,
        words: impl FnOnce(&Self, &str) -> io::Result<String>,
    ) -> io::Result<()> {
        if !self.findings.counted(check) {
            return Ok(());
        }
        let id = self.id(ix)?;
        let message = words(self, &id)?;
        let origin = self.source.text.origin(self.session.entries.line(ix), self.session.span(ix).offset);
        self.findings.list.push(Finding {
            check,
            line: origin.line,
            offset: origin.offset,
            id,
            message,
            entry: Some(ix),
            other,
            repairable: check.repair_mode() != RepairMode::No && !self.is_unsure(check),
        });
        Ok(())
    }

    /// Reports a finding about a line that is not an entry.
    pub(super) fn report_at(
        &mut self,
        check: Check,
        line: u64,
        offset: u64,
        message: impl FnOnce() -> String,
    ) {
        if !self.findings.counted(check) {
            return;
        }
        let origin = self.source.text.origin(line, offset);
        self.findings.list.push(Finding {
            check,
            line: origin.line,
            offset: origin.offset,
            id: String::new(),
            message: message(),
            entry: None,
            other: None,
            repairable: check.repair_mode() != RepairMode::No,
        });
    }

    /// Reports a finding about the file.
    pub(super) fn file(&mut self, check: Check, message: impl FnOnce() -> String) {
        if self.findings.counted(check) {
            self.findings.list.push(Finding::of_file(check, message()));
        }
    }

    /// Marks the last finding as not repairable.
    pub(super) fn mark_unrepairable(&mut self) {
        if let Some(finding) = self.findings.list.last_mut() {
            finding.repairable = false;
        }
    }

    /// Returns whether `above` is `below` or one of its ancestors.
    pub(super) fn is_above(&self, above: Ix, below: Ix) -> bool {
        self.lineage.is_above(self.session, above, below)
    }

    pub(super) fn bytes(&self, note: &Note) -> io::Result<Vec<u8>> {
        self.source.bytes(Span { file: note.file, offset: note.offset, len: note.len })
    }
}

/// Returns the id in a field of a line, with a number as it is spelled, or `None` if there is none.
pub(in crate::fsck) fn id_of(line: &[u8], path: &[&str]) -> Option<String> {
    let id = match member_at(line, path)? {
        number @ [b'-' | b'0'..=b'9', ..] => String::from_utf8_lossy(number).into_owned(),
        text => string(text)?.into_owned(),
    };
    Some(id).filter(|id| !id.is_empty())
}

/// Answers which entries are ancestors of which, efficiently even for many questions about deep
/// paths.
#[derive(Default)]
pub(in crate::fsck) struct Lineage(OnceCell<Intervals>);

impl Lineage {
    /// Returns whether `above` is `below` or one of its ancestors.
    ///
    /// The ancestor is usually near. If it is not, all entries are numbered once.
    pub(in crate::fsck) fn is_above(&self, session: &Session, above: Ix, below: Ix) -> bool {
        const NEAR: usize = 4096;
        if self.0.get().is_none() {
            let mut at = Some(below);
            for _ in 0..NEAR {
                match at {
                    Some(ix) if ix == above => return true,
                    Some(ix) => at = session.tree.parent(ix),
                    None => return false,
                }
            }
        }
        self.intervals(session).is_above(above, below)
    }

    /// Returns the numbers of all entries.
    pub(in crate::fsck) fn intervals(&self, session: &Session) -> &Intervals {
        self.0.get_or_init(|| Intervals::build(&session.tree, session.entries.len()))
    }
}

/// When a walk through the tree reaches each entry, and when it leaves it.
pub(in crate::fsck) struct Intervals {
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Intervals {
    pub(in crate::fsck) fn build(tree: &Tree, count: usize) -> Intervals {
        let (mut first, mut last) = (vec![0u32; count], vec![0u32; count]);
        let mut clock = 0;
        for root in tree.roots() {
            let mut stack = vec![(root, false)];
            while let Some((ix, done)) = stack.pop() {
                if done {
                    last[ix.index()] = clock;
                    continue;
                }
                clock += 1;
                first[ix.index()] = clock;
                stack.push((ix, true));
                stack.extend(tree.children(ix).map(|child| (child, false)));
            }
        }
        Intervals { first, last }
    }

    /// Returns when the walk reaches an entry; it reaches all ancestors earlier.
    pub(in crate::fsck) fn first(&self, ix: Ix) -> u32 {
        self.first[ix.index()]
    }

    /// Walks through the tree, and calls `with` for each call and result among `tools`, together
    /// with the nearest of them at or above it. Each is an entry, and whether it is a call. A
    /// result comes before a call in the same entry. Costs O(n log n).
    pub(in crate::fsck) fn each_below(
        &self,
        tools: &[ToolRef],
        mut with: impl FnMut((Ix, bool), Option<(Ix, bool)>),
    ) {
        let mut ordered: Vec<(u32, bool, Ix)> =
            tools.iter().map(|tool| (self.first(tool.entry), !tool.result, tool.entry)).collect();
        ordered.sort_unstable();
        let mut above: Vec<(Ix, bool)> = Vec::new();
        for (_, is_call, ix) in ordered {
            while above.last().is_some_and(|(other, _)| !self.is_above(*other, ix)) {
                above.pop();
            }
            with((ix, is_call), above.last().copied());
            above.push((ix, is_call));
        }
    }

    pub(in crate::fsck) fn is_above(&self, above: Ix, below: Ix) -> bool {
        let (above, below) = (above.index(), below.index());
        self.first[above] <= self.first[below] && self.first[below] <= self.last[above]
    }
}
