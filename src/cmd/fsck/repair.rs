//! `bough fsck --repair`: plans are made, carried out, and verified on the written files.

use super::{Args, Report, Subject, Target, Total, report, selected};
use crate::cmd::Exit;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::{rows, time, write};
use crate::format::Format;
use crate::fsck::{Findings, Repair, RepairOptions};
use crate::model::{Change, Count, Piece, Plan, Target as Written};
use crate::store::oplog::Log;
use crate::store::write::{Group, Refusal};
use crate::store::{self, Error};
use crate::ui::{Ui, text};
use serde::Serialize;
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

/// Repairs all files, one after the other.
pub(super) fn run(
    args: &Args,
    global: &Global,
    targets: &[Target],
    options: &RepairOptions,
    mut total: Total,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    total.repaired = Some(0);
    // One command is one operation, however many files it changes.
    let group = Group::default();
    for target in targets {
        match repair_file(args, global, target, targets.len() > 1, options, &group, ui) {
            Ok((report, repaired)) => {
                total.repaired = total.repaired.map(|sum| sum + repaired);
                total.add(&report);
            }
            Err(error) if targets.len() == 1 && error.downcast_ref::<Error>().is_none() => return Err(error),
            Err(error) => total.failures.add(of_file(error, &target.path), target.named, ui)?,
        }
    }
    let op_id = group.end();
    report::total(&total, args.porcelain, ui)?;
    if total.repaired > Some(1) && targets.len() > 1 && !op_id.is_empty() && !ui.look.json {
        ui.hint(format_args!("`bough undo {op_id}` undoes the repairs of all files"));
    }
    (total.repairable, total.untried) = (0, 0);
    total.hint(args, global, options, ui);
    Ok(total.exit(args.strict))
}

/// Adds the file to an error that does not mention it.
fn of_file(error: anyhow::Error, path: &Path) -> anyhow::Error {
    let path = path.display().to_string();
    if error.to_string().contains(&path) { error } else { error.context(path) }
}

/// Repairs one file.
fn repair_file(
    args: &Args,
    global: &Global,
    target: &Target,
    several: bool,
    options: &RepairOptions,
    group: &Group,
    ui: &mut Ui,
) -> anyhow::Result<(Report, u64)> {
    let (subject, repair, side_file) = write::retry(args.writing, ui, |round, ui| {
        let subject = Subject::open(&target.path, global)?;
        let repair = subject.repair_or_say_why_not(options)?;
        if repair.plan.is_empty() {
            return Ok((subject, repair, None));
        }
        if target.path == Path::new("-") {
            return Err(Refusal::Stdin.into());
        }
        let side_file = carry(&subject, &repair, args, group, round.is_last, ui)?;
        Ok((subject, repair, side_file))
    })?;
    if !repair.plan.is_empty() {
        print_outcome(&subject, &repair, side_file.as_deref(), several, args, ui)?;
    }
    let left = repair.left.only(selected(args));
    if !args.writing.dry_run {
        report::findings(&target.path, &left, args.porcelain, global, ui)?;
    }
    if !ui.look.quiet {
        say_what_has_no_way(&subject, &left, options, ui);
    }
    let report = Report {
        session: None,
        ids: Vec::new(),
        findings: left,
        entries: repair.proof.entries.1,
        reachable: repair.proof.agents_path.0,
        reachable_after: repair.proof.agents_path.1,
        repairable: 0,
        untried: 0,
        program: subject.examined.program(),
    };
    Ok((report, repair.repaired))
}

/// Reports for the requested checks why findings of them are left.
fn say_what_has_no_way(subject: &Subject, left: &Findings, options: &RepairOptions, ui: &mut Ui) {
    for check in options.with_checks().filter(|check| left.count(*check) > 0) {
        let why = match subject.format() {
            Format::PiV1 => "entries of version 1 have no ids; `bough migrate SESSION` adds them",
            _ => "no safe repair exists",
        };
        let count = Count("finding", "findings", left.count(check) as usize);
        ui.note(format_args!("{count} of `{}` not repaired: {why}", check.id()));
    }
}

/// Carries out a repair; returns the side file with the removed bytes, if there are any.
fn carry(
    subject: &Subject,
    repair: &Repair,
    args: &Args,
    group: &Group,
    last_try: bool,
    ui: &mut Ui,
) -> anyhow::Result<Option<PathBuf>> {
    let log = Log::of_user();
    let mut plan: Plan = repair.plan.clone();
    let mut side_file = None;
    if !repair.aside.is_empty() && !args.writing.dry_run {
        let path = place_aside(log.as_ref(), subject.files.path(0))?;
        let newline = || Piece::New(b"\n".to_vec());
        let pieces = repair.aside.iter().flat_map(|aside| [aside.content.clone(), newline()]).collect();
        // First: the removed bytes must be saved before they are removed.
        plan.targets.insert(0, Written::Create { path: Some(path.clone()), pieces });
        side_file = Some(path);
    }
    // The side file is written first, and is not a session.
    let is_side_file = Cell::new(side_file.is_some());
    let prove = |path: &Path| -> Result<(), String> {
        if is_side_file.take() {
            return Ok(());
        }
        proved(path, subject, repair)
    };
    let (files, format) = (&subject.files, subject.format());
    write::finish_in(Some(group), args.writing, files, format, &plan, Some(&prove), last_try, ui)?;
    Ok(side_file)
}

