use super::{KeptLists, Markup, is_typed, typed};
use crate::format::session::Gathered;
use crate::json::{BlockKind, Field, Line, Str, Value, each_item, member, string, text as text_of, value};
use crate::model::{Flags, Ix, Key, Kind};
use std::borrow::Cow;

/// What a transcript says of itself, gathered as its lines go by. Empty for the other formats.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The last `compact_boundary` of the main file, with the messages that it kept.
    pub boundary: Option<Boundary>,
    /// All `compact_boundary` lines of the main file, the last included, with whether each has lists of kept messages.
    pub boundaries: Vec<(Ix, bool)>,
    /// The calls and results of the main file, in file order.
    pub tools: Vec<Tool>,
    /// Turns that say nothing, in file order: a reply of only such parts is forgotten.
    pub quiet: Vec<(Ix, Quiet)>,
    /// Turns whose content is neither a string nor a list, in file order: the client takes such a line for a link only.
    pub links: Vec<Ix>,
    /// The entries that a line takes back (`retractedMessageUuids`), by the entry of that line, in file order.
    pub retracted: Vec<(Ix, Key)>,
    /// The agent whose transcript it is: the first `agentId` on a sidechain line.
    pub agent: Option<String>,
    /// The version of the client that wrote the last line which names one.
    pub version: Option<String>,
    /// The folder that the first line with a `cwd` names.
    pub cwd: Option<String>,
    /// The user's title: the last `custom-title` line; empty where it was taken away.
    pub custom_title: Option<String>,
    /// The model's title: the last `ai-title` line.
    pub ai_title: Option<String>,
    /// The newest prompt, as the last pointer with one gives it.
    pub last_prompt: Option<String>,
    /// The last title of the old kind: `summary` lines.
    pub summary: Option<String>,
    /// The first prompt that the user typed, cut at 200 characters.
    pub first_prompt: Option<String>,
    /// The name of the first command that the user gave.
    pub first_command: Option<String>,
    /// What the client says that the session cost, in dollars: the last `cost-state` line.
    pub cost: Option<Cost>,
}

/// A cost in dollars.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost(pub f64);

/// A call or a result in a turn, in eight bytes: the position depends on whether the last calls were answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tool {
    /// The entry.
    pub entry: Ix,
    /// What is left of the call's id: equal ids are equal, different ones hardly ever.
    pub id: u32,
    /// Whether it is a result.
    pub result: bool,
}

/// How a turn says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quiet {
    /// A part of a reply with only thinking and texts of white space.
    Silent,
    /// Its list of blocks is empty.
    Empty,
}

/// A `compact_boundary` line: the conversation above it is replaced by the summary below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Boundary {
    /// The entry.
    pub entry: Ix,
    /// The entry behind which the kept messages are put: the summary.
    pub anchor: Option<Key>,
    /// The kept messages, in order; empty where they are named by their ends alone, or none was kept.
    pub kept: Vec<Key>,
    /// The first kept message, and the last.
    pub ends: Option<(Key, Key)>,
}

impl Boundary {
    /// Reads the lists of a `compact_boundary` line.
    pub fn of(entry: Ix, line: &[u8]) -> Boundary {
        let lists = KeptLists::of(line);
        let [head, tail] = lists.ends().map(|end| id(end?));
        Boundary {
            entry,
            anchor: lists.anchors().into_iter().find_map(|anchor| id(anchor?)),
            kept: lists.uuids().filter_map(id).collect(),
            ends: head.zip(tail),
        }
    }

    /// Whether it names messages that were kept.
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty() || self.anchor.is_some() && self.ends.is_some()
    }

    /// Whether it has lists at all: then the client drops what is before the last boundary of the file.
    pub fn is_listed(&self) -> bool {
        self.anchor.is_some() || !self.kept.is_empty()
    }
}

/// The key of an id, given as JSON.
fn id(value: &[u8]) -> Option<Key> {
    match value.first()? {
        b'"' => string(value).filter(|id| !id.is_empty()).map(|id| Key::of(id.as_bytes())),
        b'0'..=b'9' | b'-' => Some(Key::of(value)),
        _ => None,
    }
}

/// How much of a prompt is kept as a title, in characters.
const TITLE: usize = 200;

