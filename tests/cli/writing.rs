//! Properties of every command that writes: old bytes stay, a dry run announces what is then done,
//! an undo restores the old file, nothing is lost next to another writer, and an error of the
//! system changes nothing.

use crate::support::sandbox::{Place, code, said};
use crate::support::small_sessions::{Chance, FORMS, Form, old_session, session, sound_session};
use std::fs;
use std::io::Write as _;
use std::process::{Child, Output, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

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
