//! Properties of every command that writes: a dry run changes nothing, announces what is then done
//! and ends like the real run; lines that are not mentioned stay the same, byte for byte; and
//! `undo` restores everything, including times.

use crate::support::files;
use crate::support::sandbox::{bough, code, said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// The state of a file: its bytes, when it was changed, who may read it.
type State = (Vec<u8>, i64, i64, u32);

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// Creates a folder with copies of sessions: `s.jsonl=pi/two-attempts.jsonl`.
    fn with(files: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        for file in files.split(' ') {
            let (to, from) = file.split_once('=').unwrap();
            let from = files::project().join("tests/cli/sessions").join(from);
            let to = place.work().join(to);
            files::copy(&from, &to);
            files::copy_below(&from.with_extension(""), &to.with_extension(""));
        }
        place
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn run(&self, words: &str) -> Output {
        bough(&self.folder.path().join("home"))
            .args(words.split(' ').map(|word| word.replace('_', " ")))
            .current_dir(self.work())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("BOUGH_NOW", "2026-03-02T12:00:00Z")
            .env("BOUGH_IDS", "1")
            .output()
            .unwrap()
    }

    /// Returns all files except those of the log, and all folders.
    fn state(&self) -> BTreeMap<PathBuf, Option<State>> {
        let mut found = BTreeMap::new();
        for folder in ["work", "home"] {
            look(&self.folder.path().join(folder), &mut found);
        }
        found
    }
}

fn look(folder: &Path, found: &mut BTreeMap<PathBuf, Option<State>>) {
    for file in fs::read_dir(folder).into_iter().flatten() {
        let path = file.unwrap().path();
        if path.is_dir() {
            look(&path, found);
            found.insert(path, None);
        } else {
            let facts = fs::metadata(&path).unwrap();
            let state =
                (fs::read(&path).unwrap(), facts.mtime(), facts.mtime_nsec(), facts.permissions().mode());
            found.insert(path, Some(state));
        }
    }
}

#[test]
#[rustfmt::skip] // a table
fn every_command_that_writes_is_announced_and_taken_back() {
    const PI: &str = "s.jsonl=pi/two-attempts.jsonl";
    const OMP: &str = "s.jsonl=pi/omp18-branches.jsonl";
    const CHIMERA: &str = "s.jsonl=chimera/tools-two-branches.jsonl";
    const CLAUDE: &str = "254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl=claude/real/subagent/254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl";
    const COMPACT: &str = "s.jsonl=claude/real/compact/e2b9b6b3-282e-44bc-ada2-5865718e7db9.jsonl";
    const REWIND: &str = "s.jsonl=claude/real/rewind/8a41ccc1-b906-4425-adb7-21c6f1740617.jsonl";
    //    the sessions   the command; `_` is a blank
    check(PI,            "switch s.jsonl generator");
    check(PI,            "switch s.jsonl -c a_name --replace generator");
    check(PI,            "switch s.jsonl --root");
    check(PI,            "switch s.jsonl --rewind b0000001");
    check(PI,            "switch s.jsonl --summary it_failed generator");
    check(OMP,           "switch s.jsonl turn:1");
    check(CHIMERA,       "switch s.jsonl turn:1");
    check(REWIND,        "switch s.jsonl turn:1");
    check(COMPACT,       "switch s.jsonl c5387759");
    check(PI,            "label s.jsonl a_name a0000001");
    check(PI,            "label s.jsonl -m generator a0000001");
    check(PI,            "label s.jsonl -d generator");
    check(CHIMERA,       "label s.jsonl a_name");
    check(REWIND,        "label s.jsonl a_name");
    check(PI,            "export-branch s.jsonl generator -o new/out.jsonl");
    check(PI,            "export-branch s.jsonl a0000002 --subtree --new-ids -o out.jsonl");
    check(PI,            "export-branch s.jsonl generator --store");
    check(&format!("{PI} out.jsonl=pi/pi16-labels.jsonl"),
                         "export-branch s.jsonl generator -o out.jsonl --force");
    check(CHIMERA,       "export-branch s.jsonl turn:1 -o out.jsonl");
    check(CLAUDE,        "export-branch 254d35dc-7f1f-4b42-ab66-5415aec1733e.jsonl -o new/11111111-1111-4111-8111-111111111111.jsonl");
    check(PI,            "cherry-pick s.jsonl b0000001..generator");
    check(PI,            "cherry-pick s.jsonl b0000002 -x --onto a0000002");
    check(&format!("{PI} o.jsonl=pi/pi16-linear.jsonl"),
                         "cherry-pick s.jsonl --from o.jsonl turn:1");
    check(CHIMERA,       "cherry-pick s.jsonl turn:1");
    check(REWIND,        "cherry-pick s.jsonl turn:1");
    check(PI,            "merge s.jsonl generator");
    check(PI,            "merge s.jsonl generator --squash --summary it_failed");
    for old in ["v1-pi007-header-model", "v1-pi030-two-compactions", "v1-hand-compaction-index-forward", "v2-pi032-hook", "v2-hand-design-doc-uuid"] {
        let files = format!("s.jsonl=pi/{old}.jsonl");
        check(&files,    "migrate s.jsonl");
        check(&files,    "migrate s.jsonl -o new/out.jsonl");
    }
}

#[test]
fn every_repair_is_announced_and_taken_back() {
    let mut repaired = 0;
    let folder = files::project().join("tests/cli/sessions/cases");
    let mut kinds: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|kind| kind.unwrap().path()).collect();
    kinds.sort();
    for kind in kinds.iter().filter(|kind| kind.is_dir()) {
        let mut files: Vec<PathBuf> = fs::read_dir(kind).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
        files.sort();
        // The first and the last of each kind: there are many.
        let last = files.len().saturating_sub(1);
        for (_, file) in files.iter().enumerate().filter(|(at, _)| [0, last].contains(at)) {
            let name = format!(
                "s.jsonl=cases/{}/{}",
                kind.file_name().unwrap().to_string_lossy(),
                file.file_name().unwrap().to_string_lossy()
            );
            repaired += usize::from(check(&name, "fsck --repair s.jsonl"));
        }
    }
    assert!(repaired > 40, "{repaired} files were repaired");
}

