//! Checks of what the agent sends: how they are found, and how they are repaired.

pub(crate) mod find;
pub(crate) mod repair;
