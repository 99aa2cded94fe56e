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
//! Times are compared as text. The order that bough itself takes is that of [`super::read()`].

use super::load::load;
use super::record::{NONE, Names, Object, Record, Records, Sort, each_line};
use crate::format::{Layout, main_of};
use crate::model::{Key, Source, Span};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;

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
            let text = String::from_utf8_lossy(line);
            if let Some(uuid) =
                Object::read(text.trim()).and_then(|object| Some(Key::of(object.text("uuid")?.as_bytes())))
            {
                known.insert(names.uuid(uuid));
            }
            true
        })?;
    }
    Ok(known)
}

/// The nodes and their links.
struct Graph {
    /// The node of each uuid that occurs.
    node_of: Vec<u32>,
    /// The record that counts, by node.
    record: Vec<u32>,
    parent: Vec<u32>,
    copies: Vec<(Node, Vec<String>)>,
    orphans: Vec<(Node, Told)>,
    cycles: Vec<Node>,
    /// The session of each node.
    session: Vec<u32>,
    sort: Vec<Sort>,
    first: Vec<u32>,
    list: Vec<u32>,
    /// Whether a user or an assistant stands below, in the session.
    talks: Vec<bool>,
    /// How many levels there are below, in the session.
    height: Vec<u32>,
}

impl Graph {
    /// One node a uuid: of the copies that of the oldest session, and of these the first.
    fn index(records: &Records, names: &Names) -> Graph {
        let is_node = |record: &&Record| record.sort != Sort::Queue;
        let mut start: HashMap<u32, &[u8]> = HashMap::new();
        for record in records.list.iter().filter(is_node) {
            let time = records.time(record);
            let first = start.entry(record.session).or_insert(time);
            *first = time.min(first);
        }
        let mut node_of = vec![NONE; names.uuids()];
        let mut record: Vec<u32> = Vec::new();
        let mut copies: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (at, next) in records.list.iter().enumerate().filter(|(_, record)| is_node(record)) {
            let node = &mut node_of[next.uuid as usize];
            if *node == NONE {
                *node = record.len() as u32;
                record.push(at as u32);
                continue;
            }
            let old = &records.list[record[*node as usize] as usize];
            let word = |record: &Record| names.word(record.session).to_owned();
            copies.entry(*node).or_insert_with(|| vec![word(old)]).push(word(next));
            if start[&next.session] < start[&old.session] {
                record[*node as usize] = at as u32;
            }
        }
        let of = |node: &u32| &records.list[*node as usize];
        let parent = record
            .iter()
            .map(|at| match of(at).parent {
                NONE => NONE,
                uuid => match node_of[uuid as usize] {
                    NONE => MISSING,
                    node => node,
                },
            })
            .collect();
        Graph {
            parent,
            node_of,
            copies: copies.into_iter().collect(),
            orphans: Vec::new(),
            cycles: Vec::new(),
            session: record.iter().map(|at| of(at).session).collect(),
            sort: record.iter().map(|at| of(at).sort).collect(),
            record,
            first: Vec::new(),
            list: Vec::new(),
            talks: Vec::new(),
            height: Vec::new(),
        }
    }

    fn promote_orphans(&mut self, records: &Records, known: &HashSet<u32>, names: &Names) {
        for node in 0..self.parent.len() {
            if self.parent[node] == MISSING {
                self.parent[node] = NONE;
                let record = &records.list[self.record[node] as usize];
                let hook = record.sort == Sort::Attachment
                    || record.sort == Sort::Passed && names.word(record.ty) == "progress";
                let told = match hook {
                    _ if known.contains(&record.parent) => Told::Silent,
                    true => Told::Debug,
                    false => Told::Warning,
                };
                self.orphans.push((node as u32, told));
            }
        }
    }

