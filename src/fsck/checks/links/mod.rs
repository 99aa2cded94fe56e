//! Checks of parent links: how they are found, and how they are repaired.

pub(crate) mod agent;
pub(crate) mod find;
pub(crate) mod forest;
pub(crate) mod repair;
