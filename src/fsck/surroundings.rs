use crate::model::Key;
use std::collections::HashSet;

/// What is around a session file: its name, and the files that it may lean on.
pub trait Around {
    /// The name of the file without its ending; empty where it has none.
    fn stem(&self) -> &str;

    /// Of some links, each an entry and the parent that it names, the entries whose parent is in another session file of the
    /// same project that has not the entry, too.
    ///
    /// A file that has both is a copy of the same conversation: there the parent was lost from the file at hand.
    fn elsewhere(&self, links: &[(Key, Key)]) -> HashSet<Key>;

    /// The ids of the agents whose files are there; `None` where that can't be known.
    fn agents(&self) -> Option<Vec<String>>;

    /// The ids of the agents of which it is known what started them, by whatever that is known.
    fn placed_agents(&self) -> HashSet<String> {
        HashSet::new()
    }

    /// Whether a file with a tool's result is there.
    fn has_result_file(&self, name: &str) -> bool;

    /// Whether the file of a picture is there, by its hash.
    fn has_blob(&self, hash: &str) -> bool;
}

/// A file of which no more than the name is known.
pub struct Alone<'n>(pub &'n str);

impl Around for Alone<'_> {
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
