//! Reading a file in segments, and joining them to one session.

use super::{Builder, FileFacts, Joined, Other, Pointer};
use crate::format::{Diagnostics, Format};
use crate::json::{Line, Shape};
use crate::model::Fault;

/// A segment of a file, other than the first, read by itself: all lines that begin in it.
///
/// Its lines are numbered from 2, because some lines are allowed only as the first one.
pub struct Segment {
    builder: Builder,
    /// Whether a line was found whose meaning depends on the lines before the segment.
    depends: bool,
}

impl Segment {
    /// Starts a segment of the file that a builder is for.
    pub fn begin(whole: &Builder) -> Segment {
        let mut builder = Builder::new(whole.format);
        builder.copies = whole.copies;
        builder.strays = whole.strays;
        builder.side = whole.side.is_some().then(Diagnostics::default);
        builder.begin_file();
        Segment { builder, depends: false }
    }

    /// Processes the next line.
    pub fn line(&mut self, line: &Line<'_>) {
        self.builder.line(line);
        // For pi, the last line that is a value but not an entry has another meaning if no header
        // came before.
        self.depends |= line.shape == Shape::Scalar || self.builder.gathered.header.is_some();
        // Whether objects over several lines are accepted depends on the header and on earlier
        // lines.
        self.depends |= !self.builder.spread.is_empty() && self.builder.format != Format::Claude;
    }
}

/// How many lines a segment assumes before its own.
const FIRST: u64 = 1;

impl Builder {
    /// Appends the lines of the next segment of the file, as if they had been passed to
    /// [`Builder::line`] one by one.
    ///
    /// Returns false if that is impossible because a line of the segment depends on lines before
    /// it; the builder is then useless.
    #[must_use]
    pub fn append(&mut self, segment: Segment) -> bool {
        let mut next = segment.builder;
        // An object may begin in one segment and end in another.
        if segment.depends || !self.spread.is_empty() || !next.spread.is_empty() {
            return false;
        }
        let (entries, file) = (self.entries.len() as u32, (self.files.len() - 1) as u16);
        let facts = self.files.last_mut().expect("a file was begun");
        let lines = facts.lines - FIRST;
        facts.append(next.files.swap_remove(0));
        let gathered = &mut self.gathered;
        if next.gathered.entries > 0 {
            gathered.last_without_id = next.gathered.last_without_id;
        }
        if next.gathered.renamed {
            gathered.name = next.gathered.name;
        }
        gathered.entries += next.gathered.entries;
        gathered.marks.append(next.gathered.marks);
        gathered.openclaw.append(next.gathered.openclaw, entries);
        gathered.rewinds.append(next.gathered.rewinds, entries, lines);
        gathered.labels.append(&next.gathered.labels, entries, lines);
        gathered.pointers.extend(next.gathered.pointers.into_iter().map(|pointer| Pointer {
            line: pointer.line + lines,
            before: pointer.before + entries,
            ..pointer
        }));
        gathered.claude.append(next.gathered.claude, entries);
        self.faults.extend(next.faults.into_iter().map(|fault| Fault {
            file,
            line: fault.line + lines,
            ..fault
        }));
        self.joined.extend(next.joined.into_iter().map(|joined| Joined {
            line: joined.line + lines,
            span: crate::model::Span { file, ..joined.span },
            ..joined
        }));
        self.others.extend(next.others.into_iter().map(|other| Other {
            span: crate::model::Span { file, ..other.span },
            line: other.line + lines,
            before: other.before + entries,
            ..other
        }));
        if let (Some(side), Some(next)) = (&mut self.side, next.side) {
            side.append(next, entries, lines, file);
        }
        self.entries.append(next.entries, lines, !self.format.has_ids() || self.format.stores_again());
        true
    }
}

impl FileFacts {
    fn append(&mut self, next: FileFacts) {
        if next.lines == 0 {
            return;
        }
        self.bytes = next.bytes;
        self.lines += next.lines - FIRST;
        self.crlf += next.crlf;
        self.blank += next.blank;
        self.ends_in_newline = next.ends_in_newline;
        self.records += next.records;
    }
}
