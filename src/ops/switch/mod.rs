//! Moves the position of a session, so that its own program is there on the next load.
//!
//! The programs find their position by the end of the file. So a move is a line that is put there: an entry under
//! the wanted one that says nothing to the model (or the summary of what is left behind).

pub(super) mod claude;

use super::{Error, Whole, ids, label, revision};
use crate::format::claude::write;
use crate::format::{Content, Format, Ids, New, Session};
use crate::model::{Change, Flags, Ix, Kind, Moved, Parent, Plan, Source, Target, Time};
use std::io;

/// Where to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To an entry.
    Entry(Ix),
    /// Before the first entry.
    Start,
}

/// What else is wanted of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    /// To the parent of the prompt instead of onto it.
    pub rewind: bool,
    /// What the model is told of the branch that is left.
    pub summary: Option<String>,
    /// A label for the entry, and whether it may be taken from another.
    pub label: Option<(String, bool)>,
}

/// A switch that is not yet made.
#[derive(Clone, Debug)]
pub struct Switch {
    /// What is written; empty where the session is there already.
    pub plan: Plan,
    /// Where the session stood.
    pub from: Option<Ix>,
    /// The entry under which the next prompt will hang; `None` before the first entry.
    pub to: Option<Ix>,
    /// Whether the position moves at all.
    pub moves: bool,
    /// The prompt that was gone back from, to be edited and sent again.
    pub prompt: Option<String>,
    /// The entry that was asked for, if it is part of a reply that is loaded as a whole or a turn that the agent forgets, and
    /// `to` is where the agent goes on then.
    pub part: Option<Ix>,
    /// The summary, if one is written, is what the next prompt hangs under.
    pub summarized: bool,
}

