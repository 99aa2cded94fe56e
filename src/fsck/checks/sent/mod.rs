//! Checks of what the agent sends, and the comparison of that before and after a repair.

pub(crate) mod compare;
pub(crate) mod find;
