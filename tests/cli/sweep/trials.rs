//! What is done to a command, and what must hold after that.

use super::stage::{Stage, State, is_leftover};
use super::stopped::{self, Act};
use crate::support::sandbox::said;
use crate::support::sessions::sessions_below;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The kinds of trials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The program is killed before a call.
    Kill,
    /// The program is killed inside a write: half of the bytes are in the file.
    KillInside,
    /// The program is sent INT, TERM or HUP before a call.
    Signal,
    /// A call fails.
    Fail,
    /// A write takes half of its bytes, and the next finds no room.
    Short,
    /// An agent appends a line before a call.
    Append,
    /// The same, and the call fails.
    AppendAndFail,
    /// An agent has the session open all the time, appends a line before a call, and closes it some calls later; the command has
    /// `--allow=live`.
    Held,
    /// An agent puts another file in the place of the session before a call.
    Replace,
    /// The disk has room for only so many pages.
    Full,
}

pub const KINDS: [Kind; 10] = [
    Kind::Kill,
    Kind::KillInside,
    Kind::Signal,
    Kind::Fail,
    Kind::Short,
    Kind::Append,
    Kind::AppendAndFail,
    Kind::Held,
    Kind::Replace,
    Kind::Full,
];

/// How the trials of a kind came out.
#[derive(Default)]
pub struct Outcome {
    pub trials: usize,
    pub failures: Vec<String>,
}

/// A text by which the line of the agent is known again.
const MARK: &str = "written-by-the-agent";

/// An entry as the agent of a session appends it.
fn agents_line(session: &[u8]) -> String {
    let text = String::from_utf8_lossy(session);
    let first = text.lines().find(|line| !line.contains("\"type\":\"title\"")).unwrap_or_default();
    let time = "2026-03-01T10:12:00.000Z";
    if first.contains("\"type\": \"header\"") {
        return format!(
            "{{\"type\": \"custom\", \"id\": \"c0ffee00ffff\", \"parent_id\": null, \"timestamp\": 1772359200.5, \"custom_type\": \"{MARK}\"}}\n"
        );
    }
    if first.contains("\"type\":\"session\"") {
        let id = if first.contains("\"version\":3") { "\"id\":\"a9000001\",\"parentId\":null," } else { "" };
        return format!("{{\"type\":\"custom\",{id}\"timestamp\":\"{time}\",\"customType\":\"{MARK}\"}}\n");
    }
    let id = "a9000001-0000-4000-8000-000000000000";
    format!(
        "{{\"parentUuid\":null,\"isSidechain\":false,\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"{MARK}\",\"uuid\":\"{id}\",\"timestamp\":\"{time}\",\"sessionId\":\"254d35dc-7f1f-4b42-ab66-5415aec1733e\"}}\n"
    )
}

