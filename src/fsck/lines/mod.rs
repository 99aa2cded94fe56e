//! Single lines: what a damaged line is, and what can be recovered from it.

pub(crate) mod classify;
pub(crate) mod recover;
pub(crate) mod title_slot;
pub(crate) mod walk;