/// Checks that a file that was written is the one that was verified.
fn proved(path: &Path, subject: &Subject, repair: &Repair) -> Result<(), String> {
    let options = store::Options { side: true, format: Some(subject.format()) };
    let opened = store::open(path, options).map_err(|error| error.to_string())?;
    let len = opened.session.files[0].bytes;
    let examined = crate::fsck::examine(Some(opened.session), &opened.files, len, None, &subject.place)
        .map_err(|error| error.to_string())?;
    repair.proof.holds_for(&examined, &opened.files).map_err(|error| error.to_string())?
}

/// Returns the path of the side file for the bytes removed from a file: in the state folder, or, if
/// there is none, beside the file.
fn place_aside(log: Option<&Log>, of: &Path) -> anyhow::Result<PathBuf> {
    let Some(log) = log else {
        let name = of.file_name().unwrap_or_default().to_string_lossy();
        // The name must not end like that of a session: agents list such files.
        let numbered = |at: usize| of.with_file_name(format!("{name}.aside-{at}"));
        return Ok((1..).map(numbered).find(|path| !path.exists()).expect("some number is free"));
    };
    let folder = log.folder().join("aside");
    store::make_folder(&folder)?;
    Ok(fresh_name(&folder, of))
}

/// Returns an unused name in a folder.
fn fresh_name(folder: &Path, of: &Path) -> PathBuf {
    let stem = of.file_stem().unwrap_or_default().to_string_lossy();
    // File names are limited to 255 bytes.
    let stem: String = stem.chars().take(50).collect();
    let time = time::now().iso().replace([':', '.'], "-");
    (0..)
        .map(|at| match at {
            0 => folder.join(format!("{stem}.{time}.jsonl")),
            at => folder.join(format!("{stem}.{time}.{at}.jsonl")),
        })
        .find(|path| !path.exists())
        .expect("some number is free")
}

/// Reports what was done.
fn print_outcome(
    subject: &Subject,
    repair: &Repair,
    side_file: Option<&Path>,
    several: bool,
    args: &Args,
    ui: &mut Ui,
) -> io::Result<()> {
    if args.writing.dry_run {
        return Ok(());
    }
    let file = subject.files.path(0);
    if ui.look.json {
        write::show(&repair.plan.changes, |_| file, ui)?;
    } else if !args.porcelain {
        for change in &repair.plan.changes {
            print_change(&file.display().to_string(), change, ui)?;
        }
    }
    if let Some(side) = side_file {
        print_aside(file, side, repair, ui)?;
    }
    if let Some(line) = repair.proof.head_moves_to {
        ui.note(format_args!("HEAD moves to the entry on line {line}: it was on another branch"));
    }
    let guesses = repair.plan.changes.iter().filter(|change| change.is_guess).count();
    if guesses > 0 {
        ui.note(format_args!(
            "{}: the parent is lost, so that the entry follows the one before it in the file; \
             `bough log --graph` shows where, and `--strategy dangling-parent=root` makes it a root",
            Count("guess", "guesses", guesses)
        ));
    }
    if !ui.look.json && Log::of_user().is_some() {
        let file = text::shell_word(&file.display().to_string());
        // All repairs of a command are one operation.
        let option = if several { "--file " } else { "" };
        ui.hint(format_args!("`bough undo {option}{file}` undoes the repair"));
    }
    Ok(())
}

/// Says how much was set aside, and where.
fn print_aside(file: &Path, side: &Path, repair: &Repair, ui: &mut Ui) -> io::Result<()> {
    let bytes: u64 = repair.aside.iter().map(|aside| aside.bytes).sum();
    let count = Count("piece", "pieces", repair.aside.len());
    let words =
        format!("{count}, {}, set aside in {}", Count("byte", "bytes", bytes as usize), side.display());
    if ui.look.json {
        let row = AsideRow {
            file: file.display().to_string(),
            aside: side.display().to_string(),
            pieces: repair.aside.len(),
            bytes,
        };
        rows::print(&row, ui)?;
    } else {
        ui.note(text::one_line(&words));
    }
    Ok(())
}

/// Prints one change on one line.
fn print_change(file: &str, change: &Change, ui: &mut Ui) -> io::Result<()> {
    let cut = |value: &str| text::fit(&text::one_line(value), 48);
    let at = if change.line > 0 { format!(":{}", change.line) } else { String::new() };
    let lines = |value: &str| Count("line", "lines", value.lines().count());
    let what = match (change.field.as_str(), change.old.as_str(), change.new.as_str()) {
        ("", "", "") => String::new(),
        // Raw characters can't be seen.
        _ if change.op == "escape" => String::new(),
        ("", old, new) if old.contains('\n') || new.contains('\n') => {
            format!(" {} to {}", lines(old), lines(new))
        }
        ("", "", new) => format!(" {}", cut(new)),
        ("", old, "") => format!(" {}", cut(old)),
        ("", old, new) => format!(" {} to {}", cut(old), cut(new)),
        (field, "", new) => format!(" {field} to {}", cut(new)),
        (field, old, new) => format!(" {field} from {} to {}", cut(old), cut(new)),
    };
    let guess = if change.is_guess { ", a guess" } else { "" };
    let why = if change.why.is_empty() { String::new() } else { format!(" ({}{guess})", change.why) };
    writeln!(ui.out(), "{}{at}: {}{what}{why}", text::one_line(file), change.op)
}

#[cfg(test)]
mod tests;

/// What a repair took out of a file: fsck --repair.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.aside/1")]
pub(crate) struct AsideRow {
    /// The file that was repaired.
    file: String,
    /// The file that has what was taken out.
    aside: String,
    /// How many pieces.
    pieces: usize,
    /// How many bytes.
    bytes: u64,
}
