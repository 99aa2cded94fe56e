//! Labels entries.

use super::switch::Lines;
use super::{Error, Snapshot};
use crate::format::{Format, Ids, LabelLine, Session};
use crate::model::{Flags, Ix, Key, Kind, Plan, Time};
use std::collections::HashMap;

/// A change of labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LabelOptions<'a> {
    /// Set a label on an entry.
    Set {
        /// The name.
        name: &'a str,
        /// The entry.
        target: Ix,
        /// Whether to move the label if another entry has it.
        take: bool,
        /// Whether another label of the entry is replaced.
        replace: bool,
    },
    /// Remove the label of an entry.
    Clear {
        /// The entry.
        target: Ix,
    },
}

/// Plans a change of labels; the plan is empty if there is nothing to do.
///
/// If labels are entries, the new line is a child of the current leaf, whatever it names: below the
/// named entry it would switch branches.
pub fn plan(
    whole: Snapshot<'_>,
    options: LabelOptions<'_>,
    fresh: &mut Ids,
    now: Time,
) -> Result<Plan, Error> {
    let session = whole.session;
    super::appendable(session)?;
    if session.head.leaf.is_none()
        && !session.entries.is_empty()
        && !matches!(session.format, Format::Harness | Format::Claude)
    {
        // A label without a parent would become HEAD, and the model would see nothing.
        return Err(Error::NoPlace {
            what: format!("there is no HEAD to append a label to: {}", session.head.rule),
            instead: Some(
                "repair the end of the file with `bough fsck --repair`, or move HEAD with `bough switch`"
                    .into(),
            ),
        });
    }
    let mut plan = Plan { verb: "label".into(), keep_times: true, ..Plan::default() };
    let mut lines = Lines::new(whole, fresh, now)?;
    let short = |ix| super::ids::ShortIds::default().short_id(session, whole.source, ix);
    match options {
        LabelOptions::Set { name, target, take, replace } => {
            set(whole, &mut lines, Name { name, take, replace }, target)?;
            plan.detail = format!("`{name}` on {}", short(target)?);
        }
        LabelOptions::Clear { target } => {
            let Some(old) = session.labels.label(target) else {
                let revision = whole.name(target)?;
                return Err(Error::Unresolved { revision, why: "it has no label".into() });
            };
            lines.label(target, None)?;
            plan.detail = format!("-d `{old}` of {}", short(target)?);
        }
    }
    lines.into_plan(&mut plan);
    Ok(plan)
}

/// A label that is to be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name<'n> {
    /// The label.
    pub name: &'n str,
    /// Whether it is taken from an entry that has it.
    pub take: bool,
    /// Whether another label of the entry is replaced.
    pub replace: bool,
}

/// Adds the lines that set a label on an entry; none if it already has the label.
pub(super) fn set(
    whole: Snapshot<'_>,
    lines: &mut Lines<'_>,
    wanted: Name<'_>,
    target: Ix,
) -> Result<(), Error> {
    let session = whole.session;
    let Name { name, take, replace } = wanted;
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return Err(Error::BadLabel {
            name: name.into(),
            why: "a label is one line that is not blank".into(),
        });
    }
    if let Some(why) = super::revision::taken(name) {
        return Err(Error::BadLabel { name: name.into(), why: why.into() });
    }
    if let Some(entry) = super::revision::entry_of_id(whole, name)? {
        let id = super::ids::ShortIds::default().short_id(session, whole.source, entry)?;
        return Err(Error::BadLabel { name: name.into(), why: format!("that is the id of {id}") });
    }
    if !session.entries.key(target).is_some() {
        return Err(Error::NoPlace {
            what: format!("{} has no id, so a label can't refer to it", whole.name(target)?),
            instead: Some("`bough fsck --repair` adds missing ids".into()),
        });
    }
    let others: Vec<Ix> = session.labels.entries(name).filter(|ix| *ix != target).collect();
    if let Some(other) = others.first()
        && !take
    {
        return Err(Error::Taken { name: name.into(), by: whole.name(*other)? });
    }
    if let Some(old) = session.labels.label(target).filter(|old| *old != name && !replace) {
        return Err(Error::Labeled { entry: whole.name(target)?, old: old.into() });
    }
    for other in others {
        lines.label(other, None)?;
    }
    if session.labels.label(target) != Some(name) {
        lines.label(target, Some(name))?;
    }
    Ok(())
}

/// Returns the entry that gets a label by default: HEAD, or, if that is a label, the entry above
/// it.
///
/// In some formats a label is itself an entry below HEAD; two labels in a row must not name each
/// other.
pub fn default_target(session: &Session) -> Result<Ix, Error> {
    Ok(below_labels(session, super::revision::head(session)?))
}

/// Returns the entry below which labels and markers form a chain.
pub(super) fn below_labels(session: &Session, ix: Ix) -> Ix {
    let mut real = session.tree.ancestors(ix).skip_while(|ix| {
        session.entries.kind(*ix) == Kind::Label || session.entries.flags(*ix).has(Flags::MARKER)
    });
    real.next().unwrap_or(ix)
}

/// Returns the current labels, in the order in which they were set; a label that was removed and
/// set again is at its later position.
pub(super) fn in_order(session: &Session) -> Vec<(Ix, LabelLine<'_>)> {
    let mut since: HashMap<Key, usize> = HashMap::new();
    for (at, line) in session.labels.lines.iter().enumerate() {
        if line.text.is_empty() {
            since.remove(&line.target);
        } else {
            since.entry(line.target).or_insert(at);
        }
    }
    let mut labels: Vec<(Ix, LabelLine<'_>)> = session.labels.all().collect();
    labels.sort_by_key(|(ix, _)| since.get(&session.entries.key(*ix)).copied());
    labels
}
