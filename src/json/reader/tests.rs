//! Tests of the reader: tables, and random lines compared with serde_json.

use super::*;
use crate::json::{BlockKind, DEPTH, Field, TOO_DEEP, Value};
use serde::de::IgnoredAny;
use std::fmt::Write as _;

const FIELDS: &[(&str, Field)] = &[
    ("type", Field::Type),
    ("id", Field::Id),
    ("uuid", Field::Uuid),
    ("parentId", Field::ParentId),
    ("timestamp", Field::Timestamp),
    ("isSidechain", Field::IsSidechain),
    ("firstKeptEntryId", Field::FirstKeptId),
    ("message", Field::Message),
    ("message.role", Field::Role),
    ("message.id", Field::MessageId),
    ("message.stopReason", Field::StopReason),
    ("message.usage", Field::Usage),
    ("message.content", Field::Content),
    ("message.tool_calls", Field::ToolCalls),
    ("toolUseResult", Field::ToolUseResult),
    ("toolUseResult.agentId", Field::ResultAgent),
    ("payload", Field::Payload),
    ("payload.type", Field::PayloadType),
    ("payload.role", Field::PayloadRole),
    ("payload.call_id", Field::PayloadCall),
    ("$set", Field::Set),
    ("$rewindTo", Field::RewindTo),
];

/// Formats everything that is known about a line.
fn shown(line: &Line<'_>) -> String {
    let mut out = format!(
        "{} at {} +{} {:?} {:?} {:?} |",
        line.number, line.offset, line.len, line.ending, line.shape, line.notes
    );
    let _ = write!(out, "{}", fields(&line.fields));
    out
}

fn fields(fields: &Fields<'_>) -> String {
    let mut out = String::new();
    for (name, field) in FIELDS {
        let value = match fields.get(*field) {
            Value::Absent => continue,
            Value::Null => "null".into(),
            Value::Bool(yes) => yes.to_string(),
            Value::Number(number) => String::from_utf8_lossy(number).replace('E', "e").replace("e+", "e"),
            Value::String(string) => format!("{:?}", string.text()),
            Value::List => "[]".into(),
            Value::Object => "{}".into(),
        };
        let _ = write!(out, " {name}={value}");
    }
    for block in fields.blocks() {
        let text = |string: Option<crate::json::Str<'_>>| string.map(|string| string.text().into_owned());
        let _ = write!(out, " <{:?} {:?} {:?}", block.kind, text(block.id), text(block.name));
        let arguments = if block.arguments { " arguments" } else { "" };
        let _ = write!(out, " says={} empty={}{arguments}>", block.says, block.empty);
    }
    if fields.has_odd_items() {
        out.push_str(" odd items");
    }
    out
}

fn all_lines(reader: &mut Reader, text: &[u8], mut pieces: impl FnMut() -> usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let space = reader.space();
        let count = pieces().clamp(1, space.len()).min(rest.len());
        space[..count].copy_from_slice(&rest[..count]);
        rest = &rest[count..];
        reader.advance(count, |line| out.push(shown(line)));
    }
    reader.finish(|line| out.push(shown(line)));
    out
}

fn whole(text: &[u8]) -> Vec<String> {
    all_lines(&mut Reader::new(), text, || usize::MAX)
}

/// Returns the shape, notes and fields of a line, without its position.
fn one(line: &[u8]) -> (Shape, Notes, String) {
    let text = [b"\n".as_slice(), line, b"\n"].concat();
    let mut reader = Reader::new();
    let mut out = None;
    reader.feed(&text, |line| {
        if line.number == 2 {
            assert_eq!(line.bytes.map(<[u8]>::len), Some(line.len as usize));
            out = Some((line.shape, line.notes, fields(&line.fields)));
        }
    });
    out.expect("there is a second line")
}

