//! What the shell offers behind a half-typed word: sessions, revisions, labels, kinds.
//!
//! The shell asks bough itself (`COMPLETE=bash bough`), with the words typed so far. A completion that takes too long is worse
//! than none: what is not known after [`PATIENCE`] is left out.

use super::Cli;
use super::global::Global;
use super::open;
use crate::format::{Content, Session};
use crate::model::{Ix, Source};
use crate::ops::{ids, revision};
use crate::store::{self, Opened, find};
use crate::ui::{Look, Ui, text};
use clap::{CommandFactory, Parser};
use clap_complete::engine::CompletionCandidate;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// How long a shell is kept waiting.
const PATIENCE: Duration = Duration::from_millis(150);
/// How many entries are offered at the most.
const MOST: usize = 60;
/// How much of an entry is shown beside its id, in display cells.
const PREVIEW: usize = 50;

/// Answers a shell that asks for its script, or for what may stand behind the words typed; then the program ends.
/// Comes back where the shell asks for neither.
pub(super) fn answer(words: &[OsString]) {
    let asks_for_script = !words.iter().any(|word| word == "--");
    if asks_for_script && std::env::var_os("COMPLETE").is_some_and(|shell| shell == "bash") {
        // Bash takes words apart at colons, and with them the names of entries.
        let mut ui = Ui::standard(Look::default());
        let _ = writeln!(ui.out(), "COMP_WORDBREAKS=${{COMP_WORDBREAKS//:}}");
        let _ = ui.finish();
    }
    clap_complete::CompleteEnv::with_factory(Cli::command).complete();
}

/// Completes `-s`, and the first word of a command, as a session; other words as revisions.
pub(super) fn words(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy().into_owned();
    let typed = Typed::now();
    in_time(move || {
        let mut out = Vec::new();
        if typed.words.is_empty() && typed.session.is_none() {
            out.extend(files(&current));
        }
        out.extend(typed.open().map(|opened| revisions(&opened, &current)).unwrap_or_default());
        out
    })
}

/// Completes the name of a session: files, ids, names, `latest`.
pub(super) fn sessions(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy().into_owned();
    in_time(move || {
        let mut out = files(&current);
        if !current.contains('/') {
            if "latest".starts_with(&current) {
                out.push(candidate("latest".into(), "the newest session of this folder"));
            }
            out.extend(known_sessions(&current));
        }
        out
    })
}

/// Completes a session file, where a command takes nothing else.
pub(super) fn session_files(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy().into_owned();
    in_time(move || files(&current))
}

/// Completes a label that is to be cleared where `-d` stands before it; else as [`words`] does.
pub(super) fn words_or_labels(current: &OsStr) -> Vec<CompletionCandidate> {
    let clears = std::env::args().any(|word| word == "-d" || word == "--delete");
    if clears { labels(current) } else { words(current) }
}

/// Completes the name of a label in force.
fn labels(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy().into_owned();
    let typed = Typed::now();
    in_time(move || {
        let Some(opened) = typed.open() else { return Vec::new() };
        let mut out: Vec<_> =
            labels_of(&opened).into_iter().filter(|(name, _)| name.starts_with(&current)).collect();
        out.truncate(MOST);
        out.into_iter()
            .map(|(name, ix)| candidate(name, &preview(&opened.session, &opened.files, ix)))
            .collect()
    })
}

/// Completes an operation of the log, the newest first; the first word may be a session.
pub(super) fn operations(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy().into_owned();
    in_time(move || {
        let mut out = files(&current);
        let all = store::oplog::Log::of_user().and_then(|log| log.operations().ok()).unwrap_or_default();
        let fit = all.iter().rev().filter(|operation| operation.op_id.starts_with(&current)).take(MOST);
        out.extend(fit.map(|operation| candidate(operation.op_id.clone(), &operation.command)));
        out
    })
}

/// What `work` gives, if it does so before the shell's patience ends.
fn in_time(work: impl FnOnce() -> Vec<CompletionCandidate> + Send + 'static) -> Vec<CompletionCandidate> {
    let (give, take) = mpsc::channel();
    std::thread::spawn(move || give.send(work()));
    take.recv_timeout(PATIENCE).unwrap_or_default()
}

/// What stands on the command line already: the session, and the words before the one that is completed.
struct Typed {
    global: Option<Global>,
    session: Option<String>,
    words: Vec<String>,
}

/// The options of all commands, for finding them among words of a command that is not yet whole.
#[derive(Parser)]
#[command(ignore_errors = true, disable_help_flag = true)]
struct Loose {
    #[command(flatten)]
    global: Global,
    words: Vec<String>,
}

impl Typed {
    /// Reads the words that the shell gave behind `--`: the program, and the words up to the one that is completed.
    fn now() -> Typed {
        let words: Vec<OsString> = std::env::args_os().collect();
        let from = words.iter().position(|word| word == "--").map_or(words.len(), |at| at + 1);
        let line = &words[from..];
        // Shells tell which word is completed in ways of their own; where one does not, it is the last.
        let at = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
        let before = &line[..at.unwrap_or(line.len().saturating_sub(1)).min(line.len())];
        let Ok(loose) = Loose::try_parse_from(telling(before)) else {
            return Typed { global: None, session: None, words: Vec::new() };
        };
        let mut words = loose.words;
        // The command itself; of those with two words, as `op log`, the second is taken for a revision and does no harm.
        if !words.is_empty() {
            words.remove(0);
        }
        let named = loose.global.session.clone();
        let first = words.first().filter(|word| named.is_none() && open::looks_like_a_file(word)).cloned();
        let variable = std::env::var("BOUGH_SESSION").ok().filter(|word| !word.is_empty());
        let session = named.or(first);
        let words = if session.is_some() {
            words
        } else {
            words.into_iter().filter(|word| !word.starts_with('-')).collect()
        };
        Typed { global: Some(loose.global), session: session.or(variable), words }
    }

