//! The context that the real programs build from their files, if their answer is recorded.

use crate::support::shared;
use bough::context::{Context, Message, Origin, Patch};
use bough::format::{Format, Session};
use bough::model::{Source, Table};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the messages of a context in the form of the recorded answers: role, first characters,
/// digest of the text.
pub fn messages(session: &Session, source: &dyn Source, context: &Context) -> Vec<Value> {
    let mut line = Vec::new();
    let message = |message: &Message| {
        let said = message.read(session, source, &mut line).unwrap();
        let head: String = said.text.chars().take(80).collect();
        json!({ "role": message.role, "text": head, "text_sha": &sha256(said.text.as_bytes())[..16] })
    };
    // The program moves results when it sends them; in its own context they are where they are stored.
    let is_moved = |message: &&Message| message.patches.contains(&Patch::Moved);
    let (moved, mut stored): (Vec<&Message>, Vec<&Message>) = context.messages.iter().partition(is_moved);
    let path = context.messages.iter().filter_map(|message| message.entry).max();
    let path = path.map(|_| session.tree.path(Context::position(session).unwrap())).unwrap_or_default();
    let place = |message: &Message| path.iter().position(|ix| Some(*ix) == message.entry);
    for result in moved {
        let is_before =
            |message: &&Message| message.origin == Origin::Message && place(message) > place(result);
        let at = stored.iter().position(is_before).unwrap_or(stored.len());
        stored.insert(at, result);
    }
    stored.into_iter().map(message).collect()
}

/// Reads the session in a file; `None` if it contains only blank lines.
fn read(path: &Path) -> Option<(Session, Table)> {
    let bytes = fs::read(path).unwrap();
    if bytes.trim_ascii().is_empty() {
        return None;
    }
    let session = Session::read(&bytes).unwrap_or_else(|| panic!("{}: no session", path.display()));
    Some((session, Table(vec![bytes])))
}

fn answers(folder: &str, ending: &str) -> Vec<(String, PathBuf, Value)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(shared::folder().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(stem) = name.strip_suffix(ending) {
            let answer: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            if answer["context_messages"].is_array() {
                out.push((stem.to_owned(), path.with_file_name(format!("{stem}.jsonl")), answer));
            }
        }
    }
    out.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(!out.is_empty(), "there are recorded answers in {folder}");
    out
}

/// Files that pi interprets differently than bough, and bough's interpretation.
const PI_OTHERWISE: &[(&str, Format)] = &[
    ("harness083-v3-leaf", Format::Harness),
    ("switch-leaf", Format::Harness),
    ("v2-hand-design-doc-uuid", Format::PiDesign),
];

#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn what_pi_would_send_is_what_pi_says() {
    let mut wrong = Vec::new();
    let mut same = 0;
    for (name, path, answer) in answers("corpus/pi", ".expected.json") {
        let Some((session, source)) = read(&path) else { continue };
        if let Some((_, format)) = PI_OTHERWISE.iter().find(|(other, _)| *other == name) {
            assert_eq!(session.format, *format, "{name}");
            continue;
        }
        if session.format == Format::Omp {
            continue;
        }
        let context = Context::build(&session, &source, Context::position(&session)).unwrap();
        let got = messages(&session, &source, &context);
        let model = context.model().map(|model| json!({"provider": model.provider, "modelId": model.name}));
        let level = context.thinking.clone();
        if json!(got) != answer["context_messages"] {
            wrong.push(format!(
                "{name}: messages\n  got    {}\n  wanted {}",
                json!(got),
                answer["context_messages"]
            ));
        } else if json!(model) != answer["context_model"] && answer["context_model"] != json!({}) {
            wrong.push(format!("{name}: model {model:?}, wanted {}", answer["context_model"]));
        } else if json!(level) != answer["context_thinking_level"] {
            wrong.push(format!("{name}: level {level:?}, wanted {}", answer["context_thinking_level"]));
        } else {
            same += 1;
        }
    }
    assert!(wrong.is_empty(), "{}\n{} differ, {same} are the same", wrong.join("\n"), wrong.len());
}

#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn what_omp_would_send_is_what_omp_says() {
    let mut wrong = Vec::new();
    let mut same = 0;
    for (name, path, answer) in answers("corpus/pi", ".expected.omp.json") {
        let Some((session, source)) = read(&path) else { continue };
        if session.format != Format::Omp {
            continue;
        }
        let context = Context::build(&session, &source, Context::position(&session)).unwrap();
        let got = messages(&session, &source, &context);
        let models: serde_json::Map<String, Value> =
            context.models.iter().map(|(role, model)| (role.clone(), json!(model.to_string()))).collect();
        if json!(got) != answer["context_messages"] {
            wrong.push(format!(
                "{name}: messages\n  got    {}\n  wanted {}",
                json!(got),
                answer["context_messages"]
            ));
        } else if Value::from(models.clone()) != answer["context_models"] {
            wrong.push(format!("{name}: models {models:?}, wanted {}", answer["context_models"]));
        } else if json!(context.thinking) != answer["context_thinking_level"] {
            wrong.push(format!(
                "{name}: level {:?}, wanted {}",
                context.thinking, answer["context_thinking_level"]
            ));
        } else {
            same += 1;
        }
    }
    assert!(wrong.is_empty(), "{}\n{} differ, {same} are the same", wrong.join("\n"), wrong.len());
    assert!(same > 10, "{same}");
}

#[test]
#[cfg_attr(not(shared), ignore = "needs the folder of reference files")]
fn what_chimera_would_send_is_what_chimera_says() {
    for (name, path, answer) in answers("corpus/chimera", ".expected.json") {
        let Some((session, source)) = read(&path) else { continue };
        let context = Context::build(&session, &source, Context::position(&session)).unwrap();
        assert_eq!(
            json!(chimera_messages(&session, &source, &context)),
            answer["context_messages"],
            "{name}"
        );
    }
}

/// Returns the messages of a context in the form of Chimera's recorded answers.
pub fn chimera_messages(session: &Session, source: &dyn Source, context: &Context) -> Vec<Value> {
    let mut line = Vec::new();
    let message = |message: &bough::context::Message| {
        let said = message.read(session, source, &mut line).unwrap();
        let head: String = said.text.chars().take(80).collect();
        let mut calls = Vec::new();
        let mut answers = Value::Null;
        for block in &said.blocks {
            match block {
                bough::format::Block::Call { id, .. } => calls.push(id.to_string()),
                bough::format::Block::Result { call, .. } => answers = json!(call),
                _ => {}
            }
        }
        json!({"role": message.role, "text": head, "tool_calls": calls, "call_id": answers})
    };
    context.messages.iter().map(message).collect()
}

/// Returns the SHA-256 as hexadecimal digits: the recorded answers contain it for long texts.
pub fn sha256(text: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
