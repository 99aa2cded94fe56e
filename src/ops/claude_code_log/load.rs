//! Which transcripts of subagents belong to a session by the documented rules, and where their
//! records are inserted.

use super::record::{NONE, Record, RecordKind, Records, SharedTexts, call, each_line};
use crate::format::Layout;
use crate::model::{Key, Source};
use crate::ops::thread::text::{each_block, each_content, first_text, normal, on_object};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

/// Reads the main files of a layout, each with the subagents that it refers to.
pub(crate) fn load(layout: &Layout, source: &dyn Source, names: &mut SharedTexts) -> io::Result<Records> {
    let mut loader = Loader { layout, source, names, records: Records::default() };
    let mut all = Vec::new();
    for file in 0..layout.mains {
        all.append(&mut loader.session(file as u16)?);
    }
    let mut records = loader.records;
    records.list = all;
    anchor_agents(&mut records.list, names);
    Ok(records)
}

struct Loader<'l> {
    layout: &'l Layout,
    source: &'l dyn Source,
    names: &'l mut SharedTexts,
    records: Records,
}

/// A file that is being read, with the subagents that have to be read first.
struct Frame {
    /// The subagent that the records belong to, as its caller knows it.
    agent: u32,
    file: u16,
    records: Vec<Record>,
    agents: Vec<u32>,
    next: usize,
    parts: HashMap<u32, Vec<Record>>,
}

