//! `bough move` over random stores: sessions with subagents, tool results, worktrees, forks and
//! leftovers of other movers, and folders of which several have one name in a store.
//!
//! `moves-random.tsv` has what the agents' own programs answered after the move of each store that
//! was asked about. `tests/oracles/moves.py --stores` asks them, about stores that
//! [`random_stores_are_written`] makes.

use crate::moving::{digest, folders, replaced, run, state};
use crate::support::chance::Chance;
use crate::support::files::project;
use crate::support::recording;
use crate::support::sandbox::{code, said};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// The home folder in the sandbox of the programs.
const HOME: &str = "/home/user";

/// How many of the stores the programs were asked about at least.
const ASKED: usize = 30;

/// Old and new names of a folder. Some differ only in what is a dash in the name of a store's folder.
const NAMES: &[(&str, &str)] = &[
    ("/project/app", "/project/service"),
    ("/project/my_app", "/project/my-app"),
    ("/project/app.v1", "/project/app.v2"),
    ("/project/app", "/project/work/deep/app"),
    ("/project/one/app", "/project/two/app"),
    ("/project/app", "/project/app-docker"),
    ("/project/App One", "/project/App Two"),
    ("/project/größe", "/project/size"),
    ("/project/a/b", "/project/a-b"),
    ("/project/client+api", "/project/client"),
    (
        "/project/app",
        "/project/a-folder-with-a-name-that-is-so-long-that-the-client-cuts-it-and-adds-a-hash-to-it/which-happens-from-two-hundred-characters-on/so-that-this-one-is-longer-than-that-by-some-more-characters/and/more",
    ),
    (
        "/project/another-folder-with-a-name-that-is-so-long-that-the-client-cuts-it-and-adds-a-hash-to-it/which-happens-from-two-hundred-characters-on/so-that-this-one-is-longer-than-that-by-some-more/and/more",
        "/project/short",
    ),
];

/// Real sessions of Claude Code of which stores are made.
const CLAUDE: &[&str] = &[
    "branch",
    "compact",
    "compact-last",
    "compact-twice",
    "edit-and-error",
    "fork-session",
    "fork-command",
    "interrupt",
    "interrupt-tool",
    "old-2.1.100",
    "old-2.1.250",
    "parallel-tools",
    "rename",
    "rewind",
    "rewind-code",
    "rewind-thrice",
    "several-turns",
    "shell-mode",
    "single-turn",
    "subagent",
    "summarize-from",
    "summarize-up-to",
    "tool-use",
    "two-subagents",
];

const PI: &[&str] =
    &["pi16-linear", "pi16-branch-in-place", "pi16-labels", "two-attempts", "pi16-compactions"];
const OMP: &[&str] = &["omp18-linear", "omp18-branches", "omp18-labels", "omp18-compactions", "omp18-custom"];

/// A session of a store.
struct Placed {
    agent: &'static str,
    id: String,
    /// Its working directory before the move.
    cwd: String,
    title: String,
    moves: bool,
}

/// A random store.
struct Store {
    old: &'static str,
    new: &'static str,
    files: Vec<(String, Vec<u8>)>,
    sessions: Vec<Placed>,
}

fn sessions() -> PathBuf {
    project().join("tests/cli/sessions")
}

