//! Faults: damage that is noticed while a session is read.

/// Damage in one line, as it was read.
///
/// Faults are recorded by the code that reads a session; `fsck` decides which of them are findings
/// and how to repair them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Fault {
    /// Which file of the session.
    pub file: u16,
    /// The line number, starting at 1; 0 if the fault concerns the whole file.
    pub line: u64,
    /// The offset of the line in its file.
    pub offset: u64,
    /// The number of bytes of the line, without its ending.
    pub len: u64,
    /// What is wrong.
    pub kind: FaultKind,
}

/// The kinds of [`Fault`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FaultKind {
    /// Not JSON.
    Broken {
        /// The offset in the line at which reading stopped.
        at: u64,
        /// The error at that offset, as text.
        why: &'static str,
    },
    /// A complete JSON object, followed by more on the same line.
    Trailing {
        /// The offset in the line at which the rest begins.
        at: u64,
    },
    /// An object that spans several lines, which the agent reads as one.
    Split,
    /// Values that are nested deeper than the agent can read.
    TooDeep {
        /// The offset in the line at which reading stopped; 0 if the line was read nevertheless.
        at: u64,
    },
    /// JSON, but not an object that the format has a place for.
    NoEntry,
    /// The line contains NUL bytes.
    Nul,
    /// The line contains bytes that are not UTF-8.
    InvalidUtf8,
    /// A string contains an unpaired UTF-16 surrogate.
    LoneSurrogate,
    /// A byte order mark at the start of the file.
    Bom,
    /// The last line does not end in a newline.
    NoFinalNewline,
    /// No header, although the format has one.
    MissingHeader,
    /// An entry comes before the header.
    HeaderNotFirst,
    /// An entry without an id, although the format has ids.
    MissingId,
    /// A parent that is not in the session.
    DanglingParent,
    /// A link that closes a cycle; the tree cuts it here.
    ParentCycle,
    /// An id that an earlier entry already has.
    RepeatedId,
}

impl FaultKind {
    /// Returns the check of `fsck` that reports this kind.
    pub fn check(self) -> &'static str {
        match self {
            FaultKind::Broken { .. } => "torn-line",
            FaultKind::Trailing { .. } => "glued-lines",
            FaultKind::Split => "split-record",
            FaultKind::TooDeep { .. } => "deep-nesting",
            FaultKind::NoEntry => "garbage-line",
            FaultKind::Nul => "nul-bytes",
            FaultKind::InvalidUtf8 => "invalid-utf8",
            FaultKind::LoneSurrogate => "lone-surrogate",
            FaultKind::Bom => "bom",
            FaultKind::NoFinalNewline => "no-final-newline",
            FaultKind::MissingHeader => "missing-header",
            FaultKind::HeaderNotFirst => "header-not-first",
            FaultKind::MissingId => "missing-id",
            FaultKind::DanglingParent => "dangling-parent",
            FaultKind::ParentCycle => "parent-cycle",
            FaultKind::RepeatedId => "duplicate-id",
        }
    }
}
