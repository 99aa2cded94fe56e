//! `bough tree` in a real terminal (tmux). What a key does is in the pages `cases/tree`; here is what only a terminal shows.

use crate::support::files::{copy, project};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a machine that is busy may take for one answer.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn the_terminal_is_as_it_was_however_the_tree_ends() {
    let terminal = Terminal::start("parser.jsonl", "");
    let leave: [(&str, &dyn Fn(), &str); 5] = [
        ("q", &|| terminal.keys(&["q"]), "status=0"),
        ("^C", &|| terminal.keys(&["C-c"]), "status=0"),
        ("TERM", &|| terminal.signal("TERM"), "status=143"),
        ("HUP", &|| terminal.signal("HUP"), "status=129"),
        ("a panic", &|| terminal.keys(&["C-x"]), "status=70"),
    ];
    for (how, leave, seen) in leave {
        terminal.keys(&["clear; stty -g > before", "Enter"]);
        terminal.open();
        leave();
        terminal.wait_for("the prompt", |screen| screen.trim_end().ends_with('>'));
        terminal.keys(&["echo status=$?; stty -g > after; echo at-\"\"end", "Enter"]);
        let screen = terminal.wait_for(how, |screen| screen.contains("at-end"));
        assert!(screen.contains(seen), "{how}: {screen}");
        assert!(!screen.contains("g? keys"), "{how}: the alternate screen is left: {screen}");
        let state = |name| fs::read_to_string(terminal.home.join(name)).unwrap();
        assert_eq!(state("before"), state("after"), "{how}: the modes of the terminal");
        assert_eq!(terminal.asked("#{cursor_flag} #{mouse_any_flag} #{alternate_on}"), "1 0 0", "{how}");
    }
}

pub fn the_tree_is_suspended_and_resumed() {
    let terminal = Terminal::start("parser.jsonl", "");
    terminal.open();
    let before = terminal.screen();
    for stop in ["key", "signal"] {
        match stop {
            "key" => terminal.keys(&["C-z"]),
            _ => terminal.signal("TSTP"),
        }
        terminal.wait_for(stop, |screen| !screen.contains("g? keys"));
        terminal.keys(&["echo sto\"\"pped", "Enter"]);
        terminal.wait_for(stop, |screen| screen.contains("stopped"));
        terminal.keys(&["fg", "Enter"]);
        let after = terminal.wait_for(stop, |screen| screen.contains("g? keys"));
        assert_eq!(before, after, "{stop}");
        terminal.keys(&["k"]);
        terminal.wait_for(stop, |screen| screen != before);
        terminal.keys(&["j"]);
        terminal.wait_for(stop, |screen| screen == before);
    }
    // A plan waits, too.
    terminal.keys(&["Home", "Enter"]);
    terminal.wait_for("the plan", |screen| screen.contains("Enter yes"));
    terminal.keys(&["C-z"]);
    terminal.wait_for("the shell", |screen| !screen.contains("Enter yes"));
    terminal.keys(&["fg", "Enter"]);
    terminal.wait_for("the plan again", |screen| screen.contains("Enter yes"));
}

pub fn the_screen_follows_the_size_of_the_terminal() {
    let terminal = Terminal::start("parser.jsonl", "");
    terminal.open();
    terminal.keys(&["Home"]);
    let before =
        terminal.wait_for("the first row", |screen| screen.lines().any(|line| line.starts_with("› • user")));
    for (width, height) in [(20, 5), (1, 1), (200, 60), (2, 2)] {
        terminal.resize(width, height);
        terminal.keys(&["j", "k", "Tab", "Tab"]);
        std::thread::sleep(Duration::from_millis(200));
        terminal.resize(80, 24);
        let after = terminal.wait_for("the old size", |screen| screen == before);
        assert_eq!(before, after, "{width}x{height}");
    }
    terminal.resize(20, 5);
    let small = terminal.wait_for("20x5", |screen| screen.contains('›') && screen.lines().count() <= 5);
    assert!(small.lines().all(|line| line.chars().count() <= 20), "{small}");
}