/// Returns the name of Claude Code's folder for a working directory. A long one ends in the hash of the
/// whole path, as Java computes it, to the base of 36.
fn of_claude(cwd: &str) -> String {
    let name: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if name.len() <= 200 {
        return name;
    }
    let hash = cwd.bytes().fold(0i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let (mut rest, mut digits) = (hash.unsigned_abs(), String::new());
    while rest > 0 {
        digits.insert(0, char::from_digit(rest % 36, 36).unwrap());
        rest /= 36;
    }
    format!("{}-{digits}", &name[..200])
}

fn of_pi(cwd: &str) -> String {
    format!("--{}--", cwd.trim_start_matches('/').replace('/', "-"))
}

fn number(chance: &mut Chance, bits: u32) -> u64 {
    (chance.below(1 << 24) << 24 | chance.below(1 << 24)) & ((1 << bits) - 1)
}

fn uuid(chance: &mut Chance) -> String {
    let mut part = |bits| number(chance, bits);
    format!("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", part(32), part(16), part(12), part(12), part(48))
}

impl Store {
    fn new(seed: u64) -> Store {
        let mut chance = Chance::new(seed);
        let (old, new) = NAMES[(seed % NAMES.len() as u64) as usize];
        let mut store = Store { old, new, files: Vec::new(), sessions: Vec::new() };
        let sub = format!("{old}/sub");
        let worktree = format!("{old}/.claude/worktrees/x");
        for _ in 0..1 + chance.below(4) {
            store.claude(&mut chance, old, None);
        }
        for cwd in [&sub, &worktree] {
            if chance.hits(50) {
                store.claude(&mut chance, cwd, None);
            }
        }
        if chance.hits(40) {
            // A mover left the folder of OLD inside the folder of OLD.
            let folder = format!("{0}/{0}", of_claude(old));
            store.claude(&mut chance, old, Some(folder));
        }
        if chance.hits(30) {
            // Another mover left a session in the folder of another name.
            store.claude(&mut chance, old, Some(of_claude("/project/former-name")));
        }
        for sibling in siblings(old, new) {
            if chance.hits(60) {
                store.claude(&mut chance, &sibling, None);
            }
        }
        if chance.hits(50) {
            let memory = format!(".claude/projects/{}/memory/MEMORY.md", of_claude(old));
            store.add(memory, format!("remember {old}\n"));
        }
        for agent in ["pi", "omp"] {
            for _ in 0..chance.below(3) {
                store.pi(&mut chance, agent, old);
            }
            if chance.hits(30) {
                store.pi(&mut chance, agent, &sub);
            }
            for sibling in siblings(old, new) {
                if chance.hits(30) {
                    store.pi(&mut chance, agent, &sibling);
                }
            }
        }
        store.history();
        store
    }

    fn add(&mut self, path: String, bytes: impl Into<Vec<u8>>) {
        self.files.push((path, bytes.into()));
    }

    /// Notes a session; returns whether it moves.
    fn note(&mut self, agent: &'static str, id: &str, cwd: &str, title: String) {
        let moves = cwd == self.old || cwd.starts_with(&format!("{}/", self.old));
        self.sessions.push(Placed { agent, id: id.to_owned(), cwd: cwd.to_owned(), title, moves });
    }

    /// Places a session of Claude Code, or two of which one is a fork of the other.
    fn claude(&mut self, chance: &mut Chance, cwd: &str, folder: Option<String>) {
        let folder = folder.unwrap_or_else(|| of_claude(cwd));
        let base = CLAUDE[chance.below(CLAUDE.len() as u64) as usize];
        let from = sessions().join("claude/real").join(base);
        let mut names = BTreeMap::new();
        let mut inside = Vec::new();
        let mut todo = vec![from.clone()];
        while let Some(place) = todo.pop() {
            let mut entries: Vec<PathBuf> =
                fs::read_dir(&place).unwrap().map(|it| it.unwrap().path()).collect();
            entries.sort();
            for path in entries {
                let is_main = place == from && path.extension().is_some_and(|ending| ending == "jsonl");
                if is_main {
                    names.insert(path.file_stem().unwrap().to_str().unwrap().to_owned(), uuid(chance));
                }
                match path.is_dir() {
                    true => todo.push(path),
                    false => inside.push(path),
                }
            }
        }
        let drifts = chance.hits(20);
        let has_result = chance.hits(40);
        let is_relocated = chance.hits(15);
        inside.sort_by_key(|path| path.parent() == Some(&from));
        for path in inside {
            let mut bytes = fs::read(&path).unwrap();
            let mut name = path.strip_prefix(&from).unwrap().to_str().unwrap().to_owned();
            for (old, new) in &names {
                bytes = replaced(&bytes, old, new);
                name = name.replace(old, new);
            }
            bytes = replaced(&bytes, "\"/project\"", &json!(cwd).to_string());
            let id = name.strip_suffix(".jsonl").filter(|id| !id.contains('/')).map(str::to_owned);
            if let Some(id) = id {
                let title = format!("session {}", &id[..8]);
                if drifts {
                    bytes = drifted(&bytes, cwd);
                }
                if has_result {
                    let result = format!("{folder}/{id}/tool-results/toolu_1.txt");
                    self.add(format!(".claude/projects/{result}"), format!("a result in {cwd}\n"));
                }
                let mut more = vec![json!({"type": "custom-title", "customTitle": title, "sessionId": id})];
                if is_relocated {
                    more.push(json!({"type": "relocated", "relocatedCwd": cwd, "sessionId": id}));
                }
                for line in more {
                    bytes.extend_from_slice(format!("{line}\n").as_bytes());
                }
                self.note("claude", &id, cwd, title);
            }
            self.add(format!(".claude/projects/{folder}/{name}"), bytes);
        }
    }

    /// Places a session of pi or oh-my-pi; one of them may name the one before it as its parent.
    fn pi(&mut self, chance: &mut Chance, agent: &'static str, cwd: &str) {
        let bases = if agent == "pi" { PI } else { OMP };
        let base = bases[chance.below(bases.len() as u64) as usize];
        let mut bytes = fs::read(sessions().join("pi").join(format!("{base}.jsonl"))).unwrap();
        let id = uuid(chance);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let header = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut header = header.into_iter().find(|line| line["type"] == "session").unwrap();
        let spelled = text.lines().find(|line| line.starts_with("{\"type\":\"session\"")).unwrap().to_owned();
        let number = self.files.len();
        let folder = format!(".{agent}/agent/sessions/{}", of_pi(cwd));
        header["id"] = id.clone().into();
        header["cwd"] = cwd.into();
        let parent =
            self.files.iter().rev().find(|(path, _)| path.starts_with(&folder) && path.ends_with(".jsonl"));
        if let Some((parent, _)) = parent.filter(|_| chance.hits(50)) {
            header["parentSession"] = format!("{HOME}/{parent}").into();
        }
        bytes = replaced(&bytes, &spelled, &header.to_string());
        let name = format!("{folder}/2026-02-03T09-{:02}-00-000Z_{id}", number % 60);
        if agent == "omp" && chance.hits(40) {
            self.add(format!("{name}/0.bash.log"), "output\n");
        }
        self.add(format!("{name}.jsonl"), bytes);
        self.note(agent, &id, cwd, String::new());
    }

    /// Adds a prompt of each session of Claude Code to the history.
    fn history(&mut self) {
        let line = |(at, session): (usize, &Placed)| {
            let line = json!({"display": format!("look at {}", session.cwd), "pastedContents": {},
                "timestamp": 1_795_000_000_000_u64 + at as u64, "project": session.cwd, "sessionId": session.id});
            format!("{line}\n")
        };
        let claude = self.sessions.iter().filter(|session| session.agent == "claude");
        let lines: String = claude.enumerate().map(line).collect();
        self.add(".claude/history.jsonl".into(), lines);
    }

    fn build(&self, home: &Path) {
        for (number, (to, bytes)) in self.files.iter().enumerate() {
            let path = home.join(to);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, replaced(bytes, HOME, home.to_str().unwrap())).unwrap();
            let time = UNIX_EPOCH + Duration::from_secs(1_790_000_000 + number as u64);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
    }

    /// Returns the new working directory of a session.
    fn moved(&self, cwd: &str) -> String {
        match cwd.strip_prefix(self.old) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", self.new),
            _ => cwd.to_owned(),
        }
    }

    /// Returns the ids of the sessions that an agent finds from a working directory after the move.
    ///
    /// Two folders that Claude Code keeps under one name are one folder to it.
    fn ids_at(&self, agent: &str, cwd: &str) -> BTreeSet<String> {
        let is_at = |at: &str| match agent {
            "claude" => of_claude(at) == of_claude(cwd),
            _ => at == cwd,
        };
        let fits = |session: &&Placed| session.agent == agent && is_at(&self.moved(&session.cwd));
        self.sessions.iter().filter(fits).map(|session| session.id.clone()).collect()
    }
}

