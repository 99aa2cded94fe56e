//! Rows of `--json`. Each is a type, and `docs/schema` is generated from the types.

use crate::model::Kind;
use crate::ui::Ui;
use serde::{Serialize, Serializer};
use std::io;

/// Returns a row as JSON, on one line without its end.
pub(crate) fn to_json(row: &impl Serialize) -> String {
    serde_json::to_string(row).expect("the keys of a row are texts")
}

/// Prints a row on a line of its own.
pub(crate) fn print(row: &impl Serialize, ui: &mut Ui) -> io::Result<()> {
    writeln!(ui.out(), "{}", to_json(row))
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod schema;
