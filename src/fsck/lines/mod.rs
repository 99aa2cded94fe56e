//! Checks of lines (truncated, joined, split, not UTF-8), and the entries that can be recovered from
//! a damaged line.

pub(crate) mod classify;
pub(crate) mod recover;
pub(crate) mod title_slot;
pub(crate) mod walk;
