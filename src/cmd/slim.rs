//! `bough slim`: makes a session smaller.

use super::export_branch::{
    add_file, folder_in_store, lines_of, moved_results, real_path, root_of, session_of_name,
};
use super::shared::options::Global;
use super::shared::verified::no_new_errors;
use super::shared::write::{self, WriteArgs};
use super::shared::write_json::{AmountRow, BeforeAfter, More};
use super::shared::{after_move, rows, session_arg, time, write_json};
use super::{Exit, Failure, complete};
use crate::format::{Format, Ids};
use crate::model::{Change, Count, Piece, Plan, Span, Target, grouped};
use crate::ops::export;
use crate::ops::slim::{self, Amount, Destination, Kinds, SlimOptions, Slimmed};
use crate::store::Opened;
use crate::store::companions::{self, Companion};
use crate::store::write::Stamp;
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Replace what is big in a session by notes, so that the agent can go on
///
/// A session can be too big to be opened, or too full for the model. What the options name is
/// replaced by a note that says what was there and how to read it. Entries, ids, links, calls with
/// their results, labels and HEAD stay as they are. Before anything is written, bough verifies
/// block by block that nothing else of what the agent sends would change.
///
/// The result is a new session, and the old one stays unchanged; with `--in-place`, the session
/// itself is rewritten, and the old file is kept as a backup for `bough undo`. The provider's cache
/// of the prompt is lost once. Exits with 1 if there is nothing to replace.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough slim [OPTIONS] [SESSION]")]
pub struct Args {
    /// The session, if it is not the newest of this folder
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::session_files))]
    file: Option<String>,

    /// Print what is big, by kind, and write nothing
    #[arg(long, conflicts_with_all = ["output", "store", "in_place", "budget"])]
    report: bool,

    /// Images and documents
    ///
    /// In Claude Code's files, also the second copy of them.
    #[arg(long)]
    images: bool,

    /// Tool results, and output of commands, that are longer than SIZE, e.g. `4k`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    results: Option<u64>,

    /// The model's thinking
    ///
    /// A block goes as a whole, and so does a line of Claude Code that contains nothing else. It stays
    /// in the turn at HEAD, in replies that are nothing but thinking, and in those of OpenAI's models,
    /// which refer to it.
    #[arg(long)]
    thinking: bool,

    /// Claude Code's second copies of results, which are not sent
    #[arg(long)]
    tool_use_result: bool,

    /// Transcripts of subagents
    #[arg(long)]
    subagents: bool,

    /// State that an extension stored with this type, but for the newest on each branch
    #[arg(long, value_name = "TYPE")]
    custom: Vec<String>,

    /// Snapshots of files, with which Claude Code goes back to earlier contents
    #[arg(long)]
    snapshots: bool,

    /// Results, images and thinking before a compaction, in entries that are sent on no branch
    ///
    /// The agent does not send them any more, wherever it continues. Results of more than 256 bytes
    /// count, and Claude Code's second copies.
    #[arg(long)]
    before_compaction: bool,

    /// Replace only as much as needed for the model to be sent at most this many tokens, e.g. `150k`
    ///
    /// The biggest parts first, and the oldest of about equal ones; never anything of the turn at
    /// HEAD. The number is an estimate. Without another option, images and results of more than 1 kB.
    #[arg(long, value_name = "TOKENS", value_parser = size)]
    budget: Option<u64>,

    /// Write the new session to this file, or into this folder; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["store", "in_place"], value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write it to the agent's store, and print the command that resumes it (default)
    #[arg(long, conflicts_with = "in_place")]
    store: bool,

    /// Rewrite the session itself
    #[arg(long)]
    in_place: bool,

    /// Append entries that replace the parts for the model, and leave all that is there
    ///
    /// Only for pi, from version 0.87 on: the model is sent less at HEAD, but the file does not get
    /// smaller. Without `--budget`, all that the options name is replaced, but for the turn at HEAD.
    #[arg(long, conflicts_with_all = ["output", "store", "in_place", "subagents", "custom", "snapshots",
        "tool_use_result", "before_compaction"])]
    append: bool,

    #[command(flatten)]
    writing: WriteArgs,
}

