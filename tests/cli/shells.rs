//! Tries completion in real shells, each in a terminal of its own (by `script` of util-linux). A shell that is not installed is
//! not tried: `build.rs` looks.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What is typed before Tab, and what must then be seen.
const TRIALS: &[(&str, &[&str])] = &[
    ("bough rev-pa", &["rev-parse"]),
    ("bough rev-parse s.jsonl 1b", &["1b5f7c5f"]),
    ("bough rev-parse s.jsonl turn:-", &["turn:-1", "turn:-2"]),
    ("bough rev-parse s.jsonl HEAD..e4", &["HEAD..e43cd3df"]),
    ("bough -s s.jsonl rev-parse lea", &["leaves"]),
    ("bough status s.js", &["s.jsonl"]),
    ("bough fsck --explain dangling-p", &["dangling-parent"]),
    ("bough log s.jsonl --kind us", &["user"]),
    ("bough label -d -s s.jsonl keep", &["keep this"]),
    ("bough migrate s.j", &["s.jsonl"]),
    ("bough status s.jsonl --input-format pi-v", &["pi-v1", "pi-v2"]),
];

/// How long a machine that is busy may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
#[cfg_attr(not(with = "bash"), ignore = "bash is not installed")]
fn bash_completes() {
    trial("bash", ".bashrc", "source <(COMPLETE=bash bough)\nPS1='ready> '\n", "bash --rcfile .bashrc -i");
}

#[test]
#[cfg_attr(not(with = "zsh"), ignore = "zsh is not installed")]
fn zsh_completes() {
    let start = "autoload -Uz compinit && compinit -u\nsource <(COMPLETE=zsh bough)\nPS1='ready> '\n";
    trial("zsh", ".zshrc", start, "zsh -i");
}

#[test]
#[cfg_attr(not(with = "fish"), ignore = "fish is not installed")]
fn fish_completes() {
    let start = "COMPLETE=fish bough | source\nset -g fish_greeting\nfunction fish_prompt\n  echo -n 'ready> '\nend\n";
    trial("fish", "config/fish/config.fish", start, "fish -i");
}

fn trial(shell: &str, file: &str, start: &str, run: &str) {
    let home = tempfile::tempdir().unwrap();
    let project = crate::cases::project();
    crate::cases::copy(
        &project.join("tests/cli/sessions/pi/pi16-labels.jsonl"),
        &home.path().join("s.jsonl"),
    );
    let start_file = home.path().join(file);
    fs::create_dir_all(start_file.parent().unwrap()).unwrap();
    fs::write(start_file, start).unwrap();
    for (typed, wanted) in TRIALS {
        let seen = typed_in(home.path(), run, typed, wanted);
        for word in *wanted {
            assert!(seen.contains(word), "{shell}: behind `{typed}` there is no `{word}`:\n{seen}");
        }
    }
}

/// Starts a shell in a terminal, types, presses Tab, and gives what was then seen, once all that is wanted was.
fn typed_in(home: &Path, run: &str, typed: &str, wanted: &[&str]) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_bough")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path))).unwrap();
    let mut shell = Command::new("script")
        .args(["-qfec", run, "/dev/null"])
        .current_dir(home)
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("ZDOTDIR", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("TERM", "xterm")
        .env("COLUMNS", "200")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut keys = shell.stdin.take().unwrap();
    let mut screen = shell.stdout.take().unwrap();
    let (give, take) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count) = screen.read(&mut bytes) {
            if count == 0 || give.send(String::from_utf8_lossy(&bytes[..count]).into_owned()).is_err() {
                break;
            }
        }
    });
    let mut seen = String::new();
    let until = |seen: &mut String, done: &dyn Fn(&str) -> bool| {
        let start = Instant::now();
        while !done(seen) && start.elapsed() < PATIENCE {
            if let Ok(more) = take.recv_timeout(Duration::from_millis(100)) {
                seen.push_str(&more);
            }
        }
    };
    until(&mut seen, &|seen| seen.contains("ready> "));
    let at = seen.len();
    keys.write_all(typed.as_bytes()).unwrap();
    // The line as typed must have been taken in before Tab means anything.
    until(&mut seen, &|seen| plain(&seen[at..]).contains(typed.rsplit(' ').next().unwrap()));
    let at = seen.len();
    let start = Instant::now();
    while start.elapsed() < PATIENCE && !wanted.iter().all(|word| shown(&seen, at, typed, word)) {
        keys.write_all(b"\t").unwrap();
        let pressed = Instant::now();
        until(&mut seen, &|seen| {
            wanted.iter().all(|word| shown(seen, at, typed, word))
                || pressed.elapsed() > Duration::from_millis(700)
        });
    }
    let _ = shell.kill();
    let _ = shell.wait();
    let screen = plain(&seen[at..]);
    format!("{typed}{screen}")
}

/// Whether a word is seen: whole behind the place where Tab was pressed, or as what was typed with the rest behind it.
fn shown(seen: &str, at: usize, typed: &str, word: &str) -> bool {
    let after = plain(&seen[at..]);
    after.contains(word) || format!("{typed}{after}").contains(word)
}

/// What is left of a terminal's output without its escapes.
fn plain(text: &str) -> String {
    let escapes = regex::Regex::new(
        "\x1b\\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\\][^\x07]*\x07|[\x07\x08\r]",
    )
    .unwrap();
    escapes.replace_all(text, "").into_owned()
}
