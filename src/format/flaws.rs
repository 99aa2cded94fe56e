//! Fields of an entry that its agent can't read or can't send: what is wrong, and what to write
//! instead.
//!
//! Learned from the programs themselves (pi 1.6.0, oh-my-pi 18.2.3, Chimera 0.9.2.3), which read
//! session files without checking them. An entry without a message crashes pi and oh-my-pi when
//! they open the session; a call without arguments or a summary that is not a string crashes pi's
//! `/tree`; a reply without usage crashes pi's footer, and usage without a cost crashes oh-my-pi's
//! loader. A message without a role is left out, and content that is not a list makes every request
//! fail.

use super::{Format, Link};
use crate::json::{
    Block, Escapes, Field, Line, Members, Str, Value, each_item, member, quoted, set_field, string,
};
use crate::model::{Flags, Kind};

/// Something in an entry that its agent can't read or can't send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// What kind of flaw it is.
    pub kind: FlawKind,
    /// What is wrong, as text.
    pub words: String,
    /// The repair.
    pub cure: Cure,
}

/// The kinds of [`Flaw`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FlawKind {
    /// There is no message, although there must be one: the agent can't open the session.
    NoMessage,
    /// A field that the agent reads when it opens the session or shows its tree.
    Field,
    /// A role that the agent does not know; it leaves the message out.
    Role,
    /// Content from which the agent can't make a request.
    Content,
    /// A call without an id or a name, or a result that names no call.
    Call,
    /// Usage that the agent tries to add up and can't.
    Usage,
}

/// How to repair a [`Flaw`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cure {
    /// The entry is set aside.
    SetAside,
    /// A field is set to another value: JSON.
    Set(&'static [&'static str], Vec<u8>),
    /// The marked items of a list are set aside; if none is left, the entry is.
    TakeOut(&'static [&'static str], Vec<bool>),
}

const CONTENT: &[&str] = &["message", "content"];
const CALLS: &[&str] = &["message", "tool_calls"];
const NO_USAGE: &[u8] = br#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
const NO_COST: &[u8] = br#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}"#;

/// The roles of messages that pi sends, or converts to something that it sends.
const ROLES_OF_PI: [&str; 8] = [
    "user",
    "assistant",
    "toolResult",
    "system",
    "bashExecution",
    "custom",
    "branchSummary",
    "compactionSummary",
];

/// The roles that oh-my-pi knows.
const ROLES_OF_OMP: [&str; 11] = [
    "user",
    "assistant",
    "toolResult",
    "developer",
    "bashExecution",
    "pythonExecution",
    "fileMention",
    "custom",
    "hookMessage",
    "branchSummary",
    "compactionSummary",
];

/// Returns whether an agent sends messages with this role.
pub fn is_role(format: Format, role: &str) -> bool {
    match format {
        Format::Omp => ROLES_OF_OMP.contains(&role),
        Format::PiV1 | Format::PiV2 if role == "hookMessage" => true,
        // Chimera passes every role on.
        Format::Chimera => true,
        _ => ROLES_OF_PI.contains(&role),
    }
}

/// Returns whether the programs of a format are known well enough to say what they can't read.
fn is_known(format: Format) -> bool {
    matches!(
        format,
        Format::Pi | Format::PiV1 | Format::PiV2 | Format::Harness | Format::Omp | Format::Chimera
    )
}

/// Returns whether a line may have a flaw, judging by the extracted fields. Never misses a line
/// that has one. `odd_block` says whether [`is_odd_call`] is true for one of its calls, or one of
/// its text blocks has no text.
pub(super) fn may_have(format: Format, line: &Line<'_>, link: &Link<'_>, odd_block: bool) -> bool {
    let Some(ty) = link.ty.filter(|_| is_known(format)) else { return false };
    let fields = &line.fields;
    match ty.raw {
        b"message" => {}
        b"custom_message" => {
            let content = line.bytes.and_then(|bytes| member(bytes, "content"));
            return !content.is_some_and(|content| content.starts_with(b"\""));
        }
        b"compaction" | b"branch_summary" | b"usage" | b"context_edit" | b"ttsr_injection" => return true,
        _ => return false,
    }
    let is_message = matches!(fields.get(Field::Message), Value::Object) && link.kind != Kind::Other;
    if !is_message || odd_block || fields.has_odd_items() {
        return true;
    }
    if format == Format::Chimera {
        let calls = !matches!(fields.get(Field::ToolCalls), Value::List | Value::Absent);
        return calls || no_content(line) || no_call(line, link);
    }
    let content = fields.get(Field::Content);
    match link.kind {
        Kind::Assistant => !matches!(content, Value::List) || !has_usage(line),
        Kind::Tool if link.flags.has(Flags::RESULT) => {
            let has_usage =
                matches!(fields.get(Field::Usage), Value::Absent | Value::Null) || has_usage(line);
            !matches!(content, Value::List) || no_call(line, link) || !has_usage
        }
        Kind::Tool => true,
        _ => !matches!(content, Value::List | Value::String(_)),
    }
}

