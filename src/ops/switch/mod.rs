//! Moves HEAD of a session, so that its own program continues there on the next load.
//!
//! The programs find HEAD by the end of the file. So a move is a line that is appended: a child of
//! the wanted entry that sends nothing to the model (or the summary of the branch that is left).

pub(super) mod claude;

use super::{Error, Snapshot, ids, label, revision, turns};
use crate::context::Context;
use crate::format::claude::write;
use crate::format::{Format, Ids, New, Session};
use crate::model::{Change, Flags, Ix, Kind, Moved, Parent, Plan, Source, Target, Time};
use std::io;

/// The target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To an entry.
    Entry(Ix),
    /// Before the first entry.
    Start,
}

/// Options of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SwitchOptions {
    /// Move to the parent of the prompt instead of the prompt.
    pub rewind: bool,
    /// What to tell the model about the branch that is left.
    pub summary: Option<String>,
    /// A label for the entry.
    pub label: Option<Label>,
}

/// The label that a switch puts on its entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The label.
    pub name: String,
    /// Whether it may be taken from another entry.
    pub take: bool,
    /// Whether another label of the entry is replaced.
    pub replace: bool,
}

impl Label {
    fn name(&self) -> label::Name<'_> {
        label::Name { name: &self.name, take: self.take, replace: self.replace }
    }
}

/// A switch that has not been made yet.
#[derive(Clone, Debug)]
pub struct Switch {
    /// What is written; empty if HEAD is already there.
    pub plan: Plan,
    /// The old HEAD.
    pub from: Option<Ix>,
    /// The parent of the next prompt; `None` before the first entry.
    pub to: Option<Ix>,
    /// Whether HEAD moves at all.
    pub moves: bool,
    /// The prompt that was rewound, to be edited and sent again.
    pub prompt: Option<String>,
    /// The requested entry, if it is part of a reply that is loaded as a whole, or a turn that the
    /// agent forgets; `to` is then where the agent continues.
    pub part: Option<Ix>,
    /// Whether a summary is written, which becomes the parent of the next prompt.
    pub summarized: bool,
    /// Whether the model sees a compaction's summary in place of what is before the entry, which the compaction
    /// kept.
    pub after_compaction: bool,
}

/// Plans a switch. Fails if the format can't represent it, or the agent could not follow it.
pub fn plan(
    whole: Snapshot<'_>,
    to: To,
    options: &SwitchOptions,
    fresh: &mut Ids,
    now: Time,
) -> Result<Switch, Error> {
    let session = whole.session;
    super::appendable(session)?;
    let mut lines = Lines::new(whole, fresh, now)?;
    if session.format == Format::Claude {
        return claude::plan(whole, to, options, lines);
    }
    let (to, prompt) = match (to, options.rewind) {
        (To::Entry(ix), true) => {
            let (parent, text) = before_prompt(whole, ix)?;
            (parent, Some(text))
        }
        (To::Entry(ix), false) => (Some(ix), None),
        (To::Start, _) => (None, None),
    };
    if let Some(to) = to {
        can_be_followed(whole, to)?;
    }
    // Bookkeeping after HEAD is gone back to as well: it may say something to the model.
    let exact = session.head.exact.map(|exact| label::below_labels(session, exact));
    let mut switch = Switch {
        plan: Plan { verb: "switch".into(), ..Plan::default() },
        from: session.head.entry,
        to,
        moves: !is_head_at(whole, to)?,
        prompt,
        part: None,
        summarized: false,
        after_compaction: false,
    };
    let label = |lines: &mut Lines<'_>| match &options.label {
        Some(label) => label::set(whole, lines, label.name(), to.ok_or_else(nothing_to_label)?),
        None => Ok(()),
    };
    // HEAD is the line that is written last, so the label comes first, while the branch that is
    // left can still contain it.
    let label_first = switch.moves && session.head.leaf.is_some();
    if label_first {
        label(&mut lines)?;
    }
    if switch.moves {
        let left = session.head.leaf.map(|leaf| whole.raw_id(leaf)).transpose()?;
        let wanted = to.map(|to| whole.raw_id(to)).transpose()?;
        switch.summarized = options.summary.is_some();
        match &options.summary {
            Some(text) => lines.summary(left.as_deref(), wanted.as_deref(), text)?,
            None => lines.marker(left.as_deref(), wanted.as_deref())?,
        }
        let name = |ix: Option<Ix>| ix.map(|ix| whole.name(ix)).transpose();
        switch.plan.moved = Some(Moved { from: name(exact)?, to: name(to)? });
    }
    if !label_first {
        label(&mut lines)?;
    }
    lines.into_plan(&mut switch.plan);
    switch.plan.keep_times = !switch.moves;
    Ok(switch)
}

