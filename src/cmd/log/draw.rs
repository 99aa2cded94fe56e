//! `log --graph`: the branches next to the entries.

use super::Log;
use super::print::Beside;
use super::select::Selection;
use crate::ops::Forest;
use crate::ops::log_rows::ForestRows;
use crate::ops::rows::graph::{Graph, Row};
use crate::ops::rows::{Order, Rows};
use crate::ui::Columns;

impl Log<'_> {
    /// Draws the branches.
    pub(super) fn draw(&mut self, chosen: Selection) -> anyhow::Result<()> {
        let session = &self.opened.session;
        let (mut wanted, mut line) = (vec![false; session.entries.len()], Vec::new());
        for ix in session.entries.all() {
            let chosen = match &chosen {
                Selection::Nothing => true,
                Selection::Entries(chosen) => chosen.contains(&ix),
            };
            wanted[ix.index()] = chosen && self.keep.takes(self.opened, ix, &mut line)?;
        }
        if self.keep.joins_calls {
            let forest = Forest::new(&session.tree, session.entries.len(), |ix| wanted[ix.index()]);
            self.printer.set_rows(ForestRows::new(session, &forest));
            session.entries.all().for_each(|ix| wanted[ix.index()] &= self.printer.is_row(ix));
        }
        if self.args.reverse {
            return self.draw_down(&wanted);
        }
        let forest = Forest::new(&session.tree, session.entries.len(), |ix| wanted[ix.index()]);
        let graph = Graph::new(&forest, self.keep.end_of_path(self.opened));
        let (mut skip, mut left) = (self.args.skip, self.args.count.unwrap_or(usize::MAX));
        let columns = Columns::new(&self.ui.look);
        for row in graph.rows() {
            match row {
                Row::Entry { .. } if skip > 0 => skip -= 1,
                Row::Entry { .. } if left == 0 => break,
                Row::Entry { ix, column, on_path } => {
                    left -= 1;
                    let passing = columns.passing(column);
                    let sign = columns.sign(column, on_path, self.printer.view.is_marked(ix));
                    let below =
                        if forest.parent(ix).is_none() { " ".to_owned() } else { columns.bar(column) };
                    let beside = Beside {
                        first: format!("{passing}{sign}"),
                        below: format!("{passing}{below}"),
                        width: columns.width(column),
                    };
                    self.printer.drawn(ix, &beside, self.ui)?;
                }
                // A row that joins or separates nothing that was printed is left out.
                _ if self.printer.first || left == 0 || !self.printer.is_for_people() => {}
                Row::Join { column } => writeln!(self.ui.out(), "{}", columns.join(column))?,
                Row::Gap => writeln!(self.ui.out())?,
            }
        }
        Ok(())
    }

    /// Draws the tree from its roots down.
    fn draw_down(&mut self, wanted: &[bool]) -> anyhow::Result<()> {
        let columns = Columns::new(&self.ui.look);
        let session = &self.opened.session;
        let order = Order::new(session, self.keep.end_of_path(self.opened));
        let rows = Rows::new(&session.tree, &order, |ix| wanted[ix.index()]);
        let last = self.args.skip.saturating_add(self.args.count.unwrap_or(usize::MAX)).min(rows.len());
        for row in self.args.skip..last {
            let ix = rows.entry(row);
            let (depth, followed) = (rows.depth(row), rows.followed(row, 0));
            let begins_tree = depth == 0 && rows.is_root(row);
            if begins_tree && !self.printer.first && self.printer.is_for_people() {
                writeln!(self.ui.out())?;
            }
            let sign = columns.sign(depth, rows.is_on_path(row), self.printer.view.is_marked(ix));
            let beside = Beside {
                first: format!("{}{sign}", columns.ways(&followed, rows.begins_branch(row))),
                below: format!("{} ", columns.ways(&followed, false)),
                width: columns.width(depth),
            };
            self.printer.drawn(ix, &beside, self.ui)?;
        }
        Ok(())
    }
}
