//! `bough grep`: searches the contents of entries.

use super::shared::entry_json::{self, EntryRow, MatchRow};
use super::shared::exit::Failures;
use super::shared::file_args::Files;
use super::shared::options::{Global, number};
use super::shared::scope::{self, Scope};
use super::shared::thread_arg::ThreadView;
use super::shared::time::{self, Between, Window};
use super::shared::words;
use super::shared::{parallel, rows, session_arg};
use super::{Exit, Failure, complete};
use crate::format::claude::stored_results;
use crate::format::{Content, Format, OneLine, Other, OtherKind, Session, is_agents};
use crate::model::{Ix, Kind, Source, Span};
use crate::ops::grep::{Hit, Options, Part, Pattern, Queue, Queued};
use crate::ops::thread::Reading;
use crate::ops::{BranchOf, ids, revision};
use crate::store::{self, Opened, ResultFiles};
use crate::ui::{Ink, Look, Ui, paint, text};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Search the text of entries
///
/// Searches entries on all branches: prompts, replies, thinking, tool arguments and results,
/// summaries, names. Escapes are decoded; keys, ids and other fields are not searched. For each
/// matching line of text, prints the entry, the branch (`@` for the path to HEAD, otherwise the
/// label or leaf of the branch), the kind and the line. Exits with 1 if nothing matches. If a file
/// can't be read, the exit status is that of the worst failure.
///
/// If Claude Code stored a tool result in a file beside the session (`tool-results`), its text is
/// searched too. A prompt that is only in the input queue of Claude Code is named by its line
/// (`line:N`); `--on`, `-v` and `--since` leave such prompts out.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Regular expression, in the syntax of Rust's `regex` crate
    #[arg(value_name = "RE", allow_hyphen_values = false)]
    pattern: String,

    /// Files or folders to search; if omitted, the session
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::session_files))]
    files: Vec<PathBuf>,

    #[command(flatten)]
    scope: Scope,

    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,

    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,

    /// Treat RE as a literal string
    #[arg(short = 'F', long)]
    fixed_strings: bool,

    /// Print the number of matching entries of each file
    #[arg(short, long)]
    count: bool,

    /// Print only the names of files with matches
    #[arg(short = 'l', long, conflicts_with = "count")]
    files_with_matches: bool,

    /// End file names with a NUL byte instead of a newline
    #[arg(short = 'z', long)]
    null: bool,

    /// Print the file's line number after the entry id
    #[arg(short = 'n', long)]
    line_number: bool,

    /// Print the entries that do not match
    #[arg(short = 'v', long)]
    invert_match: bool,

    /// Also print the N entries after each match on the path
    #[arg(short = 'A', long, value_name = "N", value_parser = number::<usize>, default_value_t = 0, hide_default_value = true)]
    after_context: usize,

    /// Also print the N entries before each match on the path
    #[arg(short = 'B', long, value_name = "N", value_parser = number::<usize>, default_value_t = 0, hide_default_value = true)]
    before_context: usize,

    /// Also print the N entries before and after each match
    #[arg(short = 'C', long, value_name = "N", value_parser = number::<usize>, default_value_t = 0, hide_default_value = true)]
    context: usize,

    /// Search only entries of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind, add = ArgValueCompleter::new(complete::kinds))]
    kind: Vec<Kind>,

    /// Search only the path to REV, or a range
    #[arg(long, value_name = "REV", allow_hyphen_values = true, add = ArgValueCompleter::new(complete::revisions))]
    on: Option<String>,

    #[command(flatten)]
    between: Between,
}

/// Parses a kind of `--kind`.
fn kind(word: &str) -> Result<Kind, String> {
    Kind::from_name(word).ok_or_else(|| format!("expected one of {}", Kind::ALL.map(Kind::name).join(", ")))
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.for_people();
    let options =
        Options { ignore_case: args.ignore_case, word: args.word_regexp, fixed: args.fixed_strings };
    let pattern = Pattern::new(&args.pattern, options).map_err(|error| Failure::Usage {
        what: format!("invalid regular expression `{}`: {}", args.pattern, reason(&error)),
        hint: "`-F` searches for a literal string".into(),
    })?;
    let (mut args, mut global) = (args.clone(), global.clone());
    if let Some(on) = args.on.take() {
        // `REV@SESSION` names the session, unless files are named.
        let (session, revision) = words::of_option(&global, None, &on)?;
        if session.is_some() && args.files.is_empty() {
            global.session = session;
        }
        args.on = Some(revision);
    }
    let (args, global) = (&args, &global);
    let files = Files::resolve(&args.files, &args.scope, global, ui)?.with_agents();
    if files.paths.is_empty() {
        return Ok(scope::none_found(ui));
    }
    if !args.count && !args.files_with_matches {
        ui.page();
    }
    let window = args.between.window()?;
    let search = Search { args, global, pattern: &pattern, look: ui.look, window, named: files.several };
    let (mut found, mut failures, mut faulty) = (false, Failures::default(), Vec::new());
    // One batch at a time, so that early matches are printed early, and little is held in memory.
    for batch in files.paths.chunks(64) {
        let progress = session_arg::reading(global, batch.iter().map(|path| &**path));
        let results = parallel::map(batch, |path| search.file(path));
        drop(progress);
        for (path, result) in batch.iter().zip(results) {
            match result {
                Ok(outcome) => {
                    found |= outcome.found;
                    faulty.extend((outcome.faults > 0).then(|| path.clone()));
                    ui.out().write_all(outcome.printed.as_bytes())?;
                }
                Err(error) if files.several => failures.add(error, files.is_named(path), ui)?,
                Err(error) => return Err(error),
            }
        }
    }
    session_arg::warn_of_files(&faulty, files.paths.len(), args.scope.option(), ui);
    if !found && args.files.is_empty() && args.scope.words().is_empty() && Ui::talks_to_a_person() {
        ui.hint("only one session was searched; `-p` searches those of the project, `--all` all");
    }
    // A file that was not searched must be distinguishable from one without matches.
    Ok(failures.or(if found { Exit::Done } else { Exit::No }))
}

