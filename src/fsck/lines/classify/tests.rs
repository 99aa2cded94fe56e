//! Tests of the classes of lines.

use super::*;
use crate::json::DEPTH;

const A: &str = r#"{"type":"message","id":"a","parentId":null}"#;
const B: &str =
    r#"{"type":"message","id":"b","parentId":"a","message":{"type":"text","text":"{x}{\"y\":1}"}}"#;

const U: &str = r#"{"parentUuid":null,"sessionId":"s","type":"user","uuid":"u"}"#;

/// The way Claude Code puts messages of a subagent into another line.
const I: &str = r#"{"type":"user","uuid":"i","timestamp":"2026-03-02T09:00:00.000Z"}"#;

/// With a raw tab.
const T: &str = "{\"type\":\"message\",\"id\":\"t\",\"parentId\":\"a\tb\"}";

/// Formats class and parts as text: entries in square brackets, repaired ones in angle
/// brackets, pieces as they are.
fn shown(line: &str) -> String {
    let mut probe = Probe::new(Format::Claude);
    let (name, parts) = match classify(line.as_bytes(), &mut probe) {
        Class::Blank => ("blank", vec![]),
        Class::Record => ("record", vec![]),
        Class::Nul(_) => ("nul", vec![]),
        Class::InvalidUtf8 => ("utf8", vec![]),
        Class::Glued(parts) => ("glued", parts),
        Class::Spliced(parts) => ("spliced", parts),
        Class::Torn(parts) => ("torn", parts),
        Class::Garbage(parts) => ("garbage", parts),
    };
    let parts = parts.iter().map(|part| match part {
        Part::Entry(range) if line[range.clone()] == *A => " [A]".into(),
        Part::Entry(range) if line[range.clone()] == *B => " [B]".into(),
        Part::Entry(range) => format!(" [{}]", &line[range.clone()]),
        Part::Escaped(_, bytes) => format!(" <{}>", String::from_utf8_lossy(bytes)),
        Part::Piece(range) => format!(" {}", &line[range.clone()]),
    });
    name.to_owned() + &parts.collect::<String>()
}

#[test]
    #[rustfmt::skip] // a table
    fn a_line_has_one_class() {
        let check = |line: &str, wanted: &str| {
            let filled = [("$A", A), ("$B", B), ("$U", U), ("$I", I), ("$T", T)].into_iter();
            let filled = filled.fold(line.to_owned(), |line, (name, text)| line.replace(name, text));
            let wanted = wanted.replace("$A", A).replace("$M", &T.replace('\t', "\\t"));
            assert_eq!(shown(&filled), wanted, "{line}");
        };
        check("",                                   "blank");
        check(" \t",                                "blank");
        check("$A",                                 "record");
        check(" $A ",                               "record");
        check("$A\0",                               "nul");
        check("$A\x0C",                             "torn [A] \x0C");
        check("$A \x0B\r",                          "torn [A] \x0B");
        check("$A$B",                               "glued [A] [B]");
        check("$A $B\r$A",                          "glued [A] [B] [A]");
        check("$A,$B",                              "glued [A] , [B]");
        check("$A$B{\"type\":\"mes",                "glued [A] [B] {\"type\":\"mes");
        check("{\"type\":\"mes$A",                  "spliced {\"type\":\"mes [A]");
        check("{\"type\":\"m{\"type\":\"message\",\"id\":$B", "spliced {\"type\":\"m{\"type\":\"message\",\"id\": [B]");
        check("t\":1}}$A",                          "spliced t\":1}} [A]");
        check("\u{feff}$A",                         "spliced \u{feff} [A]");
        check("$A{\"type\":\"mes",                  "torn [A] {\"type\":\"mes");
        check("$A,",                                "torn [A] ,");
        check("{\"type\":\"mes$A{\"type",           "torn {\"type\":\"mes [A] {\"type");
        check("{\"type\":\"message\",\"message\":{\"type\":\"text\"}", "torn {\"type\":\"message\",\"message\":{\"type\":\"text\"}");
        check("{\"type\":\"p\",\"data\":{\"m\":$A,\"x\":tr", "torn {\"type\":\"p\",\"data\":{\"m\":{\"type\":\"message\",\"id\":\"a\",\"parentId\":null},\"x\":tr");
        check("{\"type\":\"message\",\"parentId\":\"a\tb\"}", "torn <{\"type\":\"message\",\"parentId\":\"a\\tb\"}>");
        check("{\"type\":\"message\",\"parentId\":\"a\tb\"}$A", "glued <{\"type\":\"message\",\"parentId\":\"a\\tb\"}> [A]");
        // A stub that is cut where a value must come, followed by whole entries.
        check("{\"type\":\"message\",\"id\":$A$B", "spliced {\"type\":\"message\",\"id\": [A] [B]");
        check("{\"type\": \"message\", \"id\": $A $B $A", "spliced {\"type\": \"message\", \"id\": [A] [B] [A]");
        check("{\"type\":\"message\",\"id\":$A$B,",  "torn {\"type\":\"message\",\"id\": [A] [B] ,");
        check("{\"parentUuid\":$U$U",               &format!("spliced {{\"parentUuid\": [{U}] [{U}]"));
        // An object inside another that goes no further.
        check("{\"type\":\"p\",\"data\":{\"m\":$I",     &format!("torn {{\"type\":\"p\",\"data\":{{\"m\":{I}"));
        check("{\"type\":\"p\",\"data\":{\"m\":$I }",   &format!("torn {{\"type\":\"p\",\"data\":{{\"m\":{I} }}"));
        check("{\"type\":\"p\",\"data\":{\"m\":$I$U",   &format!("spliced {{\"type\":\"p\",\"data\":{{\"m\":{I} [{U}]"));
        check("{\"type\":\"p\",\"data\":[$I,$I$U",      &format!("spliced {{\"type\":\"p\",\"data\":[{I},{I} [{U}]"));
        // Also with raw control characters.
        check("{\"type\":\"mes$T",                 "spliced {\"type\":\"mes <$M>");
        check("{\"type\":\"message\",\"id\":$T$A",  "spliced {\"type\":\"message\",\"id\": <$M> [A]");
        check("{\"type\":\"p\",\"data\":{\"m\":$A,\"x\":\"\t\"}}", "torn {\"type\":\"p\",\"data\":{\"m\":$A,\"x\":\"\t\"}}");
        check("$A$T",                               "glued [A] <$M>");
        check("[$T]",                               "garbage [ <$M> ]");
        check("[$A]",                               "garbage [ [A] ]");
        check("[$A,$A]",                            "garbage [ [A] [A] ]");
        check("null",                               "garbage null");
        check("{\"a\":1}",                          "garbage {\"a\":1}");
        check("<<<<<<< HEAD",                       "garbage <<<<<<< HEAD");
        check("text\"}]}}",                         "garbage text\"}]}}");
    }

