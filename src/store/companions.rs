//! The files that belong to a session file: those in a folder of the same name that the format
//! defines, and those beside it.

use super::{Error, locate};
use crate::format::{Format, Sidecar, agent_of};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A file in the folder of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Companion {
    /// Its path.
    pub path: PathBuf,
    /// Its path relative to the folder of the session.
    pub inside: PathBuf,
}

impl Companion {
    /// Returns the subagent to which it belongs, according to its name.
    pub fn agent(&self) -> Option<&str> {
        agent_of(&self.inside)
    }

    /// Reads what Claude Code stores about a subagent, if this is such a file.
    pub fn sidecar(&self) -> Option<Sidecar> {
        if !Sidecar::is_at(&self.inside) {
            return None;
        }
        Sidecar::read(self.path.clone(), &super::read_file(&self.path).ok()?)
    }
}

/// The files that belong to a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Companions {
    /// The files in the folder of the session, in the order of their paths.
    pub files: Vec<Companion>,
    /// Everything else in that folder, if it is the session's: files and folders that the format
    /// does not define.
    pub unknown: Vec<PathBuf>,
}

/// Returns the folder of a session file: its path without `.jsonl`.
pub fn folder_of(session: &Path) -> PathBuf {
    session.with_extension("")
}

/// Returns the files in the folder of a session that its format defines: subagents' transcripts,
/// tool output and so on.
///
/// A folder that merely has the name of the session yields none of its files. Hidden files and
/// links are left out. Fails if a folder can't be read, because its contents belong to the session.
pub fn companions(session: &Path, format: Format, id: Option<&str>) -> Result<Companions, Error> {
    let top = folder_of(session);
    let mut found = match format {
        Format::Claude => of_claude(session, &top, id)?,
        Format::Omp => of_omp(&top)?,
        _ => Companions::default(),
    };
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    found.unknown.sort();
    Ok(found)
}

/// Returns the files beside a session file whose name is its own plus a suffix, as extensions write
/// them: `NAME.jsonl.x`, and `STEM.x` if the stem contains the id of the session. Copies and locks
/// are left out.
pub fn sidecars(session: &Path, id: Option<&str>) -> Result<Vec<PathBuf>, Error> {
    Sidecars::default().of(session, id)
}

/// Finds the sidecars of many sessions. Lists each folder once.
#[derive(Default)]
pub struct Sidecars {
    /// The names in each folder, in order.
    listed: HashMap<PathBuf, Vec<OsString>>,
}

impl Sidecars {
    /// Returns what [`sidecars`] does.
    pub fn of(&mut self, session: &Path, id: Option<&str>) -> Result<Vec<PathBuf>, Error> {
        const OTHERS: [&str; 7] = ["jsonl", "bak", "tmp", "lock", "swp", "orig", "bough"];
        let (Some(name), Some(stem)) = (session.file_name(), session.file_stem()) else {
            return Ok(Vec::new());
        };
        let stem_is_own = id.is_some_and(|id| !id.is_empty() && stem.to_string_lossy().contains(id));
        let folder =
            session.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let after = |other: &OsStr, start: &OsStr| {
            let rest = other.as_encoded_bytes().strip_prefix(start.as_encoded_bytes())?;
            rest.strip_prefix(b".").map(|rest| !rest.is_empty() && !rest.ends_with(b"~"))
        };
        let names = self.names(folder)?;
        // The name begins with the stem, too.
        let from = names.partition_point(|other| other.as_os_str() < stem);
        let begin_alike = names[from..]
            .iter()
            .take_while(|other| other.as_encoded_bytes().starts_with(stem.as_encoded_bytes()));
        let is_its = |other: &&OsString| {
            after(other, name) == Some(true) || stem_is_own && after(other, stem) == Some(true)
        };
        let is_other = |path: &Path| {
            let ending = path.extension().unwrap_or_default();
            OTHERS.iter().any(|known| ending == *known)
        };
        let out = begin_alike.filter(is_its).map(PathBuf::from).filter(|path| !is_other(path));
        Ok(out.filter(|path| folder.join(path).is_file()).collect())
    }

    fn names(&mut self, folder: &Path) -> Result<&[OsString], Error> {
        if !self.listed.contains_key(folder) {
            let mut names: Vec<OsString> =
                locate::entries(folder)?.iter().map(std::fs::DirEntry::file_name).collect();
            names.sort_unstable();
            self.listed.insert(folder.to_owned(), names);
        }
        Ok(&self.listed[folder])
    }
}

/// The contents of a folder: the names of its files and of its folders, without hidden ones and
/// links.
#[derive(Default)]
struct Listed {
    files: Vec<OsString>,
    folders: Vec<OsString>,
}

