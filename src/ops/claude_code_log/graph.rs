//! The nodes of the documented order, and their links.

use super::record::{NONE, Record, RecordKind, Records, SharedTexts};
use super::{Node, OrphanReport};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The nodes and their links.
pub(crate) struct Graph {
    /// The node of each uuid.
    pub(crate) node_of: Vec<u32>,
    /// The record that counts, by node.
    pub(crate) record: Vec<u32>,
    pub(crate) parent: Vec<u32>,
    pub(crate) copies: Vec<(Node, Vec<String>)>,
    pub(crate) orphans: Vec<(Node, OrphanReport)>,
    pub(crate) cycles: Vec<Node>,
    /// The session of each node.
    pub(crate) session: Vec<u32>,
    pub(crate) sort: Vec<RecordKind>,
    first: Vec<u32>,
    list: Vec<u32>,
    /// Whether a user or assistant record is below, within the session.
    talks: Vec<bool>,
    /// The number of levels below, within the session.
    height: Vec<u32>,
}

impl Graph {
    /// Creates one node for each uuid: of its copies, the first one in the oldest session.
    pub(crate) fn index(records: &Records, names: &SharedTexts) -> Graph {
        let is_node = |record: &&Record| record.sort != RecordKind::Queue;
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
            let word = |record: &Record| names.name(record.session).to_owned();
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

    pub(crate) fn promote_orphans(&mut self, records: &Records, known: &HashSet<u32>, names: &SharedTexts) {
        for node in 0..self.parent.len() {
            if self.parent[node] == MISSING {
                self.parent[node] = NONE;
                let record = &records.list[self.record[node] as usize];
                let hook = record.sort == RecordKind::Attachment
                    || record.sort == RecordKind::Passed && names.name(record.ty) == "progress";
                let report = match hook {
                    _ if known.contains(&record.parent) => OrphanReport::Silent,
                    true => OrphanReport::Debug,
                    false => OrphanReport::Warning,
                };
                self.orphans.push((node as u32, report));
            }
        }
    }

    /// Cuts each cycle at the node that the walk from the first node meets twice.
    pub(crate) fn cut_cycles(&mut self) {
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

    /// Lists the children in node order, and collects facts about the nodes below each node.
    pub(crate) fn measure(&mut self) {
        self.list_children();
        let count = self.parent.len();
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
                self.talks[above] |= self.talks[node] || self.sort[node].is_turn();
                self.height[above] = self.height[above].max(self.height[node] + 1);
            }
        }
    }

    /// Lists the children of all nodes, those of one node side by side.
    fn list_children(&mut self) {
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
    }

    fn children(&self, node: Node) -> &[u32] {
        &self.list[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// Returns the children within the session.
    pub(crate) fn kids(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let session = self.session[node as usize];
        self.children(node).iter().copied().filter(move |kid| self.session[*kid as usize] == session)
    }

    pub(crate) fn quiet(&self, node: Node) -> bool {
        !self.talks[node as usize]
    }

    pub(crate) fn structural(&self, node: Node) -> bool {
        self.sort[node as usize].structural()
    }

    pub(crate) fn shallow(&self, node: Node) -> bool {
        self.height[node as usize] <= DEEP
    }
}

const MISSING: u32 = NONE - 1;

/// The maximum number of levels of a dead end.
pub(crate) const DEEP: u32 = 20;
