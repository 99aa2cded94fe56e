//! Linearization of Claude Code's transcripts.

use crate::support::files;
use bough::internals::format::{Layout, Session};
use bough::internals::model::{Ix, Source, Span};
use bough::internals::ops::claude_code_log::{Document, Item, Node, OrphanReport, RootClass};
use bough::internals::ops::thread::{self, Reading};
use bough::internals::store::{Files, project};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    files::project().join("tests/cli/sessions/claude-code")
}

/// Returns the path of a case: a file, or a project folder.
fn case(name: &str) -> PathBuf {
    let file = corpus().join(format!("{name}.jsonl"));
    match name {
        "subagent-orphan-loop" => corpus().join(name).join("agent-aa11bb22.jsonl"),
        _ if file.exists() => file,
        _ => corpus().join(name),
    }
}

/// Returns the names of all cases that have an answer.
fn all_cases(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            Some(entry.unwrap().file_name().to_str()?.strip_suffix(".expected.json")?.to_owned())
        })
        .collect();
    names.sort();
    names
}

fn document(path: &Path) -> (Layout, Files, Document) {
    let layout = project::layout(path).unwrap();
    let files = project::files(&layout);
    let document = bough::internals::ops::claude_code_log::document(&layout, &files).unwrap();
    (layout, files, document)
}

/// Computes the parts of a recorded answer that the rules determine.
fn answer(path: &Path) -> Value {
    let (_, files, document) = document(path);
    let line = |span: Span| -> Value {
        let bytes = files.bytes(span).unwrap();
        serde_json::from_str(String::from_utf8_lossy(&bytes).trim()).unwrap()
    };
    let lines: Vec<Value> = document.nodes.iter().map(|node| line(node.span)).collect();
    let text = |node: Node, key: &str| lines[node as usize][key].as_str().unwrap_or_default().to_owned();
    let id = |node: &Node| text(*node, "uuid");
    let ids = |nodes: &[Node]| Value::from(nodes.iter().map(id).collect::<Vec<_>>());
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        Value::from(ids)
    };
    let line_id = |name: u32| document.line_id(name);
    let mut out = Map::new();
    out.insert("nodes".into(), document.nodes.len().into());
    let duplicates: Map<String, Value> = document
        .copies
        .iter()
        .map(|(node, sessions)| {
            // The session that counts is that of the node, followed by the subagent's name if there
            // is one.
            let own = text(*node, "sessionId");
            let kept = document.sessions.iter().find(|session| {
                (session.id == own || session.id.starts_with(&format!("{own}#agent-")))
                    && sessions.contains(&session.id)
            });
            let mut different = sessions.clone();
            different.sort();
            different.dedup();
            let kept = kept.map(|session| session.id.clone());
            (id(node), json!({ "kept_session": kept, "copies": sessions.len(), "sessions": different }))
        })
        .collect();
    out.insert("duplicates".into(), duplicates.into());
    let orphans: Vec<Value> = document
        .orphans
        .iter()
        .map(|(node, told)| {
            let logged = match told {
                OrphanReport::Warning => "warning",
                OrphanReport::Debug => "debug",
                OrphanReport::Silent => "silent",
            };
            json!({ "uuid": id(node), "missing_parent": text(*node, "parentUuid"), "logged": logged })
        })
        .collect();
    out.insert("orphans_promoted".into(), orphans.into());
    out.insert("cycles_broken".into(), ids(&document.cycles));
    let mut roots = Map::new();
    let (mut skipped, mut coverage) = (Map::new(), Map::new());
    for session in &document.sessions {
        let list: Vec<Value> = session
            .roots
            .iter()
            .map(|(node, class)| {
                let class = match class {
                    RootClass::Sort(sort) => format!("expected:{sort}"),
                    RootClass::SidechainOrphan => "expected:sidechain-orphan".into(),
                    RootClass::CrossSession => "expected:cross-session".into(),
                    RootClass::SessionStart => "expected:session-start".into(),
                    RootClass::Unexpected => "unexpected".into(),
                };
                json!({ "uuid": id(node), "class": class, "unexpected": class == "unexpected" })
            })
            .collect();
        roots.insert(session.id.clone(), list.into());
        if !session.skipped.is_empty() {
            skipped.insert(session.id.clone(), sorted(session.skipped.iter().map(id).collect()));
        }
        let facts =
            json!({ "nodes": session.nodes, "covered": session.covered, "fallback": session.fallback });
        coverage.insert(session.id.clone(), facts);
    }
    out.insert("roots".into(), roots.into());
    out.insert("skipped".into(), skipped.into());
    out.insert("coverage".into(), coverage.into());
    let mut forks: Vec<(String, Value)> = document
        .forks
        .iter()
        .map(|fork| (id(&fork.at), json!([id(&fork.at), ids(&fork.children), fork.rung.name()])))
        .collect();
    forks.sort_by(|one, other| one.0.cmp(&other.0));
    out.insert("forks".into(), forks.into_iter().map(|(_, fork)| fork).collect());
    let mut sessions = Map::new();
    let mut branches = Vec::new();
    for line in &document.lines {
        let attachment = line.attachment.as_ref().map(id);
        let facts = json!({
            "uuids": ids(&line.nodes), "first_timestamp": text(line.nodes[0], "timestamp"),
            "parent_session": line.parent.map(line_id), "attachment": attachment, "is_branch": line.branch,
        });
        sessions.insert(line_id(line.name), facts);
        if line.branch {
            branches.push(json!({ "id": line_id(line.name), "fork": attachment, "uuids": ids(&line.nodes) }));
        }
    }
    out.insert("sessions".into(), sessions.into());
    out.insert("branches".into(), branches.into());
    let target = |line: &usize| line_id(document.lines[*line].name);
    out.insert("tree_roots".into(), document.tops.iter().map(target).collect());
    let junctions: Map<String, Value> = document
        .junctions
        .iter()
        .map(|junction| {
            let targets: Vec<String> = junction.targets.iter().map(target).collect();
            (id(&junction.at), json!({ "session": line_id(junction.line), "targets": targets }))
        })
        .collect();
    out.insert("junction_points".into(), junctions.into());
    out.insert("traversal".into(), ids(&document.order));
    out.insert("not_emitted".into(), ids(&document.not_emitted()));
    let stream: Vec<String> = document
        .stream
        .iter()
        .map(|item| match item {
            Item::Node(node) => id(node),
            Item::Queue(number) => {
                let line = line(document.queue[*number as usize]);
                let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
                format!("queue:{}@{}", text("operation"), text("timestamp"))
            }
        })
        .collect();
    out.insert("stream".into(), stream.into());
    out.into()
}

