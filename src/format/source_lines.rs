//! The lines in which a converted session carries the session that it was made from.
//!
//! Every format has lines that its agent keeps and never sends: `custom` entries in the pi family and
//! in Chimera, and lines without a `uuid` in Claude Code. What they carry is the business of
//! [`crate::ops::convert`]; this is their form.

use super::{Format, New, Object};
use crate::json::{Members, member_at};
use crate::model::Time;

/// The `customType` of such an entry in the pi family.
const PI: &str = "bough.source";
/// The type of such a line in Claude Code.
pub(super) const CLAUDE: &str = "bough-source";
/// The type of such a line in Codex.
const CODEX: &str = "bough_source";
/// What `data.bough` says in Chimera.
const CHIMERA: &str = "source";

/// Returns what a line carries, as JSON; `None` if it is any other line.
pub fn carried(format: Format, line: &[u8]) -> Option<&[u8]> {
    let members = Members::new(line);
    let is = |value: Option<&[u8]>, wanted: &str| {
        let value = value.and_then(|value| value.strip_prefix(b"\"")?.strip_suffix(b"\""));
        value == Some(wanted.as_bytes())
    };
    let says = |key: &str, wanted: &str| is(members.get(key), wanted);
    let is_one = match format {
        Format::Pi | Format::Omp => says("customType", PI) && says("type", "custom"),
        Format::Chimera => {
            let mark = members.get("data").and_then(|data| member_at(data, &["bough"]));
            is(mark, CHIMERA) && says("type", "custom")
        }
        Format::Claude => says("type", CLAUDE),
        Format::Codex => says("type", CODEX),
        _ => false,
    };
    members.get(member(format)).filter(|_| is_one)
}

/// Writes a line that carries `data`, which is a JSON object without its braces. Returns `None` if
/// the format has no place for it.
pub fn carrying(format: Format, new: &New<'_>, data: &[u8], session: &str) -> Option<Vec<u8>> {
    let object = |more: &[u8]| [b"{", more, data, b"}"].concat();
    Some(match format {
        Format::Pi | Format::Omp => Object::begin(format)
            .text("type", "custom")
            .text("id", new.id)
            .id("parentId", new.parent)
            .text("timestamp", &new.now.iso())
            .text("customType", PI)
            .raw("data", &object(b""))
            .line(),
        Format::Chimera => Object::begin(format)
            .text("type", "custom")
            .text("id", new.id)
            .id("parent_id", new.parent)
            .raw("timestamp", seconds(new.now).as_bytes())
            .raw("data", &object(b"\"bough\": \"source\", "))
            .line(),
        Format::Claude => Object::begin(format)
            .text("type", CLAUDE)
            .raw("data", &object(b""))
            .text("sessionId", session)
            .text("timestamp", &new.now.iso())
            .line(),
        Format::Codex => Object::begin(format)
            .text("timestamp", &new.now.iso())
            .text("type", CODEX)
            .raw(member(format), &object(b""))
            .line(),
        _ => return None,
    })
}

/// Returns the line without what it carries, so that the entries after it keep their parent; `None`
/// if it is any other line.
pub fn emptied(format: Format, line: &[u8]) -> Option<Vec<u8>> {
    carried(format, line)?;
    let nothing: &[u8] = if format == Format::Chimera { b"{\"bough\": \"source\"}" } else { b"{}" };
    crate::json::set_field(line, &[member(format)], nothing)
}

/// Returns the member that has what is carried.
fn member(format: Format) -> &'static str {
    if format == Format::Codex { "payload" } else { "data" }
}

fn seconds(time: Time) -> String {
    format!("{:?}", time.0 as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_carried_is_found_again_and_can_be_taken_away() {
        for format in [Format::Pi, Format::Omp, Format::Chimera, Format::Claude, Format::Codex] {
            let new = New { id: "x", parent: None, now: Time(1500) };
            let line = carrying(format, &new, b"\"a\":[1]", "s").unwrap();
            let data = carried(format, &line).unwrap();
            assert_eq!(member_at(data, &["a"]), Some(&b"[1]"[..]), "{format:?}");
            let empty = emptied(format, &line).unwrap();
            assert_eq!(member_at(carried(format, &empty).unwrap(), &["a"]), None, "{format:?}");
            assert_eq!(carried(format, br#"{"type":"custom","data":{"a":[1]}}"#), None);
        }
    }
}
