//! The lines of the documented order: strict about fields, but accepting kinds that are not
//! entries.

use crate::model::{Key, Source, Span};
use crate::ops::thread::text::{Object, each_block, on_object};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

/// The kinds of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordKind {
    User,
    Assistant,
    System,
    Attachment,
    /// Another type with a uuid and a session.
    Passed,
    /// A line about the queue of prompts: placed by time, not a node.
    Queue,
}

impl RecordKind {
    pub(crate) fn is_turn(self) -> bool {
        matches!(self, RecordKind::User | RecordKind::Assistant)
    }

    pub(crate) fn structural(self) -> bool {
        matches!(self, RecordKind::Passed | RecordKind::Attachment)
    }
}

/// Means "none" in the columns of [`Record`].
pub(crate) const NONE: u32 = u32::MAX;

/// One line that takes part: some seventy bytes, with its texts in [`SharedTexts`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) span: Span,
    pub(crate) sort: RecordKind,
    pub(crate) sidechain: bool,
    /// Whether it contains a call of the `Task` or `Agent` tool.
    pub(crate) spawns: bool,
    /// Its uuid and that of its parent, as numbers from [`SharedTexts::uuid`].
    pub(crate) uuid: u32,
    pub(crate) parent: u32,
    /// Its session, as a number from [`SharedTexts::name`]; the next four fields are such numbers, too.
    pub(crate) session: u32,
    /// Its subagent; 0 is the empty word and means none.
    pub(crate) agent: u32,
    /// The subagent that its call started, according to a sidecar.
    pub(crate) spawned: u32,
    pub(crate) ty: u32,
    pub(crate) subtype: u32,
    /// Its time as text: the range in [`Records::times`].
    pub(crate) time: (u32, u32),
    /// Its calls and results: the range in [`Records::tools`].
    pub(crate) tools: (u32, u32),
}

/// A call or a result in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tool {
    pub(crate) call: bool,
    pub(crate) id: Key,
}

/// Words that records share, and all uuids, as small numbers.
#[derive(Default)]
pub(crate) struct SharedTexts {
    words: Vec<Box<str>>,
    by_word: HashMap<Box<str>, u32>,
    by_uuid: HashMap<Key, u32>,
}

impl SharedTexts {
    pub(crate) fn new() -> SharedTexts {
        let mut names = SharedTexts::default();
        names.number("");
        names
    }

    /// Returns the number of a word; the empty word has 0.
    pub(crate) fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.by_word.get(word) {
            return *number;
        }
        let number = self.words.len() as u32;
        self.words.push(word.into());
        self.by_word.insert(word.into(), number);
        number
    }

    pub(crate) fn name(&self, number: u32) -> &str {
        self.words.get(number as usize).map_or("", |word| word)
    }

    pub(crate) fn uuid(&mut self, key: Key) -> u32 {
        let next = self.by_uuid.len() as u32;
        *self.by_uuid.entry(key).or_insert(next)
    }

    /// Returns the number of a known uuid.
    pub(crate) fn known_uuid(&self, key: Key) -> Option<u32> {
        self.by_uuid.get(&key).copied()
    }

    pub(crate) fn uuids(&self) -> usize {
        self.by_uuid.len()
    }
}

/// Records in the order in which they count, and the data that they share.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) list: Vec<Record>,
    pub(crate) times: Vec<u8>,
    pub(crate) tools: Vec<Tool>,
}

impl Records {
    pub(crate) fn time(&self, record: &Record) -> &[u8] {
        &self.times[record.time.0 as usize..record.time.1 as usize]
    }

    pub(crate) fn tools(&self, record: &Record) -> &[Tool] {
        &self.tools[record.tools.0 as usize..record.tools.1 as usize]
    }

    /// Reads one line; returns the subagent that it refers to, as a number of `names`.
    pub(crate) fn line(&mut self, span: Span, line: &[u8], names: &mut SharedTexts) -> Option<u32> {
        on_object(line, |object| self.object(span, object, names))
    }

    fn object(&mut self, span: Span, object: &Object<'_>, names: &mut SharedTexts) -> Option<u32> {
        let mut agent = object.text("agentId").map_or(0, |id| names.number(&id));
        let mut named = Some(agent).filter(|agent| *agent != 0);
        if object.get("agentId").is_none()
            && let Some(result) = object.object("toolUseResult")
            && let Some(id) = result.text("agentId")
        {
            agent = names.number(&id);
            named = Some(agent);
        }
        let tools = self.tools.len() as u32;
        let times = self.times.len() as u32;
        if let Some((sort, spawns)) = self.sort(object) {
            let time = object.text("timestamp").unwrap_or_default();
            self.times.extend_from_slice(time.as_bytes());
            let uuid = object.text("uuid").unwrap_or_default();
            let parent = object.text("parentUuid");
            self.list.push(Record {
                span,
                sort,
                spawns,
                sidechain: object.get("isSidechain") == Some("true"),
                uuid: names.uuid(Key::hash(uuid.as_bytes())),
                parent: parent.map_or(NONE, |parent| names.uuid(Key::hash(parent.as_bytes()))),
                session: names.number(&object.text("sessionId").unwrap_or_default()),
                agent,
                spawned: 0,
                ty: names.number(&object.text("type").unwrap_or_default()),
                subtype: names.number(&self.subtype(sort, object)),
                time: (times, self.times.len() as u32),
                tools: (tools, self.tools.len() as u32),
            });
        }
        named
    }

