//! `bough convert`: writes a session in the format of another agent.

use super::export_branch::real_folder;
use super::shared::options::Global;
use super::shared::write;
use super::shared::write::WriteArgs;
use super::shared::{after_move, rows, session_arg, time};
use super::{Exit, complete};
use crate::format::Format;
use crate::model::{Count, Ix, Time};
use crate::ops::convert::{self, Conversion, Options, Thinking};
use crate::ops::export;
use crate::store::companions::companions;
use crate::store::{self, Opened, locate};
use crate::ui::Ui;
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Convert a session for another agent
///
/// The new session has what the old agent would send: prompts, replies, calls, results and images,
/// on all branches, with labels and HEAD. (Sessions of Codex have no branches: they get the path to
/// HEAD.) A compaction becomes a branch of its own, so that the new agent sees what the old one
/// would see, and the replaced turns are still there. (Claude Code gets its own kind of compaction.)
/// Instructions of the old agent are not carried over, nor are signatures of thoughts, token counts and
/// costs. What else is lost is listed, e.g. the transcripts of subagents. Results come after their calls:
/// one that comes before its call is put behind it, and a call without one gets one.
///
/// The lines of the old session ride along in the new one, where its agent never sends them, so the file is about
/// twice as large. A conversion back to the old agent restores them byte for byte, and adds what is new. Entries that
/// were changed are converted, and those that were taken away are left out. `--no-source` leaves the old lines out of
/// the new session, e.g. if you want to share it; so does `export --redact`.
///
/// Any session that bough reads can be converted. The session itself is not changed.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session; by default the one that the agent would continue
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    file: Option<String>,

    /// The agent that is to continue the session
    #[arg(long, value_name = "AGENT", value_parser = ["pi", "omp", "chimera", "claude", "codex"])]
    to: String,

    /// Write the new session to this file, or into this folder; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "store", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write it to the agent's store, and print the command that resumes it
    #[arg(long)]
    store: bool,

    /// Make FOLDER the working directory of the new session
    ///
    /// By default that of the old session.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    cwd: Option<PathBuf>,

    /// What becomes of thoughts: `keep`, `text` or `drop`
    ///
    /// `keep` keeps them for pi and oh-my-pi, and leaves them out for the others, which send no thoughts
    /// without a signature. `text` makes them text of the reply.
    #[arg(long, value_name = "HOW", default_value = "keep", value_parser = ["keep", "text", "drop"])]
    thinking: String,

    /// What becomes of the names of tools: `keep` or `map`
    ///
    /// `map` gives the common tools (read, write, edit, bash, grep, find, ls) the names that they have in AGENT, and
    /// lists what was renamed. Their arguments stay as they are.
    #[arg(long, value_name = "HOW", default_value = "keep", value_parser = ["keep", "map"])]
    tools: String,

    /// Do not carry the lines of the old session in the new one
    ///
    /// By default they ride along in lines that the new agent never sends, so that a conversion back restores
    /// what was not touched. The file is then about twice as large, and has all that the old one has.
    #[arg(long)]
    no_source: bool,

    /// Convert all messages, even if lines of an old session in the format of AGENT could come back
    #[arg(long)]
    anew: bool,

    /// Fail if more than N things would be lost
    #[arg(long, value_name = "N")]
    max_loss: Option<usize>,

    #[command(flatten)]
    writing: WriteArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let opened = session_arg::session(global, args.file.as_deref(), ui)?;
    if args.output.is_none() && !args.store {
        args.writing.check_is_redirected(ui)?;
    }
    let to = convert::TARGETS.into_iter().find(|target| target.agent() == args.to);
    let to = to.expect("the argument is one of the targets");
    let (mut ids, now) = (write::ids(), time::now());
    let cwd = match &args.cwd {
        Some(folder) => real_folder(folder)?,
        None => folder_of(&opened)?,
    };
    let thinking = Thinking::from_name(&args.thinking).unwrap_or(Thinking::Keep);
    let session = export::session_id(to, &mut ids, now);
    let mut options = Options {
        to,
        thinking,
        session,
        cwd: cwd.clone(),
        carry: !args.no_source,
        // What is asked for here is not in the old lines.
        back: !args.anew && args.cwd.is_none() && thinking == Thinking::Keep,
        map_tools: args.tools == "map",
        new_id: false,
    };
    let whole = session_arg::whole(&opened);
    let mut made = convert::convert(whole, &options, &mut ids, now)?;
    let place = |made: &Conversion| -> anyhow::Result<Option<PathBuf>> {
        let name = file_name(to, &made.session, made.began.unwrap_or(now));
        Ok(match &args.output {
            Some(folder) if folder.is_dir() => Some(folder.join(name)),
            Some(path) => Some(path.clone()).filter(|path| path != Path::new("-")),
            None if args.store => Some(store_of(to, &cwd, made.began.unwrap_or(now))?.join(name)),
            None => None,
        })
    };
    let mut path = place(&made)?;
    if args.store
        && made.came_back.is_some()
        && path.as_deref().is_some_and(|path| is_in_store(path, &made.session))
    {
        // The old session is still there: this one is another.
        options.new_id = true;
        made = convert::convert(whole, &options, &mut ids, now)?;
        path = place(&made)?;
    }
    add_files_beside(&opened, &mut made)?;
    if let Some(most) = args.max_loss.filter(|most| made.lost() > *most) {
        report(&made, &opened, path.as_deref(), false, ui)?;
        let lost = Count("thing", "things", made.lost());
        ui.note(format_args!("error: {lost} would be lost, and `--max-loss` allows {most}"));
        return Ok(Exit::No);
    }
    args.writing.check_is_new(path.as_deref())?;
    write::finish(args.writing, &opened.files, to, &made.plan(to, path.clone()), None, true, ui)?;
    if args.writing.dry_run {
        report(&made, &opened, path.as_deref(), false, ui)?;
        return Ok(Exit::Done);
    }
    ui.out().flush()?;
    report(&made, &opened, path.as_deref(), true, ui)?;
    if let Some(path) = path.as_deref().filter(|_| args.store)
        && let Some(command) = after_move::resume_command(to, path)
    {
        writeln!(ui.out(), "{command}")?;
    }
    Ok(Exit::Done)
}

