//! A scene with everything that a trial needs: its files before and after the command, and the
//! means to start anew.

use super::scenes::Scene;
use super::stopped::{self, Act, Call};
use crate::support::files;
use crate::support::sandbox::{bough, said};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The state of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Kept {
    pub bytes: Vec<u8>,
    pub mtime: (i64, i64),
    pub mode: u32,
}

/// All files of a folder, by their paths.
pub type State = BTreeMap<PathBuf, Kept>;

pub struct Stage {
    pub scene: Scene,
    folder: tempfile::TempDir,
    /// The files before the command.
    pub old: State,
    /// The files after the command, if nothing disturbs it.
    pub new: State,
    /// Its exit status then.
    pub status: i32,
    /// Its calls on the files of the scene.
    pub calls: Vec<Call>,
    /// The operations before it.
    pub operations: Vec<String>,
}

impl Stage {
    /// Sets the scene. Returns `None` if this system can't stop programs at their calls.
    pub fn set(scene: Scene) -> Option<Stage> {
        let folder = tempfile::tempdir().unwrap();
        let mut stage = Stage {
            scene,
            folder,
            old: State::new(),
            new: State::new(),
            status: 0,
            calls: Vec::new(),
            operations: Vec::new(),
        };
        for file in scene.files.split(' ') {
            let (to, from) = file.split_once('=').unwrap();
            let from = files::project().join("tests/cli/sessions").join(from);
            let to = stage.work().join(to);
            files::copy(&from, &to);
            files::copy_below(&from.with_extension(""), &to.with_extension(""));
        }
        for order in scene.before {
            furnish(&stage, order);
        }
        copy_all(&stage.top(), &stage.folder.path().join("kept"));
        stage.old = stage.state();
        stage.operations = stage.operations().into_iter().map(|(id, _)| id).collect();
        let mut calls = Vec::new();
        let (output, _) = stage.run_stopped(scene.words, |_, call| {
            calls.push(call.clone());
            Act::Pass
        })?;
        stage.calls = calls;
        stage.status = stopped::status(&output);
        assert!([0, 1].contains(&stage.status), "{}: {}: {}", scene.words, stage.status, said(&output));
        stage.new = stage.state();
        assert!(
            stage.new != stage.old || scene.words.starts_with("op "),
            "{}: nothing was written",
            scene.words
        );
        Some(stage)
    }

    /// Returns the folder of everything that the program finds.
    pub fn top(&self) -> PathBuf {
        self.folder.path().join("top")
    }

    pub fn work(&self) -> PathBuf {
        self.top().join("work")
    }

    /// Returns the session.
    pub fn session(&self) -> PathBuf {
        self.work().join(self.name())
    }

    /// Returns the name of the session.
    pub fn name(&self) -> &'static str {
        self.scene.files.split(['=', ' ']).next().unwrap()
    }

    /// Restores everything as it was before the command.
    pub fn begin_anew(&self) {
        self.put_back("kept");
    }

    /// Saves everything, to be restored by [`put_back`](Stage::put_back).
    pub fn keep(&self, name: &str) {
        let kept = self.folder.path().join(name);
        let _ = fs::remove_dir_all(&kept);
        copy_all(&self.top(), &kept);
    }

    pub fn put_back(&self, name: &str) {
        for part in fs::read_dir(self.top()).into_iter().flatten() {
            let _ = fs::remove_dir_all(part.unwrap().path());
        }
        copy_all(&self.folder.path().join(name), &self.top());
    }

    /// Returns a command with a fixed clock and fixed ids; `_` is a space in a word.
    pub fn command(&self, words: &str) -> Command {
        let top = self.top();
        fs::create_dir_all(top.join("home")).unwrap();
        let mut command = bough(&top.join("home"));
        // Everything older than now can be pruned.
        let now = if words.starts_with("op prune") { "2037-03-02T12:00:00Z" } else { "2026-03-02T12:00:00Z" };
        command
            .args(
                words
                    .split(' ')
                    .map(|word| if word.contains("bough") { word.into() } else { word.replace('_', " ") }),
            )
            .current_dir(self.work())
            .env("XDG_STATE_HOME", top.join("state"))
            .env("BOUGH_NOW", now)
            .env("BOUGH_IDS", "1");
        command
    }

    /// Runs a command undisturbed.
    pub fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a command that is stopped at its calls.
    pub fn run_stopped(&self, words: &str, act: impl FnMut(usize, &Call) -> Act) -> Option<(Output, usize)> {
        stopped::run(self.command(words), &self.top(), act)
    }

    /// Returns the files of the user, without those of the log.
    pub fn state(&self) -> State {
        let mut found = State::new();
        for folder in ["work", "home"] {
            look(&self.top().join(folder), &mut found);
        }
        found
    }

    /// Returns the unfinished files that are left, including those of the log.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut found = State::new();
        look(&self.top(), &mut found);
        found.into_keys().filter(|path| is_leftover(path)).collect()
    }

    /// Returns the operations in the log, newest first, with their states.
    pub fn operations(&self) -> Vec<(String, String)> {
        let output = self.run("op log --json");
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        lines.map(|line| (text(&line["op_id"]), text(&line["state"]))).collect()
    }
}