/// Reads a size: a number, in thousands with `k`, in millions with `m`.
fn size(word: &str) -> Result<u64, String> {
    let lower = word.to_ascii_lowercase();
    let (digits, unit) = match lower.strip_suffix('k') {
        Some(digits) => (digits, 1_000),
        None => lower.strip_suffix('m').map_or((&*lower, 1), |digits| (digits, 1_000_000)),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    number.ok_or_else(|| "expected a number, e.g. 4000 or 4k".into())
}

impl Args {
    fn kinds(&self) -> Kinds {
        let kinds = Kinds {
            images: self.images,
            results: self.results,
            thinking: self.thinking,
            tool_use_result: self.tool_use_result,
            custom: self.custom.clone(),
            snapshots: self.snapshots,
            before_compaction: self.before_compaction,
        };
        match kinds.is_empty() && self.budget.is_some() {
            true => Kinds { images: true, results: Some(1000), ..kinds },
            false => kinds,
        }
    }
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.report {
        return report(args, global, ui);
    }
    if args.kinds().is_empty() && !args.subagents {
        return Err(Failure::Usage {
            what: "nothing to slim was named".into(),
            hint: "`bough slim --report` shows what is big, and the option for it".into(),
        }
        .into());
    }
    let path = session_arg::path(global, args.file.as_deref(), ui)?;
    let open = || {
        let mut opened = session_arg::by_path(global, &path)?;
        for companion in belongings(&opened)? {
            opened.files.attach(&companion.path)?;
        }
        Ok(opened)
    };
    let (mut ids, now) = (write::ids(), time::now());
    let id = export::session_id(Format::Claude, &mut ids, now);
    let make = |opened: &Opened| make(args, opened, &id, &mut write::ids());
    let (opened, done, made) = write::run_with(open, args.writing, None, ui, make)?;
    let Made { slimmed, to, files } = made;
    if ui.look.json && !args.writing.dry_run {
        let plan = Plan { changes: Vec::new(), ..slimmed.plan.clone() };
        let kinds = slimmed.amounts.iter().map(|(kind, amount)| (*kind, amount_row(amount))).collect();
        let before_after = |(before, after)| Some(BeforeAfter { before, after });
        let more = More {
            slimmed: Some(kinds),
            size: before_after(slimmed.bytes),
            tokens: before_after(slimmed.tokens),
            compared: Some(slimmed.compared),
            to: to.as_ref().map(|to| to.display().to_string()),
            ..More::default()
        };
        write_json::print(&opened, &plan, &done, more, ui)?;
    }
    let is_empty = slimmed.plan.is_empty();
    print_result(args, &opened, &slimmed, to.as_deref(), files, ui)?;
    Ok(if is_empty { Exit::No } else { Exit::Done })
}

fn amount_row(amount: &Amount) -> AmountRow {
    AmountRow { count: amount.count, bytes: amount.bytes, tokens: amount.tokens }
}

/// What is big in a session, one line for each kind: slim --report.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.slim/1")]
pub(super) struct SlimRow<'a> {
    /// What it is: images, results, thinking, tool-use-result, custom=TYPE, snapshots, or the rest of the
    /// lines of a kind.
    kind: &'a str,
    /// How many there are.
    count: usize,
    /// Their size in the file.
    bytes: u64,
    /// About how many tokens they cost at HEAD; absent if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// The option of slim that replaces them.
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<&'a str>,
}

/// What is to be written.
struct Made {
    slimmed: Slimmed,
    /// The new file, if there is one with a name.
    to: Option<PathBuf>,
    /// How many subagents' files are removed or left out.
    files: usize,
}

