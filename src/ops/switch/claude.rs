//! Switching in Claude Code's transcripts: a pin.
//!
//! Versions before 2.1.122 use the last line or the newest one: they get a child without content,
//! with the pin after it. Claude Code does not load anything that a compaction with kept messages
//! replaced; if the file is small enough to be read in full, a copy of the boundary without its
//! lists makes it visible again. Which lines are needed is tried on the loader's rules before any
//! is written.

use super::{Lines, Switch, SwitchOptions, To};
use crate::format::claude::compactions::{as_it_was, compaction_above, distinct_boundaries};
use crate::format::claude::graph::{ClaudeGraph, Way};
use crate::format::claude::head::Rule;
use crate::format::claude::{Boundary, KeptLists, Markup, typed_in, write};
use crate::format::{Content, Session};
use crate::model::{Flags, Ix, Key, Kind, Moved, Plan, Span};
use crate::ops::{Error, Snapshot, label};
use std::io;

/// The file size from which on some versions may not read anything before the last boundary:
/// between 5.2 and 5.4 million bytes were measured, and a file still grows.
const BIG: u64 = 5_000_000;

pub(super) fn plan(
    whole: Snapshot<'_>,
    to: To,
    options: &SwitchOptions,
    mut lines: Lines<'_>,
) -> Result<Switch, Error> {
    let session = whole.session;
    if options.summary.is_some() {
        return Err(Error::NoPlace {
            what: "Claude Code has no branch summary".into(),
            instead: Some("omit it, and write the summary in the next prompt".into()),
        });
    }
    let (to, prompt) = match (to, options.rewind) {
        (To::Entry(ix), true) => {
            let (parent, text) = super::before_prompt(whole, ix)?;
            (parent, Some(text))
        }
        (To::Entry(ix), false) => (Some(ix), None),
        (To::Start, _) => (None, None),
    };
    let exact = session.head.exact;
    let mut switch = Switch {
        plan: Plan { verb: "switch".into(), ..Plan::default() },
        from: session.head.entry,
        to,
        moves: true,
        prompt,
        part: None,
        summarized: false,
        after_compaction: false,
    };
    // The prompt to rewind may be the first: then there is no content above it, and no turn to stay
    // on.
    let turn = match to {
        Some(ix) => turn_above(session, ix).or_else(|| (!options.rewind).then_some(ix)),
        None => None,
    };
    switch.to = turn;
    match turn {
        None => {
            switch.moves = !is_emptied(session);
            if switch.moves {
                to_start(session, &mut lines)?;
            }
        }
        Some(turn) => {
            can_be_followed(whole, turn)?;
            let head = session.head;
            switch.moves = ![head.entry, head.exact].contains(&Some(turn));
            if switch.moves {
                let (landed, after_compaction) = move_to_turn(whole, turn, &mut lines)?;
                switch.after_compaction = after_compaction;
                switch.to = Some(landed);
                switch.part = (landed != turn).then_some(turn);
                // The end of the group of lines that the wanted one is a part of may be where one is.
                if session.head.exact == Some(landed) {
                    switch.moves = false;
                    lines.clear();
                }
            }
        }
    }
    if switch.moves {
        let name = |ix: Option<Ix>| ix.map(|ix| whole.name(ix)).transpose();
        switch.plan.moved = Some(Moved { from: name(exact)?, to: name(switch.to)? });
    }
    if let Some(label) = &options.label {
        let target = switch.to.ok_or_else(super::nothing_to_label)?;
        label::set(whole, &mut lines, label.name(), target)?;
    }
    lines.into_plan(&mut switch.plan);
    switch.plan.keep_times = !switch.moves;
    Ok(switch)
}

/// Returns the nearest turn at or above an entry, by the stored links.
fn turn_above(session: &Session, ix: Ix) -> Option<Ix> {
    session.tree.ancestors(ix).find(|ix| session.entries.kind(*ix).is_turn())
}

/// Fails if Claude Code could not continue from an entry.
fn can_be_followed(whole: Snapshot<'_>, turn: Ix) -> Result<(), Error> {
    let session = whole.session;
    let name = || whole.name(turn);
    let flags = session.entries.flags(turn);
    if session.entries.file(turn) != 0 || flags.has(Flags::SIDECHAIN) {
        return Err(Error::NoPlace {
            what: format!(
                "{} is in the transcript of a subagent, from which the agent can't continue",
                name()?
            ),
            instead: None,
        });
    }
    if !session.entries.kind(turn).is_turn() {
        return Err(Error::NoPlace {
            what: format!(
                "there is no turn at or before {}, so the agent would not open the session",
                name()?
            ),
            instead: Some("`bough switch --root` moves before the first entry".into()),
        });
    }
    // A cycle above it does no harm: Claude Code cuts it.
    super::has_id(whole, turn)
}

/// Returns whether a pin on nothing is active.
pub(in crate::ops) fn is_emptied(session: &Session) -> bool {
    ClaudeGraph::new(session).leaf().rule == Rule::Emptied
}

