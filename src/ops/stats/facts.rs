//! The usage and the tool calls of the entries of one session, as far as they are counted.

use super::Prices;
use crate::format::{Block, Content, Format, Session, Usage};
use crate::json::{Members, each_item, each_member, each_object, member, string};
use crate::model::{BuildKeyHasher, Flags, Ix, Key, KeyHasher, Kind, LineReader, Source};
use memchr::memmem::Finder;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::LazyLock;

/// The facts of a session: a few bytes for each reply, call and result, and eight for each entry.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Everything that used tokens.
    pub spent: Vec<Spent>,
    /// Calls of tools.
    pub calls: Vec<Call>,
    /// Results of tools.
    pub results: Vec<Answer>,
    /// Calls that read or change a file.
    pub files: Vec<FileCall>,
    /// The names of tools and models; the other fields refer to them by index.
    pub names: Vec<String>,
    /// For each entry, by index, the hash that identifies it in a copy of the session; empty if the
    /// session is the only one.
    pub twins: Vec<u64>,
    /// The entries that say of which entry of another session they are a copy, in order; empty if the session is
    /// the only one.
    pub forked: Vec<Ix>,
}

/// Something that used tokens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spent {
    /// The entry; for a reply of several entries, the last.
    pub entry: Ix,
    /// The hash that identifies it in a copy of the session. Nothing if the session is the only one.
    pub twin: u64,
    /// The model, as an index into the names; `None` if the line contains none.
    pub model: Option<u32>,
    /// Whether it is a reply; otherwise it is a summary, a tool or another request that the agent
    /// made by itself.
    pub is_reply: bool,
    /// Its usage; `None` if none is stored.
    pub usage: Option<Usage>,
}

impl Spent {
    /// Returns whether it says that any tokens were used, or what they cost.
    pub fn has_tokens(&self) -> bool {
        self.usage.is_some_and(|usage| usage.tokens() > 0 || usage.cost.is_some_and(|cost| cost > 0.0))
    }
}

/// A call of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The entry.
    pub entry: Ix,
    /// The tool, as an index into the names.
    pub tool: u32,
}

/// A result of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The entry.
    pub entry: Ix,
    /// The tool, as an index into the names; `None` if no call is known.
    pub tool: Option<u32>,
    /// Whether the tool failed.
    pub failed: bool,
}

/// A call that reads or changes a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileCall {
    /// The entry.
    pub entry: Ix,
    /// The tool, as an index into the names.
    pub tool: u32,
    /// The path as the model gave it, as an index into the names.
    pub file: u32,
    /// Whether the call changes the file, or only reads it.
    pub changes: bool,
}

impl Facts {
    /// Reads the facts of the entries that are part of the tree. Costs a pass over their bytes.
    ///
    /// Usage without a cost gets one from `prices`, if they contain the model. If the session is the
    /// only one that is counted, nothing is looked for in copies, and lines from which nothing else is
    /// counted are not read.
    pub fn read(session: &Session, source: &dyn Source, prices: &Prices, is_only: bool) -> io::Result<Facts> {
        let twins = if is_only { Vec::new() } else { vec![0; session.entries.len()] };
        let mut reading = Reading {
            session,
            source,
            facts: Facts { twins, ..Facts::default() },
            names: HashMap::default(),
            last_model: None,
            calls: HashMap::default(),
            model: None,
            has_records: session.entries.types().iter().any(|ty| ty == "token_usage_record"),
            groups: HashMap::default(),
            advice: HashMap::new(),
            lines: LineReader::default(),
        };
        let standing: Vec<Ix> = session.tree.entries_in_tree().collect();
        for entry in standing {
            reading.entry(entry)?;
        }
        let mut facts = reading.facts;
        facts.forked.sort_unstable();
        facts.calls.sort_by_key(|call| call.entry);
        for spent in &mut facts.spent {
            // Agents store a cost of 0 for models whose price they do not know.
            if let (Some(model), Some(usage)) = (spent.model, &mut spent.usage)
                && usage.cost.is_none_or(|cost| cost == 0.0)
            {
                usage.cost = prices.cost(&facts.names[model as usize], usage).or(usage.cost);
            }
        }
        Ok(facts)
    }
}

