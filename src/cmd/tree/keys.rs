//! The keys of the navigator, and how they are spelled.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that a user pressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Char(char),
    /// A letter together with the control key; in upper case, with the shift key too.
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

const NAMES: [(&str, Key); 14] = [
    ("Enter", Key::Enter),
    ("Esc", Key::Esc),
    ("Tab", Key::Tab),
    ("Backspace", Key::Backspace),
    ("Delete", Key::Delete),
    ("Left", Key::Left),
    ("Right", Key::Right),
    ("Up", Key::Up),
    ("Down", Key::Down),
    ("PgUp", Key::PageUp),
    ("PgDn", Key::PageDown),
    ("Home", Key::Home),
    ("End", Key::End),
    ("Space", Key::Char(' ')),
];

impl Key {
    /// Reads keys as `--keys` has them: names such as `Enter`, `^O`, `S-^O`; any other word is typed as it is.
    pub(super) fn parse_all(text: &str) -> Vec<Key> {
        text.split_whitespace().flat_map(Key::parse).collect()
    }

    fn parse(word: &str) -> Vec<Key> {
        if let Some((_, key)) = NAMES.into_iter().find(|(name, _)| *name == word) {
            return vec![key];
        }
        let control = |word: &str| {
            let mut letters = word.strip_prefix('^')?.chars();
            letters.next().filter(|letter| letter.is_ascii_uppercase() && letters.next().is_none())
        };
        match (control(word), word.strip_prefix("S-").and_then(control)) {
            (Some(letter), _) => vec![Key::Ctrl(letter.to_ascii_lowercase())],
            (_, Some(letter)) => vec![Key::Ctrl(letter)],
            _ => word.chars().map(Key::Char).collect(),
        }
    }

    /// The key of an event of the terminal; `None` if it has no meaning here.
    pub(super) fn from_event(event: KeyEvent) -> Option<Key> {
        // Esc and a key right after it look as Alt with that key: none of the two is the key.
        if event.kind == KeyEventKind::Release || event.modifiers.contains(KeyModifiers::ALT) {
            return None;
        }
        let (control, shift) =
            (event.modifiers.contains(KeyModifiers::CONTROL), event.modifiers.contains(KeyModifiers::SHIFT));
        Some(match event.code {
            KeyCode::Char(letter) if control && shift => Key::Ctrl(letter.to_ascii_uppercase()),
            KeyCode::Char(letter) if control => Key::Ctrl(letter.to_ascii_lowercase()),
            KeyCode::Char(letter) if shift => Key::Char(letter.to_uppercase().next().unwrap_or(letter)),
            KeyCode::Char(letter) => Key::Char(letter),
            KeyCode::Enter => Key::Enter,
            KeyCode::Esc => Key::Esc,
            KeyCode::Tab => Key::Tab,
            KeyCode::Backspace => Key::Backspace,
            KeyCode::Delete => Key::Delete,
            KeyCode::Left => Key::Left,
            KeyCode::Right => Key::Right,
            KeyCode::Up => Key::Up,
            KeyCode::Down => Key::Down,
            KeyCode::PageUp => Key::PageUp,
            KeyCode::PageDown => Key::PageDown,
            KeyCode::Home => Key::Home,
            KeyCode::End => Key::End,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn keys_are_spelled() {
        let check = |text: &str, wanted: &[Key]| assert_eq!(Key::parse_all(text), wanted, "{text}");
        check("j Enter",       &[Key::Char('j'), Key::Enter]);
        check("^O S-^O",       &[Key::Ctrl('o'), Key::Ctrl('O')]);
        check("L ab Space c",  &[Key::Char('L'), Key::Char('a'), Key::Char('b'), Key::Char(' '), Key::Char('c')]);
        check("g?",            &[Key::Char('g'), Key::Char('?')]);
        check("^",             &[Key::Char('^')]);
        check("^o",            &[Key::Char('^'), Key::Char('o')]);
    }

    #[test]
    #[rustfmt::skip] // a table
    fn keys_come_from_events() {
        let check = |code, modifiers, wanted| {
            assert_eq!(Key::from_event(KeyEvent::new(code, modifiers)), wanted);
        };
        check(KeyCode::Char('o'), KeyModifiers::CONTROL,                       Some(Key::Ctrl('o')));
        check(KeyCode::Char('o'), KeyModifiers::CONTROL | KeyModifiers::SHIFT, Some(Key::Ctrl('O')));
        check(KeyCode::Char('l'), KeyModifiers::SHIFT,                         Some(Key::Char('L')));
        check(KeyCode::Char('L'), KeyModifiers::SHIFT,                         Some(Key::Char('L')));
        check(KeyCode::Char('u'), KeyModifiers::ALT,                           None);
        check(KeyCode::F(1),      KeyModifiers::NONE,                          None);
        let release = KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(Key::from_event(release), None);
    }
}
