//! Tests of finding lines with a word.

use super::*;
use std::io::{Seek, Write};

/// Returns the lines that contain `needle`, found by scanning a file.
fn sifted(text: &[u8], needle: &str, wanted: usize) -> Vec<Vec<u8>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let prefilter = Prefilter::new(&[needle.chars().map(|c| vec![c]).collect()]).unwrap();
    let options = Options { format: Some(Format::Pi), ..Options::default() };
    let mut out = Vec::new();
    search_lines(file.path(), options, Some(&prefilter), &mut |_, offset, line| {
        assert_eq!(&text[offset as usize..offset as usize + line.len()], line);
        out.push(line.to_vec());
        if out.len() == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    out
}

#[test]
fn lines_are_found_wherever_blocks_end() {
    for shift in (0..40).chain(BLOCK - 30..BLOCK + 30).chain([3 * BLOCK]) {
        let mut text = b"{\"first\":1}\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', shift));
        text.extend_from_slice(b" needle and needle\nnothing\nneedle again\r\n");
        text.extend(std::iter::repeat_n(b'y', BLOCK - shift.min(BLOCK)));
        text.extend_from_slice(b"\nends in a needle");
        let found = sifted(&text, "needle", usize::MAX);
        assert_eq!(found.len(), 3, "{shift}");
        assert!(found[0].starts_with(b"x") || shift == 0, "{shift}");
        assert_eq!(found[1], b"needle again", "{shift}");
        assert_eq!(found[2], b"ends in a needle", "{shift}");
    }
}

#[test]
fn lines_of_a_part_are_those_that_begin_in_it() {
    let long = format!("needle {}", "z".repeat(2 * LINE as usize));
    let text = format!("needle 1\r\n\n{long}\nnothing\nneedle 2\nneedle 3\r\nno\nlast needle");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let (files, len) = open_raw(file.path()).unwrap();
    let prefilter = Prefilter::new(&["needle".chars().map(|c| vec![c]).collect()]).unwrap();
    let ends: Vec<u64> = text.match_indices('\n').map(|(at, _)| at as u64 + 1).chain([len]).collect();
    let end = |at: u64| if at == 0 { 0 } else { *ends.iter().find(|end| **end >= at).unwrap() };
    for from in (0..60).chain(len - 60..=len) {
        for to in (from..80).chain(len - 50..=len).filter(|to| from <= *to) {
            let (searched, lines) = lines_in(&files, from..to, &prefilter).unwrap();
            assert_eq!(searched, end(from)..end(to), "{from}..{to}");
            let (mut at, mut wanted) = (0, Vec::new());
            for line in text.split_inclusive('\n') {
                if searched.contains(&at) && line.contains("needle") {
                    wanted.push(at..at + line.trim_end().len() as u64);
                }
                at += line.len() as u64;
            }
            assert_eq!(lines, wanted, "{from}..{to}");
        }
    }
    let cut = tempfile::NamedTempFile::new().unwrap();
    std::fs::copy(file.path(), cut.path()).unwrap();
    let (files, len) = open_raw(cut.path()).unwrap();
    cut.as_file().set_len(20).unwrap();
    assert!(lines_in(&files, 0..len, &prefilter).is_err());
}

#[test]
fn lines_are_found_wherever_parts_end() {
    let long = format!("needle {}", "z".repeat(2 * LINE as usize));
    let text = format!("\u{feff}needle 1\r\n\n{long}\nnothing\nneedle 2\nneedle 3\r\nno\nlast needle");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let (files, len) = open_raw(file.path()).unwrap();
    let prefilter = Prefilter::new(&["needle".chars().map(|c| vec![c]).collect()]).unwrap();
    let found = |part: u64, wanted: usize| {
        let mut out = Vec::new();
        in_parts(&files, len, part, &prefilter, &mut |offset, line| {
            assert_eq!(&text.as_bytes()[offset as usize..offset as usize + line.len()], line);
            out.push(String::from_utf8(line.to_vec()).unwrap());
            if out.len() == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        out
    };
    let all = ["needle 1", &*long, "needle 2", "needle 3", "last needle"];
    for part in (1..60).chain(len - 40..=len) {
        assert_eq!(found(part, usize::MAX), all, "{part}");
        assert_eq!(found(part, 2), all[..2], "{part}");
    }
}

/// Spells a text as JSON, each character in the way selected by a number.
fn spelled(text: &str, ways: &mut impl Iterator<Item = u8>) -> String {
    let mut out = String::new();
    for character in text.chars() {
        let mut units = [0; 2];
        let units = character.encode_utf16(&mut units).iter();
        match ways.next() {
            Some(0) => out.extend(units.map(|unit| format!("\\u{unit:04x}"))),
            Some(1) => out.extend(units.map(|unit| format!("\\u{unit:04X}"))),
            _ => out.push(character),
        }
    }
    out
}

proptest::proptest! {
    #[test]
    fn each_line_with_a_word_is_found_however_it_is_spelled_and_cut(
        word in "[a-cöÖ中😀ſK]{1,8}",
        other in "[a-c1u0öſ]{1,8}",
        lines in proptest::collection::vec(("[a-cö ]{0,99}", 0usize..3, 0usize..9, "[a-c0u ]{0,400}"), 1..30),
        ways in proptest::collection::vec(0u8..9, 1..20),
        ignore_case: bool,
        block in 1usize..600,
        part in 1u64..3000,
    ) {
        let cases = |c: char| match (ignore_case, c) {
            (true, 'ſ') => vec!['S', 's', 'ſ'],
            (true, 'ö' | 'Ö') => vec!['Ö', 'ö'],
            (true, c) if c.is_ascii_lowercase() => vec![c.to_ascii_uppercase(), c],
            _ => vec![c],
        };
        let prefilter = Prefilter::new(&[word.chars().map(cases).collect()]).unwrap();
        let mut ways = ways.into_iter().cycle();
        let mut text = String::new();
        for (before, which, from, after) in &lines {
            let shown: String = match which {
                0 => word.clone(),
                1 => word.chars().skip(*from).collect(),
                _ => other.clone(),
            };
            let shown = if ignore_case && *from > 4 { shown.to_ascii_uppercase() } else { shown };
            text += &format!("{before}{}{after}\n", spelled(&shown, &mut ways));
        }
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let (files, len) = open_raw(file.path()).unwrap();
        // The slow way: each line is decoded.
        let folded = |text: &str| {
            if ignore_case { text.to_ascii_lowercase().replace('Ö', "ö").replace('ſ', "s") } else { text.to_owned() }
        };
        let has_word = |line: &[u8]| folded(&crate::json::decode(line)).contains(&folded(&word));
        let wanted: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b'\n').filter(|line| has_word(line)).collect();

        let mut found = Vec::new();
        let mut each = |offset: u64, line: &[u8]| {
            assert_eq!(&text.as_bytes()[offset as usize..offset as usize + line.len()], line);
            found.extend(has_word(line).then(|| line.to_vec()));
            ControlFlow::Continue(())
        };
        let mut pass = Pass { block, ..Pass::new(&files, 0..len) };
        pass.more(0).unwrap();
        pass.run(Some(&prefilter), &mut each).unwrap();
        proptest::prop_assert_eq!(&found, &wanted, "{} in {:?}, by blocks of {}", &word, &text, block);
        found.clear();
        let mut each = |_: u64, line: &[u8]| {
            found.extend(has_word(line).then(|| line.to_vec()));
            ControlFlow::Continue(())
        };
        in_parts(&files, len, part, &prefilter, &mut each).unwrap();
        proptest::prop_assert_eq!(&found, &wanted, "{} in {:?}, by parts of {}", &word, &text, part);
    }
}

#[test]
fn bytes_are_found_over_the_borders_of_blocks() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for shift in [0, BLOCK - 3, BLOCK, 2 * BLOCK - 3] {
        file.as_file().set_len(0).unwrap();
        file.rewind().unwrap();
        file.write_all(&vec![b'x'; shift]).unwrap();
        file.write_all(b"needle").unwrap();
        let has = |wanted: &[u8]| {
            has(file.path(), wanted.len() - 1, |bytes| memchr::memmem::find(bytes, wanted).is_some())
        };
        assert!(has(b"needle").unwrap(), "{shift}");
        assert!(!has(b"needles").unwrap(), "{shift}");
    }
}

#[test]
fn a_search_ends_when_it_is_told_to() {
    let text = b"{}\nneedle 1\nneedle 2\n".to_vec();
    assert_eq!(sifted(&text, "needle", 1), [b"needle 1"]);
    assert_eq!(sifted(b"\xEF\xBB\xBF{\"needle\":1}", "needle", 9), [b"{\"needle\":1}"]);
}

#[test]
fn without_a_sieve_all_lines_are_given() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let long = "z".repeat(2 * BLOCK);
    write!(file, "{{}}\n\n{long}\r\nlast").unwrap();
    let mut out = Vec::new();
    let options = Options { format: Some(Format::Pi), ..Options::default() };
    search_lines(file.path(), options, None, &mut |_, _, line| {
        out.push(line.len());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(out, [2, 0, 2 * BLOCK, 4]);
}