/// A session that was converted: convert.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.convert/1")]
pub(super) struct ConvertRow<'a> {
    /// The new file; null where it was printed, or nothing was written.
    file: Option<Cow<'a, str>>,
    /// How many messages the new session has: prompts, replies and results.
    turns: usize,
    /// How many branches it has.
    branches: usize,
    /// What is not carried over.
    lost: Vec<LostRow>,
    /// The tools that got another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed: Option<Vec<RenamedRow<'a>>>,
    /// How many lines of the session that this one was converted from came back; absent where all messages
    /// were converted.
    #[serde(skip_serializing_if = "Option::is_none")]
    came_back: Option<usize>,
    /// Why such lines did not come back, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_back: Option<&'static str>,
}

/// Something that is not carried over.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LostRow {
    /// What it is, in words.
    what: &'static str,
    /// How often it is not carried over.
    count: usize,
    /// The entries that have it.
    entries: Vec<String>,
}

/// A tool that got another name.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RenamedRow<'a> {
    /// The name in the old session.
    old: &'a str,
    /// The name in the new session.
    new: &'a str,
    /// How many calls it has.
    calls: usize,
}

/// Returns the name of an entry, or an empty string.
fn name_of(opened: &Opened, ix: Option<Ix>) -> std::io::Result<String> {
    match ix {
        Some(ix) => session_arg::whole(opened).name(ix),
        None => Ok(String::new()),
    }
}

/// Returns what `--json` says of a session that was written to `path`.
fn row<'a>(made: &'a Conversion, opened: &Opened, path: Option<&'a Path>) -> std::io::Result<ConvertRow<'a>> {
    let losses = made
        .losses
        .iter()
        .map(|(what, entries)| {
            let ids: Vec<String> =
                entries.iter().map(|ix| name_of(opened, *ix)).collect::<std::io::Result<_>>()?;
            let ids = ids.into_iter().filter(|id| !id.is_empty()).collect();
            Ok(LostRow { what, count: entries.len(), entries: ids })
        })
        .collect::<std::io::Result<Vec<_>>>()?;
    let renamed = made.renamed.iter();
    let renamed: Vec<_> = renamed.map(|((old, new), calls)| RenamedRow { old, new, calls: *calls }).collect();
    Ok(ConvertRow {
        file: path.map(|path| path.to_string_lossy()),
        turns: made.turns,
        branches: made.branches,
        lost: losses,
        renamed: Some(renamed).filter(|renamed| !renamed.is_empty()),
        came_back: made.came_back,
        not_back: made.not_back,
    })
}

