//! The folder in which an agent keeps the sessions of a working directory, and the working
//! directory that a session names.
//!
//! Several directories may share the name of a folder, and movers leave sessions in folders that do
//! not fit. So the session itself decides where it belongs.

use super::locate::{self, Store, first_bytes, folder_names};
use crate::json;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// How many bytes Claude Code reads from each end of a transcript.
const END: u64 = 64 * 1024;

/// Where a session belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    /// The working directory.
    pub cwd: String,
    /// Whether the name of its folder fits.
    pub fits: bool,
}

/// Returns the name that an agent gives to the folder of a working directory, if sessions of that
/// directory could be in a folder with this name.
pub fn is_named_for(agent: &str, name: &str, cwd: &str) -> bool {
    folder_names(agent, Path::new(cwd)).iter().any(|known| locate::is_named(agent, name, known))
}

/// Returns where a session of a store belongs; `None` if it names no working directory.
///
/// For Claude Code, that is the directory that fits the folder, of those that the transcript names;
/// if none does, the one that the agent would look for: the last `relocated` line, or else the
/// first `cwd`.
pub fn home_of(agent: &str, path: &Path) -> Option<Home> {
    let folder = path.parent()?.file_name()?.to_string_lossy().into_owned();
    let fits = |cwd: &str| is_named_for(agent, &folder, cwd);
    if agent != "claude" {
        let head = first_bytes(path, 16 * 1024);
        let cwd = head.split(|byte| *byte == b'\n').find_map(cwd_in_line)?;
        // All sessions may be in one folder, whatever their working directory.
        let is_flat = !folder.starts_with('-') && !is_hashed(&folder);
        return Some(Home { fits: is_flat || fits(&cwd), cwd });
    }
    let moved = last_relocated(path);
    let head = first_bytes(path, END);
    let first = head.split(|byte| *byte == b'\n').find_map(cwd_in_line);
    for cwd in moved.iter().chain(&first) {
        if fits(cwd) {
            return Some(Home { cwd: cwd.clone(), fits: true });
        }
    }
    if let Some(cwd) = find_cwd(path, |cwd| fits(cwd)) {
        return Some(Home { cwd, fits: true });
    }
    let cwd = moved.or(first).or_else(|| find_cwd(path, |_| true))?;
    // The shell may have been in a folder below from the first line on.
    if let Some(above) = Path::new(&cwd).ancestors().filter_map(Path::to_str).find(|above| fits(above)) {
        return Some(Home { cwd: above.to_owned(), fits: true });
    }
    Some(Home { cwd, fits: false })
}

/// A working directory that does not exist any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoneFolder {
    /// Where it was.
    pub cwd: String,
    /// How many sessions it has.
    pub sessions: usize,
    /// Whether one of them was written after the other folder was made. A folder that is younger than all of
    /// them is a copy, or another project.
    pub was_used_since: bool,
}

/// Returns the working directories beside a folder that do not exist any more: the folder may have had the name
/// of one of them. Costs the first lines of a session of each project.
pub fn gone_beside(stores: &[Store], folder: &Path) -> Vec<GoneFolder> {
    let mut out: Vec<GoneFolder> = Vec::new();
    // Not every file system knows it.
    let made = folder.metadata().and_then(|facts| facts.created()).ok();
    let written = |path: &PathBuf| path.metadata().and_then(|facts| facts.modified()).ok();
    let folders_in =
        |root: &Path| fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    for store in stores.iter().filter(|store| ["claude", "pi", "omp"].contains(&store.agent)) {
        for project in folders_in(&store.root) {
            let is_session = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
            let files: Vec<PathBuf> = folders_in(&project).filter(is_session).collect();
            let Some(home) = files.first().and_then(|file| home_of(store.agent, file)) else { continue };
            let cwd = Path::new(&home.cwd);
            let was_used_since =
                made.is_none_or(|made| files.iter().filter_map(written).any(|last| last >= made));
            if cwd.parent() != folder.parent() || cwd.exists() {
                continue;
            }
            match out.iter_mut().find(|known| known.cwd == home.cwd) {
                Some(known) => {
                    known.sessions += files.len();
                    known.was_used_since |= was_used_since;
                }
                None => out.push(GoneFolder { cwd: home.cwd, sessions: files.len(), was_used_since }),
            }
        }
    }
    out
}

/// Returns whether a folder has a name of oh-my-pi that ends in a hash.
fn is_hashed(name: &str) -> bool {
    let begins = ["home-", "tmp-", "abs-"].iter().any(|start| name.starts_with(start));
    begins && name.rsplit_once('-').is_some_and(|(_, hash)| hash.len() == 64)
}

/// Returns the `cwd` of a line that names one at its top.
fn cwd_in_line(line: &[u8]) -> Option<String> {
    memchr::memmem::find(line, b"\"cwd\"")?;
    json::string(json::member_of_whole(line, "cwd")?)
        .map(|cwd| cwd.into_owned())
        .filter(|cwd| !cwd.is_empty())
}

fn last_relocated(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let len = file.metadata().ok()?.len();
    let mut tail = vec![0; len.min(END) as usize];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut tail, len - len.min(END)).ok()?;
    let mut lines = tail.rsplit(|byte| *byte == b'\n');
    let named = |line: &[u8]| {
        memchr::memmem::find(line, b"\"relocatedCwd\"")?;
        json::string_of(line, "relocatedCwd")
    };
    lines.find_map(named)
}

/// Returns the first wanted `cwd` of a transcript.
fn find_cwd(path: &Path, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).ok()?);
    let (mut line, mut last) = (Vec::new(), String::new());
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        if let Some(cwd) = cwd_in_line(&line)
            && cwd != last
        {
            if wanted(&cwd) {
                return Some(cwd);
            }
            last = cwd;
        }
        line.clear();
    }
    None
}

