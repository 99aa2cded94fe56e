//! Generates `docs/schema` from the types of the rows. `BOUGH_BLESS=1 cargo test generated` writes it.

use crate::cmd;
use crate::model::Kind;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What holds for all rows.
const PROMISE: &str = "Fields may be added, none is renamed; a field is absent rather than null where a format has no such thing.";

impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "Kind".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Kind::ALL.map(Kind::name);
        schemars::json_schema!({
            "enum": names, "description": "The kind of the entry, in the words that all formats share",
        })
    }
}

/// Returns the schema of each row. A command may have several rows under one name: their fields are in
/// one schema.
fn rows() -> Vec<Value> {
    vec![
        row::<cmd::archive::ArchiveRow>(),
        row::<cmd::sessions::ArchivedRow>(),
        row::<cmd::archive::BlobRow>(),
        row::<cmd::archive::StoredRow>(),
        row::<cmd::restore::RestoreRow>(),
        row::<cmd::branches::BranchRow>(),
        row::<cmd::branches::LineRow>(),
        row::<cmd::branches::PointRow>(),
        row::<cmd::cherry_pick::CopyRow>(),
        row::<cmd::context::ContextRow>(),
        row::<cmd::context::MessageRow>(),
        row::<cmd::context::DroppedRow>(),
        row::<cmd::convert::ConvertRow>(),
        row::<cmd::diff::DiffRow>(),
        row::<cmd::diff::DiffStatRow>(),
        row::<cmd::export::redaction::RedactionRow>(),
        row::<cmd::fsck::repair::AsideRow>(),
        row::<cmd::fsck::report::CheckRow>(),
        row::<cmd::fsck::report::FindingRow>(),
        row::<cmd::fsck::report::FsckRow>(),
        row::<cmd::grep::CountRow>(),
        row::<cmd::label::LabelRow>(),
        row::<cmd::log::prompts::PromptRow>(),
        row::<cmd::migrate::MigrateRow>(),
        row::<cmd::op::OpRow>(),
        row::<cmd::op::OpStatRow>(),
        row::<cmd::relocate::MoveRow>(),
        row::<cmd::rev_parse::RevisionRow>(),
        row::<cmd::sessions::SessionRow>(),
        row::<cmd::sessions::TreeRow>(),
        row::<cmd::sessions::lost::LostRow>(),
        row::<cmd::shared::config::SettingRow>(),
        row::<cmd::shared::entry_json::EntryRow>(),
        row::<cmd::grep::QueuedRow>(),
        row::<cmd::shared::exit::ErrorRow>(),
        row::<cmd::shared::write::ChangeRow>(),
        row::<cmd::shared::write_json::WriteRow>(),
        row::<cmd::undo::UndoRow>(),
        row::<cmd::slim::SlimRow>(),
        row::<cmd::stats::SessionSum>(),
        row::<cmd::stats::TotalSum>(),
        row::<cmd::stats::GroupSum>(),
        row::<cmd::stats::ModelGroup>(),
        row::<cmd::stats::ToolGroup>(),
        row::<cmd::status::StatusRow>(),
    ]
}

fn row<R: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.inline_subschemas = true);
    plain(settings.into_generator().into_root_schema_for::<R>().as_value())
}

