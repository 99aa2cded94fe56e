//! A line that a user types: a label, a search, a command.

use super::keys::Key;
use crate::ui::text;

/// A line of text with a cursor in it.
#[derive(Clone, Debug, Default)]
pub(super) struct LineEdit {
    letters: Vec<char>,
    /// Before which letter the cursor is.
    cursor: usize,
    /// The lines that were typed before, and which of them is shown; after them, the new one.
    history: Vec<String>,
    shown: usize,
    /// The new line while another is shown.
    new: String,
    /// What the last key offered for the word before the cursor.
    offers: Vec<String>,
}

impl LineEdit {
    /// Begins with a text, the cursor at its end.
    pub(super) fn new(text: &str) -> LineEdit {
        let letters: Vec<char> = text.chars().collect();
        LineEdit { cursor: letters.len(), letters, ..LineEdit::default() }
    }

    /// Begins with an empty line; Up goes to the lines that were typed before.
    pub(super) fn after(history: &[String]) -> LineEdit {
        LineEdit { history: history.to_vec(), shown: history.len(), ..LineEdit::default() }
    }

    /// Shows another line of the history.
    fn show(&mut self, shown: usize) {
        if self.shown == self.history.len() {
            self.new = self.text();
        }
        self.shown = shown.min(self.history.len());
        let text = self.history.get(self.shown).unwrap_or(&self.new);
        self.letters = text.chars().collect();
        self.cursor = self.letters.len();
    }

    pub(super) fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// The text before the cursor.
    pub(super) fn before_cursor(&self) -> String {
        self.letters[..self.cursor].iter().collect()
    }

    /// Takes what is offered for the last letters before the cursor: what all offers begin with is typed, and a single one as a
    /// whole. Several stay on the screen until the next key.
    pub(super) fn complete(&mut self, letters: usize, mut offers: Vec<String>) {
        let from = self.cursor - letters;
        let typed: String = self.letters[from..self.cursor].iter().collect();
        let completed = match offers.as_slice() {
            [] => return,
            [only] => {
                let may_go_on = only.ends_with(['/', '=', ':', '@']);
                Some(format!("{}{}", text::shell_word(only), if may_go_on { "" } else { " " }))
            }
            [first, others @ ..] => {
                let shared = |len: usize| others.iter().all(|other| other.get(..len) == first.get(..len));
                let len = (0..=first.len()).rev().find(|len| first.is_char_boundary(*len) && shared(*len));
                let shared = &first[..len.unwrap_or(0)];
                (shared.len() > typed.len() && text::shell_word(shared) == shared).then(|| shared.to_owned())
            }
        };
        if let Some(completed) = completed {
            self.letters.splice(from..self.cursor, completed.chars());
            self.cursor = from + completed.chars().count();
        }
        if offers.len() < 2 {
            offers.clear();
        }
        self.offers = offers;
    }

    /// What is offered for the word before the cursor, if there are several.
    pub(super) fn offers(&self) -> &[String] {
        &self.offers
    }

    /// Inserts a text as one line.
    pub(super) fn paste(&mut self, text: &str) {
        text::one_line(text.trim()).chars().for_each(|letter| self.press(Key::Char(letter)));
    }

    /// Edits by one key.
    pub(super) fn press(&mut self, key: Key) {
        self.offers.clear();
        match key {
            Key::Char(letter) => {
                self.letters.insert(self.cursor, letter);
                self.cursor += 1;
            }
            Key::Backspace | Key::Ctrl('h') if self.cursor > 0 => {
                self.cursor -= 1;
                self.letters.remove(self.cursor);
            }
            Key::Delete | Key::Ctrl('d') if self.cursor < self.letters.len() => {
                self.letters.remove(self.cursor);
            }
            Key::Up | Key::Ctrl('p') => self.show(self.shown.saturating_sub(1)),
            Key::Down | Key::Ctrl('n') => self.show(self.shown + 1),
            Key::Left | Key::Ctrl('b') => self.cursor = self.cursor.saturating_sub(1),
            Key::Right | Key::Ctrl('f') => self.cursor = (self.cursor + 1).min(self.letters.len()),
            Key::Home | Key::Ctrl('a') => self.cursor = 0,
            Key::End | Key::Ctrl('e') => self.cursor = self.letters.len(),
            Key::Ctrl('u') => {
                self.letters.drain(..self.cursor);
                self.cursor = 0;
            }
            Key::Ctrl('k') => self.letters.truncate(self.cursor),
            Key::Ctrl('w') => {
                let before = &self.letters[..self.cursor];
                let word_end = before.iter().rposition(|letter| *letter != ' ').map_or(0, |at| at + 1);
                let start =
                    before[..word_end].iter().rposition(|letter| *letter == ' ').map_or(0, |at| at + 1);
                self.letters.drain(start..self.cursor);
                self.cursor = start;
            }
            _ => {}
        }
    }

