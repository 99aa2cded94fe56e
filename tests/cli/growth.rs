//! Sessions of shapes in which the work could grow faster than their size. Each command gets ten
//! seconds of processor time, whatever else the machine does: a command that takes a second here
//! would take minutes if each entry were compared with every other.

use crate::support::sandbox::bough;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

const TIME: &str = "2026-01-05T10:00:00.000Z";

fn pi(at: usize, parent: Option<usize>, rest: Value) -> Value {
    let id = |at: usize| format!("{at:08x}");
    let mut line = json!({ "type": "message", "id": id(at), "parentId": parent.map(id), "timestamp": TIME });
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line
}

fn call(id: String) -> Value {
    json!({ "message": { "role": "assistant", "content": [{ "type": "toolCall", "id": id, "name": "x", "arguments": {} }] } })
}

fn result(id: String) -> Value {
    json!({ "message": { "role": "toolResult", "toolCallId": id, "content": [] } })
}

fn claude(at: usize, parent: Option<usize>, role: &str, id: Option<&str>, content: Value) -> Value {
    let uuid = |at: usize| format!("{at:08x}-0000-4000-8000-000000000000");
    let mut message = json!({ "role": role, "content": content });
    if let Some(id) = id {
        message["id"] = id.into();
    }
    json!({ "parentUuid": parent.map(uuid), "isSidechain": false, "sessionId": "5e550001-0000-4000-8000-000000000001",
        "version": "2.1.0", "type": role, "message": message, "uuid": uuid(at), "timestamp": TIME })
}

/// Runs a command on a session; `F` is its file.
fn run(lines: impl Iterator<Item = Value>, words: &[&str], wanted: i32) {
    let home = tempfile::tempdir().unwrap();
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(home.path().join("s.jsonl"), text).unwrap();
    let program = bough(home.path());
    let words: Vec<&str> = words.iter().map(|word| if *word == "F" { "s.jsonl" } else { *word }).collect();
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -t 10; exec \"$@\" > /dev/null", "sh"])
        .arg(program.get_program())
        .args(&words);
    command.current_dir(home.path()).env_clear().env("HOME", home.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(wanted), "{words:?}: {:?}\n{said}", output.status);
}

fn header() -> Value {
    json!({ "type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/" })
}

/// Results on a branch beside that of their calls, in the middle of it: each is sent if the agent
/// continues from it, which is known without building the context there.
#[test]
fn results_beside_their_calls_are_moved_in_time() {
    let count = 3_000;
    let text = || json!({ "message": { "role": "user", "content": "text" } });
    let line = |at: usize| match (at, at % 2) {
        (0 | 1, _) => pi(at, (at == 1).then_some(0), text()),
        (at, _) if at == count - 1 => pi(at, Some(at - 2), text()),
        (at, 0) => pi(at, Some(at - 2), call(format!("t{at}"))),
        (at, _) => pi(at, Some(at - 2), result(format!("t{}", at - 1))),
    };
    let words = ["fsck", "--repair", "--dry-run", "--with", "misplaced-tool-result", "F"];
    run([header()].into_iter().chain((0..count).map(line)), &words, 0);
}

/// Chimera writes no session id: it is not searched for again at each entry.
#[test]
fn many_rows_of_chimera_are_printed_in_time() {
    let id = |at: usize| format!("{at:012x}");
    let line = |at: usize| {
        json!({ "type": "message", "id": id(at), "parent_id": at.checked_sub(1).map(id), "timestamp": 1_772_442_000.5 + at as f64,
            "message": { "role": "user", "content": "text" } })
    };
    run((0..40_000).map(line), &["log", "--all", "--json", "F"], 0);
}

/// Each result looks up its call among those of the reply.
#[test]
fn the_calls_of_one_reply_are_paired_in_time() {
    let count = 60_000;
    let calls: Vec<Value> = (0..count)
        .map(|at| json!({ "type": "toolCall", "id": format!("t{at}"), "name": "x", "arguments": {} }))
        .collect();
    let reply = pi(0, None, json!({ "message": { "role": "assistant", "content": calls } }));
    let results = (0..count).map(|at| pi(at + 1, Some(at), result(format!("t{at}"))));
    run([header(), reply].into_iter().chain(results), &["context", "--stat", "F"], 0);
}

const PICK: &[&str] = &["cherry-pick", "-n", "--force", "-s", "F", "all"];

#[test]
fn calls_that_all_have_one_id_are_picked_in_time() {
    let line = |at: usize| {
        let rest = if at.is_multiple_of(2) { call("t".into()) } else { result("t".into()) };
        pi(at, at.checked_sub(1), rest)
    };
    run([header()].into_iter().chain((0..6000).map(line)), PICK, 0);
}

