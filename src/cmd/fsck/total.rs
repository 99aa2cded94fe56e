//! The sum over all checked files: the last line, the hints and the exit status.

use super::{Args, Report};
use crate::cmd::Exit;
use crate::cmd::shared::exit::Failures;
use crate::cmd::shared::options::Global;
use crate::fsck::{self, CHECKS, Check, Level, RepairMode, RepairOptions};
use crate::model::{Count, grouped};
use crate::ui::{Ui, text};

/// How many skipped files are named without `--verbose`.
const MOST_NAMED: usize = 3;

/// The findings in all files.
#[derive(Default)]
pub(super) struct Total {
    pub(super) files: usize,
    pub(super) errors: u64,
    pub(super) warnings: u64,
    pub(super) infos: u64,
    pub(super) entries: usize,
    pub(super) reachable: usize,
    pub(super) reachable_after: usize,
    pub(super) repairable: u64,
    pub(super) untried: u64,
    /// Findings of level info that are counted but not listed.
    pub(super) unlisted: u64,
    /// Checks with findings that can be repaired on request.
    on_request: Vec<Check>,
    pub(super) failures: Failures,
    pub(super) repaired: Option<u64>,
}

impl Total {
    pub(super) fn add(&mut self, report: &Report) {
        self.files += 1;
        self.errors += report.findings.of_level(Level::Error);
        self.warnings += report.findings.of_level(Level::Warning);
        self.infos += report.findings.of_level(Level::Info);
        let listed =
            report.findings.list.iter().filter(|finding| finding.check.level() == Level::Info).count();
        self.unlisted += report.findings.of_level(Level::Info) - listed as u64;
        self.entries += report.entries;
        self.reachable += report.reachable;
        self.reachable_after += report.reachable_after;
        self.repairable += report.repairable;
        self.untried += report.untried;
        for row in CHECKS.iter().filter(|row| row.repair == RepairMode::OnRequest && row.level > Level::Info)
        {
            let mut found = report.findings.list.iter().filter(|finding| finding.check == row.check);
            if found.any(fsck::Finding::is_repairable) && !self.on_request.contains(&row.check) {
                self.on_request.push(row.check);
            }
        }
    }

    /// Prints what the user can do.
    pub(super) fn hint(&self, args: &Args, global: &Global, options: &RepairOptions, ui: &mut Ui) {
        let skipped = &self.failures.not_sessions;
        if !skipped.is_empty() && !ui.look.quiet {
            let count =
                Count("file that is not a session was", "files that are not sessions were", skipped.len());
            let names: Vec<String> = skipped.iter().map(|path| path.display().to_string()).collect();
            match names.len() <= MOST_NAMED || global.verbose {
                true => ui.note(text::safe(&format!("{count} skipped: {}", names.join(", ")))),
                false => ui.note(format_args!("{count} skipped; `--verbose` names them")),
            }
        }
        if self.unlisted > 0 && !ui.look.quiet {
            ui.note(format_args!(
                "{} counted and not listed",
                Count("info is", "infos are", self.unlisted as usize)
            ));
        }
        let named = || global.session.iter().chain(&args.files);
        let files: String = named().map(|file| format!(" {}", text::shell_word(file))).collect();
        let count = self.repairable + self.untried;
        let is_piped = named().any(|file| file == "-") || args.scope.is_piped();
        let files = args.scope.words() + &files;
        if count > 0 && !is_piped {
            let can = if self.untried > 0 { "tries to repair" } else { "can repair" };
            let reached = match self.untried > 0 || self.reachable_after == self.reachable {
                true => String::new(),
                false => {
                    let [after, all] = [self.reachable_after, self.entries].map(grouped);
                    format!("; then {after} of {all} are reachable")
                }
            };
            let options = [("only", &args.only), ("skip", &args.skip)];
            let options: String = options
                .into_iter()
                .filter(|(_, checks)| !checks.is_empty())
                .map(|(option, checks)| format!(" --{option} {}", checks.join(",")))
                .collect();
            ui.hint(format_args!("`bough fsck --repair{options}{files}` {can} {count}{reached}"));
        }
        let asked: Vec<&str> = self
            .on_request
            .iter()
            .filter(|check| !options.with.has(**check))
            .map(|check| check.id())
            .collect();
        if !asked.is_empty() {
            ui.hint(format_args!("repaired on request, with `--repair --with CHECK`: {}", asked.join(", ")));
        }
    }

    pub(super) fn exit(&self, strict: bool) -> Exit {
        let found = self.errors > 0 || strict && self.warnings > 0;
        self.failures.or(if found { Exit::No } else { Exit::Done })
    }
}
