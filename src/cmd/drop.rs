//! `bough drop`: removes branches.

use super::export_branch::agents_elsewhere;
use super::shared::options::Global;
use super::shared::verified::no_new_errors;
use super::shared::words::{self, Use};
use super::shared::write;
use super::shared::write::WriteArgs;
use super::shared::write_json::More;
use super::shared::{session_arg, time, write_json};
use super::{Exit, Failure, complete};
use crate::format::Format;
use crate::format::claude::stored_results;
use crate::json::string_of;
use crate::model::{Change, Count, Flags, Ix, Plan, Target};
use crate::ops::drop::{self, Dropped, What};
use crate::ops::export::claude::anchors;
use crate::ops::ids;
use crate::ops::revision;
use crate::store::companions::{self, Companion};
use crate::store::{self, Opened};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use std::collections::HashSet;
use std::path::Path;

/// Remove branches from a session
///
/// Removes each entry with everything below it, and what belongs only to that: labels, pointers,
/// snapshots, subagents' transcripts and stored results. Everything else stays byte for byte. The
/// entries on the path to HEAD are never removed. Before anything is written, bough verifies that
/// the agent would send the same as before at HEAD and at the end of each branch that is kept. The
/// old file is kept as a backup for `bough undo`. Exits with 1 if there is nothing to remove.
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "bough drop [OPTIONS] [SESSION] REV...\n       bough drop --others [OPTIONS] [SESSION] [REV]...\n       bough drop --failed [OPTIONS] [SESSION]"
)]
pub struct Args {
    /// The session, if it looks like a file; then the entries to remove
    ///
    /// With `--others`, the entries whose branches are kept besides that of HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words_or_sets))]
    words: Vec<String>,

    /// Remove all branches but that of HEAD, and those of the given entries
    #[arg(long)]
    others: bool,

    /// Remove replies that failed or were interrupted, if nothing but such replies follows
    ///
    /// A prompt is removed too, if all its replies are. Failed replies on the path to HEAD stay.
    #[arg(long, conflicts_with = "others")]
    failed: bool,

    #[command(flatten)]
    writing: WriteArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = words::split(global, &args.words, Use::Writes)?;
    let (named, revisions) = (words.session(), &words.revisions[..]);
    check(args, revisions)?;
    let path = session_arg::path(global, named, ui)?;
    // The files that belong to the session are opened with it: some of them may be removed.
    let open = || {
        let mut opened = session_arg::by_path(global, &path)?;
        for companion in belongings(&opened)? {
            opened.files.attach(&companion.path)?;
        }
        Ok(opened)
    };
    let make = |opened: &Opened| {
        let entries = revision::set(&opened.session, &opened.files, revisions)?;
        let mut dropped =
            drop::plan(session_arg::whole(opened), args.what(&entries), &mut write::ids(), time::now())?;
        if let Some(Target::Rewrite { pieces, .. }) = dropped.plan.targets.first() {
            no_new_errors(opened, pieces, &path)?;
        }
        let files = add_files(opened, &mut dropped)?;
        Ok((dropped.plan.clone(), (dropped, files)))
    };
    let (opened, done, (dropped, files)) = write::run_with(open, args.writing, None, ui, make)?;
    if ui.look.json && !args.writing.dry_run {
        let plan = Plan { changes: Vec::new(), ..dropped.plan.clone() };
        let more = More {
            dropped: Some(dropped.entries.len()),
            branches: Some(dropped.branches),
            lines: Some(dropped.notes),
            removed_files: Some(files),
            compared: Some(dropped.compared),
            ..More::default()
        };
        write_json::print(&opened, &plan, &done, more, ui)?;
    }
    print_report(&dropped, opened.files.path(0), files, args, ui);
    if !args.others && !args.failed && !ui.look.quiet {
        hint_at_rests(&opened, &dropped, args, global, ui)?;
    }
    Ok(if dropped.plan.is_empty() { Exit::No } else { Exit::Done })
}

impl Args {
    /// Returns what is dropped.
    fn what<'e>(&self, entries: &'e [Ix]) -> What<'e> {
        match (self.others, self.failed) {
            (true, _) => What::Others(entries),
            (_, true) => What::Failed,
            _ => What::Entries(entries),
        }
    }
}

/// Refuses options and entries that exclude each other, and to drop nothing.
fn check(args: &Args, revisions: &[String]) -> Result<(), Failure> {
    let usage = |what: &str, hint: &str| Failure::Usage { what: what.into(), hint: hint.into() };
    if args.failed && !revisions.is_empty() {
        return Err(usage("`--failed` takes no entries", ""));
    }
    if revisions.is_empty() && !args.others && !args.failed {
        let hint = "`bough branches` lists the branches; `--others` removes all but that of HEAD";
        return Err(usage("no entry given", hint));
    }
    Ok(())
}

fn print_report(dropped: &Dropped, path: &Path, files: usize, args: &Args, ui: &mut Ui) {
    if ui.look.quiet {
        return;
    }
    note_kept(dropped, ui);
    if dropped.plan.is_empty() {
        ui.note("nothing to drop");
        return;
    }
    let done = if args.writing.dry_run { "would drop" } else { "dropped" };
    let files = match files {
        0 => String::new(),
        files => format!(" · {}", Count("file of the session", "files of the session", files)),
    };
    ui.note(format_args!("{done} {}{files}", dropped.sentence()));
    ui.note(format_args!(
        "verified: the agent would send the same as before, at HEAD and at {}",
        Count("kept leaf", "kept leaves", dropped.compared.saturating_sub(1))
    ));
    if !args.writing.dry_run {
        let file = text::shell_word(&path.display().to_string());
        ui.hint(format_args!("`bough undo {file}` restores them"));
    }
}

