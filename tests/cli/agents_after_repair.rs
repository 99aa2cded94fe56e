//! Repaired files as the agents' own programs load them, by their recorded answers:
//! `sessions/fsck.tsv`, which `tests/oracles/repairs.py --record` writes.

use crate::support::applied::applied;
use crate::support::files::project;
use crate::support::recording::{self, runs};
use bough::internals::format::claude::request::{self, Part};
use bough::internals::format::{Format, Ids, Session};
use bough::internals::fsck::{self, Check, NoSurroundings, RepairOptions};
use bough::internals::model::{Ix, Source, Table, parse_time};
use bough::internals::store::{self, Opened, Options};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The repair of each case is the one that the programs were asked about, and they continue where
/// bough says.
#[test]
fn repaired_files_load_as_in_the_programs() {
    let sessions = project().join("tests/cli/sessions");
    let record = recording::read("fsck.tsv");
    let rows: Vec<Vec<&str>> = record.lines().map(|row| row.split('\t').collect()).collect();
    let (mut wrong, mut programs) = (Vec::new(), BTreeSet::new());
    for rows in rows.chunk_by(|one, other| one[..2] == other[..2]) {
        let (case, asked) = (rows[0][0], rows[0][1]);
        let folder = tempfile::tempdir().unwrap();
        let source = sessions.join(format!("cases/{case}.jsonl"));
        let mended = mended(&source, asked);
        let digest: String =
            Sha256::digest(&mended).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let copy = folder.path().join(source.file_name().unwrap());
        fs::write(&copy, mended).unwrap();
        let opened = store::open(&copy, Options::default()).unwrap();
        for row in rows {
            let [.., asked_about, program, answer] = row[..] else { panic!("{row:?}") };
            let ours = match program {
                "claude" => sent_of(&opened),
                _ => path_of(&opened),
            };
            // The harness reads no further up than to the last compaction.
            let fits = ours == answer || program == "harness" && numbers(&ours).ends_with(&numbers(answer));
            if digest != asked_about {
                wrong.push(format!("{case} {asked}: mended otherwise than {program} was asked about"));
            } else if !fits {
                wrong.push(format!("{case} {asked}: {program} {answer}, bough {ours}"));
            }
            programs.insert(program);
        }
    }
    assert!(wrong.is_empty(), "{}\n`tests/oracles/repairs.py --record` asks them anew", wrong.join("\n"));
    assert_eq!(Vec::from_iter(programs), ["chimera", "claude", "harness", "omp", "pi", "pi-old"]);
}

/// Returns a repaired case, with the clock and the ids of the recording.
fn mended(path: &Path, asked: &str) -> Vec<u8> {
    let old = Table(vec![fs::read(path).unwrap()]);
    let options = Options { side: true, ..Options::default() };
    let session = store::open(path, options).ok().map(|opened| opened.session);
    let around = NoSurroundings(path.file_stem().unwrap().to_str().unwrap());
    let examined = fsck::examine(session, &old, old.0[0].len() as u64, None, &around).unwrap();
    let wishes = RepairOptions {
        with: asked.split(',').filter_map(Check::from_id).collect(),
        now: Some(parse_time(b"2027-01-15T12:00:00Z")),
        ..RepairOptions::default()
    };
    let repair =
        fsck::repair(&examined, &old, &around, &wishes, &mut Ids::seeded_or_random(Some("peers"))).unwrap();
    applied(&repair.plan, &old)
}

/// Returns the lines on the path to the leaf.
fn path_of(opened: &Opened) -> String {
    let session = &opened.session;
    let path = session.head.leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default();
    match session.format {
        // The programs generate ids.
        Format::PiV1 => format!("{} entries", path.len()),
        _ => runs(path.iter().map(|ix| line(session, *ix))),
    }
}

/// Returns the lines of which Claude Code sends anything, and the line of its HEAD.
///
/// Lines that contain only thinking are left out, because Claude Code may not send the thinking of
/// old turns.
fn sent_of(opened: &Opened) -> String {
    let sending = request::sending(&opened.session, &opened.files, None).unwrap();
    let stored = |part: &Part| matches!(part, Part::Stored(_) | Part::Texts(_) | Part::Command);
    let messages = sending.messages.iter().filter(|message| message.parts.iter().any(stored));
    let mut lines = BTreeSet::new();
    for ix in messages.filter_map(|message| message.entry) {
        let bytes = opened.files.bytes(opened.session.span(ix)).unwrap();
        let content = bough::internals::json::member_at(&bytes, &["message", "content"]).unwrap_or_default();
        let mut kinds = bough::internals::json::each_item(content)
            .filter_map(|block| bough::internals::json::member_at(block, &["type"]));
        if !kinds.next().is_some_and(|first| first.ends_with(b"thinking\"")) || kinds.next().is_some() {
            lines.insert(line(&opened.session, ix));
        }
    }
    let head = opened.session.head.entry.map_or(0, |head| line(&opened.session, head));
    format!("{} at {head}", runs(lines.into_iter()))
}

/// Parses `1-3 7` as 1, 2, 3, 7.
fn numbers(runs: &str) -> Vec<u64> {
    let number = |text: &str| text.parse().unwrap_or(0);
    let run = |run: &str| {
        let (from, to) = run.split_once('-').unwrap_or((run, run));
        number(from)..=number(to)
    };
    runs.split(' ').flat_map(run).collect()
}

fn line(session: &Session, ix: Ix) -> u64 {
    session.entries.line(ix)
}
