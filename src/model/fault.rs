/// What is wrong with one line, as it was read.
///
/// Faults are noted in passing by whoever reads a session; what is damage, and how it is mended, is for
/// `fsck` to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Which file of the session.
    pub file: u16,
    /// The line, counted from 1; 0 where the fault is the file's.
    pub line: u64,
    /// The first byte of the line in its file.
    pub offset: u64,
    /// The bytes of the line, without its ending.
    pub len: u64,
    /// What is wrong.
    pub kind: FaultKind,
}

/// The kinds of [`Fault`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Not a JSON text; why, and at which byte of the line.
    Broken {
        /// The byte of the line at which reading stopped.
        at: u64,
        /// What was wrong there, as words.
        why: &'static str,
    },
    /// A whole JSON object, and more behind it on the line; the byte at which that begins.
    Trailing {
        /// The byte of the line at which the rest begins.
        at: u64,
    },
    /// An object that goes on over several lines, which the agent takes as one.
    Split,
    /// Values that are nested deeper than the agent reads them.
    TooDeep {
        /// The byte of the line at which reading stopped; 0 if it was read all the same.
        at: u64,
    },
    /// A JSON text, but no object that the format knows a place for.
    NoEntry,
    /// NUL bytes in the line.
    Nul,
    /// Bytes that are no UTF-8.
    InvalidUtf8,
    /// An unpaired UTF-16 surrogate in a string.
    LoneSurrogate,
    /// A byte order mark at the start of the file.
    Bom,
    /// The last line does not end in a newline.
    NoFinalNewline,
    /// No header where the format has one.
    MissingHeader,
    /// An entry stands before the header.
    HeaderNotFirst,
    /// An entry without an id where the format has one.
    MissingId,
    /// A parent that is not in the session.
    DanglingParent,
    /// A link that closes a ring; it is cut here.
    ParentCycle,
    /// An id that an earlier entry has.
    RepeatedId,
}

impl FaultKind {
    /// The check of `fsck` that speaks of this kind.
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
