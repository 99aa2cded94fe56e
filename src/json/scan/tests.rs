//! Tests of the kernels against byte-by-byte masks.

use super::*;
use proptest::prelude::*;

/// The same masks, computed byte by byte.
#[derive(Clone, Copy)]
struct Plain;

fn bits(block: &Block, is: impl Fn(u8) -> bool) -> u64 {
    block.iter().enumerate().fold(0, |mask, (at, byte)| mask | u64::from(is(*byte)) << at)
}

impl Kernel for Plain {
    fn inside(self, block: &Block) -> Inside {
        Inside {
            quote: bits(block, |byte| byte == b'"'),
            backslash: bits(block, |byte| byte == b'\\'),
            control: bits(block, |byte| byte < 0x20),
        }
    }

    fn structural(self, block: &Block) -> u64 {
        bits(block, |byte| b"{}:,".contains(&(byte | 0x20)))
    }

    fn plain_escapes(self, block: &Block) -> u64 {
        bits(block, |byte| b"\\/bfnrt".contains(&byte))
    }

    fn equal(self, block: &Block, byte: u8) -> u64 {
        bits(block, |other| other == byte)
    }

    fn parity(self, bits: u64) -> u64 {
        (0..64).fold(0, |mask, at| mask | u64::from((bits & u64::MAX >> (63 - at)).count_ones() & 1) << at)
    }
}

fn agrees(kernel: impl Kernel, block: &Block) {
    let plain = Plain;
    assert_eq!(kernel.inside(block), plain.inside(block), "{block:?}");
    assert_eq!(kernel.structural(block), plain.structural(block), "{block:?}");
    assert_eq!(kernel.plain_escapes(block), plain.plain_escapes(block), "{block:?}");
    for byte in [b' ', b'\n', b'u', block[0]] {
        assert_eq!(kernel.equal(block, byte), plain.equal(block, byte), "{block:?}");
    }
    starts_agree(kernel, block);
    let quotes = plain.inside(block).quote;
    assert_eq!(kernel.parity(quotes), plain.parity(quotes), "{quotes:b}");
    let structural = plain.structural(block);
    let marks = |bits: u64, mark: &dyn Fn(&mut [u32; 64])| {
        let mut marks = [0; 64];
        mark(&mut marks);
        marks[..bits.count_ones() as usize].to_vec()
    };
    for bits in [quotes, structural, u64::MAX] {
        let ours = marks(bits, &|out| kernel.marks(bits, block, 192, out));
        assert_eq!(ours, marks(bits, &|out| plain.marks(bits, block, 192, out)), "{block:?}");
    }
}

fn starts_agree(kernel: impl Kernel, block: &Block) {
    let mut window = [b'\\'; 64 + REACH];
    window[..64].copy_from_slice(block);
    window[64..].copy_from_slice(&block[..REACH]);
    let escape = [Probe::new(0, block[0]), Probe::new(1, block[2]), Probe::new(4, block[9])];
    // The bytes of a text differ in one bit at most.
    let folded = |place: usize, byte: u8| Probe { place, byte: byte | 0x20, bit: 0x20 };
    let same = [Probe::new(3, block[5]), Probe::new(REACH - 1, block[40])];
    let folded = [folded(3, block[5]), folded(REACH - 1, block[40])];
    let plain = Plain;
    let wanted = |text| plain.starts::<true, true>(&window, escape, text);
    assert_eq!(
        kernel.starts::<false, false>(&window, escape, same),
        plain.starts::<false, false>(&window, escape, same),
        "{block:?}"
    );
    assert_eq!(kernel.starts::<true, false>(&window, escape, same), wanted(same), "{block:?}");
    assert_eq!(kernel.starts::<true, true>(&window, escape, folded), wanted(folded), "{block:?}");
}

