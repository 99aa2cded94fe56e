//! What pi and oh-my-pi send for commands that the user ran, mentioned files, summaries and the like: the
//! words that the whole programs were observed to send.
//!
//! `tests/oracles/sent.py` asked them.

use crate::support::files;
use bough::internals::context::{Context, Message, Patch};
use bough::internals::format::{Block, Session};
use bough::internals::model::Table;
use serde_json::Value;
use std::fs;

/// Where an answer leaves out a paragraph of the program's own.
const ADDED: &str = "[added]";

#[test]
fn what_pi_and_omp_would_send_is_what_they_sent() {
    let folder = files::project().join("tests/cli/sessions/sent");
    let answers = fs::read_to_string(folder.join("answers.jsonl")).unwrap();
    let mut wrong = Vec::new();
    for answer in answers.lines() {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let file = answer["file"].as_str().unwrap();
        let theirs = joined(answer["sent"].as_array().unwrap().iter().map(|row| {
            let texts: Vec<&str> =
                row.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
            let has_more = texts.iter().any(|text| text.contains(ADDED));
            // What is added is not in our words.
            let said = texts[1..].iter().filter(|text| **text != ADDED).map(|text| text.replace(ADDED, ""));
            (texts[0].to_owned(), said.collect(), has_more)
        }));
        let ours = sent(&fs::read(folder.join(file)).unwrap());
        let is_same = |at: usize| theirs.get(at) == ours.get(at);
        if let Some(at) = (0..theirs.len().max(ours.len())).find(|at| !is_same(*at)) {
            let program = &answer["program"];
            wrong.push(format!(
                "{program} {file}, message {at}\n  theirs {:?}\n  ours   {:?}",
                theirs.get(at),
                ours.get(at)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(answers.lines().count() >= 30);
}

/// A message: who says it, its texts, and whether the program adds something.
type Row = (String, Vec<String>, bool);

fn sent(bytes: &[u8]) -> Vec<(String, String, bool)> {
    let session = Session::read(bytes).unwrap();
    let source = Table(vec![bytes.to_vec()]);
    let context = Context::build(&session, &source, Context::position(&session)).unwrap();
    let (mut rows, mut line): (Vec<Row>, _) = (Vec::new(), Vec::new());
    // Results that are made up come after those that follow the reply.
    let mut made_up: Vec<Row> = Vec::new();
    for message in context.sent() {
        let said = message.read(&session, &source, &mut line).unwrap();
        if said_by(message) != "tool" {
            rows.append(&mut made_up);
        }
        for patch in &message.patches {
            if let Patch::ResultMadeUp { text, .. } = patch {
                made_up.push(("tool".into(), vec![(*text).to_owned()], false));
            }
        }
        if message.patches.iter().any(|patch| matches!(patch, Patch::ResultLeftOut { .. })) {
            continue;
        }
        let texts = said.blocks.iter().map(|block| match block {
            Block::Text(text) | Block::Result { text, .. } => text.to_string(),
            Block::Call { name, .. } => format!("call {name}"),
            Block::Image { .. } => "[image]".into(),
            block => panic!("{block:?}"),
        });
        let has_more = message.patches.iter().any(|patch| matches!(patch, Patch::Added { .. }));
        rows.push((said_by(message).to_owned(), texts.filter(|text| !text.is_empty()).collect(), has_more));
    }
    rows.append(&mut made_up);
    joined(rows.into_iter())
}

fn said_by(message: &Message) -> &str {
    match &*message.role {
        "assistant" => "assistant",
        "toolResult" => "tool",
        _ => "user",
    }
}

/// Joins the texts of each message. oh-my-pi sends some messages of the user in two.
fn joined(rows: impl Iterator<Item = Row>) -> Vec<(String, String, bool)> {
    let mut out: Vec<(String, String, bool)> = Vec::new();
    for (who, texts, has_more) in rows {
        match out.last_mut().filter(|(last, ..)| *last == who && who == "user") {
            Some((_, said, more)) => {
                *said = format!("{said}\n{}", texts.join("\n"));
                *more |= has_more;
            }
            None => out.push((who, texts.join("\n"), has_more)),
        }
    }
    out
}
