//! `convert`: what the new session would send is what the old one would send, on all branches; and the
//! real programs agree.

use crate::support::files;
use bough::format::{Format, Ids, Session};
use bough::model::{Source, Table, Time};
use bough::ops::Snapshot;
use bough::ops::convert::conversation::{self, Conversation, Part, Speaker};
use bough::ops::convert::{self, Options, TARGETS, Thinking};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The sessions that come with the tests, and those of the examples.
fn sources() -> Vec<PathBuf> {
    let project = files::project();
    let folders = ["pi", "chimera", "claude-code", "guests", "derived"]
        .map(|name| format!("tests/cli/sessions/{name}"));
    let mut out = Vec::new();
    for folder in folders.into_iter().chain(["examples/sessions".into()]) {
        for entry in fs::read_dir(project.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "jsonl") {
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
    let options = Options {
        to,
        thinking: Thinking::Drop,
        session: "01900000-0000-7000-8000-000000000001".into(),
        cwd: "/work/project".into(),
        path: None,
    };
    let whole = Snapshot { session, source };
    convert::plan(whole, &options, &mut Ids::seeded("x"), Time(1_772_442_000_000)).ok().map(|made| made.bytes)
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

/// Removes what a target can't hold.
fn without_images(said: &[Value]) -> Vec<Value> {
    said.iter().filter(|item| item["said"]["image"].is_null()).cloned().collect()
}

#[test]
fn a_converted_session_sends_what_the_old_one_sends() {
    let (mut wrong, mut compared, mut branches) = (Vec::new(), 0, 0);
    for path in sources() {
        let Some((session, source)) = read(&fs::read(&path).unwrap()) else { continue };
        let (head, all) = all_branches(&session, &source);
        for to in TARGETS {
            let Some(bytes) = convert(&session, &source, to) else { continue };
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
                // Claude Code's thread puts a conversation that begins with a reply after another one.
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
