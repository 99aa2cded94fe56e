//! Tests of patterns and their matches.

use super::*;

fn hits(pattern: &str, options: Options, line: &str) -> Vec<String> {
    let pattern = Pattern::new(pattern, options).unwrap();
    let hits = pattern.hits(Format::Pi, line.as_bytes());
    assert_eq!(!hits.is_empty(), pattern.is_in(Format::Pi, line.as_bytes()));
    if let Some(prefilter) = pattern.prefilter() {
        assert!(
            hits.is_empty() || prefilter.find(line.as_bytes(), 0).is_some(),
            "the prefilter misses {line}"
        );
    }
    hits.iter()
        .map(|hit| {
            let found: Vec<&str> = hit.at.iter().map(|at| &hit.text[at.clone()]).collect();
            format!("{}: {} [{}]", hit.part.name(), hit.text, found.join(","))
        })
        .collect()
}

#[test]
#[rustfmt::skip] // a table
fn lines_of_text_are_found() {
    let check = |pattern: &str, line: &str, wanted: &[&str]| {
        assert_eq!(hits(pattern, Options::default(), line), wanted, "{pattern} in {line}");
    };
    let user = r#"{"type":"message","id":"needle","message":{"role":"user","content":"one \u0061 two\nthree \"two\" a\/b"}}"#;
    check("two",          user, &["text: one a two [two]", "text: three \"two\" a/b [two]"]);
    check("a two",        user, &["text: one a two [a two]"]);
    check(r#""two""#,     user, &["text: three \"two\" a/b [\"two\"]"]);
    check("a/b",          user, &["text: three \"two\" a/b [a/b]"]);
    check(r"two\nthree",  user, &["text: one a two\nthree \"two\" a/b [two\nthree]"]);
    check("^three",       user, &["text: three \"two\" a/b [three]"]);
    check("needle",       user, &[]);      // an id is not content
    check("content",      user, &[]);      // nor is a key
    check("e",            user, &["text: one a two [e]", "text: three \"two\" a/b [e,e]"]);
    let reply = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hmm, ls"},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls -l","opts":{"n":[8080,true]}}}]}}"#;
    check("ls",           reply, &["thinking: Hmm, ls [ls]", "call: ls -l [ls]"]);
    check("8080",         reply, &["call: 8080 [8080]"]);
    check("command",      reply, &[]);
    let result = r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"a b"},{"type":"image","data":"abab"}]}}"#;
    check("a.?b",         result, &["result: a b [a b]"]);
    check("so far",       r#"{"type":"compaction","summary":"so far"}"#, &["summary: so far [so far]"]);
}

#[test]
#[rustfmt::skip] // a table
fn lines_of_guests_are_found() {
    let check = |format: Format, pattern: &str, line: &str, wanted: &[&str]| {
        let pattern = Pattern::new(pattern, Options::default()).unwrap();
        let hits = pattern.hits(format, line.as_bytes());
        let hits: Vec<String> = hits.iter().map(|hit| format!("{}: {}", hit.part.name(), hit.text)).collect();
        assert_eq!(hits, wanted, "{line}");
        let passes = pattern.prefilter().is_none_or(|prefilter| prefilter.find(line.as_bytes(), 0).is_some());
        assert!(passes || wanted.is_empty(), "the prefilter misses {line}");
    };
    let call = r#"{"type":"response_item","payload":{"type":"function_call","name":"x","arguments":"{\"cmd\":\"say \\\"caf\\u00e9\\\" a\\/b \\ud83d\\ude00\"}"}}"#;
    let said = "call: say \"café\" a/b 😀";
    for pattern in ["café", r#""café""#, "a/b", "😀", "say ."] {
        check(Format::Codex, pattern, call, &[said]);
    }
    check(Format::Codex, "cmd", call, &[]);
    let broken = r#"{"type":"response_item","payload":{"type":"function_call","name":"x","arguments":"{\"cmd\":\"ls"}}"#;
    check(Format::Codex, "ls", broken, &[r#"call: {"cmd":"ls"#]);
    // Words of bough's own are not searched.
    let setting = r#"{"type":"turn_context","payload":{"model":"gpt-5"}}"#;
    check(Format::Codex, "gpt", setting, &["note: gpt-5"]);
    check(Format::Codex, "model", setting, &[]);
    check(Format::Codex, "usage", r#"{"type":"token_usage_record","payload":{"usage":{}}}"#, &[]);
    check(Format::Codex, "so far", r#"{"type":"compacted","payload":{"message":"so far"}}"#, &["summary: so far"]);
    let title = r#"{"type":"session.title_changed","data":{"title":"the title"},"id":"e"}"#;
    check(Format::Copilot, "title", title, &["note: the title"]);
    check(Format::Copilot, "title the", title, &[]);
    let thought = r#"{"id":"m","type":"gemini","content":"","thoughts":[{"subject":"Plan","description":"first ls"}]}"#;
    check(Format::Gemini, "first", thought, &["thinking: first ls"]);
    check(Format::Gemini, "Plan.. first", thought, &[]);
}

#[test]
fn options_change_how_a_pattern_is_read() {
    let line = r#"{"type":"message","message":{"role":"user","content":"Cat catalog a.c \u004bo"}}"#;
    let all = Options { ignore_case: true, word: true, fixed: true };
    assert_eq!(hits("CAT", all, line), ["text: Cat catalog a.c Ko [Cat]"]);
    assert_eq!(hits("a.c", all, line), ["text: Cat catalog a.c Ko [a.c]"]);
    assert_eq!(hits("ko", all, line).len(), 1);
    assert_eq!(hits("A.C", Options { fixed: true, ..Options::default() }, line).len(), 0);
}

/// Spells a text as JSON, each character in the way selected by a number.
fn spelled(text: &str, ways: &[u8]) -> String {
    let mut out = String::new();
    for (character, way) in text.chars().zip(ways.iter().cycle()) {
        match (character, way % 4) {
            ('"' | '\\', _) => out.extend(['\\', character]),
            ('/', 1) => out.push_str("\\/"),
            ('\n', _) => out.push_str("\\n"),
            (_, 2) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            (_, 3) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
            _ => out.push(character),
        }
    }
    out
}

proptest::proptest! {
    #[test]
    fn nothing_is_missed_however_it_is_spelled(
        text in r#"[a-cK/\\" \nöß中😀\u{212A}-]{1,20}"#,
        ways in proptest::collection::vec(0u8..8, 1..20),
        from in 0usize..20, len in 1usize..20, ignore_case: bool, fixed: bool,
    ) {
        let wanted: String = text.chars().skip(from % text.chars().count()).take(len).collect();
        let pattern = if fixed { wanted.clone() } else { regex::escape(&wanted).replace("a", "[ax]") };
        let pattern = Pattern::new(&pattern, Options { ignore_case, word: false, fixed }).unwrap();
        let line = format!(
            r#"{{"type":"message","message":{{"role":"user","content":"{}"}}}}"#, spelled(&text, &ways)
        );
        proptest::prop_assert!(pattern.is_in(Format::Pi, line.as_bytes()), "{line}");
        if let Some(prefilter) = pattern.prefilter() {
            proptest::prop_assert!(prefilter.find(line.as_bytes(), 0).is_some(), "{wanted} in {line}");
        }
    }
}
