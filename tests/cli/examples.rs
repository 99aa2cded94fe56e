//! The examples of the help and of the manual pages are run.

use crate::support::files::{copy, project};
use crate::support::sandbox::{bough, said};
use std::path::Path;
use std::process::Command;

/// The names of all commands.
pub fn commands() -> Vec<String> {
    use clap::CommandFactory;
    let cli = ::bough::internals::cmd::Cli::command();
    cli.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[test]
fn every_command_has_three_examples_and_each_of_them_runs() {
    let mut failed = Vec::new();
    for command in commands() {
        let examples = ::bough::internals::cmd::examples(&command);
        assert_eq!(examples.len(), 3, "{command}");
        for (line, what) in examples {
            assert!(line.contains(&format!("bough {command}")), "{command}: {line}");
            assert!(!what.ends_with('.') && what.starts_with(char::is_uppercase), "{what}");
            let folder = tempfile::tempdir().unwrap();
            let session = folder.path().join("parser.jsonl");
            copy(&project().join("examples/sessions/parser.jsonl"), &session);
            // Commands on whole stores find one.
            if ["archive", "move", "restore"].contains(&command.as_str()) {
                copy(&session, &folder.path().join(".pi/agent/sessions/all/parser.jsonl"));
            }
            // Nobody is here to press keys.
            let line = line.replace("bough tree", "bough tree --keys 'Home Enter'");
            let done = Command::new("sh")
                .args(["-c", &line])
                .current_dir(folder.path())
                .env_clear()
                .env("HOME", folder.path())
                .env("PATH", path())
                .env("BOUGH_SESSION", &session)
                .output()
                .unwrap();
            let code = done.status.code().unwrap();
            // A comparison that finds a difference exits with 1, and so does slimming a small session.
            let differs = code == 1 && (command == "diff" || command == "slim" || line.contains("--check"));
            if code != 0 && !differs {
                failed.push(format!("{line}: exit {code}: {}", said(&done)));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The path on which the program is found first.
fn path() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_bough")).parent().unwrap().display().to_string();
    format!("{program}:{}", std::env::var("PATH").unwrap_or_default())
}

#[test]
fn help_shows_the_examples() {
    let folder = tempfile::tempdir().unwrap();
    for command in commands() {
        let (line, _) = ::bough::internals::cmd::examples(&command)[0];
        for words in [vec![command.as_str(), "--help"], vec!["help", command.as_str()]] {
            let shown = bough(folder.path()).args(&words).output().unwrap();
            assert_eq!(shown.status.code(), Some(0), "{words:?}: {}", said(&shown));
            let text = String::from_utf8(shown.stdout).unwrap();
            // `bough help config` is the page of the settings, which belongs to no command.
            assert!(text.contains(line) || words == ["help", "config"], "{words:?}: {text}");
        }
    }
}
