//! Tests of the files of a project.

use super::*;

fn layout(mains: &[&str], agents: &[&str]) -> Layout {
    let file = |path: &&str| Transcript { path: path.into(), bytes: 0, modified: 0 };
    Layout { files: mains.iter().chain(agents).map(file).collect(), mains: mains.len(), ..Layout::default() }
}

#[test]
#[rustfmt::skip] // a table
fn names_and_folders_tell_of_agents() {
    let check = |path: &str, agent: Option<&str>, main: Option<&str>| {
        let path = Path::new(path);
        assert_eq!(agent_of(path), agent, "{path:?}");
        assert_eq!(main_of(path), main.map(PathBuf::from), "{path:?}");
        assert_eq!(is_agents(path), path.to_str().unwrap().contains("agent-"), "{path:?}");
    };
    check("p/s.jsonl",                                None,       None);
    check("p/agent-1a.jsonl",                         Some("1a"), None);
    check("p/s/subagents/agent-1a.jsonl",             Some("1a"), Some("p/s.jsonl"));
    check("p/s/subagents/agent-1a.meta.json",         Some("1a"), Some("p/s.jsonl"));
    check("p/s/subagents/workflows/w/agent-x.y.jsonl", Some("x.y"), Some("p/s.jsonl"));
    check("p/s.t/subagents/agent-1a.jsonl",           Some("1a"), Some("p/s.t.jsonl"));
    check("subagents/agent-.jsonl",                   None,       None);
}

#[test]
fn an_agent_is_its_sessions() {
    let layout = layout(
        &["p/a.jsonl", "p/b.jsonl"],
        &[
            "p/agent-1.jsonl",
            "p/b/subagents/agent-2.jsonl",
            "p/b/subagents/workflows/w/agent-3.jsonl",
            "p/c/subagents/agent-4.jsonl",
        ],
    );
    let owners: Vec<_> = (0..6).map(|file| layout.owner(file)).collect();
    assert_eq!(owners, [Some(0), Some(1), None, Some(1), Some(1), None]);
    let names = |folder: &str| -> Vec<u16> {
        layout.agents_in(Path::new(folder)).map(|(number, _)| number).collect()
    };
    assert_eq!(names("p"), [2]);
    assert_eq!(names("p/b/subagents"), [3]);
    assert_eq!(layout.find(Path::new("p/b/subagents/agent-2.jsonl")), Some(3));
    assert_eq!(layout.find(Path::new("p/d.jsonl")), None);
}
