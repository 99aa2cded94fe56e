//! The tree from its roots down, as the agents' own tree views show it.
//!
//! Each entry before what hangs under it. Where a path parts, the way to the position comes first and the others follow
//! by their times; each way is one step further in than the entry at which they part.

use super::Forest;
use crate::format::Session;
use crate::model::Ix;
use std::collections::HashMap;

/// A line of the outline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The entry.
    pub ix: Ix,
    /// How many times paths parted above it.
    pub depth: usize,
    /// Whether it is the first entry of one of several ways.
    pub begins: bool,
    /// Whether the way that it is on is the last of several.
    pub last: bool,
    /// Whether it is on the path to the position.
    pub on_path: bool,
}

/// Returns the shown entries from the roots down.
///
/// Costs a pass over the entries, and sorts those that part; whatever the depth, nothing recurses.
pub fn outline(session: &Session, forest: &Forest<'_>, position: Option<Ix>) -> Vec<Step> {
    let mut on_path = vec![false; forest.len()];
    let path = std::iter::successors(position.and_then(|at| forest.at_or_above(at)), |ix| forest.parent(*ix));
    path.for_each(|ix| on_path[ix.at()] = true);
    let (mut tops, mut only) = (Vec::new(), vec![u32::MAX; forest.len()]);
    let mut several: HashMap<Ix, Vec<Ix>> = HashMap::new();
    let shown = (0..forest.len() as u32).map(Ix).filter(|ix| forest.shows(*ix));
    for ix in shown {
        match forest.parent(ix) {
            None => tops.push(ix),
            Some(parent) if only[parent.at()] == u32::MAX => only[parent.at()] = ix.0,
            Some(parent) => several.entry(parent).or_insert_with(|| vec![Ix(only[parent.at()])]).push(ix),
        }
    }
    let sort = |ways: &mut Vec<Ix>| {
        // Times that can't be read compare with nothing: then the order of the file stays.
        if ways.iter().all(|ix| session.entries.time(*ix).is_some()) {
            ways.sort_by_key(|ix| session.entries.time(*ix));
        }
        ways.sort_by_key(|ix| !on_path[ix.at()]);
    };
    sort(&mut tops);
    several.values_mut().for_each(sort);
    let mut out = Vec::new();
    let step = |ix: Ix, depth, begins, last| Step { ix, depth, begins, last, on_path: on_path[ix.at()] };
    let mut todo: Vec<Step> = tops.iter().rev().map(|ix| step(*ix, 0, false, false)).collect();
    while let Some(here) = todo.pop() {
        out.push(here);
        match several.get(&here.ix) {
            Some(ways) => {
                let count = ways.len();
                let ways = ways.iter().enumerate().rev();
                todo.extend(ways.map(|(at, ix)| step(*ix, here.depth + 1, true, at + 1 == count)));
            }
            None => {
                let next = only[here.ix.at()];
                if next != u32::MAX {
                    todo.push(step(Ix(next), here.depth, false, here.last));
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::branches::tests::session;

    #[test]
    #[rustfmt::skip] // a table
    fn the_way_to_the_position_comes_first() {
        let check = |text: &str, wanted: &str| {
            let (names, session) = session(text);
            let forest = Forest::new(&session.tree, session.entries.len(), |ix| !names[ix.at()].starts_with('.'));
            let got: Vec<String> = outline(&session, &forest, session.head.leaf)
                .iter()
                .map(|step| {
                    let sign = match (step.begins, step.last) {
                        (true, true) => "`",
                        (true, false) => "+",
                        _ => "",
                    };
                    format!("{}{sign}{}{}", "|".repeat(step.depth), names[step.ix.at()], if step.on_path { "*" } else { "" })
                })
                .collect();
            assert_eq!(got.join(" "), wanted, "{text}");
        };
        check("a; b<a; c<b",                  "a* b* c*");
        check("a; b<a; c<b; d<a; e<d",        "a* |+d* |e* |`b |c");
        check("a; b<a; c<a; d<b; e<b; f<c",   "a* |+c* |f* |`b ||+d ||`e");
        check("a; b<a; .l<a",                 "a* b");
        check("a; b; c<a",                    "a* c* b");
    }
}