fn list(folder: &Path) -> Result<Listed, Error> {
    let mut listed = Listed::default();
    for entry in locate::entries(folder)? {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let kind = entry.file_type().map_err(|source| Error::Io { path: entry.path(), source })?;
        if kind.is_dir() {
            listed.folders.push(name);
        } else if kind.is_file() {
            listed.files.push(name);
        }
    }
    Ok(listed)
}

/// Returns whether a file is in one of the folders in which Claude Code keeps files of a session,
/// and has a name that fits there.
fn is_of_claude(inside: &Path) -> bool {
    let names: Vec<&str> = inside.iter().map(|name| name.to_str().unwrap_or_default()).collect();
    let agents = |name: &str| {
        name.strip_prefix("agent-").is_some_and(|rest| {
            let stem = rest.strip_suffix(".meta.json").or(rest.strip_suffix(".jsonl"));
            stem.is_some_and(|stem| !stem.is_empty())
        })
    };
    match names.as_slice() {
        ["subagents", name] => agents(name),
        ["subagents", "workflows", _, name] => agents(name) || *name == "journal.jsonl",
        ["workflows", name] => name.ends_with(".json"),
        ["workflows", "scripts", name] => name.ends_with(".js"),
        // Most are text; binary output of a tool has the suffix of its type.
        ["tool-results", _] => true,
        _ => false,
    }
}

/// Returns whether a folder may contain files of Claude Code, directly or in folders below it.
fn leads_to_claudes(inside: &Path) -> bool {
    let names: Vec<&str> = inside.iter().map(|name| name.to_str().unwrap_or_default()).collect();
    matches!(
        names.as_slice(),
        ["subagents" | "workflows" | "tool-results"]
            | ["subagents", "workflows"]
            | ["subagents", "workflows", _]
            | ["workflows", "scripts"]
    )
}

fn of_claude(session: &Path, top: &Path, id: Option<&str>) -> Result<Companions, Error> {
    let mut found = Companions::default();
    let mut todo = vec![PathBuf::new()];
    while let Some(folder) = todo.pop() {
        let listed = list(&top.join(&folder))?;
        for name in listed.folders {
            let inside = folder.join(name);
            if leads_to_claudes(&inside) {
                todo.push(inside);
            } else {
                found.unknown.push(top.join(inside));
            }
        }
        for name in listed.files {
            let inside = folder.join(name);
            let path = top.join(&inside);
            if is_of_claude(&inside) {
                found.files.push(Companion { path, inside });
            } else {
                found.unknown.push(path);
            }
        }
    }
    // Claude Code names the folder by the id. A folder with another name belongs to the session if
    // it contains transcripts of subagents or tool output; a folder `workflows` by itself may
    // belong to anything.
    let stem = session.file_stem().unwrap_or_default();
    let has_its_name = id.is_some_and(|id| stem == id)
        || stem.to_str().is_some_and(|stem| stem.len() == 36 && uuid::Uuid::try_parse(stem).is_ok());
    if !has_its_name {
        let is_in = |file: &Companion, name: &str| file.inside.starts_with(name);
        let has_agents = found.files.iter().any(|file| is_in(file, "subagents"));
        found.files.retain(|file| {
            has_agents || is_in(file, "tool-results") && file.inside.extension().is_some_and(|it| it == "txt")
        });
        if found.files.is_empty() {
            found.unknown.clear();
        }
    }
    Ok(found)
}