/// Says what is kept although it was asked for.
fn note_kept(dropped: &Dropped, ui: &mut Ui) {
    if dropped.failed_kept > 0 {
        ui.note(format_args!(
            "note: {} stay: on the path to HEAD, or followed by other entries",
            Count("failed reply", "failed replies", dropped.failed_kept)
        ));
    }
    if dropped.parts_kept > 0 {
        ui.note(format_args!(
            "note: kept {} of other branches: part of a reply that a kept branch shows",
            Count("entry", "entries", dropped.parts_kept)
        ));
    }
}

/// Says which branches lost only their ends, and how to drop the rest of them too.
fn hint_at_rests(
    opened: &Opened,
    dropped: &Dropped,
    args: &Args,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    if dropped.rests.is_empty() {
        return Ok(());
    }
    let (session, short) = (&opened.session, ids::ShortIds::default());
    let gone: HashSet<Ix> = dropped.entries.iter().copied().collect();
    let (mut words, mut count) = (String::new(), 0);
    for ix in &dropped.rests {
        let below = session.tree.subtree(*ix);
        count += below.iter().filter(|ix| !gone.contains(ix) && session.is_conversation(**ix)).count();
        words = format!("{words} {}", text::shell_word(&short.short_id(session, &opened.files, *ix)?));
    }
    let named = session_arg::in_hint(global, opened.files.path(0));
    let entries = Count("entry", "entries", count);
    let (stay, removes) = match (args.writing.dry_run, count) {
        (true, _) => ("would stay", "would remove"),
        (false, 1) => ("stays", "removes"),
        (false, _) => ("stay", "removes"),
    };
    let of = if dropped.rests.len() == 1 { "its branch" } else { "these branches" };
    ui.hint(format_args!("{entries} of {of} {stay}; `bough drop{named}{words}` {removes} all of it"));
    Ok(())
}

/// Returns the files that belong to a session and may belong to some of its entries only.
fn belongings(opened: &Opened) -> anyhow::Result<Vec<Companion>> {
    let path = opened.files.path(0);
    if opened.session.format != Format::Claude || path == Path::new("-") {
        return Ok(Vec::new());
    }
    let path = path.canonicalize()?;
    Ok(companions::companions(&path, Format::Claude, opened.session.id().as_deref())?.files)
}

/// Removes the files that belong only to dropped entries; returns how many there are.
fn add_files(opened: &Opened, dropped: &mut Dropped) -> anyhow::Result<usize> {
    let all = belongings(opened)?;
    if all.is_empty() || dropped.plan.is_empty() {
        return Ok(0);
    }
    let (session, files) = (&opened.session, &opened.files);
    let gone: HashSet<Ix> = dropped.entries.iter().copied().collect();
    let kept: Vec<Ix> = session.entries.all().filter(|ix| !gone.contains(ix)).collect();
    let ours = anchors(session, files, kept.iter())?;
    let mut theirs = anchors(session, files, dropped.entries.iter())?;
    theirs.retain(|anchor| !ours.contains(anchor));
    let mut agents = agents_elsewhere(&all, &theirs);
    add_descendants(&all, &mut agents);
    let ours = results(opened, &kept)?;
    let mut theirs = results(opened, &dropped.entries)?;
    theirs.retain(|name| !ours.contains(name));
    let mut count = 0;
    for companion in all {
        let is_result = companion.inside.starts_with(stored_results::FOLDER)
            && companion.inside.file_name().is_some_and(|name| theirs.contains(&*name.to_string_lossy()));
        if !is_result && !companion.agent().is_some_and(|agent| agents.contains(agent)) {
            continue;
        }
        let number = (1..files.len() as u16).find(|number| files.path(*number) == companion.path);
        let Some(file) = number else { continue };
        let bytes = files.stamp(file).map_or(0, |stamp| stamp.bytes());
        remove_file(file, bytes, &mut dropped.plan);
        count += 1;
    }
    Ok(count)
}

fn remove_file(file: u16, bytes: u64, plan: &mut Plan) {
    plan.changes.push(Change {
        op: "remove",
        file,
        bytes: -(bytes as i64),
        why: "belongs only to dropped entries".into(),
        ..Change::default()
    });
    plan.targets.push(Target::Remove { file });
}

/// Adds the subagents of subagents: they are dropped with them.
fn add_descendants(all: &[Companion], agents: &mut HashSet<String>) {
    let parents: Vec<(String, String)> = all.iter().filter_map(parent_of_agent).collect();
    loop {
        let more =
            parents.iter().filter(|(agent, parent)| !agents.contains(agent) && agents.contains(parent));
        let more: Vec<String> = more.map(|(agent, _)| agent.clone()).collect();
        if more.is_empty() {
            break;
        }
        agents.extend(more);
    }
}

/// Returns a subagent and the one that started it, if a subagent did.
fn parent_of_agent(companion: &Companion) -> Option<(String, String)> {
    let sidecar = companion.sidecar()?;
    let stored = store::read_file(&companion.path).ok()?;
    Some((sidecar.agent, string_of(&stored, "parentAgentId")?))
}

/// Returns the names of the files with the results of some entries.
fn results(opened: &Opened, entries: &[Ix]) -> anyhow::Result<HashSet<String>> {
    let whole = session_arg::whole(opened);
    let mut names = HashSet::new();
    for ix in entries.iter().filter(|ix| whole.session.entries.flags(**ix).has(Flags::RESULT)) {
        names.extend(stored_results::names(&whole.line(*ix)?));
    }
    Ok(names)
}
