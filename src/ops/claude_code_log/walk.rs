//! The walk of the documented order: down from the roots of each session, by the first rung that
//! applies at each fork.

use super::graph::{DEEP, Graph};
use super::record::{NONE, Record, RecordKind, Records, SharedTexts};
use super::{
    Document, DocumentLine, DocumentNode, DocumentSession, Fork, Item, Junction, LineName, Node, RootClass,
    Rung,
};
use crate::model::{Key, Source};
use crate::ops::thread::text::{Standing, on_object};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;

/// A run of nodes on a line, as it was walked.
struct Segment {
    name: u32,
    nodes: Vec<Node>,
    /// The line above, for a branch that a rewind made.
    above: Option<u32>,
}

/// The decision of a rung.
struct Step {
    rung: Rung,
    /// Children that join the chain, without the nodes below them.
    stitched: Vec<Node>,
    /// Children that are dropped, with the nodes below them.
    dropped: Vec<Node>,
    /// Where to continue.
    next: Option<Node>,
    /// Children that begin their own chains.
    queued: Vec<Node>,
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

    /// Returns the decision of the first rung that applies.
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
        if self.continues_reply(at, kids) {
            return Step { queued: kids.to_vec(), ..plain(Rung::Continuation) };
        }
        if kids.iter().all(|kid| self.time(*kid) == self.time(kids[0])) {
            return Step { dropped: kids[1..].to_vec(), next: Some(kids[0]), ..plain(Rung::Replay) };
        }
        Step { queued: kids.to_vec(), ..plain(Rung::Rewind) }
    }

    /// Applies rungs 2 and 3, which consider only users and assistants.
    fn stitch(&self, kids: &[Node]) -> Option<(Rung, Vec<Node>, Node)> {
        let graph = &self.graph;
        let of = |sort| -> Vec<Node> {
            kids.iter().copied().filter(|kid| graph.sort[*kid as usize] == sort).collect()
        };
        let (users, replies) = (of(RecordKind::User), of(RecordKind::Assistant));
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

    /// Collects the records below a dead end to which subagents are attached.
    fn lifted(&self, reply: Node, into: &mut Vec<Node>) {
        let mut todo = vec![(reply, 0)];
        while let Some((node, level)) = todo.pop() {
            if level >= DEEP {
                continue;
            }
            let record = self.record(node);
            if record.sort == RecordKind::User && record.agent != 0
                || record.sort == RecordKind::Assistant && record.spawns
            {
                into.push(node);
            }
            todo.extend(self.graph.kids(node).map(|kid| (kid, level + 1)));
        }
    }

    /// Returns whether the children are replies and results of this record's calls, with at least
    /// one of each.
    fn continues_reply(&self, at: Node, kids: &[Node]) -> bool {
        let record = self.record(at);
        let calls: HashSet<Key> =
            self.records.tools(record).iter().filter(|tool| tool.call).map(|tool| tool.id).collect();
        if record.sort != RecordKind::Assistant || calls.is_empty() {
            return false;
        }
        let (mut replies, mut results) = (false, false);
        for kid in kids {
            let kid = self.record(*kid);
            match kid.sort {
                RecordKind::Assistant => replies = true,
                RecordKind::User => {
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

    /// Builds the tree of lines, and the order.
    pub(crate) fn finish(mut self) -> Document {
        self.attach_lines();
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

    fn attach_lines(&mut self) {
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
        // A line, and how many of its nodes were emitted; the lines attached to the last of them
        // come first.
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

    /// Inserts each line about the queue after the last node of its session that is not later.
    fn place_queue(&mut self, order: &[Node]) {
        let queue: Vec<&Record> =
            self.records.list.iter().filter(|record| record.sort == RecordKind::Queue).collect();
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
