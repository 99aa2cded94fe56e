//! `bough migrate`: upgrades old versions of pi's format.

use super::shared::exit::Failures;
use super::shared::options::Global;
use super::shared::scope::{self, Scope};
use super::shared::write;
use super::shared::write::WriteArgs;
use super::shared::{rows, session_arg};
use super::{Exit, Failure, complete};
use crate::format::Ids;
use crate::model::{Change, Count, Piece, Plan, Span, Target};
use crate::ops::export;
use crate::ops::migrate::{self, Age, Migration, Options};
use crate::store::write::Group;
use crate::store::{Opened, locate};
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Upgrade session files to the current format version
///
/// Upgrades pi's versions 1 and 2, and the format of its early design document, to version 3, as pi
/// does when it loads such a file. Only fields that differ are changed; lines that can't be read
/// are kept. The file is changed in place: the old file is kept as a backup for `bough undo`, and
/// the modification time is preserved.
///
/// If pi's own migration would drop messages from the context that version 1 kept, bough keeps them
/// and prints a note; with `--exact`, it drops them too. A file of the current version is not
/// changed.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Session files, or folders of sessions
    ///
    /// If omitted, the default session.
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::sessions))]
    files: Vec<String>,

    /// Only report which files are old, and exit with 1 if any is
    #[arg(long, conflicts_with_all = ["output", "dry_run"])]
    check: bool,

    /// Write to this file and leave the old one unchanged; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Upgrade only to this version
    ///
    /// By default 3, the newest.
    #[arg(long, value_name = "VERSION", value_parser = ["2", "3"])]
    to: Option<String>,

    /// Match pi exactly, even if that drops context that version 1 kept
    #[arg(long)]
    exact: bool,

    /// Keep the ids of a file that has ids although its header says version 1
    ///
    /// pi treats such a file as a list: each entry gets a new id, and the entry before it becomes
    /// its parent.
    #[arg(long)]
    keep_ids: bool,

    /// Derive the new ids from SEED, so that they are the same each time
    ///
    /// Random by default.
    #[arg(long, value_name = "SEED")]
    id_seed: Option<String>,

    #[command(flatten)]
    scope: Scope,

    #[command(flatten)]
    writing: WriteArgs,
}

impl Args {
    fn options(&self) -> Options {
        Options {
            to: self.to.as_deref().and_then(|to| to.parse().ok()).unwrap_or(migrate::NEWEST),
            exact: self.exact,
            keep_ids: self.keep_ids,
            list: self.writing.dry_run,
        }
    }

