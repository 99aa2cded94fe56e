//! New ids for entries and sessions.

use super::Format;
use crate::model::Key;
use std::collections::HashSet;

/// Generates new ids in the style of each format, without repetition.
///
/// Random, or from a seed: the same seed yields the same ids in the same order.
pub struct Ids {
    /// The state of the generator; `None` uses the random numbers of the system.
    seed: Option<u64>,
    made: HashSet<Key>,
    checks: usize,
    /// The keys to avoid, once enough ids were checked that a set pays off.
    known: Option<HashSet<Key>>,
}

/// How many ids are searched among the keys one by one before a set of the keys is built.
const FEW: usize = 4;

impl Ids {
    /// Creates a generator of random ids.
    pub fn random() -> Ids {
        Ids { seed: None, made: HashSet::new(), checks: 0, known: None }
    }

    /// Creates a generator of ids from a seed, for reproducible results.
    pub fn seeded(seed: &str) -> Ids {
        Ids { seed: Some(Key::hash(format!("seed of ids: {seed}").as_bytes()).0), ..Ids::random() }
    }

    /// Creates a generator of ids from a seed if there is one, or else of random ids.
    pub fn seeded_or_random(seed: Option<&str>) -> Ids {
        seed.map_or_else(Ids::random, Ids::seeded)
    }

    /// Returns an id for an entry in the style of `format`: 8 hex digits for the pi family, 12 for
    /// Chimera, a UUID for Claude Code.
    ///
    /// It differs from all of `taken` and from all ids generated before. All calls on one `Ids`
    /// must pass the same `taken`.
    pub fn entry(&mut self, format: Format, taken: &[Key]) -> String {
        self.avoiding(taken, |ids| match format {
            Format::Chimera => ids.hex(12),
            Format::Claude => ids.uuid(),
            _ => ids.hex(8),
        })
    }

    /// Returns an id from `make` that differs from all of `taken` and from all ids generated
    /// before.
    pub fn avoiding(&mut self, taken: &[Key], make: impl Fn(&mut Ids) -> String) -> String {
        loop {
            let id = make(self);
            let key = Key::hash(id.as_bytes());
            if !self.is_taken(key, taken) && self.made.insert(key) {
                return id;
            }
        }
    }

    /// Returns a random UUID.
    pub fn uuid(&mut self) -> String {
        let bits = u128::from(self.bits()) << 64 | u128::from(self.bits());
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
    }

    /// Returns random hex digits, at most 16.
    pub fn hex(&mut self, digits: usize) -> String {
        let mut hex = format!("{:016x}", self.bits());
        hex.truncate(digits);
        hex
    }

    fn is_taken(&mut self, key: Key, taken: &[Key]) -> bool {
        if let Some(known) = &self.known {
            return known.contains(&key);
        }
        self.checks += 1;
        if self.checks > FEW {
            self.known.insert(taken.iter().copied().collect()).contains(&key)
        } else {
            taken.contains(&key)
        }
    }

    fn bits(&mut self) -> u64 {
        let Some(state) = &mut self.seed else {
            let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
            // The version and variant bits of a UUID are constant: combining both halves removes
            // them.
            return high ^ low.rotate_left(32);
        };
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = *state;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ bits >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_form_of_their_format() {
        for mut ids in [Ids::random(), Ids::seeded("1")] {
            let hex =
                |id: &str, len: usize| id.len() == len && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(hex(&ids.entry(Format::Pi, &[]), 8));
            assert!(hex(&ids.entry(Format::Omp, &[]), 8));
            assert!(hex(&ids.entry(Format::Chimera, &[]), 12));
            let uuid = uuid::Uuid::parse_str(&ids.entry(Format::Claude, &[])).unwrap();
            assert_eq!(uuid.get_version_num(), 4);
        }
    }

    #[test]
    fn a_seed_gives_the_same_ids_again_and_none_that_is_taken() {
        let first: Vec<String> = {
            let mut ids = Ids::seeded("x");
            (0..10).map(|_| ids.entry(Format::Pi, &[])).collect()
        };
        let taken: Vec<Key> = first[..9].iter().map(|id| Key::hash(id.as_bytes())).collect();
        let mut ids = Ids::seeded("x");
        assert_eq!(ids.entry(Format::Pi, &taken), first[9]);
        assert_ne!(Ids::seeded("y").entry(Format::Pi, &[]), first[0]);
    }
}
