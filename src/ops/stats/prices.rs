//! The prices of tokens, from the user's own list: a pattern of model names, and dollars per
//! million tokens.

use crate::format::Usage;

/// Dollars per million tokens. A missing price is not known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Price {
    /// Tokens that were sent uncached.
    pub input: Option<f64>,
    /// Tokens of replies.
    pub output: Option<f64>,
    /// Tokens read from the cache.
    pub cache_read: Option<f64>,
    /// Tokens written to the cache for five minutes.
    pub cache_write_5m: Option<f64>,
    /// Tokens written to the cache for an hour.
    pub cache_write_1h: Option<f64>,
}

impl Price {
    /// Returns the cost of a reply, or `None` if it used a kind of tokens without a price.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let hour = usage.cache_write_1h.min(usage.cache_write);
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write - hour, self.cache_write_5m),
            (hour, self.cache_write_1h),
        ];
        let mut cost = 0.0;
        for (tokens, price) in parts.into_iter().filter(|(tokens, _)| *tokens > 0) {
            cost += tokens as f64 * price? / 1e6;
        }
        Some(cost)
    }
}

/// Prices by patterns of model names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Prices {
    /// The longest pattern first, because it is the most specific.
    rows: Vec<(String, Price)>,
}

impl Prices {
    /// Creates a list of prices. In a pattern, `*` matches any text.
    pub fn new(rows: impl IntoIterator<Item = (String, Price)>) -> Prices {
        let mut rows: Vec<(String, Price)> = rows.into_iter().collect();
        rows.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        Prices { rows }
    }

    /// Returns the price of a model, whose name may begin with its provider:
    /// `anthropic/claude-opus-4-5`.
    pub fn price(&self, model: &str) -> Option<&Price> {
        let bare = model.split_once('/').map_or(model, |(_, bare)| bare);
        let fits = |pattern: &str| matches(pattern, model) || matches(pattern, bare);
        self.rows.iter().find(|(pattern, _)| fits(pattern)).map(|(_, price)| price)
    }

    /// Returns the cost of a reply of a model.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        self.price(model)?.cost(usage)
    }
}

/// Returns whether a name matches a pattern.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn patterns_fit_names() {
        for (pattern, name, fits) in [
            ("m",        "m",          true),
            ("m",        "m2",         false),
            ("m*",       "m2",         true),
            ("*m",       "2m",         true),
            ("*",        "",           true),
            ("a*b*c",    "a1b2c",      true),
            ("a*b*c",    "abbc",       true),
            ("a*b*c",    "acb",        false),
            ("a*bc",     "abc",        true),
            ("ab*bc",    "abc",        false), // no letter serves twice
            ("é*",       "éa",         true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn the_longest_pattern_counts_and_the_provider_may_be_left_out() {
        let price = |input| Price { input: Some(input), ..Price::default() };
        let rows = [("*", 1.0), ("claude-*", 2.0), ("anthropic/claude-*", 3.0)];
        let prices = Prices::new(rows.map(|(pattern, input)| (pattern.to_owned(), price(input))));
        let input = |model| prices.price(model).and_then(|price| price.input);
        assert_eq!(input("other"), Some(1.0));
        assert_eq!(input("claude-x"), Some(2.0));
        assert_eq!(input("amazon/claude-x"), Some(2.0));
        assert_eq!(input("anthropic/claude-x"), Some(3.0));
        assert_eq!(Prices::default().price("claude-x"), None);
    }

    #[test]
    fn each_sort_of_token_has_its_price() {
        let price = Price {
            input: Some(1.0),
            output: Some(10.0),
            cache_read: Some(100.0),
            cache_write_5m: Some(1000.0),
            cache_write_1h: Some(10_000.0),
        };
        let usage = Usage {
            input: 1_000_000,
            output: 2_000_000,
            cache_read: 3_000_000,
            cache_write: 9_000_000,
            cache_write_1h: 5_000_000,
            cost: None,
        };
        assert_eq!(price.cost(&usage), Some(1.0 + 20.0 + 300.0 + 4000.0 + 50_000.0));
        // A kind of tokens that was not used needs no price; one that was used does.
        let only_input = Usage { input: 500_000, ..Usage::default() };
        assert_eq!(Price { input: Some(3.0), ..Price::default() }.cost(&only_input), Some(1.5));
        assert_eq!(Price { cache_write_1h: None, ..price }.cost(&usage), None);
        assert_eq!(Price::default().cost(&Usage::default()), Some(0.0));
    }
}
