//! The columns of a graph, drawn with characters.

use super::{Ink, Look, paint};

/// The characters that make up the columns of a graph.
///
/// A column takes two cells. If there are so many columns that little room would be left for text,
/// the surplus ones are drawn in the same place, and a sign indicates that.
pub struct Columns {
    look: Look,
    most: usize,
}

impl Columns {
    /// Creates the columns of a graph with the width of `look`; they take at most two fifths of it.
    pub fn new(look: &Look) -> Columns {
        Columns { look: *look, most: (look.width / 5).max(2) }
    }

    /// Returns how many cells the columns of an entry take, including its sign and the space after
    /// it.
    pub fn width(&self, column: usize) -> usize {
        2 * column.min(self.most) + if column > self.most { 4 } else { 2 }
    }

    /// Returns the columns that pass to the left of a column.
    pub fn passing(&self, column: usize) -> String {
        let mut out = String::new();
        for at in 0..column.min(self.most) {
            out += &self.bar(at);
            out.push(' ');
        }
        if column > self.most {
            out += &paint(&self.look, Ink::Quiet, if self.look.ascii { "+ " } else { "… " });
        }
        out
    }

    /// Returns a column that continues.
    pub fn bar(&self, column: usize) -> String {
        paint(&self.look, Ink::Column(column), if self.look.ascii { "|" } else { "│" })
    }

    /// Returns the line on which a column is joined to the one on its left.
    pub fn join(&self, column: usize) -> String {
        let left = column.saturating_sub(1);
        let mut out = self.passing(left);
        if column <= self.most {
            out += &paint(&self.look, Ink::Column(left), if self.look.ascii { "|" } else { "├" });
            out += &paint(&self.look, Ink::Column(column), if self.look.ascii { "/" } else { "─╯" });
        }
        out
    }

    /// Returns the text to the left of an entry in an outline. `follow` says for each branch that
    /// the entry is on, from the outermost, whether others follow; `begins` says whether the entry
    /// is the first of the innermost one.
    pub fn ways(&self, follow: &[bool], begins: bool) -> String {
        let mut out = String::new();
        let inner = follow.len().saturating_sub(1);
        for (at, follows) in follow.iter().enumerate().take(self.most) {
            let sign = match (begins && at == inner, *follows, self.look.ascii) {
                (true, true, false) => "├─",
                (true, false, false) => "╰─",
                (true, true, true) => "|-",
                (true, false, true) => "`-",
                (false, true, false) => "│ ",
                (false, true, true) => "| ",
                (false, false, _) => "  ",
            };
            out += &paint(&self.look, Ink::Column(at), sign);
        }
        if follow.len() > self.most {
            out += &paint(&self.look, Ink::Quiet, if self.look.ascii { "+ " } else { "… " });
        }
        out
    }

    /// Returns the sign of an entry: on the path to HEAD, off it, or HEAD itself.
    pub fn sign(&self, column: usize, on_path: bool, position: bool) -> String {
        let sign = match (self.look.ascii, on_path, position) {
            (true, true, _) => "*",
            (true, false, _) => "o",
            (false, true, true) => "◉",
            (false, true, false) => "●",
            (false, false, _) => "○",
        };
        let ink = match (position, on_path) {
            (true, _) => Ink::Head,
            (false, true) => Ink::Path,
            (false, false) => Ink::Column(column),
        };
        paint(&self.look, ink, sign)
    }
}
