//! `bough status`: a session in short.

use super::shared::options::Global;
use super::shared::{after_move, entry_json, rows, session_arg, time, write};
use super::{Exit, complete, fsck};
use crate::format::claude::graph::ClaudeGraph;
use crate::format::{Format, Session};
use crate::fsck::CHECKS;
use crate::model::{Count, Ix, Source, Time};
use crate::ops::{branches, ids, turns};
use crate::store::archive::is_unpacked;
use crate::store::oplog::Log;
use crate::store::project_folder::home_of;
use crate::store::sweep::{self, Retention};
use crate::store::write::Signs;
use crate::store::{self, Opened, locate};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Show the state of a session: format, HEAD, branches, faults
///
/// Shows the entry from which the agent would continue if it loaded the session now, and the rule
/// that determines it; the command with which the agent continues it; the numbers of entries,
/// branches and faults; whether an agent seems to be writing; and whether Claude Code will soon delete the session because it was not written for long
/// (`cleanupPeriodDays` in its settings).
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session; if omitted, the newest of the current folder
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::session_files))]
    file: Option<String>,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.for_people();
    let opened = session_arg::with_side(global, args.file.as_deref(), ui)?;
    if ui.look.json {
        let mut row = StatusRow::read(&opened)?;
        row.faults = faults(opened, global)?;
        rows::print(&row, ui)?;
        return Ok(Exit::Done);
    }
    let session = &opened.session;
    let path = opened.files.path(0).display().to_string();
    let mut rows: Vec<(&str, String)> = vec![("file", text::one_line(&path))];
    if let Some(name) = &session.name {
        rows.push(("name", text::one_line(name)));
    }
    if let Some(id) = session.id() {
        rows.push(("session", text::one_line(&id)));
    }
    let mut format = session.format.name().to_owned();
    if let Some(version) = session.version() {
        format.push_str(&format!(", version {}", text::one_line(version)));
    }
    if let Some(why) = session.read_only() {
        format.push_str(&format!(" · read-only: {why}"));
    }
    rows.push(("format", format));
    rows.push(("HEAD", head(session, &opened.files)?));
    rows.push(("rule", session.head.rule.into()));
    let mut others = Vec::new();
    for (reader, ix) in other_readers(session) {
        others.push(format!(
            "{}: {}",
            reader.words,
            text::one_line(&ids::ShortIds::default().short_id(session, &opened.files, ix)?)
        ));
    }
    if !others.is_empty() {
        rows.push(("others", others.join(" · ")));
    }
    if let Some(signs) = signs_of_life(&opened) {
        rows.push(("writing", format!("the file {}", signs.phrase())));
    }
    let deleted = deleted_at(&opened);
    let is_soon = deleted.and_then(|deleted| time::deleted_soon(deleted, time::now()));
    if let Some(when) = &is_soon {
        rows.push(("cleanup", cleanup(when, &retention(&opened))));
    }
    if is_unpacked(opened.files.path(0)) {
        let id = text::shell_word(&locate::session_id(opened.files.path(0)));
        rows.push(("archive", format!("read from the archive; `bough restore {id}` puts it back")));
    }
    if let Some(command) = resume(&opened) {
        rows.push(("resume", text::one_line(&command)));
    }
    let tree = &session.tree;
    let counts = branches::counts(session, &opened.files)?;
    rows.push((
        "tree",
        format!(
            "{} on {} · {} · {} · {}",
            Count("entry", "entries", tree.entries_in_tree().count()),
            Count("line", "lines", session.files[0].lines as usize),
            Count("root", "roots", counts.roots),
            Count("branch point", "branch points", counts.points),
            Count("branch", "branches", counts.branches),
        ),
    ));
    let faults = faults(opened, global)?;
    rows.push((
        "faults",
        if faults.is_empty() {
            "none".into()
        } else {
            faults.iter().map(|(check, count)| format!("{count} {check}")).collect::<Vec<_>>().join(", ")
        },
    ));
    print_facts(rows, ui)?;
    if is_soon.is_some() {
        ui.hint("`bough archive` keeps a copy");
    }
    if !faults.is_empty() {
        let path = text::shell_word(&path);
        ui.hint(format_args!("`bough fsck {path}` shows where, and what can be repaired"));
    }
    Ok(Exit::Done)
}

