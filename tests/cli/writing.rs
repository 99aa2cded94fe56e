//! Properties of every command that writes: old bytes stay, a dry run announces what is then done,
//! an undo restores the old file, nothing is lost next to another writer, and an error of the
//! system changes nothing.

use crate::support::sandbox::{bough, code, copy_of_bough, said};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A folder with sessions, and a home folder of its own.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a file that looks as if nobody had touched it for a long time.
    fn put(&self, name: &str, text: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        let old = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        path
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = bough(self.folder.path());
        command.args(words);
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Does the same with a fixed clock and fixed ids.
    fn run_fixed(&self, words: &[&str], seed: u64) -> Output {
        let mut command = self.command(words);
        command.env("BOUGH_NOW", "2026-03-02T12:00:00Z").env("BOUGH_IDS", seed.to_string()).output().unwrap()
    }

    fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Random numbers from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Pi,
    Omp,
    Chimera,
    Claude,
    OldClaude,
}

const FORMS: [Form; 5] = [Form::Pi, Form::Omp, Form::Chimera, Form::Claude, Form::OldClaude];

/// Generates a random session: a tree of prompts and replies, some labels, and unusual spellings
/// that must survive.
fn session(form: Form, chance: &mut Chance) -> (String, Vec<String>) {
    let mut text = match form {
        Form::Pi => "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-03-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n".to_owned(),
        Form::Omp => format!(
            "{:<253}\"}}\n{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-03-01T00:00:00.000Z\",\"cwd\":\"/w\",\"title\":\"t\"}}\n",
            r#"{"type":"title","v":1,"title":"t","updatedAt":"2026-03-01T00:00:00.000Z","pad":""#
        ),
        Form::Chimera => "{\"type\": \"header\", \"id\": \"000000000000\", \"parent_id\": null, \"timestamp\": 1764000000.0, \"version\": 1, \"cwd\": \"/w\", \"system_prompt\": \"\"}\n".to_owned(),
        Form::Claude | Form::OldClaude => String::new(),
    };
    let mut ids: Vec<String> = Vec::new();
    for at in 0..3 + chance.below(12) {
        let id = match form {
            Form::Pi | Form::Omp => format!("{:08x}", 0xabc0_0000u32 + at as u32),
            Form::Chimera => format!("{:012x}", 0xabc0_0000u64 + at as u64),
            Form::Claude | Form::OldClaude => format!("{at:08x}-0000-4000-8000-000000000000"),
        };
        let above = if ids.is_empty() {
            None
        } else {
            Some(ids[ids.len() - 1 - chance.below(ids.len().min(3))].clone())
        };
        let parent = above.map_or("null".to_owned(), |above| format!("\"{above}\""));
        let (role, content) = if at % 2 == 0 {
            ("user", "\"caf\\u00e9 \\ud83d 1\"")
        } else {
            ("assistant", "[{\"type\":\"text\",\"text\":\"r\"}]")
        };
        let odd = ["", ",\"x\":1.0", ",\"x\":1E2", ",\"a\":{\"b\":[12345678901234567890]}"][chance.below(4)];
        let time = format!("2026-03-01T00:{:02}:00.000Z", at + 1);
        match form {
            Form::Pi | Form::Omp => writeln!(
                text,
                "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\"{odd},\"message\":{{\"role\":\"{role}\",\"content\":{content}}}}}"
            ),
            Form::Chimera => writeln!(
                text,
                "{{\"type\": \"message\", \"id\": \"{id}\", \"parent_id\": {parent}, \"timestamp\": 1764000{at:03}.5{odd}, \"message\": {{\"role\": \"{role}\", \"content\": \"t\"}}}}"
            ),
            Form::Claude | Form::OldClaude => {
                let version = if form == Form::Claude { "2.1.332" } else { "2.0.76" };
                writeln!(
                    text,
                    "{{\"parentUuid\":{parent},\"isSidechain\":false,\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\"content\":{content}}},\"uuid\":\"{id}\",\"timestamp\":\"{time}\"{odd},\"cwd\":\"/w\",\"sessionId\":\"s\",\"version\":\"{version}\"}}"
                )
            }
        }
        .unwrap();
        ids.push(id);
    }
    // Some files lack their last newline.
    if chance.below(3) == 0 {
        text.pop();
    }
    (text, ids)
}