impl Loader<'_> {
    /// Returns the records of a main file and of its subagents, in the order in which they count.
    fn session(&mut self, file: u16) -> io::Result<Vec<Record>> {
        let mut seen = HashSet::from([file]);
        let mut frames = vec![self.frame(file, 0)?];
        loop {
            let frame = frames.last_mut().expect("the main file is last");
            if let Some(agent) = frame.agents.get(frame.next).copied() {
                frame.next += 1;
                let Some(file) = self.file_of(frame.file, agent) else { continue };
                if seen.insert(file) {
                    let inner = self.frame(file, agent)?;
                    frames.push(inner);
                } else {
                    frame.parts.insert(agent, Vec::new());
                }
                continue;
            }
            let frame = frames.pop().expect("there is one");
            let records = splice(frame.records, frame.parts);
            match frames.last_mut() {
                Some(outer) => _ = outer.parts.insert(frame.agent, records),
                None => return Ok(records),
            }
        }
    }

    /// Returns the transcript of a subagent that a file refers to: beside the file, or else in its
    /// own folder of subagents.
    fn file_of(&self, file: u16, agent: u32) -> Option<u16> {
        let from = &self.layout.files[usize::from(file)];
        let name = format!("agent-{}.jsonl", self.names.name(agent));
        let beside = from.folder().join(&name);
        if beside == from.path {
            return None;
        }
        self.layout.find(&beside).or_else(|| self.layout.find(&from.agents().join(&name)))
    }

    fn frame(&mut self, file: u16, agent: u32) -> io::Result<Frame> {
        let mut agents = Vec::new();
        let bytes = self.layout.files[usize::from(file)].bytes;
        let (records, names) = (&mut self.records, &mut *self.names);
        each_line(self.source, file, bytes, |span, line| {
            agents.extend(records.line(span, line, names));
            true
        })?;
        let mut list = std::mem::take(&mut self.records.list);
        self.sidecars(file, &mut list, &mut agents);
        self.prompts(file, &mut list, &mut agents)?;
        let mut met = HashSet::new();
        agents.retain(|agent| met.insert(*agent));
        Ok(Frame { agent, file, records: list, agents, next: 0, parts: HashMap::new() })
    }

    /// Anchors subagents by the calls that sidecars name: at the result, or else at the call.
    fn sidecars(&mut self, file: u16, list: &mut [Record], agents: &mut Vec<u32>) {
        let transcript = &self.layout.files[usize::from(file)];
        let mut links: BTreeMap<&str, &str> = BTreeMap::new();
        let agents_folder = transcript.agents();
        for folder in [&*agents_folder, transcript.folder()] {
            for sidecar in self.layout.sidecars_in(folder) {
                if let Some(tool) = &sidecar.tool_use {
                    links.insert(tool, &sidecar.agent);
                }
            }
        }
        if links.is_empty() {
            return;
        }
        let wanted: HashSet<Key> = links.keys().map(|id| Key::hash(id.as_bytes())).collect();
        let (mut calls, mut results) = (HashMap::new(), HashMap::new());
        for (at, record) in list.iter().enumerate() {
            for tool in self.records.tools(record).iter().filter(|tool| wanted.contains(&tool.id)) {
                let first = if tool.call { &mut calls } else { &mut results };
                first.entry(tool.id).or_insert(at);
            }
        }
        for (id, agent) in links {
            let key = Key::hash(id.as_bytes());
            let Some(at) = results.get(&key).or_else(|| calls.get(&key)) else { continue };
            if transcript.agent() == Some(agent) {
                continue;
            }
            let agent = self.names.number(agent);
            agents.push(agent);
            let anchor = &mut list[*at];
            if anchor.spawned != 0 && anchor.spawned != agent {
                continue;
            }
            anchor.spawned = agent;
            if !anchor.sidechain && anchor.agent == 0 {
                anchor.agent = agent;
            }
        }
    }

    /// Anchors the remaining subagents by equal prompts.
    fn prompts(&mut self, file: u16, list: &mut [Record], agents: &mut Vec<u32>) -> io::Result<()> {
        let layout = self.layout;
        let folder = layout.files[usize::from(file)].agents();
        let known: HashSet<&str> = agents.iter().map(|agent| self.names.name(*agent)).collect();
        let free: Vec<(u16, String)> = layout
            .agents_in(&folder)
            .filter_map(|(number, file)| Some((number, file.agent()?.to_owned())))
            .filter(|(_, agent)| !known.contains(agent.as_str()))
            .collect();
        if free.is_empty() || !list.iter().any(|record| record.spawns) {
            return Ok(());
        }
        let mut open = self.open_spawns(list)?;
        let mut left = Vec::new();
        for (number, agent) in free {
            let Some(body) = self.first_text(number)? else { continue };
            let sidecar = layout.sidecars_in(&folder).find(|sidecar| sidecar.agent == agent);
            let name = sidecar.and_then(|sidecar| sidecar.name.clone());
            match open.take(&body, |spawn| name.is_some() && spawn.name == name) {
                Some(at) => agents.push(self.attach(&mut list[at], &agent)),
                None => left.push((agent, body, name)),
            }
        }
        for (agent, body, name) in left {
            if let Some(at) = open.take(&body, |spawn| name.is_none() || spawn.name.is_none()) {
                agents.push(self.attach(&mut list[at], &agent));
            }
        }
        Ok(())
    }

    fn attach(&mut self, record: &mut Record, agent: &str) -> u32 {
        record.agent = self.names.number(agent);
        record.agent
    }

    /// Returns the results of calls that start subagents and are identified only by their prompt.
    fn open_spawns(&self, list: &[Record]) -> io::Result<Open> {
        let mut prompts: HashMap<Key, (String, Option<String>)> = HashMap::new();
        for record in list.iter().filter(|record| record.spawns) {
            let line = self.source.bytes(record.span)?;
            each_content(&line, |block| {
                let Some((id, name)) = call(block) else { return };
                let Some(input) = block.object("input") else { return };
                if let Some(prompt) = input.text("prompt").filter(|prompt| !prompt.is_empty())
                    && matches!(&*name, "Task" | "Agent")
                {
                    let name = input.text("name").filter(|name| !name.is_empty());
                    prompts.insert(
                        Key::hash(id.as_bytes()),
                        (normal(&prompt), name.map(|name| name.into_owned())),
                    );
                }
            });
        }
        let mut open = Open::default();
        for (at, record) in list.iter().enumerate() {
            if record.sort == RecordKind::User && record.agent == 0 {
                let hit = self.records.tools(record).iter().find_map(|tool| prompts.get(&tool.id));
                if let Some((prompt, name)) = hit {
                    open.0.entry(prompt.clone()).or_default().push(Spawn { at, name: name.clone() });
                }
            }
        }
        Ok(open)
    }

    /// Returns the first message to a subagent, as prompts are compared, or `None` if it has no
    /// text.
    fn first_text(&self, file: u16) -> io::Result<Option<String>> {
        let mut first = Vec::new();
        let bytes = self.layout.files[usize::from(file)].bytes;
        each_line(self.source, file, bytes, |_, line| {
            first = line.trim_ascii().to_vec();
            first.is_empty()
        })?;
        let text = on_object(&first, |line| {
            let message = line.object("message")?;
            if let Some(text) = message.text("content") {
                return Some(text.into_owned());
            }
            let mut texts = Vec::new();
            each_block(message.get("content").unwrap_or_default(), |block| {
                if block.text("type").as_deref() == Some("text") {
                    texts.push(block.text("text").unwrap_or_default().into_owned());
                }
            });
            Some(texts).filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
        });
        Ok(text.map(|text| first_text(&text)).filter(|body| !body.is_empty()))
    }
}