/// Returns the same parts of a recorded answer.
fn recorded(text: &str) -> Value {
    let mut recorded: Value = serde_json::from_str(text).unwrap();
    let mut forks: Vec<Value> = recorded["forks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|fork| json!([fork["at"], fork["children"], fork["rung"]]))
        .collect();
    forks.sort_by_key(|fork| fork[0].as_str().map(str::to_owned));
    recorded["forks"] = forks.into();
    for (_, session) in recorded["sessions"].as_object_mut().into_iter().flatten() {
        session.as_object_mut().unwrap().remove("original_session");
    }
    for (_, roots) in recorded["roots"].as_object_mut().into_iter().flatten() {
        for root in roots.as_array_mut().unwrap() {
            root.as_object_mut().unwrap().remove("type");
        }
    }
    recorded
}

fn compare(name: &str, path: &Path, recorded_at: &Path) -> Vec<String> {
    let recorded = recorded(&std::fs::read_to_string(recorded_at).unwrap());
    if recorded.get("error").is_some() {
        return Vec::new();
    }
    let answer = answer(path);
    answer
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, value)| recorded.get(key) != Some(value))
        .map(|(key, value)| format!("{name}: {key}\n  ours     {value}\n  recorded {}", recorded[key]))
        .collect()
}

#[test]
fn the_documented_order_is_that_of_its_program() {
    let mut wrong = Vec::new();
    for name in all_cases(&corpus()) {
        wrong.extend(compare(&name, &case(&name), &corpus().join(format!("{name}.expected.json"))));
    }
    // That program recurses on depth, and fails here; these are its rules.
    let name = "deep-side-chain";
    wrong.extend(compare(name, &case(name), &corpus().join(format!("{name}.rules.json"))));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Random stores with recorded answers: the included ones, or more in the folder that
/// `BOUGH_STORES` names.
#[test]
fn the_documented_order_of_random_stores_is_that_of_its_rules() {
    let folder = std::env::var_os("BOUGH_STORES").map_or_else(|| corpus().join("random"), PathBuf::from);
    let names = all_cases(&folder);
    assert!(names.len() >= 40, "only {} stores", names.len());
    let mut wrong = Vec::new();
    for name in names {
        let recorded_at = folder.join(format!("{name}.expected.json"));
        let recorded: Value = serde_json::from_str(&std::fs::read_to_string(&recorded_at).unwrap()).unwrap();
        let path = folder.join(recorded["path"].as_str().unwrap());
        wrong.extend(compare(&name, &path, &recorded_at));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Formats bough's own thread of one file as strands: `trunk 1 2 3; branch<3 4 5`.
fn shape(path: &Path) -> String {
    let opened = bough::internals::store::open(path, bough::internals::store::Options::default()).unwrap();
    let reading = thread::read(&opened.session, &opened.files).unwrap();
    law(path, &opened.session, &reading);
    let name = |ix: &Ix| -> String {
        let line = opened.files.bytes(opened.session.span(*ix)).unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        let uuid = line["uuid"].as_str().unwrap();
        match u32::from_str_radix(&uuid[..uuid.len().min(8)], 16) {
            Ok(number) => format!("{number:x}"),
            Err(_) => uuid.to_owned(),
        }
    };
    let mut parts: Vec<String> = reading
        .strands
        .iter()
        .map(|strand| {
            let at = strand.above.map_or(String::new(), |(_, ix)| format!("<{}", name(&ix)));
            let entries: Vec<String> = strand.entries.iter().map(name).collect();
            format!("{}{at} {}", format!("{:?}", strand.kind).to_lowercase(), entries.join(" "))
        })
        .collect();
    if !reading.aside.is_empty() {
        let aside: Vec<String> =
            reading.aside.iter().map(|aside| format!("{}={}", name(&aside.ix), name(&aside.by))).collect();
        parts.push(format!("aside {}", aside.join(" ")));
    }
    parts.join("; ")
}

/// Formats a whole project, with numbered files: the strands, what started each subagent, where
/// each session came from.
fn project_shape(path: &Path) -> (String, String, String) {
    let layout = project::layout(path).unwrap();
    let opened = project::open(&layout, false).unwrap();
    let session = &opened.session;
    let agents = thread::agents(session, &opened.files, &layout).unwrap();
    let anchor =
        |file: u16| agents.iter().find(|agent| agent.file == file).map(|agent| agent.anchored.entry());
    let reading = thread::read_with(session, &opened.files, &anchor).unwrap();
    law(path, session, &reading);
    let name = |ix: &Ix| -> String {
        let line = opened.files.bytes(session.span(*ix)).unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        let number = u32::from_str_radix(&line["uuid"].as_str().unwrap()[..8], 16).unwrap();
        format!("{number:x}")
    };
    let strands: Vec<String> = reading
        .strands
        .iter()
        .map(|strand| {
            let at = strand.above.map_or(String::new(), |(_, ix)| format!("<{}", name(&ix)));
            let entries: Vec<String> = strand.entries.iter().map(name).collect();
            format!(
                "{}:{}{at} {}",
                strand.file,
                format!("{:?}", strand.kind).to_lowercase(),
                entries.join(" ")
            )
        })
        .collect();
    let started: Vec<String> = agents
        .iter()
        .map(|agent| {
            let at = agent.anchored.entry().map_or(String::new(), |ix| format!(" {}", name(&ix)));
            let how = format!("{:?}", agent.anchored);
            let how = how.split('(').next().unwrap().to_lowercase();
            let owner = agent.owner.map_or("-".to_owned(), |owner| owner.to_string());
            format!("{owner}>{} {how}{at}", agent.file)
        })
        .collect();
    let kin: Vec<String> = thread::family(session, &opened.files, &layout, &reading)
        .unwrap()
        .iter()
        .filter_map(|kin| {
            let origin = kin.origin?;
            let at = origin.at.map_or(String::new(), |ix| format!(" at {}", name(&ix)));
            Some(format!(
                "{} {} {}{at} ({} repeated)",
                kin.file,
                origin.how.name(),
                origin.file,
                kin.repeated
            ))
        })
        .collect();
    (strands.join("; "), started.join("; "), kin.join("; "))
}

/// Checks that every entry is on one strand, or set aside, or represented by another copy, and that
/// the tree and the order contain the entries on strands.
fn law(path: &Path, session: &Session, reading: &Reading) {
    let mut met = vec![0; session.entries.len()];
    let on_strands = reading.strands.iter().flat_map(|strand| strand.entries.iter().copied());
    for ix in on_strands.chain(reading.aside.iter().map(|aside| aside.ix)).chain(reading.shadowed()) {
        met[ix.index()] += 1;
    }
    assert!(met.iter().all(|count| *count == 1), "{}: {met:?}", path.display());
    assert!(reading.strands.iter().all(|strand| !strand.entries.is_empty()), "{}", path.display());
    let mut order = reading.order();
    let tree = reading.tree();
    assert_eq!(tree.entries_in_tree().count(), order.len(), "{}", path.display());
    order.sort_unstable();
    assert!(order.iter().copied().eq(tree.entries_in_tree()), "{}", path.display());
    for aside in &reading.aside {
        assert!(reading.strand_of(reading.stand_in(aside.ix)).is_some(), "{}", path.display());
    }
    // No path down the tree is a cycle, and none had to be cut.
    assert!(tree.depths().iter().all(|depth| *depth as usize <= order.len()));
    assert_eq!(tree.cycle_cuts().len(), 0, "{}", path.display());
}

#[test]
#[rustfmt::skip] // a table
fn talk_is_on_strands_and_only_what_was_taken_back_is_a_branch() {
    let check = |name: &str, wanted: &str| assert_eq!(shape(&case(name)), wanted, "{name}");
    // Parallel calls: every result exists, right after its call or where the turn continues.
    check("parallel-tools-modern",          "trunk 1 2 3 4 7 5 6 8 9 a b");
    check("parallel-tools-last-result",     "trunk 1 2 3 4 5 6 7 8 9");
    check("r3-swallows-short-continuation", "trunk 1 2 3 4 5 6 7 8 9");
    check("r5-staircase",                   "trunk 1 2 3 4 5 6 7 8 9 a b c d e f 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f 20 21 22 23 24 25 26");
    check("r5-result-with-text",            "trunk 1 2 3 4 5 6 7");
    check("r7-spurious-two-results",        "trunk 1 2 3 4 5 6");
    // Equal times by themselves do not make a replay.
    check("r6-swallows-parallel-results",   "trunk 1 2 3 4 5 6");
    check("r6-three-copies",                "trunk 1 2; branch<2 3 4; branch<2 5 6; branch<2 7 8");
    // Entries that the rungs forget are stitched in, without creating a branch.
    check("gap-system-sibling",             "trunk 1 2 5 4 3 6 7");
    check("gap-progress-third-child",       "trunk 1 2 3 5 4 6 7 8");
    check("gap-fallback-drops-branches",    "trunk 1 2; branch<2 3 4 5 7 6 8 9; branch<2 a b");
    // Hooks, progress and system notes are not branches.
    check("r7-system-sibling",              "trunk 1 2 3 4 5");
    check("rewind-structural-branch",       "trunk 1 2 3; branch<3 4 5; branch<3 6 7");
    check("r1-structural-mixed",            "trunk 1 2 3 4 5");
    check("r4-live-passthrough",            "trunk 1 2 5 6 3 4 8 7 9 a");
    // Every rewind is a branch, also past the first prompt; ids count as a whole.
    check("r7-rewind-first-prompt",         "branch 1 2; branch 3 4");
    check("r7-rewind-three",                "trunk 1 2; branch<2 3 4; branch<2 5; branch<2 6 7 8 9");
    check("r7-rewind-nested",               "trunk 1 2; branch<2 3 4; branch<2 5 6; branch<6 7 8; branch<6 9 a");
    check("r7-id-collision",                "trunk 1 2; branch<2 198c0de 5; branch<2 198c0de 6");
    check("assistant-retry",                "trunk 1; branch<1 2; branch<1 3 4");
    check("r5-foreign-result",              "trunk 1 2; branch<2 3 4 5 6 7 8 9 a b c d e f 10 11 12 13 14 15 16 17 18 19 1a 1b; branch<2 1c 1d 1e");
    // A compaction continues from the entry that it follows; kept entries stay before it.
    check("compact-after-rewind",           "trunk 1 2; branch<2 3 4; branch<2 5 6 7 8 9 a");
    check("compact-preserved",              "trunk 1 2 3 4 5 6 8 7 9 a");
    check("compact-reappended",             "trunk 1 2 5 6 3 4 7 8");
    check("root-compact-boundary",          "trunk 1 2 3 4 5 6 7 8 9 a");
    // Times are compared, and the file order decides if they are equal or wrong.
    check("time-skew",                      "trunk 1 2 3 4 5 6");
    check("time-mixed-precision",           "trunk 1 2; branch<2 3 4; branch<2 5 6");
    // The entry before replaces a lost parent; a subagent in the session's own file is a separate
    // strand.
    check("orphan-chain",                   "trunk 1 2 3 5 6");
    check("root-local-command",             "trunk 1 2 3");
    check("root-content-replacement",       "trunk 1 2");
    check("root-sidechain-orphan",          "trunk 1 2 5 6; agent<2 3 4");
    // The last copy of an id counts, as in Claude Code.
    check("same-file-duplicate",            "branch 1 2; branch 3 4 5");
    check("cycle-two",                      "trunk 1 2 4 3 5");
    check("self-loop",                      "trunk 1 2 3 4");
}

#[test]
fn what_leads_nowhere_is_set_aside_and_named() {
    let path = case("deep-side-chain");
    let opened = bough::internals::store::open(&path, bough::internals::store::Options::default()).unwrap();
    let reading = thread::read(&opened.session, &opened.files).unwrap();
    law(&path, &opened.session, &reading);
    assert_eq!(reading.strands.len(), 1);
    assert_eq!(reading.strands[0].entries.len(), 5);
    assert_eq!(reading.aside.len(), opened.session.entries.len() - 5);
    assert!(reading.aside.iter().all(|aside| aside.why == thread::Why::SideBranch && aside.by == Ix(2)));
}

/// Every entry is accounted for, whatever the store.
#[test]
fn nothing_is_dropped_from_random_stores() {
    let folder = std::env::var_os("BOUGH_STORES").map_or_else(|| corpus().join("random"), PathBuf::from);
    let mut files = Vec::new();
    for top in [corpus(), folder] {
        each_session(&top, &mut files);
    }
    assert!(files.len() > 150);
    for path in files {
        let opened = match bough::internals::store::open(&path, bough::internals::store::Options::default()) {
            Err(bough::internals::store::Error::Empty { .. }) => continue,
            opened => opened.unwrap(),
        };
        let reading = thread::read(&opened.session, &opened.files).unwrap();
        law(&path, &opened.session, &reading);
    }
}

fn each_session(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_session(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "jsonl")
            && path.file_stem().unwrap() != "journal"
        {
            files.push(path);
        }
    }
}

#[test]
#[rustfmt::skip] // a table
fn sessions_and_agents_hang_where_they_left() {
    let check = |name: &str, strands: &str, agents: &str, kin: &str| {
        assert_eq!(project_shape(&case(name)), (strands.to_owned(), agents.to_owned(), kin.to_owned()), "{name}");
    };
    // A session that continues another is attached there, whatever the documented order does with
    // the entry.
    check("root-cross-session", "0:trunk 1 2; 1:trunk<2 3 4", "", "1 continues 0 at 2 (0 repeated)");
    check("sessions-tree", "0:trunk 1 2 3 4 5 6 7; 1:trunk<7 8 9 a; 2:trunk<5 b c d", "",
        "1 continues 0 at 7 (0 repeated); 2 continues 0 at 5 (0 repeated)");
    check("session-on-branch", "0:trunk 1 2; 0:branch<2 3 4; 0:branch<2 5 6; 1:trunk<6 7 8", "",
        "1 continues 0 at 6 (0 repeated)");
    check("session-on-skipped", "0:trunk 1 2 3 4 5 6 7; 1:trunk<4 8 9", "", "1 continues 0 at 4 (0 repeated)");
    check("session-on-fallback-branch",
        "0:trunk 1 2; 0:branch<2 3 4 5 7 6 8 9; 0:branch<2 a b; 1:trunk<b c d", "", "1 continues 0 at b (0 repeated)");
    check("session-two-attachments", "0:trunk 1 2 3 4; 1:trunk<2 5 6; 1:branch<4 7 8", "",
        "1 continues 0 at 2 (0 repeated)");
    // Repeated entries belong to the oldest session.
    check("dedup-two-sessions", "0:trunk 1 2 3 4; 1:trunk<4 5 6", "", "1 continues 0 at 4 (4 repeated)");
    check("dedup-branch-copy", "0:trunk 1 2 3 4; 1:trunk<2 5 6", "", "1 forks 0 at 2 (2 repeated)");
    check("sdk-fork", "0:trunk 1 2 3 4; 1:trunk 5 6", "", "1 forks 0 at 2 (0 repeated)");
    // Subagents are attached to the entry that started them, by the best evidence.
    check("subagent", "0:trunk 1 2 3 4; 1:agent<3 5 6 7 8", "0>1 sidecar 3", "");
    check("subagent-interrupted", "0:trunk 1 2 3; 1:agent<2 4 5", "0>1 sidecar 2", "");
    check("subagent-legacy", "0:trunk 1 2 3 4; 1:agent<3 5 6", "0>1 result 3", "");
    check("subagent-nested", "0:trunk 1 2 3 4; 1:agent<3 5 6 7 8; 2:agent<7 9 a", "0>1 sidecar 3; 0>2 sidecar 7", "");
    check("subagents-parallel", "0:trunk 1 2 4 3 5 6; 1:agent<4 7 8; 2:agent<5 9 a", "0>1 sidecar 4; 0>2 sidecar 5", "");
    check("subagent-dead-end-lift", "0:trunk 1 2 3 4 5 6 7; 1:agent<5 8 9; 2:agent<4 a b", "0>1 result 5; 0>2 result 4", "");
    check("subagent-prompt-match", "0:trunk 1 2 3 4; 1:agent<2 5 6", "0>1 prompt 2", "");
    check("workflow-run", "0:trunk 1 2 3 4; 1:agent<3 5 6", "0>1 run 3", "");
    check("subagent-unreferenced", "0:trunk 1 2 4; 1:agent 5 3", "0>1 nowhere", "");
}

/// Every entry of every project is accounted for.
#[test]
fn nothing_is_dropped_from_random_projects() {
    let folder = std::env::var_os("BOUGH_STORES").map_or_else(|| corpus().join("random"), PathBuf::from);
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap().chain(std::fs::read_dir(corpus()).unwrap()) {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap() != "random" {
            let layout = project::layout(&path).unwrap();
            let opened = project::open(&layout, true).unwrap();
            let agents = thread::agents(&opened.session, &opened.files, &layout).unwrap();
            let anchor = |file: u16| {
                agents.iter().find(|agent| agent.file == file).map(|agent| agent.anchored.entry())
            };
            let reading = thread::read_with(&opened.session, &opened.files, &anchor).unwrap();
            law(&path, &opened.session, &reading);
            thread::family(&opened.session, &opened.files, &layout, &reading).unwrap();
            count += 1;
        }
    }
    assert!(count > 60);
}

/// A subagent in a session's own file is attached to the main conversation, unless that is below
/// the subagent.
#[test]
#[rustfmt::skip] // a table
fn an_agent_hangs_at_nothing_that_stands_below_it() {
    let check = |text: &str, wanted: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, drawn(text)).unwrap();
        let opened = bough::internals::store::open(&path, bough::internals::store::Options::default()).unwrap();
        let reading = thread::read(&opened.session, &opened.files).unwrap();
        law(&path, &opened.session, &reading);
        assert_eq!(shape(&path), wanted, "{text}");
    };
    //     entries in file order; those of agents are in brackets
    check("1; 2<1; [3]; 4<2",                 "trunk 1 2 4; agent<2 3");
    check("1<2; [2]; 3<1",                    "agent 2 1 3");
    // The entry before the subagent is on a branch below it.
    check("1<3; 2<3; [3]",                    "agent 3; branch<3 1; branch<3 2");
    // Two subagents, each before an entry below the other.
    check("1<4; 2<4; [3]; [4]; 5<3",          "agent<2 3 5; agent 4; branch<4 1; branch<4 2");
    check("1<5; 2<5; [3]; 4<3; [5]; 6<3; 7",  "trunk 7; agent<2 3; branch<3 4; branch<3 6; agent 5; branch<5 1; branch<5 2");
}

