//! Pretty-printing of JSON text.

/// Lays out JSON text over several lines, indented by two spaces a level. The bytes of strings,
/// numbers and words do not change.
///
/// Meant for lines that the reader accepted; broken text is laid out by its brackets as far as they
/// go. Does not recurse.
pub fn pretty(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 3 / 2);
    let mut depth = 0usize;
    let mut at = 0;
    let next = |mut at: usize| {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = text.get(at) {
            at += 1;
        }
        at
    };
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        // Text nested thousands of levels deep is not indented by thousands of spaces.
        out.resize(out.len() + 2 * depth.min(100), b' ');
    };
    while at < text.len() {
        let byte = text[at];
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                let from = at;
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at = at.min(text.len() - 1);
                out.extend_from_slice(&text[from..=at]);
            }
            b'{' | b'[' => {
                out.push(byte);
                let close = byte + 2;
                let inside = next(at + 1);
                if text.get(inside) == Some(&close) {
                    out.push(close);
                    at = inside;
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn only_white_space_changes() {
        let check = |text: &str, wanted: &str| {
            assert_eq!(String::from_utf8(pretty(text.as_bytes())).unwrap(), wanted, "{text}");
        };
        check(r#"{"a":1.0,"b":[1,{"c":"x:{,\"}"}],"d":{ },"e":[]}"#,
            "{\n  \"a\": 1.0,\n  \"b\": [\n    1,\n    {\n      \"c\": \"x:{,\\\"}\"\n    }\n  ],\n  \"d\": {},\n  \"e\": []\n}");
        check("[ ]", "[]");
        check("1E2", "1E2");
        check("", "");
        check(r#"{"a":"\"#, "{\n  \"a\": \"\\");
        check(r#"{"a":"b"#, "{\n  \"a\": \"b");
        check("]]", "\n]\n]");
    }
}
