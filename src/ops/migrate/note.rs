//! What an upgrade changed, in words.

/// A note for the user about a migration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The line that it concerns; 0 for the whole file.
    pub line: u64,
    /// The kind of note.
    pub kind: NoteKind,
}

/// The kinds of [`Note`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoteKind {
    /// A compaction that counts from the header keeps everything before it; pi itself would keep
    /// nothing.
    KeptAll,
    /// A compaction that counts from the header now keeps nothing, as in pi.
    KeptNothing,
    /// A compaction names an entry after itself; pi itself would name none.
    Forward,
    /// A compaction that names an entry after itself now names none, as in pi.
    ForwardDropped,
    /// A compaction names a position without an entry, and so keeps nothing.
    Outside {
        /// The position, as spelled.
        index: String,
    },
    /// The entries of a file without a version have ids, which are replaced, and the tree becomes a
    /// linear chain.
    Flattened,
    /// The number of unreadable lines, which stay as they are.
    Unreadable(usize),
}

impl std::fmt::Display for NoteKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NoteKind::KeptAll => {
                "the compaction still keeps all entries before it; pi would keep none of them (as does \
                 `--exact`)"
            }
            NoteKind::KeptNothing => {
                "the compaction now keeps nothing, as in pi; it kept all entries before it"
            }
            NoteKind::Forward => {
                "the compaction still names an entry after itself; pi would name none (as does `--exact`)"
            }
            NoteKind::ForwardDropped => {
                "the compaction named an entry after itself and now names none, as in pi"
            }
            NoteKind::Outside { index } => {
                return write!(
                    f,
                    "the compaction refers to index `{index}`, which has no entry: it keeps nothing before it"
                );
            }
            NoteKind::Flattened => {
                "the entries have ids although the header has no version: they got new ids in one straight \
                 line, as in pi (`--keep-ids` keeps the tree)"
            }
            NoteKind::Unreadable(1) => "1 line can't be read and was not changed",
            NoteKind::Unreadable(count) => {
                return write!(f, "{count} lines can't be read and were not changed");
            }
        })
    }
}
