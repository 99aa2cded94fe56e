//! The state of the navigator, and what each key does to it. Knows nothing of a terminal.

use super::commands::{Bough, Ran};
use super::keys::Key;
use super::line_edit::LineEdit;
use super::session::{How, Model};
use crate::cmd::shared::render::View;
use crate::cmd::shared::stored_results::Stored;
use crate::model::{self, Count, Ix, grouped};
use crate::ops::filter::Mode;
use crate::ops::rows::{Folds, Rows, Scan, Search};
use crate::ops::{ids, revision};
use crate::ui::text;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

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
    Text {
        title: String,
        lines: Vec<String>,
        top: usize,
    },
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

/// What is done after a yes.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Run(Vec<String>),
    Resume(String),
}

/// What is done with what a command printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Then {
    /// It is shown as a plan with this title, for a yes. The words are those of the command that it is the plan of.
    Plan(&'static str, Vec<String>),
    /// It may have changed the session; a short text is only said.
    Done,
    /// It is shown.
    Show,
    /// It is shown, and it may have changed the session.
    ShowAndReread,
    /// They are operations, of which one is undone, or done again.
    Undo { redo: bool },
}

/// What is to be done outside, before the next key.
#[derive(Debug)]
pub(super) enum Step {
    Stay,
    /// The file may be another now.
    Reread,
    /// A command is run, and something is done with what it printed.
    Run(Vec<String>, Then),
    /// A command takes the terminal.
    Page(Vec<String>),
    /// A text is shown in the user's editor.
    Edit(String),
    /// The user writes a summary for a switch, of which these are the words.
    Summarize(Vec<String>),
    /// A text goes to the clipboard of the terminal.
    Copy(String),
    Suspend,
    /// The whole screen is drawn again.
    Redraw,
    Leave(Leave),
}

/// How the navigator is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Leave {
    Quit,
    /// To the list of sessions, if there is one.
    Back,
    /// With entries that were chosen, by their ids.
    Chosen(Vec<String>),
    /// To run the agent.
    Resume(String),
}

/// What the navigator is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Act,
    SelectOne,
    SelectMany,
}

/// The option of `switch` that goes to before a prompt.
const REWIND: &str = "--rewind";

/// How many rows are searched before the clock is looked at.
const CLOCK: usize = 16;

