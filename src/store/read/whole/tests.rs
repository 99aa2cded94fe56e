//! Tests of reading a whole file.

use super::*;
use std::io::Write;

#[test]
fn a_file_that_grew_since_its_length_was_asked_for_is_read_whole() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(
        file,
        r#"{{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/p"}}"#
    )
    .unwrap();
    let text = "x".repeat(1000);
    for at in 0..700 {
        writeln!(file, r#"{{"type":"message","id":"{at:08}","parentId":null,"timestamp":"2026-03-02T00:00:00.000Z","message":{{"role":"user","content":"{text}"}}}}"#)
                .unwrap();
    }
    for len in [1, file.as_file().metadata().unwrap().len()] {
        let session = read_file(file.path(), Options::default(), file.as_file(), len).unwrap();
        assert_eq!((session.entries.len(), session.faults.len()), (700, 0));
    }
}

#[test]
fn a_large_file_is_opened_as_a_small_one_is() {
    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/p"}"#;
    const CALL: &str =
        r#""message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"x"}]}"#;
    let pi = |at: u32| format!(r#"{{"type":"message","id":"{at:08}","parentId":"{:08}",{CALL}}}"#, at - 1);
    let v1 = |_| format!(r#"{{"type":"message",{CALL}}}"#);
    let claude = |at: u32| {
        let role = r#""role":"assistant","content":[{"type":"tool_use","id":"t1","name":"x"}]"#;
        format!(
            r#"{{"parentUuid":"u{}","sessionId":"s","type":"assistant","message":{{{role}}},"uuid":"u{at}"}}"#,
            at - 1
        )
    };
    let texts: [(&str, &dyn Fn(u32) -> String); 3] = [
        (HEADER, &pi),
        (r#"{"type":"session","id":"s","timestamp":"2026-03-02T00:00:00.000Z","cwd":"/p"}"#, &v1),
        (r#"{"type":"summary","summary":"s","leafUuid":"u9"}"#, &claude),
    ];
    for (first, line) in texts {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines: Vec<String> = (1..=100).map(line).collect();
        std::fs::write(file.path(), format!("{first}\n{}\n", lines.join("\n"))).unwrap();
        let len = file.as_file().metadata().unwrap().len();
        assert!(len > 2 * parallel::LARGE);
        for format in [None, Some(Format::Claude), Some(Format::Pi), Some(Format::Omp)] {
            for side in [false, true] {
                let options = Options { format, side };
                let large = open(file.path(), options).unwrap().session;
                let small = read_file(file.path(), options, file.as_file(), len).unwrap();
                assert_eq!(format!("{large:#?}"), format!("{small:#?}"), "{options:?}");
            }
        }
    }
}

#[test]
fn the_format_is_told_from_a_first_line_of_any_length() {
    let long = "x".repeat(5 << 20);
    let claude = format!(
        r#"{{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"user","message":{{"role":"user","content":"{long}"}},"uuid":"u1"}}"#
    );
    let chimera = format!(
        r#"{{"id": "a", "parent_id": null, "type": "message", "message": {{"role": "user", "content": "{long}"}}}}"#
    );
    let pi = format!(
        r#"{{"type":"message","id":"a","parentId":null,"message":{{"role":"user","content":"{long}"}}}}"#
    );
    for (line, format) in [(claude, Format::Claude), (chimera, Format::Chimera), (pi, Format::Pi)] {
        // With and without an ending, and after blank lines.
        for text in [format!("{line}\n"), line.clone(), format!("\n\n{line}\n{line}\n")] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            let opened = open(file.path(), Options::default()).unwrap();
            assert_eq!(opened.session.format, format);
            let sifted = crate::store::search_lines(file.path(), Options::default(), None, &mut |_, _, _| {
                std::ops::ControlFlow::Continue(())
            });
            assert_eq!(sifted.unwrap(), format);
            let glanced = crate::store::open_ends(file.path(), Options::default()).unwrap();
            assert_eq!(glanced.session.format, format);
        }
    }
}
