//! What is said of an export: what was not copied, and what is damaged.

use crate::format::Format;
use crate::fsck::{self, Check};
use crate::model::{Count, Plan, Planned, Target};
use crate::ops::export::Export;
use crate::store::Opened;
use crate::ui::{Ui, text};
use std::path::{Path, PathBuf};

/// What is not copied.
#[derive(Default)]
pub(super) struct Left {
    /// How many files of the session are left out because the new one is printed.
    pub(super) companions: usize,
    /// Files that an extension keeps beside the session.
    pub(super) sidecars: Vec<PathBuf>,
    /// Files in the folder of the session that its format does not define.
    pub(super) unknown: Vec<PathBuf>,
    /// How many results name a copied file in a folder other than the old session's.
    pub(super) elsewhere: usize,
}

impl Left {
    fn print_export(&self, ui: &mut Ui) {
        if self.companions > 0 {
            ui.note(format_args!(
                "warning: {} not exported; `-o` or `--store` exports them",
                Count("file of the session was", "files of the session were", self.companions)
            ));
        }
        if self.elsewhere > 0 {
            let (results, files) = match self.elsewhere {
                1 => ("tool result names its", "file"),
                _ => ("tool results name their", "files"),
            };
            ui.note(format_args!(
                "warning: {} {results} {files} by a path that is not in the folder of the old session; the path was kept",
                self.elsewhere
            ));
        }
        for path in &self.sidecars {
            ui.note(format_args!(
                "warning: `{}` was not exported: it is not a file of the agent, and may name the old session",
                text::one_line(&path.display().to_string())
            ));
        }
        self.warn_unknown(ui);
    }

    fn warn_unknown(&self, ui: &mut Ui) {
        let [first, more @ ..] = &*self.unknown else { return };
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more in that folder"),
        };
        ui.note(format_args!(
            "warning: not exported: `{}`{more}: the agent is not known to keep such files",
            text::one_line(&first.display().to_string())
        ));
    }
}

pub(super) fn report_export(
    export: &Export,
    to: Option<&Path>,
    session: &str,
    left: &Left,
    resume: Option<String>,
    ui: &mut Ui,
) {
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
    left.print_export(ui);
    if let Some(resume) = resume {
        ui.hint(format_args!("resume with: {resume}"));
    }
}

/// The errors that `fsck` finds in the new session: damage on the path is copied unchanged.
#[derive(Default)]
pub(super) struct Damage {
    /// The checks with findings, and their numbers.
    found: Vec<(Check, u64)>,
    /// Whether a default repair can do something about it.
    is_repairable: bool,
}

impl Damage {
    /// Checks the session that a plan creates, before it is written.
    pub(super) fn of_plan(opened: &Opened, plan: &Plan, session: &str) -> anyhow::Result<Damage> {
        let Some(Target::Create { pieces, .. }) = plan.targets.last() else { return Ok(Damage::default()) };
        let planned = Planned::new(&opened.files, pieces);
        let format = opened.session.format;
        // Its lines belong to it, whatever name it gets.
        let stem = if format == Format::Claude { session } else { "" };
        let len = planned.bytes_in_all();
        let examined = match fsck::examine(None, &planned, len, Some(format), &fsck::NoSurroundings(stem)) {
            Ok(examined) => examined,
            Err(fsck::Unreadable::Io(error)) => return Err(error.into()),
            Err(fsck::Unreadable::Unknown | fsck::Unreadable::Foreign(_)) => return Ok(Damage::default()),
        };
        let errors = fsck::CHECKS.iter().filter(|row| row.level == fsck::Level::Error);
        let found = errors.map(|row| (row.check, examined.findings.count(row.check)));
        let list = &examined.findings.list;
        let is_repairable = list.iter().any(|finding| {
            finding.check.level() == fsck::Level::Error
                && finding.is_repairable()
                && finding.check.repair_mode() == fsck::RepairMode::ByDefault
        });
        Ok(Damage { found: found.filter(|(_, count)| *count > 0).collect(), is_repairable })
    }

    pub(super) fn report_damage(&self, to: Option<&Path>, ui: &mut Ui) {
        if self.found.is_empty() {
            return;
        }
        let all: u64 = self.found.iter().map(|(_, count)| count).sum();
        let checks = self.found.iter().map(|(check, count)| match count {
            1 => check.id().to_owned(),
            count => format!("{} ({count})", check.id()),
        });
        let checks = checks.collect::<Vec<_>>().join(", ");
        ui.note(format_args!(
            "warning: the path is damaged, and so is the new session: {}: {checks}",
            Count("error", "errors", usize::try_from(all).unwrap_or(usize::MAX))
        ));
        let file = to.map_or("FILE".into(), |to| text::shell_word(&to.display().to_string()));
        match self.is_repairable {
            true => ui.hint(format_args!("`bough fsck --repair {file}` repairs the new session")),
            false => ui.hint(format_args!("`bough fsck {file}` shows where")),
        }
    }
}