    fn subtype<'o>(&self, sort: RecordKind, object: &Object<'o>) -> Cow<'o, str> {
        match sort {
            RecordKind::System => object.text("subtype").unwrap_or_default(),
            RecordKind::Queue => object.text("operation").unwrap_or_default(),
            RecordKind::Attachment => object
                .object("attachment")
                .and_then(|attachment| attachment.text("type").map(|ty| ty.into_owned().into()))
                .unwrap_or_default(),
            _ => Cow::Borrowed(""),
        }
    }

    /// Returns the kind of a line, or `None` if it does not take part. Also collects its calls and
    /// results.
    fn sort(&mut self, object: &Object<'_>) -> Option<(RecordKind, bool)> {
        let strings = |keys: &[&str]| keys.iter().all(|key| object.is_text(key));
        let ty = object.text("type");
        match ty.as_deref() {
            Some(ty @ ("user" | "assistant" | "system" | "attachment")) => {
                let parent = object.get("parentUuid")?;
                let well_typed = strings(&["sessionId", "uuid", "timestamp"])
                    && (ty == "attachment" || strings(&["userType", "cwd", "version"]))
                    && matches!(object.get("isSidechain"), Some("true" | "false"))
                    && (parent == "null" || parent.starts_with('"'));
                if !well_typed {
                    return None;
                }
                match ty {
                    "system" => Some((RecordKind::System, false)),
                    "attachment" => Some((RecordKind::Attachment, false)),
                    _ => {
                        let message = object.object("message")?;
                        let content = message.get("content")?;
                        let user = ty == "user";
                        if message.text("role").as_deref() != Some(ty) {
                            return None;
                        }
                        if !user
                            && (message.text("type").as_deref() != Some("message")
                                || !message.is_text("id")
                                || !message.is_text("model"))
                        {
                            return None;
                        }
                        let spawns = self.blocks(content, user);
                        Some((if user { RecordKind::User } else { RecordKind::Assistant }, spawns))
                    }
                }
            }
            Some("queue-operation") => {
                let operation = object.text("operation");
                let known = matches!(operation.as_deref(), Some("enqueue" | "dequeue" | "remove" | "popAll"));
                known.then_some((RecordKind::Queue, false))
            }
            Some(
                "summary"
                | "ai-title"
                | "file-history-snapshot"
                | "last-prompt"
                | "permission-mode"
                | "mode"
                | "custom-title"
                | "agent-name"
                | "agent-color"
                | "frame-link",
            ) => None,
            _ => {
                let has = |key| object.text(key).is_some_and(|text| !text.is_empty());
                let flat = matches!(object.get("isSidechain"), None | Some("true" | "false"));
                (has("uuid") && has("sessionId") && flat).then_some((RecordKind::Passed, false))
            }
        }
    }

    /// Collects the calls and results in a content; returns whether a call starts a subagent.
    fn blocks(&mut self, content: &str, user: bool) -> bool {
        let mut spawns = false;
        each_block(content, |block| match block.text("type").as_deref() {
            Some("tool_use") if !user => {
                if let Some((id, name)) = call(block) {
                    spawns |= matches!(&*name, "Task" | "Agent");
                    self.tools.push(Tool { call: true, id: Key::hash(id.as_bytes()) });
                }
            }
            Some("tool_result") if user => {
                if let Some(id) = result(block) {
                    self.tools.push(Tool { call: false, id: Key::hash(id.as_bytes()) });
                }
            }
            _ => {}
        });
        spawns
    }
}

/// Returns the id and the name of a well-formed call.
pub(crate) fn call<'b>(block: &Object<'b>) -> Option<(Cow<'b, str>, Cow<'b, str>)> {
    let input = block.get("input")?;
    Some((block.text("id")?, block.text("name")?)).filter(|_| input.starts_with('{'))
}

/// Returns the call that a well-formed result belongs to.
fn result<'b>(block: &Object<'b>) -> Option<Cow<'b, str>> {
    let content = block.get("content")?;
    let good = content.starts_with('"') || objects_only(content);
    let good = good && matches!(block.get("is_error"), None | Some("null" | "true" | "false"));
    let good = good && block.get("agentId").is_none_or(|agent| agent == "null" || agent.starts_with('"'));
    block.text("tool_use_id").filter(|_| good)
}

fn objects_only(list: &str) -> bool {
    let items: Result<Vec<&RawValue>, _> = serde_json::from_str(list);
    items.is_ok_and(|items| items.iter().all(|item| item.get().starts_with('{')))
}

/// The number of bytes that are read at a time.
const BLOCK: u64 = 1 << 20;

/// Passes the lines of a file with their spans to `each`, until it returns `false`. Reads large
/// pieces.
pub(crate) fn each_line(
    source: &dyn Source,
    file: u16,
    bytes: u64,
    mut each: impl FnMut(Span, &[u8]) -> bool,
) -> io::Result<()> {
    let mut held: Vec<u8> = Vec::new();
    let mut block = Vec::new();
    let mut held_at = 0;
    let mut at = 0;
    while at < bytes {
        let len = BLOCK.min(bytes - at);
        source.read(Span { file, offset: at, len }, &mut block)?;
        at += len;
        let fresh = held.len();
        held.extend_from_slice(&block);
        let mut from = 0;
        let mut looked_at = fresh;
        while let Some(to) = memchr::memchr(b'\n', &held[looked_at..]).map(|to| looked_at + to) {
            let span = Span { file, offset: held_at + from as u64, len: (to - from) as u64 };
            if !each(span, &held[from..to]) {
                return Ok(());
            }
            from = to + 1;
            looked_at = from;
        }
        held.drain(..from);
        held_at += from as u64;
    }
    if !held.is_empty() {
        each(Span { file, offset: held_at, len: held.len() as u64 }, &held);
    }
    Ok(())
}
