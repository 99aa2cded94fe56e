//! Repairs of tool calls and results, nearly all of them on request.

mod links;

use crate::format::tools::{ToolId, ToolRole, tool_ids};
use crate::format::{Format, Ids, Session, ToolRef};
use crate::fsck::checks::{Lineage, is_not_sent, repeated};
use crate::fsck::finding::Finding;
use crate::fsck::repair::draft::{Draft, json};
use crate::fsck::repair::{RepairOptions, Round};
use crate::fsck::table::Check;
use crate::json::{Edits, each_item, member_at, place_in, string_of};
use crate::model::{Ix, Key, Kind, Source, Time};
use links::Links;
use std::collections::{HashMap, HashSet};
use std::io;

/// The text of an invented result.
const LOST: &str = "[The result of this call was lost.]";

/// Calls and results in the tree, by id and by entry; entries in file order, one for each
/// occurrence.
struct Tools {
    calls: HashMap<Key, Vec<Ix>>,
    results: HashMap<Key, Vec<Ix>>,
    /// The result in each entry, the last if there are several.
    result_in: HashMap<Ix, Key>,
    /// The calls that have a result anywhere in the file, including copies.
    answered: HashSet<Key>,
    /// The results that repeat an ancestor: the entry, and how many results with the same id come
    /// before them there that do not.
    repeated: HashMap<(Ix, Key), usize>,
}

impl Tools {
    fn collect(session: &Session) -> Tools {
        let mut tools = Tools {
            calls: HashMap::new(),
            results: HashMap::new(),
            result_in: HashMap::new(),
            answered: HashSet::new(),
            repeated: HashMap::new(),
        };
        for tool in session.side.iter().flat_map(|side| &side.tools) {
            if tool.result {
                tools.answered.insert(tool.id);
            }
            if !session.tree.is_in_tree(tool.entry) {
                continue;
            }
            let by_id = if tool.result { &mut tools.results } else { &mut tools.calls };
            by_id.entry(tool.id).or_default().push(tool.entry);
            if tool.result {
                tools.result_in.insert(tool.entry, tool.id);
            }
        }
        tools
    }

    /// Finds the results that repeat an ancestor.
    fn find_repeated(&mut self, session: &Session, lineage: &Lineage) {
        for (id, results) in self.results.iter().filter(|(_, results)| results.len() > 1) {
            let calls = self.calls.get(id).into_iter().flatten().map(|call| (call, false));
            let all = calls.chain(results.iter().map(|result| (result, true)));
            let mut tools: Vec<ToolRef> =
                all.map(|(entry, result)| ToolRef { id: *id, entry: *entry, result }).collect();
            tools.sort_unstable_by_key(|tool| (tool.entry, tool.result));
            let again = repeated(&tools, session, lineage);
            for (result, _) in &again {
                let from = results.partition_point(|other| other < result);
                let within = results[from..].iter().take_while(|other| *other == result).count();
                self.repeated.entry((*result, *id)).or_insert(within);
            }
            for (result, _) in again {
                self.repeated.entry((result, *id)).and_modify(|sound| *sound -= 1);
            }
        }
    }

    /// Returns what is wrong with a result: the one with `before` results of the same id before it
    /// in its entry.
    fn fault(&self, id: Key, ix: Ix, before: usize) -> Option<Check> {
        if !self.calls.contains_key(&id) {
            return Some(Check::OrphanToolResult);
        }
        let sound = *self.repeated.get(&(ix, id))?;
        (before >= sound).then_some(Check::DuplicateToolResult)
    }

    fn is_call(&self, ix: Ix, id: Key) -> bool {
        self.calls.get(&id).is_some_and(|calls| calls.binary_search(&ix).is_ok())
    }
}