/// Returns the command with which the agent continues the session, unless it came through a pipe or from the archive.
fn resume(opened: &Opened) -> Option<String> {
    let path = opened.files.path(0);
    (!store::is_read_once(path) && !is_unpacked(path))
        .then(|| after_move::resume_command(opened.session.format, path))
        .flatten()
}

/// Says when the agent deletes the session, and why then.
fn cleanup(when: &str, kept: &Retention) -> String {
    let days = Count("day", "days", usize::try_from(kept.days).unwrap_or(usize::MAX));
    let by = match &kept.from {
        Some(file) => {
            format!(", by `cleanupPeriodDays` in {}", text::one_line(&file.display().to_string()))
        }
        None => String::new(),
    };
    format!("{when}: Claude Code keeps sessions for {days}{by}")
}

/// Prints facts, each with its name, on several lines if they do not fit on one.
fn print_facts(rows: Vec<(&str, String)>, ui: &mut Ui) -> anyhow::Result<()> {
    for (name, value) in rows {
        let room = ui.look.width.saturating_sub(9);
        let mut lines = text::wrap_facts(&value, room);
        // What may be copied is not broken.
        if !matches!(name, "file" | "session" | "resume") {
            lines = lines.iter().flat_map(|line| text::wrap(line, room)).collect();
        }
        let mut name = name;
        for line in lines {
            writeln!(ui.out(), "{name:<8} {line}")?;
            name = "";
        }
    }
    Ok(())
}

/// Returns how long the agent keeps the session.
fn retention(opened: &Opened) -> Retention {
    let cwd = home_of(opened.session.format.agent(), opened.files.path(0)).map(|home| home.cwd);
    Retention::of_project(cwd.as_deref().map(Path::new))
}

/// Returns when the agent deletes the session if it is not written any more; `None` if it does not.
fn deleted_at(opened: &Opened) -> Option<Time> {
    let path = opened.files.path(0);
    let is_swept = opened.session.format == Format::Claude && sweep::is_swept(path);
    is_swept.then(|| retention(opened).deleted_at(time::of_file(path)))
}

fn head(session: &Session, source: &dyn Source) -> anyhow::Result<String> {
    let Some(ix) = session.head.entry else { return Ok("none".into()) };
    let short = ids::ShortIds::default().short_id(session, source, ix)?;
    let on_path = turns::shown_count(session, source)?;
    let kind = session.entries.kind(ix).name();
    Ok(format!("{} ({kind}) · {} on the path", text::one_line(&short), Count("entry", "entries", on_path)))
}

/// Returns why the session seems to be written to by somebody, if it does.
fn signs_of_life(opened: &Opened) -> Option<Signs> {
    let is_link = opened.files.path(0).is_symlink();
    write::signs_of_life(&opened.files, is_link, false, Log::of_user().as_ref())
}

/// A reader of transcripts, for people and for scripts.
struct Reader {
    words: &'static str,
    key: &'static str,
}

/// Returns the readers of Claude Code's transcripts that would continue elsewhere than the current
/// version, and where.
fn other_readers(session: &Session) -> Vec<(Reader, Ix)> {
    if session.format != Format::Claude || session.partial {
        return Vec::new();
    }
    let mut graph = ClaudeGraph::new(session);
    let leaf = graph.leaf();
    let others = graph.other_readers(&leaf);
    [
        (Reader { words: "clients before 2.1.122", key: "without_pointers" }, others.without_pointers),
        (Reader { words: "clients up to 2.1.100", key: "newest" }, others.newest),
        (Reader { words: "the SDK", key: "sdk" }, others.last_end),
    ]
    .into_iter()
    .filter_map(|(reader, ix)| Some((reader, ix?)))
    .collect()
}

