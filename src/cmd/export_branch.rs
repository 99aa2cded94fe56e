//! `bough export-branch`: cuts a branch out as a session of its own.

use super::writing::{self, Writing};
use super::{Exit, Failure, clock, complete, global::Global, landing, open};
use crate::format::Format;
use crate::model::{Change, Count, Piece, Plan, Span, Target};
use crate::ops::export::{self, Export};
use crate::ops::{label, revision};
use crate::store::{self, Opened, companions, find};
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Make a new session out of the path to an entry
///
/// The new session stands on its own: the agent opens it, and sees what it would see at that entry. It has an id of its
/// own, and names the session that it comes from; labels come along, and replies and their results are kept whole.
/// Without `-o` or `--store` it is printed.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough export-branch [OPTIONS] [SESSION] [REV]")]
pub struct Args {
    /// The session, if it looks like a file; then the entry
    ///
    /// Without an entry, HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::words))]
    words: Vec<String>,

    /// Where the new session goes; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "store", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Put it where the agent keeps its sessions, and print the command that goes on with it
    #[arg(long)]
    store: bool,

    /// The entry and all below it, instead of the path to it
    #[arg(long)]
    subtree: bool,

    /// Keep the ids of the entries; this is the default
    #[arg(long, conflicts_with = "new_ids")]
    keep_ids: bool,

    /// Give the entries new ids
    #[arg(long)]
    new_ids: bool,

    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, words) = open::split(global, &args.words);
    let mut opened = open::session(global, named, ui)?;
    let entry = match words {
        [] => label::default_target(&opened.session)?,
        [only] => revision::one(&opened.session, &opened.files, only)?,
        _ => {
            let what = "the path to one entry is exported at a time".into();
            return Err(Failure::Usage { what, hint: "`--subtree` takes all below an entry".into() }.into());
        }
    };
    let (mut ids, now) = (writing::ids(), clock::now());
    let format = opened.session.format;
    let from = real_path(opened.files.path(0));
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let session = match session_of_name(format, output) {
        Some(named) => named,
        None => export::session_id(format, &mut ids, now),
    };
    let to = match output {
        Some(path) => Some(path.to_owned()),
        None if args.store => Some(folder_in_store(&opened)?.join(export::file_name(format, &session, now))),
        None => None,
    };
    let wish = export::Wish {
        entry,
        subtree: args.subtree,
        new_ids: args.new_ids,
        session: session.clone(),
        to: to.clone(),
        from: from.clone(),
    };
    let mut export = export::plan(open::whole(&opened), &wish, &mut ids, now)?;
    let mut left = 0;
    if let Some(from) = &from {
        match &to {
            Some(to) => add_companions(&mut opened, from, to, &session, &mut export)?,
            None => left = companions::companions(from)?.len(),
        }
    }
    writing::finish(args.writing, &opened.files, format, &export.plan, None, true, ui)?;
    if args.writing.dry_run {
        return Ok(Exit::Done);
    }
    let is_found = |to: &Path| format != Format::Claude || finds(to, &session);
    let resume = to.as_deref().filter(|to| is_found(to));
    let resume = resume.and_then(|to| landing::resume_command(format, to));
    if args.store
        && let Some(resume) = &resume
    {
        writeln!(ui.out(), "{resume}")?;
    }
    let is_lost = resume.is_none() && format == Format::Claude && to.is_some();
    tell(&export, to.as_deref(), &session, left, resume.filter(|_| !args.store), ui);
    if is_lost {
        ui.hint("Claude Code finds sessions in the folders of its projects alone; `--store` writes there");
    }
    Ok(Exit::Done)
}

fn tell(export: &Export, to: Option<&Path>, session: &str, left: usize, resume: Option<String>, ui: &mut Ui) {
    if ui.look.quiet {
        return;
    }
    let beside = match export.beside {
        0 => String::new(),
        beside => {
            format!(", {beside} of them to keep replies and their results whole")
        }
    };
    let to = to.map_or(String::new(), |to| format!(" to {}", text::one_line(&to.display().to_string())));
    ui.note(format_args!(
        "exported {}{beside}{to} · session {session}",
        Count("entry", "entries", export.entries)
    ));
    if left > 0 {
        ui.note(format_args!(
            "warning: {} beside the session did not come along; `-o` or `--store` takes them",
            Count("file", "files", left)
        ));
    }
    if let Some(resume) = resume {
        ui.hint(format_args!("resume with: {resume}"));
    }
}

/// The path of the session as the new one names it; `None` for standard input.
fn real_path(path: &Path) -> Option<PathBuf> {
    if path == Path::new("-") { None } else { path.canonicalize().ok() }
}

/// Claude Code takes the name of the file for the id: where it is one, it is the id.
fn session_of_name(format: Format, output: Option<&Path>) -> Option<String> {
    let stem = output.filter(|_| format == Format::Claude)?.file_stem()?.to_str()?;
    uuid::Uuid::try_parse(stem).ok().filter(|_| stem.len() == 36).map(|_| stem.to_owned())
}

