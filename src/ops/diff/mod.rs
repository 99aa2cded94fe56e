//! Compares two paths: what is only on one of them, and what differs between them.
//!
//! Entries are compared by their content (`labels`): the text, tool calls by name and arguments,
//! results by text; not by id, parent or time, nor by the model's thinking. They are aligned by
//! their ids, then by their content, and the rest between two aligned pairs by position in the turn
//! and by role (`align`).

mod align;
mod labels;

pub use align::{Step, align};
pub use labels::{said_of, says};

use super::Snapshot;
use crate::context::Context;
use crate::format::{Block, Content, Format, Usage};
use crate::json::each_item;
use crate::model::{Flags, Ix, Key, Kind, LineReader};
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

/// An entry of one side, as far as it is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// Where to find it: the entry, or the index of a message in a context.
    pub ix: Ix,
    /// Its id; none if the agent invents the message.
    pub key: Key,
    /// A hash of its content.
    pub says: u64,
    /// Its kind: only items of the same kind are aligned.
    pub sort: ItemKind,
}

/// The kind of an [`Item`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ItemKind(pub Kind);

impl ItemKind {
    /// Returns whether a turn begins with it.
    fn begins_turn(self) -> bool {
        self.0 == Kind::User
    }
}

/// Returns the items of two paths that are compared; with `all` also settings, labels, markers and
/// thinking.
///
/// Reads each of their lines. If one path has no items, whatever the other has is only there: then
/// no line is read, and the hashes of the contents are 0.
pub fn items(sides: [(Snapshot<'_>, &[Ix]); 2], all: bool) -> io::Result<[Vec<Item>; 2]> {
    let is_compared = |side: Snapshot<'_>, ix: Ix| all || super::filter::conversation(side.session, ix);
    let is_empty = |(side, path): (Snapshot<'_>, &[Ix])| !path.iter().any(|ix| is_compared(side, *ix));
    let is_one_sided = sides.into_iter().any(is_empty);
    let [a, b] = sides.map(|(side, path)| {
        let path = path.iter().copied().filter(|ix| is_compared(side, *ix));
        match is_one_sided {
            true => Ok(path.map(|ix| unread(side, ix)).collect()),
            false => read(side, path, all),
        }
    });
    Ok([a?, b?])
}

/// Returns the item of an entry whose line is not read.
fn unread(side: Snapshot<'_>, ix: Ix) -> Item {
    let entries = &side.session.entries;
    Item { ix, key: entries.key(ix), says: 0, sort: ItemKind(entries.kind(ix)) }
}

/// Returns the items of some entries, with the hashes of their contents.
fn read(side: Snapshot<'_>, path: impl Iterator<Item = Ix>, all: bool) -> io::Result<Vec<Item>> {
    let session = side.session;
    let (mut out, mut line) = (Vec::new(), Vec::new());
    for ix in path {
        side.read(ix, &mut line)?;
        let content = Content::read(session.format, &line);
        let mut hasher = DefaultHasher::new();
        says(&content, all).hash(&mut hasher);
        if session.entries.flags(ix).has(Flags::IMAGE) {
            images(&line, &mut hasher);
        }
        session.entries.kind(ix).hash(&mut hasher);
        out.push(Item { says: hasher.finish(), ..unread(side, ix) });
    }
    Ok(out)
}

/// Images are compared as they are stored.
fn images(line: &[u8], into: &mut DefaultHasher) {
    let content = crate::json::member_at(line, &["message", "content"]).unwrap_or_default();
    let mut todo: Vec<&[u8]> = each_item(content).collect();
    while let Some(block) = todo.pop() {
        for key in ["data", "source"] {
            crate::json::member_at(block, &[key]).hash(into);
        }
        if let Some(inside) = crate::json::member_at(block, &["content"]) {
            todo.extend(each_item(inside));
        }
    }
}

/// Returns the items of a context: the index of an item is that of its message.
pub fn sent_items(side: Snapshot<'_>, context: &Context) -> io::Result<Vec<Item>> {
    let (mut out, mut line) = (Vec::new(), Vec::new());
    for (place, message) in context.messages.iter().enumerate() {
        if !message.is_sent() {
            continue;
        }
        let said = message.read(side.session, side.source, &mut line)?;
        let mut hasher = DefaultHasher::new();
        message.role.hash(&mut hasher);
        said_of(&said.blocks, &said.text, false).hash(&mut hasher);
        let kind = match &*message.role {
            "user" => Kind::User,
            "assistant" => Kind::Assistant,
            "tool" | "toolResult" => Kind::Tool,
            "system" => Kind::System,
            _ => Kind::Other,
        };
        let key = message.entry.map_or(Key::NONE, |ix| side.session.entries.key(ix));
        out.push(Item { ix: Ix(place as u32), key, says: hasher.finish(), sort: ItemKind(kind) });
    }
    Ok(out)
}

/// Statistics of a side.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stat {
    /// The number of compared entries.
    pub entries: usize,
    /// How many of each kind, by the name of the kind.
    pub kinds: BTreeMap<&'static str, usize>,
    /// The total usage of the replies; each reply counts once.
    pub usage: Usage,
    /// How often each tool was called.
    pub tools: BTreeMap<String, usize>,
}

/// Counts a side.
pub fn stat(side: Snapshot<'_>, items: &[Item]) -> io::Result<Stat> {
    let session = side.session;
    let entries = &session.entries;
    let kinds = count_kinds(items.iter().map(|item| entries.kind(item.ix)));
    let mut stat = Stat { entries: items.len(), kinds, ..Stat::default() };
    let (mut lines, mut met) = (LineReader::default(), HashSet::new());
    for item in items {
        if entries.kind(item.ix) != Kind::Assistant {
            continue;
        }
        let span = session.span(item.ix);
        let file_len = session.files.get(usize::from(span.file)).map_or(0, |file| file.bytes);
        let content = Content::outline(session.format, lines.line(side.source, file_len, span)?);
        for (_, name, _) in content.calls() {
            match stat.tools.get_mut(name) {
                Some(count) => *count += 1,
                None => _ = stat.tools.insert(name.to_owned(), 1),
            }
        }
        let group = entries.group(item.ix);
        if group.is_some() && !met.insert(group) {
            continue;
        }
        if let Some(usage) = content.usage() {
            stat.usage.add(&usage);
        }
    }
    Ok(stat)
}

/// Counts entries by the name of their kind.
fn count_kinds(entries: impl Iterator<Item = Kind>) -> BTreeMap<&'static str, usize> {
    let mut kinds = Kind::ALL.map(|_| 0);
    for kind in entries {
        kinds[kind as usize] += 1;
    }
    let named = Kind::ALL.into_iter().zip(kinds).filter(|(_, count)| *count > 0);
    named.map(|(kind, count)| (kind.name(), count)).collect()
}

/// Returns the content of an entry, as lines of text.
pub fn text_of(format: Format, line: &[u8], all: bool) -> String {
    says(&Content::read(format, line), all)
}

/// Returns whether a block is the model's thinking.
fn is_thinking(block: &Block<'_>) -> bool {
    matches!(block, Block::Thinking { .. })
}
