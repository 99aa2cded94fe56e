//! The session to which a subagent belongs, and the entry that started it.

use super::line_facts::{Look, line_text};
use super::text::{first_text, normal};
use crate::format::{Layout, NoteKind, Session};
use crate::model::{Flags, Ix, Key, Kind, Source};
use std::collections::{HashMap, HashSet};
use std::io;

/// The entry that started a subagent, and how it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchored {
    /// The file beside the transcript names the call: the entry is its result, or else the call.
    Sidecar(Ix),
    /// A result names the subagent.
    Result(Ix),
    /// The result of a workflow names the run that the subagent is part of.
    Run(Ix),
    /// The text of a result ends with the subagent's id.
    Text(Ix),
    /// The first message to the subagent is the prompt of a call.
    Prompt(Ix),
    /// Only the session is known.
    Nowhere,
}

impl Anchored {
    /// Returns how it was found, as in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Anchored::Sidecar(_) => "sidecar",
            Anchored::Result(_) => "result",
            Anchored::Run(_) => "run",
            Anchored::Text(_) => "text",
            Anchored::Prompt(_) => "prompt",
            Anchored::Nowhere => "nothing",
        }
    }

    /// Returns the entry.
    pub fn entry(self) -> Option<Ix> {
        match self {
            Anchored::Sidecar(ix)
            | Anchored::Result(ix)
            | Anchored::Run(ix)
            | Anchored::Text(ix)
            | Anchored::Prompt(ix) => Some(ix),
            Anchored::Nowhere => None,
        }
    }
}

/// A subagent of a project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agent {
    /// Its transcript.
    pub file: u16,
    /// The main file of its session, if that is known.
    pub owner: Option<u16>,
    /// The entry that started it.
    pub anchored: Anchored,
    /// Its sidecar, as an index into [`Layout::sidecars`].
    pub sidecar: Option<usize>,
}

/// Finds the entries that started the subagents of a layout whose files were read as `session`,
/// with [`Session::side`].
///
/// Each subagent has one owner: the session whose folder contains its file, or else the one that
/// its lines name, or else the one that contains its anchor. Anchors are searched only in the
/// owner's files, including those of nested subagents, in this order: the call that the sidecar
/// names, a result that names the subagent, a result of its workflow, a result whose text names it,
/// an equal prompt.
pub fn agents(session: &Session, source: &dyn Source, layout: &Layout) -> io::Result<Vec<Agent>> {
    let look = Look::new(session, source);
    let finder = Finder::new(&look, layout);
    let mut out: Vec<Agent> = (layout.mains as u16..layout.files.len() as u16)
        .filter(|file| layout.files[usize::from(*file)].agent().is_some())
        .map(|file| finder.agent_of_file(file))
        .collect();
    finder.by_run(&mut out)?;
    finder.by_text(&mut out)?;
    finder.by_prompt(&mut out)?;
    for agent in &mut out {
        if agent.owner.is_none()
            && let Some(at) = agent.anchored.entry()
        {
            agent.owner = finder.owner_of(session.entries.file(at));
        }
    }
    Ok(out)
}

struct Finder<'f> {
    look: &'f Look<'f>,
    layout: &'f Layout,
    /// The main file of each file.
    owners: Vec<Option<u16>>,
    /// The first result of each call that a sidecar names, and the call, by owner.
    results: HashMap<(Option<u16>, Key), Ix>,
    calls: HashMap<(Option<u16>, Key), Ix>,
    /// The results that name a subagent, by owner: the last one if it is in the main file,
    /// otherwise the first one.
    named: HashMap<(Option<u16>, Key), Ix>,
}

