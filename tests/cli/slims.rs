//! Slimming: what is replaced, and that nothing else changes, over the sessions of the tests.

use crate::support::sessions::sessions;
use bough::internals::context::Context;
use bough::internals::format::{Block, Builder, Format, Ids, Session};
use bough::internals::model::{Ix, Piece, Source, Table, Target, Time};
use bough::internals::ops::slim::{self, Destination, Kinds, SlimOptions};
use bough::internals::ops::{Error, Snapshot};
use std::fs;

fn read(format: Format, text: &[u8]) -> Session {
    let mut builder = Builder::new(format);
    builder.begin_file();
    let mut reader = builder.reader();
    reader.feed(text, |line| builder.line(line));
    reader.finish(|line| builder.line(line));
    builder.finish()
}

fn options(kinds: Kinds) -> SlimOptions {
    SlimOptions { kinds, budget: None, into: Destination::Place, always: false, name: None }
}

fn run(text: &[u8], session: &Session, options: &SlimOptions) -> Result<Option<Vec<u8>>, Error> {
    let table = Table(vec![text.into()]);
    let slimmed =
        slim::plan(Snapshot { session, source: &table }, options, &mut Ids::seeded("slim"), Time(0))?;
    Ok(slimmed.plan.targets.first().map(|target| match target {
        Target::Rewrite { pieces, .. } => Piece::join(pieces, &table).unwrap(),
        Target::Append { bytes, .. } => [text, bytes].concat(),
        _ => panic!("it is rewritten, or appended to"),
    }))
}

const HEAD: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n";

/// A line of pi with a message, in a chain.
fn pi(id: u32, rest: &str) -> String {
    let parent = if id == 1 { "null".to_owned() } else { format!("\"e{}\"", id - 1) };
    format!(
        "{{\"type\":\"message\",\"id\":\"e{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",{rest}}}\n"
    )
}

/// A line of Claude Code, in a chain.
fn claude(id: u32, ty: &str, rest: &str) -> String {
    let parent = if id == 1 { "null".to_owned() } else { format!("\"e{}\"", id - 1) };
    format!(
        "{{\"parentUuid\":{parent},\"isSidechain\":false,\"type\":\"{ty}\",{rest},\"uuid\":\"e{id}\",\"timestamp\":\"2026-01-01T00:0{id}:00.000Z\",\"sessionId\":\"s\",\"version\":\"2.1.332\",\"cwd\":\"/\",\"userType\":\"external\",\"gitBranch\":\"\"}}\n"
    )
}

fn check(text: &str, kinds: Kinds, wanted: &[(&str, &str)]) {
    let session = Session::read(text.as_bytes()).unwrap();
    let found = run(text.as_bytes(), &session, &options(kinds)).unwrap();
    let mut expected = text.to_owned();
    for (old, new) in wanted {
        assert!(expected.contains(old), "{old}");
        expected = expected.replacen(old, new, 1);
    }
    let found = found.map(|found| String::from_utf8(found).unwrap());
    assert_eq!(found.unwrap_or_else(|| text.to_owned()), expected);
}

#[test]
fn each_kind_of_part_is_replaced() {
    let long = "x".repeat(3000);
    let image = format!("{{\"type\":\"image\",\"data\":\"{long}\",\"mimeType\":\"image/png\"}}");
    let was_image = "{\"type\":\"text\",\"text\":\"[removed by bough slim: an image, image/png, 2,250 bytes; `bough undo` restores it]\"}";
    let was_result = "\"[removed by bough slim: a result of 3,000 bytes; `bough undo` restores it]\"";
    let prompt = |id| pi(id, "\"message\":{\"role\":\"user\",\"content\":\"go\"}");
    let text = [
        HEAD.to_owned(),
        prompt(1),
        pi(2, "\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"thinkingSignature\":\"s\"},{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"read\",\"arguments\":{}}],\"stopReason\":\"toolUse\"}"),
        pi(3, &format!("\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"toolName\":\"read\",\"content\":[{{\"type\":\"text\",\"text\":\"{long}\"}},{image}],\"isError\":false}}")),
        prompt(4),
        pi(5, "\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"thinking\",\"thinking\":\"of HEAD\"}],\"stopReason\":\"stop\"}"),
    ]
    .concat();
    check(&text, Kinds { images: true, ..Kinds::default() }, &[(&image, was_image)]);
    check(
        &text,
        Kinds { results: Some(2000), ..Kinds::default() },
        &[(&format!("\"{long}\"}},{{"), &format!("{was_result}}},{{"))],
    );
    check(&text, Kinds { results: Some(3000), ..Kinds::default() }, &[]);
    let thinking = "{\"type\":\"thinking\",\"thinking\":\"hm\",\"thinkingSignature\":\"s\"},";
    check(&text, Kinds { thinking: true, ..Kinds::default() }, &[(thinking, "")]);
    let of_openai =
        text.replace("\"stopReason\":\"toolUse\"", "\"api\":\"openai-responses\",\"stopReason\":\"toolUse\"");
    check(&of_openai, Kinds { thinking: true, ..Kinds::default() }, &[]);
}

