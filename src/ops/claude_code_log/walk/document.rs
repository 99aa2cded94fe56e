//! The document that comes of a walk: its lines in their order.

use super::Walker;
use crate::ops::claude_code_log::record::{NONE, Record, RecordKind};
use crate::ops::claude_code_log::{Document, DocumentLine, DocumentNode, Item, Junction, Node};
use std::collections::{BTreeMap, HashMap};

impl Walker<'_> {
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
