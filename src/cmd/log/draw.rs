//! `log --graph`: the branches beside the entries.

use super::Args;
use super::choose::{Chosen, Keep};
use super::print::{Beside, Printer};
use crate::ops::Forest;
use crate::ops::graph::{Graph, Row};
use crate::ops::outline::outline;
use crate::store::Opened;
use crate::ui::{Columns, Ui};

/// Draws the branches.
pub(super) fn draw(
    args: &Args,
    chosen: Chosen,
    opened: &Opened,
    keep: &Keep,
    printer: &mut Printer<'_>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let session = &opened.session;
    let (mut wanted, mut line) = (vec![false; session.entries.len()], Vec::new());
    for ix in session.entries.all() {
        let chosen = match &chosen {
            Chosen::Nothing => true,
            Chosen::Entries(chosen) => chosen.contains(&ix),
        };
        wanted[ix.at()] = chosen && keep.takes(opened, ix, &mut line)?;
    }
    let forest = Forest::new(&session.tree, session.entries.len(), |ix| wanted[ix.at()]);
    if args.reverse {
        return draw_down(args, opened, &forest, keep, printer, ui);
    }
    let graph = Graph::new(&forest, keep.end_of_path(opened));
    let (mut skip, mut left) = (args.skip, args.count.unwrap_or(usize::MAX));
    let columns = Columns::new(&ui.look);
    for row in graph.rows() {
        match row {
            Row::Entry { .. } if skip > 0 => skip -= 1,
            Row::Entry { .. } if left == 0 => break,
            Row::Entry { ix, column, on_path } => {
                left -= 1;
                let passing = columns.passing(column);
                let sign = columns.sign(column, on_path, printer.view.is_marked(ix));
                let below = if forest.parent(ix).is_none() { " ".to_owned() } else { columns.bar(column) };
                let beside = Beside {
                    first: format!("{passing}{sign}"),
                    below: format!("{passing}{below}"),
                    width: columns.width(column),
                };
                printer.drawn(ix, &beside, ui)?;
            }
            // What joins or parts nothing that was printed is left out.
            _ if printer.first || left == 0 || !printer.is_for_people() => {}
            Row::Join { column } => writeln!(ui.out(), "{}", columns.join(column))?,
            Row::Gap => writeln!(ui.out())?,
        }
    }
    Ok(())
}

/// Draws the tree from its roots down.
fn draw_down(
    args: &Args,
    opened: &Opened,
    forest: &Forest<'_>,
    keep: &Keep,
    printer: &mut Printer<'_>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let columns = Columns::new(&ui.look);
    // Of each way that the entry at hand is on, whether others follow it.
    let mut follow: Vec<bool> = Vec::new();
    let (mut skip, mut left) = (args.skip, args.count.unwrap_or(usize::MAX));
    for step in outline(&opened.session, forest, keep.end_of_path(opened)) {
        if step.begins || step.depth < follow.len() {
            follow.truncate(step.depth.saturating_sub(usize::from(step.begins)));
        }
        if step.begins {
            follow.push(!step.last);
        }
        if skip > 0 {
            skip -= 1;
            continue;
        }
        if left == 0 {
            break;
        }
        left -= 1;
        if step.depth == 0 && forest.parent(step.ix).is_none() && !printer.first && printer.is_for_people() {
            writeln!(ui.out())?;
        }
        let sign = columns.sign(step.depth, step.on_path, printer.view.is_marked(step.ix));
        let beside = Beside {
            first: format!("{}{sign}", columns.ways(&follow, step.begins)),
            below: format!("{} ", columns.ways(&follow, false)),
            width: columns.width(step.depth),
        };
        printer.drawn(step.ix, &beside, ui)?;
    }
    Ok(())
}