/// Carries out a command and undoes it; returns whether it changed anything.
fn check(files: &str, words: &str) -> bool {
    let place = Place::with(files);
    let what = format!("{words} ({files})");
    let before = place.state();
    let told = place.run(&format!("{words} --dry-run --json"));
    assert_eq!(place.state(), before, "{what}: a dry run wrote");
    let done = place.run(words);
    assert_eq!(
        code(&told),
        code(&done),
        "{what}: the dry run ends otherwise: {} {}",
        said(&told),
        said(&done)
    );
    let after = place.state();
    if after == before {
        assert!(words.starts_with("fsck"), "{what}: nothing was written: {}", said(&done));
        return false;
    }
    is_as_announced(&what, &told, &place.work(), &before, &after);
    let undone = place.run("undo --all");
    assert_eq!(code(&undone), 0, "{what}: {}", said(&undone));
    differs_in_nothing(&what, &place.state(), &before, true);
    let again = place.run("redo --all");
    assert_eq!(code(&again), 0, "{what}: {}", said(&again));
    differs_in_nothing(&what, &place.state(), &after, false);
    let undone = place.run("undo --all");
    assert_eq!(code(&undone), 0, "{what}: {}", said(&undone));
    differs_in_nothing(&what, &place.state(), &before, true);
    true
}

fn differs_in_nothing(
    what: &str,
    now: &BTreeMap<PathBuf, Option<State>>,
    wanted: &BTreeMap<PathBuf, Option<State>>,
    times: bool,
) {
    let names = |state: &BTreeMap<PathBuf, Option<State>>| state.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(now), names(wanted), "{what}: files");
    for (path, state) in wanted.iter().filter_map(|(path, state)| Some((path, state.as_ref()?))) {
        let is = now[path].as_ref().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&is.0),
            String::from_utf8_lossy(&state.0),
            "{what}: {}",
            path.display()
        );
        assert_eq!(is.0, state.0, "{what}: {}", path.display());
        assert_eq!(is.3, state.3, "{what}: the mode of {}", path.display());
        assert!(!times || (is.1, is.2) == (state.1, state.2), "{what}: the time of {}", path.display());
    }
}

