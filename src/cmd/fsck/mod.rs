//! `bough fsck`: checks sessions for damage, and repairs them.

mod places;
pub(super) mod repair;
pub(super) mod report;
mod surroundings;
mod targets;
mod total;

use super::shared::options::Global;
use super::shared::scope::{self, Scope};
use super::shared::write::WriteArgs;
use super::shared::{parallel, session_arg};
use super::{Exit, Failure, complete};
use crate::format::{Format, Program};
use crate::fsck::{
    self, CHECKS, Check, Examined, Findings, NoRepair, RepairMode, RepairOptions, Set, Unreadable,
};
use crate::model::{Count, Key};
use crate::store;
use crate::store::{Error, Files, Opened, Options};
use crate::ui::{Progress, Ui, text};
use clap::builder::PossibleValuesParser;
use clap_complete::engine::ArgValueCompleter;
use std::collections::BTreeMap;
use std::path::Path;
use surroundings::Place;
use targets::{Target, targets};
use total::Total;

/// Check sessions for damage, and repair it
///
/// Checks session files, folders of them, and whole stores; `-` is standard input. Prints one line
/// for each finding, `FILE:LINE: LEVEL: CHECK: message`, then the number of findings, and how many
/// entries the agent reaches.
///
/// With `--repair`, repairs everything that has a default repair. bough repairs a copy, reads it
/// again, and checks that the errors are gone, that there are no new ones, that no id and no line
/// is lost that had to stay, and that the agent would still send everything that it would have
/// sent, at HEAD and on every branch, with no result without its call. If one of these is not so,
/// nothing is changed. Removed bytes are saved in a side file. `bough undo` undoes the whole
/// repair.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Session files, folders, or `-` for standard input
    ///
    /// If omitted, the default session.
    #[arg(value_name = "FILE|FOLDER", add = ArgValueCompleter::new(complete::sessions))]
    files: Vec<String>,

    /// Repair what can be repaired by default
    #[arg(long)]
    repair: bool,

    /// Also repair findings of this check, which are repaired only on request
    #[arg(long, value_name = "CHECK", value_parser = check_names(), hide_possible_values = true, add = ArgValueCompleter::new(complete::checks), value_delimiter = ',', requires = "repair")]
    with: Vec<String>,

    /// Use another repair strategy for a check, e.g. `dangling-parent=root`
    #[arg(long, value_name = "CHECK=NAME", add = ArgValueCompleter::new(complete::strategies), value_delimiter = ',', requires = "repair")]
    strategy: Vec<String>,

    /// Run only these checks
    #[arg(long, value_name = "CHECK", value_parser = check_names(), hide_possible_values = true, add = ArgValueCompleter::new(complete::checks), value_delimiter = ',')]
    only: Vec<String>,

    /// Skip these checks
    ///
    /// A repair leaves findings of these checks as they are. Damaged lines are always repaired,
    /// because everything else depends on them.
    #[arg(long, value_name = "CHECK", value_parser = check_names(), hide_possible_values = true, add = ArgValueCompleter::new(complete::checks), value_delimiter = ',')]
    skip: Vec<String>,

    /// Check where sessions are, not what is in them
    ///
    /// Reports sessions whose working directory does not exist, sessions in a folder in which the
    /// agent does not look for them, and sessions whose own file is gone, with the `bough move` that
    /// helps. FOLDER is a store; by default all stores are checked, with `--project` only the sessions
    /// of the current project.
    #[arg(long, conflicts_with_all = ["repair", "only", "skip", "porcelain"])]
    places: bool,

    /// Also exit with 1 if there are only warnings
    #[arg(long)]
    strict: bool,

    /// Print tab-separated findings for scripts: file, line, level, check, id, message
    #[arg(long, conflicts_with = "json")]
    porcelain: bool,

    /// End rows of `--porcelain` and `--json` with NUL
    #[arg(short = 'z')]
    nul: bool,

    /// List all checks, with what they find
    ///
    /// Each has its level, its name, and whether there is a repair.
    #[arg(long)]
    list_checks: bool,

    /// Explain a check
    #[arg(long, value_name = "CHECK", value_parser = check_names(), hide_possible_values = true, add = ArgValueCompleter::new(complete::checks))]
    explain: Option<String>,

    #[command(flatten)]
    scope: Scope,

    #[command(flatten)]
    writing: WriteArgs,
}

