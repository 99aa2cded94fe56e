//! The ids of entries as text: complete, or as short as possible.

use crate::format::Session;
use crate::json::{self, Members};
use crate::model::{Flags, Ix, Key, KeySet, Source};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::io;

/// Returns the id of an entry; empty if it has none. Reads the line only if the id is longer than
/// eight bytes.
pub fn id(session: &Session, source: &dyn Source, ix: Ix) -> io::Result<String> {
    if !session.entries.flags(ix).has(Flags::LONG_ID) {
        return Ok(String::from_utf8_lossy(&session.entries.id_start(ix)).into_owned());
    }
    let line = source.bytes(session.span(ix))?;
    Ok(id_in(session, ix, &Members::new(&line)).into_owned())
}

/// Like [`id`], for an entry whose line was split into its members.
pub fn id_in<'l>(session: &Session, ix: Ix, line: &Members<'l>) -> Cow<'l, str> {
    if !session.entries.flags(ix).has(Flags::LONG_ID) {
        return String::from_utf8_lossy(&session.entries.id_start(ix)).into_owned().into();
    }
    let [first, inside @ ..] = session.format.names().id_path else { return Cow::default() };
    let stored = line.get(first).and_then(|value| json::member_at(value, inside)).unwrap_or_default();
    // An id that is not a string is shown as it is spelled.
    json::string(stored).unwrap_or_else(|| json::decode(stored))
}

/// Returns the id of an entry as it is in its line, including quotes and escapes; `null` if it has
/// none.
///
/// A line that names the entry repeats these bytes, so that the programs see the same id.
pub fn raw(session: &Session, source: &dyn Source, ix: Ix) -> io::Result<Vec<u8>> {
    let line = source.bytes(session.span(ix))?;
    Ok(json::member_at(&line, session.format.names().id_path).unwrap_or(b"null").to_vec())
}

/// Returns a name that can be used as an argument for an entry: its id, or `line:N` if it has none.
pub fn name(session: &Session, source: &dyn Source, ix: Ix) -> io::Result<String> {
    Ok(or_line(session, ix, id(session, source, ix)?))
}

/// Returns what [`name`] does, for an entry whose line was read.
pub fn name_in(session: &Session, line: &[u8], ix: Ix) -> String {
    let id = match session.entries.flags(ix).has(Flags::LONG_ID) {
        true => id_in(session, ix, &Members::new(line)).into_owned(),
        // Without a look at the line.
        false => String::from_utf8_lossy(&session.entries.id_start(ix)).into_owned(),
    };
    or_line(session, ix, id)
}

fn or_line(session: &Session, ix: Ix, id: String) -> String {
    if id.is_empty() { format!("line:{}", session.entries.line(ix)) } else { id }
}

/// Returns a name as one word of a command line, to be copied into a shell.
pub fn quoted(name: &str) -> String {
    shlex::try_quote(name).map_or_else(|_| name.replace('\0', ""), Cow::into_owned)
}

/// Returns the name of an entry for a row of output that ends with `end`: `name`, or `line:N` if
/// that would be more than one row, or more than one field of it.
pub fn in_row(session: &Session, ix: Ix, name: String, end: char) -> String {
    let breaks = |sign: char| match end {
        '\0' => sign == '\0',
        _ => matches!(sign, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'),
    };
    if name.contains(breaks) { format!("line:{}", session.entries.line(ix)) } else { name }
}

/// The minimum number of bytes of an id that are shown.
pub const SHORT: usize = 8;

/// Shortens ids: to the shortest prefix of at least eight bytes that no other entry has.
#[derive(Default)]
pub struct ShortIds {
    /// The first bytes of long ids that occur more than once, sorted.
    shared: OnceCell<Vec<[u8; 8]>>,
}

impl ShortIds {
    /// Returns the short id of an entry; `line:N` if it has none.
    ///
    /// The first call for a long id costs two passes over the first bytes of all ids; an id that
    /// shares its first eight bytes with another is returned complete.
    pub fn short_id(&self, session: &Session, source: &dyn Source, ix: Ix) -> io::Result<String> {
        let start = session.entries.id_start(ix);
        if start.is_empty() {
            return Ok(format!("line:{}", session.entries.line(ix)));
        }
        if session.entries.flags(ix).has(Flags::LONG_ID) {
            let shared = self.shared.get_or_init(|| shared_starts(session));
            if shared.binary_search_by(|other| other[..].cmp(&start)).is_ok()
                || std::str::from_utf8(&start).is_err()
            {
                return id(session, source, ix);
            }
        }
        Ok(String::from_utf8_lossy(&start).into_owned())
    }
}

fn shared_starts(session: &Session) -> Vec<[u8; 8]> {
    let starts = || session.tree.entries_in_tree().filter_map(|ix| session.entries.first_eight(ix));
    let key = |start: &[u8; 8]| Key(u64::from_le_bytes(*start));
    // Only a few are shared: a bitmap rules out nearly all of them.
    let again = KeySet::repeated(starts().map(|start| key(&start)), session.entries.len());
    let mut doubtful: Vec<[u8; 8]> = starts().filter(|start| again.has(key(start))).collect();
    doubtful.sort_unstable();
    doubtful.chunk_by(|one, next| one == next).filter(|same| same.len() > 1).map(|same| same[0]).collect()
}
