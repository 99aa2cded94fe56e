//! Tests of styles in words.

use super::*;

#[test]
fn styles_are_read_in_words() {
    let painted = |words: &str| parse(words).map(|style| "x".style(style).to_string());
    assert_eq!(painted("bold cyan").unwrap(), "\u{1b}[36;1mx\u{1b}[0m");
    assert_eq!(painted("dim").unwrap(), "\u{1b}[2mx\u{1b}[0m");
    assert_eq!(painted("208").unwrap(), "\u{1b}[38;5;208mx\u{1b}[0m");
    assert_eq!(painted("#ff8000").unwrap(), "\u{1b}[38;2;255;128;0mx\u{1b}[0m");
    assert_eq!(painted("default").unwrap(), "x");
    for wrong in ["pink", "256", "#ff80", "#ff80é0", "bold,red"] {
        assert_eq!(painted(wrong), None, "{wrong}");
    }
}

#[test]
fn no_ink_is_bright_black() {
    let look = Look { color: true, ..Look::default() };
    for (name, ink, words) in INKS {
        assert!(!words.contains("black"), "{name}");
        assert!(!paint(&look, ink, "x").contains("90"), "{name}");
    }
    for column in 0..6 {
        assert!(!paint(&look, Ink::Column(column), "x").contains("[90"));
    }
}
