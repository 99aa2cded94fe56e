//! Small random sessions in each format that bough writes, and one of an old format.

use super::files::project;
use std::fmt::Write as _;
use std::fs;

/// Random numbers from a seed.
pub struct Chance(pub u64);

impl Chance {
    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The forms of sessions that differ for what is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Pi,
    Omp,
    Chimera,
    Claude,
    OldClaude,
}

/// All of them.
pub const FORMS: [Form; 5] = [Form::Pi, Form::Omp, Form::Chimera, Form::Claude, Form::OldClaude];

/// Generates a random session: a tree of prompts and replies, some labels, and unusual spellings
/// that must survive.
pub fn session(form: Form, chance: &mut Chance) -> (String, Vec<String>) {
    let mut text = match form {
        Form::Pi => "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-03-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n".to_owned(),
        Form::Omp => format!(
            "{:<253}\"}}\n{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-03-01T00:00:00.000Z\",\"cwd\":\"/w\",\"title\":\"t\"}}\n",
            r#"{"type":"title","v":1,"title":"t","updatedAt":"2026-03-01T00:00:00.000Z","pad":""#
        ),
        Form::Chimera => "{\"type\": \"header\", \"id\": \"000000000000\", \"parent_id\": null, \"timestamp\": 1764000000.0, \"version\": 1, \"cwd\": \"/w\", \"system_prompt\": \"\"}\n".to_owned(),
        Form::Claude | Form::OldClaude => String::new(),
    };
    let mut ids: Vec<String> = Vec::new();
    for at in 0..3 + chance.below(12) {
        let id = match form {
            Form::Pi | Form::Omp => format!("{:08x}", 0xabc0_0000u32 + at as u32),
            Form::Chimera => format!("{:012x}", 0xabc0_0000u64 + at as u64),
            Form::Claude | Form::OldClaude => format!("{at:08x}-0000-4000-8000-000000000000"),
        };
        let above = if ids.is_empty() {
            None
        } else {
            Some(ids[ids.len() - 1 - chance.below(ids.len().min(3))].clone())
        };
        let parent = above.map_or("null".to_owned(), |above| format!("\"{above}\""));
        let (role, content) = if at % 2 == 0 {
            ("user", "\"caf\\u00e9 \\ud83d 1\"")
        } else {
            ("assistant", "[{\"type\":\"text\",\"text\":\"r\"}]")
        };
        let odd = ["", ",\"x\":1.0", ",\"x\":1E2", ",\"a\":{\"b\":[12345678901234567890]}"][chance.below(4)];
        let time = format!("2026-03-01T00:{:02}:00.000Z", at + 1);
        match form {
            Form::Pi | Form::Omp => writeln!(
                text,
                "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\"{odd},\"message\":{{\"role\":\"{role}\",\"content\":{content}}}}}"
            ),
            Form::Chimera => writeln!(
                text,
                "{{\"type\": \"message\", \"id\": \"{id}\", \"parent_id\": {parent}, \"timestamp\": 1764000{at:03}.5{odd}, \"message\": {{\"role\": \"{role}\", \"content\": \"t\"}}}}"
            ),
            Form::Claude | Form::OldClaude => {
                let version = if form == Form::Claude { "2.1.332" } else { "2.0.76" };
                writeln!(
                    text,
                    "{{\"parentUuid\":{parent},\"isSidechain\":false,\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\"content\":{content}}},\"uuid\":\"{id}\",\"timestamp\":\"{time}\"{odd},\"cwd\":\"/w\",\"sessionId\":\"s\",\"version\":\"{version}\"}}"
                )
            }
        }
        .unwrap();
        ids.push(id);
    }
    // Some files lack their last newline.
    if chance.below(3) == 0 {
        text.pop();
    }
    (text, ids)
}

/// Does the same without anything that is damage to `fsck`, and to other readers.
pub fn sound_session(form: Form, chance: &mut Chance) -> (String, Vec<String>) {
    let (text, ids) = session(form, chance);
    (text.replace("\\ud83d", "\\u00df").trim_end().to_owned() + "\n", ids)
}

/// Returns an old session, which `migrate` rewrites as a whole.
pub fn old_session() -> Vec<u8> {
    fs::read(project().join("tests/cli/sessions/pi/v1-hand-plain.jsonl")).unwrap()
}

/// Returns a session of pi with prompts, which are given as `id parent minute text; …`.
pub fn pi(entries: &str) -> String {
    let mut out = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n".to_owned();
    for entry in entries.split("; ") {
        let words: Vec<&str> = entry.split(' ').collect();
        let parent = if words[1] == "-" { "null".to_owned() } else { format!("\"{}\"", words[1]) };
        out += &format!(
            "{{\"type\":\"message\",\"id\":\"{}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:{:0>2}:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
            words[0], words[2], words[3]
        );
    }
    out
}