/// Returns the files in the folder of an oh-my-pi session, in which it keeps tool output as
/// `N.TOOL.log`, and sessions of subagents as `AGENT.jsonl`, each with its report as `AGENT.md` and
/// with a folder of its own.
fn of_omp(top: &Path) -> Result<Companions, Error> {
    let mut found = Companions::default();
    let mut todo = vec![PathBuf::new()];
    while let Some(folder) = todo.pop() {
        let listed = list(&top.join(&folder))?;
        let ends = |name: &OsString, ending: &str| Path::new(name).extension().is_some_and(|it| it == ending);
        let agents: HashSet<OsString> = listed
            .files
            .iter()
            .filter(|name| ends(name, "jsonl") && is_of_pi_family(&top.join(&folder).join(name)))
            .filter_map(|name| Path::new(name).file_stem().map(ToOwned::to_owned))
            .collect();
        let is_agents =
            |name: &OsString| Path::new(name).file_stem().is_some_and(|stem| agents.contains(stem));
        let is_output = |name: &OsString| {
            let name = name.to_string_lossy();
            let parts: Vec<&str> = name.split('.').collect();
            matches!(parts.as_slice(), [number, .., "log"] if parts.len() > 2
                && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        for name in listed.folders {
            if agents.contains(&name) {
                todo.push(folder.join(name));
            } else {
                found.unknown.push(top.join(&folder).join(name));
            }
        }
        for name in listed.files {
            let inside = folder.join(&name);
            let path = top.join(&inside);
            if is_output(&name) || is_agents(&name) && (ends(&name, "jsonl") || ends(&name, "md")) {
                found.files.push(Companion { path, inside });
            } else {
                found.unknown.push(path);
            }
        }
    }
    if found.files.is_empty() {
        found.unknown.clear();
    }
    Ok(found)
}

/// Returns whether a file is a session of pi or oh-my-pi.
fn is_of_pi_family(path: &Path) -> bool {
    super::open_ends(path, super::Options::default()).is_ok_and(|opened| {
        let session = &opened.session;
        matches!(session.format, Format::Pi | Format::Omp) && session.header.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const UUID: &str = "5e550001-0000-4000-8000-000000000001";
    const AGENT: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-05T10:00:00.000Z\",\"cwd\":\"/w\"}\n";

    fn make(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, AGENT).unwrap();
        }
        folder
    }

    fn check(format: Format, stem: &str, files: &str, wanted: &str, unknown: usize) {
        let paths: Vec<String> = files.split_whitespace().map(|file| format!("{stem}/{file}")).collect();
        let folder = make(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        let session = folder.path().join(format!("{stem}.jsonl"));
        let found = companions(&session, format, Some("s")).unwrap();
        let names: Vec<_> = found.files.iter().map(|file| file.inside.to_string_lossy()).collect();
        assert_eq!(names.join(" "), wanted, "{format:?} {stem} {files}");
        assert_eq!(found.unknown.len(), unknown, "{format:?} {stem} {files}");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn only_files_that_the_format_names_belong_to_a_session() {
        let claude = |stem: &str, files: &str, wanted: &str, unknown| check(Format::Claude, stem, files, wanted, unknown);
        claude(UUID,     "subagents/agent-a.jsonl subagents/agent-a.meta.json", "subagents/agent-a.jsonl subagents/agent-a.meta.json", 0);
        claude(UUID,     "subagents/workflows/r/agent-b.jsonl subagents/workflows/r/journal.jsonl", "subagents/workflows/r/agent-b.jsonl subagents/workflows/r/journal.jsonl", 0);
        claude(UUID,     "workflows/r.json workflows/scripts/n-r.js tool-results/t.txt", "tool-results/t.txt workflows/r.json workflows/scripts/n-r.js", 0);
        claude(UUID,     "notes.md src/main.rs subagents/agent-.jsonl subagents/other.jsonl workflows/scripts/x/y.js", "", 5);
        claude(UUID,     ".env .git/config subagents/.agent-a.jsonl tool-results/.t.txt", "", 0);
        claude("parser", "workflows/ci.json workflows/scripts/n-r.js src/main.rs tool-results/page.html", "", 0);
        claude("parser", "tool-results/t.txt tool-results/page.html", "tool-results/t.txt", 0);
        claude("parser", "subagents/agent-a.jsonl workflows/r.json", "subagents/agent-a.jsonl workflows/r.json", 0);
        claude("s",      "workflows/r.json src/main.rs", "workflows/r.json", 1);
        let omp = |files: &str, wanted: &str, unknown| check(Format::Omp, "o", files, wanted, unknown);
        omp("0.bash.log 12.mcp.x.log Scout.jsonl Scout.md Scout/Deep.jsonl Scout/1.bash.log", "0.bash.log 12.mcp.x.log Scout/1.bash.log Scout/Deep.jsonl Scout.jsonl Scout.md", 0);
        omp("build.log 1.log README.md src/main.rs .env", "", 0);
        omp("0.bash.log README.md src/main.rs .env", "0.bash.log", 2);
        for format in [Format::Pi, Format::Chimera, Format::Harness] {
            check(format, UUID, "subagents/agent-a.jsonl tool-results/t.txt 0.bash.log Scout.jsonl", "", 0);
        }
    }

    #[test]
    fn links_do_not_belong_to_a_session() {
        let folder = make(&["outside.txt", &format!("{UUID}/tool-results/own.txt")]);
        let inside = folder.path().join(UUID).join("tool-results/link.txt");
        std::os::unix::fs::symlink(folder.path().join("outside.txt"), inside).unwrap();
        let found = companions(&folder.path().join(format!("{UUID}.jsonl")), Format::Claude, None).unwrap();
        assert_eq!(found.files.len(), 1);
    }

    #[test]
    fn a_sidecar_of_an_extension_is_seen() {
        let folder = make(&[
            "n.jsonl",
            "n.jsonl.acp.json",
            "n.jsonl.bak",
            "n.jsonl.lock",
            "n.txt",
            "other.jsonl.acp.json",
            "2026_s.jsonl",
            "2026_s.notes.json",
            "2026_s-2.jsonl",
            "2026_s.x~",
        ]);
        let seen = |name: &str| -> Vec<PathBuf> { sidecars(&folder.path().join(name), Some("s")).unwrap() };
        assert_eq!(seen("n.jsonl"), [Path::new("n.jsonl.acp.json")]);
        assert_eq!(seen("2026_s.jsonl"), [Path::new("2026_s.notes.json")]);
    }
}