fn to_start(session: &Session, lines: &mut Lines<'_>) -> Result<(), Error> {
    if write::ignores_pointers(session.claude.version.as_deref()) && session.claude.version.is_some() {
        return Err(Error::NoPlace {
            what: "Claude Code before 2.1.122 can't move before the first entry".into(),
            instead: Some("start a new session, or first continue this one with a newer version".into()),
        });
    }
    lines.push_made(write::pin(None, None, session.id().as_deref()), "", "pins an empty conversation");
    Ok(())
}

/// Adds the lines that move Claude Code to `turn`. Returns the turn that it then continues from, and whether it shows a
/// summary in place of what is before that on its path.
fn move_to_turn(whole: Snapshot<'_>, turn: Ix, lines: &mut Lines<'_>) -> Result<(Ix, bool), Error> {
    let Snapshot { session, source } = whole;
    let size = session.files.first().map_or(0, |file| file.bytes);
    let mut graph = ClaudeGraph::new(session);
    let boundaries = boundaries(session, &mut graph, turn);
    if boundaries.is_empty() {
        // Nothing was ever replaced: a pin is followed wherever it points, except to a line that is
        // only a link.
        let landed = graph.leaf_at(turn).turn.unwrap_or(turn);
        pin(whole, if graph.is_loaded(turn) { turn } else { landed }, lines)?;
        return Ok((landed, false));
    }
    if graph.reads_from_boundary() && graph.is_gone(turn) || size >= BIG && !is_reached(&mut graph, turn) {
        return Err(Error::NoPlace {
            what: format!(
                "{} is before the last compaction, and Claude Code does not read that part of so large a file",
                whole.name(turn)?
            ),
            instead: Some("export its path as a new session with `bough export-branch`".into()),
        });
    }
    if size >= BIG {
        pin(whole, turn, lines)?;
        return Ok((turn, graph.is_kept(turn) && compaction_above(session, source, turn)?.is_none()));
    }
    // Small enough for a trial: use the first way that leads there, and shows the messages that
    // belong there.
    let old = source.bytes(Span { file: 0, offset: 0, len: size })?;
    let compaction = compaction_above(session, source, turn)?;
    let is_kept = graph.is_kept(turn);
    let any = Shown::default();
    let wanted = match is_kept {
        // It is both in its old place and after the summary. The path to it is the old one; if Claude Code can't
        // be brought there, the other has to do.
        true => {
            let above = compaction.map(|above| session.entries.key(above));
            [Shown { below: Some(above), ..any }, Shown { kept: Some(true), ..any }, any]
        }
        // Lists that name a message missing from the file have no effect: then any way that leads there
        // is good.
        false => [Shown { kept: keeps(whole, turn, compaction)?, ..any }, any, any],
    };
    drop(graph);
    let ways = ways_to_compaction(whole, compaction)?;
    for shown in wanted {
        for way in &ways {
            lines.clear();
            for (line, why) in way {
                lines.push_made(line.clone(), "", why);
            }
            pin(whole, turn, lines)?;
            if let Some(landed) = turn_after(session, &old, lines.bytes(), turn, shown) {
                return Ok((landed, is_kept && shown.below.is_none()));
            }
        }
    }
    Err(Error::NoPlace {
        what: format!("no line makes Claude Code continue from {}", whole.name(turn)?),
        instead: Some("export its path as a new session with `bough export-branch`".into()),
    })
}

/// Returns the compactions that matter for `turn`: those in the file, if any of them keeps messages
/// or the file is big.
fn boundaries(session: &Session, graph: &mut ClaudeGraph<'_>, turn: Ix) -> Vec<Ix> {
    let all: Vec<Ix> = session
        .entries
        .all()
        .filter(|ix| session.entries.kind(*ix) == Kind::Compaction && session.entries.file(*ix) == 0)
        .collect();
    let plain = session.claude.boundary.as_ref().is_none_or(|boundary| !boundary.is_listed());
    // One boundary without lists, and the whole file is read: no entry is gone.
    if all.len() <= 1 && plain && is_reached(graph, turn) { Vec::new() } else { all }
}

fn is_reached(graph: &mut ClaudeGraph<'_>, turn: Ix) -> bool {
    graph.is_loaded(turn) && !graph.is_gone(turn)
}

/// Returns whether the model should see messages that the compaction before an entry kept, if there
/// is one; `None` if either will do.
fn keeps(whole: Snapshot<'_>, turn: Ix, compaction: Option<Ix>) -> io::Result<Option<bool>> {
    let session = whole.session;
    let Some(boundary) = compaction else { return Ok(Some(false)) };
    let Some(line) = as_it_was(session, whole.source, boundary)? else { return Ok(Some(false)) };
    // They come after the summary, so the summary by itself shows none.
    let is_summary = Boundary::read(boundary, &line).anchor == Some(session.entries.key(turn));
    Ok((!is_summary).then_some(true))
}

