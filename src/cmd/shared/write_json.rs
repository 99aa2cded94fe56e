//! The JSON output of commands that write: `bough.write/1`.

use super::{rows, session_arg};
use crate::model::{Moved, Plan};
use crate::store::Opened;
use crate::store::write::Done;
use crate::ui::Ui;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a command wrote: append, switch, label, cherry-pick, merge, drop, slim, join, undo, redo.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.write/1")]
pub(crate) struct WriteRow<'a> {
    /// The command.
    command: &'a str,
    /// The session file.
    file: String,
    /// Whether anything was written.
    changed: bool,
    /// The ids of the new entries, in file order; lines without an id are left out.
    ids: Vec<&'a str>,
    /// HEAD.
    head: HeadRow,
    /// The id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The operation, as `bough undo` takes it; absent if none was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    op_id: Option<&'a str>,
    #[serde(flatten)]
    more: More,
}

/// HEAD.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HeadRow {
    /// Before the command; absent if that is before the first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// After the command; absent if that is before the first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// The fields of some commands.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct More {
    /// The prompt that HEAD was moved before: switch --rewind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    /// What was replaced, by kind: slim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slimmed: Option<BTreeMap<&'static str, AmountRow>>,
    /// The size of the file in bytes, before and after: slim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<BeforeAfter>,
    /// About how many tokens the model would be sent at HEAD, before and after: slim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<BeforeAfter>,
    /// How many entries were removed: drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dropped: Option<usize>,
    /// How many branches ended in them: drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branches: Option<usize>,
    /// How many other lines were removed that were only about them: drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lines: Option<usize>,
    /// How many files of the session were removed: drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removed_files: Option<usize>,
    /// At how many entries what the agent would send was compared: drop, slim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compared: Option<usize>,
    /// The new session file: slim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// How many entries only the first copy had (a), and only the second (b): join.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) own: Option<OwnRow>,
    /// The ids under which both copies had other content, with the new id of one of them: join.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conflicts: Option<Vec<ConflictRow>>,
    /// How many files of the other session were added: join.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) added_files: Option<usize>,
}

/// What was replaced of one kind.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AmountRow {
    /// How many there were.
    pub(crate) count: usize,
    /// Their size in the file.
    pub(crate) bytes: u64,
    /// About how many tokens they cost at HEAD.
    pub(crate) tokens: u64,
}

/// A number before and after.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BeforeAfter {
    /// Before the command.
    pub(crate) before: u64,
    /// After the command.
    pub(crate) after: u64,
}

/// The entries that only one copy had.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OwnRow {
    /// How many only the first copy had.
    pub(crate) a: usize,
    /// How many only the second copy had.
    pub(crate) b: usize,
}

/// An id under which both copies had other content.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ConflictRow {
    /// The id.
    pub(crate) id: String,
    /// The new id of one of the two entries.
    pub(crate) new: String,
}

/// Prints what a plan wrote; `more` contains the command's own fields.
pub(crate) fn print(
    opened: &Opened,
    plan: &Plan,
    done: &Done,
    more: More,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let whole = session_arg::whole(opened);
    let stays = || -> anyhow::Result<Moved> {
        let head = opened.session.head.entry.map(|ix| whole.name(ix)).transpose()?;
        Ok(Moved { from: head.clone(), to: head })
    };
    let moved = plan.moved.clone().map_or_else(stays, Ok)?;
    let row = WriteRow {
        command: &plan.verb,
        file: opened.files.path(0).display().to_string(),
        changed: !done.files.is_empty(),
        ids: plan.changes.iter().map(|change| &*change.id).filter(|id| !id.is_empty()).collect(),
        head: HeadRow::from(moved),
        session: opened.session.id(),
        op_id: Some(&*done.op_id).filter(|id| !id.is_empty()),
        more,
    };
    rows::print(&row, ui)?;
    Ok(())
}

impl From<Moved> for HeadRow {
    fn from(moved: Moved) -> HeadRow {
        HeadRow { before: moved.from, after: moved.to }
    }
}
