//! With which model Claude Code continues a session, and whose thinking it then sends.
//!
//! It continues with the model of the last reply. Where it no longer offers that one, it takes its
//! default. It sends the thinking of a reply only to the model that it is of; names with and without
//! a day, or with the name of a provider, are those of one model.

/// The model in replies that Claude Code wrote itself.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// The model that Claude Code takes by default. An account or a setting may have another.
const DEFAULT: &str = "claude-opus-5-5";

/// The models that Claude Code no longer continues with, besides those up to 3.7.
const RETIRED: &[&str] = &["opus-4", "opus-4-1", "sonnet-4", "sonnet-4-5"];

/// Returns whether the thinking of a model is sent, given the model of the last reply.
pub(super) fn sends_thinking(model: &str, last: Option<&str>) -> bool {
    if model == SYNTHETIC {
        return true;
    }
    // Other names than Anthropic's are set by the user, and so are still there. Those of Anthropic that
    // are not known are newer.
    let last = last.filter(|last| !last.is_empty() && !is_retired(last)).unwrap_or(DEFAULT);
    short_name(model) == short_name(last)
}

fn is_retired(model: &str) -> bool {
    let short = short_name(model);
    let is_old = || short.starts_with(|first: char| first.is_ascii_digit()) || short.starts_with("instant");
    is_anthropic(model) && (RETIRED.contains(&&*short) || is_old())
}

fn is_anthropic(model: &str) -> bool {
    model.to_ascii_lowercase().contains("claude-")
}

/// Returns what names of one model share: `opus-4-5` for `us.anthropic.claude-opus-4-5-20251101-v1:0`.
fn short_name(model: &str) -> String {
    let lower = model.to_ascii_lowercase();
    let Some((_, rest)) = lower.split_once("claude-") else { return lower };
    let words = rest.split(|c: char| !c.is_ascii_alphanumeric());
    let is_number =
        |word: &&str| matches!(word.len(), 1 | 2) && word.bytes().all(|byte| byte.is_ascii_digit());
    let has_word_first = rest.starts_with(|first: char| first.is_ascii_alphabetic());
    let mut name: Vec<&str> = match has_word_first {
        true => words.clone().take(1).chain(words.skip(1).take_while(is_number)).collect(),
        false => words.clone().take_while(is_number).chain(words.skip_while(is_number).take(1)).collect(),
    };
    // `claude-opus-4-0` is `claude-opus-4`.
    if name.len() > 2 && name.last() == Some(&"0") {
        name.pop();
    }
    name.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose thinking Claude Code 2.1.332 sent, after a last reply of a model.
    #[test]
    #[rustfmt::skip] // a table
    fn thinking_goes_to_its_own_model() {
        for (last, sent, not_sent) in [
            // Models that it continues with, under several names.
            ("claude-opus-5-5",            "claude-opus-5-5 claude-opus-5-5-20260901 us.anthropic.claude-opus-5-5 eu.anthropic.claude-opus-5-5-20260901-v1:0 claude-opus-5-5@20260901 claude-opus-5-5[1m] Claude-Opus-5-5 vertex/claude-opus-5-5 claude-opus-5-5-latest claude-opus-5.5 <synthetic>", "claude-opus-5 claude-sonnet-5-5 opus m"),
            ("claude-opus-5-5-20260901",   "claude-opus-5-5",                      "claude-opus-5"),
            ("us.anthropic.claude-opus-5-5", "claude-opus-5-5",                    "claude-opus-4-6"),
            ("claude-opus-5-5[1m]",        "claude-opus-5-5",                      "claude-sonnet-5"),
            ("CLAUDE-OPUS-5",              "claude-opus-5",                        "claude-opus-5-5"),
            ("claude-opus-4-5-20251101",   "claude-opus-4-5",                      "claude-opus-5-5"),
            ("claude-opus-4-6",            "claude-opus-4-6 <synthetic>",          "claude-opus-5-5"),
            ("claude-opus-4-7",            "claude-opus-4-7",                      "claude-opus-5-5"),
            ("claude-opus-4-8",            "claude-opus-4-8",                      "claude-opus-5-5"),
            ("claude-opus-5",              "claude-opus-5",                        "claude-opus-5-5"),
            ("claude-sonnet-4-6",          "claude-sonnet-4-6",                    "claude-opus-5-5"),
            ("claude-sonnet-5",            "claude-sonnet-5",                      "claude-opus-5-5"),
            ("claude-sonnet-5-5",          "claude-sonnet-5-5",                    "claude-opus-5-5"),
            ("claude-haiku-4-5",           "claude-haiku-4-5 claude-haiku-4-5-20251001", "claude-opus-5-5"),
            ("claude-haiku-4-5-20251001",  "claude-haiku-4-5",                     "claude-opus-5-5"),
            ("claude-haiku-5-5",           "claude-haiku-5-5",                     "claude-opus-5-5"),
            ("claude-fable-5",             "claude-fable-5",                       "claude-opus-5-5"),
            // Models that it no longer continues with.
            ("claude-opus-4",              "claude-opus-5-5",                      "claude-opus-4"),
            ("claude-opus-4-0",            "claude-opus-5-5",                      "claude-opus-4-0"),
            ("claude-opus-4-1",            "claude-opus-5-5",                      "claude-opus-4-1"),
            ("claude-opus-4-1-20250805",   "claude-opus-5-5",                      "claude-opus-4-1-20250805"),
            ("claude-opus-4-20250514",     "claude-opus-5-5",                      "claude-opus-4-20250514"),
            ("claude-sonnet-4",            "claude-opus-5-5",                      "claude-sonnet-4"),
            ("claude-sonnet-4-0",          "claude-opus-5-5",                      "claude-sonnet-4-0"),
            ("claude-sonnet-4-20250514",   "claude-opus-5-5",                      "claude-sonnet-4-20250514"),
            ("claude-sonnet-4-20250514[1m]", "claude-opus-5-5",                    "claude-sonnet-4-20250514[1m]"),
            ("claude-sonnet-4-5",          "claude-opus-5-5 <synthetic>",          "claude-sonnet-4-5"),
            ("claude-sonnet-4-5-20250929", "claude-opus-5-5",                      "claude-sonnet-4-5-20250929"),
            ("claude-3-5-haiku-20241022",  "claude-opus-5-5",                      "claude-3-5-haiku-20241022"),
            ("claude-3-5-sonnet-20241022", "claude-opus-5-5",                      "claude-3-5-sonnet-20241022"),
            ("claude-3-7-sonnet-20250219", "claude-opus-5-5",                      "claude-3-7-sonnet-20250219"),
            ("",                           "claude-opus-5-5",                      "claude-sonnet-5"),
            // Started with the model of that name.
            ("gpt-5",                      "gpt-5 GPT-5",                          "gpt-5-2026 claude-opus-5-5"),
            ("glm-4.6",                    "glm-4.6",                              "glm-4.6[1m]"),
            ("claude-opus-7",              "claude-opus-7 claude-opus-7-20270101", "claude-opus-5-5"),
        ] {
            for model in sent.split(' ') {
                assert!(sends_thinking(model, Some(last)), "{model}, after {last}");
            }
            for model in not_sent.split(' ') {
                assert!(!sends_thinking(model, Some(last)), "{model}, after {last}");
            }
        }
        assert!(sends_thinking("claude-opus-5-5", None) && !sends_thinking("claude-sonnet-5", None));
    }
}
