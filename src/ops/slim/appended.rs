//! Slims a session of pi without a change of what is there: an entry is appended for each message of
//! which the model should see less.
//!
//! The file gets larger, but the agent sends less, and the old content stays where it is. pi reads
//! such entries (`context_edit`) since 0.87; earlier versions show the old content again.

use super::choice::{Found, Slim};
use super::parts::{MARK, is_thinking};
use super::{Amount, SlimOptions, Slimmed, not_proven};
use crate::context::{Context, Message, Patch};
use crate::format::{Addition, Format, Ids, New, Session};
use crate::json::{each_item, member, member_at, place_in, string};
use crate::model::{Ix, Key, Piece, Plan, Planned, Source, Span, Time};
use crate::ops::rewrite::Rewrite;
use crate::ops::switch::Lines;
use crate::ops::{Error, Snapshot};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

/// Plans the entries, and verifies that nothing else of what is sent at HEAD changes.
pub(super) fn plan(
    whole: Snapshot<'_>,
    options: &SlimOptions,
    fresh: &mut Ids,
    now: Time,
) -> Result<Slimmed, Error> {
    let session = whole.session;
    if session.format != Format::Pi {
        return Err(Error::NoPlace {
            what: format!("the agent of the format {} does not read edits", session.format.name()),
            instead: Some("leave `--append` out, or use `--in-place`".into()),
        });
    }
    crate::ops::appendable(session)?;
    let mut slim = Slim::new(whole, options)?;
    slim.find()?;
    let mut edits = Edits::new(whole)?;
    let (sent, last_turn) = (&slim.sent, &slim.last_turn);
    let mut found = std::mem::take(&mut slim.found);
    // The model has just been sent the turn at HEAD, and may be in the middle of it.
    found.retain(|found| {
        found.part.is_sent && sent.contains(&found.entry) && !last_turn.contains(&found.entry)
    });
    let mut kept = Vec::new();
    for one in found {
        if edits.can_change(&one)? {
            kept.push(one);
        }
    }
    slim.found = kept;
    slim.choose();
    let facts = &session.files[0];
    let mut slimmed = Slimmed {
        plan: Plan { verb: "slim".into(), ..Plan::default() },
        amounts: BTreeMap::new(),
        bytes: (facts.bytes, facts.bytes),
        tokens: (slim.tokens, slim.tokens_left()),
        compared: 0,
        thinking_kept: slim.thinking_kept,
    };
    for one in slim.chosen() {
        let amount: &mut Amount = slimmed.amounts.entry(one.part.kind.name()).or_default();
        amount.count += 1;
        amount.bytes += one.part.at.len() as u64;
        amount.tokens += one.part.tokens;
    }
    let entries: BTreeSet<Ix> = slim.chosen().map(|one| one.entry).collect();
    if entries.is_empty() {
        return Ok(slimmed);
    }
    let mut lines = Lines::new(whole, fresh, now)?;
    let mut parent = session.head.leaf.map(|leaf| whole.raw_id(leaf)).transpose()?;
    for entry in &entries {
        let content = edits.content(&slim, *entry)?;
        let target = whole.raw_id(*entry)?;
        let addition = Addition::Edit { target: &target, content: &content };
        let make = |new: &New<'_>| session.format.dialect().addition(new, &addition);
        let id = lines.add_under(parent, "replaces content for the model", make)?;
        parent = Some(session.format.quoted(&id));
    }
    let mut added = Vec::new();
    if !facts.ends_in_newline {
        added.push(b'\n');
    }
    added.extend_from_slice(lines.bytes());
    slimmed.bytes.1 += added.len() as u64;
    let pieces = [Piece::Keep(Span { file: 0, offset: 0, len: facts.bytes }), Piece::New(added)];
    let rewrite = Rewrite::default();
    let after = rewrite.read(session, whole.source, &pieces)?;
    if after.head.leaf.is_none_or(|leaf| after.entries.line(leaf) <= facts.lines) {
        return Err(not_proven("the agent would not continue from the new entries"));
    }
    compare(whole, &after, &Planned::new(whole.source, &pieces), &entries)?;
    slimmed.compared = 1;
    lines.into_plan(&mut slimmed.plan);
    Ok(slimmed)
}

