//! Constant-time ancestor queries.

use super::{Ix, Tree};

/// Answers in constant time whether one entry is an ancestor of another.
pub struct Ancestry {
    /// When a walk over the tree reaches each entry, and when it has left everything below it.
    span: Vec<(u32, u32)>,
}

impl Ancestry {
    /// Walks the tree once.
    pub fn build(tree: &Tree, entries: usize) -> Ancestry {
        let mut span = vec![(0, 0); entries];
        let mut clock = 0;
        // An entry is visited on the way down, and again, marked, on the way up.
        let mut todo: Vec<(Ix, bool)> = tree.roots().map(|root| (root, false)).collect();
        while let Some((ix, done)) = todo.pop() {
            if done {
                span[ix.index()].1 = clock;
                continue;
            }
            clock += 1;
            span[ix.index()].0 = clock;
            todo.push((ix, true));
            todo.extend(tree.children(ix).map(|child| (child, false)));
        }
        Ancestry { span }
    }

    /// Returns whether `above` is `below` or one of its ancestors.
    pub fn is_above(&self, above: Ix, below: Ix) -> bool {
        let ((from, to), (at, _)) = (self.span[above.index()], self.span[below.index()]);
        from > 0 && (from..=to).contains(&at)
    }
}