/// Returns the error in an expression, on one line.
pub(super) fn reason(error: &regex::Error) -> String {
    let words = error.to_string();
    let last = words.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// The search that all files share.
struct Search<'s> {
    args: &'s Args,
    global: &'s Global,
    pattern: &'s Pattern,
    look: Look,
    /// Of which time entries are.
    window: Window,
    /// Whether file names are printed before matches.
    named: bool,
}

/// The result of one file.
#[derive(Default)]
struct Outcome {
    found: bool,
    printed: String,
    /// The number of faults, if the whole file was read.
    faults: usize,
}

/// The result of searching a file line by line.
struct Sifted {
    /// The offsets of the lines of matching entries.
    hits: Vec<u64>,
    queued: Vec<Queued>,
}

impl Search<'_> {
    fn file(&self, path: &Path) -> anyhow::Result<Outcome> {
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
            // Several entries may be on a line.
            let is_list = format == Format::HarnessV4 && line.trim_ascii_start().starts_with(b"[")
                || format.stores_again()
                || format.is_document();
            if is_list || format.may_join_lines() && !is_whole(line) {
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

/// Prints the matches in one session.
struct Shown<'s> {
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
    fn new(search: &'s Search<'s>, path: &Path, read: &'s ThreadView, stored: &'s Stored) -> Shown<'s> {
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

    fn all(&mut self, found: &[Ix], queued: &[Queued], out: &mut String) -> anyhow::Result<()> {
        let args = self.search.args;
        let (before, after) = (args.before_context.max(args.context), args.after_context.max(args.context));
        if before == 0 && after == 0 {
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
            let mut matches: Vec<MatchRow> = hits.into_iter().map(MatchRow::from).collect();
            for (file, hits) in in_files {
                let path = file.path.display().to_string();
                let hits = hits.into_iter().map(MatchRow::from);
                matches.extend(hits.map(|hit| MatchRow { file: Some(path.clone()), ..hit }));
            }
            return self.json(entry, matches, None, out);
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

impl From<Hit> for MatchRow {
    fn from(hit: Hit) -> MatchRow {
        let at = hit.at.iter().map(|at| [at.start, at.end]).collect();
        MatchRow { part: hit.part.name(), text: hit.text, at, file: None }
    }
}

/// How many entries match in a file: grep --count, grep --files-with-matches.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.count/1")]
pub(super) struct CountRow<'a> {
    /// The file.
    file: &'a str,
    /// How many entries match; absent with --files-with-matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
}

/// A prompt that is only in the input queue, in grep.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.entry/1")]
pub(super) struct QueuedRow<'a> {
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

/// The matching tool results that Claude Code stored in files beside one session.
#[derive(Default)]
struct Stored {
    found: Vec<StoredFile>,
}

/// A file whose text matches.
struct StoredFile {
    name: String,
    path: PathBuf,
    text: String,
}

impl Stored {
    /// Searches the files beside a session.
    fn search(session: &Path, pattern: &Pattern) -> Stored {
        if store::is_read_once(session) {
            return Stored::default();
        }
        let Some(files) = ResultFiles::of_session(session) else { return Stored::default() };
        let read = |name: String| {
            let file = files.read(&name, LARGEST).ok()?;
            let text = file.text.filter(|text| pattern.is_in_text(text))?;
            Some(StoredFile { name, path: file.path, text })
        };
        Stored { found: files.names().into_iter().filter_map(read).collect() }
    }

    /// The files with a match that an entry names.
    fn files_named_in(&self, format: Format, line: &[u8]) -> Vec<&StoredFile> {
        if self.found.is_empty() || format != Format::Claude {
            return Vec::new();
        }
        let names = stored_results::names(line);
        self.found.iter().filter(|file| names.contains(&file.name)).collect()
    }

    fn is_named(&self, format: Format, line: &[u8]) -> bool {
        !self.files_named_in(format, line).is_empty()
    }

    /// Returns the matching lines in the files that an entry names. Lines at the start of a file
    /// that the entry itself contains are left out, because they are found in the entry.
    fn hits(&self, pattern: &Pattern, format: Format, line: &[u8]) -> Vec<(&StoredFile, Vec<Hit>)> {
        let files = self.files_named_in(format, line);
        if files.is_empty() {
            return Vec::new();
        }
        let content = Content::read(format, line);
        let hits = files.into_iter().map(|file| {
            let shown = stored_results::shown_of(&content, &file.name, &file.text);
            (file, pattern.hits_in_text(Part::Result, &file.text[shown..]))
        });
        hits.filter(|(_, hits)| !hits.is_empty()).collect()
    }
}

/// The maximum number of bytes of a stored result that are searched.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Returns whether a line looks like a complete object, or is blank.
fn is_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b"{") && line.ends_with(b"}")
}

/// How many display cells of an entry that does not match are shown.
const WIDEST: usize = 100;

/// The maximum number of bytes of a line that are shown.
const LONGEST: usize = 500;

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
