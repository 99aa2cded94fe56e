//! What the verbs do, apart from how they are asked and shown: pure functions over a session and the
//! bytes of its lines. A verb that changes something gives a [`crate::model::Plan`].

pub mod context;
mod error;
mod forest;
pub mod graph;
pub mod grep;
pub mod ids;
pub mod linearize;
pub mod migrate;
mod owners;
pub mod revision;

pub use error::Error;
pub use forest::Forest;
pub use owners::Owners;
