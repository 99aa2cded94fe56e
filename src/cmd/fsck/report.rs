//! How findings are printed.

use super::Total;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::rows;
use crate::fsck::{CHECKS, Check, Finding, Findings, Level, Row};
use crate::model::{Count, grouped};
use crate::ui::{Ink, Ui, text};
use serde::Serialize;
use std::io;
use std::path::Path;

/// Prints the findings in one file.
pub(super) fn findings(
    path: &Path,
    findings: &Findings,
    porcelain: bool,
    global: &Global,
    ui: &mut Ui,
) -> io::Result<()> {
    let file = path.display().to_string();
    let mut infos = Vec::new();
    let mut unshown = 0;
    for finding in &findings.list {
        if ui.look.json {
            rows::print(&FindingRow::new(&file, finding), ui)?;
        } else if porcelain {
            let field = |value: &str| text::one_line(value);
            let line = finding.line;
            let (level, check) = (finding.check.level().name(), finding.check.id());
            let (id, words) = (field(&finding.id), field(&finding.message));
            writeln!(ui.out(), "{}\t{line}\t{level}\t{check}\t{id}\t{words}", field(&file))?;
        } else if global.unshown.contains(&finding.check) {
            unshown += 1;
        } else if finding.check.level() == Level::Info && !global.verbose {
            // Hundreds of infos would bury the damage: one of each kind represents all.
            if !ui.look.quiet && !infos.contains(&finding.check) {
                infos.push(finding.check);
                print_finding(&file, finding, findings.count(finding.check), ui)?;
            }
        } else {
            print_finding(&file, finding, 1, ui)?;
        }
    }
    if unshown > 0 && !ui.look.quiet {
        let count = Count("finding", "findings", unshown);
        ui.note(format_args!("{}: {count} hidden by `fsck.skip` in the config file", text::one_line(&file)));
    }
    Ok(())
}

/// Prints one finding that represents `count`.
fn print_finding(file: &str, finding: &Finding, count: u64, ui: &mut Ui) -> io::Result<()> {
    let level = finding.check.level();
    let ink = match level {
        Level::Error => Ink::Error,
        Level::Warning => Ink::Warning,
        Level::Info => Ink::Quiet,
    };
    let word = ui.paint(ink, level.name());
    let at = if finding.line > 0 { format!(":{}", finding.line) } else { String::new() };
    let more = match count {
        0 | 1 => String::new(),
        count => format!(" ({} more; `--verbose` lists them)", count - 1),
    };
    let (file, message) = (text::one_line(file), text::one_line(&finding.message));
    writeln!(ui.out(), "{file}{at}: {word}: {}: {message}{more}", finding.check)
}

/// What is wrong with a line: fsck.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.finding/1")]
pub(crate) struct FindingRow<'a> {
    /// The file.
    pub(super) file: &'a str,
    /// How bad it is.
    #[cfg_attr(test, schemars(extend("enum" = ["error", "warning", "info"])))]
    pub(super) level: &'static str,
    /// The check; `fsck --explain` explains it.
    pub(super) check: &'static str,
    /// What is found.
    pub(super) message: &'a str,
    /// Whether `--repair` repairs it.
    pub(super) repairable: bool,
    /// The line, from 1; absent where it is about the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// The first byte of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<u64>,
    /// The entry that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
}

impl<'a> FindingRow<'a> {
    fn new(file: &'a str, finding: &'a Finding) -> FindingRow<'a> {
        let has_line = finding.line > 0;
        FindingRow {
            file,
            level: finding.check.level().name(),
            check: finding.check.id(),
            message: &finding.message,
            repairable: finding.is_repairable(),
            line: has_line.then_some(finding.line),
            offset: has_line.then_some(finding.offset),
            id: Some(&*finding.id).filter(|id| !id.is_empty()),
        }
    }
}

/// The last line of fsck.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.fsck/2")]
pub(crate) struct FsckRow {
    /// How many files were looked at.
    files: usize,
    /// How many errors there are; after a repair, are left.
    errors: u64,
    /// How many warnings.
    warnings: u64,
    /// How many notes.
    infos: u64,
    /// How many entries the agent loads at HEAD, bookkeeping included.
    reachable: usize,
    /// How many are after a repair.
    reachable_after: usize,
    /// How many entries there are.
    entries: usize,
    /// How many findings are counted and not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<u64>,
    /// How many files in folders are not sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_sessions: Option<usize>,
    /// How many findings a repair repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<u64>,
}

