//! Revisions: how entries and sets of entries are named.
//!
//! A word is looked up as a whole before it is taken apart, so that an id or a label may hold any
//! of the signs that have a meaning here: exact id, then label, then unique prefix of an id (of
//! four bytes or more).
//!
//! | form | means |
//! | --- | --- |
//! | `HEAD`, `@` | the last entry of the conversation before the place from which the agent continues |
//! | `tip` | the leaf as the agent has it, bookkeeping included |
//! | `id:PREFIX`, `label:NAME` | that entry, whatever else has the name |
//! | `REV~N` | the N-th entry before it in the thread, without bookkeeping |
//! | `REV^`, `REV-` | the stored parent |
//! | `REV+` | the child, if there is exactly one |
//! | `-`, `@{-1}` | the position before the last switch |
//! | `turn:N`, `turn:-N` | the N-th prompt of the thread up to HEAD, from its start, from its end |
//! | `reply:N`, `reply:-N` | the last text that the model wrote in that turn |
//! | `line:N` | the entry on a line of the main file |
//! | `:/TEXT`, `:/re:RE` | the newest entry on any branch whose text contains, matches |
//! | `A..B`, `A...B` | on B's path and not on A's; on one of them and not on both |
//! | `A::B`, `REV::`, `::REV` | the path between, the subtree, the ancestors |
//! | `root`, `roots`, `leaves`, `all` | the first entry of the thread; sets |

use super::turns::{Prompt, Thread};
use super::{Error, Snapshot};
use crate::format::{Content, Format, OtherKind, Previous, Session, claude};
use crate::model::{Count, Flags, Ix, Key, Kind, Source, Tree, is_slip};
use std::cell::OnceCell;

type Result<T> = std::result::Result<T, Error>;

/// A session whose entries are named, with its thread as soon as that is asked for.
struct Resolver<'s> {
    whole: Snapshot<'s>,
    thread: OnceCell<Thread<'s>>,
}

impl<'s> Resolver<'s> {
    fn new(session: &'s Session, source: &'s dyn Source) -> Resolver<'s> {
        Resolver { whole: Snapshot { session, source }, thread: OnceCell::new() }
    }

    fn thread(&self) -> Result<&Thread<'s>> {
        if self.thread.get().is_none() {
            let _ = self.thread.set(Thread::new(self.whole)?);
        }
        Ok(self.thread.get().expect("it was set"))
    }
}

/// The fewest bytes of an id that are taken for a prefix.
pub const FEWEST: usize = 4;

/// The maximum number of candidates shown for an ambiguous revision.
const SHOWN: usize = 8;

/// The maximum length of a candidate's text, in characters.
const WORDS: usize = 60;

/// Returns the one entry that a revision names; a set of another size is an error.
///
/// Costs a pass over the ids for a prefix, and over the texts for `:/`.
pub fn resolve_one(session: &Session, source: &dyn Source, revision: &str) -> Result<Ix> {
    let names = &Resolver::new(session, source);
    let found = expression(names, revision)?;
    match found.as_slice() {
        [ix] => Ok(*ix),
        [] => Err(Error::Unresolved { revision: revision.into(), why: "it is an empty set".into() }),
        several => Err(ambiguous(names.whole, revision, several)?),
    }
}

/// Returns the error for a revision that could be any of several entries, some of which are shown.
pub fn ambiguous(whole: Snapshot<'_>, revision: &str, several: &[Ix]) -> std::io::Result<Error> {
    let session = whole.session;
    let shown = |ix: &Ix| {
        let line = whole.line(*ix)?;
        let words = Content::read(session.format, &line).summary();
        let mut words: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = words.char_indices().nth(WORDS) {
            words.truncate(at);
            words.push('…');
        }
        let kind = session.entries.kind(*ix).name();
        Ok(format!("{}  {kind:<9}  {words}", whole.name(*ix)?))
    };
    let candidates = several.iter().take(SHOWN).map(shown).collect::<std::io::Result<_>>()?;
    Ok(Error::Ambiguous { revision: revision.into(), candidates, count: several.len() })
}

