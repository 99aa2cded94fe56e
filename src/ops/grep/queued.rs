//! Prompts that were typed while the agent worked, and that the transcript contains only as a line
//! of the input queue.
//!
//! Claude Code writes `{"type":"queue-operation","operation":"enqueue","content":…}` for such a
//! prompt. Newer versions then write an entry with the same text: a prompt, or an attachment
//! `queued_command`. Older ones wrote none if the prompt became part of the running turn.

use crate::format::{Content, Format};
use crate::json::{member, string, text};

/// A prompt in the input queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queued {
    /// The offset of its line in the file.
    pub offset: u64,
    /// The text.
    pub text: String,
}

/// The prompts in the input queue for which there was no entry so far.
#[derive(Default, Debug)]
pub struct Queue {
    waiting: Vec<Queued>,
}

impl Queue {
    /// Processes the next line of a session of Claude Code. Lines that have no text in common with
    /// the search may be left out.
    pub fn line(&mut self, offset: u64, line: &[u8]) {
        match &*text(line, "type") {
            "queue-operation" if text(line, "operation") == "enqueue" => {
                let content = member(line, "content").and_then(string).unwrap_or_default();
                if !content.trim().is_empty() {
                    self.waiting.push(Queued { offset, text: content.into_owned() });
                }
            }
            "user" | "attachment" if !self.waiting.is_empty() => {
                let said = Content::read(Format::Claude, line).text;
                // One entry may contain several prompts. Of two equal ones, an entry matches one.
                let mut taken: Vec<String> = Vec::new();
                self.waiting.retain(|queued| {
                    let prompt = queued.text.trim();
                    if taken.iter().any(|taken| taken == prompt) || !has_lines(&said, prompt) {
                        return true;
                    }
                    taken.push(prompt.to_owned());
                    false
                });
            }
            _ => {}
        }
    }

    /// Whether there is a prompt for which no entry was met yet.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the prompts that are in no entry, in file order.
    pub fn left(self) -> Vec<Queued> {
        self.waiting
    }
}

/// Returns whether a text contains another as whole lines.
fn has_lines(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        let begins = before.rsplit('\n').next().unwrap_or_default().trim().is_empty();
        let ends = after.split('\n').next().unwrap_or_default().trim().is_empty();
        begins && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(lines: &[&str]) -> Vec<(u64, String)> {
        let mut queue = Queue::default();
        for (at, line) in lines.iter().enumerate() {
            queue.line(at as u64, line.as_bytes());
        }
        queue.left().into_iter().map(|queued| (queued.offset, queued.text)).collect()
    }

    #[test]
    #[rustfmt::skip] // a table
    fn a_prompt_is_left_if_no_later_entry_has_it() {
        let check = |lines: &[&str], wanted: &[u64]| {
            let found: Vec<u64> = left(lines).into_iter().map(|(at, _)| at).collect();
            assert_eq!(found, wanted, "{lines:?}");
        };
        let queued = r#"{"type":"queue-operation","operation":"enqueue","content":"go \u006fn"}"#;
        let other = r#"{"type":"queue-operation","operation":"enqueue","content":"stop"}"#;
        let user = r#"{"type":"user","uuid":"u","message":{"role":"user","content":"go on"}}"#;
        let both = r#"{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"text","text":" go on\nstop\n"}]}}"#;
        let longer = r#"{"type":"user","uuid":"u","message":{"role":"user","content":"go on now"}}"#;
        let attached = r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"go on"}],"commandMode":"prompt"}}"#;
        check(&[queued],                         &[0]);
        check(&[queued, user],                   &[]);
        check(&[queued, attached],               &[]);
        check(&[queued, other, both],            &[]);
        check(&[queued, other, attached],        &[1]);
        check(&[queued, queued, attached],       &[1]);    // typed twice, sent once
        check(&[user, queued],                   &[1]);    // the same prompt before does not count
        check(&[queued, longer],                 &[0]);
        check(&[r#"{"type":"queue-operation","operation":"remove","content":"go on"}"#],    &[]);
        check(&[r#"{"type":"queue-operation","operation":"enqueue"}"#],                     &[]);
        check(&[r#"{"type":"queue-operation","operation":"enqueue","content":[1]}"#],       &[]);
    }
}
