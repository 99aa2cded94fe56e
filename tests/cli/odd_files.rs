//! Files with unusual names, modes and attributes: a command that writes keeps what it finds, or
//! refuses before it writes anything.

use crate::support::damage::tear;
use crate::support::files;
use crate::support::sandbox::{bough, code, said};
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

struct Place {
    top: tempfile::TempDir,
    work: PathBuf,
}

impl Place {
    /// Creates a sandbox with a session of pi in a folder.
    fn new(folder: &OsStr, name: &str) -> Place {
        let top = tempfile::tempdir().unwrap();
        let work = top.path().join(folder);
        fs::create_dir(&work).unwrap();
        let place = Place { top, work };
        place.put("pi/two-attempts.jsonl", name);
        place
    }

    fn put(&self, session: &str, name: &str) -> PathBuf {
        let path = self.work.join(name);
        files::copy(&files::project().join("tests/cli/sessions").join(session), &path);
        path
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = bough(self.top.path());
        command.args(words).current_dir(&self.work);
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Returns all files beside the session, with their bytes and modes.
    fn state(&self) -> Vec<(OsString, Vec<u8>, u32)> {
        let files = fs::read_dir(&self.work).unwrap().map(|file| file.unwrap().path());
        let mut found: Vec<_> = files
            .map(|path| {
                let mode = fs::metadata(&path).unwrap().mode();
                (path.file_name().unwrap().to_owned(), fs::read(&path).unwrap_or_default(), mode)
            })
            .collect();
        found.sort();
        found
    }
}

/// Runs commands that write, each followed by its undo; each succeeds, or is refused with
/// everything as before.
fn write_all(place: &Place, name: &str, output: &str) -> usize {
    let mut done = 0;
    for (words, session) in [
        (vec!["switch", name, "generator"], "pi/two-attempts.jsonl"),
        (vec!["label", name, "new", "a0000001"], "pi/two-attempts.jsonl"),
        (vec!["export-branch", name, "generator", "-o", output], "pi/two-attempts.jsonl"),
        (vec!["migrate", name], "pi/v1-pi030-two-compactions.jsonl"),
        (vec!["fsck", "--repair", name], "pi/two-attempts.jsonl"),
        (vec!["switch", name, "turn:1"], "pi/omp18-branches.jsonl"),
    ] {
        let path = place.put(session, name);
        if words[0] == "fsck" {
            tear(&path);
        }
        let before = place.state();
        let output = place.run(&words);
        let status = code(&output);
        assert!((0..=6).contains(&status), "{words:?}: {}", said(&output));
        if status != 0 {
            assert_eq!(place.state(), before, "{words:?}: {}", said(&output));
            continue;
        }
        assert_ne!(place.state(), before, "{words:?}");
        done += 1;
        let undone = place.run(&["undo", name]);
        assert_eq!(code(&undone), 0, "{words:?}: {}", said(&undone));
        assert_eq!(place.state(), before, "{words:?}");
        let log = place.run(&["op", "log", "--json"]);
        assert_eq!((code(&log), said(&log)), (0, String::new()), "{words:?}");
    }
    done
}

#[test]
fn a_folder_whose_name_is_not_utf_8_is_written_in() {
    let folder = OsString::from_vec(b"work-\xff\xfe".to_vec());
    if fs::create_dir(tempfile::tempdir().unwrap().path().join(&folder)).is_err() {
        return; // a file system that has no such names
    }
    let place = Place::new(&folder, "s.jsonl");
    assert_eq!(write_all(&place, "s.jsonl", "out.jsonl"), 6);
    // If it is named on the command line, it is refused, or read and written.
    let path = place.work.join("s.jsonl");
    place.put("pi/two-attempts.jsonl", "s.jsonl");
    let before = place.state();
    let mut command = place.command(&["label"]);
    let output = command.arg(&path).args(["another", "a0000001"]).output().unwrap();
    assert!(code(&output) == 0 || place.state() == before, "{}", said(&output));
}

#[test]
fn a_folder_that_sessions_can_t_name_is_refused_before_anything_is_written() {
    let folder = OsString::from_vec(b"work-\xff\xfe".to_vec());
    if fs::create_dir(tempfile::tempdir().unwrap().path().join(&folder)).is_err() {
        return; // a file system that has no such names
    }
    let place = Place::new(&folder, "s.jsonl");
    let store = place.top.path().join(".pi/agent/sessions/--work--");
    fs::create_dir_all(&store).unwrap();
    let session = store.join("s.jsonl");
    fs::rename(place.work.join("s.jsonl"), &session).unwrap();
    let session = session.to_str().unwrap();
    assert_eq!(code(&place.run(&["archive"])), 0);
    let below = |path: &str| {
        let mut files = walk(&place.top.path().join(path));
        files.sort();
        files
    };
    let before = (below(".pi"), place.state());
    let from = place.top.path().join("from");
    let (from, dotted) = (from.to_str().unwrap(), place.work.join("projects"));
    let mut map = OsString::from("/work=");
    map.push(&place.work);
    let there = place.work.as_os_str();
    let word = |word: &str| OsString::from(word);
    for words in [
        vec![word("move"), word("-s"), word(session), word("--to"), word(".")],
        vec![word("move"), word("-s"), word(session), word("--to"), word("sub/..")],
        vec![word("move"), word("-s"), word(session), word("--to"), there.to_owned()],
        vec![
            word("move"),
            word("-s"),
            word(session),
            word("--to"),
            word("/w"),
            word("--into"),
            dotted.into(),
        ],
        vec![word("move"), word("/work"), word(".")],
        vec![word("move"), there.to_owned(), word(from)],
        vec![word("move"), word("--map"), map],
        vec![word("export-branch"), word(session), word("--store"), word("--cwd"), word(".")],
        vec![word("convert"), word(session), word("--to=claude"), word("--store"), word("--cwd"), word(".")],
        vec![word("restore"), word("5e550001"), word("--to"), word("new")],
    ] {
        let output = place.command(&[]).args(&words).output().unwrap();
        assert_eq!(code(&output), 2, "{words:?}: {}", said(&output));
        assert!(
            said(&output).contains("the path is not UTF-8, and sessions can't name it"),
            "{}",
            said(&output)
        );
        assert_eq!((below(".pi"), place.state()), before, "{words:?}");
        assert!(!place.top.path().join(".claude").exists(), "{words:?}");
    }
}

/// Returns the files below a folder, with their bytes.
fn walk(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(
            |path| if path.is_dir() { walk(&path) } else { vec![(path.clone(), fs::read(&path).unwrap())] },
        )
        .collect()
}

#[test]
fn the_longest_names_are_written_or_refused() {
    let mut done = 0;
    for len in [200, 225, 230, 240, 249, 255] {
        let name = "n".repeat(len - 6) + ".jsonl";
        let place = Place::new(OsStr::new("work"), &name);
        done += write_all(&place, &name, &("o".repeat(len - 6) + ".jsonl"));
        assert!(len > 240 || done % 6 == 0, "{len}: {done}");
    }
    assert!(done >= 30, "{done}");
}

/// Waits for a program to end by itself; kills it if it does not.
fn ends(child: &mut Child) -> bool {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(60) {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    false
}

#[test]
fn a_pipe_in_the_place_of_a_new_file_is_not_waited_for() {
    let place = Place::new(OsStr::new("work"), "s.jsonl");
    let name = CString::new(place.work.join("pipe.jsonl").as_os_str().as_bytes()).unwrap();
    // SAFETY: the name ends in a NUL.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let export = ["export-branch", "s.jsonl", "generator", "-o", "pipe.jsonl"];
    for more in [&[][..], &["-n"], &["--force"], &["--allow=overwrite"], &["--allow=overwrite", "-n"]] {
        let mut command = place.command(&[&export[..], more].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert!(ends(&mut child), "{more:?}: it waits for the pipe");
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 5, "{more:?}: {}", said(&output));
    }
    let kind = fs::symlink_metadata(place.work.join("pipe.jsonl")).unwrap().file_type();
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&kind));
}

