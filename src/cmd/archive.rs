//! `bough archive`: copies sessions to a place that their agents do not clean up.

use super::shared::options::Global;
use super::shared::{file_args, rows, session_arg, time};
use super::{Exit, Failure};
use crate::format::Format;
use crate::model::{Count, Time};
use crate::store::archive::{Added, Archive, Contents, Item, Wanted};
use crate::store::companions::{Sidecars, folder_of};
use crate::store::locate::{self, Found, Store};
use crate::store::project_folder::{contents, home_of};
use crate::ui::{Ui, text};
use clap::ValueHint;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// Copy sessions to an archive, which the agents do not clean up
///
/// Copies sessions with all that belongs to them (subagents, tool results, file history) to an
/// archive outside the stores of the agents. Another run copies only what is new: a file that grew
/// costs only what it grew by. Sessions of the archive are read like others if they are named by
/// their id, and `bough restore` puts them back.
///
/// The archive is a folder that is readable without bough: `manifest.jsonl` says which blobs are the
/// parts of which file, and each blob is a file of Zstandard (`zstd -dc` unpacks it) that is named by
/// the SHA-256 of its content. By default it is `$XDG_DATA_HOME/bough/archive`, which is usually
/// `~/.local/share/bough/archive`.
#[derive(clap::Args, Debug)]
#[command(disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,

    /// Only the sessions of the current folder
    #[arg(long, conflicts_with = "all")]
    project: bool,

    /// The sessions of all folders (default)
    #[arg(long)]
    all: bool,

    /// Only sessions that were last written before a time: a date, or an age such as `20d`
    #[arg(long, value_name = "TIME")]
    older: Option<String>,

    /// The folder of the archive
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    /// Link files instead of packing them, if the archive is on the same file system
    ///
    /// Costs no room as long as the agent has the file, and is done at once. A linked file is the file
    /// itself: it stays if the agent deletes it or replaces it by another, but what an agent changes in
    /// place, as pi does when it upgrades a session, is changed in the archive, too. `--verify` finds
    /// that.
    #[arg(long)]
    hardlink: bool,

    /// Unpack everything in the archive, and compare it with the manifest
    #[arg(long, conflicts_with_all = ["project", "all", "older", "dry_run", "hardlink"])]
    verify: bool,

    /// Print what would be archived, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Prune(PruneArgs),
}

/// Remove old sessions from the archive
///
/// Removes sessions that were last written before the given time, and earlier states of files that
/// were archived before it and of which there is a later one. Blobs that nothing needs any more are
/// deleted. `bough undo` does not bring them back: `--dry-run` shows first what would go, and of which
/// sessions there is no other copy.
#[derive(clap::Args, Debug)]
struct PruneArgs {
    /// Keep what is newer than this: a date, or an age such as `1y`
    #[arg(long, value_name = "TIME")]
    keep: String,

    /// The folder of the archive
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    /// Print what would be removed, and remove nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    match &args.what {
        Some(What::Prune(args)) => return prune(args, ui),
        None if args.verify => return verify(&open(args.output.as_deref())?, ui),
        None => {}
    }
    let archive = open(args.output.as_deref())?;
    let now = time::now();
    let wanted = wanted(args, global, &archive, now)?;
    if args.dry_run {
        for file in wanted.iter().flatten() {
            if ui.look.json {
                rows::print(&StoredRow::of_file(file), ui)?;
                continue;
            }
            writeln!(ui.out(), "{}", text::one_line(&file.file.display().to_string()))?;
        }
        return Ok(Exit::Done);
    }
    let count = wanted.len();
    let mut total = Total::default();
    let mut writer = archive.begin().map_err(|error| io_error(error, archive.folder()))?;
    writer = writer.with_titles(session_arg::title);
    if args.hardlink {
        writer = writer.with_links();
    }
    let mut exit = Exit::Done;
    let wanted: Vec<Wanted> = wanted.into_iter().flatten().collect();
    writer.add_all(&wanted, now, |file, added| {
        match added {
            Ok(added) => total.add(added),
            // The agent may have removed it just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !file.file.exists() => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                return Err(io_error(error, archive.folder()));
            }
            Err(error) => {
                let error = io_error(error, &file.file);
                exit = super::shared::exit::print_error(&error, ui);
            }
        }
        Ok(())
    })?;
    writer.flush().map_err(|error| io_error(error, archive.folder()))?;
    total.print(count, &archive, ui)?;
    Ok(exit)
}

