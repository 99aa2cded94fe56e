//! Whether a word was meant to be another: slips of the fingers.

/// Returns whether two words differ by one slip: two letters next to each other changed places, or one is missing, is too many or is
/// another. A word does not differ from itself.
///
/// The words are compared as bytes. Costs their length.
pub fn is_slip(word: &str, meant: &str) -> bool {
    let (word, meant) = (word.as_bytes(), meant.as_bytes());
    let same = word.iter().zip(meant).take_while(|(a, b)| a == b).count();
    let (word, meant) = (&word[same..], &meant[same..]);
    match (word, meant) {
        ([a, b, word @ ..], [c, d, meant @ ..]) if a == d && b == c && word == meant => true,
        ([_, word @ ..], [_, meant @ ..]) if word == meant => true,
        ([_, word @ ..], meant) if word == meant => true,
        (word, [_, meant @ ..]) => word == meant,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_slip;

    #[test]
    #[rustfmt::skip] // a table
    fn one_slip_is_told_from_none_and_from_two() {
        let check = |word: &str, meant: &str, wanted: bool| assert_eq!(is_slip(word, meant), wanted, "{word}");
        check("abcde",   "abxcde", true);
        check("abxxcde", "abxcde", true);
        check("axbcde",  "abxcde", true);
        check("abxcdf",  "abxcde", true);
        check("abxcde",  "abxcde", false);
        check("axcd",    "abxcde", false);
        check("",        "",       false);
        check("",        "a",      true);
    }
}
