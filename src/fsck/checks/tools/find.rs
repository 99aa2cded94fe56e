//! Checks of tool calls and results.

use crate::format::{Content, Format, Session, ToolRef};
use crate::fsck::checks::{Finder, Lineage};
use crate::fsck::table::Check;
use crate::model::{Flags, Ix, Key, KeySet, Kind, Source};
use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::io;

/// A call with its result.
struct Pair {
    id: Key,
    call: Ix,
    result: Ix,
}

/// Calls and results, as far as they can be paired at once.
struct Paired {
    /// Calls with results that follow them closely in the file, in the order of the results.
    pairs: Vec<Pair>,
    /// All others, in no particular order.
    others: Vec<ToolRef>,
}

impl Paired {
    /// Pairs tools given in file order, at most that many.
    fn pair(tools: impl Iterator<Item = ToolRef>, most: usize) -> Paired {
        /// Few replies have more calls.
        const NEAR: usize = 16;
        let mut paired = Paired { pairs: Vec::with_capacity(most / 2), others: Vec::new() };
        let mut open: VecDeque<ToolRef> = VecDeque::with_capacity(NEAR);
        for tool in tools {
            if !tool.result {
                if open.len() == NEAR {
                    paired.others.extend(open.pop_front());
                }
                open.push_back(tool);
            } else if let Some(at) = open.iter().rposition(|call| call.id == tool.id)
                && let Some(call) = open.remove(at)
            {
                paired.pairs.push(Pair { id: tool.id, call: call.entry, result: tool.entry });
            } else {
                paired.others.push(tool);
            }
        }
        paired.others.extend(open);
        paired
    }

    /// Returns the calls and results whose ids may belong to more than a single pair, in no
    /// particular order.
    fn doubtful(self) -> Vec<ToolRef> {
        let Paired { pairs, mut others } = self;
        let ids = pairs.iter().map(|pair| pair.id).chain(others.iter().map(|other| other.id));
        let again = KeySet::repeated(ids, pairs.len() + others.len());
        for Pair { id, call, result } in pairs.into_iter().filter(|pair| again.has(pair.id)) {
            others.push(ToolRef { id, entry: call, result: false });
            others.push(ToolRef { id, entry: result, result: true });
        }
        others
    }
}

/// Returns the results that repeat an ancestor, each with that one: on the path between them there
/// is no call with the same id. `tools` are those of one id, sorted by their entries.
///
/// Results of one call on different branches are not repeated: each is the result on its branch.
pub(in crate::fsck) fn repeated(tools: &[ToolRef], session: &Session, lineage: &Lineage) -> Vec<(Ix, Ix)> {
    let mut again = Vec::new();
    let calls_it =
        |entry: Ix| tools.binary_search_by_key(&(entry, false), |tool| (tool.entry, tool.result)).is_ok();
    let mut results = tools.iter().filter(|tool| tool.result).map(|tool| tool.entry);
    let mut before = None;
    // Nearly all results are children of their calls.
    let placed = results.all(|result| {
        before.replace(result) != Some(result) && session.tree.parent(result).is_some_and(calls_it)
    });
    if placed || tools.iter().filter(|tool| tool.result).count() < 2 {
        return again;
    }
    // A call in the entry of a result is not the call of that result.
    lineage.intervals(session).each_below(tools, |(ix, is_call), above| {
        if let (false, Some((other, false))) = (is_call, above) {
            again.push((ix, other));
        }
    });
    again
}

/// Returns whether an entry is a reply that its agent does not send, including its calls: it ended
/// in an error, or was aborted.
pub(in crate::fsck) fn is_not_sent(session: &Session, source: &dyn Source, ix: Ix) -> io::Result<bool> {
    if matches!(session.format, Format::Claude | Format::Chimera)
        || !session.entries.flags(ix).has(Flags::ENDED_BADLY)
    {
        return Ok(false);
    }
    let line = source.bytes(session.span(ix))?;
    let content = Content::read(session.format, &line);
    Ok(&*content.role == "assistant" && matches!(content.ended.as_deref(), Some("error" | "aborted")))
}

/// A finding about a tool call or result: its entry, the check, the other entry, and the id.
type Found = (Ix, Check, Option<Ix>, Key);

