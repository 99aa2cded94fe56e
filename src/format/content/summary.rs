//! The content of a line on one line: what a list shows of it.

use super::{Block, Content, PromptForm, scalar};
use crate::format::claude::stored_results;
use crate::json::{Members, decode_start, each_item, each_member, string};
use std::borrow::Cow;

/// The arguments that describe a call best, in order of preference.
const TELLING: &[&str] = &[
    "command",
    "cmd",
    "file_path",
    "path",
    "filePath",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "code",
    "prompt",
    "description",
    "task",
    "skill",
    "name",
    "file",
    "text",
];

/// Tools that run commands.
const SHELLS: &[&str] =
    &["bash", "shell", "sh", "exec", "execute", "run", "terminal", "run_command", "powershell"];

/// The maximum number of characters of a text that a [`Content::summary`] is made of.
pub(super) const SUMMARY: usize = 300;

impl<'l> Content<'l> {
    /// Returns the tool calls, in order: id, name, arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &[u8])> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call { id, name, arguments } => Some((&**id, &**name, &**arguments)),
            _ => None,
        })
    }

    /// Returns the calls that its results belong to, in order.
    pub fn answers(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Result { call, .. } => Some(&**call),
            _ => None,
        })
    }

    /// Returns whether a tool reports in it that it failed.
    pub fn failed(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Result { is_error: true, .. }))
    }

    /// Returns the entry as one line, for lists: the first words of its text, or else its calls, or
    /// else its type.
    ///
    /// Not sanitized for a terminal, and cut only if it is very long.
    pub fn summary(&self) -> String {
        self.summary_of("")
    }

    /// Like [`Content::summary`], for a tool result whose call is given as text (by `call_words`):
    /// `cargo test → 3 passed`.
    pub fn summary_of(&self, call: &str) -> String {
        self.summary_by(call, &one_line)
    }

    /// Like [`Content::summary_of`], with another way to make one line of a text that a person or a model wrote.
    pub fn summary_by(&self, call: &str, line: &dyn Fn(&str) -> String) -> String {
        match self.answer(call) {
            None => {
                // The text that a user of Claude Code typed is shown without what Claude Code put
                // before it.
                let typed = if self.ty == "user" { crate::format::claude::typed_in(self) } else { None };
                let text = match typed {
                    Some(typed) => line(&typed),
                    None => line(&unmarked(&self.text)),
                };
                if text.is_empty() { self.without_text(line) } else { text }
            }
            Some((asked, said)) if asked.is_empty() => format!("→ {said}"),
            Some((asked, said)) => format!("{asked} → {said}"),
        }
    }

    /// Returns the question and the answer of a tool result, each in a few words, or `None` for
    /// anything else.
    pub fn answer(&self, call: &str) -> Option<(String, String)> {
        // A reply of Gemini has its calls with their results.
        let result = self.sort == PromptForm::Command
            || self.blocks.iter().any(|block| matches!(block, Block::Result { .. }))
                && self.calls().next().is_none();
        if !result {
            return None;
        }
        let (command, output) = match self.sort {
            PromptForm::Command => self.text.split_once('\n').unwrap_or((&self.text, "")),
            PromptForm::Plain => ("", &*self.text),
        };
        let asked = match (call, command, &self.tool) {
            ("", "", Some(tool)) => one_line(tool),
            ("", command, _) => one_line(command),
            (call, ..) => one_line(call),
        };
        let (name, rest) = asked.split_once(' ').unwrap_or((&asked, ""));
        let shell =
            self.sort == PromptForm::Command || SHELLS.iter().any(|shell| name.eq_ignore_ascii_case(shell));
        // The interesting part of a command's output comes last, that of a file first. That a shell
        // ran the command is obvious.
        let mut said = match stored_results::shortened(output) {
            Some(words) => one_line(&words),
            None if shell => last_line(output),
            None => first_line(output),
        };
        if said.is_empty() && self.blocks.iter().any(|block| matches!(block, Block::Image { .. })) {
            said = "an image".into();
        }
        let said = match (said.is_empty(), self.failed()) {
            (true, true) => "failed".into(),
            (true, false) => "nothing".into(),
            (false, true) => format!("failed: {said}"),
            (false, false) => said,
        };
        let shorter = shell && !rest.is_empty() && self.sort == PromptForm::Plain;
        Some((if shorter { rest.to_owned() } else { asked }, said))
    }
}

/// Describes a compaction of Claude Code: `compacted, 115k tokens, auto`.
pub(super) fn landmark(facts: &Members<'_>) -> String {
    let mut words = "compacted".to_owned();
    let tokens =
        facts.get("preTokens").and_then(|tokens| std::str::from_utf8(tokens).ok()?.parse::<f64>().ok());
    match tokens {
        Some(tokens) if tokens >= 999_500.0 => words += &format!(", {:.1}M tokens", tokens / 1e6),
        Some(tokens) if tokens >= 1000.0 => words += &format!(", {:.0}k tokens", tokens / 1e3),
        Some(tokens) if tokens >= 0.0 => words += &format!(", {tokens:.0} tokens"),
        _ => {}
    }
    let trigger = facts.text("trigger");
    if !trigger.is_empty() {
        words += &format!(", {trigger}");
    }
    words
}

/// Returns what a system message of pi changes besides its text: sections, and tools that are added
/// or removed.
pub fn instructions(message: &[u8]) -> String {
    let message = Members::new(message);
    let mut words: Vec<String> = each_member(message.get("sections").unwrap_or_default())
        .map(|(name, text)| {
            string(text).map_or_else(|| format!("{name}: removed"), |text| format!("{name}: {text}"))
        })
        .collect();
    for (key, what) in [("toolsAdded", "tools"), ("toolsRemoved", "tools removed:")] {
        let tools = each_item(message.get(key).unwrap_or_default());
        let names: Vec<_> =
            tools.map(|tool| string(tool).unwrap_or_else(|| Members::new(tool).text("name"))).collect();
        if !names.is_empty() {
            words.push(format!("{what} {}", names.join(", ")));
        }
    }
    words.join("\n")
}

