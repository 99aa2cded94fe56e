//! Tests of telling formats apart.

use super::*;
use Detected::{Foreign, Format as Of};

const PI: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-10T09:00:00.000Z","cwd":"/p"}"#;
const PI_ENTRY: &str = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-02-10T09:00:00.000Z","message":{"role":"user","content":"x"}}"#;
const CLAUDE: &str = r#"{"parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","content":"x"},"uuid":"u1","timestamp":"2026-02-10T09:00:00.000Z"}"#;
const CHIMERA: &str = r#"{"type": "message", "id": "0123456789ab", "parent_id": null, "timestamp": 1770714000.5, "message": {"role": "user", "content": "x"}}"#;
const TAU: &str = r#"{"id":"0123456789abcdef0123456789abcdef","timestamp":1770714000.5,"type":"message","message":{"role":"user","content":"x"}}"#;
const KIT: &str = r#"{"type":"message","id":"0123456789abcdef","timestamp":"2026-02-10T09:00:00.1Z","role":"user","parts":[{"type":"text","data":{"text":"x"}}]}"#;
const QWEN: &str = r#"{"uuid":"u1","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"x"}]}}"#;
const CODEX_META: &str =
    r#"{"timestamp":"2026-02-10T09:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/p"}}"#;
const CODEX_ITEM: &str = r#"{"timestamp":"2026-02-10T09:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}"#;
const GEMINI_HEADER: &str =
    r#"{"sessionId":"s","projectHash":"h","startTime":"2026-02-10T09:00:00.000Z","kind":"main"}"#;
const GEMINI_MESSAGE: &str =
    r#"{"id":"m1","timestamp":"2026-02-10T09:00:00.000Z","type":"user","content":[{"text":"x"}]}"#;
const COPILOT: &str = r#"{"type":"user.message","data":{"content":"x"},"id":"e1","timestamp":"2026-02-10T09:00:00.000Z","parentId":null}"#;

