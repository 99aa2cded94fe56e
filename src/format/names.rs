//! The field names of each format.

/// The names of the fields that place an entry in the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldNames {
    /// The id.
    pub id: &'static str,
    /// The way to the id from the top of an entry.
    pub id_path: &'static [&'static str],
    /// The id of the parent.
    pub parent: &'static str,
    /// The time.
    pub time: &'static str,
    /// The first entry that a compaction keeps.
    pub kept: &'static str,
}

pub(super) static PI: FieldNames = FieldNames {
    id: "id",
    id_path: &["id"],
    parent: "parentId",
    time: "timestamp",
    kept: "firstKeptEntryId",
};
pub(super) static OPENCODE: FieldNames =
    FieldNames { id: "id", id_path: &["info", "id"], parent: "parentID", time: "created", kept: "" };
pub(super) static DESIGN: FieldNames = FieldNames {
    id: "uuid",
    id_path: &["uuid"],
    parent: "parentUuid",
    time: "timestamp",
    kept: "firstKeptEntryUuid",
};
pub(super) static CHIMERA: FieldNames = FieldNames {
    id: "id",
    id_path: &["id"],
    parent: "parent_id",
    time: "timestamp",
    kept: "first_kept_entry_id",
};
pub(super) static CLAUDE: FieldNames =
    FieldNames { id: "uuid", id_path: &["uuid"], parent: "parentUuid", time: "timestamp", kept: "" };
