//! The documented order: exactly what claude-code-log 1.7.0 makes of a project.
//!
//! The rules, in short. Records are the lines that that program would parse, so a line that lacks
//! one of its fields is not a record, and an unknown type with a uuid and a session is. If a uuid
//! has copies, the one in the oldest session counts. A missing parent is treated as none; cycles
//! are cut where the walk from the first node closes them. Each session is walked from its roots,
//! in time order; at a fork, the first of seven rungs that applies decides:
//!
//! 1. *side branch*: quiet structural children are stitched in, if there is at most one other
//!    child;
//! 2. *quiet results* are stitched in before the only reply that continues;
//! 3. *dead end*: replies of at most 20 levels are stitched in before the only result that
//!    continues;
//! 4. *live passage*: quiet children are stitched in before the only structural child that
//!    continues;
//! 5. *continuation*: results of this record's calls and the replies among them are all on the same
//!    line;
//! 6. *replay*: of children with the same time, all but the first are skipped;
//! 7. *rewind*: every child begins a branch.
//!
//! The nodes below a stitched record are skipped: they are on no line, and so not in the output. If
//! fewer records were walked or skipped than there are, the session falls back to time order. A
//! line is attached to the parent of its first record.
//!
//! Times are compared as text. bough's own order is that of [`super::thread::read()`].

mod graph;
mod load;
mod record;
mod walk;

use super::thread::text::on_object;
use crate::format::{Layout, main_of};
use crate::model::{Key, Source, Span};
use graph::Graph;
use load::load;
use record::{SharedTexts, each_line};
use std::collections::HashSet;
use std::io;
use walk::Walker;

/// A node, as an index into [`Document::nodes`].
pub type Node = u32;

/// The rungs of the ladder that decide at a fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rung {
    /// Quiet structural children, with at most one other child.
    SideBranch,
    /// Quiet results before the only reply that continues.
    QuietResult,
    /// Shallow replies before the only result that continues.
    DeadEnd,
    /// Quiet children before the only structural child that continues.
    LivePassage,
    /// Results of the record's own calls and replies: all one line.
    Continuation,
    /// Children with the same time: the first represents all of them.
    Replay,
    /// Each child begins a branch.
    Rewind,
}

impl Rung {
    /// Returns the name of the rung.
    pub fn name(self) -> &'static str {
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
    /// The rung that decided.
    pub rung: Rung,
}

/// How a missing parent is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrphanReport {
    /// As a warning.
    Warning,
    /// Only when debugging: hooks often lose their parents.
    Debug,
    /// Not at all: the parent is in a subagent's transcript.
    Silent,
}

/// The classes of roots in a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RootClass {
    /// A type that often has no parent; holds the type.
    Sort(String),
    /// A record of a subagent.
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
    /// The parent, after orphans and cycles were handled.
    pub parent: Option<Node>,
    /// How many lines have this uuid, including this one. If there are several,
    /// [`Document::copies`] contains their sessions.
    pub copies: u32,
}

/// A session of the graph.
#[derive(Clone, Debug)]
pub struct DocumentSession {
    /// Its id; for a subagent, followed by the id of the subagent.
    pub id: String,
    /// Its roots, in time order.
    pub roots: Vec<(Node, RootClass)>,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many of them were walked or skipped.
    pub covered: usize,
    /// Whether it fell back to time order.
    pub fallback: bool,
    /// The nodes that are on no line, in node order.
    pub skipped: Vec<Node>,
}

/// A line: the main line of a session, or a branch of it.
#[derive(Clone, Debug)]
pub struct DocumentLine {
    /// The number of its name, for [`Document::line_id`].
    pub name: u32,
    /// Its nodes, in order.
    pub nodes: Vec<Node>,
    /// The name of the line that it is attached to; that line need not exist.
    pub parent: Option<u32>,
    /// The node that it is attached to.
    pub attachment: Option<Node>,
    /// Whether it is a branch.
    pub branch: bool,
}

/// A node to which lines are attached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Junction {
    /// The node.
    pub at: Node,
    /// The name of its line.
    pub line: u32,
    /// The attached lines, as indexes into [`Document::lines`], sorted by their first time.
    pub targets: Vec<usize>,
}

/// An item of [`Document::stream`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// A node.
    Node(Node),
    /// A line about the queue of prompts: an index into [`Document::queue`].
    Queue(u32),
}

/// The result of the documented rules for a project.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The nodes, in the order in which their uuids first occur.
    pub nodes: Vec<DocumentNode>,
    /// The nodes that occur more than once, with the session of each copy.
    pub copies: Vec<(Node, Vec<String>)>,
    /// The nodes whose parent is missing.
    pub orphans: Vec<(Node, OrphanReport)>,
    /// The nodes at which a cycle was cut.
    pub cycles: Vec<Node>,
    /// The sessions, in the order of their first nodes.
    pub sessions: Vec<DocumentSession>,
    /// All forks, in the order in which the walk met them.
    pub forks: Vec<Fork>,
    /// All lines.
    pub lines: Vec<DocumentLine>,
    /// The lines that are attached to nothing, as indexes into `lines`, sorted by their first time.
    pub tops: Vec<usize>,
    /// The nodes to which lines are attached.
    pub junctions: Vec<Junction>,
    /// The nodes in order. Nodes that are missing here are not in the output.
    pub order: Vec<Node>,
    /// The lines about the queue of prompts.
    pub queue: Vec<Span>,
    /// The order, including the queue.
    pub stream: Vec<Item>,
    /// The rung that stitched in or dropped each node, or an ancestor of it, if any did.
    pub set_aside: Vec<Option<Rung>>,
    names: Vec<LineName>,
}

/// The name of a line: the id of a session, or the line from which it branches and the beginning of
/// a uuid.
#[derive(Clone, Debug)]
struct LineName {
    above: Option<u32>,
    text: String,
}

impl Document {
    /// Returns the id of a line as the documented rules write it: that of the session, then `@` and
    /// the first twelve characters of a uuid for each branch on the path.
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

    /// Returns the nodes that no step of the order emits, in node order.
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
/// Reads every main file of the layout and the subagents that they refer to. Costs O(n log n) time,
/// and a few hundred bytes a line.
pub fn document(layout: &Layout, source: &dyn Source) -> io::Result<Document> {
    let mut names = SharedTexts::new();
    let records = load(layout, source, &mut names)?;
    let known = if layout.whole { agents_uuids(layout, source, &mut names)? } else { HashSet::new() };
    let mut graph = Graph::index(&records, &names);
    graph.promote_orphans(&records, &known, &names);
    graph.cut_cycles();
    graph.measure();
    let mut walker = Walker::new(source, &records, &names, graph);
    walker.sessions()?;
    Ok(walker.finish())
}

/// Returns the uuids in all transcripts in folders of subagents: if they are missing, this is not
/// reported.
fn agents_uuids(layout: &Layout, source: &dyn Source, names: &mut SharedTexts) -> io::Result<HashSet<u32>> {
    let mut known = HashSet::new();
    for (at, file) in layout.files.iter().enumerate().skip(layout.mains) {
        if main_of(&file.path).is_none() {
            continue;
        }
        each_line(source, at as u16, file.bytes, |_, line| {
            let uuid = on_object(line, |object| Some(Key::hash(object.text("uuid")?.as_bytes())));
            known.extend(uuid.map(|uuid| names.uuid(uuid)));
            true
        })?;
    }
    Ok(known)
}
