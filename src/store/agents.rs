//! Agents that run on this machine, found by their own register of running sessions and by the names
//! of processes.

use super::{clients, locate};
use std::fs;
use std::path::{Path, PathBuf};

/// A process of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    /// The name of the agent.
    pub name: &'static str,
    /// The process.
    pub pid: u32,
    /// Its working directory.
    pub folder: PathBuf,
}

/// The agents whose processes are known by name.
const NAMES: [&str; 3] = ["claude", "pi", "omp"];

/// Returns the process of Claude Code that has a session open, by its register.
pub fn registered(session: &Path) -> Option<u32> {
    let stem = session.file_stem()?.to_str()?;
    let projects = session.parent()?.parent().filter(|folder| folder.ends_with("projects"))?;
    let running = clients::running(projects.parent()?);
    running.iter().find(|client| client.session == stem).and_then(|client| u32::try_from(client.pid).ok())
}

/// Returns the agents that run in the working directory of a session's project, or in the folder of its file.
pub fn running_beside(session: &Path) -> Vec<Running> {
    let mut found = running();
    let session = session.canonicalize().unwrap_or_else(|_| session.to_owned());
    let Some(folder) = session.parent() else { return Vec::new() };
    let project = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    found.retain(|agent| {
        agent.folder == folder || locate::folder_names(agent.name, &agent.folder).contains(&project)
    });
    found
}

/// Returns the agents that run, as far as `/proc` shows them.
fn running() -> Vec<Running> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let path = process.path();
        let command = fs::read(path.join("cmdline")).unwrap_or_default();
        let short = fs::read(path.join("comm")).unwrap_or_default();
        // A script is named after its interpreter.
        let words = command.split(|byte| *byte == 0).take(2);
        let names = words.map(|word| word.rsplit(|byte| *byte == b'/').next().unwrap_or_default());
        let names: Vec<&[u8]> = names.chain([short.trim_ascii_end()]).collect();
        let Some(name) = NAMES.into_iter().find(|name| names.contains(&name.as_bytes())) else { continue };
        if let Ok(folder) = fs::read_link(path.join("cwd")) {
            found.push(Running { name, pid, folder });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    const ID: &str = "5e550001-0000-4000-8000-0000000000b2";

    #[test]
    fn the_register_counts_as_long_as_its_process_lives() {
        let config = tempfile::tempdir().unwrap();
        let (project, register) = (config.path().join("projects/-work"), config.path().join("sessions"));
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&register).unwrap();
        let session = project.join(format!("{ID}.jsonl"));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        let me = std::process::id();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        let dead = gone.id();
        gone.wait().unwrap();
        let check = |pid: u32, text: String, wanted: Option<u32>| {
            let path = register.join(format!("{pid}.json"));
            fs::write(&path, &text).unwrap();
            assert_eq!(registered(&session), wanted, "{text}");
            fs::remove_file(path).unwrap();
        };
        assert_eq!(registered(&session), None);
        check(me, format!(r#"{{"pid":{me},"sessionId":"{ID}","startedAt":{now}}}"#), Some(me));
        check(me, format!(r#"{{"sessionId":"{ID}"}}"#), Some(me));
        check(me, format!(r#"{{"pid":{me},"sessionId":"another","startedAt":{now}}}"#), None);
        // The process has the number of one that was there long ago.
        check(me, format!(r#"{{"pid":{me},"sessionId":"{ID}","startedAt":1000}}"#), None);
        check(dead, format!(r#"{{"pid":{dead},"sessionId":"{ID}","startedAt":{now}}}"#), None);
        check(me, "not json".into(), None);
        // A copy elsewhere is not what the agent has open.
        fs::write(register.join("1.json"), format!(r#"{{"pid":{me},"sessionId":"{ID}"}}"#)).unwrap();
        assert_eq!(registered(&config.path().join(format!("{ID}.jsonl"))), None);
    }
}
