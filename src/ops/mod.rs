//! What the verbs do, apart from how they are asked and shown: pure functions over a session and the
//! bytes of its lines. A verb that changes something gives a [`crate::model::Plan`].

mod error;
pub mod ids;
pub mod migrate;
pub mod revision;

pub use error::Error;

/// The text of a message, for `:/TEXT`.
fn text_of(_format: crate::format::Format, line: &[u8]) -> String {
    let content = crate::json::value(line, &["message", "content"]).unwrap_or(line);
    crate::json::decode(content).into_owned()
}
