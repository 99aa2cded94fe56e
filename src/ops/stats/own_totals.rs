//! The totals that an agent itself keeps of its sessions, each counted once however many copies there are.
//!
//! A total of Claude Code covers the replies that its session has. So does that of a session that was resumed under a new id: it
//! goes on from the old total. A fork says of each copied line what it is a copy of, and its total begins anew.

use crate::model::BuildKeyHasher;
use std::collections::HashMap;

/// The totals that were counted.
#[derive(Debug, Default)]
pub(super) struct OwnTotals {
    sessions: Vec<Counted>,
    by_id: HashMap<String, usize>,
    /// By the hash of a reply: the session with which it was counted.
    by_reply: HashMap<u64, usize, BuildKeyHasher>,
}

#[derive(Debug)]
struct Counted {
    total: f64,
    /// What the total added to those before it.
    added: f64,
    /// How many replies were counted with it.
    replies: usize,
}

impl OwnTotals {
    /// Counts the total of a session, and returns what it adds to those before it.
    ///
    /// `replies` are those that it covers: the hash of each, the same in all copies, and its tokens.
    pub(super) fn add(&mut self, id: String, total: f64, replies: &[(u64, u64)]) -> f64 {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        let (mut fresh, mut all_tokens, mut fresh_tokens) = (Vec::new(), 0, 0);
        for (reply, tokens) in replies {
            all_tokens += tokens;
            match self.by_reply.get(reply) {
                Some(with) => *shared.entry(*with).or_default() += 1,
                None => {
                    fresh.push(*reply);
                    fresh_tokens += tokens;
                }
            }
        }
        let same = self.by_id.get(&id).copied();
        let added = match (fresh.is_empty(), same) {
            // What came since is in no reply.
            (true, Some(same)) => {
                let same = &mut self.sessions[same];
                let more = (total - same.total).max(0.0);
                same.total = same.total.max(total);
                same.added += more;
                return more;
            }
            (true, None) if replies.is_empty() => total,
            (true, None) => 0.0,
            (false, _) => {
                let is_whole = |(at, count): (&usize, &usize)| self.sessions[*at].replies == *count;
                match shared.iter().all(is_whole) {
                    true => total - shared.keys().map(|at| self.sessions[*at].added).sum::<f64>(),
                    // Nobody says what a part of the other session did cost.
                    false => total * fresh_tokens.max(1) as f64 / all_tokens.max(1) as f64,
                }
            }
        };
        let added = added.clamp(0.0, total.max(0.0));
        let at = self.sessions.len();
        self.by_reply.extend(fresh.iter().map(|reply| (*reply, at)));
        if !id.is_empty() {
            self.by_id.entry(id).or_insert(at);
        }
        self.sessions.push(Counted { total, added, replies: fresh.len() });
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts sessions of `id total replies`, each reply with a hundred tokens, and returns the sum.
    fn sum(sessions: &[&str]) -> f64 {
        let mut totals = OwnTotals::default();
        let add = |session: &&str| {
            let words: Vec<&str> = session.split(' ').collect();
            let replies: Vec<(u64, u64)> = words
                .get(2)
                .into_iter()
                .flat_map(|all| all.bytes())
                .map(|reply| (u64::from(reply), 100))
                .collect();
            totals.add(words[0].into(), words[1].parse().unwrap(), &replies)
        };
        sessions.iter().map(add).sum()
    }

    #[test]
    #[rustfmt::skip] // a table
    fn each_reply_is_paid_for_once() {
        let check = |sessions: &[&str], wanted: f64| {
            let found = sum(sessions);
            assert!((found - wanted).abs() < 1e-9, "{sessions:?}: {found}");
        };
        check(&[],                                  0.0);
        check(&["a 2 xy", "b 3 z"],                 5.0);
        // A copy, and one under another id.
        check(&["a 2 xy", "a 2 xy"],                2.0);
        check(&["a 2 xy", "b 2 xy"],                2.0);
        // A copy that went on, with replies and without.
        check(&["a 2 xy", "a 3 xyz"],               3.0);
        check(&["a 3 xyz", "a 2 xy"],               3.0);
        check(&["a 2 xy", "a 5 xy", "a 4 xy"],      5.0);
        // A session that goes on from another, and one that goes on from that.
        check(&["a 2 xy", "b 3 xyz", "c 7 xyzw"],   7.0);
        check(&["c 7 xyzw", "b 3 xyz", "a 2 xy"],   7.0);
        check(&["b 3 xyz", "a 2 xy", "c 7 xyzw"],   7.0);
        // A fork that begins anew covers what is its own.
        check(&["a 2 xy", "b 1 z"],                 3.0);
        check(&["b 1 z", "a 2 xy"],                 3.0);
        // Copies that went apart: the part that both have is shared out by tokens.
        check(&["a 2 xy", "b 2 xz"],                3.0);
        // No replies, or no id.
        check(&["a 2", "b 3"],                      5.0);
        check(&[" 2 x", " 3 y", " 4"],              9.0);
        // A total that is less than what it covers takes nothing back.
        check(&["a 5 x", "b 2 xy"],                 5.0);
    }
}