/// Carries out the trials of a kind at each `step`-th call.
pub fn try_all(stage: &Stage, kind: Kind, step: usize) -> Outcome {
    let mut outcome = Outcome::default();
    let mut seen = 0;
    for (at, call) in stage.calls.iter().enumerate() {
        let acts: Vec<Act> = match kind {
            // Before a call that changes nothing, all is as before the next one.
            Kind::Kill if call.changes() => vec![Act::Kill],
            Kind::Kill => vec![],
            Kind::KillInside | Kind::Short if call.name == "write" && call.third > 1 => {
                vec![Act::Short(call.third as usize / 2)]
            }
            Kind::KillInside | Kind::Short | Kind::Full => vec![],
            Kind::Signal => vec![Act::Signal([libc::SIGINT, libc::SIGTERM, libc::SIGHUP][at % 3])],
            Kind::Fail => {
                let errors: &[i32] = match call.name {
                    name if !can_fail(name) => &[],
                    _ if call.needs_room() => &[libc::EIO, libc::ENOSPC, libc::EDQUOT],
                    _ => &[libc::EIO],
                };
                errors.iter().map(|error| Act::Fail(*error)).collect()
            }
            Kind::AppendAndFail if ["write", "fsync", "fallocate", "rename"].contains(&call.name) => {
                vec![Act::Fail(libc::ENOSPC), Act::Fail(libc::EIO)]
            }
            Kind::AppendAndFail => vec![],
            Kind::Append | Kind::Held | Kind::Replace => vec![Act::Pass],
        };
        for act in acts {
            seen += 1;
            if seen % step != 0 {
                continue;
            }
            stage.begin_anew();
            let what = format!(
                "{} {at} {kind:?} {act:?} at {} {}",
                stage.scene.words,
                call.name,
                short(stage, &call.path)
            );
            outcome.trials += 1;
            let wrong = match kind {
                Kind::Kill | Kind::KillInside | Kind::Signal => stop(stage, at, act),
                Kind::Fail | Kind::Short => fail(stage, at, act),
                _ => beside_an_agent(stage, kind, at, act),
            };
            outcome.failures.extend(wrong.into_iter().map(|wrong| format!("{what}: {wrong}")));
        }
    }
    if kind == Kind::Full {
        fill_the_disk(stage, step, &mut outcome);
    }
    outcome
}

/// Returns whether a call fails on real systems: a `close` of a file that was read does not, and
/// the standard library aborts if one does.
fn can_fail(call: &str) -> bool {
    !["close", "lseek"].contains(&call)
}

fn short(stage: &Stage, path: &Path) -> String {
    path.strip_prefix(stage.top()).unwrap_or(path).display().to_string()
}

/// Says in which files a state differs from another; times count with `times`.
fn differences(stage: &Stage, is: &State, wanted: &State, times: bool) -> Vec<String> {
    let mut out = Vec::new();
    for (path, kept) in wanted {
        match is.get(path) {
            None => out.push(format!("{} is gone", short(stage, path))),
            Some(is) if is.bytes != kept.bytes => out.push(format!(
                "{} has {} bytes, not {}",
                short(stage, path),
                is.bytes.len(),
                kept.bytes.len()
            )),
            // A session whose mode can't be read is exported for its owner alone.
            Some(is)
                if is.mode != kept.mode && (is.mode & 0o777 != 0o600 || stage.old.contains_key(path)) =>
            {
                out.push(format!("{} has the mode {:o}, not {:o}", short(stage, path), is.mode, kept.mode))
            }
            Some(is) if times && is.mtime != kept.mtime => {
                out.push(format!("{} has another time", short(stage, path)))
            }
            Some(_) => {}
        }
    }
    for path in is.keys().filter(|path| !wanted.contains_key(*path) && !is_leftover(path)) {
        out.push(format!("{} is there", short(stage, path)));
    }
    out
}

/// Looks whether each file is the old one or the new one.
fn is_whole(stage: &Stage, now: &State) -> Vec<String> {
    let mut out = Vec::new();
    for (path, is) in now.iter().filter(|(path, _)| !is_leftover(path)) {
        let (old, new) = (stage.old.get(path), stage.new.get(path));
        let like = |kept: Option<&super::stage::Kept>| kept.is_some_and(|kept| kept.bytes == is.bytes);
        if !like(old) && !like(new) {
            // A killed append may leave a part of itself, which an undo removes.
            let is_part = old.is_some_and(|old| is.bytes.starts_with(&old.bytes))
                && new.is_some_and(|new| new.bytes.starts_with(&is.bytes));
            if !is_part {
                out.push(format!("{} is neither old nor new", short(stage, path)));
            }
        }
    }
    for path in stage.old.keys().filter(|path| !now.contains_key(*path) && stage.new.contains_key(*path)) {
        out.push(format!("{} is gone", short(stage, path)));
    }
    // The file of a session gets its name after those that belong to it.
    for path in stage.new.keys().filter(|path| !stage.old.contains_key(*path) && now.contains_key(*path)) {
        let own = path.with_extension("");
        let missing = stage.new.keys().filter(|other| other.starts_with(&own) && !now.contains_key(*other));
        out.extend(missing.map(|other| format!("{} is missing", short(stage, other))));
    }
    out
}