fn nothing_to_label() -> Error {
    Error::NoPlace { what: "there is no entry to label before the first entry".into(), instead: None }
}

/// Whether HEAD is at `to`, or the next prompt would hang where it would after a switch there.
///
/// Labels after `to` are looked through, as markers are: they say nothing to the model. Other bookkeeping after HEAD is looked
/// through only if the model is sent the same without it: an edit of the context, for example, is not.
fn is_head_at(whole: Snapshot<'_>, to: Option<Ix>) -> Result<bool, Error> {
    let session = whole.session;
    if to.is_some() && session.head.entry == to {
        return sends_the_same(whole, session.head.exact, to);
    }
    let mut at = session.head.leaf;
    while at != to {
        let Some(ix) = at else { return Ok(false) };
        let passed = session.entries.flags(ix).has(Flags::MARKER) || session.entries.kind(ix) == Kind::Label;
        if !passed {
            return Ok(false);
        }
        at = session.tree.parent(ix);
    }
    // A last line without an id leaves the agent without a HEAD, which is not the start either.
    Ok(to.is_some() || session.head.leaf.is_some() || session.entries.is_empty())
}

/// Whether the model is sent the same messages from two entries.
fn sends_the_same(whole: Snapshot<'_>, one: Option<Ix>, other: Option<Ix>) -> Result<bool, Error> {
    if one == other {
        return Ok(true);
    }
    let sent = |leaf| -> Result<Vec<_>, Error> {
        let context = Context::build(whole.session, whole.source, leaf)?;
        Ok(context.sent().map(|message| (message.entry, message.patches.clone())).collect())
    };
    Ok(sent(one)? == sent(other)?)
}

/// Returns the parent of a prompt, and the prompt's text.
pub fn before_prompt(whole: Snapshot<'_>, ix: Ix) -> Result<(Option<Ix>, String), Error> {
    let session = whole.session;
    let is_queued = session.entries.kind(ix) == Kind::Attachment && revision::is_prompt(session, ix);
    if !is_queued && !matches!(session.entries.kind(ix), Kind::User | Kind::Custom) {
        return Err(Error::Unresolved {
            revision: whole.name(ix)?,
            why: format!("it is not a prompt but of kind {}", session.entries.kind(ix).name()),
        });
    }
    let text = turns::typed_text(whole, ix)?;
    Ok((session.tree.parent(ix), text))
}

/// Fails if the agent could not continue from an entry.
pub(super) fn can_be_followed(whole: Snapshot<'_>, to: Ix) -> Result<(), Error> {
    let session = whole.session;
    has_id(whole, to)?;
    let name = || whole.name(to);
    let top = session.tree.ancestors(to).last().unwrap_or(to);
    if matches!(session.tree.link(top), Parent::Cycle(_)) {
        return Err(Error::NoPlace {
            what: format!("the parent links above {} form a cycle; the agent would loop forever", name()?),
            instead: Some("repair it with `bough fsck --repair`".into()),
        });
    }
    Ok(())
}

/// Fails if an entry can't be named.
fn has_id(whole: Snapshot<'_>, ix: Ix) -> Result<(), Error> {
    let session = whole.session;
    if session.entries.key(ix).is_some() {
        return Ok(());
    }
    Err(Error::NoPlace {
        what: format!("{} has no id, so it can't have children", whole.name(ix)?),
        instead: Some("`bough fsck --repair` adds missing ids".into()),
    })
}

/// Entries to append: each is a child of the one before.
pub(super) struct Lines<'a> {
    session: &'a Session,
    source: &'a dyn Source,
    fresh: &'a mut Ids,
    now: Time,
    /// The JSON of the id that becomes the parent of the next line.
    leaf: Option<Vec<u8>>,
    bytes: Vec<u8>,
    changes: Vec<Change>,
}

