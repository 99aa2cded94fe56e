//! What `--by` prints: a table of the groups, or a row of JSON for each.

use super::rows::{BranchSum, GroupSum, ModelGroup, PathSum, SumRow, TakenRow, ToolGroup, ToolRow, round};
use super::tables::{grouped, models, name_cell, taken_cells, tools};
use super::{By, Group, Row, Shown};
use crate::cmd::shared::table::Table;
use crate::cmd::shared::{rows, thread_arg};
use crate::ops::stats::Tool;
use crate::ui::{Ui, text};
use serde_json::Map;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

impl Shown<'_> {
    pub(super) fn groups(
        &self,
        what: &[By],
        by: BTreeMap<Vec<String>, Group>,
        json: bool,
        ui: &mut Ui,
    ) -> anyhow::Result<()> {
        let sum = &self.total.sum;
        match (what, json) {
            ([By::Model], false) => models(sum, ui),
            ([By::Tool], false) => tools(sum, ui),
            ([By::Model], true) => {
                for (model, taken) in &sum.models {
                    let taken = TakenRow::from(taken);
                    rows::print(&ModelGroup { taken, schema: "bough.stats/1", by: "model", model }, ui)?;
                }
                Ok(())
            }
            ([By::Tool], true) => {
                for (name, tool) in &sum.tools {
                    let tool = ToolRow::new(name, tool);
                    rows::print(&ToolGroup { tool, schema: "bough.stats/1", by: "tool" }, ui)?;
                }
                Ok(())
            }
            (_, true) => group_rows(what, by, self.sessions, ui),
            (_, false) => group_table(what, by, self.sessions, ui),
        }
    }
}

/// Prints a row of JSON for each group.
fn group_rows(
    what: &[By],
    by: BTreeMap<Vec<String>, Group>,
    sessions: &[Row],
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let titles: HashMap<String, &str> = sessions.iter().filter_map(Row::named).collect();
    let names: Vec<&str> = what.iter().map(|what| what.name()).collect();
    for group in by.into_values() {
        let values = named_values(&names, group.names, &titles);
        let has_files = group.sum.reads > 0 || group.sum.changes > 0;
        let branch = group.leaf.zip(group.path).map(|(leaf, (entries, tokens, cost))| BranchSum {
            file: group.file,
            leaf,
            current: group.current,
            path: PathSum { entries, tokens, cost: round(cost.unwrap_or(0.0)) },
        });
        let row = GroupSum {
            sum: SumRow::from(&group.sum),
            by: names.join(","),
            names: values,
            reads: has_files.then_some(group.sum.reads),
            changes: has_files.then_some(group.sum.changes),
            branch,
        };
        rows::print(&row, ui)?;
    }
    Ok(())
}

/// Returns what a group has in common, by the names of what is grouped by; for a session also its title.
fn named_values(
    names: &[&str],
    values: Vec<String>,
    titles: &HashMap<String, &str>,
) -> Map<String, serde_json::Value> {
    let mut named = Map::new();
    for (name, value) in names.iter().zip(values) {
        if *name == By::Session.name()
            && let Some(title) = titles.get(&value)
        {
            named.insert("name".into(), (*title).into());
        }
        named.insert((*name).into(), value.into());
    }
    named
}

fn group_table(
    what: &[By],
    by: BTreeMap<Vec<String>, Group>,
    sessions: &[Row],
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let most = by.values().map(|group| group.sum.all_taken().usage.tokens()).max().unwrap_or(0);
    let (heads, right) = heads(what);
    let mut groups: Vec<Group> = by.into_values().collect();
    if let Some(at) = what.iter().position(|what| *what == By::Session) {
        let titles = titles(sessions);
        for group in &mut groups {
            if let Some(title) = titles.get(&group.names[at]) {
                group.names[at].clone_from(title);
            }
        }
        groups.sort_by(|a, b| a.names.cmp(&b.names));
    }
    if what == [By::File] {
        groups.sort_by_key(|group| std::cmp::Reverse((group.sum.changes, group.sum.reads)));
    }
    let mut table = Table::new(&heads, &right);
    for group in groups {
        let cells = cells(what, &group, sessions.len() > 1, most, ui);
        table.add_row(cells);
    }
    table.print(ui)
}

/// Returns the cells of a group; `several` sessions are counted, and `most` tokens are in one
/// group.
fn cells(what: &[By], group: &Group, several: bool, most: u64, ui: &Ui) -> Vec<String> {
    let is_branch = what == [By::Branch];
    let sum = &group.sum;
    let taken = sum.all_taken();
    let mut cells: Vec<String> = group.names.iter().map(|name| name_cell(name, ui)).collect();
    if several && is_branch {
        let file = Path::new(&group.file).file_stem().unwrap_or_default().to_string_lossy();
        cells[0] = format!("{}:{}", text::fit(&text::one_line(&file), 24), cells[0]);
    }
    if is_branch {
        cells[0] = format!("{} {}", if group.current { '*' } else { ' ' }, cells[0]);
    }
    if what.iter().all(|what| what.has_tokens()) {
        cells.push(grouped(sum.entries().count));
        cells.extend(taken_cells(&taken, most, ui));
    } else if what.contains(&By::File) {
        cells.extend([grouped(sum.reads), grouped(sum.changes)]);
    } else {
        let count = |count: fn(&Tool) -> u64| grouped(sum.tools.values().map(count).sum());
        cells.extend([count(|tool| tool.calls), count(|tool| tool.results), count(|tool| tool.errors)]);
    }
    if let Some((entries, tokens, _)) = group.path {
        cells.extend([grouped(entries), grouped(tokens)]);
    }
    cells
}

/// Returns the heads of the columns, and which of them are aligned to the right.
fn heads(what: &[By]) -> (Vec<&'static str>, Vec<usize>) {
    let mut heads: Vec<&str> = what.iter().map(|what| what.name()).collect();
    let names = heads.len();
    let has_tokens = what.iter().all(|what| what.has_tokens());
    if has_tokens {
        heads.extend(["entries", "replies", "in", "out", "cache read", "cache write", "cost", ""]);
    } else if what.contains(&By::File) {
        heads.extend(["reads", "changes"]);
    } else {
        heads.extend(["calls", "results", "errors"]);
    }
    let mut right: Vec<usize> = (names..heads.len()).collect();
    if has_tokens {
        right.pop();
    }
    if what == [By::Branch] {
        right.extend([heads.len(), heads.len() + 1]);
        heads.extend(["path: entries", "tokens"]);
    }
    (heads, right)
}

/// Returns the name of each session that has one, with its id if another has the same.
fn titles(sessions: &[Row]) -> HashMap<String, String> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    for (_, name) in sessions.iter().filter_map(Row::named) {
        *times.entry(name).or_default() += 1;
    }
    let title = |(key, name): (String, &str)| {
        let title = match times[name] {
            1 => name.to_owned(),
            _ => format!("{name} ({})", thread_arg::short(&key)),
        };
        (key, title)
    };
    sessions.iter().filter_map(Row::named).map(title).collect()
}