#[test]
fn many_results_of_one_call_are_picked_in_time() {
    let line =
        |at: usize| pi(at, at.checked_sub(1), if at == 0 { call("t".into()) } else { result("t".into()) });
    run([header()].into_iter().chain((0..20_000).map(line)), PICK, 0);
}

#[test]
fn a_reply_on_many_lines_is_picked_in_time() {
    let block = |at: usize| json!([{ "type": "text", "text": format!("part {at}") }]);
    let line = |at: usize| match at {
        0 => claude(0, None, "user", None, json!("a prompt")),
        _ => claude(at, Some(at - 1), "assistant", Some("msg_1"), block(at)),
    };
    run((0..12_000).map(line), PICK, 0);
}

#[test]
fn a_reply_on_lines_side_by_side_is_shown_in_time() {
    let block = |at: usize| json!([{ "type": "tool_use", "id": format!("t{at}"), "name": "x", "input": {} }]);
    let line = |at: usize| match at {
        0 => claude(0, None, "user", None, json!("a prompt")),
        _ => claude(at, Some(0), "assistant", Some("msg_1"), block(at)),
    };
    for words in [&["log", "F"][..], &["log", "--graph", "F"], &["status", "F"]] {
        run((0..50_000).map(line), words, 0);
    }
}

#[test]
fn a_session_with_a_stub_at_each_turn_is_shown_in_time() {
    let line = |at: usize| {
        let parent = if at < 2 { at.checked_sub(1) } else { Some((at - 2) / 2 * 2) };
        claude(at, parent, if at % 4 == 2 { "assistant" } else { "user" }, None, json!(format!("n{at}")))
    };
    run((0..50_000).map(line), &["log", "--agents", "F"], 0);
}

#[test]
fn many_compactions_are_exported_in_time() {
    for kept in ["00000000", "ffffffff"] {
        let line = |at: usize| {
            let compaction =
                json!({ "type": "compaction", "summary": "s", "firstKeptEntryId": kept, "tokensBefore": 1 });
            let prompt = json!({ "message": { "role": "user", "content": "x" } });
            pi(at, at.checked_sub(1), if at == 0 { prompt } else { compaction })
        };
        run([header()].into_iter().chain((0..20_000).map(line)), &["export-branch", "-s", "F"], 0);
        run([header()].into_iter().chain((0..20_000).map(line)), PICK, 0);
    }
}

#[test]
fn ids_that_are_numbers_are_repaired_in_time() {
    let entry = |at: usize| {
        json!({ "type": "message", "id": at, "parentId": at as i64 - 1, "timestamp": TIME,
            "message": { "role": "user", "content": format!("n{at}") } })
    };
    run(std::iter::once(header()).chain((0..10_000).map(entry)), &["fsck", "F"], 1);
}

#[test]
fn a_revision_may_have_any_number_of_suffixes() {
    let line =
        |at: usize| pi(at, at.checked_sub(1), json!({ "message": { "role": "user", "content": "x" } }));
    let lines = || [header()].into_iter().chain((0..3000).map(line));
    for (suffix, times, wanted) in [
        ("^", 2500, 0),
        ("^", 40_000, 4),
        ("-", 2500, 0),
        ("~1", 2500, 0),
        ("^0", 40_000, 0),
        ("+", 40_000, 4),
        ("~x", 40_000, 4),
    ] {
        let revision = format!("HEAD{}", suffix.repeat(times));
        run(lines(), &["rev-parse", "F", &revision], wanted);
        let range = format!("{revision}..HEAD");
        run(lines(), &["rev-parse", "--count", "F", &range], wanted);
    }
    let revision = format!("00000000{}", "+".repeat(2500));
    run(lines(), &["rev-parse", "F", &revision], 0);
    // A long name is a name with and without suffixes.
    let id = "i".repeat(100);
    let mut long = vec![header(), pi(0, None, json!({ "message": { "role": "user", "content": "x" } }))];
    long.push(pi(1, Some(0), json!({ "id": id, "message": { "role": "user", "content": "y" } })));
    for (revision, wanted) in
        [(id.clone(), 0), (format!("{id}^"), 0), (format!("{id}^^"), 4), (format!("id:{id}~1"), 0)]
    {
        run(long.clone().into_iter(), &["rev-parse", "F", &revision], wanted);
    }
}

fn codex(ty: &str, payload: Value) -> Value {
    json!({ "timestamp": TIME, "type": ty, "payload": payload })
}

