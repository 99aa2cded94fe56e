//! Random damage to the bytes of a file.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The kinds of damage to a file.
#[derive(Clone, Debug)]
pub enum Damage {
    Cut(Index, Index),
    Insert(Index, Vec<u8>),
    Flip(Index, u8),
    Repeat(Index, Index),
    SwapLines(Index, Index),
    End(Index),
}

pub fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        (at(), at()).prop_map(|(from, to)| Damage::Cut(from, to)),
        (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (at(), select(b"\"\\{}[],:\n\r\0 \xFF0a".to_vec())).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        (at(), at()).prop_map(|(from, to)| Damage::Repeat(from, to)),
        (at(), at()).prop_map(|(one, other)| Damage::SwapLines(one, other)),
        at().prop_map(Damage::End),
    ]
}

impl Damage {
    pub fn on(&self, bytes: &mut Vec<u8>) {
        let place = |at: &Index, len: usize| if len == 0 { 0 } else { at.index(len) };
        let range = |from: &Index, to: &Index, len: usize| {
            let (from, to) = (place(from, len), place(to, len));
            // Most damage is small.
            from.min(to)..from.max(to).min(from.min(to) + 400)
        };
        match self {
            Damage::Cut(from, to) => drop(bytes.drain(range(from, to, bytes.len()))),
            Damage::Insert(at, new) => {
                let at = place(at, bytes.len());
                bytes.splice(at..at, new.iter().copied());
            }
            Damage::Flip(at, byte) => {
                if let Some(old) = bytes.len().checked_sub(1).map(|last| at.index(last + 1)) {
                    bytes[old] = *byte;
                }
            }
            Damage::Repeat(from, to) => {
                let again = bytes[range(from, to, bytes.len())].to_vec();
                bytes.extend_from_slice(&again);
            }
            Damage::SwapLines(one, other) => {
                let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
                let (one, other) = (place(one, lines.len()), place(other, lines.len()));
                lines.swap(one, other);
                *bytes = lines.join(&b'\n');
            }
            Damage::End(at) => bytes.truncate(place(at, bytes.len())),
        }
    }
}
