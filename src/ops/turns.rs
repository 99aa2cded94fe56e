//! How `~N`, `turn:N`, `reply:N` and HEAD count entries and prompts: along the thread, as `log` shows
//! it, without bookkeeping.

use super::grep::queued::{Queue, Queued};
use super::log_rows::RowWalk;
use super::{Snapshot, revision, thread};
use crate::format::{Content, Format, OtherKind, Session};
use crate::model::{Flags, Ix, Kind, Tree};
use std::collections::HashMap;
use std::io;

/// The thread of a session: Claude Code's entries linearized, those of other formats as their links are stored.
pub struct Thread<'s> {
    whole: Snapshot<'s>,
    built: Option<(Tree, thread::Reading)>,
}

/// One prompt on the path to HEAD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Prompt {
    /// An entry.
    Entry(Ix),
    /// A prompt that was typed while the agent worked, and that is only on a line of the input queue.
    Queued {
        /// The line, from 1.
        line: u64,
        /// Its text, and where its line begins.
        queued: Queued,
        /// The entry of the path after which it was typed.
        after: Ix,
    },
}

/// A prompt with everything up to the next one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The prompt.
    pub prompt: Prompt,
    /// The last text that the model wrote in the turn.
    pub reply: Option<Ix>,
}

impl<'s> Thread<'s> {
    /// Builds the thread. Costs as much as `log` for Claude Code, and nothing for other formats.
    pub fn new(whole: Snapshot<'s>) -> io::Result<Thread<'s>> {
        let session = whole.session;
        let is_built = session.format != Format::Claude || session.is_thread || session.partial;
        let built = match is_built {
            true => None,
            false => {
                let reading = thread::read(session, whole.source)?;
                Some((reading.tree(), reading))
            }
        };
        Ok(Thread { whole, built })
    }

    /// The tree of the thread.
    pub fn tree(&self) -> &Tree {
        self.built.as_ref().map_or(&self.whole.session.tree, |(tree, _)| tree)
    }

    /// The entry that has the place of another in the thread: mostly itself.
    pub fn stand_in(&self, ix: Ix) -> Ix {
        self.built.as_ref().map_or(ix, |(_, reading)| reading.stand_in(ix))
    }

    /// The entry `steps` rows of `log` before another in the thread; bookkeeping and the markers of `switch` do not count, nor do
    /// calls that are in the row of their result.
    pub fn before(&self, from: Ix, steps: usize) -> Option<Ix> {
        if steps == 0 {
            return Some(from);
        }
        let session = self.whole.session;
        let in_agent = session.entries.flags(from).has(Flags::SIDECHAIN);
        let counts =
            |ix: &Ix| session.is_conversation(*ix) || in_agent && session.is_in_any_conversation(*ix);
        let from = self.stand_in(from);
        let mut walk = RowWalk::above(session, from);
        let mut above = self.tree().ancestors(from).skip(1).filter(counts);
        above.by_ref().filter(|ix| walk.is_row(session, *ix)).nth(steps - 1)
    }

    /// The entries of the thread up to where the agent continues, the first of them first.
    pub fn path(&self) -> Vec<Ix> {
        let end = self.whole.session.end_in(self.tree(), |ix| self.stand_in(ix));
        end.map(|end| self.tree().path(end)).unwrap_or_default()
    }

    /// The entries of the thread up to an entry; up to HEAD, as [`Thread::path`].
    pub fn path_to(&self, ix: Ix) -> Vec<Ix> {
        match self.whole.session.head.entry == Some(ix) {
            true => self.path(),
            false => self.tree().path(self.stand_in(ix)),
        }
    }

    /// The entries of [`Thread::path`] that `log` shows, with the calls that are in the rows of their results.
    pub fn shown(&self) -> Vec<Ix> {
        let mut path = self.path();
        path.retain(|ix| self.whole.session.is_conversation(*ix));
        path
    }

    /// The first entry of the thread: the last row of `log`.
    pub fn root(&self) -> Option<Ix> {
        let (session, path) = (self.whole.session, self.path());
        let mut walk = RowWalk::default();
        let rows = path.iter().rev().filter(|ix| session.is_conversation(**ix) && walk.is_row(session, **ix));
        rows.last().or(path.first()).copied()
    }

    /// The turns of the thread, oldest first.
    ///
    /// Reads the lines of Claude Code's input queue if there are any, and those of prompts after them.
    pub fn turns(&self) -> io::Result<Vec<Turn>> {
        let session = self.whole.session;
        let path = self.path();
        let prompts = self.prompts_on(&path)?;
        // What was typed after an entry ends the turn after it; a prompt that is an entry ends it before.
        let end = |(at, prompt): &(usize, Prompt)| at + usize::from(!matches!(prompt, Prompt::Entry(_)));
        let ends: Vec<usize> = prompts.iter().skip(1).map(end).chain(Some(path.len())).collect();
        let said = |ix: &&Ix| {
            session.entries.kind(**ix) == Kind::Assistant
                && session.entries.flags(**ix).has(Flags::TEXT)
                && session.is_conversation(**ix)
        };
        let turns = prompts.into_iter().zip(ends).map(|((at, prompt), end)| {
            let turn = path.get(at + 1..end).unwrap_or_default();
            Turn { prompt, reply: turn.iter().rev().find(said).copied() }
        });
        Ok(turns.collect())
    }

    /// Returns the prompts on a path, each with its place or that of the entry after which it was typed.
    fn prompts_on(&self, path: &[Ix]) -> io::Result<Vec<(usize, Prompt)>> {
        let mut prompts: Vec<(usize, Prompt)> = path
            .iter()
            .enumerate()
            .filter(|(_, ix)| revision::is_prompt(self.whole.session, **ix))
            .map(|(at, ix)| (at, Prompt::Entry(*ix)))
            .collect();
        let places: HashMap<Ix, usize> = path.iter().enumerate().map(|(at, ix)| (*ix, at)).collect();
        for (line, before, queued) in self.queued()? {
            // It was typed on the branch of the entry before it.
            let last = (0..before).rev().map(|ix| self.stand_in(Ix(ix))).find(|ix| self.is_placed(*ix));
            if let Some(at) = last.and_then(|last| places.get(&last)) {
                prompts.push((*at, Prompt::Queued { line, queued, after: path[*at] }));
            }
        }
        // Stable, so that what was typed after an entry follows it.
        prompts.sort_by_key(|(at, _)| *at);
        Ok(prompts)
    }

    /// Whether an entry is on a branch of the thread, and not in the transcript of a subagent.
    fn is_placed(&self, ix: Ix) -> bool {
        let session = self.whole.session;
        session.entries.file(ix) == 0
            && session.tree.is_in_tree(ix)
            && !session.entries.flags(ix).has(Flags::SIDECHAIN)
            && self.built.as_ref().is_none_or(|(_, reading)| reading.strand_of(ix).is_some())
    }

    /// The prompts that are only in the input queue: their lines, how many entries are before them, and their texts.
    fn queued(&self) -> io::Result<Vec<(u64, u32, Queued)>> {
        let Snapshot { session, source } = self.whole;
        if session.format != Format::Claude || session.partial {
            return Ok(Vec::new());
        }
        let mut queue = Queue::default();
        let (mut line, mut next) = (Vec::new(), 0);
        let mut lines: HashMap<u64, (u64, u32)> = HashMap::new();
        let count = session.entries.count_in(0);
        let mut entries_until = |end: u32, queue: &mut Queue, line: &mut Vec<u8>| -> io::Result<()> {
            for ix in (next..end.min(count)).map(Ix) {
                let may_have = matches!(session.entries.kind(ix), Kind::User | Kind::Attachment);
                if may_have && queue.is_waiting() {
                    source.read(session.span(ix), line)?;
                    queue.line(session.span(ix).offset, line);
                }
            }
            next = next.max(end);
            Ok(())
        };
        let notes =
            session.others.iter().filter(|other| other.span.file == 0 && other.kind == OtherKind::Note);
        for other in notes {
            entries_until(other.before, &mut queue, &mut line)?;
            source.read(other.span, &mut line)?;
            queue.line(other.span.offset, &line);
            lines.insert(other.span.offset, (other.line, other.before));
        }
        entries_until(count, &mut queue, &mut line)?;
        let place = |queued: Queued| lines.get(&queued.offset).map(|(line, before)| (*line, *before, queued));
        Ok(queue.left().into_iter().filter_map(place).collect())
    }
}

/// Returns what the user typed in a prompt: a command of Claude Code as it was typed, and nothing of what was put before it.
pub fn typed_text(whole: Snapshot<'_>, ix: Ix) -> io::Result<String> {
    let line = whole.line(ix)?;
    let content = Content::read(whole.session.format, &line);
    let typed = match whole.session.format {
        Format::Claude => crate::format::claude::typed_in(&content),
        _ => None,
    };
    Ok(typed.unwrap_or_else(|| content.text.into_owned()))
}

/// Returns the last entry that the paths to two entries have in common, in the thread; `None` if they have none.
pub fn merge_base(whole: Snapshot<'_>, one: Ix, other: Ix) -> io::Result<Option<Ix>> {
    let thread = Thread::new(whole)?;
    let (one, other) = (thread.path_to(one), thread.path_to(other));
    let shared = &one[..Tree::shared(&one, &other)];
    let shown = shared.iter().rev().find(|ix| whole.session.is_conversation(**ix));
    Ok(shown.or(shared.last()).copied())
}

/// Returns how many entries of the thread `log` shows at and before HEAD.
pub fn shown_count(session: &Session, source: &dyn crate::model::Source) -> io::Result<usize> {
    Ok(Thread::new(Snapshot { session, source })?.shown().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Table;
    use serde_json::json;

    /// A session of Claude Code: `p` is a prompt, `r` a reply with text, `c` one with only a call, `q` a prompt in the input queue
    /// alone; each has its number for its text, and `<` the entry that it is under, else the one before.
    fn session(text: &str) -> (Vec<String>, Session, Vec<u8>) {
        let (mut names, mut file) = (Vec::new(), String::new());
        for item in text.split(';').map(str::trim) {
            let (name, parent) = match item.split_once('<') {
                Some((name, parent)) => (name, Some(parent.to_owned())),
                None => (item, names.last().cloned()),
            };
            let content = match name.as_bytes()[0] {
                b'q' => {
                    let line = json!({ "type": "queue-operation", "operation": "enqueue", "content": &name[1..], "sessionId": "s" });
                    file += &format!("{line}\n");
                    continue;
                }
                b'c' => json!([{ "type": "tool_use", "id": name, "name": "Bash", "input": {} }]),
                _ => json!([{ "type": "text", "text": &name[1..] }]),
            };
            let role = if name.starts_with('p') { "user" } else { "assistant" };
            let line = json!({
                "type": role, "uuid": name, "parentUuid": parent, "sessionId": "s", "isSidechain": false,
                "timestamp": format!("2026-03-02T11:{:02}:00.000Z", names.len()),
                "message": { "id": name, "role": role, "content": content },
            });
            file += &format!("{line}\n");
            names.push(name.to_owned());
        }
        (names, Session::read(file.as_bytes()).unwrap(), file.into_bytes())
    }

    #[test]
    #[rustfmt::skip] // a table
    fn turns_are_prompts_with_their_replies() {
        let check = |text: &str, wanted: &str| {
            let (names, session, bytes) = session(text);
            let source = Table(vec![bytes]);
            let thread = Thread::new(Snapshot { session: &session, source: &source }).unwrap();
            let name = |ix: Ix| names[ix.index()].clone();
            let turns = thread.turns().unwrap();
            let turns = turns.iter().map(|turn| {
                let prompt = match &turn.prompt {
                    Prompt::Entry(ix) => name(*ix),
                    Prompt::Queued { queued, after, .. } => format!("q{}@{}", queued.text, name(*after)),
                };
                format!("{prompt}:{}", turn.reply.map_or("-".into(), name))
            });
            assert_eq!(turns.collect::<Vec<_>>().join(" "), wanted, "{text}");
        };
        //     lines of the file                 prompt:reply; of a queued one after which entry
        check("p1; r2; p3; r4",                  "p1:r2 p3:r4");
        check("p1; r2; c3; r4; c5",              "p1:r4");
        check("p1; c2; p3",                      "p1:- p3:-");
        check("p1; r2; q3; r4; p5; r6",          "p1:r2 q3@r2:r4 p5:r6");
        check("p1; q2; q3; r4",                  "p1:- q2@p1:- q3@p1:r4");
        check("p1; r2; q3; p3; r4",              "p1:r2 p3:r4");              // an entry has the same text
        check("p1; r2; p3<r2; r4; q5; p6<r2; r7", "p1:r2 p6:r7");             // typed on another branch
        check("q0; p1; r2",                      "p1:r2");                    // before the first entry there is no branch
    }
}
