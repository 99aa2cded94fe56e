//! Converts a session back to the format of the session that it was made from.
//!
//! If nothing was touched, the old file comes back, byte for byte. Otherwise its lines are kept but
//! for those whose entries were changed or taken away, and what is new is written after them, linked
//! to where it belongs. The result is read again, and used only if it says what the session says.

mod file;
mod labels;
mod turns;

use super::conversation::{self, Conversation, Loss};
use super::original::{Original, State, split};
use super::{Conversion, Error, Options, Snapshot, Thinking, Writer, name_of, proof, think, tips, tools};
use crate::format::{Builder, Format, Ids, Session};
use crate::model::{Ix, Table, Time};
use labels::Labeled;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;

/// What becomes of a line of the old file.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Line {
    Keep,
    Drop,
    Replace(Vec<u8>),
}

/// Converts a session back, or says why its lines can't come back.
///
/// Costs two readings of the old session besides that of the session itself; none if nothing was
/// touched.
pub(super) fn convert(
    whole: Snapshot<'_>,
    original: &Original,
    options: &Options,
    fresh: &mut Ids,
    now: Time,
) -> Result<Result<Conversion, &'static str>, Error> {
    let states = original.states(whole)?;
    if states.iter().any(|state| matches!(state, State::Moved(_))) {
        return Ok(Err("entries were put below others"));
    }
    let conversation = conversation::read(whole, &tips(whole)?)?;
    let old_source = Table(vec![original.bytes.clone()]);
    let old = read(&original.bytes, original.format);
    let mut back = Back {
        whole,
        original,
        old: Snapshot { session: &old, source: &old_source },
        conversation: &conversation,
        rows: HashMap::new(),
        states,
        known: Vec::new(),
        is_new: Vec::new(),
    };
    back.rows =
        back.states.iter().enumerate().filter_map(|(row, state)| Some((ix_of(*state)?, row))).collect();
    let lines = match back.sort_turns() {
        Ok(()) => back.touched_lines(),
        Err(why) => return Ok(Err(why)),
    };
    let Some(lines) = lines else {
        return Ok(Err("an entry that was changed shares a line with others"));
    };
    let labels = back.changed_labels()?;
    let name = back.changed_name();
    let is_moved = back.is_head_moved();
    let is_same = back.is_new.iter().all(|is_new| !is_new)
        && lines.iter().all(|line| *line == Line::Keep)
        && labels.is_empty()
        && name.is_none()
        && !is_moved;
    let session = whole.session.id().unwrap_or_default();
    // A copy or a fork of the session is another session.
    let has_id = whole.session.header.is_some() || whole.session.format == Format::Claude;
    let is_copy = has_id && session != original.session || options.new_id;
    if is_same && !is_copy {
        return Ok(Ok(back.conversion(original.bytes.clone(), &conversation, lines.len())));
    }
    if original.format != options.to {
        return Ok(Err("only an untouched session comes back in this version of the format"));
    }
    let is_flat = original.format == Format::Codex;
    if is_flat
        && (is_copy
            || lines.contains(&Line::Drop)
            || lines.iter().any(|line| matches!(line, Line::Replace(_))))
    {
        return Ok(Err("lines of Codex can't be changed"));
    }
    back.write_touched(Touched { lines, labels, name, is_moved, is_copy }, options, fresh, now)
}

/// What differs from the old session.
struct Touched {
    /// What becomes of each of its lines.
    lines: Vec<Line>,
    labels: Vec<(Labeled, Option<String>)>,
    name: Option<String>,
    /// Whether HEAD is elsewhere.
    is_moved: bool,
    /// Whether the result is another session.
    is_copy: bool,
}

struct Back<'a> {
    /// The session.
    whole: Snapshot<'a>,
    original: &'a Original,
    /// The old session.
    old: Snapshot<'a>,
    conversation: &'a Conversation,
    /// The entries that the old session has, each with its row in the list of the original.
    rows: HashMap<Ix, usize>,
    states: Vec<State>,
    /// The rows of the turns that the old session has, as they are.
    known: Vec<Option<Vec<usize>>>,
    /// Whether each turn has to be written.
    is_new: Vec<bool>,
}

