//! Templates of `log --format`: text with placeholders, as in git.

use super::render::View;
use super::time;
use crate::json;
use crate::model::Ix;
use crate::ui::text;
use std::io;

/// The table of placeholders, as the help shows it.
pub(crate) const HELP: &str = "\
%H %h id, short id · %P %p parent's id, short id · %T type · %r role · %s one-line summary · %b whole text ·
%d names (HEAD, label) · %ad %ar date, age · %m model · %ti %tr %tw %to tokens in, read from
the cache, written to it, out ·
%n newline · %x00 a NUL byte · %% a percent sign";

/// A template, ready to be filled in.
pub(crate) struct Template(Vec<Part>);

#[derive(Clone)]
enum Part {
    Text(String),
    Character(char),
    Id,
    ShortId,
    Parent,
    ShortParent,
    Type,
    Role,
    Summary,
    Body,
    Names,
    Date,
    Age,
    Model,
    In,
    CacheRead,
    CacheWrite,
    Out,
}

/// The placeholders, longer ones before shorter ones that are their prefixes.
const KNOWN: &[(&str, Part)] = &[
    ("H", Part::Id),
    ("h", Part::ShortId),
    ("P", Part::Parent),
    ("p", Part::ShortParent),
    ("T", Part::Type),
    ("r", Part::Role),
    ("s", Part::Summary),
    ("b", Part::Body),
    ("d", Part::Names),
    ("ad", Part::Date),
    ("ar", Part::Age),
    ("m", Part::Model),
    ("ti", Part::In),
    ("tr", Part::CacheRead),
    ("tw", Part::CacheWrite),
    ("to", Part::Out),
    ("n", Part::Character('\n')),
    ("x00", Part::Character('\0')),
    ("%", Part::Character('%')),
];

impl Template {
    /// Parses a template. An unknown placeholder is kept as it is.
    pub(crate) fn new(text: &str) -> Template {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            match KNOWN.iter().find(|(name, _)| rest.starts_with(name)) {
                Some((name, part)) => {
                    rest = &rest[name.len()..];
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(part.clone());
                }
                None => plain.push('%'),
            }
        }
        plain.push_str(rest);
        parts.push(Part::Text(plain));
        Template(parts)
    }

    /// Returns whether the template needs anything that only the line contains; if not, no line is
    /// read.
    fn wants_the_line(&self) -> bool {
        self.0.iter().any(|part| {
            !matches!(
                part,
                Part::Text(_)
                    | Part::Character(_)
                    | Part::Id
                    | Part::ShortId
                    | Part::Type
                    | Part::Names
                    | Part::Date
                    | Part::Age
            )
        })
    }

    /// Fills in the template for an entry.
    pub(crate) fn fill(&self, view: &mut View<'_>, ix: Ix) -> io::Result<String> {
        let line = if self.wants_the_line() { view.line(ix)? } else { Vec::new() };
        let content = view.content(&line);
        let usage = content.usage();
        let entries = &view.session.entries;
        let mut out = String::new();
        for part in &self.0 {
            let before = out.len();
            match part {
                Part::Text(text) => {
                    out += text;
                    continue;
                }
                Part::Character(character) => {
                    out.push(*character);
                    continue;
                }
                Part::Id => out += &view.id(ix)?,
                Part::ShortId => out += &view.short_id(ix)?,
                Part::Parent | Part::ShortParent => {
                    let stored = json::text(&line, view.session.format.names().parent);
                    match (part, view.session.tree.parent(ix)) {
                        (Part::ShortParent, Some(parent)) => out += &view.short_id(parent)?,
                        (_, Some(parent)) if stored.is_empty() => out += &view.id(parent)?,
                        _ => out += &stored,
                    }
                }
                Part::Type => out += entries.ty(ix),
                Part::Role if content.role.is_empty() => out += entries.kind(ix).name(),
                Part::Role => out += &content.role,
                Part::Summary => out += &view.summary_of(ix, &content),
                Part::Body => out += &content.text,
                Part::Names => {
                    let names: Vec<String> = view.names(ix).into_iter().map(|(_, name)| name).collect();
                    if !names.is_empty() {
                        out += &format!(" ({})", names.join(", "));
                    }
                }
                Part::Date => out += &time::date(entries.time(ix)),
                Part::Age => out += &time::age(entries.time(ix), view.now),
                Part::Model => out += content.model.as_deref().unwrap_or_default(),
                Part::In => {
                    out += &usage.map(|usage| usage.input.to_string()).unwrap_or_default();
                }
                Part::CacheRead => {
                    out += &usage.map(|usage| usage.cache_read.to_string()).unwrap_or_default();
                }
                Part::CacheWrite => {
                    out += &usage.map(|usage| usage.cache_write.to_string()).unwrap_or_default();
                }
                Part::Out => out += &usage.map(|usage| usage.output.to_string()).unwrap_or_default(),
            }
            // Text from the session is made safe; the user's own text is not changed.
            let safe = text::safe(&out[before..]);
            out.replace_range(before.., &safe);
        }
        Ok(out)
    }
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Template({})", self.0.len())
    }
}