/// The command ends in the middle; then undo, the same command again, and cleaning up must work.
fn stop(stage: &Stage, at: usize, act: Act) -> Vec<String> {
    let mut short_of = false;
    let (output, _) = stage
        .run_stopped(stage.scene.words, |number, call| match act {
            Act::Short(_) if short_of && call.name != "close" => Act::Kill,
            // The numbers differ by a little from run to run.
            Act::Short(_) if number >= at && call.name == "write" => {
                short_of = true;
                act
            }
            Act::Short(_) => Act::Pass,
            _ if number == at => act,
            _ => Act::Pass,
        })
        .unwrap();
    let status = stopped::status(&output);
    let mut wrong = Vec::new();
    let is_fine = match act {
        Act::Signal(signal) => status == 128 + signal || status == stage.status,
        _ => status == 128 + libc::SIGKILL || status == stage.status,
    };
    if !is_fine {
        wrong.push(format!("exit {status}: {}", said(&output)));
    }
    let left = stage.leftovers();
    if matches!(act, Act::Signal(_)) && is_all_or_nothing(stage.scene.words) {
        wrong.extend(left.iter().map(|path| format!("{} is left", short(stage, path))));
        // What moves or removes files empties folders, and removes them last.
        let empties =
            ["move ", "drop ", "undo --all"].iter().any(|command| stage.scene.words.starts_with(command));
        wrong.extend(
            empty_folders(&stage.work())
                .iter()
                .filter(|_| !empties)
                .map(|path| format!("{} is left", short(stage, path))),
        );
    }
    if is_archive(stage.scene.words) {
        wrong.extend(completes_archive(stage));
        return wrong;
    }
    let now = stage.state();
    wrong.extend(is_whole(stage, &now));
    wrong.extend(aftermath(stage, &now));
    wrong
}

/// Returns the empty folders below a folder.
fn empty_folders(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = file.path();
        if file.file_type().is_ok_and(|kind| kind.is_dir()) {
            let is_empty = fs::read_dir(&path).is_ok_and(|mut files| files.next().is_none());
            match is_empty {
                true => out.push(path),
                false => out.extend(empty_folders(&path)),
            }
        }
    }
    out
}

