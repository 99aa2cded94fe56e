//! `bough convert`: writes a session in the format of another agent.
//!
//! [`conversation`] reads what the source would send, on every branch; each target writes it in a
//! file of its own. What a target can't hold is counted as a loss, and never dropped in silence.
//!
//! The new session carries the lines of the old one (`original.rs`), which its agent never sends. A
//! conversion back (`back.rs`) finds them: what was not touched since comes back byte for byte.

mod back;
mod chimera;
mod claude;
mod codex;
pub mod conversation;
mod original;
mod pi;
mod proof;
mod tools;

use super::{Error, Snapshot, branches};
use crate::format::{Format, Ids, New, Session};
use crate::model::{Change, Ix, Kind, Piece, Plan, Table, Target, Time};
use conversation::{Conversation, Loss, Part, Speaker, Turn};
use original::Original;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

/// The formats that sessions are converted to.
pub const TARGETS: [Format; 5] = [Format::Pi, Format::Omp, Format::Chimera, Format::Claude, Format::Codex];

/// From which size on Claude Code does not load what comes before the last compaction, in bytes. It was
/// measured between 5.20 and 5.40 million; the session will grow.
const LOADED_WHOLE: usize = 4_000_000;

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
    /// Whether the new session carries the lines of the old one.
    pub carry: bool,
    /// Whether lines that the old session carries come back, if they are of the target's format.
    pub back: bool,
    /// Whether common tools get the names that they have in the target.
    pub map_tools: bool,
    /// Whether a session whose lines come back gets the id of the options instead of its own.
    pub new_id: bool,
}

/// A conversion that has not been written yet.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The new session.
    pub bytes: Vec<u8>,
    /// The id of the new session: that of the options, or that of the session whose lines came back.
    pub session: String,
    /// The time of its header, if its lines came back.
    pub began: Option<Time>,
    /// The number of turns.
    pub turns: usize,
    /// The number of branches.
    pub branches: usize,
    /// What is not carried over: how often, and from which entries.
    pub losses: BTreeMap<&'static str, Vec<Option<Ix>>>,
    /// The tools that got another name, old and new, and how many calls they have.
    pub renamed: BTreeMap<(String, String), usize>,
    /// How many lines came back as they were; `None` if the session was converted anew.
    pub came_back: Option<usize>,
    /// Why lines that the old session carries did not come back.
    pub not_back: Option<&'static str>,
}

impl Conversion {
    /// Returns the number of things that are not carried over.
    pub fn lost(&self) -> usize {
        self.losses.values().map(Vec::len).sum()
    }

    /// Returns the plan that writes it to a file; `None` is standard output.
    pub fn plan(&self, to: Format, path: Option<PathBuf>) -> Plan {
        let mut plan = Plan { verb: "convert".into(), ..Plan::default() };
        plan.targets
            .push(Target::Create { path: path.clone(), pieces: vec![Piece::New(self.bytes.clone())] });
        plan.changes.push(Change {
            op: "create",
            path: path.or_else(|| Some("-".into())),
            bytes: self.bytes.len() as i64,
            why: format!("is the session for {}", to.agent()),
            ..Change::default()
        });
        plan
    }
}

/// Converts a session.
///
/// All branches are converted, except to Codex, whose sessions have only one. If the session carries
/// lines of the target's format, they come back where they were not touched; then the result is read
/// again, and it is used only if it says what the session says. Costs a context for each branch and
/// each compaction, and the same again for lines that come back. Fails if nothing would be sent.
pub fn convert(
    whole: Snapshot<'_>,
    options: &Options,
    fresh: &mut Ids,
    now: Time,
) -> Result<Conversion, Error> {
    let carried = if options.carry || options.back { Original::read(whole)? } else { Ok(None) };
    let mut not_back = carried.as_ref().err().copied().filter(|_| options.back);
    let carried = carried.ok().flatten();
    if let Some(original) =
        carried.as_ref().filter(|original| options.back && original.format.agent() == options.to.agent())
    {
        match back::convert(whole, original, options, fresh, now)? {
            Ok(made) => return Ok(made),
            Err(why) => not_back = Some(why),
        }
    }
    let is_flat = options.to == Format::Codex;
    let tips = if is_flat { Vec::new() } else { tips(whole)? };
    let mut conversation = conversation::read(whole, &tips)?;
    if conversation.turns.is_empty() {
        return Err(Error::NoPlace {
            what: "the session has no prompts and replies that could be sent".into(),
            instead: None,
        });
    }
    if is_flat {
        let all = branches::count(whole.session, whole.source)?;
        let others = all.saturating_sub(1);
        let loss = Loss { what: "branches besides that of HEAD", entry: None };
        conversation.losses.extend(std::iter::repeat_n(loss, others));
        let labels = conversation.labels.iter();
        let labels: Vec<Loss> =
            labels.map(|(at, _)| Loss { what: "labels", entry: conversation.turns[*at].entry }).collect();
        conversation.losses.extend(labels);
    }
    think(&mut conversation, options.to, options.thinking);
    let renamed =
        if options.map_tools { tools::rename(&mut conversation, options.to) } else { BTreeMap::new() };
    let carried = carried.filter(|original| original.format.agent() != options.to.agent());
    let write = |fresh: &mut Ids, conversation: Conversation, has_compactions: bool| {
        let mut target = Writer::new(conversation, options, fresh, now);
        target.has_compactions = has_compactions;
        let name = name_of(whole.session);
        target.header(name);
        target.turns();
        target.ending(name);
        if options.carry {
            // What is of the target's format already would come back without any conversion.
            let original = match carried.clone() {
                Some(original) => original.handed_on(whole, &target)?,
                None => Original::new(whole, &target)?,
            };
            if let Some(original) = original {
                original.write(&mut target);
            }
        }
        target.pin();
        let Writer { conversation, out, wrote_compactions, .. } = target;
        Ok::<_, Error>((conversation, out, wrote_compactions))
    };
    let (mut changed, mut out, has_compactions) = write(fresh, conversation.clone(), true)?;
    if has_compactions && (out.len() > LOADED_WHOLE || !says_the_same(&out, options.to, &changed)?) {
        (changed, out, _) = write(fresh, conversation, false)?;
    }
    let mut losses: BTreeMap<&'static str, Vec<Option<Ix>>> = BTreeMap::new();
    for Loss { what, entry } in changed.losses {
        losses.entry(what).or_default().push(entry);
    }
    Ok(Conversion {
        bytes: out,
        session: options.session.clone(),
        began: None,
        turns: changed.turns.len(),
        branches: changed.branches,
        losses,
        renamed,
        came_back: None,
        not_back,
    })
}