/// Compares what is sent at HEAD before and after: the same messages in the same order, of which only the
/// content of edited entries is another, and there only what was to be replaced.
fn compare(
    before: Snapshot<'_>,
    after: &Session,
    planned: &Planned<'_>,
    edited: &BTreeSet<Ix>,
) -> Result<(), Error> {
    let session = before.session;
    let was = Context::in_full(session, before.source, Context::position(session))?;
    let is = Context::in_full(after, planned, Context::position(after))?;
    let (one, other): (Vec<&Message>, Vec<&Message>) = (was.sent().collect(), is.sent().collect());
    if one.len() != other.len() || was.models != is.models || was.thinking != is.thinking {
        return Err(not_proven("the agent would send another number of messages, or to another model"));
    }
    let (mut line, mut new_line) = (Vec::new(), Vec::new());
    for (one, other) in one.iter().zip(&other) {
        let lines =
            (one.entry.map(|ix| session.entries.line(ix)), other.entry.map(|ix| after.entries.line(ix)));
        if one.role != other.role || lines.0 != lines.1 {
            return Err(not_proven("the agent would send another message"));
        }
        let Some(entry) = one.entry.filter(|entry| edited.contains(entry)) else { continue };
        let edit = other.patches.iter().find_map(|patch| match patch {
            Patch::Edited { by } => Some(*by),
            _ => None,
        });
        let Some(edit) = edit else { return Err(not_proven("the agent would not follow an edit")) };
        before.source.read(session.span(entry), &mut line)?;
        planned.read(after.span(edit), &mut new_line)?;
        let old = content_of(session.entries.ty(entry), &line).unwrap_or_default();
        let new = member_at(&new_line, &["replacement", "content"]).unwrap_or_default();
        if !is_slimmed(old, new) {
            let line = session.entries.line(entry);
            return Err(not_proven(&format!("more than was asked for would change on line {line}")));
        }
    }
    Ok(())
}

/// Returns whether content is that of before, but for notes in place of blocks and removed thinking.
fn is_slimmed(old: &[u8], new: &[u8]) -> bool {
    let is_note = |new: &[u8]| memchr::memmem::find(new, MARK.as_bytes()).is_some();
    if old.first() != Some(&b'[') {
        return old == new || is_note(new);
    }
    let mut new = each_item(new).peekable();
    for old in each_item(old) {
        match new.peek() {
            Some(next) if *next == old || is_note(next) => _ = new.next(),
            _ if is_thinking(old) => {}
            _ => return false,
        }
    }
    new.next().is_none()
}

/// The contents that edits may replace.
struct Edits<'a> {
    whole: Snapshot<'a>,
    /// The entries that are edited already: the last edit counts.
    edited: HashSet<Key>,
    line: Vec<u8>,
}

impl<'a> Edits<'a> {
    fn new(whole: Snapshot<'a>) -> io::Result<Edits<'a>> {
        let Snapshot { session, source } = whole;
        let mut out = Edits { whole, edited: HashSet::new(), line: Vec::new() };
        for ix in session.entries.all().filter(|ix| session.entries.ty(*ix) == "context_edit") {
            source.read(session.span(ix), &mut out.line)?;
            let target = member_at(&out.line, &["targetId"]).and_then(string);
            out.edited.extend(target.map(|target| Key::hash(target.as_bytes())));
        }
        Ok(out)
    }

    /// Returns whether a part is in content that an edit replaces.
    fn can_change(&mut self, found: &Found) -> io::Result<bool> {
        let Snapshot { session, source } = self.whole;
        if self.edited.contains(&session.entries.key(found.entry)) {
            return Ok(false);
        }
        source.read(session.span(found.entry), &mut self.line)?;
        let content = content_of(session.entries.ty(found.entry), &self.line);
        Ok(content.is_some_and(|content| {
            let at = place_in(&self.line, content);
            at.start <= found.part.at.start && found.part.at.end <= at.end
        }))
    }

    /// Returns the content of an entry without its chosen parts.
    fn content(&mut self, slim: &Slim<'_>, entry: Ix) -> io::Result<Vec<u8>> {
        let Snapshot { session, source } = self.whole;
        source.read(session.span(entry), &mut self.line)?;
        let content = content_of(session.entries.ty(entry), &self.line).unwrap_or_default();
        let all = place_in(&self.line, content);
        let id = crate::ops::ids::id(session, source, entry)?;
        let (mut out, mut at) = (Vec::new(), all.start);
        for found in slim.chosen().filter(|found| found.entry == entry) {
            out.extend_from_slice(&self.line[at..found.part.at.start]);
            out.extend_from_slice(&found.part.instead.bytes(&slim.way_back(entry, &id)));
            at = found.part.at.end;
        }
        out.extend_from_slice(&self.line[at..all.end]);
        Ok(out)
    }
}

/// Returns the content of an entry that an edit replaces.
fn content_of<'l>(ty: &str, line: &'l [u8]) -> Option<&'l [u8]> {
    match ty {
        "message" => member(member(line, "message")?, "content"),
        "custom_message" => member(line, "content"),
        _ => None,
    }
}