/// Plans a switch. Fails where the format has no place for it, and where the agent could not follow.
pub fn plan(whole: Whole<'_>, to: To, wish: &Wish, fresh: &mut Ids, now: Time) -> Result<Switch, Error> {
    let session = whole.session;
    super::appendable(session)?;
    let mut lines = Lines::new(whole, fresh, now)?;
    if session.format == Format::Claude {
        return claude::plan(whole, to, wish, lines);
    }
    let (to, prompt) = match (to, wish.rewind) {
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
    let from = session.head.entry.map(|head| label::below_labels(session, head));
    let mut switch = Switch {
        plan: Plan { verb: "switch".into(), ..Plan::default() },
        from,
        to,
        moves: !stands_at(session, to),
        prompt,
        part: None,
        summarized: false,
    };
    let label = |lines: &mut Lines<'_>| match &wish.label {
        Some((name, take)) => label::set(whole, lines, name, to.ok_or_else(nothing_to_label)?, *take),
        None => Ok(()),
    };
    // What is written last is the position, so that the label comes first, where the branch that is left can have it.
    let label_first = switch.moves && session.head.leaf.is_some();
    if label_first {
        label(&mut lines)?;
    }
    if switch.moves {
        let left = session.head.leaf.map(|leaf| whole.raw_id(leaf)).transpose()?;
        let wanted = to.map(|to| whole.raw_id(to)).transpose()?;
        switch.summarized = wish.summary.is_some();
        match &wish.summary {
            Some(text) => lines.summary(left.as_deref(), wanted.as_deref(), text)?,
            None => lines.marker(left.as_deref(), wanted.as_deref())?,
        }
        let name = |ix: Option<Ix>| ix.map(|ix| whole.name(ix)).transpose();
        switch.plan.moved = Some(Moved { from: name(from)?, to: name(to)? });
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

/// Whether the next prompt would hang where it would after a switch to `to`.
///
/// Labels below the position are looked through, as markers are: they say nothing to the model.
fn stands_at(session: &Session, to: Option<Ix>) -> bool {
    let mut at = session.head.leaf;
    while at != to {
        let Some(ix) = at else { return false };
        let passed = session.entries.flags(ix).has(Flags::MARKER) || session.entries.kind(ix) == Kind::Label;
        if !passed {
            return false;
        }
        at = session.tree.parent(ix);
    }
    // A last line without an id leaves the agent without a position, which is not the start either.
    to.is_some() || session.head.leaf.is_some() || session.entries.is_empty()
}

/// The parent of a prompt, and the prompt's text.
fn before_prompt(whole: Whole<'_>, ix: Ix) -> Result<(Option<Ix>, String), Error> {
    let session = whole.session;
    let is_queued = session.entries.kind(ix) == Kind::Attachment && revision::is_prompt(session, ix);
    if !is_queued && !matches!(session.entries.kind(ix), Kind::User | Kind::Custom) {
        return Err(Error::Unresolved {
            revision: whole.name(ix)?,
            why: format!("it is not a prompt but of kind {}", session.entries.kind(ix).word()),
        });
    }
    let line = whole.line(ix)?;
    let content = Content::of(session.format, &line);
    let text = match session.format {
        Format::Claude => {
            crate::format::claude::typed_in(&content).unwrap_or_else(|| content.text.into_owned())
        }
        _ => content.text.into_owned(),
    };
    Ok((session.tree.parent(ix), text))
}

/// Refuses an entry from which the agent could not go on.
pub(super) fn can_be_followed(whole: Whole<'_>, to: Ix) -> Result<(), Error> {
    let session = whole.session;
    has_id(whole, to)?;
    let name = || whole.name(to);
    let top = session.tree.ancestors(to).last().unwrap_or(to);
    if matches!(session.tree.link(top), Parent::Ring(_)) {
        return Err(Error::NoPlace {
            what: format!("the parent links above {} form a cycle; the agent would loop forever", name()?),
            instead: Some("repair it with `bough fsck --repair`".into()),
        });
    }
    Ok(())
}

/// Refuses an entry that nothing can name.
fn has_id(whole: Whole<'_>, ix: Ix) -> Result<(), Error> {
    let session = whole.session;
    if session.entries.key(ix).is_some() {
        return Ok(());
    }
    Err(Error::NoPlace {
        what: format!("{} has no id, so it can't have children", whole.name(ix)?),
        instead: Some("`bough fsck --repair` adds missing ids".into()),
    })
}

/// Entries on their way to the end of the file: each hangs under the one before.
pub(super) struct Lines<'a> {
    session: &'a Session,
    source: &'a dyn Source,
    fresh: &'a mut Ids,
    now: Time,
    /// The JSON of the id under which the next line hangs.
    leaf: Option<Vec<u8>>,
    bytes: Vec<u8>,
    changes: Vec<Change>,
}

impl<'a> Lines<'a> {
    /// Begins under the leaf that the program would find.
    pub(super) fn new(whole: Whole<'a>, fresh: &'a mut Ids, now: Time) -> io::Result<Lines<'a>> {
        let Whole { session, source } = whole;
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
        // pi names the leaf that was left, the others the entry that was gone to.
        let told = if format == Format::Pi { from } else { to };
        self.add("tells the model about the branch that was left", |new| {
            format.dialect().summary(new, told, text)
        })
    }

    /// Adds a label line, or one that takes a label away.
    pub(super) fn label(&mut self, target: Ix, name: Option<&str>) -> Result<(), Error> {
        let format = self.session.format;
        let target = ids::raw(self.session, self.source, target)?;
        let why = if name.is_some() { "sets a label" } else { "clears a label" };
        if format == Format::Claude {
            let session = self.session.id();
            let line = write::label(&target, name.unwrap_or_default(), session.as_deref(), self.now);
            self.put(line, "", why);
            return Ok(());
        }
        self.add(why, |new| format.dialect().label(new, &target, name))
    }

    fn add(&mut self, why: &str, line: impl FnOnce(&New<'_>) -> Option<Vec<u8>>) -> Result<(), Error> {
        let id = self.fresh_id();
        let new = New { id: &id, parent: self.leaf.as_deref(), now: self.now };
        let bytes = line(&new).ok_or_else(|| Error::NoPlace {
            what: format!("the format {} can't store this", self.session.format.name()),
            instead: None,
        })?;
        self.put(bytes, &id, why);
        self.leaf = Some(self.session.format.quoted(&id));
        Ok(())
    }

    /// Adds a line that is made already.
    fn put(&mut self, line: Vec<u8>, id: &str, why: &str) {
        self.changes.push(appended(&line, id, why));
        self.bytes.extend_from_slice(&line);
    }

    fn fresh_id(&mut self) -> String {
        self.fresh.entry(self.session.format, self.session.entries.keys())
    }

    fn now(&self) -> Time {
        self.now
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.changes.clear();
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Puts the lines into a plan.
    pub(super) fn into_plan(self, plan: &mut Plan) {
        if !self.bytes.is_empty() {
            plan.targets.push(Target::Append { file: 0, bytes: self.bytes });
            plan.changes.extend(self.changes);
        }
    }
}

/// A change that appends one line.
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