/// Checks that each file is what the changes of the dry run make of it.
fn is_as_announced(
    what: &str,
    told: &Output,
    work: &Path,
    before: &BTreeMap<PathBuf, Option<State>>,
    after: &BTreeMap<PathBuf, Option<State>>,
) {
    let lines = String::from_utf8_lossy(&told.stdout).into_owned();
    let changes: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|change: &Value| change["schema"] == "bough.change/1")
        .collect();
    assert!(!changes.is_empty(), "{what}: nothing was announced");
    for (path, state) in after.iter().filter_map(|(path, state)| Some((path, state.as_ref()?))) {
        let old = before.get(path).and_then(|state| state.as_ref());
        if old.is_some_and(|old| old.0 == state.0) {
            continue;
        }
        let of_file: Vec<&Value> =
            changes.iter().filter(|change| work.join(change["file"].as_str().unwrap()) == *path).collect();
        let Some(old) = old else {
            let made = |change: &&&Value| change["op"] == "create" || change["op"] == "set-aside";
            assert!(
                changes.iter().any(|change| made(&&change)),
                "{what}: {} was not announced",
                path.display()
            );
            continue;
        };
        if of_file.iter().any(|change| change["op"] == "create") {
            continue;
        }
        assert!(!of_file.is_empty(), "{what}: {} was not announced", path.display());
        fits(what, &of_file, &old.0, &state.0);
    }
}

fn fits(what: &str, changes: &[&Value], old: &[u8], new: &[u8]) {
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (old_lines, new_lines) = (lines(old), lines(new));
    if changes.iter().all(|change| change["op"] == "append") {
        let mut wanted = old.to_vec();
        if !old.ends_with(b"\n") {
            wanted.push(b'\n');
        }
        // A newline that the last line lacks is announced as a separate change.
        for change in changes.iter().filter(|change| change["bytes"] != 1) {
            wanted.extend_from_slice(change["new"].as_str().unwrap().as_bytes());
            wanted.push(b'\n');
        }
        assert_eq!(
            String::from_utf8_lossy(new),
            String::from_utf8_lossy(&wanted),
            "{what}: other than announced"
        );
        return;
    }
    if changes.iter().any(|change| change["op"] == "recode") {
        return;
    }
    // A line that no change mentions is unchanged, and the lines are in order.
    let named = |line: u64| {
        changes.iter().any(|change| {
            // Lines that are joined are named by the first one.
            let count = match change["op"] == "join" {
                true => change["old"].as_str().unwrap().split('\n').count() as u64,
                false => 1,
            };
            let from = change["line"].as_u64().unwrap_or(0);
            (from..from + count).contains(&line)
        })
    };
    let mut rest = new_lines.iter();
    for (at, line) in old_lines.iter().enumerate().filter(|(at, _)| !named(*at as u64 + 1)) {
        if !line.is_empty() {
            assert!(
                rest.any(|new| new == line),
                "{what}: line {} is named by no change, and is gone",
                at + 1
            );
        }
    }
    // Lines made from others are as announced, unless more changes apply to them.
    for change in changes.iter().filter(|change| change["op"] == "split" || change["op"] == "join") {
        let alone = changes.iter().filter(|other| other["line"] == change["line"]).all(|other| {
            let op = other["op"].as_str().unwrap();
            ["split", "join", "escape", "set-aside"].contains(&op)
        });
        for line in
            change["new"].as_str().unwrap().split('\n').filter(|line| alone && !line.contains('\u{2026}'))
        {
            let stands =
                new_lines.iter().any(|new| String::from_utf8_lossy(new).trim_end() == line.trim_end());
            assert!(stands, "{what}: there is no line {line}");
        }
    }
    // A line of which fields are set is the old one with these fields.
    for (at, line) in old_lines.iter().enumerate() {
        let here: Vec<&&Value> = changes.iter().filter(|change| change["line"] == at as u64 + 1).collect();
        if here.is_empty() || here.iter().any(|change| change["op"] != "set") {
            continue;
        }
        let mut entry = serde_json::from_slice::<Value>(line).unwrap_or_default();
        let all = here.iter().all(|change| {
            let value = |key: &str| change[key].as_str().and_then(|text| serde_json::from_str(text).ok());
            let field = change["field"].as_str().unwrap();
            // A change inside a value is announced as that range, and a long one is cut.
            let whole = get(&entry, field).cloned() == value("old");
            if whole {
                set(&mut entry, field, value("new"));
            }
            whole
        });
        let fits = |new: &Vec<u8>| {
            let text = String::from_utf8_lossy(new);
            match all {
                true => serde_json::from_slice::<Value>(new).is_ok_and(|new| new == entry),
                false => here.iter().all(|change| {
                    text.contains(change["new"].as_str().unwrap_or_default().trim_end_matches('\u{2026}'))
                }),
            }
        };
        assert!(new_lines.iter().any(fits), "{what}: line {} is not as announced: {here:?}", at + 1);
    }
}

fn get<'e>(entry: &'e Value, field: &str) -> Option<&'e Value> {
    field.split('.').try_fold(entry, |entry, name| entry.get(name))
}

