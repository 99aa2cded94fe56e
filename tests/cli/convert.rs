//! `convert`: what the new session would send is what the old one would send, on all branches; and the
//! real programs agree.

use crate::support::applied::applied;
use crate::support::chance::Chance;
use crate::support::files;
use bough::internals::format::{Addition, Format, Ids, New, Session, claude};
use bough::internals::fsck::{self, NoRepair, NoSurroundings, RepairOptions};
use bough::internals::model::{Source, Table, Time};
use bough::internals::ops::Snapshot;
use bough::internals::ops::convert::conversation::{self, Conversation, NO_PROMPT, Part, Speaker};
use bough::internals::ops::convert::{self, Conversion, Options, TARGETS, Thinking};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The sessions that come with the tests, and those of the examples.
fn sources() -> Vec<PathBuf> {
    let project = files::project();
    let folders = ["pi", "chimera", "claude-code", "guests", "derived", "sent"]
        .map(|name| format!("tests/cli/sessions/{name}"));
    let mut out = Vec::new();
    for folder in folders.into_iter().chain(["examples/sessions".into()]) {
        for entry in fs::read_dir(project.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "jsonl" || ending == "json") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn read(bytes: &[u8]) -> Option<(Session, Table)> {
    Some((Session::read(bytes)?, Table(vec![bytes.to_vec()])))
}

fn convert(session: &Session, source: &dyn Source, to: Format) -> Option<Vec<u8>> {
    convert_with(session, source, to, Thinking::Drop).map(|made| made.bytes)
}

fn convert_with(
    session: &Session,
    source: &dyn Source,
    to: Format,
    thinking: Thinking,
) -> Option<Conversion> {
    let options = Options {
        to,
        thinking,
        session: "01900000-0000-7000-8000-000000000001".into(),
        cwd: "/work/project".into(),
        carry: true,
        back: true,
        map_tools: false,
        new_id: false,
    };
    let whole = Snapshot { session, source };
    convert::convert(whole, &options, &mut Ids::seeded("x"), Time(1_772_442_000_000)).ok()
}

/// What is said on the way to a turn, without what no conversion carries over: thoughts, the ids of
/// calls (only which call a result answers), and the number of blocks that texts are split into.
fn said(conversation: &Conversation, last: Option<usize>) -> Vec<Value> {
    let mut path = Vec::new();
    let mut at = last;
    while let Some(turn) = at {
        path.push(turn);
        at = conversation.turns[turn].parent;
    }
    let mut calls: Vec<String> = Vec::new();
    let mut out: Vec<Value> = Vec::new();
    for turn in path.into_iter().rev().map(|at| &conversation.turns[at]) {
        let who = match &turn.speaker {
            Speaker::User => json!("user"),
            Speaker::Model { .. } => json!("model"),
            Speaker::Tool { call, name, .. } => {
                json!(["tool", calls.iter().rposition(|known| known == call), name])
            }
        };
        for part in &turn.parts {
            let said = match part {
                Part::Text(text) if text.is_empty() => continue,
                Part::Text(text) => json!({ "text": text }),
                Part::Thinking(_) => continue,
                Part::Image { data, .. } => json!({ "image": data }),
                Part::Call { id, name, arguments } => {
                    calls.push(id.clone());
                    let arguments = serde_json::from_str(arguments).unwrap_or(json!({ "input": arguments }));
                    json!({ "call": name, "arguments": arguments })
                }
            };
            // Texts of one speaker may be joined.
            if let (Some(last), Some(text)) = (out.last_mut(), said["text"].as_str())
                && last["who"] == who
                && let Some(before) = last["said"]["text"].as_str()
            {
                last["said"]["text"] = format!("{before}\n\n{text}").into();
                continue;
            }
            out.push(json!({ "who": who, "said": said }));
        }
    }
    // Claude Code needs a prompt before the first reply.
    let first = out.first().and_then(|first| first["said"]["text"].as_str()).unwrap_or_default();
    match first.strip_prefix(NO_PROMPT).map(|rest| rest.strip_prefix("\n\n").unwrap_or(rest).to_owned()) {
        Some(rest) if rest.is_empty() => drop(out.remove(0)),
        Some(rest) => out[0]["said"]["text"] = rest.into(),
        None => {}
    }
    out
}

fn all_branches(session: &Session, source: &dyn Source) -> (Vec<Value>, BTreeSet<String>) {
    let whole = Snapshot { session, source };
    let conversation = conversation::read(whole, &convert::tips(whole).unwrap()).unwrap();
    let mut has_next = vec![false; conversation.turns.len()];
    conversation.turns.iter().filter_map(|turn| turn.parent).for_each(|parent| has_next[parent] = true);
    let ends = (0..has_next.len()).filter(|at| !has_next[*at]);
    let branches = ends.map(|end| json!(said(&conversation, Some(end))).to_string()).collect();
    (said(&conversation, conversation.head), branches)
}

/// Removes what a target can't hold. Texts before and after an image are then one.
fn without_images(said: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for item in said.iter().filter(|item| item["said"]["image"].is_null()) {
        match (out.last_mut(), item["said"]["text"].as_str()) {
            (Some(last), Some(text)) if last["who"] == item["who"] && last["said"]["text"].is_string() => {
                let before = last["said"]["text"].as_str().unwrap_or_default();
                last["said"]["text"] = format!("{before}\n\n{text}").into();
            }
            _ => out.push(item.clone()),
        }
    }
    out
}

#[test]
fn a_converted_session_sends_what_the_old_one_sends() {
    let (mut wrong, mut compared, mut branches) = (Vec::new(), 0, 0);
    for path in sources() {
        let Some((session, source)) = read(&fs::read(&path).unwrap()) else { continue };
        let (head, all) = all_branches(&session, &source);
        for to in TARGETS {
            let Some(bytes) = convert(&session, &source, to) else { continue };
            // bough joins an object that spans several lines; the agents do not.
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                assert!(
                    line.starts_with(b"{") && line.ends_with(b"}"),
                    "{path:?} to {to:?}: {}",
                    line.escape_ascii()
                );
            }
            let (new, new_source) = read(&bytes).unwrap();
            let (new_head, new_all) = all_branches(&new, &new_source);
            let same = match to {
                Format::Chimera => without_images(&head) == without_images(&new_head),
                _ => head == new_head,
            };
            if !same {
                let at = (0..).find(|at| head.get(*at) != new_head.get(*at)).unwrap();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                wrong.push(format!(
                    "{name} to {}, {at}:\n  {:?}\n  {:?}",
                    to.name(),
                    head.get(at),
                    new_head.get(at)
                ));
            }
            let has_images = all.iter().any(|branch| branch.contains("\"image\""));
            if same && to != Format::Codex && !(to == Format::Chimera && has_images) {
                // Claude Code's thread puts a conversation that begins with a reply after another one, even
                // with a prompt of the program before it.
                let stands = |_: &&String| to != Format::Claude || !has_reply_first(&all);
                let is_gone = |branch: &&String| !new_all.iter().any(|new| is_start(branch, new));
                for lost in all.difference(&new_all).filter(stands).filter(is_gone) {
                    wrong.push(format!("{} to {}: a branch is lost: {lost}", path.display(), to.name()));
                }
                branches += all.len();
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 1000 && branches > 1500, "{compared} {branches}");
}

fn has_reply_first(branches: &BTreeSet<String>) -> bool {
    branches.iter().any(|branch| branch.starts_with(r#"[{"who":"model""#))
}

/// Returns whether a branch is the beginning of another.
fn is_start(branch: &str, of: &str) -> bool {
    let [branch, of] = [branch, of].map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap());
    of.starts_with(&branch)
}

#[test]
fn nothing_but_known_faults_is_in_a_converted_session() {
    for path in sources() {
        let Some((session, source)) = read(&fs::read(&path).unwrap()) else { continue };
        for to in TARGETS {
            let Some(bytes) = convert(&session, &source, to) else { continue };
            let new = Session::read(&bytes).unwrap();
            let name = format!("{} to {}", path.display(), to.name());
            assert!(new.faults.is_empty(), "{name}: {:?}", new.faults);
            assert_eq!(new.format, to, "{name}");
        }
    }
}

#[test]
fn what_nobody_typed_is_no_prompt_in_a_session_of_pi() {
    let lines = [
        json!({ "type": "user", "uuid": "u1", "parentUuid": null, "message": { "role": "user", "content": "hello" } }),
        json!({ "type": "attachment", "uuid": "u2", "parentUuid": "u1",
            "attachment": { "type": "critical_system_reminder", "content": "be short" } }),
        json!({ "type": "assistant", "uuid": "a1", "parentUuid": "u2",
            "message": { "id": "m1", "role": "assistant", "content": [{ "type": "text", "text": "hi" }] } }),
        json!({ "type": "user", "uuid": "u3", "parentUuid": "a1", "isMeta": true,
            "message": { "role": "user", "content": "a caveat" } }),
        json!({ "type": "user", "uuid": "u4", "parentUuid": "u3", "message": { "role": "user", "content": "go on" } }),
        json!({ "type": "assistant", "uuid": "a2", "parentUuid": "u4",
            "message": { "id": "m2", "role": "assistant", "content": [{ "type": "text", "text": "ok" }] } }),
    ];
    let text: String = lines
        .into_iter()
        .map(|mut line| {
            line["sessionId"] = "5e550001-0000-4000-8000-000000000001".into();
            line["timestamp"] = "2026-03-02T09:00:00.000Z".into();
            format!("{line}\n")
        })
        .collect();
    let (session, source) = read(text.as_bytes()).unwrap();
    for to in [Format::Pi, Format::Omp] {
        let bytes = convert(&session, &source, to).unwrap();
        let (new, source) = read(&bytes).unwrap();
        let whole = Snapshot { session: &new, source: &source };
        let conversation = conversation::read(whole, &[]).unwrap();
        let by_user = conversation.turns.iter().filter(|turn| turn.speaker == Speaker::User);
        let said: Vec<(bool, String)> = by_user
            .map(|turn| {
                let texts = turn.parts.iter().filter_map(|part| match part {
                    Part::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                (turn.is_put_in, texts.collect())
            })
            .collect();
        let typed: Vec<&str> =
            said.iter().filter(|(is_put_in, _)| !is_put_in).map(|(_, text)| &**text).collect();
        assert_eq!(typed, ["hello", "go on"], "{}: {said:?}", to.name());
        let put_in = |word: &str| said.iter().any(|(is_put_in, text)| *is_put_in && text.contains(word));
        assert!(put_in("be short") && put_in("a caveat"), "{}: {said:?}", to.name());
    }
}

/// Returns what is said on the way to HEAD after a conversion, in short: `user: text`, `call 1`,
/// `result 1: text`.
fn in_short(lines: &[Value], to: Format) -> Vec<String> {
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (session, source) = read(bytes.as_bytes()).unwrap();
    let bytes = convert(&session, &source, to).unwrap();
    let (new, source) = read(&bytes).unwrap();
    let whole = Snapshot { session: &new, source: &source };
    let conversation = conversation::read(whole, &[]).unwrap();
    let mut out = Vec::new();
    let text = |parts: &[Part]| match parts {
        [Part::Text(text)] => text.clone(),
        parts => format!("{} parts", parts.len()),
    };
    for turn in &conversation.turns {
        match &turn.speaker {
            Speaker::User => out.push(format!("user: {}", text(&turn.parts))),
            Speaker::Tool { call, .. } => out.push(format!("result {call}: {}", text(&turn.parts))),
            Speaker::Model { .. } => out.extend(turn.parts.iter().map(|part| match part {
                Part::Call { id, .. } => format!("call {id}"),
                part => format!("model: {}", text(std::slice::from_ref(part))),
            })),
        }
    }
    out
}

fn chimera(id: u32, message: Value) -> Value {
    let before = (id > 1).then(|| format!("{:012x}", id - 1));
    json!({ "type": "message", "id": format!("{id:012x}"), "parent_id": before, "timestamp": 1.5, "message": message })
}

fn codex(items: Vec<Value>) -> Vec<Value> {
    let line = |ty: &str, payload: Value| json!({ "timestamp": "2026-11-28T10:00:00.000Z", "type": ty, "payload": payload });
    let meta = json!({
        "id": "01900000-0000-7000-8000-000000000001", "timestamp": "2026-11-28T10:00:00.000Z", "cwd": "/work",
        "originator": "codex_exec", "cli_version": "0.171.0", "source": "exec",
    });
    let items = items.into_iter().map(|item| line("response_item", item));
    [line("session_meta", meta)].into_iter().chain(items).collect()
}

fn codex_said(role: &str, text: &str) -> Value {
    let ty = if role == "user" { "input_text" } else { "output_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": ty, "text": text }] })
}

fn codex_call(id: &str) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": "bash", "arguments": "{}" })
}

fn codex_result(id: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": id, "output": "ok" })
}

#[test]
fn a_prompt_after_a_call_without_a_result_is_kept_at_the_end() {
    let call = |id: &str| json!({ "id": id, "name": "bash", "arguments": {} });
    let lines = [
        chimera(1, json!({ "role": "user", "content": "do it" })),
        chimera(2, json!({ "role": "assistant", "content": "", "tool_calls": [call("c1"), call("c2")] })),
        chimera(3, json!({ "role": "tool", "content": "ok", "call_id": "c1" })),
        chimera(4, json!({ "role": "user", "content": "stop" })),
    ];
    let wanted = [
        "user: do it",
        "call c1",
        "call c2",
        "result c1: ok",
        "result c2: (no result was recorded)",
        "user: stop",
    ];
    for to in TARGETS {
        assert_eq!(in_short(&lines, to), wanted, "{}", to.name());
    }
}

#[test]
fn a_result_that_codex_makes_up_does_not_part_the_reply() {
    let lines = codex(vec![
        codex_said("user", "do it"),
        codex_call("c1"),
        codex_call("c2"),
        codex_call("c3"),
        codex_result("c1"),
        codex_result("c3"),
        codex_said("assistant", "done"),
    ]);
    let wanted = [
        "user: do it",
        "call c1",
        "call c2",
        "call c3",
        "result c1: ok",
        "result c3: ok",
        "result c2: aborted",
        "model: done",
    ];
    for to in TARGETS {
        assert_eq!(in_short(&lines, to), wanted, "{}", to.name());
    }
}

#[test]
fn what_comes_after_a_call_that_was_cut_off_is_another_reply() {
    let lines = codex(vec![
        codex_said("user", "do it"),
        codex_call("c1"),
        codex_said("assistant", "again"),
        codex_call("c2"),
        codex_result("c2"),
    ]);
    let wanted = ["user: do it", "call c1", "result c1: aborted", "model: again", "call c2", "result c2: ok"];
    for to in TARGETS {
        assert_eq!(in_short(&lines, to), wanted, "{}", to.name());
    }

    let lines = codex(vec![
        codex_said("user", "do it"),
        codex_call("c1"),
        codex_said("user", "stop"),
        codex_call("c2"),
        codex_result("c2"),
    ]);
    let wanted = ["user: do it", "call c1", "result c1: aborted", "user: stop", "call c2", "result c2: ok"];
    for to in TARGETS {
        assert_eq!(in_short(&lines, to), wanted, "{}", to.name());
    }
}

/// Returns the turns on the way to HEAD after a conversion, each in short: a reply with all its parts.
fn turns_in_short(lines: &[Value], to: Format) -> Vec<String> {
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (session, source) = read(bytes.as_bytes()).unwrap();
    let made = convert_with(&session, &source, to, Thinking::Keep).unwrap();
    let (new, source) = read(&made.bytes).unwrap();
    let whole = Snapshot { session: &new, source: &source };
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Call { id, .. } => format!("call {id}"),
        part => panic!("{part:?}"),
    };
    let conversation = conversation::read(whole, &[]).unwrap();
    let turn = |turn: &conversation::Turn| {
        let said: Vec<String> = turn.parts.iter().map(part).collect();
        match &turn.speaker {
            Speaker::User => format!("user: {}", said.join(", ")),
            Speaker::Tool { call, .. } => format!("result {call}: {}", said.join(", ")),
            Speaker::Model { .. } => format!("model: {}", said.join(", ")),
        }
    };
    conversation.turns.iter().map(turn).collect()
}

#[test]
#[rustfmt::skip] // a table
fn replies_with_something_between_them_stay_two() {
    let check = |items: &str, wanted: &[&str]| {
        let items = items.split("; ").map(|item| match item.split_once(' ').unwrap() {
            ("call", id) => codex_call(id),
            ("result", id) => codex_result(id),
            ("user", text) => codex_said("user", text),
            (_, text) => codex_said("assistant", text),
        });
        let lines = codex(items.collect());
        for to in TARGETS.into_iter().filter(|to| *to != Format::Codex) {
            assert_eq!(turns_in_short(&lines, to), wanted, "{}", to.name());
        }
        // Items of Codex are not marked as parts of a reply: a call belongs to the text before it.
        let flat = wanted.join("; ").replace("; model: call", ", call").replace("user: p, call", "user: p; model: call");
        assert_eq!(turns_in_short(&lines, Format::Codex).join("; "), flat);
    };
    // A result before its call is put behind it, and what follows is another reply.
    check("user p; result c1; call c1; user q; model a",
        &["user: p", "model: call c1", "result c1: ok", "user: q", "model: a"]);
    check("user p; model a; result c1; call c1; user q; model b",
        &["user: p", "model: a", "model: call c1", "result c1: ok", "user: q", "model: b"]);
    check("user p; model a; result c1; call c1; model b; user q; model c",
        &["user: p", "model: a", "model: call c1", "result c1: ok", "model: b", "user: q", "model: c"]);
    check("user p; result c1; model a; call c1; call c2; result c2; user q; model b",
        &["user: p", "model: a, call c1, call c2", "result c2: ok", "result c1: ok", "user: q", "model: b"]);
    // Much later.
    check("user p; model a; result c1; model b; user q; model c; call c1; user r; model d",
        &["user: p", "model: a", "model: b", "user: q", "model: c, call c1", "result c1: ok", "user: r", "model: d"]);
    // A result after the call counts more than one before it.
    check("user p; result c1; call c1; result c1; model a",
        &["user: p", "model: call c1", "result c1: ok", "model: a"]);
    // Texts are messages of their own, also without anything between them.
    check("user p; model a; model b; call c1; result c1; model c",
        &["user: p", "model: a", "model: b, call c1", "result c1: ok", "model: c"]);
    // What the user says before the results come.
    check("user p; call c1; user q; call c2; result c1; result c2; model a",
        &["user: p", "model: call c1, call c2", "result c1: ok", "result c2: ok", "user: q", "model: a"]);
    check("user p; call c1; user q; model a; result c2; model b",
        &["user: p", "model: call c1", "result c1: aborted", "user: q", "model: a", "model: b"]);
}

#[test]
fn replies_of_claude_code_are_told_apart_by_their_ids() {
    let line = |at: usize, role: &str, id: &str, text: &str| {
        let own = |at: usize| format!("{at:08x}-0000-4000-8000-000000000000");
        let mut message = json!({ "role": role, "content": [{ "type": "text", "text": text }] });
        if role == "assistant" {
            message["id"] = id.into();
            message["model"] = "claude-m".into();
        }
        json!({
            "parentUuid": at.checked_sub(1).map(own), "isSidechain": false, "cwd": "/work", "sessionId": own(99),
            "version": "2.1.332", "type": role, "message": message, "uuid": own(at),
            "timestamp": "2026-11-28T10:00:00.000Z",
        })
    };
    let lines = [
        line(0, "user", "", "p"),
        line(1, "assistant", "msg_1", "a"),
        line(2, "assistant", "msg_1", "b"),
        line(3, "assistant", "msg_2", "c"),
    ];
    for to in [Format::Pi, Format::Omp] {
        assert_eq!(turns_in_short(&lines, to), ["user: p", "model: a, b", "model: c"], "{}", to.name());
    }
    assert_eq!(turns_in_short(&lines, Format::Chimera), ["user: p", "model: a\n\nb", "model: c"]);
}

#[test]
fn claude_code_gets_a_prompt_before_the_first_reply_and_no_blank_texts() {
    let lines = [
        chimera(1, json!({ "role": "user", "content": " \n" })),
        chimera(2, json!({ "role": "assistant", "content": "hello" })),
        chimera(3, json!({ "role": "assistant", "content": "\n" })),
        chimera(4, json!({ "role": "user", "content": "hi" })),
    ];
    let said = in_short(&lines, Format::Claude);
    assert_eq!(said, ["user: (no prompt was recorded)", "model: hello", "user: hi"]);
    assert_eq!(in_short(&lines, Format::Pi), ["user:  \n", "model: hello", "model: \n", "user: hi"]);
}

/// The formats that carry the lines of another.
const CARRIERS: [Format; 5] = TARGETS;

/// The sessions of `sources` and of the reference files that are there, of agents that sessions are
/// converted to.
fn all_sources() -> Vec<(PathBuf, Vec<u8>)> {
    let shared =
        std::env::var_os("BOUGH_SHARED").map_or_else(|| files::project().join("../shared"), PathBuf::from);
    let mut out = sources();
    for folder in ["pi", "chimera", "claude-code", "claude-code-real"] {
        let Ok(entries) = fs::read_dir(shared.join("corpus").join(folder)) else { continue };
        let paths = entries.map(|entry| entry.unwrap().path());
        out.extend(paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")));
    }
    out.sort();
    let mut known = BTreeSet::new();
    let files = out.into_iter().map(|path| (path.clone(), fs::read(path).unwrap()));
    files.filter(|(_, bytes)| known.insert(bytes.clone())).collect()
}

/// Calls `each` for each session and each format that carries it, with the converted session.
fn each_carried(mut each: impl FnMut(&str, &[u8], Format, &[u8])) {
    for (path, bytes) in all_sources() {
        let Some((session, source)) = read(&bytes) else { continue };
        if !TARGETS.iter().any(|target| target.agent() == session.format.agent()) {
            continue;
        }
        for via in CARRIERS.into_iter().filter(|via| via.agent() != session.format.agent()) {
            let Some(made) = convert_with(&session, &source, via, Thinking::Keep) else { continue };
            let name = format!("{} by {}", path.file_name().unwrap().to_string_lossy(), via.name());
            each(&name, &bytes, session.format, &made.bytes);
        }
    }
}

/// Calls `each` as `each_carried` does, with a seed that is the same wherever the files are: one for each
/// of the rounds that the environment variable `BOUGH_ROUNDS` asks for, or for one round.
fn each_seeded(mut each: impl FnMut(u64, &str, &[u8], Format, &[u8])) {
    let rounds: u64 = std::env::var("BOUGH_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    each_carried(|name, bytes, format, carried| {
        let seed = name.bytes().fold(0u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
        for round in 0..rounds {
            each(seed.wrapping_add(round), name, bytes, format, carried);
        }
    });
}

fn back(bytes: &[u8], to: Format) -> Option<Conversion> {
    let (session, source) = read(bytes).unwrap();
    let to = TARGETS.into_iter().find(|target| target.agent() == to.agent()).unwrap();
    convert_with(&session, &source, to, Thinking::Keep)
}

#[test]
fn a_session_that_was_not_touched_comes_back_byte_for_byte() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    each_carried(|name, bytes, format, carried| {
        let made = back(carried, format);
        count += 1;
        if made.as_ref().is_none_or(|made| made.bytes != bytes) {
            wrong.push(format!("{name}: {:?}", made.map(|made| made.not_back)));
        }
    });
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 500, "{count}");
}

