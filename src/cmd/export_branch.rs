//! `bough export-branch`: exports a branch as a separate session.

mod copied_companions;
mod report;

use super::shared::options::Global;
use super::shared::utf8_path::utf8_path;
use super::shared::words::{self, Use};
use super::shared::write::WriteArgs;
use super::shared::{after_move, session_arg, time, write};
use super::{Exit, Failure, complete};
use crate::format::Format;
use crate::model::{Ix, Time};
use crate::ops::export::{self};
use crate::ops::{label, revision, switch};
use crate::store;
use crate::store::companions::{self, Companion};
use crate::store::{Opened, locate};
use crate::ui::Ui;
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use copied_companions::add_companions;
pub(super) use copied_companions::{add_file, agents_elsewhere, lines_of, moved_results};
use report::{Damage, Left, report_export};
use std::path::{Path, PathBuf};

/// Export the path to an entry as a new session
///
/// The new session does not depend on the old one: the agent can open it, and the model sees what
/// it would see at that entry. It has its own id and names the session that it comes from. Labels
/// are copied, and replies keep all their lines and results. Files of the session are copied beside
/// the new one. If a tool result of Claude Code names such a file (in `tool-results`), the exported
/// result names the copy. Without `-o` or `--store`, the session is printed.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough export-branch [OPTIONS] [SESSION] [REV]")]
pub struct Args {
    /// The session, if the first argument names one; then the entry
    ///
    /// If the entry is omitted, HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words))]
    words: Vec<String>,

    /// Write the new session to this file, or into this folder; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "store", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write it to the agent's store, and print the command that resumes it
    ///
    /// With `--rewind`, the prompt is printed, and the command is in a hint.
    #[arg(long)]
    store: bool,

    /// Make FOLDER the working directory of the new session; with `--store`, it goes to that project
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    cwd: Option<PathBuf>,

    /// Export what is before a prompt, and print the prompt, to be edited and sent again
    ///
    /// Before the first prompt there is nothing, so the new session is empty. Needs `-o` or `--store`.
    #[arg(long, conflicts_with = "subtree")]
    rewind: bool,

    /// Export the entry and all its descendants instead
    #[arg(long)]
    subtree: bool,

    /// Keep the ids of the entries (default)
    #[arg(long, conflicts_with = "new_ids")]
    keep_ids: bool,

    /// Give the entries new ids
    #[arg(long)]
    new_ids: bool,

