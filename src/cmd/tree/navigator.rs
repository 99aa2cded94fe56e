//! The state of the navigator, and what each key does to it. Knows nothing of a terminal.

mod keys;
mod moves;
mod steps;

pub(super) use steps::{Act, Leave, Step, Then, Use};

use super::commands::{Bough, Ran};
use super::line_edit::LineEdit;
use super::pager::Pager;
use super::session::{How, Model};
use crate::cmd::shared::render::View;
use crate::cmd::shared::stored_results::Stored;
use crate::model::{self, Count, Ix};
use crate::ops::filter::Mode;
use crate::ops::rows::{Folds, Rows};
use crate::ops::{ids, revision};
use crate::ui::text;
use moves::Running;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// What a user made of the view. It outlives the session in memory, which is read anew after each change.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) filter: usize,
    /// The last search, and whether it goes down.
    pub(super) search: String,
    search_down: bool,
    /// What was typed after `/` and `?`, and after `:`, oldest first.
    searches: Vec<String>,
    commands: Vec<String>,
    /// Whether the screen shows where its words are.
    pub(super) shows_matches: bool,
    /// The entries, by their keys, since numbers change.
    cursor: Option<model::Key>,
    folded: BTreeSet<model::Key>,
    pub(super) marked: Vec<model::Key>,
    pub(super) preview: bool,
    /// The entry beside the rows, and its first line that is shown.
    pub(super) scrolled: (Option<model::Key>, usize),
    pub(super) times: bool,
    pub(super) follow: bool,
    /// What was said last.
    pub(super) message: String,
    /// What the last act said in full, if that is more than a line.
    pub(super) panel: Panel,
    /// Texts of prompts that were left by a switch; printed at the end.
    pub(super) printed: String,
}

impl Kept {
    pub(super) fn new(filter: Mode) -> Kept {
        Kept {
            filter: Mode::ALL.iter().position(|(_, mode)| *mode == filter).unwrap_or(0),
            search: String::new(),
            search_down: true,
            searches: Vec::new(),
            commands: Vec::new(),
            shows_matches: false,
            cursor: None,
            folded: BTreeSet::new(),
            marked: Vec::new(),
            preview: true,
            scrolled: (None, 0),
            times: true,
            follow: false,
            message: String::new(),
            panel: Panel::Tree,
            printed: String::new(),
        }
    }
}

impl Kept {
    /// How the session is read for this view.
    pub(super) fn how(&self) -> How {
        How { is_followed: self.follow, filter: self.filter }
    }
}

/// What has the keys.
#[derive(Clone, Debug)]
pub(super) enum Panel {
    Tree,
    /// After `g`.
    Go,
    /// A line is typed.
    Line(Purpose, LineEdit),
    /// A text is read.
    Text(Pager),
    /// A plan waits for a yes.
    Plan {
        title: String,
        lines: Vec<String>,
        top: usize,
        act: Act,
    },
}

/// What a typed line is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    Label,
    SearchDown,
    SearchUp,
    Command,
}

impl Purpose {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Purpose::Label => "label: ",
            Purpose::SearchDown => "/",
            Purpose::SearchUp => "?",
            Purpose::Command => ":",
        }
    }
}

/// The option of `switch` that goes to before a prompt.
const REWIND: &str = "--rewind";

/// The summaries of entries by how wide they are, as far as they were shown.
pub(super) type Summaries = HashMap<(Ix, usize), String>;

