//! Dropping branches: what is kept stays byte for byte, and is sent as before, over the sessions of
//! the tests.

use crate::support::sessions::sessions;
use bough::internals::context::Context;
use bough::internals::format::{Builder, Format, Ids, Session};
use bough::internals::model::{Ix, Key, Piece, Source, Table, Target, Time};
use bough::internals::ops::drop::{self, What};
use bough::internals::ops::{Error, Snapshot};
use std::fs;

/// What is sent at an entry, as text.
fn sent(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> Vec<String> {
    let context = Context::build(session, source, leaf).unwrap();
    let mut line = Vec::new();
    let texts = context.sent().map(|message| {
        let said = message.read(session, source, &mut line).unwrap();
        format!("{}: {} {:?}", message.role, said.all(), said.blocks)
    });
    texts.collect()
}

struct Dropped {
    text: String,
    session: Session,
    table: Table,
    report: drop::Dropped,
}

fn run(text: &str, what: impl Fn(&Session) -> Vec<Ix>, others: bool) -> Result<Option<Dropped>, Error> {
    let table = Table(vec![text.into()]);
    let Some(session) = Session::read(text.as_bytes()) else { return Ok(None) };
    let whole = Snapshot { session: &session, source: &table };
    let entries = what(&session);
    let what = if others { What::Others(&entries) } else { What::Entries(&entries) };
    let report = drop::plan(whole, what, &mut Ids::seeded("1"), Time(1_772_452_800_000))?;
    let Some(Target::Rewrite { pieces, .. }) = report.plan.targets.first() else { return Ok(None) };
    let new = Piece::join(pieces, &table).unwrap();
    let mut builder = Builder::new(session.format);
    builder.begin_file();
    let mut reader = builder.reader();
    reader.feed(&new, |line| builder.line(line));
    reader.finish(|line| builder.line(line));
    let session = builder.finish();
    let text = String::from_utf8_lossy(&new).into_owned();
    Ok(Some(Dropped { text, session, table: Table(vec![new]), report }))
}

/// Returns the last line of a pi file: `a b` is the entry `a` below `b`; `a b l:c` labels `c`.
fn pi(entries: &str) -> String {
    let mut out = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n".to_owned();
    for entry in entries.split("; ") {
        let words: Vec<&str> = entry.split(' ').collect();
        let parent = if words[1] == "-" { "null".to_owned() } else { format!("\"{}\"", words[1]) };
        let (ty, rest) = match words[2].split_once(':') {
            Some(("l", target)) => ("label", format!("\"targetId\":\"{target}\",\"label\":\"L-{target}\"")),
            Some(("c", target)) => ("label", format!("\"targetId\":\"{target}\"")),
            Some(("n", name)) => ("session_info", format!("\"name\":\"{name}\"")),
            Some(("f", _)) => (
                "message",
                "\"message\":{\"role\":\"assistant\",\"content\":[],\"stopReason\":\"error\"}".to_owned(),
            ),
            Some(("a", text)) => (
                "message",
                format!(
                    "\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"stopReason\":\"stop\"}}"
                ),
            ),
            _ => ("message", format!("\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}", words[2])),
        };
        out += &format!(
            "{{\"type\":\"{ty}\",\"id\":\"{}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",{rest}}}\n",
            words[0]
        );
    }
    out
}

/// Returns the entries of a pi file in the notation of [`pi`], shortened to `id<parent`.
fn links(text: &str) -> String {
    let lines = text.lines().skip(1).map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let links = lines
        .map(|line| format!("{}<{}", line["id"].as_str().unwrap(), line["parentId"].as_str().unwrap_or("-")));
    links.collect::<Vec<_>>().join(" ")
}

#[test]
#[rustfmt::skip] // a table
fn what_is_dropped_and_what_stays() {
    let check = |entries: &str, what: &str, wanted: &str| {
        let (others, named) = match what.strip_prefix("others") {
            Some(rest) => (true, rest.trim()),
            None => (false, what),
        };
        let ids = |session: &Session| named.split(' ').filter(|id| !id.is_empty()).map(|id| session.find(Key::hash(id.as_bytes())).unwrap()).collect();
        let found = match run(&pi(entries), ids, others) {
            Err(error) => format!("{error}"),
            Ok(None) => "nothing".into(),
            Ok(Some(dropped)) => links(&dropped.text),
        };
        assert_eq!(found, wanted, "{entries} without {what}");
    };
    check("a - x; b a y; c b z",                         "a",        "a is on the path to HEAD");
    check("a - x; b a y; c a z",                         "b",        "a<- c<a");
    check("a - x; b a y; c a z",                         "c",        "c is on the path to HEAD");
    check("a - x; b a y; d b y; c a z",                  "others",   "a<- c<a");
    check("a - x; b a y; d a y; c a z",                  "others b", "a<- b<a c<a");
    check("a - x; b a y; c a z",                         "others b", "nothing");
    check("a - x; b - y; c b z",                         "a",        "b<- c<b");             // a root
    check("a - x; b a y; l b l:b; c a z",                "b",        "a<- c<a");             // its label
    check("a - x; b a y; l b l:a; c a z",                "b",        "a<- l<a c<a");         // the label of a kept entry
    check("a - x; l a l:a; b a y; m b c:a; c a z",       "b",        "a<- l<a m<a c<a");     // the label stays removed
    check("a - x; b a y; c a z; l c l:b",                "b",        "a<- c<a l<c");         // a label on the path
    check("a - x; b a y; n b n:name; c a z",             "b",        "a<- n<a c<a");         // the name of the session
    check("a - x; b a y; n b n:old; c a z; m c n:new",   "b",        "a<- c<a m<c");
}

