//! Properties of all copies, over random sessions of every format.

use bough::internals::format::tools::{ToolRole, tool_ids};
use bough::internals::format::{Format, Ids, Session};
use bough::internals::model::{Flags, Ix, Source, Table, Target, Time};
use bough::internals::ops::Snapshot;
use bough::internals::ops::cherry_pick::{self, Options, Picked, Picks, Refusal};
use bough::internals::ops::diff::{align, items};
use bough::internals::ops::merge::{self, Bring};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::HashSet;

/// A turn: its parent (counted back from the last turn), its text, and how many tools each of its
/// replies calls.
#[derive(Clone, Debug)]
struct Turn {
    back: usize,
    prompt: String,
    calls: Vec<usize>,
    thinks: bool,
    setting: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let said = select(vec!["go on", "what now?", "Caf\u{e9} \u{1f600}", "", "a\nb"]);
    let calls = prop::collection::vec(0usize..3, 1..4);
    (0usize..4, said, calls, any::<bool>(), any::<bool>()).prop_map(
        |(back, prompt, calls, thinks, setting)| Turn { back, prompt: prompt.into(), calls, thinks, setting },
    )
}

const FORMATS: [Format; 4] = [Format::Pi, Format::Omp, Format::Chimera, Format::Claude];

/// Writes a session of such turns, as the format's program does.
struct Writer {
    format: Format,
    lines: Vec<String>,
    count: usize,
    calls: usize,
}

const SESSION: &str = "5e550001-0000-4000-8000-000000000001";

impl Writer {
    fn session(format: Format, turns: &[Turn]) -> Vec<u8> {
        let mut writer = Writer { format, lines: Vec::new(), count: 0, calls: 0 };
        let mut ends: Vec<Option<String>> = vec![writer.begin()];
        for turn in turns {
            let under = ends[ends.len() - 1 - turn.back.min(ends.len() - 1)].clone();
            let end = writer.turn(turn, under);
            ends.push(end);
        }
        let mut text = writer.lines.join("\n");
        text.push('\n');
        text.into_bytes()
    }