    fn open(&self) -> Option<Opened> {
        let path = match &self.session {
            Some(word) if word == "-" => return None,
            Some(word) => open::by_word(word).ok()?,
            None => open::latest().ok()?,
        };
        let options = self.global.as_ref().map(Global::options).unwrap_or_default();
        store::open(&path, options).ok()
    }
}

/// The words that tell the session: without the options that commands have of their own, which are not known here.
fn telling(words: &[OsString]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let takes_value = matches!(&*text, "-s" | "--session" | "--input-format");
        if takes_value || text == "-" || !text.starts_with('-') || text.starts_with("--session=") {
            out.push(word.clone());
        }
        if takes_value {
            out.extend(words.next().cloned());
        }
    }
    out
}

fn candidate(value: String, help: &str) -> CompletionCandidate {
    let help = (!help.is_empty()).then(|| help.to_owned().into());
    CompletionCandidate::new(value).help(help)
}

/// Session files and folders that begin as the word does.
fn files(current: &str) -> Vec<CompletionCandidate> {
    let (folder, start) = current.rfind('/').map_or(("", current), |at| current.split_at(at + 1));
    let Ok(entries) = std::fs::read_dir(if folder.is_empty() { "." } else { folder }) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(start) || name.starts_with('.') && !start.starts_with('.') {
            continue;
        }
        if entry.path().is_dir() {
            out.push(format!("{folder}{name}/"));
        } else if Path::new(&name).extension().is_some_and(|extension| extension == "jsonl") {
            out.push(format!("{folder}{name}"));
        }
    }
    out.sort();
    out.into_iter().map(CompletionCandidate::new).collect()
}

/// The newest sessions of all stores, by id.
fn known_sessions(current: &str) -> Vec<CompletionCandidate> {
    let mut all: Vec<find::Found> = find::stores(&[]).iter().flat_map(find::sessions).collect();
    all.retain(|found| find::id_in_name(&found.path).starts_with(current));
    all.sort_by_key(|found| std::cmp::Reverse(found.modified));
    all.truncate(MOST);
    let folder = |path: &Path| {
        path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
    };
    all.iter()
        .map(|found| {
            candidate(find::id_in_name(&found.path), &format!("{} {}", found.agent, folder(&found.path)))
        })
        .collect()
}

/// Revisions: of a range its last side.
fn revisions(opened: &Opened, current: &str) -> Vec<CompletionCandidate> {
    let (before, last) = ["...", "..", "::"]
        .iter()
        .find_map(|operator| current.rfind(operator).map(|at| current.split_at(at + operator.len())))
        .unwrap_or(("", current));
    let (session, source) = (&opened.session, &opened.files);
    let mut out = Vec::new();
    let mut offer = |name: String, help: String| {
        if name.starts_with(last) && out.len() < MOST {
            out.push(candidate(format!("{before}{name}"), &help));
        }
    };
    for (name, ix) in labels_of(opened) {
        offer(name, preview(session, source, ix));
    }
    if let Some(head) = session.head.entry {
        offer("HEAD".into(), preview(session, source, head));
    }
    let prompts: Vec<Ix> =
        session.path().into_iter().filter(|ix| revision::is_prompt(session, *ix)).collect();
    for (back, ix) in prompts.iter().rev().enumerate().take(5) {
        offer(format!("turn:-{}", back + 1), preview(session, source, *ix));
    }
    if before.is_empty() {
        for set in ["leaves", "roots", "all"] {
            offer(set.into(), String::new());
        }
    }
    let short = ids::ShortIds::default();
    // The ends of branches first, then, once the word has begun, whatever entry it may be.
    let leaves: Vec<Ix> = session.tree.leaves().collect();
    let others = session.tree.standing().rev().filter(|_| !last.is_empty());
    let mut shown = std::collections::HashSet::new();
    for ix in leaves.into_iter().rev().chain(others) {
        if !session.entries.id_start(ix).starts_with(&last.as_bytes()[..last.len().min(8)])
            || !shown.insert(ix)
        {
            continue;
        }
        if shown.len() > MOST {
            break;
        }
        if let Ok(id) = short.of(session, source, ix) {
            offer(id, preview(session, source, ix));
        }
    }
    out
}

fn labels_of(opened: &Opened) -> Vec<(String, Ix)> {
    opened.session.labels.all().map(|(ix, line)| (line.text.clone(), ix)).collect()
}

/// What an entry is, and its first words.
fn preview(session: &Session, source: &dyn Source, ix: Ix) -> String {
    let line = source.bytes(session.span(ix)).unwrap_or_default();
    let words = Content::of(session.format, &line).summary();
    format!("{}: {}", session.entries.kind(ix).word(), text::fit(&text::one_line(&words), PREVIEW))
}