/// Whether Claude Code finds a session in a file: by its name, in one of its folders.
fn finds(file: &Path, session: &str) -> bool {
    let folder = real_path(file).and_then(|file| file.parent().map(Path::to_owned));
    file.file_stem().is_some_and(|stem| stem == session) && folder.is_some_and(|folder| is_in_store(&folder))
}

fn is_in_store(folder: &Path) -> bool {
    find::stores(&[]).iter().any(|store| store.root.canonicalize().is_ok_and(|root| folder.starts_with(root)))
}

/// The folder in which the agent looks for the new session: that of the old one, if it is in a store.
fn folder_in_store(opened: &Opened) -> anyhow::Result<PathBuf> {
    let session = &opened.session;
    let agent = session.format.agent();
    let refused = |what: &str| crate::ops::Error::NoPlace {
        what: what.into(),
        instead: Some("`-o FILE` writes it where you say".into()),
    };
    if matches!(session.format, Format::Chimera | Format::Harness) {
        return Err(refused("this agent has no store in which a session could be found").into());
    }
    let folder = real_path(opened.files.path(0)).and_then(|path| path.parent().map(Path::to_owned));
    if let Some(folder) = folder.filter(|folder| is_in_store(folder)) {
        return Ok(folder);
    }
    let cwd = session.header.as_ref().and_then(|header| header.cwd.clone()).or(session.claude.cwd.clone());
    let cwd = cwd.ok_or_else(|| refused("the session does not say to which folder it belongs"))?;
    find::place(agent, Path::new(&cwd)).ok_or_else(|| refused("the agent's store is not to be found").into())
}

/// Adds the files in the folder of the session: agents' transcripts under the new id, the rest as they are.
///
/// An agent that was called from an entry that does not come along stays behind.
fn add_companions(
    opened: &mut Opened,
    from: &Path,
    to: &Path,
    session: &str,
    export: &mut Export,
) -> anyhow::Result<()> {
    let all = companions::companions(from)?;
    if all.is_empty() {
        return Ok(());
    }
    let (whole, files) = (&opened.session, &opened.files);
    let ours = export::claude::anchors(whole, files, export.taken.iter())?;
    let everywhere: Vec<_> = whole.entries.all().filter(|ix| !export.taken.contains(ix)).collect();
    let mut elsewhere = export::claude::anchors(whole, files, everywhere.iter())?;
    elsewhere.retain(|anchor| !ours.contains(anchor));
    let left = agents_elsewhere(&all, &elsewhere);
    let old = opened.session.id();
    for companion in all {
        if companion.agent().is_some_and(|agent| left.contains(agent)) {
            continue;
        }
        let file = opened.files.attach(&companion.path)?;
        let rewritten = opened.session.format == Format::Claude
            && companion.inside.extension().is_some_and(|extension| extension == "jsonl");
        let pieces = if rewritten {
            let lines = lines_of(&companion.path, file)?;
            export::claude::under_new_id(&opened.files, &lines, old.as_deref(), session)?
        } else {
            let len = opened.files.stamp(file).map_or(0, store::write::Stamp::bytes);
            vec![Piece::Keep(Span { file, offset: 0, len })]
        };
        add(&mut export.plan, companions::folder_of(to).join(&companion.inside), pieces);
    }
    Ok(())
}

fn add(plan: &mut Plan, to: PathBuf, pieces: Vec<Piece>) {
    plan.changes.push(Change {
        op: "create",
        path: Some(to.clone()),
        bytes: export::size_of(&pieces),
        why: "comes along with the session".into(),
        ..Change::default()
    });
    plan.targets.push(Target::Create { path: Some(to), pieces });
}

/// The agents that were called from entries that do not come along.
fn agents_elsewhere(all: &[companions::Companion], elsewhere: &HashSet<String>) -> HashSet<String> {
    let mut out: HashSet<String> = elsewhere.clone();
    for sidecar in all.iter().filter_map(companions::Companion::sidecar) {
        if sidecar.tool_use.is_some_and(|call| elsewhere.contains(&call)) {
            out.insert(sidecar.agent);
        }
    }
    out
}

/// The lines of an agent's transcript.
fn lines_of(path: &Path, file: u16) -> anyhow::Result<Vec<Span>> {
    let opened =
        match store::open(path, store::Options { format: Some(Format::Claude), ..Default::default() }) {
            Ok(opened) => opened,
            Err(store::Error::Empty { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
    let session = &opened.session;
    let mut lines: Vec<Span> = session.entries.all().map(|ix| session.span(ix)).collect();
    lines.extend(session.others.iter().map(|other| other.span));
    lines.sort_by_key(|span| span.offset);
    Ok(lines.into_iter().map(|span| Span { file, ..span }).collect())
}
