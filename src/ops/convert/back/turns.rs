//! Which turns the old session has, and whether HEAD is where it was.

use super::Back;
use crate::ops::convert::original::State;

impl Back<'_> {
    /// Finds out which turns the old session has.
    pub(super) fn sort_turns(&mut self) -> Result<(), &'static str> {
        for turn in &self.conversation.turns {
            let rows: Vec<Option<usize>> =
                turn.entries().map(|entry| self.rows.get(&entry).copied()).collect();
            let has_new = rows.iter().any(Option::is_none);
            let rows: Vec<usize> = rows.into_iter().flatten().collect();
            if has_new && !rows.is_empty() {
                return Err("a new entry continues a reply of the old session");
            }
            // What the reading makes up is made up again.
            let is_made_up = turn.entry.is_none();
            let parent = self.turn_above(turn.parent);
            let is_in_place = match (rows.first(), parent) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(row), Some(parent)) => {
                    let above = self.known[parent].as_ref().and_then(|rows| rows.last());
                    above.is_some_and(|above| self.is_below(*row, *above))
                }
            };
            let is_same = rows.iter().all(|row| matches!(self.states[*row], State::Same(_)));
            let is_known = is_in_place && !is_made_up;
            self.is_new.push(!(is_made_up || is_known && is_same));
            self.known.push(Some(rows).filter(|_| is_known));
        }
        Ok(())
    }

    /// Returns a turn, or the nearest one before it that is not made up by the reading.
    fn turn_above(&self, mut at: Option<usize>) -> Option<usize> {
        while let Some(turn) = at.map(|at| &self.conversation.turns[at]) {
            if turn.entry.is_some() {
                return at;
            }
            at = turn.parent;
        }
        None
    }

    /// Returns whether a row of the list comes after another, with nothing between them but what is gone
    /// or makes no turn.
    fn is_below(&self, row: usize, above: usize) -> bool {
        let mut at = self.original.made[row].parent;
        while let Some(parent) = at {
            if parent == above {
                return true;
            }
            let says_something =
                !matches!(self.states[parent], State::Gone) && !self.original.made[parent].lines.is_empty();
            if says_something {
                return false;
            }
            at = self.original.made[parent].parent.filter(|next| *next < parent);
        }
        false
    }

    /// Returns whether HEAD is somewhere else than in the old session.
    pub(super) fn is_head_moved(&self) -> bool {
        let last = self.turn_above(self.conversation.head);
        let row = last.and_then(|last| self.known[last].as_ref()).and_then(|rows| rows.last());
        match (row, last) {
            (Some(row), _) => self.original.head.as_ref() != Some(&self.original.made[*row].id),
            // The HEAD of a session without turns on its path.
            (None, None) => self.original.head.is_some(),
            (None, Some(_)) => true,
        }
    }
}
