//! `bough convert`: writes a session in the format of another agent.
//!
//! [`conversation`] reads what the source would send, on every branch; each target writes it in a
//! file of its own. What a target can't hold is counted as a loss, and never dropped in silence.

mod chimera;
mod claude;
mod codex;
pub mod conversation;
mod pi;

use super::{Error, Snapshot, branches};
use crate::format::{Format, Ids};
use crate::model::{Change, Ix, Kind, Piece, Plan, Target, Time};
use conversation::{Conversation, Loss, Part, Speaker, Turn};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// The formats that sessions are converted to.
pub const TARGETS: [Format; 5] = [Format::Pi, Format::Omp, Format::Chimera, Format::Claude, Format::Codex];

/// What becomes of the thoughts of the model. Signatures are never carried over: they belong to one
/// provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thinking {
    /// Kept as thinking where the target sends thinking without a signature, and left out elsewhere.
    Keep,
    /// Kept as text of the reply.
    Text,
    /// Left out.
    Drop,
}

/// How a session is converted.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format of the new session.
    pub to: Format,
    /// What becomes of thoughts.
    pub thinking: Thinking,
    /// The id of the new session.
    pub session: String,
    /// Its working directory.
    pub cwd: String,
    /// Its file; `None` is standard output.
    pub path: Option<PathBuf>,
}

/// A conversion that has not been written yet.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// What is written.
    pub plan: Plan,
    /// The new session.
    pub bytes: Vec<u8>,
    /// The number of turns.
    pub turns: usize,
    /// The number of branches.
    pub branches: usize,
    /// What is not carried over: how often, and from which entries.
    pub losses: BTreeMap<&'static str, Vec<Option<Ix>>>,
}

impl Conversion {
    /// Returns the number of things that are not carried over.
    pub fn lost(&self) -> usize {
        self.losses.values().map(Vec::len).sum()
    }
}

/// Plans the conversion of a session.
///
/// All branches are converted, except to Codex, whose sessions have only one. Costs a context for each
/// branch and each compaction. Fails if nothing would be sent.
pub fn plan(whole: Snapshot<'_>, options: &Options, fresh: &mut Ids, now: Time) -> Result<Conversion, Error> {
    let tips = match options.to {
        Format::Codex => Vec::new(),
        _ => tips(whole)?,
    };
    let mut conversation = conversation::read(whole, &tips)?;
    if conversation.turns.is_empty() {
        return Err(Error::NoPlace {
            what: "the session has no prompts and replies that could be sent".into(),
            instead: None,
        });
    }
    if options.to == Format::Codex {
        let all = branches::count(whole.session, whole.source)?;
        let others = all.saturating_sub(1);
        let loss = Loss { what: "branches besides that of HEAD", entry: None };
        conversation.losses.extend(std::iter::repeat_n(loss, others));
    }
    think(&mut conversation, options);
    let mut target = Writer { conversation, options, fresh, now, ids: Vec::new(), out: Vec::new() };
    match options.to {
        Format::Pi | Format::Omp => pi::write(&mut target, whole.session.name.as_deref()),
        Format::Chimera => chimera::write(&mut target),
        Format::Claude => claude::write(&mut target, whole.session.name.as_deref()),
        _ => codex::write(&mut target),
    }
    let Writer { conversation, out, .. } = target;
    let mut losses: BTreeMap<&'static str, Vec<Option<Ix>>> = BTreeMap::new();
    for Loss { what, entry } in conversation.losses {
        losses.entry(what).or_default().push(entry);
    }
    let mut plan = Plan { verb: "convert".into(), ..Plan::default() };
    plan.targets.push(Target::Create { path: options.path.clone(), pieces: vec![Piece::New(out.clone())] });
    plan.changes.push(Change {
        op: "create",
        path: options.path.clone(),
        bytes: out.len() as i64,
        why: format!("is the session for {}", options.to.agent()),
        ..Change::default()
    });
    let (turns, branches) = (conversation.turns.len(), conversation.branches);
    Ok(Conversion { plan, bytes: out, turns, branches, losses })
}

/// Returns the entries at which a branch ends, and those before a compaction, in file order.
pub fn tips(whole: Snapshot<'_>) -> Result<Vec<Ix>, Error> {
    let session = whole.session;
    let mut tips = match session.format {
        Format::Claude => branches::tips(session, super::turns::Thread::new(whole)?.tree()),
        _ => branches::tips(session, &session.tree),
    };
    let compactions =
        session.tree.entries_in_tree().filter(|ix| session.entries.kind(*ix) == Kind::Compaction);
    tips.extend(compactions.filter_map(|ix| session.tree.parent(ix)));
    tips.sort_unstable();
    tips.dedup();
    Ok(tips)
}

