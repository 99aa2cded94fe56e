//! Checks of fields that end the agent: how they are found, and how they are repaired.

pub(crate) mod find;
pub(crate) mod repair;
