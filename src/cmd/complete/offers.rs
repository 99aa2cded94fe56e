//! Completion candidates: files, sessions, revisions, labels, operations.

use super::line::at_home;
use crate::cmd::shared::{parallel, session_arg};
use crate::format::{Content, Session};
use crate::model::{Ix, Source};
use crate::ops::tool_calls::ToolCalls;
use crate::ops::turns::{Prompt, Thread, Turn};
use crate::ops::{Snapshot, branches, ids};
use crate::store;
use crate::store::archive::{Archive, Item};
use crate::store::{Opened, locate};
use crate::ui::text;
use clap_complete::engine::CompletionCandidate;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// The maximum number of entries, of sessions, and of operations that are offered.
const MOST: usize = 60;

/// How many sessions are so many that there may be no time to look at each.
const MANY: usize = 1000;
/// How much of an entry is shown after its id, in display cells.
const PREVIEW: usize = 50;
/// The longest line that is read for a preview, in bytes: sixty of them can still be read in time.
const LONG: u64 = 1 << 20;

/// Returns one candidate; the help is shown next to it.
pub(super) fn candidate(value: String, help: &str) -> CompletionCandidate {
    let help = (!help.is_empty()).then(|| help.to_owned().into());
    CompletionCandidate::new(value).help(help)
}

/// Returns session files and folders with the word as a prefix.
pub(super) fn files(current: &str) -> Vec<CompletionCandidate> {
    let (folder, start) = current.rfind('/').map_or(("", current), |at| current.split_at(at + 1));
    let read = if folder.is_empty() { ".".into() } else { at_home(folder) };
    let Ok(entries) = std::fs::read_dir(read) else { return Vec::new() };
    let mut out = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(start) || name.starts_with('.') && !start.starts_with('.') {
            continue;
        }
        if entry.path().is_dir() {
            out.push(format!("{folder}{name}/"));
        } else if store::compressed::is_session_name(Path::new(&name)) {
            out.push(format!("{folder}{name}"));
        }
    }
    out.sort();
    out.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the sessions of all stores, newest first, by their ids; also by their names, once a name
