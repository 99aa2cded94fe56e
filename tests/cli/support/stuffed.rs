//! Sessions of the tests with more in them, which the tests of `slim` and its oracle need.

use super::chance::Chance;
use super::sessions::folder;
use base64::Engine;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What was added to a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stuffing {
    /// Images, long results and thinking in every second message.
    Rich,
    /// The same in every message, and turns with state of an extension; for Claude Code, a subagent.
    Full,
    /// The same as `Full`, followed by a compaction and another turn.
    Summed,
    /// A turn with images that Claude Code refuses to send, because of their sizes.
    Huge,
}

impl Stuffing {
    pub const ALL: [Stuffing; 4] = [Stuffing::Rich, Stuffing::Full, Stuffing::Summed, Stuffing::Huge];

    /// Returns the folder of these sessions.
    pub fn name(self) -> &'static str {
        match self {
            Stuffing::Rich => "rich",
            Stuffing::Full => "full",
            Stuffing::Summed => "summed",
            Stuffing::Huge => "huge",
        }
    }

    /// Splits a name such as `rich/pi/linear.jsonl`; any other is that of a session as it is.
    pub fn split(name: &str) -> (Option<Stuffing>, &str) {
        let named = |stuffing: Stuffing| {
            Some((Some(stuffing), name.strip_prefix(stuffing.name())?.strip_prefix('/')?))
        };
        Stuffing::ALL.into_iter().find_map(named).unwrap_or((None, name))
    }

    /// Returns whether there is such a session of one with this name.
    pub fn is_for(self, name: &str) -> bool {
        let has = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
        match self {
            Stuffing::Rich => has(&["pi", "claude/real"]),
            // Files of subagents are not sessions.
            _ if name.contains("/subagents/") => false,
            Stuffing::Full | Stuffing::Summed => {
                has(&["pi/pi", "pi/omp18", "pi/two", "pi/merge", "claude/real", "chimera"])
            }
            Stuffing::Huge => has(&[
                "claude/real/tool-use",
                "claude/real/parallel-tools",
                "claude/real/edit-and-error",
                "claude/real/compact/",
                "claude/real/rewind-thrice",
                "claude/real/subagent/",
            ]),
        }
    }
}