struct Reading<'s> {
    session: &'s Session,
    source: &'s dyn Source,
    facts: Facts,
    /// The place of each name, by its hash.
    names: HashMap<Key, u32, BuildKeyHasher>,
    /// The model of the last reply, as its line spells it, with its place among the names.
    last_model: Option<([Vec<u8>; 2], u32)>,
    /// The tool of each call, by the call's id.
    calls: HashMap<Key, u32, BuildKeyHasher>,
    /// The last model that was named; only for formats that are only read.
    model: Option<u32>,
    /// Whether Codex stored the usage of each request on a line of its own.
    has_records: bool,
    /// The reply that each group of entries forms, as an index into the usage list.
    groups: HashMap<Key, usize, BuildKeyHasher>,
    /// The usage of advice, by its hash, as an index into the usage list.
    advice: HashMap<u64, usize>,
    lines: LineReader,
}

impl Reading<'_> {
    fn entry(&mut self, entry: Ix) -> io::Result<()> {
        if self.facts.twins.is_empty() && !self.may_tell(entry) {
            return Ok(());
        }
        let span = self.session.span(entry);
        let mut lines = std::mem::take(&mut self.lines);
        let file = self.session.files.get(usize::from(span.file));
        let line = lines.line(self.source, file.map_or(0, |file| file.bytes), span)?;
        self.line(entry, line);
        self.lines = lines;
        Ok(())
    }

    /// Reads the line of an entry, and splits as little of it as is needed.
    fn line(&mut self, entry: Ix, line: &[u8]) {
        let session = self.session;
        let set_twin = |reading: &mut Self, said| {
            if let Some(place) = reading.facts.twins.get_mut(entry.index()) {
                let (twin, is_forked) = twin(session, entry, line, said);
                *place = twin;
                if is_forked {
                    reading.facts.forked.push(entry);
                }
            }
        };
        match (session.format, session.entries.ty(entry)) {
            (format, _) if format.is_guest() => {
                set_twin(self, None);
                self.content(entry, &Content::read(format, line));
            }
            (Format::Claude, ty) => {
                set_twin(self, None);
                if matches!(ty, "user" | "assistant" | "message") && self.may_count(entry) {
                    let (line, message) = Members::with_nested(line, "message");
                    self.message(entry, &line, &message);
                }
            }
            (_, "message") => {
                let (line, message) = Members::with_nested(line, "message");
                set_twin(self, message.get("content"));
                if self.may_count(entry) {
                    self.message(entry, &line, &message);
                }
            }
            (format, "compaction" | "branch_summary") => {
                let line = Members::new(line);
                set_twin(self, line.get("summary"));
                if let Some(usage) = line.get("usage").filter(|_| format != Format::Chimera) {
                    self.spent(entry, None, false, Some(usage));
                }
            }
            (format, ty) => {
                set_twin(self, None);
                if format != Format::Chimera && matches!(ty, "usage" | "model_usage") {
                    let line = Members::new(line);
                    let model = self.model(&line, "model");
                    self.spent(entry, model, false, line.get("usage"));
                }
            }
        }
    }

    /// Records what is counted of an entry of a format that is only read. These formats store usage
    /// once for each request.
    fn content(&mut self, entry: Ix, content: &Content<'_>) {
        if let Some(model) = content.model.as_deref().filter(|model| !model.is_empty()) {
            self.model = Some(self.name(model));
        }
        for (id, name, arguments) in content.calls() {
            let tool = self.name(name);
            self.calls.insert(Key::hash(id.as_bytes()), tool);
            self.facts.calls.push(Call { entry, tool });
            for (path, changes) in touched_files(name, arguments) {
                let file = self.name(&path);
                self.facts.files.push(FileCall { entry, tool, file, changes });
            }
        }
        for block in &content.blocks {
            if let Block::Result { call, is_error, .. } = block {
                let tool = self.calls.get(&Key::hash(call.as_bytes())).copied();
                self.facts.results.push(Answer { entry, tool, failed: *is_error });
            }
        }
        // Newer versions of Codex store the usage of a request twice.
        let is_again = self.has_records && self.session.entries.ty(entry) == "token_count";
        if content.usage.is_some() && !is_again {
            self.spent(entry, self.model, true, content.usage);
        }
    }

    /// Returns whether anything is counted of an entry besides itself.
    fn may_tell(&self, entry: Ix) -> bool {
        let is_chimera = self.session.format == Format::Chimera;
        match self.session.entries.ty(entry) {
            _ if self.session.format.is_guest() => true,
            "message" | "user" | "assistant" => self.may_count(entry),
            "compaction" | "branch_summary" | "usage" | "model_usage" => !is_chimera,
            _ => false,
        }
    }

    /// Returns whether anything of a message is counted besides the entry.
    fn may_count(&self, entry: Ix) -> bool {
        let entries = &self.session.entries;
        let flags = entries.flags(entry);
        entries.kind(entry) == Kind::Assistant || flags.has(Flags::RESULT) || flags.has(Flags::CALL)
    }

    fn message(&mut self, entry: Ix, line: &Members<'_>, message: &Members<'_>) {
        let flags = self.session.entries.flags(entry);
        match self.session.entries.kind(entry) {
            Kind::Assistant => self.reply(entry, line, message),
            Kind::Tool if self.session.format == Format::Claude => {}
            // A command that the user ran is not the result of a call.
            Kind::Tool if flags.has(Flags::RESULT) => self.result(entry, message),
            _ => {}
        }
        if flags.has(Flags::CALL) || self.session.format == Format::Claude && flags.has(Flags::RESULT) {
            self.blocks(entry, message);
        }
    }

    fn result(&mut self, entry: Ix, message: &Members<'_>) {
        let name = message.text("toolName");
        let tool = match name.is_empty() {
            true => {
                let chimera = self.session.format == Format::Chimera;
                let call = message.text(if chimera { "call_id" } else { "toolCallId" });
                self.calls.get(&Key::hash(call.as_bytes())).copied()
            }
            false => Some(self.name(&name)),
        };
        let failed = message.get("isError") == Some(b"true");
        self.facts.results.push(Answer { entry, tool, failed });
        if let Some(usage) = message.get("usage") {
            self.spent(entry, None, false, Some(usage));
        }
    }

    fn reply(&mut self, entry: Ix, line: &Members<'_>, message: &Members<'_>) {
        // Claude Code writes such replies itself: nothing was sent.
        if self.session.format == Format::Claude && &*message.text("model") == "<synthetic>" {
            return;
        }
        self.advisors(entry, line, message);
        let model = self.model(message, "responseModel").or_else(|| self.model(message, "model"));
        let at = self.facts.spent.len();
        self.spent(entry, model, true, message.get("usage"));
        // Old versions wrote the cost on the line.
        let cost = line.get("costUSD").and_then(|cost| std::str::from_utf8(cost).ok()?.parse().ok());
        if let (Some(cost), Some(usage)) = (cost, &mut self.facts.spent[at].usage) {
            usage.cost = Some(cost);
        }
        let group = self.session.entries.group(entry);
        if !group.is_some() {
            return;
        }
        // The entries of one reply repeat its usage; the last one is complete.
        self.facts.spent[at].twin = reply_twin(group, line);
        match self.groups.get(&group) {
            None => {
                self.groups.insert(group, at);
            }
            Some(first) => {
                let later = self.facts.spent.pop().expect("it was put there just now");
                let known = &mut self.facts.spent[*first];
                let usage = later.usage.or(known.usage);
                *known = Spent { usage, model: later.model.or(known.model), ..later };
            }
        }
    }

    /// Records the usage of other models that the model asked for advice: it is only in the list of
    /// steps of a reply.
    fn advisors(&mut self, entry: Ix, line: &Members<'_>, message: &Members<'_>) {
        static ADVICE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"advisor_message"));
        let usage = message.get("usage").filter(|usage| ADVICE.find(usage).is_some());
        let Some(steps) = usage.and_then(|usage| member(usage, "iterations")) else { return };
        for (number, step) in each_item(steps).enumerate() {
            let fields = Members::new(step);
            if &*fields.text("type") != "advisor_message" {
                continue;
            }
            let model = self.model(&fields, "model");
            let group = self.session.entries.group(entry);
            let reply = if group.is_some() { reply_twin(group, line) } else { self.twin(entry) };
            let mut hash = DefaultHasher::new();
            (reply, number).hash(&mut hash);
            let twin = hash.finish();
            let spent = Spent { entry, twin, model, is_reply: false, usage: Some(Usage::parse(step)) };
            // The lines of one reply repeat it.
            match self.advice.get(&twin) {
                Some(at) => self.facts.spent[*at] = spent,
                None => {
                    self.advice.insert(twin, self.facts.spent.len());
                    self.facts.spent.push(spent);
                }
            }
        }
    }

    /// Records the calls of a message and, in Claude Code's files, the results.
    fn blocks(&mut self, entry: Ix, message: &Members<'_>) {
        let lists = [message.get("content"), message.get("tool_calls")];
        for block in lists.into_iter().flatten().flat_map(each_object) {
            match &*block.text("type") {
                "toolCall" | "tool_use" | "server_tool_use" | "" if block.get("name").is_some() => {
                    let tool = self.name(&block.text("name"));
                    self.calls.insert(Key::hash(block.text("id").as_bytes()), tool);
                    self.facts.calls.push(Call { entry, tool });
                    self.file(entry, tool, &block);
                }
                "tool_result" => {
                    let call = block.text("tool_use_id");
                    let tool = self.calls.get(&Key::hash(call.as_bytes())).copied();
                    let failed = block.get("is_error") == Some(b"true");
                    self.facts.results.push(Answer { entry, tool, failed });
                }
                _ => {}
            }
        }
    }

    /// Records the file that a call reads or changes.
    fn file(&mut self, entry: Ix, tool: u32, call: &Members<'_>) {
        let Some(arguments) = call.get("input").or(call.get("arguments")) else { return };
        for (path, changes) in touched_files(&self.facts.names[tool as usize], arguments) {
            let file = self.name(&path);
            self.facts.files.push(FileCall { entry, tool, file, changes });
        }
    }

    fn spent(&mut self, entry: Ix, model: Option<u32>, is_reply: bool, usage: Option<&[u8]>) {
        let twin = self.twin(entry);
        let usage = usage.filter(|usage| usage.starts_with(b"{")).map(Usage::parse);
        self.facts.spent.push(Spent { entry, twin, model, is_reply, usage });
    }

    /// Returns the hash of an entry in copies; its index if there are none.
    fn twin(&self, entry: Ix) -> u64 {
        self.facts.twins.get(entry.index()).copied().unwrap_or(entry.index() as u64)
    }

    /// Returns the model that an object names, with its provider if that is stored.
    fn model(&mut self, object: &Members<'_>, key: &str) -> Option<u32> {
        // Most replies are of the same model as the one before.
        let spelled = [object.get(key)?, object.get("provider").unwrap_or_default()];
        if let Some((known, place)) = &self.last_model
            && *known == spelled
        {
            return Some(*place);
        }
        let model = object.text(key);
        if model.is_empty() {
            return None;
        }
        let provider = object.text("provider");
        let place = match provider.is_empty() {
            true => self.name(&model),
            false => self.name(&format!("{provider}/{model}")),
        };
        self.last_model = Some((spelled.map(<[u8]>::to_vec), place));
        Some(place)
    }

    fn name(&mut self, name: &str) -> u32 {
        let next = self.facts.names.len() as u32;
        let place = *self.names.entry(Key::hash(name.as_bytes())).or_insert(next);
        if place == next {
            self.facts.names.push(name.to_owned());
        }
        place
    }
}

