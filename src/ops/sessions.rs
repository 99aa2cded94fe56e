//! `bough sessions`: a session as one row of a list.

use super::branches;
use super::revision;
use crate::format::{Content, Format, Session};
use crate::json::{member, string_of};
use crate::model::{Ix, Source};
use std::io;

/// The data of a session in a list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Its id.
    pub id: Option<String>,
    /// The current name or title.
    pub name: Option<String>,
    /// The first prompt, shortened.
    pub prompt: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The session, or its file, that it was forked from or continues.
    pub parent: Option<String>,
    /// The counts; `None` if only the ends of the file were read.
    pub counts: Option<Counts>,
}

impl Summary {
    /// Returns the name, or else the first prompt; empty if there is neither.
    pub fn title(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.trim().is_empty());
        name.or(self.prompt.as_deref()).unwrap_or_default()
    }
}

/// The counts of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// The number of entries.
    pub entries: usize,
    /// The number of branches.
    pub branches: usize,
    /// The number of faults.
    pub faults: usize,
}

/// Summarizes a session. Reads the line of its first prompt.
pub fn summary(session: &Session, source: &dyn Source) -> io::Result<Summary> {
    let mut line = Vec::new();
    let header = session.header.as_ref();
    let mut summary = Summary {
        id: session.id(),
        name: session.name.clone(),
        cwd: header.and_then(|header| header.cwd.clone()).or_else(|| session.claude.cwd.clone()),
        parent: header.and_then(|header| header.parent.clone()),
        ..Summary::default()
    };
    let first = |wanted: &dyn Fn(Ix) -> bool| session.tree.entries_in_tree().find(|ix| wanted(*ix));
    if session.format == Format::Claude {
        // The copied entries of a fork name the session that they were copied from.
        if let Some(entry) = first(&|_| true) {
            source.read(session.span(entry), &mut line)?;
            let from = member(&line, "forkedFrom").and_then(|from| string_of(from, "sessionId"));
            summary.parent = from.filter(|session| !session.is_empty());
        }
        summary.prompt = session.claude.first_prompt.clone();
    } else if let Some(entry) = first(&|ix| revision::is_prompt(session, ix)) {
        source.read(session.span(entry), &mut line)?;
        summary.prompt = Some(Content::read(session.format, &line).summary());
    }
    if !session.partial {
        summary.counts = Some(Counts {
            entries: session.tree.entries_in_tree().count(),
            branches: branches::count(session, source)?,
            faults: session.faults.len(),
        });
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;

    #[test]
    fn a_session_is_told_in_short() {
        let file = concat!(
            r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w","parentSession":"/s/old.jsonl"}"#,
            "\n",
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one\n two"}}"#,
            "\n",
            r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":"x"}}"#,
            "\n",
            r#"{"type":"message","id":"c","parentId":"a","message":{"role":"assistant","content":"y"}}"#,
            "\n",
            "torn\n",
        );
        let session = Session::read(file.as_bytes()).unwrap();
        let found = summary(&session, &Table(vec![file.into()])).unwrap();
        let wanted = Summary {
            id: Some("s1".into()),
            name: None,
            prompt: Some("one two".into()),
            cwd: Some("/w".into()),
            parent: Some("/s/old.jsonl".into()),
            counts: Some(Counts { entries: 3, branches: 2, faults: 1 }),
        };
        assert_eq!(found, wanted);
    }
}