fn codex_header() -> Value {
    codex("session_meta", json!({ "id": "s", "timestamp": TIME, "cwd": "/" }))
}

fn said(role: &str, text: &str) -> Value {
    json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] })
}

/// The commands that read a session as a whole.
const READING: [&[&str]; 5] =
    [&["status", "F"], &["fsck", "F"], &["log", "--all", "F"], &["context", "F"], &["stats", "F"]];

#[test]
fn many_turns_that_codex_took_back_are_read_in_time() {
    let rollback =
        |turns: Value| codex("event_msg", json!({ "type": "thread_rolled_back", "num_turns": turns }));
    let prompts = || (0..30_000).map(|_| codex("response_item", said("user", "text")));
    for turns in [json!(0), json!(1), json!(u32::MAX)] {
        for words in [&["status", "F"], &["fsck", "F"]] {
            let rollbacks = (0..30_000).map(|_| rollback(turns.clone()));
            run([codex_header()].into_iter().chain(prompts()).chain(rollbacks), words, 0);
        }
    }
    // Each turn is taken back at once, after many entries that stay.
    let context = || codex("response_item", said("user", "<environment_context>x</environment_context>"));
    let turns = (0..15_000).flat_map(|_| [codex("response_item", said("user", "text")), rollback(json!(1))]);
    run((0..30_000).map(|_| context()).chain(turns), &["status", "F"], 0);
}

#[test]
fn a_long_history_in_a_compaction_is_sent_in_time() {
    let history: Vec<Value> = (0..30_000).map(|at| said("user", &format!("text {at}"))).collect();
    let compacted = codex("compacted", json!({ "message": "so far", "replacement_history": history }));
    for words in READING {
        let prompt = codex("response_item", said("user", "text"));
        run([codex_header(), prompt, compacted.clone()].into_iter(), words, 0);
    }
}

fn copilot(at: usize, ty: &str, data: Value) -> Value {
    let id = |at: usize| format!("{at:08x}-0000-4000-8000-000000000000");
    json!({ "type": ty, "data": data, "id": id(at), "timestamp": TIME, "parentId": at.checked_sub(1).map(id) })
}

#[test]
fn the_calls_of_one_reply_of_copilot_are_answered_in_time() {
    let count = 20_000;
    let calls: Vec<Value> = (0..count)
        .map(|at| json!({ "toolCallId": format!("t{at}"), "name": "x", "arguments": {} }))
        .collect();
    let header =
        copilot(0, "session.start", json!({ "sessionId": "s", "version": 1, "context": { "cwd": "/" } }));
    let reply = copilot(1, "assistant.message", json!({ "content": "", "toolRequests": calls }));
    let result = |at: usize| {
        let call = format!("t{}", count - 1 - at);
        copilot(
            at + 2,
            "tool.execution_complete",
            json!({ "toolCallId": call, "success": true, "result": { "content": "" } }),
        )
    };
    for words in READING {
        run([header.clone(), reply.clone()].into_iter().chain((0..count).map(result)), words, 0);
    }
}

#[test]
fn many_messages_that_gemini_took_back_are_read_in_time() {
    let message =
        |at: usize| json!({ "id": format!("m{at}"), "timestamp": TIME, "type": "user", "content": "text" });
    let count = 20_000;
    for to in ["none", "m0", "last"] {
        let rewinds = (0..count).map(|at| match to {
            "last" => json!({ "$rewindTo": format!("m{}", count - 1 - at) }),
            to => json!({ "$rewindTo": to }),
        });
        run((0..count).map(message).chain(rewinds), &["status", "F"], 0);
    }
    let header = json!({ "sessionId": "s", "projectHash": "p", "startTime": TIME });
    let all: Vec<Value> = (0..1000).map(message).collect();
    let set = json!({ "$set": { "messages": all } });
    for words in READING {
        run([header.clone()].into_iter().chain((0..30).map(|_| set.clone())), words, 0);
    }
}

/// Each orphan is a branch of its own, and all of them end at one place after the repair.
#[test]
fn the_repair_of_many_orphans_is_proved_in_time() {
    let orphan = |at: usize| {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        let mut line = claude(at, Some(0), role, None, json!(format!("text {at}")));
        line["parentUuid"] = json!(format!("lost{at}"));
        line
    };
    let first = [
        claude(0, None, "user", None, json!("first")),
        claude(1, Some(0), "assistant", None, json!("reply")),
    ];
    run(first.into_iter().chain((2..4_000).map(orphan)), &["fsck", "F"], 1);
}