/// Returns the file that a call of a tool reads or changes, as the model named it, and whether the call changes it.
fn touched_file(tool: &str, arguments: &[u8]) -> Option<(String, bool)> {
    let tool = tool.to_ascii_lowercase();
    let is_one_of = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    let changes = is_one_of(&["edit", "write", "patch", "replace", "create"]);
    if !changes && !is_one_of(&["read", "view"]) {
        return None;
    }
    let arguments = Members::new(arguments);
    let paths = ["file_path", "path", "filePath", "notebook_path"].map(|key| arguments.text(key));
    let path = paths.into_iter().find(|path| !path.is_empty())?;
    Some((path.into_owned(), changes))
}

/// Returns the files that a call of a tool reads or changes, as the model named them, each with whether
/// the call changes it. A patch of Codex may change several: in the input of `apply_patch`, or in a
/// shell command.
pub fn touched_files(tool: &str, arguments: &[u8]) -> Vec<(String, bool)> {
    static PATCH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"*** Begin Patch"));
    if PATCH.find(arguments).is_none() {
        return touched_file(tool, arguments).into_iter().collect();
    }
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut files: Vec<(String, bool)> = Vec::new();
    let mut add = |text: &str| {
        for line in text.lines() {
            let path = MARKS.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim);
            if let Some(path) = path.filter(|path| !files.iter().any(|(known, _)| known == path)) {
                files.push((path.to_owned(), true));
            }
        }
    };
    for (_, value) in each_member(arguments) {
        match string(value) {
            Some(text) => add(&text),
            None => each_item(value).filter_map(string).for_each(|text| add(&text)),
        }
    }
    files
}