/// Returns a session whose shell went into a folder below its own, and then elsewhere.
fn drifted(bytes: &[u8], cwd: &str) -> Vec<u8> {
    let spelled = |cwd: &str| format!("\"cwd\":{}", json!(cwd));
    let own = spelled(cwd);
    let all = memchr::memmem::find_iter(bytes, own.as_bytes()).count();
    let mut seen = 0;
    let line = |line: &[u8]| {
        seen += usize::from(memchr::memmem::find(line, own.as_bytes()).is_some());
        match 3 * seen / (all + 1) {
            0 => line.to_vec(),
            1 if seen > 1 => replaced(line, &own, &spelled(&format!("{cwd}/src"))),
            _ if seen > 1 => replaced(line, &own, &spelled("/elsewhere")),
            _ => line.to_vec(),
        }
    };
    bytes.split_inclusive(|byte| *byte == b'\n').flat_map(line).collect()
}

/// Returns folders whose names are near that of a folder, and which stay.
fn siblings(old: &str, new: &str) -> Vec<String> {
    let dashed: String = old.chars().map(|c| if c == '_' || c == '.' { '-' } else { c }).collect();
    let mut out = vec![format!("{old}-docker"), format!("{old}-sub"), "/project".to_owned(), dashed];
    out.retain(|folder| folder != old && folder != new);
    out.dedup();
    out
}