/// Does the same without anything that is damage to `fsck`, and to other readers.
fn sound_session(form: Form, chance: &mut Chance) -> (String, Vec<String>) {
    let (text, ids) = session(form, chance);
    (text.replace("\\ud83d", "\\u00df").trim_end().to_owned() + "\n", ids)
}

/// Returns the bytes that `--dry-run --json` says will be appended to the file.
fn announced(output: &Output) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let change: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(change["schema"], "bough.change/1");
        assert_eq!(change["op"], "append");
        bytes.extend_from_slice(change["new"].as_str().unwrap().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

#[test]
fn a_switch_and_a_label_are_announced_appended_and_undone() {
    for seed in 0..60 {
        let chance = &mut Chance(seed);
        let form = FORMS[seed as usize % FORMS.len()];
        let (text, ids) = session(form, chance);
        let place = Place::new();
        let path = place.put("s.jsonl", text.as_bytes());
        let target = format!("id:{}", ids[chance.below(ids.len())]);
        let words: Vec<&str> = match chance.below(5) {
            0 => vec!["label", "s.jsonl", "name it"],
            1 => vec!["label", "s.jsonl", "name it", &target],
            2 => vec!["switch", "s.jsonl", "-c", "here", &target],
            3 if matches!(form, Form::Pi | Form::Omp | Form::Chimera) => {
                vec!["switch", "s.jsonl", "--summary", "what was \"tried\" \u{1F600}", &target]
            }
            _ => vec!["switch", "s.jsonl", &target],
        };
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let dry: Vec<&str> = words.iter().copied().chain(["-n", "--json"]).collect();
        let told = place.run_fixed(&dry, seed);
        assert_eq!(code(&told), 0, "seed {seed}: {words:?} of {form:?}: {}", said(&told));
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes(), "seed {seed}: a dry run wrote");
        assert_eq!(place.names(), ["s.jsonl"], "seed {seed}: a dry run left something");
        let done = place.run_fixed(&words, seed);
        assert_eq!(code(&done), 0, "seed {seed}: {}", said(&done));
        let after = fs::read(&path).unwrap();
        assert!(after.starts_with(text.as_bytes()), "seed {seed}: old bytes changed");
        let came = &after[text.len()..];
        let came = if text.ends_with('\n') { came } else { came.strip_prefix(b"\n").unwrap_or(came) };
        assert_eq!(
            String::from_utf8_lossy(came),
            String::from_utf8_lossy(&announced(&told)),
            "seed {seed}: other than announced"
        );
        assert!(came.is_empty() || came.ends_with(b"\n"));
        if words[0] == "label" {
            assert_eq!(
                fs::metadata(&path).unwrap().modified().unwrap(),
                time,
                "seed {seed}: a label keeps the time"
            );
        }
        if after.len() > text.len() {
            let undone = place.run_fixed(&["undo", "s.jsonl"], seed);
            assert_eq!(code(&undone), 0, "seed {seed}: {}", said(&undone));
            assert_eq!(fs::read(&path).unwrap(), text.as_bytes(), "seed {seed}: an undo gives other bytes");
            assert_eq!(
                fs::metadata(&path).unwrap().modified().unwrap(),
                time,
                "seed {seed}: an undo sets the time back"
            );
            let again = place.run_fixed(&["redo", "s.jsonl"], seed);
            assert_eq!(code(&again), 0, "seed {seed}: {}", said(&again));
            assert_eq!(fs::read(&path).unwrap(), after, "seed {seed}: undone and redone");
        }
    }
}

