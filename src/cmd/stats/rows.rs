//! The rows of `--json`: their fields, and the rows of sessions and of their total.

use super::Shown;
use crate::cmd::shared::{rows, time};
use crate::model::Kind;
use crate::ops::stats::{Big, Sum, Taken, Tool};
use crate::ui::Ui;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

impl Shown<'_> {
    pub(super) fn json(&self, ui: &mut Ui) -> anyhow::Result<()> {
        for row in self.sessions {
            let row = SessionSum {
                sum: SumRow::from(&row.sum),
                scope: "session",
                file: &row.file,
                agent: row.format.agent(),
                session: row.id.as_deref(),
                name: row.name.as_deref(),
                files: row.files,
                branches: row.branches,
                biggest: (self.sessions.len() == 1).then(|| self.biggest()),
            };
            rows::print(&row, ui)?;
        }
        if self.sessions.len() != 1 {
            let row = TotalSum {
                sum: SumRow::from(&self.total.sum),
                scope: "total",
                sessions: self.sessions.len(),
                files: self.total.sessions,
                copies: self.total.copies,
                biggest: self.biggest(),
            };
            rows::print(&row, ui)?;
        }
        Ok(())
    }

    fn biggest(&self) -> Vec<BigRow> {
        let row = |big: &Big| BigRow {
            file: self.paths[big.session].display().to_string(),
            line: big.line,
            kind: big.kind,
            bytes: big.span.len,
            id: self.big(big).0,
        };
        self.total.sum.biggest.iter().map(row).collect()
    }
}

/// Counts: stats. One object for each session (`scope` session) and, for several, one for all together
/// (`scope` total); with --by one for each group (`by` says of what).
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.stats/1")]
pub(super) struct SumRow<'a> {
    /// How many entries.
    entries: u64,
    /// The bytes of their lines.
    bytes: u64,
    /// Entries by kind.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, KindRow>"))]
    kinds: BTreeMap<Kind, KindRow>,
    #[serde(flatten)]
    taken: TakenRow,
    /// What called agents took.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<TakenRow>,
    /// What each model took.
    models: Vec<ModelRow<'a>>,
    /// What tools were called.
    tools: Vec<ToolRow<'a>>,
    /// The cost is the total that the agent keeps itself; absent if it is what the entries add up to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("const" = "agent")))]
    cost_source: Option<&'static str>,
    /// How many compactions.
    compactions: u64,
    /// When the first entry was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_time: Option<String>,
    /// When the last was.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_time: Option<String>,
}

/// Entries of one kind.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct KindRow {
    /// How many.
    entries: u64,
    /// The bytes of their lines.
    bytes: u64,
}

/// What replies took.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TakenRow {
    /// How many replies of the model.
    replies: u64,
    /// Tokens, as the agent stored them.
    tokens: TokensRow,
    /// Cost in dollars, as the agent stored it; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// How many replies have no cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    unpriced: Option<u64>,
}

/// Tokens, as the agent stored them.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TokensRow {
    /// Tokens read anew.
    input: u64,
    /// Tokens written.
    output: u64,
    /// Tokens read from the cache.
    cache_read: u64,
    /// Tokens written into the cache.
    cache_write: u64,
    /// All of them.
    total: u64,
    /// How many of these were written for an hour, as far as that is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_1h: Option<u64>,
}

/// One model.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ModelRow<'a> {
    #[serde(flatten)]
    taken: TakenRow,
    /// The model.
    model: &'a str,
}

/// One tool.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ToolRow<'a> {
    /// The name of the tool.
    tool: &'a str,
    /// How often it was called.
    calls: u64,
    /// How many results there are.
    results: u64,
    /// How many results are errors.
    errors: u64,
}

/// Counts: stats. One object for each session (`scope` session) and, for several, one for all together
/// (`scope` total); with --by one for each group (`by` says of what).
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(in crate::cmd) struct SessionSum<'a> {
    #[serde(flatten)]
    sum: SumRow<'a>,
    /// What is counted.
    #[cfg_attr(test, schemars(extend("enum" = ["session"])))]
    scope: &'static str,
    /// The session file; with `by` `file`, the file that was read or changed.
    file: &'a str,
    /// The agent.
    agent: &'static str,
    /// The id of the session, or its file if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    /// The name of the session, or of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// How many files, those of called agents included.
    files: usize,
    /// How many branches.
    branches: usize,
    /// The largest entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    biggest: Option<Vec<BigRow>>,
}

/// The counts of all sessions together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(in crate::cmd) struct TotalSum<'a> {
    #[serde(flatten)]
    sum: SumRow<'a>,
    /// What is counted.
    #[cfg_attr(test, schemars(extend("enum" = ["total"])))]
    scope: &'static str,
    /// How many sessions.
    sessions: usize,
    /// How many files, those of called agents included.
    files: usize,
    /// How many entries were left out since they are copies of others that are counted.
    copies: u64,
    /// The largest entries.
    biggest: Vec<BigRow>,
}

