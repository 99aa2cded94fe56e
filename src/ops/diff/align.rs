//! Aligning the items of two sides.

use super::Item;
use crate::model::Key;
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// A step of the alignment of two sides; the numbers are indexes into the lists of the sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Both have the same content.
    Same(usize, usize),
    /// Both have the same place or id, but different content.
    Changed(usize, usize),
    /// Only the first side has it.
    OnlyA(usize),
    /// Only the second side has it.
    OnlyB(usize),
}

impl Step {
    /// Returns whether the sides differ in it.
    pub fn differs(self) -> bool {
        !matches!(self, Step::Same(..))
    }
}

/// Aligns the items of two sides.
///
/// By id, then by content, each in an order that both sides share; then, between two aligned pairs,
/// by turn and kind. Costs O(n log n). Swapping the sides swaps the steps.
pub fn align(a: &[Item], b: &[Item]) -> Vec<Step> {
    if a.is_empty() || b.is_empty() {
        return steps(a, b, Vec::new());
    }
    // If several alignments are equally good, the choice must not depend on which side comes first.
    let weigh = |items: &[Item]| -> Vec<u64> { items.iter().map(|item| item.says).collect() };
    if (b.len(), weigh(b)) < (a.len(), weigh(a)) {
        let turned = pairs(b, a).into_iter().map(|(one, two)| (two, one)).collect();
        return steps(a, b, turned);
    }
    let pairs = pairs(a, b);
    steps(a, b, pairs)
}

/// Returns the pairs of matching items, in the order of both sides.
fn pairs(a: &[Item], b: &[Item]) -> Vec<(usize, usize)> {
    let mut pairs = anchors(a, b, (0..a.len(), 0..b.len()), true);
    pairs = filled(pairs, a, b, |gap| anchors(a, b, gap, false));
    filled(pairs, a, b, |gap| by_place(a, b, gap))
}

/// A range of each side.
type Gap = (Range<usize>, Range<usize>);

/// Adds the pairs that `fill` finds between the known ones.
fn filled(
    known: Vec<(usize, usize)>,
    a: &[Item],
    b: &[Item],
    mut fill: impl FnMut(Gap) -> Vec<(usize, usize)>,
) -> Vec<(usize, usize)> {
    let mut out = Vec::with_capacity(known.len());
    let (mut from_a, mut from_b) = (0, 0);
    for (at_a, at_b) in known.into_iter().chain([(a.len(), b.len())]) {
        if from_a < at_a && from_b < at_b {
            out.extend(fill((from_a..at_a, from_b..at_b)));
        }
        if at_a < a.len() {
            out.push((at_a, at_b));
        }
        (from_a, from_b) = (at_a + 1, at_b + 1);
    }
    out
}

/// What identifies an item: its id if the other side has that, too, or else its content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Token {
    Id(Key),
    Says(u64),
}

/// Returns pairs of items with the same token, in an order that both sides share.
///
/// With `unique`, only of tokens that occur once on each side, which yields certain pairs;
/// otherwise the first such item of one side is paired with the first of the other, and so on.
fn anchors(a: &[Item], b: &[Item], (in_a, in_b): Gap, unique: bool) -> Vec<(usize, usize)> {
    let ids = |items: &[Item]| -> HashMap<Key, u32> {
        let mut ids = HashMap::new();
        for item in items.iter().filter(|item| item.key.is_some()) {
            *ids.entry(item.key).or_default() += 1;
        }
        ids
    };
    let (ids_a, ids_b) = (ids(&a[in_a.clone()]), ids(&b[in_b.clone()]));
    let token = |item: &Item| {
        let once = |ids: &HashMap<Key, u32>| ids.get(&item.key) == Some(&1);
        if once(&ids_a) && once(&ids_b) { Token::Id(item.key) } else { Token::Says(item.says) }
    };
    let mut places: HashMap<Token, Vec<usize>> = HashMap::new();
    for at in in_b {
        places.entry(token(&b[at])).or_default().push(at);
    }
    let mut met: HashMap<Token, Vec<usize>> = HashMap::new();
    for at in in_a {
        met.entry(token(&a[at])).or_default().push(at);
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (token, in_a) in met {
        let Some(in_b) = places.get(&token) else { continue };
        if !unique || in_a.len() == 1 && in_b.len() == 1 {
            found.extend(in_a.into_iter().zip(in_b.iter().copied()));
        }
    }
    found.sort_unstable();
    longest_rising(&found)
}

/// Returns the longest subsequence of pairs, sorted by their first number, in which the second
/// number rises, too.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best subsequence of each length, and for each pair the one before it.
    let (mut ends, mut before): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::with_capacity(pairs.len()));
    for (at, (_, second)) in pairs.iter().enumerate() {
        let place = ends.partition_point(|end| pairs[*end].1 < *second);
        before.push(if place > 0 { ends[place - 1] } else { usize::MAX });
        if place == ends.len() {
            ends.push(at);
        } else {
            ends[place] = at;
        }
    }
    let mut out = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        out.push(pairs[at]);
        at = before[at];
    }
    out.reverse();
    out
}

