//! Tests of the entries that bough adds to a session of Claude Code.

use super::*;

const LIKE: &[u8] = br#"{"uuid":"x","cwd":"/w","version":"2.1.332","gitBranch":"main"}"#;

fn envelope() -> Envelope<'static> {
    Envelope { like: LIKE, now: Time(0), session: Some("s") }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_prompt_has_the_form_of_the_client() {
    assert_eq!(
        text(&prompt(envelope(), "u", Some(b"\"x\""), "go", None)),
        concat!(
            r#"{"parentUuid":"x","isSidechain":false,"type":"user","message":{"role":"user","content":"go"},"#,
            r#""uuid":"u","timestamp":"1970-01-01T00:00:00.000Z","userType":"external","cwd":"/w","#,
            r#""sessionId":"s","version":"2.1.332","gitBranch":"main"}"#,
            "\n"
        )
    );
    let note = prompt(envelope(), "u", None, "go", Some("ci"));
    assert!(text(&note).contains(r#""isMeta":true,"customType":"ci""#), "{}", text(&note));
    assert!(text(&note).starts_with(r#"{"parentUuid":null,"#));
}

#[test]
fn a_reply_has_what_the_client_reads() {
    let line = reply(envelope(), "u", "m", Some(b"\"x\""), "done");
    let object: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!((&object["type"], &object["parentUuid"]), (&"assistant".into(), &"x".into()));
    let message = &object["message"];
    assert_eq!((&message["id"], &message["model"]), (&"m".into(), &"<synthetic>".into()));
    assert_eq!(message["content"][0]["text"], "done");
    assert_eq!(message["usage"]["input_tokens"], 0);
}

#[test]
fn a_compaction_names_what_it_keeps() {
    let kept = ["a".to_owned(), "b".to_owned()];
    let make = |kept: &[String]| {
        let made = Compaction {
            boundary: "B",
            summary: "C",
            after: Some(b"\"x\""),
            text: "so far",
            kept,
            tokens_before: 7,
        };
        compaction(envelope(), made).map(|line| text(&line).to_owned())
    };
    let [boundary, summary] = make(&kept);
    assert!(boundary.contains(concat!(
        r#""compactMetadata":{"trigger":"manual","preTokens":7,"#,
        r#""preservedSegment":{"headUuid":"a","anchorUuid":"C","tailUuid":"b"},"#,
        r#""preservedMessages":{"anchorUuid":"C","uuids":["a","b"],"allUuids":["a","b"]}}"#
    )));
    assert!(summary.starts_with(r#"{"parentUuid":"B","#) && summary.contains("isCompactSummary"));
    let [one, _] = make(&kept[..1]);
    assert!(one.contains(r#""headUuid":"a","anchorUuid":"C","tailUuid":"a""#), "{one}");
    let [none, _] = make(&[]);
    assert!(none.contains(r#""compactMetadata":{"trigger":"manual","preTokens":7}"#), "{none}");
}
