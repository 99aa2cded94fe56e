//! All commands read a session in the same way: `status`, `fsck`, `log` and `context` agree on its
//! entries, its HEAD, the path and the names of its faults, whether the bytes come from a file, a
//! pipe or standard input. And a default repair keeps each entry that the agent reads.

use crate::support::agreement::{check_agreement, each};
use crate::support::applied::applied;
use crate::support::chance::config;
use crate::support::damage::damage;
use crate::support::sessions::{guests, sessions};
use bough::internals::format::{Format, Ids, Session};
use bough::internals::fsck::{self, Check, Examined, NoSurroundings, RepairOptions};
use bough::internals::model::{Flags, Key, Table};
use bough::internals::store::{self, Options};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;

#[test]
fn all_commands_agree_on_the_sessions() {
    each(&sessions(), |at, name, bytes| check_agreement(name, bytes, at % 8 == 0));
}

/// A line of a guest carries whole conversations and pictures: what it says does not depend on its length, nor on how its
/// bytes arrive.
#[test]
fn long_lines_of_guests_are_read_as_short_ones() {
    let time = "2026-03-02T00:00:00.000Z";
    let codex = |payload: Value| json!({ "timestamp": time, "type": "response_item", "payload": payload });
    let prompt = |text: &str| {
        codex(
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] }),
        )
    };
    let event = |at: usize, ty: &str, data: Value| json!({ "type": ty, "data": data, "id": format!("e{at}"), "timestamp": time, "parentId": at.checked_sub(1).map(|at| format!("e{at}")) });
    // Around the size of a block that is read, and much more.
    for size in [10, 900_000, (1 << 20) + 1000, 1_200_000, 3_000_000] {
        let long = "text ".repeat(size / 5);
        let sessions = [
            vec![
                json!({ "timestamp": time, "type": "session_meta", "payload": { "id": "s", "cwd": "/p" } }),
                prompt("one"),
                prompt(&format!("<environment_context>{long}</environment_context>")),
            ],
            vec![
                json!({ "sessionId": "s", "projectHash": "h", "startTime": time }),
                json!({ "id": "m1", "timestamp": time, "type": "user", "content": "one" }),
                json!({ "$set": { "messages": [
                    { "id": "m2", "timestamp": time, "type": "user", "content": long },
                    { "id": "m3", "timestamp": time, "type": "user", "content": [{ "functionResponse": { "id": "c", "name": "x", "response": { "output": long } } }] },
                ] } }),
            ],
            vec![
                event(0, "session.start", json!({ "sessionId": "s", "context": { "cwd": "/p" } })),
                event(1, "user.message", json!({ "content": "one" })),
                event(
                    2,
                    "assistant.message",
                    json!({ "content": long, "toolRequests": [{ "toolCallId": "c", "name": "x", "arguments": {} }] }),
                ),
            ],
        ];
        for (lines, wanted) in sessions.iter().zip(["user attachment", "user user tool", "user assistant"]) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            check_agreement(&format!("{size}: {wanted}"), text.as_bytes(), true);
            let session = read(text.as_bytes()).unwrap();
            let kinds: Vec<&str> = session.entries.all().map(|ix| session.entries.kind(ix).name()).collect();
            let kinds = kinds.join(" ");
            assert_eq!(kinds.strip_prefix("header ").unwrap_or(&kinds), wanted, "{size}");
            let has_call = session.entries.all().any(|ix| session.entries.flags(ix).has(Flags::CALL));
            assert_eq!(has_call, wanted == "user assistant", "{size}");
        }
    }
}

