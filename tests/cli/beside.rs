//! Writing beside an agent: one that is writing is waited for, one that has the session open is not disturbed, and of one that only
//! runs in the project it is said that it will not see the change.

use crate::support::files::{copy, project};
use crate::support::sandbox::{bough, code, said};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::Duration;

struct Place {
    home: tempfile::TempDir,
    session: PathBuf,
}

impl Place {
    /// A home with a session at a path in it.
    fn new(from: &str, to: &str) -> Place {
        let home = tempfile::tempdir().unwrap();
        let session = home.path().join(to);
        copy(&project().join("tests/cli/sessions").join(from), &session);
        Place { home, session }
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = bough(self.home.path());
        command.arg("-s").arg(&self.session).args(words).output().unwrap()
    }
}

/// A shell that appends a line to a session five times a second, and opens the file anew for each
/// line, as Claude Code and pi do.
struct Appender(Child);

impl Appender {
    /// Starts one that ends after so many seconds.
    fn start(session: &Path, seconds: usize) -> Appender {
        let line =
            r#"{"type":"message","id":"ee%06d","parentId":null,"message":{"role":"user","content":"x"}}"#;
        let script = format!(
            "i=0; while [ $i -lt {} ]; do printf '{line}\\n' $i >> \"$0\"; i=$((i + 1)); sleep 0.2; done",
            seconds * 5
        );
        let child = Command::new("sh").arg("-c").arg(script).arg(session).spawn().unwrap();
        Appender(child)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that does nothing, under the name of an agent.
struct Idle(Child);

impl Idle {
    fn new(name: &str, home: &Path, folder: &Path) -> Idle {
        let program = home.join("bin").join(name);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let sleep =
            ["/usr/bin/sleep", "/bin/sleep"].into_iter().find(|path| Path::new(path).exists()).unwrap();
        // Not written by this process: what is open for writing can't be run.
        assert!(Command::new("cp").arg(sleep).arg(&program).status().unwrap().success());
        // Some systems have one program for many names, which goes by the first word.
        let child = Command::new(&program).arg("600").current_dir(folder).spawn().unwrap();
        Idle(child)
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_agent_that_is_writing_is_waited_for() {
    // How long it writes, in seconds, and the exit status: bough waits for 15 seconds at most.
    std::thread::scope(|scope| {
        for (seconds, status) in [(1, 0), (3, 0), (20, 5)] {
            scope.spawn(move || {
                let place = Place::new("pi/two-attempts.jsonl", "s.jsonl");
                let mut agent = Appender::start(&place.session, seconds);
                std::thread::sleep(Duration::from_millis(300));
                let output = place.run(&["label", "done"]);
                assert_eq!(code(&output), status, "{seconds}: {}", said(&output));
                let note = "note: waiting for an agent that is writing to";
                assert!(said(&output).contains(note), "{seconds}: {}", said(&output));
                let is_over = agent.0.try_wait().unwrap().is_some();
                assert_eq!(is_over, status == 0, "{seconds}");
                let text = fs::read_to_string(&place.session).unwrap();
                let label = text.lines().position(|line| line.contains("\"label\":\"done\""));
                // After everything that the agent wrote.
                let wanted = (status == 0).then(|| text.lines().count() - 1);
                assert_eq!(label, wanted, "{seconds}: {text}");
            });
        }
    });
}

#[test]
fn an_agent_that_goes_on_writing_is_not_disturbed() {
    let place = Place::new("pi/two-attempts.jsonl", "s.jsonl");
    let agent = Appender::start(&place.session, 600);
    std::thread::sleep(Duration::from_millis(300));
    let output = place.run(&["label", "done", "--wait=1.5"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    assert!(said(&output).contains("note: waiting"), "{}", said(&output));
    let output = place.run(&["label", "done", "--wait=0"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    assert!(!said(&output).contains("note: waiting"), "{}", said(&output));
    assert!(said(&output).contains("`--allow=live`"), "{}", said(&output));
    assert!(!fs::read_to_string(&place.session).unwrap().contains("\"label\":\"done\""));
    let output = place.run(&["label", "done", "--allow=live"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    drop(agent);
}

/// The tree says what an act waits for, and a key ends the wait.
#[test]
fn the_tree_says_that_it_waits_and_lets_go() {
    let place = Place::new("pi/two-attempts.jsonl", "s.jsonl");
    let agent = Appender::start(&place.session, 600);
    std::thread::sleep(Duration::from_millis(300));
    let screen = |keys: &str| {
        let output = place.run(&["tree", "--size", "140x12", "--keys", keys]);
        assert_eq!(code(&output), 0, "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let last = |screen: &str| screen.lines().last().unwrap_or_default().to_owned();
    for act in ["L done Enter", "L done Enter j"] {
        let waits = screen(act);
        let wanted = "Esc gives up · waiting for an agent that is writing to ";
        assert!(last(&waits).starts_with(wanted), "{waits}");
    }
    for key in ["Esc", "^C"] {
        let ended = screen(&format!("L done Enter {key}"));
        assert_eq!(last(&ended), "gave up: `bough label` was ended", "{ended}");
    }
    // The tree goes on after it.
    let after = screen("L done Enter Esc Home");
    assert!(after.contains("row 1 of"), "{after}");
    assert!(!fs::read_to_string(&place.session).unwrap().contains("\"label\":\"done\""));
    drop(agent);
}

#[test]
fn a_repair_right_after_a_copy_waits() {
    let place = Place::new("pi/two-attempts.jsonl", "s.jsonl");
    fs::File::options().append(true).open(&place.session).unwrap().write_all(b"{\"type\":\"mess").unwrap();
    let output = place.run(&["fsck", "--repair"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(code(&place.run(&["fsck"])), 0);
}

/// The wait is over when the file is judged to be quiet, and not a moment before that.
#[test]
fn each_write_right_after_a_copy_is_done() {
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                let place = Place::new("pi/two-attempts.jsonl", "s.jsonl");
                // The parts of a millisecond differ.
                std::thread::sleep(Duration::from_micros(number * 377));
                fs::File::options().append(true).open(&place.session).unwrap().write_all(b"\n").unwrap();
                let output = place.run(&["label", "done"]);
                assert_eq!(code(&output), 0, "{number}: {}", said(&output));
            });
        }
    });
}

const ID: &str = "8a41ccc1-b906-4425-adb7-21c6f1740617";

#[test]
fn a_client_that_has_the_session_open_is_named() {
    let place = Place::new(
        "claude/real/rewind/8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl",
        &format!(".claude/projects/-elsewhere/{ID}.jsonl"),
    );
    let register = place.home.path().join(".claude/sessions");
    fs::create_dir_all(&register).unwrap();
    let mut client = Idle::new("idle", place.home.path(), place.home.path());
    assert!(client.is_running());
    let pid = client.0.id();
    let entry = register.join(format!("{pid}.json"));
    fs::write(&entry, format!("{{\"pid\":{pid},\"sessionId\":\"{ID}\",\"cwd\":\"/elsewhere\"}}")).unwrap();
    let old = fs::read(&place.session).unwrap();
    for words in [&["switch", "HEAD~1"][..], &["switch", "-n", "HEAD~1"], &["undo"]] {
        let output = place.run(words);
        let refused = code(&output) == 5 && said(&output).contains(&format!("claude (pid {pid})"));
        // There is nothing to undo yet.
        assert!(refused || words == ["undo"], "{words:?}: {}", said(&output));
        assert_eq!(fs::read(&place.session).unwrap(), old, "{words:?}");
    }
    let status = place.run(&["status"]);
    assert!(String::from_utf8_lossy(&status.stdout).contains(&format!("claude (pid {pid})")));
    // A label is in nobody's way.
    assert_eq!(code(&place.run(&["label", "here"])), 0);
    let output = place.run(&["undo"]);
    assert_eq!(code(&output), 5, "{}", said(&output));
    assert_eq!(code(&place.run(&["switch", "HEAD~1", "--allow=live"])), 0);
    // The client is gone, and its entry is left.
    drop(client);
    let output = place.run(&["switch", "HEAD~1"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
}

#[test]
fn an_agent_that_only_runs_in_the_project_is_noted() {
    let place = Place::new("pi/two-attempts.jsonl", "work/s.jsonl");
    let work = place.session.parent().unwrap().to_owned();
    let mut agent = Idle::new("claude", place.home.path(), &work);
    if !agent.is_running() {
        // `sleep` is a name of another program here, which does not know this one.
        return;
    }
    let note = format!("note: `claude` (pid {}) runs in this folder", agent.0.id());
    let output = place.run(&["switch", "generator"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(said(&output).contains(&note), "{}", said(&output));
    assert!(!said(&place.run(&["-q", "switch", "-"])).contains(&note));
    // Of a session elsewhere, and of one that is only read, there is nothing to say.
    assert!(!said(&place.run(&["log"])).contains(&note));
    let other = Place::new("pi/two-attempts.jsonl", "s.jsonl");
    assert!(!said(&other.run(&["switch", "generator"])).contains(&note));
}
