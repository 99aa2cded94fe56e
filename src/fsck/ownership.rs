//! Ids that several sessions share.

use super::finding::Finding;
use super::table::Check;
use crate::model::{Count, Key};
use std::collections::HashMap;

/// Finds sessions with ids that an earlier one has: each id is owned by the first session that
/// contains it.
///
/// Takes the names of the files and the ids of their entries; returns a finding for each pair of
/// files, with the index of the later file in the list.
pub fn ownership(sessions: &[(&str, &[Key])]) -> Vec<(usize, Finding)> {
    let mut owner: HashMap<Key, usize> = HashMap::new();
    let mut out = Vec::new();
    for (at, (_, ids)) in sessions.iter().enumerate() {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        let mut own: Vec<Key> = ids.iter().copied().filter(|id| id.is_some()).collect();
        own.sort_unstable();
        own.dedup();
        for id in own {
            match *owner.entry(id).or_insert(at) {
                of if of == at => {}
                of => *shared.entry(of).or_default() += 1,
            }
        }
        let mut shared: Vec<(usize, usize)> = shared.into_iter().collect();
        shared.sort_unstable();
        out.extend(shared.into_iter().map(|(of, count)| {
            let ids = Count("id is", "ids are", count);
            (at, Finding::of_file(Check::Ownership, format!("{ids} also in {}", sessions[of].0)))
        }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_owned_by_the_first_session_that_has_it() {
        let keys = |ids: &str| ids.split(' ').map(|id| Key::hash(id.as_bytes())).collect::<Vec<_>>();
        let (a, b, c) = (keys("1 2 3"), keys("2 3 4 4"), keys("4 5"));
        let found = ownership(&[("a", &a), ("b", &b), ("c", &c)]);
        let words: Vec<_> = found.iter().map(|(at, finding)| (*at, finding.message.as_str())).collect();
        assert_eq!(words, [(1, "2 ids are also in a"), (2, "1 id is also in b")]);
    }
}
