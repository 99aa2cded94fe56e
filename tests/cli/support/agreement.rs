//! Whether all commands read a session in the same way.

use super::sandbox;
use bough::internals::fsck::Check;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// The output of the commands for a session; `None` for one that is not read.
#[derive(PartialEq, Debug)]
struct Said {
    status: Option<Value>,
    findings: Vec<Value>,
    total: Option<Value>,
}

/// The source of the bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    File,
    Pipe,
    Stdin,
}

/// Runs a command on `session.jsonl` in a folder.
fn run(folder: &Path, way: Way, words: &[&str]) -> Output {
    let path = folder.join("session.jsonl");
    let mut command = sandbox::bough(folder);
    command.args(words);
    match way {
        Way::File => command.arg("session.jsonl").output().unwrap(),
        Way::Stdin => command.arg("-").stdin(fs::File::open(path).unwrap()).output().unwrap(),
        Way::Pipe => {
            let mut child =
                std::process::Command::new("cat").arg(path).stdout(Stdio::piped()).spawn().unwrap();
            let output = command.arg("/dev/stdin").stdin(child.stdout.take().unwrap()).output().unwrap();
            child.wait().unwrap();
            output
        }
    }
}

fn values(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// Returns whether a finding depends on the name of the file, and not on its bytes.
fn depends_on_the_name(finding: &Value) -> bool {
    ["session-id-mismatch"].contains(&finding["check"].as_str().unwrap())
}

fn said(folder: &Path, way: Way) -> Said {
    let mut status = values(&run(folder, way, &["status", "--json"])).pop();
    let mut findings = values(&run(folder, way, &["fsck", "--json"]));
    let mut total = findings.pop();
    findings.retain(|finding| !depends_on_the_name(finding));
    for object in status.iter_mut().chain(&mut findings).chain(&mut total) {
        for key in ["file", "resume", "alive", "errors", "warnings", "infos", "reachable_after"] {
            object.as_object_mut().unwrap().remove(key);
        }
    }
    Said { status, findings, total }
}

/// Fails unless all commands agree on a session; `ways` says whether it is passed in all ways.
pub fn check_agreement(name: &str, bytes: &[u8], ways: bool) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("session.jsonl"), bytes).unwrap();
    let of_file = said(folder.path(), Way::File);
    for way in [Way::Pipe, Way::Stdin].into_iter().filter(|_| ways) {
        assert_eq!(said(folder.path(), way), of_file, "{name}: {way:?}");
    }
    let log = run(folder.path(), Way::File, &["log", "--json"]);
    let all = run(folder.path(), Way::File, &["log", "--json", "--all", "--dag"]);
    let context = run(folder.path(), Way::File, &["context", "--json"]);
    let Some(status) = &of_file.status else {
        // A session that is not read is read by none of them; `fsck` may report more, because it
        // also examines damaged lines.
        for output in [&log, &all, &context] {
            assert!(!output.status.success(), "{name}");
        }
        return;
    };
    let total =
        of_file.total.as_ref().unwrap_or_else(|| panic!("{name}: fsck does not read it, and status does"));
    assert_eq!(status["reachable"], total["reachable"], "{name}: the path");
    let mut faults: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in &of_file.findings {
        let check = Check::from_id(finding["check"].as_str().unwrap()).unwrap();
        if check.is_fault() {
            *faults.entry(check.id()).or_default() += 1;
        }
    }
    let names: BTreeMap<&str, u64> = status["faults"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, count)| (name.as_str(), count.as_u64().unwrap()))
        .collect();
    assert_eq!(names, faults, "{name}: the names of faults");
    assert!(total["entries"].as_u64() >= status["entries"].as_u64(), "{name}: {total} {status}");
    let of_lines = ["garbage-line", "torn-line", "glued-lines", "spliced-line", "split-record", "nul-bytes"];
    if !of_lines.iter().any(|check| faults.contains_key(check)) {
        assert_eq!(total["entries"], status["entries"], "{name}: entries");
    }
    if log.status.success() {
        let rows = values(&all);
        let heads: Vec<&Value> = rows.iter().filter(|row| row["head"] == true).collect();
        assert!(heads.len() <= 1, "{name}");
        if let Some(head) = heads.first() {
            let is_head = |key: &str| head[key] == status["head"];
            assert!(
                is_head("id") || status["head"].as_str().is_some_and(|head| head.starts_with("line:")),
                "{name}: {head}"
            );
        } else {
            assert!(status["head"].is_null() || rows.is_empty(), "{name}: {status}");
        }
        // Copies of an entry have rows of their own.
        let ids: HashSet<String> =
            rows.iter().map(|row| row.get("id").unwrap_or(&row["line"]).to_string()).collect();
        assert_eq!(Some(ids.len() as u64), status["entries"].as_u64(), "{name}: rows of `log --all`");
        let shown: HashSet<String> = rows.iter().map(|row| row["line"].to_string()).collect();
        for message in values(&context).iter().filter(|message| message["origin"] == "message") {
            assert!(shown.contains(&message["line"].to_string()), "{name}: {message}");
        }
    }
}

/// Runs a check on each file, and fails with the messages of all failures.
pub fn each(paths: &[PathBuf], check: impl Fn(usize, &str, &[u8]) + std::panic::RefUnwindSafe) {
    let failed = paths.iter().enumerate().filter(|(at, path)| {
        let (name, bytes) = (path.display().to_string(), fs::read(path).unwrap());
        std::panic::catch_unwind(|| check(*at, &name, &bytes)).is_err()
    });
    let failed: Vec<String> = failed.map(|(_, path)| path.display().to_string()).collect();
    assert!(failed.is_empty(), "{} of {} files:\n{}", failed.len(), paths.len(), failed.join("\n"));
}