#[test]
#[rustfmt::skip] // a table
fn what_a_line_is() {
    let check = |line: &str, shape: Shape| assert_eq!(one(line.as_bytes()).0, shape, "{line}");
    let broken = |line: &str, at: u64, why: &'static str| check(line, Shape::Broken { at, why });
    check("",                          Shape::Blank);
    check(" \t\r ",                    Shape::Blank);
    check("{}",                        Shape::Object);
    check(" { } ",                     Shape::Object);
    check(r#"{"a":[1,-0.5e+3,true,false,null,"",{},[]]}"#, Shape::Object);
    check("1",                         Shape::Scalar);
    check(" \"a\" ",                   Shape::Scalar);
    check("[{}]",                      Shape::Scalar);
    check("{}{}",                      Shape::Trailing { at: 2 });
    check(r#"{"a":1} x"#,              Shape::Trailing { at: 8 });
    check("{}\0",                      Shape::Trailing { at: 2 });
    broken("1 2",                      2,  "there are more bytes after the value");
    broken("01",                       1,  "there are more bytes after the value");
    broken("x",                        0,  "expected a value");
    broken("{",                        1,  "ends inside an object");
    broken("{\"a\"",                   4,  "ends after a key");
    broken("{\"a\" 1}",                5,  "no colon after a key");
    broken("{\"a\":",                  5,  "ends before a value");
    broken("{\"a\":}",                 5,  "expected a value");
    broken("{\"a\":1",                 6,  "ends inside a value");
    broken("{\"a\":1,}",               7,  "a key is not a string");
    broken("{1:1}",                    1,  "a key is not a string");
    broken("{\"a\":1]",                6,  "expected a comma or `}` after a member");
    broken("[1}",                      2,  "expected a comma or `]` after an item");
    broken("[1,]",                     3,  "expected a value");
    broken("[1,",                      3,  "ends before a value");
    broken("{\"a\":\"b",               7,  "ends inside a string");
    broken("{\"a\":\"b\\",             8,  "ends inside a string");
    broken("{\"a\":\"b\\u12",          11, "ends inside a string");
    broken("{\"a\":\"b\\u12x4\"}",     7,  "a string contains an incomplete escape");
    broken("{\"a\":\"b\\x\"}",         7,  "a string contains an unknown escape");
    broken("{\"a\":\"b\tc\"}",         7,  "a string contains a control character");
    broken("{\"a\":tru}",              5,  "expected a value");
    broken("{\"a\":tru",               8,  "ends inside a value");
    broken("{\"a\":truee}",            9,  "expected a comma or `}` after a member");
    broken("{\"a\":-}",                6,  "a digit is missing");
    broken("{\"a\":1.}",               7,  "a digit is missing");
    broken("{\"a\":1e+}",              8,  "a digit is missing");
    broken("{\"a\":1e",                7,  "a digit is missing");
    broken("{\"a\":+1}",               5,  "expected a value");
    broken("{\"a\":.5}",               5,  "expected a value");
    broken("{\"a\":1\u{c}}",           6,  "expected a comma or `}` after a member");
    broken("\0\0",                     0,  "expected a value");
}

#[test]
#[rustfmt::skip] // a table
fn fields_are_found() {
    let check = |line: &str, wanted: &str| assert_eq!(one(line.as_bytes()).2.trim_start(), wanted, "{line}");
    check(r#"{"type":"a","id":null,"x":{"id":1}}"#,        r#"type="a" id=null"#);
    check(r#"{"type":1,"type":{"id":2},"uuid":-1.50}"#,    "type={} uuid=-1.50");
    check(r#"{"ty\u0070e":"\u0061","isSidechain":true}"#,  r#"type="a" isSidechain=true"#);
    check(r#"{"firstKeptE\u006Et\u0072\u0079Id":[1]}"#,    "firstKeptEntryId=[]");
    check(r#"{"message":{"role":"user","content":"c"}}"#,  r#"message={} message.role="user" message.content="c""#);
    check(r#"{"message":"m"}"#,                            r#"message="m""#);
    // A repeated key replaces everything that came before it.
    check(r#"{"message":{"role":"user","content":[{"type":"text"}]},"message":{"id":"m"}}"#, r#"message={} message.id="m""#);
    check(r#"{"message":{"role":"user"},"message":1}"#,    "message=1");
    check(r#"{"message":{"content":[{"type":"text"}],"content":"c"}}"#, r#"message={} message.content="c""#);
    check(r#"{"message":{"content":"c","content":[{}]}}"#, "message={} message.content=[] <Other None None says=false empty=false>");
    check(r#"{"toolUseResult":{"agentId":"a"},"toolUseResult":[]}"#, "toolUseResult=[]");
    check(r#"{"toolUseResult":{"x":{"agentId":"b"},"agentId":"a"}}"#, r#"toolUseResult={} toolUseResult.agentId="a""#);
    // The blocks of the content come first, in whichever order the keys are.
    check(r#"{"message":{"tool_calls":[{"id":"c","name":"n","type":"function"}],"content":[{"type":"text","text":" x"},1,[2]]}}"#,
          "message={} message.content=[] message.tool_calls=[] <Text None None says=true empty=false> \
           <Other None None says=false empty=false> <Call Some(\"c\") Some(\"n\") says=false empty=false> odd items");
    check(r#"{"message":{"content":[{"type":"toolCall","arguments":{}},{"type":"toolCall","arguments":null},{"arguments":1,"arguments":null}]}}"#,
          "message={} message.content=[] <Call None None says=false empty=false arguments> <Call None None says=false empty=false> \
           <Other None None says=false empty=false>");
    check(r#"{"message":{"content":[null],"content":[{}],"tool_calls":[]}}"#, "message={} message.content=[] message.tool_calls=[] <Other None None says=false empty=false>");
    check(r#"{"message":{"usage":{"input":1},"usage":null}}"#, "message={} message.usage=null");
    check(r#"{"message":{"content":[{"tool_use_id":"t","id":"i","type":"tool_result"},{"id":"i","type":"tool_\u0075se"}]}}"#,
          "message={} message.content=[] <Result Some(\"t\") None says=false empty=false> <Call Some(\"i\") None says=false empty=false>");
    check(r#"{"message":{"content":[{"type":"text","text":""},{"type":"text","text":"x","text":1}]}}"#,
          "message={} message.content=[] <Text None None says=false empty=true> <Text None None says=false empty=false>");
    // A broken line yields the fields before the error.
    check(r#"{"type":"a","message":{"role":"user","content":[{"type":"text","te"#,
          r#"type="a" message={} message.role="user" message.content=[] <Text None None says=false empty=false>"#);
}

#[test]
fn the_bytes_of_a_usage_are_at_hand() {
    let usage = |line: &str| {
        let mut out = None;
        Reader::new().feed(format!("{line}\n").as_bytes(), |line| {
            out = line.fields.object(Field::Usage).map(|usage| String::from_utf8_lossy(usage).into_owned());
        });
        out
    };
    let object = r#"{"input": 1, "cost":{"total":[2]} }"#;
    assert_eq!(
        usage(&format!(r#"{{"message": {{ "usage" : {object} , "role":"x"}}}}"#)),
        Some(object.into())
    );
    assert_eq!(usage(r#"{"message":{"usage":{}}}"#), Some("{}".into()));
    assert_eq!(usage(r#"{"message":{"usage":[{}]}}"#), None);
    assert_eq!(usage(r#"{"usage":{}}"#), None);
}

#[test]
#[rustfmt::skip] // a table
fn notes_are_taken() {
    let check = |line: &[u8], wanted: Notes| assert_eq!(one(line).1, wanted, "{line:?}");
    let none = Notes::default();
    check(br#"{"a":"\ud83d\ude00"}"#,      none);
    check(br#"{"a":"\ud83d"}"#,            Notes { lone_surrogate: true, ..none });
    check(br#"{"a":"\ude00\ud83d"}"#,      Notes { lone_surrogate: true, ..none });
    check(br#"{"\udead":1}"#,              Notes { lone_surrogate: true, ..none });
    check(b"{\"a\":\"\xFF\"}",             Notes { invalid_utf8: true, ..none });
    check(b"{\"a\":\"\xE2\x82\"}",         Notes { invalid_utf8: true, ..none });
    check(b"{\"a\":\0\"\"}",               Notes { nul: true, ..none });
    check(b"\0\0\0",                       Notes { nul: true, ..none });
    assert_eq!(one(b"{\"a\":\"\xFF\"}").0, Shape::Object);
}

#[test]
fn lines_end_where_they_end() {
    let lines = whole(b"\xEF\xBB\xBF{}\r\n\r\n{}\n\n{\"a\":\"b\r\n{}\r");
    let starts = [
        "1 at 3 +2 CrLf Object Notes { bom: true,",
        "2 at 7 +0 CrLf Blank",
        "3 at 9 +2 Lf Object Notes { bom: false,",
        "4 at 12 +0 Lf Blank",
        "5 at 13 +7 CrLf Broken { at: 7, why: \"ends inside a string\" }",
        "6 at 22 +3 None Object",
    ];
    assert_eq!(lines.len(), starts.len());
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}\n{start}");
    }
    assert!(whole(b"").is_empty());
    assert!(whole(b"\xEF\xBB\xBF")[0].starts_with("1 at 3 +0 None Blank Notes { bom: true"));
    assert!(whole(b"{}\n\xEF\xBB\xBF{}\n")[1].starts_with("2 at 3 +5 Lf Broken { at: 0,"));
}

#[test]
fn depth_has_a_bound_and_no_recursion() {
    let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
    let in_key = |depth: usize| [br#"{"x":"#, &nested(depth)[..], b"}"].concat();
    for depth in [900, 1024, 100_000, DEPTH] {
        assert_eq!(one(&nested(depth)).0, Shape::Scalar, "{depth}");
        assert_eq!(one(&in_key(depth - 1)).0, Shape::Object, "{depth}");
    }
    let at = DEPTH as u64;
    assert_eq!(one(&in_key(DEPTH)).0, Shape::Broken { at: at + 4, why: TOO_DEEP });
    assert_eq!(one(&nested(DEPTH + 9)).0, Shape::Broken { at, why: TOO_DEEP });
}

#[test]
fn a_long_line_is_not_held() {
    let mut reader = Reader::new();
    let start = br#"{"type":"a","message":{"content":[{"type":"text","text":"x"}],"role":"user"},"text":""#;
    reader.space()[..start.len()].copy_from_slice(start);
    reader.advance(start.len(), |_| unreachable!("the line is not ended"));
    for _ in 0..8_000 {
        let space = reader.space();
        let count = space.len().min(1000);
        space[..count].fill(b'a');
        reader.advance(count, |_| unreachable!("the line is not ended"));
    }
    let end = b"\",\"id\":\"i\"}\n{\"id\":\"j\"}\n";
    reader.space()[..end.len()].copy_from_slice(end);
    let mut lines = Vec::new();
    reader.advance(end.len(), |line| lines.push((line.bytes.is_some(), shown(line))));
    assert_eq!(lines.len(), 2);
    assert!(!lines[0].0);
    assert!(lines[0].1.contains("Object"));
    assert!(lines[0].1.ends_with(
        "type=\"a\" id=\"i\" message={} message.role=\"user\" message.content=[] <Text None None says=true empty=false>"
    ));
    assert!(lines[1].0 && lines[1].1.ends_with("id=\"j\""));
    assert!(reader.space().len() < 2 << 20);
}

#[test]
fn what_is_kept_of_a_long_line_is_bounded() {
    let long = |member: &[u8]| {
        let mut text = br#"{"message":{"content":["#.to_vec();
        while text.len() < 6 << 20 {
            text.extend_from_slice(member);
        }
        text.extend_from_slice(b"1]},\"uuid\":\"u\"}\n");
        let mut reader = Reader::new();
        let lines = all_lines(&mut reader, &text, || usize::MAX);
        assert!(lines[0].contains(" uuid=\"u\""));
        assert!(reader.cutter.lines.machine.copies().len() < 4 << 20);
        assert!(reader.cutter.lines.found.blocks() <= 1 << 15);
    };
    long(b"{},");
    long(format!(r#"{{"id":"{}"}},"#, "i".repeat(6000)).as_bytes());
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn of<'t, T: ?Sized>(&mut self, choices: &[&'t T]) -> &'t T {
        choices[self.below(choices.len())]
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

const KEYS: &[&str] = &[
    "type",
    "id",
    "uuid",
    "parentId",
    "timestamp",
    "isSidechain",
    "firstKeptEntryId",
    "message",
    "message",
    "role",
    "id",
    "stopReason",
    "content",
    "content",
    "tool_calls",
    "toolUseResult",
    "agentId",
    "tool_use_id",
    "name",
    "text",
    "x",
    "",
    r"ty\u0070e",
    r"cont\u0065nt",
    r"messag\u0065",
    r#"\""#,
    r"\ud83d\ude00",
];

const STRINGS: &[&str] = &[
    "",
    "a",
    "text",
    "tool_use",
    "toolCall",
    "tool_result",
    "image",
    "user",
    " ",
    r"\n",
    r"\n\t x",
    "é中",
    "😀",
    r"\u00e9",
    r"\u0020",
    r"\ud83d\ude00",
    r"\uD83D\uDE00",
    r"\\",
    r#"\""#,
    r#"\\\""#,
    r"\/",
    "{[,:]}",
    "0b6ce1a0",
    "7f1c2a90-3c55-4b8e-9d5e-1f2a3b4c5d6e",
];

fn string(random: &mut Random, out: &mut Vec<u8>) {
    out.push(b'"');
    let pieces = if random.one_in(10) { random.below(40) } else { random.below(3) };
    for _ in 0..pieces {
        out.extend_from_slice(random.of(STRINGS).as_bytes());
    }
    if random.one_in(100) {
        out.extend_from_slice(
            random.of(&[r"\ud83d", r"\ude00", r"\ud83d\ud83d\ude00", r"\ude00\ud83d"]).as_bytes(),
        );
    }
    out.push(b'"');
}

fn space(random: &mut Random, out: &mut Vec<u8>) {
    if random.one_in(12) {
        out.extend_from_slice(random.of(&[" ", "  ", "\t", "\r", " \r\t "]).as_bytes());
    }
}

fn value(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    space(random, out);
    match random.below(if depth > 5 { 6 } else { 10 }) {
        0..4 => string(random, out),
        4 => {
            out.extend_from_slice(random.of(&["0", "-0", "1", "12.5", "-1.5E+3", "1e5", "0.0e-0"]).as_bytes())
        }
        5 => out.extend_from_slice(random.of(&["null", "true", "false", "{}", "[]", "[ ]"]).as_bytes()),
        6..9 => object(random, depth + 1, out),
        _ => {
            out.push(b'[');
            for at in 0..random.below(4) {
                if at > 0 {
                    out.push(b',');
                }
                value(random, depth + 1, out);
            }
            // A list with one more item, so that none ends in a comma.
            out.extend_from_slice(if out.last() == Some(&b'[') { b"]" } else { b" ]" });
        }
    }
    space(random, out);
}

fn object(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    out.push(b'{');
    for at in 0..random.below(6) {
        if at > 0 {
            out.push(b',');
        }
        space(random, out);
        out.push(b'"');
        out.extend_from_slice(random.of(KEYS).as_bytes());
        out.push(b'"');
        space(random, out);
        out.push(b':');
        value(random, depth, out);
    }
    out.push(b'}');
}

/// Returns several lines, some of them damaged.
fn text(random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    if random.one_in(20) {
        out.extend_from_slice(BOM);
    }
    for _ in 0..=random.below(6) {
        let from = out.len();
        match random.below(20) {
            0 => {}
            1 => value(random, 0, &mut out),
            _ => object(random, 0, &mut out),
        }
        while random.one_in(3) {
            damage(random, from, &mut out);
        }
        out.extend_from_slice(random.of(&["\n", "\n", "\n", "\r\n", "\n\n"]).as_bytes());
    }
    if random.one_in(3) {
        out.truncate(out.len() - random.below(out.len()));
    }
    out
}

fn damage(random: &mut Random, from: usize, out: &mut Vec<u8>) {
    let at = from + random.below(out.len() - from + 1);
    let bytes = random.of::<[u8]>(&[
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\n",
        b"\r",
        b"\0",
        b"\x1f",
        b"\xff",
        b"\xe2\x82",
        b"0",
        b"e",
        b"-",
        b".",
        b"t",
        b" ",
        b"\\u",
        b"\\ud83d",
        b"\\ude00",
        b"\"\n\"",
        b"{}",
        b"nul",
        b"\xEF\xBB\xBF",
        b"\x0c",
        b"\x1a",
    ]);
    match random.below(4) {
        0 => out.truncate(at),
        1 => _ = out.splice(at..at, bytes.iter().copied()),
        2 if at < out.len() => _ = out.remove(at),
        _ => {
            let end = (at + bytes.len()).min(out.len());
            _ = out.splice(at..end, bytes.iter().copied());
        }
    }
}

/// How many random texts are tried; `BOUGH_TRIES` asks for a longer run.
fn tries() -> u64 {
    std::env::var("BOUGH_TRIES").ok().and_then(|tries| tries.parse().ok()).unwrap_or(3_000)
}

/// Returns all readers: for each scanner the usual one, and some that hold almost nothing.
fn readers() -> Vec<Reader> {
    let sizes =
        [SIZES, Sizes { block: 64, line: 64 }, Sizes { block: 7, line: 3 }, Sizes { block: 1, line: 300 }];
    let mut readers = Vec::new();
    for scanner in Scanner::all() {
        readers.extend(sizes.map(|sizes| Reader::with(sizes, scanner)));
    }
    readers
}

#[test]
fn all_ways_to_read_agree() {
    let mut readers = readers();
    for seed in 0..tries() {
        let text = text(&mut Random(seed));
        let wanted = whole(&text);
        for (which, reader) in readers.iter_mut().enumerate() {
            reader.restart(0, 0);
            let mut random = Random(seed);
            let most = 1 + random.below(200);
            let got = all_lines(reader, &text, || 1 + random.below(most));
            assert_eq!(got, wanted, "seed {seed}, reader {which}: {}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn what_is_read_is_what_a_full_parse_reads() {
    for seed in 0..tries() {
        let text = text(&mut Random(seed));
        for line in text.split(|byte| *byte == b'\n') {
            let (shape, notes, found) = one(line);
            let context = || format!("seed {seed}: {}", String::from_utf8_lossy(line));
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let is_space = |byte: &u8| b" \t\r".contains(byte);
            let valid = serde_json::from_slice::<IgnoredAny>(line).is_ok();
            match shape {
                Shape::Blank => assert!(line.iter().all(is_space), "{}", context()),
                Shape::Object => assert!(valid && line.trim_ascii_start().starts_with(b"{"), "{}", context()),
                Shape::Scalar => {
                    assert!(valid && !line.trim_ascii_start().starts_with(b"{"), "{}", context())
                }
                Shape::Trailing { at } => {
                    assert!(!valid, "{}", context());
                    let mut values = serde_json::Deserializer::from_slice(line).into_iter::<IgnoredAny>();
                    assert!(values.next().is_some_and(|value| value.is_ok()), "{}", context());
                    let end = values.byte_offset();
                    let spaces = line[end..].iter().take_while(|byte| is_space(byte)).count();
                    assert_eq!(at as usize, end + spaces, "{}", context());
                }
                Shape::Broken { at, .. } => {
                    assert!(!valid, "{}", context());
                    // The bytes before the error contain no error before their end.
                    match one(&line[..at as usize]).0 {
                        // This one would count as part of the line ending.
                        _ if line[..at as usize].ends_with(b"\r") => {}
                        Shape::Broken { at: end, .. } => assert_eq!(end, at, "{}", context()),
                        Shape::Trailing { .. } => panic!("{}", context()),
                        _ => {}
                    }
                }
            }
            assert_eq!(notes.nul, line.contains(&0), "{}", context());
            assert_eq!(notes.invalid_utf8, std::str::from_utf8(line).is_err(), "{}", context());
            if shape == Shape::Object && !notes.invalid_utf8 {
                // A lone surrogate is the only thing that keeps a valid text from becoming a tree
                // of values.
                let tree = serde_json::from_slice::<serde_json::Value>(line);
                assert_eq!(notes.lone_surrogate, tree.is_err(), "{}", context());
                if let Ok(tree) = tree {
                    assert_eq!(found, by_tree(&tree), "{}", context());
                }
            }
        }
    }
}

/// Formats the fields of a line as [`fields`] does, but from a full parse.
fn by_tree(tree: &serde_json::Value) -> String {
    let mut out = String::new();
    for (name, _) in FIELDS {
        let value = name.split('.').try_fold(tree, |value, key| value.as_object()?.get(key));
        let Some(value) = value else { continue };
        let text = match value {
            serde_json::Value::Array(_) => "[]".into(),
            serde_json::Value::Object(_) => "{}".into(),
            serde_json::Value::String(text) => format!("{text:?}"),
            // As in `fields`: the parser spells exponents differently.
            other => other.to_string().replace("e+", "e"),
        };
        let _ = write!(out, " {name}={text}");
    }
    for (list, call) in [("content", false), ("tool_calls", true)] {
        let items =
            tree.get("message").and_then(|message| message.get(list)).and_then(|list| list.as_array());
        for item in items.into_iter().flatten().filter(|item| item.is_object() || item.is_array()) {
            let text = |key: &str| item.get(key).and_then(|value| value.as_str());
            let kind = match text("type") {
                _ if call => BlockKind::Call,
                Some("text") => BlockKind::Text,
                Some("toolCall" | "tool_use") => BlockKind::Call,
                Some("tool_result") => BlockKind::Result,
                Some("image") => BlockKind::Image,
                _ => BlockKind::Other,
            };
            let mut ids = [text("id"), text("tool_use_id")];
            if kind == BlockKind::Result {
                ids.reverse();
            }
            let says = text("text").is_some_and(|text| !text.trim().is_empty());
            let empty = text("text").is_some_and(str::is_empty);
            let _ = write!(out, " <{:?} {:?} {:?}", kind, ids[0].or(ids[1]), text("name"));
            let arguments = item.get("arguments").is_some_and(|arguments| !arguments.is_null());
            let arguments = if arguments { " arguments" } else { "" };
            let _ = write!(out, " says={says} empty={empty}{arguments}>");
        }
    }
    let lists =
        ["content", "tool_calls"].map(|list| tree.get("message").and_then(|message| message.get(list)));
    let mut items = lists.into_iter().flatten().filter_map(|list| list.as_array()).flatten();
    if items.any(|item| !item.is_object()) {
        out.push_str(" odd items");
    }
    out
}

#[test]
#[rustfmt::skip] // a table
fn words_of_python_are_values_to_python() {
    let check = |text: &str, wanted: bool| {
        let mut reader = Reader::new();
        for (python, wanted) in [(true, wanted), (false, false)] {
            let mut is_object = None;
            reader.restart(0, 0);
            reader.python(python);
            reader.feed(text.as_bytes(), |_| ());
            reader.finish(|line| is_object = Some(line.shape == Shape::Object));
            assert_eq!(is_object, Some(wanted), "{text}");
        }
    };
    check(r#"{"a":NaN}"#,                         true);
    check(r#"{"a":[Infinity,-Infinity, NaN ]}"#,  true);
    check(r#"{"timestamp":-Infinity,"id":"a"}"#,  true);
    check(r#"{"a":nan}"#,                         false);
    check(r#"{"a":-NaN}"#,                        false);
    check(r#"{"a":Inf}"#,                         false);
    check(r#"{"a":-Infinit}"#,                    false);
    check(r#"{"a":+Infinity}"#,                   false);
    check(r#"{NaN:1}"#,                           false);
}
