//! The JSON output of commands that write: `bough.write/1`.

use super::session_arg;
use crate::model::{Moved, Plan};
use crate::store::Opened;
use crate::store::write::Done;
use crate::ui::Ui;
use serde_json::{Value, json};

/// Prints what a plan wrote; `more` contains the command's own fields.
pub(crate) fn print(
    opened: &Opened,
    plan: &Plan,
    done: &Done,
    more: impl IntoIterator<Item = (&'static str, Value)>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let whole = session_arg::whole(opened);
    let ids: Vec<&str> = plan.changes.iter().map(|change| &*change.id).filter(|id| !id.is_empty()).collect();
    let stays = || -> anyhow::Result<Moved> {
        let head = opened.session.head.entry.map(|ix| whole.name(ix)).transpose()?;
        Ok(Moved { from: head.clone(), to: head })
    };
    let moved = plan.moved.clone().map_or_else(stays, Ok)?;
    let mut object = json!({
        "schema": "bough.write/1",
        "command": plan.verb,
        "file": opened.files.path(0).display().to_string(),
        "changed": !done.files.is_empty(),
        "ids": ids,
        "head": head(&moved),
    });
    if let Some(id) = opened.session.id() {
        object["session"] = id.into();
    }
    if !done.op_id.is_empty() {
        object["op_id"] = done.op_id.clone().into();
    }
    for (key, value) in more {
        object[key] = value;
    }
    writeln!(ui.out(), "{object}")?;
    Ok(())
}

/// Returns HEAD before and after; a side is absent if it is before the first entry.
pub(crate) fn head(moved: &Moved) -> Value {
    let mut head = json!({});
    for (key, side) in [("before", &moved.from), ("after", &moved.to)] {
        if let Some(id) = side {
            head[key] = id.clone().into();
        }
    }
    head
}
