//! Printing the matches in one session.

use super::search::Search;
use super::stored_files::{Stored, StoredFile};
use crate::cmd::shared::entry_json::{self, EntryRow, MatchRow};
use crate::cmd::shared::rows;
use crate::cmd::shared::thread_arg::ThreadView;
use crate::format::{Content, Other, Session, is_agents};
use crate::model::{Ix, Kind, Source};
use crate::ops::grep::{Hit, Part, Queued};
use crate::ops::thread::Reading;
use crate::ops::{BranchOf, ids};
use crate::ui::{Ink, paint, text};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// How many display cells of an entry that does not match are shown.
const WIDEST: usize = 100;

/// The maximum number of bytes of a line that are shown.
const LONGEST: usize = 500;

/// Prints the matches in one session.
pub(super) struct Shown<'s> {
    search: &'s Search<'s>,
    path: String,
    session: &'s Session,
    source: &'s dyn Source,
    owners: BranchOf,
    reading: Option<&'s Reading>,
    stored: &'s Stored,
    short: ids::ShortIds,
    line: Vec<u8>,
}

impl<'s> Shown<'s> {
    pub(super) fn new(
        search: &'s Search<'s>,
        path: &Path,
        read: &'s ThreadView,
        stored: &'s Stored,
    ) -> Shown<'s> {
        let opened = &read.opened;
        Shown {
            search,
            path: path.display().to_string(),
            session: &opened.session,
            source: &opened.files,
            owners: BranchOf::build(&opened.session),
            reading: read.reading.as_ref(),
            stored,
            short: ids::ShortIds::default(),
            line: Vec::new(),
        }
    }

    pub(super) fn all(&mut self, found: &[Ix], queued: &[Queued], out: &mut String) -> anyhow::Result<()> {
        let (before, after) = self.search.context();
        if !self.search.has_context() {
            let mut queued = queued.iter().peekable();
            for entry in found {
                let offset = self.session.span(*entry).offset;
                while let Some(before) = queued.next_if(|queued| queued.offset < offset) {
                    self.queued(before, out)?;
                }
                self.hit(*entry, out)?;
            }
            return queued.try_for_each(|queued| self.queued(queued, out));
        }
        for (place, group) in self.groups(found, before, after).into_iter().enumerate() {
            if place > 0 && !self.search.look.json {
                out.push_str("--\n");
            }
            for (entry, hit) in group {
                if hit { self.hit(entry, out)? } else { self.neighbour(entry, out)? }
            }
        }
        for (place, queued) in queued.iter().enumerate() {
            if (place > 0 || !found.is_empty()) && !self.search.look.json {
                out.push_str("--\n");
            }
            self.queued(queued, out)?;
        }
        Ok(())
    }

    /// Prints a prompt that is in no entry, named by its line.
    fn queued(&self, queued: &Queued, out: &mut String) -> anyhow::Result<()> {
        let at = |other: &&Other| other.span.file == 0 && other.span.offset == queued.offset;
        let Some(other) = self.session.others.iter().find(at) else { return Ok(()) };
        let hits = self.search.pattern.hits_in_text(Part::Text, &queued.text);
        if self.search.look.json {
            let start = entry_json::short(&queued.text);
            let row = QueuedRow {
                ty: "queue-operation",
                kind: Kind::User,
                file: &self.path,
                line: other.line,
                offset: other.span.offset,
                length: other.span.len,
                text: &queued.text,
                summary: start,
                matches: hits.into_iter().map(MatchRow::from).collect(),
            };
            writeln!(out, "{}", rows::to_json(&row))?;
            return Ok(());
        }
        let mut id = format!("line:{}", other.line);
        if self.search.args.line_number {
            id = format!("{id}:{}", other.line);
        }
        let head = self.row(&id, "-", Kind::User, ':');
        for hit in hits {
            writeln!(out, "{head}{}", self.marked(&hit))?;
        }
        Ok(())
    }

    /// Returns the matching entries with their neighbors on the path, in groups of consecutive
    /// entries.
    fn groups(&self, found: &[Ix], before: usize, after: usize) -> Vec<Vec<(Ix, bool)>> {
        let tree = &self.session.tree;
        let hits: HashSet<Ix> = found.iter().copied().collect();
        let mut shown: BTreeSet<Ix> = BTreeSet::new();
        for &entry in found {
            shown.extend(tree.ancestors(entry).take(before + 1));
            let mut at = entry;
            for _ in 0..after {
                // At a branch point, the group continues along the branch with which the entry is
                // shown.
                let owner = self.owners.tip(at);
                let mut children = tree.children(at);
                let Some(next) = children.find(|child| self.owners.tip(*child) == owner) else { break };
                shown.insert(next);
                at = next;
            }
        }
        let mut groups: Vec<Vec<(Ix, bool)>> = Vec::new();
        // The group of each entry, by the last of the group's entries so far.
        let mut ends: BTreeMap<Ix, usize> = BTreeMap::new();
        for entry in shown {
            let group = tree.parent(entry).and_then(|parent| ends.remove(&parent));
            let group = group.unwrap_or_else(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group].push((entry, hits.contains(&entry)));
            ends.insert(entry, group);
        }
        groups
    }

    fn hit(&mut self, entry: Ix, out: &mut String) -> anyhow::Result<()> {
        self.source.read(self.session.span(entry), &mut self.line)?;
        let (hits, in_files) = match self.search.args.invert_match {
            true => (Vec::new(), Vec::new()),
            false => (
                self.search.pattern.hits(self.session.format, &self.line),
                self.stored.hits(self.search.pattern, self.session.format, &self.line),
            ),
        };
        if self.search.look.json {
            return self.json(entry, match_rows(hits, in_files), None, out);
        }
        let head = self.head(entry, ':')?;
        if hits.is_empty() && in_files.is_empty() {
            let content = Content::read(self.session.format, &self.line);
            let words = text::fit(&text::one_line(&content.summary()), WIDEST);
            writeln!(out, "{}", format!("{head}{words}").trim_end())?;
        }
        for hit in hits {
            writeln!(out, "{head}{}", self.marked(&hit))?;
        }
        for (file, hits) in in_files {
            let name = format!("tool-results/{}:", text::one_line(&file.name));
            let name = paint(&self.search.look, Ink::Quiet, name);
            for hit in hits {
                writeln!(out, "{head}{name} {}", self.marked(&hit))?;
            }
        }
        Ok(())
    }

    fn neighbour(&mut self, entry: Ix, out: &mut String) -> anyhow::Result<()> {
        self.source.read(self.session.span(entry), &mut self.line)?;
        if self.search.look.json {
            return self.json(entry, Vec::new(), Some(true), out);
        }
        let words = text::one_line(&Content::read(self.session.format, &self.line).summary());
        let head = self.head(entry, '-')?;
        writeln!(out, "{}", format!("{head}{}", text::fit(&words, WIDEST)).trim_end())?;
        Ok(())
    }

    /// Returns the text before a match: file, entry, line, branch, kind.
    fn head(&self, entry: Ix, mark: char) -> io::Result<String> {
        let mut id = text::one_line(&self.short.short_id(self.session, self.source, entry)?);
        if self.search.args.line_number {
            id = format!("{id}{mark}{}", self.session.entries.line(entry));
        }
        Ok(self.row(&id, &self.branch(entry)?, self.session.entries.kind(entry), mark))
    }

    fn row(&self, id: &str, branch: &str, kind: Kind, mark: char) -> String {
        let look = &self.search.look;
        let mut head = String::new();
        let mut id = id.to_owned();
        if self.search.named && !look.terminal {
            // What is printed can be asked for again; the entries of a subagent only by its file.
            match self.session.id().filter(|_| !is_agents(Path::new(&self.path))) {
                Some(session) => id = format!("{id}@{}", text::one_line(&session)),
                None => {
                    let file = text::one_line(&self.path);
                    head = format!("{}{mark}", paint(look, Ink::File, file));
                }
            }
        }
        let id = paint(look, Ink::Id, text::pad(&id, 8));
        let branch = paint(look, Ink::Branch, text::pad(&text::fit(branch, 14), 8));
        let kind = text::pad(kind.name(), 10);
        let _ = write!(head, "{id} {branch} {kind} ");
        if self.search.has_context() {
            // As in grep, it tells a match from its neighbors.
            let _ = write!(head, "{mark} ");
        }
        head
    }

    /// Returns the branch with which an entry is shown, as text.
    fn branch(&self, entry: Ix) -> io::Result<String> {
        let entry = self.on_branch(entry);
        if self.owners.on_head(entry) {
            return Ok("@".into());
        }
        let Some(tip) = self.owners.tip(entry) else { return Ok("-".into()) };
        match self.session.labels.label(tip) {
            Some(name) => Ok(text::one_line(name)),
            None => Ok(text::one_line(&self.short.short_id(self.session, self.source, tip)?)),
        }
    }

    /// Returns the entry that determines the branch: for one that was set aside, its
    /// representative.
    fn on_branch(&self, entry: Ix) -> Ix {
        self.reading.map_or(entry, |reading| reading.stand_in(entry))
    }

    /// Returns a matching line of text; for a very long one, the part around its first match.
    fn marked(&self, hit: &Hit) -> String {
        let (from, to) = window(&hit.text, hit.at.first().map_or(0, |at| at.start));
        let mut out = String::new();
        if from > 0 {
            out.push('…');
        }
        let mut at = from;
        for found in &hit.at {
            if found.start < at || found.end > to {
                continue;
            }
            out.push_str(&flat(&hit.text[at..found.start]));
            let text = flat(&hit.text[found.clone()]);
            if !text.is_empty() {
                out.push_str(&paint(&self.search.look, Ink::Match, text));
            }
            at = found.end;
        }
        out.push_str(&flat(&hit.text[at.min(to)..to]));
        if to < hit.text.len() {
            let _ = write!(out, "… ({} more bytes)", hit.text.len() - to);
        }
        out
    }

    /// Adds an entry as a row of JSON.
    fn json(
        &self,
        entry: Ix,
        matches: Vec<MatchRow>,
        neighbour: Option<bool>,
        out: &mut String,
    ) -> anyhow::Result<()> {
        let mut row = EntryRow::read(self.session, entry, &self.line, self.path.clone(), false);
        let tip = self.owners.tip(self.on_branch(entry));
        row.branch = tip.map(|tip| ids::name(self.session, self.source, tip)).transpose()?;
        (row.matches, row.neighbour) = (Some(matches), neighbour);
        writeln!(out, "{}", String::from_utf8(row.to_json())?)?;
        Ok(())
    }
}

