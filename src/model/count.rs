//! Numbers with their nouns.

use std::fmt;

/// A number with its noun: `1 entry`, `3 entries`, `12,345 entries`.
///
/// Holds the singular, the plural and the number, in this order.
pub struct Count(pub &'static str, pub &'static str, pub usize);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", grouped(self.2), if self.2 == 1 { self.0 } else { self.1 })
    }
}

/// Returns a number with its digits in groups of three: `5,450`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_1_entries() {
        assert_eq!(Count("entry", "entries", 0).to_string(), "0 entries");
        assert_eq!(Count("entry", "entries", 1).to_string(), "1 entry");
        assert_eq!(Count("entry", "entries", 1_234_567).to_string(), "1,234,567 entries");
    }
}
