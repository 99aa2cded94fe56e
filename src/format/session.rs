//! A session as it was read, and what can be asked of it.

mod append;
mod builder;
mod growth;

pub use append::Segment;
pub use builder::Builder;
pub use growth::{Growth, Progress};

use super::diagnostics::Diagnostics;
use super::{Format, LabelLines, Labels, Program};
use crate::json::{each_member, string};
use crate::model::{Clock, Entries, Fault, FaultKind, Flags, Ix, Key, Kind, Parent, Span, Time, Tree};
use std::collections::{HashMap, HashSet};

/// HEAD of a session before its last switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Previous {
    /// No switch is known, or it happened before the first entry.
    Unknown,
    /// This entry.
    At(Key),
    /// The operation log can't be read, for this reason.
    Unread(String),
}

/// A session as it was read: its tree, the lines outside the tree, and the damage.
#[derive(Clone, Debug)]
pub struct Session {
    /// The format, determined by the first lines and refined by later ones.
    pub format: Format,
    /// The program that the session belongs to, if bough never writes for that program.
    pub program: Option<Program>,
    /// The header, if there is one.
    pub header: Option<Header>,
    /// The current name or title.
    pub name: Option<String>,
    /// The entries, in file order.
    pub entries: Entries,
    /// The tree over them, by the format's rule for repeated ids.
    pub tree: Tree,
    /// The lines that are not entries, in file order.
    pub others: Vec<Other>,
    /// The labels.
    pub labels: Labels,
    /// Lines that point to HEAD, in file order.
    pub pointers: Vec<Pointer>,
    /// Where the agent would continue.
    pub head: Head,
    /// The entries that the agent loads with the reply at HEAD although no link leads there from
    /// HEAD: parts and results of a Claude Code reply in which a call has no result yet.
    pub beside: Vec<Ix>,
    /// The damage, in the order in which it was found: first line by line, then the links.
    pub faults: Vec<Fault>,
    /// The objects over several lines that the agent reads as one, in file order.
    pub joined: Vec<Joined>,
    /// The files of the session, the main file first.
    pub files: Vec<FileFacts>,
    /// HEAD before the last switch, as far as the operation log knows it.
    pub previous: Previous,
    /// Tool calls, and references in rare lines; only if requested.
    pub side: Option<Diagnostics>,
    /// Facts about a transcript of Claude Code; empty for other formats.
    pub claude: super::claude::Facts,
    /// Whether the tree is that of Claude Code's thread, and not that of the links as they are stored.
    pub is_thread: bool,
    /// Whether only the end of the file was read. Line numbers are then unknown, and count from the first
    /// line that was read.
    pub partial: bool,
}

/// The contents of a session's header.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The line number, starting at 1.
    pub line: u64,
    /// Its span in the file.
    pub span: Option<Span>,
    /// The id of the session.
    pub id: Option<String>,
    /// The version, as spelled in the line.
    pub version: Option<String>,
    /// The working directory of the session.
    pub cwd: Option<String>,
    /// The time of the header.
    pub time: Option<Time>,
    /// The session, or its file, that this one was forked from or continues.
    pub parent: Option<String>,
    /// Another id, by which entries may name the header as their parent.
    pub uuid: Option<Key>,
}

impl Header {
    /// Returns the session that a header says it was forked from, given the line of the header.
    pub(super) fn parent_in(line: &[u8]) -> Option<String> {
        let says = |key: &str| matches!(key, "parentSession" | "branchedFrom");
        let (_, parent) = each_member(line).filter(|(key, _)| says(key)).last()?;
        string(parent).map(|text| text.into_owned()).filter(|text| !text.is_empty())
    }
}

/// Where the agent would continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// HEAD: the last entry that a listing shows, at or above `exact`; `exact` itself if there is none.
    pub entry: Option<Ix>,
    /// The entry from which the agent continues, bookkeeping included, markers looked through; `None` if there is none.
    pub exact: Option<Ix>,
    /// The entry that the real program takes for its leaf, markers included.
    pub leaf: Option<Ix>,
    /// The rule that decided, as text; if there is no HEAD, the reason.
    pub rule: &'static str,
}

/// Several lines that form one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// The number of the first line, starting at 1.
    pub line: u64,
    /// How many lines it spans.
    pub lines: u64,
    /// The span from the start of the first line to the end of the last, without its line ending.
    pub span: Span,
}