/// Sets a field, given by its names separated by points; removes it if there is no value.
fn set(entry: &mut Value, field: &str, value: Option<Value>) {
    let (first, rest) = field.split_once('.').map_or((field, None), |(first, rest)| (first, Some(rest)));
    match (rest, value) {
        (Some(rest), value) => set(&mut entry[first], rest, value),
        (None, Some(value)) => entry[first] = value,
        (None, None) => {
            entry.as_object_mut().unwrap().remove(first);
        }
    }
}

/// Creates a folder with many sessions whose last line is cut off.
fn damaged(count: usize) -> Place {
    let place = Place { folder: tempfile::tempdir().unwrap() };
    fs::create_dir_all(place.work()).unwrap();
    for number in 0..count {
        let text = format!(
            concat!(
                r#"{{"type":"session","version":3,"id":"5e55{n:04}","timestamp":"2026-03-01T00:00:00.000Z","cwd":"/w"}}"#,
                "\n",
                r#"{{"type":"message","id":"a0000001","parentId":null,"message":{{"role":"user","content":"x"}}}}"#,
                "\n",
                r#"{{"type":"message","id":"a0000002","parentId":"a00"#
            ),
            n = number
        );
        let path = place.work().join(format!("s{number:04}.jsonl"));
        fs::write(&path, text).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600);
        fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
    }
    place
}

#[test]
fn a_repair_of_many_files_is_one_operation() {
    const COUNT: usize = 500;
    let place = damaged(COUNT);
    let before = place.state();
    let done = place.run("fsck --repair .");
    assert_eq!(code(&done), 0, "{}", said(&done));
    let after = place.state();
    let changed = |one: &BTreeMap<PathBuf, Option<State>>, other: &BTreeMap<PathBuf, Option<State>>| {
        one.iter().filter(|(path, state)| state.is_some() && other.get(*path) != Some(*state)).count()
    };
    assert_eq!(changed(&before, &after), COUNT);
    let log = place.run("op log --json");
    assert_eq!(String::from_utf8_lossy(&log.stdout).lines().count(), 1);

    // Any of the files names the operation.
    let undone = place.run("undo s0123.jsonl");
    assert_eq!(code(&undone), 0, "{}", said(&undone));
    assert!(said(&undone).contains("undid: fsck --repair of 500 files"), "{}", said(&undone));
    differs_in_nothing("undone", &place.state(), &before, true);
    let redone = place.run("redo s0321.jsonl");
    assert_eq!(code(&redone), 0, "{}", said(&redone));
    differs_in_nothing("redone", &place.state(), &after, false);

    // One file of it.
    let path = place.work().join("s0042.jsonl");
    let undone = place.run("undo --file s0042.jsonl");
    assert_eq!(code(&undone), 0, "{}", said(&undone));
    let now = place.state();
    assert_eq!(now[&path], before[&path]);
    assert_eq!(changed(&before, &now), COUNT - 1);
    let again = place.run("undo --file s0042.jsonl");
    assert_eq!(code(&again), 4, "{}", said(&again));
    let redone = place.run("redo s0042.jsonl");
    assert_eq!(code(&redone), 0, "{}", said(&redone));
    differs_in_nothing("redone", &place.state(), &after, false);
    let undone = place.run("undo --all");
    assert_eq!(code(&undone), 0, "{}", said(&undone));
    differs_in_nothing("all", &place.state(), &before, true);
}

#[test]
fn a_repair_of_many_files_that_is_killed_is_undone() {
    let place = damaged(500);
    let before = place.state();
    // Other files come and go while bough writes.
    let changed = || {
        let files = before.iter().filter_map(|(path, state)| Some((path, &state.as_ref()?.0)));
        files.filter(|(path, bytes)| fs::read(path).unwrap() != **bytes).count()
    };
    let mut command = bough(&place.folder.path().join("home"));
    command
        .args(["fsck", "--repair", "."])
        .current_dir(place.work())
        .env("XDG_STATE_HOME", place.folder.path().join("state"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while changed() < 20 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let count = changed();
    assert!(count >= 20, "{count} files were repaired");
    let undone = place.run("undo --all");
    assert_eq!(code(&undone), 0, "{}", said(&undone));
    assert_eq!(changed(), 0);
    // What was done is done again, and nothing else.
    let redone = place.run("redo --all");
    assert_eq!(code(&redone), 0, "{}", said(&redone));
    assert_eq!(changed(), count);
}