/// Returns the folder for the sessions of a working directory in a store. It may not exist yet.
///
/// `old` is the folder in which the session is, and the working directory that it fits: a store
/// without a folder for each directory keeps the session where it is, and a folder of oh-my-pi gets
/// a name of the same kind.
pub fn folder_for(store: &Store, cwd: &str, old: Option<(&Path, &str)>) -> PathBuf {
    let names = folder_names(store.agent, Path::new(cwd));
    if store.agent == "claude" {
        return store.root.join(&names[0]);
    }
    if let Some((folder, old_cwd)) = old {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if folder == store.root || !name.starts_with('-') && !is_hashed(&name) {
            return folder.to_owned();
        }
        let kind = folder_names(store.agent, Path::new(old_cwd)).iter().position(|known| *known == name);
        // pi knows only the first kind; oh-my-pi renames folders of that kind by itself.
        if store.agent == "pi" && kind.is_some() {
            return store.root.join(&names[0]);
        }
    }
    store.root.join(if store.agent == "omp" { &names[names.len() - 1] } else { &names[0] })
}

/// The content of a folder and of all folders in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    /// The regular files, in the order of their paths.
    pub files: Vec<PathBuf>,
    /// The folders, the innermost first; the last is the folder itself.
    pub folders: Vec<PathBuf>,
    /// Everything else, e.g. links.
    pub others: Vec<PathBuf>,
}

/// Returns the content of a folder, at any depth; links are not followed. Empty if it is no folder.
pub fn contents(folder: &Path) -> io::Result<Contents> {
    let mut out = Contents::default();
    if !fs::symlink_metadata(folder).is_ok_and(|facts| facts.is_dir()) {
        return Ok(out);
    }
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            match () {
                () if kind.is_dir() => todo.push(entry.path()),
                () if kind.is_file() => out.files.push(entry.path()),
                () => out.others.push(entry.path()),
            }
        }
        out.folders.push(folder);
    }
    out.files.sort();
    out.others.sort();
    out.folders.sort_by(|one, other| other.cmp(one));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(folder: &Path, name: &str, lines: &[&str]) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, lines.join("\n")).unwrap();
        path
    }

    #[test]
    fn a_session_belongs_to_the_directory_that_fits_its_folder() {
        let top = tempfile::tempdir().unwrap();
        let check = |folder: &str, lines: &[&str], wanted: Option<(&str, bool)>| {
            let path = session(&top.path().join(folder), "s.jsonl", lines);
            let home = home_of("claude", &path).map(|home| (home.cwd, home.fits));
            let home = home.as_ref().map(|(cwd, fits)| (&**cwd, *fits));
            assert_eq!(home, wanted, "{folder} {lines:?}");
        };
        let (app, sub, dot) = (r#"{"cwd":"/w/app"}"#, r#"{"cwd":"/w/app/sub"}"#, r#"{"cwd":"/w.app"}"#);
        let relocated = r#"{"type":"relocated","relocatedCwd":"/w/new"}"#;
        check("-w-app", &[app, sub], Some(("/w/app", true)));
        check("-w-app", &[sub, app], Some(("/w/app", true)));
        check("-w-app", &[dot, sub], Some(("/w.app", true)));
        check("-w-new", &[app, relocated], Some(("/w/new", true)));
        check("-w-app", &[app, relocated], Some(("/w/app", true)));
        check("-w-other", &[app, relocated], Some(("/w/new", false)));
        check("-w-other", &[sub, app], Some(("/w/app/sub", false)));
        check("-w-app", &[sub], Some(("/w/app", true)));
        check("-w-app", &[r#"{"m":{"cwd":"/x"}}"#], None);
        // A line that is cut off names nothing.
        check("-w-app", &[r#"{"cwd":"/w/app","x":"#], None);
        check("-w-app", &[r#"{"cwd":"/w/app","x":"#, sub], Some(("/w/app", true)));
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_folder_is_named_as_the_agent_names_it() {
        let root = tempfile::tempdir().unwrap();
        let check = |agent, cwd: &str, old: Option<(&str, &str)>, wanted: &str| {
            let store = Store { agent, root: root.path().to_owned() };
            let old = old.map(|(name, cwd)| (root.path().join(name), cwd));
            let made = folder_for(&store, cwd, old.as_ref().map(|(path, cwd)| (path.as_path(), *cwd)));
            assert_eq!(made, root.path().join(wanted), "{agent} {cwd}");
        };
        check("claude", "/w/a.b_c/ü", None,                          "-w-a-b-c--");
        check("pi",     "/w/a.b_c/ü", Some(("--w-old--", "/w/old")), "--w-a.b_c-ü--");
        check("omp",    "/w/a",       Some(("--w-old--", "/w/old")), "--w-a--");
        check("pi",     "/w/a",       Some(("all", "/w/old")),       "all");
        check("pi",     "/w/a",       Some(("", "/w/old")),          "");
    }

    #[test]
    fn a_long_name_ends_in_a_hash() {
        let store = Store { agent: "claude", root: "/s".into() };
        let (one, other) = (format!("/{}", "a/".repeat(150)), format!("/{}b", "a/".repeat(150)));
        let name =
            |cwd: &str| folder_for(&store, cwd, None).file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name(&one).starts_with(&"-a".repeat(100)) && name(&one).len() > 201);
        assert_ne!(name(&one), name(&other));
        // A session may be in a folder with another hash.
        assert!(is_named_for("claude", &name(&other), &one));
        assert!(!is_named_for("claude", "-a", &one));
    }
}