/// A line that is not an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Other {
    /// Its span in the file.
    pub span: Span,
    /// The line number, starting at 1.
    pub line: u64,
    /// Its kind.
    pub kind: OtherKind,
    /// How many entries come before it.
    pub before: u32,
}

/// The kinds of lines that are not entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtherKind {
    /// The header of the session.
    Header,
    /// The title slot of oh-my-pi.
    Title,
    /// A line that points to HEAD.
    Pointer,
    /// A label that is not an entry.
    Label,
    /// Another line about the session as a whole.
    Note,
    /// A line without a meaning in the format, or a broken one.
    Unknown,
    /// A blank line.
    Blank,
}

/// A line that points to HEAD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// The line number, starting at 1.
    pub line: u64,
    /// How many entries come before it.
    pub before: u32,
    /// The target; `None` if it points to nothing.
    pub target: Option<Key>,
    /// Whether it says that it is explicit.
    pub explicit: Option<bool>,
}

/// Facts about one file of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileFacts {
    /// The size in bytes.
    pub bytes: u64,
    /// The number of lines, including a last one without a line ending.
    pub lines: u64,
    /// The number of lines that end in CR LF.
    pub crlf: u64,
    /// The number of blank lines.
    pub blank: u64,
    /// Whether the last line ends in a line feed, or the file is empty.
    pub ends_in_newline: bool,
    /// The number of lines that are JSON objects with a string `type`.
    pub records: u64,
}

/// What a dialect collects while lines are read.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// The first header.
    pub header: Option<Header>,
    /// The name or title so far.
    pub name: Option<String>,
    /// Whether a line of the file, and not its header, set or removed the name.
    pub renamed: bool,
    /// The lines about labels.
    pub labels: LabelLines,
    /// The lines that point to HEAD.
    pub pointers: Vec<Pointer>,
    /// The number of entries so far.
    pub entries: u32,
    /// Which file of the session is being read.
    pub file: u16,
    /// Parses times.
    pub(super) clock: Clock,
    /// Clues of pi itself, of oh-my-pi and of the harness, as explained in `pi`.
    pub(super) marks: super::pi::Marks,
    /// Lines that have a special meaning in OpenClaw only.
    pub(super) openclaw: super::openclaw::Rows,
    /// Lines that undo turns.
    pub(super) rewinds: super::rewinds::Rewinds,
    /// Whether the last line that the real program would parse is not an entry with an id.
    pub last_without_id: bool,
    /// Facts about a transcript of Claude Code.
    pub claude: super::claude::Facts,
}

impl Session {
    /// Reads a session that is in memory, or returns `None` if its format is unknown.
    pub fn read(bytes: &[u8]) -> Option<Session> {
        let super::Detected::Format(format) = super::detect(bytes, None) else { return None };
        let mut builder = Builder::new(format);
        builder.begin_file();
        let mut reader = format.reader();
        reader.feed(bytes, |line| builder.line(line));
        reader.finish(|line| builder.line(line));
        Some(builder.finish())
    }

    /// Returns the span of an entry's line.
    pub fn span(&self, ix: Ix) -> Span {
        self.entries.span(ix)
    }

    /// Returns the id of the session, from its header or from the first entry that names one.
    pub fn id(&self) -> Option<String> {
        match &self.header {
            Some(header) => header.id.clone(),
            None => self.entries.sessions().iter().find(|session| !session.is_empty()).cloned(),
        }
    }

    /// Returns the id by which first entries name the header as their parent, in the format of pi's
    /// design document.
    pub fn header_key(&self) -> Option<Key> {
        self.header.as_ref().filter(|_| self.format == Format::PiDesign)?.uuid
    }

    /// Returns the version in the header, as spelled there.
    pub fn version(&self) -> Option<&str> {
        self.header.as_ref()?.version.as_deref()
    }

    /// Returns whether the version is newer than the known ones.
    pub fn is_newer(&self) -> bool {
        let number = self.version().and_then(|version| version.trim().parse::<f64>().ok());
        let newest = self.format.newest_version().map(f64::from);
        self.format == Format::HarnessV4 || newest.is_some_and(|newest| number.is_some_and(|is| is > newest))
    }

