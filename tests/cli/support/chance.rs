//! Random numbers that a seed repeats, for generators that are not strategies of proptest, and the
//! number of cases for those that are.

use proptest::prelude::ProptestConfig;

/// A small random number generator: the same on every machine.
pub struct Chance(u64);

impl Chance {
    /// Creates a generator; the same seed yields the same numbers.
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Returns true `percent` times in a hundred.
    pub fn hits(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Returns a time of the first day of 2026, that many milliseconds after 10 o'clock.
pub fn stamp(millis: u64) -> String {
    let (seconds, millis) = (millis / 1000, millis % 1000);
    format!("2026-01-01T{:02}:{:02}:{:02}.{millis:03}Z", 10 + seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Sets the number of cases, unless `PROPTEST_CASES` does.
pub fn config(cases: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases, ..config } }
}