    /// The part that fits into so many cells, and the cell of it in which the cursor is.
    pub(super) fn visible(&self, width: usize) -> (String, usize) {
        let cells = |letter: &char| text::width(letter.encode_utf8(&mut [0; 4]));
        let mut first = self.cursor;
        let mut used = 0;
        while first > 0 && used + cells(&self.letters[first - 1]) < width {
            first -= 1;
            used += cells(&self.letters[first]);
        }
        (self.letters[first..].iter().collect(), used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn keys_edit_the_line() {
        let check = |text: &str, keys: &str, wanted: &str| {
            let mut line = LineEdit::new(text);
            Key::parse_all(keys).into_iter().for_each(|key| line.press(key));
            line.press(Key::Char('|'));
            assert_eq!(line.text(), wanted, "{text}: {keys}");
        };
        check("ab",       "",                    "ab|");
        check("ab",       "c Backspace",         "ab|");
        check("ab",       "Left Backspace",      "|b");
        check("ab",       "Home Delete",         "|b");
        check("ab",       "^A x ^E y",           "xaby|");
        check("a bc d",   "Left ^W",             "a |d");
        check("a b",      "^U",                  "|");
        check("a b",      "Home Right ^K",       "a|");
        check("",         "Backspace Delete Left Right ^W ^K", "|");
        check("\u{4e2d}", "Backspace",           "|");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn up_and_down_go_through_the_history() {
        let check = |history: &str, keys: &str, wanted: &str| {
            let history: Vec<String> = history.split_whitespace().map(str::to_owned).collect();
            let mut line = LineEdit::after(&history);
            Key::parse_all(keys).into_iter().for_each(|key| line.press(key));
            assert_eq!(line.text(), wanted, "{history:?}: {keys}");
        };
        check("a b", "Up",               "b");
        check("a b", "Up Up",            "a");
        check("a b", "Up Up Up",         "a");
        check("a b", "Up Up Down",       "b");
        check("a b", "x Up Down",        "x");       // what was begun is still there
        check("a b", "x Up Down Down",   "x");
        check("a b", "^P y",             "by");
        check("a b", "Up y ^N",          "");
        check("",    "x Up",             "x");
        check("",    "x Down",           "x");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn what_all_offers_begin_with_is_typed() {
        let check = |text: &str, letters: usize, offers: &str, wanted: &str, shown: &str| {
            let mut line = LineEdit::new(text);
            line.complete(letters, offers.split(',').filter(|offer| !offer.is_empty()).map(str::to_owned).collect());
            assert_eq!((line.before_cursor().as_str(), line.offers().join(",").as_str()), (wanted, shown), "{text}: {offers}");
            line.press(Key::Left);
            assert!(line.offers().is_empty(), "{text}: {offers}");
        };
        check("sh",        2, "show",                "show ",        "");
        check("l",         1, "label,log",           "l",            "label,log");
        check("show 0a",   2, "0a64d7f1,0a64d7f2",   "show 0a64d7f", "0a64d7f1,0a64d7f2");
        check("show a",    1, "",                    "show a",       "");
        check("cat ex",    2, "examples/",           "cat examples/", "");
        check("show L",    1, "label:",              "show label:",  "");
        check("show ",     0, "a b",                 "show 'a b' ",  "");
        check("show ",     0, "a b,a c",             "show ",        "a b,a c");
        check("show \u{e9}", 1, "\u{e9}a,\u{e8}",    "show \u{e9}",  "\u{e9}a,\u{e8}");
    }

    #[test]
    fn the_cursor_stays_visible() {
        let mut line = LineEdit::new("abcdef");
        assert_eq!(line.visible(4), ("def".into(), 3));
        line.press(Key::Home);
        assert_eq!(line.visible(4), ("abcdef".into(), 0));
        assert_eq!(LineEdit::new("\u{4e2d}\u{6587}").visible(4), ("\u{6587}".into(), 2));
        assert_eq!(LineEdit::new("ab").visible(0), (String::new(), 0));
    }
}
