//! Joining copies of a session: over random pairs, and in a table.

use crate::support::small_sessions::pi;
use bough::internals::format::Session;
use bough::internals::model::{Key, Piece, Table};
use bough::internals::ops::join::{self, Both, Heads, Joined, Relation};
use bough::internals::ops::{Error, Snapshot};

/// Joins two texts; returns the result as text.
fn joined(one: &str, other: &str, heads: Heads) -> Result<(String, Joined), Error> {
    let (a, b) = (Session::read(one.as_bytes()).expect("a"), Session::read(other.as_bytes()).expect("b"));
    let (one, other) = (Table(vec![one.into()]), Table(vec![other.into()]));
    let made =
        join::join(Snapshot { session: &a, source: &one }, Snapshot { session: &b, source: &other }, heads)?;
    let bytes = Piece::join(&made.pieces, &Both(&one, &other)).unwrap();
    Ok((String::from_utf8(bytes).unwrap(), made))
}

/// Numbers without a package.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// A copy of a random session that is being written.
#[derive(Clone)]
struct Copy {
    kind: u64,
    lines: Vec<String>,
    ids: Vec<String>,
    head: Option<String>,
    time: u64,
}

impl Copy {
    fn new(kind: u64) -> Copy {
        let head = match kind {
            0 => {
                "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}"
            }
            1 => {
                "{\"type\": \"header\", \"id\": \"000000000000\", \"parent_id\": null, \"timestamp\": 1767225600.0, \"version\": 1, \"cwd\": \"/\", \"system_prompt\": \"\"}"
            }
            _ => "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"s\"}",
        };
        let (ids, head_id) = if kind == 1 {
            (vec!["000000000000".into()], Some("000000000000".into()))
        } else {
            (vec![], None)
        };
        Copy { kind, lines: vec![head.into()], ids, head: head_id, time: 0 }
    }

    /// Goes on for some entries; `side` is a part of their ids.
    fn go_on(&mut self, side: u64, count: u64, dice: &mut Dice) {
        for at in 0..count {
            self.time += dice.roll(3);
            let time = format!("2026-01-01T00:{:02}:{:02}.000Z", self.time / 60 % 60, self.time % 60);
            if self.kind == 2 && dice.roll(4) == 0 {
                let line = match dice.roll(3) {
                    0 => format!(
                        "{{\"type\":\"custom-title\",\"customTitle\":\"t{}\",\"sessionId\":\"s\"}}",
                        dice.roll(3)
                    ),
                    1 => format!("{{\"type\":\"mode\",\"mode\":\"m{}\",\"sessionId\":\"s\"}}", dice.roll(2)),
                    _ => "{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"sessionId\":\"s\"}"
                        .to_owned(),
                };
                self.lines.push(line);
            }
            let parent = match self.ids.len() {
                0 => None,
                len if dice.roll(5) == 0 => Some(self.ids[dice.roll(len as u64) as usize].clone()),
                _ => self.head.clone(),
            };
            let quoted = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
            let id = match self.kind {
                0 => format!("{side:02x}{:06x}", self.lines.len() as u64 * 8 + at),
                1 => format!("{side:02x}{:010x}", self.lines.len() as u64 * 8 + at),
                _ => format!("{side:08x}-0000-4000-8000-{:012x}", self.lines.len() as u64 * 8 + at),
            };
            let text = format!("{side} says {}", dice.roll(100));
            let line = match self.kind {
                0 => format!(
                    "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{quoted},\"timestamp\":\"{time}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}"
                ),
                1 => format!(
                    "{{\"type\": \"message\", \"id\": \"{id}\", \"parent_id\": {quoted}, \"timestamp\": {}.0, \"message\": {{\"role\": \"user\", \"content\": \"{text}\"}}}}",
                    1_767_225_600 + self.time
                ),
                _ => format!(
                    "{{\"parentUuid\":{quoted},\"isSidechain\":false,\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}},\"uuid\":\"{id}\",\"timestamp\":\"{time}\",\"userType\":\"external\",\"cwd\":\"/\",\"sessionId\":\"s\",\"version\":\"2.1.332\",\"gitBranch\":\"\"}}"
                ),
            };
            self.lines.push(line);
            self.ids.push(id.clone());
            self.head = Some(id);
        }
        if self.kind == 2 && count > 0 && dice.roll(2) == 0 {
            self.lines.push(format!(
                "{{\"type\":\"last-prompt\",\"lastPrompt\":\"p\",\"leafUuid\":\"{}\",\"sessionId\":\"s\"}}",
                self.head.as_ref().unwrap()
            ));
        }
    }