#[derive(Default)]
struct Total {
    files: usize,
    known: usize,
    bytes: u64,
    stored: u64,
}

impl Total {
    /// Says how much was archived of a number of sessions.
    fn print(&self, count: usize, archive: &Archive, ui: &mut Ui) -> anyhow::Result<()> {
        if ui.look.json {
            let row = ArchiveRow {
                folder: archive.folder().display().to_string(),
                sessions: count,
                files: self.files,
                unchanged: self.known,
                bytes: self.bytes,
                stored: self.stored,
            };
            rows::print(&row, ui)?;
        } else if !ui.look.quiet {
            ui.note(format_args!(
                "{} in the archive {}; {} new or changed, {} stored in {}",
                Count("session is", "sessions are", count),
                text::one_line(&archive.folder().display().to_string()),
                Count("file is", "files are", self.files),
                file_args::size(self.bytes),
                file_args::size(self.stored),
            ));
        }
        Ok(())
    }

    fn add(&mut self, added: Added) {
        self.files += usize::from(!added.is_known);
        self.known += usize::from(added.is_known);
        self.bytes += added.bytes;
        self.stored += added.stored;
    }
}

/// Returns an archive: the one that is named, or that of the user.
pub(super) fn open(folder: Option<&Path>) -> anyhow::Result<Archive> {
    if let Some(folder) = folder {
        return Ok(Archive::in_folder(std::path::absolute(folder)?));
    }
    Archive::of_user().ok_or_else(|| {
        let hint = "set `HOME` or `XDG_DATA_HOME`, or give `-o FOLDER`";
        Failure::Usage { what: "no folder for the archive".into(), hint: hint.into() }.into()
    })
}

pub(super) fn io_error(source: io::Error, path: &Path) -> anyhow::Error {
    crate::store::Error::Io { path: path.to_owned(), source }.into()
}

/// Spells an age in years in days, which are the longest unit of an age.
fn years(word: &str) -> String {
    match word.strip_suffix('y').and_then(|number| number.parse::<u64>().ok()) {
        Some(number) => format!("{}d", number * 365),
        None => word.to_owned(),
    }
}

/// Returns the files to archive, for each session.
fn wanted(args: &Args, global: &Global, archive: &Archive, now: Time) -> anyhow::Result<Vec<Vec<Wanted>>> {
    let older = args.older.as_deref().map(|older| time::parse(&years(older), now)).transpose()?;
    let (mut wanted, mut beside) = (Vec::new(), Sidecars::default());
    for (store, found) in sessions(args, global) {
        let modified = time::of_file(&found.path);
        if older.is_some_and(|older| modified > older) || found.path.starts_with(archive.folder()) {
            continue;
        }
        wanted.push(belonging(&store, &found.path, &mut beside));
    }
    Ok(wanted)
}

/// Returns the sessions to archive, with their stores.
fn sessions(args: &Args, global: &Global) -> Vec<(Store, Found)> {
    let stores = locate::stores(&global.roots);
    let store_of = |path: &Path| stores.iter().find(|store| path.starts_with(&store.root)).cloned();
    let found: Vec<Found> = match args.project {
        true => session_arg::of_project(global, locate::Worktrees::Listed),
        false => stores.iter().flat_map(locate::sessions).collect(),
    };
    found
        .into_iter()
        .filter(|found| found.path.is_file())
        .filter_map(|found| Some((store_of(&found.path)?, found)))
        .collect()
}