fn check_names() -> PossibleValuesParser {
    CHECKS.iter().map(|row| row.id).collect::<Vec<_>>().into()
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.porcelain {
        ui.for_people();
    }
    if args.nul && (args.porcelain || ui.look.json) {
        ui.end_rows_with_nul();
    }
    if args.list_checks {
        report::list_checks(ui)?;
        return Ok(Exit::Done);
    }
    if let Some(check) = args.explain.as_deref().and_then(Check::from_id) {
        report::explain(check, ui)?;
        return Ok(Exit::Done);
    }
    if args.places {
        return places::run(args, global, ui);
    }
    let options = options(args)?;
    let mut total = Total::default();
    let targets = targets(args, global, &mut total, ui)?;
    if targets.is_empty() && total.failures.is_empty() {
        return Ok(scope::none_found(ui));
    }
    if args.repair {
        repair::run(args, global, &targets, &options, total, ui)
    } else {
        check_files(args, global, &targets, &options, total, ui)
    }
}

/// Checks all files, several at a time, and prints the findings in the order of the files.
fn check_files(
    args: &Args,
    global: &Global,
    targets: &[Target],
    options: &RepairOptions,
    mut total: Total,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let progress = match targets {
        [only] => session_arg::reading(global, [&*only.path]),
        _ => Progress::start("checking", targets.len(), global.quiet),
    };
    let one = |target: &Target| {
        let report = report(target, global, args, options, targets.len() > 1);
        progress.step();
        report
    };
    let reports = parallel::map(targets, one);
    drop(progress);
    let reports = with_owners(targets, reports, selected(args));
    let mut ids: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
    for (target, report) in targets.iter().zip(reports) {
        match report {
            Ok(report) => {
                if let Some(id) = report.session.as_ref().filter(|id| !id.is_empty()) {
                    ids.entry(id.clone()).or_default().push(&target.path);
                }
                report::findings(&target.path, &report.findings, args.porcelain, global, ui)?;
                if let Some(program) = report.program
                    && !report.findings.list.is_empty()
                    && !ui.look.quiet
                {
                    let path = text::one_line(&target.path.display().to_string());
                    ui.note(format_args!("{path}: not repaired: {}", program.why_read_only()));
                }
                total.add(&report);
            }
            Err(error) => total.failures.add(error.into(), target.named, ui)?,
        }
    }
    report::total(&total, args.porcelain, ui)?;
    if !global.json {
        warn_equal_ids(ids, ui);
    }
    total.hint(args, global, options, ui);
    Ok(total.exit(args.strict))
}

/// Reports sessions with the same id, which then names none of them.
fn warn_equal_ids(ids: BTreeMap<String, Vec<&Path>>, ui: &mut Ui) {
    for (id, paths) in ids.into_iter().filter(|(_, paths)| paths.len() > 1) {
        let files = Count("file has", "files have", paths.len());
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let words = format!("warning: {files} the session id `{id}`: {}", paths.join(", "));
        ui.note(text::one_line(&words));
    }
}

/// Adds the findings that need several sessions.
fn with_owners(
    targets: &[Target],
    mut reports: Vec<Result<Report, Error>>,
    selected: Set,
) -> Vec<Result<Report, Error>> {
    let names: Vec<String> = targets.iter().map(|target| target.path.display().to_string()).collect();
    let sessions: Vec<(&str, &[Key])> = names
        .iter()
        .zip(&reports)
        .map(|(name, report)| (name.as_str(), report.as_ref().map_or(&[][..], |report| &report.ids[..])))
        .collect();
    let found = fsck::ownership(&sessions);
    for (at, finding) in found.into_iter().filter(|(_, finding)| selected.has(finding.check)) {
        if let Ok(report) = &mut reports[at] {
            report.findings.push(finding);
        }
    }
    reports
}

/// In a session with more entries, the hint does not say how many findings a repair would fix:
/// determining that takes longer than checking the session.
const MOST_TRIED: usize = 100_000;

/// The findings in one file, and what a repair would do.
struct Report {
    /// The ids of its entries, if several sessions are compared and ids must be unique over all of
    /// them.
    ids: Vec<Key>,
    /// The id of the session, if its header has one.
    session: Option<String>,
    findings: Findings,
    entries: usize,
    reachable: usize,
    reachable_after: usize,
    /// How many findings a repair would fix.
    repairable: u64,
    /// How many findings it would try to fix, in a file that is too large to try it for a hint.
    untried: u64,
    /// The program that the session belongs to, if bough does not repair its sessions.
    program: Option<Program>,
}

fn report(
    target: &Target,
    global: &Global,
    args: &Args,
    options: &RepairOptions,
    several: bool,
) -> Result<Report, Error> {
    let subject = Subject::open(&target.path, global)?;
    let examined = &subject.examined;
    let mut report = Report {
        ids: if several && examined.format == Format::Claude { examined.ids().to_vec() } else { Vec::new() },
        session: examined.header_id(),
        findings: examined.only(selected(args)),
        entries: examined.entries,
        reachable: examined.reachable,
        reachable_after: examined.reachable,
        repairable: 0,
        untried: 0,
        program: examined.program(),
    };
    if examined.entries > MOST_TRIED && !global.json {
        report.untried = examined.repairable(options);
    } else if examined.findings.list.iter().any(|finding| options.wants(finding))
        && let Ok(repair) = subject.repair(options)
        && !repair.plan.is_empty()
    {
        report.repairable = repair.repaired;
        report.reachable_after = repair.proof.agents_path.1;
    }
    Ok(report)
}

