//! Finds where a text or an escape may begin, 64 positions at a time.
//!
//! For searches through whole files: two rare bytes of the text and two of the escape are compared
//! in one pass, so that the bytes are loaded into the processor only once.

use super::{Block, Kernel, Scanner};

/// How far behind the beginning the compared bytes may be.
pub(in crate::json) const REACH: usize = 32;

/// What is compared for 64 beginnings.
pub(super) type Window = [u8; 64 + REACH];

/// A byte behind the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::json) struct Probe {
    /// How far behind; less than [`REACH`].
    pub(in crate::json) place: usize,
    pub(in crate::json) byte: u8,
    /// The bit in which the byte may differ, such as 0x20 for the other case of a letter; or 0. It
    /// is set in `byte`.
    pub(in crate::json) bit: u8,
}

/// The bytes by which a text or an escape is found.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) struct Starts {
    scanner: Scanner,
    /// Of the text, if one is looked for. Both must be there.
    pub(super) text: Option<[Probe; 2]>,
    /// Of the escape. Both must be there.
    pub(super) escape: [Probe; 2],
    /// A byte that is in no wanted escape.
    pub(super) skipped: Probe,
}

impl Probe {
    /// Returns a byte that must be the same.
    pub(in crate::json) fn new(place: usize, byte: u8) -> Probe {
        Probe { place, byte, bit: 0 }
    }

    /// Returns the bytes at its place for each of the 64 beginnings.
    #[inline(always)]
    pub(super) fn block(self, window: &Window) -> &Block {
        window[self.place % REACH..].first_chunk().expect("the window has a block at each place")
    }
}

impl Starts {
    pub(in crate::json) fn new(text: Option<[Probe; 2]>, escape: [Probe; 2], skipped: Probe) -> Starts {
        Starts { scanner: Scanner::best(), text, escape, skipped }
    }

    /// Calls `check` with each offset at which the text or the escape may begin, in order. Returns
    /// its first result.
    #[inline]
    pub(in crate::json) fn find<T>(
        &self,
        bytes: &[u8],
        mut check: impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        let mut from = 0;
        while let Some((at, mut starts)) = self.next(bytes, from) {
            while starts != 0 {
                let found = check(at + starts.trailing_zeros() as usize);
                if found.is_some() {
                    return found;
                }
                starts &= starts - 1;
            }
            from = at + size_of::<Block>();
        }
        None
    }

    /// Returns the first block of 64 beginnings that has any, and one bit for each of them.
    fn next(&self, bytes: &[u8], from: usize) -> Option<(usize, u64)> {
        match self.scanner {
            #[cfg(target_arch = "x86_64")]
            Scanner::Avx512(avx512) => avx512.next_start(self, bytes, from),
            #[cfg(target_arch = "x86_64")]
            Scanner::Avx2(avx2) => avx2.next_start(self, bytes, from),
            #[cfg(target_arch = "aarch64")]
            Scanner::Neon(neon) => next(neon, self, bytes, from),
            Scanner::Portable => next(super::portable::Portable, self, bytes, from),
        }
    }
}

/// [`Starts::next`] for one kernel.
#[inline(always)]
pub(super) fn next<K: Kernel>(kernel: K, starts: &Starts, bytes: &[u8], from: usize) -> Option<(usize, u64)> {
    match starts.text {
        None => next_of::<K, false, false>(kernel, starts, bytes, from),
        Some(probes) if probes.iter().all(|probe| probe.bit == 0) => {
            next_of::<K, true, false>(kernel, starts, bytes, from)
        }
        Some(_) => next_of::<K, true, true>(kernel, starts, bytes, from),
    }
}

#[inline(always)]
fn next_of<K: Kernel, const TEXT: bool, const FOLD: bool>(
    kernel: K,
    starts: &Starts,
    bytes: &[u8],
    from: usize,
) -> Option<(usize, u64)> {
    let [first, second] = starts.escape;
    let escape = [first, second, starts.skipped];
    let text = starts.text.unwrap_or(starts.escape);
    let mut rest = bytes.get(from..)?;
    while let Some(window) = rest.first_chunk() {
        let found = kernel.starts::<TEXT, FOLD>(window, escape, text);
        if found != 0 {
            return Some((bytes.len() - rest.len(), found));
        }
        rest = &rest[size_of::<Block>()..];
    }
    // No probe is a zero byte.
    let mut last = [0; 2 * size_of::<Block>() + REACH];
    last[..rest.len()].copy_from_slice(rest);
    for from in [0, size_of::<Block>()] {
        let window = last[from..].first_chunk().expect("two windows");
        let found = kernel.starts::<TEXT, FOLD>(window, escape, text);
        if found != 0 {
            return Some((bytes.len() - rest.len() + from, found));
        }
    }
    None
}