fn count(or: u64) -> (u64, u64) {
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    (number("BOUGH_FROM", 0), number("BOUGH_RANDOM", or))
}

/// Returns the ids of the sessions that bough finds from a folder, as the agents' pickers do.
fn found(home: &Path, agent: &str, cwd: &str) -> BTreeSet<String> {
    let output = run(home, &["sessions", "--quick", "--json", "--agent", agent, "--cwd", cwd]);
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.filter_map(|row| row["session"].as_str().map(str::to_owned)).collect()
}

/// Moves a store, and checks it in all that bough can see; returns its digest.
fn check(seed: u64) -> String {
    let store = Store::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    store.build(home);
    let (old, old_folders) = (state(home), folders(home));
    let output = run(home, &["move", store.old, store.new]);
    assert_eq!(code(&output), 0, "seed {seed}: {}", said(&output));
    let new = state(home);
    for session in &store.sessions {
        let is_its = |path: &&PathBuf| path.to_string_lossy().contains(&session.id);
        let before: Vec<_> = old.keys().filter(is_its).collect();
        let stays = before.iter().all(|path| new.get(*path) == old.get(*path));
        assert!(session.moves || stays, "seed {seed}: {} of {} changed", session.id, session.cwd);
        let folder = of_claude(&store.moved(&session.cwd));
        if session.agent == "claude" && session.moves {
            let path = format!(".claude/projects/{folder}/{}.jsonl", session.id);
            assert!(new.contains_key(Path::new(&path)), "seed {seed}: {path} is not there");
        }
    }
    for agent in ["claude", "pi", "omp"] {
        for top in [store.new, store.old] {
            for cwd in [top, &format!("{top}/sub"), &format!("{top}/.claude/worktrees/x")] {
                let wanted = store.ids_at(agent, cwd);
                assert_eq!(found(home, agent, cwd), wanted, "seed {seed}: {agent} at {cwd}");
            }
        }
    }
    let digest = digest(home);
    assert_eq!(code(&run(home, &["undo", "--all"])), 0, "seed {seed}");
    assert!(state(home) == old && folders(home) == old_folders, "seed {seed}: other files after `undo`");
    digest
}

#[test]
fn random_stores_move_as_the_programs_found_them_moved() {
    let recorded = recording::read("moves-random.tsv");
    let rows: Vec<&str> = recorded.lines().skip(1).collect();
    assert!(rows.len() >= ASKED, "{}", rows.len());
    let check_row = |row: &&str| {
        let [seed, wanted, answers] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        assert_eq!(check(seed.parse().unwrap()), wanted, "seed {seed}");
        // As many were found as were asked for.
        for pair in answers.split([' ', ';']).filter_map(|word| word.split_once('/')) {
            assert_eq!(pair.0, pair.1, "seed {seed}: {answers}");
        }
    };
    // Most of the time goes into waiting for the disk.
    std::thread::scope(|scope| {
        for part in rows.chunks(rows.len().div_ceil(4)) {
            scope.spawn(move || part.iter().for_each(check_row));
        }
    });
}

#[test]
#[ignore = "takes a minute"]
fn many_random_stores_move() {
    let (from, count) = count(200);
    (from..from + count).for_each(|seed| _ = check(seed));
}

/// Writes stores, and what is expected of each, into the folder that `BOUGH_STORES` names.
#[test]
#[ignore = "makes stores for tests/oracles/moves.py"]
fn random_stores_are_written() {
    let top = PathBuf::from(std::env::var_os("BOUGH_STORES").expect("BOUGH_STORES names a folder"));
    let (from, count) = count(ASKED as u64);
    for seed in from..from + count {
        let store = Store::new(seed);
        let folder = top.join(seed.to_string());
        store.build(&folder.join("home"));
        // In the sandbox the home folder has another name.
        for (to, bytes) in &store.files {
            let path = folder.join("home").join(to);
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, bytes).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        let sessions: Vec<_> = store
            .sessions
            .iter()
            .map(|one| {
                json!({"agent": one.agent, "id": one.id, "cwd": one.cwd, "new": store.moved(&one.cwd),
                    "title": one.title, "moves": one.moves})
            })
            .collect();
        let expected = json!({"seed": seed, "old": store.old, "new": store.new, "sessions": sessions});
        fs::write(folder.join("expected.json"), expected.to_string()).unwrap();
    }
}