/// Appends a prompt at HEAD.
fn with_prompt(bytes: &[u8]) -> Vec<u8> {
    let (session, source) = read(bytes).unwrap();
    let whole = Snapshot { session: &session, source: &source };
    let parent = session.head.exact.map(|head| whole.raw_id(head).unwrap());
    let now = Time(1_772_445_600_000);
    let mut out = bytes.to_vec();
    if session.format == Format::Claude {
        let parent: Value = parent.map_or(Value::Null, |parent| serde_json::from_slice(&parent).unwrap());
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "type": "user", "userType": "external", "cwd": "/work/project",
            "message": { "role": "user", "content": "go on, please" }, "uuid": "99999999-0000-4000-8000-000000000001",
            "sessionId": session.id(), "version": "2.1.332", "timestamp": now.iso(),
        });
        out.extend(format!("{line}\n").into_bytes());
        return out;
    }
    if session.format == Format::Codex {
        let content = json!([{ "type": "input_text", "text": "go on, please" }]);
        let item = json!({ "type": "message", "role": "user", "content": content });
        let line = json!({ "timestamp": now.iso(), "type": "response_item", "payload": item });
        out.extend(format!("{line}\n").into_bytes());
        return out;
    }
    let id = if session.format == Format::Chimera { "999999999999" } else { "99999999" };
    let new = New { id, parent: parent.as_deref(), now };
    let prompt = Addition::Prompt { text: "go on, please" };
    out.extend(session.format.dialect().addition(&new, &prompt).unwrap());
    out
}