impl<'f> Finder<'f> {
    fn new(look: &'f Look<'f>, layout: &'f Layout) -> Finder<'f> {
        let session = look.session;
        let entries = &session.entries;
        let mains: HashMap<&str, u16> =
            (0..layout.mains).map(|file| (layout.files[file].stem(), file as u16)).collect();
        let owners: Vec<Option<u16>> = (0..layout.files.len() as u16)
            .map(|file| {
                layout.owner(file).or_else(|| {
                    let first = entries.of_file(file).next()?;
                    mains.get(entries.session(Ix(first))?).copied()
                })
            })
            .collect();
        let mut finder = Finder {
            look,
            layout,
            owners,
            results: HashMap::new(),
            calls: HashMap::new(),
            named: HashMap::new(),
        };
        let wanted: HashSet<Key> = layout
            .sidecars
            .iter()
            .filter_map(|sidecar| Some(Key::hash(sidecar.tool_use.as_ref()?.as_bytes())))
            .collect();
        let Some(side) = &session.side else { return finder };
        for tool in side.tools.iter().filter(|tool| wanted.contains(&tool.id)) {
            let owner = finder.owner_of(entries.file(tool.entry));
            let first = if tool.result { &mut finder.results } else { &mut finder.calls };
            first.entry((owner, tool.id)).or_insert(tool.entry);
        }
        for note in side.notes.iter().filter(|note| note.kind == NoteKind::Agent) {
            let key = (finder.owner_of(note.file), note.key);
            if usize::from(note.file) < layout.mains {
                finder.named.insert(key, note.entry);
            } else {
                finder.named.entry(key).or_insert(note.entry);
            }
        }
        finder
    }

    fn owner_of(&self, file: u16) -> Option<u16> {
        self.owners.get(usize::from(file)).copied().flatten()
    }

    /// Returns a subagent with the facts in files and results about it.
    fn agent_of_file(&self, file: u16) -> Agent {
        let transcript = &self.layout.files[usize::from(file)];
        let name = transcript.agent().unwrap_or_default();
        let owner = self.owner_of(file);
        let beside = transcript.folder().join(format!("agent-{name}.meta.json"));
        let sidecar = self.layout.sidecars.binary_search_by(|sidecar| sidecar.path.cmp(&beside)).ok();
        let elsewhere = |ix: &&Ix| self.look.session.entries.file(**ix) != file;
        let by_sidecar = sidecar.and_then(|at| {
            let tool = self.layout.sidecars[at].tool_use.as_ref()?;
            let key = (owner, Key::hash(tool.as_bytes()));
            let result = self.results.get(&key).filter(elsewhere);
            result.or_else(|| self.calls.get(&key).filter(elsewhere)).map(|ix| Anchored::Sidecar(*ix))
        });
        let by_result = || {
            let key = (owner, Key::hash(name.as_bytes()));
            Some(Anchored::Result(*self.named.get(&key).filter(elsewhere)?))
        };
        let anchored = by_sidecar.or_else(by_result).unwrap_or(Anchored::Nowhere);
        Agent { file, owner, anchored, sidecar }
    }

    /// Anchors subagents of workflows by the results that name their runs.
    fn by_run(&self, agents: &mut [Agent]) -> io::Result<()> {
        let mut open: HashMap<(u16, String), Vec<usize>> = HashMap::new();
        for (at, agent) in agents.iter().enumerate() {
            let folder = self.layout.files[usize::from(agent.file)].folder();
            if agent.anchored == Anchored::Nowhere
                && folder.parent().is_some_and(|above| above.ends_with("workflows"))
                && let (Some(owner), Some(run)) = (agent.owner, folder.file_name())
            {
                open.entry((owner, run.to_string_lossy().into_owned())).or_default().push(at);
            }
        }
        for ((owner, run), waiting) in open {
            let found = self.find_result(owner, |line| names(line, "runId", &run))?;
            if let Some(ix) = found {
                waiting.into_iter().for_each(|at| agents[at].anchored = Anchored::Run(ix));
            }
        }
        Ok(())
    }

    /// Returns the first result in a main file whose line contains a mark.
    fn find_result(&self, owner: u16, has: impl Fn(&[u8]) -> bool) -> io::Result<Option<Ix>> {
        let entries = &self.look.session.entries;
        for ix in entries.of_file(owner).map(Ix) {
            if entries.flags(ix).has(Flags::RESULT) && self.look.line(ix, &has)? {
                return Ok(Some(ix));
            }
        }
        Ok(None)
    }

    /// Anchors subagents whose id is in the text of a result: the only trace that nested calls of
    /// old versions leave.
    fn by_text(&self, agents: &mut [Agent]) -> io::Result<()> {
        let entries = &self.look.session.entries;
        let mut open: HashMap<(u16, String), usize> = HashMap::new();
        for (at, agent) in agents.iter().enumerate() {
            if agent.anchored == Anchored::Nowhere
                && let (Some(owner), Some(name)) =
                    (agent.owner, self.layout.files[usize::from(agent.file)].agent())
            {
                open.insert((owner, name.to_owned()), at);
            }
        }
        let waiting: HashSet<u16> = open.keys().map(|(owner, _)| *owner).collect();
        for file in 0..self.layout.files.len() as u16 {
            let Some(owner) = self.owner_of(file).filter(|owner| waiting.contains(owner)) else { continue };
            for ix in entries.of_file(file).map(Ix) {
                if !entries.flags(ix).has(Flags::RESULT) {
                    continue;
                }
                let id = self.look.line(ix, agent_in_text)?;
                if let Some(at) = id.and_then(|id| open.remove(&(owner, id)))
                    && agents[at].file != file
                {
                    agents[at].anchored = Anchored::Text(ix);
                }
            }
        }
        Ok(())
    }

    /// Anchors subagents whose first message equals the prompt of a call: teammates, and subagents
    /// of old versions.
    fn by_prompt(&self, agents: &mut [Agent]) -> io::Result<()> {
        let entries = &self.look.session.entries;
        let mut open: HashMap<(u16, String), Vec<usize>> = HashMap::new();
        for (at, agent) in agents.iter().enumerate() {
            let Some(owner) = agent.owner.filter(|_| agent.anchored == Anchored::Nowhere) else { continue };
            let Some(first) = entries.of_file(agent.file).next() else { continue };
            let prompt_text = first_text(&self.look.line(Ix(first), line_text)?);
            if !prompt_text.is_empty() {
                open.entry((owner, prompt_text)).or_default().push(at);
            }
        }
        let waiting: HashSet<u16> = open.keys().map(|(owner, _)| *owner).collect();
        for file in 0..self.layout.files.len() as u16 {
            let Some(owner) = self.owner_of(file).filter(|owner| waiting.contains(owner)) else { continue };
            for ix in entries.of_file(file).map(Ix) {
                if entries.kind(ix) != Kind::Assistant || !entries.flags(ix).has(Flags::CALL) {
                    continue;
                }
                for prompt in self.look.spawns(ix)? {
                    if let Some(waiting) = open.get_mut(&(owner, normal(&prompt)))
                        && let Some(place) = waiting.iter().position(|at| agents[*at].file != file)
                    {
                        agents[waiting.remove(place)].anchored = Anchored::Prompt(ix);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns whether a line contains `"key":"value"`, ignoring spaces.
fn names(line: &[u8], key: &str, value: &str) -> bool {
    let key = format!("\"{key}\"");
    memchr::memmem::find_iter(line, key.as_bytes()).any(|at| {
        let rest = line[at + key.len()..].trim_ascii_start();
        let rest = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        rest.and_then(|rest| rest.strip_prefix(b"\""))
            .and_then(|rest| rest.strip_prefix(value.as_bytes()))
            .is_some_and(|rest| rest.starts_with(b"\""))
    })
}

/// Returns the id after `agentId: ` in the text of a result.
fn agent_in_text(line: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"agentId: ";
    let at = memchr::memmem::rfind(line, MARK)? + MARK.len();
    let id: Vec<u8> = line[at..]
        .iter()
        .copied()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
        .collect();
    String::from_utf8(id).ok().filter(|id| !id.is_empty())
}
