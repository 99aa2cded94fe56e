//! Counts a session in groups that are named by a property of the counted items: day, model, file.

use super::{Answer, Call, Facts, FileCall, Fresh, Spent, Sum};
use crate::format::Session;
use crate::model::{Flags, Ix, Key};
use std::collections::{BTreeMap, HashMap};

/// An item that is counted.
#[derive(Clone, Copy, Debug)]
pub enum Item<'f> {
    /// An entry.
    Entry(Ix),
    /// Something that used tokens.
    Spent(&'f Spent),
    /// A call of a tool.
    Call(&'f Call),
    /// A tool result.
    Answer(&'f Answer),
    /// A call that reads or changes a file.
    File(&'f FileCall),
}

impl Item<'_> {
    /// Returns the entry that it is, or that contains it.
    pub fn entry(&self) -> Ix {
        match self {
            Item::Entry(ix) => *ix,
            Item::Spent(spent) => spent.entry,
            Item::Call(call) => call.entry,
            Item::Answer(answer) => answer.entry,
            Item::File(call) => call.entry,
        }
    }
}

/// Counts the fresh part of a session, each item in the group that `group` names; `None` leaves it
/// out.
pub fn grouped_by<K: Ord>(
    session: &Session,
    facts: &Facts,
    fresh: &Fresh,
    mut group: impl FnMut(Item<'_>) -> Option<K>,
) -> BTreeMap<K, Sum> {
    let mut sums: BTreeMap<K, Sum> = BTreeMap::new();
    let mut add = |item: Item<'_>, count: &mut dyn FnMut(&mut Sum)| {
        if let Some(key) = group(item) {
            count(sums.entry(key).or_default());
        }
    };
    let is_fresh = |ix: Ix| fresh.entries[ix.index()];
    let name = |place: u32| facts.names[place as usize].as_str();
    for ix in session.tree.entries_in_tree().filter(|ix| is_fresh(*ix)) {
        add(Item::Entry(ix), &mut |sum| sum.entry(session, 0, ix));
    }
    for call in facts.calls.iter().filter(|call| is_fresh(call.entry)) {
        add(Item::Call(call), &mut |sum| {
            sum.tools.entry(name(call.tool).to_owned()).or_default().calls += 1;
        });
    }
    for answer in facts.results.iter().filter(|answer| is_fresh(answer.entry)) {
        add(Item::Answer(answer), &mut |sum| {
            let tool = sum.tools.entry(answer.tool.map_or("", name).to_owned()).or_default();
            tool.results += 1;
            tool.errors += u64::from(answer.failed);
        });
    }
    for call in facts.files.iter().filter(|call| is_fresh(call.entry)) {
        add(Item::File(call), &mut |sum| match call.changes {
            true => sum.changes += 1,
            false => sum.reads += 1,
        });
    }
    for (spent, _) in facts.spent.iter().zip(&fresh.spent).filter(|(_, is_fresh)| **is_fresh) {
        let aside = session.entries.flags(spent.entry).has(Flags::SIDECHAIN);
        add(Item::Spent(spent), &mut |sum| sum.spent(spent, spent.model.map_or("", name), aside));
    }
    sums
}

/// The models of a session's replies, by their entries.
#[derive(Clone, Debug, Default)]
pub struct Models {
    entries: HashMap<Ix, u32>,
    /// A reply of Claude Code consists of several entries, of which one counts.
    replies: HashMap<Key, u32>,
}

impl Models {
    /// Records which model wrote which entries.
    pub fn new(session: &Session, facts: &Facts) -> Models {
        let mut models = Models::default();
        for spent in facts.spent.iter().filter(|spent| spent.is_reply) {
            let Some(model) = spent.model else { continue };
            models.entries.insert(spent.entry, model);
            let reply = session.entries.group(spent.entry);
            if reply.is_some() {
                models.replies.insert(reply, model);
            }
        }
        models
    }

    /// Returns the model of an item, as an index into the names of the facts.
    pub fn model(&self, session: &Session, item: Item<'_>) -> Option<u32> {
        if let Item::Spent(spent) = item {
            return spent.model;
        }
        let of = |entry: Ix| {
            let reply = session.entries.group(entry);
            self.entries.get(&entry).or_else(|| self.replies.get(&reply).filter(|_| reply.is_some())).copied()
        };
        match item {
            // The model that called the tool is that of the reply before.
            Item::Answer(answer) => session.tree.ancestors(answer.entry).find_map(of),
            _ => of(item.entry()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Prices, Total};
    use super::*;
    use crate::model::Table;

    #[test]
    fn things_are_counted_in_the_groups_that_they_name() {
        let reply = |id: &str, model: &str, tool: &str, path: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-03-02T09:00:0{id}.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c{id}","name":"{tool}","arguments":{{"path":"{path}"}}}}],"model":"{model}","usage":{{"input":10}}}}}}"#
            )
        };
        let header =
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T09:00:00.000Z","cwd":"/w"}"#;
        let lines = [
            header.to_owned(),
            reply("1", "a", "read", "x"),
            reply("2", "b", "edit", "x"),
            reply("3", "b", "bash", "y"),
        ];
        let text = lines.join("\n") + "\n";
        let session = Session::read(text.as_bytes()).unwrap();
        let facts =
            Facts::read(&session, &Table(vec![text.into_bytes()]), &Prices::default(), false).unwrap();
        let mut total = Total::default();
        let fresh = total.add(&session, &facts);
        let models = Models::new(&session, &facts);
        let name = |place: u32| facts.names[place as usize].clone();
        let by_model = grouped_by(&session, &facts, &fresh, |item| models.model(&session, item).map(name));
        let counts = |sum: &Sum| (sum.entries().count, sum.taken.usage.input, sum.reads, sum.changes);
        assert_eq!(counts(&by_model["a"]), (1, 10, 1, 0));
        assert_eq!(counts(&by_model["b"]), (2, 20, 0, 1));
        assert_eq!(by_model["b"].tools.len(), 2);
        let by_file = grouped_by(&session, &facts, &fresh, |item| match item {
            Item::File(call) => Some(name(call.file)),
            _ => None,
        });
        // The files that a shell touches are not known.
        assert_eq!(by_file.keys().collect::<Vec<_>>(), ["x"]);
        assert_eq!((by_file["x"].reads, by_file["x"].changes), (1, 1));
        // A copy of the session adds nothing.
        let copy = total.add(&session, &facts);
        assert!(grouped_by(&session, &facts, &copy, |_| Some(())).is_empty());
    }
}