/// Builds a transcript of `"1; 2<1; [3<2]"`: prompts with their parents, those of subagents in
/// brackets.
fn drawn(text: &str) -> String {
    let uuid = |id: &str| format!("{:08x}-0000-4000-8000-000000000000", id.parse::<u32>().unwrap());
    let lines = text.split(';').map(str::trim).enumerate().map(|(at, item)| {
        let inside = item.trim_matches(['[', ']']);
        let (id, parent) = inside.split_once('<').map_or((inside, None), |(id, parent)| (id, Some(parent)));
        let line = json!({ "parentUuid": parent.map(uuid), "isSidechain": inside != item, "type": "user", "uuid": uuid(id),
            "message": { "role": "user", "content": format!("prompt {id}") }, "sessionId": "s",
            "timestamp": format!("2026-01-01T00:00:{at:02}.000Z") });
        format!("{line}\n")
    });
    lines.collect()
}

/// Whatever links lines have, including those of subagents in the file: every entry is accounted
/// for, and there is no cycle.
#[test]
fn random_links_give_lines_without_a_ring() {
    for seed in 0..1_500u64 {
        let bytes = tangle(seed);
        let session = bough::internals::format::Session::read(&bytes).unwrap();
        let source = bough::internals::model::Table(vec![bytes]);
        let reading = thread::read(&session, &source).unwrap();
        law(Path::new(&format!("seed {seed}")), &session, &reading);
    }
}

