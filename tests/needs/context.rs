//! The context that the real programs build from their files, if their answer is recorded.

use crate::support::messages::{chimera_messages, roles_and_texts, sha256};
use crate::support::need::reference_files;
use bough::internals::context::Context;
use bough::internals::format::{Format, Session};
use bough::internals::model::{Source, Table};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the messages of a context in the form of the answers among the reference files: role,
/// first characters, digest of the text.
fn messages(session: &Session, source: &dyn Source, context: &Context) -> Vec<Value> {
    let message = |(role, text): (String, String)| {
        let head: String = text.chars().take(80).collect();
        json!({ "role": role, "text": head, "text_sha": &sha256(text.as_bytes())[..16] })
    };
    roles_and_texts(session, source, context).into_iter().map(message).collect()
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
    for entry in fs::read_dir(reference_files().join(folder)).unwrap() {
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

pub fn what_pi_would_send_is_what_pi_says() {
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

pub fn what_omp_would_send_is_what_omp_says() {
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

pub fn what_chimera_would_send_is_what_chimera_says() {
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