/// Returns the hash that identifies an entry in another session, and whether the entry says of which it is a copy. A copy has the time and the
/// content of the original, although it may have another id (a migrated session, a copy with new
/// ids); without a time, the id is used, and without an id the line. `said` is the content or the
/// summary; Claude Code copies the id, so that nothing else is needed.
fn twin(session: &Session, entry: Ix, line: &[u8], said: Option<&[u8]>) -> (u64, bool) {
    let entries = &session.entries;
    let key = entries.key(entry);
    let time = entries.time(entry);
    if session.format == Format::Claude {
        // Few lines have it: their bytes are checked first.
        static FORKED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"forkedFrom\""));
        if FORKED.find(line).is_some() {
            let line = Members::new(line);
            let original = line.get("forkedFrom").map(Members::new);
            let original = original.as_ref().map(|from| from.text("messageUuid")).unwrap_or_default();
            if !original.is_empty() {
                return (Key::hash(original.as_bytes()).0, true);
            }
        }
        return (key.0, false);
    }
    let hash = match said {
        Some(said) if time.is_some() => {
            let kind = entries.kind(entry) as u64;
            // The ends distinguish contents as well as the whole does.
            let ends = [&said[..said.len().min(ENDS)], &said[said.len() - said.len().min(ENDS)..]];
            let [first, last] = ends.map(|end| Key::hash(end).0);
            combined(&[time.0 as u64, kind, said.len() as u64, first, last])
        }
        // Short ids of two sessions may be equal by chance, but not at the same millisecond.
        _ if key.is_some() => combined(&[key.0, time.0 as u64]),
        _ => combined(&[Key::hash(line).0, line.len() as u64]),
    };
    (hash, false)
}

