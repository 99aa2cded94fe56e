//! Sessions of Codex, Gemini CLI, Copilot CLI and OpenCode: what bough says that they would send is what they
//! were observed to send when they continued the sessions.
//!
//! `tests/oracles/guests.py` played the sessions with the real programs, or made them, and asked the
//! programs.

use crate::support::files;
use bough::internals::context::{Context, Origin, Patch};
use bough::internals::format::{Block, Format, Session};
use bough::internals::model::Table;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAMS: [&str; 4] = ["codex", "gemini", "copilot", "opencode"];

fn folder() -> PathBuf {
    files::project().join("tests/cli/sessions/guests")
}

#[test]
fn what_other_agents_would_send_is_what_they_sent() {
    for program in PROGRAMS {
        let (count, wrong) = compare(&folder(), program);
        assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
        assert!(count >= 20, "{program}");
    }
}

/// Compares with the answers in another folder, as the script writes them: `PROGRAM.sent` beside the
/// sessions.
#[test]
#[ignore = "wants a folder of sessions and answers in BOUGH_GUESTS"]
fn other_agents_agree_on_more_sessions() {
    let folder = PathBuf::from(std::env::var_os("BOUGH_GUESTS").expect("BOUGH_GUESTS names a folder"));
    let mut all = Vec::new();
    for program in PROGRAMS {
        if folder.join(format!("{program}.sent")).exists() {
            all.extend(compare(&folder, program).1);
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Compares the sessions of a program. Returns how many there are, and the first difference of each
/// that differs.
fn compare(folder: &Path, program: &str) -> (usize, Vec<String>) {
    let mut wrong = Vec::new();
    let answers = fs::read_to_string(folder.join(format!("{program}.sent"))).unwrap();
    for answer in answers.lines() {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let name = answer["file"].as_str().unwrap();
        let mut ours = sent(&fs::read(folder.join(name)).unwrap());
        // A program that refuses to continue sends nothing.
        if ours == json!([]) && answer["sent"].is_null() {
            ours = Value::Null;
        }
        if answer["sent"] != ours {
            let count = answer["sent"].as_array().map_or(0, Vec::len);
            let at = (0..count).find(|at| answer["sent"][*at] != ours[*at]).unwrap_or(count);
            let said = &answer["said"];
            let theirs = &answer["sent"][at];
            wrong.push(format!("{name}, message {at}\n  theirs {theirs} {said}\n  ours   {}", ours[at]));
        }
    }
    (answers.lines().count(), wrong)
}

/// Returns what bough says would be sent, in the form of the recorded answers.
fn sent(bytes: &[u8]) -> Value {
    let session = Session::read(bytes).unwrap();
    let source = Table(vec![bytes.to_vec()]);
    let context = Context::build(&session, &source, Context::position(&session)).unwrap();
    let mut line = Vec::new();
    let mut out = Vec::new();
    for message in context.sent() {
        let said = message.read(&session, &source, &mut line).unwrap();
        let role = &*message.role;
        if message.origin == Origin::MadeUp {
            out.push(json!([role, "[made up]"]));
        }
        match session.format {
            Format::Codex => out.push(codex(role, &said.blocks)),
            Format::OpenCode => out.extend(opencode(role, &said.blocks)),
            Format::Gemini => out.extend(said.blocks.iter().map(|block| json!([role, gemini(block)]))),
            _ => out.push(json!([role, copilot(&said.blocks)])),
        }
        for patch in &message.patches {
            if let Patch::ResultMadeUp { call, text, .. } = patch {
                out.push(made_up(session.format, role, call, text));
            }
        }
    }
    // What the program says about itself is new each time.
    const NEW: [&str; 4] =
        ["<skills_instructions", "<permissions instructions", "<environment_context", "<session_context"];
    let is_new = |row: &Value| {
        matches!(row[0].as_str(), Some("developer" | "system"))
            || NEW.iter().any(|mark| row[1].as_str().unwrap_or_default().starts_with(mark))
    };
    out.retain(|row| !is_new(row));
    json!(out)
}

/// Which providers take files with results was observed with Anthropic, OpenAI, Google and an
/// OpenAI-compatible one; that of the others is how the program chooses.
#[test]
#[rustfmt::skip] // a table
fn files_of_results_are_sent_where_the_provider_takes_them() {
    let with_result = |provider: &str, model: &str, mime: &str| {
        let message = |id: &str, mut info: Value, parts: Value| {
            info["id"] = id.into();
            info["sessionID"] = "ses_1".into();
            json!({ "info": info, "parts": parts })
        };
        let file = json!({ "type": "file", "mime": mime, "url": format!("data:{mime};base64,AAAA"), "filename": "f" });
        let state = json!({ "status": "completed", "input": {}, "output": "out", "time": {}, "attachments": [file] });
        let call = json!({ "type": "tool", "tool": "read", "callID": "c1", "state": state });
        let export = json!({
            "info": { "id": "ses_1" },
            "messages": [
                message("msg_1", json!({ "role": "user", "model": { "providerID": provider, "modelID": model } }), json!([{ "type": "text", "text": "look" }])),
                message("msg_2", json!({ "role": "assistant", "providerID": provider, "modelID": model, "parentID": "msg_1" }),
                    json!([{ "type": "step-start" }, call, { "type": "step-start" }, { "type": "text", "text": "seen" }])),
            ],
        });
        let bytes = export.to_string().into_bytes();
        let session = Session::read(&bytes).unwrap();
        let source = Table(vec![bytes]);
        let context = Context::build(&session, &source, Context::position(&session)).unwrap();
        let mut line = Vec::new();
        let count = |message: &bough::internals::context::Message| message.read(&session, &source, &mut line).unwrap().blocks.len();
        let roles: Vec<&str> = context.messages.iter().map(|message| &*message.role).collect();
        let counts: Vec<usize> = context.messages.iter().map(count).collect();
        match (&roles[..], &counts[..]) {
            (["user", "assistant", "tool", "assistant"], [1, 1, 2, 1]) => true,
            (["user", "assistant", "tool", "assistant", "user"], [1, 1, 1, 1, 2]) => false,
            other => panic!("{provider} {model}: {other:?}"),
        }
    };
    let check = |provider: &str, model: &str, image: bool, pdf: bool| {
        let found = (with_result(provider, model, "image/png"), with_result(provider, model, "application/pdf"));
        assert_eq!(found, (image, pdf), "{provider} {model}");
        assert!(with_result(provider, model, "text/csv"), "{provider} {model}");
    };
    //     provider                   model                      image  PDF
    check("mock",                    "mock-1",                   false, false);
    check("anthropic",               "claude-sonnet-4-5",        true,  true);
    check("openai",                  "gpt-5.1",                  true,  true);
    check("google",                  "gemini-2.5-pro",           false, false);
    check("google",                  "gemini-3-pro-preview",     true,  true);
    check("google-vertex-anthropic", "claude-sonnet-4-5",        true,  true);
    check("xai",                     "grok-4",                   true,  false);
    check("amazon-bedrock",          "us.anthropic.claude-4",    true,  false);
    check("amazon-bedrock",          "openai.gpt-oss",           false, false);
    check("openrouter",              "anthropic/claude",         false, false);
}

fn made_up(format: Format, role: &str, call: &str, text: &str) -> Value {
    match format {
        Format::Codex => json!([format!("{role}_output"), format!("{call}: {text}")]),
        _ => json!(["tool", format!("result {call}: {text}")]),
    }
}

fn texts(blocks: &[Block<'_>]) -> String {
    let text = |block: &Block<'_>| match block {
        Block::Text(text) => Some(text.to_string()),
        Block::Image { .. } => Some("[image]".into()),
        _ => None,
    };
    blocks.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn codex(role: &str, blocks: &[Block<'_>]) -> Value {
    let text = match blocks.first() {
        Some(Block::Thinking { .. }) => String::new(),
        Some(Block::Call { id, arguments, .. }) => {
            let arguments = String::from_utf8_lossy(arguments);
            // What a custom tool gets is a text.
            let input: Option<String> = serde_json::from_str::<Value>(&arguments).ok().and_then(|value| {
                Some(value.get("input").filter(|_| role == "custom_tool_call")?.as_str()?.into())
            });
            format!("{id}: {}", input.unwrap_or(arguments.into_owned()))
        }
        Some(Block::Result { call, text, .. }) => format!("{call}: {text}"),
        _ => texts(blocks),
    };
    json!([role, text])
}

/// Returns an id as Gemini sends it: without the name of the tool.
fn bare(id: &str) -> &str {
    id.strip_prefix("run_shell_command__").unwrap_or(id)
}

fn gemini(block: &Block<'_>) -> String {
    match block {
        Block::Call { id, arguments, .. } => {
            let arguments: Value = serde_json::from_slice(arguments).unwrap();
            format!("call {}: {arguments}", bare(id))
        }
        Block::Result { call, text, .. } => format!("result {}: {text}", bare(call)),
        block => texts(std::slice::from_ref(block)),
    }
}

/// Returns a reply or prompt of OpenCode, or a message for each result; images in results follow as a
/// prompt, since the service of the oracle accepts none there.
fn opencode(role: &str, blocks: &[Block<'_>]) -> Vec<Value> {
    if role != "tool" {
        let thoughts = blocks.iter().filter_map(|block| match block {
            Block::Thinking { text, .. } => Some(text.to_string()),
            _ => None,
        });
        let thoughts = thoughts.collect::<String>();
        let thoughts = if thoughts.is_empty() { thoughts } else { format!("(thought: {thoughts})") };
        // The texts of a reply are sent as one.
        let (texts, others): (Vec<_>, Vec<_>) =
            blocks.iter().cloned().partition(|block| matches!(block, Block::Text(_)));
        let said = match role {
            "user" => copilot(blocks),
            _ => {
                texts.iter().map(|text| copilot(std::slice::from_ref(text))).collect::<String>()
                    + &copilot(&others)
            }
        };
        return vec![json!([role, thoughts + &said])];
    }
    let is_result = |block: &&Block<'_>| matches!(block, Block::Result { .. });
    blocks.iter().filter(is_result).map(|block| json!([role, copilot(std::slice::from_ref(block))])).collect()
}

fn copilot(blocks: &[Block<'_>]) -> String {
    if let Some(Block::Result { call, text, .. }) = blocks.first() {
        return format!("result {call}: {text}");
    }
    let mut out = texts(blocks);
    for block in blocks {
        if let Block::Call { id, arguments, .. } = block {
            let arguments: Value = serde_json::from_slice(arguments).unwrap();
            out += &format!(" call {id}: {arguments}");
        }
    }
    out
}
