//! What each key does in the navigator.

use super::{Act, Leave, Navigator, Panel, Purpose, REWIND, Step, Then, Use};
use crate::cmd::Cli;
use crate::cmd::tree::keys::Key;
use crate::cmd::tree::line_edit::LineEdit;
use crate::cmd::tree::pager::{Pager, scroll};
use crate::cmd::tree::screen::PASTED;
use crate::format::Format;
use crate::ops::filter::Mode;
use crate::ui::{self, text};
use clap::CommandFactory;
use std::path::Path;

impl<'m> Navigator<'m> {
    /// Does what a key asks for.
    pub(crate) fn press(&mut self, key: Key) -> anyhow::Result<Step> {
        if key == Key::Ctrl('z') {
            return Ok(Step::Suspend);
        }
        self.running = None;
        let is_leaving = std::mem::take(&mut self.is_leaving);
        match std::mem::replace(&mut self.kept.panel, Panel::Tree) {
            Panel::Tree => {
                self.kept.message.clear();
                match key {
                    Key::Esc => Ok(self.clear_or_leave(is_leaving)),
                    key => self.press_in_tree(key),
                }
            }
            Panel::Go => {
                match key {
                    Key::Char('?') => self.show("Keys", self.keys(), false),
                    Key::Char('g') => self.go_to(0),
                    _ => {}
                }
                Ok(Step::Stay)
            }
            Panel::Line(purpose, mut line) => match key {
                Key::Esc | Key::Ctrl('c' | 'g') => Ok(Step::Stay),
                Key::Enter => self.typed(purpose, &line.text()),
                Key::Backspace if line.text().is_empty() && purpose != Purpose::Label => Ok(Step::Stay),
                Key::Tab if purpose == Purpose::Command && self.purpose == Use::Act => {
                    self.complete(&mut line);
                    self.kept.panel = Panel::Line(purpose, line);
                    Ok(Step::Stay)
                }
                key => {
                    line.press(key);
                    self.kept.panel = Panel::Line(purpose, line);
                    Ok(Step::Stay)
                }
            },
            Panel::Text(mut pager) => {
                if pager.press(key, self.page) {
                    self.kept.panel = Panel::Text(pager);
                }
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

    /// The keys that do something.
    fn keys(&self) -> Vec<String> {
        let acts = match self.purpose {
            Use::Act => HELP_ACT,
            Use::SelectOne => "Enter                   choose this entry",
            Use::SelectMany => {
                "Enter                   choose the marked entries, or this one\nSpace                   mark"
            }
        };
        [HELP, acts, HELP_SCREEN].join("\n\n").lines().map(str::to_owned).collect()
    }

    /// Takes a pasted text where one is typed. Elsewhere it does nothing: its letters would be keys, and a line break in it
    /// would be a yes.
    pub(crate) fn paste(&mut self, text: &str) {
        match &mut self.kept.panel {
            Panel::Line(_, line) => line.paste(text),
            Panel::Text(Pager { typing: Some(line), .. }) => line.paste(text),
            Panel::Text(pager) => pager.message = PASTED.into(),
            _ => self.kept.message = PASTED.into(),
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
            Key::Char('-') => self.fold_all(),
            Key::Char('=') => self.unfold_all(),
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
            Key::Ctrl('l') => return Ok(Step::Redraw),
            Key::Char('R') => {
                self.kept.message = "read again".into();
                return Ok(Step::Reread);
            }
            // The tests of the terminal want to see what a panic leaves of it.
            #[cfg(debug_assertions)]
            Key::Ctrl('x') => panic!("the key of the tests was pressed"),
            Key::Char('q') => return Ok(Step::Leave(Leave::Back)),
            Key::Char('Q') | Key::Ctrl('c') => return Ok(Step::Leave(Leave::Quit)),
            Key::Enter if self.purpose != Use::Act => return self.choose(),
            Key::Char(':') if self.purpose != Use::Act => self.type_line(Purpose::Command),
            key if self.purpose == Use::Act => return self.press_to_act(key),
            _ => self.kept.message = NO_SUCH_KEY.into(),
        }
        Ok(Step::Stay)
    }

    /// Clears what the last search or the marks left on the screen. If there is nothing, leaves: to the shell only at
    /// the second press, since one too many is easily made.
    fn clear_or_leave(&mut self, is_leaving: bool) -> Step {
        if std::mem::take(&mut self.kept.shows_matches) {
            self.kept.message = "the search is cleared".into();
        } else if !self.kept.marked.is_empty() {
            self.kept.marked.clear();
            self.kept.message = "the marks are cleared".into();
        } else if is_leaving || self.has_list || self.purpose != Use::Act {
            return Step::Leave(Leave::Back);
        } else {
            self.is_leaving = true;
            self.kept.message = "nothing to clear · Esc again or q leaves".into();
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
            self.kept.message = NO_SUCH_KEY.into();
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
                    Some(command) if let Some(program) = missing_program(&command) => {
                        self.kept.message = format!("`{program}` is not installed: {}", text::safe(&command));
                    }
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
            Key::Char('s') if self.model.session().format == Format::Claude => {
                // What was written in the editor would be lost.
                self.kept.message = "Claude Code has no branch summary: write it in the next prompt".into();
            }
            Key::Char('s') => return Ok(Step::Summarize(self.switch_words(here)?)),
            Key::Char('L') => {
                let label = self.model.session().labels.label(here).unwrap_or_default();
                self.kept.panel = Panel::Line(Purpose::Label, LineEdit::new(&text::one_line(label)));
            }
            Key::Char('o') => return Ok(Step::Page(words(&["show", "--", &id]))),
            Key::Char('v') => return Ok(Step::Edit(self.text_of(here)?)),
            Key::Char('d') => {
                let mut marked = self.marked()?;
                // With one mark, the other entry is the one with the cursor.
                if marked.len() == 1 && marked[0] != id {
                    marked.push(id);
                }
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
                let marked = self.marked()?;
                if let [_, _, ..] = marked[..] {
                    self.kept.message =
                        format!("mark one entry: a branch has one end; {} marked", marked.len());
                    return Ok(Step::Stay);
                }
                let end = marked.into_iter().next().unwrap_or(id);
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
        // An older page stays.
        let mut names = (1..).map(|number| match number {
            1 => format!("{name}.html"),
            number => format!("{name}-{number}.html"),
        });
        let free = names.find(|name| Path::new(name).symlink_metadata().is_err());
        let words = ["export", "--to", "html", "--output"].map(str::to_owned);
        let words: Vec<String> = words.into_iter().chain(free).collect();
        let lines = vec![
            self.bough.spelled(&words),
            String::new(),
            "The page has all branches. Credentials are redacted.".to_owned(),
        ];
        let (title, lines) = ("Write a page?".to_owned(), self.wrapped(lines));
        self.kept.panel = Panel::Plan { title, lines, top: 0, act: Act::Run(words) };
    }

    /// Lets the user type a search or a command.
    fn type_line(&mut self, purpose: Purpose) {
        let history = if purpose == Purpose::Command { &self.kept.commands } else { &self.kept.searches };
        self.kept.panel = Panel::Line(purpose, LineEdit::after(history));
    }

    /// Completes the word before the cursor as a shell would.
    fn complete(&self, line: &mut LineEdit) {
        let typed = line.before_cursor();
        let (before, word) = typed.split_at(typed.rfind(' ').map_or(0, |at| at + 1));
        let Some(words) = command_words(before) else { return };
        line.complete(word.chars().count(), self.bough.offers(&words, word));
    }

    /// Takes a line that was typed.
    pub(super) fn typed(&mut self, purpose: Purpose, line: &str) -> anyhow::Result<Step> {
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
                let Some(mut words) = command_words(line) else {
                    self.kept.message = "a quote is not closed".into();
                    return Ok(Step::Stay);
                };
                if let Some(here) = self.cursor_entry() {
                    let id = self.name(here)?;
                    words.iter_mut().for_each(|word| *word = word.replace("@@", &id));
                }
                if words.is_empty() {
                    return Ok(Step::Stay);
                }
                if Cli::command().find_subcommand(&words[0]).is_none()
                    && let Some((row, _)) = self.row_of_revision(line)
                {
                    self.jump(Some(row), "");
                    return Ok(Step::Stay);
                }
                Ok(Step::Run(words, Then::ShowAndReread))
            }
        }
    }
}

/// What is said of a key that does nothing.
const NO_SUCH_KEY: &str = "no such key · g? shows all keys";

/// The words of a command that was typed, as a shell would split them; `None` if a quote is not closed.
fn command_words(line: &str) -> Option<Vec<String>> {
    let mut words = shlex::split(line)?;
    if words.first().is_some_and(|word| word == "bough") {
        words.remove(0);
    }
    Some(words)
}

/// The program of a command that can't be run because it is not there: of `cd FOLDER && PROGRAM`, the second.
fn missing_program(command: &str) -> Option<String> {
    let words = shlex::split(command)?;
    let at = words.iter().position(|word| word == "&&").map_or(0, |at| at + 1);
    let program = words.get(at)?;
    (!ui::is_program(program)).then(|| text::one_line(program))
}

/// The index of the row that was typed: `12`, or `+5` and `-5` from the row with the cursor on.
pub(super) fn typed_row(typed: &str, index: usize) -> Option<usize> {
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

/// The keys that move, as `g?` shows them.
const HELP: &str = "\
j k, Up Down            move by a row
PgUp PgDn               move by a page
gg G, < >, Home End     first and last row
Left                    fold a branch; else go to the start of the branch
Right                   unfold; else go to the next branch
- =                     fold all branches, unfold all
[ ]                     previous and next branch point
p P                     next and previous prompt
h                       HEAD
:12 :+5 :-5             go to row 12; 5 rows down and up
:0a64d7f1 :HEAD~2       go to an entry: its id, a label, a position
1 2 3 4 5               filter: default, no-tools, user-only, labeled-only, all
^O, Shift ^O            next and previous filter
/ ?                     search down and up: all words, or re: and a regular expression;
                        or an entry: its id, a label, HEAD~2
Up Down                 in a search or a command: those that were typed before
Tab                     in a command: complete the word
n N                     next and previous match
Esc                     clear the search, then the marks; twice: like q
Tab                     show or hide the entry
J K ^D ^U               scroll the entry, by a line and by half a page
t                       show or hide times
f                       follow a running agent
y Y                     copy the id, the text";

/// The keys that do something with entries.
const HELP_ACT: &str = "\
Enter                   switch here; on a prompt: to before it
s                       switch with a summary of the branch that is left
L                       label; an empty name deletes the label
Space                   mark
d                       diff of two marked, or of the marked one and this
c e                     cherry-pick the marked; export the marked branch
x                       write a page of the session (HTML)
u ^R                    undo, redo
r                       leave, and resume the session in its agent
:                       any command of bough; @@ is the entry with the cursor
o v                     open the entry in the pager, in $EDITOR";

/// The keys of the screen.
const HELP_SCREEN: &str = "\
R ^L                    read the file again, draw the screen again
^Z                      suspend
q :q                    go back to the list of sessions, or leave
Q ^C                    leave";
