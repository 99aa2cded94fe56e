//! The walk of the documented order: down from the roots of each session, by the first rung that
//! applies at each fork.

mod document;
mod fork;

use super::graph::Graph;
use super::record::{NONE, Record, RecordKind, Records, SharedTexts};
use super::{Document, DocumentLine, DocumentSession, Fork, LineName, Node, RootClass, Rung};
use crate::model::{Key, Source};
use crate::ops::thread::text::{Standing, on_object};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;

/// A run of nodes on a line, as it was walked.
struct Segment {
    name: u32,
    nodes: Vec<Node>,
    /// The line above, for a branch that a rewind made.
    above: Option<u32>,
}

pub(crate) struct Walker<'w> {
    source: &'w dyn Source,
    records: &'w Records,
    names: &'w SharedTexts,
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
    pub(crate) fn new(
        source: &'w dyn Source,
        records: &'w Records,
        names: &'w SharedTexts,
        graph: Graph,
    ) -> Walker<'w> {
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
                walker.name(None, names.name(session))
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

    pub(crate) fn sessions(&mut self) -> io::Result<()> {
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
        let main_line = self.name(None, self.names.name(session));
        let mut segments = Vec::new();
        for root in &roots {
            if !self.walked[*root as usize] {
                let start = self.start(*root, main_line)?;
                self.walk(*root, start, main_line, &mut segments)?;
            }
        }
        let is_covered = |node: &&Node| self.walked[**node as usize] || self.skipped[**node as usize];
        let covered = nodes.iter().filter(is_covered).count();
        let fallback = roots.is_empty() || covered < nodes.len();
        let from = self.out.lines.len();
        if fallback {
            let nodes = self.by_time(nodes.clone());
            let (parent, attachment) = (None, None);
            self.out.lines.push(DocumentLine { name: main_line, nodes, parent, attachment, branch: false });
        } else {
            self.merge(segments, main_line);
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
            id: self.names.name(session).to_owned(),
            roots: roots.into_iter().zip(classes).collect(),
            nodes: nodes.len(),
            covered,
            fallback,
            skipped,
        });
        Ok(())
    }

    /// Joins the segments of each line, by the times of their first nodes.
    fn merge(&mut self, segments: Vec<Segment>, main_line: u32) {
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
                branch: name != main_line,
            });
        }
    }

    fn classify(&self, roots: &[Node]) -> Vec<RootClass> {
        let mut started = false;
        roots
            .iter()
            .map(|root| {
                let record = self.record(*root);
                let (ty, subtype) = (self.names.name(record.ty), self.names.name(record.subtype));
                let alone = self.graph.parent[*root as usize] == NONE;
                match record.sort {
                    RecordKind::System if matches!(subtype, "compact_boundary" | "local_command") => {
                        RootClass::Sort(format!("system/{subtype}"))
                    }
                    RecordKind::Passed if ty == "progress" => RootClass::Sort(ty.into()),
                    RecordKind::Attachment if subtype.is_empty() => RootClass::Sort(ty.into()),
                    RecordKind::Attachment => RootClass::Sort(format!("attachment/{subtype}")),
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

    /// Returns the line on which a root begins: for a compaction that continues a branch, that
    /// branch.
    fn start(&self, root: Node, main_line: u32) -> io::Result<u32> {
        let record = self.record(root);
        if record.sort != RecordKind::System || self.names.name(record.subtype) != "compact_boundary" {
            return Ok(main_line);
        }
        let session = self.graph.session[root as usize];
        let line = self.source.bytes(record.span)?;
        for uuid in Standing::read(&line).targets() {
            let number = self.names.known_uuid(Key::hash(uuid.as_bytes()));
            let node = number.map_or(NONE, |uuid| self.graph.node_of[uuid as usize]);
            if node != NONE && self.graph.session[node as usize] == session && self.walked[node as usize] {
                return Ok(self.line[node as usize]);
            }
        }
        Ok(main_line)
    }

    fn walk(
        &mut self,
        root: Node,
        start: u32,
        main_line: u32,
        segments: &mut Vec<Segment>,
    ) -> io::Result<()> {
        let mut todo = VecDeque::from([(root, start, None)]);
        while let Some((head, name, above)) = todo.pop_front() {
            let mut chain = Vec::new();
            let mut next = Some(head);
            while let Some(at) = next {
                self.push(at, name, main_line, &mut chain);
                let kids: Vec<Node> = self.graph.kids(at).collect();
                if kids.len() < 2 {
                    next = kids.first().copied();
                    continue;
                }
                let kids = self.by_time(kids);
                let step = self.step(at, &kids);
                for kid in &step.stitched {
                    self.skip(*kid, step.rung);
                    self.push(*kid, name, main_line, &mut chain);
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
            segments.push(Segment { name, nodes: chain, above: above.filter(|_| name != main_line) });
        }
        Ok(())
    }

    fn push(&mut self, node: Node, name: u32, main_line: u32, chain: &mut Vec<Node>) {
        chain.push(node);
        self.walked[node as usize] = true;
        if name != main_line {
            self.line[node as usize] = name;
        }
    }

    /// Skips a node and all nodes below it in the session.
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
        Ok(on_object(&line, |line| Some(line.text("uuid")?.into_owned())).unwrap_or_default())
    }
}
