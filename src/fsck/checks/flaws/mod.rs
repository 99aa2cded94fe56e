//! Checks of fields that make the agent crash: how they are found, and how they are repaired.

pub(crate) mod find;
pub(crate) mod repair;