pub fn colors_are_as_the_terminal_has_them() {
    let colors = |variable: &str| {
        let terminal = Terminal::start("parser.jsonl", variable);
        terminal.open();
        let output = terminal.tmux(&["capture-pane", "-p", "-e"]).output().unwrap();
        let screen = String::from_utf8_lossy(&output.stdout).into_owned();
        let parts = screen.split("\u{1b}[").skip(1);
        parts
            .filter_map(|part| part.split_once('m'))
            .flat_map(|(codes, _)| codes.split(';').map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let is_color = |code: &String| matches!(code.parse(), Ok(30..=49 | 90..=107));
    let with = colors("");
    assert!(with.iter().any(is_color), "{with:?}");
    // The 16 that every terminal has; no others.
    assert!(!with.iter().any(|code| code == "38" || code == "48"), "{with:?}");
    let without = colors("NO_COLOR=1");
    assert!(!without.iter().any(|code| is_color(code) && code != "39" && code != "49"), "{without:?}");
    // The row with the cursor is still told from the others.
    assert!(without.iter().any(|code| code == "7"), "{without:?}");
}

pub fn an_entry_is_chosen_while_the_output_goes_elsewhere() {
    let terminal = Terminal::start("parser.jsonl", "");
    terminal.keys(&["chosen=$(bough tree s.jsonl --select); clear; echo chosen=$chosen status=$?", "Enter"]);
    terminal.wait_for("rows", |screen| screen.contains("Enter choose"));
    terminal.keys(&["Home", "Enter"]);
    terminal.wait_for("the id", |screen| screen.contains("chosen=1f7c2a90 status=0"));
    terminal.keys(&["clear; bough switch s.jsonl \"$(bough tree s.jsonl --select)\"", "Enter"]);
    terminal.wait_for("rows", |screen| screen.contains("Enter choose"));
    terminal.keys(&["Home", "Enter"]);
    terminal.wait_for("the switch", |screen| screen.contains("HEAD is now 1f7c2a90"));
}

pub fn a_growing_file_is_followed_and_a_cut_one_is_survived() {
    let terminal = Terminal::start("parser.jsonl", "");
    let session = terminal.home.join("s.jsonl");
    terminal.open();
    terminal.keys(&["f"]);
    terminal.wait_for("following", |screen| screen.contains("following"));
    let mut file = fs::OpenOptions::new().append(true).open(&session).unwrap();
    let entry = |id: &str, parent: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"Arrived {id}\"}}}}\n"
        )
    };
    let head = head_of(&session);
    file.write_all(entry("aaaa0001", &head).as_bytes()).unwrap();
    terminal.wait_for("a new entry", |screen| screen.contains("Arrived aaaa0001"));
    file.write_all(entry("aaaa0002", "aaaa0001").as_bytes()).unwrap();
    // The cursor was at the end, so it stays there.
    terminal.wait_for("the next one", |screen| {
        screen.lines().any(|line| line.starts_with('›') && line.contains("Arrived aaaa0002"))
    });
    let whole = fs::read(&session).unwrap();
    for cut in [whole.len() / 2, 10, 0] {
        file.set_len(cut as u64).unwrap();
        terminal.keys(&["Home", "j", "G", "k", "Tab", "Tab"]);
        std::thread::sleep(Duration::from_millis(300));
    }
    fs::remove_file(&session).unwrap();
    terminal.keys(&["k", "j"]);
    std::thread::sleep(Duration::from_millis(200));
    fs::write(&session, whole).unwrap();
    terminal.wait_for("the file again", |screen| screen.contains("Arrived aaaa0002"));
}