/// Returns whether a call may have no id, no name or no arguments.
#[inline]
pub(super) fn is_odd_call(call: &Block<'_>) -> bool {
    let named = |text: Option<Str<'_>>| text.is_some_and(|text| !text.is_blank());
    !call.arguments || !named(call.id) || !named(call.name)
}

fn no_content(line: &Line<'_>) -> bool {
    !matches!(line.fields.get(Field::Content), Value::String(_) | Value::List | Value::Absent)
}

/// Returns whether a result names no call.
fn no_call(line: &Line<'_>, link: &Link<'_>) -> bool {
    let id = line.fields.str(Field::ToolCallId).or(line.fields.str(Field::CallId));
    link.flags.has(Flags::RESULT) && id.is_none_or(|id| id.is_blank())
}

/// Returns whether the usage of a message has a cost. Agents write it last, and without spaces.
fn has_usage(line: &Line<'_>) -> bool {
    let Some(usage) = line.fields.object(Field::Usage) else { return false };
    let last = memchr::memrchr(b'{', usage).unwrap_or_default();
    let is_flat = memchr::memrchr(b'{', &usage[..last]) == Some(0);
    is_flat && usage[..last].ends_with(b"\"cost\":") || has_cost(usage)
}

fn has_cost(usage: &[u8]) -> bool {
    member(usage, "cost").is_some_and(is_truthy)
}

/// Returns whether a value exists and can have members, by the test that the programs use: anything
/// but `null`.
fn is_truthy(value: &[u8]) -> bool {
    value != b"null"
}

/// Returns the flaws in the line of an entry; none for formats whose programs are not known.
pub fn flaws(format: Format, line: &[u8]) -> Vec<Flaw> {
    let mut found = Finder { format, out: Vec::new() };
    if is_known(format) {
        found.line(&Members::new(line));
    }
    found.out
}

struct Finder {
    format: Format,
    out: Vec<Flaw>,
}

impl Finder {
    fn push(&mut self, kind: FlawKind, words: impl Into<String>, cure: Cure) {
        self.out.push(Flaw { kind, words: words.into(), cure });
    }