    /// Cuts each ring at the node that the walk from the first node meets twice.
    fn cut_rings(&mut self) {
        let mut walk = vec![NONE; self.parent.len()];
        for from in 0..self.parent.len() as u32 {
            let mut at = from;
            while at != NONE && walk[at as usize] == NONE {
                walk[at as usize] = from;
                at = self.parent[at as usize];
            }
            if at != NONE && walk[at as usize] == from {
                self.parent[at as usize] = NONE;
                self.cycles.push(at);
            }
        }
        self.cycles.sort_unstable();
    }

    /// Lists the children in node order, and looks once at what stands below each node.
    fn measure(&mut self) {
        let count = self.parent.len();
        let mut first = vec![0u32; count + 2];
        for parent in self.parent.iter().filter(|parent| **parent != NONE) {
            first[*parent as usize + 2] += 1;
        }
        for at in 2..first.len() {
            first[at] += first[at - 1];
        }
        let mut list = vec![0u32; first[count + 1] as usize];
        for (node, parent) in self.parent.iter().enumerate() {
            if *parent != NONE {
                let next = &mut first[*parent as usize + 1];
                list[*next as usize] = node as u32;
                *next += 1;
            }
        }
        (self.first, self.list) = (first, list);
        self.talks = vec![false; count];
        self.height = vec![0; count];
        let mut order: Vec<u32> =
            (0..count as u32).filter(|node| self.parent[*node as usize] == NONE).collect();
        let mut at = 0;
        while let Some(node) = order.get(at).copied() {
            order.extend_from_slice(self.children(node));
            at += 1;
        }
        for node in order.into_iter().rev() {
            let (node, above) = (node as usize, self.parent[node as usize]);
            if above != NONE && self.session[above as usize] == self.session[node] {
                let above = above as usize;
                self.talks[above] |= self.talks[node] || self.sort[node].talks();
                self.height[above] = self.height[above].max(self.height[node] + 1);
            }
        }
    }

    fn children(&self, node: Node) -> &[u32] {
        &self.list[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// The children within the session.
    fn kids(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let session = self.session[node as usize];
        self.children(node).iter().copied().filter(move |kid| self.session[*kid as usize] == session)
    }

    fn quiet(&self, node: Node) -> bool {
        !self.talks[node as usize]
    }

    fn structural(&self, node: Node) -> bool {
        self.sort[node as usize].structural()
    }

    fn shallow(&self, node: Node) -> bool {
        self.height[node as usize] <= DEEP
    }
}

const MISSING: u32 = NONE - 1;

/// How many levels a dead end may have.
const DEEP: u32 = 20;

/// A run of nodes on a line, as it was walked.
struct Segment {
    name: u32,
    nodes: Vec<Node>,
    /// The line above, of a branch that a rewind made.
    above: Option<u32>,
}

/// What a rung says.
struct Step {
    rung: Rung,
    /// Children that join the chain, without what is below them.
    stitched: Vec<Node>,
    /// Children that go, with what is below them.
    dropped: Vec<Node>,
    /// Where to go on.
    next: Option<Node>,
    /// Children that begin chains of their own.
    queued: Vec<Node>,
}

struct Walker<'w> {
    source: &'w dyn Source,
    records: &'w Records,
    names: &'w Names,
    graph: Graph,
    /// The line that each node is stamped with.
    line: Vec<u32>,
    walked: Vec<bool>,
    skipped: Vec<bool>,
    line_names: Vec<LineName>,
    known_names: HashMap<(Option<u32>, String), u32>,
    out: Document,
}

impl<'w> Walker<'w> {
    fn new(source: &'w dyn Source, records: &'w Records, names: &'w Names, graph: Graph) -> Walker<'w> {
        let count = graph.parent.len();
        let mut walker = Walker {
            source,
            records,
            names,
            line: Vec::new(),
            walked: vec![false; count],
            skipped: vec![false; count],
            line_names: Vec::new(),
            known_names: HashMap::new(),
            out: Document::default(),
            graph,
        };
        walker.out.set_aside = vec![None; count];
        walker.line = (0..count)
            .map(|node| {
                let session = walker.graph.session[node];
                walker.name(None, names.word(session))
            })
            .collect();
        walker
    }

    fn name(&mut self, above: Option<u32>, text: &str) -> u32 {
        let key = (above, text.to_owned());
        if let Some(name) = self.known_names.get(&key) {
            return *name;
        }
        let name = self.line_names.len() as u32;
        self.line_names.push(LineName { above, text: text.to_owned() });
        self.known_names.insert(key, name);
        name
    }

    fn record(&self, node: Node) -> &'w Record {
        &self.records.list[self.graph.record[node as usize] as usize]
    }