/// A session that is large enough to be followed by what is appended: its rows are those that are read anew.
pub fn rows_that_grow_are_those_of_the_whole_session() {
    let terminal = Terminal::start("parser.jsonl", "");
    // All rows are on the screen.
    terminal.resize(80, 90);
    let session = terminal.home.join("s.jsonl");
    let entry = |id: &str, parent: &str, message: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"message\":{{{message}}}}}\n"
        )
    };
    let said = |role: &str, text: &str| {
        format!("\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]")
    };
    let call = "\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c1\",\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}]";
    let result = "\"role\":\"toolResult\",\"toolCallId\":\"c1\",\"toolName\":\"bash\",\"content\":[{\"type\":\"text\",\"text\":\"Files\"}]";
    let mut file = fs::OpenOptions::new().append(true).open(&session).unwrap();
    let long = said("user", &"x".repeat(700 << 10));
    file.write_all(entry("aaaa0000", &head_of(&session), &long).as_bytes()).unwrap();
    let rows = |screen: &str| {
        let rows = screen.lines().skip(1).take_while(|line| !line.starts_with('─'));
        rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>()
    };
    for filter in ["1", "2", "5"] {
        let head = head_of(&session);
        terminal.open();
        terminal.keys(&[filter, "f"]);
        // The end of the line on top has no room.
        terminal.wait_for("following", |screen| screen.contains("· follow") && screen.contains("row "));
        let id = |at: usize| format!("bbbb{filter}{at:03}");
        let steps = [
            entry(&id(1), &head, &said("user", &format!("One {filter}"))),
            entry(&id(2), &id(1), call),
            entry(&id(3), &id(2), result),
            entry(&id(4), &id(3), call) + &entry(&id(5), &id(4), result),
            entry(&id(6), &id(5), &said("assistant", &format!("Two {filter}"))),
            format!(
                "{{\"type\":\"label\",\"id\":\"{}\",\"parentId\":\"{}\",\"targetId\":\"{}\",\"label\":\"l{filter}\"}}\n",
                id(7),
                id(6),
                id(6)
            ),
            entry(&id(8), &id(7), &said("user", &format!("Three {filter}"))),
            entry(&id(9), &id(1), &said("user", &format!("Aside {filter}"))),
            entry(&id(10), &id(9), &said("assistant", &format!("Last {filter}"))),
        ];
        let last = format!("Last {filter}");
        for step in steps {
            file.write_all(step.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(150));
        }
        let grown = terminal.wait_for("the last", |screen| {
            screen.lines().any(|line| line.starts_with('›') && line.contains(&last))
        });
        terminal.keys(&["q"]);
        terminal.wait_for("the prompt", |screen| screen.trim_end().ends_with('>'));
        terminal.open();
        terminal.keys(&[filter, "k", "j"]);
        let anew = terminal.wait_for("the last", |screen| {
            screen.contains("row ")
                && screen.lines().any(|line| line.starts_with('›') && line.contains(&last))
        });
        assert_eq!(rows(&grown), rows(&anew), "{filter}");
        terminal.keys(&["q"]);
        terminal.wait_for("the prompt", |screen| screen.trim_end().ends_with('>'));
    }
}

pub fn an_agent_that_ends_is_noticed() {
    let terminal = Terminal::start("parser.jsonl", "");
    let agent = fs::OpenOptions::new().append(true).open(terminal.home.join("s.jsonl")).unwrap();
    terminal.open();
    terminal.wait_for("an agent", |screen| screen.contains("agent running"));
    drop(agent);
    // Also without a key.
    terminal.wait_for("its end", |screen| !screen.contains("agent running"));
}

