//! The search of one file, line by line or with its tree.

use super::Args;
use super::print::Shown;
use super::stored_files::Stored;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::rows;
use crate::cmd::shared::thread_arg::ThreadView;
use crate::cmd::shared::time::{self, Window};
use crate::format::{Format, OneLine, OtherKind, is_agents};
use crate::model::{Ix, Kind, Source, Span};
use crate::ops::grep::{Pattern, Queue, Queued};
use crate::ops::revision;
use crate::store::{self, Opened};
use crate::ui::{Ink, Look, paint, text};
use serde::Serialize;
use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// The search that all files share.
pub(super) struct Search<'s> {
    pub(super) args: &'s Args,
    pub(super) global: &'s Global,
    pub(super) pattern: &'s Pattern,
    pub(super) look: Look,
    /// Of which time entries are.
    pub(super) window: Window,
    /// Whether file names are printed before matches.
    pub(super) named: bool,
}

/// The result of one file.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) found: bool,
    pub(super) printed: String,
    /// The number of faults, if the whole file was read.
    pub(super) faults: usize,
}

/// The result of searching a file line by line.
struct Sifted {
    /// The offsets of the lines of matching entries.
    hits: Vec<u64>,
    queued: Vec<Queued>,
}

impl Search<'_> {
    /// How many entries are printed before and after each match.
    pub(super) fn context(&self) -> (usize, usize) {
        let args = self.args;
        (args.before_context.max(args.context), args.after_context.max(args.context))
    }

    /// Whether any entries are printed beside the matches.
    pub(super) fn has_context(&self) -> bool {
        self.context() != (0, 0)
    }

    pub(super) fn file(&self, path: &Path) -> anyhow::Result<Outcome> {
        let args = self.args;
        let stored = Stored::search(path, self.pattern);
        let needs_tree = args.on.is_some() || args.invert_match || !self.window.is_open();
        // Standard input can't be read twice.
        let sifted = match store::is_read_once(path) {
            true => None,
            false => self.sifted(path, &stored, args.files_with_matches && !needs_tree)?,
        };
        if let Some(Sifted { hits, queued }) = &sifted
            && !needs_tree
            && (hits.is_empty() && queued.is_empty() || args.count || args.files_with_matches)
        {
            return Ok(self.counted(path, hits.len() + queued.len()));
        }
        let mut read = ThreadView::unlinearized(store::open(path, self.global.options())?);
        let (found, mut queued) = match sifted {
            Some(Sifted { hits, queued }) => {
                let entries = &read.opened.session.entries;
                (hits.iter().filter_map(|at| entries.at_offset(0, *at)).collect(), queued)
            }
            None => self.searched(&read.opened, &stored)?,
        };
        if needs_tree {
            // They are not in the tree.
            queued.clear();
        }
        let entries = self.entries(&mut read, found)?;
        let count = entries.len() + queued.len();
        if args.count || args.files_with_matches {
            return Ok(self.counted(path, count));
        }
        let mut outcome = Outcome { found: count > 0, ..Outcome::default() };
        outcome.faults = read.opened.session.faults.len();
        if outcome.found {
            if self.named && self.look.terminal && !self.look.json {
                outcome.printed = self.heading(path, &read.opened);
            }
            Shown::new(self, path, &read, &stored).all(&entries, &queued, &mut outcome.printed)?;
        }
        Ok(outcome)
    }

    /// The heading of the hits of one session on a terminal: its id, its agent, its project, how old it is, its name.
    fn heading(&self, path: &Path, opened: &Opened) -> String {
        let session = &opened.session;
        let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let id = if is_agents(path) { stem() } else { session.id().unwrap_or_else(stem) };
        let project = session.header.as_ref().and_then(|header| header.cwd.as_deref()).unwrap_or_default();
        let age = time::age(time::of_file(path), time::now());
        let name = session.name.as_deref().unwrap_or_default();
        let words = [session.format.agent(), project, &age, name];
        let words: Vec<String> =
            words.into_iter().filter(|word| !word.is_empty()).map(text::one_line).collect();
        let id = text::one_line(&id);
        let room = self.look.width.saturating_sub(text::width(&id) + 2);
        let words = text::fit(&words.join("  "), room);
        format!("\n{}  {}\n", paint(&self.look, Ink::File, id), paint(&self.look, Ink::Quiet, words))
    }

    /// Where the lines of the entries begin that match, without an index; only the first where that is enough.
    ///
    /// Returns `None` if this can't be decided line by line: some programs read an object over
    /// several lines.
    fn sifted(&self, path: &Path, stored: &Stored, first: bool) -> Result<Option<Sifted>, store::Error> {
        let kinds = &self.args.kind;
        let mut hits = Vec::new();
        let mut queue = Queue::default();
        let mut torn = false;
        let mut one_line = OneLine::default();
        // A line that names a file with a match may contain none of the bytes that the pattern
        // needs.
        let prefilter = self.pattern.prefilter().filter(|_| stored.found.is_empty());
        store::search_lines(path, self.global.options(), prefilter, &mut |format, offset, line| {
            if may_have_several(format, line) || format.may_join_lines() && !is_whole(line) {
                torn = true;
                return ControlFlow::Break(());
            }
            if format == Format::Claude {
                queue.line(offset, line);
            }
            if (self.pattern.is_in(format, line) || stored.is_named(format, line))
                && let Some(kind) = one_line.kind(format, line)
                && (kinds.is_empty() || kinds.contains(&kind))
            {
                hits.push(offset);
                if first {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok((!torn).then(|| Sifted { hits, queued: self.queued(queue) }))
    }

    /// Returns the matching prompts that are only in the input queue.
    fn queued(&self, queue: Queue) -> Vec<Queued> {
        let kinds = &self.args.kind;
        if !kinds.is_empty() && !kinds.contains(&Kind::User) {
            return Vec::new();
        }
        queue.left().into_iter().filter(|queued| self.pattern.is_in_text(&queued.text)).collect()
    }

    /// Does the same by reading each line.
    fn queued_in(&self, opened: &Opened) -> io::Result<Vec<Queued>> {
        let session = &opened.session;
        if session.format != Format::Claude {
            return Ok(Vec::new());
        }
        let notes =
            session.others.iter().filter(|other| other.kind == OtherKind::Note).map(|other| other.span);
        let mut spans: Vec<Span> = session.entries.all().map(|ix| session.span(ix)).chain(notes).collect();
        spans.retain(|span| span.file == 0);
        spans.sort_by_key(|span| span.offset);
        let (mut queue, mut line) = (Queue::default(), Vec::new());
        for span in spans {
            opened.files.read(span, &mut line)?;
            queue.line(span.offset, &line);
        }
        Ok(self.queued(queue))
    }

    /// Returns the matching entries, by reading each of them, and the prompts that are only in the
    /// input queue.
    fn searched(&self, opened: &Opened, stored: &Stored) -> io::Result<(Vec<Ix>, Vec<Queued>)> {
        let (session, kinds) = (&opened.session, &self.args.kind);
        let mut line = Vec::new();
        let mut found = Vec::new();
        for entry in session.entries.all() {
            let is_old = session.format.stores_again() && !session.tree.is_in_tree(entry);
            if is_old || !kinds.is_empty() && !kinds.contains(&session.entries.kind(entry)) {
                continue;
            }
            opened.files.read(session.span(entry), &mut line)?;
            if self.pattern.is_in(session.format, &line) || stored.is_named(session.format, &line) {
                found.push(entry);
            }
        }
        Ok((found, self.queued_in(opened)?))
    }

    fn counted(&self, path: &Path, count: usize) -> Outcome {
        let mut outcome = Outcome { found: count > 0, ..Outcome::default() };
        let file = path.display().to_string();
        // For folders, list only files with matches; for named files, list all.
        if self.args.count && (count > 0 || !self.named || self.args.files.iter().any(|file| file == path)) {
            if self.look.json {
                let row = CountRow { file: &file, entries: Some(count) };
                outcome.printed = format!("{}\n", rows::to_json(&row));
            } else if self.named {
                outcome.printed = format!("{}:{count}\n", self.look.shown(&file));
            } else {
                outcome.printed = format!("{count}\n");
            }
        } else if self.args.files_with_matches && count > 0 {
            outcome.printed = match (self.look.json, self.args.null) {
                (true, _) => format!("{}\n", rows::to_json(&CountRow { file: &file, entries: None })),
                (false, true) => format!("{file}\0"),
                (false, false) => format!("{}\n", self.look.shown(&file)),
            };
        }
        outcome
    }

    /// Returns the entries to print, in file order.
    fn entries(&self, read: &mut ThreadView, mut found: Vec<Ix>) -> anyhow::Result<Vec<Ix>> {
        let opened = &read.opened;
        let on = match &self.args.on {
            Some(on) => Some(revision::set(&opened.session, &opened.files, std::slice::from_ref(on))?),
            None => None,
        };
        read.join()?;
        let session = &read.opened.session;
        if self.args.invert_match {
            let hits: HashSet<Ix> = found.into_iter().collect();
            let kinds = &self.args.kind;
            found = session
                .entries
                .all()
                .filter(|ix| !hits.contains(ix))
                .filter(|ix| kinds.is_empty() || kinds.contains(&session.entries.kind(*ix)))
                .collect();
        }
        if let Some(set) = on {
            // A single entry means its path, as in `log`.
            let set: HashSet<Ix> = match set.as_slice() {
                [one] => session.tree.path(session.end_at(*one)).into_iter().collect(),
                _ => set.into_iter().collect(),
            };
            found.retain(|ix| set.contains(ix));
        }
        found.retain(|ix| self.window.has(session.entries.time(*ix)));
        Ok(found)
    }
}

/// Returns whether several entries may be on a line.
fn may_have_several(format: Format, line: &[u8]) -> bool {
    format == Format::HarnessV4 && line.trim_ascii_start().starts_with(b"[")
        || format.stores_again()
        || format.is_document()
}

/// Returns whether a line looks like a complete object, or is blank.
fn is_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b"{") && line.ends_with(b"}")
}

/// How many entries match in a file: grep --count, grep --files-with-matches.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.count/1")]
pub(in crate::cmd) struct CountRow<'a> {
    /// The file.
    file: &'a str,
    /// How many entries match; absent with --files-with-matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
}
