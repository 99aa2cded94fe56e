//! Compares what two conversations say, apart from what no format keeps: thoughts, the ids of calls, and
//! how texts of one speaker are cut. Common tools are the same under all their names.

use super::conversation::{Conversation, NO_PROMPT, Part, Speaker, Turn};
use super::original::{hash, hex};
use super::{object, tools};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What is said up to a turn.
#[derive(Clone, Default)]
struct Said {
    /// What the speakers before said.
    before: Sha256,
    /// Who speaks.
    who: Option<u8>,
    /// What is said in the order in which it is said: words, calls and images apart, because formats
    /// differ in which of them come first.
    words: Sha256,
    calls: Sha256,
    images: Sha256,
    /// Results may come in any order.
    results: [u8; 32],
    /// How many calls there were.
    count: usize,
}

impl Said {
    /// Begins to listen to a speaker.
    fn listen(&mut self, who: u8) {
        if self.who == Some(who) {
            return;
        }
        let before = Sha256::new_with_prefix(self.key());
        *self = Said { before, who: Some(who), count: self.count, ..Said::default() };
    }

    fn key(&self) -> [u8; 32] {
        let mut key = self.before.clone();
        if let Some(who) = self.who {
            key.update([who]);
            for part in [&self.words, &self.calls, &self.images] {
                key.update(part.clone().finalize());
            }
            key.update(self.results);
        }
        key.finalize().into()
    }
}

/// Returns a digest of what is said up to each turn. Images count only if `images` is set.
pub(super) fn digests(conversation: &Conversation, images: bool) -> Vec<[u8; 32]> {
    let turns = &conversation.turns;
    let mut out: Vec<Said> = Vec::with_capacity(turns.len());
    // The number of each call, counted on its path.
    let mut numbers: Vec<usize> = Vec::with_capacity(turns.len());
    for turn in turns {
        let mut said = turn.parent.map(|parent| out[parent].clone()).unwrap_or_default();
        numbers.push(said.count);
        let is_first = said.who.is_none();
        match &turn.speaker {
            Speaker::Tool { call, .. } => {
                let mut result = Sha256::new();
                result.update(format!("{:?}", number_of(turns, &numbers, turn.parent, call)));
                say(&turn.parts, images, &mut result);
                said.listen(b't');
                let result: [u8; 32] = result.finalize().into();
                said.results.iter_mut().zip(result).for_each(|(all, one)| *all ^= one);
            }
            speaker => {
                let who = if *speaker == Speaker::User { b'u' } else { b'm' };
                for part in &turn.parts {
                    match part {
                        Part::Text(text) if text.trim().is_empty() => {}
                        // Claude Code needs a prompt before the first reply.
                        Part::Text(text) if is_first && text == NO_PROMPT => {}
                        Part::Text(_) => {
                            said.listen(who);
                            say(std::slice::from_ref(part), images, &mut said.words);
                        }
                        Part::Image { .. } if images => {
                            said.listen(who);
                            say(std::slice::from_ref(part), images, &mut said.images);
                        }
                        Part::Call { name, arguments, .. } => {
                            said.listen(who);
                            said.count += 1;
                            let name = tools::common(name).unwrap_or(name);
                            said.calls.update(format!("{}:{name}", name.len()));
                            match serde_json::from_str::<Value>(&object(arguments)) {
                                Ok(value) => hash("", &value, &mut said.calls),
                                Err(_) => said.calls.update(arguments),
                            }
                        }
                        Part::Thinking(_) | Part::Image { .. } => {}
                    }
                }
            }
        }
        out.push(said);
    }
    out.iter().map(Said::key).collect()
}

/// Returns the last turn of each branch.
pub(super) fn leaves(conversation: &Conversation) -> Vec<usize> {
    let mut has_next = vec![false; conversation.turns.len()];
    conversation.turns.iter().filter_map(|turn| turn.parent).for_each(|parent| has_next[parent] = true);
    (0..has_next.len()).filter(|at| !has_next[*at]).collect()
}

/// Adds words and images.
fn say(parts: &[Part], images: bool, into: &mut Sha256) {
    for part in parts {
        match part {
            Part::Text(text) => {
                for word in text.split_whitespace() {
                    into.update(word);
                    into.update(b" ");
                }
            }
            Part::Image { data, .. } if images => into.update(hex(&Sha256::digest(data))),
            _ => {}
        }
    }
}

/// Returns which call on the path a result answers, counted from the first.
fn number_of(turns: &[Turn], numbers: &[usize], from: Option<usize>, call: &str) -> Option<usize> {
    let mut at = from;
    while let Some(above) = at {
        let calls = turns[above].parts.iter().filter_map(|part| match part {
            Part::Call { id, .. } => Some(id.as_str()),
            _ => None,
        });
        if let Some(found) = calls.collect::<Vec<_>>().iter().rposition(|known| *known == call) {
            return Some(numbers[above] + found);
        }
        at = turns[above].parent;
    }
    None
}