fn aftermath(stage: &Stage, now: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = stage.name();
    let words = stage.scene.words;
    let left = stage.leftovers();
    let log = stage.run("op log --json");
    if !log.status.success() || !log.stderr.is_empty() {
        wrong.push(format!("op log: {}", said(&log)));
    }
    let newest = stage
        .operations()
        .into_iter()
        .find(|(id, state)| state != "failed" && !stage.operations.contains(id));
    stage.keep("stopped");
    let is_redo = words.starts_with("redo");
    if is_redo || words.starts_with("undo") {
        // The same again finishes it, unless it was done already; the opposite leads to the other side.
        let (same, opposite) = if is_redo { ("redo", "undo") } else { ("undo", "redo") };
        let is_done = newest.is_some_and(|(_, state)| state == "done");
        let name = if words.ends_with("--all") { "--all" } else { name };
        let done = stage.run(&if is_done { "op log".to_owned() } else { format!("{same} {name}") });
        let first = stage.state();
        let (old, new) =
            (differences(stage, &first, &stage.old, false), differences(stage, &first, &stage.new, false));
        if !done.status.success() || !(old.is_empty() || new.is_empty()) {
            wrong.push(format!("{same} after it: {} {old:?} {new:?}", said(&done)));
        } else {
            let again = stage.run(&format!("{opposite} {name}"));
            let other = if old.is_empty() { &stage.new } else { &stage.old };
            let differs = differences(stage, &stage.state(), other, false);
            if !again.status.success() || !differs.is_empty() {
                wrong.push(format!("{opposite} after that: {} {differs:?}", said(&again)));
            }
        }
    } else if !words.starts_with("op ") {
        match newest {
            Some((id, _)) => {
                let done = stage.run(&format!("undo {id}"));
                let differs = differences(stage, &stage.state(), &stage.old, true);
                if !done.status.success() || !differs.is_empty() {
                    wrong.push(format!("undo after it: {} {differs:?}", said(&done)));
                }
            }
            None => {
                let differs = differences(stage, now, &stage.old, true);
                // A new file that is not a session of an agent is no operation.
                let is_done = words.starts_with("export ")
                    && !words.contains("overwrite")
                    && (!is_all_or_nothing(words) || differences(stage, now, &stage.new, false).is_empty());
                if !differs.is_empty() && !is_done {
                    wrong.push(format!("there is no operation, but {differs:?}"));
                }
            }
        }
    }
    stage.put_back("stopped");
    if !left.is_empty() {
        // An empty lock of oh-my-pi is another program's, until it is old enough.
        if left.iter().any(|path| path.extension().is_some_and(|ending| ending == "lock")) {
            std::thread::sleep(std::time::Duration::from_millis(600));
        }
        let found = stage.run("fsck .");
        for path in
            left.iter().filter(|path| path.starts_with(stage.work()) && path.parent() == Some(&stage.work()))
        {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !said(&found).contains(&name) {
                wrong.push(format!("fsck does not name {name}"));
            }
        }
    }
    if !is_redo && !words.starts_with("undo") {
        let again = stage.run(words);
        let is_as_before = differences(stage, now, &stage.old, false).is_empty();
        let worked = [Some(0), Some(1)].contains(&again.status.code());
        // What is done, or half done, may be refused the second time.
        let is_refused = !is_as_before && again.status.code().is_some_and(|status| (2..=5).contains(&status));
        if !worked && !is_refused {
            wrong.push(format!("the same again: {}", said(&again)));
        }
    }
    let pruned = stage.run("op prune");
    if !pruned.status.success() {
        wrong.push(format!("op prune: {}", said(&pruned)));
    }
    let left = stage.leftovers();
    let told = said(&pruned);
    wrong.extend(left.iter().map(|path| format!("op prune leaves {}: {told}", short(stage, path))));
    wrong
}

/// Returns whether a command that ends early must leave everything as before. The operation log is
/// cleaned step by step, what an archive already has is kept for the next run, and so are pages.
fn is_all_or_nothing(words: &str) -> bool {
    !words.starts_with("op ") && !is_archive(words) && !words.starts_with(super::scenes::SITE)
}

/// Returns whether a command copies sessions to an archive.
fn is_archive(words: &str) -> bool {
    words.starts_with("archive")
}

/// What must hold of an archive, however its command ended: the sessions are as before, and another
/// run completes it.
fn completes_archive(stage: &Stage) -> Vec<String> {
    let mut wrong = Vec::new();
    let now = stage.state();
    for (path, kept) in &stage.old {
        if now.get(path).is_none_or(|now| now.bytes != kept.bytes || now.mtime != kept.mtime) {
            wrong.push(format!("{} was changed", short(stage, path)));
        }
    }
    for words in ["archive", "archive --verify", "restore 254d35dc --to back"] {
        let output = stage.run(words);
        if !output.status.success() {
            wrong.push(format!("{words} after it: {}", said(&output)));
        }
    }
    let back = stage.work().join("back").join(stage.session().file_name().unwrap());
    if fs::read(&back).ok() != fs::read(stage.session()).ok() {
        wrong.push("another session was restored".to_owned());
    }
    wrong
}

