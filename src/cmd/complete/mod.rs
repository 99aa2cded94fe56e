//! Completion with Tab: what the shell offers for a half-typed word (sessions, revisions, labels, kinds).
//!
//! The shell asks bough itself (`COMPLETE=bash bough`), with the words typed so far. [`shells`]
//! communicates with each shell, [`mod@line`] finds the session among the words, and [`offers`]
//! contains the candidates. A completion that takes too long is worse than none: anything that is
//! not known after [`PATIENCE`] is left out.

mod line;
mod offers;
mod shells;

use super::Cli;
use crate::fsck::CHECKS;
use crate::model::Kind;
use clap::CommandFactory;
use clap_complete::engine::CompletionCandidate;
use line::Typed;
use offers::{Revisions, candidate};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// How long a shell has to wait at most.
const PATIENCE: Duration = Duration::from_millis(150);

/// How long a shell has to wait at most if there is nothing to offer before.
const LONGEST: Duration = Duration::from_millis(1000);

/// Answers a shell that asks for its script, or for candidates after the words typed; then the
/// program ends. Returns if the shell asks for neither.
pub(super) fn answer() {
    clap_complete::CompleteEnv::with_factory(Cli::command).shells(shells::ALL).complete();
}

/// Completes the pages of `help`.
pub(super) fn help_words(current: &OsStr) -> Vec<CompletionCandidate> {
    let commands = super::GROUPS.iter().flat_map(|(_, names)| *names).copied();
    with_prefix(current, commands.chain(super::man::topics()))
}

/// Completes the first word of a command as a session, if none is given yet, and other words as
/// single entries.
pub(super) fn first_words(current: &OsStr) -> Vec<CompletionCandidate> {
    first_words_of(current, Revisions::One)
}

/// Does the same for a command that takes sets of entries, too, such as `leaves`.
pub(super) fn first_words_or_sets(current: &OsStr) -> Vec<CompletionCandidate> {
    first_words_of(current, Revisions::Set)
}

fn first_words_of(current: &OsStr, wanted: Revisions) -> Vec<CompletionCandidate> {
    in_parts(current, move |typed, current, give| {
        if with_session(typed, current, give) {
            return;
        }
        let may_be_session = typed.may_name_session();
        let mut out = if may_be_session { offers::files(current) } else { Vec::new() };
        out.extend(
            typed.open_from().map(|opened| offers::revisions(&opened, current, wanted)).unwrap_or_default(),
        );
        give(out);
        if may_be_session && current.len() >= SESSION && !current.contains('/') {
            offers::sessions(typed.roots(), current, Instant::now() + PATIENCE / 3, give);
        }
    })
}

/// From so many characters on, a word that may be an entry is completed as a session too.
const SESSION: usize = 3;

/// Completes the session of `REV@SESSION`; says whether the word is of that form.
fn with_session(typed: &Typed, current: &str, give: &mut dyn FnMut(Vec<CompletionCandidate>)) -> bool {
    let Some((revision, session)) = current.rsplit_once('@') else { return false };
    if revision.is_empty()
        || session.starts_with(['{', '~', '^', '-', '+', '.', ':'])
        || session.contains('/')
    {
        return false;
    }
    let mut found = false;
    offers::sessions(typed.roots(), session, Instant::now() + PATIENCE * 2 / 3, &mut |part| {
        found |= !part.is_empty();
        give(part.into_iter().map(|offer| offer.add_prefix(format!("{revision}@"))).collect());
    });
    found
}

/// Completes an entry of the session that the command works on.
pub(super) fn revisions(current: &OsStr) -> Vec<CompletionCandidate> {
    in_parts(current, |typed, current, give| {
        if !with_session(typed, current, give) {
            give(
                typed
                    .open()
                    .map(|opened| offers::revisions(&opened, current, Revisions::One))
                    .unwrap_or_default(),
            );
        }
    })
}

/// Completes the name of a session: files, ids, names, `latest`.
pub(super) fn sessions(current: &OsStr) -> Vec<CompletionCandidate> {
    in_parts(current, |typed, current, give| {
        let mut out = offers::files(current);
        if !current.contains('/') && "latest".starts_with(current) {
            out.push(candidate("latest".into(), "the newest session of the current folder"));
        }
        give(out);
        if !current.contains('/') {
            offers::sessions(typed.roots(), current, Instant::now() + PATIENCE * 2 / 3, give);
        }
    })
}

/// Completes session files and folders, for commands that take nothing else; ids and names of sessions as well, once one
/// has begun.
pub(super) fn session_files(current: &OsStr) -> Vec<CompletionCandidate> {
    match current.is_empty() {
        true => in_time(current, |_, current| offers::files(current)),
        false => sessions(current),
    }
}