/// The letters of a pasted text are not keys, and a line break in it is not a yes.
pub fn a_pasted_text_is_a_text() {
    let terminal = Terminal::start("parser.jsonl", "");
    let before = fs::read(terminal.home.join("s.jsonl")).unwrap();
    let paste = |seen: &str| {
        assert!(terminal.tmux(&["set-buffer", "gg\ne\nx\n"]).status().unwrap().success());
        assert!(terminal.tmux(&["paste-buffer", "-p"]).status().unwrap().success());
        terminal.wait_for(seen, |screen| screen.contains(seen));
    };
    let ignored = "what was pasted is not taken for keys";
    terminal.open();
    paste(ignored);
    // A plan is neither carried out nor left.
    terminal.keys(&["g", "g", "Enter"]);
    terminal.wait_for("a plan", |screen| screen.contains("Enter yes"));
    paste(ignored);
    terminal.keys(&["Escape"]);
    terminal.wait_for("no", |screen| screen.contains("nothing was changed"));
    // Where a line is typed, it is a part of that.
    terminal.keys(&["/"]);
    paste("/gg e x");
    assert!(before == fs::read(terminal.home.join("s.jsonl")).unwrap());
}

pub fn a_changed_file_is_noticed_without_a_key() {
    let terminal = Terminal::start("parser.jsonl", "");
    terminal.open();
    let mut file = fs::OpenOptions::new().append(true).open(terminal.home.join("s.jsonl")).unwrap();
    file.write_all(b"{\"type\":\"custom\",\"id\":\"c0ffee00\",\"parentId\":null,\"customType\":\"x\"}\n")
        .unwrap();
    terminal.wait_for("the change", |screen| screen.contains("changed"));
}

/// Without a pager that waits, an entry is shown in the tree itself.
pub fn an_entry_that_is_only_printed_is_shown() {
    let terminal = Terminal::start("parser.jsonl", "PAGER=cat");
    terminal.open();
    terminal.keys(&["o"]);
    terminal
        .wait_for("the entry", |screen| screen.contains("q close") && screen.contains("kind    assistant"));
}

pub fn what_a_command_printed_stays_if_it_is_given_up() {
    let terminal = Terminal::start("parser.jsonl", "");
    terminal.open();
    terminal.keys(&[":log -f", "Enter"]);
    terminal.wait_for("the command", |screen| screen.contains("Esc gives up"));
    terminal.keys(&["Escape"]);
    terminal.wait_for("what it printed", |screen| {
        screen.contains("bough log -s s.jsonl -f") && screen.contains("q close")
    });
    terminal.keys(&["q"]);
    terminal.wait_for("that it was ended", |screen| screen.contains("gave up: `bough log` was ended"));
}

pub fn browsing_writes_nothing() {
    let terminal = Terminal::start("parser.jsonl", "");
    let session = terminal.home.join("s.jsonl");
    let state = || (fs::read(&session).unwrap(), session.metadata().unwrap().modified().unwrap());
    let before = state();
    terminal.open();
    let keys = "j k PageUp PageDown Home End Left Right [ ] p P h 1 2 3 4 5 C-o / a Enter n N ? b Enter Tab t Space y Y f g ? q";
    terminal.keys(&keys.split(' ').collect::<Vec<_>>());
    terminal.keys(&["q"]);
    // Keys that come before are read by the tree.
    terminal.wait_for("the prompt", |screen| screen.trim_end().ends_with('>'));
    terminal.keys(&["echo at-\"\"end", "Enter"]);
    terminal.wait_for("the end", |screen| screen.contains("at-end"));
    assert!(before == state(), "the session was changed");
    let mut names: Vec<_> =
        fs::read_dir(&terminal.home).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| !name.to_string_lossy().starts_with("tmux"));
    assert_eq!(names, ["s.jsonl"]);
}