/// Spawns for which no subagent was found, by their prompt, in order.
#[derive(Default)]
struct Open(HashMap<String, Vec<Spawn>>);

struct Spawn {
    at: usize,
    name: Option<String>,
}

impl Open {
    fn take(&mut self, prompt: &str, fits: impl Fn(&Spawn) -> bool) -> Option<usize> {
        let spawns = self.0.get_mut(prompt)?;
        let found = spawns.iter().position(fits)?;
        Some(spawns.remove(found).at)
    }
}

/// Inserts the records of each subagent after the first record that refers to it.
fn splice(records: Vec<Record>, mut parts: HashMap<u32, Vec<Record>>) -> Vec<Record> {
    if parts.is_empty() {
        return records;
    }
    let mut out = Vec::with_capacity(records.len());
    for record in records {
        out.push(record);
        if record.sort.is_turn() {
            let agent = if record.spawned != 0 {
                record.spawned
            } else if record.sidechain {
                0
            } else {
                record.agent
            };
            if let Some(mut part) = parts.remove(&agent) {
                out.append(&mut part);
            }
        }
    }
    out
}

/// Makes the records of each subagent children of the record that started it, as separate sessions.
fn anchor_agents(list: &mut [Record], names: &mut SharedTexts) {
    let nodes = || list.iter().filter(|record| record.sort != RecordKind::Queue);
    let member: HashMap<u32, u32> = nodes()
        .filter(|record| record.sidechain && record.agent != 0)
        .map(|record| (record.uuid, record.agent))
        .collect();
    let (mut spawn, mut main, mut cross) = (HashMap::new(), HashMap::new(), HashMap::new());
    for record in nodes() {
        if record.spawned != 0 && record.spawned != record.agent {
            spawn.entry(record.spawned).or_insert(record.uuid);
        }
        if record.agent == 0 {
            continue;
        }
        if !record.sidechain {
            main.insert(record.agent, record.uuid);
        } else if member.get(&record.parent).is_some_and(|above| *above != record.agent) {
            cross.entry(record.agent).or_insert(record.uuid);
        }
    }
    let mut anchors: HashMap<u32, u32> = cross;
    anchors.extend(main);
    anchors.extend(spawn);
    if anchors.is_empty() {
        return;
    }
    for record in list.iter_mut().filter(|record| record.sort != RecordKind::Queue) {
        if record.sidechain && record.agent != 0 {
            if record.parent == NONE
                && let Some(anchor) = anchors.get(&record.agent)
            {
                record.parent = *anchor;
            }
            let session = format!("{}#agent-{}", names.name(record.session), names.name(record.agent));
            record.session = names.number(&session);
        }
    }
}