/// Returns whether a file exists only while bough writes.
pub fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    name.starts_with('.') && (name.ends_with(".bough") || name.ends_with(".lock")) || name.starts_with("new-")
}

fn furnish(stage: &Stage, order: &str) {
    let cut = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        let time = fs::metadata(path).unwrap().modified().unwrap();
        fs::write(path, &bytes[..bytes.len() - 30]).unwrap();
        fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    match order.strip_prefix('!').map(|order| order.split_once(' ').unwrap_or((order, ""))) {
        Some(("make", name)) => {
            let path = stage.work().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "a result\n").unwrap();
        }
        Some(("report", name)) => {
            fs::write(stage.work().join(name), "{\"schema\":\"bough.redaction/1\",\"found\":[{}]}\n")
                .unwrap();
        }
        Some(("long", name)) => {
            let path = stage.work().join(name);
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            let line = format!(
                "{{\"type\":\"message\",\"id\":\"d0000001\",\"parentId\":\"c0000002\",\"timestamp\":\"2026-03-01T10:11:00.000Z\",\"message\":{{\"role\":\"bashExecution\",\"command\":\"ls\",\"output\":\"{}\",\"exitCode\":0}}}}\n",
                "long ".repeat(100)
            );
            let text = fs::read_to_string(&path).unwrap() + &line;
            fs::write(&path, text).unwrap();
            fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        Some(("remove", name)) => fs::remove_dir_all(stage.work().join(name)).unwrap(),
        Some(("cut", name)) => cut(&stage.work().join(name)),
        Some(("cut-below", name)) => {
            for file in fs::read_dir(stage.work().join(name)).unwrap() {
                let path = file.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "jsonl") {
                    cut(&path);
                }
            }
        }
        // A program that was killed in the middle of a rewrite.
        Some(("kill", _)) => {
            let killed = stage.run_stopped("migrate s.jsonl", |_, call| match call.name {
                "rename" if call.path.starts_with(stage.work()) => Act::Kill,
                _ => Act::Pass,
            });
            if killed.is_some() {
                assert_ne!(stage.leftovers(), [] as [PathBuf; 0], "nothing was left");
            }
        }
        Some((other, _)) => panic!("no order {other}"),
        None => {
            let output = stage.run(order);
            assert!(output.status.success(), "{order}: {}", said(&output));
        }
    }
}

fn look(folder: &Path, found: &mut State) {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = file.path();
        let Ok(facts) = fs::symlink_metadata(&path) else { continue };
        if facts.is_dir() {
            look(&path, found);
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            let (mtime, mode) = ((facts.mtime(), facts.mtime_nsec()), facts.permissions().mode());
            found.insert(path, Kept { bytes, mtime, mode });
        }
    }
}

/// Copies a folder, with times and modes.
fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).into_iter().flatten() {
        let file = file.unwrap();
        let (from, to) = (file.path(), to.join(file.file_name()));
        let facts = fs::symlink_metadata(&from).unwrap();
        if facts.is_dir() {
            copy_all(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
            fs::File::options()
                .append(true)
                .open(&to)
                .unwrap()
                .set_modified(facts.modified().unwrap())
                .unwrap();
        }
    }
}
