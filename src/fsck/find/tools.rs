use super::Finder;
use crate::format::{Format, ToolRef};
use crate::fsck::checks::Check;
use crate::model::{Ix, Key, Kind};
use std::collections::HashMap;
use std::io;

impl Finder<'_> {
    /// Tool calls without results, and results that are out of place.
    pub(super) fn tools(&mut self) -> io::Result<()> {
        let session = self.session;
        let Some(side) = &session.side else { return Ok(()) };
        let mut tools: Vec<ToolRef> =
            side.tools.iter().filter(|tool| session.tree.stands(tool.entry)).copied().collect();
        tools.sort_unstable_by_key(|tool| (tool.id, tool.entry, tool.result));
        let mut found: Vec<(Ix, Check, Option<Ix>, Key)> = Vec::new();
        for group in tools.chunk_by(|one, other| one.id == other.id) {
            let calls = || group.iter().filter(|tool| !tool.result);
            let results = || group.iter().filter(|tool| tool.result);
            let key = group[0].id;
            match (calls().count(), results().count()) {
                (0, _) => found.extend(results().map(|r| (r.entry, Check::OrphanToolResult, None, key))),
                (_, 0) => found.extend(calls().map(|c| (c.entry, Check::UnpairedToolUse, None, key))),
                (calls, results_) if results_ > calls => {
                    let first = results().next().map(|tool| tool.entry);
                    found.extend(
                        results().skip(calls).map(|r| (r.entry, Check::DuplicateToolResult, first, key)),
                    );
                }
                _ => {}
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
        if !matches!(session.format, Format::Claude | Format::Chimera | Format::HarnessV4) {
            self.misplaced(&tools, &mut found);
        }
        found.sort_unstable();
        // What stands in the line at hand, which may hold many calls.
        let mut ids: (Option<Ix>, HashMap<Key, String>) = Default::default();
        for (ix, check, other, key) in found {
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
                    Check::UnpairedToolUse => format!("tool call `{id}` has no result"),
                    Check::DuplicateToolResult => format!("a further result of `{id}`, after line {line}"),
                    Check::DuplicateToolId => {
                        format!("tool call `{id}` has the id of one above it, on line {line}")
                    }
                    _ => format!("another message stands between the call `{id}` and its result"),
                })
            })?;
            if session.format == Format::PiV1 {
                self.unmendable();
            }
        }
        Ok(())
    }

    /// The ids of tool calls that stand in an entry.
    fn tool_ids(&self, ix: Ix) -> io::Result<HashMap<Key, String>> {
        let ids = crate::format::tools::tool_ids(self.session.format, &self.line(ix)?);
        Ok(ids.into_iter().map(|tool| (Key::of(tool.id.as_bytes()), tool.id)).collect())
    }

    /// Results with another message than their call, or a result of the same reply, above them.
    fn misplaced(&self, tools: &[ToolRef], found: &mut Vec<(Ix, Check, Option<Ix>, Key)>) {
        let session = self.session;
        let mut call_of: HashMap<Key, Vec<Ix>> = HashMap::new();
        let mut results: HashMap<Ix, Key> = HashMap::new();
        for tool in tools {
            match tool.result {
                true => _ = results.insert(tool.entry, tool.id),
                false => call_of.entry(tool.id).or_default().push(tool.entry),
            }
        }
        let is_message = |ix: Ix| {
            session.entries.kind(ix) == Kind::Custom && session.entries.ty(ix) == "custom_message"
                || session.entries.ty(ix) == "message"
        };
        let mut sisters: HashMap<(Key, Key), bool> = HashMap::new();
        // Each entry is walked over once: what stands above it is kept.
        let mut above: HashMap<Ix, Option<Ix>> = HashMap::new();
        for tool in tools.iter().filter(|tool| tool.result) {
            let Some(calls) = call_of.get(&tool.id) else { continue };
            let mut way = Vec::new();
            let mut at = session.tree.parent(tool.entry);
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
            let fits = message.is_some_and(|message| {
                // Calls are in file order.
                let is_call = |ix: &Ix| calls.binary_search(ix).is_ok();
                let is_sister = |other: &Key| {
                    *sisters
                        .entry((tool.id, *other))
                        .or_insert_with(|| call_of.get(other).is_some_and(|of| of.iter().any(is_call)))
                };
                is_call(&message) || results.get(&message).is_some_and(is_sister)
            });
            if !fits {
                found.push((tool.entry, Check::MisplacedToolResult, message, tool.id));
            }
        }
    }
}