    /// Moves HEAD to one of its entries, as Claude Code notes it: in a line without a time.
    fn point(&mut self, dice: &mut Dice) {
        let id = &self.ids[dice.roll(self.ids.len() as u64) as usize];
        self.lines.push(format!(
            "{{\"type\":\"last-prompt\",\"lastPrompt\":\"p\",\"leafUuid\":\"{id}\",\"explicit\":true,\"sessionId\":\"s\"}}"
        ));
        self.head = Some(id.clone());
    }

    fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}

/// Returns the two copies of a random session.
fn pair(seed: u64) -> (Copy, Copy) {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    (0..10).for_each(|_| _ = dice.roll(2));
    let mut base = Copy::new(seed % 3);
    let count = 1 + dice.roll(6);
    base.go_on(0, count, &mut dice);
    let (mut a, mut b) = (base.clone(), base);
    // Sometimes only HEAD was moved, in both.
    if a.kind == 2 && seed.is_multiple_of(4) {
        a.point(&mut dice);
        b.point(&mut dice);
        return (a, b);
    }
    let (more, others) = (dice.roll(5), dice.roll(5));
    a.go_on(1, more, &mut dice);
    b.time += dice.roll(3);
    b.go_on(2, others, &mut dice);
    // Sometimes the copies have other content under one id.
    if dice.roll(4) == 0 {
        let at = 1 + dice.roll(b.lines.len() as u64 - 1) as usize;
        b.lines[at] = b.lines[at].replace(" says ", " said ");
    }
    (a, b)
}

/// Returns the id of HEAD.
fn head_of(text: &str) -> Option<Key> {
    let session = Session::read(text.as_bytes()).unwrap();
    session.head.exact.map(|ix| session.entries.key(ix))
}

/// Whatever the copies have, joining loses nothing, does not depend on the order, and is done once.
#[test]
fn random_pairs() {
    let first: u64 = std::env::var("BOUGH_FROM").map_or(1, |from| from.parse().unwrap());
    let count: u64 = std::env::var("BOUGH_RANDOM").map_or(240, |count| count.parse().unwrap());
    let (mut diverged, mut conflicts) = (0, 0);
    // In the result, a child of the entry that got a new id comes before the entry that kept it.
    let known = [2635];
    for seed in (first..first + count).chain(known) {
        let (a, b) = pair(seed);
        let (one, other) = (a.text(), b.text());
        let (result, made) =
            joined(&one, &other, Heads::Newest).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (swapped, _) = joined(&other, &one, Heads::Newest).unwrap();
        assert_eq!(result, swapped, "seed {seed}: the order of the arguments matters");
        for copy in [&one, &other, &result] {
            let (again, _) = joined(&result, copy, Heads::Newest).unwrap();
            assert_eq!(again, result, "seed {seed}: joining again changed something");
        }
        diverged += u64::from(made.relation == Relation::Diverged);
        conflicts += made.conflicts.len();
        // Every line of both is there, but for those under a new id, and no line comes before its parent.
        let lines: Vec<&str> = result.lines().collect();
        let renamed: Vec<&String> = made.conflicts.iter().map(|(old, _)| old).collect();
        for line in a.lines.iter().chain(&b.lines) {
            let is_renamed = renamed.iter().any(|old| line.contains(&format!("\"{old}\"")));
            assert!(is_renamed || lines.contains(&&**line), "seed {seed}: lost {line}");
        }
        let session = Session::read(result.as_bytes()).unwrap();
        assert_eq!(session.faults, [], "seed {seed}");
        for ix in session.entries.all() {
            assert!(
                session.tree.parent(ix).is_none_or(|parent| parent < ix),
                "seed {seed}: a child comes first"
            );
        }
        // HEAD is that of the copy that was written last.
        let head = session.head.exact.map(|ix| session.entries.key(ix));
        let heads = [&one, &other].map(|text| head_of(text));
        let news = made.conflicts.iter().map(|(_, new)| Some(Key::hash(new.as_bytes())));
        let known: Vec<_> = heads.into_iter().chain(news).collect();
        assert!(known.contains(&head), "seed {seed}: HEAD is elsewhere");
        if a.time != b.time && made.relation == Relation::Diverged && made.conflicts.is_empty() {
            let own = made.own;
            if own.0 > 0 && own.1 > 0 {
                let newer = if a.time > b.time { heads[0] } else { heads[1] };
                assert_eq!(head, newer, "seed {seed}: HEAD is the older one");
            }
        }
        for (heads, copy) in [(Heads::First, &one), (Heads::Second, &other)] {
            let (result, made) = joined(&one, &other, heads).unwrap();
            let session = Session::read(result.as_bytes()).unwrap();
            let head = session.head.exact.map(|ix| session.entries.key(ix));
            let wanted = head_of(copy);
            let is_new = made.conflicts.iter().any(|(_, new)| head == Some(Key::hash(new.as_bytes())));
            assert!(head == wanted || is_new, "seed {seed}: {heads:?} was asked for");
        }
    }
    assert!(diverged > count / 3 && conflicts as u64 > count / 40, "{diverged} {conflicts}");
}

