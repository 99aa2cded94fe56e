//! A door to the layers, for the crates of this project that are not this one: the program, the
//! tests below `tests/`, the benchmark and the fuzz targets.
//!
//! The layers are private, and what is listed here is all that those crates can reach: the compiler
//! warns of anything else in a layer that nothing uses. Nothing here is part of the interface of the
//! library, and it may change with each release.

/// The command line.
pub mod cmd {
    pub use crate::cmd::{Cli, completion_scripts, examples, man_pages, report_bugs, run};
}

/// What an agent would send to the model.
pub mod context {
    pub use crate::context::{Context, Message, Origin, Patch};
}

/// What differs between formats.
pub mod format {
    pub use crate::format::{
        Addition, Block, Builder, Content, Detected, Format, Ids, Layout, New, Program, Session,
        blocks_of_item, detect,
    };

    /// Sessions of Claude Code.
    pub mod claude {
        pub use crate::format::claude::{graph, request, write};
    }

    /// Tool calls and their results.
    pub mod tools {
        pub use crate::format::tools::{ToolRole, tool_ids};
    }
}

/// Checks and repairs.
pub mod fsck {
    pub use crate::fsck::{
        CHECKS, Check, Examined, Level, NoRepair, NoSurroundings, Repair, RepairMode, RepairOptions, Set,
        Surroundings, Unreadable, examine, repair,
    };
}

/// Fields of one line, and edits of one line.
pub mod json {
    pub use crate::json::{Edits, Line, Reader, Shape, each_item, member_at, members, string};
}

/// Entries, the tree, paths and plans.
pub mod model {
    pub use crate::model::{
        Change, FaultKind, Flags, Ix, Key, Kind, Parent, Piece, Plan, Source, Span, Table, Target, Time,
        parse_time,
    };
}

/// Operations.
pub mod ops {
    pub use crate::ops::{
        Error, Forest, Snapshot, append, branches, cherry_pick, claude_code_log, convert, diff, drop, export,
        filter, ids, join, label, merge, migrate, revision, rows, slim, switch, thread,
    };
}

/// Access to files.
pub mod store {
    pub use crate::store::{
        Error, Files, Opened, Options, TailRequest, open, open_part, open_raw, oplog, project, undo, write,
    };
}
