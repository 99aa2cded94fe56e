//! Revisions: how entries and sets of entries are named.
//!
//! A word is looked up as a whole before it is taken apart, so that an id or a label may hold any
//! of the signs that have a meaning here: exact id, then label, then unique prefix of an id (of
//! four bytes or more).
//!
//! | form | means |
//! | --- | --- |
//! | `HEAD`, `@` | the current entry, from which the agent continues |
//! | `id:PREFIX`, `label:NAME` | that entry, whatever else has the name |
//! | `REV~N`, `REV^`, `REV-` | the N-th, the first parent |
//! | `REV+` | the child, if there is exactly one |
//! | `-`, `@{-1}` | HEAD before the last switch |
//! | `turn:N`, `turn:-N` | the N-th prompt on the path to HEAD, from its start, from its end |
//! | `line:N` | the entry on a line of the main file |
//! | `:/TEXT`, `:/re:RE` | the newest entry on any branch whose text contains, matches |
//! | `A..B`, `A...B` | on B's path and not on A's; on one of them and not on both |
//! | `A::B`, `REV::`, `::REV` | the path between, the subtree, the ancestors |
//! | `root`, `roots`, `leaves`, `all` | the root of the path to HEAD; sets |

use super::{Error, Whole};
use crate::format::{Content, Format, Previous, Session, claude};
use crate::model::{Flags, Ix, Key, Kind, Source, Tree};

type Result<T> = std::result::Result<T, Error>;

/// The minimum length of an id prefix, in bytes.
pub const FEWEST: usize = 4;

/// The maximum number of candidates shown for an ambiguous revision.
const SHOWN: usize = 8;

/// The maximum length of a candidate's text, in characters.
const WORDS: usize = 60;

/// Returns the one entry that a revision names; a set of another size is an error.
///
/// Costs a pass over the ids for a prefix, and over the texts for `:/`.
pub fn one(session: &Session, source: &dyn Source, revision: &str) -> Result<Ix> {
    let whole = Whole { session, source };
    let found = expression(whole, revision)?;
    match found.as_slice() {
        [ix] => Ok(*ix),
        [] => Err(Error::Unresolved { revision: revision.into(), why: "it is an empty set".into() }),
        several => Err(ambiguous(whole, revision, several)?),
    }
}

/// Returns the error for a revision that could be any of several entries, some of which are shown.
pub fn ambiguous(whole: Whole<'_>, revision: &str, several: &[Ix]) -> std::io::Result<Error> {
    let session = whole.session;
    let shown = |ix: &Ix| {
        let line = whole.line(*ix)?;
        let words = Content::of(session.format, &line).summary();
        let mut words: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = words.char_indices().nth(WORDS) {
            words.truncate(at);
            words.push('…');
        }
        let kind = session.entries.kind(*ix).word();
        Ok(format!("{}  {kind:<9}  {words}", whole.name(*ix)?))
    };
    let candidates = several.iter().take(SHOWN).map(shown).collect::<std::io::Result<_>>()?;
    Ok(Error::Ambiguous { revision: revision.into(), candidates, count: several.len() })
}