/// has begun.
///
/// If there are very many, those that are found by `until` count; if there are none yet, the next
/// one. The most recently changed folders come first, so that these are the newest as far as
/// possible.
pub(super) fn sessions(
    roots: &[PathBuf],
    current: &str,
    until: Instant,
    give: &mut dyn FnMut(Vec<CompletionCandidate>),
) {
    let is_over = || Instant::now() >= until;
    let (mut all, mut fit) = (Vec::new(), 0);
    locate::each_folder(&locate::stores(roots), &mut |mut found| {
        for found in &found {
            fit += usize::from(locate::id_in_name(&found.path).starts_with(current));
        }
        all.append(&mut found);
        if fit > 0 && is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let time = |found: &locate::Found| if is_over() { SystemTime::UNIX_EPOCH } else { found.modified() };
    let (mut by_id, others): (Vec<locate::Found>, Vec<locate::Found>) =
        all.into_iter().partition(|found| locate::id_in_name(&found.path).starts_with(current));
    put_newest_names_first(&mut by_id);
    by_id.sort_by_cached_key(|found| Reverse(time(found)));
    by_id.truncate(MOST);
    give(parallel::map(&by_id, |found| {
        let name = if is_over() { None } else { session_arg::title(&found.path) };
        let name = name.unwrap_or_else(|| folder(&found.path));
        let help = format!("{} {}", found.agent, text::fit(&text::one_line(&name), PREVIEW));
        candidate(locate::id_in_name(&found.path), help.trim_start())
    }));
    if current.is_empty() || is_over() {
        return;
    }
    let mut newest = [by_id, others].concat();
    newest.sort_by_cached_key(|found| Reverse(time(found)));
    newest.truncate(MOST);
    let named = parallel::map(&newest, |found| if is_over() { None } else { name(&found.path) });
    let fit = newest.iter().zip(named).filter_map(|(found, name)| Some((name?, found)));
    let fit: Vec<_> = fit.filter(|(name, _)| name.starts_with(current)).collect();
    // A name of several sessions names none of them.
    let mut count: HashMap<&str, usize> = HashMap::new();
    for (name, _) in &fit {
        *count.entry(name).or_default() += 1;
    }
    let only = fit.iter().filter(|(name, _)| count[&**name] == 1);
    give(only.map(|(name, found)| candidate(name.clone(), &locate::id_in_name(&found.path))).collect());
}

/// Puts the sessions with the newest names first if there are very many, because there may be no
/// time to ask for the times of all. The names of most agents begin with the time of creation.
fn put_newest_names_first(found: &mut [locate::Found]) {
    if found.len() <= MANY {
        return;
    }
    let newest = |a: &locate::Found, b: &locate::Found| b.path.file_name().cmp(&a.path.file_name());
    let (first, ..) = found.select_nth_unstable_by(MANY, newest);
    first.sort_unstable_by(newest);
}

/// Returns the name of a session, if it is near one of the ends of its file.
fn name(path: &Path) -> Option<String> {
    let opened = store::open_ends(path, store::Options::default()).ok()?;
    opened.session.name.filter(|name| !name.contains('\n'))
}

fn folder(path: &Path) -> String {
    path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the current labels with the word as a prefix.
pub(super) fn labels(opened: &Opened, current: &str) -> Vec<CompletionCandidate> {
    let fit = labels_of(opened).into_iter().filter(|(name, _)| name.starts_with(current)).take(MOST);
    fit.map(|(name, ix)| candidate(name, &preview(&opened.session, &opened.files, ix))).collect()
}

/// Returns operations whose ids have the word as a prefix, newest first.
pub(super) fn operations(current: &str) -> Vec<CompletionCandidate> {
    let mut out = Vec::new();
    let Some(mut reader) = store::oplog::Log::of_user().and_then(|log| log.reader().ok()) else { return out };
    while out.len() < MOST
        && let Ok(Some(operation)) = reader.next()
    {
        if operation.op_id.starts_with(current) {
            let file = operation.file.file_name().unwrap_or_default().to_string_lossy();
            out.push(candidate(operation.op_id.clone(), &format!("{} {}", operation.command, file)));
        }
    }
    out
}

/// Returns the sessions of an archive, that of the user by default, whose ids have the word as a prefix,
/// newest first; with their titles, or else their folders.
pub(super) fn archived(folder: Option<PathBuf>, current: &str) -> Vec<CompletionCandidate> {
    let archive = folder.map_or_else(Archive::of_user, |folder| Some(Archive::in_folder(folder)));
    let contents =
        archive.filter(Archive::exists).and_then(|archive| archive.read().ok()).unwrap_or_default();
    let fits = |item: &&Item| item.main && item.session.starts_with(current);
    let mut found: Vec<&Item> = contents.latest().into_iter().filter(fits).collect();
    found.sort_by_key(|item| Reverse(item.mtime));
    let help = |item: &Item| item.title.clone().or(item.cwd.clone()).unwrap_or_default();
    found.into_iter().take(MOST).map(|item| candidate(item.session.clone(), &help(item))).collect()
}

/// Which revisions a command takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Revisions {
    /// Those that name one entry.
    One,
    /// Sets of entries, too.
    Set,
}

/// Returns the ends of branches, and the entries whose id begins with what is typed.
fn entries_that_begin(opened: &Opened, typed: &str) -> Vec<(String, Ix)> {
    let (session, source) = (&opened.session, &opened.files);
    let mut out = Vec::new();
    let tips: Vec<Ix> =
        branches::list(session, branches::BranchRule::Conversation).iter().map(|one| one.tip).collect();
    let others = session.tree.entries_in_tree().rev().filter(|_| !typed.is_empty());
    let start = &typed.as_bytes()[..typed.len().min(8)];
    let fits = |ix: &Ix| {
        let id = session.entries.id_start(*ix);
        // An entry without an id is named by its line.
        id.starts_with(start) || id.is_empty()
    };
    let all: Vec<Ix> = tips.into_iter().rev().chain(others).filter(fits).collect();
    let short = ids::ShortIds::default();
    for ix in at_most(all, |ix| session.entries.id_start(ix)) {
        // A word that is longer than a short id is completed to the whole id.
        let id = short.short_id(session, source, ix);
        let whole = id.as_ref().is_ok_and(|id| id.len() < typed.len());
        if let Ok(id) = if whole { ids::id(session, source, ix) } else { id } {
            out.push((id, ix));
        }
    }
    out
}

/// Returns the last prompts; once the word has begun, all turns and replies by their numbers.
fn turns_named(opened: &Opened, last: &str) -> Vec<(String, Ix)> {
    let (session, source) = (&opened.session, &opened.files);
    let mut out = Vec::new();
    let turns =
        Thread::new(Snapshot { session, source }).and_then(|thread| thread.turns()).unwrap_or_default();
    let prompt = |turn: &Turn| match turn.prompt {
        Prompt::Entry(ix) => Some(ix),
        Prompt::Queued { .. } => None,
    };
    for (back, turn) in turns.iter().rev().enumerate().take(5) {
        if let Some(ix) = prompt(turn) {
            out.push((format!("turn:-{}", back + 1), ix));
        }
    }
    for (word, entry) in [("turn:", &prompt as &dyn Fn(&Turn) -> Option<Ix>), ("reply:", &|turn| turn.reply)]
    {
        let begun = !last.is_empty() && word.starts_with(&last[..last.len().min(word.len())]);
        for (at, turn) in turns.iter().enumerate().filter(|_| begun) {
            if let Some(ix) = entry(turn) {
                out.push((format!("{word}{}", at + 1), ix));
            }
        }
    }
    out
}

/// Returns revisions; for a range, its last side.
///
/// Labels, HEAD, the last prompts and the ends of branches come first; once the word has begun, any
/// entry with that prefix, the last one first.
pub(super) fn revisions(opened: &Opened, current: &str, wanted: Revisions) -> Vec<CompletionCandidate> {
    let (before, last) = ["...", "..", "::"]
        .iter()
        .find_map(|operator| current.rfind(operator).map(|at| current.split_at(at + operator.len())))
        .unwrap_or(("", current));
    let (session, source) = (&opened.session, &opened.files);
    let mut out = Vec::new();
    let mut offer = |name: String, ix: Option<Ix>| {
        if name.starts_with(last) {
            let help = ix.map(|ix| preview(session, source, ix)).unwrap_or_default();
            out.push(candidate(format!("{before}{name}"), &help));
        }
    };
    let labels = labels_of(opened);
    for (name, ix) in &labels {
        offer(name.clone(), Some(*ix));
    }
    if last.starts_with("label:") {
        labels.iter().for_each(|(name, ix)| offer(format!("label:{name}"), Some(*ix)));
    }
    offer("HEAD".into(), session.head.entry);
    for (name, ix) in turns_named(opened, last) {
        offer(name, Some(ix));
    }
    if !last.is_empty() {
        offer("tip".into(), session.head.leaf);
    }
    if before.is_empty() {
        offer("root".into(), None);
        if wanted == Revisions::Set {
            ["roots", "leaves", "all"].into_iter().for_each(|set| offer(set.into(), None));
        }
    }
    let (prefix, typed) = last.strip_prefix("id:").map_or(("", last), |typed| ("id:", typed));
    for (id, ix) in entries_that_begin(opened, typed) {
        offer(format!("{prefix}{id}"), Some(ix));
    }
    out
}

/// Returns the first [`MOST`] of all entries, without duplicates, but always including the smallest
/// and the greatest.
///
/// The shell inserts the common prefix of all candidates, and that must not be longer than the
/// common prefix of all entries.
fn at_most<K: Ord>(all: Vec<Ix>, key: impl Fn(Ix) -> K) -> Vec<Ix> {
    let mut seen = HashSet::new();
    let ends =
        [all.iter().min_by_key(|ix| key(**ix)).copied(), all.iter().max_by_key(|ix| key(**ix)).copied()];
    let first = all.into_iter().filter(|ix| seen.insert(*ix)).take(MOST).collect::<Vec<_>>();
    let left_out = ends.into_iter().flatten().filter(|ix| !first.contains(ix)).collect::<HashSet<_>>();
    first.into_iter().chain(left_out).collect()
}

/// Returns the current labels, by name. A label on several entries is listed for each of them,
/// although it is ambiguous as a revision.
fn labels_of(opened: &Opened) -> Vec<(String, Ix)> {
    opened.session.labels.all().map(|(ix, line)| (line.text.to_owned(), ix)).collect()
}

/// Returns the kind of an entry, and its first words.
fn preview(session: &Session, source: &dyn Source, ix: Ix) -> String {
    let kind = session.entries.kind(ix).name();
    let span = session.span(ix);
    if span.len > LONG {
        return kind.to_owned();
    }
    let line = source.bytes(span).unwrap_or_default();
    let content = Content::read(session.format, &line);
    let call = ToolCalls::default().call_text(session, source, ix, &content);
    let words = text::one_line(&content.summary_of(&call));
    format!("{kind}: {}", text::fit(&words, PREVIEW))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_very_many_sessions_are_offered_although_the_time_is_over() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("--work--");
        std::fs::create_dir(&folder).unwrap();
        // Not in the order of their times.
        let all = 3 * MANY;
        for number in (0..all).map(|number| number * 7 % all) {
            let name = format!("2026-01-01T00-00-00-{number:05}Z_zz{number:05}.jsonl");
            std::fs::write(folder.join(name), "").unwrap();
        }
        let mut offered = Vec::new();
        sessions(&[root.path().to_owned()], "zz", Instant::now(), &mut |part| offered.extend(part));
        let offered: Vec<_> = offered.iter().map(|offer| offer.get_value().to_string_lossy()).collect();
        let newest: Vec<_> = (all - MOST..all).rev().map(|number| format!("zz{number:05}")).collect();
        assert_eq!(offered, newest);
    }

    #[test]
    fn sets_are_offered_only_where_a_command_takes_them() {
        let line = concat!(
            r#"{"type":"session","version":3,"id":"zz01","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#,
            "\n",
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), line).unwrap();
        let opened = store::open(file.path(), store::Options::default()).unwrap();
        let offered = |wanted| {
            let offered = revisions(&opened, "", wanted);
            offered.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(offered(Revisions::One), ["HEAD", "root"]);
        assert_eq!(offered(Revisions::Set), ["HEAD", "root", "roots", "leaves", "all"]);
    }

    #[test]
    fn a_session_without_a_name_is_offered_with_its_first_prompt() {
        let root = tempfile::tempdir().unwrap();
        let lines = concat!(
            r#"{"type":"session","version":3,"id":"zz01","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#,
            "\n",
            r#"{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-03-02T09:00:01.000Z","message":{"role":"user","content":"write a parser"}}"#,
            "\n",
        );
        let folder = root.path().join("--work--");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("2026_zz01.jsonl"), lines).unwrap();
        let later = Instant::now() + std::time::Duration::from_secs(60);
        let mut offered = Vec::new();
        sessions(&[root.path().to_owned()], "zz", later, &mut |part| offered.extend(part));
        let help = offered[0].get_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.ends_with("write a parser"), "{help}");
    }
}
