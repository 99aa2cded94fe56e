//! Writing JSON strings, and setting one field of an object without touching its other bytes.

use super::members::members;

/// How a string that bough writes is escaped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Escapes {
    /// Escapes only what must be escaped, as JavaScript does.
    Needed,
    /// Escapes everything that is not ASCII, as Python does.
    Ascii,
}

/// Appends a string with its quotes.
pub fn write_string(text: &str, escapes: Escapes, into: &mut Vec<u8>) {
    let quoted = serde_json::to_string(text).expect("a string can be written");
    if escapes == Escapes::Needed {
        into.extend_from_slice(quoted.as_bytes());
        return;
    }
    for character in quoted.chars() {
        if character.is_ascii() && character != '\u{7f}' {
            into.push(character as u8);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                into.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}

/// Returns a string with its quotes.
pub fn quoted(text: &str, escapes: Escapes) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(text, escapes, &mut out);
    out
}

/// Sets one field of an object to `value` (JSON text) without changing any other byte.
///
/// `path` names the nested objects from the outside in. An existing field is replaced in place (if
/// the key is repeated, the last one, because it is the one that counts); a new field is added
/// after the last member of its object. Returns `None` if an object on the path does not exist.
pub fn set_field(object: &[u8], path: &[&str], value: &[u8]) -> Option<Vec<u8>> {
    let (last, way) = path.split_last()?;
    let (mut from, mut to) = (0, object.len());
    for key in way {
        let member = members(&object[from..to])?.into_iter().rfind(|member| member.key == *key)?;
        (from, to) = (from + member.value_at.start, from + member.value_at.end);
    }
    let found = members(&object[from..to])?;
    let mut out = Vec::with_capacity(object.len() + value.len() + last.len() + 4);
    if let Some(member) = found.iter().rfind(|member| member.key == **last) {
        out.extend_from_slice(&object[..from + member.value_at.start]);
        out.extend_from_slice(value);
        out.extend_from_slice(&object[from + member.value_at.end..]);
        return Some(out);
    }
    let at = match found.last() {
        Some(member) => from + member.value_at.end,
        None => from + object[from..to].iter().position(|byte| *byte == b'{')? + 1,
    };
    out.extend_from_slice(&object[..at]);
    if !found.is_empty() {
        out.push(b',');
    }
    write_string(last, Escapes::Needed, &mut out);
    out.push(b':');
    out.extend_from_slice(value);
    out.extend_from_slice(&object[at..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn one_field_is_set_and_nothing_else() {
        let check = |line: &str, path: &[&str], value: &str, wanted: Option<&str>| {
            let got = set_field(line.as_bytes(), path, value.as_bytes());
            assert_eq!(got.as_deref().map(|bytes| std::str::from_utf8(bytes).unwrap()), wanted, "{line}");
        };
        check(r#"{"a":1.0,"p":null}"#,       &["p"],      r#""x""#, Some(r#"{"a":1.0,"p":"x"}"#));
        check(r#"{ "p" : null , "b": 1E2}"#, &["p"],      r#""x""#, Some(r#"{ "p" : "x" , "b": 1E2}"#));
        check(r#"{"m":{"p":1},"p":2}"#,      &["m", "p"], "3",      Some(r#"{"m":{"p":3},"p":2}"#));
        check(r#"{"p":1,"p":2}"#,            &["p"],      "3",      Some(r#"{"p":1,"p":3}"#));
        check(r#"{"a":1}"#,                  &["p"],      "3",      Some(r#"{"a":1,"p":3}"#));
        check("{}",                          &["p"],      "3",      Some(r#"{"p":3}"#));
        check("[]",                          &["p"],      "3",      None);
    }
}