/// Keeps thoughts, makes them text, or leaves them out.
fn think(conversation: &mut Conversation, options: &Options) {
    let may_keep = matches!(options.to, Format::Pi | Format::Omp);
    let mut losses = Vec::new();
    for turn in &mut conversation.turns {
        let entry = turn.entry;
        turn.parts = std::mem::take(&mut turn.parts)
            .into_iter()
            .filter_map(|part| match (part, options.thinking) {
                (Part::Thinking(text), Thinking::Text) if !text.trim().is_empty() => Some(Part::Text(text)),
                (Part::Thinking(text), Thinking::Keep) if may_keep && !text.trim().is_empty() => {
                    Some(Part::Thinking(text))
                }
                (Part::Thinking(_), _) => {
                    losses.push(Loss { what: "thoughts", entry });
                    None
                }
                (part, _) => Some(part),
            })
            .collect();
    }
    conversation.losses.extend(losses);
}

/// Writes the lines of a new session.
struct Writer<'a> {
    conversation: Conversation,
    options: &'a Options,
    fresh: &'a mut Ids,
    now: Time,
    /// The ids of the turns so far; `None` for one that says nothing.
    ids: Vec<Option<String>>,
    out: Vec<u8>,
}

impl Writer<'_> {
    /// Returns the id of the turn before another, past those that say nothing.
    fn id_before(&self, turn: &Turn) -> Option<String> {
        let mut at = turn.parent;
        while let Some(before) = at {
            if let Some(id) = &self.ids[before] {
                return Some(id.clone());
            }
            at = self.conversation.turns[before].parent;
        }
        None
    }

    /// Returns the id of the last turn on the way to HEAD.
    fn head(&self) -> Option<String> {
        let mut at = self.conversation.head;
        while let Some(turn) = at {
            if let Some(id) = &self.ids[turn] {
                return Some(id.clone());
            }
            at = self.conversation.turns[turn].parent;
        }
        None
    }

    /// Returns the beginning of the last prompt on the way to HEAD.
    fn last_prompt(&self) -> Option<String> {
        const MOST: usize = 200;
        let mut at = self.conversation.head;
        while let Some(turn) = at.map(|at| &self.conversation.turns[at]) {
            if turn.speaker == Speaker::User {
                return Some(text_of(&turn.parts).chars().take(MOST).collect());
            }
            at = turn.parent;
        }
        None
    }

    /// Returns the time of a turn; now, if it has none.
    fn time(&self, turn: &Turn) -> Time {
        if turn.time.is_some() { turn.time } else { self.now }
    }

    fn new_id(&mut self) -> String {
        self.fresh.entry(self.options.to, &[])
    }
}

/// Returns the arguments of a call as an object, as all targets but Codex need them.
fn object(arguments: &str) -> Cow<'_, str> {
    let is_object =
        arguments.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(arguments).is_ok();
    match is_object {
        true => Cow::Borrowed(arguments),
        false if arguments.trim().is_empty() => Cow::Borrowed("{}"),
        false => Cow::Owned(serde_json::json!({ "input": arguments }).to_string()),
    }
}

/// Ids of calls in the form that all providers accept: letters, digits, `_` and `-`, at most 64 of
/// them. The same id has the same form everywhere.
#[derive(Default)]
struct CallIds {
    given: HashMap<String, String>,
}

impl CallIds {
    fn id(&mut self, id: &str) -> String {
        const MOST: usize = 64;
        if let Some(known) = self.given.get(id) {
            return known.clone();
        }
        let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let mut fit: String = id.chars().map(|c| if is_fit(c) { c } else { '_' }).take(MOST).collect();
        if fit != id {
            let taken = |fit: &String| self.given.values().any(|known| known == fit);
            let mut count = 1;
            let start: String = fit.chars().take(MOST - 8).collect();
            while fit.is_empty() || taken(&fit) {
                fit = format!("{start}_{count}");
                count += 1;
            }
        }
        self.given.insert(id.to_owned(), fit.clone());
        fit
    }
}

/// Returns the provider that a model is of, judging by its name.
fn provider(model: &str) -> (&'static str, &'static str) {
    let model = model.to_ascii_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| model.starts_with(start));
    match () {
        () if begins(&["claude"]) => ("anthropic", "anthropic-messages"),
        () if begins(&["gemini"]) => ("google", "google-generative-ai"),
        () if begins(&["gpt", "o1", "o3", "o4", "codex"]) => ("openai", "openai-responses"),
        () => ("openai", "openai-completions"),
    }
}

/// Returns the texts of parts, joined by blank lines.
fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn has_images(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Image { .. }))
}

/// Returns a copy of the turns, so that the writer can be changed meanwhile.
fn turns(writer: &Writer<'_>) -> Vec<Turn> {
    writer.conversation.turns.clone()
}

/// Returns whether a turn is of a tool, and which call it answers.
fn answered(turn: &Turn) -> Option<(&str, &str, bool)> {
    match &turn.speaker {
        Speaker::Tool { call, name, is_error } => Some((call, name, *is_error)),
        _ => None,
    }
}
