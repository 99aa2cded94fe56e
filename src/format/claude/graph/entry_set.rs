//! A set of entries, as bits.

/// A set of entries: a bit each.
pub(in crate::format::claude) struct EntrySet(Vec<u64>);

impl EntrySet {
    pub(in crate::format::claude) fn new(count: u32) -> EntrySet {
        EntrySet(vec![0; count as usize / 64 + 1])
    }

    pub(in crate::format::claude) fn has(&self, ix: u32) -> bool {
        self.0[ix as usize / 64] >> (ix % 64) & 1 == 1
    }

    pub(in crate::format::claude) fn set(&mut self, ix: u32) {
        self.0[ix as usize / 64] |= 1 << (ix % 64);
    }

    pub(in crate::format::claude) fn clear(&mut self, ix: u32) {
        self.0[ix as usize / 64] &= !(1 << (ix % 64));
    }

    /// Adds an entry; returns whether it was not in the set.
    pub(in crate::format::claude) fn add(&mut self, ix: u32) -> bool {
        let new = !self.has(ix);
        self.set(ix);
        new
    }
}