/// Returns the entries that revisions and ranges name together, without duplicates, in file order;
/// a path in the order of its links.
pub fn set(session: &Session, source: &dyn Source, revisions: &[String]) -> Result<Vec<Ix>> {
    let whole = Whole { session, source };
    if let [only] = revisions {
        return expression(whole, only);
    }
    let mut out = Vec::new();
    for revision in revisions {
        out.extend(expression(whole, revision)?);
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// Returns whether an argument names a set (a range, or a word such as `leaves`) and not one entry.
pub fn is_set(session: &Session, source: &dyn Source, revision: &str) -> Result<bool> {
    let whole = Whole { session, source };
    Ok(named(whole, revision)?.is_none()
        && (matches!(revision, "roots" | "leaves" | "all") || cut(revision).is_some()))
}

/// Returns why a word can't be a label, if it can't: it is, or looks like, another revision.
///
/// Labels that agents wrote may look like that nevertheless; `label:NAME` is always the label.
pub fn taken(word: &str) -> Option<&'static str> {
    const ONE: &str = "that is the syntax of an entry";
    const RANGE: &str = "that is the syntax of a range";
    match word {
        "HEAD" | "@" | "-" => return Some("that is the syntax of a position"),
        "root" => return Some(ONE),
        "roots" | "leaves" | "all" => return Some("that is the syntax of a set of entries"),
        _ => {}
    }
    if [":/", "id:", "label:", "turn:", "line:"].iter().any(|start| word.starts_with(start)) {
        return Some(ONE);
    }
    if ["..", "::"].iter().any(|operator| word.contains(operator)) {
        return Some(RANGE);
    }
    ["~", "^", "@{"].iter().any(|sign| word.contains(sign)).then_some(ONE)
}

/// Returns HEAD, or why there is none.
pub fn head(session: &Session) -> Result<Ix> {
    session.head.entry.ok_or_else(|| Error::NoHead { why: session.head.rule.into() })
}

fn expression(whole: Whole<'_>, text: &str) -> Result<Vec<Ix>> {
    let session = whole.session;
    if let Some(ix) = named(whole, text)? {
        return Ok(vec![ix]);
    }
    let tree = &session.tree;
    match text {
        "roots" => return Ok(tree.roots().collect()),
        "leaves" => return Ok(tree.leaves().collect()),
        "all" => return Ok(tree.standing().collect()),
        _ => {}
    }
    let Some((left, operator, right)) = cut(text) else {
        return Ok(vec![single(whole, text)?]);
    };
    let side = |side: &str| match side {
        "" => head(session),
        side => single(whole, side),
    };
    match (operator, left, right) {
        ("::", "", "") => Ok(tree.standing().collect()),
        ("::", "", right) => Ok(tree.path(single(whole, right)?)),
        ("::", left, "") => {
            let mut below = tree.subtree(single(whole, left)?);
            below.sort_unstable();
            Ok(below)
        }
        ("::", left, right) => {
            let from = single(whole, left)?;
            let path = tree.path(single(whole, right)?);
            Ok(match path.iter().position(|ix| *ix == from) {
                Some(at) => path[at..].to_vec(),
                None => Vec::new(),
            })
        }
        ("..", left, right) => {
            let (from, to) = (tree.path(side(left)?), tree.path(side(right)?));
            Ok(to[Tree::shared(&from, &to)..].to_vec())
        }
        (_, left, right) => {
            let (one, other) = (tree.path(side(left)?), tree.path(side(right)?));
            let at = Tree::shared(&one, &other);
            Ok(one[at..].iter().chain(&other[at..]).copied().collect())
        }
    }
}

/// Splits a range at its operator.
fn cut(text: &str) -> Option<(&str, &'static str, &str)> {
    if text.starts_with(":/") {
        return None;
    }
    for operator in ["...", "..", "::"] {
        if let Some(at) = text.find(operator) {
            return Some((&text[..at], operator, &text[at + operator.len()..]));
        }
    }
    None
}

/// Resolves one entry: a name with suffixes.
fn single(whole: Whole<'_>, text: &str) -> Result<Ix> {
    // The error concerns the rest without its suffixes.
    let text = match resolve(whole, text)? {
        Ok(ix) => return Ok(ix),
        Err(rest) => rest,
    };
    if text.starts_with("label:") {
        return Err(Error::Unresolved { revision: text.into(), why: "no entry has that label".into() });
    }
    if let Some((rest, _)) = text.rsplit_once('~')
        && matches!(resolve(whole, rest), Ok(Ok(_)))
    {
        return Err(Error::Malformed {
            revision: text.into(),
            why: "`~` must be followed by a number of steps".into(),
        });
    }
    Err(Error::NoRevision { revision: text.into() })
}

/// A step from one entry to another, at the end of a revision.
enum Suffix {
    /// That many entries up.
    Up(usize),
    /// To the parent.
    Parent,
    /// To the entry itself.
    Same,
    /// To the parent of an entry without one.
    NoParent,
    /// To the only child.
    Child,
}

/// Removes the last suffix from a revision: the rest may have suffixes of its own.
fn last_suffix(text: &str) -> Option<(&str, Suffix)> {
    let before = text.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let number = &text[before.len()..];
    if let Some(rest) = before.strip_suffix('~') {
        // No path is as long as a number that is too large.
        let steps = if number.is_empty() { 1 } else { number.parse().unwrap_or(usize::MAX) };
        return Some((rest, Suffix::Up(steps)));
    }
    if let Some(rest) = before.strip_suffix('^') {
        let suffix = match number {
            "" | "1" => Suffix::Parent,
            "0" => Suffix::Same,
            _ => Suffix::NoParent,
        };
        return Some((rest, suffix));
    }
    let suffix = |sign| text.strip_suffix(sign).filter(|rest: &&str| !rest.is_empty());
    match (suffix('-'), suffix('+')) {
        (Some(rest), _) => Some((rest, Suffix::Parent)),
        (_, Some(rest)) => Some((rest, Suffix::Child)),
        _ => None,
    }
}

/// Returns the entry that a name with suffixes refers to, or, if no part of it is a name, the rest
/// without the suffixes.
///
/// Does not recurse over suffixes: a revision may have as many as fit on a command line.
fn resolve<'t>(whole: Whole<'_>, text: &'t str) -> Result<std::result::Result<Ix, &'t str>> {
    let session = whole.session;
    let mut steps: Vec<(&str, Suffix)> = Vec::new();
    let mut rest = text;
    let mut may_be_name = None;
    let mut at = loop {
        let is_looked_up = match may_be_name {
            _ if rest.len() <= LONG_NAME => true,
            Some(may_be_name) => may_be_name,
            None => *may_be_name.insert(begins_a_name(whole, rest)?),
        };
        if is_looked_up && let Some(ix) = named(whole, rest)? {
            break ix;
        }
        if let Some(wanted) = rest.strip_prefix(":/") {
            break by_text(whole, rest, wanted)?;
        }
        let Some((before, suffix)) = last_suffix(rest) else { return Ok(Err(rest)) };
        steps.push((rest, suffix));
        rest = before;
    };
    for (text, suffix) in steps.into_iter().rev() {
        let unresolved = |why: &str| Error::Unresolved { revision: text.into(), why: why.into() };
        at = match suffix {
            Suffix::Up(steps) => {
                up(session, at, steps).ok_or_else(|| unresolved("the path is shorter than that"))?
            }
            Suffix::Parent => up(session, at, 1).ok_or_else(|| unresolved("it is a root"))?,
            Suffix::Same => at,
            Suffix::NoParent => {
                let why = "an entry has at most one parent; `REV~N` is its Nth ancestor".into();
                return Err(Error::Malformed { revision: text.into(), why });
            }
            Suffix::Child => {
                let children: Vec<Ix> = session.tree.children(at).collect();
                match children.as_slice() {
                    [child] => *child,
                    [] => return Err(unresolved("it has no children")),
                    several => return Err(ambiguous(whole, text, several)?),
                }
            }
        };
    }
    Ok(Ok(at))
}

/// A longer word is looked up as a name only if a name has the same beginning, because each lookup
/// costs a pass over all ids.
const LONG_NAME: usize = 64;

/// Returns whether an id or a label has the same first bytes as a long word.
fn begins_a_name(whole: Whole<'_>, word: &str) -> Result<bool> {
    let session = whole.session;
    let word = ["id:", "label:"].iter().find_map(|sort| word.strip_prefix(sort)).unwrap_or(word);
    let start = &word.as_bytes()[..word.len().min(LONG_NAME)];
    for ix in session.tree.standing().filter(|ix| session.entries.flags(*ix).has(Flags::LONG_ID)) {
        if start.starts_with(&session.entries.id_start(ix)) && whole.id(ix)?.as_bytes().starts_with(start) {
            return Ok(true);
        }
    }
    Ok(session.labels.all().any(|(_, label)| label.text.as_bytes().starts_with(start)))
}

/// Returns the entry `steps` above; markers of `switch` do not count as steps.
fn up(session: &Session, from: Ix, steps: usize) -> Option<Ix> {
    let marker = |ix: &Ix| session.entries.flags(*ix).has(Flags::MARKER);
    session
        .tree
        .ancestors(from)
        .enumerate()
        .filter(|(at, ix)| *at == 0 || !marker(ix))
        .nth(steps)
        .map(|(_, ix)| ix)
}

/// Returns the entry that a word names as a whole.
fn named(whole: Whole<'_>, word: &str) -> Result<Option<Ix>> {
    let session = whole.session;
    let no = |why: &str| Error::Unresolved { revision: word.into(), why: why.into() };
    match word {
        "HEAD" | "@" => return head(session).map(Some),
        "-" | "@{-1}" => {
            let key = match &session.previous {
                Previous::At(key) => key,
                Previous::Unknown => return Err(no("there is no earlier switch of this session")),
                Previous::Unread(why) => {
                    let why = format!("{word}: the operation log can't be read: {why}");
                    return Err(Error::Io(std::io::Error::other(why)));
                }
            };
            return session.find(*key).map(Some).ok_or_else(|| no("the entry is no longer in this session"));
        }
        "root" => {
            let head = head(session)?;
            return Ok(session.tree.ancestors(head).last());
        }
        _ => {}
    }
    if let Some((sort, rest)) = word.split_once(':') {
        match sort {
            "id" => {
                return match by_id(whole, word, rest, 1) {
                    Err(Error::NoRevision { .. }) => Ok(None),
                    other => other.map(Some),
                };
            }
            "label" => {
                let found = session.labels.named(rest).collect();
                return only(whole, word, found);
            }
            "turn" => {
                let Ok(number) = rest.parse() else { return Ok(None) };
                return turn(session, number).map(Some).ok_or_else(|| no("the path has no such prompt"));
            }
            "line" => {
                let Ok(line) = rest.parse() else { return Ok(None) };
                return session
                    .entries
                    .on_line(0, line)
                    .map(Some)
                    .ok_or_else(|| no("there is no entry on that line"));
            }
            _ => {}
        }
    }
    if word.is_empty() {
        return Ok(None);
    }
    if let Some(ix) = find(session, word) {
        return Ok(Some(ix));
    }
    let labeled = session.labels.named(word).collect();
    if let Some(ix) = only(whole, word, labeled)? {
        return Ok(Some(ix));
    }
    match by_id(whole, word, word, FEWEST) {
        Err(Error::NoRevision { .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn only(whole: Whole<'_>, word: &str, found: Vec<Ix>) -> Result<Option<Ix>> {
    match found.as_slice() {
        [] => Ok(None),
        [ix] => Ok(Some(*ix)),
        several => Err(ambiguous(whole, word, several)?),
    }
}

/// Returns the entry with an id, which may be a number.
fn find(session: &Session, id: &str) -> Option<Ix> {
    let number = || session.find(Key::of_number(id.as_bytes())).filter(|_| id.parse::<f64>().is_ok());
    session.find(Key::of(id.as_bytes())).or_else(number)
}

/// Returns the entry whose id begins with `prefix`, of at least `fewest` bytes.
fn by_id(whole: Whole<'_>, word: &str, prefix: &str, fewest: usize) -> Result<Ix> {
    let session = whole.session;
    if let Some(ix) = find(session, prefix) {
        return Ok(ix);
    }
    let none = || Error::NoRevision { revision: word.into() };
    if prefix.len() < fewest {
        return Err(none());
    }
    let bytes = prefix.as_bytes();
    let mut found = Vec::new();
    for ix in session.tree.standing() {
        let start = session.entries.id_start(ix);
        let fits =
            if bytes.len() <= start.len() { start.starts_with(bytes) } else { bytes.starts_with(&start) };
        if !fits || start.is_empty() {
            continue;
        }
        if bytes.len() <= start.len() || whole.id(ix)?.as_bytes().starts_with(bytes) {
            found.push(ix);
        }
    }
    only(whole, word, found)?.ok_or_else(none)
}

/// Returns the N-th prompt on the path to HEAD: from 1, or backwards from -1.
fn turn(session: &Session, number: i64) -> Option<Ix> {
    let prompts: Vec<Ix> = session.path().into_iter().filter(|ix| is_prompt(session, *ix)).collect();
    let at = match number {
        1.. => usize::try_from(number).ok()? - 1,
        0 => return None,
        _ => prompts.len().checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
    };
    prompts.get(at).copied()
}

/// Returns whether an entry is a prompt, i.e. typed by the user. `turn:N` counts prompts.
///
/// For Claude Code, commands count, and so do prompts that were typed while the agent was working;
/// messages that the program wrote in the user's name (the output of commands, interruptions,
/// notifications, summaries) do not.
pub fn is_prompt(session: &Session, ix: Ix) -> bool {
    let flags = session.entries.flags(ix);
    if session.format == Format::Claude {
        return claude::is_prompt(session.entries.kind(ix), flags);
    }
    session.entries.kind(ix) == Kind::User
}

/// Returns the newest entry whose text contains or matches the given text.
fn by_text(whole: Whole<'_>, revision: &str, wanted: &str) -> Result<Ix> {
    let session = whole.session;
    let pattern = match wanted.strip_prefix("re:") {
        Some(pattern) => pattern.to_owned(),
        None => regex::escape(wanted),
    };
    let pattern = regex::Regex::new(&pattern).map_err(|error| Error::Malformed {
        revision: revision.into(),
        why: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
    })?;
    let mut line = Vec::new();
    for ix in session.tree.standing().rev() {
        if session.entries.flags(ix).has(Flags::BOOKKEEPING) {
            continue;
        }
        whole.read(ix, &mut line)?;
        if pattern.is_match(&crate::format::Content::of(session.format, &line).text) {
            return Ok(ix);
        }
    }
    Err(Error::Unresolved { revision: revision.into(), why: "no entry contains that text".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn what_has_the_form_of_another_revision_is_no_label() {
        for word in ["HEAD", "@", "-", "root", "roots", "leaves", "all", ":/x", ":/", "id:41d0", "label:x", "turn:1",
            "turn:x", "line:3", "HEAD~1", "a~", "a^", "a^2", "@{-1}", "a@{1}", "..x", "a..b", "wait...", "a::", "::b"] {
            assert!(taken(word).is_some(), "{word}");
        }
        for word in ["generator", "head", "roots!", "allowed", "fix: it", "turn 1", "a.b", "a:b", "a@b", "c++", "by-hand",
            "41d0b6ee", "{x}", "/x"] {
            assert!(taken(word).is_none(), "{word}");
        }
    }
}
