//! Claude Code's transcripts as one reading: which lines belong to one flow of talk, and where it was taken back.

mod document;
mod load;
mod record;

pub use document::{
    Document, DocumentLine, DocumentNode, DocumentSession, Fork, Item, Junction, Node, RootClass, Rung, Told,
    document,
};
