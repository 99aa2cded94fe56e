//! A text over the tree, e.g. a diff: scrolled and searched as in a pager.

use super::keys::Key;
use super::line_edit::LineEdit;
use crate::model::grouped;

/// A text with a title, and the part of it that is shown.
#[derive(Clone, Debug)]
pub(super) struct Pager {
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    /// The first line that is shown.
    pub(super) top: usize,
    /// Whether the first sign of a line says what became of it.
    pub(super) is_diff: bool,
    /// What was searched for, in lower case.
    pub(super) words: String,
    /// The line in which it was found last.
    found: Option<usize>,
    /// What is typed after `/`.
    pub(super) typing: Option<LineEdit>,
    /// What was said last.
    pub(super) message: String,
}

impl Pager {
    pub(super) fn new(title: String, lines: Vec<String>, is_diff: bool) -> Pager {
        let (words, message) = (String::new(), String::new());
        Pager { title, lines, top: 0, is_diff, words, found: None, typing: None, message }
    }

    /// Does what a key asks for; false if it closes the text. Other keys do nothing.
    pub(super) fn press(&mut self, key: Key, page: usize) -> bool {
        self.message.clear();
        if let Some(mut line) = self.typing.take() {
            match key {
                Key::Esc | Key::Ctrl('c' | 'g') => {}
                Key::Backspace if line.text().is_empty() => {}
                Key::Enter => {
                    // As in a pager, nothing stands for what was searched for last.
                    if !line.text().is_empty() {
                        self.words = line.text().to_lowercase();
                    }
                    self.found = None;
                    self.find(true, page);
                }
                key => {
                    line.press(key);
                    self.typing = Some(line);
                }
            }
            return true;
        }
        match key {
            Key::Esc | Key::Enter | Key::Char('q' | 'Q') | Key::Ctrl('c') => return false,
            Key::Char('/') => self.typing = Some(LineEdit::new("")),
            Key::Char('n') => self.find(true, page),
            Key::Char('N') => self.find(false, page),
            key => _ = scroll(key, &mut self.top, self.lines.len(), page),
        }
        true
    }

    /// Goes to the next line that has the words, or to the one before.
    fn find(&mut self, down: bool, page: usize) {
        if self.words.is_empty() {
            self.message = "nothing was searched for yet".into();
            return;
        }
        let has = |line: &String| line.to_lowercase().contains(&self.words);
        let all: Vec<usize> = (0..self.lines.len()).filter(|at| has(&self.lines[*at])).collect();
        let at = match (down, self.found) {
            (true, Some(from)) => all.iter().position(|line| *line > from).or(Some(0)),
            (true, None) => all.iter().position(|line| *line >= self.top).or(Some(0)),
            (false, from) => {
                let from = from.unwrap_or(self.top);
                all.iter().rposition(|line| *line < from).or(all.len().checked_sub(1))
            }
        };
        let Some((at, line)) = at.and_then(|at| Some((at, *all.get(at)?))) else {
            self.message = format!("not found: {}", self.words);
            return;
        };
        self.found = Some(line);
        self.message = format!("match {} of {}", grouped(at + 1), grouped(all.len()));
        // What is on the screen already stays where it is.
        if line < self.top || line >= self.top + page {
            self.top = line.min(self.lines.len().saturating_sub(page));
        }
    }
}

/// Scrolls a text of some lines; false if the key does something else.
pub(super) fn scroll(key: Key, top: &mut usize, lines: usize, page: usize) -> bool {
    let last = lines.saturating_sub(page);
    *top = match key {
        Key::Down | Key::Char('j') => *top + 1,
        Key::Up | Key::Char('k') => top.saturating_sub(1),
        Key::PageDown | Key::Char(' ') | Key::Ctrl('f') => *top + page,
        Key::PageUp | Key::Char('b') | Key::Ctrl('b') => top.saturating_sub(page),
        Key::Ctrl('d') => *top + page.div_ceil(2),
        Key::Ctrl('u') => top.saturating_sub(page.div_ceil(2)),
        Key::Home | Key::Char('g' | '<') => 0,
        Key::End | Key::Char('G' | '>') => last,
        _ => return false,
    }
    .min(last);
    true
}