#[test]
fn images_of_claude_code_are_replaced_in_both_places() {
    let long = "x".repeat(3000);
    let image = format!(
        "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"{long}\"}}}}"
    );
    let was_image = "{\"type\":\"text\",\"text\":\"[removed by bough slim: an image, image/png, 2,250 bytes; `bough undo` restores it]\"}";
    let result = format!(
        "\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"c\",\"type\":\"tool_result\",\"content\":[{image}]}}]}},\"toolUseResult\":{{\"type\":\"image\",\"file\":{{\"base64\":\"{long}\",\"originalSize\":9}},\"agentId\":\"a1\"}}"
    );
    let text = [
        claude(1, "user", "\"message\":{\"role\":\"user\",\"content\":\"go\"}"),
        claude(2, "assistant", "\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"Read\",\"input\":{}}]}"),
        claude(3, "user", &result),
        "{\"type\":\"file-history-snapshot\",\"messageId\":\"e1\",\"snapshot\":{}}\n".to_owned(),
    ]
    .concat();
    check(
        &text,
        Kinds { images: true, ..Kinds::default() },
        &[(&image, was_image), (&format!("\"base64\":\"{long}\""), "\"base64\":\"\"")],
    );
    let copy = format!(
        "{{\"type\":\"image\",\"file\":{{\"base64\":\"{long}\",\"originalSize\":9}},\"agentId\":\"a1\"}}"
    );
    check(&text, Kinds { tool_use_result: true, ..Kinds::default() }, &[(&copy, "{\"agentId\":\"a1\"}")]);
    let snapshot = "{\"type\":\"file-history-snapshot\",\"messageId\":\"e1\",\"snapshot\":{}}\n";
    check(&text, Kinds { snapshots: true, ..Kinds::default() }, &[(snapshot, "")]);
}

#[test]
fn thinking_of_claude_code_is_removed_with_its_line() {
    let thinking = "\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}]}";
    let said = |text: &str| {
        format!(
            "\"message\":{{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}"
        )
    };
    let prompt = "\"message\":{\"role\":\"user\",\"content\":\"go\"}";
    let lines = [
        claude(1, "user", prompt),
        claude(2, "assistant", thinking),
        claude(3, "assistant", &said("a")),
        claude(4, "user", prompt),
        claude(5, "assistant", &thinking.replace("\"m\"", "\"n\"")),
        claude(6, "assistant", &said("b").replace("\"m\"", "\"n\"")),
    ];
    let kinds = || Kinds { thinking: true, ..Kinds::default() };
    check(&lines.concat(), kinds(), &[(&lines[1], ""), ("\"parentUuid\":\"e2\"", "\"parentUuid\":\"e1\"")]);
    // A reply that is nothing but thinking stays, and so does one that a pointer names.
    check(&lines.concat().replace("\"m\"", "\"x\"").replacen("\"x\"", "\"m\"", 1), kinds(), &[]);
    let pointer = "{\"type\":\"last-prompt\",\"leafUuid\":\"e2\",\"sessionId\":\"s\"}\n";
    check(&(lines.concat() + pointer), kinds(), &[]);
}

