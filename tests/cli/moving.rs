//! `bough move`: a store is moved as the agents' own programs found it moved, siblings keep their
//! bytes, and everything is undone.
//!
//! `moves.recipe` describes the store, `moves.tsv` has what `tests/oracles/moves.py` recorded: the
//! answers of the programs, and a digest of the store that they were asked about.

use crate::support::files::project;
use crate::support::recording;
use crate::support::sandbox::{bough, code, said};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

const HOME: &str = "/home/user";

/// The bytes, the time and the mode of each file.
pub type State = BTreeMap<PathBuf, (Vec<u8>, i64, u32)>;

fn sessions() -> PathBuf {
    project().join("tests/cli/sessions")
}

pub fn replaced(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    if old.is_empty() {
        return bytes.to_vec();
    }
    let mut out = Vec::new();
    let mut at = 0;
    for found in memchr::memmem::find_iter(bytes, old) {
        out.extend_from_slice(&bytes[at..found]);
        out.extend_from_slice(new.as_bytes());
        at = found + old.len();
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

/// Makes the store of the recipe.
fn build(home: &Path) {
    let recipe = fs::read_to_string(sessions().join("moves.recipe")).unwrap();
    for (number, row) in recipe.lines().enumerate() {
        let [to, source, old, new] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let bytes = match source.strip_prefix('=') {
            Some(text) => text.replace("\\n", "\n").into_bytes(),
            None => replaced(&fs::read(sessions().join(source)).unwrap(), old, new),
        };
        let path = home.join(to);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, replaced(&bytes, HOME, home.to_str().unwrap())).unwrap();
        let time = UNIX_EPOCH + Duration::from_secs(1_790_000_000 + number as u64);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
}

fn add(folder: &Path, home: &Path, out: &mut State) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            add(&path, home, out);
        } else {
            let facts = entry.metadata().unwrap();
            let nanoseconds = facts.mtime() * 1_000_000_000 + facts.mtime_nsec();
            let own = path.strip_prefix(home).unwrap().to_owned();
            out.insert(own, (fs::read(&path).unwrap(), nanoseconds, facts.mode()));
        }
    }
}

pub fn state(home: &Path) -> State {
    let mut out = State::new();
    for store in [".claude", ".pi", ".omp"] {
        add(&home.join(store), home, &mut out);
    }
    out
}

pub fn folders(home: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut todo = vec![home.join(".claude"), home.join(".pi"), home.join(".omp")];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                todo.push(entry.path());
                out.push(entry.path());
            }
        }
    }
    out.sort();
    out
}

pub fn digest(home: &Path) -> String {
    let rows: Vec<String> = state(home)
        .iter()
        .map(|(path, (bytes, ..))| {
            let bytes = replaced(bytes, home.to_str().unwrap(), HOME);
            let sha: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} {sha}", path.display())
        })
        .collect();
    let sha = Sha256::digest(rows.join("\n"));
    sha.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

pub fn run(home: &Path, words: &[&str]) -> std::process::Output {
    bough(home).args(words).output().unwrap()
}

fn home() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    folder
}

