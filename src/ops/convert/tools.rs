//! The names that common tools have in each agent.

use super::conversation::{Conversation, Part, Speaker};
use crate::format::Format;
use std::collections::BTreeMap;

/// A tool, and its names.
struct Row {
    /// Its name in pi.
    common: &'static str,
    omp: &'static str,
    chimera: &'static str,
    claude: &'static str,
    codex: &'static str,
    /// Its names in the agents whose sessions are only read, and in older versions.
    others: &'static [&'static str],
}

/// The tools, from the programs as released: pi 1.6.0, oh-my-pi 18.2, Chimera 0.9.2, Claude Code
/// 2.1.332, Codex 0.171, Gemini CLI 0.61, Copilot CLI 1.0.102. A name that is empty has no counterpart.
#[rustfmt::skip] // a table
static ROWS: [Row; 7] = [
    Row { common: "read",  omp: "read",  chimera: "read_file",  claude: "Read",  codex: "",             others: &["view"] },
    Row { common: "write", omp: "write", chimera: "write_file", claude: "Write", codex: "",             others: &["create"] },
    Row { common: "edit",  omp: "edit",  chimera: "edit_file",  claude: "Edit",  codex: "",             others: &["replace"] },
    Row { common: "bash",  omp: "bash",  chimera: "bash",       claude: "Bash",  codex: "exec_command", others: &["run_shell_command", "shell"] },
    Row { common: "grep",  omp: "grep",  chimera: "search",     claude: "Grep",  codex: "",             others: &["search_file_content", "grep_search"] },
    Row { common: "find",  omp: "glob",  chimera: "",           claude: "Glob",  codex: "",             others: &[] },
    Row { common: "ls",    omp: "",      chimera: "list_files", claude: "",      codex: "",             others: &["list_directory", "LS"] },
];

impl Row {
    fn name(&self, format: Format) -> &'static str {
        match format {
            Format::Omp => self.omp,
            Format::Chimera => self.chimera,
            Format::Claude => self.claude,
            Format::Codex => self.codex,
            _ => self.common,
        }
    }

    fn has(&self, name: &str) -> bool {
        let names = [self.common, self.omp, self.chimera, self.claude, self.codex];
        !name.is_empty() && (names.contains(&name) || self.others.contains(&name))
    }
}

/// Returns the name in pi of a tool that has another name elsewhere.
pub(super) fn common(name: &str) -> Option<&'static str> {
    ROWS.iter().find(|row| row.has(name)).map(|row| row.common)
}

/// Gives common tools the names that they have in a format. Arguments are not changed. Returns the old
/// and the new names, with the number of calls.
pub(super) fn rename(conversation: &mut Conversation, to: Format) -> BTreeMap<(String, String), usize> {
    let new = |name: &str| {
        let new = ROWS.iter().find(|row| row.has(name))?.name(to);
        (!new.is_empty() && new != name).then_some(new)
    };
    let mut renamed = BTreeMap::new();
    for turn in &mut conversation.turns {
        if let Speaker::Tool { name, .. } = &mut turn.speaker
            && let Some(new) = new(name)
        {
            *name = new.to_owned();
        }
        for part in &mut turn.parts {
            if let Part::Call { name, .. } = part
                && let Some(new) = new(name)
            {
                let old = std::mem::replace(name, new.to_owned());
                *renamed.entry((old, new.to_owned())).or_default() += 1;
            }
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_that_of_two_tools() {
        let names = ROWS.iter().flat_map(|row| {
            [row.common, row.omp, row.chimera, row.claude, row.codex]
                .into_iter()
                .chain(row.others.iter().copied())
        });
        for name in names.filter(|name| !name.is_empty()) {
            assert_eq!(ROWS.iter().filter(|row| row.has(name)).count(), 1, "{name}");
        }
        assert_eq!(common("run_shell_command"), Some("bash"));
        assert_eq!(common("todo"), None);
    }
}