#[test]
#[rustfmt::skip] // a table
fn what_comes_of_two_copies() {
    let check = |a: &str, b: &str, heads: Heads, wanted: &str| {
        let (text, made) = joined(&pi(a), &pi(b), heads).unwrap();
        let names: Vec<&str> = made.conflicts.iter().map(|(_, new)| &**new).collect();
        let lines = text.lines().skip(1).map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let shown = lines.map(|line| {
            let name = |key: &str| match line[key].as_str() {
                Some(id) if names.contains(&id) => "NEW",
                Some(_) if key == "id" && line["type"] == "custom" => "MARKER",
                other => other.unwrap_or("-"),
            }.to_owned();
            format!("{}<{}", name("id"), name("parentId"))
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), wanted, "{a} + {b}");
    };
    check("a - 1 x",                    "a - 1 x",                    Heads::Newest, "a<-");
    check("a - 1 x",                    "a - 1 x; b a 2 y",           Heads::Newest, "a<- b<a");
    check("a - 1 x; b a 2 y",           "a - 1 x",                    Heads::Newest, "a<- b<a");
    check("a - 1 x; b a 2 y",           "a - 1 x; c a 3 z",           Heads::Newest, "a<- b<a c<a");
    check("a - 1 x; b a 4 y",           "a - 1 x; c a 3 z",           Heads::Newest, "a<- c<a b<a");
    check("a - 1 x; b a 2 y",           "a - 1 x; c a 3 z",           Heads::First,  "a<- b<a c<a MARKER<b");
    check("a - 1 x; b a 2 y",           "a - 1 x; c a 3 z",           Heads::Second, "a<- b<a c<a");
    check("a - 1 x; b a 2 y; d b 5 w",  "a - 1 x; c a 3 z; e c 4 v",  Heads::Newest, "a<- b<a c<a e<c d<b");
    check("a - 1 x; b a 2 y",           "a - 1 x; b a 2 y; c a 3 z",  Heads::First,  "a<- b<a c<a MARKER<b");
    check("a - 1 x; b a 2 y; c b 4 z",  "a - 1 x; b a 3 other; d b 5 w", Heads::Newest, "a<- b<a NEW<a c<b d<NEW");
}

#[test]
fn other_sessions_and_forks_are_not_joined() {
    let check = |a: &str, b: &str, wanted: &str| {
        assert_eq!(joined(a, b, Heads::Newest).unwrap_err().to_string(), wanted);
    };
    let (one, other) = (pi("a - 1 x"), pi("a - 1 x; b a 2 y"));
    let named = |text: &str| text.replace("\"id\":\"s\"", "\"id\":\"t\"");
    check(&one, &named(&other), "one is a fork of the other, not a copy: the session ids are s and t");
    check(
        &one,
        &named(&pi("c - 1 x")),
        "these are two sessions, with the ids s and t, and without a common entry",
    );
    check(&one, &pi("c - 1 x"), "the files have the same session id, but no entry in common");
}