#[test]
fn the_newest_state_of_an_extension_stays() {
    let long = "x".repeat(3000);
    let state = |id: u32, ty: &str| {
        let parent = if id == 1 { "null".to_owned() } else { format!("\"e{}\"", id - 1) };
        format!(
            "{{\"type\":\"custom\",\"id\":\"e{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"customType\":\"{ty}\",\"data\":{{\"v\":\"{id}{long}\"}}}}\n"
        )
    };
    let text =
        [HEAD.to_owned(), state(1, "todo"), state(2, "other"), state(3, "todo"), state(4, "todo")].concat();
    let old = |id: u32| format!("{{\"v\":\"{id}{long}\"}}");
    let kinds = Kinds { custom: vec!["todo".into()], ..Kinds::default() };
    let note = "{\"bough\":\"slim\",\"bytes\":3009}";
    check(&text, kinds, &[(&old(1), note), (&old(3), note)]);
}

#[test]
fn what_a_compaction_replaced_is_slimmed_if_no_branch_sends_it() {
    let long = "x".repeat(3000);
    let prompt = |id| pi(id, "\"message\":{\"role\":\"user\",\"content\":\"go\"}");
    let result = pi(
        2,
        &format!(
            "\"message\":{{\"role\":\"bashExecution\",\"command\":\"ls\",\"output\":\"{long}\",\"exitCode\":0}}"
        ),
    );
    let compaction = |kept: u32| {
        pi(4, &format!("\"summary\":\"so far\",\"firstKeptEntryId\":\"e{kept}\",\"tokensBefore\":9"))
            .replace("\"type\":\"message\"", "\"type\":\"compaction\"")
    };
    let text =
        |kept| [HEAD.to_owned(), prompt(1), result.clone(), prompt(3), compaction(kept), prompt(5)].concat();
    let kinds = || Kinds { before_compaction: true, ..Kinds::default() };
    let note = "[removed by bough slim: a result of 3,000 bytes; `bough undo` restores it]";
    check(&text(3), kinds(), &[(&long, note)]);
    // What was kept is sent, and so is what another branch sends.
    check(&text(2), kinds(), &[]);
    let branch = pi(6, "\"message\":{\"role\":\"user\",\"content\":\"else\"}").replace("\"e5\"", "\"e3\"");
    check(&(text(3) + &branch), kinds(), &[]);
}

#[test]
fn edits_are_appended_for_the_model() {
    let long = "x".repeat(3000);
    let prompt = |id| pi(id, "\"message\":{\"role\":\"user\",\"content\":\"go\"}");
    let call = pi(
        2,
        "\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"read\",\"arguments\":{}}],\"stopReason\":\"toolUse\"}",
    );
    let result = |id, call: &str| {
        pi(
            id,
            &format!(
                "\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"{call}\",\"toolName\":\"read\",\"content\":[{{\"type\":\"text\",\"text\":\"{long}\"}},{{\"type\":\"text\",\"text\":\"end\"}}],\"isError\":false}}"
            ),
        )
    };
    let last = call.replace("\"e2\"", "\"e5\"").replace("\"e1\"", "\"e4\"").replace("\"c\"", "\"d\"");
    let text =
        [HEAD.to_owned(), prompt(1), call.clone(), result(3, "c"), prompt(4), last, result(6, "d")].concat();
    let session = Session::read(text.as_bytes()).unwrap();
    let wanted = SlimOptions {
        into: Destination::Appended,
        ..options(Kinds { results: Some(1000), ..Kinds::default() })
    };
    let found = String::from_utf8(run(text.as_bytes(), &session, &wanted).unwrap().unwrap()).unwrap();
    let added: serde_json::Value = serde_json::from_str(found.strip_prefix(&text).unwrap()).unwrap();
    assert_eq!((&added["type"], &added["targetId"]), (&"context_edit".into(), &"e3".into()));
    assert_eq!(added["parentId"], "e6");
    let note = serde_json::json!([
        {"type": "text", "text": "[removed by bough slim: a result of 3,000 bytes]"},
        {"type": "text", "text": "end"}
    ]);
    assert_eq!(added["replacement"]["content"], note);
    // What is edited already is not edited again.
    let after = Session::read(found.as_bytes()).unwrap();
    assert_eq!(run(found.as_bytes(), &after, &wanted).unwrap(), None);
    let omp = claude(1, "user", "\"message\":{\"role\":\"user\",\"content\":\"go\"}");
    let session = Session::read(omp.as_bytes()).unwrap();
    assert!(run(omp.as_bytes(), &session, &wanted).is_err());
}