#[test]
fn an_object_that_is_too_deep_is_whole_all_the_same() {
    let deep = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
    let line =
        |count| format!(r#"{{"type":"x","data":{},"s":"[{{\\\"","id":"a","o":{{"id":1}}}}"#, deep(count));
    let flat = |line: &str| too_deep(line.as_bytes(), false).map(|line| String::from_utf8(line).unwrap());
    let wanted = r#"{"type":"x","data":null,"s":"[{\\\"","id":"a","o":null}"#;
    assert_eq!(flat(&line(DEPTH - 1)), None);
    assert_eq!(flat(&line(DEPTH)).as_deref(), Some(wanted));
    assert_eq!(flat(&line(600_000)).as_deref(), Some(wanted));
    assert_eq!(flat(&format!("{{\"ty{}", line(200_000))).as_deref(), Some(wanted));
    assert_eq!(flat(&format!("{A}{} {{", line(200_000))).as_deref(), Some(wanted));
    assert_eq!(flat(line(200_000).strip_suffix("}").unwrap()), None);
    assert_eq!(flat(&deep(200_000)), None);
    assert_eq!(flat(&"{\"a\":".repeat(400_000)), None);
}

#[test]
fn a_line_of_braces_takes_no_long() {
    let line = "{\"a\":[".repeat(400_000);
    assert!(matches!(classify(line.as_bytes(), &mut Probe::new(Format::Claude)), Class::Torn(_)));
    let line = "{\"a\":1,".repeat(400_000);
    assert!(matches!(classify(line.as_bytes(), &mut Probe::new(Format::Claude)), Class::Torn(_)));
}

#[test]
    #[rustfmt::skip] // a table
    fn halves_of_surrogate_pairs_are_replaced() {
        let check = |line: &str, wanted: Option<&str>| {
            assert_eq!(without_halves(line.as_bytes()).map(|line| String::from_utf8(line).unwrap()).as_deref(), wanted, "{line}");
        };
        check(r#"{"a":"\ud83d\ude00"}"#,       None);
        check(r#"{"a":"\ud83d"}"#,             Some(r#"{"a":"\ufffd"}"#));
        check(r#"{"a":"\ud83d\ude00\ude00"}"#, Some(r#"{"a":"\ud83d\ude00\ufffd"}"#));
        check(r#"{"a":"\ud83d\ud83d\ude00"}"#, Some(r#"{"a":"\ufffd\ud83d\ude00"}"#));
        check(r#"{"a":"\\ud83d"}"#,            None);
        check(r#"{"a":"\ud83d\\ude00"}"#,      Some(r#"{"a":"\ufffd\\ude00"}"#));
        check(r#"{"a":"\\"}"#,                 None);
    }