#[test]
fn a_switch_leads_where_it_says_and_back() {
    for seed in 100..140 {
        let chance = &mut Chance(seed);
        let form = FORMS[seed as usize % FORMS.len()];
        let (text, ids) = session(form, chance);
        let place = Place::new();
        place.put("s.jsonl", text.as_bytes());
        let head = |place: &Place| {
            let told = place.run(&["status", "s.jsonl", "--json"]);
            let status: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
            status["head"].as_str().map(str::to_owned)
        };
        let first = head(&place).unwrap();
        let target = &ids[chance.below(ids.len())];
        let done = place.run(&["switch", "s.jsonl", &format!("id:{target}")]);
        assert_eq!(code(&done), 0, "seed {seed}: {}", said(&done));
        assert_eq!(head(&place).as_ref(), Some(target), "seed {seed}: {form:?}");
        let before = fs::read(place.path("s.jsonl")).unwrap();
        let again = place.run(&["switch", "s.jsonl", &format!("id:{target}")]);
        assert_eq!(code(&again), 0, "seed {seed}: {}", said(&again));
        assert_eq!(fs::read(place.path("s.jsonl")).unwrap(), before, "seed {seed}: one is there already");
        if *target != first {
            let back = place.run(&["switch", "s.jsonl", "-"]);
            assert_eq!(code(&back), 0, "seed {seed}: {}", said(&back));
            assert_eq!(head(&place), Some(first), "seed {seed}: {form:?}");
        }
    }
}

#[test]
fn an_export_stands_on_its_own() {
    for seed in 200..250 {
        let chance = &mut Chance(seed);
        let form = FORMS[seed as usize % FORMS.len()];
        let (text, ids) = sound_session(form, chance);
        let place = Place::new();
        let path = place.put("s.jsonl", text.as_bytes());
        let target = &ids[chance.below(ids.len())];
        place.run(&["label", "s.jsonl", "a name", &format!("id:{target}")]);
        let labelled = fs::read(&path).unwrap();
        let new_ids = chance.below(2) == 0;
        let mut words = vec!["export-branch", "s.jsonl", "label:a name", "-o", "out.jsonl"];
        words.extend(new_ids.then_some("--new-ids"));
        let done = place.run_fixed(&words, seed);
        assert_eq!(code(&done), 0, "seed {seed}: {}", said(&done));
        assert_eq!(fs::read(&path).unwrap(), labelled, "seed {seed}: the source changed");
        let ids_of = |file: &str, revision: &str| -> Vec<String> {
            let told = place.run(&["rev-parse", file, revision]);
            assert_eq!(code(&told), 0, "seed {seed}: {form:?} {file} {revision}: {}", said(&told));
            String::from_utf8_lossy(&told.stdout).lines().map(str::to_owned).collect()
        };
        let wanted = ids_of("s.jsonl", "::label:a name");
        // HEAD of the new session is the entry, which has its label again.
        let found = ids_of("out.jsonl", "::label:a name");
        assert_eq!(found.len(), wanted.len() + usize::from(form == Form::Chimera), "seed {seed}: {form:?}");
        let is_same = found.iter().rev().zip(wanted.iter().rev()).all(|(one, other)| one == other);
        assert_eq!(is_same, !new_ids, "seed {seed}: ids");
        let faults = place.run(&["fsck", "out.jsonl"]);
        assert_eq!(code(&faults), 0, "seed {seed}: {form:?}: {}", String::from_utf8_lossy(&faults.stdout));
        let undone = place.run(&["undo", "out.jsonl"]);
        assert_eq!(code(&undone), 0, "seed {seed}: {}", said(&undone));
        assert!(!place.path("out.jsonl").exists(), "seed {seed}: an undo takes the new file away");
    }
}