/// Returns a session with more in it, and the files that were added beside it: their paths in the folder
/// that is named like the session, and their contents.
pub fn stuffed(stuffing: Stuffing, path: &Path) -> (Vec<u8>, Vec<(PathBuf, Vec<u8>)>) {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let name = path.strip_prefix(folder()).unwrap().to_str().unwrap();
    let agent = name.split('/').next().unwrap();
    let picture = match stuffing {
        Stuffing::Rich => picture(24, 8, 2),
        Stuffing::Full | Stuffing::Summed => picture(300, 1, 0),
        Stuffing::Huge => picture(2000, 8, 0),
    };
    let data = base64::engine::general_purpose::STANDARD.encode(picture);
    let image = match agent {
        "claude" => {
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
        }
        _ => json!({"type": "image", "data": data, "mimeType": "image/png"}),
    };
    let mut out = match stuffing {
        Stuffing::Huge => text,
        _ => enriched(&text, agent, &image, stuffing != Stuffing::Rich),
    };
    if stuffing == Stuffing::Rich {
        return (out.into_bytes(), Vec::new());
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    let session = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut more = More { agent, last: last_id(&out, agent), session, lines: Vec::new(), image };
    more.turns();
    if stuffing == Stuffing::Summed {
        more.compaction();
    }
    for line in &more.lines {
        out.push_str(&line.to_string());
        out.push('\n');
    }
    let files = match agent {
        "claude" => more.subagent(),
        _ => Vec::new(),
    };
    (out.into_bytes(), files)
}

/// Returns the text with images in prompts and results, long results with their second copies, and
/// thinking in replies: in all messages, or in every second one.
fn enriched(text: &str, agent: &str, image: &Value, everywhere: bool) -> String {
    let is_claude = agent == "claude";
    let (mut out, mut number) = (String::new(), 0);
    for line in text.lines() {
        let Some(mut value) =
            serde_json::from_str::<Value>(line).ok().filter(|value| value["message"].is_object())
        else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        number += 1;
        let is_second = everywhere || number % 2 == 0;
        let is_plain = value.get("isMeta").is_none() && value.get("isCompactSummary").is_none();
        let role = value["message"]["role"].as_str().unwrap_or_default().to_owned();
        let content = &mut value["message"]["content"];
        let long = long(number);
        match &*role {
            "user"
                if content.is_string()
                    && is_second
                    && is_plain
                    && agent != "chimera"
                    && !content.to_string().contains("<command") =>
            {
                *content = json!([{"type": "text", "text": content.take()}, image]);
            }
            "user"
                if is_claude && content[0]["type"] == "tool_result" && content[0]["content"].is_string() =>
            {
                let mut blocks = vec![json!({"type": "text", "text": long})];
                if is_second {
                    blocks.push(image.clone());
                }
                content[0]["content"] = blocks.into();
                value["toolUseResult"] = json!({"stdout": long, "stderr": "", "interrupted": false});
            }
            "toolResult" if content.is_array() => {
                let blocks = content.as_array_mut().unwrap();
                blocks.push(json!({"type": "text", "text": long}));
                if is_second {
                    blocks.push(image.clone());
                }
            }
            "tool" => *content = long.into(),
            "assistant" if is_second && content[0]["type"] == "text" => {
                content.as_array_mut().unwrap().insert(0, thinking(is_claude, number));
            }
            _ => {}
        }
        out.push_str(&value.to_string());
        out.push('\n');
    }
    out
}

fn long(number: usize) -> String {
    format!("{number} {}", "all work and no play ".repeat(60))
}

fn thinking(is_claude: bool, number: usize) -> Value {
    let signature = if is_claude { "signature" } else { "thinkingSignature" };
    json!({"type": "thinking", "thinking": format!("thought {number}"), signature: "c2ln"})
}

/// Returns the id of the last entry.
fn last_id(text: &str, agent: &str) -> Value {
    let id = if agent == "claude" { "uuid" } else { "id" };
    let is_entry = |value: &Value| {
        value[id].is_string()
            && value["isSidechain"] != true
            && !matches!(value["type"].as_str(), Some("session" | "title" | "header") | None)
    };
    let mut values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.rfind(is_entry).map_or(Value::Null, |value| value[id].clone())
}

/// Lines that follow those of a session.
struct More<'a> {
    agent: &'a str,
    last: Value,
    session: String,
    lines: Vec<Value>,
    image: Value,
}