    fn begin(&mut self) -> Option<String> {
        match self.format {
            Format::Pi => {
                self.lines.push(r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-03-01T00:00:00.000Z","cwd":"/w"}"#.into());
                None
            }
            Format::Omp => {
                self.lines.push(r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-03-01T00:00:00.000Z","cwd":"/w","title":"t"}"#.into());
                None
            }
            Format::Chimera => {
                let id = self.id();
                self.lines.push(format!(
                    r#"{{"type": "header", "id": "{id}", "parent_id": null, "timestamp": 1.5, "version": 1, "cwd": "/w", "system_prompt": ""}}"#
                ));
                Some(id)
            }
            _ => None,
        }
    }

    fn id(&mut self) -> String {
        self.count += 1;
        match self.format {
            Format::Claude => format!("{:08x}-0000-4000-8000-000000000000", self.count),
            Format::Chimera => format!("{:012x}", self.count),
            _ => format!("{:08x}", self.count),
        }
    }

    fn message(&mut self, parent: &Option<String>, role: &str, message: &str) -> Option<String> {
        let id = self.id();
        let parent = parent.as_ref().map_or("null".into(), |parent| format!("\"{parent}\""));
        let second = self.count % 60;
        self.lines.push(match self.format {
            Format::Claude => format!(
                r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{role}","message":{message},"uuid":"{id}","timestamp":"2026-03-01T00:00:{second:02}.000Z","sessionId":"{SESSION}"}}"#
            ),
            Format::Chimera => format!(
                r#"{{"type": "message", "id": "{id}", "parent_id": {parent}, "timestamp": {second}.25, "message": {message}}}"#
            ),
            _ => format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-01T00:00:{second:02}.000Z","message":{message}}}"#
            ),
        });
        Some(id)
    }

    fn turn(&mut self, turn: &Turn, under: Option<String>) -> Option<String> {
        let text = serde_json::to_string(&turn.prompt).unwrap();
        let mut at = self.message(&under, "user", &format!(r#"{{"role":"user","content":{text}}}"#));
        if turn.setting && matches!(self.format, Format::Pi | Format::Omp) {
            let id = self.id();
            let parent = at.as_deref().unwrap_or_default();
            self.lines.push(format!(
                r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"2026-03-01T00:00:00.000Z","targetId":"{parent}","label":"l{id}"}}"#
            ));
            at = Some(id);
        }
        for calls in &turn.calls {
            at = self.reply(at, *calls, turn.thinks);
        }
        at
    }

    fn reply(&mut self, under: Option<String>, calls: usize, thinks: bool) -> Option<String> {
        let ids: Vec<String> = (0..calls).map(|at| format!("toolu_{}", self.calls + at)).collect();
        self.calls += calls;
        match self.format {
            Format::Claude => {
                let reply = format!("msg_{}", self.count);
                let block = |block: String| {
                    format!(r#"{{"id":"{reply}","type":"message","role":"assistant","content":[{block}]}}"#)
                };
                let mut at = under;
                if thinks {
                    let thought = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
                    at = self.message(&at, "assistant", &block(thought.into()));
                }
                at = self.message(
                    &at,
                    "assistant",
                    &block(format!(r#"{{"type":"text","text":"reply {}"}}"#, self.count)),
                );
                let mut hangs = Vec::new();
                for id in &ids {
                    at = self.message(
                        &at,
                        "assistant",
                        &block(format!(r#"{{"type":"tool_use","id":"{id}","name":"ls","input":{{}}}}"#)),
                    );
                    hangs.push((at.clone(), id.clone()));
                }
                // Each result is a child of its own call; the conversation continues below the last
                // one.
                for (call, id) in hangs {
                    at = self.message(&call, "user", &format!(
                        r#"{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":"ok"}}]}}"#
                    ));
                }
                at
            }
            Format::Chimera => {
                let list: Vec<String> = ids
                    .iter()
                    .map(|id| format!(r#"{{"id": "{id}", "name": "ls", "arguments": {{}}}}"#))
                    .collect();
                let tools = if list.is_empty() {
                    String::new()
                } else {
                    format!(r#", "tool_calls": [{}]"#, list.join(", "))
                };
                let mut at = self.message(
                    &under,
                    "",
                    &format!(r#"{{"role": "assistant", "content": "reply {}"{tools}}}"#, self.count),
                );
                for id in ids {
                    at = self.message(
                        &at,
                        "",
                        &format!(r#"{{"role": "tool", "content": "ok", "call_id": "{id}"}}"#),
                    );
                }
                at
            }
            _ => {
                let mut blocks = vec![format!(r#"{{"type":"text","text":"reply {}"}}"#, self.count)];
                if thinks {
                    blocks.insert(
                        0,
                        r#"{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"}"#.into(),
                    );
                }
                blocks.extend(ids.iter().map(|id| {
                    format!(r#"{{"type":"toolCall","id":"{id}","name":"ls","arguments":{{"n":1.0}}}}"#)
                }));
                let mut at = self.message(
                    &under,
                    "",
                    &format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(",")),
                );
                for id in ids {
                    at = self.message(&at, "", &format!(
                        r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"ls","content":[{{"type":"text","text":"ok"}}],"isError":false}}"#
                    ));
                }
                at
            }
        }
    }
}

fn options(onto: Option<Ix>) -> Options<'static> {
    Options {
        onto,
        origin: false,
        pairs: true,
        strip_thinking: false,
        zero_usage: false,
        force: false,
        now: Time(1_772_409_600_000),
        session_id: Some(SESSION.into()),
        blob: &|_| None,
    }
}

fn applied(old: &[u8], picks: &Picks) -> Vec<u8> {
    let mut new = old.to_vec();
    for target in &picks.plan.targets {
        let Target::Append { file: 0, bytes } = target else { panic!("copies are appended") };
        new.extend_from_slice(bytes);
    }
    new
}

/// Checks the calls and results among entries: each occurs once, and with its other half.
fn paired(session: &Session, source: &Table, entries: &[Ix]) -> Result<(), String> {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for ix in entries {
        let line = source.bytes(session.span(*ix)).unwrap();
        for id in tool_ids(session.format, &line) {
            match id.role {
                ToolRole::Call => calls.push(id.id),
                ToolRole::Result => results.push(id.id),
                _ => {}
            }
        }
    }
    let once = |ids: &[String]| ids.iter().collect::<HashSet<_>>().len() == ids.len();
    if !once(&calls) || !once(&results) {
        return Err(format!("an id stands twice: {calls:?} {results:?}"));
    }
    calls.sort();
    results.sort();
    if calls == results { Ok(()) } else { Err(format!("calls {calls:?}, results {results:?}")) }
}

/// Returns the entries of a branch below `fork`, and the entries beside it that belong to its
/// replies.
fn whole_branch(session: &Session, source: &Table, fork: Option<Ix>, leaf: Ix) -> Vec<Ix> {
    let path = session.tree.path(leaf);
    let from = fork.map_or(0, |fork| path.iter().position(|ix| *ix == fork).unwrap() + 1);
    if session.format != Format::Claude {
        return path[from..].to_vec();
    }
    let side = Snapshot { session, source };
    let wanted: HashSet<Ix> = path.iter().copied().collect();
    let tools = cherry_pick::units::Tools::collect(side, &wanted).unwrap();
    let mut out: Vec<Ix> = Vec::new();
    for ix in &path[from..] {
        if !out.contains(ix) {
            out.extend(tools.unit(side, *ix).entries);
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_branch_picked_onto_its_fork_point_says_the_same(turns in prop::collection::vec(turn(), 1..9), which in any::<usize>()) {
        for format in FORMATS {
            let old = Writer::session(format, &turns);
            let session = Session::read(&old).unwrap();
            prop_assert_eq!(session.format, format);
            let source = Table(vec![old.clone()]);
            let side = Snapshot { session: &session, source: &source };
            let leaves: Vec<Ix> = session.tree.leaves().filter(|ix| !session.entries.flags(*ix).has(Flags::RESULT) || format != Format::Claude).collect();
            let Some(leaf) = leaves.get(which % leaves.len().max(1)).copied() else { continue };
            let fork = session.tree.ancestors(leaf).skip(1).find(|ix| session.tree.children(*ix).len() > 1);
            // Copies can't be inserted between the calls of one reply.
            let fork = fork.filter(|fork| !session.entries.flags(*fork).has(Flags::CALL));
            let branch = whole_branch(&session, &source, fork, leaf);
            let picked: Vec<Picked> = branch.iter().map(|ix| Picked { ix: *ix, named: false }).collect();
            let made = match cherry_pick::cherry_pick(side, side, &picked, &options(fork), &mut Ids::seeded("1")) {
                Ok(made) => made,
                Err(Refusal::Nothing { .. }) => continue,
                Err(error) => return Err(TestCaseError::fail(format!("{format:?}: {error}"))),
            };
            let new = applied(&old, &made);
            prop_assert!(new.starts_with(&old));
            let again = Session::read(&new).unwrap();
            let again_source = Table(vec![new.clone()]);
            prop_assert_eq!(again.faults.len(), session.faults.len(), "{:?}", format);
            let last = again.find(bough::internals::model::Key::hash(made.copies.last().unwrap().1.as_bytes())).unwrap();
            prop_assert_eq!(again.head.entry, Some(last), "{:?}: the last copy is HEAD", format);
            let path = again.tree.path(last);
            let copies = &path[path.len() - made.copies.len()..];
            prop_assert!(copies.iter().all(|ix| ix.index() >= session.entries.len()), "{:?}: copies hang in a row", format);
            if let Err(why) = paired(&again, &again_source, copies) {
                prop_assert!(false, "{:?}: {}", format, why);
            }
            let again_side = Snapshot { session: &again, source: &again_source };
            let [one, two] = items([(side, &branch), (again_side, copies)], false).unwrap();
            prop_assert!(align(&one, &two).iter().all(|step| !step.differs()), "{:?}\n{}", format, String::from_utf8_lossy(&new));
            // If the receiving path has other calls, none occurs twice on it.
            if format != Format::Claude {
                prop_assert_eq!(paired(&again, &again_source, &path), Ok(()), "{:?}", format);
            }
        }
    }

    #[test]
    fn a_merge_brings_all_that_is_missing_and_then_nothing(turns in prop::collection::vec(turn(), 2..9), which in any::<usize>()) {
        for format in FORMATS {
            let old = Writer::session(format, &turns);
            let session = Session::read(&old).unwrap();
            let source = Table(vec![old.clone()]);
            let side = Snapshot { session: &session, source: &source };
            let leaves: Vec<Ix> = session.tree.leaves().collect();
            let tip = leaves[which % leaves.len()];
            let Bring::Entries(picked) = merge::missing(side, tip).unwrap() else { continue };
            let Ok(made) = cherry_pick::cherry_pick(side, side, &picked, &options(session.head.entry), &mut Ids::seeded("1")) else {
                continue;
            };
            let new = applied(&old, &made);
            let again = Session::read(&new).unwrap();
            let again_source = Table(vec![new]);
            let tip = again.find(session.entries.key(tip)).unwrap();
            let rest = merge::missing(Snapshot { session: &again, source: &again_source }, tip).unwrap();
            let left_out = made.notes.iter().any(|note| matches!(note, cherry_pick::Note::LeftOut { .. }));
            prop_assert!(left_out || rest == Bring::Nothing, "{:?}: {:?}", format, rest);
            let path = again.path();
            if format != Format::Claude {
                prop_assert_eq!(paired(&again, &again_source, &path), Ok(()), "{:?}", format);
            }
        }
    }
}