#[test]
fn a_budget_takes_the_biggest_parts_first_and_never_the_last_turn() {
    let text = |len: usize| "x".repeat(len);
    let result = |id, len| {
        pi(
            id,
            &format!(
                "\"message\":{{\"role\":\"bashExecution\",\"command\":\"ls\",\"output\":\"{}\",\"exitCode\":0}}",
                text(len)
            ),
        )
    };
    let prompt = |id| pi(id, "\"message\":{\"role\":\"user\",\"content\":\"go\"}");
    let text =
        [HEAD.to_owned(), prompt(1), result(2, 4000), result(3, 40000), prompt(4), result(5, 80000)].concat();
    let session = Session::read(text.as_bytes()).unwrap();
    let slimmed = |budget| {
        let kinds = Kinds { results: Some(1000), ..Kinds::default() };
        let found =
            run(text.as_bytes(), &session, &SlimOptions { budget: Some(budget), ..options(kinds) }).unwrap();
        let found = found.map_or(text.clone(), |found| String::from_utf8(found).unwrap());
        let lines: Vec<&str> = found.lines().collect();
        [3, 2, 5].map(|at: usize| lines[at].contains("removed by bough slim"))
    };
    assert_eq!(slimmed(100_000), [false, false, false]);
    assert_eq!(slimmed(25_000), [true, false, false]);
    assert_eq!(slimmed(1_000), [true, true, false]);
}

/// What is sent at an entry: the role of each message and its blocks, in words.
fn sent(session: &Session, source: &dyn Source, leaf: Option<Ix>) -> Vec<(String, Vec<String>)> {
    let context = Context::build(session, source, leaf).unwrap();
    let mut line = Vec::new();
    let messages = context.sent().map(|message| {
        let said = message.read(session, source, &mut line).unwrap();
        let blocks =
            said.blocks.iter().filter(|block| !matches!(block, Block::Thinking { .. } | Block::Image { .. }));
        let blocks = blocks.map(|block| format!("{block:?}")).collect();
        (message.role.to_string(), blocks)
    });
    messages.collect()
}

/// Over all sessions: ids, links, HEAD and all messages stay, but for what a placeholder took the place of.
#[test]
fn nothing_else_changes() {
    let kinds = Kinds {
        images: true,
        results: Some(64),
        thinking: true,
        tool_use_result: true,
        custom: vec!["state".into()],
        snapshots: true,
        before_compaction: true,
    };
    let (mut slimmed, mut refused) = (0, 0);
    for path in sessions() {
        let bytes = fs::read(&path).unwrap();
        let Some(session) = Session::read(&bytes).filter(|session| session.entries.len() < 2000) else {
            continue;
        };
        // Lines of Claude Code that contain only thinking are removed: see the table above.
        let kinds = Kinds { thinking: session.format != Format::Claude, ..kinds.clone() };
        let found = match run(&bytes, &session, &options(kinds)) {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(_) => {
                refused += 1;
                continue;
            }
        };
        slimmed += 1;
        let place = path.display();
        let after = read(session.format, &found);
        assert_eq!(session.entries.keys(), after.entries.keys(), "{place}");
        let parents =
            |session: &Session| session.entries.all().map(|ix| session.tree.parent(ix)).collect::<Vec<_>>();
        assert_eq!(parents(&session), parents(&after), "{place}");
        assert_eq!(session.head, after.head, "{place}");
        let (old, new) = (Table(vec![bytes]), Table(vec![found]));
        for leaf in [Context::position(&session)].into_iter().chain(session.tree.leaves().take(5).map(Some)) {
            let (before, after) = (sent(&session, &old, leaf), sent(&after, &new, leaf));
            assert_eq!(before.len(), after.len(), "{place}");
            for (one, other) in before.iter().zip(&after) {
                assert_eq!(one.0, other.0, "{place}");
                let changed = one.1 != other.1;
                let says = other.1.iter().any(|block| block.contains("removed by bough slim"));
                assert!(!changed || says, "{place}: {one:?} became {other:?}");
            }
        }
    }
    assert!(slimmed > 20, "{slimmed} {refused}");
}