fn make(args: &Args, opened: &Opened, id: &str, fresh: &mut Ids) -> anyhow::Result<(Plan, Made)> {
    let (format, now) = (opened.session.format, time::now());
    let from = real_path(opened.files.path(0));
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let id = session_of_name(format, output).unwrap_or_else(|| id.to_owned());
    let to = match output {
        _ if args.in_place || args.append => None,
        Some(folder) if folder.is_dir() => Some(folder.join(export::file_name(format, &id, now))),
        Some(path) => Some(path.to_owned()),
        None if args.output.is_some() => None,
        None => Some(folder_in_store(opened, None)?.join(export::file_name(format, &id, now))),
    };
    let name = from.as_deref().and_then(|from| name_of_session(opened, from));
    let into = match () {
        () if args.in_place => Destination::Place,
        () if args.append => Destination::Appended,
        () => Destination::New { session: id.clone(), to: to.clone(), from: from.clone() },
    };
    let all = belongings(opened)?;
    let is_agents = |companion: &&Companion| args.subagents && companion.agent().is_some();
    let files = all.iter().filter(is_agents).count();
    let always = files > 0 && !args.in_place;
    let options = SlimOptions { kinds: args.kinds(), budget: args.budget, into, always, name };
    let mut slimmed = slim::plan(session_arg::whole(opened), &options, fresh, now)?;
    if slimmed.plan.is_empty() && files == 0 {
        return Ok((Plan::default(), Made { slimmed, to, files }));
    }
    if let Some(Target::Rewrite { pieces, .. } | Target::Create { pieces, .. }) = slimmed.plan.targets.first()
    {
        no_new_errors(opened, pieces, to.as_deref().unwrap_or(opened.files.path(0)))?;
    }
    match &to {
        Some(to) => copy_companions(args, opened, &all, to, &id, &mut slimmed.plan)?,
        None if args.in_place => {
            remove_agents(opened, all.iter().filter(is_agents), &mut slimmed.plan);
        }
        None => {}
    }
    args.writing.check_is_new(to.as_deref())?;
    Ok((slimmed.plan.clone(), Made { slimmed, to, files }))
}

/// Removes the files of subagents.
fn remove_agents<'c>(opened: &Opened, agents: impl Iterator<Item = &'c Companion>, plan: &mut Plan) {
    for companion in agents {
        let Some(file) = number(opened, companion) else { continue };
        let bytes = opened.files.stamp(file).map_or(0, Stamp::bytes);
        plan.changes.push(Change {
            op: "remove",
            file,
            bytes: -(bytes as i64),
            why: "a subagent's file".into(),
            ..Change::default()
        });
        plan.targets.push(Target::Remove { file });
    }
}

/// Returns a name by which `bough cat` finds the session: its id if it is in a store, or else its path.
fn name_of_session(opened: &Opened, path: &Path) -> Option<String> {
    let id = match opened.session.format {
        Format::Claude => path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned),
        _ => opened.session.id(),
    };
    match root_of(path) {
        Some(_) => id,
        None => path.to_str().map(str::to_owned),
    }
}

/// Returns the files that belong to a session of Claude Code or oh-my-pi.
fn belongings(opened: &Opened) -> anyhow::Result<Vec<Companion>> {
    let Some(path) = real_path(opened.files.path(0)) else { return Ok(Vec::new()) };
    Ok(companions::companions(&path, opened.session.format, opened.session.id().as_deref())?.files)
}

/// Returns the number of a file that was opened with the session.
fn number(opened: &Opened, companion: &Companion) -> Option<u16> {
    (1..opened.files.len() as u16).find(|number| opened.files.path(*number) == companion.path)
}

fn whole_file(opened: &Opened, file: u16) -> Piece {
    Piece::Keep(Span { file, offset: 0, len: opened.files.stamp(file).map_or(0, Stamp::bytes) })
}

/// Copies the files that belong to the session beside the new one; they come before it, so that half a copy is not
/// a session.
fn copy_companions(
    args: &Args,
    opened: &Opened,
    all: &[Companion],
    to: &Path,
    id: &str,
    plan: &mut Plan,
) -> anyhow::Result<()> {
    let format = opened.session.format;
    let from = real_path(opened.files.path(0));
    let moved = match format {
        Format::Claude => moved_results(opened.files.path(0), from.as_deref(), to, all),
        _ => None,
    };
    let old = opened.session.id();
    let (changes, targets) = (plan.changes.len(), plan.targets.len());
    for companion in all {
        let Some(file) = number(opened, companion) else { continue };
        if args.subagents && companion.agent().is_some() {
            continue;
        }
        let is_lines = companion.inside.extension().is_some_and(|extension| extension == "jsonl");
        let pieces = match format == Format::Claude && is_lines {
            true => {
                let lines = lines_of(&companion.path, file)?;
                export::claude::under_new_id(&opened.files, &lines, old.as_deref(), id, moved.as_ref(), None)?
            }
            false => vec![whole_file(opened, file)],
        };
        add_file(plan, companions::folder_of(to).join(&companion.inside), pieces);
    }
    plan.changes.rotate_left(changes);
    plan.targets.rotate_left(targets);
    Ok(())
}