/// A large entry.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct BigRow {
    /// The file.
    file: String,
    /// The line.
    line: u64,
    /// The kind of the entry, in the words that all formats share.
    kind: Kind,
    /// The bytes of the line.
    bytes: u64,
    /// The id of the entry, or `line:N` where the format has no ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// The counts of one group.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(in crate::cmd) struct GroupSum<'a> {
    #[serde(flatten)]
    pub(super) sum: SumRow<'a>,
    /// What the groups are of: `branch`, `model`, `tool`, `file`, `type`, `session`, `project`, `agent`,
    /// `day`, `week`, `month`, or two of them with a comma.
    pub(super) by: String,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "GroupNames"))]
    pub(super) names: Map<String, Value>,
    /// How often a file was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reads: Option<u64>,
    /// How often a file was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) changes: Option<u64>,
    #[serde(flatten)]
    pub(super) branch: Option<BranchSum>,
}

/// Under `--by`, the group: its value under the name of each grouping, in the order asked for.
#[cfg(test)]
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GroupNames {
    /// With --by branch, its tip.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// With --by model, the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The session file; with `by` `file`, the file that was read or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The kind of entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "type")]
    ty: Option<String>,
    /// The id of the session, or its file if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The name of the session, or of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// With --by day, the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    /// The Monday of the week.
    #[serde(skip_serializing_if = "Option::is_none")]
    week: Option<String>,
    /// The month.
    #[serde(skip_serializing_if = "Option::is_none")]
    month: Option<String>,
}

/// Where a branch is, and what its whole path has.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BranchSum {
    /// The session file; with `by` `file`, the file that was read or changed.
    pub(super) file: String,
    /// With --by branch, its leaf.
    pub(super) leaf: String,
    /// With --by branch, whether HEAD is on it.
    pub(super) current: bool,
    /// With --by branch, what its whole path has.
    pub(super) path: PathSum,
}

/// What the whole path of a branch has.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PathSum {
    /// How many entries.
    pub(super) entries: u64,
    /// Tokens.
    pub(super) tokens: u64,
    /// Cost in dollars.
    pub(super) cost: f64,
}

/// The counts of one model: --by model.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(in crate::cmd) struct ModelGroup<'a> {
    #[serde(flatten)]
    pub(super) taken: TakenRow,
    /// The name of the schema.
    #[cfg_attr(test, schemars(extend("const" = "bough.stats/1")))]
    pub(super) schema: &'static str,
    /// What the groups are of: `branch`, `model`, `tool`, `file`, `type`, `session`, `project`, `agent`,
    /// `day`, `week`, `month`, or two of them with a comma.
    pub(super) by: &'static str,
    /// With --by model, the model.
    pub(super) model: &'a str,
}

/// The counts of one tool: --by tool.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename = "bough.stats/1")]
pub(in crate::cmd) struct ToolGroup<'a> {
    #[serde(flatten)]
    pub(super) tool: ToolRow<'a>,
    /// The name of the schema.
    #[cfg_attr(test, schemars(extend("const" = "bough.stats/1")))]
    pub(super) schema: &'static str,
    /// What the groups are of: `branch`, `model`, `tool`, `file`, `type`, `session`, `project`, `agent`,
    /// `day`, `week`, `month`, or two of them with a comma.
    pub(super) by: &'static str,
}

impl From<&Taken> for TakenRow {
    fn from(taken: &Taken) -> TakenRow {
        let usage = &taken.usage;
        let tokens = TokensRow {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            total: usage.tokens(),
            cache_write_1h: Some(usage.cache_write_1h).filter(|tokens| *tokens > 0),
        };
        TakenRow {
            replies: taken.replies,
            tokens,
            // If no cost is known, none is reported.
            cost: usage.cost.filter(|cost| *cost > 0.0).map(round),
            unpriced: Some(taken.unpriced).filter(|replies| *replies > 0),
        }
    }
}

impl<'a> ToolRow<'a> {
    pub(super) fn new(name: &'a str, tool: &Tool) -> ToolRow<'a> {
        ToolRow { tool: name, calls: tool.calls, results: tool.results, errors: tool.errors }
    }
}

impl<'a> From<&'a Sum> for SumRow<'a> {
    fn from(sum: &'a Sum) -> SumRow<'a> {
        let kinds = sum.kinds.iter();
        let models = sum.models.iter();
        SumRow {
            entries: sum.entries().count,
            bytes: sum.entries().bytes,
            kinds: kinds
                .map(|(kind, amount)| (*kind, KindRow { entries: amount.count, bytes: amount.bytes }))
                .collect(),
            taken: TakenRow::from(&sum.taken),
            agents: (sum.agents.replies > 0).then(|| TakenRow::from(&sum.agents)),
            models: models.map(|(model, taken)| ModelRow { taken: taken.into(), model }).collect(),
            tools: sum.tools.iter().map(|(name, tool)| ToolRow::new(name, tool)).collect(),
            cost_source: sum.is_agents_cost.then_some("agent"),
            compactions: sum.of_kind(Kind::Compaction),
            first_time: sum.first.and_then(time::iso),
            last_time: sum.last.and_then(time::iso),
        }
    }
}

/// Returns a cost without the rounding errors of adding.
pub(super) fn round(cost: f64) -> f64 {
    let rounded = (cost * 1e9).round() / 1e9;
    if rounded.is_finite() { rounded } else { cost }
}
