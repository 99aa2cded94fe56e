//! Checks the output of `--json` against the schemas in `docs/schema`.

use crate::support::files::{copy, copy_below, project};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Commands, and the schemas of the lines that they print; `S` is a session with branches and
/// labels, `D` a damaged one, `B` one of Claude Code with bad lines, `P` one with tool calls, `O`
/// an old one, `C` a folder of Claude Code with subagents, `T` one with stored results, `Q` one
/// with prompts that are only in the input queue.
const RUNS: &[(&str, &[&str])] = &[
    ("status S", &["bough.status/1"]),
    ("log S", &["bough.entry/1"]),
    ("log --all --filter all S", &["bough.entry/1"]),
    ("log --prompts S", &["bough.prompt/1"]),
    ("log --prompts Q/s.jsonl", &["bough.prompt/1"]),
    ("merge-base S root HEAD", &["bough.revision/1"]),
    ("log --full --stat P", &["bough.entry/1"]),
    ("log --agents C", &["bough.entry/1"]),
    ("log --order document C", &["bough.entry/1"]),
    ("log --skipped B", &["bough.entry/1"]),
    ("branches --order document C", &["bough.line/1"]),
    ("show P all", &["bough.entry/1"]),
    ("branches -v --all P", &["bough.branch/1"]),
    ("branches --points P", &["bough.point/1"]),
    ("fsck --list-checks", &["bough.check/2"]),
    ("fsck --explain crlf", &["bough.check/2"]),
    ("fsck .", &["bough.finding/1", "bough.fsck/2"]),
    ("stats P", &["bough.stats/1"]),
    ("stats --by tool P", &["bough.stats/1"]),
    ("stats .", &["bough.stats/1"]),
    ("sessions .", &["bough.session/1"]),
    ("sessions --quick .", &["bough.session/1"]),
    ("sessions --tree --agents C", &["bough.session/1"]),
    ("context P", &["bough.message/1"]),
    ("grep -C 1 the P", &["bough.entry/1"]),
    ("diff --all root HEAD -s P", &["bough.diff/1"]),
    ("diff --name-only root HEAD -s P", &["bough.diff/1"]),
    ("diff --from P --to S", &["bough.diff/1"]),
    ("merge -n generator -s P", &["bough.change/1"]),
    ("merge --force generator -s P", &["bough.copy/1", "bough.write/1"]),
    ("convert P --to claude -o NEW --force", &["bough.convert/1"]),
    ("migrate --check O", &["bough.migrate/1"]),
    ("migrate -n O", &["bough.change/1", "bough.migrate/1"]),
    ("migrate O", &["bough.migrate/1"]),
    ("export-branch -n -s P", &["bough.change/1"]),
    ("archive -o archive", &["bough.archive/1"]),
    ("move -n -s P --to /moved", &["bough.change/1"]),
    ("move --force -s P --to /moved", &["bough.move/1"]),
    ("show S HEAD root", &["bough.entry/1"]),
    ("show T/5e550000-0000-4000-8000-0000000000b1.jsonl root..HEAD", &["bough.entry/1"]),
    ("grep NARWHAL T", &["bough.entry/1"]),
    ("grep PELICAN Q", &["bough.entry/1"]),
    ("branches S", &["bough.branch/1"]),
    ("fsck S", &["bough.fsck/2"]),
    ("fsck D", &["bough.finding/1", "bough.fsck/2"]),
    ("fsck -n --repair D", &["bough.change/1", "bough.fsck/2"]),
    ("stats S", &["bough.stats/1"]),
    ("cherry-pick -n root -s S", &["bough.change/1"]),
    ("rev-parse S all", &["bough.revision/1"]),
    ("diff root HEAD -s S", &["bough.diff/1"]),
    ("diff root HEAD -s S --stat", &["bough.diff/1"]),
    ("diff root HEAD -s S --context", &["bough.diff/1"]),
    ("migrate --check S", &["bough.migrate/1"]),
    ("context S", &["bough.message/1"]),
    ("context --dropped S", &["bough.message/1"]),
    ("context --stat S", &["bough.context/1"]),
    ("grep . S", &["bough.entry/1"]),
    ("grep -c . S", &["bough.count/1"]),
    ("grep -l . S", &["bough.count/1"]),
    ("sessions S", &["bough.session/1"]),
    ("stats S", &["bough.stats/1"]),
    ("stats --by branch S", &["bough.stats/1"]),
    ("stats --by day S", &["bough.stats/1"]),
    ("stats --by model S", &["bough.stats/1"]),
    ("stats --by week,file P", &["bough.stats/1"]),
    ("stats --by project,month .", &["bough.stats/1"]),
    ("stats --by session,type .", &["bough.stats/1"]),
    ("label S", &["bough.label/1"]),
    ("switch -n root -s S", &["bough.change/1"]),
    ("label -n here root -s S", &["bough.change/1"]),
    ("config list", &["bough.setting/1"]),
    ("label there root -s S", &["bough.write/1"]),
    ("op log", &["bough.op/1"]),
    ("cherry-pick root -s S", &["bough.copy/1", "bough.write/1"]),
    ("undo --dry-run -s S", &["bough.change/1"]),
    ("undo -s S", &["bough.write/1"]),
    ("redo -s S", &["bough.write/1"]),
    ("op log", &["bough.op/1"]),
    ("op log --stat", &["bough.opstat/1"]),
    ("switch --rewind turn:1 -s S", &["bough.write/1"]),
    ("append --kind message --text go -s S", &["bough.write/1"]),
    ("drop -n --others -s S", &["bough.change/1"]),
    ("slim --report S", &["bough.slim/1"]),
    ("sessions --lost --all", &["bough.lost/1"]),
    ("append -n --kind message --text go -s S", &["bough.change/1"]),
    ("op log", &["bough.op/1"]),
    ("fsck --repair --force D", &["bough.aside/1", "bough.change/1", "bough.fsck/2"]),
];