/// What must hold after a command that nothing ended: it is done, or it says why not and all is as before.
fn ended(stage: &Stage, output: &Output, may_leave: bool) -> Vec<String> {
    let status = stopped::status(output);
    let now = stage.state();
    let mut wrong = Vec::new();
    match status {
        0 | 1 if status == stage.status => {
            if is_all_or_nothing(stage.scene.words) {
                wrong.extend(differences(stage, &now, &stage.new, false));
            }
        }
        0..=6 => {
            let differs = differences(stage, &now, &stage.old, true);
            if !differs.is_empty() && is_all_or_nothing(stage.scene.words) {
                let told = said(output);
                // A file that can't be repaired does not keep the others from it.
                let is_partly_done =
                    stage.scene.words.starts_with("fsck ") && is_whole(stage, &now).is_empty();
                if is_partly_done || told.contains("could not be restored") {
                    let id = stage.operations().into_iter().next().map(|(id, _)| id).unwrap_or_default();
                    let undone = stage.run(&format!("undo {id}"));
                    let differs = differences(stage, &stage.state(), &stage.old, false);
                    if !undone.status.success() || !differs.is_empty() {
                        wrong.push(format!("{told}; undo: {} {differs:?}", said(&undone)));
                    }
                } else {
                    wrong.push(format!("exit {status}, but {differs:?}: {told}"));
                }
            }
        }
        _ => wrong.push(format!("exit {status}: {}", said(output))),
    }
    if !may_leave && is_all_or_nothing(stage.scene.words) {
        wrong.extend(stage.leftovers().iter().map(|path| format!("{} is left", short(stage, path))));
    }
    wrong
}

fn fail(stage: &Stage, at: usize, act: Act) -> Vec<String> {
    let (mut failed, mut is_short) = (None, None);
    let (output, _) = stage
        .run_stopped(stage.scene.words, |number, call| match (act, is_short) {
            (Act::Short(_), None) if number >= at && call.name == "write" => {
                is_short = Some(true);
                act
            }
            (Act::Short(_), Some(true)) if call.name == "write" => {
                is_short = Some(false);
                Act::Fail(libc::ENOSPC)
            }
            (Act::Short(_), _) => Act::Pass,
            // The numbers differ by a little from run to run.
            _ if number >= at && failed.is_none() && can_fail(call.name) => {
                failed = Some(call.name);
                act
            }
            _ => Act::Pass,
        })
        .unwrap();
    // A file that can't be removed stays, and one that can't be looked at too.
    let may_leave = failed == Some("unlink");
    let mut wrong = ended(stage, &output, may_leave);
    if is_archive(stage.scene.words) {
        wrong.extend(completes_archive(stage));
    }
    let log = stage.run("op log --json");
    if !log.status.success() || !log.stderr.is_empty() {
        wrong.push(format!("op log: {}", said(&log)));
    }
    wrong
}

fn is_chimeras(path: &Path) -> bool {
    path.iter().any(|part| part == ".chimera")
}

/// How often the line of the agent is in a session, which may have moved.
fn count(stage: &Stage, path: &Path) -> usize {
    let times = |path: &Path| {
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).matches(MARK).count()
    };
    match path.exists() {
        true => times(path),
        // Chimera's sessions get another name.
        false => sessions_below(&stage.work())
            .iter()
            .filter(|moved| moved.file_name() == path.file_name() || is_chimeras(path))
            .map(|moved| times(moved))
            .sum(),
    }
}