/// Returns the entries that revisions and ranges name together, without duplicates, in file order;
/// a path in the order of its links.
pub fn set(session: &Session, source: &dyn Source, revisions: &[String]) -> Result<Vec<Ix>> {
    let names = &Resolver::new(session, source);
    if let [only] = revisions {
        return expression(names, only);
    }
    let mut out = Vec::new();
    for revision in revisions {
        out.extend(expression(names, revision)?);
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// Returns whether an argument names a set (a range, or a word such as `leaves`) and not one entry.
pub fn is_set(session: &Session, source: &dyn Source, revision: &str) -> Result<bool> {
    Ok(may_be_set(revision) && whole_name(&Resolver::new(session, source), revision)?.is_none())
}

/// Returns whether an argument names a set, if it is not an id or a label.
fn may_be_set(revision: &str) -> bool {
    matches!(revision, "roots" | "leaves" | "all") || cut(revision).is_some()
}

/// Returns why a word can't be a label, if it can't: it is, or looks like, another revision.
///
/// Labels that agents wrote may look like that nevertheless; `label:NAME` is always the label.
pub fn taken(word: &str) -> Option<&'static str> {
    const ONE: &str = "that is the syntax of an entry";
    const RANGE: &str = "that is the syntax of a range";
    match word {
        "HEAD" | "@" | "-" => return Some("that is the syntax of a position"),
        "root" | "tip" => return Some(ONE),
        "roots" | "leaves" | "all" => return Some("that is the syntax of a set of entries"),
        _ => {}
    }
    if [":/", "id:", "label:", "turn:", "reply:", "line:"].iter().any(|start| word.starts_with(start)) {
        return Some(ONE);
    }
    if ["..", "::"].iter().any(|operator| word.contains(operator)) {
        return Some(RANGE);
    }
    ["~", "^", "@{"].iter().any(|sign| word.contains(sign)).then_some(ONE)
}

/// Says what is on a line that has no entry.
fn what_is_on(session: &Session, line: u64) -> String {
    let there = session.others.iter().find(|other| other.span.file == 0 && other.line == line);
    let what = match there.map(|other| other.kind) {
        Some(OtherKind::Header) => "the header",
        Some(OtherKind::Title) => "the title",
        Some(OtherKind::Pointer) => "a pointer to HEAD",
        Some(OtherKind::Label) => "a label",
        Some(OtherKind::Note) => "a note about the session, e.g. a prompt in its input queue",
        Some(OtherKind::Unknown) => "what no agent reads",
        Some(OtherKind::Blank) => "nothing",
        None => return "there is no entry on that line".into(),
    };
    format!("there is no entry on that line, but {what}; `sed -n {line}p FILE` prints it")
}

/// HEAD, or why there is none.
pub fn head(session: &Session) -> Result<Ix> {
    session.head.entry.ok_or_else(|| Error::NoHead { why: session.head.rule.into() })
}

fn expression(names: &Resolver<'_>, text: &str) -> Result<Vec<Ix>> {
    let session = names.whole.session;
    if !may_be_set(text) {
        return Ok(vec![single(names, text)?]);
    }
    if let Some(ix) = whole_name(names, text)? {
        return Ok(vec![ix]);
    }
    let tree = &session.tree;
    match text {
        "roots" => return Ok(tree.roots().collect()),
        "leaves" => return Ok(tree.leaves().collect()),
        "all" => return Ok(tree.entries_in_tree().collect()),
        _ => {}
    }
    let Some((left, operator, right)) = cut(text) else {
        return Ok(vec![single(names, text)?]);
    };
    let side = |side: &str| match side {
        "" => head(session),
        side => single(names, side),
    };
    match (operator, left, right) {
        ("::", "", "") => Ok(tree.entries_in_tree().collect()),
        ("::", "", right) => Ok(tree.path(single(names, right)?)),
        ("::", left, "") => {
            let mut below = tree.subtree(single(names, left)?);
            below.sort_unstable();
            Ok(below)
        }
        ("::", left, right) => {
            let from = single(names, left)?;
            let path = tree.path(single(names, right)?);
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

/// One entry: a name, with suffixes.
fn single(names: &Resolver<'_>, text: &str) -> Result<Ix> {
    // The error is about what is left without its suffixes.
    let text = match resolve(names, text)? {
        Ok(ix) => return Ok(ix),
        Err(rest) => rest,
    };
    if text.starts_with("label:") {
        return Err(Error::Unresolved { revision: text.into(), why: "no entry has that label".into() });
    }
    if let Some((rest, _)) = text.rsplit_once('~')
        && matches!(resolve(names, rest), Ok(Ok(_)))
    {
        return Err(Error::Malformed {
            revision: text.into(),
            why: "`~` must be followed by a number of steps".into(),
        });
    }
    Err(no_revision(names.whole.session, text))
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
/// Suffixes are not a recursion: a revision may have as many as a command line has room for.
fn resolve<'t>(names: &Resolver<'_>, text: &'t str) -> Result<std::result::Result<Ix, &'t str>> {
    let (whole, session) = (names.whole, names.whole.session);
    let mut steps: Vec<(&str, Suffix)> = Vec::new();
    let mut rest = text;
    let mut may_be_name = None;
    let mut at = loop {
        let is_looked_up = match may_be_name {
            _ if rest.len() <= LONG_NAME => true,
            Some(may_be_name) => may_be_name,
            None => *may_be_name.insert(begins_a_name(whole, rest)?),
        };
        if is_looked_up && let Some(ix) = whole_name(names, rest)? {
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
                let above = if steps == 0 { Some(at) } else { names.thread()?.before(at, steps) };
                above.ok_or_else(|| unresolved("the path is shorter than that"))?
            }
            Suffix::Parent => session.tree.parent(at).ok_or_else(|| unresolved("it is a root"))?,
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
fn begins_a_name(whole: Snapshot<'_>, word: &str) -> Result<bool> {
    let session = whole.session;
    let word = ["id:", "label:"].iter().find_map(|sort| word.strip_prefix(sort)).unwrap_or(word);
    let start = &word.as_bytes()[..word.len().min(LONG_NAME)];
    for ix in session.tree.entries_in_tree().filter(|ix| session.entries.flags(*ix).has(Flags::LONG_ID)) {
        if start.starts_with(&session.entries.id_start(ix)) && whole.id(ix)?.as_bytes().starts_with(start) {
            return Ok(true);
        }
    }
    Ok(session.labels.all().any(|(_, label)| label.text.as_bytes().starts_with(start)))
}

/// The entry that a word names as a whole.
fn whole_name(names: &Resolver<'_>, word: &str) -> Result<Option<Ix>> {
    let (whole, session) = (names.whole, names.whole.session);
    let no = |why: &str| Error::Unresolved { revision: word.into(), why: why.into() };
    match word {
        "HEAD" | "@" => return head(session).map(Some),
        "-" | "@{-1}" => {
            let key = match &session.previous {
                Previous::At(key) => key,
                Previous::Unknown => {
                    return Err(no("this session has no earlier switch from an entry that is still there"));
                }
                Previous::Unread(why) => {
                    let why = format!("{word}: the operation log can't be read: {why}");
                    return Err(Error::Io(std::io::Error::other(why)));
                }
            };
            return session.find(*key).map(Some).ok_or_else(|| no("the entry is no longer in this session"));
        }
        "tip" => {
            let no_leaf = || Error::NoHead { why: session.head.rule.into() };
            return session.head.leaf.map(Some).ok_or_else(no_leaf);
        }
        "root" => {
            head(session)?;
            return Ok(names.thread()?.root());
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
                let found = session.labels.entries(rest).collect();
                return only(whole, word, found);
            }
            "turn" => {
                let Ok(number) = rest.parse() else { return Ok(None) };
                return turn(names, number)?.map_err(|why| no(&why)).map(Some);
            }
            "reply" => {
                let Ok(number) = rest.parse() else { return Ok(None) };
                let turns = names.thread()?.turns()?;
                let turn = nth(&turns, number).ok_or_else(|| no(&too_few(turns.len())))?;
                return turn.reply.map(Some).ok_or_else(|| no("the turn has no reply with text"));
            }
            "line" => {
                let Ok(line) = rest.parse() else { return Ok(None) };
                return session
                    .entries
                    .on_line(0, line)
                    .map(Some)
                    .ok_or_else(|| no(&what_is_on(session, line)));
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
    let labeled = session.labels.entries(word).collect();
    if let Some(ix) = only(whole, word, labeled)? {
        return Ok(Some(ix));
    }
    match by_id(whole, word, word, FEWEST) {
        Err(Error::NoRevision { .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn only(whole: Snapshot<'_>, word: &str, found: Vec<Ix>) -> Result<Option<Ix>> {
    match found.as_slice() {
        [] => Ok(None),
        [ix] => Ok(Some(*ix)),
        several => Err(ambiguous(whole, word, several)?),
    }
}

/// Returns the entry with an id, which may be a number.
fn find(session: &Session, id: &str) -> Option<Ix> {
    let number = || session.find(Key::of_number(id.as_bytes())).filter(|_| id.parse::<f64>().is_ok());
    session.find(Key::hash(id.as_bytes())).or_else(number)
}

/// The error that a revision does not exist.
fn no_revision(session: &Session, revision: &str) -> Error {
    let short = |id: String| format!("session {}", id.chars().take(8).collect::<String>());
    let mut labels = session.labels.all().map(|(_, label)| label.text);
    let near = labels.find(|label| is_slip(revision, label)).map(Box::from);
    let session = session.id().map_or_else(|| "this session".to_owned(), short);
    Error::NoRevision { revision: revision.into(), session, near }
}

/// Returns the entry whose id, or the short form of it, a name would hide; `None` if there is none.
pub(super) fn entry_of_id(whole: Snapshot<'_>, name: &str) -> Result<Option<Ix>> {
    /// The length of short ids.
    const SHORT: usize = 8;
    let is_hex = name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if !is_hex || name.len() < SHORT {
        return Ok(find(whole.session, name));
    }
    match by_id(whole, name, name, SHORT) {
        Err(Error::NoRevision { .. }) => Ok(None),
        other => other.map(Some),
    }
}

/// Returns the entry whose id begins with `prefix`, of at least `fewest` bytes.
fn by_id(whole: Snapshot<'_>, word: &str, prefix: &str, fewest: usize) -> Result<Ix> {
    let session = whole.session;
    if let Some(ix) = find(session, prefix) {
        return Ok(ix);
    }
    let none = || no_revision(session, word);
    if prefix.len() < fewest {
        return Err(none());
    }
    let bytes = prefix.as_bytes();
    let mut found = Vec::new();
    for ix in session.tree.entries_in_tree() {
        let start = session.entries.id_start(ix);
        let shared = start.len().min(bytes.len());
        // Most ids differ in the first byte.
        if start.first() != bytes.first() || start[..shared] != bytes[..shared] {
            continue;
        }
        if bytes.len() <= start.len() || whole.id(ix)?.as_bytes().starts_with(bytes) {
            found.push(ix);
        }
    }
    only(whole, word, found)?.ok_or_else(none)
}

/// The N-th prompt of the thread, or why there is no entry for it.
fn turn(names: &Resolver<'_>, number: i64) -> Result<std::result::Result<Ix, String>> {
    let turns = names.thread()?.turns()?;
    Ok(match nth(&turns, number).map(|turn| &turn.prompt) {
        Some(Prompt::Entry(ix)) => Ok(*ix),
        Some(Prompt::Queued { line, after, .. }) => Err(format!(
            "the prompt is only in the input queue, on line {line}, and not an entry; it was typed after {}",
            names.whole.name(*after)?
        )),
        None => Err(too_few(turns.len())),
    })
}

/// Why there is no such prompt on the path to HEAD.
fn too_few(prompts: usize) -> String {
    match prompts {
        0 => "the path to HEAD has no prompt".into(),
        _ => {
            let prompts = Count("prompt", "prompts", prompts);
            format!("the path to HEAD has {prompts}; `bough log --graph` shows the other branches")
        }
    }
}

/// The N-th of a list, from 1, or from -1 backwards.
fn nth<T>(list: &[T], number: i64) -> Option<&T> {
    let steps = usize::try_from(number.unsigned_abs()).ok()?;
    match number {
        1.. => list.get(steps - 1),
        0 => None,
        _ => list.get(list.len().checked_sub(steps)?),
    }
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
    session.entries.kind(ix) == Kind::User && !flags.is_put_in()
}

/// Returns the newest entry whose text contains or matches the given text.
fn by_text(whole: Snapshot<'_>, revision: &str, wanted: &str) -> Result<Ix> {
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
    for ix in session.tree.entries_in_tree().rev() {
        if session.entries.flags(ix).has(Flags::BOOKKEEPING) {
            continue;
        }
        whole.read(ix, &mut line)?;
        if pattern.is_match(&crate::format::Content::read(session.format, &line).text) {
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
        for word in ["HEAD", "@", "-", "root", "tip", "roots", "leaves", "all", "reply:1", ":/x", ":/", "id:41d0", "label:x", "turn:1",
            "turn:x", "line:3", "HEAD~1", "a~", "a^", "a^2", "@{-1}", "a@{1}", "..x", "a..b", "wait...", "a::", "::b"] {
            assert!(taken(word).is_some(), "{word}");
        }
        for word in ["generator", "head", "roots!", "allowed", "fix: it", "turn 1", "a.b", "a:b", "a@b", "c++", "by-hand",
            "41d0b6ee", "{x}", "/x"] {
            assert!(taken(word).is_none(), "{word}");
        }
    }
}