impl Round<'_> {
    pub(crate) fn tools(
        &self,
        draft: &mut Draft<'_>,
        wanted: &[&Finding],
        options: &RepairOptions,
        ids: &mut Ids,
    ) -> io::Result<()> {
        if self.session.format == Format::PiV1 {
            // Without ids there are no links that could be changed.
            return Ok(());
        }
        let concerned = |finding: &&&Finding| {
            use Check::{
                DuplicateToolId, DuplicateToolResult, MisplacedToolResult, OrphanToolResult, UnpairedToolUse,
            };
            matches!(
                finding.check,
                UnpairedToolUse
                    | OrphanToolResult
                    | DuplicateToolResult
                    | MisplacedToolResult
                    | DuplicateToolId
            )
        };
        let wanted: Vec<&Finding> = wanted.iter().filter(concerned).copied().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut tools = Tools::collect(self.session);
        if wanted.iter().any(|finding| finding.check == Check::DuplicateToolResult) {
            tools.find_repeated(self.session, &self.lineage);
        }
        let mut lost: HashSet<Ix> = HashSet::new();
        let mut twice: Vec<Ix> = Vec::new();
        let mut misplaced: Vec<Ix> = Vec::new();
        for finding in wanted {
            let Some(ix) = finding.entry else { continue };
            match finding.check {
                Check::UnpairedToolUse if lost.insert(ix) => {
                    self.make_results(draft, ix, &tools, options, ids)?;
                }
                Check::OrphanToolResult | Check::DuplicateToolResult => {
                    self.take_results_out(draft, ix, finding.check, &tools)?;
                }
                Check::MisplacedToolResult => misplaced.push(ix),
                Check::DuplicateToolId => twice.push(ix),
                _ => {}
            }
        }
        // Other changes of links come first: the next round finds the results that are still
        // misplaced.
        if draft.is_empty() {
            let mut links = Links::new(self.session, &tools);
            for ix in misplaced {
                self.put_under_call(draft, ix, &mut links)?;
            }
        }
        self.new_tool_ids(draft, &twice, &tools, ids)
    }

    /// Removes the results at fault from an entry, or the whole entry if it contains nothing else.
    fn take_results_out(&self, draft: &mut Draft<'_>, ix: Ix, check: Check, tools: &Tools) -> io::Result<()> {
        if self.session.format != Format::Claude {
            return self.remove_entry(draft, ix, check);
        }
        if draft.is_gone(ix) {
            return Ok(());
        }
        let line = draft.bytes(ix)?;
        let ids = tool_ids(self.session.format, &line);
        let mut seen: HashMap<Key, usize> = HashMap::new();
        let content = member_at(&line, &["message", "content"]).unwrap_or_default();
        let at_fault: Vec<bool> = each_item(content)
            .map(|block| {
                let place = place_in(&line, block);
                let within = |tool: &&ToolId| place.contains(&tool.at.start);
                let result = ids.iter().filter(|tool| tool.role == ToolRole::Result).find(within);
                result.is_some_and(|result| {
                    let id = Key::hash(result.id.as_bytes());
                    let seen = seen.entry(id).or_default();
                    *seen += 1;
                    tools.fault(id, ix, *seen - 1) == Some(check)
                })
            })
            .collect();
        if !at_fault.contains(&true) {
            return Ok(());
        }
        match at_fault.contains(&false) {
            true => draft.take_items_out(ix, &["message", "content"], &at_fault, check),
            false => self.remove_entry(draft, ix, check),
        }
    }

    /// Appends a result for each call of an entry that has none, and moves the children of the
    /// entry below them.
    fn make_results(
        &self,
        draft: &mut Draft<'_>,
        ix: Ix,
        tools: &Tools,
        options: &RepairOptions,
        ids: &mut Ids,
    ) -> io::Result<()> {
        let session = self.session;
        let line = self.source.bytes(session.span(ix))?;
        let calls = tool_ids(session.format, &line).into_iter().filter(|tool| tool.role == ToolRole::Call);
        let mut calls: Vec<String> = calls.map(|tool| tool.id).collect();
        calls.retain(|id| !tools.answered.contains(&Key::hash(id.as_bytes())));
        if calls.is_empty() {
            return Ok(());
        }
        let names = names_of_calls(session.format, &line);
        let near = Near::read(session.format, &line, options.now);
        let Some(mut above) = draft.link_to(ix)? else { return Ok(()) };
        for call in calls {
            let id = ids.entry(session.format, session.entries.keys());
            let name = names.get(&call).map_or("", String::as_str);
            let new = near.result(session.format, (&call, name), &id, &above);
            draft.insert_behind(ix, new, Check::UnpairedToolUse);
            above = json(Some(&id));
        }
        let group = session.entries.group(ix);
        let children: Vec<Ix> = session.tree.children(ix).collect();
        for child in children {
            // Further parts of the same reply stay where they are.
            let part = group.is_some()
                && session.entries.group(child) == group
                && session.entries.kind(child) == Kind::Assistant;
            if !part {
                draft.set(child, &[session.format.names().parent], &above, Check::UnpairedToolUse)?;
            }
        }
        Ok(())
    }

    /// Makes a result a child of its call, and moves the entries between below the result.
    fn put_under_call(&self, draft: &mut Draft<'_>, ix: Ix, links: &mut Links<'_>) -> io::Result<()> {
        let Some(key) = links.tools.result_in.get(&ix) else { return Ok(()) };
        let Some(call) = self.call_above(ix, *key, links)? else {
            return self.bring_under_call(draft, ix, *key, links);
        };
        // The first entry below the call is moved below the result; results of the same reply stay
        // above.
        let Some(between) = links.first_below(call, ix, self.lineage.intervals(self.session)) else {
            return Ok(());
        };
        let (under, end) = (links.parent(between), links.parent(ix));
        for child in links.children(ix) {
            links.attach(draft, child, end)?;
        }
        links.attach(draft, ix, under)?;
        links.attach(draft, between, Some(ix))?;
        links.put.insert(ix);
        if links.calls.contains(&ix) {
            links.shuffle();
        }
        Ok(())
    }

    /// Finds the calls with an id in replies that are sent, unless they are known.
    fn find_sent(&self, id: Key, links: &mut Links<'_>) -> io::Result<()> {
        if links.sent.contains_key(&id) {
            return Ok(());
        }
        let mut sent = Vec::new();
        for call in links.tools.calls.get(&id).into_iter().flatten() {
            if !is_not_sent(self.session, self.source, *call)? {
                sent.push(*call);
            }
        }
        links.sent.insert(id, sent);
        Ok(())
    }

    /// Returns the nearest call of a result above it, in a reply that is sent.
    fn call_above(&self, ix: Ix, id: Key, links: &mut Links<'_>) -> io::Result<Option<Ix>> {
        self.find_sent(id, links)?;
        if links.are_shuffled() {
            return Ok(links.nearest_call(ix, id));
        }
        if links.looked_up.insert(id) {
            // Calls keep the entries above and below them: one walk over all with the id finds the
            // nearest of each.
            let intervals = self.lineage.intervals(self.session);
            let calls = links.sent[&id].iter().map(|call| (intervals.first(*call), true, *call));
            let results = links.tools.results.get(&id).into_iter().flatten();
            let results = results.map(|result| (intervals.first(*result), false, *result));
            let mut all: Vec<(u32, bool, Ix)> = calls.chain(results).collect();
            all.sort_unstable();
            let mut above: Vec<Ix> = Vec::new();
            for (_, is_call, ix) in all {
                while above.last().is_some_and(|call| !intervals.is_above(*call, ix)) {
                    above.pop();
                }
                match (is_call, above.last()) {
                    (true, _) => above.push(ix),
                    (false, Some(call)) => _ = links.nearest.insert(ix, *call),
                    (false, None) => {}
                }
            }
        }
        Ok(links.nearest.get(&ix).copied())
    }

    /// Makes a result that is not below its call a child of it.
    fn bring_under_call(
        &self,
        draft: &mut Draft<'_>,
        ix: Ix,
        id: Key,
        links: &mut Links<'_>,
    ) -> io::Result<()> {
        // The nearest call before it, or the first one after it.
        let calls = &links.sent[&id];
        let before = calls.partition_point(|call| *call < ix);
        let call = match before {
            0 => calls.iter().find(|call| **call != ix),
            before => calls.get(before - 1),
        };
        let Some(call) = call.copied() else { return Ok(()) };
        let parent = links.parent(ix);
        if let Some(towards_call) = links.shuffle().child_towards(ix, call) {
            // The call stands below its result: they change places. The path to the position may not go by the call.
            let head = self.session.head.exact;
            if !head.is_some_and(|head| links.shuffle().is_above(call, head)) {
                draft.moved.push(ix);
            }
            links.attach(draft, towards_call, parent)?;
            for child in links.children(call) {
                links.attach(draft, child, Some(ix))?;
            }
            return links.attach(draft, ix, Some(call));
        }
        // Results of the same reply stay above.
        let under = links.last_sister(call);
        // The descendants of the result go with it, unless that would separate them from their
        // other ancestors.
        if parent.is_some_and(|parent| !links.shuffle().is_above(parent, call)) {
            for child in links.children(ix) {
                links.attach(draft, child, parent)?;
            }
            draft.moved.push(ix);
        }
        links.attach(draft, ix, Some(under))
    }

    /// Gives new ids to calls that have the id of an ancestor, and gives each result the id of the
    /// nearest call above it.
    fn new_tool_ids(
        &self,
        draft: &mut Draft<'_>,
        twice: &[Ix],
        tools: &Tools,
        ids: &mut Ids,
    ) -> io::Result<()> {
        let session = self.session;
        let twice: HashSet<Ix> = twice.iter().copied().collect();
        let concerned = tools.calls.iter().filter(|(_, calls)| calls.iter().any(|ix| twice.contains(ix)));
        let mut concerned: Vec<(&Key, &Vec<Ix>)> = concerned.collect();
        concerned.sort_unstable();
        for (key, calls) in concerned.into_iter().filter(|(_, calls)| calls.len() > 1) {
            let intervals = self.lineage.intervals(session);
            let results = tools.results.get(key).into_iter().flatten();
            let mut all: Vec<(u32, bool, Ix)> = calls
                .iter()
                .map(|ix| (false, ix))
                .chain(results.map(|ix| (true, ix)))
                .map(|(result, ix)| (intervals.first(*ix), result, *ix))
                .collect();
            all.retain(|(.., ix)| session.tree.is_in_tree(*ix));
            all.sort_unstable();
            all.dedup();
            // The calls above, the nearest last, each with its new id if it gets one.
            let mut above: Vec<(Ix, Option<Vec<u8>>)> = Vec::new();
            for (_, result, ix) in all {
                while above.last().is_some_and(|(call, _)| !self.is_above(*call, ix)) {
                    above.pop();
                }
                let fresh = match (result, above.last()) {
                    (true, Some((_, fresh))) => fresh.clone(),
                    (false, Some(_)) if twice.contains(&ix) => {
                        Some(json(Some(&format!("toolu_{}{}", ids.hex(16), ids.hex(8)))))
                    }
                    _ => None,
                };
                if let Some(fresh) = &fresh {
                    self.rename_tool(draft, ix, *key, fresh)?;
                }
                if !result {
                    above.push((ix, fresh));
                }
            }
        }
        Ok(())
    }

    fn rename_tool(&self, draft: &mut Draft<'_>, ix: Ix, old: Key, new: &[u8]) -> io::Result<()> {
        let line = draft.bytes(ix)?;
        let Some(mut edits) = Edits::begin(&line) else { return Ok(()) };
        for tool in tool_ids(self.session.format, &line) {
            if Key::hash(tool.id.as_bytes()) == old {
                edits.replace(tool.at, new);
            }
        }
        let line = edits.apply();
        draft.replace(ix, line, "tool id", Check::DuplicateToolId)
    }
}