#[test]
fn a_mode_is_kept_by_all_that_is_written() {
    for mode in [0o600, 0o640, 0o644] {
        let place = Place::new(OsStr::new("work"), "s.jsonl");
        let path = place.work.join("s.jsonl");
        let is = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        let open = || fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for (session, words) in [
            ("pi/two-attempts.jsonl", &["label", "s.jsonl", "new", "a0000001"][..]),
            ("pi/v1-pi030-two-compactions.jsonl", &["migrate", "s.jsonl"]),
            ("pi/two-attempts.jsonl", &["fsck", "--repair", "s.jsonl"]),
            ("pi/two-attempts.jsonl", &["export-branch", "s.jsonl", "generator", "-o", "out.jsonl"]),
        ] {
            place.put(session, "s.jsonl");
            open();
            if words[0] == "fsck" {
                tear(&path);
            }
            let done = place.run(words);
            assert_eq!((code(&done), is(&path)), (0, mode), "{words:?}: {}", said(&done));
            if words[0] == "export-branch" {
                assert_eq!(is(&place.work.join("out.jsonl")), mode);
            }
            let undone = place.run(&["undo", "s.jsonl"]);
            assert_eq!((code(&undone), is(&path)), (0, mode), "{words:?}: {}", said(&undone));
        }
    }
}
