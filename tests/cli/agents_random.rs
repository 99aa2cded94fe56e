//! Random sessions of pi, oh-my-pi and Chimera: HEAD, path, labels and context are what these
//! programs were observed to make of them.

use crate::support::chance::Chance;
use crate::support::messages::{chimera_messages, roles_and_texts, sha256};
use crate::support::recording::{self, runs};
use crate::support::{files, need};
use bough::internals::context::Context;
use bough::internals::format::{Builder, Format, Session};
use bough::internals::model::{Ix, Source, Table};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RECORD: &str = "agents-random.tsv";
const PROGRAMS: [&str; 3] = ["pi", "omp", "chimera"];

/// Compares with the recorded answers of the programs: the program, the seed, HEAD, the path, the
/// labels, and the messages that are sent. The test below records anew with `BOUGH_BLESS`.
#[test]
fn random_sessions_load_as_in_their_programs() {
    let recorded = recording::read(RECORD);
    let mut wrong = Vec::new();
    for line in recorded.lines().skip(1) {
        let [program, seed, theirs] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else {
            panic!("three fields: {line}");
        };
        let ours = row(&ours(program, &session(program, seed.parse().unwrap())), seed);
        if ours != theirs {
            wrong.push(format!("{program} {seed}\n  ours   {ours}\n  theirs {theirs}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    for program in PROGRAMS {
        let rows = recorded.lines().filter(|row| row.starts_with(&format!("{program}\t")));
        assert!(rows.count() >= 40, "{program}");
    }
}

/// Asks the real programs, if `BOUGH_PEERS` contains them: seeds from `BOUGH_FROM`, as many of each
/// program as `BOUGH_RANDOM` says.
#[test]
#[ignore = "runs the real programs"]
fn the_programs_agree_on_random_sessions() {
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let (from, count) = (number("BOUGH_FROM", 0), number("BOUGH_RANDOM", 40));
    let peers =
        PathBuf::from(std::env::var_os("BOUGH_PEERS").expect("BOUGH_PEERS names the folder of programs"));
    let scratch = tempfile::tempdir().unwrap();
    let (mut wrong, mut rows) = (Vec::new(), "program\tseed\thead\tpath\tlabels\tsent\n".to_owned());
    for program in PROGRAMS {
        let seeds = from..from + count;
        let paths: Vec<PathBuf> = seeds
            .clone()
            .map(|seed| {
                let path = scratch.path().join(format!("{program}-{seed}.jsonl"));
                fs::write(&path, session(program, seed)).unwrap();
                path
            })
            .collect();
        let answers =
            if program == "chimera" { ask_chimera(&peers, &paths) } else { ask(&peers, program, &paths) };
        for (seed, theirs) in seeds.zip(answers) {
            let ours = ours(program, &session(program, seed));
            if ours != theirs {
                wrong.push(format!("{program} {seed}\n  ours   {ours}\n  theirs {theirs}"));
            }
            rows.push_str(&format!("{program}\t{seed}\t{}\n", row(&theirs, &seed.to_string())));
        }
    }
    if std::env::var_os("BOUGH_BLESS").is_some() {
        recording::write(RECORD, &rows, &PROGRAMS);
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), 3 * count, wrong.join("\n"));
}

/// Asks pi or oh-my-pi about all files in one process.
fn ask(peers: &Path, program: &str, paths: &[PathBuf]) -> Vec<Value> {
    let modules = peers.join("omp/node_modules");
    let platforms = fs::read_dir(modules.join("@oven")).into_iter().flatten();
    let bun = platforms.map(|entry| entry.unwrap().path().join("bin/bun")).find(|bun| bun.exists());
    let bun = bun.unwrap_or_else(|| modules.join(".bin/bun"));
    let script = files::project().join("tests/oracles/sessions.mjs");
    let mut command = if program == "omp" { Command::new(bun) } else { Command::new("node") };
    let mut child = command
        .arg(script)
        .arg(program)
        .arg(peers)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    child.stdin.take().unwrap().write_all((names.join("\n") + "\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = text
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), paths.len(), "{program} answers each question");
    let keys = ["leaf", "path_ids", "labels", "context_messages"];
    answers
        .iter()
        .map(|answer| keys.iter().map(|key| (key.to_string(), answer[key].clone())).collect())
        .collect()
}

fn ask_chimera(peers: &Path, paths: &[PathBuf]) -> Vec<Value> {
    let script = need::reference_files().join("oracles/chimera_oracle.py");
    let one = |path: &PathBuf| {
        let output =
            Command::new(peers.join("chimera-venv/bin/python")).arg(&script).arg(path).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        json!({
            "leaf": answer["active_leaf"],
            "path_ids": answer["path_ids"],
            "context_messages": answer["context_messages"],
        })
    };
    paths.iter().map(one).collect()
}

/// Returns the answer of bough.
fn ours(program: &str, bytes: &[u8]) -> Value {
    let source = Table(vec![bytes.to_vec()]);
    // A few entries of other programs' types do not reveal that the session is Chimera's.
    let session = Session::read(bytes).unwrap_or_else(|| {
        assert_eq!(program, "chimera");
        Builder::new(Format::Chimera).read(&source, bytes.len() as u64).unwrap()
    });
    let id = |ix: Ix| {
        let line: Value = serde_json::from_slice(&source.bytes(session.span(ix)).unwrap()).unwrap();
        line["id"].as_str().unwrap_or_default().to_owned()
    };
    let leaf = session.head.leaf;
    let path: Vec<String> =
        leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default().into_iter().map(id).collect();
    let context = Context::build(&session, &source, Context::position(&session)).unwrap();
    if program == "chimera" {
        let messages = chimera_messages(&session, &source, &context);
        return json!({ "leaf": leaf.map(id), "path_ids": path, "context_messages": messages });
    }
    let messages: Vec<Value> = roles_and_texts(&session, &source, &context)
        .into_iter()
        .map(|(role, text)| json!({ "role": role, "text_sha": &sha256(text.as_bytes())[..16], "text": text }))
        .collect();
    let labels: serde_json::Map<String, Value> =
        session.labels.all().map(|(ix, line)| (id(ix), line.text.into())).collect();
    json!({ "leaf": leaf.map(id), "path_ids": path, "labels": labels, "context_messages": messages })
}

/// Returns an answer as a row: HEAD, the path, the labels, and the messages. Entries are numbers, as the
/// generator has them; of `entry 7 of 3`, the text of an entry, the number remains.
fn row(answer: &Value, seed: &str) -> String {
    let number = |id: &Value| u64::from_str_radix(id.as_str().unwrap_or_default(), 16).unwrap();
    let list = |key: &str| answer[key].as_array().cloned().unwrap_or_default();
    let head = if answer["leaf"].is_null() { "none".into() } else { number(&answer["leaf"]).to_string() };
    let mut labels: Vec<(u64, &str)> = answer["labels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(id, label)| (number(&id.as_str().into()), label.as_str().unwrap()))
        .collect();
    labels.sort_unstable();
    let labels: Vec<String> = labels.iter().map(|(entry, label)| format!("{entry}={label}")).collect();
    let message = |message: Value| {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut words = vec![word(&message["role"])];
        let text = word(&message["text"]).replace("entry ", "").replace(&format!(" of {seed}"), "");
        words.extend(text.lines().map(str::to_owned));
        words.extend(message["tool_calls"].as_array().into_iter().flatten().map(word));
        words.extend(Some(word(&message["call_id"])).filter(|call| !call.is_empty()));
        words.join(" ")
    };
    let messages: Vec<String> = list("context_messages").into_iter().map(message).collect();
    let path = runs(list("path_ids").iter().map(number));
    [head, path, labels.join(" "), messages.join(", ")].join("\t")
}

/// Generates a random session: branches, tools, compactions, summaries, labels, settings, and in
/// half of them damage: orphans, copies of entries, different entries with the same id, truncated
/// lines.
fn session(program: &str, seed: u64) -> Vec<u8> {
    let mut chance = Chance::new(seed ^ (program.len() as u64) << 40);
    let wild = chance.hits(50);
    let count = 2 + chance.below(30) as usize;
    let chimera = program == "chimera";
    let id = |at: usize| if chimera { format!("{at:012x}") } else { format!("{at:08x}") };
    let mut lines: Vec<String> = Vec::new();
    let stamp = |at: usize| format!("2026-03-02T09:{:02}:{:02}.000Z", at / 60, at % 60);
    match program {
        "chimera" => {}
        "omp" => {
            let slot = r#"{"type":"title","v":1,"title":"T","updatedAt":"2026-03-02T09:00:00.000Z","pad":""#;
            lines.push(format!("{slot}{}\"}}", " ".repeat(255 - slot.len() - 2)));
            lines.push(header().to_string());
        }
        _ => lines.push(header().to_string()),
    }
    let mut calls: Vec<String> = Vec::new();
    let mut last: Option<usize> = None;
    for at in 0..count {
        let parent = if at > 0 && chance.hits(15) { Some(chance.below(at as u64) as usize) } else { last };
        let mut above = parent.map_or(Value::Null, |parent| id(parent).into());
        if wild && chance.hits(5) {
            above = id(9_000 + at).into();
        }
        let mut own = id(at);
        if wild && at > 1 && chance.hits(4) {
            // Another entry with the id of an earlier one. It is a root, because no program escapes
            // from a cycle.
            (own, above) = (id(chance.below(at as u64 - 1) as usize), Value::Null);
        }
        let other = |chance: &mut Chance| id(chance.below(at as u64 + 1) as usize);
        let text = format!("entry {at} of {seed}");
        let mut line = if chimera {
            json!({ "id": own, "parent_id": above, "timestamp": 1_772_442_000.5 + at as f64 })
        } else {
            json!({ "id": own, "parentId": above, "timestamp": stamp(at) })
        };
        let what = match chance.below(24) {
            0..=2 if !calls.is_empty() => {
                let call = calls.remove(chance.below(calls.len() as u64) as usize);
                if chimera {
                    json!({ "type": "message", "message": { "role": "tool", "content": text, "call_id": call } })
                } else {
                    json!({ "type": "message", "message": { "role": "toolResult", "toolCallId": call, "toolName": "read",
                        "content": [{ "type": "text", "text": text }], "isError": false, "timestamp": 1_772_442_000_000u64 } })
                }
            }
            0..=4 => {
                let call = format!("call_{at}");
                calls.push(call.clone());
                if chimera {
                    json!({ "type": "message", "message": { "role": "assistant", "content": text,
                        "tool_calls": [{ "id": call, "name": "read", "arguments": {} }] } })
                } else {
                    reply(
                        json!([{ "type": "text", "text": text }, { "type": "toolCall", "id": call, "name": "read", "arguments": {} }]),
                    )
                }
            }
            5..=9 if chimera => {
                json!({ "type": "message", "message": { "role": "assistant", "content": text } })
            }
            5..=9 => reply(json!([{ "type": "text", "text": text }])),
            10 if chimera => {
                json!({ "type": "label", "target_id": other(&mut chance), "label": format!("l{}", at % 5) })
            }
            10 => json!({ "type": "label", "targetId": other(&mut chance), "label": format!("l{}", at % 5) }),
            11 if chimera => {
                json!({ "type": "compaction", "summary": text, "first_kept_entry_id": other(&mut chance),
                "tokens_before": 1, "read_files": [], "modified_files": [] })
            }
            11 => {
                json!({ "type": "compaction", "summary": text, "firstKeptEntryId": other(&mut chance), "tokensBefore": 1 })
            }
            12 if chimera => json!({ "type": "plugin_note", "data": { "count": at } }),
            12 => json!({ "type": "branch_summary", "fromId": other(&mut chance), "summary": text }),
            13 if !chimera => {
                json!({ "type": "custom_message", "customType": "note", "content": text, "display": chance.hits(50) })
            }
            14 if !chimera => json!({ "type": "custom", "customType": "state", "data": { "at": at } }),
            15 if program == "omp" => json!({ "type": "model_change", "model": "p/m" }),
            15 if !chimera => json!({ "type": "model_change", "provider": "p", "modelId": "m" }),
            16 if !chimera => json!({ "type": "thinking_level_change", "thinkingLevel": "high" }),
            17 if !chimera && program == "pi" => json!({ "type": "session_info", "name": text }),
            18 if program == "omp" => json!({ "type": "mode_change", "mode": "plan" }),
            _ if chimera => json!({ "type": "message", "message": { "role": "user", "content": text } }),
            _ => json!({ "type": "message", "message": { "role": "user", "timestamp": 1_772_442_000_000u64,
                "content": [{ "type": "text", "text": text }] } }),
        };
        line.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        let line = line.to_string();
        // Chimera does not load a file with such a line.
        if wild && !chimera && chance.hits(4) {
            lines.push(line[..line.len() / 2].to_owned());
        }
        if wild && chance.hits(4) && lines.len() > 3 {
            lines.push(lines[2 + chance.below(lines.len() as u64 - 2) as usize].clone());
        }
        lines.push(line);
        last = Some(at);
    }
    let mut text = lines.join("\n");
    if !(wild && chance.hits(20)) {
        text.push('\n');
    }
    text.into_bytes()
}

fn header() -> Value {
    json!({ "type": "session", "version": 3, "id": "0a0b0c0d-0000-4000-8000-000000000001", "timestamp": "2026-03-02T09:00:00.000Z", "cwd": "/w" })
}

fn reply(content: Value) -> Value {
    json!({ "type": "message", "message": { "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
        "usage": { "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        "stopReason": "stop", "timestamp": 1_772_442_000_000u64 } })
}