/// Generates a transcript with arbitrary links.
fn tangle(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D;
    let mut below = move |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let count = 2 + below(14);
    let uuid = |at: u64| format!("{at:08x}-0000-4000-8000-000000000000");
    let (forward, sides, same_time) = (below(60), below(60), below(50));
    let mut out = Vec::new();
    for at in 0..count {
        let id = if below(100) < 4 { uuid(below(count)) } else { uuid(at) };
        let parent = match below(100) {
            0..8 => None,
            8..12 => Some(uuid(99)),
            chance if chance < 12 + forward => Some(uuid(below(count))),
            _ => at.checked_sub(1 + below(3)).map(uuid),
        };
        let second = if below(100) < same_time { 1 } else { at };
        let mut line = json!({ "parentUuid": parent, "isSidechain": below(100) < sides, "type": "user", "uuid": id,
            "sessionId": "s", "timestamp": format!("2026-01-01T00:00:{second:02}.000Z") });
        let content = format!("text {}", below(3));
        match below(12) {
            0 => line["type"] = "progress".into(),
            1 => {
                line["type"] = "system".into();
                line["subtype"] = "compact_boundary".into();
                let kept = uuid(below(count));
                line["logicalParentUuid"] = uuid(below(count)).into();
                line["compactMetadata"] =
                    json!({ "preservedMessages": { "uuids": [kept], "anchorUuid": uuid(at) } });
            }
            2 => line["type"] = "attachment".into(),
            3 | 4 => {
                let call = json!([{ "type": "tool_use", "id": format!("t{}", below(4)), "name": "Task",
                    "input": { "prompt": content } }]);
                line["type"] = "assistant".into();
                line["message"] =
                    json!({ "role": "assistant", "id": format!("m{}", below(4)), "content": call });
            }
            5 | 6 => {
                let result = json!([{ "type": "tool_result", "tool_use_id": format!("t{}", below(4)), "content": content }]);
                line["message"] = json!({ "role": "user", "content": result });
            }
            7 => {
                line["type"] = "assistant".into();
                line["message"] =
                    json!({ "role": "assistant", "id": format!("m{}", below(4)), "content": content });
            }
            _ => line["message"] = json!({ "role": "user", "content": content }),
        }
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
    }
    out
}