/// Returns a session file and the files that belong to it; the session file is the last, so that
/// an archive that was cut off has no session without its files.
fn belonging(store: &Store, path: &Path, beside: &mut Sidecars) -> Vec<Wanted> {
    let agent = match store.agent {
        "" => crate::store::open_ends(path, crate::store::Options::default())
            .map_or("", |opened| opened.session.format.agent()),
        agent => agent,
    };
    let session = locate::session_id(path);
    let cwd = match store.is_guest() {
        true => locate::cwd_of_guest(path),
        false => home_of(if agent.is_empty() { "pi" } else { agent }, path).map(|home| home.cwd),
    };
    let one = |file: PathBuf, main: bool| Wanted {
        agent: agent.to_owned(),
        session: session.clone(),
        store: store.root.clone(),
        file,
        main,
        cwd: cwd.clone(),
    };
    let mut out = Vec::new();
    if agent == Format::Claude.agent() || agent == Format::Omp.agent() {
        let inside = contents(&folder_of(path)).unwrap_or_default();
        out.extend(inside.files.into_iter().map(|file| one(file, false)));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    if agent == Format::Copilot.agent() {
        let inside = contents(folder).unwrap_or_default();
        out.extend(inside.files.into_iter().filter(|file| file != path).map(|file| one(file, false)));
    }
    let beside = beside.of(path, Some(&session)).unwrap_or_default();
    out.extend(beside.iter().map(|name| one(folder.join(name), false)));
    if agent == "claude"
        && store.root.ends_with("projects")
        && let Some(config) = store.root.parent()
    {
        let history = contents(&config.join("file-history").join(&session)).unwrap_or_default();
        out.extend(history.files.into_iter().map(|file| one(file, false)));
    }
    out.push(one(path.to_owned(), true));
    out
}

/// What a run of archive stored: archive.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.archive/1")]
pub(super) struct ArchiveRow {
    /// The folder of the archive.
    folder: String,
    /// How many sessions were looked at.
    sessions: usize,
    /// How many files are new or changed.
    files: usize,
    /// How many files the archive has as they are.
    unchanged: usize,
    /// How many bytes of the files are new.
    bytes: u64,
    /// How many bytes the new blobs have.
    stored: u64,
}

/// A file of a session that would be archived, or a state of one that leaves the archive: archive --dry-run, archive prune.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.stored/1")]
pub(super) struct StoredRow<'a> {
    /// The id of the session.
    session: &'a str,
    /// The agent.
    agent: &'a str,
    /// The file.
    file: String,
    /// Whether it is the session file itself, and not one that belongs to it.
    main: bool,
    /// When the state was archived; absent if it would be archived now.
    #[serde(skip_serializing_if = "Option::is_none")]
    archived: Option<&'a str>,
    /// The size of the state in bytes; absent if it would be archived now.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Whether it is of a session file that is not where it was; absent if it would be archived now.
    #[serde(skip_serializing_if = "Option::is_none")]
    only_copy: Option<bool>,
}