    fn set(&mut self, kind: FlawKind, words: impl Into<String>, path: &'static [&'static str], value: &[u8]) {
        self.push(kind, words, Cure::Set(path, value.to_vec()));
    }

    fn omp(&self) -> bool {
        self.format == Format::Omp
    }

    fn line(&mut self, fields: &Members<'_>) {
        let ty = fields.text("type");
        match (&*ty, self.format) {
            ("message", _) => self.message(fields.get("message")),
            (_, Format::Chimera) => {}
            ("custom_message", _) => self.custom_message(fields.get("content")),
            ("branch_summary" | "compaction", Format::Omp) => {}
            ("branch_summary", _) => {
                if fields.string("summary").is_none() {
                    let words = format!("`summary` is {}, not a string", sort(fields.get("summary")));
                    self.set(FlawKind::Field, words, &["summary"], b"\"\"");
                }
                self.usage(fields.get("usage"), &["usage"], &["usage", "cost"]);
            }
            ("compaction", _) => self.usage(fields.get("usage"), &["usage"], &["usage", "cost"]),
            ("usage", format) if format != Format::Omp => {
                let usage = fields.get("usage").unwrap_or(b"null");
                self.wanted_usage(usage, &["usage"], &["usage", "cost"]);
            }
            ("context_edit", format) if format != Format::Omp && fields.get("replacement").is_none() => {
                self.set(FlawKind::Field, "`replacement` is missing", &["replacement"], b"null");
            }
            ("ttsr_injection", Format::Omp) => {
                let rules = fields.get("injectedRules");
                if !rules.is_some_and(|rules| rules.starts_with(b"[") || rules.starts_with(b"\"")) {
                    let words = format!("`injectedRules` is {}, not a list", sort(rules));
                    self.set(FlawKind::Field, words, &["injectedRules"], b"[]");
                }
            }
            _ => {}
        }
    }

    fn custom_message(&mut self, content: Option<&[u8]>) {
        match content {
            Some([b'"', ..]) => {}
            Some(list @ [b'[', ..]) => {
                let kind = if self.omp() { FlawKind::Content } else { FlawKind::Field };
                self.items(list, &["content"], kind);
            }
            // oh-my-pi leaves such a message out.
            _ if self.omp() => {}
            content => {
                let words = format!("`content` is {}, neither a string nor a list", sort(content));
                self.set(FlawKind::Field, words, &["content"], &as_list(content));
            }
        }
    }

    fn message(&mut self, message: Option<&[u8]>) {
        let Some(object) = message.filter(|message| message.starts_with(b"{")) else {
            let words = format!("`message` is {}, not an object", sort(message));
            return self.push(FlawKind::NoMessage, words, Cure::SetAside);
        };
        let message = Members::new(object);
        let role = match message.string("role") {
            Some(role) if !role.trim().is_empty() && is_role(self.format, &role) => role,
            Some(role) if !role.trim().is_empty() => {
                let words = format!("{} does not know the role `{role}`", self.format.agent());
                return self.push(FlawKind::Role, words, Cure::SetAside);
            }
            _ => {
                let role = sort(message.get("role"));
                return self.push(FlawKind::Role, format!("`role` is {role}"), Cure::SetAside);
            }
        };
        if self.format == Format::Chimera {
            return self.chimera(&message, &role);
        }
        let content = message.get("content");
        match (&*role, content) {
            ("assistant", Some(list @ [b'[', ..])) => {
                self.items(list, CONTENT, if self.omp() { FlawKind::Field } else { FlawKind::Content });
                self.calls(list, CONTENT);
            }
            ("assistant", None | Some(b"null")) if !self.omp() => {}
            ("assistant", content) => {
                let is_text = content.is_some_and(|content| content.starts_with(b"\""));
                let kind = if self.omp() && !is_text { FlawKind::Field } else { FlawKind::Content };
                let words = format!("`content` of a reply is {}, not a list", sort(content));
                self.set(kind, words, CONTENT, &as_list(content));
            }
            ("user" | "toolResult" | "custom" | "hookMessage" | "developer" | "system", Some(list))
                if list.starts_with(b"[") =>
            {
                self.items(list, CONTENT, FlawKind::Content)
            }
            ("user" | "custom" | "hookMessage" | "developer" | "system", Some([b'"', ..])) => {}
            ("user" | "toolResult" | "system", None | Some(b"null")) if !self.omp() => {}
            // oh-my-pi leaves such messages out.
            ("custom" | "hookMessage", _) if self.omp() => {}
            ("user" | "toolResult" | "custom" | "hookMessage" | "developer" | "system", content) => {
                let words = format!("`content` is {}, not a list", sort(content));
                self.set(FlawKind::Content, words, CONTENT, &as_list(content));
            }
            _ => {}
        }
        match &*role {
            "toolResult" => {
                let call = message.string("toolCallId");
                let words = || format!("`toolCallId` of a result is {}", sort(message.get("toolCallId")));
                match call.is_none_or(|call| call.trim().is_empty() && !self.omp()) {
                    true if self.omp() => self.push(FlawKind::Content, words(), Cure::SetAside),
                    true => self.push(FlawKind::Call, words(), Cure::SetAside),
                    false => {}
                }
                if !self.omp() {
                    self.usage(message.get("usage"), &["message", "usage"], &["message", "usage", "cost"]);
                }
            }
            "assistant" => self.usage_of_reply(&message),
            "bashExecution" if !self.omp() => match message.get("command") {
                None | Some(b"null" | [b'"', ..]) => {}
                command => {
                    let words = format!("`command` is {}, not a string", sort(command));
                    let text = String::from_utf8_lossy(command.unwrap_or_default());
                    let text = quoted(&text, Escapes::Needed);
                    self.set(FlawKind::Field, words, &["message", "command"], &text);
                }
            },
            _ => {}
        }
    }

    fn chimera(&mut self, message: &Members<'_>, role: &str) {
        match message.get("tool_calls") {
            None => {}
            Some(list @ [b'[', ..]) => {
                let odd: Vec<bool> = each_item(list).map(|item| !item.starts_with(b"{")).collect();
                if odd.contains(&true) {
                    let words = "an item of `tool_calls` is not an object";
                    self.push(FlawKind::Field, words, Cure::TakeOut(CALLS, odd));
                } else {
                    self.calls(list, CALLS);
                }
            }
            calls => {
                let words = format!("`tool_calls` is {}, not a list", sort(calls));
                self.set(FlawKind::Field, words, CALLS, b"[]");
            }
        }
        if role == "tool" && message.text("call_id").trim().is_empty() {
            let words = format!("`call_id` of a result is {}", sort(message.get("call_id")));
            self.push(FlawKind::Call, words, Cure::SetAside);
        }
        let calls = each_item(message.get("tool_calls").unwrap_or_default()).next().is_some();
        match message.get("content") {
            None | Some([b'"' | b'[', ..]) => {}
            content if !(role == "assistant" && calls) => {
                let words = format!("`content` is {}, not a string", sort(content));
                self.set(FlawKind::Content, words, CONTENT, b"\"\"");
            }
            _ => {}
        }
    }

    /// Checks a list of blocks for items that are not blocks, and for text blocks without a text.
    fn items(&mut self, list: &[u8], path: &'static [&'static str], kind: FlawKind) {
        let items: Vec<&[u8]> = each_item(list).collect();
        let is_block = |item: &&[u8]| item.starts_with(b"{");
        if !items.iter().all(is_block) {
            let at = items.iter().position(|item| !is_block(item)).unwrap_or_default();
            let words = format!("item {} of `content` is {}, not a block", at + 1, sort(Some(items[at])));
            // Agents read a field of each item: the only value that crashes them is `null`.
            let kind = if items.contains(&&b"null"[..]) { kind } else { FlawKind::Content };
            let gone =
                items.iter().map(|item| !is_block(item) && !item.starts_with(b"\"")).collect::<Vec<_>>();
            return match gone.contains(&true) {
                true => self.push(kind, words, Cure::TakeOut(path, gone)),
                // A bare string becomes a text block.
                false => self.set(kind, words, path, &blocks(&items)),
            };
        }
        let no_text = |item: &[u8]| {
            member(item, "type").and_then(string).as_deref() == Some("text")
                && member(item, "text").and_then(string).is_none()
        };
        if let Some(at) = items.iter().position(|item| no_text(item)) {
            let text = member(items[at], "text");
            let words = format!("`text` of block {} is {}, not a string", at + 1, sort(text));
            let named = with_field(list, "text", b"\"\"", |item| {
                item.text("type") == "text" && item.string("text").is_none()
            });
            self.set(FlawKind::Content, words, path, &named);
        }
    }

    /// Checks for calls without an id, a name, or arguments.
    fn calls(&mut self, list: &[u8], path: &'static [&'static str]) {
        let items: Vec<Members<'_>> = each_item(list).map(Members::new).collect();
        let (chimera, omp) = (self.format == Format::Chimera, self.omp());
        let is_call = |item: &Members<'_>| chimera || item.text("type") == "toolCall";
        // oh-my-pi leaves out calls without an id or a name, and crashes on those that are not
        // strings.
        let is_odd = |value: Option<&[u8]>| !matches!(value, None | Some(b"null" | [b'"', ..])) || !omp;
        let is_blank = |item: &Members<'_>, key: &str| {
            is_call(item) && item.text(key).trim().is_empty() && is_odd(item.get(key))
        };
        let kind = if omp { FlawKind::Content } else { FlawKind::Call };
        if let Some(call) = items.iter().find(|item| is_blank(item, "id")) {
            let words = format!("`id` of a tool call is {}", sort(call.get("id")));
            let gone = items.iter().map(|item| is_blank(item, "id")).collect();
            self.push(kind, words, Cure::TakeOut(path, gone));
        } else if let Some(call) = items.iter().find(|item| is_blank(item, "name")) {
            // The result needs it.
            let words = format!("`name` of a tool call is {}", sort(call.get("name")));
            let named = with_field(list, "name", b"\"unknown\"", |item| is_blank(item, "name"));
            self.set(kind, words, path, &named);
        }
        let is_bare =
            |item: &Members<'_>| is_call(item) && matches!(item.get("arguments"), None | Some(b"null"));
        if let Some(call) = items.iter().find(|item| is_bare(item)).filter(|_| !self.omp()) {
            let words = format!("`arguments` of a tool call is {}", sort(call.get("arguments")));
            // Chimera sends it as it is.
            let kind = if chimera { FlawKind::Content } else { FlawKind::Field };
            self.set(kind, words, path, &with_field(list, "arguments", b"{}", is_bare));
        }
    }

    fn usage_of_reply(&mut self, message: &Members<'_>) {
        let (path, cost) = (&["message", "usage"], &["message", "usage", "cost"]);
        let from = self.out.len();
        if self.omp() {
            // The session can't be opened in this case.
            self.usage(message.get("usage"), path, cost);
            return self.out[from..].iter_mut().for_each(|flaw| flaw.kind = FlawKind::Field);
        }
        // A reply that names no model either was written by hand, as in tests and examples.
        let named = ["api", "provider", "model"].iter().any(|key| message.string(key).is_some());
        if named || message.get("usage").is_some() {
            self.wanted_usage(message.get("usage").unwrap_or(b"null"), path, cost);
        }
    }

    /// Checks usage that may be absent.
    fn usage(&mut self, usage: Option<&[u8]>, path: &'static [&'static str], cost: &'static [&'static str]) {
        let falsy: [&[u8]; 4] = [b"null", b"0", b"false", b"\"\""];
        if let Some(usage) = usage.filter(|usage| !falsy.contains(usage)) {
            self.wanted_usage(usage, path, cost);
        }
    }

    /// Checks usage that must be present.
    fn wanted_usage(&mut self, usage: &[u8], path: &'static [&'static str], cost: &'static [&'static str]) {
        if !usage.starts_with(b"{") {
            let usage = Some(usage).filter(|usage| *usage != b"null");
            let words = usage.map_or("there is no `usage`".into(), |usage| {
                format!("`usage` is {}, not an object", sort(Some(usage)))
            });
            self.set(FlawKind::Usage, words, path, NO_USAGE);
        } else if !has_cost(usage) {
            self.set(FlawKind::Usage, "`usage` has no `cost`", cost, NO_COST);
        }
    }
}