proptest! {
    #![proptest_config(config(25))]

    #[test]
    fn all_commands_agree_on_damaged_sessions(file in any::<Index>(), damage in prop::collection::vec(damage(), 1..6)) {
        let path = file.get(&sessions()).clone();
        let mut bytes = fs::read(&path).unwrap();
        damage.iter().for_each(|damage| damage.on(&mut bytes));
        check_agreement(&format!("{} with {damage:?}", path.display()), &bytes, true);
    }

    #[test]
    fn all_commands_agree_on_damaged_guests(file in any::<Index>(), damage in prop::collection::vec(damage(), 1..6)) {
        let path = file.get(&guests()).clone();
        let mut bytes = fs::read(&path).unwrap();
        damage.iter().for_each(|damage| damage.on(&mut bytes));
        check_agreement(&format!("{} with {damage:?}", path.display()), &bytes, true);
    }
}

/// Returns the session in some bytes, as its agent reads it.
fn read(bytes: &[u8]) -> Option<Session> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    fs::write(&path, bytes).unwrap();
    store::open(&path, Options::default()).ok().map(|opened| opened.session)
}

/// Fails unless a default repair keeps all entries that the agent reads.
fn keeps_entries(name: &str, bytes: &[u8]) {
    let Some(before) = read(bytes) else { return };
    let source = Table(vec![bytes.to_vec()]);
    let around = NoSurroundings("session");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    fs::write(&path, bytes).unwrap();
    let session = store::open(&path, Options { side: true, ..Options::default() }).unwrap().session;
    let examined: Examined =
        fsck::examine(Some(session), &source, bytes.len() as u64, None, &around).expect("it was read");
    let Ok(repair) =
        fsck::repair(&examined, &source, &around, &RepairOptions::default(), &mut Ids::seeded("7"))
    else {
        return;
    };
    let repaired = applied(&repair.plan, &source);
    let after = read(&repaired).unwrap_or_else(|| panic!("{name}: no session is left"));
    // An id that is a number becomes a string, and of entries with the same id the first keeps it.
    let renamed = |key: &Key| {
        let id = key.short_id();
        *key == Key::of_number(&id) && !id.is_empty() || *key == Key::hash(b"")
    };
    let ids = |session: &Session| -> HashSet<Key> {
        session.entries.keys().iter().copied().filter(|key| key.is_some()).collect()
    };
    let after_ids = ids(&after);
    // An entry that names nothing, only hides HEAD, or stops the agent is removed, as its finding
    // says.
    let goes = |check| matches!(check, Check::DanglingLeaf | Check::ForeignMarker | Check::NoMessage);
    let gone: HashSet<Key> = examined
        .findings
        .list
        .iter()
        .filter(|finding| goes(finding.check))
        .map(|finding| Key::hash(finding.id.as_bytes()))
        .collect();
    // An id may contain bytes that are not UTF-8, and halves of surrogate pairs; agents read what
    // the repair writes.
    if [Check::InvalidUtf8, Check::LoneSurrogate].iter().any(|check| examined.findings.count(*check) > 0) {
        return assert!(after_ids.len() + gone.len() >= ids(&before).len(), "{name}: entries are gone");
    }
    for key in ids(&before).into_iter().filter(|key| !renamed(key) && !gone.contains(key)) {
        assert!(
            after_ids.contains(&key),
            "{name}: entry `{}` is gone",
            String::from_utf8_lossy(&key.short_id())
        );
    }
    let agent = |format: Format| format.agent();
    let pi = |format: Format| matches!(agent(format), "pi" | "omp");
    assert!(
        agent(before.format) == agent(after.format) || pi(before.format) && pi(after.format),
        "{name}: {:?} became {:?}",
        before.format,
        after.format
    );
}

#[test]
fn a_repair_keeps_each_entry_that_is_read() {
    each(&sessions(), |_, name, bytes| keeps_entries(name, bytes));
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_repair_of_random_damage_keeps_each_entry_that_is_read(
        file in any::<Index>(),
        damage in prop::collection::vec(damage(), 1..6),
    ) {
        let path = file.get(&sessions()).clone();
        let mut bytes = fs::read(&path).unwrap();
        damage.iter().for_each(|damage| damage.on(&mut bytes));
        keeps_entries(&format!("{} with {damage:?}", path.display()), &bytes);
    }
}