impl<'a> Lines<'a> {
    /// Starts below the leaf that the program would find.
    pub(super) fn new(whole: Snapshot<'a>, fresh: &'a mut Ids, now: Time) -> io::Result<Lines<'a>> {
        let Snapshot { session, source } = whole;
        let leaf = session.head.leaf.map(|leaf| whole.raw_id(leaf)).transpose()?;
        Ok(Lines { session, source, fresh, now, leaf, bytes: Vec::new(), changes: Vec::new() })
    }

    fn marker(&mut self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<(), Error> {
        self.leaf = to.map(<[u8]>::to_vec);
        let format = self.session.format;
        self.add("moves HEAD", |new| format.dialect().marker(new, from, to))
    }

    fn summary(&mut self, from: Option<&[u8]>, to: Option<&[u8]>, text: &str) -> Result<(), Error> {
        self.leaf = to.map(<[u8]>::to_vec);
        let format = self.session.format;
        // pi names the leaf that was left, the other formats the new entry.
        let named = if format == Format::Pi { from } else { to };
        self.add("tells the model about the branch that was left", |new| {
            format.dialect().summary(new, named, text)
        })
    }

    /// Adds a label line, or one that removes a label.
    pub(super) fn label(&mut self, target: Ix, name: Option<&str>) -> Result<(), Error> {
        let format = self.session.format;
        let target = ids::raw(self.session, self.source, target)?;
        let why = if name.is_some() { "sets a label" } else { "clears a label" };
        if format == Format::Claude {
            let session = self.session.id();
            let line = write::label(&target, name.unwrap_or_default(), session.as_deref(), self.now);
            self.push_made(line, "", why);
            return Ok(());
        }
        self.add(why, |new| format.dialect().label(new, &target, name))
    }

    /// Adds a line as a child of an entry, given as JSON; returns its id.
    pub(super) fn add_under(
        &mut self,
        parent: Option<Vec<u8>>,
        why: &str,
        line: impl FnOnce(&New<'_>) -> Option<Vec<u8>>,
    ) -> Result<String, Error> {
        self.leaf = parent;
        self.add(why, line)?;
        Ok(self.changes.last().map(|change| change.id.clone()).unwrap_or_default())
    }

    fn add(&mut self, why: &str, line: impl FnOnce(&New<'_>) -> Option<Vec<u8>>) -> Result<(), Error> {
        let id = self.fresh_id();
        let new = New { id: &id, parent: self.leaf.as_deref(), now: self.now };
        let bytes = line(&new).ok_or_else(|| Error::NoPlace {
            what: format!("the format {} can't store this", self.session.format.name()),
            instead: None,
        })?;
        self.push_made(bytes, &id, why);
        self.leaf = Some(self.session.format.quoted(&id));
        Ok(())
    }

    /// Adds a line that is already complete.
    pub(super) fn push_made(&mut self, line: Vec<u8>, id: &str, why: &str) {
        self.changes.push(appended(&line, id, why));
        self.bytes.extend_from_slice(&line);
    }

    pub(super) fn fresh_id(&mut self) -> String {
        self.fresh.entry(self.session.format, self.session.entries.keys())
    }

    /// Returns a time that is not earlier than that of any entry of the session, whatever clock
    /// wrote the others.
    pub(super) fn newest(&self) -> Time {
        let entries = &self.session.entries;
        let newest = entries.all().map(|ix| entries.time(ix)).max().unwrap_or(Time::NONE);
        if newest.is_some() { self.now.max(Time(newest.0.saturating_add(1))) } else { self.now }
    }

    /// Pins HEAD of a session of Claude Code to an entry on one of these lines.
    pub(super) fn pin_id(&mut self, id: &str, prompt: Option<&str>) {
        let leaf = self.session.format.quoted(id);
        let line = write::pin(prompt, Some(&leaf), self.session.id().as_deref());
        self.push_made(line, "", "pins HEAD");
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.changes.clear();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds the lines to a plan.
    pub(super) fn into_plan(self, plan: &mut Plan) {
        if !self.bytes.is_empty() {
            plan.targets.push(Target::Append { file: 0, bytes: self.bytes });
            plan.changes.extend(self.changes);
        }
    }
}

/// Returns the change that appends one line.
pub(super) fn appended(line: &[u8], id: &str, why: &str) -> Change {
    Change {
        op: "append",
        id: id.into(),
        new: String::from_utf8_lossy(line).trim_end_matches('\n').to_owned(),
        bytes: line.len() as i64,
        why: why.into(),
        ..Change::default()
    }
}