    #[command(flatten)]
    writing: WriteArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = if args.rewind { words::session_first(&args.words) } else { (&args.words[..]).into() };
    let words = words::split(global, &words, Use::Reads)?;
    let (named, words) = (words.session(), &words.revisions[..]);
    let mut opened = session_arg::session(global, named, ui)?;
    let entry = exported_entry(&opened, words)?;
    check_rewind(args)?;
    let (entry, prompt) = match args.rewind {
        true => {
            let (before, prompt) = switch::before_prompt(session_arg::whole(&opened), entry)?;
            (before.unwrap_or(entry), Some((before.is_none(), prompt)))
        }
        false => (entry, None),
    };
    let is_empty = prompt.as_ref().is_some_and(|(is_first, _)| *is_first);
    if is_empty {
        check_has_empty_sessions(opened.session.format)?;
    }
    let cwd = match &args.cwd {
        Some(folder) => Some(real_folder(folder)?),
        None => None,
    };
    if args.output.is_none() && !args.store {
        args.writing.check_is_redirected(ui)?;
    }
    let (mut ids, now) = (write::ids(), time::now());
    let format = opened.session.format;
    let from = real_path(opened.files.path(0));
    let session = match session_of_name(format, args.output_file()) {
        Some(named) => named,
        None => export::session_id(format, &mut ids, now),
    };
    let to = new_file(args, &opened, &session, cwd.as_deref(), now)?;
    let (files, mut left) = files_beside(&opened, from.as_deref())?;
    let moved = match &to {
        Some(to) if format == Format::Claude => {
            moved_results(opened.files.path(0), from.as_deref(), to, &files)
        }
        _ => None,
    };
    let options = export::ExportOptions {
        entry,
        subtree: args.subtree,
        new_ids: args.new_ids,
        session: session.clone(),
        to: to.clone(),
        from: from.clone(),
        moved,
        cwd,
        is_empty,
    };
    let mut export = export::plan(session_arg::whole(&opened), &options, &mut ids, now)?;
    match &to {
        Some(to) => add_companions(&mut opened, files, to, &options, &mut export)?,
        None => left.companions = files.len(),
    }
    left.elsewhere = options.moved.as_ref().map_or(0, export::MovedResults::elsewhere);
    // An existing session is reported before an existing file that belongs to it.
    args.writing.check_is_new(to.as_deref())?;
    let damage = Damage::of_plan(&opened, &export.plan, &session)?;
    write::finish(args.writing, &opened.files, format, &export.plan, None, true, ui)?;
    if args.writing.dry_run {
        damage.report_damage(to.as_deref(), ui);
        return Ok(Exit::Done);
    }
    // The export is reported only after it was made.
    ui.out().flush()?;
    let is_found = |to: &Path| format != Format::Claude || finds(to, &session);
    let resume = to.as_deref().filter(|to| is_found(to));
    let resume = resume.and_then(|to| after_move::resume_command(format, to));
    if let Some((_, prompt)) = &prompt {
        writeln!(ui.out(), "{prompt}")?;
    } else if args.store
        && let Some(resume) = &resume
    {
        writeln!(ui.out(), "{resume}")?;
    }
    let is_lost = resume.is_none() && format == Format::Claude && to.is_some();
    let resume = resume.filter(|_| !args.store || prompt.is_some());
    report_export(&export, to.as_deref(), &session, &left, resume, ui);
    damage.report_damage(to.as_deref(), ui);
    if is_lost {
        ui.hint("Claude Code finds sessions only in its project folders; `--store` writes there");
    }
    Ok(Exit::Done)
}

impl Args {
    /// Returns the file or the folder of `-o`, if it is not standard output.
    fn output_file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }
}

/// Returns the entry that the words name: HEAD if there are none.
fn exported_entry(opened: &Opened, words: &[String]) -> anyhow::Result<Ix> {
    match words {
        [] => Ok(label::default_target(&opened.session)?),
        [only] => Ok(revision::resolve_one(&opened.session, &opened.files, only)?),
        _ => {
            let what = "expected only one entry".into();
            let hint = "`--subtree` exports everything below an entry".into();
            Err(Failure::Usage { what, hint }.into())
        }
    }
}

/// Refuses `--rewind` if the session would be printed, since the prompt is.
fn check_rewind(args: &Args) -> Result<(), Failure> {
    let is_printed = args.output_file().is_none() && !args.store;
    if args.rewind && is_printed && !args.writing.dry_run {
        return Err(Failure::Usage {
            what: "`--rewind` prints the prompt, so the session can't be printed, too".into(),
            hint: "`--store` makes it a session that the agent can resume, `-o FILE` writes a file".into(),
        });
    }
    Ok(())
}

/// Refuses an empty session if the agent has none.
fn check_has_empty_sessions(format: Format) -> Result<(), crate::ops::Error> {
    if matches!(format, Format::Claude | Format::Chimera) {
        return Err(crate::ops::Error::NoPlace {
            what: "there is nothing before the first prompt, and this agent has no empty sessions".into(),
            instead: Some("start the agent without a session".into()),
        });
    }
    Ok(())
}

/// Returns the file of the new session; `None` if it is printed.
fn new_file(
    args: &Args,
    opened: &Opened,
    session: &str,
    cwd: Option<&str>,
    now: Time,
) -> anyhow::Result<Option<PathBuf>> {
    let name = || export::file_name(opened.session.format, session, now);
    Ok(match args.output_file() {
        Some(folder) if folder.is_dir() => Some(folder.join(name())),
        Some(path) => Some(path.to_owned()),
        None if args.store => Some(folder_in_store(opened, cwd)?.join(name())),
        None => None,
    })
}