/// Returns a schema with only the words that say more to a reader than to a checker: types, fields, and
/// their descriptions.
fn plain(schema: &Value) -> Value {
    let Some(from) = schema.as_object() else { return schema.clone() };
    let mut plain_schema = Map::new();
    for (word, said) in from {
        let said = match word.as_str() {
            "title" | "type" | "const" | "enum" | "required" => said.clone(),
            "description" => description(said.as_str().expect("a description is a text")).into(),
            "items" | "additionalProperties" => plain(said),
            "properties" => {
                let fields = said.as_object().expect("fields are an object").iter();
                Value::Object(fields.map(|(name, field)| (name.clone(), plain(field))).collect())
            }
            // The forms that a value may have.
            "oneOf" | "anyOf" => {
                let forms = said.as_array().expect("forms are a list").iter();
                let forms = forms.filter(|form| form["type"] != "null").map(plain).reduce(merge);
                let Some(Value::Object(mut form)) = forms else { panic!("{said} has no form") };
                // The tag of an enum is not a field that could have a comment.
                if let Some(Value::Object(tag)) =
                    form.get_mut("properties").and_then(|fields| fields.get_mut("type"))
                {
                    tag.entry("description").or_insert("What it is".into());
                }
                for (word, said) in form {
                    plain_schema.entry(word).or_insert(said);
                }
                continue;
            }
            "$schema" | "format" | "minimum" | "maximum" | "minItems" | "maxItems" | "uniqueItems"
            | "default" => continue,
            other => panic!("`{other}` is not known here"),
        };
        plain_schema.insert(word.clone(), said);
    }
    if plain_schema.contains_key("const") || plain_schema.contains_key("enum") {
        plain_schema.remove("type");
    }
    let required: Vec<Value> =
        plain_schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(Value::Object(fields)) = plain_schema.get_mut("properties") {
        // A field that may be absent is never null.
        for (_, field) in
            fields.iter_mut().filter(|(name, _)| !required.contains(&Value::from(name.as_str())))
        {
            without_null(field);
        }
    }
    in_order(plain_schema)
}

/// Returns a doc comment as a description: on one line, and without a full stop at its end.
fn description(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.strip_suffix('.').unwrap_or(&text).to_owned()
}

