//! The order and the columns in which `log --graph` draws a tree.
//!
//! Newest first along each branch, with no entry before its children. At a branch point, one child
//! continues in the column of its parent; the others are drawn one after the other in the column to
//! the right, each joined to its parent's column where it ends, so that the columns are free for
//! the next branch. The straight child is the one on the path to HEAD; elsewhere it is the one with
//! the most branches below it, and among equals the newest. So a side branch has at most half of
//! the branches of the branch that it leaves, and a tree of 10,000 branches needs at most 15
//! columns.

use crate::model::Ix;
use crate::ops::Forest;

const NONE: u32 = u32::MAX;

/// A line of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Row {
    /// An entry; the columns to its left pass by.
    Entry {
        /// The entry.
        ix: Ix,
        /// Its column, from 0.
        column: usize,
        /// Whether it is on the path to HEAD.
        on_path: bool,
    },
    /// A branch ends: this column is joined to the one on its left.
    Join {
        /// The column that ends, from 1.
        column: usize,
    },
    /// Another tree begins.
    Gap,
}

/// The layout of a tree.
pub struct Graph<'f> {
    forest: &'f Forest<'f>,
    /// For each shown entry, the child that is drawn in the same column.
    straight: Vec<u32>,
    /// The other children, with their parents: sorted by parent, the newest branch first.
    sides: Vec<(u32, u32)>,
    /// The entries without a parent, in the order in which their trees are drawn.
    tops: Vec<u32>,
    /// The path to HEAD, sorted.
    path: Vec<u32>,
}

impl<'f> Graph<'f> {
    /// Lays out a forest. `position` is the entry whose path is drawn first and leftmost.
    ///
    /// Costs a few passes over the entries, and sorts the branches.
    pub fn new(forest: &'f Forest<'f>, position: Option<Ix>) -> Graph<'f> {
        let mut path: Vec<u32> =
            std::iter::successors(position.and_then(|at| forest.at_or_above(at)), |ix| forest.parent(*ix))
                .map(|ix| ix.0)
                .collect();
        let mut straight = vec![NONE; forest.len()];
        // The number of branches at and below each entry, and the last of these entries in the
        // file.
        let mut weight = vec![0u32; forest.len()];
        let mut newest = vec![0u32; forest.len()];
        let (mut sides, mut tops) = (Vec::new(), Vec::new());
        // The path continues straight, so its children are placed before all others.
        for pair in path.windows(2) {
            straight[pair[1] as usize] = pair[0];
        }
        let root_of_path = path.last().copied();
        path.sort_unstable();
        for ix in forest.children_first() {
            let at = ix.index();
            weight[at] = weight[at].max(1);
            newest[at] = newest[at].max(ix.0);
            let Some(parent) = forest.parent(ix) else {
                tops.push(ix.0);
                continue;
            };
            let rank = |ix: u32| (weight[ix as usize], newest[ix as usize]);
            let other = straight[parent.index()];
            let settled = other != NONE && path.binary_search(&other).is_ok();
            if other == NONE {
                straight[parent.index()] = ix.0;
            } else if other != ix.0 {
                let stays = settled || rank(other) > rank(ix.0);
                sides.push((parent.0, if stays { ix.0 } else { other }));
                if !stays {
                    straight[parent.index()] = ix.0;
                }
            }
            weight[parent.index()] += weight[at];
            newest[parent.index()] = newest[parent.index()].max(newest[at]);
        }
        sides.sort_unstable_by_key(|(parent, ix)| (*parent, std::cmp::Reverse(newest[*ix as usize])));
        tops.sort_unstable_by_key(|ix| (Some(*ix) != root_of_path, std::cmp::Reverse(newest[*ix as usize])));
        Graph { forest, straight, sides, tops, path }
    }

    /// Returns the lines of the graph, from the top.
    pub fn rows(&self) -> Rows<'_> {
        Rows { graph: self, tops: 0, turns: Vec::new(), next: Next::Top }
    }

    /// Follows the straight children down to an entry that has none.
    fn end_of(&self, mut ix: u32) -> u32 {
        while self.straight[ix as usize] != NONE {
            ix = self.straight[ix as usize];
        }
        ix
    }

    /// Returns the range of an entry's side branches in `sides`.
    fn sides_of(&self, parent: u32) -> (usize, usize) {
        let from = self.sides.partition_point(|(other, _)| *other < parent);
        let count = self.sides[from..].iter().take_while(|(other, _)| *other == parent).count();
        (from, from + count)
    }
}

/// The lines of a [`Graph`], one after the other.
pub struct Rows<'g> {
    graph: &'g Graph<'g>,
    /// How many trees were started.
    tops: usize,
    /// The branch points whose side branches are being drawn, outermost first: the column of a side
    /// branch is their number.
    turns: Vec<Turn>,
    next: Next,
}

/// A branch point whose side branches are being drawn.
struct Turn {
    at: u32,
    /// The remaining side branches.
    rest: (usize, usize),
}

