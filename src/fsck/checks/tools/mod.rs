//! Checks of tool calls and results: how they are found, and how they are repaired.

pub(crate) mod find;
pub(crate) mod repair;
