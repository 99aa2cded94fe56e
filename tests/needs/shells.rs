//! Tries completion in real shells, each in a terminal of its own (with tmux).
//!
//! The typed text, and what the terminal then showed, is recorded in
//! `tests/needs/shells/<shell>.txt`. Versions of shells draw differently, so the tests search for the
//! words that must be visible; `BOUGH_BLESS=1 cargo test --test needs shells` records anew.

use crate::support::files::{copy, project};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What is completed, what is typed before Tab, and what must then be visible.
#[rustfmt::skip] // a table
const TRIALS: &[(&str, &str, &[&str])] = &[
    ("a command",                    "bough rev-pa",                              &["bough rev-parse"]),
    ("commands",                     "bough st",                                  &["stats", "status", "Count entries, tools"]),
    ("a command of a command",       "bough op pr",                               &["bough op prune"]),
    ("an alias",                     "bough onel",                                &["bough onelines"]),
    ("options",                      "bough log --gr",                            &["--graph", "--grep", "Draw the tree"]),
    ("a session's path",             "bough status s.js",                         &["bough status s.jsonl"]),
    ("a path with a blank",          "bough log two",                             &[r"bough log two\ words.jsonl"]),
    ("a path in quotes",             "bough log 'two",                            &["bough log 'two words.jsonl'"]),
    ("a path from home",             "bough log ~/fol",                           &["bough log ~/folder/"]),
    ("several files",                "bough fsck s.jsonl oth",                    &["bough fsck s.jsonl other.jsonl"]),
    ("a session's id",               "bough log -s 3786",                         &["bough log -s 3786b6a3-a15b-4d24-96dc-af13f0dab432"]),
    ("a session's name",             "bough log -s kep",                          &[r"bough log -s kept\ for\ later"]),
    ("the newest session",           "bough log -s lat",                          &["bough log -s latest"]),
    ("a value behind =",             "bough log --session=s.j",                   &["bough log --session=s.jsonl"]),
    ("the position",                 "bough rev-parse s.jsonl HE",                &["bough rev-parse s.jsonl HEAD"]),
    ("a label",                      "bough show s.jsonl keep",                   &[r"bough show s.jsonl keep\ this"]),
    ("a label by its form",          "bough show s.jsonl label:keep",             &[r"bough show s.jsonl label:keep\ this"]),
    ("prompts",                      "bough show s.jsonl turn:-",                 &["user: Two, again.", "user: One."]),
    ("leaves, and other entries",    "bough show s.jsonl e",                      &["e78418db", "assistant: Second answer, other branch.", "e43cd3df"]),
    ("an entry",                     "bough log -n 3 s.jsonl 1b",                 &["bough log -n 3 s.jsonl 1b5f7c5f"]),
    ("the right side of a range",    "bough rev-parse s.jsonl HEAD..e4",          &["bough rev-parse s.jsonl HEAD..e43cd3df"]),
    ("that of one from the position", "bough rev-parse s.jsonl @..e4",            &["bough rev-parse s.jsonl @..e43cd3df"]),
    ("a set",                        "bough rev-parse s.jsonl lea",               &["bough rev-parse s.jsonl leaves"]),
    ("with -s before the command",   "bough -s s.jsonl show 1b",                  &["bough -s s.jsonl show 1b5f7c5f"]),
    ("with the environment",         "bough show 77a1",                             &["bough show 77a1d1a9"]),
    ("of a session by its first characters", "bough show 3786 4769",               &["bough show 3786 47691418"]),
    ("with --from",                  "bough cherry-pick --from s.jsonl 1b",       &["bough cherry-pick --from s.jsonl 1b5f7c5f"]),
    ("behind an alias",              "bough onelines s.jsonl 1b",                 &["bough onelines s.jsonl 1b5f7c5f"]),
    ("an entry for an option",       "bough branches s.jsonl --contains 1b",      &["bough branches s.jsonl --contains 1b5f7c5f"]),
    ("a label to clear",             "bough label -d -s s.jsonl keep",            &[r"bough label -d -s s.jsonl keep\ this"]),
    ("a label half quoted",          r"bough label -d -s s.jsonl keep\ t",        &[r"bough label -d -s s.jsonl keep\ this"]),
    ("a check to look for",          "bough fsck --only dangling-l",              &["angling-label", "angling-logical-parent", "A leaf entry names"]),
    ("a check to leave out",         "bough fsck --skip crlf,torn-l",             &["bough fsck --skip crlf,torn-line"]),
    ("a check to explain",           "bough fsck --explain dangling-p",           &["bough fsck --explain dangling-parent"]),
    ("a way of mending",             "bough fsck --repair --strategy dangling-parent=r", &["bough fsck --repair --strategy dangling-parent=root"]),
    ("a kind",                       "bough log s.jsonl --kind us",               &["bough log s.jsonl --kind user"]),
    ("a second kind",                "bough grep --kind user,too",                &["bough grep --kind user,tool"]),
    ("a format",                     "bough status s.jsonl --input-format pi-v",  &["pi-v1", "pi-v2"]),
    ("a template",                   "bough log --format onel",                   &["bough log --format oneline"]),
    ("an order",                     "bough branches --sort ow",                  &["bough branches --sort own"]),
    ("an operation",                 "bough undo OPERATION",                      &["bough undo OPERATION+"]),
    ("a session of the archive",     "bough restore 3786",                        &["bough restore 3786b6a3-a15b-4d24-96dc-af13f0dab432"]),
    ("a shell",                      "bough completions pow",                     &["bough completions powershell"]),
];