/// Describes a tool call in a few words: its name, and the argument that says most.
pub fn call_words(name: &str, arguments: &[u8]) -> String {
    let members: Vec<_> = each_member(arguments).collect();
    let telling = TELLING.iter().find_map(|key| members.iter().rfind(|(member, _)| member == key));
    let first = || members.iter().find(|(_, value)| value.first() == Some(&b'"'));
    let Some((key, value)) = telling.or_else(first).or(members.first()) else { return one_line(name) };
    let command = if key == "command" { command_line(value) } else { None };
    // Some are whole files, of which only the start is shown.
    if let (None, Some(raw)) =
        (&command, value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")))
    {
        let (start, is_whole) = decode_start(raw, 4 * SUMMARY);
        let words = one_line(&format!("{name} {start}"));
        if is_whole || words.len() > SUMMARY && words.chars().count() > SUMMARY {
            return words;
        }
    }
    one_line(&format!("{name} {}", command.unwrap_or_else(|| scalar(Some(value)).into_owned())))
}

/// Returns a command that is stored as a list of words, as people write it: of a shell, only what it
/// is asked to run. `None` if it is not such a list.
fn command_line(value: &[u8]) -> Option<String> {
    let words: Vec<_> = each_item(value).map(string).collect::<Option<_>>()?;
    let is_shell = |shell: &str| matches!(shell.rsplit('/').next(), Some("sh" | "bash" | "zsh"));
    match &words[..] {
        [] => None,
        [shell, flag, script] if is_shell(shell) && matches!(&**flag, "-c" | "-lc") => {
            Some(script.to_string())
        }
        words => Some(words.join(" ")),
    }
}

/// Returns text without the tags in which Claude Code wraps commands and notes: `/compact` for
/// `<command-name>/compact</command-name>`.
fn unmarked(text: &str) -> Cow<'_, str> {
    if !text.trim_start().starts_with('<') {
        return Cow::Borrowed(text);
    }
    // The command is identified by its name; the other tags repeat it.
    let head: String = text.chars().take(4 * SUMMARY).collect();
    let mut out = String::new();
    let mut rest = head.as_str();
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let tag = &rest[at + 1..];
        let Some((name, behind)) = tag.split_once('>') else { break };
        let known = !name.is_empty()
            && name
                .chars()
                .all(|character| character.is_ascii_lowercase() || matches!(character, '-' | '/' | '_'));
        if !known {
            out.push('<');
            rest = tag;
            continue;
        }
        out.push(' ');
        rest = match name {
            "command-message" => behind.split_once("</command-message>").map_or("", |(_, rest)| rest),
            _ => behind,
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns text on one line: a run of white space becomes one space; cut if it is very long.
pub(super) fn one_line(text: &str) -> String {
    let mut out = String::new();
    let mut room = SUMMARY;
    for word in words(text) {
        if !out.is_empty() {
            if room < 2 {
                out.push('…');
                break;
            }
            out.push(' ');
            room -= 1;
        }
        let cut = if word.len() > room { word.char_indices().nth(room) } else { None };
        if let Some((end, _)) = cut {
            out.push_str(&word[..end]);
            out.push('…');
            break;
        }
        out.push_str(word);
        room -= word.chars().count();
    }
    out
}

/// Returns the words of a text, between white space. Of a word that is longer than a summary, only the start.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let most = (4 * SUMMARY + 4..).find(|most| rest.is_char_boundary(*most) || *most >= rest.len());
        let most = most.unwrap_or(0).min(rest.len());
        let mut end = 0;
        // Most characters are neither white space nor like it, which is seen without decoding them.
        while let Some(more) = rest[end..most].bytes().position(|byte| byte <= b' ' || !byte.is_ascii()) {
            end += more;
            match rest[end..].chars().next() {
                Some(character) if !character.is_whitespace() => end += character.len_utf8(),
                _ => break,
            }
        }
        if !rest[end..].starts_with(char::is_whitespace) {
            end = most;
        }
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        Some(word).filter(|word| !word.is_empty())
    })
}

/// Returns the first line that is not blank, and how many more there are.
fn first_line(text: &str) -> String {
    let first = text.lines().find(|line| !is_blank(line));
    with_more(one_line(first.unwrap_or_default()), count_lines(text).saturating_sub(1))
}

/// Returns the last line that is not blank, and how many more there are.
fn last_line(text: &str) -> String {
    let last = text.lines().rfind(|line| !is_blank(line));
    with_more(one_line(last.unwrap_or_default()), count_lines(text).saturating_sub(1))
}

/// Returns how many lines are not blank.
fn count_lines(text: &str) -> usize {
    let (mut count, mut from) = (0, 0);
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        count += usize::from(!is_blank(&text[from..end]));
        from = end + 1;
    }
    count
}

fn is_blank(line: &str) -> bool {
    // Most lines begin with a letter.
    !line.as_bytes().first().is_some_and(u8::is_ascii_graphic) && line.trim().is_empty()
}

fn with_more(line: String, more: usize) -> String {
    match more {
        0 => line,
        1 => format!("{line} (+1 line)"),
        more => format!("{line} (+{more} lines)"),
    }
}

pub(super) fn or_if_blank<'l>(text: Cow<'l, str>, instead: &str) -> Cow<'l, str> {
    if text.trim().is_empty() { Cow::Owned(instead.to_owned()) } else { text }
}