    fn ids(&self) -> Ids {
        self.id_seed.as_deref().map_or_else(write::ids, Ids::seeded)
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let mut failures = Failures::default();
    let files = files(args, global, &mut failures, ui)?;
    if args.output.is_some() && files.len() != 1 {
        return Err(Failure::Usage {
            what: format!("`--output` takes one file, got {}", files.len()),
            hint: "without it, each file is upgraded in place".into(),
        }
        .into());
    }
    if files.is_empty() && failures.is_empty() {
        return Ok(scope::none_found(ui));
    }
    let mut old = 0;
    // One command is one operation, however many files it changes.
    let group = Group::default();
    for file in &files {
        let worked = match args.check {
            true => check(args, global, file, &mut old, ui),
            false => migrate_file(args, global, file, &group, ui),
        };
        if let Err(error) = worked {
            failures.add(error, !file.found, ui)?;
        }
    }
    if !ui.look.quiet {
        report_counts(args, files.len(), failures.not_sessions.len(), old, ui);
    }
    Ok(failures.or(if old > 0 { Exit::No } else { Exit::Done }))
}

/// Prints how many of the files are not sessions, and how many are old.
fn report_counts(args: &Args, files: usize, not_sessions: usize, old: usize, ui: &mut Ui) {
    if not_sessions > 0 {
        let count = Count("file is not a session", "files are not sessions", not_sessions);
        ui.note(format_args!("{count} of a known format"));
    }
    if args.check && files > 1 {
        let looked_at = Count("file is", "files are", files - not_sessions);
        ui.note(format_args!("{old} of {looked_at} old"));
    }
}

/// A file to upgrade.
struct File {
    path: PathBuf,
    /// Whether it was found in a given folder.
    found: bool,
}

fn files(args: &Args, global: &Global, failures: &mut Failures, ui: &mut Ui) -> anyhow::Result<Vec<File>> {
    if let Some(found) = args.scope.sessions(!args.files.is_empty(), global)? {
        let is_found = !args.scope.is_list();
        return Ok(found.into_iter().map(|found| File { path: found.path, found: is_found }).collect());
    }
    let stores = locate::writable_stores(&global.roots);
    if args.files.is_empty() {
        return Ok(vec![File { path: session_arg::path(global, None, ui)?, found: false }]);
    }
    let mut out = Vec::new();
    for word in &args.files {
        let path = Path::new(word);
        if path.is_dir() {
            session_arg::note_files_beside(global, path, ui);
            let of_project = locate::project_at(&stores, path);
            let found = match of_project {
                Some(found) => found.into_iter().map(|found| found.path).collect(),
                None => locate::in_folder(path),
            };
            out.extend(found.into_iter().map(|path| File { path, found: true }));
            continue;
        }
        match session_arg::by_word(global, word) {
            Ok(path) => out.push(File { path, found: false }),
            Err(error) if args.files.len() == 1 => return Err(error),
            Err(error) => failures.add(error, true, ui)?,
        }
    }
    Ok(out)
}

fn version(opened: &Opened) -> String {
    match (migrate::age(&opened.session), opened.session.version()) {
        (Age::Old(form), _) => form.phrase().into(),
        (_, Some(version)) => format!("version {}", text::one_line(version)),
        (_, None) => format!("format {}", opened.session.format.name()),
    }
}

/// Returns the version as a number, if it is one.
fn number(opened: &Opened) -> Option<Value> {
    match (migrate::age(&opened.session), opened.session.version()) {
        (Age::Old(migrate::Form::V1), _) => Some(1.into()),
        (Age::Old(_), _) => Some(2.into()),
        (_, version) => version.and_then(super::shared::entry_json::version),
    }
}

/// A file that is old or was migrated: migrate.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.migrate/1")]
pub(super) struct MigrateRow {
    /// The file.
    file: String,
    /// Its format.
    format: &'static str,
    /// The version that it has, or had.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("type" = ["integer", "number", "string"])))]
    version: Option<Value>,
    /// With --check, whether there is a newer version.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<bool>,
    /// The version that it was taken to.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<u8>,
    /// Whether anything was to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<bool>,
    /// How many entries it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
}

impl MigrateRow {
    fn new(file: &File, opened: &Opened) -> MigrateRow {
        MigrateRow {
            file: file.path.display().to_string(),
            format: opened.session.format.name(),
            version: number(opened),
            old: None,
            to: None,
            changed: None,
            entries: None,
        }
    }
}

/// Reports whether a file is old.
fn check(args: &Args, global: &Global, file: &File, count: &mut usize, ui: &mut Ui) -> anyhow::Result<()> {
    let opened = session_arg::by_path(global, &file.path)?;
    let old = match migrate::age(&opened.session) {
        Age::Old(form) => form == migrate::Form::V1 || args.options().to >= migrate::NEWEST,
        Age::Newest | Age::Beyond => false,
    };
    *count += usize::from(old);
    if ui.look.json {
        rows::print(&MigrateRow { old: Some(old), ..MigrateRow::new(file, &opened) }, ui)?;
    } else if old {
        writeln!(ui.out(), "{}: {}", text::one_line(&file.path.display().to_string()), version(&opened))?;
    }
    Ok(())
}

/// Upgrades one file, and reports that.
fn migrate_file(args: &Args, global: &Global, file: &File, group: &Group, ui: &mut Ui) -> anyhow::Result<()> {
    let options = args.options();
    let make = |opened: &Opened| {
        let made = migrate::migrate(&opened.session, &opened.files, options, &mut args.ids())?;
        let changed = !made.pieces.is_empty();
        let notes = made.notes.clone();
        Ok((plan(args, file, opened, made), (changed, notes)))
    };
    let (opened, _, (changed, notes)) =
        write::run_on(&file.path, global, args.writing, Some(group), ui, make)?;
    let path = text::one_line(&file.path.display().to_string());
    for note in &notes {
        let at = if note.line > 0 { format!("{path}:{}", note.line) } else { path.clone() };
        ui.note(format_args!("{at}: note: {}", note.kind));
    }
    let was = version(&opened);
    let entries = opened.session.entries.len();
    if ui.look.json {
        let row = MigrateRow {
            to: Some(options.to),
            changed: Some(changed),
            entries: Some(entries),
            ..MigrateRow::new(file, &opened)
        };
        print_row(&row, args, file, ui)?;
        return Ok(());
    }
    if ui.look.quiet {
        return Ok(());
    }
    match (changed, migrate::age(&opened.session), args.writing.dry_run) {
        (true, _, false) => {
            ui.note(format_args!(
                "{path}: upgraded from {was} to version {} · {}",
                options.to,
                Count("entry", "entries", entries)
            ));
        }
        (true, _, true) => {
            ui.note(format_args!(
                "{path}: would be upgraded from {was} to version {} · {}",
                options.to,
                Count("entry", "entries", entries)
            ));
        }
        (false, Age::Beyond, _) => ui.note(format_args!("{path}: {was} is not known; nothing was changed")),
        (false, ..) => ui.note(format_args!("{path}: {was}, nothing to do")),
    }
    Ok(())
}

/// Prints what `--json` says of an upgrade.
fn print_row(row: &MigrateRow, args: &Args, file: &File, ui: &mut Ui) -> anyhow::Result<()> {
    // If the upgraded file is written to standard output, nothing else may be.
    let is_stdout = |path: &Path| path == Path::new("-");
    match &args.output {
        Some(output) if is_stdout(output) => ui.note(rows::to_json(row)),
        None if is_stdout(&file.path) => ui.note(rows::to_json(row)),
        _ => rows::print(row, ui)?,
    }
    Ok(())
}

/// Returns the plan for one file: in place, or into another file, which then gets the whole
/// content.
fn plan(args: &Args, file: &File, opened: &Opened, made: Migration) -> Plan {
    let stdin = crate::store::is_read_once(&file.path);
    if args.output.is_none() && !stdin {
        return made.in_place();
    }
    let whole = Span { file: 0, offset: 0, len: opened.session.files[0].bytes };
    let pieces = if made.pieces.is_empty() { vec![Piece::Keep(whole)] } else { made.pieces };
    let path = args.output.clone().filter(|path| path != Path::new("-"));
    let mut plan = Plan { verb: "migrate".into(), ..Plan::default() };
    plan.changes.push(Change {
        op: "create",
        path: Some(path.clone().unwrap_or_else(|| "-".into())),
        bytes: export::size_of(&pieces),
        why: format!("version {}", args.options().to),
        ..Change::default()
    });
    plan.changes.extend(made.changes);
    plan.targets.push(Target::Create { path, pieces });
    plan
}
