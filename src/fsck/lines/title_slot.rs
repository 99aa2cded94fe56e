//! The title slot of oh-my-pi: a first line of fixed length, which the agent overwrites in place.

use crate::json::{member_of_whole, members};

/// The size of the slot in bytes, including its line feed.
pub(crate) const SLOT: usize = 256;

/// The result of fitting a line to the slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fitted {
    /// It is not the slot.
    NoSlot,
    /// The slot, with as many spaces in its `pad` as its length requires.
    Slot(Vec<u8>),
    /// More bytes than a slot has, even without padding.
    TooLong,
}

/// Returns the fields that a slot must have but that are missing or wrong, in the order in which
/// oh-my-pi writes them. Without these fields, oh-my-pi does not recognize a slot.
///
/// Measured: the program checks neither length nor order, and ignores other fields.
pub(crate) fn wrong(line: &[u8]) -> Vec<&'static str> {
    let is_text = |value: Option<&[u8]>| value.is_some_and(|value| value.starts_with(b"\""));
    let is_right = |field: &str| {
        let value = member_of_whole(line, field);
        match field {
            "v" => value.is_some_and(|v| std::str::from_utf8(v).is_ok_and(|v| v.parse() == Ok(1.0))),
            "source" => matches!(value, None | Some(b"\"auto\"" | b"\"user\"")),
            _ => is_text(value),
        }
    };
    ["v", "title", "source", "updatedAt", "pad"].into_iter().filter(|field| !is_right(field)).collect()
}

/// Returns the slot at its proper length; `ending` is the length of its line ending.
pub(crate) fn fitted(line: &[u8], ending: usize) -> Fitted {
    let Some(members) = members(line) else { return Fitted::NoSlot };
    let at =
        |key: &str| members.iter().rfind(|member| member.key == key).map(|member| member.value_at.clone());
    let (Some(ty), Some(pad)) = (at("type"), at("pad")) else { return Fitted::NoSlot };
    if &line[ty] != b"\"title\"" || line[pad.start] != b'"' {
        return Fitted::NoSlot;
    }
    let without = line.len() - (pad.len() - 2) + ending;
    let Some(blanks) = SLOT.checked_sub(without) else { return Fitted::TooLong };
    let blanks = vec![b' '; blanks];
    Fitted::Slot([&line[..pad.start + 1], &blanks, &line[pad.end - 1..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_slot_has_all_its_fields() {
        let check = |line: &str, fields: &str| assert_eq!(wrong(line.as_bytes()).join(" "), fields, "{line}");
        check(r#"{"type":"title","v":1,"title":"T","source":"user","updatedAt":"2026","pad":" "}"#, "");
        check(r#"{"pad":"x","updatedAt":"","title":"","v":1.0,"x":2,"type":"title"}"#,              "");
        check(r#"{"type":"title","v":"1","title":"T","updatedAt":"","pad":""}"#,                    "v");
        check(r#"{"type":"title","v":2,"title":"T","updatedAt":"","pad":""}"#,                      "v");
        check(r#"{"type":"title","v":1,"v":3,"title":"T","updatedAt":"","pad":""}"#,                "v");
        check(r#"{"type":"title","v":1,"title":7,"updatedAt":"","pad":""}"#,                        "title");
        check(r#"{"type":"title","v":1,"title":"T","source":null,"updatedAt":"","pad":""}"#,        "source");
        check(r#"{"type":"title","v":1,"title":"T","source":"me","updatedAt":"","pad":""}"#,        "source");
        check(r#"{"type":"title","v":1,"title":"T","updatedAt":1,"pad":""}"#,                       "updatedAt");
        check(r#"{"type":"title"}"#,                                                                "v title updatedAt pad");
        // A slot that is cut off has none of them.
        check(r#"{"type":"title","v":1,"title":"T","updatedAt":"","pad":"#,                         "v title updatedAt pad");
    }

    #[test]
    fn the_pad_gives_a_slot_its_length() {
        let slot = |title: &str, pad: usize| {
            format!(r#"{{"type":"title","v":1,"title":"{title}","pad":"{}"}}"#, " ".repeat(pad)).into_bytes()
        };
        let bare = slot("T", 0).len();
        let full = Fitted::Slot(slot("T", SLOT - 1 - bare));
        for pad in [0, 1, SLOT - 1 - bare, 300] {
            assert_eq!(fitted(&slot("T", pad), 1), full, "{pad}");
        }
        assert_eq!(fitted(&slot("T", 9), 2), Fitted::Slot(slot("T", SLOT - 2 - bare)));
        let room = SLOT - bare;
        assert_eq!(fitted(&slot(&"x".repeat(room), 5), 1), Fitted::Slot(slot(&"x".repeat(room), 0)));
        assert_eq!(fitted(&slot(&"x".repeat(room + 1), 5), 1), Fitted::TooLong);
        for line in [
            &br#"{"type":"session","pad":""}"#[..],
            br#"{"type":"title"}"#,
            br#"{"type":"title","pad":1}"#,
            b"{",
        ] {
            assert_eq!(fitted(line, 1), Fitted::NoSlot);
        }
    }
}
