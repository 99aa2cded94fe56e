//! Builds the lines that bough writes (labels, markers, copies), spelled as the agents spell them.

use super::Format;
use crate::json::{Escapes, quoted, write_string};
use crate::model::Time;

/// The fields that every new entry needs. Ids of existing entries are JSON, as they are in the
/// file: a number stays a number, an escape an escape.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Its id.
    pub id: &'a str,
    /// The id of its parent; `None` makes a root.
    pub parent: Option<&'a [u8]>,
    /// Its time.
    pub now: Time,
}

/// An object that is being written: members in order, in the spelling of one program.
pub struct Object {
    bytes: Vec<u8>,
    escapes: Escapes,
}

impl Object {
    /// Starts an object in the spelling of `format`'s program: compact like JavaScript, or with
    /// spaces and only ASCII like Python.
    pub fn begin(format: Format) -> Object {
        Object { bytes: vec![b'{'], escapes: format.escapes() }
    }

    /// Adds a member whose value is JSON text.
    pub fn raw(mut self, key: &str, value: &[u8]) -> Object {
        let python = self.escapes == Escapes::Ascii;
        if self.bytes.len() > 1 {
            self.bytes.extend_from_slice(if python { b", " } else { b"," });
        }
        write_string(key, self.escapes, &mut self.bytes);
        self.bytes.extend_from_slice(if python { b": " } else { b":" });
        self.bytes.extend_from_slice(value);
        self
    }

    /// Adds a member whose value is a string.
    pub fn text(self, key: &str, value: &str) -> Object {
        let value = quoted(value, self.escapes);
        self.raw(key, &value)
    }

    /// Adds a member whose value is the id of another entry, as JSON, or `null`.
    pub fn id(self, key: &str, id: Option<&[u8]>) -> Object {
        self.raw(key, id.unwrap_or(b"null"))
    }

    /// Returns the object, without a line ending.
    pub fn end(mut self) -> Vec<u8> {
        self.bytes.push(b'}');
        self.bytes
    }

    /// Returns the object as a whole line.
    pub fn line(self) -> Vec<u8> {
        let mut bytes = self.end();
        bytes.push(b'\n');
        bytes
    }
}

impl Format {
    /// Returns how the format's program spells strings.
    pub fn escapes(self) -> Escapes {
        if self == Format::Chimera { Escapes::Ascii } else { Escapes::Needed }
    }

    /// Returns a text as JSON, in the spelling of the format's program.
    pub fn quoted(self, text: &str) -> Vec<u8> {
        quoted(text, self.escapes())
    }
}
