//! What the verbs do, apart from how they are asked and shown: pure functions over a session and the
//! bytes of its lines. A verb that changes something gives a [`crate::model::Plan`].

pub mod branches;
pub mod calls;
pub mod context;
pub mod diff;
mod error;
pub mod export;
mod forest;
pub mod graph;
pub mod grep;
pub mod ids;
pub mod label;
pub mod linearize;
pub mod listing;
pub mod merge;
pub mod migrate;
pub mod outline;
mod owners;
pub mod pick;
pub mod revision;
pub mod sessions;
pub mod stats;
pub mod switch;

pub use error::Error;
pub use forest::Forest;
pub use owners::Owners;

/// Refuses to write to a session whose form no program of today writes.
fn writable(session: &crate::format::Session) -> Result<(), Error> {
    if let Some(why) = session.read_only() {
        return Err(Error::ReadOnly { why: why.into() });
    }
    if session.format.wants_header() && session.header.is_none() {
        return Err(Error::NoPlace {
            what: "the session has no header, so the agent would not open it".into(),
            instead: Some("`bough fsck --repair` makes one".into()),
        });
    }
    Ok(())
}