/// Prints the last line: the number of findings, and how much of the sessions is reachable.
pub(super) fn total(total: &Total, porcelain: bool, ui: &mut Ui) -> io::Result<()> {
    if ui.look.json {
        let row = FsckRow {
            files: total.files,
            errors: total.errors,
            warnings: total.warnings,
            infos: total.infos,
            reachable: total.reachable,
            reachable_after: total.reachable_after,
            entries: total.entries,
            unlisted: Some(total.unlisted).filter(|count| *count > 0),
            no_sessions: Some(total.failures.not_sessions.len()).filter(|count| *count > 0),
            repaired: total.repaired,
        };
        return rows::print(&row, ui);
    }
    if porcelain || total.files == 0 {
        return Ok(());
    }
    let files = match total.files {
        1 => String::new(),
        files => format!("{} · ", Count("file", "files", files)),
    };
    let repaired = match total.repaired {
        Some(count) => format!("{count} repaired · "),
        None => String::new(),
    };
    let (errors, warnings) = (total.errors as usize, total.warnings as usize);
    let facts = format!(
        "{files}{repaired}{}, {}{} · {}",
        Count("error", "errors", errors),
        Count("warning", "warnings", warnings),
        if total.repaired.is_some() { " left" } else { "" },
        reach(total),
    );
    let is_ascii = ui.look.ascii;
    let width = ui.look.width;
    for line in text::wrap_facts(&facts, width).iter().flat_map(|line| text::wrap_at_commas(line, width)) {
        let line = if is_ascii { line.replace('·', "-") } else { line };
        writeln!(ui.out(), "{line}")?;
    }
    Ok(())
}

/// Returns how much of the sessions the agent loads at HEAD. Without errors, the rest is on other branches, or
/// before a compaction; with errors, it may be lost.
fn reach(total: &Total) -> String {
    let after = total.repaired.is_some() && total.reachable_after != total.reachable;
    let reached = if after { total.reachable_after } else { total.reachable };
    let before = if after { format!(", {} before", grouped(total.reachable)) } else { String::new() };
    let entries = Count("entry", "entries", total.entries);
    let is = if total.errors > 0 || total.entries == 0 { "reachable from" } else { "loaded at" };
    format!("{} of {entries} {is} HEAD{before}", grouped(reached))
}

/// A check: fsck --list-checks, fsck --explain.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.check/2")]
pub(crate) struct CheckRow {
    /// Its name.
    check: &'static str,
    /// How bad it is.
    #[cfg_attr(test, schemars(extend("enum" = ["error", "warning", "info"])))]
    level: &'static str,
    /// Whether `--repair` repairs it: `by default`, `on request` or `no`.
    repair: &'static str,
    /// What is found.
    what: &'static str,
    /// What it leads to.
    why: &'static str,
    /// Repair strategies, the default first.
    strategies: &'static [&'static str],
}

impl From<&Row> for CheckRow {
    fn from(row: &Row) -> CheckRow {
        CheckRow {
            check: row.id,
            level: row.level.name(),
            repair: row.repair.phrase(),
            what: row.what,
            why: row.why,
            strategies: row.strategies,
        }
    }
}

/// Prints the table of checks.
pub(super) fn list_checks(ui: &mut Ui) -> io::Result<()> {
    if ui.look.json {
        return CHECKS.iter().try_for_each(|row| rows::print(&CheckRow::from(row), ui));
    }
    let width = CHECKS.iter().map(|row| row.id.len()).max().unwrap_or(0);
    for row in CHECKS {
        let (level, repair) = (row.level.name(), row.repair.phrase());
        let head = format!("{level:<7}  {:<width$}  {repair:<10}  ", row.id);
        let room = ui.look.width.saturating_sub(head.len());
        let lines = match ui.look.terminal && room >= 20 {
            true => text::wrap(row.what, room),
            false => vec![row.what.to_owned()],
        };
        for (at, line) in lines.iter().enumerate() {
            let head = if at == 0 { &*head } else { "" };
            writeln!(ui.out(), "{head:<indent$}{line}", indent = width + 21)?;
        }
    }
    Ok(())
}

/// Prints what a check means.
pub(super) fn explain(check: Check, ui: &mut Ui) -> io::Result<()> {
    let row = check.row();
    if ui.look.json {
        return rows::print(&CheckRow::from(row), ui);
    }
    writeln!(ui.out(), "{} ({})", row.id, row.level.name())?;
    for text in [row.what, row.why] {
        let lines = text::wrap(text, ui.look.width);
        writeln!(ui.out(), "\n{}", lines.join("\n"))?;
    }
    let repair = match row.repair {
        crate::fsck::RepairMode::No => "There is no repair.".to_owned(),
        crate::fsck::RepairMode::ByDefault => "`bough fsck --repair` repairs it.".to_owned(),
        crate::fsck::RepairMode::OnRequest => format!("`bough fsck --repair --with {}` repairs it.", row.id),
    };
    writeln!(ui.out(), "\n{repair}")?;
    if !row.strategies.is_empty() {
        writeln!(ui.out(), "Strategies: {}; the first is the default.", row.strategies.join(", "))?;
    }
    Ok(())
}
