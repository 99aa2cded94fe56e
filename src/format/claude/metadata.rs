//! Facts about a transcript as a whole, collected while its lines are read.

use super::{KeptLists, Markup, is_typed, typed};
use crate::format::session::Gathered;
use crate::json::{
    BlockKind, Field, Line, Str, Value, each_item, member, member_at, string, text as text_of,
};
use crate::model::{BuildKeyHasher, Flags, Ix, Key, Kind};
use std::borrow::Cow;
use std::hash::BuildHasher;

/// Facts about a transcript, collected while its lines are read. Empty for the other formats.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The last `compact_boundary` of the main file, with the messages that it kept.
    pub boundary: Option<Boundary>,
    /// All `compact_boundary` lines of the main file, including the last, and whether each has
    /// lists of kept messages.
    pub boundaries: Vec<(Ix, bool)>,
    /// The calls and results of the main file, in file order.
    pub tools: Vec<Tool>,
    /// Turns that say nothing, in file order: a reply with only such parts is forgotten.
    pub quiet: Vec<(Ix, Quiet)>,
    /// Turns whose content is neither a string nor a list, in file order: Claude Code treats such a
    /// line as a mere link.
    pub links: Vec<Ix>,
    /// The entries that a line retracts (`retractedMessageUuids`), by the entry of that line, in
    /// file order.
    pub retracted: Vec<(Ix, Key)>,
    /// The subagent whose transcript it is: the first `agentId` on a sidechain line.
    pub agent: Option<String>,
    /// The version of Claude Code in the last line that names one.
    pub version: Option<String>,
    /// The working directory in the first line with a `cwd`.
    pub cwd: Option<String>,
    /// The user's title: the last `custom-title` line; empty if the title was removed.
    pub custom_title: Option<String>,
    /// The model's title: the last `ai-title` line.
    pub ai_title: Option<String>,
    /// The newest prompt, according to the last pointer that contains one.
    pub last_prompt: Option<String>,
    /// The last title of the old kind, from `summary` lines.
    pub summary: Option<String>,
    /// The first prompt that the user typed, cut at 200 characters.
    pub first_prompt: Option<String>,
    /// The name of the first command that the user ran.
    pub first_command: Option<String>,
    /// The cost of the session in dollars, as recorded by Claude Code: the last `cost-state` line.
    pub cost: Option<Cost>,
}

/// A cost in dollars.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost(pub f64);

/// A call or a result in a turn, in eight bytes: HEAD depends on whether the last calls have
/// results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tool {
    /// The entry.
    pub entry: Ix,
    /// A hash of the call's id: equal for equal ids, and almost never equal for different ones.
    pub id: u32,
    /// Whether it is a result.
    pub result: bool,
}

/// The ways in which a turn can say nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quiet {
    /// A part of a reply that contains only thinking and texts of white space.
    Silent,
    /// Its list of blocks is empty.
    Empty,
}

/// A `compact_boundary` line: the conversation above it is replaced by the summary below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Boundary {
    /// The entry.
    pub entry: Ix,
    /// The entry after which the kept messages are inserted: the summary.
    pub anchor: Option<Key>,
    /// The kept messages, in order; empty if only their ends are named, or if none was kept.
    pub kept: Vec<Key>,
    /// The first kept message, and the last.
    pub ends: Option<(Key, Key)>,
}

impl Boundary {
    /// Reads the lists of a `compact_boundary` line.
    pub fn read(entry: Ix, line: &[u8]) -> Boundary {
        let lists = KeptLists::find(line);
        let [head, tail] = lists.ends().map(|end| id(end?));
        Boundary {
            entry,
            anchor: lists.anchors().into_iter().find_map(|anchor| id(anchor?)),
            kept: lists.uuids().filter_map(id).collect(),
            ends: head.zip(tail),
        }
    }

    /// Returns whether it names kept messages.
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty() || self.anchor.is_some() && self.ends.is_some()
    }

    /// Returns whether it has lists at all: then Claude Code drops everything before the last
    /// boundary of the file.
    pub fn is_listed(&self) -> bool {
        self.anchor.is_some() || !self.kept.is_empty()
    }
}

/// Returns the key of an id, given as JSON.
fn id(value: &[u8]) -> Option<Key> {
    match value.first()? {
        b'"' => string(value).filter(|id| !id.is_empty()).map(|id| Key::hash(id.as_bytes())),
        b'0'..=b'9' | b'-' => Some(Key::hash(value)),
        _ => None,
    }
}

/// How much of a prompt is kept as a title, in characters.
const TITLE: usize = 200;

impl Facts {
    /// Returns the current title: the user's, or else the model's, the newest prompt, a summary, or
    /// the first prompt.
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

    /// Appends the facts of a later segment of the file; `entries` is the number of entries before
    /// it.
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

    /// Records the facts that any line of the main file may contain.
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

    /// Records a line about the session as a whole.
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

    /// Records the calls and results of a turn.
    pub(super) fn turn(gathered: &mut Gathered, line: &Line<'_>) {
        for block in line.fields.blocks() {
            let (BlockKind::Call | BlockKind::Result, Some(id)) = (block.kind, block.id) else { continue };
            gathered.claude.tools.push(Tool {
                entry: Ix(gathered.entries),
                id: short_hash(id.key()),
                result: block.kind == BlockKind::Result,
            });
        }
    }

