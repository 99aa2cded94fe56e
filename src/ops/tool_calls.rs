//! The tool call that a result belongs to, as text.

use crate::format::{Content, Session, call_words};
use crate::model::{Flags, Ix, Parent, Source};
use std::collections::VecDeque;

/// How far up the path a call is searched for: results follow their calls closely.
const FAR: usize = 64;

/// How many replies with calls are cached.
const REMEMBERED: usize = 16;

/// Returns whether everything was read that [`ToolCalls::call_text`] needs for `entries`: the calls that their
/// results belong to, or all entries that may contain them. For a session that was read in part,
/// uses the side columns.
pub fn are_known(session: &Session, mut entries: impl Iterator<Item = Ix>) -> bool {
    let Some(side) = session.side.as_ref().filter(|_| session.partial) else { return !session.partial };
    let of = |ix: Ix| {
        let from = side.tools.partition_point(|tool| tool.entry < ix);
        side.tools[from..].iter().take_while(move |tool| tool.entry == ix)
    };
    entries.all(|ix| {
        let Some(wanted) = of(ix).find(|tool| tool.result) else { return true };
        let mut at = ix;
        for _ in 0..FAR {
            match session.tree.link(at) {
                Parent::Entry(above) => at = above,
                Parent::Root => return true,
                Parent::Missing | Parent::Cycle(_) => return false,
            }
            if of(at).any(|tool| !tool.result && tool.id == wanted.id) {
                return true;
            }
        }
        true
    })
}

/// Finds the calls of results, and caches the last replies that it read.
#[derive(Default)]
pub struct ToolCalls {
    read: VecDeque<(Ix, Vec<(String, String)>)>,
}

impl ToolCalls {
    /// Returns the call of the first result in an entry, as text (`bash cargo test`); empty if it
    /// is not found.
    pub fn call_text(
        &mut self,
        session: &Session,
        source: &dyn Source,
        ix: Ix,
        content: &Content<'_>,
    ) -> String {
        self.call(session, source, ix, content).map(|(_, words)| words).unwrap_or_default()
    }

    /// Returns the entry with the call of the first result in an entry, and the call as text.
    pub fn call(
        &mut self,
        session: &Session,
        source: &dyn Source,
        ix: Ix,
        content: &Content<'_>,
    ) -> Option<(Ix, String)> {
        let wanted = content.answers().next()?;
        for above in session.tree.ancestors(ix).skip(1).take(FAR) {
            if !session.entries.flags(above).has(Flags::CALL) {
                continue;
            }
            if let Some((_, words)) = self.calls(session, source, above).iter().find(|(id, _)| id == wanted) {
                return Some((above, words.clone()));
            }
        }
        None
    }

    /// Returns the calls in an entry: their ids, and their descriptions.
    fn calls(&mut self, session: &Session, source: &dyn Source, ix: Ix) -> &[(String, String)] {
        if let Some(at) = self.read.iter().position(|(known, _)| *known == ix) {
            return &self.read[at].1;
        }
        // If the line can't be read, there is no text; the code that prints the entry itself
        // reports the error.
        let line = source.bytes(session.span(ix)).unwrap_or_default();
        let content = Content::read(session.format, &line);
        let calls = content.calls().map(|(id, name, arguments)| (id.to_owned(), call_words(name, arguments)));
        if self.read.len() == REMEMBERED {
            self.read.pop_front();
        }
        self.read.push_back((ix, calls.collect()));
        &self.read.back().expect("one was just put there").1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Builder, Format};
    use crate::json::Reader;
    use std::fmt::Write as _;

    /// Reads lines of pi as the end of a file: `a<b` is a message below `b`, `a<b!c` calls `c`,
    /// `a<b?c` contains its result.
    fn end(lines: &str) -> Session {
        let mut text = String::new();
        for line in lines.split_whitespace() {
            let (id, rest) = line.split_once('<').unwrap_or((line, ""));
            let parent = rest.split(['!', '?']).next().unwrap_or_default();
            let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
            let message = match (rest.split_once('!'), rest.split_once('?')) {
                (Some((_, call)), _) => format!(
                    r#""role":"assistant","content":[{{"type":"toolCall","id":"{call}","name":"ls","arguments":{{}}}}]"#
                ),
                (_, Some((_, call))) => format!(r#""role":"toolResult","toolCallId":"{call}","content":[]"#),
                _ => r#""role":"user","content":"hi""#.into(),
            };
            let _ = writeln!(
                text,
                r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{{message}}}}}"#
            );
        }
        let mut builder = Builder::new(Format::Pi);
        builder.partial();
        builder.side();
        builder.begin_file();
        Reader::new().feed(text.as_bytes(), |line| builder.line(line));
        builder.finish()
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_call_is_known_where_all_was_read_in_which_it_may_be() {
        let check = |lines: &str, wanted: bool| {
            let session = end(lines);
            let last = session.head.leaf.expect("there are entries");
            assert_eq!(are_known(&session, [last].into_iter()), wanted, "{lines}");
        };
        check("a<z b<a",                 true);  // no result
        check("a<z!c b<a?c",             true);
        check("a<z!c b<a!d x<b?c y<x?d", true);
        check("a<z b<a?c",               false); // the call is before the part that was read
        check("a<z!d b<a?c",             false);
        check("a b<a?c",                 true);  // there is none
        let far = (1..FAR).fold("e0<z".to_owned(), |text, at| format!("{text} e{at}<e{}", at - 1));
        check(&format!("{far} r<e{}?c", FAR - 1), true);  // it is not searched for that far up
        check(&format!("{far} r<e{}?c", FAR - 2), false);
    }
}
