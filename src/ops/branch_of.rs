//! The branch with which an entry is shown, if several branches contain it.

use super::filter;
use crate::format::Session;
use crate::model::Ix;

/// For each entry, one of the branches that contain it: that of HEAD if possible, or else the one
/// whose tip was written last.
pub struct BranchOf {
    tip: Vec<u32>,
    head: Option<Ix>,
}

const NONE: u32 = u32::MAX;

impl BranchOf {
    /// Costs a pass over the entries.
    pub fn build(session: &Session) -> BranchOf {
        let (entries, tree) = (&session.entries, &session.tree);
        let mut tip = vec![NONE; entries.len()];
        let mut own = |leaf: Ix| {
            let mut above = Vec::new();
            // Entries outside the conversation at the end of a branch belong to it, but are not its
            // tip.
            let mut known = None;
            for ix in tree.ancestors(leaf) {
                if tip[ix.index()] != NONE {
                    known = known.or(Some(tip[ix.index()]));
                    break;
                }
                if known.is_none() && filter::conversation(session, ix) {
                    known = Some(ix.0);
                }
                above.push(ix);
            }
            for ix in above {
                tip[ix.index()] = known.unwrap_or(leaf.0);
            }
        };
        let head = session.head.entry;
        if let Some(leaf) = session.head.leaf.or(head) {
            own(leaf);
        }
        tree.leaves().rev().for_each(&mut own);
        let head = head.map(|head| tip[head.index()]).filter(|tip| *tip != NONE).map(Ix);
        BranchOf { tip, head }
    }

    /// Returns the last entry of the branch that is not bookkeeping; `None` for a copy of an entry
    /// that is not part of the tree.
    pub fn tip(&self, entry: Ix) -> Option<Ix> {
        self.tip.get(entry.index()).filter(|tip| **tip != NONE).map(|tip| Ix(*tip))
    }

    /// Returns whether an entry is on the path to HEAD.
    pub fn on_head(&self, entry: Ix) -> bool {
        self.head.is_some() && self.tip(entry) == self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a session: `"a; b<a"` is a message `a` without a parent, and `b` as its child; `(b)`
    /// is a marker.
    fn session(text: &str) -> Session {
        let mut lines = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
        for item in text.split(';').map(str::trim) {
            let (id, parent) = item.split_once('<').unwrap_or((item, ""));
            let ty = if id.starts_with('l') { "label" } else { "message" };
            let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
            lines.push_str(&format!(
                "{{\"type\":\"{ty}\",\"id\":\"{id}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\"}}}}\n"
            ));
        }
        Session::read(lines.as_bytes()).unwrap()
    }

    #[test]
    #[rustfmt::skip] // a table
    fn an_entry_is_shown_with_one_branch() {
        let check = |text: &str, wanted: &str| {
            let session = session(text);
            let owners = BranchOf::build(&session);
            let ids: Vec<&str> = text.split(';').map(|item| item.trim().split('<').next().unwrap()).collect();
            let shown = |ix: Ix| {
                let tip = owners.tip(ix).map_or("-", |tip| ids[tip.index()]);
                format!("{tip}{}", if owners.on_head(ix) { "*" } else { "" })
            };
            assert_eq!(session.entries.all().map(shown).collect::<Vec<_>>().join(" "), wanted, "{text}");
        };
        //     entries                        branch of each; * is on the way to HEAD
        check("a; b<a; c<b",                  "c* c* c*");
        check("a; b<a; c<a",                  "c* b c*");
        check("a; b<a; c<b; d<b; e<a",        "e* d c d e*");
        check("a; b<a; l<b",                  "b* b* b*");
        check("a; b<a; a<b",                  "- a* a*");      // the cycle is cut at `b`, whose link points forward
    }
}