fn print_result(
    args: &Args,
    opened: &Opened,
    slimmed: &Slimmed,
    to: Option<&Path>,
    files: usize,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    ui.out().flush()?;
    let resume = to.and_then(|to| after_move::resume_command(opened.session.format, to));
    if let Some(resume) =
        resume.as_ref().filter(|_| !args.writing.dry_run && !ui.look.json && !slimmed.plan.is_empty())
    {
        writeln!(ui.out(), "{resume}")?;
    }
    if ui.look.quiet {
        return Ok(());
    }
    if slimmed.plan.is_empty() {
        ui.note("nothing to slim");
        return Ok(());
    }
    print_amounts(slimmed, to, files, args.writing.dry_run, ui);
    if let Some(budget) = args.budget.filter(|budget| slimmed.tokens.1 > *budget) {
        ui.note(format_args!(
            "warning: that is more than {}: nothing else of these kinds is before the turn at HEAD",
            grouped(budget as usize)
        ));
    }
    if slimmed.thinking_kept > 0 {
        ui.note(format_args!(
            "note: {} of the turn at HEAD stay, because the provider asks for them",
            Count("block of thinking", "blocks of thinking", slimmed.thinking_kept)
        ));
    }
    ui.note(format_args!(
        "verified at {}: nothing else that is sent changes",
        Count("leaf", "leaves", slimmed.compared)
    ));
    Ok(())
}

/// Says what is gone, and the sizes before and after.
fn print_amounts(slimmed: &Slimmed, to: Option<&Path>, files: usize, dry_run: bool, ui: &mut Ui) {
    for (kind, amount) in &slimmed.amounts {
        let tokens = match amount.tokens {
            0 => String::new(),
            tokens => format!(", about {} tokens at HEAD", grouped(tokens as usize)),
        };
        ui.note(format_args!("{kind}: {}, {} bytes{tokens}", amount.count, grouped(amount.bytes as usize)));
    }
    if files > 0 {
        ui.note(format_args!("subagents: {}", Count("file", "files", files)));
    }
    let done = if dry_run { "the file would have" } else { "the file has" };
    let place = to.map_or(String::new(), |to| format!(" · {}", text::one_line(&to.display().to_string())));
    ui.note(format_args!(
        "{done} {} bytes, it had {} · the model would be sent about {} tokens, before {}{place}",
        grouped(slimmed.bytes.1 as usize),
        grouped(slimmed.bytes.0 as usize),
        grouped(slimmed.tokens.1 as usize),
        grouped(slimmed.tokens.0 as usize),
    ));
}

fn report(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let opened = session_arg::session(global, args.file.as_deref(), ui)?;
    let amounts = slim::report(session_arg::whole(&opened))?;
    let mut rows: Vec<(&String, &Amount)> = amounts.iter().collect();
    rows.sort_by_key(|(name, amount)| (std::cmp::Reverse(amount.bytes), *name));
    let all: u64 = amounts.values().map(|amount| amount.bytes).sum();
    for (name, amount) in rows {
        let option = option_for(name);
        if ui.look.json {
            let row = SlimRow {
                kind: name,
                count: amount.count,
                bytes: amount.bytes,
                tokens: Some(amount.tokens).filter(|tokens| *tokens > 0),
                option: Some(&*option).filter(|option| !option.is_empty()),
            };
            rows::print(&row, ui)?;
            continue;
        }
        let share = amount.bytes as f64 * 100.0 / all.max(1) as f64;
        let name = text::one_line(name);
        let line = format!(
            "{name:<24} {:>8} {:>14} {share:>5.1}%  {}",
            grouped(amount.count),
            grouped(amount.bytes as usize),
            text::one_line(&option)
        );
        writeln!(ui.out(), "{}", line.trim_end())?;
    }
    Ok(Exit::Done)
}

/// Returns the option that slims what a row of the report counts; empty if there is none.
fn option_for(name: &str) -> String {
    match name {
        "results" => "--results=SIZE".to_owned(),
        name if name.starts_with("rest of") || name == "other lines" => String::new(),
        name => format!("--{name}"),
    }
}