fn each_agrees(block: &Block) {
    agrees(portable::Portable, block);
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = avx2::Avx2::detect() {
        agrees(avx2, block);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(avx512) = avx512::Avx512::detect() {
        agrees(avx512, block);
    }
    #[cfg(target_arch = "aarch64")]
    agrees(neon::Neon, block);
}

/// How many of the exhaustive inputs are tried: one in this many, because Miri is slow.
const STEP: usize = if cfg!(miri) { 29 } else { 1 };

#[test]
fn each_kernel_gives_the_same_masks_of_each_byte() {
    for byte in (0..=255u8).step_by(STEP) {
        for place in [0, 1, 7, 8, 31, 32, 63] {
            let mut block = [b'a'; 64];
            block[place] = byte;
            each_agrees(&block);
            each_agrees(&[byte; 64]);
        }
    }
}

#[test]
fn a_beginning_has_both_bytes_of_a_text_or_an_escape_that_is_wanted() {
    let text = [Probe { place: 0, byte: b'x', bit: 0x20 }, Probe::new(3, b'y')];
    let starts = Starts::new(Some(text), [Probe::new(1, b'u'), Probe::new(2, b'0')], Probe::new(4, b'1'));
    let found = |bytes: &[u8]| {
        let mut all = Vec::new();
        let none: Option<()> = starts.find(bytes, |at| {
            all.push(at);
            None
        });
        assert!(none.is_none());
        all
    };
    for before in (0..200).step_by(STEP) {
        for after in [0, 1, 40, 200] {
            let text = |text: &str| format!("{}{text}{}", " ".repeat(before), " ".repeat(after)).into_bytes();
            assert_eq!(found(&text("x--y")), [before], "{before} {after}");
            assert_eq!(found(&text("X--y")), [before], "{before} {after}");
            assert_eq!(found(&text(r"x--Y\u001b x-y")), [0; 0], "{before} {after}");
            assert_eq!(found(&text(r"x--y\u0031")), [before, before + 4], "{before} {after}");
        }
    }
    assert_eq!(starts.find(b"x--y x--y", |at| (at > 0).then_some(at)), Some(5));
}

proptest! {
    #[test]
    fn each_kernel_gives_the_same_masks(block in proptest::array::uniform32(any::<[u8; 2]>())) {
        each_agrees(block.as_flattened().try_into().unwrap());
    }

    #[test]
    fn each_scanner_gives_the_same_marks(text in r#"([\\"{}:,a1u\n \u{0}d8c0]|\\u[dD][89a-cA-C][0-9a-f]{2}){0,400}"#) {
        let lines = format!("{text}\n").into_bytes();
        let of = |scanner| {
            let mut index = Index::new(scanner);
            index.build(&lines);
            (index.marks().to_vec(), index.suspects().to_vec())
        };
        let mut plain = Marks { list: vec![0; 64], ..Marks::default() };
        scan(Plain, &lines, &mut plain);
        let marks = &plain.list[..plain.count];
        prop_assert!(marks.iter().all(|mark| lines[Mark(*mark).offset()] == Mark(*mark).byte()));
        for scanner in Scanner::all() {
            let wanted = (marks.to_vec(), plain.suspects.clone());
            prop_assert_eq!(of(scanner), wanted, "{:?}", scanner);
        }
    }
}

fn check(lines: &str, marked: &str) {
    for scanner in Scanner::all() {
        let mut index = Index::new(scanner);
        index.build(lines.as_bytes());
        let got: String = (0..lines.len())
            .map(|at| if index.marks().iter().any(|mark| Mark(*mark).offset() == at) { '^' } else { ' ' })
            .collect();
        assert_eq!(got.trim_end(), marked, "{lines}");
    }
}

#[test]
#[rustfmt::skip] // a table
fn what_stands_where() {
    check("{\"a\": [1, true,\"b\"]}\n",
          "^^ ^^ ^^^ ^   ^^ ^^^^");
    check("{\"\\\"\": -1.5e3}\n",
          "^^  ^^ ^     ^^");
    check("{\"\\\\\":\"{[]}\"}\n",
          "^^  ^^^    ^^^");
    check("1 2\n\n\"a\n{\"b\":1}\n",        // a string that is not ended does not reach the next line
          "^ ^^^^ ^^^ ^^^^^");
}

#[test]
#[rustfmt::skip] // a table
fn a_second_look_is_due() {
    let check = |lines: &str, due: bool| {
        // At every position in its block, and across the boundary of two.
        for before in (0..130).step_by(STEP) {
            let lines = format!("{}{lines}\n", " ".repeat(before));
            for scanner in Scanner::all() {
                let mut index = Index::new(scanner);
                index.build(lines.as_bytes());
                assert_eq!(!index.suspects().is_empty(), due, "{lines:?}");
            }
        }
    };
    check(r#""a\n\\\"\u00e9b""#,               false);
    check(r#""\ud83d\ude00""#,                 false);
    check(r#""\uD83D\uDE00\ud83d\ude01""#,     false);
    check(r#""\ud83d""#,                       true);
    check(r#""\ude00""#,                       true);
    check(r#""\ud83d\ud83d\ude00""#,           true);
    check(r#""\ud83d\ude00\ude00""#,           true);
    check(r#""\ud83d\n""#,                     true);
    check(r#""\ud83d\\ude00""#,                true);
    check(r#""\\ud83d""#,                      false);
    check(r#""\u12g4""#,                       true);
    check(r#""\u12""#,                         true);
    check(r#""\x""#,                           true);
    check("\"a\tb\"",                          true);
    check("\"a",                               true);
    check("\"a\\",                             true);
    check("{\t}",                              false);
    check("\"\u{7f}\"",                        false);
}
