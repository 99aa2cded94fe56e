//! The context that the real programs build of their files, where their answer is recorded.

use crate::shared;
use bough::format::{Format, Session};
use bough::model::Table;
use bough::ops::context::Context;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The messages of a context as the recorded answers have them: role, first characters, digest of the text.
fn messages(session: &Session, source: &Table, context: &Context) -> Vec<Value> {
    let mut line = Vec::new();
    let message = |message: &bough::ops::context::Message| {
        let said = message.said(session, source, &mut line).unwrap();
        let head: String = said.text.chars().take(80).collect();
        json!({ "role": message.role, "text": head, "text_sha": &sha256(said.text.as_bytes())[..16] })
    };
    context.messages.iter().map(message).collect()
}

/// The session in a file; none where it has nothing but blank lines.
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

/// Files that pi takes for something else than bough does, and what bough takes them for.
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
        let context = Context::at(&session, &source, Context::position(&session)).unwrap();
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
        let context = Context::at(&session, &source, Context::position(&session)).unwrap();
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
        let context = Context::at(&session, &source, Context::position(&session)).unwrap();
        let mut line = Vec::new();
        let mut got = Vec::new();
        for message in &context.messages {
            let said = message.said(&session, &source, &mut line).unwrap();
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
            got.push(json!({"role": message.role, "text": head, "tool_calls": calls, "call_id": answers}));
        }
        assert_eq!(json!(got), answer["context_messages"], "{name}");
    }
}

/// SHA-256, as hexadecimal digits: what the recorded answers have of long texts.
fn sha256(text: &[u8]) -> String {
    let primes = || (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
    // The first 32 bits of the fractions of square and cube roots, found by whole numbers.
    let root = |prime: u64, power: u32, bits: u32| {
        let wanted = u128::from(prime) << bits;
        let (mut low, mut high) = (0u128, 1u128 << 40);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle.pow(power) <= wanted { low = middle } else { high = middle }
        }
        low as u32
    };
    let mut state: Vec<u32> = primes().take(8).map(|prime| root(prime, 2, 64)).collect();
    let keys: Vec<u32> = primes().take(64).map(|prime| root(prime, 3, 96)).collect();
    let mut padded = text.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(text.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut words: Vec<u32> =
            block.chunks(4).map(|bytes| u32::from_be_bytes(bytes.try_into().unwrap())).collect();
        for at in 16..64 {
            let (a, b): (u32, u32) = (words[at - 15], words[at - 2]);
            let a = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let b = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            words.push(words[at - 16].wrapping_add(a).wrapping_add(words[at - 7]).wrapping_add(b));
        }
        let mut now = state.clone();
        for at in 0..64 {
            let one = now[4].rotate_right(6) ^ now[4].rotate_right(11) ^ now[4].rotate_right(25);
            let pick = (now[4] & now[5]) ^ (!now[4] & now[6]);
            let first =
                now[7].wrapping_add(one).wrapping_add(pick).wrapping_add(keys[at]).wrapping_add(words[at]);
            let two = now[0].rotate_right(2) ^ now[0].rotate_right(13) ^ now[0].rotate_right(22);
            let most = (now[0] & now[1]) ^ (now[0] & now[2]) ^ (now[1] & now[2]);
            now.rotate_right(1);
            now[4] = now[4].wrapping_add(first);
            now[0] = first.wrapping_add(two.wrapping_add(most));
        }
        for (state, now) in state.iter_mut().zip(now) {
            *state = state.wrapping_add(now);
        }
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

#[test]
fn the_digest_is_the_known_one() {
    assert_eq!(&sha256(b"")[..16], "e3b0c44298fc1c14");
    assert_eq!(&sha256(b"abc")[..16], "ba7816bf8f01cfea");
}