/// Tells another thread to stop when it goes out of scope.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nothing_is_lost_beside_a_writer_that_appends_all_the_time() {
    let place = Place::new();
    let (text, ids) = sound_session(Form::Pi, &mut Chance(7));
    let path = place.put("s.jsonl", text.as_bytes());
    let stop = AtomicBool::new(false);
    let runs = AtomicUsize::new(1);
    let begun = Barrier::new(2);
    let (mut refused, mut done) = (0, 0);
    let (mut named, mut moved) = (Vec::new(), 0);
    let wrote = std::thread::scope(|scope| {
        // If something below fails, the writer must not continue forever.
        let stopped = Stop(&stop);
        let writer = scope.spawn(|| {
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            begun.wait();
            let mut wrote = 0;
            while !stop.load(Ordering::Relaxed) {
                // On a slow machine the file would grow without end, and each run would take longer
                // than the one before.
                if wrote > 20 * runs.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                let line = format!(
                    "{{\"type\":\"message\",\"id\":\"w{wrote:07}\",\"parentId\":\"{}\",\"timestamp\":\"2026-03-01T01:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
                    ids[0],
                    "x".repeat(wrote % 100)
                );
                file.write_all(line.as_bytes()).unwrap();
                wrote += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            wrote
        });
        begun.wait();
        // Without `--force`, the agent is reported.
        let polite = place.run(&["label", "s.jsonl", "polite", &ids[0]]);
        assert_eq!(code(&polite), 5, "{}", said(&polite));
        for at in 0..200 {
            let target = &ids[at % ids.len()];
            let name = format!("name-{at}");
            let output = if at % 2 == 0 {
                place.run(&["label", "s.jsonl", &name, target, "--replace", "--force"])
            } else {
                place.run(&["switch", "s.jsonl", target, "--force"])
            };
            runs.fetch_add(1, Ordering::Relaxed);
            match code(&output) {
                0 => {
                    done += 1;
                    named.extend((at % 2 == 0).then_some(name));
                    moved += usize::from(said(&output).contains("HEAD is now"));
                }
                5 => refused += 1,
                other => panic!("exit {other}: {}", said(&output)),
            }
        }
        drop(stopped);
        writer.join().unwrap()
    });
    let after = fs::read_to_string(&path).unwrap();
    let (mut theirs, mut labels, mut markers) = (0, Vec::new(), 0);
    for line in after.lines().filter(|line| !line.is_empty()) {
        let entry: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("a torn line: {error}: {line}"));
        theirs += usize::from(entry["id"].as_str().is_some_and(|id| id.starts_with('w')));
        labels.extend(entry["label"].as_str().map(str::to_owned));
        markers += usize::from(entry["customType"] == "bough.switch");
    }
    assert_eq!(theirs, wrote, "lines of the other writer");
    assert!(done > 120, "{done} done, {refused} refused");
    assert!(named.len() > 50, "{} labels", named.len());
    assert_eq!(labels, named, "labels that were said to be set");
    assert_eq!(markers, moved, "moves that were said to be made");
}

#[test]
fn two_boughs_at_once_do_not_harm_each_other() {
    let place = Place::new();
    let (text, ids) = sound_session(Form::Pi, &mut Chance(9));
    let path = place.put("s.jsonl", text.as_bytes());
    let mut running = Vec::new();
    for at in 0..12 {
        let (name, target) = (format!("name-{at}"), ids[at % ids.len()].clone());
        running.push((name.clone(), place.command(&["label", "s.jsonl", &name, &target]).spawn().unwrap()));
    }
    let mut done = Vec::new();
    for (name, mut child) in running {
        match child.wait().unwrap().code() {
            Some(0) => done.push(name),
            Some(5) => {}
            other => panic!("{name}: {other:?}"),
        }
    }
    let after = fs::read_to_string(&path).unwrap();
    let mut found = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for line in after.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(ids.insert(entry["id"].as_str().unwrap().to_owned()), "an id twice");
        found.extend(entry["label"].as_str().map(str::to_owned));
    }
    found.sort();
    done.sort();
    assert_eq!(found, done, "what was said to be done is in the file, and nothing else");
    assert!(!done.is_empty());
    // The log contains all of them, and undoes them one by one.
    for _ in &done {
        let last = place.run(&["op", "log", "-n", "1"]);
        assert_eq!(code(&last), 0);
    }
    let listed = place.run(&["op", "log", "--json"]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let done_in_log = text.lines().filter(|line| line.contains("\"state\":\"done\"")).count();
    assert_eq!(done_in_log, done.len());
}

#[test]
fn a_repair_gives_way_to_other_boughs_and_is_done() {
    let place = Place::new();
    let (text, ids) = sound_session(Form::Pi, &mut Chance(9));
    // Each repair is a rewrite that meets a file that grew, or was repaired, since it was read.
    let broken = text.replacen(&format!("\"parentId\":\"{}\"", ids[0]), "\"parentId\":\"0000dead\"", 1);
    assert_ne!(broken, text);
    let path = place.put("s.jsonl", broken.as_bytes());
    let (mut labels, mut repairs) = (Vec::new(), Vec::new());
    for at in 0..12 {
        let name = format!("name-{at}");
        labels.push(place.command(&["label", "-q", "--replace", "s.jsonl", &name, &ids[1]]).spawn().unwrap());
        if at % 3 == 0 {
            let mut repair = place.command(&["fsck", "--repair", "-q", "s.jsonl"]);
            repairs.push(repair.stdout(Stdio::null()).spawn().unwrap());
        }
    }
    let code = |mut child: Child| child.wait().unwrap().code();
    assert!(repairs.into_iter().all(|child| code(child) == Some(0)));
    assert!(labels.into_iter().all(|child| code(child) == Some(0)));
    let after = fs::read_to_string(&path).unwrap();
    assert_eq!(after.matches("\"type\":\"label\"").count(), 12, "{after}");
    let looked = place.run(&["fsck", "-q", "s.jsonl"]);
    assert!(looked.status.success(), "{looked:?}");
}