/// A search under way. It goes on after the first match, to count the others.
struct Running {
    scan: Scan,
    /// The row that is looked at next, and how many are left.
    next: usize,
    left: usize,
    down: bool,
    /// The row from which the search went out.
    from: usize,
    /// The rows that match, in the order in which they were found.
    found: Vec<usize>,
    since: Instant,
    /// When the screen said last how far it is.
    said: Instant,
}

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
    /// Whether the cursor goes to HEAD when the session is read anew.
    goes_with_head: bool,
    /// Whether an agent seems to be at work on the file.
    pub(super) is_agent_running: bool,
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
            goes_with_head: false,
            is_agent_running: model.signs.is_some(),
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

    /// Does what a key asks for.
    pub(super) fn press(&mut self, key: Key) -> anyhow::Result<Step> {
        self.running = None;
        match std::mem::replace(&mut self.kept.panel, Panel::Tree) {
            Panel::Tree => {
                self.kept.message.clear();
                self.press_in_tree(key)
            }
            Panel::Go => {
                match key {
                    Key::Char('?') => self.show("Keys", HELP.lines().map(str::to_owned).collect()),
                    Key::Char('g') => self.go_to(0),
                    _ => {}
                }
                Ok(Step::Stay)
            }
            Panel::Line(purpose, mut line) => match key {
                Key::Esc | Key::Ctrl('c' | 'g') => Ok(Step::Stay),
                Key::Enter => self.typed(purpose, &line.text()),
                Key::Backspace if line.text().is_empty() && purpose != Purpose::Label => Ok(Step::Stay),
                key => {
                    line.press(key);
                    self.kept.panel = Panel::Line(purpose, line);
                    Ok(Step::Stay)
                }
            },
            Panel::Text { title, lines, mut top } => {
                if !scroll(key, &mut top, lines.len(), self.page) {
                    return Ok(Step::Stay);
                }
                self.kept.panel = Panel::Text { title, lines, top };
                Ok(Step::Stay)
            }
            Panel::Plan { title, lines, mut top, act } => match key {
                Key::Enter | Key::Char('y') => match act {
                    Act::Run(words) => Ok(Step::Run(words, Then::Done)),
                    Act::Resume(command) => Ok(Step::Leave(Leave::Resume(command))),
                },
                Key::Char('n' | 'q') | Key::Esc | Key::Ctrl('c') => {
                    self.kept.message = "nothing was changed".into();
                    Ok(Step::Stay)
                }
                key => {
                    scroll(key, &mut top, lines.len(), self.page);
                    self.kept.panel = Panel::Plan { title, lines, top, act };
                    Ok(Step::Stay)
                }
            },
        }
    }

    fn press_in_tree(&mut self, key: Key) -> anyhow::Result<Step> {
        let index = self.folds.index(self.cursor);
        match key {
            Key::Down | Key::Char('j') => self.go_to_index(index + 1),
            Key::Up | Key::Char('k') => self.go_to_index(index.saturating_sub(1)),
            Key::PageDown | Key::Ctrl('f') => self.go_to_index(index + self.page),
            Key::PageUp | Key::Ctrl('b') => self.go_to_index(index.saturating_sub(self.page)),
            Key::Home | Key::Char('<') => self.go_to(0),
            Key::End | Key::Char('G' | '>') => self.go_to_index(usize::MAX),
            Key::Char('g') => self.kept.panel = Panel::Go,
            Key::Left => self.fold_or_up(),
            Key::Right => self.unfold_or_down(),
            Key::Char('[') => self.jump(self.rows.branch_point_before(self.cursor), "no branch point before"),
            Key::Char(']') if !self.rows.is_empty() => {
                self.jump(self.rows.branch_point_after(self.cursor), "no branch point after");
            }
            Key::Char('p') => self.jump(self.prompt(true), "no prompt after"),
            Key::Char('P') => self.jump(self.prompt(false), "no prompt before"),
            Key::Char('h') => {
                let head = self.model.session().head.entry;
                self.jump(head.and_then(|head| self.rows.row_at_or_above(head)), "HEAD is not shown");
            }
            Key::Ctrl('o') => self.set_filter((self.kept.filter + 1) % Mode::ALL.len()),
            Key::Ctrl('O') => self.set_filter((self.kept.filter + Mode::ALL.len() - 1) % Mode::ALL.len()),
            Key::Char(digit @ '1'..='5') => self.set_filter(digit as usize - '1' as usize),
            Key::Char('/') => self.type_line(Purpose::SearchDown),
            Key::Char('?') => self.type_line(Purpose::SearchUp),
            Key::Char('n') => self.search(self.kept.search_down),
            Key::Char('N') => self.search(!self.kept.search_down),
            Key::Tab => self.kept.preview = !self.kept.preview,
            Key::Char('J') => self.scroll_entry(1),
            Key::Char('K') => self.scroll_entry(-1),
            Key::Ctrl('d') => self.scroll_entry(self.room.div_ceil(2) as isize),
            Key::Ctrl('u') => self.scroll_entry(-(self.room.div_ceil(2) as isize)),
            Key::Char('t') => self.kept.times = !self.kept.times,
            Key::Char('f') => {
                self.kept.follow = !self.kept.follow;
                return Ok(Step::Reread);
            }
            Key::Char(' ') => {
                self.mark();
                self.go_to_index(index + 1);
            }
            Key::Char('y') => return self.copy_id(),
            Key::Char('Y') => return self.copy_text(),
            Key::Ctrl('z') => return Ok(Step::Suspend),
            Key::Ctrl('l') => return Ok(Step::Redraw),
            Key::Char('R') => {
                self.kept.message = "read again".into();
                return Ok(Step::Reread);
            }
            // The tests of the terminal want to see what a panic leaves of it.
            #[cfg(debug_assertions)]
            Key::Ctrl('x') => panic!("the key of the tests was pressed"),
            Key::Esc => return Ok(self.clear_or_leave()),
            Key::Char('q') => return Ok(Step::Leave(Leave::Back)),
            Key::Char('Q') | Key::Ctrl('c') => return Ok(Step::Leave(Leave::Quit)),
            Key::Enter if self.purpose != Use::Act => return self.choose(),
            Key::Char(':') if self.purpose != Use::Act => self.type_line(Purpose::Command),
            key if self.purpose == Use::Act => return self.press_to_act(key),
            _ => {}
        }
        Ok(Step::Stay)
    }

    /// Clears what the last search or the marks left on the screen; if there is nothing, leaves.
    fn clear_or_leave(&mut self) -> Step {
        if std::mem::take(&mut self.kept.shows_matches) {
            self.kept.message = "the search is cleared".into();
        } else if !self.kept.marked.is_empty() {
            self.kept.marked.clear();
            self.kept.message = "the marks are cleared".into();
        } else {
            return Step::Leave(Leave::Back);
        }
        Step::Stay
    }

    /// The keys that do something with entries.
    fn press_to_act(&mut self, key: Key) -> anyhow::Result<Step> {
        if !matches!(
            key,
            Key::Enter
                | Key::Ctrl('r')
                | Key::Char('s' | 'L' | 'd' | 'c' | 'e' | 'x' | 'o' | 'v' | 'u' | 'r' | ':')
        ) {
            return Ok(Step::Stay);
        }
        if self.model.session().partial {
            self.kept.message = "the session is still being read".into();
            return Ok(Step::Stay);
        }
        match key {
            Key::Char('u') | Key::Ctrl('r') => {
                let listed = ["op", "log", "--json"].map(str::to_owned).to_vec();
                return Ok(Step::Run(listed, Then::Undo { redo: key == Key::Ctrl('r') }));
            }
            Key::Char('r') => {
                match self.model.resume_command() {
                    Some(command) => {
                        let lines = vec![text::safe(&command)];
                        self.kept.panel = Panel::Plan {
                            title: "Leave and run".into(),
                            lines,
                            top: 0,
                            act: Act::Resume(command),
                        };
                    }
                    None => self.kept.message = "this agent has no command that resumes a session".into(),
                }
                return Ok(Step::Stay);
            }
            Key::Char('x') => {
                self.plan_page();
                return Ok(Step::Stay);
            }
            Key::Char(':') => {
                self.type_line(Purpose::Command);
                return Ok(Step::Stay);
            }
            _ => {}
        }
        let Some(here) = self.cursor_entry() else { return Ok(Step::Stay) };
        let id = self.name(here)?;
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match key {
            Key::Enter => {
                let words = self.switch_words(here)?;
                let is_rewind = words.iter().any(|word| word == REWIND);
                let title = if is_rewind { "Edit this prompt again?" } else { "Switch here?" };
                return Ok(Navigator::plan(title, words));
            }
            Key::Char('s') => return Ok(Step::Summarize(self.switch_words(here)?)),
            Key::Char('L') => {
                let label = self.model.session().labels.label(here).unwrap_or_default();
                self.kept.panel = Panel::Line(Purpose::Label, LineEdit::new(&text::one_line(label)));
            }
            Key::Char('o') => return Ok(Step::Page(words(&["show", "--", &id]))),
            Key::Char('v') => return Ok(Step::Edit(self.text_of(here)?)),
            Key::Char('d') => {
                let marked = self.marked()?;
                let [one, other] = marked.as_slice() else {
                    self.kept.message = format!("mark two entries with Space; {} marked", marked.len());
                    return Ok(Step::Stay);
                };
                return Ok(Step::Run(words(&["diff", "--", one, other]), Then::Show));
            }
            Key::Char('c') => {
                let marked = self.marked()?;
                if marked.is_empty() {
                    self.kept.message = "mark the entries to copy with Space".into();
                    return Ok(Step::Stay);
                }
                let mut pick = words(&["cherry-pick", "--"]);
                pick.extend(marked);
                return Ok(Navigator::plan("Copy the marked entries to HEAD?", pick));
            }
            Key::Char('e') => {
                let end = self.marked()?.into_iter().next().unwrap_or(id);
                let words = words(&["export-branch", "--store", "--", &end]);
                return Ok(Navigator::plan("Export the branch?", words));
            }
            _ => {}
        }
        Ok(Step::Stay)
    }

    /// Shows the command that writes a page of the session into the current folder, and asks.
    fn plan_page(&mut self) {
        let name = self.model.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let words = ["export", "--to", "html", "--output"].map(str::to_owned);
        let words: Vec<String> = words.into_iter().chain([format!("{name}.html")]).collect();
        let lines = vec![
            self.bough.spelled(&words),
            String::new(),
            "The page has all branches. Credentials are redacted.".to_owned(),
        ];
        let (title, lines) = ("Write a page?".to_owned(), self.wrapped(lines));
        self.kept.panel = Panel::Plan { title, lines, top: 0, act: Act::Run(words) };
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
    pub(super) fn plan(title: &'static str, words: Vec<String>) -> Step {
        let mut dry = words.clone();
        dry.insert(1, "--dry-run".into());
        Step::Run(dry, Then::Plan(title, words))
    }

    /// Does what is to be done with what a command printed.
    pub(super) fn ran(&mut self, words: &[String], then: Then, ran: &Ran) -> Step {
        match then {
            Then::Plan(_, words) if !ran.success => self.report(&words, ran),
            Then::Plan(title, words) => {
                let mut lines = vec![self.bough.spelled(&words), String::new()];
                lines.extend(ran.lines());
                let lines = self.wrapped(lines);
                self.kept.panel = Panel::Plan { title: title.into(), lines, top: 0, act: Act::Run(words) };
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
        if ran.success && words[0] == "cherry-pick" {
            self.kept.marked.clear();
        }
        if ran.success && words[0] == "switch" {
            self.goes_with_head = true;
        }
        let short = ran.success && !rewinds && ran.lines().len() <= 3;
        match short {
            true => self.kept.message = ran.said().unwrap_or_else(|| "done".into()),
            false => self.report(words, ran),
        }
    }

    fn report(&mut self, words: &[String], ran: &Ran) {
        let mut lines = ran.lines();
        if lines.is_empty() {
            lines.push("(no output)".into());
        }
        self.show(&self.bough.spelled(words), lines);
    }

    pub(super) fn show(&mut self, title: &str, lines: Vec<String>) {
        let lines = self.wrapped(lines);
        self.kept.panel = Panel::Text { title: title.to_owned(), lines, top: 0 };
    }

    /// Lines as wide as the screen.
    fn wrapped(&self, lines: Vec<String>) -> Vec<String> {
        let wrap = |line: String| match text::width(&line) > self.width && self.width > 0 {
            true => text::wrap(&line, self.width),
            false => vec![line],
        };
        lines.into_iter().flat_map(wrap).collect()
    }

    /// Lets the user type a search or a command.
    fn type_line(&mut self, purpose: Purpose) {
        let history = if purpose == Purpose::Command { &self.kept.commands } else { &self.kept.searches };
        self.kept.panel = Panel::Line(purpose, LineEdit::after(history));
    }

    /// Takes a line that was typed.
    fn typed(&mut self, purpose: Purpose, line: &str) -> anyhow::Result<Step> {
        let history = match purpose {
            Purpose::SearchDown | Purpose::SearchUp => Some(&mut self.kept.searches),
            Purpose::Command => Some(&mut self.kept.commands),
            Purpose::Label => None,
        };
        if let Some(history) =
            history.filter(|history| !line.is_empty() && history.last().is_none_or(|last| last != line))
        {
            history.push(line.to_owned());
        }
        match purpose {
            Purpose::SearchDown | Purpose::SearchUp => {
                if !line.is_empty() {
                    self.kept.search = line.to_owned();
                }
                self.kept.search_down = purpose == Purpose::SearchDown;
                self.search(self.kept.search_down);
                Ok(Step::Stay)
            }
            Purpose::Label => {
                let Some(here) = self.cursor_entry() else { return Ok(Step::Stay) };
                let (id, old) = (self.name(here)?, self.model.session().labels.label(here));
                let label = |words: &[&str]| {
                    let words = std::iter::once("label").chain(words.iter().copied()).map(str::to_owned);
                    Ok(Step::Run(words.collect(), Then::Done))
                };
                match line.trim() {
                    // What was not edited stays, although it may be shown in other signs.
                    same if old.is_some_and(|old| text::one_line(old) == same) => Ok(Step::Stay),
                    "" if old.is_some() => label(&["--delete", "--", &id]),
                    "" => Ok(Step::Stay),
                    // The old label was in the line, and was edited.
                    name if old.is_some() => label(&["--replace", "--", name, &id]),
                    name => label(&["--", name, &id]),
                }
            }
            Purpose::Command => {
                if let Some(index) = typed_row(line, self.folds.index(self.cursor)) {
                    self.go_to_index(index);
                    return Ok(Step::Stay);
                }
                // As in pagers and editors.
                if matches!(line.trim(), "q" | "q!" | "quit") {
                    return Ok(Step::Leave(Leave::Back));
                }
                if self.purpose != Use::Act {
                    self.kept.message = "expected the number of a row, e.g. `:12` or `:+5`".into();
                    return Ok(Step::Stay);
                }
                let Some(mut words) = shlex::split(line) else {
                    self.kept.message = "a quote is not closed".into();
                    return Ok(Step::Stay);
                };
                if words.first().is_some_and(|word| word == "bough") {
                    words.remove(0);
                }
                if let Some(here) = self.cursor_entry() {
                    let id = self.name(here)?;
                    words.iter_mut().for_each(|word| *word = word.replace("@@", &id));
                }
                if words.is_empty() {
                    return Ok(Step::Stay);
                }
                Ok(Step::Run(words, Then::ShowAndReread))
            }
        }
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
        let title = if redo { "Redo?" } else { "Undo?" };
        Navigator::plan(title, vec!["undo".into(), op])
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
        self.kept.message = format!("{id} is copied");
        Ok(Step::Copy(id))
    }

    fn copy_text(&mut self) -> anyhow::Result<Step> {
        let Some(here) = self.cursor_entry() else { return Ok(Step::Stay) };
        let text = self.text_of(here)?;
        self.kept.message = format!("{} copied", Count("line is", "lines are", text.lines().count()));
        Ok(Step::Copy(text))
    }

    /// The text of an entry, made safe.
    fn text_of(&self, ix: Ix) -> anyhow::Result<String> {
        let line = self.view.line(ix)?;
        let content = self.view.content(&line);
        let said = if content.text.is_empty() { content.summary().into() } else { content.text };
        Ok(text::safe(&said))
    }

    fn go_to(&mut self, row: usize) {
        self.cursor = row.min(self.rows.len().saturating_sub(1));
    }

    fn go_to_index(&mut self, index: usize) {
        self.go_to(self.folds.row(index.min(self.visible().saturating_sub(1))));
    }

    /// Goes to a row that may be in a folded part.
    fn jump(&mut self, row: Option<usize>, none: &str) {
        match row {
            Some(row) => {
                self.folds.reveal(&self.rows, row);
                self.go_to(row);
            }
            None => self.kept.message = none.into(),
        }
    }

    fn prompt(&self, after: bool) -> Option<usize> {
        let session = self.model.session();
        let is_prompt = |row: &usize| revision::is_prompt(session, self.rows.entry(*row));
        match after {
            true => (self.cursor + 1..self.rows.len()).find(is_prompt),
            false => (0..self.cursor).rev().find(is_prompt),
        }
    }

    fn fold_or_up(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        if !self.folds.is_folded(self.cursor) && self.folds.toggle(&self.rows, self.cursor) {
            return;
        }
        self.go_to(self.rows.branch_start_above(self.cursor));
    }

    fn unfold_or_down(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        if self.folds.is_folded(self.cursor) {
            self.folds.toggle(&self.rows, self.cursor);
            return;
        }
        self.go_to(self.rows.branch_start_below(self.cursor));
    }

    fn set_filter(&mut self, filter: usize) {
        let here = self.cursor_entry();
        self.kept.filter = filter;
        self.folds.clear();
        self.matches = None;
        self.rows = self.model.rows_of(filter);
        let (session, mode) = (self.model.session(), self.filter().1);
        self.view.mark(|ix| mode.shows(session, ix));
        self.cursor = match here.and_then(|here| self.rows.row_at_or_above(here)) {
            Some(row) => row,
            None => self.rows.len().saturating_sub(1),
        };
    }

    /// Begins to search from the cursor.
    fn search(&mut self, down: bool) {
        if self.kept.search.is_empty() {
            self.kept.message = "nothing was searched for yet".into();
            return;
        }
        let search = match Search::parse(&self.kept.search) {
            Ok(search) => search,
            Err(error) => {
                let reason = crate::cmd::grep::reason(&error);
                self.kept.message = format!("invalid regular expression: {reason}");
                return;
            }
        };
        let count = self.rows.len();
        if count == 0 || search.is_empty() {
            return;
        }
        self.kept.shows_matches = true;
        if let Some((words, matches)) = &self.matches
            && *words == self.kept.search
        {
            let at = match down {
                true => matches.iter().find(|row| **row > self.cursor).or(matches.first()),
                false => matches.iter().rfind(|row| **row < self.cursor).or(matches.last()),
            };
            if let Some(row) = at.copied() {
                self.go_to_match(row, self.cursor, down);
                return;
            }
        }
        let next = if down { self.cursor + 1 } else { self.cursor + count - 1 } % count;
        self.kept.message = "searching…".into();
        self.running = Some(Running {
            scan: Scan::new(search),
            next,
            left: count,
            down,
            from: self.cursor,
            found: Vec::new(),
            since: Instant::now(),
            said: Instant::now(),
        });
    }

    /// Searches on for some time. Gives whether something changed on the screen.
    pub(super) fn work(&mut self, time: Duration) -> bool {
        let Some(mut running) = self.running.take() else { return false };
        let until = Instant::now() + time;
        let (session, files) = (self.model.session(), &self.model.opened.files);
        let (count, down) = (self.rows.len(), running.down);
        while running.left > 0 {
            let row = running.next;
            let ix = self.rows.entry(row);
            let found = match running.scan.finds(session, files, ix, down) {
                Ok(found) => found,
                Err(error) => {
                    // The file was cut, or written anew.
                    self.kept.message = error.to_string();
                    return true;
                }
            };
            running.left -= 1;
            running.next = if down { row + 1 } else { row + count - 1 } % count;
            if found {
                running.found.push(row);
                if running.found.len() == 1 {
                    self.go_to_match(row, running.from, down);
                    self.running = Some(running);
                    return true;
                }
            }
            if running.left.is_multiple_of(CLOCK) && Instant::now() >= until {
                // A search that takes long says how far it is. A frame for each step would take the time of the search.
                let mut is_news = false;
                let is_long = running.since.elapsed() > Duration::from_millis(300);
                if running.found.is_empty() && is_long && running.said.elapsed() > Duration::from_millis(100)
                {
                    running.said = Instant::now();
                    let done = (count - running.left) * 100 / count;
                    let message = format!("searching… {done} %");
                    is_news = message != self.kept.message;
                    self.kept.message = message;
                }
                self.running = Some(running);
                return is_news;
            }
        }
        let Running { mut found, from, .. } = running;
        let Some(row) = found.first().copied() else {
            self.kept.message = format!("not found: {}", text::one_line(&self.kept.search));
            return true;
        };
        found.sort_unstable();
        self.matches = Some((self.kept.search.clone(), found));
        self.go_to_match(row, from, down);
        true
    }

    /// Goes to a row that matches, from another one, and says which of the matches it is, if they were counted.
    fn go_to_match(&mut self, row: usize, from: usize, down: bool) {
        let wrapped = match (row.cmp(&from), down) {
            (Ordering::Equal, _) => "no other match",
            (Ordering::Less, true) => "the search went on at the first row",
            (Ordering::Greater, false) => "the search went on at the last row",
            _ => "",
        };
        let rows =
            self.matches.as_ref().filter(|(words, _)| *words == self.kept.search).map(|(_, rows)| rows);
        let counted = match rows.map_or(0, Vec::len) {
            1 if row != from => Some("the only match".to_owned()),
            0 | 1 => None,
            all => {
                let at = rows.map_or(0, |rows| rows.partition_point(|other| *other < row)) + 1;
                Some(format!("match {} of {}", grouped(at), grouped(all)))
            }
        };
        let said = counted.iter().map(String::as_str).chain(Some(wrapped).filter(|words| !words.is_empty()));
        self.kept.message = said.collect::<Vec<_>>().join(" · ");
        self.jump(Some(row), "");
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

/// The index of the row that was typed: `12`, or `+5` and `-5` from the row with the cursor on.
fn typed_row(typed: &str, index: usize) -> Option<usize> {
    let typed = typed.trim();
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        // A number that is too large goes to the last row.
        is_number.then(|| digits.parse().unwrap_or(usize::MAX))
    };
    match (typed.strip_prefix('+'), typed.strip_prefix('-')) {
        (Some(down), _) => number(down).map(|rows: usize| index.saturating_add(rows)),
        (_, Some(up)) => number(up).map(|rows| index.saturating_sub(rows)),
        _ => number(typed).map(|row| row.saturating_sub(1)),
    }
}

/// Scrolls a text; false if the key closes it.
fn scroll(key: Key, top: &mut usize, lines: usize, page: usize) -> bool {
    let last = lines.saturating_sub(page);
    *top = match key {
        Key::Down | Key::Char('j') => *top + 1,
        Key::Up | Key::Char('k') => top.saturating_sub(1),
        Key::PageDown | Key::Char(' ') => *top + page,
        Key::PageUp => top.saturating_sub(page),
        Key::Home => 0,
        Key::End | Key::Char('G') => last,
        _ => return false,
    }
    .min(last);
    true
}

/// The keys, as `g?` shows them.
const HELP: &str = "\
j k, Up Down            move by a row
PgUp PgDn               move by a page
gg G, < >, Home End     first and last row
Left                    fold a branch; else go to the start of the branch
Right                   unfold; else go to the next branch
[ ]                     previous and next branch point
p P                     next and previous prompt
h                       HEAD
:12 :+5 :-5             go to row 12; 5 rows down and up
1 2 3 4 5               filter: default, no-tools, user-only, labeled-only, all
^O, Shift ^O            next and previous filter
/ ?                     search down and up: all words, or re: and a regular expression
Up Down                 in a search or a command: those that were typed before
n N                     next and previous match
Esc                     clear the search, then the marks; then like q
Tab                     show or hide the entry
J K ^D ^U               scroll the entry, by a line and by half a page
t                       show or hide times
f                       follow a running agent

Enter                   switch here; on a prompt: to before it
s                       switch with a summary of the branch that is left
L                       label; an empty name deletes the label
Space                   mark
d c e                   diff of two marked; cherry-pick the marked; export the marked branch
x                       write a page of the session (HTML)
u ^R                    undo, redo
r                       leave, and resume the session in its agent
:                       any command of bough; @@ is the entry with the cursor
o v                     open the entry in the pager, in $EDITOR
y Y                     copy the id, the text

R ^L                    read the file again, draw the screen again
^Z                      suspend
q :q                    go back to the list of sessions, or leave
Q ^C                    leave";

#[cfg(test)]
mod tests {
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