/// Returns how many faults of each check there are, according to `fsck`.
fn faults(opened: Opened, global: &Global) -> anyhow::Result<BTreeMap<&'static str, u64>> {
    let findings = fsck::findings_of(opened, global)?;
    let faults = CHECKS.iter().filter(|row| row.check.is_fault());
    Ok(faults.map(|row| (row.id, findings.count(row.check))).filter(|(_, count)| *count > 0).collect())
}

/// A session in short: status.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.status/1")]
pub(super) struct StatusRow {
    /// The file.
    file: String,
    /// The format.
    format: &'static str,
    /// Whether bough only reads this format or version.
    read_only: bool,
    /// Why that is the position.
    head_rule: &'static str,
    /// How many entries log shows on the path to HEAD.
    path: usize,
    /// How many entries the agent reaches from its leaf, bookkeeping included.
    reachable: usize,
    /// How many entries have a parent that is not there.
    orphans: usize,
    /// How many entries.
    entries: usize,
    /// How many lines.
    lines: u64,
    /// How many roots, orphans included.
    roots: usize,
    /// How many entries without children.
    leaves: usize,
    /// At how many entries branches of the conversation part.
    branch_points: usize,
    /// How many branches of the conversation.
    branches: usize,
    /// How many faults, by check.
    faults: BTreeMap<&'static str, u64>,
    /// Whether an agent seems to be writing.
    alive: bool,
    /// The program whose session it is, if that derives its format from another agent's: OpenClaw, Prime
    /// Agent, Tau, Kit, Qwen Code, GitHub Copilot CLI, OpenCode. Its sessions are read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'static str>,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The name or title in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Where other readers of the format would go on, where that is elsewhere: Claude Code before it knew
    /// pointers (without_pointers), before it knew more than times (newest), and its SDK (sdk).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    other_heads: Option<Map<String, Value>>,
    /// When the agent deletes it, if it is not written any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<String>,
    /// The version in the header.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("type" = ["integer", "number", "string"])))]
    version: Option<Value>,
    /// HEAD: the last entry of the conversation before the place from which the agent continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// The leaf as the agent has it, bookkeeping and markers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    leaf: Option<String>,
    /// The command with which the agent continues the session, for a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
}

impl StatusRow {
    /// Reads a session; the faults are counted separately.
    fn read(opened: &Opened) -> anyhow::Result<StatusRow> {
        let (session, source) = (&opened.session, &opened.files);
        let tree = &session.tree;
        let counts = branches::counts(session, source)?;
        let name = |ix: Option<Ix>| ix.map(|ix| ids::name(session, source, ix)).transpose();
        let mut heads = Map::new();
        for (reader, ix) in other_readers(session) {
            heads.insert(reader.key.into(), ids::id(session, source, ix)?.into());
        }
        Ok(StatusRow {
            file: opened.files.path(0).display().to_string(),
            format: session.format.name(),
            read_only: session.read_only().is_some(),
            head_rule: session.head.rule,
            path: turns::shown_count(session, source)?,
            reachable: session.loaded(),
            orphans: tree.orphans().count(),
            entries: tree.entries_in_tree().count(),
            lines: session.files[0].lines,
            roots: tree.roots().count(),
            leaves: tree.leaves().count(),
            branch_points: counts.points,
            branches: counts.branches,
            faults: BTreeMap::new(),
            alive: signs_of_life(opened).is_some(),
            program: session.program.map(|program| program.name()),
            session: session.id(),
            name: session.name.clone(),
            other_heads: Some(heads).filter(|heads| !heads.is_empty()),
            deleted: deleted_at(opened).and_then(time::iso),
            version: session.version().and_then(entry_json::version),
            head: name(session.head.entry)?,
            leaf: name(session.head.leaf)?,
            resume: resume(opened),
        })
    }
}
