//! Labels as they are read: the lines that set them, and the current label of each entry. Each
//! format writes its own ([`super::Dialect::label`]).

use crate::model::{Entries, Ix, Key, Tree};

/// A line that labels an entry, or removes its label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LabelLine<'s> {
    /// The entry of the line, if labels are entries.
    pub entry: Option<Ix>,
    /// The line number, starting at 1.
    pub line: u64,
    /// The labeled entry.
    pub target: Key,
    /// The label; empty if it is removed.
    pub text: &'s str,
}

/// The lines about labels, in file order. There may be as many as entries: each takes 24 bytes plus
/// its text.
#[derive(Clone, Debug, Default)]
pub struct LabelLines {
    rows: Vec<Row>,
    /// The texts, one after the other.
    texts: String,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    target: Key,
    line: u32,
    entry: Option<std::num::NonZeroU32>,
    /// Where its text ends; it begins where the previous one ends.
    end: usize,
}

impl LabelLines {
    /// Appends a line. Line numbers above four billion are clamped.
    pub fn push(&mut self, label: LabelLine<'_>) {
        self.texts.push_str(label.text);
        self.rows.push(Row {
            target: label.target,
            line: u32::try_from(label.line).unwrap_or(u32::MAX),
            entry: label.entry.and_then(|ix| std::num::NonZeroU32::new(ix.0 + 1)),
            end: self.texts.len(),
        });
    }

    /// Appends the lines of a later segment of the file; `entries` and `lines` are the numbers
    /// before it.
    pub(super) fn append(&mut self, other: &LabelLines, entries: u32, lines: u64) {
        for label in other.iter() {
            let entry = label.entry.map(|ix| Ix(ix.0 + entries));
            self.push(LabelLine { entry, line: label.line + lines, ..label });
        }
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns a line by its index, from 0.
    pub fn get(&self, at: usize) -> LabelLine<'_> {
        let Row { target, line, entry, end } = self.rows[at];
        let from = at.checked_sub(1).map_or(0, |before| self.rows[before].end);
        let entry = entry.map(|after| Ix(after.get() - 1));
        LabelLine { entry, line: u64::from(line), target, text: &self.texts[from..end] }
    }

    /// Returns all lines, in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = LabelLine<'_>> + Clone {
        (0..self.len()).map(|at| self.get(at))
    }
}

/// The labels of a session. A label applies until a later line, on any branch, gives its entry
/// another.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The lines about labels.
    pub lines: LabelLines,
    /// Labeled entries in file order, each with the line that set the label.
    in_force: Vec<(Ix, u32)>,
}

impl Labels {
    pub(super) fn resolve(lines: LabelLines, entries: &Entries, tree: &Tree) -> Labels {
        if lines.is_empty() {
            return Labels::default();
        }
        let found =
            tree.find_all(entries, lines.rows.iter().map(|row| row.target).filter(|target| target.is_some()));
        let of_line = |(at, row): (usize, &Row)| Some((found.entry(row.target)?, at as u32));
        let mut in_force: Vec<(Ix, u32)> = lines.rows.iter().enumerate().filter_map(of_line).collect();
        in_force.sort_unstable();
        // If several lines label one entry, the last one counts, and it may remove the label.
        in_force.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                *kept = *later;
            }
            same
        });
        in_force.retain(|(_, line)| !lines.get(*line as usize).text.is_empty());
        Labels { lines, in_force }
    }

    /// Returns the label of an entry.
    pub fn label(&self, ix: Ix) -> Option<&str> {
        let at = self.in_force.binary_search_by_key(&ix, |(ix, _)| *ix).ok()?;
        Some(self.lines.get(self.in_force[at].1 as usize).text)
    }

    /// Returns the labeled entries, in file order, each with the line that set the label.
    pub fn all(&self) -> impl ExactSizeIterator<Item = (Ix, LabelLine<'_>)> {
        self.in_force.iter().map(|(ix, line)| (*ix, self.lines.get(*line as usize)))
    }

    /// Returns the entries with a given label, in file order.
    pub fn entries<'s>(&'s self, name: &'s str) -> impl Iterator<Item = Ix> + 's {
        self.all().filter(move |(_, line)| line.text == name).map(|(ix, _)| ix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_labels_are_given_back() {
        let label = |line: u64, entry: Option<u32>, text| LabelLine {
            entry: entry.map(Ix),
            line,
            target: Key(line),
            text,
        };
        let put =
            [label(2, Some(0), "one"), label(3, None, ""), label(u64::from(u32::MAX) - 9, Some(7), "zwölf")];
        let mut lines = LabelLines::default();
        put.into_iter().for_each(|label| lines.push(label));
        assert!(lines.iter().eq(put));
        let mut whole = LabelLines::default();
        whole.push(label(1, None, "before"));
        whole.append(&lines, 10, 1);
        let wanted = [
            label(1, None, "before"),
            LabelLine { line: 3, ..label(2, Some(10), "one") },
            LabelLine { line: 4, ..label(3, None, "") },
            LabelLine { line: u64::from(u32::MAX) - 8, ..LabelLine { entry: Some(Ix(17)), ..put[2] } },
        ];
        assert!(whole.iter().eq(wanted));
    }
}
