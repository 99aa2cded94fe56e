//! The documented order: exactly what claude-code-log 1.7.0 makes of a project.
//!
//! The rules, in short. Records are what that program would parse, so a line without one of its fields is none and
//! an unknown type with a uuid and a session is one. Of the copies of a uuid that of the oldest session counts. A
//! parent that is missing is none; rings are cut where the walk from the first node closes. Each session is walked from its
//! roots, in time order; at a fork the first of seven rungs that fits decides:
//!
//! 1. *side branch*: quiet structural children beside at most one other are stitched in;
//! 2. *quiet results* are stitched in before the one reply that goes on;
//! 3. *dead end*: replies of at most 20 levels are stitched in before the one result that goes on;
//! 4. *live passage*: quiet children are stitched in before the one structural child that goes on;
//! 5. *continuation*: results of this record's calls and replies beside them are all on the same line;
//! 6. *replay*: of children of one time all but the first are skipped;
//! 7. *rewind*: every child begins a branch.
//!
//! What hangs below a stitched record is skipped, on no line, and so in no output. Where walked and skipped records are
//! fewer than there are, the session falls back to the order of times. A line hangs at the parent of its first record.
//!
//! Times are compared as text. The order that bough itself takes is that of [`super::thread::build()`].

mod graph;
mod load;
mod record;
mod walk;

use super::thread::text::on_object;
use crate::format::{Layout, main_of};
use crate::model::{Key, Source, Span};
use graph::Graph;
use load::load;
use record::{Names, each_line};
use std::collections::HashSet;
use std::io;
use walk::Walker;

/// A node, by its place in [`Document::nodes`].
pub type Node = u32;

/// Which rung of the ladder decided at a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rung {
    /// Quiet structural children beside at most one other.
    SideBranch,
    /// Quiet results before the one reply that goes on.
    QuietResult,
    /// Shallow replies before the one result that goes on.
    DeadEnd,
    /// Quiet children before the one structural child that goes on.
    LivePassage,
    /// Results of the record's own calls and replies: all one line.
    Continuation,
    /// Children of one time: the first stands for all.
    Replay,
    /// Each child begins a branch.
    Rewind,
}

impl Rung {
    /// The rung as one word.
    pub fn word(self) -> &'static str {
        match self {
            Rung::SideBranch => "1-structural-side-branch",
            Rung::QuietResult => "2-stitch-structural-result",
            Rung::DeadEnd => "3-stitch-dead-end",
            Rung::LivePassage => "4-live-passthrough",
            Rung::Continuation => "5-assistant-continuation",
            Rung::Replay => "6-compaction-replay",
            Rung::Rewind => "7-rewind",
        }
    }
}

/// A fork within a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fork {
    /// The node with several children.
    pub at: Node,
    /// The children, in time order.
    pub children: Vec<Node>,
    /// What decided.
    pub rung: Rung,
}

/// How the loss of a parent is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// As a warning.
    Warning,
    /// Only to who debugs: hooks lose their parents often.
    Debug,
    /// Not at all: the parent is in an agent's transcript.
    Silent,
}

/// What a root of a session is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RootClass {
    /// Of a sort that often has no parent; the sort.
    Sort(String),
    /// A record of an agent.
    SidechainOrphan,
    /// Its parent is in another session.
    CrossSession,
    /// The first prompt.
    SessionStart,
    /// None of these.
    Unexpected,
}

/// A node of the graph.
#[derive(Clone, Copy, Debug)]
pub struct DocumentNode {
    /// The line that counts.
    pub span: Span,
    /// The node above it, once orphans and rings are dealt with.
    pub parent: Option<Node>,
    /// How many lines have it, this one among them; their sessions are in [`Document::copies`], where there are several.
    pub copies: u32,
}

/// A session of the graph.
#[derive(Clone, Debug)]
pub struct DocumentSession {
    /// Its id; of an agent with the agent's behind it.
    pub id: String,
    /// Its roots, in time order.
    pub roots: Vec<(Node, RootClass)>,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many of them were walked or skipped.
    pub covered: usize,
    /// Whether it fell back to the order of times.
    pub fallback: bool,
    /// What is on no line, in node order.
    pub skipped: Vec<Node>,
}