/// Describes the type of a field's value.
fn sort(value: Option<&[u8]>) -> &'static str {
    match value {
        None => "missing",
        Some(b"null") => "null",
        Some(b"\"\"") => "empty",
        Some([b'"', rest @ .., b'"']) if rest.trim_ascii().is_empty() => "blank",
        Some([b'"', ..]) => "a string",
        Some([b'[', ..]) => "a list",
        Some([b'{', ..]) => "an object",
        Some([b't' | b'f', ..]) => "true or false",
        Some(_) => "a number",
    }
}

/// Returns content as the list that the agent reads: a string becomes a block, and anything without
/// content an empty list.
fn as_list(content: Option<&[u8]>) -> Vec<u8> {
    match content {
        Some(block @ ([b'"', ..] | [b'{', ..])) => blocks(&[block]),
        _ => b"[]".to_vec(),
    }
}

/// Returns a list of blocks, in which bare strings become text blocks.
fn blocks(items: &[&[u8]]) -> Vec<u8> {
    let items: Vec<Vec<u8>> = items
        .iter()
        .map(|item| match item.starts_with(b"\"") {
            true => [br#"{"type":"text","text":"#, *item, b"}"].concat(),
            false => item.to_vec(),
        })
        .collect();
    let items: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
    joined(&items)
}

/// Returns a list in which a field of the selected items is set to a value.
fn with_field(list: &[u8], field: &str, value: &[u8], wants: impl Fn(&Members<'_>) -> bool) -> Vec<u8> {
    let items = each_item(list).map(|item| match wants(&Members::new(item)) {
        true => set_field(item, &[field], value).unwrap_or_else(|| item.to_vec()),
        false => item.to_vec(),
    });
    let items: Vec<Vec<u8>> = items.collect();
    let items: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
    joined(&items)
}

fn joined(items: &[&[u8]]) -> Vec<u8> {
    [b"[", &items.join(&b","[..])[..], b"]"].concat()
}
