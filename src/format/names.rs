//! The field names of each format.

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

pub(super) static PI: FieldNames =
    FieldNames { id: "id", parent: "parentId", time: "timestamp", kept: "firstKeptEntryId" };
pub(super) static DESIGN: FieldNames =
    FieldNames { id: "uuid", parent: "parentUuid", time: "timestamp", kept: "firstKeptEntryUuid" };
pub(super) static CHIMERA: FieldNames =
    FieldNames { id: "id", parent: "parent_id", time: "timestamp", kept: "first_kept_entry_id" };
pub(super) static CLAUDE: FieldNames =
    FieldNames { id: "uuid", parent: "parentUuid", time: "timestamp", kept: "" };
