//! Holds what `--json` prints to the schemas in `docs/schema`.

use crate::cases::{copy, project};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

/// Commands, and the schemas of the lines that they print; `S` stands for a session with branches and labels, `D` for a
/// damaged one.
const RUNS: &[(&str, &[&str])] = &[
    ("status S", &["bough.status/1"]),
    ("log S", &["bough.entry/1"]),
    ("log --all --filter all S", &["bough.entry/1"]),
    ("show S HEAD root", &["bough.entry/1"]),
    ("branches S", &["bough.branch/1"]),
    ("fsck S", &["bough.fsck/1"]),
    ("fsck D", &["bough.finding/1", "bough.fsck/1"]),
    ("fsck -n --repair D", &["bough.change/1", "bough.fsck/1"]),
    ("stats S", &["bough.stats/1"]),
    ("cherry-pick -n root -s S", &["bough.change/1"]),
    ("rev-parse S all", &["bough.revision/1"]),
    ("diff root HEAD -s S", &["bough.diff/1"]),
    ("diff root HEAD -s S --stat", &["bough.diff/1"]),
    ("diff root HEAD -s S --context", &["bough.diff/1"]),
    ("migrate --check ./S", &["bough.migrate/1"]),
    ("context S", &["bough.message/1"]),
    ("context --dropped S", &["bough.message/1"]),
    ("context --stat S", &["bough.context/1"]),
    ("grep . S", &["bough.entry/1"]),
    ("grep -c . S", &["bough.count/1"]),
    ("grep -l . S", &["bough.count/1"]),
    ("sessions ./S", &["bough.session/1"]),
    ("stats S", &["bough.stats/1"]),
    ("stats --by branch S", &["bough.stats/1"]),
    ("stats --by day S", &["bough.stats/1"]),
    ("stats --by model S", &["bough.stats/1"]),
    ("label S", &["bough.label/1"]),
    ("switch -n root -s S", &["bough.change/1"]),
    ("label -n here root -s S", &["bough.change/1"]),
    ("config list", &["bough.setting/1"]),
    ("label there root -s S; op log", &["bough.op/1"]),
    ("cherry-pick root -s S", &["bough.copy/1"]),
];

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
    copy(&project().join("tests/cli/sessions/pi/pi16-labels.jsonl"), &folder.path().join("S"));
    copy(&project().join("examples/broken.jsonl"), &folder.path().join("D"));
    let run = |words: &str| {
        Command::new(env!("CARGO_BIN_EXE_bough"))
            .args(["--json", "--input-format", "pi"])
            .args(words.split_whitespace().map(|word| match word {
                "S" => "./S",
                "D" => "./D",
                word => word,
            }))
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .env_remove("BOUGH_SESSION")
            .output()
            .unwrap()
    };
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
                assert!(wrong.is_empty(), "{words}: {}\n{line}", wrong.join("; "));
                seen.insert(name);
            }
        }
        assert_eq!(seen, wanted.iter().map(|name| (*name).to_owned()).collect(), "{commands}");
    }
    let failed = run("status nowhere.jsonl");
    let error: Value = serde_json::from_slice(&failed.stderr).unwrap();
    assert!(wrong(&schemas["error"], &error).is_empty(), "{error}");
}

/// What of a value does not fit its schema. Knows the words that `docs/schema` uses: `type`, `enum`, `const`, `required`,
/// `properties`, `additionalProperties`, `items`; another one is an error, so that none is passed over.
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