pub fn no_escape_of_a_session_reaches_the_terminal() {
    let terminal = Terminal::start("parser.jsonl", "");
    let session = terminal.home.join("s.jsonl");
    let escapes =
        "\\u001b]0;taken\\u0007 \\u001b[2J\\u001b[31m \\u009b5n \\u001bP q\\u001b\\\\ \\r\\u0008 x\\u202ey";
    let mut file = fs::OpenOptions::new().append(true).open(&session).unwrap();
    let parent = head_of(&session);
    let name = "\\u001b]0;taken\\u0007";
    for line in [
        format!(
            "{{\"type\":\"message\",\"id\":\"aaaa0001\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"hostile {escapes} end\"}}}}"
        ),
        format!(
            "{{\"type\":\"label\",\"id\":\"aaaa0002\",\"parentId\":\"aaaa0001\",\"targetId\":\"aaaa0001\",\"label\":\"l {escapes}\"}}"
        ),
        format!(
            "{{\"type\":\"session_info\",\"id\":\"aaaa0003\",\"parentId\":\"aaaa0002\",\"name\":\"{name}\"}}"
        ),
    ] {
        writeln!(file, "{line}").unwrap();
    }
    let title = terminal.asked("#{pane_title}");
    terminal.open();
    for keys in [
        &["k"][..],
        &["5"],
        &["G"],
        &["Tab"],
        &["L"],
        &["C-a"],
        &["Escape"],
        &["g", "?"],
        &["q"],
        &["/", "a", "Enter"],
    ] {
        terminal.keys(keys);
        std::thread::sleep(Duration::from_millis(50));
        let screen = terminal.screen();
        assert!(screen.contains("s.jsonl · pi"), "{keys:?}: {screen}");
    }
    assert_eq!(terminal.asked("#{pane_title}"), title);
}

/// The id of the last entry of a session.
fn head_of(session: &Path) -> String {
    let text = fs::read_to_string(session).unwrap();
    let last = text.lines().rfind(|line| line.contains("\"id\"")).unwrap();
    last.split_once("\"id\":\"").unwrap().1.split('"').next().unwrap().to_owned()
}

/// A shell in a terminal of tmux, in a folder with a session `s.jsonl`.
struct Terminal {
    home: PathBuf,
    _folder: tempfile::TempDir,
}

impl Terminal {
    fn start(session: &str, variable: &str) -> Terminal {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        copy(&project().join("examples/sessions").join(session), &home.join("s.jsonl"));
        let terminal = Terminal { home, _folder: folder };
        let program = Path::new(env!("CARGO_BIN_EXE_bough")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let shell = format!(
            "exec env -i {variable} PATH='{path}' HOME=\"$PWD\" XDG_STATE_HOME=\"$PWD/../state\" TERM=\"$TERM\" LC_ALL=C.UTF-8 PS1='> ' sh -i"
        );
        let started = terminal
            .tmux(&["new-session", "-d", "-x", "80", "-y", "24", &shell])
            .current_dir(&terminal.home)
            .status()
            .unwrap();
        assert!(started.success());
        terminal.wait_for("a prompt", |screen| screen.contains('>'));
        terminal
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-f").arg("/dev/null").arg("-S").arg(self.home.with_file_name("socket")).args(words);
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").env_remove("TMUX");
        command
    }

    /// Opens the tree.
    fn open(&self) {
        self.keys(&["bough tree s.jsonl", "Enter"]);
        self.wait_for("rows", |screen| screen.contains("g? keys"));
    }

    fn keys(&self, keys: &[&str]) {
        assert!(self.tmux(&["send-keys"]).args(keys).status().unwrap().success());
    }

    fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        let resized = self.tmux(&["resize-window", "-x", &width, "-y", &height]).status().unwrap();
        assert!(resized.success());
    }

    /// Sends a signal to the program.
    fn signal(&self, signal: &str) {
        let shell = self.asked("#{pane_pid}");
        let children = Command::new("ps").args(["-o", "pid=,comm=", "--ppid", &shell]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        let child = children.lines().find(|line| line.contains("bough")).expect("bough runs");
        let pid = child.split_whitespace().next().unwrap();
        assert!(Command::new("kill").args([&format!("-{signal}"), pid]).status().unwrap().success());
    }

    fn asked(&self, what: &str) -> String {
        let output = self.tmux(&["display-message", "-p", what]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn wait_for(&self, what: &str, seen: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        loop {
            let screen = self.screen();
            if seen(&screen) {
                return screen;
            }
            assert!(since.elapsed() < PATIENCE, "waited for {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).output();
    }
}