#[test]
    #[rustfmt::skip] // a table
    fn what_lines_tell() {
        let check = |lines: &[&str], wanted: Detected| {
            assert_eq!(detect(lines.join("\n").as_bytes(), None), wanted, "{}", lines.join("\n"));
        };
        // The supported formats, with and without a header.
        check(&[PI, PI_ENTRY],                                                              Of(Format::Pi));
        check(&[PI],                                                                        Of(Format::Pi));
        check(&[PI_ENTRY],                                                                  Of(Format::Pi));
        check(&["", PI],                                                                    Of(Format::Pi));
        check(&["garbage", PI, PI_ENTRY],                                                   Of(Format::Pi));
        check(&[r#"{"type":"session","version":99,"id":"s"}"#, PI_ENTRY],                   Of(Format::Pi));
        check(&[r#"{"type":"session","version":"2","id":"s"}"#, PI_ENTRY],                  Of(Format::PiV2));
        check(&[r#"{"type":"session","id":"s"}"#, r#"{"type":"message","message":{}}"#],    Of(Format::PiV1));
        check(&[r#"{"type":"session","id":"s"}"#],                                          Of(Format::PiV1));
        check(&[r#"{"type":"session","version":2,"uuid":"h"}"#,
                r#"{"type":"message","uuid":"a","parentUuid":"h","message":{"role":"user","content":"x"}}"#], Of(Format::PiDesign));
        check(&[r#"{"type":"session","version":3,"uuid":"h","id":"s"}"#,
                r#"{"type":"message","uuid":"a","parentUuid":"h","message":{"role":"user","content":"x"}}"#], Of(Format::Pi));
        check(&[r#"{"kind":"header","version":4,"id":"s"}"#],                               Of(Format::HarnessV4));
        check(&[r#"{"v":4,"kind":"header","id":"s"}"#, r#"[{"kind":"entry","id":"a"}]"#],   Of(Format::HarnessV4));
        check(&[CLAUDE],                                                                    Of(Format::Claude));
        check(&[r#"{"type":"summary","summary":"x","leafUuid":"u"}"#],                      Of(Format::Claude));
        check(&[r#"{"type":"file-history-snapshot","messageId":"u"}"#],                     Of(Format::Claude));
        check(&[r#"{"type":"custom-title","customTitle":"x","sessionId":"s"}"#],            Of(Format::Claude));
        check(&[CHIMERA],                                                                   Of(Format::Chimera));
        check(&[r#"{"type": "header", "id": "h", "version": 1, "cwd": "/p"}"#],             Of(Format::Chimera));
        check(&[r#"{"type": "state_change", "id": "a", "parent_id": null, "timestamp": 1.5, "kind": "model", "value": "m"}"#], Of(Format::Chimera));
        // The formats derived from them.
        check(&[TAU],                                                                       Foreign(Program::Tau));
        check(&[r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"session_info","created_at":1.5}"#],            Foreign(Program::Tau));
        check(&[r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"leaf","entry_id":"c"}"#],                      Foreign(Program::Tau));
        check(&[r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"thinking_level_change","thinking_level":"off"}"#], Foreign(Program::Tau));
        check(&[r#"{"id":"a","timestamp":1.5,"parent_id":"b","type":"message","message":{"role":"assistant","content":[]}}"#], Foreign(Program::Tau));
        check(&[PI, KIT],                                                                   Foreign(Program::Kit));
        check(&[KIT],                                                                       Foreign(Program::Kit));
        check(&[PI, r#"{"type":"system_prompt","id":"a","timestamp":"2026-02-10T09:00:00Z","content":"x"}"#],        Foreign(Program::Kit));
        check(&[PI, r#"{"type":"model_change","id":"a","parent_id":"b","timestamp":"2026-02-10T09:00:00Z","model_id":"m"}"#], Foreign(Program::Kit));
        check(&[QWEN],                                                                      Foreign(Program::Qwen));
        check(&[r#"{"uuid":"u","parentUuid":"v","sessionId":"s","type":"system","subtype":"rewind","systemPayload":{}}"#], Foreign(Program::Qwen));
        check(&[r#"{"uuid":"u","parentUuid":"v","sessionId":"s","type":"tool_result"}"#],   Foreign(Program::Qwen));
        // Those of other agents.
        check(&[COPILOT],                                                                   Of(Format::Copilot));
        check(&[CODEX_META],                                                                Of(Format::Codex));
        check(&[CODEX_ITEM],                                                                Of(Format::Codex));
        check(&[GEMINI_HEADER],                                                             Of(Format::Gemini));
        check(&[GEMINI_MESSAGE],                                                            Of(Format::Gemini));
        check(&[r#"{"$rewindTo":"m1"}"#],                                                   Of(Format::Gemini));
        check(&[r#"{"$set":{"lastUpdated":"2026-02-10T09:00:00.000Z"}}"#],                  Of(Format::Gemini));
        check(&["{", r#"  "info": {"#, r#"    "id": "ses_1","#],                              Of(Format::OpenCode));
        check(&[r#"{"info":{"id":"ses_1","title":"x"},"messages":[]}"#],                     Of(Format::OpenCode));
        check(&[r#"{"messages":[{"info":{"id":"msg_1","sessionID":"ses_1"}"#],               Of(Format::OpenCode));
        check(&[r#"{"info":{"id":"x"},"messages":[]}"#],                                     Detected::Unknown);
        check(&[r#"{"type":"response_item","payload":"x"}"#],                               Detected::Unknown);
        check(&[r#"{"type":"note","payload":{}}"#],                                         Detected::Unknown);
        check(&[r#"{"type":"user","id":"m1","content":[],"parentUuid":null}"#],             Of(Format::Claude));
        check(&[PI, PI_ENTRY, r#"{"type":"message","id":"b","parentId":"a1","message":{"role":"assistant","content":[],"provider":"openclaw"}}"#], Of(Format::OpenClaw));
        check(&[r#"{"type":"session","version":3,"id":"s","rlmDepth":0}"#, PI_ENTRY],        Of(Format::Prime));
        // Formats that are none of these.
        check(&[r#"{"type":"note","id":"a","parentId":null}"#],                             Detected::Unknown);
        check(&[r#"{"type":"note","id":"a","parent_id":null,"timestamp":1.5}"#],         Detected::Unknown);
        check(&[r#"{"type":"message","message":{"content":"x"}}"#],                         Detected::Unknown);
        check(&[r#"{"uuid":"u","sessionId":"s","type":"user","message":{"role":"user"}}"#], Detected::Unknown);
        check(&[r#"{"a":1}"#, "[1]", "x"],                                                  Detected::Unknown);
        check(&["x"],                                                                       Detected::Unknown);
        check(&["", " "],                                                                   Detected::Empty);
        check(&[],                                                                          Detected::Empty);
    }

#[test]
fn no_line_outvotes_the_others() {
    let lines = [PI_ENTRY, CLAUDE, CHIMERA, TAU, KIT, QWEN, COPILOT, CODEX_ITEM, GEMINI_MESSAGE];
    for own in lines {
        let session = [own; 4].join("\n");
        let wanted = detect(session.as_bytes(), None);
        for other in lines.into_iter().chain([PI]).filter(|other| *other != own) {
            // A header of pi is also Kit's.
            for at in 0..=4 {
                let mut mixed = vec![own; 4];
                mixed.insert(at, other);
                assert_eq!(detect(mixed.join("\n").as_bytes(), None), wanted, "{}", mixed.join("\n"));
            }
        }
    }
}

#[test]
    #[rustfmt::skip] // a table
    fn the_name_and_the_folder_decide_between_equals() {
        let check = |path: &str, lines: &[&str], wanted: Detected| {
            assert_eq!(detect(lines.join("\n").as_bytes(), Some(Path::new(path))), wanted, "{path}");
        };
        for lines in [[PI_ENTRY, CLAUDE, PI_ENTRY, CLAUDE], [CLAUDE, PI_ENTRY, CLAUDE, PI_ENTRY]] {
            check("/h/0d0c0de0-0002-4000-8000-000000000001.jsonl",      &lines, Of(Format::Claude));
            check("/h/.claude/projects/-p/x.jsonl",                     &lines, Of(Format::Claude));
            check("/h/agent-a1.jsonl",                                  &lines, Of(Format::Claude));
            check("/h/2026-02-10T09-00-00-000Z_0d0c.jsonl",             &lines, Of(Format::Pi));
            check("/h/.pi/agent/sessions/--p--/x.jsonl",                &lines, Of(Format::Pi));
        }
        check("x.jsonl",                                                &[CLAUDE, PI_ENTRY], Of(Format::Claude));
        check("x.jsonl",                                                &[PI_ENTRY, CLAUDE], Of(Format::Pi));
        // They do not overrule the lines.
        check("/h/0d0c0de0-0002-4000-8000-000000000001.jsonl",          &[PI, PI_ENTRY],     Of(Format::Pi));
        check("/h/.claude/projects/-p/x.jsonl",                         &[CHIMERA],          Of(Format::Chimera));
        // Some stores contain files that look like another agent's.
        check("/h/.openclaw/agents/main/sessions/x.jsonl",              &[PI, PI_ENTRY],     Of(Format::OpenClaw));
        check("/h/.prime/agent/sessions/x.jsonl",                       &[PI, PI_ENTRY],     Of(Format::Prime));
        check("/h/.qwen/projects/-p/chats/x.jsonl",                     &[CLAUDE],           Foreign(Program::Qwen));
        check("/h/.openclaw/workspace/x.jsonl",                         &[PI, PI_ENTRY],     Of(Format::Pi));
        check("/h/.openclaw/agents/main/sessions/x.jsonl",              &[CLAUDE],           Of(Format::Claude));
    }

#[test]
fn the_same_bytes_are_told_alike_however_they_come() {
    let long = "x".repeat(20_000);
    let header = format!(r#"{{"type":"session","version":3,"id":"s","cwd":"{long}"}}"#);
    let texts = [
        // The first entry is after the bytes that are examined first.
        format!("{header}\n{KIT}\n"),
        format!("{header}\n{PI_ENTRY}\n"),
        format!("{long}\n{CLAUDE}\n"),
        format!("{}\n{CHIMERA}", format!("{PI_ENTRY}\n").repeat(30)),
        format!("{}\n{}", format!("{CLAUDE}\n").repeat(60), format!("{PI_ENTRY}\n").repeat(600)),
        format!("{PI_ENTRY}\n{}", format!("{CLAUDE}\n").repeat(300)),
    ];
    for text in &texts {
        let wanted = detect(text.as_bytes(), None);
        for size in [1 << 10, (16 << 10) - 1, 100_000, usize::MAX] {
            let detected = detect_in_blocks(None, |offset, block| {
                let rest = &text.as_bytes()[(offset as usize).min(text.len())..];
                block.extend_from_slice(&rest[..rest.len().min(size)]);
                Ok::<(), Infallible>(())
            });
            assert_eq!(detected, Ok(wanted));
        }
    }
    assert_eq!(detect(texts[0].as_bytes(), None), Foreign(Program::Kit));
    assert_eq!(detect(texts[2].as_bytes(), None), Of(Format::Claude));
}

#[test]
fn no_more_is_read_than_it_takes() {
    let read = |text: &str| {
        let mut most = 0;
        let detected = detect_in_blocks(None, |offset, block| {
            let rest = &text.as_bytes()[(offset as usize).min(text.len())..];
            block.extend_from_slice(&rest[..rest.len().min(STEP)]);
            most = offset + block.len() as u64;
            Ok::<(), Infallible>(())
        });
        (detected.unwrap(), most)
    };
    let session = format!("{PI}\n{}", format!("{PI_ENTRY}\n").repeat(100_000));
    assert_eq!(read(&session), (Of(Format::Pi), STEP as u64));
    let text = "some words\n".repeat(1_000_000);
    assert_eq!(read(&text), (Detected::Unknown, MOST));
    // A first line may have any length.
    let long = format!("{}{}\n", " ".repeat(1 << 20), CLAUDE);
    assert_eq!(read(&long), (Of(Format::Claude), long.len() as u64));
}