/// Returns the name that was given to a session. That of Claude Code's is otherwise what was said in it.
fn name_of(session: &Session) -> Option<&str> {
    match session.format {
        Format::Claude => session.claude.custom_title.as_deref().or(session.claude.ai_title.as_deref()),
        _ => session.name.as_deref(),
    }
}

/// Returns whether a new session says what a conversation says, on all branches.
fn says_the_same(bytes: &[u8], format: Format, conversation: &Conversation) -> Result<bool, Error> {
    let session = back::read(bytes, format);
    let source = Table(vec![bytes.to_vec()]);
    let whole = Snapshot { session: &session, source: &source };
    let new = conversation::read(whole, &tips(whole)?)?;
    let (wanted, found) = (proof::digests(conversation, true), proof::digests(&new, true));
    let head = |digests: &[[u8; 32]], turn: Option<usize>| turn.map(|turn| digests[turn]);
    let all: HashSet<&[u8; 32]> = found.iter().collect();
    let has_all = proof::leaves(conversation).into_iter().all(|leaf| all.contains(&wanted[leaf]));
    Ok(has_all && head(&wanted, conversation.head) == head(&found, new.head))
}

/// Returns the entries at which a branch ends, and those before a compaction, in file order.
pub fn tips(whole: Snapshot<'_>) -> Result<Vec<Ix>, Error> {
    let session = whole.session;
    // Claude Code's thread goes on past a compaction; its links do not.
    let thread = match session.format {
        Format::Claude => Some(super::turns::Thread::new(whole)?),
        _ => None,
    };
    let tree = thread.as_ref().map_or(&session.tree, |thread| thread.tree());
    let mut tips = branches::tips(session, tree);
    let compactions =
        session.tree.entries_in_tree().filter(|ix| session.entries.kind(*ix) == Kind::Compaction);
    tips.extend(compactions.filter_map(|ix| tree.parent(ix).or(session.tree.parent(ix))));
    tips.sort_unstable();
    tips.dedup();
    Ok(tips)
}