/// How long a busy machine may take for one answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The beginning of a line at which the shell waits for input.
const PROMPT: &str = "ready>";

pub fn bash_completes() {
    let start = "source <(COMPLETE=bash bough)\nPS1='ready> '\n";
    trial("bash", ".bashrc", start, "bash --rcfile .bashrc -i");
}

pub fn zsh_completes() {
    let start = "autoload -Uz compinit && compinit -u\nsource <(COMPLETE=zsh bough)\nPS1='ready> '\n";
    trial("zsh", ".zshrc", start, "zsh -i");
}

pub fn fish_completes() {
    let start = "COMPLETE=fish bough | source\nset -g fish_greeting\nfunction fish_prompt\n  echo -n 'ready> '\nend\n";
    trial("fish", "config/fish/config.fish", start, "fish -i");
}

fn trial(shell: &str, file: &str, start: &str, run: &str) {
    let home = tempfile::tempdir().unwrap();
    let operation = furnish(home.path());
    let start_file = home.path().join(file);
    fs::create_dir_all(start_file.parent().unwrap()).unwrap();
    fs::write(start_file, start).unwrap();
    let terminal = Terminal::start(home.path(), run);
    let version = Command::new(shell).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version);
    let mut record = format!("{}\n", version.lines().next().unwrap_or_default());
    for (what, typed, wanted) in TRIALS {
        let filled =
            |text: &str| text.replace("OPERATION+", &operation).replace("OPERATION", &operation[..6]);
        let wanted: Vec<String> = wanted.iter().map(|word| filled(word)).collect();
        let seen = terminal.complete(&filled(typed), &wanted);
        for word in &wanted {
            assert!(seen.contains(word), "{shell}: {what}: behind `{typed}` there is no `{word}`:\n{seen}");
        }
        let shown: String =
            seen.replace(&operation, "OPERATION").lines().map(|line| format!("    {line}\n")).collect();
        record.push_str(&format!("\n{what}: {typed}<Tab>\n{shown}"));
    }
    if std::env::var_os("BOUGH_BLESS").is_some() {
        let folder = project().join("tests/needs/shells");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{shell}.txt")), record).unwrap();
    }
}