/// Mounts a small file system.
///
/// A test that needs it has the attribute `#[cfg_attr(not(may = "mount"), ignore = "…")]`, so that
/// it is reported as ignored if that is not allowed (`build.rs` checks that).
fn small_disk(place: &Place, options: &str) -> Mount {
    let path = place.path("disk");
    fs::create_dir(&path).unwrap();
    let done =
        Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    Mount(path)
}

struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

fn age(path: &Path) {
    let old = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    fs::File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
}

#[test]
#[cfg_attr(not(may = "mount"), ignore = "needs to mount a file system")]
fn a_full_disk_changes_nothing() {
    let place = Place::new();
    let disk = small_disk(&place, "size=64k");
    let path = disk.0.join("s.jsonl");
    let (text, ids) = sound_session(Form::Pi, &mut Chance(3));
    // The file fills its last page, and another file the rest.
    let line = format!(
        "{{\"type\":\"message\",\"id\":\"ffff0000\",\"parentId\":\"{}\",\"timestamp\":\"2026-03-01T01:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"\"}}}}\n",
        ids[0]
    );
    let fill = 8192 - text.len() - line.len();
    let text = text + &line.replace("\"content\":\"\"", &format!("\"content\":\"{}\"", "x".repeat(fill)));
    assert_eq!(text.len(), 8192);
    fs::write(&path, &text).unwrap();
    age(&path);
    let _ = fs::write(disk.0.join("filler"), vec![0; 64 * 1024]);
    let path_word = path.to_str().unwrap();
    for words in [
        vec!["switch", path_word, &ids[1]],
        vec!["label", path_word, "x", &ids[1]],
        vec!["export-branch", path_word, "-o", "disk/out.jsonl"],
    ] {
        let refused = place.run(&words);
        assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes(), "{words:?}");
        let mut names: Vec<_> =
            fs::read_dir(&disk.0).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["filler", "s.jsonl"], "{words:?}");
    }
}

/// Returns an old session, which `migrate` rewrites as a whole.
fn old_session() -> Vec<u8> {
    fs::read(crate::support::files::project().join("tests/cli/sessions/pi/v1-hand-plain.jsonl")).unwrap()
}

#[test]
#[cfg_attr(not(may = "mount"), ignore = "needs to mount a file system")]
fn a_file_is_not_made_anew_on_a_full_disk() {
    let place = Place::new();
    let disk = small_disk(&place, "size=64k");
    let path = disk.0.join("s.jsonl");
    fs::write(&path, old_session()).unwrap();
    age(&path);
    let _ = fs::write(disk.0.join("filler"), vec![0; 64 * 1024]);
    for words in
        [vec!["migrate", "disk/s.jsonl"], vec!["migrate", "disk/s.jsonl", "-o", "disk/new/out.jsonl"]]
    {
        let refused = place.run(&words);
        assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
        assert!(said(&refused).contains("the disk is full; nothing was changed"), "{}", said(&refused));
        assert_eq!(fs::read(&path).unwrap(), old_session());
        let mut names: Vec<_> =
            fs::read_dir(&disk.0).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["filler", "s.jsonl"], "{words:?}");
    }
    // With room again, it succeeds.
    fs::remove_file(disk.0.join("filler")).unwrap();
    let done = place.run(&["migrate", "disk/s.jsonl"]);
    assert_eq!(code(&done), 0, "{}", said(&done));
}

