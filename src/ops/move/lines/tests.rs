//! Tests of the lines that name a moved file.

use super::*;
use crate::model::Table;

fn paths(text: bool) -> Paths {
    let mut paths = Paths { text, ..Paths::default() };
    paths.folders.add("/w/app", "/w/new");
    paths.files.add("/s/--w-app--", "/s/--w-new--");
    paths
}

fn check_with(paths: &Paths, kind: Kind, old: &str, wanted: &str) {
    let made = rewrite(&mut old.as_bytes(), 0, kind, paths).unwrap();
    let bytes = Piece::join(&made.pieces, &Table(vec![old.as_bytes().to_vec()])).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), wanted, "{kind:?}");
    assert_eq!(made.is_same(), old == wanted, "{kind:?} {old}");
}

#[test]
    #[rustfmt::skip] // a table
    fn only_fields_that_hold_paths_change() {
        let check = |kind, old: &str, wanted: &str| check_with(&paths(false), kind, old, wanted);
        check(Kind::Claude, "{\"cwd\":\"/w/app\" , \"n\":1.0}\r\n{\"cwd\":\"/w/app/src\"}", "{\"cwd\":\"/w/new\" , \"n\":1.0}\r\n{\"cwd\":\"/w/new/src\"}");
        check(Kind::Claude, r#"{"cwd":"/w/app-docker","relocatedCwd":"/w/app"}"#, r#"{"cwd":"/w/app-docker","relocatedCwd":"/w/new"}"#);
        check(Kind::Claude, r#"{"cwd":"\/w\/app\/x"}"#, r#"{"cwd":"/w/new/x"}"#);
        check(Kind::Claude, r#"{"message":{"content":"cd /w/app","cwd":"/w/app"},"x":{"cwd":"/w/app"}}"#, r#"{"message":{"content":"cd /w/app","cwd":"/w/app"},"x":{"cwd":"/w/app"}}"#);
        check(Kind::Claude, r#"{"worktreeSession":{"originalCwd":"/w/app","worktreePath":"/w/app/.claude/worktrees/x","n":null}}"#, r#"{"worktreeSession":{"originalCwd":"/w/new","worktreePath":"/w/new/.claude/worktrees/x","n":null}}"#);
        check(Kind::Claude, r#"{"snapshot":{"trackedFileBackups":{"src/x":{"v":1} , "/w/app/y":{"v":2},"/z":{}}}}"#, r#"{"snapshot":{"trackedFileBackups":{"src/x":{"v":1} , "/w/new/y":{"v":2},"/z":{}}}}"#);
        check(Kind::Pi, "{\"type\":\"session\",\"cwd\":\"/w/app\",\"parentSession\":\"/s/--w-app--/a.jsonl\",\"additionalDirectories\":[\"/w/app/x\",\"/z\"]}\n{\"type\":\"x\",\"cwd\":\"/w/app\"}\n",
            "{\"type\":\"session\",\"cwd\":\"/w/new\",\"parentSession\":\"/s/--w-new--/a.jsonl\",\"additionalDirectories\":[\"/w/new/x\",\"/z\"]}\n{\"type\":\"x\",\"cwd\":\"/w/app\"}\n");
        check(Kind::Chimera, r#"{"type": "header", "cwd": "/w/app", "system_prompt": "in /w/app"}"#, r#"{"type": "header", "cwd": "/w/new", "system_prompt": "in /w/app"}"#);
        check(Kind::History, r#"{"display":"/w/app","project":"/w/app","sessionId":"a"}"#, r#"{"display":"/w/app","project":"/w/new","sessionId":"a"}"#);
        check(Kind::Sidecar, r#"{"a":[{"fullPath":"/s/--w-app--/x","p":"/w/app"}],"q":"in /w/app"}"#, r#"{"a":[{"fullPath":"/s/--w-new--/x","p":"/w/new"}],"q":"in /w/app"}"#);
        check(Kind::Projects, "{\n \"projects\": {\"/w/app\": {\"a\": \"/w/app\"}, \"/w/app/x\": {}, \"/w/application\": {}}}", "{\n \"projects\": {\"/w/new\": {\"a\": \"/w/app\"}, \"/w/new/x\": {}, \"/w/application\": {}}}");
        // A project that is there keeps its settings.
        check(Kind::Projects, r#"{"projects":{"/w/app":{"a":1},"/w/new":{}}}"#, r#"{"projects":{"/w/app":{"a":1},"/w/new":{}}}"#);
        check(Kind::Other, r#"{"cwd":"/w/app"}"#, r#"{"cwd":"/w/app"}"#);
    }

#[test]
    #[rustfmt::skip] // a table
    fn a_path_is_found_in_a_damaged_line() {
        let check = |old: &str, wanted: &str| check_with(&paths(false), Kind::Claude, old, wanted);
        check("{\n  \"cwd\" : \"/w/app\",\n  \"n\": 1\n}\n", "{\n  \"cwd\" : \"/w/new\",\n  \"n\": 1\n}\n");
        check(r#"{"text":"say \"cwd\":\"/w/app\" "#, r#"{"text":"say \"cwd\":\"/w/app\" "#);
        check(r#"{"cwd":"/w/app"#, r#"{"cwd":"/w/app"#);
        check(r#"{"cwd":"/w/app","n":1}{"m":{"cwd":"/w/app"},"cwd":"/w/app/x"} {"cwd":"/w/app","n"#,
            r#"{"cwd":"/w/new","n":1}{"m":{"cwd":"/w/app"},"cwd":"/w/new/x"} {"cwd":"/w/new","n"#);
    }

#[test]
fn a_line_in_ascii_stays_in_ascii() {
    let mut paths = Paths::default();
    paths.folders.add("/w/ü", "/w/ö");
    check_with(
        &paths,
        Kind::Chimera,
        r#"{"type": "header", "cwd": "/w/\u00fc/x"}"#,
        r#"{"type": "header", "cwd": "/w/\u00f6/x"}"#,
    );
    check_with(&paths, Kind::Claude, r#"{"cwd":"/w/ü/x"}"#, r#"{"cwd":"/w/ö/x"}"#);
}

#[test]
fn the_history_of_other_sessions_stays() {
    let paths = Paths { session: Some("a".into()), ..paths(false) };
    let (old, wanted) = (
        "{\"project\":\"/w/app\",\"sessionId\":\"b\"}\n{\"project\":\"/w/app\",\"sessionId\":\"a\"}\n",
        "{\"project\":\"/w/app\",\"sessionId\":\"b\"}\n{\"project\":\"/w/new\",\"sessionId\":\"a\"}\n",
    );
    check_with(&paths, Kind::History, old, wanted);
}

#[test]
    #[rustfmt::skip] // a table
    fn texts_change_on_request_except_what_is_signed() {
        let check = |old: &str, wanted: &str| check_with(&paths(true), Kind::Claude, old, wanted);
        check(r#"{"cwd":"/w/app","m":"cd /w/app. In /w/app.old, /w/app-x, (/w/app), \n/w/app/x, x/w/app"}"#,
            r#"{"cwd":"/w/new","m":"cd /w/new. In /w/app.old, /w/app-x, (/w/new), \n/w/new/x, x/w/app"}"#);
        check(r#"{"message":{"content":[{"type":"thinking","thinking":"/w/app","signature":"s"},{"type":"text","text":"/w/app"}]}}"#,
            r#"{"message":{"content":[{"type":"thinking","thinking":"/w/app","signature":"s"},{"type":"text","text":"/w/new"}]}}"#);
    }