/// Returns the names of the tools that are called in a line, by the ids of the calls.
fn names_of_calls(format: Format, line: &[u8]) -> HashMap<String, String> {
    if matches!(format, Format::Claude | Format::Chimera) {
        return HashMap::new();
    }
    let blocks = crate::format::content::blocks(member_at(line, &["message", "content"]).unwrap_or_default());
    let called = blocks.into_iter().filter_map(|block| match block {
        crate::format::Block::Call { id, name, .. } => Some((id.to_string(), name.to_string())),
        _ => None,
    });
    called.collect()
}

/// The properties that an invented result shares with its call.
struct Near {
    /// The time, as stored.
    time: String,
    millis: Time,
    /// The members of Claude Code's lines that name the session, as stored.
    members: String,
}

impl Near {
    fn read(format: Format, line: &[u8], now: Option<Time>) -> Near {
        let raw = |key: &str| member_at(line, &[key]).map(|raw| String::from_utf8_lossy(raw).into_owned());
        let time = raw("timestamp").unwrap_or_else(|| "\"1970-01-01T00:00:00.000Z\"".into());
        let millis = crate::model::parse_time(string_of(line, "timestamp").unwrap_or_default().as_bytes());
        let millis = if millis.is_some() { millis } else { now.unwrap_or(Time(0)) };
        let keys: &[&str] = match format {
            Format::Claude => {
                &["isSidechain", "agentId", "userType", "cwd", "sessionId", "version", "gitBranch"]
            }
            _ => &[],
        };
        let members = keys.iter().filter_map(|key| Some(format!("\"{key}\":{},", raw(key)?))).collect();
        Near { time, millis, members }
    }