impl More<'_> {
    /// Adds an entry below the last one, with the fields of `rest`.
    fn add(&mut self, ty: &str, rest: Value) {
        let number = self.lines.len() + 1;
        let time = format!("2027-01-01T00:{:02}:{:02}.000Z", number / 60, number % 60);
        let mut line = match self.agent {
            "claude" => json!({
                "parentUuid": self.last, "isSidechain": false, "type": ty,
                "uuid": format!("f0000000-0000-4000-8000-{number:012x}"), "timestamp": time,
                "userType": "external", "entrypoint": "cli", "cwd": "/project", "sessionId": self.session,
                "version": "2.1.332", "gitBranch": "HEAD",
            }),
            "chimera" => json!({
                "type": ty, "id": format!("f0{number:010x}"), "parent_id": self.last,
                "timestamp": 1_798_761_600.0 + number as f64,
            }),
            _ => {
                json!({"type": ty, "id": format!("f0{number:06x}"), "parentId": self.last, "timestamp": time})
            }
        };
        self.last = line[if self.agent == "claude" { "uuid" } else { "id" }].clone();
        let Value::Object(rest) = rest else { panic!("{rest}") };
        line.as_object_mut().unwrap().extend(rest);
        self.lines.push(line);
    }

    fn message(&mut self, role: &str, content: Value, more: Value) {
        let mut message = Map::from_iter([("role".to_owned(), role.into()), ("content".to_owned(), content)]);
        if let Value::Object(more) = more {
            message.extend(more);
        }
        let ty = match (self.agent, role) {
            ("claude", _) => role,
            _ => "message",
        };
        self.add(ty, json!({"message": message}));
    }

    fn prompt(&mut self, text: &str, with_image: bool) {
        let content = match self.agent {
            "chimera" => json!(text),
            _ if with_image => json!([{"type": "text", "text": text}, self.image]),
            _ => json!([{"type": "text", "text": text}]),
        };
        self.message("user", content, Value::Null);
    }

    fn reply(&mut self, text: &str, call: Option<&str>) {
        let number = self.lines.len();
        let stop = if call.is_some() { "toolUse" } else { "stop" };
        match self.agent {
            "chimera" => {
                let calls: Vec<Value> =
                    call.iter().map(|id| json!({"id": id, "name": "ls", "arguments": {}})).collect();
                let more = if calls.is_empty() { Value::Null } else { json!({"tool_calls": calls}) };
                self.message("assistant", text.into(), more);
            }
            "claude" => {
                let stop = if call.is_some() { "tool_use" } else { "end_turn" };
                let usage = json!({"input_tokens": 10, "output_tokens": 5});
                let more = json!({"id": format!("msg_{number}"), "type": "message", "model": "claude-opus-5-5",
                    "stop_reason": stop, "usage": usage});
                self.message("assistant", json!([thinking(true, number)]), more.clone());
                self.message("assistant", json!([{"type": "text", "text": text}]), more.clone());
                if let Some(id) = call {
                    let call =
                        json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
                    self.message("assistant", json!([call]), more);
                }
            }
            _ => {
                let mut content = vec![thinking(false, number), json!({"type": "text", "text": text})];
                content.extend(
                    call.map(|id| json!({"type": "toolCall", "id": id, "name": "bash", "arguments": {}})),
                );
                let more = json!({"api": "anthropic-messages", "provider": "anthropic", "model": "m",
                    "usage": {"input": 9, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 13,
                        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
                    "stopReason": stop, "timestamp": 1_798_761_600_000_u64});
                self.message("assistant", content.into(), more);
            }
        }
    }

    fn result(&mut self, call: &str) {
        let long = long(self.lines.len());
        let blocks = json!([{"type": "text", "text": long}, self.image]);
        match self.agent {
            "chimera" => self.message("tool", long.into(), json!({"call_id": call})),
            "claude" => {
                let content = json!([{"tool_use_id": call, "type": "tool_result", "content": blocks}]);
                let copy = json!([{"type": "text", "text": long}, self.image]);
                self.add(
                    "user",
                    json!({"message": {"role": "user", "content": content}, "toolUseResult": copy}),
                );
            }
            _ => self.message(
                "toolResult",
                blocks,
                json!({"toolCallId": call, "toolName": "bash", "isError": false, "timestamp": 1_798_761_600_000_u64}),
            ),
        }
    }

    fn state(&mut self) {
        if self.agent == "pi" {
            let data = json!({"v": format!("{}{}", self.lines.len(), "state ".repeat(300))});
            self.add("custom", json!({"customType": "state", "data": data}));
        }
    }

    /// Adds two turns, in the first of which a tool is called.
    fn turns(&mut self) {
        self.state();
        self.prompt("Look at this.", true);
        self.state();
        if self.agent == "pi" {
            let details = json!({"v": "detail ".repeat(300)});
            let content = json!({"customType": "state", "content": "The state is there.", "display": true, "details": details});
            self.add("custom_message", content);
        }
        self.reply("I look.", Some("toolu_more1"));
        self.result("toolu_more1");
        self.reply("I see it.", None);
        self.state();
        self.prompt("And then?", false);
        self.reply("That is all.", None);
        self.point();
    }

    /// Adds a compaction, and a turn after it.
    fn compaction(&mut self) {
        let last = self.last.clone();
        match self.agent {
            "claude" => {
                self.last = Value::Null;
                self.add(
                    "system",
                    json!({"logicalParentUuid": last, "subtype": "compact_boundary", "content": "Conversation compacted",
                        "level": "info", "compactMetadata": {"trigger": "manual", "preTokens": 900}}),
                );
                self.add(
                    "user",
                    json!({"message": {"role": "user", "content": "This session is being continued. Summary: they looked."},
                        "isVisibleInTranscriptOnly": true, "isCompactSummary": true}),
                );
            }
            "chimera" => self.add(
                "compaction",
                json!({"summary": "They looked.", "first_kept_entry_id": last, "tokens_before": 900,
                    "read_files": [], "modified_files": []}),
            ),
            _ => self.add(
                "compaction",
                json!({"summary": "They looked.", "firstKeptEntryId": last, "tokensBefore": 900}),
            ),
        }
        self.prompt("Once more.", true);
        self.reply("I look again.", Some("toolu_more2"));
        self.result("toolu_more2");
        self.reply("I see it again.", None);
        self.prompt("And now?", false);
        self.reply("Done.", None);
        self.point();
    }

    /// Adds the line by which Claude Code finds where it continues.
    fn point(&mut self) {
        if self.agent == "claude" {
            self.lines.push(json!({"type": "last-prompt", "lastPrompt": "And then?", "leafUuid": self.last, "sessionId": self.session}));
        }
    }

    /// Returns the files of a subagent of Claude Code.
    fn subagent(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let line = |parent: Value, uuid: &str, ty: &str, content: Value| {
            json!({"parentUuid": parent, "isSidechain": true, "agentId": "a000000000000001", "type": ty,
                "message": {"role": ty, "content": content}, "uuid": uuid, "timestamp": "2027-01-01T00:00:00.000Z",
                "userType": "external", "cwd": "/project", "sessionId": self.session, "version": "2.1.332"})
        };
        let (first, second) =
            ("f1000000-0000-4000-8000-000000000001", "f1000000-0000-4000-8000-000000000002");
        let prompt = line(Value::Null, first, "user", json!(long(1)));
        let reply = line(first.into(), second, "assistant", json!([{"type": "text", "text": "2 files"}]));
        let meta = json!({"agentType": "general-purpose", "description": "Count files"});
        let file = |name: &str| PathBuf::from("subagents").join(name);
        vec![
            (file("agent-a000000000000001.jsonl"), format!("{prompt}\n{reply}\n").into_bytes()),
            (file("agent-a000000000000001.meta.json"), meta.to_string().into_bytes()),
        ]
    }
}

/// Returns a square picture as PNG, without a pattern, so that it does not get smaller by packing: with
/// so many bits for a sample, and a color type of PNG (0 is grey, 2 has three samples).
fn picture(side: u32, depth: u8, color: u8) -> Vec<u8> {
    let mut chance = Chance::new(7);
    let bits = side as usize * usize::from(depth) * if color == 2 { 3 } else { 1 };
    let mut rows = Vec::new();
    for _ in 0..side {
        rows.push(0);
        rows.extend((0..bits.div_ceil(8)).map(|_| chance.below(256) as u8));
    }
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(&rows).unwrap();
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let head = [&side.to_be_bytes()[..], &side.to_be_bytes(), &[depth, color, 0, 0, 0]].concat();
    for (name, data) in [(b"IHDR", head), (b"IDAT", packed.finish().unwrap()), (b"IEND", Vec::new())] {
        let body = [&name[..], &data].concat();
        let mut crc = flate2::Crc::new();
        crc.update(&body);
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(&body);
        out.extend_from_slice(&crc.sum().to_be_bytes());
    }
    out
}