impl Facts {
    /// The title in force: the user's, else the model's, else the newest prompt, a summary, the first prompt.
    pub(super) fn name(&self) -> Option<String> {
        [
            &self.custom_title,
            &self.ai_title,
            &self.last_prompt,
            &self.summary,
            &self.first_prompt,
            &self.first_command,
        ]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty())
        .cloned()
    }

    /// Takes what a further segment of the file says, before which there are some `entries`.
    pub(in crate::format) fn append(&mut self, other: Facts, entries: u32) {
        let later = |ix: Ix| Ix(ix.0 + entries);
        if let Some(boundary) = other.boundary {
            self.boundary = Some(Boundary { entry: later(boundary.entry), ..boundary });
        }
        let earlier = other.boundaries.iter().map(|(ix, listed)| (later(*ix), *listed));
        self.boundaries.extend(earlier);
        self.quiet.extend(other.quiet.iter().map(|(ix, quiet)| (later(*ix), *quiet)));
        self.links.extend(other.links.iter().map(|ix| later(*ix)));
        self.retracted.extend(other.retracted.iter().map(|(ix, key)| (later(*ix), *key)));
        self.tools.extend(other.tools.iter().map(|tool| Tool { entry: later(tool.entry), ..*tool }));
        if self.first_prompt.is_none() {
            self.first_command = self.first_command.take().or(other.first_command);
        }
        for (first, other) in [
            (&mut self.agent, other.agent),
            (&mut self.cwd, other.cwd),
            (&mut self.first_prompt, other.first_prompt),
        ] {
            *first = first.take().or(other);
        }
        self.cost = other.cost.or(self.cost);
        for (last, other) in [
            (&mut self.version, other.version),
            (&mut self.custom_title, other.custom_title),
            (&mut self.ai_title, other.ai_title),
            (&mut self.last_prompt, other.last_prompt),
            (&mut self.summary, other.summary),
        ] {
            *last = other.or(last.take());
        }
    }

    /// Notes what any line of the main file may say.
    pub(super) fn line(gathered: &mut Gathered, line: &Line<'_>) {
        let (fields, facts) = (&line.fields, &mut gathered.claude);
        if let Some(version) = fields.str(Field::Version) {
            let known = facts.version.get_or_insert_default();
            if known.as_bytes() != version.raw {
                known.clear();
                known.push_str(&version.text());
            }
        }
        if facts.cwd.is_none() {
            facts.cwd = fields.str(Field::Cwd).map(|cwd| cwd.text().into_owned());
        }
        if facts.agent.is_none() && fields.is_true(Field::IsSidechain) {
            facts.agent = fields.str(Field::AgentId).map(|agent| agent.text().into_owned());
        }
    }

    /// Notes a line about the session as a whole.
    pub(super) fn note(gathered: &mut Gathered, ty: &[u8], line: &Line<'_>) {
        let facts = &mut gathered.claude;
        let (place, key) = match ty {
            b"custom-title" => (&mut facts.custom_title, "customTitle"),
            b"ai-title" => (&mut facts.ai_title, "aiTitle"),
            b"last-prompt" => (&mut facts.last_prompt, "lastPrompt"),
            b"summary" => (&mut facts.summary, "summary"),
            b"cost-state" => {
                let total = line.bytes.and_then(|bytes| member(bytes, "totalCostUSD"));
                let total = total.and_then(|total| std::str::from_utf8(total).ok()?.parse::<f64>().ok());
                facts.cost =
                    total.filter(|total| total.is_finite() && *total >= 0.0).map(Cost).or(facts.cost);
                return;
            }
            _ => return,
        };
        let Some(bytes) = line.bytes else { return };
        if let Some(text) = member(bytes, key).and_then(string) {
            *place = Some(text.chars().take(TITLE).collect());
        }
    }

    /// Notes the calls and results of a turn.
    pub(super) fn turn(gathered: &mut Gathered, line: &Line<'_>) {
        for block in line.fields.blocks() {
            let (BlockKind::Call | BlockKind::Result, Some(id)) = (block.kind, block.id) else { continue };
            let key = id.key().0;
            gathered.claude.tools.push(Tool {
                entry: Ix(gathered.entries),
                id: (key ^ key >> 32) as u32 >> 1,
                result: block.kind == BlockKind::Result,
            });
        }
    }

    /// Notes a `compact_boundary` line.
    pub(super) fn compaction(gathered: &mut Gathered, line: &Line<'_>) {
        let boundary = Boundary::of(Ix(gathered.entries), line.bytes.unwrap_or_default());
        gathered.claude.boundaries.push((boundary.entry, boundary.is_listed()));
        gathered.claude.boundary = Some(boundary);
    }

    /// Notes what a line takes back.
    pub(super) fn retracted(gathered: &mut Gathered, line: &Line<'_>) {
        if line.fields.get(Field::Retracted) != Value::List {
            return;
        }
        let list = line.bytes.and_then(|bytes| member(bytes, "retractedMessageUuids")).unwrap_or_default();
        let by = Ix(gathered.entries);
        gathered.claude.retracted.extend(each_item(list).filter_map(id).map(|key| (by, key)));
    }

    /// Notes a turn that says nothing.
    pub(super) fn quiet(gathered: &mut Gathered, line: &Line<'_>, is_reply: bool) {
        let fields = &line.fields;
        let is_silent = |block: crate::json::Block<'_>| match block.kind {
            BlockKind::Thinking => true,
            BlockKind::Text => !block.says,
            _ => false,
        };
        let quiet = match fields.get(Field::Content) {
            Value::String(_) if is_reply => Quiet::Silent,
            Value::String(_) => return,
            Value::List if fields.blocks().next().is_none() => Quiet::Empty,
            Value::List if is_reply && fields.blocks().all(is_silent) => Quiet::Silent,
            Value::List => return,
            _ => {
                gathered.claude.links.push(Ix(gathered.entries));
                return;
            }
        };
        gathered.claude.quiet.push((Ix(gathered.entries), quiet));
    }

    /// Whether a turn says nothing, or a line takes it back: the client does not go on after it.
    pub fn may_be_passed_over(&self, ix: Ix, key: Key) -> bool {
        self.quiet_at(ix).is_some()
            || self.links.binary_search(&ix).is_ok()
            || self.retracted.iter().any(|(_, retracted)| *retracted == key)
    }

    /// How a turn says nothing; `None` if it says something.
    pub(super) fn quiet_at(&self, ix: Ix) -> Option<Quiet> {
        self.quiet.binary_search_by_key(&ix, |(of, _)| *of).ok().map(|at| self.quiet[at].1)
    }

    /// Notes a prompt, until the first that was typed is known.
    pub(super) fn prompt(gathered: &mut Gathered, line: &Line<'_>, flags: Flags) {
        let facts = &mut gathered.claude;
        if facts.first_prompt.is_some()
            || flags.has(Flags::RESULT)
            || flags.is_put_in()
            || !flags.has(Flags::TEXT)
        {
            return;
        }
        let Some(text) = text(line) else { return };
        let text = text.trim();
        if let Some(name) = text.strip_prefix("<command-name>") {
            let name = name.split('<').next().unwrap_or_default();
            facts.first_command.get_or_insert_with(|| name.chars().take(TITLE).collect());
        } else if !matches!(Markup::of(text), Some(Markup::Command | Markup::Arguments))
            && let Some(typed) = typed(text)
        {
            facts.first_prompt = Some(typed.chars().take(TITLE).collect());
        }
    }
}