fn without_null(field: &mut Value) {
    if let Some(Value::Array(types)) = field.get_mut("type") {
        types.retain(|ty| ty != "null");
        if let [only] = &types[..] {
            field["type"] = only.clone();
        }
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// Returns the schema of values that fit one of two schemas, as far as one object can say it.
fn merge(a: Value, b: Value) -> Value {
    let (Value::Object(mut a), Value::Object(b)) = (a, b) else { panic!("both are objects") };
    let values = |schema: &Map<String, Value>| match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Some(vec![only.clone()]),
        (_, Some(values)) => values.as_array().cloned(),
        _ => None,
    };
    let both = values(&a).zip(values(&b));
    if let Some((mut all, more)) = both {
        let more: Vec<Value> = more.into_iter().filter(|value| !all.contains(value)).collect();
        all.extend(more);
        a.remove("const");
        a.remove("enum");
        match &all[..] {
            [only] => a.insert("const".into(), only.clone()),
            _ => a.insert("enum".into(), all.into()),
        };
    } else {
        a.remove("const");
        a.remove("enum");
    }
    for (word, said) in b {
        let merged = match (word.as_str(), a.remove(&word)) {
            ("const" | "enum", before) => {
                a.extend(before.map(|before| (word, before)));
                continue;
            }
            (_, None) if word == "required" => continue,
            (_, None) => said,
            (_, Some(before)) if before == said => before,
            ("description" | "title", Some(before)) => before,
            ("properties", Some(Value::Object(mut fields))) => {
                for (name, field) in said.as_object().expect("fields are an object").clone() {
                    let field = match fields.get(&name) {
                        Some(before) => merge(before.clone(), field),
                        None => field,
                    };
                    fields.insert(name, field);
                }
                fields.into()
            }
            ("required", Some(Value::Array(mut names))) => {
                let others = said.as_array().expect("`required` is a list");
                names.retain(|name| others.contains(name));
                names.into()
            }
            ("items" | "additionalProperties", Some(before)) => merge(before, said),
            ("type", Some(before)) => both_types(before, said),
            (_, Some(before)) => panic!("{word}: {before} and {said}"),
        };
        a.insert(word, merged);
    }
    in_order(a)
}

fn both_types(a: Value, b: Value) -> Value {
    let listed = |types: Value| match types {
        Value::Array(types) => types,
        only => vec![only],
    };
    let (mut all, more) = (listed(a), listed(b));
    all.extend(more);
    all.dedup();
    all.into()
}

fn in_order(mut schema: Map<String, Value>) -> Value {
    const WORDS: [&str; 10] = [
        "$schema",
        "title",
        "type",
        "const",
        "enum",
        "description",
        "items",
        "properties",
        "additionalProperties",
        "required",
    ];
    Value::Object(WORDS.into_iter().filter_map(|word| schema.remove_entry(word)).collect())
}

/// Returns the files of `docs/schema`: a name and a schema for each.
fn pages() -> BTreeMap<String, Value> {
    let mut pages: BTreeMap<String, Value> = BTreeMap::new();
    for row in rows() {
        let named = row["title"].as_str().expect("a row has a name").to_owned();
        let row = match pages.remove(&named) {
            Some(other) => merge(other, row),
            None => row,
        };
        pages.insert(named, row);
    }
    let page = |(named, mut row): (String, Value)| {
        let about = row["description"].as_str().unwrap_or_else(|| panic!("{named} has no description"));
        let about = match named.as_str() {
            "error" => format!("{about}."),
            _ => format!("{about}. {PROMISE}"),
        };
        if named.starts_with("bough.") {
            set_name(&mut row, &named);
        }
        row["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        row["description"] = about.into();
        let Value::Object(row) = row else { panic!("a row is an object") };
        let file = named.trim_start_matches("bough.").replace('/', ".");
        (format!("{file}.json"), in_order(row))
    };
    pages.into_iter().map(page).collect()
}

/// Adds the first field of a row: the name by which the row is known.
fn set_name(row: &mut Value, named: &str) {
    let fields = row["properties"].as_object().expect("a row has fields").iter();
    let fields =
        fields.filter(|(name, _)| *name != "schema").map(|(name, field)| (name.clone(), field.clone()));
    let first = ("schema".to_owned(), json!({ "const": named }));
    row["properties"] = Value::Object(std::iter::once(first).chain(fields).collect());
    let required = row.get("required").and_then(Value::as_array).into_iter().flatten();
    let required = required.filter(|name| *name != "schema").cloned();
    row["required"] = Value::Array(std::iter::once("schema".into()).chain(required).collect());
}

#[test]
fn generated_schemas_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    let there = fs::read_dir(&folder).unwrap();
    let there: BTreeSet<String> =
        there.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let pages = pages();
    let is_blessing = std::env::var_os("BOUGH_BLESS").is_some();
    let mut stale: Vec<&String> = there.iter().filter(|name| !pages.contains_key(*name)).collect();
    for (name, page) in &pages {
        let text = format!("{}\n", serde_json::to_string_pretty(page).unwrap());
        let is_fresh = fs::read_to_string(folder.join(name)).is_ok_and(|there| there == text);
        match is_blessing {
            true if !is_fresh => fs::write(folder.join(name), text).unwrap(),
            false if !is_fresh => stale.push(name),
            _ => {}
        }
    }
    if is_blessing {
        stale.drain(..).for_each(|name| fs::remove_file(folder.join(name)).unwrap());
    }
    assert!(stale.is_empty(), "stale: {stale:?}; `BOUGH_BLESS=1 cargo test generated` writes them");
}

/// A schema that says less than its row would let anything through.
#[test]
fn fields_of_schemas_have_descriptions() {
    fn bare(schema: &Value, path: &str, out: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if name != "schema" && field["description"].as_str().is_none_or(str::is_empty) {
                out.push(path.clone());
            }
            bare(field, &path, out);
        }
        for below in ["items", "additionalProperties"].iter().filter_map(|word| schema.get(word)) {
            bare(below, path, out);
        }
    }
    let mut out = Vec::new();
    for (name, page) in pages() {
        bare(&page, &name, &mut out);
    }
    assert!(out.is_empty(), "no description: {out:?}");
}

#[test]
fn forms_of_a_row_share_one_schema() {
    let one = json!({ "type": "object", "properties": {
        "op": { "const": "a" }, "x": { "type": "integer" } }, "required": ["op", "x"] });
    let other = json!({ "type": "object", "properties": {
        "op": { "const": "b" }, "y": { "type": "string" } }, "required": ["op", "y"] });
    let both = json!({ "type": "object", "properties": {
        "op": { "enum": ["a", "b"] }, "x": { "type": "integer" }, "y": { "type": "string" } },
        "required": ["op"] });
    assert_eq!(merge(one, other), both);
}
