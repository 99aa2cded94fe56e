//! The labels that were set or removed.

use super::Back;
use crate::format::Format;
use crate::model::Ix;
use crate::ops::convert::Writer;
use crate::ops::convert::original::State;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

impl Back<'_> {
    /// Notes the labels that the new session can't have.
    pub(super) fn lose_labels(
        &self,
        labels: Vec<(Labeled, Option<String>)>,
        writer: &Writer<'_>,
        losses: &mut BTreeMap<&'static str, Vec<Option<Ix>>>,
    ) {
        let is_flat = self.original.format == Format::Codex;
        for (target, label) in labels {
            let is_kept = match target {
                Labeled::Entry(_) => !is_flat,
                Labeled::Turn(at) => !is_flat && writer.ids[at].is_some(),
            };
            if !is_kept && label.is_some() {
                losses.entry("labels").or_default().push(match target {
                    Labeled::Entry(_) => None,
                    Labeled::Turn(at) => self.conversation.turns[at].entry,
                });
            }
        }
    }

    /// Returns the labels to set and to remove: the turn, or the entry of the old session, and the label.
    pub(super) fn changed_labels(&self) -> io::Result<Vec<(Labeled, Option<String>)>> {
        let mut wanted: HashMap<Ix, &str> = HashMap::new();
        let mut out = Vec::new();
        let old = self.old.session;
        // A turn that is sent twice is labeled once.
        let mut done: HashSet<Ix> = HashSet::new();
        for (at, label) in &self.conversation.labels {
            let turn = &self.conversation.turns[*at];
            let rows: Vec<usize> =
                turn.entries().filter_map(|entry| self.rows.get(&entry).copied()).collect();
            let entries: Vec<Ix> = rows.iter().flat_map(|row| self.old_entries(*row)).collect();
            match entries.last() {
                Some(last) => {
                    if !entries.iter().any(|entry| old.labels.label(*entry) == Some(label))
                        && done.insert(*last)
                    {
                        out.push((Labeled::Entry(*last), Some(label.clone())));
                    }
                    wanted.extend(entries.iter().map(|entry| (*entry, label.as_str())));
                }
                None => out.push((Labeled::Turn(*at), Some(label.clone()))),
            }
        }
        let removed = self.labeled_and_carried().into_iter().filter(|ix| !wanted.contains_key(ix));
        out.extend(removed.map(|ix| (Labeled::Entry(ix), None)));
        Ok(out)
    }

    /// Returns the old entries with a label that could have been taken away.
    fn labeled_and_carried(&self) -> Vec<Ix> {
        // Codex has no labels: they were not taken away.
        if self.whole.session.format == Format::Codex {
            return Vec::new();
        }
        let carried: HashSet<Ix> = (0..self.original.made.len())
            .filter(|row| matches!(self.states[*row], State::Same(_)))
            .flat_map(|row| self.old_entries(row))
            .collect();
        self.old.session.labels.all().map(|(ix, _)| ix).filter(|ix| carried.contains(ix)).collect()
    }
}

/// What a label is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Labeled {
    /// An entry of the old session.
    Entry(Ix),
    /// A turn that is new.
    Turn(usize),
}