/// Returns the part of a long text that is shown so that offset `at` is visible.
fn window(text: &str, at: usize) -> (usize, usize) {
    if text.len() <= LONGEST {
        return (0, text.len());
    }
    let mut from = if at < LONGEST / 2 { 0 } else { at - LONGEST / 4 };
    let mut to = (from + LONGEST).min(text.len());
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    while !text.is_char_boundary(to) {
        to += 1;
    }
    (from, to)
}

/// Returns safe text on one line; spaces are kept.
fn flat(words: &str) -> String {
    text::safe(words).replace('\n', "⏎").replace('\t', " ")
}

/// A prompt that is only in the input queue, in grep.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.entry/1")]
pub(in crate::cmd) struct QueuedRow<'a> {
    /// Its type, as stored.
    #[serde(rename = "type")]
    ty: &'static str,
    /// The kind of the entry, in the words that all formats share.
    kind: Kind,
    /// The file that it is in.
    file: &'a str,
    /// The line, from 1.
    line: u64,
    /// The first byte of the line.
    offset: u64,
    /// The bytes of the line, without its ending.
    length: u64,
    /// Its whole text.
    text: &'a str,
    /// Its first words, on one line: 200 characters at most.
    summary: String,
    /// In grep, what matches.
    matches: Vec<MatchRow>,
}

/// Returns the matches in an entry, and those in the files that it names.
fn match_rows(hits: Vec<Hit>, in_files: Vec<(&StoredFile, Vec<Hit>)>) -> Vec<MatchRow> {
    let mut matches: Vec<MatchRow> = hits.into_iter().map(MatchRow::from).collect();
    for (file, hits) in in_files {
        let path = file.path.display().to_string();
        let hits = hits.into_iter().map(MatchRow::from);
        matches.extend(hits.map(|hit| MatchRow { file: Some(path.clone()), ..hit }));
    }
    matches
}

impl From<Hit> for MatchRow {
    fn from(hit: Hit) -> MatchRow {
        let at = hit.at.iter().map(|at| [at.start, at.end]).collect();
        MatchRow { part: hit.part.name(), text: hit.text, at, file: None }
    }
}
