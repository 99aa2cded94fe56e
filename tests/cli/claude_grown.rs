//! Random transcripts that grow as Claude Code writes them, turn by turn, with compactions that
//! keep messages; then damaged.

use crate::support::chance::{Chance, stamp};
use serde_json::{Value, json};

/// Generates a random transcript: replies in parts, parallel calls with notes of hooks, forgotten
/// and retracted replies, branches, pointers, pins, and compactions with and without kept messages.
/// In every third transcript, lines are lost or truncated.
pub fn transcript(seed: u64) -> String {
    let mut grown = Grown { chance: Chance::new(seed), seed, made: 0, time: 0, at: None, lines: Vec::new() };
    let turns = 2 + grown.chance.below(6);
    let compacts = grown.chance.hits(75);
    for _ in 0..turns {
        grown.turn();
        if compacts && grown.chance.hits(25) {
            grown.compact();
        }
        if grown.chance.hits(18) {
            grown.go_back();
        }
        if grown.chance.hits(30) {
            grown.point();
        }
    }
    if compacts && grown.chance.hits(15) {
        grown.compact();
    }
    if grown.chance.hits(25) {
        grown.point();
    }
    grown.damaged()
}

struct Grown {
    chance: Chance,
    seed: u64,
    made: usize,
    time: u64,
    /// The parent of the next line.
    at: Option<String>,
    lines: Vec<Value>,
}

impl Grown {
    /// Adds a line below another, or below the last one; returns its id.
    fn put(&mut self, parent: Option<String>, ty: &str, rest: Value) -> String {
        let id = format!("{:08x}-0000-4000-8000-{:012x}", self.made + 1, self.seed % (1 << 40));
        self.made += 1;
        self.time +=
            if self.chance.hits(90) { 20_000 + self.chance.below(60_000) } else { self.chance.below(6_000) };
        let mut line = json!({
            "parentUuid": parent, "isSidechain": false, "type": ty, "uuid": id, "timestamp": stamp(self.time),
            "userType": "external", "cwd": "/project", "sessionId": "5e551011-0000-4000-8000-000000000000",
            "version": "2.1.332", "gitBranch": "",
        });
        for (key, value) in rest.as_object().unwrap() {
            line[key] = value.clone();
        }
        self.lines.push(line);
        self.at = Some(id.clone());
        id
    }

    fn below(&mut self, ty: &str, rest: Value) -> String {
        let at = self.at.clone();
        self.put(at, ty, rest)
    }

    fn text(&self) -> String {
        format!("words {} of {}", self.made, self.seed)
    }

