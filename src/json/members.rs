//! The members of an object with their byte ranges, checked byte by byte.

use super::bytewise::Machine;
use super::object::space;
use std::ops::Range;

/// One member of an object, with its position in the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// The key, with escapes resolved.
    pub key: String,
    /// The range of the key, including the quotes.
    pub key_at: Range<usize>,
    /// The range of the value, including the quotes.
    pub value_at: Range<usize>,
}

/// Returns the members of an object in the order of the line, or `None` if `object` is not an
/// object.
///
/// Costs a pass over the bytes. Meant for single lines, not for whole files.
pub fn members(object: &[u8]) -> Option<Vec<Member>> {
    let mut out = Vec::new();
    let mut machine = Machine::new();
    let mut end_of_value = |at: usize| Some(at + machine.value_len(object.get(at..)?)?);
    let mut at = space(object, 0);
    if object.get(at) != Some(&b'{') {
        return None;
    }
    at = space(object, at + 1);
    if object.get(at) == Some(&b'}') {
        return Some(out);
    }
    loop {
        let key_at = at..end_of_value(at)?;
        if object.get(at) != Some(&b'"') {
            return None;
        }
        at = space(object, key_at.end);
        if object.get(at) != Some(&b':') {
            return None;
        }
        at = space(object, at + 1);
        let value_at = at..end_of_value(at)?;
        at = space(object, value_at.end);
        let key = super::decode(&object[key_at.start + 1..key_at.end - 1]).into_owned();
        out.push(Member { key, key_at, value_at });
        match object.get(at)? {
            b',' => at = space(object, at + 1),
            b'}' => return Some(out),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn members_stand_in_a_whole_object_only() {
        let check = |object: &[u8], wanted: Option<&[(&str, &str)]>| {
            let got = members(object).map(|members| {
                let text = |at: &Range<usize>| String::from_utf8_lossy(&object[at.clone()]).into_owned();
                members.iter().map(|member| (member.key.clone(), text(&member.value_at))).collect::<Vec<_>>()
            });
            let wanted = wanted.map(|members| members.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect());
            assert_eq!(got, wanted, "{}", String::from_utf8_lossy(object));
        };
        check(b"{}",                          Some(&[]));
        check(b" { \t} ",                     Some(&[]));
        check(br#"{"a":-1.5e3,"a" : tru\u0065}"#, None);
        check(br#"{"a":-1.5e3 , "" : true}"#, Some(&[("a", "-1.5e3"), ("", "true")]));
        check(br#"{"\"":"\"}","b":[{}]}x"#,   Some(&[("\"", r#""\"}""#), ("b", "[{}]")]));
        check(b"{\"a\":\"\xFF\"}",           Some(&[("a", "\"\u{FFFD}\"")]));
        check(br#"{"a":1,}"#,                 None);
        check(br#"{"a":1"#,                   None);
        check(br#"{"a":"#,                    None);
        check(br#"{"a":[}"#,                  None);
        check(br#"{"a" 1}"#,                  None);
        check(br#"{1:1}"#,                    None);
        check(b"[]",                          None);
        check(b"",                            None);
    }

    #[test]
    fn depth_is_no_recursion() {
        let line = |depth: usize| [br#"{"a":"#, &vec![b'['; depth][..], &vec![b']'; depth], b"}"].concat();
        assert_eq!(members(&line(1000)).map(|members| members.len()), Some(1));
        assert_eq!(members(&line(1_000_000)), None);
    }
}