fn said_at_head(bytes: &[u8]) -> Vec<Value> {
    let (session, source) = read(bytes).unwrap();
    let whole = Snapshot { session: &session, source: &source };
    let conversation = conversation::read(whole, &[]).unwrap();
    said(&conversation, conversation.head)
}

#[test]
fn what_was_added_since_is_put_after_the_old_lines() {
    let (mut wrong, mut count, mut anew) = (Vec::new(), 0, Vec::new());
    each_carried(|name, bytes, format, carried| {
        if !TARGETS.contains(&format) {
            return;
        }
        let longer = with_prompt(carried);
        let made = back(&longer, format).unwrap();
        count += 1;
        if made.came_back.is_none() {
            anew.push(format!("{name}: {:?}", made.not_back));
            return;
        }
        let last = said_at_head(&made.bytes).pop();
        let is_said = last.as_ref().is_some_and(|last| {
            last["said"]["text"].as_str().is_some_and(|text| text.ends_with("go on, please"))
        });
        if !made.bytes.starts_with(bytes) || !is_said {
            wrong.push(format!("{name}: {last:?}"));
        }
    });
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(anew.len() * 20 < count, "{} of {count} anew:\n{}", anew.len(), anew.join("\n"));
}

/// Damage that takes no entry away: what it does to the lines of a file.
type Damage = (&'static str, fn(&mut Vec<Vec<u8>>, &mut Chance));

#[rustfmt::skip] // a table
const DAMAGE: [Damage; 7] = [
    ("garbage between lines", |lines, chance| lines.insert(1 + chance.below(lines.len() as u64) as usize, b"\xff{\"oops".to_vec())),
    ("a line torn at the end", |lines, _| lines.push(b"{\"type\":\"message\",\"id\":\"12".to_vec())),
    ("NUL bytes at the end", |lines, _| lines.push(vec![0; 64])),
    ("two lines glued", |lines, chance| {
        let at = chance.below(lines.len() as u64 - 1) as usize;
        let next = lines.remove(at + 1);
        lines[at].extend(next);
    }),
    ("a line twice", |lines, chance| {
        let at = 1 + chance.below(lines.len() as u64 - 1) as usize;
        lines.insert(at, lines[at].clone());
    }),
    ("blank lines", |lines, chance| lines.insert(1 + chance.below(lines.len() as u64) as usize, Vec::new())),
    ("a carriage return", |lines, chance| {
        let at = chance.below(lines.len() as u64) as usize;
        lines[at].push(b'\r');
    }),
];

fn repaired(bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let old = Table(vec![bytes.to_vec()]);
    let around = NoSurroundings("01900000-0000-7000-8000-000000000001");
    let examined = match fsck::examine(None, &old, bytes.len() as u64, None, &around) {
        Ok(examined) => examined,
        Err(error) => return Err(error.to_string()),
    };
    match fsck::repair(&examined, &old, &around, &RepairOptions::default(), &mut Ids::seeded("1")) {
        Ok(repair) if repair.plan.is_empty() => Ok(Some(bytes.to_vec())),
        Ok(repair) => Ok(Some(applied(&repair.plan, &old))),
        // Codex's are only read.
        Err(NoRepair::ReadOnly) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn old_lines_come_back_after_the_new_file_was_damaged_and_repaired() {
    let (mut wrong, mut count, mut anew, mut refused) = (Vec::new(), 0, Vec::new(), Vec::new());
    each_seeded(|seed, name, bytes, format, carried| {
        let (what, damage) = DAMAGE[(seed % DAMAGE.len() as u64) as usize];
        if !TARGETS.contains(&format) || seed % 3 != 0 || name.ends_with("by codex") {
            return;
        }
        let mut lines: Vec<Vec<u8>> = carried.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.pop();
        damage(&mut lines, &mut Chance::new(seed));
        let damaged = lines.join(&b'\n');
        let repaired = match repaired(&damaged) {
            Ok(Some(repaired)) => repaired,
            Ok(None) => return,
            // The repair is not proven, and nothing is written.
            Err(error) => return refused.push(format!("{name}, {seed}, {what}: {error}")),
        };
        let made = back(&repaired, format).unwrap();
        count += 1;
        if without_images(&said_at_head(&made.bytes)) != without_images(&said_at_head(&repaired)) {
            wrong.push(format!("{name}, {seed}, {what}: it says something else"));
        }
        if made.came_back.is_none() {
            anew.push(format!("{name}, {seed}, {what}: {:?}", made.not_back));
        } else if made.bytes != bytes {
            wrong.push(format!("{name}, {seed}, {what}: other bytes"));
        }
    });
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(anew.is_empty(), "{} of {count} anew:\n{}", anew.len(), anew.join("\n"));
    assert!(refused.len() * 50 < count, "{} of {count} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(count > 100, "{count}");
}

/// Returns the id of an entry of any format that sessions are converted to.
fn id_of(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_str(&String::from_utf8_lossy(line)).ok()?;
    ["uuid", "id"].into_iter().map(|key| &line[key]).find(|id| !id.is_null()).map(Value::to_string)
}

/// Returns how many lines have each id.
fn ids_of(bytes: &[u8]) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    bytes.split(|byte| *byte == b'\n').filter_map(id_of).for_each(|id| *out.entry(id).or_default() += 1);
    out
}

/// Returns how many old lines an entry of the new file stands for, as the new file says.
fn lines_of(lines: &[Vec<u8>], id: &str) -> usize {
    let id: Value = serde_json::from_str(id).unwrap();
    let made = lines.iter().filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let made = made.flat_map(|line| line["data"]["made"].as_array().cloned().unwrap_or_default());
    made.filter(|made| made[0] == id).map(|made| made[3].as_array().map_or(0, Vec::len)).sum()
}

/// An entry of the new file is lost with its line: the others come back as they were, and the prompt
/// that was added since comes after them.
#[test]
fn a_lost_entry_of_the_new_file_does_not_cost_the_other_old_lines() {
    let (mut wrong, mut count, mut anew) = (Vec::new(), 0, Vec::new());
    each_seeded(|seed, name, bytes, format, carried| {
        if !TARGETS.contains(&format) || seed % 5 != 0 || name.ends_with("by codex") {
            return;
        }
        let mut lines: Vec<Vec<u8>> =
            with_prompt(carried).split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        // Neither the header, nor the lines that carry the old ones, nor the new prompt.
        let is_message = |line: &Vec<u8>| {
            let line: Value = serde_json::from_slice(line).unwrap_or_default();
            line["message"].is_object()
        };
        let messages: Vec<usize> = (0..lines.len() - 2).filter(|at| is_message(&lines[*at])).collect();
        let mut chance = Chance::new(seed);
        let Some(at) = messages.get(chance.below(messages.len().max(1) as u64) as usize) else { return };
        let torn_id = id_of(&lines[*at]).unwrap();
        let stood_for = lines_of(&lines, &torn_id);
        let torn = lines[*at].len() / 2;
        lines[*at].truncate(torn);
        let repaired = match repaired(&lines.join(&b'\n')) {
            Ok(Some(repaired)) => repaired,
            Ok(None) => return,
            Err(error) => return wrong.push(format!("{name}, {seed}: {error}")),
        };
        let made = back(&repaired, format).unwrap();
        count += 1;
        if without_images(&said_at_head(&made.bytes)) != without_images(&said_at_head(&repaired)) {
            wrong.push(format!("{name}, {seed}: it says something else"));
        }
        if made.came_back.is_none() {
            anew.push(format!("{name}: {:?}", made.not_back));
            return;
        }
        // What the torn line stood for is gone: Claude Code stores each part of a reply in a line. What
        // named one of these lines was linked anew. Nothing else changed.
        let new: BTreeSet<&[u8]> = made.bytes.split(|byte| *byte == b'\n').collect();
        let ids = ids_of(&made.bytes);
        let old_ids = ids_of(bytes);
        let is_kept = |id: &String| ids.get(id) >= old_ids.get(id);
        let changed = bytes.split(|byte| *byte == b'\n').filter(|line| !new.contains(line));
        let (linked, gone): (Vec<&[u8]>, Vec<&[u8]>) = changed
            .filter(|line| id_of(line).is_some())
            .partition(|line| id_of(line).is_some_and(|id| is_kept(&id)));
        let gone_ids: Vec<String> = gone.iter().filter_map(|line| id_of(line)).collect();
        if gone.len() > stood_for {
            wrong.push(format!("{name}, {seed}: {} old lines are gone, not {stood_for}", gone.len()));
        }
        for line in linked {
            let line = String::from_utf8_lossy(line);
            if !gone_ids.iter().any(|id| line.contains(id.as_str())) {
                wrong.push(format!("{name}, {seed}: changed without need: {line}"));
            }
        }
    });
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(anew.len() * 2 < count, "{} of {count} anew:\n{}", anew.len(), anew.join("\n"));
    assert!(count > 60, "{count}");
}

#[test]
fn a_label_and_a_switch_come_along() {
    let (mut wrong, mut count, mut anew) = (Vec::new(), 0, Vec::new());
    each_carried(|name, bytes, format, carried| {
        let (session, source) = read(carried).unwrap();
        // Codex has neither labels nor switches.
        if !TARGETS.contains(&format) || format == Format::Codex || session.format == Format::Codex {
            return;
        }
        let whole = Snapshot { session: &session, source: &source };
        let conversation = conversation::read(whole, &[]).unwrap();
        // HEAD goes two turns back, and the turn there gets a label.
        let Some(at) = conversation.head.and_then(|head| conversation.turns[head].parent) else { return };
        let Some(entry) = conversation.turns[at].entry else { return };
        let id = whole.raw_id(entry).unwrap();
        let now = Time(1_772_445_600_000);
        let mut new = carried.to_vec();
        if session.format == Format::Claude {
            let own = session.id();
            new.extend(claude::write::label(&id, "here", own.as_deref(), now));
            new.extend(claude::write::pin(None, Some(&id), own.as_deref()));
        } else {
            let ids = ["99999999a001", "99999999a002"]
                .map(|id| &id[if session.format == Format::Chimera { 0 } else { 4 }..]);
            let dialect = session.format.dialect();
            new.extend(dialect.marker(&New { id: ids[0], parent: Some(&id), now }, None, Some(&id)).unwrap());
            let parent = format!("\"{}\"", ids[0]);
            let label = New { id: ids[1], parent: Some(parent.as_bytes()), now };
            new.extend(dialect.label(&label, &id, Some("here")).unwrap());
        }
        let made = back(&new, format).unwrap();
        count += 1;
        if made.came_back.is_none() {
            anew.push(format!("{name}: {:?}", made.not_back));
            return;
        }
        let (old, _) = read(&made.bytes).unwrap();
        // A result that the conversion invented is not in the old session: its label is lost.
        let has_label =
            old.labels.all().any(|(_, label)| label.text == "here") || made.losses.contains_key("labels");
        if !made.bytes.starts_with(bytes) || !has_label {
            wrong.push(name.to_owned());
        }
    });
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    // HEAD can't be put on a message that an old compaction keeps, nor on an entry without an id.
    assert!(anew.len() * 10 < count, "{} of {count} anew:\n{}", anew.len(), anew.join("\n"));
}

#[test]
fn a_chain_carries_the_old_lines_once_and_leads_back() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, bytes) in all_sources() {
        let Some((session, _)) = read(&bytes) else { continue };
        if !TARGETS.contains(&session.format) {
            continue;
        }
        let hop = |bytes: &[u8], to: Format| {
            let (session, source) = read(bytes).unwrap();
            convert_with(&session, &source, to, Thinking::Keep).map(|made| made.bytes)
        };
        let ways =
            [[Format::Claude, Format::Chimera, Format::Omp], [Format::Omp, Format::Claude, Format::Pi]];
        for way in ways {
            let way: Vec<Format> = way.into_iter().filter(|to| *to != session.format).collect();
            // A turn may say nothing in one of the formats.
            let Some(sizes) = way.iter().try_fold((bytes.clone(), Vec::new()), |(at, mut sizes), to| {
                let next = hop(&at, *to)?;
                sizes.push(next.len());
                Some((next, sizes))
            }) else {
                continue;
            };
            let (last, sizes) = sizes;
            count += 1;
            let back = hop(&last, session.format);
            let longer = hop(&with_prompt(&last), session.format).unwrap();
            let is_said = format!("{:?}", said_at_head(&longer).last()).contains("go on, please");
            if back.as_ref() != Some(&bytes)
                || sizes.iter().any(|size| *size > 3 * sizes[0] + 10_000)
                || !is_said
            {
                wrong.push(format!(
                    "{} by {way:?}: {sizes:?}, {}",
                    path.display(),
                    back.as_ref() == Some(&bytes)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "{count}");
}

#[test]
fn claude_code_gets_its_own_compactions() {
    let line = |id: u32, more: Value| {
        let mut line = json!({
            "type": "message", "id": format!("{id:08x}"), "parentId": (id > 1).then(|| format!("{:08x}", id - 1)),
            "timestamp": "2026-11-28T10:00:00.000Z",
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let says = |text: &str| json!({ "message": { "role": "user", "content": text, "timestamp": 1 } });
    let header = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-11-28T10:00:00.000Z", "cwd": "/work" });
    let lines = [
        header,
        line(1, says("old")),
        line(2, says("kept")),
        line(
            3,
            json!({ "type": "compaction", "summary": "so far", "firstKeptEntryId": "00000002", "tokensBefore": 9 }),
        ),
        line(4, says("new")),
    ];
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (session, source) = read(bytes.as_bytes()).unwrap();
    let made = convert_with(&session, &source, Format::Claude, Thinking::Keep).unwrap();
    let texts: Vec<Value> = made
        .bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let entries: Vec<&Value> = texts.iter().filter(|line| !line["uuid"].is_null()).collect();
    let boundary = entries.iter().position(|line| line["subtype"] == "compact_boundary").unwrap();
    assert_eq!(entries[boundary]["logicalParentUuid"], entries[boundary - 1]["uuid"]);
    assert_eq!(entries[boundary - 1]["message"]["content"], "kept");
    assert_eq!(entries[boundary + 1]["isCompactSummary"], true);
    let after: Vec<&Value> = entries[boundary + 2..].iter().map(|line| &line["message"]["content"]).collect();
    assert_eq!(after, ["kept", "new"]);
}