    /// Returns a result that says that the real one was lost; `parent` is JSON.
    fn result(&self, format: Format, (call, name): (&str, &str), id: &str, parent: &[u8]) -> Vec<u8> {
        let quote = |text: &str| String::from_utf8(json(Some(text))).unwrap_or_default();
        let (call, id, lost) = (quote(call), quote(id), quote(LOST));
        let parent = String::from_utf8_lossy(parent);
        let Near { time, millis, members } = self;
        match format {
            Format::Claude => format!(
                "{{\"parentUuid\":{parent},{members}\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\
                 \"tool_use_id\":{call},\"type\":\"tool_result\",\"is_error\":true,\"content\":{lost}}}]}},\"uuid\":{id},\
                 \"timestamp\":{time}}}"
            ),
            Format::Chimera => format!(
                "{{\"type\": \"message\", \"id\": {id}, \"parent_id\": {parent}, \"timestamp\": {time}, \"message\": \
                 {{\"role\": \"tool\", \"content\": {lost}, \"call_id\": {call}}}}}"
            ),
            _ => {
                let (name, millis) = (quote(name), millis.0);
                format!(
                    "{{\"type\":\"message\",\"id\":{id},\"parentId\":{parent},\"timestamp\":{time},\"message\":{{\
                     \"role\":\"toolResult\",\"toolCallId\":{call},\"toolName\":{name},\"content\":[{{\"type\":\
                     \"text\",\"text\":{lost}}}],\"isError\":true,\"timestamp\":{millis}}}}}"
                )
            }
        }
        .into_bytes()
    }
}
