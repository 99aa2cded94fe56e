//! Checks of what the agent sends: how they are found, and how they are repaired.

pub(crate) mod compare;
pub(crate) mod find;