/// Pairs by turn, and in each turn by kind.
fn by_place(a: &[Item], b: &[Item], (in_a, in_b): Gap) -> Vec<(usize, usize)> {
    let turns = |items: &[Item], within: Range<usize>| -> Vec<Range<usize>> {
        let mut starts = vec![within.start];
        starts.extend(within.clone().skip(1).filter(|at| items[*at].sort.begins_turn()));
        starts.push(within.end);
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    };
    let (mut turns_a, mut turns_b) = (turns(a, in_a), turns(b, in_b));
    // Items before the first prompt are paired with those on the other side.
    let begins = |items: &[Item], turns: &[Range<usize>]| items[turns[0].start].sort.begins_turn();
    match (begins(a, &turns_a), begins(b, &turns_b)) {
        (true, false) => turns_a.insert(0, turns_a[0].start..turns_a[0].start),
        (false, true) => turns_b.insert(0, turns_b[0].start..turns_b[0].start),
        _ => {}
    }
    let pairs = turns_a.into_iter().zip(turns_b);
    pairs.flat_map(|(turn_a, turn_b)| by_sort(a, b, turn_a, turn_b)).collect()
}

/// The time limit for one turn, after which the pairs found so far are used.
const PATIENCE: Duration = Duration::from_millis(200);

/// Pairs items of one kind, in order, as many as possible.
fn by_sort(a: &[Item], b: &[Item], turn_a: Range<usize>, turn_b: Range<usize>) -> Vec<(usize, usize)> {
    let sorts =
        |items: &[Item], turn: &Range<usize>| items[turn.clone()].iter().map(|item| item.sort).collect();
    let (sorts_a, sorts_b): (Vec<_>, Vec<_>) = (sorts(a, &turn_a), sorts(b, &turn_b));
    let deadline = Instant::now() + PATIENCE;
    let ops =
        similar::capture_diff_slices_deadline(similar::Algorithm::Myers, &sorts_a, &sorts_b, Some(deadline));
    let mut out = Vec::new();
    for op in ops {
        if let similar::DiffOp::Equal { old_index, new_index, len } = op {
            out.extend((0..len).map(|at| (turn_a.start + old_index + at, turn_b.start + new_index + at)));
        }
    }
    out
}

