//! The operations behind the commands, without their arguments and output: pure functions over a
//! session and the bytes of its lines. An operation that changes something returns a
//! [`crate::model::Plan`].

pub mod append;
mod branch_of;
pub mod branches;
pub mod cherry_pick;
pub mod claude_code_log;
pub mod convert;
pub mod diff;
pub mod document;
pub mod drop;
mod error;
pub mod export;
pub mod filter;
mod forest;
pub mod grep;
pub mod ids;
pub mod join;
pub mod label;
pub mod log_rows;
pub mod merge;
pub mod migrate;
pub mod page;
pub mod redact;
// `move` is a word of Rust.
#[path = "move/mod.rs"]
pub mod relocate;
pub mod revision;
mod rewrite;
pub mod rows;
pub mod sessions;
pub mod slim;
mod snapshot;
pub mod stats;
pub mod switch;
pub mod thread;
pub mod tool_calls;
pub mod turns;

pub use branch_of::BranchOf;
pub use error::Error;
pub use forest::Forest;
pub use snapshot::Snapshot;

use crate::format::{Format, OtherKind, Session};
use crate::json::ENDS_IN_STRING;
use crate::model::{Fault, FaultKind};

/// Fails if no current program writes the session's format.
fn writable(session: &Session) -> Result<(), Error> {
    if let Some(why) = session.read_only() {
        return Err(Error::ReadOnly { why: why.into(), instead: session.instead_of_writing() });
    }
    if session.format.wants_header() && session.header.is_none() {
        return Err(Error::NoPlace {
            what: "the session has no header, so the agent would not open it".into(),
            instead: Some("`bough fsck --repair` adds one".into()),
        });
    }
    Ok(())
}

/// Fails if lines can't be appended to a session: because it is not [`writable`], or because its
/// program would not see them.
fn appendable(session: &Session) -> Result<(), Error> {
    writable(session)?;
    // oh-my-pi accepts an object over several lines: anything appended to an unfinished one becomes
    // part of it.
    let is_open = |fault: &&Fault| match fault.kind {
        FaultKind::Broken { at, why } => at == fault.len && why != ENDS_IN_STRING,
        _ => false,
    };
    let last = |fault: &&Fault| {
        let entry = session.entries.all().next_back().map_or(0, |ix| session.entries.line(ix));
        let others = session.others.iter().rev().filter(|other| other.kind != OtherKind::Blank);
        fault.line > entry && others.map(|other| other.line).next().is_none_or(|line| fault.line >= line)
    };
    let open = session.faults.iter().rev().find(is_open).filter(last);
    match open.filter(|_| session.format == Format::Omp) {
        Some(open) => Err(Error::NoPlace {
            what: format!(
                "line {} is a truncated object, and oh-my-pi would read appended lines as a part of it",
                open.line
            ),
            instead: Some("`bough fsck --repair` sets it aside".into()),
        }),
        None => Ok(()),
    }
}
