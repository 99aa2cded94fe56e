//! What a user sees, and what must hold of the whole: one binary, a module for each subject.

mod cases;
mod claude_facts;
mod claude_load;
mod claude_random;
mod context;
mod corpus;
mod escapes;
mod exits;
mod follow;
mod fsck;
mod fsck_claude;
mod fsck_damage;
mod fsck_peers;
mod generated;
mod layers;
mod linearize;
mod migrate;
mod peers;
mod picks;
mod place;
mod random;
mod schema;
mod shared;
mod shells;
mod undo;
mod writing;
