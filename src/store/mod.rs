//! The only code that touches files.
//!
//! [`open`] reads a session; [`Files`] gives its bytes again later, by positional reads. Reading never writes, not even a
//! file time, and a file that grows or is cut while it is read is an error or a shorter session, never a signal.

mod error;
mod files;
pub mod find;
mod open;

pub use error::Error;
pub use files::Files;
pub use open::{Opened, Options, open};
