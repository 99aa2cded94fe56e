//! What tests share: a sandbox for the program, the files and sessions of the project, random
//! numbers and damage, and the folder of reference files.

pub mod chance;
pub mod damage;
pub mod files;
pub mod sandbox;
pub mod sessions;
pub mod shared;
pub mod stuffed;
