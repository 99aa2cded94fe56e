//! What tests share: a sandbox for the program, the session files of the project, and the folder
//! of reference files.

pub mod files;
pub mod sandbox;
pub mod sessions;
pub mod shared;