fn beside_an_agent(stage: &Stage, kind: Kind, at: usize, act: Act) -> Vec<String> {
    let session = stage.session();
    let line = agents_line(&fs::read(&session).unwrap_or_default());
    let mut held = None;
    if kind == Kind::Held {
        // A session that is yet to be restored can't be open.
        let Ok(file) = File::options().append(true).open(&session) else { return Vec::new() };
        held = Some(file);
    }
    let words = match kind {
        Kind::Held if !stage.scene.words.contains("--allow") => format!("{} --allow=live", stage.scene.words),
        _ => stage.scene.words.to_owned(),
    };
    if kind == Kind::Held && !is_all_or_nothing(stage.scene.words) {
        return Vec::new();
    }
    let mut came = false;
    let (output, _) = stage
        .run_stopped(&words, |number, _| {
            if number == at {
                came = match (kind, &mut held) {
                    (Kind::Held, Some(file)) => file.write_all(line.as_bytes()).is_ok(),
                    (Kind::Replace, _) => replace(&session, &line),
                    _ => append(&session, &line),
                };
                return act;
            }
            if number > at + 3 {
                held = None;
            }
            Act::Pass
        })
        .unwrap();
    drop(held);
    let mut wrong = Vec::new();
    let status = stopped::status(&output);
    if !(0..=6).contains(&status) {
        wrong.push(format!("exit {status}: {}", said(&output)));
    }
    if !came {
        return wrong;
    }
    let there = count(stage, &session);
    if there != 1 {
        wrong.push(format!("exit {status}: the line of the agent is there {there} times: {}", said(&output)));
    }
    wrong.extend(
        stage
            .leftovers()
            .iter()
            .filter(|_| is_all_or_nothing(&words))
            .map(|path| format!("{} is left", short(stage, path))),
    );
    // What the agent wrote outlives the undo of what bough wrote.
    if status == 0 && is_all_or_nothing(&words) {
        let undone = stage.run(&format!("undo {}", stage.name()));
        let there = count(stage, &session);
        if there != 1 {
            wrong.push(format!("after an undo, the line is there {there} times: {}", said(&undone)));
        }
    }
    wrong
}

fn append(session: &Path, line: &str) -> bool {
    let Ok(mut file) = File::options().append(true).open(session) else { return false };
    file.write_all(line.as_bytes()).is_ok()
}

/// Puts a file in the place of the session that has a line more, as oh-my-pi does.
fn replace(session: &Path, line: &str) -> bool {
    let Ok(mut bytes) = fs::read(session) else { return false };
    bytes.extend_from_slice(line.as_bytes());
    let beside = session.with_file_name("beside.tmp");
    fs::write(&beside, bytes).is_ok() && fs::rename(beside, session).is_ok()
}

/// A small disk on which the trials are made.
struct Disk(PathBuf);

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn fill_the_disk(stage: &Stage, step: usize, outcome: &mut Outcome) {
    let top = stage.top();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m,mode=755", "bough-sweep"])
        .arg(&top)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return;
    }
    let _disk = Disk(top.clone());
    for (at, pages) in (0..48).enumerate() {
        if at % step != 0 {
            continue;
        }
        let _ = fs::remove_file(top.join("filler"));
        stage.begin_anew();
        fs::create_dir_all(top.join("home")).unwrap();
        fs::create_dir_all(top.join("state")).unwrap();
        let free = free_pages(&top);
        fs::write(top.join("filler"), vec![0; 4096 * free.saturating_sub(pages)]).unwrap();
        let output = stage.run(stage.scene.words);
        let _ = fs::remove_file(top.join("filler"));
        outcome.trials += 1;
        let mut wrong = ended(stage, &output, false);
        let log = stage.run("op log --json");
        if !log.status.success() || !log.stderr.is_empty() {
            wrong.push(format!("op log: {}", said(&log)));
        }
        let words = stage.scene.words;
        outcome
            .failures
            .extend(wrong.into_iter().map(|wrong| format!("{words} with {pages} pages: {wrong}")));
    }
}

fn free_pages(folder: &Path) -> usize {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::CString::new(folder.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name ends in a NUL, and the struct is written by the call.
    unsafe {
        let mut facts: libc::statvfs = std::mem::zeroed();
        assert_eq!(libc::statvfs(name.as_ptr(), &raw mut facts), 0);
        (facts.f_bavail * facts.f_frsize / 4096) as usize
    }
}