#[derive(Clone, Copy)]
enum Next {
    Top,
    /// Draws this entry after its side branches.
    Reach(u32),
    Draw(u32),
    Join,
    Side,
    End,
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let graph = self.graph;
        loop {
            match self.next {
                Next::End => return None,
                Next::Top => {
                    let Some(top) = graph.tops.get(self.tops) else {
                        self.next = Next::End;
                        return None;
                    };
                    self.tops += 1;
                    self.next = Next::Reach(graph.end_of(*top));
                    if self.tops > 1 {
                        return Some(Row::Gap);
                    }
                }
                Next::Reach(at) => {
                    let rest = graph.sides_of(at);
                    if rest.0 == rest.1 {
                        self.next = Next::Draw(at);
                    } else {
                        self.turns.push(Turn { at, rest });
                        self.next = Next::Side;
                    }
                }
                Next::Side => {
                    let turn = self.turns.last_mut().expect("a branch point is open");
                    if turn.rest.0 == turn.rest.1 {
                        self.next = Next::Draw(turn.at);
                        self.turns.pop();
                    } else {
                        let (_, side) = graph.sides[turn.rest.0];
                        turn.rest.0 += 1;
                        self.next = Next::Reach(graph.end_of(side));
                    }
                }
                Next::Join => {
                    self.next = Next::Side;
                    return Some(Row::Join { column: self.turns.len() });
                }
                Next::Draw(at) => {
                    let ix = Ix(at);
                    self.next = match graph.forest.parent(ix) {
                        None => Next::Top,
                        Some(parent) if graph.straight[parent.index()] == at => Next::Reach(parent.0),
                        Some(_) => Next::Join,
                    };
                    let on_path = graph.path.binary_search(&at).is_ok();
                    return Some(Row::Entry { ix, column: self.turns.len(), on_path });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::forest::tests::session;

    /// Draws the graph as letters: `*` on the path, `o` off it.
    fn picture(text: &str, position: &str) -> String {
        let (names, entries, tree) = session(text);
        let forest = Forest::new(&tree, entries.len(), |ix| !names[ix.index()].starts_with('.'));
        let position = names.iter().rposition(|name| name == position).map(|at| Ix(at as u32));
        let mut out = String::new();
        for row in Graph::new(&forest, position).rows() {
            match row {
                Row::Entry { ix, column, on_path } => {
                    let dot = if on_path { '*' } else { 'o' };
                    out += &format!("{}{dot} {}\n", "| ".repeat(column), names[ix.index()]);
                }
                Row::Join { column } => out += &format!("{}|/\n", "| ".repeat(column - 1)),
                Row::Gap => out += "\n",
            }
        }
        out
    }

    fn check(text: &str, position: &str, wanted: &[&str]) {
        assert_eq!(picture(text, position).lines().collect::<Vec<_>>(), wanted, "{text}");
    }

    #[test]
    fn one_branch_is_one_column() {
        check("", "", &[]);
        check("a; b<a; c<b", "c", &["* c", "* b", "* a"]);
        check("c<b; b<a; a", "c", &["* c", "* b", "* a"]);
    }

    #[test]
    fn the_current_path_is_leftmost_and_first() {
        check("a; b<a; c<b; d<a; e<d", "e", &["* e", "* d", "| o c", "| o b", "|/", "* a"]);
        check("a; b<a; c<b; d<a; e<d", "c", &["* c", "* b", "| o e", "| o d", "|/", "* a"]);
        // HEAD is not a leaf: its children are drawn above it in the same column.
        check("a; b<a; c<b; d<b", "b", &["o d", "| o c", "|/", "* b", "* a"]);
        check("a; b<a; c<b", "", &["o c", "o b", "o a"]);
    }

    #[test]
    fn columns_are_used_again() {
        check("a; b<a; c<a; d<a; e<a", "e", &["* e", "| o d", "|/", "| o c", "|/", "| o b", "|/", "* a"]);
        // A side branch with its own branch.
        check(
            "a; b<a; c<b; d<b; e<d; f<a",
            "f",
            &["* f", "| o e", "| o d", "| | o c", "| |/", "| o b", "|/", "* a"],
        );
    }

    #[test]
    fn off_the_path_most_branches_go_straight_on() {
        // `b` has two branches and `e` one, which is newer.
        check("a; b<a; c<b; d<b; e<a", "", &["o d", "| o c", "|/", "o b", "| o e", "|/", "o a"]);
    }

    #[test]
    fn each_root_begins_a_tree() {
        check("a; b<a; c; d<c; e", "b", &["* b", "* a", "", "o e", "", "o d", "o c"]);
        check("a; b<lost; c<b", "c", &["* c", "* b", "", "o a"]);
    }

    #[test]
    fn hidden_entries_make_no_branches() {
        check("a; b<a; .label<b; c<b; .switch<a", ".switch", &["o c", "o b", "* a"]);
        check("a; .x<a; b<.x; c<.x", "c", &["* c", "| o b", "|/", "* a"]);
    }

    #[test]
    fn ten_thousand_branches_need_few_columns() {
        // Pseudo-random parents, and the two worst shapes for a drawing: a comb and a star.
        let mut seed = 7u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let tree: Vec<String> = (1..20_000).map(|at| format!("; e{at}<e{}", random(at))).collect();
        let comb: Vec<String> = (1..20_000).map(|at| format!("; e{at}<e{}", (at - 1) / 2 * 2)).collect();
        let star: Vec<String> = (1..20_000).map(|at| format!("; e{at}<e0")).collect();
        for (entries, most) in [(tree, 15), (comb, 3), (star, 2)] {
            let (_, entries, tree) = session(&format!("e0{}", entries.concat()));
            let forest = Forest::new(&tree, entries.len(), |_| true);
            let graph = Graph::new(&forest, Some(Ix(9_999)));
            let (mut drawn, mut columns) = (0, 0);
            for row in graph.rows() {
                if let Row::Entry { column, .. } = row {
                    drawn += 1;
                    columns = columns.max(column + 1);
                }
            }
            assert_eq!(drawn, 20_000);
            assert!(columns <= most, "{columns} columns");
        }
    }
}
