//! The field names of each format.

use super::Format;

/// The names of the fields that place an entry in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Names {
    /// The id.
    pub id: &'static str,
    /// The id of the parent.
    pub parent: &'static str,
    /// The time.
    pub time: &'static str,
    /// The first entry that a compaction keeps.
    pub kept: &'static str,
}

static PI: Names = Names { id: "id", parent: "parentId", time: "timestamp", kept: "firstKeptEntryId" };
static DESIGN: Names =
    Names { id: "uuid", parent: "parentUuid", time: "timestamp", kept: "firstKeptEntryUuid" };
static CHIMERA: Names =
    Names { id: "id", parent: "parent_id", time: "timestamp", kept: "first_kept_entry_id" };
static CLAUDE: Names = Names { id: "uuid", parent: "parentUuid", time: "timestamp", kept: "" };

impl Format {
    /// Returns the names of the fields that place an entry in the tree.
    pub fn names(self) -> &'static Names {
        match self {
            Format::Claude => &CLAUDE,
            Format::Chimera => &CHIMERA,
            Format::PiDesign => &DESIGN,
            _ => &PI,
        }
    }
}