/// One session on the screen.
pub(super) struct Navigator<'m> {
    pub(super) model: &'m Model,
    pub(super) view: View<'m>,
    pub(super) kept: Kept,
    pub(super) rows: Rows,
    pub(super) folds: Folds,
    /// The row with the cursor.
    pub(super) cursor: usize,
    /// The index of the first visible row on the screen.
    pub(super) top: usize,
    /// How many rows the screen has; set when it is drawn.
    pub(super) page: usize,
    /// How many lines of the entry there is room for; set when it is drawn.
    pub(super) room: usize,
    /// How many cells a line of the screen has; set when it is drawn.
    pub(super) width: usize,
    pub(super) bough: &'m Bough,
    pub(super) purpose: Use,
    running: Option<Running>,
    /// The rows that match the last search that came to its end, in order, and its words.
    matches: Option<(String, Vec<usize>)>,
    /// The row that the last filter put the cursor on, and the entry that it was on before.
    before_filter: Option<(usize, Ix)>,
    /// Whether the key before was an Esc that had nothing to clear.
    is_leaving: bool,
    /// Whether there is a list to go back to, so that an Esc too many costs nothing.
    pub(super) has_list: bool,
    /// Whether the cursor goes to HEAD when the session is read anew.
    goes_with_head: bool,
    /// Whether an agent seems to be at work on the file.
    pub(super) is_agent_running: bool,
    /// Whether the file has changed since it was read.
    pub(super) has_changed: bool,
    pub(super) summaries: Summaries,
}

