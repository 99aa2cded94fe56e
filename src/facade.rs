//! The library on one page: open a session, walk its tree, and change it safely.
//!
//! The types here are what other programs use. The layers below are private.

use crate::format::{self, Content, Ids};
use crate::fsck::{self, NoSurroundings};
use crate::model::{Ix, Plan, Time};
use crate::ops::{self, Snapshot, label, revision, switch};
use crate::store::oplog::Log;
use crate::store::{self, Opened, write};
use std::fmt;
use std::path::{Path, PathBuf};

pub use crate::format::Format;
pub use crate::fsck::{Check, Finding, Level};
pub use crate::model::{Fault, FaultKind, Kind};

/// A session that was read: a tree of entries, and the faults that were met.
///
/// A damaged session is a session, too: see [`Session::faults`]. Memory grows with the number of
/// entries; the text of an entry is read from the file each time it is asked for.
pub struct Session {
    opened: Opened,
    path: PathBuf,
}

impl Session {
    /// Opens a session file of any format; `-` is standard input.
    ///
    /// Reads the file once. Fails if it can't be read, is empty, or has no known format.
    pub fn open(path: impl AsRef<Path>) -> Result<Session, Error> {
        let path = path.as_ref();
        let opened = store::open(path, store::Options { side: true, ..store::Options::default() })?;
        Ok(Session { opened, path: path.to_owned() })
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.opened.session.format
    }

    /// Returns the id that the session has for its agent, if it has one.
    pub fn id(&self) -> Option<String> {
        self.opened.session.id()
    }

    /// Returns the damage that was met, in the order of the file.
    pub fn faults(&self) -> &[Fault] {
        &self.opened.session.faults
    }

    /// Returns the entry from which the agent would continue; `None` if it would begin anew.
    pub fn head(&self) -> Option<Entry<'_>> {
        self.opened.session.head.entry.map(|ix| self.entry_at(ix))
    }

    /// Returns all entries, in the order of the file. Of several copies of an id, only the one that
    /// counts is returned.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.opened.session.tree.entries_in_tree().map(|ix| self.entry_at(ix))
    }

    /// Returns the last entry of each branch, in the order of the file.
    pub fn leaves(&self) -> impl Iterator<Item = Entry<'_>> {
        self.opened.session.tree.leaves().map(|ix| self.entry_at(ix))
    }

    /// Returns the entry that a revision names: `HEAD~2`, an id or its beginning, a label,
    /// `turn:3`, `:/text`.
    pub fn entry(&self, revision: &str) -> Result<Entry<'_>, Error> {
        let ix = revision::resolve_one(&self.opened.session, &self.opened.files, revision)?;
        Ok(self.entry_at(ix))
    }

    /// Returns the entries from a root to the entry that a revision names, root first. The path is
    /// never empty.
    pub fn path(&self, revision: &str) -> Result<Vec<Entry<'_>>, Error> {
        let leaf = self.entry(revision)?;
        Ok(self.opened.session.tree.path(leaf.ix).into_iter().map(|ix| self.entry_at(ix)).collect())
    }

    /// Plans a move of HEAD to the entry that a revision names. Nothing is written before
    /// [`Change::apply`].
    pub fn switch(&self, revision: &str) -> Result<Change<'_>, Error> {
        let to = switch::To::Entry(self.entry(revision)?.ix);
        let planned =
            switch::plan(self.whole(), to, &switch::SwitchOptions::default(), &mut Ids::random(), now())?;
        Ok(Change { session: self, plan: planned.plan })
    }

    /// Plans a label for the entry that a revision names. Fails if another entry has the label, or the entry another label.
    pub fn label(&self, revision: &str, name: &str) -> Result<Change<'_>, Error> {
        let options =
            label::LabelOptions::Set { name, target: self.entry(revision)?.ix, take: false, replace: false };
        let plan = label::plan(self.whole(), options, &mut Ids::random(), now())?;
        Ok(Change { session: self, plan })
    }

    /// Returns the findings of all checks, in the order of their lines.
    pub fn check(&self) -> Result<Vec<Finding>, Error> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let session = Some(self.opened.session.clone());
        let len = self.opened.session.files.first().map_or(0, |file| file.bytes);
        let examined = fsck::examine(session, &self.opened.files, len, None, &NoSurroundings(&stem));
        Ok(examined.map_err(|error| Error::new(error.to_string(), None))?.findings.list)
    }

    fn entry_at(&self, ix: Ix) -> Entry<'_> {
        Entry { session: self, ix }
    }

    fn whole(&self) -> Snapshot<'_> {
        Snapshot { session: &self.opened.session, source: &self.opened.files }
    }
}

/// One entry of a [`Session`].
#[derive(Clone, Copy)]
pub struct Entry<'s> {
    session: &'s Session,
    ix: Ix,
}

impl<'s> Entry<'s> {
    /// Returns the id, as the agent wrote it; empty if the entry has none.
    pub fn id(&self) -> Result<String, Error> {
        Ok(self.session.whole().id(self.ix)?)
    }

    /// Returns what the entry is: a prompt, a reply, the result of a tool, and so on.
    pub fn kind(&self) -> Kind {
        self.inner().entries.kind(self.ix)
    }

