//! What a person sees: color, width, and text made safe for a terminal.

mod terminal;
pub mod text;

pub use terminal::{Look, Ui};