    fn turn(&mut self) {
        let text = self.text();
        match self.chance.below(12) {
            0 => {
                let content = format!("<local-command-stdout>{text}</local-command-stdout>");
                self.below(
                    "system",
                    json!({"subtype": "local_command", "content": content, "level": "info"}),
                );
            }
            1 => {
                self.below(
                    "user",
                    json!({"message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
                );
            }
            _ => {
                self.below("user", json!({"message": {"role": "user", "content": text}}));
            }
        }
        if self.chance.hits(20) {
            self.note();
        }
        for _ in 0..1 + self.chance.below(3) {
            if !self.reply() {
                break;
            }
        }
        if self.chance.hits(30) {
            self.below("system", json!({"subtype": "turn_duration", "durationMs": 5, "isMeta": false}));
        }
    }

    /// Adds an internal note of Claude Code.
    fn note(&mut self) {
        let text = self.text();
        match self.chance.below(3) {
            0 => self.below(
                "attachment",
                json!({"attachment": {"type": "date", "content": text},
                "rendered": [{"content": format!("<system-reminder>{text}</system-reminder>")}]}),
            ),
            1 => self.below(
                "attachment",
                json!({"attachment": {"type": "todo_reminder", "content": [], "itemCount": 0}}),
            ),
            _ => self.below("progress", json!({"data": {"type": "tick"}, "toolUseID": "t"})),
        };
    }

    /// Adds a reply; returns whether it ended in calls with results, so that another reply follows.
    fn reply(&mut self) -> bool {
        let group = format!("msg_{}_{}", self.made, self.seed);
        let first = self.made;
        let part = |grown: &mut Grown, blocks: Value| {
            let message = json!({"id": group, "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": blocks,
                "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
            grown.below("assistant", json!({"message": message}))
        };
        let thinking = json!([{"type": "thinking", "thinking": self.text(), "signature": "c2ln"}]);
        match self.chance.below(20) {
            0 => {
                part(self, thinking);
                return false;
            }
            1 => {
                let blank = [" ", "\n\n", "\t"][self.chance.below(3) as usize];
                part(self, json!([{"type": "text", "text": blank}]));
                return false;
            }
            2 => {
                let content = if self.chance.hits(50) { Value::Null } else { json!([]) };
                part(self, content);
                return false;
            }
            3 => {
                let text = self.text();
                let is_error = self.chance.hits(70);
                part(self, json!([{"type": "text", "text": text}]));
                let line = self.lines.last_mut().unwrap();
                line["message"]["model"] = "<synthetic>".into();
                if is_error {
                    line["isApiErrorMessage"] = true.into();
                }
                return false;
            }
            _ => {}
        }
        if self.chance.hits(30) {
            part(self, thinking);
        }
        let mut calls = Vec::new();
        if self.chance.hits(70) {
            let text = self.text();
            part(self, json!([{"type": "text", "text": text}]));
        }
        if self.made == first || self.chance.hits(50) {
            for _ in 0..1 + self.chance.below(3) {
                let (id, text) = (format!("toolu_{}_{}", self.made, self.seed), self.text());
                let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": text}});
                calls.push((id, part(self, json!([call]))));
            }
        }
        if self.chance.hits(6) {
            // Refused after all; Claude Code retracts all of it.
            let uuids: Vec<Value> = self
                .lines
                .iter()
                .rev()
                .filter(|line| line["message"]["id"] == group.as_str())
                .map(|line| line["uuid"].clone())
                .collect();
            let fields = json!({"subtype": "model_refusal_fallback", "level": "info", "content": "x", "retractedMessageUuids": uuids});
            self.below("system", fields);
            return true;
        }
        if calls.is_empty() {
            return false;
        }
        let mut open = false;
        let hooks = self.chance.hits(25);
        while !calls.is_empty() {
            let (id, call) = calls.remove(self.chance.below(calls.len() as u64) as usize);
            if self.chance.hits(5) {
                open = true;
                continue;
            }
            let text = self.text();
            let content = json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
            let under = match self.chance.hits(5) {
                true => self.put(
                    Some(call.clone()),
                    "progress",
                    json!({"data": {"type": "tick"}, "toolUseID": id}),
                ),
                false => call.clone(),
            };
            let result = self.put(
                Some(under),
                "user",
                json!({"message": {"role": "user", "content": content},
                "sourceToolAssistantUUID": call, "toolUseResult": text}),
            );
            if hooks {
                let text = self.text();
                self.put(
                    Some(result),
                    "attachment",
                    json!({"attachment": {"type": "hook_additional_context", "content": [text]},
                    "rendered": [{"content": format!("<system-reminder>{text}</system-reminder>")}]}),
                );
            }
        }
        !open || self.chance.hits(50)
    }

    /// Continues from an earlier entry.
    fn go_back(&mut self) {
        let to = self.chance.below(self.lines.len() as u64) as usize;
        if let Some(id) = self.lines[to]["uuid"].as_str().filter(|_| self.lines[to]["type"] != "progress") {
            self.at = Some(id.to_owned());
        }
    }

    fn point(&mut self) {
        let far = self.chance.hits(50);
        let span = if far { self.lines.len() } else { self.lines.len().min(4) } as u64;
        let to = self.lines.len() - 1 - self.chance.below(span) as usize;
        let Some(id) = self.lines[to]["uuid"].as_str() else { return };
        let mut line =
            json!({"type": "last-prompt", "lastPrompt": "go on", "sessionId": "s", "leafUuid": id});
        if self.chance.hits(40) {
            line["explicit"] = true.into();
        }
        self.lines.push(line);
    }

    /// Writes a compaction: its boundary, its summary, and the messages that it kept.
    fn compact(&mut self) {
        let mut path = Vec::new();
        let mut up = self.at.clone();
        while let Some(id) = up {
            let Some(line) = self.lines.iter().rev().find(|line| line["uuid"] == id.as_str()) else { break };
            if line["subtype"] == "compact_boundary" {
                break;
            }
            if ["user", "assistant"].contains(&line["type"].as_str().unwrap()) {
                path.push(id);
            }
            up = line["parentUuid"].as_str().map(str::to_owned);
        }
        path.truncate(self.chance.below(6) as usize);
        path.reverse();
        let logical = self.at.clone();
        let summary = format!("{:08x}-0000-4000-8000-{:012x}", self.made + 2, self.seed % (1 << 40));
        let mut metadata = json!({"trigger": "manual", "preTokens": 1});
        let how = self.chance.below(6);
        if !path.is_empty() && how < 5 {
            if how != 1 {
                metadata["preservedMessages"] =
                    json!({"anchorUuid": summary, "uuids": path, "allUuids": path});
            }
            if how != 0 {
                metadata["preservedSegment"] =
                    json!({"headUuid": path[0], "anchorUuid": summary, "tailUuid": path[path.len() - 1]});
            }
        }
        self.put(
            None,
            "system",
            json!({"subtype": "compact_boundary", "content": "Compacted", "level": "info",
            "logicalParentUuid": logical, "compactMetadata": metadata}),
        );
        let text = format!("So far: {}", self.text());
        self.below(
            "user",
            json!({"isCompactSummary": true, "isVisibleInTranscriptOnly": true,
            "message": {"role": "user", "content": text}}),
        );
        if self.chance.hits(12) {
            // Killed before the summary was written.
            self.lines.pop();
        }
        if self.chance.hits(40) {
            self.note();
        }
    }

    /// Returns the lines, some of which may be lost or truncated, preferably those of compactions.
    fn damaged(mut self) -> String {
        let mut lines: Vec<String> = self.lines.iter().map(Value::to_string).collect();
        if self.chance.hits(35) {
            for _ in 0..1 + self.chance.below(2) {
                let of_compaction =
                    |line: &String| line.contains("isCompactSummary") || line.contains("compact_boundary");
                let marked: Vec<usize> = (0..lines.len()).filter(|at| of_compaction(&lines[*at])).collect();
                let at = match marked.len() {
                    found if found > 0 && self.chance.hits(60) => {
                        marked[self.chance.below(found as u64) as usize]
                    }
                    _ => self.chance.below(lines.len() as u64) as usize,
                };
                match self.chance.hits(50) {
                    true => {
                        let half = lines[at].len() / 2;
                        lines[at].truncate(half);
                    }
                    false => lines[at].clear(),
                }
            }
        }
        lines.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
    }
}