/// Keeps thoughts, makes them text, or leaves them out.
fn think(conversation: &mut Conversation, to: Format, thinking: Thinking) {
    let may_keep = matches!(to, Format::Pi | Format::Omp);
    let mut losses = Vec::new();
    for turn in &mut conversation.turns {
        let entry = turn.entry;
        turn.parts = std::mem::take(&mut turn.parts)
            .into_iter()
            .filter_map(|part| match (part, thinking) {
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
    /// The ids of the turns; `None` for one that says nothing, or has not been written yet.
    ids: Vec<Option<String>>,
    /// The turns that are not written, because the file has them.
    has: Vec<bool>,
    /// The turns that get this id, and this parent, which is JSON.
    fixed: HashMap<usize, (String, Option<Vec<u8>>)>,
    /// Where each turn is in the output.
    ranges: Vec<Range<usize>>,
    /// Entries that were written besides the turns, each with the turn that it comes before.
    beside: Vec<(String, usize)>,
    calls: CallIds,
    /// Whether summaries are written as compactions, if the format has them.
    has_compactions: bool,
    /// Whether there are any.
    wrote_compactions: bool,
    /// The last entry: the next one that says nothing is put below it.
    end: Option<String>,
    /// How many lines there are, in formats without ids.
    lines: u64,
    out: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(conversation: Conversation, options: &'a Options, fresh: &'a mut Ids, now: Time) -> Writer<'a> {
        let count = conversation.turns.len();
        Writer {
            conversation,
            options,
            fresh,
            now,
            ids: vec![None; count],
            has: vec![false; count],
            fixed: HashMap::new(),
            ranges: vec![0..0; count],
            beside: Vec::new(),
            calls: CallIds::default(),
            has_compactions: false,
            wrote_compactions: false,
            end: None,
            lines: 0,
            out: Vec::new(),
        }
    }

    /// Writes the lines before the turns.
    fn header(&mut self, name: Option<&str>) {
        match self.options.to {
            Format::Pi | Format::Omp => pi::header(self, name),
            Format::Codex => codex::header(self),
            _ => {}
        }
    }

    /// Writes the turns that the file does not have.
    fn turns(&mut self) {
        // A copy, so that the rest of the writer can be changed meanwhile.
        let turns = self.conversation.turns.clone();
        let mut path = None;
        if self.options.to == Format::Codex {
            let mut on_path = vec![false; turns.len()];
            let mut at = self.conversation.head;
            while let Some(turn) = at {
                on_path[turn] = true;
                at = turns[turn].parent;
            }
            path = Some(on_path);
        }
        for (at, turn) in turns.iter().enumerate() {
            if self.has[at] || path.as_ref().is_some_and(|path| !path[at]) {
                continue;
            }
            let start = self.out.len();
            self.ids[at] = match self.options.to {
                Format::Pi | Format::Omp => pi::turn(self, at, turn),
                Format::Chimera => chimera::turn(self, at, turn),
                Format::Claude => claude::turn(self, at, turn),
                _ => codex::turn(self, at, turn),
            };
            self.ranges[at] = start..self.out.len();
            if self.ids[at].is_some() {
                self.end = self.ids[at].clone();
            }
        }
    }

    /// Writes the name, the labels, and where HEAD is, if the end of the file does not say it.
    fn ending(&mut self, name: Option<&str>) {
        match self.options.to {
            Format::Pi | Format::Omp | Format::Chimera => {
                let head = self.head();
                if let (Some(name), Format::Pi) = (name, self.options.to) {
                    // It is below HEAD, so that HEAD needs no marker.
                    self.end = head;
                    pi::name(self, name);
                } else if self.end != head {
                    self.marker(head);
                }
            }
            Format::Claude => claude::name(self, name),
            _ => return,
        }
        for (turn, label) in self.conversation.labels.clone() {
            if let Some(target) = self.ids[turn].clone() {
                self.label(&target, Some(&label));
            }
        }
    }

    /// Moves HEAD, in formats that do so by an entry.
    fn marker(&mut self, head: Option<String>) {
        let quoted = |id: &str| self.options.to.quoted(id);
        let (from, to) = (self.end.as_deref().map(quoted), head.as_deref().map(quoted));
        let id = self.new_id();
        let new = New { id: &id, parent: to.as_deref(), now: self.now };
        let marker = self.options.to.dialect().marker(&new, from.as_deref(), to.as_deref());
        self.out.extend(marker.unwrap_or_default());
        self.end = Some(id);
    }

    /// Writes a label of an entry, or removes it.
    fn label(&mut self, target: &str, label: Option<&str>) {
        let format = self.options.to;
        let target = format.quoted(target);
        if format == Format::Claude {
            let session = Some(self.options.session.as_str());
            let text = label.unwrap_or_default();
            self.out.extend(crate::format::claude::write::label(&target, text, session, self.now));
            return;
        }
        let id = self.new_id();
        let parent = self.end.as_deref().map(|end| format.quoted(end));
        let new = New { id: &id, parent: parent.as_deref(), now: self.now };
        self.out.extend(format.dialect().label(&new, &target, label).unwrap_or_default());
        self.end = Some(id);
    }

    /// Moves HEAD, in formats that do so by a pointer at the end.
    fn pin(&mut self) {
        if self.options.to == Format::Claude {
            let head = self.head();
            claude::pin(self, head);
        }
    }

    /// Returns the id for a turn, and that of its parent, which is JSON.
    fn id_and_parent(&mut self, at: usize, turn: &Turn) -> (String, Option<Vec<u8>>) {
        match self.fixed.get(&at) {
            Some(place) => place.clone(),
            None => (self.new_id(), self.id_before(turn).map(|id| self.options.to.quoted(&id))),
        }
    }

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
            if turn.speaker == Speaker::User && !turn.is_put_in {
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
        // In JSON, a line break is never part of a string; a session has an entry on a line.
        true if arguments.contains(['\n', '\r']) => Cow::Owned(arguments.replace(['\n', '\r'], "")),
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

/// Returns whether a turn is of a tool, and which call it answers.
fn answered(turn: &Turn) -> Option<(&str, &str, bool)> {
    match &turn.speaker {
        Speaker::Tool { call, name, is_error } => Some((call, name, *is_error)),
        _ => None,
    }
}
