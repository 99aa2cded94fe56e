//! Tests of the contents and summaries of lines.

use super::*;

#[test]
fn a_summary_is_cut_where_it_is_long() {
    let check = |text: String, cut: String| assert_eq!(one_line(&text), cut);
    let words = |count: usize| format!("{} é", "x".repeat(count));
    check(words(298), words(298));
    for count in 299..302 {
        check(words(count), format!("{}…", "x".repeat(count.min(300))));
    }
    check(format!("é {}", "é".repeat(300)), format!("é {}…", "é".repeat(298)));
    check("ab ".repeat(500), format!("{}…", "ab ".repeat(100).trim_end()));

    // So is a list of calls.
    let call = r#"{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a"}}"#;
    let summary = |count: usize| {
        let calls = vec![call; count].join(",");
        let line = format!(r#"{{"type":"message","message":{{"role":"assistant","content":[{calls}]}}}}"#);
        Content::read(Format::Pi, line.as_bytes()).summary()
    };
    assert_eq!(summary(33), vec!["read a"; 33].join(" · "));
    let cut = format!("{}…", vec!["read a"; 33].join(" · ") + " · rea");
    assert_eq!((summary(34), summary(5000)), (cut.clone(), cut));
}

/// One line, character by character.
fn on_one_line(text: &str) -> String {
    let (mut all, mut is_after_space) = (Vec::new(), false);
    for character in text.chars() {
        if character.is_whitespace() {
            is_after_space = !all.is_empty();
            continue;
        }
        if std::mem::take(&mut is_after_space) {
            all.push(' ');
        }
        all.push(character);
    }
    let is_cut = all.len() > SUMMARY;
    all.truncate(SUMMARY);
    let line: String = all.into_iter().collect();
    if is_cut { format!("{}…", line.trim_end()) } else { line }
}

proptest::proptest! {
    #[test]
    fn words_on_one_line_are_those_of_the_characters(
        parts in proptest::collection::vec(("[a-c]{0,120}|[é€😀]{0,200}|[x😀]{280,320}", "[ \t\n\u{B}\u{1c}\u{85}\u{a0}\u{2003}]{0,3}"), 0..8),
    ) {
        let text: String = parts.iter().map(|(word, space)| format!("{word}{space}")).collect();
        proptest::prop_assert_eq!(one_line(&text), on_one_line(&text));
    }
}

#[test]
fn of_a_long_word_only_the_start_is_read() {
    for sign in ["x", "é", "€", "😀"] {
        let word = sign.repeat(2000);
        assert!(
            summary::words(&word).next().is_some_and(|word| (1201..1210).contains(&word.len())),
            "{sign}"
        );
        assert_eq!(one_line(&word), on_one_line(&word), "{sign}");
    }
}

#[test]
#[rustfmt::skip] // a table
fn a_command_in_words_is_written_as_people_write_it() {
    let check = |arguments: &str, wanted: &str| assert_eq!(call_words("x", arguments.as_bytes()), wanted);
    check(r#"{"command":["bash","-lc","ls | wc"],"workdir":"/"}"#, "x ls | wc");
    check(r#"{"command":["/bin/sh","-c","ls"]}"#,                  "x ls");
    check(r#"{"command":["ls","-l"]}"#,                            "x ls -l");
    check(r#"{"command":["ls",7]}"#,                               r#"x ["ls",7]"#);
    check(r#"{"command":[]}"#,                                     "x []");
    check(r#"{"command":"ls -l"}"#,                                "x ls -l");
    check("7",                                                     "x");
}

#[test]
#[rustfmt::skip] // a table
fn a_line_has_a_text_and_a_summary() {
    let check = |format, line: &str, text: &str, summary: &str| {
        let content = Content::read(format, line.as_bytes());
        assert_eq!(content.text, text, "text of {line}");
        assert_eq!(content.summary(), summary, "summary of {line}");
    };
    let pi = |line: &str, text: &str, summary: &str| check(Format::Pi, line, text, summary);
    pi(r#"{"type":"message","message":{"role":"user","content":"a\n\nb"}}"#, "a\n\nb", "a b");
    pi(r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#, "a\n\nb", "a b");
    pi(r#"{"type":"message","message":{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}}"#, "", "an image (image/png)");
    pi(r#"{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"c","name":"bash","arguments":{"timeout":5,"command":"cargo  test"}}]}}"#, "", "bash cargo test");
    pi(r#"{"type":"message","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"overloaded"}}"#, "overloaded", "overloaded");
    pi(r#"{"type":"message","message":{"role":"assistant","content":[],"stopReason":"aborted"}}"#, "", "(aborted)");
    pi(r#"{"type":"message","message":{"role":"assistant","content":null}}"#, "", "(nothing)");
    pi(r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"ok\nfine\n"}],"isError":false}}"#, "ok\nfine\n", "bash → fine (+1 line)");
    pi(r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[],"isError":true}}"#, "", "bash → failed");
    pi(r#"{"type":"message","message":{"role":"system","content":"","toolsAdded":[{"name":"read"},{"name":"bash"}],"sections":{"skills":"none"}}}"#, "skills: none\ntools read, bash", "skills: none tools read, bash");
    pi(r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":0}}"#, "ls\na", "ls → a");
    pi(r#"{"type":"compaction","summary":"So far."}"#, "So far.", "So far.");
    pi(r#"{"type":"branch_summary","summary":""}"#, "", "branch_summary");
    pi(r#"{"type":"label","targetId":"x","label":"good"}"#, "label good: x", "label good: x");
    pi(r#"{"type":"model_change","provider":"anthropic","modelId":"claude-x"}"#, "model anthropic/claude-x", "model anthropic/claude-x");
    pi(r#"{"type":"model_change","model":"openai/gpt"}"#, "model openai/gpt", "model openai/gpt");
    pi(r#"{"type":"custom","customType":"bough.switch","data":{"to":null}}"#, r#"bough.switch {"to":null}"#, r#"bough.switch {"to":null}"#);
    pi(r#"{"type":"unheard_of","x":1}"#, "", "unheard_of");
    pi("[1]", "", "");
    pi("{\"type", "", "");
    let chimera = |line: &str, text: &str, summary: &str| check(Format::Chimera, line, text, summary);
    chimera(r#"{"type": "message", "message": {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "ls", "arguments": {"path": "."}}]}}"#, "", "ls .");
    chimera(r#"{"type": "message", "message": {"role": "tool", "content": "a\nb", "call_id": "c"}}"#, "a\nb", "→ a (+1 line)");
    chimera(r#"{"type": "state_change", "kind": "model", "value": "large"}"#, "model large", "model large");
    let claude = |line: &str, text: &str, summary: &str| check(Format::Claude, line, text, summary);
    claude(r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"<persisted-output>\nOutput too large (61.2KB). Full output saved to: /p/tool-results/b.txt\n\nPreview (first 2KB):\nl 1\nl 2\n...\n</persisted-output>"}]}}"#,
        "<persisted-output>\nOutput too large (61.2KB). Full output saved to: /p/tool-results/b.txt\n\nPreview (first 2KB):\nl 1\nl 2\n...\n</persisted-output>",
        "→ l 1 (61.2KB in tool-results/b.txt)");
    claude(r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"x"}],"is_error":true}]}}"#, "x", "→ failed: x");
    claude(r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/a"}}]}}"#, "", "Read /a");
    claude(r#"{"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":115432}}"#, "compacted, 115k tokens, auto", "compacted, 115k tokens, auto");
    claude(r#"{"type":"system","subtype":"compact_boundary"}"#, "compacted", "compacted");
    claude(r#"{"type":"user","message":{"role":"user","content":"<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>"}}"#, "<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>", "/compact");
    claude(r#"{"type":"user","message":{"role":"user","content":"<local-command-stdout>ok 1 < 2</local-command-stdout>"}}"#, "<local-command-stdout>ok 1 < 2</local-command-stdout>", "ok 1 < 2");
    claude(r#"{"type":"system","subtype":"turn_duration","durationMs":753}"#, "turn duration 753 ms", "turn duration 753 ms");
    claude(r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"go on"}}"#, "go on", "go on");
    claude(r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"done","commandMode":"task-notification"}}"#, "queued command: done", "queued command: done");
    claude(r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"<ide_opened_file>x</ide_opened_file>"},{"type":"text","text":"fix it"}]}}"#, "<ide_opened_file>x</ide_opened_file>\n\nfix it", "fix it");
    claude(r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"","signature":"S"}]}}"#, "", "thinking");
}

#[test]
#[rustfmt::skip] // a table
fn an_outline_has_all_but_the_texts() {
    let check = |format, line: &str| {
        let (outline, whole) = (Content::outline(format, line.as_bytes()), Content::read(format, line.as_bytes()));
        let calls = |content: &Content<'_>| -> Vec<String> {
            content.calls().map(|(id, name, arguments)| format!("{id} {name} {}", String::from_utf8_lossy(arguments))).collect()
        };
        assert_eq!(calls(&outline), calls(&whole), "{line}");
        assert!(!calls(&outline).is_empty(), "{line}");
        assert_eq!((outline.usage(), &outline.model, &outline.ended), (whole.usage(), &whole.model, &whole.ended), "{line}");
    };
    let blocks = r#"[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"text","text":"a\nb"},{"type":"image","source":{"data":"AAAA"}},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/a"}},7,{"type":"toolCall","id":"c","name":"ba\u0073h","arguments":{"command":"ls"}}]"#;
    check(Format::Pi, &format!(r#"{{"type":"message","message":{{"role":"assistant","content":{blocks},"model":"m","stopReason":"stop","usage":{{"input":1}}}}}}"#));
    check(Format::Claude, &format!(r#"{{"type":"assistant","message":{{"role":"assistant","content":{blocks},"model":"m","stop_reason":"stop","usage":{{"input_tokens":1}}}}}}"#));
    check(Format::Chimera, r#"{"type": "message", "message": {"role": "assistant", "content": "so", "tool_calls": [{"id": "c", "name": "ls", "arguments": {"path": "."}}]}}"#);
}

#[test]
fn a_result_is_told_with_its_call() {
    let line = br#"{"type":"message","message":{"role":"toolResult","toolCallId":"c","content":"3 passed"}}"#;
    let content = Content::read(Format::Pi, line);
    assert_eq!(content.summary_of("bash cargo test"), "cargo test → 3 passed");
    assert_eq!(content.summary_of("read a.txt"), "read a.txt → 3 passed");
    assert_eq!(content.answers().collect::<Vec<_>>(), ["c"]);
}

#[test]
fn usage_is_read_in_both_spellings() {
    let check = |format, line: &[u8], wanted: Usage| {
        assert_eq!(Content::read(format, line).usage(), Some(wanted));
    };
    check(
        Format::Pi,
        br#"{"type":"message","message":{"role":"assistant","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"total":0.5}}}}"#,
        Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, cost: Some(0.5), ..Usage::default() },
    );
    check(
        Format::Claude,
        br#"{"type":"assistant","message":{"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}}"#,
        Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, ..Usage::default() },
    );
}