/// Sessions of old versions contain the entries of their subagents, and only the prompt shows which
/// call started each.
#[test]
fn agents_in_a_session_hang_at_the_call_with_their_prompt() {
    let line = |id: u32, parent: Option<u32>, side: bool, ty: &str, content: Value| {
        let uuid = |id: u32| format!("{id:08x}-0000-4000-8000-000000000000");
        let message = json!({ "role": ty, "id": "m1", "content": content });
        json!({ "parentUuid": parent.map(uuid), "isSidechain": side, "type": ty, "uuid": uuid(id), "message": message,
            "sessionId": "s", "timestamp": format!("2026-01-01T00:00:{id:02}.000Z") })
        .to_string()
    };
    let call = |id: &str, prompt: &str| json!([{ "type": "tool_use", "id": id, "name": "Task", "input": { "prompt": prompt } }]);
    let lines = [
        line(1, None, false, "user", "go".into()),
        line(2, Some(1), false, "assistant", call("t1", "Look  here")),
        line(3, Some(2), false, "assistant", call("t2", "look there")),
        line(4, None, true, "user", "Look there".into()),
        line(5, None, true, "user", "look here".into()),
        line(6, Some(4), true, "assistant", "there".into()),
        line(7, None, true, "user", "something else".into()),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert_eq!(shape(&path), "trunk 1 2 3; agent<3 4 6; agent<2 5; agent<3 7");
}
