//! Runs a target without libFuzzer: `plain TARGET SECONDS FILE…` changes the files purely at
//! random, and prints how many inputs it tried. A panic names its input, which is saved in
//! `failed-TARGET`.

use std::time::{Duration, Instant};

fn main() {
    let mut words = std::env::args().skip(1);
    let target = words.next().expect("a target: lines, session, repair");
    let run: fn(&[u8]) = match target.as_str() {
        "lines" => bough_fuzz::lines,
        "session" => bough_fuzz::session,
        "repair" => bough_fuzz::repair,
        other => panic!("no target {other}"),
    };
    let seconds = words.next().and_then(|word| word.parse().ok()).expect("how many seconds");
    let seeds: Vec<Vec<u8>> = words.map(|path| std::fs::read(path).expect("a seed can be read")).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random(u64::from(std::process::id()) ^ 0x9E37_79B9_7F4A_7C15);
    let (mut tried, mut bytes) = (0u64, 0u64);
    while Instant::now() < end {
        let mut input = seeds[random.below(seeds.len())].clone();
        for _ in 0..random.below(6) {
            change(&mut input, &seeds, &mut random);
        }
        let result = std::panic::catch_unwind(|| run(&input));
        if result.is_err() {
            let path = format!("failed-{target}");
            std::fs::write(&path, &input).expect("the input can be written");
            eprintln!("input left in {path}");
            std::process::exit(1);
        }
        tried += 1;
        bytes += input.len() as u64;
    }
    println!("{target}: {tried} inputs, {bytes} bytes, no failure");
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    const WORDS: [&[u8]; 24] = [
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\n",
        b"\r\n",
        b"\0",
        b"\xFF",
        b"\xE2\x82",
        b"\\ud83d",
        b"\\ude00",
        b"\\u00",
        b"null",
        b"1e",
        b"{}",
        b"\"id\":",
        b"\"parentId\":",
        b"\"type\":",
        b"\x1f",
        b"\xEF\xBB\xBF",
    ];
    let at = random.below(input.len() + 1);
    match random.below(8) {
        0 => input.truncate(at),
        1 if at < input.len() => input[at] ^= 1 << random.below(8),
        2 if at < input.len() => _ = input.drain(at..(at + 1 + random.below(20)).min(input.len())),
        3 => {
            // A piece of another seed.
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len() + 1);
            let to = (from + random.below(300)).min(other.len());
            _ = input.splice(at..at, other[from..to].iter().copied());
        }
        4 => {
            // A line repeated or moved.
            let lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
            if lines.len() > 1 {
                let line = lines[random.below(lines.len())].to_vec();
                let at: usize = lines[..random.below(lines.len())].iter().map(|line| line.len()).sum();
                _ = input.splice(at..at, line);
            }
        }
        _ => _ = input.splice(at..at, WORDS[random.below(WORDS.len())].iter().copied()),
    }
}