    /// Returns the label, if there is one.
    pub fn label(&self) -> Option<&'s str> {
        self.inner().labels.label(self.ix)
    }

    /// Returns the time in milliseconds since 1970 (UTC), if the entry has one.
    pub fn time(&self) -> Option<i64> {
        let time = self.inner().entries.time(self.ix);
        time.is_some().then_some(time.0)
    }

    /// Returns the entry above; `None` for a root, and for an entry whose parent is missing.
    pub fn parent(&self) -> Option<Entry<'s>> {
        self.inner().tree.parent(self.ix).map(|ix| self.session.entry_at(ix))
    }

    /// Returns the entries below, in the order of the file.
    pub fn children(&self) -> impl Iterator<Item = Entry<'s>> {
        let session = self.session;
        session.opened.session.tree.children(self.ix).map(|ix| session.entry_at(ix))
    }

    /// Returns the text, without tool calls and thinking. It is not made safe for a terminal.
    pub fn text(&self) -> Result<String, Error> {
        Ok(Content::read(self.session.format(), &self.line()?).text.into_owned())
    }

    /// Returns the entry in one line of words: the beginning of its text, or its tool calls. It is
    /// not made safe for a terminal.
    pub fn summary(&self) -> Result<String, Error> {
        Ok(Content::read(self.session.format(), &self.line()?).summary())
    }

    /// Returns the bytes of the line in the file, without the line ending.
    pub fn line(&self) -> Result<Vec<u8>, Error> {
        Ok(self.session.whole().line(self.ix)?)
    }

    fn inner(&self) -> &'s format::Session {
        &self.session.opened.session
    }
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Entry<'_>) -> bool {
        std::ptr::eq(self.session, other.session) && self.ix == other.ix
    }
}

/// A change that is planned and not yet written.
pub struct Change<'s> {
    session: &'s Session,
    plan: Plan,
}

impl Change<'_> {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// Writes the change, as the program does: guarded against running agents, recorded for `bough
    /// undo`, and synced.
    ///
    /// Either all of it is written or nothing. Open the session again to see the change.
    pub fn apply(self, options: Apply) -> Result<(), Error> {
        self.apply_and_record(options, Log::of_user().as_ref())
    }

    fn apply_and_record(&self, options: Apply, log: Option<&Log>) -> Result<(), Error> {
        let options = write::WriteOptions {
            force: options.force,
            allow: write::Allow::default(),
            last_try: false,
            dry_run: options.dry_run,
            now: now(),
            log,
            group: None,
            quiet: write::WriteOptions::QUIET,
            patience: write::WriteOptions::PATIENCE,
            keep_added: false,
            prove: None,
        };
        let files = &self.session.opened.files;
        write::carry_out(files, self.session.format(), &self.plan, &options, &mut std::io::sink())?;
        Ok(())
    }
}

/// How a [`Change`] is written.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Apply {
    /// Writes even if an agent seems to have the session open.
    pub force: bool,
    /// Checks that the change could be written, and writes nothing.
    pub dry_run: bool,
}

/// Why something was not done: a message, and often a hint.
#[derive(Debug)]
pub struct Error {
    message: String,
    hint: Option<String>,
}

impl Error {
    fn new(message: String, hint: Option<String>) -> Error {
        Error { message, hint }
    }

    /// Returns what a person can do, if anything. The hints name commands of the program.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Error {
        Error::new(error.to_string(), error.hint())
    }
}

impl From<ops::Error> for Error {
    fn from(error: ops::Error) -> Error {
        Error::new(error.to_string(), error.hint())
    }
}

impl From<write::Refusal> for Error {
    fn from(refusal: write::Refusal) -> Error {
        Error::new(refusal.to_string(), refusal.hint())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::new(error.to_string(), None)
    }
}

fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parser() -> Session {
        Session::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sessions/parser.jsonl")).unwrap()
    }

    fn ids<'s>(entries: impl IntoIterator<Item = Entry<'s>>) -> Vec<String> {
        entries.into_iter().map(|entry| entry.id().unwrap()).collect()
    }

    #[test]
    fn a_path_leads_from_the_root_to_a_revision() {
        let session = parser();
        let path = session.path("two-ways").unwrap();
        assert_eq!(ids(path.clone()), ["a3c9e1f0", "1f7c2a90", "30b8f4d2", "6e21d7aa", "41d0b6ee"]);
        assert_eq!(path[1].text().unwrap(), "Write a parser for the log format in FORMAT.md");
        assert_eq!(path[1].kind(), Kind::User);
        assert_eq!(path[4].label(), Some("two-ways"));
        assert!(path[4].parent() == Some(path[3]) && path[3].children().eq([path[4]]));
        assert_eq!(
            session.entry("nothing-like-it").err().unwrap().to_string(),
            "`nothing-like-it` is not an entry of session 0198f3a2"
        );
    }

    #[test]
    fn a_change_is_written_when_it_is_applied_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("parser.jsonl");
        let old = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sessions/parser.jsonl"))
            .unwrap();
        std::fs::write(&file, &old).unwrap();
        let log = Log::in_folder(folder.path().join("state"));
        let session = Session::open(&file).unwrap();
        let change = session.switch("HEAD~2").unwrap();
        let (force, dry_run) = (true, true);
        change.apply_and_record(Apply { force, dry_run }, Some(&log)).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), old, "a dry run");
        // The file was made a moment ago, so that an agent could be writing to it.
        assert!(change.apply_and_record(Apply::default(), Some(&log)).is_err());
        change.apply_and_record(Apply { force, dry_run: false }, Some(&log)).unwrap();
        assert!(std::fs::read(&file).unwrap().starts_with(&old));
        let wanted = session.entry("HEAD~2").unwrap().id().unwrap();
        assert_eq!(Session::open(&file).unwrap().head().unwrap().id().unwrap(), wanted);
    }

    #[test]
    fn a_check_finds_what_is_wrong_with_a_session() {
        let broken = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sessions/broken.jsonl");
        let findings = Session::open(broken).unwrap().check().unwrap();
        let found: Vec<_> = findings.iter().map(|finding| (finding.line, finding.check.id())).collect();
        assert_eq!(found, [(15, "dangling-parent"), (16, "glued-lines"), (19, "torn-line")]);
    }
}
