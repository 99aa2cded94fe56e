//! Tool calls and results: what is done about them, nearly all of it on request.

use super::draft::{Draft, json};
use super::{Round, Wishes};
use crate::format::tools::{ToolRole, tool_ids};
use crate::format::{Format, Ids};
use crate::fsck::checks::Check;
use crate::fsck::find::text_of;
use crate::fsck::finding::Finding;
use crate::json::{Edits, value};
use crate::model::{Ix, Kind, Source, Time};
use std::collections::HashMap;
use std::io;

/// What a made-up result says.
const LOST: &str = "[The result of this call was lost.]";

impl Round<'_> {
    pub(super) fn tools(
        &self,
        draft: &mut Draft<'_>,
        wanted: &[&Finding],
        wishes: &Wishes,
        ids: &mut Ids,
    ) -> io::Result<()> {
        let mut lost: Vec<Ix> = Vec::new();
        if self.session.format == Format::PiV1 {
            // Without ids there are no links that could be changed.
            return Ok(());
        }
        for finding in wanted {
            let Some(ix) = finding.entry else { continue };
            match finding.check {
                Check::UnpairedToolUse if !lost.contains(&ix) => {
                    lost.push(ix);
                    self.make_results(draft, ix, wishes, ids)?;
                }
                Check::OrphanToolResult | Check::DuplicateToolResult
                    if self.says_nothing_else(draft, ix)? =>
                {
                    self.take_out(draft, ix, finding.check)?;
                }
                Check::MisplacedToolResult => self.put_under_call(draft, ix)?,
                Check::DuplicateToolId => self.new_tool_id(draft, ix, ids)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether an entry holds one tool result and nothing else.
    fn says_nothing_else(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<bool> {
        let line = draft.bytes(ix)?;
        if self.session.format != Format::Claude {
            return Ok(true);
        }
        let content = value(&line, &["message", "content"]).unwrap_or_default();
        Ok(crate::json::each_item(content).count() == 1)
    }

    /// Appends a result to each call of an entry that has none, and hangs what followed the entry below them.
    fn make_results(&self, draft: &mut Draft<'_>, ix: Ix, wishes: &Wishes, ids: &mut Ids) -> io::Result<()> {
        let session = self.session;
        let Some(side) = &session.side else { return Ok(()) };
        let line = self.source.bytes(session.span(ix))?;
        let answered = |id: &str| {
            let key = crate::model::Key::of(id.as_bytes());
            side.tools.iter().any(|tool| tool.result && tool.id == key)
        };
        let calls = tool_ids(session.format, &line).into_iter().filter(|tool| tool.role == ToolRole::Call);
        let calls: Vec<String> = calls.map(|tool| tool.id).filter(|id| !answered(id)).collect();
        let mut above = draft.id(ix)?;
        for call in calls {
            let id = ids.entry(session.format, session.entries.keys());
            let new = self.result(&line, &call, &id, &above, wishes.now)?;
            draft.insert_behind(ix, new, Check::UnpairedToolUse)?;
            above = id;
        }
        let group = session.entries.group(ix);
        let children: Vec<Ix> = session.tree.children(ix).collect();
        for child in children {
            // Further parts of the same reply stay where they are.
            let part = group.is_some()
                && session.entries.group(child) == group
                && session.entries.kind(child) == Kind::Assistant;
            if !part {
                draft.set(
                    child,
                    &[session.format.names().parent],
                    &json(Some(&above)),
                    Check::UnpairedToolUse,
                )?;
            }
        }
        Ok(())
    }

    /// A result that says that the real one was lost.
    fn result(
        &self,
        line: &[u8],
        call: &str,
        id: &str,
        parent: &str,
        now: Option<Time>,
    ) -> io::Result<Vec<u8>> {
        let quote = |text: &str| String::from_utf8(json(Some(text))).unwrap_or_default();
        let raw = |key: &str| value(line, &[key]).map(|raw| String::from_utf8_lossy(raw).into_owned());
        let (call, id, parent, lost) = (quote(call), quote(id), quote(parent), quote(LOST));
        let time = raw("timestamp").unwrap_or_else(|| "\"1970-01-01T00:00:00.000Z\"".into());
        let millis = crate::model::parse_time(text_of(line, "timestamp").unwrap_or_default().as_bytes());
        let millis = if millis.is_some() { millis } else { now.unwrap_or(Time(0)) };
        Ok(match self.session.format {
            Format::Claude => {
                let mut out = format!("{{\"parentUuid\":{parent},");
                for key in ["isSidechain", "agentId", "userType", "cwd", "sessionId", "version", "gitBranch"] {
                    if let Some(raw) = raw(key) {
                        out.push_str(&format!("\"{key}\":{raw},"));
                    }
                }
                out.push_str(&format!(
                    "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":{call},\
                     \"type\":\"tool_result\",\"is_error\":true,\"content\":{lost}}}]}},\"uuid\":{id},\
                     \"timestamp\":{time}}}"
                ));
                out
            }
            Format::Chimera => format!(
                "{{\"type\": \"message\", \"id\": {id}, \"parent_id\": {parent}, \"timestamp\": {time}, \"message\": \
                 {{\"role\": \"tool\", \"content\": {lost}, \"call_id\": {call}}}}}"
            ),
            _ => {
                let name = crate::format::content::blocks(value(line, &["message", "content"]).unwrap_or_default())
                    .into_iter()
                    .find_map(|block| match block {
                        crate::format::Block::Call { id, name, .. } if quote(&id) == call => Some(name.to_string()),
                        _ => None,
                    });
                let name = quote(&name.unwrap_or_default());
                format!(
                    "{{\"type\":\"message\",\"id\":{id},\"parentId\":{parent},\"timestamp\":{time},\"message\":{{\
                     \"role\":\"toolResult\",\"toolCallId\":{call},\"toolName\":{name},\"content\":[{{\"type\":\
                     \"text\",\"text\":{lost}}}],\"isError\":true,\"timestamp\":{}}}}}",
                    millis.0
                )
            }
        }
        .into_bytes())
    }

    /// Hangs a result under its call, and what stood between below the result.
    fn put_under_call(&self, draft: &mut Draft<'_>, ix: Ix) -> io::Result<()> {
        let session = self.session;
        let Some(side) = &session.side else { return Ok(()) };
        let Some(key) = side.tools.iter().find(|tool| tool.result && tool.entry == ix).map(|tool| tool.id)
        else {
            return Ok(());
        };
        let calls: Vec<Ix> =
            side.tools.iter().filter(|tool| !tool.result && tool.id == key).map(|tool| tool.entry).collect();
        // From the call down to the result: what comes first on the way is hung below the result.
        let path = session.tree.path(ix);
        let Some(at) = path.iter().rposition(|on| calls.contains(on)) else { return Ok(()) };
        // Results of the same reply stay above.
        let by_entry: HashMap<Ix, crate::model::Key> =
            side.tools.iter().filter(|tool| tool.result).map(|tool| (tool.entry, tool.id)).collect();
        let of_call = |ix: &Ix| {
            by_entry.get(ix).is_some_and(|id| {
                side.tools.iter().any(|tool| !tool.result && tool.id == *id && tool.entry == path[at])
            })
        };
        let mut last = at;
        while last + 1 < path.len() - 1 && of_call(&path[last + 1]) {
            last += 1;
        }
        if last + 1 >= path.len() - 1 {
            return Ok(());
        }
        let (under, between, end) = (path[last], path[last + 1], path[path.len() - 2]);
        let parent = session.format.names().parent;
        let (own, above, below) = (draft.id(ix)?, draft.id(under)?, draft.id(end)?);
        for child in session.tree.children(ix).collect::<Vec<_>>() {
            draft.set(child, &[parent], &json(Some(&below)), Check::MisplacedToolResult)?;
        }
        draft.set(ix, &[parent], &json(Some(&above)), Check::MisplacedToolResult)?;
        draft.set(between, &[parent], &json(Some(&own)), Check::MisplacedToolResult)
    }

    /// Gives a call, and its results below it, an id of their own.
    fn new_tool_id(&self, draft: &mut Draft<'_>, ix: Ix, ids: &mut Ids) -> io::Result<()> {
        let session = self.session;
        let Some(side) = &session.side else { return Ok(()) };
        let line = draft.bytes(ix)?;
        let calls = side.tools.iter().filter(|tool| tool.entry == ix && !tool.result);
        for call in calls {
            let above = session.tree.ancestors(ix).skip(1);
            let mut same = above.filter(|above| {
                side.tools.iter().any(|tool| tool.entry == *above && !tool.result && tool.id == call.id)
            });
            if same.next().is_none() {
                continue;
            }
            let old = tool_ids(session.format, &line);
            let Some(old) = old.into_iter().find(|tool| crate::model::Key::of(tool.id.as_bytes()) == call.id)
            else {
                continue;
            };
            let fresh = json(Some(&format!("toolu_{}{}", ids.hex(16), ids.hex(8))));
            self.rename_tool(draft, ix, &old.id, &fresh)?;
            let results: Vec<Ix> = side
                .tools
                .iter()
                .filter(|tool| tool.result && tool.id == call.id && session.tree.is_ancestor(ix, tool.entry))
                .map(|tool| tool.entry)
                .collect();
            for result in results {
                self.rename_tool(draft, result, &old.id, &fresh)?;
            }
        }
        Ok(())
    }

    fn rename_tool(&self, draft: &mut Draft<'_>, ix: Ix, old: &str, new: &[u8]) -> io::Result<()> {
        let line = draft.bytes(ix)?;
        let Some(mut edits) = Edits::of(&line) else { return Ok(()) };
        for tool in tool_ids(self.session.format, &line) {
            if tool.id == old {
                edits.replace(tool.at, new);
            }
        }
        let line = edits.apply();
        draft.replace(ix, line, "tool id", Check::DuplicateToolId)
    }
}
