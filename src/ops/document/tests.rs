//! Documents of small sessions.

use super::*;
use crate::model::Table;

fn printed(lines: &[&str], options: Options) -> (String, String, LeftOut) {
    let bytes = (lines.join("\n") + "\n").into_bytes();
    let session = Session::read(&bytes).unwrap();
    let entries: Vec<Ix> = session.entries.all().collect();
    let source = Table(vec![bytes]);
    let (items, left) =
        items(&session, &source, &entries, options, &mut |line| line.to_vec(), &|_| String::new()).unwrap();
    (markdown("A <title>", &items), text("A <title>", &items), left)
}

const LINES: [&str; 4] = [
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}"#,
    r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"list <b>"}}"#,
    r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","model":"m_1","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls","timeout":3}}]}}"#,
    r#"{"type":"message","id":"d","parentId":"b","message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"x\ny ```"}]}}"#,
];

#[test]
fn a_result_is_printed_with_its_call() {
    let (markdown, text, left) = printed(&LINES, Options::default());
    assert_eq!(
        markdown,
        "# A &lt;title>\n\n## User\n\nlist &lt;b>\n\n## Assistant · m\\_1\n\n<details>\n<summary>Thinking</summary>\n\n```text\nhm\n```\n\n</details>\n\nI look.\n\n<details>\n<summary>bash ls</summary>\n\n```sh\nls\n```\ntimeout: ` 3 `\n\n\nResult:\n\n````text\nx\ny ```\n````\n\n</details>\n"
    );
    assert_eq!(
        text,
        "A <title>\n=========\n\n--- User\n\nlist <b>\n\n--- Assistant · m_1\n\n(thinking)\n  hm\n\nI look.\n\n> bash\n  command: ls\n  timeout: 3\n  result:\n    x\n    y ```\n\n"
    );
    assert_eq!(left, LeftOut::default());
}

#[test]
fn what_is_left_out_is_counted() {
    let (markdown, _, left) = printed(&LINES, Options { no_thinking: true, results: Some(2) });
    assert!(!markdown.contains("hm") && markdown.contains("more bytes left out"), "{markdown}");
    assert_eq!(left, LeftOut { thinking: 1, results: 1, images: 0 });
}
