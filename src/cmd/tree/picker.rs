//! The list of sessions from which one is opened.

use super::keys::Key;
use super::line_edit::LineEdit;
use super::screen::{Input, PASTED, Screen};
use crate::cmd::shared::file_args::size;
use crate::cmd::shared::time;
use crate::model::Time;
use crate::ops::rows::Search;
use crate::ops::sessions;
use crate::store::locate::{self, Found};
use crate::store::{self, Options};
use crate::ui::{Look, spelled, text};
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Modifier, Style};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whose sessions are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// Those of the current project.
    Project,
    /// Those of all projects.
    All,
    /// Those in a folder that was named.
    Folder,
}

/// What was done with the list.
pub(super) enum Picked {
    Session(PathBuf),
    /// The sessions of all projects are wanted, or those of this one.
    Other(Scope),
    Nothing,
    /// The keys were at an end.
    Ended,
    /// A signal ends the program.
    Signal(i32),
}

/// All keys of the list.
const KEYS: &str =
    "Enter open · / search · a all projects, this one · Esc clear, leave · j k ^D ^U ^F ^B g G";

/// The list, newest first.
pub(super) struct Picker {
    found: Vec<Found>,
    options: Options,
    now: Time,
    /// The rows that have the words that were typed.
    shown: Vec<usize>,
    cursor: usize,
    top: usize,
    page: usize,
    words: String,
    typing: Option<LineEdit>,
    /// What was said last.
    message: String,
    /// Of all projects, each session is shown with its own.
    scope: Scope,
    known: HashMap<usize, Known>,
}

/// What is said of a session that was on the screen.
#[derive(Clone)]
struct Known {
    agent: String,
    /// Its name, or else its first prompt.
    title: String,
    /// The last part of its working directory.
    project: String,
}

/// The width of the column of projects.
const PROJECT: usize = 12;

/// How many characters of an id tell sessions apart: those of pi begin with their time.
const ID: usize = 13;

impl Picker {
    pub(super) fn new(mut found: Vec<Found>, options: Options, scope: Scope) -> Picker {
        found.sort_by_cached_key(|found| (std::cmp::Reverse(found.modified()), found.path.clone()));
        let shown = (0..found.len()).collect();
        Picker {
            found,
            options,
            now: time::now(),
            shown,
            cursor: 0,
            top: 0,
            page: 1,
            words: String::new(),
            typing: None,
            message: String::new(),
            scope,
            known: HashMap::new(),
        }
    }

    /// Lists other sessions.
    pub(super) fn list(&mut self, found: Vec<Found>, scope: Scope) {
        *self = Picker::new(found, self.options, scope);
    }

    /// Lets the user choose a session. The cursor is on the one that was chosen before.
    pub(super) fn pick(&mut self, look: &Look, screen: &mut dyn Screen) -> anyhow::Result<Picked> {
        loop {
            screen.draw(&mut |buffer| self.draw(buffer, look))?;
            match screen.next(Duration::from_secs(3600), false)? {
                Input::Key(Key::Ctrl('z')) => screen.suspend()?,
                Input::Key(key) => {
                    if let Some(picked) = self.press(key) {
                        return Ok(picked);
                    }
                }
                Input::Paste(text) => self.paste(&text),
                Input::Nothing | Input::Redraw => {}
                Input::End => return Ok(Picked::Ended),
                Input::Signal(signal) => return Ok(Picked::Signal(signal)),
            }
        }
    }

    /// Shows why a session was not opened, until the next key.
    pub(super) fn report(&mut self, error: &anyhow::Error) {
        self.message = text::one_line(&format!("{error:#}"));
    }

    /// Takes a pasted text where one is typed.
    fn paste(&mut self, text: &str) {
        match &mut self.typing {
            Some(line) => {
                line.paste(text);
                self.words = line.text();
                self.narrow();
            }
            None => self.message = PASTED.into(),
        }
    }

