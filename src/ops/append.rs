//! Appends one entry that a script made: a prompt, a note to the model, state of a program, or a
//! compaction.

use super::switch::{self, Lines};
use super::{Error, Snapshot, cherry_pick, revision};
use crate::context::{Context, Dropped, Why};
use crate::format::claude::added_entries;
use crate::format::claude::graph::ClaudeGraph;
use crate::format::{Addition, Content, Format, Ids, New, ReplyModel, Session};
use crate::model::{Flags, Ix, Kind, Moved, Plan, Span, Time};
use std::io;

/// The entry to append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload<'a> {
    /// A message as if the user had typed it.
    Prompt(&'a str),
    /// A message as if the model had written it.
    Reply(&'a str),
    /// State that the model does not see: the type, and JSON.
    Custom(&'a str, Option<&'a str>),
    /// A text that the model sees: the type, the text, and whether the agent's interface hides it.
    CustomMessage(&'a str, &'a str, bool),
    /// A summary that replaces all entries before it, or those before the given one.
    Compaction(&'a str, Option<Ix>),
}

/// An entry that has not been written yet.
#[derive(Clone, Debug)]
pub struct Append {
    /// What is written.
    pub plan: Plan,
    /// The id of the new entry.
    pub id: String,
}

/// Plans a new entry as a child of `parent`, by default of the last entry on the path; the agent
/// continues from it.
///
/// Fails if the format can't store such an entry, or if the agent would not continue from it.
pub fn plan(
    whole: Snapshot<'_>,
    payload: Payload<'_>,
    parent: Option<Ix>,
    fresh: &mut Ids,
    now: Time,
) -> Result<Append, Error> {
    let session = whole.session;
    super::appendable(session)?;
    let parent = match parent {
        // The bookkeeping after HEAD stays on the path.
        Some(ix) if session.head.entry == Some(ix) => session.head.leaf,
        Some(ix) => Some(cherry_pick::parent_of_copies(session, ix)),
        None => {
            // After a pin on nothing the conversation begins anew.
            if session.head.leaf.is_none()
                && !session.entries.is_empty()
                && !(session.format == Format::Claude && switch::claude::is_emptied(session))
            {
                revision::head(session)?;
            }
            session.head.leaf
        }
    };
    if let Some(parent) = parent {
        switch::can_be_followed(whole, parent)?;
    }
    let keep = match payload {
        Payload::Compaction(_, Some(keep)) => Some(kept_entries(whole, parent, keep)?),
        _ => None,
    };
    let tokens_before = match (payload, parent) {
        (Payload::Compaction(..), Some(parent)) => tokens_before(whole, parent)?,
        _ => 0,
    };
    let model = match (payload, session.format) {
        (Payload::Reply(_), Format::Pi | Format::Omp) => Some(last_model(whole, parent)?),
        _ => None,
    };
    let first = keep.as_ref().and_then(|kept| kept.first()).map(|ix| whole.raw_id(*ix)).transpose()?;
    let addition = match payload {
        Payload::Prompt(text) => Addition::Prompt { text },
        Payload::Reply(text) => Addition::Reply { text, model: model.as_ref().map(StoredModel::fields) },
        Payload::Custom(ty, data) => Addition::Custom { ty, data },
        Payload::CustomMessage(ty, text, hidden) => Addition::CustomMessage { ty, text, hidden },
        Payload::Compaction(summary, _) => {
            Addition::Compaction { summary, keep: first.as_deref(), tokens_before }
        }
    };
    let mut lines = Lines::new(whole, fresh, now)?;
    let (id, head) = if session.format == Format::Claude {
        claude_rows(whole, addition, parent, keep.as_deref().unwrap_or_default(), &mut lines)?
    } else {
        dialect_rows(whole, addition, parent, &mut lines, now)?
    };
    let mut plan = Plan { verb: "append".into(), ..Plan::default() };
    let from = session.head.entry.map(|head| whole.name(head)).transpose()?;
    if from.as_deref() != Some(head.as_str()) {
        plan.moved = Some(Moved { from, to: Some(head) });
    }
    lines.into_plan(&mut plan);
    Ok(Append { plan, id })
}

/// Returns the entries that a compaction after `parent` keeps, from `keep` on.
fn kept_entries(whole: Snapshot<'_>, parent: Option<Ix>, keep: Ix) -> Result<Vec<Ix>, Error> {
    let session = whole.session;
    let path = parent.map(|parent| session.whole_path(parent)).unwrap_or_default();
    let Some(first) = path.iter().position(|ix| *ix == keep) else {
        return Err(Error::Unresolved {
            revision: whole.name(keep)?,
            why: "it is not on the path that the compaction summarizes".into(),
        });
    };
    let replaced = |dropped: &Dropped| dropped.entry == keep && matches!(dropped.why, Why::Compacted { .. });
    if session.format != Format::Chimera
        && Context::build(session, whole.source, parent)?.dropped.iter().any(replaced)
    {
        return Err(Error::NoPlace {
            what: format!(
                "an earlier compaction has replaced {}, and the model does not see it",
                whole.name(keep)?
            ),
            instead: Some("`bough context --oneline` lists what the model sees".into()),
        });
    }
    if session.entries.flags(keep).has(Flags::RESULT) {
        return Err(Error::NoPlace {
            what: format!(
                "{} is a tool result, which the model can't be sent without its call",
                whole.name(keep)?
            ),
            instead: Some("keep the call, or a prompt".into()),
        });
    }
    if !session.entries.key(keep).is_some() {
        return Err(Error::NoPlace {
            what: format!("{} has no id, so a compaction can't refer to it", whole.name(keep)?),
            instead: Some("`bough fsck --repair` adds missing ids".into()),
        });
    }
    Ok(path[first..].to_vec())
}

/// The model of a reply of pi, as JSON.
struct StoredModel {
    api: Vec<u8>,
    provider: Vec<u8>,
    model: Vec<u8>,
}

impl StoredModel {
    fn fields(&self) -> ReplyModel<'_> {
        ReplyModel { api: &self.api, provider: &self.provider, model: &self.model }
    }
}

/// Returns the model of the last reply on the path: the agent goes on with the model of the last reply, so no other is
/// stored.
fn last_model(whole: Snapshot<'_>, parent: Option<Ix>) -> Result<StoredModel, Error> {
    let session = whole.session;
    let replies = parent.into_iter().flat_map(|parent| session.tree.ancestors(parent));
    for ix in replies.filter(|ix| session.entries.kind(*ix) == Kind::Assistant) {
        let line = whole.line(ix)?;
        let field = |name: &str| {
            let value = crate::json::member_at(&line, &["message", name])?;
            value.starts_with(b"\"").then(|| value.to_vec())
        };
        if let (Some(api), Some(provider), Some(model)) = (field("api"), field("provider"), field("model")) {
            return Ok(StoredModel { api, provider, model });
        }
    }
    Err(Error::NoPlace {
        what: format!(
            "{} stores the model of each reply, and no reply before this one says which model it is",
            session.format.name()
        ),
        instead: Some("append it after a reply of the model".into()),
    })
}

/// Returns how many tokens the model had seen, according to the last reply on the path that stores
/// it; 0 if none does.
fn tokens_before(whole: Snapshot<'_>, parent: Ix) -> io::Result<u64> {
    let session = whole.session;
    for ix in session.tree.ancestors(parent) {
        match session.entries.kind(ix) {
            Kind::Compaction => break,
            Kind::Assistant if !session.entries.flags(ix).has(Flags::ENDED_BADLY) => {
                let line = whole.line(ix)?;
                let usage = Content::read(session.format, &line).usage();
                if let Some(tokens) = usage.map(|usage| usage.tokens()).filter(|tokens| *tokens > 0) {
                    return Ok(tokens);
                }
            }
            _ => {}
        }
    }
    Ok(0)
}

/// Adds the line of a format other than Claude Code's; returns the id of the new entry, and that of HEAD.
fn dialect_rows(
    whole: Snapshot<'_>,
    addition: Addition<'_>,
    parent: Option<Ix>,
    lines: &mut Lines<'_>,
    now: Time,
) -> Result<(String, String), Error> {
    let session = whole.session;
    let raw = parent.map(|ix| whole.raw_id(ix)).transpose()?;
    let make = |new: &New<'_>| session.format.dialect().addition(new, &addition);
    let probe = make(&New { id: "", parent: None, now });
    if probe.is_none() {
        return Err(Error::NoPlace {
            what: format!(
                "the format {} has no entry of the kind `{}`",
                session.format.name(),
                addition.kind()
            ),
            instead: None,
        });
    }
    let id = lines.add_under(raw, "is a new entry", make)?;
    // An entry that the model does not see does not move HEAD.
    let head = match (addition, parent) {
        (Addition::Custom { .. }, Some(parent)) => whole.name(super::label::below_labels(session, parent))?,
        _ => id.clone(),
    };
    Ok((id, head))
}

/// Adds the lines of a transcript of Claude Code; returns the id of the new entry, and that of
/// HEAD.
fn claude_rows(
    whole: Snapshot<'_>,
    addition: Addition<'_>,
    parent: Option<Ix>,
    kept: &[Ix],
    lines: &mut Lines<'_>,
) -> Result<(String, String), Error> {
    let session = whole.session;
    refuse_subagent(whole, parent)?;
    let like = match parent.or_else(|| session.entries.all().find(|ix| session.entries.kind(*ix).is_turn())) {
        Some(ix) => whole.line(ix)?,
        None => Vec::new(),
    };
    let id = session.id();
    let envelope = added_entries::Envelope { like: &like, now: lines.newest(), session: id.as_deref() };
    let raw = parent.map(|parent| whole.raw_id(parent)).transpose()?;
    let entry = lines.fresh_id();
    let mut head = entry.clone();
    let prompt = match addition {
        Addition::Prompt { text } => {
            lines.push_made(
                added_entries::prompt(envelope, &entry, raw.as_deref(), text, None),
                &entry,
                "is a new entry",
            );
            Some(text.chars().take(200).collect())
        }
        Addition::Reply { text, .. } => {
            let message = lines.fresh_id();
            let line = added_entries::reply(envelope, &entry, &message, raw.as_deref(), text);
            lines.push_made(line, &entry, "is a new entry");
            parent.map(|ix| switch::claude::newest_prompt(whole, ix)).transpose()?.flatten()
        }
        Addition::CustomMessage { ty, text, hidden } => {
            if !hidden {
                return Err(Error::NoPlace {
                    what: "Claude Code does not show a text that was not typed".into(),
                    instead: Some("add `--hidden`, or append a message".into()),
                });
            }
            lines.push_made(
                added_entries::prompt(envelope, &entry, raw.as_deref(), text, Some(ty)),
                &entry,
                "is a new entry",
            );
            parent.map(|ix| switch::claude::newest_prompt(whole, ix)).transpose()?.flatten()
        }
        Addition::Compaction { summary, tokens_before, .. } => {
            let boundary = lines.fresh_id();
            let kept = kept_with_ids(whole, kept)?;
            let ids: Vec<String> = kept.iter().map(|(_, id)| id.clone()).collect();
            let made = added_entries::Compaction {
                boundary: &boundary,
                summary: &entry,
                after: raw.as_deref(),
                text: summary,
                kept: &ids,
                tokens_before,
            };
            let [above, below] = added_entries::compaction(envelope, made);
            lines.push_made(above, &boundary, "marks the compaction");
            lines.push_made(below, &entry, "is the summary");
            let turn = kept.into_iter().rev().find(|(ix, _)| session.entries.kind(*ix).is_turn());
            head = turn.map_or(head, |(_, id)| id);
            parent.map(|ix| switch::claude::newest_prompt(whole, ix)).transpose()?.flatten()
        }
        Addition::Custom { .. } | Addition::Edit { .. } => {
            return Err(Error::NoPlace {
                what: "Claude Code has no entry for the state of other programs".into(),
                instead: Some("`--kind custom-message --hidden` adds a text that the model sees".into()),
            });
        }
    };
    lines.pin_id(&head, prompt.as_deref());
    check_is_sent(whole, addition, parent, kept, (&entry, &head), lines.bytes())?;
    Ok((entry, head))
}

/// Refuses new lines after which Claude Code would not send the new entry, what it keeps and what it
/// follows.
fn check_is_sent(
    whole: Snapshot<'_>,
    addition: Addition<'_>,
    parent: Option<Ix>,
    kept: &[Ix],
    (entry, head): (&str, &str),
    bytes: &[u8],
) -> Result<(), Error> {
    let session = whole.session;
    // The entry that the new one follows must be visible to the model together with it.
    let follows = match addition {
        Addition::Compaction { .. } => None,
        _ => parent.and_then(|ix| session.tree.ancestors(ix).find(|ix| session.entries.kind(*ix).is_turn())),
    };
    let wanted: Vec<Ix> = kept.iter().copied().chain(follows).collect();
    let landed = try_lines(session, whole, bytes, entry, head, &wanted)?;
    if !landed {
        return Err(Error::NoPlace {
            what: match parent {
                Some(parent) => {
                    format!("Claude Code would not send {} with an entry after it", whole.name(parent)?)
                }
                None => "Claude Code would not continue from the new entry".into(),
            },
            instead: Some("move there with `bough switch`, then append to HEAD".into()),
        });
    }
    Ok(())
}

/// Refuses a parent in the transcript of a subagent.
fn refuse_subagent(whole: Snapshot<'_>, parent: Option<Ix>) -> Result<(), Error> {
    let entries = &whole.session.entries;
    match parent {
        Some(parent) if entries.file(parent) != 0 || entries.flags(parent).has(Flags::SIDECHAIN) => {
            Err(Error::NoPlace {
                what: format!(
                    "{} is in the transcript of a subagent, from which the agent can't continue",
                    whole.name(parent)?
                ),
                instead: None,
            })
        }
        _ => Ok(()),
    }
}

/// Returns the entries that a compaction keeps and can name, with their ids.
fn kept_with_ids(whole: Snapshot<'_>, kept: &[Ix]) -> io::Result<Vec<(Ix, String)>> {
    let named = kept.iter().copied().filter(|ix| whole.session.entries.key(*ix).is_some());
    named.map(|ix| Ok((ix, whole.id(ix)?))).collect()
}

/// Reads the session as it would be. Returns whether HEAD is where it should be, and the model sees
/// the new entry and the wanted turns.
fn try_lines(
    session: &Session,
    whole: Snapshot<'_>,
    new: &[u8],
    entry: &str,
    head: &str,
    wanted: &[Ix],
) -> io::Result<bool> {
    let size = session.files.first().map_or(0, |file| file.bytes);
    let mut bytes = whole.source.bytes(Span { file: 0, offset: 0, len: size })?;
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(new);
    let Some(trial) = Session::read(&bytes) else { return Ok(false) };
    let find = |id: &str| trial.find(crate::model::Key::hash(id.as_bytes()));
    if trial.head.entry.is_none() || trial.head.entry != find(head) {
        return Ok(false);
    }
    let mut graph = ClaudeGraph::new(&trial);
    let leaf = graph.leaf();
    let Some(from) = leaf.from else { return Ok(false) };
    let steps = graph.sent_path(from);
    let is_sent = |key| steps.iter().any(|step| trial.entries.key(step.entry) == key);
    let turns = wanted.iter().filter(|ix| session.entries.kind(**ix).is_turn());
    Ok(find(entry).is_some_and(|ix| is_sent(trial.entries.key(ix)))
        && turns.map(|ix| session.entries.key(*ix)).all(is_sent))
}
