//! What tests share: a sandbox for the program, the files and sessions of the project, random
//! numbers and damage, what a machine may lack, and what is checked of the files of the project and
//! of the reference files alike.

pub mod agreement;
pub mod any_bytes;
pub mod applied;
pub mod chance;
pub mod claude_request;
pub mod damage;
pub mod facts;
pub mod files;
pub mod formats;
pub mod fsck_cases;
pub mod hostile;
pub mod messages;
#[allow(dead_code, reason = "these tests only ask for the folder of reference files")]
pub mod need;
pub mod recording;
pub mod sandbox;
pub mod sessions;
pub mod small_sessions;
pub mod stuffed;
pub mod written;