/// Returns one hash of several numbers.
fn combined(numbers: &[u64]) -> u64 {
    let mut hash = KeyHasher::default();
    numbers.iter().for_each(|number| hash.write_u64(*number));
    hash.finish()
}

/// How many bytes at each end of a content are used to distinguish it.
const ENDS: usize = 512;

/// Returns the hash that identifies a reply of several entries: from its own id, and that of the
/// request.
fn reply_twin(reply: Key, line: &Members<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    (reply.0, line.get("requestId")).hash(&mut hash);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn files_are_named_by_paths_and_patches() {
        let check = |tool: &str, arguments: &str, wanted: &str| {
            let files = touched_files(tool, arguments.as_bytes());
            let files: Vec<_> = files.iter().map(|(path, changes)| format!("{path}{}", if *changes { "!" } else { "" })).collect();
            assert_eq!(files.join(" "), wanted, "{arguments}");
        };
        check("read",        r#"{"path":"a.rs"}"#,      "a.rs");
        check("Edit",        r#"{"file_path":"a.rs"}"#, "a.rs!");
        check("bash",        r#"{"path":"a.rs"}"#,      "");
        check("apply_patch", r#"{"input":"*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+*** y\n*** Add File: b c.md\n+z\n*** End Patch"}"#, "src/a.rs! b c.md!");
        check("apply_patch", r#"{"input":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Delete File: a\n*** End Patch"}"#, "a! b!");
        check("shell",       r#"{"command":["apply_patch","*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"]}"#, "a!");
        check("exec_command", r#"{"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF"}"#, "a!");
    }
}
