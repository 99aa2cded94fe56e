//! The files of a Claude Code project or session, and their roles.

use std::path::{Path, PathBuf};

/// The files of a project of Claude Code, or of one of its sessions: which files there are, and the
/// contents of the small files beside the transcripts.
///
/// The index of a file in [`Layout::files`] is its number in spans. Nothing here is read from
/// transcripts.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The transcripts: first the main files of sessions, by name, then those of subagents, by
    /// path.
    pub files: Vec<Transcript>,
    /// How many of the files are main files.
    pub mains: usize,
    /// What the files beside the transcripts say about subagents, by path.
    pub sidecars: Vec<Sidecar>,
    /// Whether this is a whole folder, and not one file of it.
    pub whole: bool,
    /// How many files beyond [`Layout::MOST`] were left out.
    pub left_out: usize,
}

/// A transcript of a [`Layout`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transcript {
    /// The path.
    pub path: PathBuf,
    /// Its size in bytes when it was found.
    pub bytes: u64,
    /// The time of the last change, in milliseconds since 1970.
    pub modified: i64,
}

/// `agent-<id>.meta.json`: what Claude Code stores about a subagent beside its transcript.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sidecar {
    /// The path.
    pub path: PathBuf,
    /// The id of the subagent, from the name of the file.
    pub agent: String,
    /// The call that started it.
    pub tool_use: Option<String>,
    /// The name that it was given.
    pub name: Option<String>,
    /// The type of the subagent.
    pub ty: Option<String>,
    /// A short description of its task.
    pub description: Option<String>,
}

/// Returns whether a file belongs to a subagent, judging by its name.
pub fn is_agents(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"agent-"))
}

/// Returns the subagent to which a file belongs, according to its name: `agent-<id>.jsonl`, or
/// `agent-<id>.meta.json` for a sidecar.
pub fn agent_of(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_prefix("agent-")?;
    let ending = || name.rsplit_once('.').map_or(name, |(agent, _)| agent);
    let agent = name.strip_suffix(SIDECAR).unwrap_or_else(ending);
    Some(agent).filter(|agent| !agent.is_empty())
}

/// The suffix of sidecar names.
const SIDECAR: &str = ".meta.json";

/// Returns the main file of the session whose folder contains a subagent's file. Returns `None` if
/// the file is beside the sessions, as with old versions: then only its lines name its session.
pub fn main_of(path: &Path) -> Option<PathBuf> {
    let has_agents = |folder: &&Path| folder.file_name().is_some_and(|name| name == "subagents");
    let session = path.ancestors().skip(1).find(has_agents)?.parent()?;
    session.file_name()?;
    let mut main = session.as_os_str().to_owned();
    main.push(".jsonl");
    Some(main.into())
}

impl Sidecar {
    /// Returns whether a file is a sidecar, judging by its name.
    pub fn is_at(path: &Path) -> bool {
        is_agents(path) && path.as_os_str().as_encoded_bytes().ends_with(SIDECAR.as_bytes())
    }

    /// Reads a sidecar; returns `None` if it is not a JSON object.
    pub fn read(path: PathBuf, bytes: &[u8]) -> Option<Sidecar> {
        let agent = agent_of(&path).filter(|_| Sidecar::is_at(&path))?.to_owned();
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(bytes).ok()?;
        let text = |key: &str| {
            object
                .get(key)
                .and_then(|value| value.as_str())
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let (tool_use, name) = (text("toolUseId"), text("name"));
        let (ty, description) = (text("agentType"), text("description"));
        Some(Sidecar { path, agent, tool_use, name, ty, description })
    }
}

impl Transcript {
    /// Returns the name of the file without its suffix: for a main file, the id of the session.
    pub fn stem(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }

    /// Returns the subagent whose transcript it is, according to the name of the file.
    pub fn agent(&self) -> Option<&str> {
        agent_of(&self.path)
    }

    /// Returns the folder of the file.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Returns the folder of this session's subagents: `<file without .jsonl>/subagents`.
    pub fn agents(&self) -> PathBuf {
        self.folder().join(self.stem()).join("subagents")
    }
}

impl Layout {
    /// The maximum number of files in a layout: spans number them with 16 bits.
    pub const MOST: usize = u16::MAX as usize;

    /// Returns the number of the transcript at a path. The two parts of the list are each sorted by
    /// path.
    pub fn find(&self, path: &Path) -> Option<u16> {
        let (mains, agents) = self.files.split_at(self.mains);
        let among = |files: &[Transcript]| files.binary_search_by(|file| file.path.as_path().cmp(path)).ok();
        among(mains).or_else(|| among(agents).map(|at| at + self.mains)).map(|at| at as u16)
    }

    /// Returns the sidecars in a folder, by name.
    pub fn sidecars_in<'s>(&'s self, folder: &'s Path) -> impl Iterator<Item = &'s Sidecar> + 's {
        let from = self.sidecars.partition_point(|sidecar| sidecar.path.as_path() < folder);
        self.sidecars[from..]
            .iter()
            .take_while(move |sidecar| sidecar.path.starts_with(folder))
            .filter(move |sidecar| sidecar.path.parent() == Some(folder))
    }

    /// Returns the transcripts of subagents in a folder, with their numbers, by name.
    pub fn agents_in<'s>(&'s self, folder: &'s Path) -> impl Iterator<Item = (u16, &'s Transcript)> + 's {
        let agents = &self.files[self.mains..];
        let from = agents.partition_point(|file| file.path.as_path() < folder);
        agents[from..]
            .iter()
            .enumerate()
            .map(move |(at, file)| ((self.mains + from + at) as u16, file))
            .take_while(move |(_, file)| file.path.starts_with(folder))
            .filter(move |(_, file)| file.folder() == folder && file.agent().is_some())
    }

    /// Returns the session to which a subagent's file belongs, as the number of its main file;
    /// determined by the folder.
    ///
    /// The files of old versions are beside all sessions of the project; only their lines name the
    /// session to which they belong.
    pub fn owner(&self, file: u16) -> Option<u16> {
        if usize::from(file) < self.mains {
            return Some(file);
        }
        self.find(&main_of(&self.files[usize::from(file)].path)?)
    }
}

#[cfg(test)]
mod tests;
