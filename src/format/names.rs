//! The field names of each format.

use super::Format;

/// The names of the fields that place an entry in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldNames {
    /// The id.
    pub id: &'static str,
    /// The id of the parent.
    pub parent: &'static str,
    /// The time.
    pub time: &'static str,
    /// The first entry that a compaction keeps.
    pub kept: &'static str,
}

static PI: FieldNames =
    FieldNames { id: "id", parent: "parentId", time: "timestamp", kept: "firstKeptEntryId" };
static DESIGN: FieldNames =
    FieldNames { id: "uuid", parent: "parentUuid", time: "timestamp", kept: "firstKeptEntryUuid" };
static CHIMERA: FieldNames =
    FieldNames { id: "id", parent: "parent_id", time: "timestamp", kept: "first_kept_entry_id" };
static CLAUDE: FieldNames = FieldNames { id: "uuid", parent: "parentUuid", time: "timestamp", kept: "" };

impl Format {
    /// Returns the names of the fields that place an entry in the tree.
    pub fn names(self) -> &'static FieldNames {
        match self {
            Format::Claude => &CLAUDE,
            Format::Chimera => &CHIMERA,
            Format::PiDesign => &DESIGN,
            _ => &PI,
        }
    }
}
