//! The new file: the old lines, and what is new after them.

use super::labels::Labeled;
use super::{Back, Line};
use crate::format::Format;
use crate::format::claude::write::pin;
use crate::json::{Edits, string_of};
use crate::model::{Ix, Time};
use crate::ops::convert::original::split;
use crate::ops::convert::{Writer, pi};
use std::collections::HashMap;
use std::io;

impl Back<'_> {
    /// Returns the new file: the old lines, and what comes after them.
    pub(super) fn file(
        &self,
        lines: &[Line],
        tail: &[u8],
        title: Option<&str>,
        new_id: Option<&str>,
    ) -> io::Result<Vec<u8>> {
        let old = self.old.session;
        let names = old.format.names();
        let mut parents: HashMap<usize, Vec<u8>> = HashMap::new();
        if lines.contains(&Line::Drop) {
            let line_of = |ix: Ix| old.entries.line(ix) as usize - 1;
            for ix in old.tree.entries_in_tree() {
                let Some(parent) = old.tree.parent(ix) else { continue };
                if lines[line_of(parent)] != Line::Drop || lines[line_of(ix)] == Line::Drop {
                    continue;
                }
                let above = old.tree.ancestors(parent).find(|above| lines[line_of(*above)] != Line::Drop);
                let id = above.map(|above| self.old.raw_id(above)).transpose()?;
                parents.insert(line_of(ix), id.unwrap_or_else(|| b"null".to_vec()));
            }
        }
        let header = old.header.as_ref().map(|header| header.line as usize - 1);
        let mut out = Vec::with_capacity(self.original.bytes.len() + tail.len());
        for (at, line) in split(&self.original.bytes).enumerate() {
            let mut line = match &lines[at] {
                Line::Drop => continue,
                Line::Keep => line.to_vec(),
                Line::Replace(new) => new.clone(),
            };
            let mut set = |key: &str, value: &[u8], is_wanted: &dyn Fn(&[u8]) -> bool| {
                if let Some(mut edits) = Edits::begin(&line).filter(|_| is_wanted(&line)) {
                    edits.set(key, value);
                    line = edits.apply();
                }
            };
            if let Some(parent) = parents.get(&at) {
                set(names.parent, parent, &|_| true);
            }
            if let Some(id) = new_id {
                let id = old.format.quoted(id);
                match old.format {
                    Format::Claude => {
                        for key in ["sessionId", "session_id"] {
                            set(key, &id, &|line| string_of(line, key) == old.id());
                        }
                    }
                    Format::Pi | Format::Omp if header == Some(at) => set("id", &id, &|_| true),
                    _ => {}
                }
            }
            out.extend(line);
            out.push(b'\n');
        }
        if !self.original.bytes.ends_with(b"\n") && tail.is_empty() && lines.last() == Some(&Line::Keep) {
            out.pop();
        }
        if let (Some(title), Format::Omp) = (title, old.format) {
            let first = split(&self.original.bytes).next().unwrap_or_default();
            let has_slot = string_of(first, "type").as_deref() == Some("title");
            let end = if has_slot { first.len() + 1 } else { 0 };
            out.splice(..end, pi::slot(title, Time(self.newest())));
        }
        out.extend_from_slice(tail);
        Ok(out)
    }

    /// Returns the time of the newest entry of the session.
    fn newest(&self) -> i64 {
        let entries = &self.whole.session.entries;
        entries.all().map(|ix| entries.time(ix).0).max().unwrap_or_default()
    }

    /// Writes what comes after the new turns: the name, labels, and where HEAD is.
    pub(super) fn ending(
        &self,
        writer: &mut Writer<'_>,
        is_longer: bool,
        is_moved: bool,
        labels: &[(Labeled, Option<String>)],
        name: Option<&str>,
    ) -> io::Result<()> {
        let old = self.old.session;
        let head = writer.head();
        if !is_longer {
            writer.end = old.head.leaf.map(|leaf| self.old.id(leaf)).transpose()?;
        }
        let is_claude = old.format == Format::Claude;
        if !is_claude && (is_longer || is_moved) && writer.end != head {
            writer.marker(head.clone());
        }
        match (old.format, name) {
            (Format::Pi, Some(name)) => pi::name(writer, name),
            (Format::Claude, Some(_)) => crate::ops::convert::claude::name(writer, name),
            _ => {}
        }
        for (target, label) in labels {
            let target = match target {
                Labeled::Entry(ix) => Some(self.old.id(*ix)?),
                Labeled::Turn(at) => writer.ids[*at].clone(),
            };
            if let Some(target) = target {
                writer.label(&target, label.as_deref());
            }
        }
        if is_claude && (is_longer || is_moved) {
            let prompt = writer.last_prompt();
            let head = head.map(|head| Format::Claude.quoted(&head));
            let pin = pin(prompt.as_deref(), head.as_deref(), Some(&writer.options.session));
            writer.out.extend(pin);
        }
        Ok(())
    }
}