    /// Returns why the session is never written to, or `None` if it is writable.
    pub fn read_only(&self) -> Option<&'static str> {
        if let Some(program) = self.program {
            return Some(program.why_read_only());
        }
        match self.format {
            Format::PiV1 | Format::PiDesign => {
                Some("it has an older format version; `bough migrate SESSION` upgrades it")
            }
            Format::HarnessV4 => Some("no current agent reads this format"),
            _ => self.is_newer().then_some("its version is newer than any that bough knows"),
        }
    }

    /// Returns what can be done with a session that is never written to, if anything is known.
    pub fn instead_of_writing(&self) -> Option<&'static str> {
        self.program.map(|_| "`bough convert SESSION --to AGENT` writes its conversation for another agent")
    }

    /// The entries on the path to where the agent continues, root first; none where that is nowhere.
    pub fn path(&self) -> Vec<Ix> {
        self.head.exact.map(|head| self.tree.path(head)).unwrap_or_default()
    }

    /// The last entry on the path that the agent loads: HEAD with the bookkeeping after it, or below it the end of the reply that
    /// it is in.
    pub fn end(&self) -> Option<Ix> {
        self.end_in(&self.tree, |ix| ix)
    }

    /// As [`Session::end`], in another tree over the entries, in which `stand_in` gives the entry that has the place of one.
    pub fn end_in(&self, tree: &Tree, stand_in: impl Fn(Ix) -> Ix) -> Option<Ix> {
        let head = stand_in(self.head.exact?);
        if self.beside.is_empty() {
            return Some(head);
        }
        // How many steps each entry is below HEAD, if it is. No link is walked twice.
        let mut known: HashMap<Ix, Option<usize>> = HashMap::from([(head, Some(0))]);
        let mut last = None;
        for ix in self.beside.iter().map(|ix| stand_in(*ix)) {
            let mut way = Vec::new();
            let mut steps = None;
            for above in tree.ancestors(ix) {
                if let Some(above) = known.get(&above) {
                    steps = *above;
                    break;
                }
                way.push(above);
            }
            for above in way.into_iter().rev() {
                steps = steps.map(|steps| steps + 1);
                known.insert(above, steps);
            }
            if let Some(steps) = known[&ix]
                && last.is_none_or(|(most, _)| steps >= most)
            {
                last = Some((steps, ix));
            }
        }
        Some(last.map_or(head, |(_, ix)| ix))
    }

    /// Returns the last entry on the path to an entry: for HEAD, as the agent loads it
    /// ([`Session::end`]); for any other entry, the entry itself.
    pub fn end_at(&self, ix: Ix) -> Ix {
        self.end().filter(|_| [self.head.entry, self.head.exact].contains(&Some(ix))).unwrap_or(ix)
    }

    /// Returns the entries on the path to an entry, root first, and the entries that the agent
    /// loads with them: the rest of the reply at HEAD, and for Claude Code all parts of each reply
    /// and the results of their calls.
    pub fn whole_path(&self, tip: Ix) -> Vec<Ix> {
        let tip = self.head.exact.filter(|_| self.head.entry == Some(tip)).unwrap_or(tip);
        let whole = match self.format {
            Format::Claude if !self.partial => super::claude::graph::whole_path(self, tip),
            _ => None,
        };
        whole.unwrap_or_else(|| self.tree.path(self.end_at(tip)))
    }

    /// Returns the number of entries on the path that the agent loads, including the rest of the
    /// reply at HEAD.
    pub fn loaded(&self) -> usize {
        if self.beside.is_empty() {
            return self.depth();
        }
        let Some(end) = self.end() else { return 0 };
        let mut rest: HashSet<Ix> = self.beside.iter().copied().collect();
        let path = self.tree.ancestors(end).inspect(|above| _ = rest.remove(above)).count();
        path + rest.len()
    }

    /// Returns the number of entries on the path to HEAD, by links only.
    pub fn depth(&self) -> usize {
        self.head.exact.map_or(0, |head| self.tree.ancestors(head).count())
    }

    /// Returns whether this session contains the last `count` entries on the path to the leaf that
    /// are `shown`, or all of that path.
    ///
    /// Always true for a session that was read as a whole. If only the end of the file was read, it
    /// is false if the path leads to an entry before that part.
    pub fn knows_path(&self, count: usize, mut shown: impl FnMut(Ix) -> bool) -> bool {
        if !self.partial {
            return true;
        }
        let mut left = count;
        let mut at = self.head.leaf;
        while let Some(ix) = at.filter(|_| left > 0) {
            left -= usize::from(shown(ix));
            at = match self.tree.link(ix) {
                Parent::Entry(parent) => Some(parent),
                Parent::Root => None,
                Parent::Missing | Parent::Cycle(_) => return left == 0,
            };
        }
        true
    }

    /// Returns the entry with an id, by the format's rule for repeated ids. Costs a pass over the
    /// ids.
    pub fn find(&self, key: Key) -> Option<Ix> {
        let at = self.entries.keys().iter().position(|known| *known == key)?;
        let first = Ix(at as u32);
        if self.tree.is_in_tree(first) {
            return Some(first);
        }
        self.tree.entries_in_tree().find(|ix| self.entries.key(*ix) == key)
    }

    /// Returns all entries by their ids; for callers that need many of them. [`Session::find`]
    /// finds one.
    pub fn places(&self) -> HashMap<Key, Ix> {
        let mut places = HashMap::with_capacity(self.entries.len());
        for ix in self.tree.entries_in_tree() {
            let key = self.entries.key(ix);
            if key.is_some() {
                places.entry(key).or_insert(ix);
            }
        }
        places
    }

    /// Returns HEAD of a session whose program uses `leaf` as its leaf by `rule`: the entry that
    /// results from looking through markers of `switch`.
    pub fn head_at(&self, leaf: Option<Ix>, mut rule: &'static str) -> Head {
        let mut at = leaf;
        while let Some(ix) = at.filter(|ix| self.entries.flags(*ix).has(Flags::MARKER)) {
            at = self.tree.parent(ix);
            if at.is_none() {
                rule = match self.tree.link(ix) {
                    Parent::Root => "`bough switch` moved before the first entry",
                    _ => "`bough switch` moved to an entry that no longer exists",
                };
            }
        }
        Head { entry: at, exact: at, leaf, rule }
    }

    /// Whether an entry belongs to the conversation: what `log` shows if nothing else is asked for, and what HEAD and counts
    /// of entries are about.
    ///
    /// Bookkeeping does not (labels, settings, names, markers of `switch`, usage), nor does what the agent writes for itself
    /// (progress, attachments without a prompt, system notes of Claude Code), nor the transcripts of subagents inside a session
    /// that is not one itself. Tool calls and their results always do.
    pub fn is_conversation(&self, ix: Ix) -> bool {
        let inside = self.head.exact.is_some_and(|exact| self.entries.flags(exact).has(Flags::SIDECHAIN));
        self.is_in_any_conversation(ix)
            && (self.format != Format::Claude || inside || !self.entries.flags(ix).has(Flags::SIDECHAIN))
    }

    /// Whether an entry belongs to a conversation: that of the session, or that of a subagent inside it.
    pub fn is_in_any_conversation(&self, ix: Ix) -> bool {
        let flags = self.entries.flags(ix);
        let kind = self.entries.kind(ix);
        let aside = [Flags::BOOKKEEPING, Flags::MARKER, Flags::HIDDEN, Flags::PASSED];
        if aside.iter().any(|flag| flags.has(*flag)) || kind == Kind::Progress {
            return false;
        }
        self.format != Format::Claude
            || kind != Kind::System && (kind != Kind::Attachment || flags.has(Flags::TEXT))
    }

    /// The nearest entry of the conversation on the way from an entry to its root, the entry included.
    fn shown_at_or_above(&self, ix: Ix) -> Option<Ix> {
        self.tree.ancestors(ix).find(|ix| self.is_conversation(*ix))
    }

    fn find_head(&mut self) {
        self.head = self.format.dialect().head(self);
        self.head_is_shown();
    }

    /// Moves HEAD to what a listing shows.
    fn head_is_shown(&mut self) {
        let shown = self.head.exact.and_then(|exact| self.shown_at_or_above(exact));
        self.head.entry = shown.or(self.head.exact);
    }

    fn note_links(&mut self) {
        let mut faults = Vec::new();
        let mut note = |entries: &Entries, ix: Ix, kind: FaultKind| {
            let span = entries.span(ix);
            faults.push(Fault {
                file: span.file,
                line: entries.line(ix),
                offset: span.offset,
                len: span.len,
                kind,
            });
        };
        let header = self.header_key();
        for ix in self.tree.orphans() {
            if header.is_none() || self.entries.parent_key(ix) != header {
                note(&self.entries, ix, FaultKind::DanglingParent);
            }
        }
        for ix in self.tree.cycle_cuts() {
            note(&self.entries, ix, FaultKind::ParentCycle);
        }
        for ix in self.tree.shadowed() {
            let on_purpose = self.format.dialect().repeats_ids(self.entries.kind(ix));
            if self.tree.link(ix) != Parent::Missing && !on_purpose {
                note(&self.entries, ix, FaultKind::RepeatedId);
            }
        }
        self.faults.append(&mut faults);
    }
}
