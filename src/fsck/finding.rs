//! Findings of the checks.

use super::table::{Check, Level, Set};
use crate::model::Ix;

/// A finding of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The line of the file, from 1; 0 if the finding is about the file.
    pub line: u64,
    /// The offset of that line.
    pub offset: u64,
    /// The id of the entry; empty if the finding is not about an entry, or the entry has no id.
    pub id: String,
    /// The message.
    pub message: String,
    /// The entry, in the session as it can be read.
    pub(super) entry: Option<Ix>,
    /// Another entry that a repair needs.
    pub(super) other: Option<Ix>,
    /// Whether the repair of this check is possible here.
    pub(super) repairable: bool,
}

impl Finding {
    /// Creates a finding about a file as a whole.
    pub(super) fn of_file(check: Check, message: impl Into<String>) -> Finding {
        Finding {
            check,
            line: 0,
            offset: 0,
            id: String::new(),
            message: message.into(),
            entry: None,
            other: None,
            repairable: true,
        }
    }

    /// Returns whether it can be repaired, by default or on request.
    pub fn is_repairable(&self) -> bool {
        self.repairable && self.check.repair_mode() != super::RepairMode::No
    }
}

/// Findings, with their number for each check.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The findings in the order of their lines. Of each check of level info, only the first
    /// [`Findings::MOST`] are stored.
    pub list: Vec<Finding>,
    counts: [u64; Check::COUNT],
}

impl Default for Findings {
    fn default() -> Findings {
        Findings { list: Vec::new(), counts: [0; Check::COUNT] }
    }
}

impl Findings {
    /// How many findings of one check of level info are stored; all are counted.
    pub const MOST: u64 = 1000;

    /// Returns the number of findings of a check.
    pub fn count(&self, check: Check) -> u64 {
        self.counts[check as usize]
    }

    /// Returns the number of findings of a level.
    pub fn of_level(&self, level: Level) -> u64 {
        let rows = super::CHECKS.iter().filter(|row| row.level == level);
        rows.map(|row| self.count(row.check)).sum()
    }

    /// Counts a finding, and returns whether to store it: one of level info is not stored if there
    /// are many.
    pub(super) fn counted(&mut self, check: Check) -> bool {
        let count = &mut self.counts[check as usize];
        *count += 1;
        check.level() > Level::Info || *count <= Findings::MOST
    }

    /// Adds a finding.
    pub fn push(&mut self, mut finding: Finding) {
        if self.counted(finding.check) {
            shorten(&mut finding.message);
            self.list.push(finding);
        }
    }

    pub(super) fn sort(&mut self) {
        self.list.sort_by_key(|finding| (finding.line, finding.offset, finding.check));
    }

    /// Returns only the findings of some checks.
    pub fn only(&self, wanted: Set) -> Findings {
        let mut counts = self.counts;
        for row in super::CHECKS.iter().filter(|row| !wanted.has(row.check)) {
            counts[row.check as usize] = 0;
        }
        let list = self.list.iter().filter(|finding| wanted.has(finding.check)).cloned().collect();
        Findings { list, counts }
    }
}

/// Cuts the middle out of a very long message: the ids in damaged sessions may have any length.
fn shorten(message: &mut String) {
    const START: usize = 300;
    const END: usize = 100;
    if message.len() <= START + 2 * END {
        return;
    }
    let is_border = |at: &usize| message.is_char_boundary(*at);
    let from = (0..=START).rev().find(is_border).unwrap_or(0);
    let to = (message.len() - END..message.len()).find(is_border).unwrap_or(message.len());
    message.replace_range(from..to, "…");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_ends() {
        let check = |text: String, wanted: String| {
            let mut message = text;
            shorten(&mut message);
            assert_eq!(message, wanted);
        };
        check("short".into(), "short".into());
        check("a".repeat(500), "a".repeat(500));
        check(format!("parent `{}` is lost", "ä".repeat(900)), {
            format!("parent `{}…{}` is lost", "ä".repeat(146), "ä".repeat(45))
        });
    }
}