/// Puts sessions, a store, settings and an operation into a home folder; returns the id of the
/// operation.
fn furnish(home: &Path) -> String {
    let sessions = project().join("tests/cli/sessions/pi");
    for name in ["s.jsonl", "two words.jsonl", "folder/s.jsonl"] {
        copy(&sessions.join("pi16-labels.jsonl"), &home.join(name));
    }
    copy(&sessions.join("pi16-compactions.jsonl"), &home.join("other.jsonl"));
    let stored = home.join(
        ".pi/agent/sessions/--kept--/2026-02-03T09-00-00-000Z_3786b6a3-a15b-4d24-96dc-af13f0dab432.jsonl",
    );
    copy(&sessions.join("pi16-compactions.jsonl"), &stored);
    let named = r#"{"type":"session_info","id":"5e551d0f","parentId":null,"timestamp":"2026-02-03T10:00:00.000Z","name":"kept for later"}"#;
    let text = fs::read_to_string(&stored).unwrap();
    fs::write(&stored, format!("{text}{named}\n")).unwrap();
    fs::create_dir_all(home.join("config/bough")).unwrap();
    fs::write(home.join("config/bough/config.toml"), "[alias]\nonelines = \"log --oneline\"\n").unwrap();
    let bough = |words: &[&str]| {
        let output = crate::support::sandbox::bough(home).args(words).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    bough(&["label", "--force", "named", "HEAD", "-s", "folder/s.jsonl"]);
    bough(&["archive"]);
    let operation: serde_json::Value = serde_json::from_str(&bough(&["op", "log", "--json"])).unwrap();
    operation["op_id"].as_str().unwrap().to_owned()
}

/// A shell in a terminal of tmux.
struct Terminal {
    socket: PathBuf,
    /// Whether candidates are shown in a menu that takes the keys.
    menu: bool,
}

impl Terminal {
    fn start(home: &Path, run: &str) -> Terminal {
        let programs = Path::new(env!("CARGO_BIN_EXE_bough")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path))).unwrap();
        let terminal = Terminal { socket: home.join("tmux"), menu: run.starts_with("fish") };
        let status = terminal
            .tmux(&["new-session", "-d", "-x", "140", "-y", "40", run])
            .current_dir(home)
            .env_clear()
            .env("PATH", path)
            .env("HOME", home)
            .env("ZDOTDIR", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("BOUGH_SESSION", "other.jsonl")
            .env("TERM", "xterm")
            .env("LC_ALL", "C.UTF-8")
            .status()
            .unwrap();
        assert!(status.success());
        terminal.until(|screen| screen.ends_with(PROMPT));
        terminal
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(words);
        command
    }

    fn keys(&self, words: &[&str]) {
        assert!(self.tmux(&["send-keys"]).args(words).status().unwrap().success());
    }

    fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Waits until the screen is as wanted, or the time is over; returns the screen.
    fn wait(&self, time: Duration, wanted: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if wanted(&screen) || start.elapsed() > time {
                return screen;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn until(&self, wanted: impl Fn(&str) -> bool) -> String {
        self.wait(PATIENCE, wanted)
    }

    /// Types a line and presses Tab until everything wanted is visible; returns what was visible,
    /// and clears the screen.
    fn complete(&self, typed: &str, wanted: &[String]) -> String {
        self.keys(&["-l", typed]);
        self.until(|screen| screen.contains(typed));
        let start = Instant::now();
        let seen = |screen: &str| wanted.iter().all(|word| screen.contains(word.as_str()));
        let mut screen = String::new();
        while !seen(&screen) && start.elapsed() < PATIENCE {
            self.keys(&["Tab"]);
            screen = self.wait(Duration::from_millis(700), seen);
        }
        // Fish leaves its menu at the first key. For other shells that key would be a signal, which
        // overtakes a Tab.
        let menu: &[&str] = if self.menu { &["C-c"] } else { &[] };
        self.keys(&[menu, &["C-u", "C-l"]].concat());
        let empty = self.until(|screen| screen == PROMPT);
        assert_eq!(empty, PROMPT, "the line does not go away");
        screen
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).output();
    }
}