impl<'m> Navigator<'m> {
    /// Shows a session in rows, which are those of the filter.
    pub(super) fn new(
        model: &'m Model,
        rows: Rows,
        bough: &'m Bough,
        purpose: Use,
        kept: Kept,
    ) -> Navigator<'m> {
        let mut view = View::new(&model.opened);
        view.marks.clone_from(&model.marks);
        view.stored = Some(Stored);
        let mode = Mode::ALL[kept.filter].1;
        view.mark(|ix| mode.shows(model.session(), ix));
        let mut navigator = Navigator {
            model,
            view,
            kept,
            rows,
            folds: Folds::default(),
            cursor: 0,
            top: 0,
            page: 1,
            room: 1,
            width: 80,
            bough,
            purpose,
            running: None,
            matches: None,
            before_filter: None,
            is_leaving: false,
            has_list: false,
            goes_with_head: false,
            is_agent_running: model.signs.is_some(),
            has_changed: false,
            summaries: HashMap::new(),
        };
        navigator.cursor = navigator.rows.start(model.leaf);
        navigator.recall();
        navigator
    }

    /// Finds the entries again that the cursor and the folds were on.
    fn recall(&mut self) {
        let keys: Vec<model::Key> = self.kept.folded.iter().copied().chain(self.kept.cursor).collect();
        if keys.is_empty() {
            return;
        }
        let session = self.model.session();
        let found = session.tree.find_all(&session.entries, keys.iter().copied());
        for key in &self.kept.folded {
            if let Some(row) = found.entry(*key).and_then(|ix| self.rows.row(ix)) {
                self.folds.toggle(&self.rows, row);
            }
        }
        if let Some(row) =
            self.kept.cursor.and_then(|key| found.entry(key)).and_then(|ix| self.rows.row_at_or_above(ix))
        {
            self.cursor = row;
        }
        self.folds.reveal(&self.rows, self.cursor);
    }

    /// What outlives the session as it is in memory; then what does so if the session only grows.
    pub(super) fn keep(mut self) -> (Kept, Rows, Summaries) {
        // What is followed is followed at its end.
        let follows = self.kept.follow && self.cursor == self.rows.start(self.model.leaf);
        let here = self.cursor_entry().filter(|_| !self.goes_with_head && !follows);
        self.kept.cursor = here.map(|ix| self.model.session().entries.key(ix));
        let entries = &self.model.session().entries;
        self.kept.folded = self.folds.all().map(|row| entries.key(self.rows.entry(row))).collect();
        (self.kept, self.rows, self.summaries)
    }

    /// The entry with the cursor.
    pub(super) fn cursor_entry(&self) -> Option<Ix> {
        (self.cursor < self.rows.len()).then(|| self.rows.entry(self.cursor))
    }

    pub(super) fn visible(&self) -> usize {
        self.folds.visible(&self.rows)
    }

    pub(super) fn is_marked(&self, ix: Ix) -> bool {
        let key = self.model.session().entries.key(ix);
        self.kept.marked.contains(&key)
    }

    /// The words that the screen shows the matches of, in lower case; none for a regular expression.
    pub(super) fn searched_words(&self) -> Vec<String> {
        let shown = self.kept.shows_matches && !self.kept.search.starts_with("re:");
        let words = Some(&self.kept.search).filter(|_| shown);
        words.into_iter().flat_map(|typed| typed.split_whitespace()).map(str::to_lowercase).collect()
    }

    pub(super) fn is_searching(&self) -> bool {
        self.running.is_some()
    }

    pub(super) fn filter(&self) -> (&'static str, Mode) {
        Mode::ALL[self.kept.filter]
    }

    /// The first line of the entry that is shown beside the rows.
    pub(super) fn entry_top(&self) -> usize {
        let here = self.cursor_entry().map(|ix| self.model.session().entries.key(ix));
        let (of, top) = self.kept.scrolled;
        if of == here { top } else { 0 }
    }

    /// Scrolls the entry. Drawing it keeps its end on the screen.
    fn scroll_entry(&mut self, by: isize) {
        let here = self.cursor_entry().map(|ix| self.model.session().entries.key(ix));
        self.kept.scrolled = (here, self.entry_top().saturating_add_signed(by));
    }

    /// Has it shown what a command would do, and a yes asked for.
    pub(super) fn plan(title: &str, words: Vec<String>) -> Step {
        let mut dry = words.clone();
        dry.insert(1, "--dry-run".into());
        Step::Run(dry, Then::Plan(title.to_owned(), words))
    }

    /// Does what is to be done with what a command printed.
    pub(super) fn ran(&mut self, words: &[String], then: Then, ran: &Ran) -> Step {
        match then {
            Then::Plan(_, words) if !ran.success => self.report(&words, ran),
            Then::Plan(title, words) => {
                let mut lines = vec![self.bough.spelled(&words), String::new()];
                lines.extend(ran.lines());
                let lines = self.wrapped(lines);
                self.kept.panel = Panel::Plan { title, lines, top: 0, act: Act::Run(words) };
            }
            Then::Done => {
                self.done(words, ran);
                return Step::Reread;
            }
            Then::Show => self.report(words, ran),
            Then::ShowAndReread => {
                self.report(words, ran);
                return Step::Reread;
            }
            Then::Undo { redo } => return self.undo(redo, ran),
        }
        Step::Stay
    }

    /// Says what a command did that may have written.
    fn done(&mut self, words: &[String], ran: &Ran) {
        let rewinds = words.iter().any(|word| word == REWIND);
        if ran.success && rewinds {
            self.kept.printed.push_str(&ran.out);
        }
        let said = ran.said();
        if said.as_deref().is_some_and(|said| said.starts_with("undid: switch")) {
            // The prompt that would be edited is on the path again.
            self.kept.printed.clear();
        }
        if ran.success && words[0] == "cherry-pick" {
            self.kept.marked.clear();
        }
        if ran.success && words[0] == "switch" {
            self.goes_with_head = true;
        }
        let short = ran.success && !rewinds && ran.lines().len() <= 3;
        match short {
            true => self.kept.message = said.unwrap_or_else(|| "done".into()),
            false => self.report(words, ran),
        }
    }

    fn report(&mut self, words: &[String], ran: &Ran) {
        let mut lines = ran.lines();
        if lines.is_empty() {
            lines.push("(no output)".into());
        }
        let is_diff = words[0] == "diff" && ran.success;
        self.show(&self.bough.spelled(words), lines, is_diff);
    }

    pub(super) fn show(&mut self, title: &str, lines: Vec<String>, is_diff: bool) {
        let lines = self.wrapped(lines);
        self.kept.panel = Panel::Text(Pager::new(title.to_owned(), lines, is_diff));
    }

    /// Lines as wide as the screen. What is in a second column stays in it.
    fn wrapped(&self, lines: Vec<String>) -> Vec<String> {
        let wrap = |line: String| {
            if text::width(&line) <= self.width || self.width == 0 {
                return vec![line];
            }
            let Some(column) = column_of(&line).filter(|column| *column <= self.width / 2) else {
                return text::wrap(&line, self.width);
            };
            let rest = text::wrap(&line[column..], self.width - column).into_iter().enumerate();
            rest.map(|(at, part)| match at {
                0 => format!("{}{part}", &line[..column]),
                _ => format!("{:column$}{part}", ""),
            })
            .collect()
        };
        lines.into_iter().flat_map(wrap).collect()
    }

    /// Undoes the last operation on the session that is not undone, or redoes the last one that is, of those that
    /// were listed.
    fn undo(&mut self, redo: bool, listed: &Ran) -> Step {
        let operations: Vec<Value> =
            listed.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let Some(op) = next_operation(&operations, redo) else {
            self.kept.message = if redo { "nothing to redo".into() } else { "nothing to undo".into() };
            return Step::Stay;
        };
        let verb = if redo { "Redo" } else { "Undo" };
        let title = format!("{verb} {}?", described(&operations, &op, redo));
        Navigator::plan(&title, vec!["undo".into(), op])
    }

    /// The words of a switch to an entry; to a prompt: to before it.
    fn switch_words(&self, here: Ix) -> anyhow::Result<Vec<String>> {
        let mut words = vec!["switch".to_owned()];
        if revision::is_prompt(self.model.session(), here) {
            words.push(REWIND.into());
        }
        words.extend(["--".to_owned(), self.name(here)?]);
        Ok(words)
    }

    /// The name of an entry for a command: its id, or its line if the id could be read as something else.
    fn name(&self, ix: Ix) -> anyhow::Result<String> {
        let session = self.model.session();
        let id = ids::name(session, &self.model.opened.files, ix)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let plain = id.len() >= ids::SHORT && !id.starts_with('-') && id.bytes().all(is_plain);
        Ok(if plain { id } else { format!("line:{}", session.entries.line(ix)) })
    }

    /// The names of the marked entries, in the order in which they were marked.
    fn marked(&self) -> anyhow::Result<Vec<String>> {
        let session = self.model.session();
        let found = session.tree.find_all(&session.entries, self.kept.marked.iter().copied());
        self.kept.marked.iter().filter_map(|key| found.entry(*key)).map(|ix| self.name(ix)).collect()
    }

    fn mark(&mut self) {
        let Some(here) = self.cursor_entry() else { return };
        let key = self.model.session().entries.key(here);
        match self.kept.marked.iter().position(|other| *other == key) {
            Some(at) => _ = self.kept.marked.remove(at),
            None => self.kept.marked.push(key),
        }
    }

    /// Leaves with what was chosen.
    fn choose(&mut self) -> anyhow::Result<Step> {
        if self.model.session().partial {
            self.kept.message = "the session is still being read".into();
            return Ok(Step::Stay);
        }
        let mut chosen = if self.purpose == Use::SelectMany { self.marked()? } else { Vec::new() };
        if let (Some(here), true) = (self.cursor_entry(), chosen.is_empty()) {
            chosen.push(self.name(here)?);
        }
        Ok(if chosen.is_empty() { Step::Stay } else { Step::Leave(Leave::Chosen(chosen)) })
    }

    fn copy_id(&mut self) -> anyhow::Result<Step> {
        let Some(here) = self.cursor_entry() else { return Ok(Step::Stay) };
        let id = self.name(here)?;
        self.kept.message = format!("{id} was sent to the clipboard of the terminal");
        Ok(Step::Copy(id))
    }

    fn copy_text(&mut self) -> anyhow::Result<Step> {
        let Some(here) = self.cursor_entry() else { return Ok(Step::Stay) };
        let text = self.text_of(here)?;
        let lines = Count("line was", "lines were", text.lines().count());
        self.kept.message = format!("{lines} sent to the clipboard of the terminal");
        Ok(Step::Copy(text))
    }

    /// The text of an entry, made safe.
    fn text_of(&self, ix: Ix) -> anyhow::Result<String> {
        let line = self.view.line(ix)?;
        let content = self.view.content(&line);
        let said = if content.text.is_empty() { content.summary().into() } else { content.text };
        Ok(text::safe(&said))
    }
}