impl<'a> StoredRow<'a> {
    fn of_file(wanted: &'a Wanted) -> StoredRow<'a> {
        let file = wanted.file.display().to_string();
        let (session, agent, main) = (&wanted.session, &wanted.agent, wanted.main);
        StoredRow { session, agent, file, main, archived: None, bytes: None, only_copy: None }
    }

    fn of_item(item: &'a Item) -> StoredRow<'a> {
        StoredRow {
            session: &item.session,
            agent: &item.agent,
            file: item.origin().display().to_string(),
            main: item.main,
            archived: Some(&item.archived),
            bytes: Some(item.bytes),
            only_copy: Some(is_only_copy(item)),
        }
    }
}

/// A blob that is not as it was archived: archive --verify.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.blob/1")]
pub(super) struct BlobRow<'a> {
    /// The file of the blob.
    blob: String,
    /// A session that needs it.
    session: &'a str,
    /// The file of the session that needs it.
    file: String,
    /// What is wrong.
    message: &'a str,
}

fn verify(archive: &Archive, ui: &mut Ui) -> anyhow::Result<Exit> {
    let contents = read(archive)?;
    let bad = archive.verify(&contents);
    for bad in &bad {
        if ui.look.json {
            let row = BlobRow {
                blob: bad.blob.display().to_string(),
                session: &bad.item.session,
                file: bad.item.origin().display().to_string(),
                message: &bad.why,
            };
            rows::print(&row, ui)?;
            continue;
        }
        let line = format!(
            "{}: {} (session {}, {})",
            bad.blob.display(),
            bad.why,
            bad.item.session,
            bad.item.origin().display()
        );
        writeln!(ui.out(), "{}", text::one_line(&line))?;
    }
    if contents.unread > 0 {
        ui.note(format_args!(
            "warning: {} of the manifest can't be read",
            Count("line", "lines", contents.unread)
        ));
    }
    if !ui.look.quiet && !ui.look.json {
        let files = Count("file is", "files are", contents.latest().len());
        match bad.len() {
            0 => ui.note(format_args!("{files} whole")),
            bad => {
                ui.note(format_args!("{} not as it was archived", Count("blob is", "blobs are", bad)));
                ui.hint(
                    "`bough archive` stores a missing blob again if its session is still there; remove a \
                     damaged one first",
                );
            }
        }
    }
    Ok(if bad.is_empty() && contents.unread == 0 { Exit::Done } else { Exit::No })
}

/// Reads an archive that must be there.
pub(super) fn read(archive: &Archive) -> anyhow::Result<Contents> {
    if !archive.exists() {
        let what = format!("{}: there is no archive", archive.folder().display());
        return Err(Failure::NotFound { what, hint: "`bough archive` makes one".into() }.into());
    }
    archive.read().map_err(|error| io_error(error, archive.folder()))
}

fn prune(args: &PruneArgs, ui: &mut Ui) -> anyhow::Result<Exit> {
    let archive = open(args.output.as_deref())?;
    let contents = read(&archive)?;
    let before = time::parse(&years(&args.keep), time::now())?;
    let kept = Kept::new(&contents, before);
    let is_wanted = |item: &Item| kept.has(item);
    let gone: Vec<&Item> = contents.items.iter().filter(|item| !is_wanted(item)).collect();
    if ui.look.json && args.dry_run {
        for item in gone {
            rows::print(&StoredRow::of_item(item), ui)?;
        }
        return Ok(Exit::Done);
    }
    if args.dry_run {
        for item in gone {
            let only = if is_only_copy(item) { ", the only copy" } else { "" };
            let line = format!("{}: {} ({}{only})", item.session, item.origin().display(), item.archived);
            writeln!(ui.out(), "{}", text::one_line(&line))?;
        }
        return Ok(Exit::Done);
    }
    let removed: Vec<StoredRow> = gone.iter().map(|item| StoredRow::of_item(item)).collect();
    let lost: HashSet<&str> =
        gone.iter().filter(|item| is_only_copy(item)).map(|item| &*item.session).collect();
    let writer = archive.begin().map_err(|error| io_error(error, archive.folder()))?;
    let (states, bytes) = writer.prune(is_wanted).map_err(|error| io_error(error, archive.folder()))?;
    if ui.look.json {
        for row in &removed {
            rows::print(row, ui)?;
        }
    } else if !ui.look.quiet {
        let states = Count("state of a file", "states of files", states);
        ui.note(format_args!("removed {states} and {} of blobs", file_args::size(bytes)));
        if !lost.is_empty() {
            let lost = Count("session was", "sessions were", lost.len());
            ui.note(format_args!("{lost} in the archive only, and there is no copy any more"));
        }
    }
    Ok(Exit::Done)
}

/// Whether a state is that of a session's own file which is not where it was.
fn is_only_copy(item: &Item) -> bool {
    item.main && !item.origin().exists()
}

/// Which states of files stay: those of sessions that were written after a time, if they are the
/// last ones of their files or were archived after the time.
struct Kept<'c> {
    before: Time,
    /// The last change of each session, in nanoseconds since 1970.
    newest: HashMap<(&'c Path, &'c str), i64>,
    last: HashMap<PathBuf, &'c Item>,
}

impl<'c> Kept<'c> {
    fn new(contents: &'c Contents, before: Time) -> Kept<'c> {
        let mut newest: HashMap<(&Path, &str), i64> = HashMap::new();
        for item in &contents.items {
            let known = newest.entry((&item.store, &item.session)).or_insert(item.mtime);
            *known = item.mtime.max(*known);
        }
        let last = contents.latest().into_iter().map(|item| (item.origin(), item)).collect();
        Kept { before, newest, last }
    }

    fn has(&self, item: &Item) -> bool {
        let newest = self.newest.get(&(&*item.store, &*item.session)).copied().unwrap_or(item.mtime);
        let is_last = self.last.get(&item.origin()).is_some_and(|last| *last == item);
        let archived = crate::model::parse_time(item.archived.as_bytes());
        newest / 1_000_000 >= self.before.0 && (is_last || archived >= self.before)
    }
}