/// Returns the files of the session that may be copied beside the new one, and those that never are.
fn files_beside(opened: &Opened, from: Option<&Path>) -> anyhow::Result<(Vec<Companion>, Left)> {
    let Some(from) = from else { return Ok((Vec::new(), Left::default())) };
    let id = opened.session.id();
    let sidecars = companions::sidecars(from, id.as_deref())?;
    let all = companions::companions(from, opened.session.format, id.as_deref())?;
    Ok((all.files, Left { sidecars, unknown: all.unknown, ..Left::default() }))
}

/// Returns the path of the session as the new one names it, or `None` for standard input.
pub(super) fn real_path(path: &Path) -> Option<PathBuf> {
    let is_file = path != Path::new("-");
    is_file.then(|| path.canonicalize().or_else(|_| std::path::absolute(path)).ok()).flatten()
}

/// Returns the id in the file name, if there is one: Claude Code uses the name of the file as the
/// id.
pub(super) fn session_of_name(format: Format, output: Option<&Path>) -> Option<String> {
    let stem = output.filter(|_| format == Format::Claude)?.file_stem()?.to_str()?;
    uuid::Uuid::try_parse(stem).ok().filter(|_| stem.len() == 36).map(|_| stem.to_owned())
}

/// Returns whether Claude Code finds a session in a file: by its name, in the folder of a project.
fn finds(file: &Path, session: &str) -> bool {
    let folder = real_path(file).and_then(|file| file.parent().map(Path::to_owned));
    let is_project = |folder: PathBuf| project_folder(&folder).is_some_and(|project| project == folder);
    file.file_stem().is_some_and(|stem| stem == session) && folder.is_some_and(is_project)
}

/// Returns the root of the store that contains a folder.
pub(super) fn root_of(folder: &Path) -> Option<PathBuf> {
    let roots = locate::stores(&[]).into_iter().filter_map(|store| store.root.canonicalize().ok());
    roots.into_iter().find(|root| folder.starts_with(root))
}

/// Returns the project folder that is or contains a folder in a store of Claude Code: subagents'
/// transcripts are deeper.
fn project_folder(folder: &Path) -> Option<PathBuf> {
    let root = root_of(folder)?;
    let project = folder.strip_prefix(&root).ok()?.components().next()?;
    Some(root.join(project))
}

/// Returns the path of a folder as an agent that runs in it writes it.
pub(super) fn real_folder(folder: &Path) -> anyhow::Result<String> {
    let error = |source| store::Error::Io { path: folder.to_owned(), source };
    let real = folder.canonicalize().map_err(error)?;
    Ok(utf8_path(&real)?.to_owned())
}

/// Returns the folder in which the agent looks for the new session: that of the old one, if it is
/// in a store.
/// With `cwd`, returns the folder of the sessions of that working directory.
pub(super) fn folder_in_store(opened: &Opened, cwd: Option<&str>) -> anyhow::Result<PathBuf> {
    let session = &opened.session;
    let agent = session.format.agent();
    let refused = |what: &str| crate::ops::Error::NoPlace {
        what: what.into(),
        instead: Some("`-o FILE` writes it to a file".into()),
    };
    if matches!(session.format, Format::Chimera | Format::Harness) {
        return Err(refused("this agent has no store").into());
    }
    let folder = real_path(opened.files.path(0)).and_then(|path| path.parent().map(Path::to_owned));
    let in_store = folder.and_then(|folder| match session.format {
        Format::Claude => project_folder(&folder),
        _ => root_of(&folder).map(|_| folder),
    });
    if let Some(folder) = in_store.filter(|_| cwd.is_none()) {
        return Ok(folder);
    }
    let stored = session.header.as_ref().and_then(|header| header.cwd.clone()).or(session.claude.cwd.clone());
    let cwd = cwd.map(str::to_owned).or(stored);
    let cwd = cwd.ok_or_else(|| refused("the session does not name its working directory"))?;
    locate::folder_of(agent, Path::new(&cwd)).ok_or_else(|| refused("the agent's store was not found").into())
}
