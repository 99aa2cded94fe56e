//! Tests of the end of an object or array, against one found byte by byte.

use super::*;
use proptest::prelude::*;

/// Finds the end byte by byte.
fn wanted(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut is_string, mut is_escaped) = (0, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        let was_escaped = std::mem::replace(&mut is_escaped, false);
        match byte {
            _ if was_escaped => {}
            b'\\' => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && !is_string && !was_escaped && matches!(byte, b'}' | b']') {
            return Some(at + 1);
        }
    }
    None
}

fn check(bytes: &[u8]) {
    let wanted = wanted(bytes);
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(end_of_container(bytes), wanted, "{text}");
    assert_eq!(end_with(bytes, portable_masks), wanted, "{text}");
}

#[test]
fn an_end_is_found_wherever_blocks_begin() {
    for len in 0..140 {
        let text = "x".repeat(len);
        check(format!(r#"{{"a":"{text}","b":[{{"c":"\"}}{text}]\\"}}]}}{{"#).as_bytes());
        check(format!(r#"[1{}{}]x"#, ",{\"a\":[]}".repeat(len), ",[[{}]]".repeat(len)).as_bytes());
        check(format!("{}{}", "[".repeat(len + 1), "]".repeat(len + 1)).as_bytes());
        check(format!("{}{}", "[".repeat(len + 1), "]".repeat(len)).as_bytes());
        for backslashes in 0..4 {
            check(format!(r#"{{"{text}{}":"}}"}}"#, "\\\\".repeat(backslashes)).as_bytes());
            check(format!(r#"{{"{text}{}"":"}}"}}"#, "\\".repeat(backslashes)).as_bytes());
        }
    }
    check(b"");
    check(b"{");
    check(b"{\"");
}

proptest! {
    #[test]
    fn the_end_is_that_of_a_search_byte_by_byte(
        strings in prop::collection::vec("(\\\\\"|\\\\\\\\|[\\[\\]{}x])*", 0..20),
        marks in "[\\[{][\\[\\]{}:,0 ]{0,90}",
    ) {
        // Strings are anywhere between the brackets.
        let mut text = String::new();
        let mut strings = strings.iter();
        for (number, mark) in marks.chars().enumerate() {
            text.push(mark);
            if number % 3 == 0 && let Some(string) = strings.next() {
                text.push_str(&format!("\"{string}\""));
            }
        }
        check(text.as_bytes());
    }
}