    fn press(&mut self, key: Key) -> Option<Picked> {
        if let Some(line) = &mut self.typing {
            match key {
                Key::Esc | Key::Ctrl('c') => {
                    self.typing = None;
                    self.words.clear();
                }
                Key::Enter => {
                    self.words = line.text();
                    self.typing = None;
                }
                key => line.press(key),
            }
            if let Some(line) = &self.typing {
                self.words = line.text();
            }
            self.narrow();
            return None;
        }
        self.message.clear();
        let last = self.shown.len().saturating_sub(1);
        self.cursor = match key {
            Key::Down | Key::Char('j') => self.cursor + 1,
            Key::Up | Key::Char('k') => self.cursor.saturating_sub(1),
            Key::PageDown | Key::Ctrl('f') => self.cursor + self.page,
            Key::PageUp | Key::Ctrl('b') => self.cursor.saturating_sub(self.page),
            Key::Ctrl('d') => self.cursor + self.page.div_ceil(2),
            Key::Ctrl('u') => self.cursor.saturating_sub(self.page.div_ceil(2)),
            Key::Home | Key::Char('g' | '<') => 0,
            Key::End | Key::Char('G' | '>') => last,
            Key::Char('?') => {
                self.message = KEYS.into();
                self.cursor
            }
            Key::Char('a') => match self.scope {
                Scope::Project => return Some(Picked::Other(Scope::All)),
                Scope::All => return Some(Picked::Other(Scope::Project)),
                Scope::Folder => {
                    self.message = "these are the sessions of one folder".into();
                    self.cursor
                }
            },
            Key::Char('/') => {
                self.typing = Some(LineEdit::new(&self.words));
                self.cursor
            }
            Key::Esc if !self.words.is_empty() => {
                let chosen = self.shown.get(self.cursor).copied();
                self.words.clear();
                self.narrow();
                // All sessions are shown now, and each is in its own place.
                chosen.unwrap_or(0)
            }
            Key::Char('q' | 'Q') | Key::Esc | Key::Ctrl('c') => return Some(Picked::Nothing),
            Key::Enter => {
                let chosen = self.shown.get(self.cursor)?;
                return Some(Picked::Session(self.found[*chosen].path.clone()));
            }
            _ => self.cursor,
        }
        .min(self.shown.len().saturating_sub(1));
        None
    }