type WayThere = Vec<(Vec<u8>, &'static str)>;

/// Returns the lines that may have to come before the pin, the fewest first; `compaction` is the
/// one that the entry comes after.
///
/// Empty if Claude Code was observed to follow none: between two compactions that kept messages,
/// because it respects the lists of one only if no other has any.
fn ways_to_compaction(whole: Snapshot<'_>, compaction: Option<Ix>) -> Result<Vec<WayThere>, Error> {
    let session = whole.session;
    let with_end = |mut line: Vec<u8>| {
        line.push(b'\n');
        line
    };
    let mut ways = vec![Vec::new()];
    let boundaries = distinct_boundaries(session);
    let above = compaction.map(|above| session.entries.key(above));
    let (mut without, mut again, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    for boundary in &boundaries {
        let key = session.entries.key(*boundary);
        let Some(line) = as_it_was(session, whole.source, *boundary)? else { continue };
        listed.push(key);
        if above == Some(key) {
            again.push((with_end(line), "makes the compaction before the entry apply again"));
            continue;
        }
        let standing = whole.line(*boundary)?;
        if let Some(line) = KeptLists::stripped(&standing) {
            without.push((with_end(line), "restores what a compaction replaced"));
        }
    }
    if !again.is_empty() && listed.last().copied() != above {
        return Ok(ways);
    }
    if !without.is_empty() && again.is_empty() {
        ways.push(without.clone());
    }
    if !again.is_empty() {
        ways.push(again.clone());
        without.extend(again);
        ways.push(without);
    }
    Ok(ways)
}

/// What the model should see of an entry's surroundings; what is `None` does not matter.
#[derive(Clone, Copy, Default)]
struct Shown {
    /// Whether it should see messages that a compaction kept.
    kept: Option<bool>,
    /// The compaction that should be the nearest above the entry, or none.
    below: Option<Option<Key>>,
}

/// Reads the session as it would be. Returns the turn that Claude Code would continue from, if that
/// is the wanted one, or the end of its group of lines, and the model sees what it should.
fn turn_after(session: &Session, old: &[u8], new: &[u8], turn: Ix, shown: Shown) -> Option<Ix> {
    let newline: &[u8] = if old.ends_with(b"\n") || old.is_empty() { b"" } else { b"\n" };
    let trial = Session::read(&[old, newline, new].concat())?;
    let mut graph = ClaudeGraph::new(&trial);
    let leaf = graph.leaf();
    let landed = leaf.turn?;
    let steps = graph.main_path(leaf.from?);
    let wanted = session.entries.key(turn);
    let is_wanted = |ix: Ix| trial.entries.key(ix) == wanted;
    let there = is_wanted(landed) || steps.iter().rev().take(64).any(|step| is_wanted(step.entry));
    let shows_kept = steps.iter().any(|step| step.way == Way::Kept);
    let same_top = {
        let top =
            |session: &Session, ix: Ix| session.tree.ancestors(ix).last().map(|ix| session.entries.key(ix));
        let first = steps.first().map(|step| trial.entries.key(step.entry));
        shows_kept || first == top(session, turn)
    };
    let nearest = || {
        let above = steps.iter().rev().skip_while(|step| !is_wanted(step.entry));
        let mut above = above.filter(|step| trial.entries.kind(step.entry) == Kind::Compaction);
        above.next().map(|step| trial.entries.key(step.entry))
    };
    let is_shown = shown.kept.is_none_or(|kept| kept == shows_kept)
        && shown.below.is_none_or(|wanted| wanted == nearest());
    (there && is_shown && same_top).then(|| session.find(trial.entries.key(landed)).unwrap_or(turn))
}

/// Adds the pin, and before it the line that old versions use.
fn pin(whole: Snapshot<'_>, turn: Ix, lines: &mut Lines<'_>) -> Result<(), Error> {
    let session = whole.session;
    let id = session.id();
    let line = whole.line(turn)?;
    let mut leaf = whole.raw_id(turn)?;
    if write::ignores_pointers(session.claude.version.as_deref()) {
        let uuid = lines.fresh_id();
        let now = lines.newest();
        lines.push_made(write::child(&line, &uuid, now, id.as_deref()), &uuid, "is read by old versions");
        leaf = format!("\"{uuid}\"").into_bytes();
    }
    let prompt = newest_prompt(whole, turn)?;
    lines.push_made(write::pin(prompt.as_deref(), Some(&leaf), id.as_deref()), "", "pins HEAD");
    Ok(())
}

/// Returns the newest typed prompt at or above an entry, cut at 200 characters, as in a pointer.
pub(crate) fn newest_prompt(whole: Snapshot<'_>, ix: Ix) -> io::Result<Option<String>> {
    let session = whole.session;
    for ix in session.tree.ancestors(ix) {
        // In the transcript of a subagent, its prompts are those of the conversation.
        let flags = session.entries.flags(ix);
        if session.entries.kind(ix) != Kind::User || flags.is_put_in() {
            continue;
        }
        let line = whole.line(ix)?;
        let content = Content::read(session.format, &line);
        // Claude Code's pointers do not contain commands.
        if matches!(Markup::parse(&content.text), Some(Markup::Command | Markup::Arguments)) {
            continue;
        }
        if let Some(text) = typed_in(&content) {
            return Ok(Some(text.chars().take(200).collect()));
        }
    }
    Ok(None)
}
