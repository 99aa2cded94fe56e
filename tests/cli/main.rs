//! What a user sees, and what must hold of the whole: one binary, a module for each subject.

mod claude_facts;
mod claude_grown;
mod claude_load;
mod claude_random;
mod context;
mod corpus;
mod detect;
mod escapes;
mod exits;
mod exports;
mod files;
mod follow;
mod fsck;
mod fsck_claude;
mod fsck_damage;
mod fsck_peers;
mod generated;
mod growth;
mod layers;
mod linearize;
mod migrate;
mod one_reading;
mod peers;
mod picks;
mod place;
mod random;
mod schema;
mod shared;
mod shells;
#[cfg(target_os = "linux")]
mod sweep;
mod threads;
mod tree_views;
mod undo;
mod wording;
mod writing;