    /// Records a `compact_boundary` line.
    pub(super) fn compaction(gathered: &mut Gathered, line: &Line<'_>) {
        let boundary = Boundary::read(Ix(gathered.entries), line.bytes.unwrap_or_default());
        gathered.claude.boundaries.push((boundary.entry, boundary.is_listed()));
        gathered.claude.boundary = Some(boundary);
    }

    /// Records the entries that a line retracts.
    pub(super) fn retracted(gathered: &mut Gathered, line: &Line<'_>) {
        if line.fields.get(Field::Retracted) != Value::List {
            return;
        }
        let list = line.bytes.and_then(|bytes| member(bytes, "retractedMessageUuids")).unwrap_or_default();
        let by = Ix(gathered.entries);
        gathered.claude.retracted.extend(each_item(list).filter_map(id).map(|key| (by, key)));
    }

    /// Records a turn that says nothing.
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

    /// Returns whether a turn says nothing, or a line retracts it: Claude Code does not continue
    /// after it.
    pub fn may_be_passed_over(&self, ix: Ix, key: Key) -> bool {
        self.quiet_at(ix).is_some()
            || self.links.binary_search(&ix).is_ok()
            || self.retracted.iter().any(|(_, retracted)| *retracted == key)
    }

    /// Returns how a turn says nothing, or `None` if it says something.
    pub(super) fn quiet_at(&self, ix: Ix) -> Option<Quiet> {
        self.quiet.binary_search_by_key(&ix, |(of, _)| *of).ok().map(|at| self.quiet[at].1)
    }

    /// Records a prompt, until the first typed one is known.
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
        } else if !matches!(Markup::parse(text), Some(Markup::Command | Markup::Arguments))
            && let Some(typed) = typed(text)
        {
            facts.first_prompt = Some(typed.chars().take(TITLE).collect());
        }
    }
}

/// Returns whether a message in the user's name without a result contains nothing that the user
/// typed.
pub(super) fn is_not_typed(line: &Line<'_>, flags: Flags) -> bool {
    let fields = &line.fields;
    if let Some(text) = fields.str(Field::Content) {
        return may_be_markup(text.raw) && !is_typed(&text.text());
    }
    if fields.blocks().any(|block| !matches!(block.kind, BlockKind::Text | BlockKind::Thinking)) {
        return false;
    }
    if !flags.has(Flags::TEXT) {
        return true;
    }
    // A line that is not held in memory is too long for markup.
    let Some(content) = line.bytes.and_then(|bytes| member_at(bytes, &["message", "content"])) else {
        return false;
    };
    let said = |block: &[u8]| match member(block, "text") {
        Some([b'"', raw @ .., b'"']) if !may_be_markup(raw) => true,
        text => text.and_then(string).is_some_and(|text| is_typed(&text)),
    };
    !each_item(content).any(said)
}

/// Returns whether a string, given as it is spelled, may be something else than what the user
/// typed. Most prompts can be recognized by their first byte.
fn may_be_markup(raw: &[u8]) -> bool {
    let first = raw.iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(first, None | Some(b'<' | b'[' | b'\\')) || raw.starts_with(b"This session")
}

/// Returns whether an attachment is a prompt that the user typed while the agent was working.
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

/// Returns whether an entry is a prompt, i.e. typed by the user, including while the agent was
/// working. `kind` and `flags` are those of the entry.
pub fn is_prompt(kind: Kind, flags: Flags) -> bool {
    let aside = flags.is_put_in() || flags.has(Flags::SIDECHAIN);
    match kind {
        Kind::User => !aside && !flags.has(Flags::NOT_TYPED),
        Kind::Attachment => !aside && flags.has(Flags::TEXT),
        _ => false,
    }
}

/// Returns whether a prompt contains only what an editor reports about its open file.
fn is_lone_tag(text: &str) -> bool {
    text.starts_with("<ide_") && text.ends_with('>') && text.matches("</ide_").count() == 1
}

/// Returns the text of a message: its content, or its first block with a text.
fn text<'l>(line: &Line<'l>) -> Option<Cow<'l, str>> {
    if let Some(text) = line.fields.str(Field::Content) {
        return Some(Str::text(text));
    }
    let content = member_at(line.bytes?, &["message", "content"])?;
    let texts = each_item(content)
        .filter_map(|block| member(block, "text").and_then(string).filter(|text| !text.trim().is_empty()));
    texts.into_iter().find(|text| !is_lone_tag(text.trim()))
}

/// Returns the hash of a call's id for [`Tool`]. A key contains a short id as it is, so the bits are
/// mixed before any of them are dropped.
fn short_hash(key: Key) -> u32 {
    BuildKeyHasher::default().hash_one(key) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn short_ids_of_calls_differ() {
        let ids: Vec<String> = (0..2000).flat_map(|at| [format!("c{at}"), format!("call{at}")]).collect();
        let letters = (b'a'..=b'z').map(|letter| (letter as char).to_string());
        let ids: Vec<String> = ids.into_iter().chain(letters).collect();
        let hashes: HashSet<u32> = ids.iter().map(|id| short_hash(Key::hash(id.as_bytes()))).collect();
        assert_eq!(hashes.len(), ids.len());
    }
}