/// Whether nothing that the user typed is in a message in the user's name, which holds no result.
pub(super) fn is_not_typed(line: &Line<'_>, flags: Flags) -> bool {
    let fields = &line.fields;
    if let Some(text) = fields.str(Field::Content) {
        // Most prompts are told by their first byte.
        let first = text.raw.iter().find(|byte| !byte.is_ascii_whitespace());
        let may_be_markup =
            matches!(first, None | Some(b'<' | b'[' | b'\\')) || text.raw.starts_with(b"This session");
        return may_be_markup && !is_typed(&text.text());
    }
    if fields.blocks().any(|block| !matches!(block.kind, BlockKind::Text | BlockKind::Thinking)) {
        return false;
    }
    if !flags.has(Flags::TEXT) {
        return true;
    }
    // A line that is not held is too long for markup.
    let Some(content) = line.bytes.and_then(|bytes| value(bytes, &["message", "content"])) else {
        return false;
    };
    let said = |block: &[u8]| member(block, "text").and_then(string).is_some_and(|text| is_typed(&text));
    !each_item(content).any(said)
}

/// Whether an attachment is a prompt that the user typed while the agent was working.
pub(super) fn is_queued_prompt(line: &Line<'_>) -> bool {
    let Some(bytes) = line.bytes.filter(|bytes| memchr::memmem::find(bytes, b"queued_command").is_some())
    else {
        return false;
    };
    let Some(attachment) = member(bytes, "attachment") else { return false };
    if text_of(attachment, "type") != "queued_command"
        || text_of(attachment, "commandMode") == "task-notification"
    {
        return false;
    }
    let Some(prompt) = member(attachment, "prompt") else { return false };
    match string(prompt) {
        Some(text) => is_typed(&text),
        None => each_item(prompt)
            .any(|block| member(block, "text").and_then(string).is_some_and(|text| is_typed(&text))),
    }
}

/// Whether an entry is a prompt: what the user typed, also while the agent was working. `kind` and `flags` are the entry's.
pub fn is_prompt(kind: Kind, flags: Flags) -> bool {
    let aside = flags.is_put_in() || flags.has(Flags::SIDECHAIN);
    match kind {
        Kind::User => !aside && !flags.has(Flags::NOT_TYPED),
        Kind::Attachment => !aside && flags.has(Flags::TEXT),
        _ => false,
    }
}

/// Whether nothing but what an editor says of its open file is in a prompt.
fn is_lone_tag(text: &str) -> bool {
    text.starts_with("<ide_") && text.ends_with('>') && text.matches("</ide_").count() == 1
}

/// The text of a message: its content, or the first block of it with a text.
fn text<'l>(line: &Line<'l>) -> Option<Cow<'l, str>> {
    if let Some(text) = line.fields.str(Field::Content) {
        return Some(Str::text(text));
    }
    let content = value(line.bytes?, &["message", "content"])?;
    let texts = each_item(content)
        .filter_map(|block| member(block, "text").and_then(string).filter(|text| !text.trim().is_empty()));
    texts.into_iter().find(|text| !is_lone_tag(text.trim()))
}