impl Finder<'_> {
    /// Checks for tool calls without results, and for misplaced results.
    pub(crate) fn tools(&mut self) -> io::Result<()> {
        let session = self.session;
        let Some(side) = &session.side else { return Ok(()) };
        let all = || side.tools.iter().filter(|tool| session.tree.is_in_tree(tool.entry)).copied();
        let in_place = !matches!(session.format, Format::Claude | Format::Chimera | Format::HarnessV4)
            && !session.format.is_guest();
        let paired = Paired::pair(all(), side.tools.len());
        let are_placed = !in_place || self.are_placed(&paired);
        let mut tools = if are_placed { paired.doubtful() } else { all().collect() };
        tools.sort_unstable_by_key(|tool| (tool.id, tool.entry, tool.result));
        let mut found = self.unpaired(&tools);
        if !are_placed {
            self.misplaced(&tools, &mut found);
        }
        found.sort_unstable();
        // The ids in the current line, which may contain many calls.
        let mut ids: (Option<Ix>, HashMap<Key, String>) = Default::default();
        // Calls under which a misplaced result could be placed.
        let mut sent: HashMap<Key, Vec<Ix>> = HashMap::new();
        for (ix, check, other, key) in found {
            let not_sent = match check {
                Check::UnpairedToolUse => is_not_sent(session, self.source, ix)?,
                Check::MisplacedToolResult => {
                    if let Entry::Vacant(calls) = sent.entry(key) {
                        calls.insert(self.calls_that_are_sent(&tools, key)?);
                    }
                    sent[&key].iter().all(|call| *call == ix)
                }
                _ => false,
            };
            self.entry(check, ix, other, |finder, _| {
                if ids.0 != Some(ix) {
                    ids = (Some(ix), finder.tool_ids(ix)?);
                }
                let id = ids.1.get(&key).map_or("", String::as_str);
                let line = other.map(|other| finder.origin_line(other)).unwrap_or_default();
                Ok(match check {
                    Check::OrphanToolResult => {
                        format!("result of `{id}`, a call that is not in this session")
                    }
                    Check::UnpairedToolUse if not_sent => {
                        format!(
                            "tool call `{id}` has no result, and needs none: its reply failed and is not sent"
                        )
                    }
                    Check::UnpairedToolUse => format!("tool call `{id}` has no result"),
                    Check::DuplicateToolResult => format!("a second result of `{id}`, after line {line}"),
                    Check::DuplicateToolId => {
                        format!("tool call `{id}` has the same id as the call on line {line}")
                    }
                    _ if sent.get(&key).is_some_and(|calls| calls.contains(&ix)) && not_sent => {
                        format!("the call `{id}` and its result are in one entry")
                    }
                    _ if not_sent => {
                        format!("the result of `{id}` does not follow its call, whose reply is not sent")
                    }
                    _ => format!("another message is between the call `{id}` and its result"),
                })
            })?;
            if session.format == Format::PiV1 || not_sent {
                self.mark_unrepairable();
            }
        }
        Ok(())
    }

    /// Returns calls without a result, results without a call, and those with the id of another. `tools` are sorted by
    /// their ids.
    fn unpaired(&self, tools: &[ToolRef]) -> Vec<Found> {
        let session = self.session;
        let mut found: Vec<Found> = Vec::new();
        for group in tools.chunk_by(|one, other| one.id == other.id) {
            let calls = || group.iter().filter(|tool| !tool.result);
            let results = || group.iter().filter(|tool| tool.result);
            let key = group[0].id;
            match (calls().count(), results().count()) {
                (0, _) => found.extend(results().map(|r| (r.entry, Check::OrphanToolResult, None, key))),
                (_, 0) => found.extend(calls().map(|c| (c.entry, Check::UnpairedToolUse, None, key))),
                _ => {
                    let again = repeated(group, session, &self.lineage);
                    found.extend(
                        again
                            .into_iter()
                            .map(|(result, other)| (result, Check::DuplicateToolResult, Some(other), key)),
                    );
                }
            }
            if session.format == Format::Claude && calls().count() > 1 {
                let calls: Vec<Ix> = calls().map(|tool| tool.entry).collect();
                for (at, call) in calls.iter().enumerate().skip(1) {
                    let before = &calls[at.saturating_sub(16)..at];
                    if let Some(above) =
                        before.iter().find(|above| *above != call && self.is_above(**above, *call))
                    {
                        found.push((*call, Check::DuplicateToolId, Some(*above), key));
                    }
                }
            }
        }
        found
    }

    /// Returns the first calls with an id in replies that are sent, at most two: one may be in the
    /// entry of its own result.
    fn calls_that_are_sent(&self, tools: &[ToolRef], id: Key) -> io::Result<Vec<Ix>> {
        let mut sent = Vec::new();
        let from = tools.partition_point(|tool| tool.id < id);
        for call in tools[from..].iter().take_while(|tool| tool.id == id).filter(|tool| !tool.result) {
            if !is_not_sent(self.session, self.source, call.entry)? {
                sent.push(call.entry);
                if sent.len() == 2 {
                    break;
                }
            }
        }
        Ok(sent)
    }

    /// Returns the ids of tool calls in an entry.
    fn tool_ids(&self, ix: Ix) -> io::Result<HashMap<Key, String>> {
        let ids = crate::format::tools::tool_ids(self.session.format, &self.line(ix)?);
        Ok(ids.into_iter().map(|tool| (Key::hash(tool.id.as_bytes()), tool.id)).collect())
    }

    /// Returns whether each result obviously follows its call, or another result of the same reply.
    fn are_placed(&self, paired: &Paired) -> bool {
        if paired.others.iter().any(|tool| tool.result) {
            return false;
        }
        let is_message = self.is_message();
        let tree = &self.session.tree;
        let before = std::iter::once(None).chain(paired.pairs.iter().map(Some));
        paired.pairs.iter().zip(before).all(|(pair, before)| {
            let Some(above) = tree.parent(pair.result).filter(|above| is_message(*above)) else {
                return false;
            };
            let sister = |before: &Pair| above == before.result && pair.call == before.call;
            above == pair.call && before.is_none_or(|before| before.result < pair.result)
                || before.is_some_and(sister)
        })
    }

    /// Returns a function that checks whether an entry is a message to the agent.
    fn is_message(&self) -> impl Fn(Ix) -> bool + use<'_> {
        let entries = &self.session.entries;
        let named = |name: &str| entries.types().iter().position(|ty| ty == name);
        let (message, custom) = (named("message"), named("custom_message"));
        move |ix| {
            let ty = Some(entries.type_at(ix));
            ty == message || ty == custom && entries.kind(ix) == Kind::Custom
        }
    }

    /// Finds results whose preceding message is neither their call nor a result of the same reply.
    /// `tools` are sorted by their ids, then by their entries.
    fn misplaced(&self, tools: &[ToolRef], found: &mut Vec<(Ix, Check, Option<Ix>, Key)>) {
        let session = self.session;
        let is_message = self.is_message();
        let mut sisters: HashMap<(Key, Key), bool> = HashMap::new();
        // Each entry is visited once: its preceding message is kept.
        let mut above: HashMap<Ix, Option<Ix>> = HashMap::new();
        let mut message_above = |entry: Ix| {
            let mut way = Vec::new();
            let mut at = session.tree.parent(entry);
            let message = loop {
                let Some(ix) = at else { break None };
                if is_message(ix) {
                    break Some(ix);
                }
                if let Some(known) = above.get(&ix) {
                    break *known;
                }
                way.push(ix);
                at = session.tree.parent(ix);
            };
            above.extend(way.into_iter().map(|ix| (ix, message)));
            message
        };
        // Nearly all results come right after their calls.
        let results: OnceCell<Vec<(Ix, Key)>> = OnceCell::new();
        let result_in = |entry: Ix| {
            let results = results.get_or_init(|| {
                let mut results: Vec<(Ix, Key)> =
                    tools.iter().filter(|tool| tool.result).map(|tool| (tool.entry, tool.id)).collect();
                results.sort_unstable();
                results
            });
            let at = results.partition_point(|(of, _)| *of < entry);
            results.get(at).filter(|(of, _)| *of == entry).map(|(_, id)| *id)
        };
        for group in tools.chunk_by(|one, other| one.id == other.id) {
            if group.iter().all(|tool| tool.result) {
                continue;
            }
            let calls_it = |entry: Ix| {
                group.binary_search_by_key(&(entry, false), |tool| (tool.entry, tool.result)).is_ok()
            };
            for tool in group.iter().filter(|tool| tool.result) {
                let message = message_above(tool.entry);
                let mut is_sister = |message: Ix| {
                    let Some(id) = result_in(message) else { return false };
                    *sisters.entry((tool.id, id)).or_insert_with(|| {
                        let from = tools.partition_point(|tool| tool.id < id);
                        let same = tools[from..].iter().take_while(|tool| tool.id == id);
                        same.filter(|tool| !tool.result).any(|tool| calls_it(tool.entry))
                    })
                };
                if !message.is_some_and(|message| calls_it(message) || is_sister(message)) {
                    found.push((tool.entry, Check::MisplacedToolResult, message, tool.id));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs a text: calls in lower case, results in upper case, one an entry. Returns the pairs,
    /// and the ids that need a closer look.
    fn paired(text: &str) -> (String, String) {
        let tools = text.bytes().enumerate().map(|(at, letter)| ToolRef {
            id: Key::hash(&[letter.to_ascii_lowercase()]),
            entry: Ix(at as u32),
            result: letter.is_ascii_uppercase(),
        });
        let paired = Paired::pair(tools, text.len());
        let name = |id: Key| String::from_utf8(id.short_id().to_vec()).unwrap();
        let pairs =
            paired.pairs.iter().map(|pair| format!("{}{}-{}", name(pair.id), pair.call.0, pair.result.0));
        let pairs: Vec<String> = pairs.collect();
        let mut doubtful: Vec<String> = paired.doubtful().into_iter().map(|tool| name(tool.id)).collect();
        doubtful.sort();
        (pairs.join(" "), doubtful.concat())
    }

    #[test]
    #[rustfmt::skip] // a table
    fn calls_are_paired_with_results_near_behind_them() {
        let check = |text: &str, pairs: &str, doubtful: &str| assert_eq!(paired(text), (pairs.into(), doubtful.into()), "{text}");
        check("",       "",                "");
        check("aA",     "a0-1",            "");
        check("abAB",   "a0-2 b1-3",       "");
        check("abBA",   "b1-2 a0-3",       "");
        check("ab",     "",                "ab");
        check("Aa",     "",                "aa");
        check("aAA",    "a0-1",            "aaa");
        check("aAbaA",  "a0-1 a3-4",       "aaaab");
        check("aaAA",   "a1-2 a0-3",       "aaaa");
        check("abcdefghijklmnopqA", "",    "aabcdefghijklmnopq");         // too far
    }
}