/// Returns the selected checks.
fn selected(args: &Args) -> Set {
    let named = |ids: &[String]| ids.iter().filter_map(|id| Check::from_id(id)).collect::<Set>();
    let mut set = if args.only.is_empty() { Set::all() } else { named(&args.only) };
    args.skip.iter().filter_map(|id| Check::from_id(id)).for_each(|check| set.remove(check));
    set
}

fn options(args: &Args) -> anyhow::Result<RepairOptions> {
    let usage = |what: String, hint: String| Failure::Usage { what, hint };
    if args.writing.dry_run && !args.repair {
        return Err(
            usage("`-n` without `--repair`".into(), "`-n` shows what `--repair` would do".into()).into()
        );
    }
    let mut options = RepairOptions { now: Some(super::shared::time::now()), ..RepairOptions::default() };
    for id in &args.with {
        let check = Check::from_id(id).expect("clap takes names of checks alone");
        if check.repair_mode() == RepairMode::No {
            return Err(usage(
                format!("`{id}` can't be repaired"),
                format!("`bough fsck --explain {id}` explains why"),
            )
            .into());
        }
        options.with.insert(check);
    }
    let selected = selected(args);
    options.without = CHECKS.iter().map(|row| row.check).filter(|check| !selected.has(*check)).collect();
    for check in options.with_checks() {
        options.without.remove(check);
    }
    for words in &args.strategy {
        options.strategies.push(strategy(words)?);
    }
    Ok(options)
}

/// Parses `CHECK=STRATEGY`.
fn strategy(words: &str) -> Result<(Check, String), Failure> {
    let (id, name) = words.split_once('=').unwrap_or((words, ""));
    let Some(check) = Check::from_id(id) else {
        let what = format!("unknown check `{id}`");
        return Err(Failure::Usage { what, hint: "`bough fsck --list-checks` lists them".into() });
    };
    let known = check.row().strategies;
    if !known.contains(&name) {
        let hint = match known {
            [] => format!("`{id}` has only one strategy"),
            known => format!("strategies of `{id}`: {}", known.join(", ")),
        };
        return Err(Failure::Usage { what: format!("`{id}` has no strategy `{name}`"), hint });
    }
    Ok((check, name.to_owned()))
}

/// Returns the findings in a session that was read with its side columns, so that all commands name
/// faults as `fsck` does.
pub(super) fn findings_of(opened: Opened, global: &Global) -> anyhow::Result<Findings> {
    let Opened { session, files } = opened;
    let len = session.files[0].bytes;
    let place = Place::of_file(files.path(0));
    let examined = fsck::examine(Some(session), &files, len, global.options().format, &place)?;
    Ok(examined.findings)
}

/// An examined file, with its source.
struct Subject {
    files: Files,
    examined: Examined,
    place: Place,
}

impl Subject {
    fn open(path: &Path, global: &Global) -> Result<Subject, Error> {
        let options = Options { side: true, ..global.options() };
        let place = Place::of_file(path);
        let (session, files, len) = store::open_any(path, options)?;
        let examined =
            fsck::examine(session, &files, len, options.format, &place).map_err(|error| match error {
                Unreadable::Unknown => Error::UnknownFormat { path: path.to_owned(), program: None },
                Unreadable::Foreign(program) => {
                    Error::UnknownFormat { path: path.to_owned(), program: Some(program) }
                }
                Unreadable::Io(source) => Error::Io { path: path.to_owned(), source },
            })?;
        Ok(Subject { files, examined, place })
    }

    fn repair(&self, options: &RepairOptions) -> Result<fsck::Repair, NoRepair> {
        fsck::repair(&self.examined, &self.files, &self.place, options, &mut super::shared::write::ids())
    }

    /// Does the same; if the repair can't be verified, with how another one can.
    fn repair_or_say_why_not(&self, options: &RepairOptions) -> Result<fsck::Repair, NoRepair> {
        self.repair(options).map_err(|error| match error {
            NoRepair::Unproven { failed, .. } => {
                let ids = &mut super::shared::write::ids();
                let way_out = fsck::way_out(&self.examined, &self.files, &self.place, options, ids);
                NoRepair::Unproven { failed, way_out }
            }
            error => error,
        })
    }

    fn format(&self) -> Format {
        self.examined.format
    }
}