#[test]
#[cfg_attr(not(may = "mount"), ignore = "needs to mount a file system")]
fn a_read_only_disk_changes_nothing() {
    let place = Place::new();
    let disk = small_disk(&place, "size=64k");
    let path = disk.0.join("s.jsonl");
    let (text, ids) = sound_session(Form::Pi, &mut Chance(3));
    fs::write(&path, &text).unwrap();
    age(&path);
    fs::write(disk.0.join("old.jsonl"), old_session()).unwrap();
    age(&disk.0.join("old.jsonl"));
    let done = Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).output().unwrap();
    assert!(done.status.success());
    for words in [
        vec!["switch", "disk/s.jsonl", &ids[1]],
        vec!["label", "disk/s.jsonl", "x"],
        vec!["cherry-pick", "disk/s.jsonl", &ids[0]],
        vec!["export-branch", "disk/s.jsonl", "-o", "disk/new/out.jsonl"],
        vec!["migrate", "disk/old.jsonl"],
    ] {
        let refused = place.run(&words);
        assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
        let dry: Vec<&str> = words.iter().copied().chain(["-n"]).collect();
        let refused = place.run(&dry);
        assert_eq!(code(&refused), 6, "{words:?}: a dry run says the same: {}", said(&refused));
    }
}

/// Runs bough as a user who owns nothing here. A copy is run, because the program itself may be out
/// of reach.
fn as_nobody(place: &Place, words: &[&str]) -> Output {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(place.path("nobody/bough"));
    command.args(words).current_dir(place.folder.path()).env_clear().uid(65534).gid(65534);
    command
        .env("HOME", place.folder.path())
        .env("XDG_STATE_HOME", place.path("nobody/state"))
        .output()
        .unwrap()
}

#[test]
#[cfg_attr(not(may = "be-another"), ignore = "needs to run the program as another user")]
fn what_the_user_may_not_write_is_not_written() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(place.folder.path(), 0o755);
    fs::create_dir(place.path("nobody")).unwrap();
    open(&place.path("nobody"), 0o777);
    copy_of_bough(&place.path("nobody/bough"));
    let (text, ids) = sound_session(Form::Pi, &mut Chance(5));
    let path = place.put("s.jsonl", text.as_bytes());
    open(&path, 0o644);
    for words in [vec!["switch", "s.jsonl", &ids[1]], vec!["label", "s.jsonl", "x", &ids[1]]] {
        let refused = as_nobody(&place, &words);
        assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
    }
    // A file of another owner that everybody may write: an append is fine.
    open(&path, 0o666);
    let done = as_nobody(&place, &["switch", "s.jsonl", &ids[1]]);
    assert_eq!(code(&done), 0, "{}", said(&done));
    assert!(fs::read(&path).unwrap().starts_with(text.as_bytes()));
    // A file is rewritten neither in a folder that is not writable, nor if it could not keep its
    // owner.
    let old = place.put("old.jsonl", &old_session());
    open(&old, 0o666);
    for (mode, told) in [(0o755, "this user can't write to the file"), (0o777, "as the owner of the file")] {
        open(place.folder.path(), mode);
        for words in [vec!["migrate", "old.jsonl"], vec!["migrate", "old.jsonl", "-n"]] {
            let refused = as_nobody(&place, &words);
            assert_eq!(code(&refused), 6, "{words:?}: {}", said(&refused));
            assert!(said(&refused).contains(told), "{words:?}: {}", said(&refused));
            assert_eq!(fs::read(&old).unwrap(), old_session());
        }
    }
    open(place.folder.path(), 0o755);
    let refused = as_nobody(&place, &["export-branch", "s.jsonl", "-o", "new/out.jsonl"]);
    assert_eq!(code(&refused), 6, "{}", said(&refused));
    assert_eq!(place.names(), ["nobody", "old.jsonl", "s.jsonl"]);
    // A folder that can't be read.
    fs::create_dir(place.path("closed")).unwrap();
    fs::write(place.path("closed/s.jsonl"), &text).unwrap();
    open(&place.path("closed"), 0o700);
    let refused = as_nobody(&place, &["switch", "closed/s.jsonl", &ids[1]]);
    assert!(matches!(code(&refused), 4 | 6), "{}", said(&refused));
}

