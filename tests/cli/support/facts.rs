//! What a reader sees in a session, in the form in which the cases state it.

use bough::internals::format::Format;
use bough::internals::model::{FaultKind, Ix, Parent, Source};
use bough::internals::ops::ids;
use bough::internals::store::Opened;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Returns what bough sees in a session of pi, oh-my-pi or Chimera, in the form of a case.
pub fn case_facts(opened: &Opened) -> Value {
    let session = &opened.session;
    let (entries, tree) = (&session.entries, &session.tree);
    let path = session.head.leaf.map(|leaf| tree.path(leaf)).unwrap_or_default();
    let labels: serde_json::Map<String, Value> =
        session.labels.all().map(|(ix, line)| (id(opened, ix), line.text.into())).collect();
    let distinct: std::collections::HashSet<_> =
        entries.all().filter(|ix| entries.key(*ix).is_some()).map(|ix| entries.key(ix)).collect();
    json!({
        "lines": session.files[0].lines,
        "records": session.files[0].records,
        "entries": distinct.len(),
        "roots": ids_of(opened, &mut tree.entries_in_tree().filter(|ix| tree.link(*ix) == Parent::Root)),
        "leaf": session.head.leaf.map(|leaf| id(opened, leaf)),
        "path": ids_of(opened, &mut path.iter().copied()),
        "path_len": path.len(),
        "branches": tree.leaves().count(),
        "tips": sorted(ids_of(opened, &mut tree.leaves())),
        "labels": labels,
    })
}

/// Returns what bough sees in a session of Claude Code, in the form of a case.
pub fn claude_facts(opened: &Opened) -> Value {
    let session = &opened.session;
    let (entries, tree) = (&session.entries, &session.tree);
    // The facts concern whole lines; in a line with something after its object, Claude Code reads
    // the object.
    let glued: HashSet<u64> = session
        .faults
        .iter()
        .filter(|fault| matches!(fault.kind, FaultKind::Trailing { .. }))
        .map(|fault| fault.line)
        .collect();
    let whole = |ix: &Ix| !glued.contains(&entries.line(*ix)) && entries.key(*ix).is_some();
    let distinct: HashSet<_> = entries.all().filter(whole).map(|ix| entries.key(ix)).collect();
    let ids = |ixs: &mut dyn Iterator<Item = Ix>| ixs.map(|ix| uuid(opened, ix)).collect::<Vec<_>>();
    let path = session.path();
    let mut tips = ids(&mut tree.leaves().filter(whole));
    tips.sort();
    let labels: serde_json::Map<String, Value> =
        session.labels.all().map(|(ix, line)| (uuid(opened, ix), line.text.into())).collect();
    json!({
        "lines": session.files[0].lines,
        "records": session.files[0].records,
        "entries": distinct.len(),
        "roots": ids(&mut tree.entries_in_tree().filter(|ix| tree.link(*ix) == Parent::Root)),
        "leaf": session.head.entry.map(|ix| uuid(opened, ix)),
        "path": ids(&mut path.iter().copied()),
        "path_len": path.len(),
        "branches": tips.len(),
        "tips": tips,
        "labels": labels,
    })
}

fn uuid(opened: &Opened, ix: Ix) -> String {
    let line = opened.files.bytes(opened.session.span(ix)).unwrap();
    let id = bough::internals::json::member_at(&line, &["uuid"]).unwrap_or_default();
    bough::internals::json::string(id).unwrap_or_default().into_owned()
}

/// Returns the id of an entry; for an entry of version 1 its number, and for another one without an
/// id what the programs print.
pub fn id(opened: &Opened, ix: Ix) -> String {
    match ids::id(&opened.session, &opened.files, ix).unwrap() {
        id if !id.is_empty() => id,
        _ if opened.session.format == Format::PiV1 => format!("#{}", ix.0 + 1),
        _ => "(undefined)".into(),
    }
}

pub fn ids_of(opened: &Opened, ixs: &mut dyn Iterator<Item = Ix>) -> Value {
    ixs.map(|ix| id(opened, ix)).collect::<Vec<_>>().into()
}

pub fn sorted(list: Value) -> Value {
    let mut list = list.as_array().unwrap().clone();
    list.iter_mut().for_each(as_text);
    list.sort_by_key(Value::to_string);
    list.into()
}

/// Turns an id that is a number into text.
pub fn as_text(id: &mut Value) {
    if id.is_number() {
        *id = id.to_string().into();
    }
}
