//! How many tokens a reply used, as each agent writes it.

use crate::json::{each_raw_member, member};

/// The usage of a reply.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Usage {
    /// Tokens sent, without those below.
    pub input: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_write: u64,
    /// How many of these were written for an hour, if that is stored.
    pub cache_write_1h: u64,
    /// The cost in dollars; `None` if it is not known.
    pub cost: Option<f64>,
}

impl Usage {
    /// Reads the stored usage: JSON, in the spelling of any of the agents.
    pub fn parse(stored: &[u8]) -> Usage {
        let number = |value: &[u8]| std::str::from_utf8(value).ok()?.parse::<f64>().ok();
        let mut usage = Usage::default();
        let (mut is_within, mut thoughts) = (false, 0);
        for (key, value) in each_raw_member(stored) {
            let tokens = || match value {
                // Nearly all are small integers.
                [b'0'..=b'9', ..] if value.len() <= 15 && value.iter().all(u8::is_ascii_digit) => {
                    value.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
                }
                _ => number(value).unwrap_or(0.0) as u64,
            };
            match &*key.resolved() {
                b"input" | b"input_tokens" | b"inputTokens" => usage.input = tokens(),
                b"output" | b"output_tokens" | b"outputTokens" => usage.output = tokens(),
                b"cacheRead" | b"cache_read_input_tokens" => usage.cache_read = tokens(),
                b"cacheWrite" | b"cache_creation_input_tokens" => usage.cache_write = tokens(),
                // Codex, Gemini and Copilot: the input contains what was cached.
                b"cached_input_tokens" | b"cached" | b"cacheReadTokens" => {
                    (usage.cache_read, is_within) = (tokens(), true);
                }
                b"cache_write_input_tokens" | b"cacheWriteTokens" => {
                    (usage.cache_write, is_within) = (tokens(), true);
                }
                // Gemini: not part of the output.
                b"thoughts" => thoughts = tokens(),
                // OpenCode: the tokens of a reply, beside its cost.
                b"tokens" if value.starts_with(b"{") => {
                    let tokens = Usage::parse(value);
                    usage = Usage { cost: number(member(stored, "cost").unwrap_or_default()), ..tokens };
                }
                b"reasoning" if member(stored, "cache").is_some() => thoughts = tokens(),
                b"cache" => {
                    let tokens = |key| member(value, key).and_then(number).unwrap_or(0.0) as u64;
                    (usage.cache_read, usage.cache_write) = (tokens("read"), tokens("write"));
                }
                b"cacheWrite1h" => usage.cache_write_1h = tokens(),
                b"cache_creation" => {
                    let hour = member(value, "ephemeral_1h_input_tokens");
                    usage.cache_write_1h = hour.and_then(number).unwrap_or(0.0) as u64;
                }
                b"cost" if value.starts_with(b"{") => {
                    let total = member(value, "total");
                    usage.cost = total.and_then(number).filter(|cost| cost.is_finite());
                }
                _ => {}
            }
        }
        if is_within {
            usage.input = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        }
        usage.output = usage.output.saturating_add(thoughts);
        usage
    }

    /// Returns the tokens that were sent, cached or not.
    pub fn sent(&self) -> u64 {
        [self.input, self.cache_read, self.cache_write].into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the sum of all tokens.
    pub fn tokens(&self) -> u64 {
        self.sent().saturating_add(self.output)
    }

    /// Adds another usage.
    pub fn add(&mut self, other: &Usage) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.cache_write_1h, other.cache_write_1h);
        // A cost that is too large for any number is left out.
        if let Some(more) = other.cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + more).filter(|cost| cost.is_finite()).or(self.cost);
        }
    }
}