#[test]
#[cfg_attr(not(may = "be-another"), ignore = "needs to run the program as another user")]
fn a_group_that_can_not_be_kept_has_no_rights() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let place = Place::new();
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(place.folder.path(), 0o777);
    fs::create_dir(place.path("nobody")).unwrap();
    open(&place.path("nobody"), 0o777);
    copy_of_bough(&place.path("nobody/bough"));
    // The user owns the file, but is not in its group.
    for (group, mode, kept) in [(101, 0o664, 0o604), (101, 0o2660, 0o600), (65534, 0o660, 0o660)] {
        let path = place.put("s.jsonl", &old_session());
        std::os::unix::fs::chown(&path, Some(65534), Some(group)).unwrap();
        open(&path, mode);
        let done = as_nobody(&place, &["migrate", "s.jsonl"]);
        assert_eq!(code(&done), 0, "{}", said(&done));
        let facts = fs::metadata(&path).unwrap();
        assert_eq!((facts.uid(), facts.gid()), (65534, 65534));
        assert_eq!(facts.mode() & 0o7777, kept, "{mode:o}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn links_are_followed_and_not_parted() {
    let place = Place::new();
    let path = place.put("s.jsonl", &old_session());
    fs::hard_link(&path, place.path("hard.jsonl")).unwrap();
    std::os::unix::fs::symlink("s.jsonl", place.path("link.jsonl")).unwrap();
    for words in [vec!["migrate", "link.jsonl"], vec!["migrate", "link.jsonl", "-n"]] {
        let refused = place.run(&words);
        assert_eq!(code(&refused), 5, "{words:?}: {}", said(&refused));
        assert!(said(&refused).contains("`--allow=hardlink`"), "{}", said(&refused));
        assert_eq!(fs::read(&path).unwrap(), old_session());
    }
    fs::remove_file(place.path("hard.jsonl")).unwrap();
    let done = place.run(&["migrate", "link.jsonl"]);
    assert_eq!(code(&done), 0, "{}", said(&done));
    assert!(fs::symlink_metadata(place.path("link.jsonl")).unwrap().is_symlink());
    assert_ne!(fs::read(&path).unwrap(), old_session());
    // An append keeps all names on one file; a change under one name is undone under another.
    let new = fs::read(&path).unwrap();
    fs::hard_link(&path, place.path("hard.jsonl")).unwrap();
    let done = place.run(&["switch", "link.jsonl", "turn:1", "--force"]);
    assert_eq!(code(&done), 0, "{}", said(&done));
    assert_eq!(fs::read(place.path("hard.jsonl")).unwrap(), fs::read(&path).unwrap());
    assert_ne!(fs::read(&path).unwrap(), new);
    let undone = place.run(&["undo", "s.jsonl"]);
    assert_eq!(code(&undone), 0, "{}", said(&undone));
    assert_eq!(fs::read(place.path("hard.jsonl")).unwrap(), new);
}

#[test]
fn a_log_that_can_not_be_written_stops_the_change() {
    let place = Place::new();
    let (text, ids) = sound_session(Form::Pi, &mut Chance(5));
    let path = place.put("s.jsonl", text.as_bytes());
    fs::write(place.path("state"), "a file where a folder is wanted").unwrap();
    let refused = place.run(&["switch", "s.jsonl", &ids[0]]);
    assert_eq!(code(&refused), 6, "{}", said(&refused));
    assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
    let forced = place.run(&["switch", "s.jsonl", &ids[0], "--force"]);
    assert_eq!(code(&forced), 0, "{}", said(&forced));
    assert_ne!(fs::read(&path).unwrap(), text.as_bytes());
}

#[test]
fn reading_changes_no_file_and_no_time() {
    let place = Place::new();
    let (text, ids) = sound_session(Form::Pi, &mut Chance(11));
    let path = place.put("s.jsonl", text.as_bytes());
    let before: SystemTime = fs::metadata(&path).unwrap().modified().unwrap();
    for words in [
        vec!["label", "s.jsonl"],
        vec!["op", "log", "s.jsonl"],
        vec!["op", "prune", "-n"],
        vec!["export-branch", "s.jsonl"],
        vec!["switch", "-n", "s.jsonl", &ids[0]],
        vec!["undo", "--dry-run", "s.jsonl"],
    ] {
        place.run(&words);
        assert_eq!(place.names(), ["s.jsonl"], "{words:?}");
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before, "{words:?}");
    }
}
