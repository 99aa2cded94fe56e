//! Tests of the session that an agent would continue.

use super::*;
use std::fs;

const ID: &str = "5e550001-0000-4000-8000-0000000000b2.jsonl";

fn setting(agent: &'static str, name: &str, text: &str) -> Continued {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    continued(&Found { agent, path, is_link: false, is_unlocked: true }, Options::default())
}

#[test]
#[rustfmt::skip] // a table
fn claude_code_passes_over_some() {
    let check = |name: &str, text: &str, wanted: Continued| {
        assert_eq!(setting("claude", name, text), wanted, "{name}: {}", &text[..text.len().min(200)]);
    };
    let turn = r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"x"},"uuid":"u"}"#;
    let with = |member: &str| turn.replacen('{', &format!("{{{member},"), 1);
    let lines = |lines: &[&str]| lines.join("\n") + "\n";
    let mode = r#"{"type":"mode","mode":"normal"}"#;
    let long = lines(&[&format!(r#"{{"type":"mode","mode":"{}"}}"#, "x".repeat(70_000))]);
    let side = turn.replace("false", "true");
    let passed = Continued::PassedOver;
    check(ID, turn, Continued::Opened);
    check(&ID.to_uppercase().replace("JSONL", "jsonl"), turn, Continued::Opened);
    check("5e550001-0000-4000-8000-0000000000b2.sync-conflict-1.jsonl", turn, passed("its name is not a session id"));
    check("5e550001-0000-4000-8000-0000000000b2 (conflicted copy).jsonl", turn, passed("its name is not a session id"));
    check("5e550001-0000-4000-8000-0000000000bg.jsonl", turn, passed("its name is not a session id"));
    check("5e550001-00000-400-8000-0000000000b2.jsonl", turn, passed("its name is not a session id"));
    check(ID, "", Continued::Empty);
    check(ID, "\n\n", passed("it has no conversation"));
    check(ID, mode, passed("it has no conversation"));
    check(ID, r#"{"type":"user","message":{"role":"user","content":"x"},"uuid":"u"}"#, passed("it has no conversation"));
    check(ID, &long, passed("it has no conversation"));
    check(ID, &(long.clone() + turn), Continued::Opened);
    check(ID, &lines(&[turn, &side]), passed("it has entries of a subagent"));
    check(ID, &(lines(&[turn]) + &long + &side), Continued::Opened);      // beyond the bytes that are read
    check(ID, &turn.replace(r#":false"#, ": true"), passed("it has entries of a subagent"));
    check(ID, &turn.replace('x', r#"\"isSidechain\":true"#), Continued::Opened);
    check(ID, &with(r#""teamName":"t""#), passed("it belongs to a teammate"));
    check(ID, &lines(&[turn, &with(r#""teamName":"t""#)]), passed("it belongs to a teammate"));
    check(ID, &with(r#""teamName":"""#), Continued::Opened);
    check(ID, &with(r#""teamName":null"#), Continued::Opened);
    check(ID, &with(r#""sessionKind":"daemon-worker""#), passed("it belongs to a daemon"));
    check(ID, &lines(&[mode, &with(r#""sessionKind":"daemon""#)]), passed("it belongs to a daemon"));
    check(ID, &lines(&[turn, &with(r#""sessionKind":"daemon-worker""#)]), Continued::Opened);
    check(ID, &with(r#""sessionKind":"bg""#), Continued::Opened);
    check(ID, &with(r#""entrypoint":"sdk-cli""#), Continued::Opened);
}

#[test]
#[rustfmt::skip] // a table
fn the_others_pass_over_what_is_not_a_session_of_theirs() {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-10-01T09:00:00.000Z","cwd":"/w"}"#;
    let model = r#"{"type":"model_change","id":"m","parentId":null,"timestamp":"2026-10-01T09:00:01.000Z","model":"p/m"}"#;
    let prompt = r#"{"type":"message","id":"u","parentId":null,"timestamp":"2026-10-01T09:00:02.000Z","message":{"role":"user","content":"x"}}"#;
    let titled = header.replace(r#""cwd""#, r#""title":"a title","cwd""#);
    let check = |agent, lines: &[&str], wanted: bool| {
        assert_eq!(setting(agent, "2026_s.jsonl", &(lines.join("\n") + "\n")) == Continued::Opened, wanted, "{lines:?}");
    };
    check("omp", &[header, model],         false);
    check("omp", &[header, model, prompt], true);
    check("omp", &[&titled, model],        true);
    check("pi",  &[header],                true);
    check("pi",  &[header, prompt],        true);
    check("pi",  &[prompt],                false);
    check("pi",  &[prompt, header],        false);
    check("pi",  &["torn", header],        true);
}
