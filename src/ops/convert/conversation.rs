//! A conversation without a format: the turns that an agent would send, as a tree.
//!
//! The tree is made of what would be sent at the tip of each branch ([`Context`]), not of the
//! entries: turns that begin alike share their nodes. So a conversion sends what the source sends,
//! on every branch. A compaction begins a new root; what it replaced is the branch that ends before
//! it.

mod read;

use crate::context::Context;
use crate::model::{Ix, Time};
use crate::ops::Snapshot;
use read::Reading;
use std::collections::HashMap;
use std::io;

/// A part of a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// Text.
    Text(String),
    /// What the model thought.
    Thinking(String),
    /// A tool call: its id, the tool, and the arguments, which are JSON.
    Call {
        /// The id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: String,
    },
    /// An image: its MIME type, and its bytes in base64.
    Image {
        /// The MIME type.
        mime: String,
        /// The bytes.
        data: String,
    },
}

/// The loss of what the agent says by itself.
const OF_AGENT: &str = "instructions and facts of the agent";

/// The loss of a result without a call.
const NOT_ASKED: &str = "results that no call asked for";

/// The text that stands for a result that is missing.
const NO_RESULT: &str = "(no result was recorded)";

/// The text that stands for the prompt before a reply that is the first message, where a target needs
/// one.
pub const NO_PROMPT: &str = "(no prompt was recorded)";

/// Who says a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Speaker {
    /// The user, or the agent in the name of the user.
    User,
    /// The model.
    Model {
        /// Its name; empty if it is not known.
        name: String,
    },
    /// A tool.
    Tool {
        /// The call that it answers.
        call: String,
        /// The tool.
        name: String,
        /// Whether it failed.
        is_error: bool,
    },
}

/// A result in a message: its call, whether it failed, and its parts.
type ToolResult = (String, bool, Vec<Part>);

/// One turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The turn before it; `None` for the first.
    pub parent: Option<usize>,
    /// Who says it.
    pub speaker: Speaker,
    /// What is said.
    pub parts: Vec<Part>,
    /// The time of its entry.
    pub time: Time,
    /// The entry that it comes from; `None` if the agent invents it.
    pub entry: Option<Ix>,
    /// The other entries that it comes from: the later parts of a reply.
    pub also: Vec<Ix>,
    /// Whether nobody typed it, although it is in the user's name: a reminder or a file of the agent, the
    /// output of a command, a summary.
    pub is_put_in: bool,
    /// The last turn before the compaction, if it is the summary that replaces all turns before it.
    pub replaces: Option<usize>,
}

impl Turn {
    /// Returns the entries that it comes from, in order.
    pub fn entries(&self) -> impl Iterator<Item = Ix> + '_ {
        self.entry.into_iter().chain(self.also.iter().copied())
    }
}

/// Something that a conversion can't carry over.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Loss {
    /// What it is, as text.
    pub what: &'static str,
    /// The entry.
    pub entry: Option<Ix>,
}

/// The turns of a session.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// The turns, each after the one before it. The last are those on the way to HEAD.
    pub turns: Vec<Turn>,
    /// The last turn on the way to HEAD.
    pub head: Option<usize>,
    /// The number of branches.
    pub branches: usize,
    /// The entries at which the conversation was read, each with the last turn that is sent there. HEAD
    /// is the last.
    pub ends: Vec<(usize, Ix)>,
    /// The labels, each with its turn.
    pub labels: Vec<(usize, String)>,
    /// What is not carried over.
    pub losses: Vec<Loss>,
}

/// Reads the conversation of a session: all branches, or only the way to HEAD.
///
/// Costs a context for each branch and each compaction.
pub fn read(whole: Snapshot<'_>, tips: &[Ix]) -> io::Result<Conversation> {
    let session = whole.session;
    let head = Context::position(session);
    let mut reading = Reading {
        session,
        source: whole.source,
        out: Conversation::default(),
        known: HashMap::new(),
        names: HashMap::new(),
        replies: HashMap::new(),
        summaries: Vec::new(),
        line: Vec::new(),
    };
    for tip in tips.iter().copied().map(Some).chain([head]) {
        let last = reading.branch(tip)?;
        reading.out.ends.extend(last.zip(tip));
        reading.out.head = last;
    }
    let summaries = std::mem::take(&mut reading.summaries);
    let mut out = reading.out;
    for (at, entry) in summaries {
        let before = session.tree.parent(entry);
        let end = out.ends.iter().find(|(_, tip)| Some(*tip) == before);
        out.turns[at].replaces = end.map(|(turn, _)| *turn).filter(|turn| *turn < at);
    }
    out.branches = {
        let mut has_next = vec![false; out.turns.len()];
        out.turns.iter().filter_map(|turn| turn.parent).for_each(|parent| has_next[parent] = true);
        has_next.iter().filter(|has_next| !**has_next).count()
    };
    let mut of_entry: HashMap<Ix, usize> = HashMap::new();
    for (at, turn) in out.turns.iter().enumerate() {
        of_entry.extend(turn.entries().map(|entry| (entry, at)));
    }
    for (ix, label) in session.labels.all() {
        match of_entry.get(&ix) {
            Some(at) => out.labels.push((*at, label.text.to_owned())),
            None => out.losses.push(Loss { what: "labels of entries that are not sent", entry: Some(ix) }),
        }
    }
    out.losses.sort();
    out.losses.dedup();
    Ok(out)
}
