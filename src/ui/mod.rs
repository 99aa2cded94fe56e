//! Output for people: color, width, a pager, and text made safe for a terminal.

mod filter;
mod graph;
mod pager;
mod paint;
mod progress;
mod terminal;
pub mod text;

pub use graph::Columns;
pub use pager::is_program;
pub use paint::{Ink, paint, set_styles};
pub use progress::Progress;
pub use terminal::{Look, Ui};
pub(crate) use terminal::{spelled, unwritten};
