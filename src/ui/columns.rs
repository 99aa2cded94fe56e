use super::{Ink, Look, paint};

/// The signs of which the columns of a graph are made.
///
/// A column takes two cells. Where there are so many that little would be left for words, those beyond are drawn
/// in one place, and a sign says so.
pub struct Columns {
    look: Look,
    most: usize,
}

impl Columns {
    /// The columns of a graph that is as wide as `look` says; no more than two fifths of that is theirs.
    pub fn new(look: &Look) -> Columns {
        Columns { look: *look, most: (look.width / 5).max(2) }
    }

    /// How many cells the columns of an entry take, its sign and the blank behind that included.
    pub fn width(&self, column: usize) -> usize {
        2 * column.min(self.most) + if column > self.most { 4 } else { 2 }
    }

    /// The columns that pass by on the left of a column.
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

    /// A column that goes on.
    pub fn bar(&self, column: usize) -> String {
        paint(&self.look, Ink::Column(column), if self.look.ascii { "|" } else { "│" })
    }

    /// The line on which a column is joined to the one on its left.
    pub fn join(&self, column: usize) -> String {
        let left = column.saturating_sub(1);
        let mut out = self.passing(left);
        if column <= self.most {
            out += &paint(&self.look, Ink::Column(left), if self.look.ascii { "|" } else { "├" });
            out += &paint(&self.look, Ink::Column(column), if self.look.ascii { "/" } else { "─╯" });
        }
        out
    }

    /// What stands left of an entry in an outline: for each way that it is on, from the outermost, whether others
    /// follow; and whether it is the first entry of the innermost.
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

    /// The sign of an entry: on the path to the position or off it, and the position itself.
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