/// A line: a session's trunk, or a branch of it.
#[derive(Clone, Debug)]
pub struct DocumentLine {
    /// The number of its name, for [`Document::line_id`].
    pub name: u32,
    /// Its nodes, in order.
    pub nodes: Vec<Node>,
    /// The name of the line that it hangs at; there need be no such line.
    pub parent: Option<u32>,
    /// The node that it hangs at.
    pub attachment: Option<Node>,
    /// Whether it is a branch.
    pub branch: bool,
}

/// A place where lines hang at a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Junction {
    /// The node.
    pub at: Node,
    /// The name of its line.
    pub line: u32,
    /// The lines that hang there, as places in [`Document::lines`], by their first time.
    pub targets: Vec<usize>,
}

/// What is in the order of [`Document::stream`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// A node.
    Node(Node),
    /// A line about the queue of prompts: a place in [`Document::queue`].
    Queue(u32),
}

/// What the documented rules make of a project.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The nodes, in the order in which their uuids were first met.
    pub nodes: Vec<DocumentNode>,
    /// The nodes that were met more than once, with the session of each copy.
    pub copies: Vec<(Node, Vec<String>)>,
    /// The nodes whose parent is missing.
    pub orphans: Vec<(Node, Told)>,
    /// The nodes at which a ring was cut.
    pub cycles: Vec<Node>,
    /// The sessions, in the order of their first nodes.
    pub sessions: Vec<DocumentSession>,
    /// All forks, in the order in which they were met.
    pub forks: Vec<Fork>,
    /// All lines.
    pub lines: Vec<DocumentLine>,
    /// The lines that hang nowhere, as places in `lines`, by their first time.
    pub tops: Vec<usize>,
    /// Where lines hang.
    pub junctions: Vec<Junction>,
    /// The nodes in order. Those that are missing here are in no output.
    pub order: Vec<Node>,
    /// The lines about the queue of prompts.
    pub queue: Vec<Span>,
    /// The order with the queue in it.
    pub stream: Vec<Item>,
    /// Which rung stitched or dropped each node, or one above it, if any did.
    pub set_aside: Vec<Option<Rung>>,
    names: Vec<LineName>,
}

/// A line's name: a session's id, or the line it branches from and the begin of a uuid.
#[derive(Clone, Debug)]
struct LineName {
    above: Option<u32>,
    text: String,
}

impl Document {
    /// The id of a line as the documented rules write it: the session's, then `@` and the first twelve characters of a
    /// uuid for each branch on the way.
    pub fn line_id(&self, name: u32) -> String {
        let mut parts = Vec::new();
        let mut at = Some(name);
        while let Some(name) = at {
            parts.push(self.names[name as usize].text.as_str());
            at = self.names[name as usize].above;
        }
        parts.reverse();
        parts.join("@")
    }

    /// The nodes that no step of the order emits, in node order.
    pub fn not_emitted(&self) -> Vec<Node> {
        let mut emitted = vec![false; self.nodes.len()];
        for node in &self.order {
            emitted[*node as usize] = true;
        }
        (0..self.nodes.len() as u32).filter(|node| !emitted[*node as usize]).collect()
    }
}

/// Reads a project by the documented rules.
///
/// Reads every main file of the layout and the agents that they refer to. Costs n log n time, and some hundred bytes a
/// line.
pub fn document(layout: &Layout, source: &dyn Source) -> io::Result<Document> {
    let mut names = Names::new();
    let records = load(layout, source, &mut names)?;
    let known = if layout.whole { agents_uuids(layout, source, &mut names)? } else { HashSet::new() };
    let mut graph = Graph::index(&records, &names);
    graph.promote_orphans(&records, &known, &names);
    graph.cut_rings();
    graph.measure();
    let mut walker = Walker::new(source, &records, &names, graph);
    walker.sessions()?;
    Ok(walker.finish())
}

/// The uuids in all transcripts in folders of agents: whose absence is no news.
fn agents_uuids(layout: &Layout, source: &dyn Source, names: &mut Names) -> io::Result<HashSet<u32>> {
    let mut known = HashSet::new();
    for (at, file) in layout.files.iter().enumerate().skip(layout.mains) {
        if main_of(&file.path).is_none() {
            continue;
        }
        each_line(source, at as u16, file.bytes, |_, line| {
            let uuid = on_object(line, |object| Some(Key::of(object.text("uuid")?.as_bytes())));
            known.extend(uuid.map(|uuid| names.uuid(uuid)));
            true
        })?;
    }
    Ok(known)
}