/// Returns the steps over both sides, given the matching pairs.
fn steps(a: &[Item], b: &[Item], pairs: Vec<(usize, usize)>) -> Vec<Step> {
    let mut out = Vec::with_capacity(a.len().max(b.len()));
    let (mut next_a, mut next_b) = (0, 0);
    for (at_a, at_b) in pairs.into_iter().chain([(a.len(), b.len())]) {
        out.extend((next_a..at_a).map(Step::OnlyA));
        out.extend((next_b..at_b).map(Step::OnlyB));
        if at_a < a.len() {
            let same = a[at_a].says == b[at_b].says;
            out.push(if same { Step::Same(at_a, at_b) } else { Step::Changed(at_a, at_b) });
        }
        (next_a, next_b) = (at_a + 1, at_b + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Ix, Kind};
    use crate::ops::diff::ItemKind;

    /// Parses `u1 a2 t3`: a prompt, a reply and a result with the contents 1, 2 and 3; `u1@x` has
    /// the id `x`.
    fn items(text: &str) -> Vec<Item> {
        let item = |(at, word): (usize, &str)| {
            let (word, id) = word.split_once('@').unwrap_or((word, ""));
            let kind = match &word[..1] {
                "u" => Kind::User,
                "a" => Kind::Assistant,
                _ => Kind::Tool,
            };
            let key = if id.is_empty() { Key::NONE } else { Key::hash(id.as_bytes()) };
            Item { ix: Ix(at as u32), key, says: word[1..].parse().unwrap(), sort: ItemKind(kind) }
        };
        text.split_whitespace().enumerate().map(item).collect()
    }

    fn show(a: &str, b: &str) -> String {
        let name = |text: &str, at: usize| text.split_whitespace().nth(at).unwrap().to_owned();
        let step = |step: Step| match step {
            Step::Same(one, _) => name(a, one),
            Step::Changed(one, two) => format!("{}~{}", name(a, one), name(b, two)),
            Step::OnlyA(one) => format!("-{}", name(a, one)),
            Step::OnlyB(two) => format!("+{}", name(b, two)),
        };
        align(&items(a), &items(b)).into_iter().map(step).collect::<Vec<_>>().join(" ")
    }

    #[test]
    #[rustfmt::skip] // a table
    fn sides_are_laid_beside_each_other() {
        let check = |a: &str, b: &str, wanted: &str| assert_eq!(show(a, b), wanted, "{a} | {b}");
        check("",                     "",                  "");
        check("u1 a2",                "u1 a2",             "u1 a2");
        check("u1 a2",                "",                  "-u1 -a2");
        check("u1 a2",                "u1 a2 u3 a4",       "u1 a2 +u3 +a4");
        check("u1 a2",                "u9 a2",             "u1~u9 a2");          // an edited prompt
        check("u1 a2 t3 a4",          "u1 a4",             "u1 -a2 -t3 a4");
        check("u1 a2 u5 a6",          "u1 a9 t8 a7 u5 a6", "u1 a2~a9 +t8 +a7 u5 a6");
        check("u1@x a2@y",            "u7@x a2@z",         "u1@x~u7@x a2@y");    // by id, then by content
        check("u1 a2 u1 a3",          "u1 a3",             "u1 -a2 -u1 a3");
        check("u1 u2",                "u2 u1",             "-u1 u2 +u1");
        check("a1 u2",                "u2 a1",             "-a1 u2 +a1");
    }

    #[test]
    fn sides_may_be_swapped() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let mut side = || {
                let words: Vec<String> = (0..random(9))
                    .map(|_| format!("{}{}", ["u", "a", "t"][random(3) as usize], random(5)))
                    .collect();
                words.join(" ")
            };
            let (a, b) = (side(), side());
            let turned: Vec<Step> = align(&items(&b), &items(&a))
                .into_iter()
                .map(|step| match step {
                    Step::Same(one, two) => Step::Same(two, one),
                    Step::Changed(one, two) => Step::Changed(two, one),
                    Step::OnlyA(at) => Step::OnlyB(at),
                    Step::OnlyB(at) => Step::OnlyA(at),
                })
                .collect();
            let sorted = |mut steps: Vec<Step>| {
                steps.sort_by_key(|step| format!("{step:?}"));
                steps
            };
            assert_eq!(sorted(turned), sorted(align(&items(&a), &items(&b))), "{a} | {b}");
            assert!(align(&items(&a), &items(&a)).iter().all(|step| !step.differs()), "{a}");
        }
    }

    #[test]
    fn long_sides_are_no_trouble() {
        let side = |shift: u64| -> Vec<Item> {
            let item = |at: u64| {
                let kind = [Kind::User, Kind::Assistant, Kind::Tool, Kind::Assistant][at as usize % 4];
                Item { ix: Ix(at as u32), key: Key::NONE, says: at * 2 + shift, sort: ItemKind(kind) }
            };
            (0..100_000).map(item).collect()
        };
        let began = Instant::now();
        assert_eq!(align(&side(0), &side(1)).len(), 100_000);
        let tools = |shift: u64| -> Vec<Item> {
            side(shift).into_iter().map(|item| Item { sort: ItemKind(Kind::Tool), ..item }).collect()
        };
        assert_eq!(align(&tools(0), &tools(1)[..50_000]).len(), 100_000);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}