    /// Keeps the rows that have all words, or what a regular expression finds.
    fn narrow(&mut self) {
        match Search::parse(&self.words) {
            Ok(search) => {
                let is_in =
                    |picker: &mut Picker, at| search.is_empty() || search.is_in_text(&picker.said(at));
                self.shown = (0..self.found.len()).filter(|at| is_in(self, *at)).collect();
            }
            // It may not be typed to its end yet.
            Err(_) if self.typing.is_some() => {}
            Err(error) => {
                let reason = crate::cmd::grep::reason(&error);
                self.message = format!("invalid regular expression: {reason}");
            }
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// All that is said of a session, to be searched.
    fn said(&mut self, at: usize) -> String {
        let Known { agent, title, .. } = self.known(at);
        format!("{agent} {title} {}", self.found[at].path.display())
    }

    /// What is said of a session. Reads both ends of its file.
    fn known(&mut self, at: usize) -> Known {
        let (found, options) = (&self.found, self.options);
        let read = || {
            let opened = store::open_ends(&found[at].path, options).ok()?;
            let summary = sessions::summary(&opened.session, &opened.files).ok()?;
            let project = summary.cwd.as_deref().map(Path::new).and_then(Path::file_name);
            let project = project.map(|name| text::one_line(&name.to_string_lossy())).unwrap_or_default();
            let name = summary.name.filter(|name| !name.trim().is_empty());
            let title = text::one_line(&name.or(summary.prompt).unwrap_or_default());
            Some(Known { agent: opened.session.format.agent().to_owned(), title, project })
        };
        let unread =
            || Known { agent: "?".to_owned(), title: "(not a session)".to_owned(), project: String::new() };
        self.known.entry(at).or_insert_with(|| read().unwrap_or_else(unread)).clone()
    }

    fn draw(&mut self, buffer: &mut Buffer, look: &Look) -> Option<(u16, u16)> {
        let area = buffer.area;
        let width = usize::from(area.width);
        let (head, foot) = (u16::from(area.height >= 3), u16::from(area.height >= 2));
        let height = usize::from(area.height - head - foot);
        self.page = height.max(1);
        let own = |words: &str| text::fit(&if look.ascii { spelled(words) } else { words.to_owned() }, width);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if head == 1 {
            let whose = if self.scope == Scope::All { " of all projects" } else { "" };
            let words = format!("Sessions{whose} · {} of {}", self.shown.len(), self.found.len());
            buffer.set_stringn(area.x, area.y, own(&words), width, bold);
        }
        self.top = self.top.clamp((self.cursor + 1).saturating_sub(height), self.cursor);
        let rows: Vec<usize> = self.shown.iter().skip(self.top).take(height).copied().collect();
        let known: Vec<Known> = rows.iter().map(|at| self.known(*at)).collect();
        if rows.is_empty() && head == 1 {
            buffer.set_stringn(
                area.x,
                area.y + head,
                own(if self.found.is_empty() { "no sessions" } else { "no session matches" }),
                width,
                Style::new(),
            );
        }
        for (place, (at, y)) in rows.into_iter().zip(area.y + head..).enumerate() {
            let Known { agent, title, project } = &known[place];
            let found = &self.found[at];
            let age = time::age(time::of_file(&found.path), self.now);
            let size = found.path.metadata().map_or_else(|_| String::new(), |facts| size(facts.len()));
            let has_cursor = self.top + place == self.cursor;
            let sign = if has_cursor { if look.ascii { ">" } else { "›" } } else { " " };
            let mut begin = format!("{sign} {age:>4}  {agent:<8}  {size:>7}  ");
            if self.scope == Scope::All {
                begin.push_str(&text::pad(&text::fit(project, PROJECT), PROJECT));
                begin.push_str("  ");
            }
            let name = text::one_line(&found.path.file_name().unwrap_or_default().to_string_lossy());
            // Sessions of one title are told apart by their files.
            let is_alone = known.iter().filter(|other| other.title == *title).count() == 1;
            let room = width.saturating_sub(text::width(&begin));
            let title = match (title.is_empty(), is_alone) {
                (true, _) => name,
                (false, true) => title.clone(),
                (false, false) => {
                    let name = match locate::has_id_in_name(&found.path) {
                        true => locate::id_in_name(&found.path).chars().take(ID).collect(),
                        false => text::fit_end(&name, (room / 2).max(12)),
                    };
                    let room = room.saturating_sub(text::width(&name) + 2);
                    format!("{}  {name}", text::fit(title, room))
                }
            };
            let row = own(&format!("{begin}{title}"));
            let style = if has_cursor { bold.add_modifier(Modifier::REVERSED) } else { Style::new() };
            buffer.set_stringn(area.x, y, text::safe(&row), width, style);
        }
        if foot == 0 || width == 0 {
            return None;
        }
        let y = area.bottom() - 1;
        if let Some(line) = &self.typing {
            let (typed, cursor) = line.visible(width - 1);
            buffer.set_stringn(area.x, y, format!("/{}", text::safe(&typed)), width, Style::new());
            return Some((area.x + 1 + cursor as u16, y));
        }
        if !self.message.is_empty() {
            // The reason is at the end, after the path.
            let message = own(&text::fit_end(&self.message, width));
            buffer.set_stringn(area.x, y, message, width, Style::new());
            return None;
        }
        let keys = own("Enter open · / search · j k move · ? keys · q leave");
        buffer.set_stringn(area.x, y, keys, width, Style::new());
        None
    }
}
