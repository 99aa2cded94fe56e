//! Several changes to one object, collected and then applied at once.

use super::members::{Member, members};
use super::{Escapes, quoted, write_string};
use std::ops::Range;

/// Changes to one object, collected and then applied at once. Every other byte stays as it is.
///
/// ```
/// let line = br#"{ "id" : "a" , "n": 1.0, "id":"b"}"#;
/// let mut edits = bough::internals::json::Edits::begin(line).expect("an object");
/// edits.set("id", b"\"c\"");
/// edits.remove("n");
/// edits.set("x", b"null");
/// assert_eq!(edits.apply(), br#"{ "id" : "a", "id":"c", "x": null}"#);
/// ```
pub struct Edits<'l> {
    line: &'l [u8],
    members: Vec<Member>,
    gone: Vec<bool>,
    changes: Vec<(Range<usize>, Vec<u8>)>,
    /// Members to add after the last one, by key.
    added: Vec<(String, Vec<u8>)>,
}

/// One change of [`Edits`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldChange {
    /// The key of the member.
    pub field: String,
    /// The old text of the value.
    pub old: String,
    /// The new text of the value.
    pub new: String,
}

impl<'l> Edits<'l> {
    /// Starts with no changes. Returns `None` if the line is not an object.
    pub fn begin(line: &'l [u8]) -> Option<Edits<'l>> {
        let members = members(line)?;
        let gone = vec![false; members.len()];
        Some(Edits { line, members, gone, changes: Vec::new(), added: Vec::new() })
    }

    /// Returns the members in the order of the line.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the bytes of a member's value; if the key is repeated, the last one.
    pub fn value(&self, key: &str) -> Option<&'l [u8]> {
        Some(&self.line[self.value_range(key)?])
    }

    /// Returns the byte range of a member's value in the line; if the key is repeated, the last
    /// one.
    pub fn value_range(&self, key: &str) -> Option<Range<usize>> {
        self.members.iter().rfind(|member| member.key == key).map(|member| member.value_at.clone())
    }

    /// Sets a member. An existing member is replaced in place (if the key is repeated, the last
    /// one, because it is the one that counts); a new one is added after the last.
    pub fn set(&mut self, key: &str, value: &[u8]) {
        match self.members.iter().rposition(|member| member.key == key) {
            Some(at) if !self.gone[at] => self.replace(self.members[at].value_at.clone(), value),
            _ => {
                self.added.retain(|(known, _)| known != key);
                self.added.push((key.to_owned(), value.to_owned()));
            }
        }
    }

    /// Removes all members with this key.
    pub fn remove(&mut self, key: &str) {
        for (at, member) in self.members.iter().enumerate() {
            if member.key == key {
                self.gone[at] = true;
                self.changes.retain(|(range, _)| {
                    range.end <= member.key_at.start || range.start >= member.value_at.end
                });
            }
        }
        self.added.retain(|(known, _)| known != key);
    }

    /// Renames a key in place; if it is repeated, all of them.
    pub fn rename(&mut self, key: &str, new: &str) {
        let quoted = quoted(new, Escapes::Needed);
        let places: Vec<Range<usize>> = self
            .members
            .iter()
            .filter(|member| member.key == key)
            .map(|member| member.key_at.clone())
            .collect();
        for at in places {
            self.replace(at, &quoted);
        }
    }

    /// Replaces a range of the line with other bytes. A range that was replaced before is replaced
    /// again.
    pub fn replace(&mut self, at: Range<usize>, with: &[u8]) {
        self.changes.retain(|(known, _)| *known != at);
        self.changes.push((at, with.to_owned()));
    }