/// Adds the files of the session beside its own to what is not carried over: no other agent would find them.
fn add_files_beside(opened: &Opened, made: &mut Conversion) -> anyhow::Result<()> {
    let (session, path) = (&opened.session, opened.files.path(0));
    if store::is_read_once(path) {
        return Ok(());
    }
    for file in companions(path, session.format, session.id().as_deref())?.files {
        let is_transcript = file.path.extension().is_some_and(|ending| ending == "jsonl");
        let what = match file.agent() {
            _ if is_transcript => "transcripts of subagents",
            // What is noted about a transcript.
            Some(_) => continue,
            None => "files in the folder of the session",
        };
        made.losses.entry(what).or_default().push(None);
    }
    Ok(())
}

/// Says what was converted, or would be, and what is lost.
fn report(
    made: &Conversion,
    opened: &Opened,
    path: Option<&Path>,
    is_done: bool,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    // A session that is printed is not followed by a report.
    if ui.look.json && (path.is_some() || !is_done) {
        rows::print(&row(made, opened, path.filter(|_| is_done))?, ui)?;
        return Ok(());
    }
    let place = path.map_or(String::new(), |path| format!(" to {}", path.display()));
    let branches = Count("branch", "branches", made.branches);
    let verb = if is_done { "converted" } else { "would convert" };
    ui.note(format_args!("{verb} {} on {branches}{place}", Count("message", "messages", made.turns)));
    for ((old, new), calls) in &made.renamed {
        ui.note(format_args!("renamed: {old} is now {new}, in {}", Count("call", "calls", *calls)));
    }
    if let Some(lines) = made.came_back {
        ui.note(format_args!("{} came back as they were", Count("line", "lines", lines)));
    }
    if let Some(why) = made.not_back {
        ui.note(format_args!("the lines of the old session were not used: {why}"));
    }
    report_losses(made, opened, ui)?;
    Ok(())
}

/// Prints what is not carried over, with the first entries that have it.
fn report_losses(made: &Conversion, opened: &Opened, ui: &mut Ui) -> std::io::Result<()> {
    const SHOWN: usize = 3;
    let name = |ix: &Option<Ix>| name_of(opened, *ix);
    for (what, entries) in &made.losses {
        let mut ids: Vec<String> = entries.iter().take(SHOWN).map(name).collect::<std::io::Result<_>>()?;
        ids.retain(|id| !id.is_empty());
        if entries.len() > SHOWN && !ids.is_empty() {
            ids.push("…".into());
        }
        let ids = if ids.is_empty() { String::new() } else { format!(" ({})", ids.join(", ")) };
        ui.note(format_args!("not carried over: {what}: {}{ids}", entries.len()));
    }
    Ok(())
}

/// Returns whether the folder of a file has a session of this id.
fn is_in_store(path: &Path, session: &str) -> bool {
    let names = path.parent().and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name()).any(|name| {
        let name = name.to_string_lossy();
        name.strip_suffix(".jsonl").is_some_and(|stem| stem.ends_with(session))
    })
}

/// Returns the working directory of a session, or the current one.
fn folder_of(opened: &Opened) -> anyhow::Result<String> {
    let session = &opened.session;
    let stored = session.header.as_ref().and_then(|header| header.cwd.clone()).or(session.claude.cwd.clone());
    match stored {
        Some(folder) => Ok(folder),
        None => real_folder(Path::new(".")),
    }
}

/// Returns the name that the agent gives to the file of a session.
fn file_name(to: Format, session: &str, now: Time) -> String {
    match to {
        Format::Codex => {
            let time = now.iso();
            let seconds = time.split('.').next().unwrap_or_default().replace(':', "-");
            format!("rollout-{seconds}-{session}.jsonl")
        }
        to => export::file_name(to, session, now),
    }
}

/// Returns the folder in which the agent looks for sessions of a working directory.
fn store_of(to: Format, cwd: &str, now: Time) -> anyhow::Result<PathBuf> {
    let folder = match to {
        Format::Codex => locate::folder_of_codex(&now.iso()),
        to => locate::folder_of(to.agent(), Path::new(cwd)),
    };
    folder.ok_or_else(|| {
        crate::ops::Error::NoPlace {
            what: "this agent has no store".into(),
            instead: Some("`-o FILE` writes it to a file".into()),
        }
        .into()
    })
}