impl Back<'_> {
    /// Writes the lines that were touched in the format of the old session, among those that were not.
    fn write_touched(
        &self,
        touched: Touched,
        options: &Options,
        fresh: &mut Ids,
        now: Time,
    ) -> Result<Result<Conversion, &'static str>, Error> {
        let Touched { mut lines, labels, name, is_moved, is_copy } = touched;
        let old = self.old.session;
        // Reading the old session costs a context for each branch: only now.
        let old_conversation = conversation::read(self.old, &tips(self.old)?)?;
        let mut changed = self.conversation.clone();
        think(&mut changed, options.to, options.thinking);
        let renamed =
            if options.map_tools { tools::rename(&mut changed, options.to) } else { BTreeMap::new() };
        let own = Options {
            session: if is_copy { options.session.clone() } else { old.id().unwrap_or_default() },
            cwd: cwd_of(old).unwrap_or_else(|| options.cwd.clone()),
            ..options.clone()
        };
        let mut writer = Writer::new(changed, &own, fresh, now);
        writer.has_compactions = true;
        if let Err(why) = self.give_ids(&mut writer, &old_conversation)? {
            return Ok(Err(why));
        }
        writer.turns();
        self.replace(&mut writer, &mut lines);
        let appended: Vec<usize> = (0..self.is_new.len())
            .filter(|at| self.is_new[*at] && !writer.fixed.contains_key(at) && writer.ids[*at].is_some())
            .collect();
        let mut tail = Vec::new();
        for at in &appended {
            tail.extend_from_slice(&writer.out[writer.ranges[*at].clone()]);
        }
        writer.out = tail;
        self.ending(&mut writer, !appended.is_empty(), is_moved, &labels, name.as_deref())?;
        let tail = std::mem::take(&mut writer.out);
        let kept = lines.iter().filter(|line| **line == Line::Keep).count();
        let bytes = self.file(&lines, &tail, name.as_deref(), is_copy.then_some(own.session.as_str()))?;
        if let Err(why) = self.prove(&bytes)? {
            return Ok(Err(why));
        }
        let mut made = self.conversion(bytes, &writer.conversation, kept);
        self.lose_labels(labels, &writer, &mut made.losses);
        made.session = own.session;
        made.renamed = renamed;
        if is_copy {
            made.began = None;
        }
        Ok(Ok(made))
    }

    /// Returns what becomes of each line; `None` if an entry was changed that was made from a part of a
    /// line. Lines to replace are empty.
    fn touched_lines(&self) -> Option<Vec<Line>> {
        let mut lines = vec![Line::Keep; split(&self.original.bytes).count()];
        let mut kept: BTreeSet<usize> = BTreeSet::new();
        for (made, state) in self.original.made.iter().zip(&self.states) {
            if matches!(state, State::Same(_)) {
                kept.extend(&made.lines);
            }
        }
        for line in &self.original.left {
            *lines.get_mut(*line)? = Line::Drop;
        }
        for (made, state) in self.original.made.iter().zip(&self.states) {
            match state {
                State::Same(_) | State::Moved(_) => {}
                State::Gone => {
                    for line in made.lines.iter().filter(|line| !kept.contains(line)) {
                        *lines.get_mut(*line)? = Line::Drop;
                    }
                }
                State::Edited(_) => {
                    let is_whole = |line: &usize| {
                        !kept.contains(line)
                            && self.original.made.iter().filter(|made| made.lines.contains(line)).count() == 1
                    };
                    let (last, before) = made.lines.split_last()?;
                    if !made.lines.iter().all(is_whole) {
                        return None;
                    }
                    for line in before {
                        *lines.get_mut(*line)? = Line::Drop;
                    }
                    *lines.get_mut(*last)? = Line::Replace(Vec::new());
                }
            }
        }
        Some(lines)
    }

    /// Gives the turns that the old session has their ids there, and changed ones their ids and parents.
    fn give_ids(
        &self,
        writer: &mut Writer<'_>,
        old_conversation: &Conversation,
    ) -> io::Result<Result<(), &'static str>> {
        // The turns of the old session that those of this one come from.
        let mut below: HashMap<(Option<usize>, Option<Ix>), usize> = HashMap::new();
        for (at, turn) in old_conversation.turns.iter().enumerate() {
            for entry in turn.entries() {
                below.entry((turn.parent, Some(entry))).or_insert(at);
            }
            if turn.entry.is_none() {
                below.entry((turn.parent, None)).or_insert(at);
            }
        }
        let mut old_turn: Vec<Option<usize>> = Vec::new();
        let mut has_next = vec![false; old_conversation.turns.len()];
        old_conversation.turns.iter().filter_map(|turn| turn.parent).for_each(|at| has_next[at] = true);
        for (at, turn) in self.conversation.turns.iter().enumerate() {
            let parent = turn.parent.and_then(|parent| old_turn[parent]);
            let Some(rows) = &self.known[at] else {
                old_turn.push(parent.filter(|_| turn.entry.is_none()));
                continue;
            };
            let entries: Vec<Ix> = rows.iter().flat_map(|row| self.old_entries(*row)).collect();
            let found = match entries.as_slice() {
                [] => below.get(&(parent, None)).copied().or(parent),
                entries => entries.iter().find_map(|entry| below.get(&(parent, Some(*entry))).copied()),
            };
            old_turn.push(found.or(parent));
            let Some(last) = entries.last() else {
                // Without a line: what comes after it is linked to what comes before it.
                writer.has[at] = true;
                continue;
            };
            let of_line = self.old.id(*last)?;
            if of_line.is_empty() && self.original.format != Format::Codex {
                return Ok(Err("the lines of the old session have no ids"));
            }
            if self.is_new[at] {
                // The parent of a reply in several lines is that of the first.
                let Some(first) = entries.first() else { continue };
                let line = self.old.line(*first)?;
                let names = self.old.session.format.names();
                let parent = crate::json::member_at(&line, &[names.parent]).map(<[u8]>::to_vec);
                writer.fixed.insert(at, (of_line, parent));
                continue;
            }
            // After the last turn of a branch, what follows is put where the agent would put it.
            let is_head = rows
                .last()
                .is_some_and(|row| Some(&self.original.made[*row].id) == self.original.head.as_ref());
            let head = self.old.session.head.exact.filter(|_| is_head);
            let end = head.or_else(|| {
                let found = found.filter(|found| !has_next[*found])?;
                let mut ends = old_conversation.ends.iter().rev();
                ends.find(|(turn, _)| *turn == found).map(|(_, tip)| *tip)
            });
            let id = match end {
                Some(end) => self.old.id(end)?,
                None => of_line,
            };
            writer.has[at] = true;
            writer.ids[at] = Some(id);
        }
        Ok(Ok(()))
    }

    /// Returns the entries of the old session that a row was made from, in file order.
    fn old_entries(&self, row: usize) -> Vec<Ix> {
        let entries = &self.old.session.entries;
        self.original.made[row].lines.iter().filter_map(|line| entries.on_line(0, *line as u64 + 1)).collect()
    }

    /// Puts changed turns in the place of their old lines.
    fn replace(&self, writer: &mut Writer<'_>, lines: &mut [Line]) {
        for at in writer.fixed.keys() {
            let Some(row) = self.known[*at].as_ref().and_then(|rows| rows.last()) else { continue };
            let line = writer.out[writer.ranges[*at].clone()].strip_suffix(b"\n").unwrap_or_default();
            if let Some(last) = self.original.made[*row].lines.last() {
                lines[*last] = match line.is_empty() {
                    true => Line::Drop,
                    false => Line::Replace(line.to_vec()),
                };
            }
        }
    }

    /// Returns the new name, if it was given since.
    fn changed_name(&self) -> Option<String> {
        let new = name_of(self.whole.session)?;
        let old = self.old.session.name.as_deref().unwrap_or_default();
        // oh-my-pi's title has a limit.
        (!new.is_empty() && !old.starts_with(new)).then(|| new.to_owned())
    }

    /// Checks that a file says what the session says.
    fn prove(&self, bytes: &[u8]) -> Result<Result<(), &'static str>, Error> {
        let session = read(bytes, self.original.format);
        let source = Table(vec![bytes.to_vec()]);
        let whole = Snapshot { session: &session, source: &source };
        let mut new = conversation::read(whole, &tips(whole)?)?;
        if self.original.thinking == Thinking::Text {
            think(&mut new, Format::Pi, Thinking::Text);
        }
        let images = self.whole.session.format != Format::Chimera && session.format != Format::Chimera;
        let wanted = proof::digests(self.conversation, images);
        let found = proof::digests(&new, images);
        let at = |digests: &[[u8; 32]], turn: Option<usize>| turn.map(|turn| digests[turn]);
        if at(&wanted, self.conversation.head) != at(&found, new.head) {
            return Ok(Err("with them, HEAD would not say the same"));
        }
        let all_found: HashSet<&[u8; 32]> = found.iter().collect();
        // The lines of all other branches are as they were.
        let mut has_new: Vec<bool> = Vec::with_capacity(wanted.len());
        for (turn, is_new) in self.conversation.turns.iter().zip(&self.is_new) {
            has_new.push(*is_new || turn.parent.is_some_and(|parent| has_new[parent]));
        }
        for leaf in proof::leaves(self.conversation).into_iter().filter(|leaf| has_new[*leaf]) {
            if !all_found.contains(&wanted[leaf]) {
                return Ok(Err("with them, a branch would not say the same"));
            }
        }
        if self.states.iter().any(|state| !matches!(state, State::Same(_))) {
            let all_wanted: HashSet<&[u8; 32]> = wanted.iter().collect();
            if proof::leaves(&new).into_iter().any(|leaf| !all_wanted.contains(&found[leaf])) {
                return Ok(Err("with them, something that was taken away would be there again"));
            }
        }
        Ok(Ok(()))
    }

    fn conversion(&self, bytes: Vec<u8>, conversation: &Conversation, kept: usize) -> Conversion {
        let mut losses: BTreeMap<&'static str, Vec<Option<Ix>>> = BTreeMap::new();
        let is_new = |entry: Ix| {
            self.conversation
                .turns
                .iter()
                .zip(&self.is_new)
                .any(|(turn, is_new)| *is_new && turn.entries().any(|known| known == entry))
        };
        for Loss { what, entry } in &conversation.losses {
            // What is in lines that came back is not lost.
            if entry.is_some_and(is_new) {
                losses.entry(what).or_default().push(*entry);
            }
        }
        let old = self.old.session;
        Conversion {
            bytes,
            session: old.id().unwrap_or_default(),
            began: old.header.as_ref().and_then(|header| header.time),
            turns: conversation.turns.len(),
            branches: conversation.branches,
            losses,
            renamed: BTreeMap::new(),
            came_back: Some(kept),
            not_back: None,
        }
    }
}

fn ix_of(state: State) -> Option<Ix> {
    match state {
        State::Same(ix) | State::Edited(ix) | State::Moved(ix) => Some(ix),
        State::Gone => None,
    }
}

fn cwd_of(session: &Session) -> Option<String> {
    session.header.as_ref().and_then(|header| header.cwd.clone()).or(session.claude.cwd.clone())
}

/// Reads a file as one of a format.
pub(super) fn read(bytes: &[u8], format: Format) -> Session {
    let mut builder = Builder::new(format);
    builder.begin_file();
    let mut reader = format.reader();
    reader.feed(bytes, |line| builder.line(line));
    reader.finish(|line| builder.line(line));
    builder.finish()
}