    /// Returns whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.added.is_empty() && !self.gone.contains(&true)
    }

    /// Returns the replaced ranges of the line in order, each with its new bytes.
    pub fn stretches(&self) -> Vec<(Range<usize>, Vec<u8>)> {
        let mut out = self.changes.clone();
        let mut kept = false;
        for (at, member) in self.members.iter().enumerate() {
            if !self.gone[at] {
                kept = true;
            } else if kept {
                out.push((self.members[at - 1].value_at.end..member.value_at.end, Vec::new()));
            } else {
                let end = self.members.get(at + 1).map_or(member.value_at.end, |next| next.key_at.start);
                out.push((member.key_at.start..end, Vec::new()));
            }
        }
        if !self.added.is_empty() {
            out.push(self.addition(kept));
        }
        out.sort_by_key(|(range, _)| (range.start, range.end));
        out
    }

    /// Returns the changed members, each with its old and its new text, which is empty if the
    /// member did not or does not exist.
    ///
    /// A change inside a value is reported as that range only, under the key of the whole value.
    pub fn changes(&self) -> Vec<FieldChange> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut out = Vec::new();
        for (at, member) in self.members.iter().enumerate() {
            let old = &self.line[member.value_at.clone()];
            if self.gone[at] {
                out.push(FieldChange { field: member.key.clone(), old: text(old), new: String::new() });
                continue;
            }
            let inside = |range: &Range<usize>| {
                *range == member.key_at
                    || (member.value_at.start <= range.start && range.end <= member.value_at.end)
            };
            for (range, new) in self.changes.iter().filter(|(range, _)| inside(range)) {
                let old = &self.line[range.clone()];
                if old != new {
                    out.push(FieldChange { field: member.key.clone(), old: text(old), new: text(new) });
                }
            }
        }
        for (key, value) in &self.added {
            out.push(FieldChange { field: key.clone(), old: String::new(), new: text(value) });
        }
        out
    }

    fn addition(&self, mut behind: bool) -> (Range<usize>, Vec<u8>) {
        // Follow the spelling of the line: with or without spaces after colons and commas.
        let spaced = self
            .members
            .first()
            .is_some_and(|member| self.line[member.key_at.end..member.value_at.start].last() == Some(&b' '));
        let mut bytes = Vec::new();
        for (key, value) in &self.added {
            if behind {
                bytes.extend_from_slice(if spaced { b", " } else { b"," });
            }
            behind = true;
            write_string(key, Escapes::Needed, &mut bytes);
            bytes.extend_from_slice(if spaced { b": " } else { b":" });
            bytes.extend_from_slice(value);
        }
        let at = match self.members.last() {
            Some(member) => member.value_at.end,
            None => self.line.iter().position(|byte| *byte == b'{').map_or(self.line.len(), |at| at + 1),
        };
        (at..at, bytes)
    }

    /// Returns the line with all changes applied.
    pub fn apply(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.line.len() + 64);
        let mut from = 0;
        for (range, with) in self.stretches() {
            out.extend_from_slice(&self.line[from..range.start]);
            out.extend_from_slice(&with);
            from = range.end;
        }
        out.extend_from_slice(&self.line[from..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn members_come_and_go_and_nothing_else() {
        let check = |line: &str, edit: &dyn Fn(&mut Edits<'_>), wanted: &str| {
            let mut edits = Edits::begin(line.as_bytes()).unwrap();
            edit(&mut edits);
            assert_eq!(std::str::from_utf8(&edits.apply()).unwrap(), wanted, "{line}");
        };
        check(r#"{"a":1,"b":2}"#,          &|_| {},                                       r#"{"a":1,"b":2}"#);
        check(r#"{"a":1,"b":2}"#,          &|e| e.remove("a"),                            r#"{"b":2}"#);
        check(r#"{"a":1,"b":2}"#,          &|e| e.remove("b"),                            r#"{"a":1}"#);
        check(r#"{"a":1,"b":2,"c":3}"#,    &|e| { e.remove("a"); e.remove("b") },         r#"{"c":3}"#);
        check(r#"{"a":1,"b":2,"c":3}"#,    &|e| { e.remove("b"); e.remove("c") },         r#"{"a":1}"#);
        check(r#"{"a":1}"#,                &|e| { e.remove("a"); e.set("b", b"2") },      r#"{"b":2}"#);
        check(r#"{"a":1,"x":0,"a":2}"#,    &|e| e.remove("a"),                            r#"{"x":0}"#);
        check(r#"{"a":1,"x":0,"a":2}"#,    &|e| e.set("a", b"9"),                         r#"{"a":1,"x":0,"a":9}"#);
        check(r#"{"a": 1, "b": 2}"#,       &|e| { e.set("c", b"3"); e.set("c", b"4") },   r#"{"a": 1, "b": 2, "c": 4}"#);
        check(r#" { "a" : 1 } "#,          &|e| { e.set("a", b"2"); e.set("b", b"3") },   r#" { "a" : 2, "b": 3 } "#);
        check(r#"{"a":1}"#,                &|e| { e.set("a", b"2"); e.remove("a"); e.set("a", b"3") }, r#"{"a":3}"#);
        check(r#"{"a":1}"#,                &|e| { e.rename("a", "b"); e.set("a", b"2") }, r#"{"b":2}"#);
        check("{}",                        &|e| e.set("a", b"1"),                         r#"{"a":1}"#);
        check("{ }",                       &|e| e.set("a", b"1"),                         r#"{"a":1 }"#);
    }
}