/// Completes the arguments of `label`: the session, the name of a label, an entry; with `-d`, a
/// label to delete.
pub(super) fn label_words(current: &OsStr) -> Vec<CompletionCandidate> {
    in_time(current, |typed, current| {
        let mut out = if typed.may_name_session() { offers::files(current) } else { Vec::new() };
        let Some(opened) = typed.open() else { return out };
        let clears = typed.has("delete");
        out.extend(match typed.words.len() {
            0 => offers::labels(&opened, current),
            1 if !clears => offers::revisions(&opened, current, Revisions::One),
            _ => Vec::new(),
        });
        out
    })
}

/// Completes an operation of the log, newest first; the first word may be a session.
pub(super) fn operations(current: &OsStr) -> Vec<CompletionCandidate> {
    in_time(current, |typed, current| {
        let mut out = if typed.may_name_session() { offers::files(current) } else { Vec::new() };
        out.extend(offers::operations(current));
        out
    })
}

/// Completes an operation of the log, newest first.
pub(super) fn only_operations(current: &OsStr) -> Vec<CompletionCandidate> {
    in_time(current, |_, current| offers::operations(current))
}

/// Completes a session of the archive.
pub(super) fn archived(current: &OsStr) -> Vec<CompletionCandidate> {
    in_time(current, |typed, current| offers::archived(typed.folder_of_archive(), current))
}

/// Completes a kind of entry.
pub(super) fn kinds(current: &OsStr) -> Vec<CompletionCandidate> {
    with_prefix(current, Kind::ALL.map(Kind::name))
}

/// Completes the keys of `branches --sort`.
pub(super) fn branch_orders(current: &OsStr) -> Vec<CompletionCandidate> {
    with_prefix(current, ["age", "entries", "own", "name"])
}

/// Completes the keys of `sessions --sort`.
pub(super) fn session_orders(current: &OsStr) -> Vec<CompletionCandidate> {
    with_prefix(current, ["age", "size", "entries", "branches", "name", "folder"])
}

/// Completes the named templates of `log --format`.
pub(super) fn templates(current: &OsStr) -> Vec<CompletionCandidate> {
    with_prefix(current, ["oneline", "short", "full", "raw"])
}

/// Completes the name of a check, with its description.
pub(super) fn checks(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let fit = CHECKS.iter().filter(|row| row.id.starts_with(&*current));
    fit.map(|row| candidate(row.id.into(), row.what.trim_end_matches('.'))).collect()
}

/// Completes a repair strategy, for `fsck --strategy`.
pub(super) fn strategies(current: &OsStr) -> Vec<CompletionCandidate> {
    let ways = CHECKS.iter().flat_map(|row| row.strategies.iter().map(|way| format!("{}={way}", row.id)));
    with_prefix(current, ways.collect::<Vec<_>>())
}

/// Returns the words of a list that have the typed one as a prefix.
fn with_prefix<W: Into<String>>(
    current: &OsStr,
    words: impl IntoIterator<Item = W>,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let fit = words.into_iter().map(Into::into).filter(|word| word.starts_with(&*current));
    fit.map(|word| candidate(word, "")).collect()
}

/// Returns the result of `work` for the typed word, if it is ready in time.
fn in_time(
    current: &OsStr,
    work: impl FnOnce(&Typed, &str) -> Vec<CompletionCandidate> + Send + 'static,
) -> Vec<CompletionCandidate> {
    in_parts(current, |typed, current, give| give(work(typed, current)))
}

/// Returns the parts of the result of `work` that are ready in time. If there are none, waits a
/// little longer for the first part.
fn in_parts(
    current: &OsStr,
    work: impl FnOnce(&Typed, &str, &mut dyn FnMut(Vec<CompletionCandidate>)) + Send + 'static,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy().into_owned();
    let began = Instant::now();
    let (give, take) = mpsc::channel();
    // The work is in a slot that can be emptied if no thread takes it.
    let work = Arc::new(Mutex::new(Some(work)));
    let (theirs, word) = (Arc::clone(&work), current.clone());
    let started = std::thread::Builder::new().spawn(move || {
        let work = theirs.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut give = |part| _ = give.send(part);
        if let Some(work) = work {
            work(line::typed(), &word, &mut give);
        }
    });
    if started.is_err() {
        let mut out = Vec::new();
        // No thread is available: it takes as long as it takes.
        if let Some(work) = work.lock().unwrap_or_else(PoisonError::into_inner).take() {
            work(line::typed(), &current, &mut |part| out.extend(part));
        }
        return out;
    }
    collect_in_time(&take, began)
}

/// Returns the candidates that arrive in time.
fn collect_in_time(
    take: &mpsc::Receiver<Vec<CompletionCandidate>>,
    began: Instant,
) -> Vec<CompletionCandidate> {
    let mut out = Vec::new();
    loop {
        let patience = if out.is_empty() { LONGEST } else { PATIENCE };
        match take.recv_timeout(patience.saturating_sub(began.elapsed())) {
            Ok(part) => out.extend(part),
            Err(_) => return out,
        }
    }
}