    fn time(&self, node: Node) -> &'w [u8] {
        self.records.time(self.record(node))
    }

    fn by_time(&self, mut nodes: Vec<Node>) -> Vec<Node> {
        nodes.sort_by(|one, other| self.time(*one).cmp(self.time(*other)));
        nodes
    }

    fn sessions(&mut self) -> io::Result<()> {
        let mut place: HashMap<u32, usize> = HashMap::new();
        let mut groups: Vec<(u32, Vec<Node>)> = Vec::new();
        for node in 0..self.graph.parent.len() as u32 {
            let session = self.graph.session[node as usize];
            let at = *place.entry(session).or_insert_with(|| {
                groups.push((session, Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(node);
        }
        for (session, nodes) in groups {
            self.session(session, nodes)?;
        }
        Ok(())
    }

    fn session(&mut self, session: u32, nodes: Vec<Node>) -> io::Result<()> {
        let is_root = |node: &Node| match self.graph.parent[*node as usize] {
            NONE => true,
            above => self.graph.session[above as usize] != session,
        };
        let roots = self.by_time(nodes.iter().copied().filter(is_root).collect());
        let trunk = self.name(None, self.names.word(session));
        let mut segments = Vec::new();
        for root in &roots {
            if !self.walked[*root as usize] {
                let start = self.start(*root, trunk)?;
                self.walk(*root, start, trunk, &mut segments)?;
            }
        }
        let is_covered = |node: &&Node| self.walked[**node as usize] || self.skipped[**node as usize];
        let covered = nodes.iter().filter(is_covered).count();
        let fallback = roots.is_empty() || covered < nodes.len();
        let from = self.out.lines.len();
        if fallback {
            let nodes = self.by_time(nodes.clone());
            let (parent, attachment) = (None, None);
            self.out.lines.push(DocumentLine { name: trunk, nodes, parent, attachment, branch: false });
        } else {
            self.merge(segments, trunk);
        }
        let mut lined = HashSet::new();
        for line in &self.out.lines[from..] {
            lined.extend(line.nodes.iter().copied());
        }
        let skipped = nodes
            .iter()
            .copied()
            .filter(|node| self.skipped[*node as usize] && !lined.contains(node))
            .collect();
        let classes = self.classify(&roots);
        self.out.sessions.push(DocumentSession {
            id: self.names.word(session).to_owned(),
            roots: roots.into_iter().zip(classes).collect(),
            nodes: nodes.len(),
            covered,
            fallback,
            skipped,
        });
        Ok(())
    }

    /// Joins the segments of each line, by the times of their first nodes.
    fn merge(&mut self, segments: Vec<Segment>, trunk: u32) {
        let mut place: HashMap<u32, usize> = HashMap::new();
        let mut lines: Vec<Vec<Segment>> = Vec::new();
        for segment in segments {
            let at = *place.entry(segment.name).or_insert_with(|| {
                lines.push(Vec::new());
                lines.len() - 1
            });
            lines[at].push(segment);
        }
        for mut parts in lines {
            parts.sort_by(|one, other| self.time(one.nodes[0]).cmp(self.time(other.nodes[0])));
            let (name, parent) = (parts[0].name, parts[0].above);
            let nodes = parts.into_iter().flat_map(|part| part.nodes).collect();
            self.out.lines.push(DocumentLine {
                name,
                nodes,
                parent,
                attachment: None,
                branch: name != trunk,
            });
        }
    }

    fn classify(&self, roots: &[Node]) -> Vec<RootClass> {
        let mut started = false;
        roots
            .iter()
            .map(|root| {
                let record = self.record(*root);
                let (ty, subtype) = (self.names.word(record.ty), self.names.word(record.subtype));
                let alone = self.graph.parent[*root as usize] == NONE;
                match record.sort {
                    Sort::System if matches!(subtype, "compact_boundary" | "local_command") => {
                        RootClass::Sort(format!("system/{subtype}"))
                    }
                    Sort::Passed if ty == "progress" => RootClass::Sort(ty.into()),
                    Sort::Attachment if subtype.is_empty() => RootClass::Sort(ty.into()),
                    Sort::Attachment => RootClass::Sort(format!("attachment/{subtype}")),
                    _ if record.sidechain && alone => RootClass::SidechainOrphan,
                    _ if !alone => RootClass::CrossSession,
                    _ if !record.sidechain && !started => {
                        started = true;
                        RootClass::SessionStart
                    }
                    _ => RootClass::Unexpected,
                }
            })
            .collect()
    }

    /// The line that a root begins on: of a compaction that goes on with a branch, that branch.
    fn start(&self, root: Node, trunk: u32) -> io::Result<u32> {
        let record = self.record(root);
        if record.sort != Sort::System || self.names.word(record.subtype) != "compact_boundary" {
            return Ok(trunk);
        }
        let session = self.graph.session[root as usize];
        let line = self.source.bytes(record.span)?;
        for uuid in Boundary::read(&line).targets() {
            let number = self.names.known_uuid(Key::of(uuid.as_bytes()));
            let node = number.map_or(NONE, |uuid| self.graph.node_of[uuid as usize]);
            if node != NONE && self.graph.session[node as usize] == session && self.walked[node as usize] {
                return Ok(self.line[node as usize]);
            }
        }
        Ok(trunk)
    }

    fn walk(&mut self, root: Node, start: u32, trunk: u32, segments: &mut Vec<Segment>) -> io::Result<()> {
        let mut todo = VecDeque::from([(root, start, None)]);
        while let Some((head, name, above)) = todo.pop_front() {
            let mut chain = Vec::new();
            let mut next = Some(head);
            while let Some(at) = next {
                self.put(at, name, trunk, &mut chain);
                let kids: Vec<Node> = self.graph.kids(at).collect();
                if kids.len() < 2 {
                    next = kids.first().copied();
                    continue;
                }
                let kids = self.by_time(kids);
                let step = self.step(at, &kids);
                for kid in &step.stitched {
                    self.skip(*kid, step.rung);
                    self.put(*kid, name, trunk, &mut chain);
                }
                for kid in &step.dropped {
                    self.skip(*kid, step.rung);
                }
                for kid in &step.queued {
                    if step.rung == Rung::Rewind {
                        let uuid = self.uuid_text(*kid)?;
                        let begin: String = uuid.chars().take(12).collect();
                        let branch = self.name(Some(name), &begin);
                        todo.push_back((*kid, branch, Some(name)));
                    } else {
                        todo.push_back((*kid, name, above));
                    }
                }
                next = step.next;
                self.out.forks.push(Fork { at, children: kids, rung: step.rung });
            }
            segments.push(Segment { name, nodes: chain, above: above.filter(|_| name != trunk) });
        }
        Ok(())
    }

    fn put(&mut self, node: Node, name: u32, trunk: u32, chain: &mut Vec<Node>) {
        chain.push(node);
        self.walked[node as usize] = true;
        if name != trunk {
            self.line[node as usize] = name;
        }
    }

    /// Skips a node and all below it in the session.
    fn skip(&mut self, node: Node, rung: Rung) {
        let mut todo = vec![node];
        while let Some(node) = todo.pop() {
            if !self.skipped[node as usize] {
                self.skipped[node as usize] = true;
                self.out.set_aside[node as usize] = Some(rung);
                todo.extend(self.graph.kids(node));
            }
        }
    }

    fn uuid_text(&self, node: Node) -> io::Result<String> {
        let line = self.source.bytes(self.record(node).span)?;
        let text = String::from_utf8_lossy(&line);
        Ok(Object::read(text.trim())
            .and_then(|line| Some(line.text("uuid")?.into_owned()))
            .unwrap_or_default())
    }

    /// The first rung that fits.
    fn step(&self, at: Node, kids: &[Node]) -> Step {
        let graph = &self.graph;
        let plain = |rung| Step { rung, stitched: vec![], dropped: vec![], next: None, queued: vec![] };
        let side = |kid: &Node| graph.structural(*kid) && graph.quiet(*kid);
        let (sides, rest): (Vec<Node>, Vec<Node>) = kids.iter().copied().partition(side);
        if !sides.is_empty() && rest.len() <= 1 {
            return Step { stitched: sides, next: rest.first().copied(), ..plain(Rung::SideBranch) };
        }
        if let Some((rung, stitched, next)) = self.stitch(kids) {
            return Step { stitched, next: Some(next), ..plain(rung) };
        }
        let (live, others): (Vec<Node>, Vec<Node>) =
            kids.iter().copied().partition(|kid| graph.structural(*kid) && !graph.quiet(*kid));
        if let [live] = live[..]
            && !others.is_empty()
            && others.iter().all(|kid| graph.quiet(*kid))
        {
            return Step { stitched: others, next: Some(live), ..plain(Rung::LivePassage) };
        }
        if self.goes_on(at, kids) {
            return Step { queued: kids.to_vec(), ..plain(Rung::Continuation) };
        }
        if kids.iter().all(|kid| self.time(*kid) == self.time(kids[0])) {
            return Step { dropped: kids[1..].to_vec(), next: Some(kids[0]), ..plain(Rung::Replay) };
        }
        Step { queued: kids.to_vec(), ..plain(Rung::Rewind) }
    }

    /// Rungs 2 and 3, which look at users and assistants only.
    fn stitch(&self, kids: &[Node]) -> Option<(Rung, Vec<Node>, Node)> {
        let graph = &self.graph;
        let of = |sort| -> Vec<Node> {
            kids.iter().copied().filter(|kid| graph.sort[*kid as usize] == sort).collect()
        };
        let (users, replies) = (of(Sort::User), of(Sort::Assistant));
        if users.is_empty() || replies.is_empty() {
            return None;
        }
        if users.iter().all(|kid| graph.quiet(*kid)) {
            return match replies[..] {
                [reply] => Some((Rung::QuietResult, users, reply)),
                _ => None,
            };
        }
        let (going, ended): (Vec<Node>, Vec<Node>) =
            users.into_iter().partition(|kid| graph.kids(*kid).next().is_some());
        let [going] = going[..] else { return None };
        if !ended.iter().chain(&replies).all(|kid| graph.shallow(*kid)) {
            return None;
        }
        let mut stitched = ended;
        for reply in &replies {
            stitched.push(*reply);
        }
        for reply in &replies {
            self.lifted(*reply, &mut stitched);
        }
        let mut met = HashSet::new();
        stitched.retain(|node| met.insert(*node));
        Some((Rung::DeadEnd, self.by_time(stitched), going))
    }

    /// The records below a dead end that agents hang at.
    fn lifted(&self, reply: Node, into: &mut Vec<Node>) {
        let mut todo = vec![(reply, 0)];
        while let Some((node, level)) = todo.pop() {
            if level >= DEEP {
                continue;
            }
            let record = self.record(node);
            if record.sort == Sort::User && record.agent != 0
                || record.sort == Sort::Assistant && record.spawns
            {
                into.push(node);
            }
            todo.extend(self.graph.kids(node).map(|kid| (kid, level + 1)));
        }
    }

    /// Whether the children are replies and results of this record's calls, both.
    fn goes_on(&self, at: Node, kids: &[Node]) -> bool {
        let record = self.record(at);
        let calls: HashSet<Key> =
            self.records.tools(record).iter().filter(|tool| tool.call).map(|tool| tool.id).collect();
        if record.sort != Sort::Assistant || calls.is_empty() {
            return false;
        }
        let (mut replies, mut results) = (false, false);
        for kid in kids {
            let kid = self.record(*kid);
            match kid.sort {
                Sort::Assistant => replies = true,
                Sort::User => {
                    let tools = self.records.tools(kid);
                    if tools.is_empty() || tools.iter().any(|tool| !calls.contains(&tool.id)) {
                        return false;
                    }
                    results = true;
                }
                _ => return false,
            }
        }
        replies && results
    }

    /// The tree of lines, and the order.
    fn finish(mut self) -> Document {
        self.hang_lines();
        let order = self.traverse();
        self.place_queue(&order);
        let mut copies = vec![1u32; self.graph.parent.len()];
        for (node, sessions) in &self.graph.copies {
            copies[*node as usize] = sessions.len() as u32;
        }
        let nodes = (0..self.graph.parent.len())
            .map(|node| DocumentNode {
                span: self.record(node as u32).span,
                parent: Some(self.graph.parent[node]).filter(|parent| *parent != NONE),
                copies: copies[node],
            })
            .collect();
        Document {
            nodes,
            copies: self.graph.copies,
            orphans: self.graph.orphans,
            cycles: self.graph.cycles,
            names: self.line_names,
            order,
            ..self.out
        }
    }

    fn hang_lines(&mut self) {
        let mut junctions: Vec<Junction> = Vec::new();
        let mut place: HashMap<Node, usize> = HashMap::new();
        for at in 0..self.out.lines.len() {
            let above = self.graph.parent[self.out.lines[at].nodes[0] as usize];
            let line = &mut self.out.lines[at];
            if above == NONE || self.line[above as usize] == line.name {
                line.parent = None;
                self.out.tops.push(at);
                continue;
            }
            let parent = self.line[above as usize];
            line.parent = Some(parent);
            line.attachment = Some(above);
            let junction = *place.entry(above).or_insert_with(|| {
                junctions.push(Junction { at: above, line: parent, targets: Vec::new() });
                junctions.len() - 1
            });
            junctions[junction].targets.push(at);
        }
        let mut tops = std::mem::take(&mut self.out.tops);
        self.sort_lines(&mut tops);
        for junction in &mut junctions {
            self.sort_lines(&mut junction.targets);
        }
        (self.out.tops, self.out.junctions) = (tops, junctions);
    }

    fn sort_lines(&self, lines: &mut [usize]) {
        lines.sort_by_key(|line| self.time(self.out.lines[*line].nodes[0]));
    }

    fn traverse(&self) -> Vec<Node> {
        let at: HashMap<(u32, Node), &[usize]> = self
            .out
            .junctions
            .iter()
            .map(|junction| ((junction.line, junction.at), junction.targets.as_slice()))
            .collect();
        let mut order = Vec::with_capacity(self.graph.parent.len());
        let mut done = vec![false; self.out.lines.len()];
        // A line, and how many of its nodes were emitted; the lines at the last of them come first.
        let mut todo: Vec<(usize, usize)> = self.out.tops.iter().rev().map(|line| (*line, 0)).collect();
        while let Some((line, from)) = todo.pop() {
            if from == 0 && std::mem::replace(&mut done[line], true) {
                continue;
            }
            let DocumentLine { name, nodes, .. } = &self.out.lines[line];
            for (place, node) in nodes.iter().enumerate().skip(from) {
                order.push(*node);
                if let Some(targets) = at.get(&(*name, *node)) {
                    if place + 1 < nodes.len() {
                        todo.push((line, place + 1));
                    }
                    todo.extend(targets.iter().rev().map(|target| (*target, 0)));
                    break;
                }
            }
        }
        order
    }

    /// Puts each line about the queue behind the last node of its session that is no later.
    fn place_queue(&mut self, order: &[Node]) {
        let queue: Vec<&Record> =
            self.records.list.iter().filter(|record| record.sort == Sort::Queue).collect();
        self.out.queue = queue.iter().map(|record| record.span).collect();
        let mut places: HashMap<u32, Vec<(&[u8], u32)>> = HashMap::new();
        let mut first: HashMap<u32, u32> = HashMap::new();
        if !queue.is_empty() {
            for (at, node) in order.iter().enumerate() {
                let session = self.graph.session[*node as usize];
                first.entry(session).or_insert(at as u32);
                if !self.time(*node).is_empty() {
                    places.entry(session).or_default().push((self.time(*node), at as u32));
                }
            }
        }
        for places in places.values_mut() {
            places.sort_unstable();
        }
        let (mut before, mut after) = (BTreeMap::<u32, Vec<u32>>::new(), BTreeMap::<u32, Vec<u32>>::new());
        let mut last = Vec::new();
        for (number, record) in queue.iter().enumerate() {
            let (number, time) = (number as u32, self.records.time(record));
            match places.get(&record.session) {
                Some(places) if !time.is_empty() => {
                    match places.partition_point(|(known, _)| *known <= time).checked_sub(1) {
                        Some(at) => after.entry(places[at].1).or_default().push(number),
                        None => before.entry(first[&record.session]).or_default().push(number),
                    }
                }
                _ => last.push(number),
            }
        }
        let mut stream = Vec::with_capacity(order.len() + queue.len());
        let put = |numbers: Option<&Vec<u32>>, stream: &mut Vec<Item>| {
            stream.extend(numbers.into_iter().flatten().map(|number| Item::Queue(*number)));
        };
        for (at, node) in order.iter().enumerate() {
            put(before.get(&(at as u32)), &mut stream);
            stream.push(Item::Node(*node));
            put(after.get(&(at as u32)), &mut stream);
        }
        put(Some(&last), &mut stream);
        self.out.stream = stream;
    }
}

/// What a compaction says of its place.
#[derive(Clone, Debug, Default)]
pub(super) struct Boundary {
    /// The entry before it.
    pub(super) logical: Option<String>,
    /// The entries that it keeps, the last first; some of them, where it names only the first and the last.
    pub(super) kept: Vec<String>,
}

impl Boundary {
    pub(super) fn read(line: &[u8]) -> Boundary {
        let text = String::from_utf8_lossy(line);
        let Some(line) = Object::read(text.trim()) else { return Boundary::default() };
        let logical = line.text("logicalParentUuid").map(|uuid| uuid.into_owned());
        let mut kept: Vec<String> = Vec::new();
        let Some(facts) = line.object("compactMetadata") else { return Boundary { logical, kept } };
        if let Some(segment) = facts.object("preservedSegment") {
            let ends = ["tailUuid", "headUuid"];
            kept.extend(ends.iter().filter_map(|key| Some(segment.text(key)?.into_owned())));
        }
        if let Some(messages) = facts.object("preservedMessages")
            && let Some(list) = messages.get("uuids")
            && let Ok(serde_json::Value::Array(list)) = serde_json::from_str(list)
        {
            kept.extend(list.iter().rev().filter_map(|uuid| Some(uuid.as_str()?.to_owned())));
        }
        Boundary { logical, kept }
    }

    /// The entries that it may go on from, the likeliest first.
    pub(super) fn targets(&self) -> impl Iterator<Item = &String> {
        self.logical.iter().chain(&self.kept)
    }
}