#[test]
fn a_moved_store_is_the_one_that_the_programs_were_asked_about() {
    let recorded = recording::read("moves.tsv");
    let answers: BTreeMap<&str, &str> = recorded.lines().filter_map(|row| row.split_once('\t')).collect();
    for (question, answer) in &answers {
        let is_none = matches!(*answer, "null" | "false" | "0") || answer.contains(r#""continued": null"#);
        assert_eq!(is_none, question.contains(" old"), "{question}: {answer}");
    }
    let folder = home();
    let home = folder.path();
    let output = run(home, &["move", "/project/app", "/project/service"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(format!("{:?}", digest(home)), answers["moved"]);
}

#[test]
fn a_move_is_undone_and_redone_whole() {
    let folder = home();
    let home = folder.path();
    let (old, old_folders) = (state(home), folders(home));
    let output = run(home, &["move", "-n", "/project/app", "/project/service"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(state(home) == old, "a dry run wrote something");
    assert_eq!(code(&run(home, &["move", "/project/app", "/project/service"])), 0);
    let (new, new_folders) = (state(home), folders(home));
    assert!(new != old);
    let before = (&old, &old_folders);
    let after = (&new, &new_folders);
    for (command, (state_wanted, folders_wanted)) in [("undo", before), ("redo", after), ("undo", before)] {
        let output = run(home, &[command, "--all"]);
        assert_eq!(code(&output), 0, "{}", said(&output));
        assert!(state(home) == *state_wanted, "other files than wanted");
        assert_eq!(folders(home), *folders_wanted);
    }
}

#[test]
fn only_what_belongs_to_the_folder_moves() {
    let folder = home();
    let home = folder.path();
    let old = state(home);
    assert_eq!(code(&run(home, &["move", "/project/app", "/project/service"])), 0);
    let new = state(home);
    let stays = |path: &Path| {
        let path = path.display().to_string();
        path.contains("app-docker") || path.contains("6bfc401f")
    };
    for (path, file) in &old {
        assert_eq!(new.get(path) == Some(file), stays(path), "{}", path.display());
    }
    assert!(!home.join(".claude/projects/-project-app").exists());
    // All else has its time, and the same length but for the paths.
    let times = |state: &State| {
        let mut times: Vec<(i64, u32)> = state.values().map(|(_, time, mode)| (*time, *mode)).collect();
        times.sort_unstable();
        times
    };
    assert_eq!(times(&new), times(&old));
    let text = String::from_utf8(new[Path::new(".claude/history.jsonl")].0.clone()).unwrap();
    assert!(
        text.contains(r#""display":"look at /project/app""#)
            && text.contains(r#""project":"/project/service""#)
    );
}

#[test]
fn a_session_that_is_already_there_is_not_overwritten() {
    let folder = home();
    let home = folder.path();
    let name = "8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl";
    let there = home.join(".claude/projects/-project-service");
    fs::create_dir_all(&there).unwrap();
    fs::write(there.join(name), "{\"cwd\":\"/project/service\"}\n").unwrap();
    let old = state(home);
    let output = run(home, &["move", "/project/app", "/project/service"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    assert!(said(&output).contains("already in the new folder"), "{}", said(&output));
    assert!(state(home) == old);
}

#[test]
fn a_move_beside_a_running_client_is_refused() {
    let folder = home();
    let home = folder.path();
    let running = home.join(".claude/sessions");
    fs::create_dir_all(&running).unwrap();
    let file = running.join(format!("{}.json", std::process::id()));
    for (client, wanted) in [
        (r#"{"sessionId":"8a41ccc1-b906-4425-adb7-21c6f1740617","cwd":"/elsewhere"}"#, 5),
        (r#"{"sessionId":"x","cwd":"/project/app/sub"}"#, 5),
        (r#"{"sessionId":"x","cwd":"/project/app-docker"}"#, 0),
    ] {
        fs::write(&file, client).unwrap();
        let output = run(home, &["move", "-n", "/project/app", "/project/service"]);
        assert_eq!(code(&output), wanted, "{client}: {}", said(&output));
    }
    let settings = home.join(".claude.json");
    let text = "{\n  \"projects\": {\n    \"/project/app\": {\"hasTrustDialogAccepted\": true}\n  }\n}\n";
    fs::write(&settings, text).unwrap();
    let trust = ["move", "--trust", "/project/app", "/project/service"];
    assert_eq!(code(&run(home, &trust)), 5);
    fs::remove_file(&file).unwrap();
    let output = run(home, &[&trust[..], &["--allow=live"]].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(fs::read_to_string(&settings).unwrap(), text.replace("/project/app", "/project/service"));
}

#[test]
fn one_session_moves_alone() {
    let folder = home();
    let home = folder.path();
    let old = state(home);
    let id = "254d35dc-7f1f-4b42-ab66-5415aec1733e";
    let output = run(home, &["move", "-s", id, "--to", "/project/other"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let new = state(home);
    for (path, file) in &old {
        assert_eq!(
            new.get(path) == Some(file),
            !path.display().to_string().contains(id),
            "{}",
            path.display()
        );
    }
    let moved = home.join(".claude/projects/-project-other").join(format!("{id}.jsonl"));
    let text = fs::read_to_string(moved).unwrap();
    assert!(text.contains(r#""cwd":"/project/other""#) && !text.contains(r#""cwd":"/project/app""#));
    assert_eq!(code(&run(home, &["undo", "--all"])), 0);
    assert!(state(home) == old);
}

#[test]
fn sessions_are_copied_to_another_store() {
    let folder = home();
    let home = folder.path();
    let old = state(home);
    let into = home.join("other/projects");
    let words = ["move", "--map", "/project=/home/b/work", "--into", into.to_str().unwrap()];
    let output = run(home, &words);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(state(home) == old, "the old store changed");
    let copied = into.join("-home-b-work-app");
    assert_eq!(fs::read(copied.join("memory/MEMORY.md")).unwrap(), b"remember /project/app");
    let text = fs::read_to_string(copied.join("8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl")).unwrap();
    assert!(text.contains(r#""cwd":"/home/b/work/app""#));
    assert!(into.join("-home-b-work-app-docker").is_dir());
    assert_eq!(code(&run(home, &["undo", "--all"])), 0);
    assert!(!into.exists());
}

/// The names that the real Chimera 0.9.2.3 gives to the sessions of `/project/app`, `/project/service` and
/// `/project/app/web` (`tests/oracles/moves.py --chimera` asks it).
const CHIMERA_NAMES: [&str; 3] = ["ed0bd4fa7f83", "1e1380503cc7", "3219947842ab"];

/// Chimera finds a session by a hash of the folder's path, and writes no header.
#[test]
fn sessions_of_chimera_get_the_name_of_the_new_folder() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path();
    let [app, service, web] = CHIMERA_NAMES.map(|name| format!("{name}.jsonl"));
    let store = home.join(".chimera/sessions");
    fs::create_dir_all(&store).unwrap();
    let prompt = |text: &str| {
        format!(
            "{{\"type\": \"message\", \"id\": \"0000000000a1\", \"parent_id\": null, \"timestamp\": 1764000000.0, \"message\": {{\"role\": \"user\", \"content\": \"{text}\"}}}}\n"
        )
    };
    let header = |cwd: &str| {
        format!(
            "{{\"type\": \"header\", \"id\": \"0000000000a0\", \"parent_id\": null, \"timestamp\": 1764000000.0, \"version\": 1, \"cwd\": \"{cwd}\", \"system_prompt\": \"in /project/app\"}}\n"
        )
    };
    let web_text = header("/project/app/web") + &prompt("web");
    for (name, text) in
        [(&app, prompt("app")), (&web, web_text.clone()), (&"0123456789ab.jsonl".into(), prompt("other"))]
    {
        fs::write(store.join(name), text).unwrap();
        let old = fs::File::options().write(true).open(store.join(name)).unwrap();
        old.set_modified(UNIX_EPOCH + Duration::from_secs(1_780_000_000)).unwrap();
    }
    let names = || {
        let mut names: Vec<String> = fs::read_dir(&store)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let all = |own: &[&str]| {
        let mut names: Vec<String> = own.iter().map(|&name| name.to_owned()).collect();
        names.push("0123456789ab.jsonl".into());
        names.sort();
        names
    };
    let new_web = format!("{}.jsonl", &hex_of("/project/service/web")[..12]);
    let moved = |words: &[&str]| {
        let output = run(home, words);
        assert_eq!(code(&output), 0, "{words:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    moved(&["move", "/project/app", "/project/service"]);
    assert_eq!(names(), all(&[&service, &new_web]));
    assert_eq!(fs::read_to_string(store.join(&service)).unwrap(), prompt("app"));
    let new = web_text.replace("/project/app/web\"", "/project/service/web\"");
    assert_eq!(fs::read_to_string(store.join(&new_web)).unwrap(), new);
    moved(&["undo", "--all"]);
    assert_eq!(names(), all(&[&app, &web]));
    assert_eq!(fs::read_to_string(store.join(&web)).unwrap(), web_text);
    // The store of another machine, and one session of which no more is known than its name.
    moved(&["move", "--copy", "--from", store.to_str().unwrap(), "/project/app", "/project/service"]);
    assert_eq!(names(), all(&[&app, &web, &service, &new_web]));
    moved(&["undo", "--all"]);
    let one = store.join(&app);
    let said = moved(&["move", "--json", "-s", one.to_str().unwrap(), "--to", "/project/service"]);
    assert!(said.contains("\"old_cwd\":null"), "{said}");
    assert_eq!(names(), all(&[&web, &service]));
    // A session of the new folder is not overwritten.
    fs::copy(store.join(&service), &one).unwrap();
    let output = run(home, &["move", "/project/app", "/project/service", "--allow=live"]);
    assert_ne!(code(&output), 0, "{}", self::said(&output));
    assert_eq!(names(), all(&[&app, &web, &service]));
}

fn hex_of(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
