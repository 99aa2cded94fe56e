//! The surroundings of a session file that checks need.

use crate::model::Key;
use std::collections::HashSet;

/// The surroundings of a session file: its name, and the files that it may depend on.
pub trait Surroundings {
    /// Returns the name of the file without its suffix; empty if it has none.
    fn stem(&self) -> &str;

    /// Given links, each an entry and the parent that it names, returns the entries whose parent is
    /// in another session file of the same project that does not contain the entry.
    ///
    /// A file that contains both is a copy of the same conversation: then the parent was lost from
    /// this file.
    fn elsewhere(&self, links: &[(Key, Key)]) -> HashSet<Key>;

    /// Returns the ids of the subagents whose files exist, or `None` if that can't be determined.
    fn agents(&self) -> Option<Vec<String>>;

    /// Returns the ids of the subagents for which it is known what started them.
    fn placed_agents(&self) -> HashSet<String> {
        HashSet::new()
    }

    /// Returns whether a file with a tool result exists.
    fn has_result_file(&self, name: &str) -> bool;

    /// Returns whether the file of an image exists, given its hash.
    fn has_blob(&self, hash: &str) -> bool;
}

/// A file of which only the name is known.
pub struct NoSurroundings<'n>(pub &'n str);

impl Surroundings for NoSurroundings<'_> {
    fn stem(&self) -> &str {
        self.0
    }

    fn elsewhere(&self, _: &[(Key, Key)]) -> HashSet<Key> {
        HashSet::new()
    }

    fn agents(&self) -> Option<Vec<String>> {
        None
    }

    fn has_result_file(&self, _: &str) -> bool {
        true
    }

    fn has_blob(&self, _: &str) -> bool {
        true
    }
}