/// The operation that an undo or a redo undoes, of all as `op log --json` lists them, newest first.
///
/// An undo of an undo does the operation again, and is itself undone as one.
fn next_operation(operations: &[Value], redo: bool) -> Option<String> {
    let id = |operation: &Value| operation["op_id"].as_str().map(str::to_owned);
    let undoes: HashMap<String, String> = operations
        .iter()
        .filter_map(|operation| Some((id(operation)?, operation["undoes"].as_str()?.to_owned())))
        .collect();
    let is_undo = |operation: &Value| {
        let chain = std::iter::successors(id(operation), |op| undoes.get(op).cloned());
        chain.take(operations.len() + 1).count() % 2 == 0
    };
    operations
        .iter()
        .find(|operation| operation["undone"] == false && is_undo(operation) == redo)
        .and_then(id)
}

/// Where the second column of a line begins: after the first gap of two spaces. Only of ASCII before it.
fn column_of(line: &str) -> Option<usize> {
    let gap = line.find("  ")?;
    let column = gap + line[gap..].bytes().take_while(|byte| *byte == b' ').count();
    (line[..column].is_ascii() && !line[..gap].trim().is_empty() && column < line.len()).then_some(column)
}

/// What an operation did, e.g. `switch 9d1c40aa → e0c35f18`; to redo it, what the undo took back.
fn described(operations: &[Value], op: &str, redo: bool) -> String {
    let find = |op: &str| operations.iter().find(|operation| operation["op_id"] == op);
    let operation = find(op).and_then(|operation| match operation["undoes"].as_str() {
        Some(undone) if redo => find(undone),
        _ => Some(operation),
    });
    let Some(operation) = operation else { return "it".into() };
    let command = operation["command"].as_str().unwrap_or("the operation");
    let head = |when: &str| operation[when]["head"].as_str().map(|id| id.chars().take(8).collect::<String>());
    match (head("before"), head("after")) {
        (Some(before), Some(after)) if before != after => format!("{command} {before} → {after}"),
        _ => match operation["detail"].as_str() {
            Some(detail) => format!("{command} {}", text::one_line(detail)),
            None => command.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::keys::typed_row;
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_row_is_typed() {
        let check = |typed: &str, wanted: Option<usize>| assert_eq!(typed_row(typed, 10), wanted, "{typed}");
        check("12",   Some(11));
        check(" 1 ",  Some(0));
        check("0",    Some(0));
        check("+5",   Some(15));
        check("-5",   Some(5));
        check("-50",  Some(0));
        check("99999999999999999999999", Some(usize::MAX - 1));
        check("+99999999999999999999999", Some(usize::MAX));
        check("",     None);
        check("+",    None);
        check("12x",  None);
        check("++1",  None);
        check("log -5", None);
    }

    #[test]
    #[rustfmt::skip] // a table
    fn undo_and_redo_go_along_the_log() {
        let check = |text: &str, undo: &str, redo: &str| {
            let mut operations: Vec<Value> = Vec::new();
            for word in text.split_whitespace() {
                let (op, undoes) = word.split_once('-').map_or((word, None), |(op, undoes)| (op, Some(undoes)));
                operations.iter_mut().filter(|other| Some(other["op_id"].as_str().unwrap()) == undoes).for_each(|other| other["undone"] = true.into());
                operations.push(serde_json::json!({ "op_id": op, "undone": false, "undoes": undoes }));
            }
            operations.reverse();
            assert_eq!(next_operation(&operations, false).unwrap_or_default(), undo, "{text}");
            assert_eq!(next_operation(&operations, true).unwrap_or_default(), redo, "{text}");
        };
        //    operations; `c-b` undoes `b`   next undo, redo
        check("",                            "",   "");
        check("a",                           "a",  "");
        check("a b",                         "b",  "");
        check("a b c-b",                     "a",  "c");
        check("a b c-b d-a",                 "",   "d");
        check("a b c-b d-a e-d",             "e",  "c");
        check("a b c-b d-a e-d f-c",         "f",  "");
        check("a b c-b d-a e-d f-e",         "",   "f");
    }
}