#[test]
fn failed_replies_are_dropped_with_their_prompts() {
    let check = |entries: &str, wanted: &str| {
        let text = pi(entries);
        let table = Table(vec![text.clone().into_bytes()]);
        let session = Session::read(text.as_bytes()).unwrap();
        let whole = Snapshot { session: &session, source: &table };
        let report = drop::plan(whole, What::Failed, &mut Ids::seeded("1"), Time(1_772_452_800_000)).unwrap();
        let found = match report.plan.targets.first() {
            Some(Target::Rewrite { pieces, .. }) => {
                links(&String::from_utf8(Piece::join(pieces, &table).unwrap()).unwrap())
            }
            _ => "nothing".into(),
        };
        assert_eq!(found, wanted, "{entries}");
    };
    check("a - x; f a f:; b a a:yes", "a<- b<a");
    check("a - x; b a a:yes; u b x; f u f:; g u f:; v b y; w v a:yes", "a<- b<a v<b w<v");
    check("a - x; f a f:; g f f:; b a a:yes", "a<- b<a");
    check("a - x; f a f:; u f y; w u a:yes; b a a:yes", "nothing");
    check("a - x; f a f:", "nothing");
    check("a - x; r a a:call; f r f:; b a a:yes", "a<- r<a b<a");
}

/// Whatever is dropped, HEAD and the ends of the kept branches are sent as before.
#[test]
fn what_is_kept_is_sent_as_before() {
    let (mut dropped_some, mut refused) = (0, 0);
    for path in sessions() {
        let Ok(text) = String::from_utf8(fs::read(&path).unwrap()) else { continue };
        if text.len() > 400_000 {
            continue;
        }
        let Some(session) = Session::read(text.as_bytes()) else { continue };
        if session.format == Format::Claude && session.entries.len() > 400 {
            continue;
        }
        let table = Table(vec![text.clone().into_bytes()]);
        let before = sent(&session, &table, Context::position(&session));
        let count = session.entries.len();
        let tries = [
            (true, 0),
            (false, count / 4),
            (false, count / 2),
            (false, count.saturating_sub(1)),
            (false, count * 3 / 4),
        ];
        for (others, entry) in tries {
            let what = |_: &Session| if others || count == 0 { Vec::new() } else { vec![Ix(entry as u32)] };
            match run(&text, what, others) {
                Ok(None) => {}
                Err(_) => refused += 1,
                Ok(Some(dropped)) => {
                    dropped_some += 1;
                    let place = format!("{} {others} {entry}", path.display());
                    let after = sent(&dropped.session, &dropped.table, Context::position(&dropped.session));
                    assert_eq!(before, after, "{place}");
                    let gone: Vec<Ix> = dropped.report.entries.clone();
                    // A note that is kept although its branch is dropped has another path.
                    let notes = ["label", "session_info"];
                    let leaves = session.tree.leaves().filter(|leaf| !gone.contains(leaf));
                    for leaf in leaves.filter(|leaf| !notes.contains(&session.entries.ty(*leaf))).take(20) {
                        let key = session.entries.key(leaf);
                        let alike = session.entries.keys().iter().filter(|other| **other == key).count();
                        if alike != 1 || !key.is_some() {
                            continue;
                        }
                        let image = dropped.session.find(key).expect("a kept leaf");
                        assert_eq!(
                            sent(&session, &table, Some(leaf)),
                            sent(&dropped.session, &dropped.table, Some(image)),
                            "{place} at line {}",
                            session.entries.line(leaf)
                        );
                    }
                    // Each kept line is an old one, but for its parent; lines are only added at the end.
                    let mut old = text.lines();
                    let mut linked = 0;
                    for line in dropped.text.lines() {
                        if !old.clone().any(|other| other == line) {
                            linked += 1;
                            continue;
                        }
                        assert!(old.any(|other| other == line), "{place}: another order");
                    }
                    assert!(linked <= 2 + dropped.report.moved, "{place}: {linked} lines were changed");
                }
            }
        }
    }
    assert!(dropped_some > 100 && refused > 100, "{dropped_some} {refused}");
}