/// A session of version 1 of pi, and a project of Claude Code with subagents.
const OLD: &str = "pi/v1-hand-branchedfrom.jsonl";
const WITH_AGENTS: &str = "claude-code/subagent";

#[test]
fn every_schema_of_the_program_has_a_page() {
    let named = regex::Regex::new("\"bough\\.([a-z]+)/([0-9])\"").unwrap();
    let mut folders = vec![project().join("src")];
    let mut seen = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(path).unwrap();
                seen.extend(
                    named.captures_iter(&text).map(|found| format!("{}.{}.json", &found[1], &found[2])),
                );
            }
        }
    }
    // The lines of the operation log are not output.
    seen.remove("op.2.json");
    let pages = fs::read_dir(project().join("docs/schema")).unwrap();
    let pages: BTreeSet<String> =
        pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(seen, pages.into_iter().filter(|page| page != "error.json").collect());
}

#[test]
fn json_output_fits_its_schema() {
    let mut schemas = BTreeMap::new();
    for entry in fs::read_dir(project().join("docs/schema")).unwrap() {
        let schema: Value =
            serde_json::from_str(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        let title = schema["title"].as_str().unwrap().to_owned();
        schemas.insert(title, schema);
    }
    let folder = tempfile::tempdir().unwrap();
    let sessions = project().join("tests/cli/sessions");
    for (name, file) in [
        ("S.jsonl", sessions.join("pi/pi16-labels.jsonl")),
        ("D.jsonl", project().join("examples/sessions/broken.jsonl")),
        ("P.jsonl", project().join("examples/sessions/parser.jsonl")),
        ("O.jsonl", sessions.join(OLD)),
        ("B.jsonl", sessions.join("claude-code/bad-lines.jsonl")),
    ] {
        copy(&file, &folder.path().join(name));
    }
    copy_below(&sessions.join(WITH_AGENTS), &folder.path().join("C"));
    let history = folder.path().join(".claude/history.jsonl");
    fs::create_dir_all(history.parent().unwrap()).unwrap();
    fs::write(history, "{\"display\":\"x\",\"timestamp\":5,\"project\":\"/w\",\"sessionId\":\"gone\"}\n")
        .unwrap();
    copy_below(&sessions.join("../cases/grep/queued.in"), &folder.path().join("Q"));
    copy_below(&sessions.join("../cases/grep/stored.in"), &folder.path().join("T"));
    let run = |words: &str| {
        crate::support::sandbox::bough(folder.path())
            .arg("--json")
            .args(words.split_whitespace().map(|word| match word {
                "S" | "D" | "P" | "O" | "B" => format!("./{word}.jsonl"),
                "C" => "./C".to_owned(),
                word => word.to_owned(),
            }))
            .output()
            .unwrap()
    };
    let mut failed = Vec::new();
    for (commands, wanted) in RUNS {
        let mut seen = BTreeSet::new();
        for words in commands.split("; ") {
            seen.clear();
            let output = run(words);
            for line in String::from_utf8(output.stdout).unwrap().lines() {
                let object: Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{words}: {error}: {line}"));
                let name = object["schema"]
                    .as_str()
                    .unwrap_or_else(|| panic!("{words}: no schema: {line}"))
                    .to_owned();
                let schema = schemas
                    .get(&name)
                    .unwrap_or_else(|| panic!("{words}: `{name}` has no page in docs/schema"));
                let wrong = wrong(schema, &object);
                if !wrong.is_empty() {
                    failed.push(format!("{words}: {}\n{line}", wrong.join("; ")));
                }
                seen.insert(name);
            }
        }
        let wanted: BTreeSet<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        if seen != wanted {
            failed.push(format!("{commands}: {seen:?}, not {wanted:?}"));
        }
    }
    for words in [
        "status nowhere.jsonl",
        "log --grahp P",
        "show P turn:99",
        "label -s P here nowhere",
        "fsck --only nothing P",
    ] {
        let output = run(words);
        assert!(output.stdout.is_empty(), "{words}");
        let error: Value = serde_json::from_slice(&output.stderr).unwrap();
        let wrong = wrong(&schemas["error"], &error);
        if !wrong.is_empty() {
            failed.push(format!("{words}: {}: {error}", wrong.join("; ")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Values that no agent writes are left out, or shown in the form that the schema allows.
#[test]
fn json_output_of_odd_sessions_fits_its_schema() {
    let schemas: BTreeMap<String, Value> = fs::read_dir(project().join("docs/schema"))
        .unwrap()
        .map(|entry| serde_json::from_str(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap())
        .map(|schema: Value| (schema["title"].as_str().unwrap().to_owned(), schema))
        .collect();
    const ODD: [&str; 12] = [
        "null",
        "{}",
        "[]",
        "true",
        "-1",
        "1e999",
        "1.5",
        "\"\"",
        "\"null\"",
        "\"NaN\"",
        "{\"a\":null}",
        "[null]",
    ];
    const FIELDS: [&str; 14] = [
        "\"2026-01-05T10:00:00.000Z\"",
        "3",
        "\"a0000001\"",
        "null",
        "\"user\"",
        "\"message\"",
        "\"x\"",
        "0.5",
        "7",
        "\"m\"",
        "\"stop\"",
        "\"/w\"",
        "\"s\"",
        "\"keep\"",
    ];
    let lines = concat!(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-05T10:00:00.000Z\",\"cwd\":\"/w\"}\n",
        "{\"type\":\"message\",\"id\":\"a0000001\",\"parentId\":null,\"timestamp\":\"2026-01-05T10:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
        "{\"type\":\"message\",\"id\":\"a0000002\",\"parentId\":\"a0000001\",\"timestamp\":\"2026-01-05T10:00:00.000Z\",\"message\":{\"role\":\"assistant\",\"model\":\"m\",\"stopReason\":\"stop\",\"usage\":{\"input\":7,\"output\":7,\"totalTokens\":7,\"cost\":{\"total\":0.5}},\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}\n",
        "{\"type\":\"label\",\"id\":\"a0000003\",\"parentId\":\"a0000002\",\"timestamp\":\"2026-01-05T10:00:00.000Z\",\"targetId\":\"a0000001\",\"label\":\"keep\"}\n",
    );
    let folder = tempfile::tempdir().unwrap();
    let mut failed = Vec::new();
    let mut seen = 0;
    for field in FIELDS {
        for odd in ODD {
            fs::write(folder.path().join("s.jsonl"), lines.replace(&format!(":{field}"), &format!(":{odd}")))
                .unwrap();
            for command in [
                "log --all",
                "show all",
                "stats",
                "stats --by branch",
                "status",
                "migrate --check",
                "branches --all",
                "context",
                "label",
                "diff --stat root HEAD",
                "grep x",
                "fsck --verbose",
                "rev-parse all",
            ] {
                let mut words: Vec<&str> = command.split(' ').collect();
                if words[0] == "grep" {
                    words.push("s.jsonl")
                } else {
                    words.extend(["-s", "s.jsonl"])
                }
                if words[0] == "migrate" {
                    words = vec!["migrate", "--check", "s.jsonl"]
                }
                words.extend(["--input-format", "pi", "--json"]);
                let output = crate::support::sandbox::bough(folder.path()).args(&words).output().unwrap();
                for line in String::from_utf8(output.stdout).unwrap().lines() {
                    let object: Value = serde_json::from_str(line).unwrap();
                    let wrong = wrong(&schemas[object["schema"].as_str().unwrap()], &object);
                    if !wrong.is_empty() {
                        failed.push(format!("{command}, {field} as {odd}: {}", wrong.join("; ")));
                    }
                    seen += 1;
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(seen > 2000, "{seen}");
}

/// Returns the parts of a value that do not fit its schema. Supports the keywords that
/// `docs/schema` uses: `type`, `enum`, `const`, `required`, `properties`, `additionalProperties`,
/// `items`; another one is an error, so that none is ignored.
fn wrong(schema: &Value, value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let is = |wanted: &str| match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => panic!("docs/schema: the type `{other}` is not known here"),
    };
    for (word, said) in schema.as_object().expect("a schema is an object") {
        match word.as_str() {
            "$schema" | "title" | "description" => {}
            "type" => {
                let types = said.as_array().cloned().unwrap_or_else(|| vec![said.clone()]);
                if !types.iter().any(|ty| is(ty.as_str().unwrap())) {
                    out.push(format!("{value} is not of type {said}"));
                }
            }
            "enum" if said.as_array().unwrap().contains(value) => {}
            "const" if said == value => {}
            "enum" | "const" => out.push(format!("{value} is not {said}")),
            "required" => {
                let missing =
                    said.as_array().unwrap().iter().filter(|key| value.get(key.as_str().unwrap()).is_none());
                out.extend(missing.map(|key| format!("{key} is missing")));
            }
            "properties" => {
                for (key, schema) in said.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        out.extend(wrong(schema, value).into_iter().map(|words| format!("{key}: {words}")));
                    }
                }
                // The schemas list every field that is printed, and its meaning.
                let known = said.as_object().unwrap();
                let unknown =
                    value.as_object().into_iter().flatten().filter(|(key, _)| !known.contains_key(*key));
                out.extend(unknown.map(|(key, _)| format!("{key} is not in the schema")));
            }
            "additionalProperties" => {
                let values = value.as_object().into_iter().flat_map(|object| object.values());
                out.extend(values.flat_map(|value| wrong(said, value)));
            }
            "items" => {
                out.extend(value.as_array().into_iter().flatten().flat_map(|value| wrong(said, value)))
            }
            other => panic!("docs/schema: the word `{other}` is not known here"),
        }
    }
    out
}
