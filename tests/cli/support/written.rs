//! What bough writes, and how it reads it, beside the recorded answers of the agents.

use super::claude_request::{answer, fits};
use super::messages::{roles_and_texts, sha256};
use super::recording::{self, Messages, runs};
use super::{files, need};
use bough::internals::context::Context;
use bough::internals::format::{Format, Ids};
use bough::internals::model::{Piece, Target, parse_time};
use bough::internals::ops::append::{self, Payload};
use bough::internals::ops::{self, Snapshot, export, label, migrate, revision, switch};
use bough::internals::store::{self, Opened, Options};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// The clock, the source of ids, and the names of sessions, which `tests/oracles/programs.py` uses,
/// too.
const NOW: &str = "2027-01-15T12:00:00Z";
const SEED: &str = "peers";
const NEW_SESSION: &str = "11111111-1111-4111-8111-111111111111";
const COPY: &str = "22222222-2222-4222-8222-222222222222";

/// One question with its answer.
struct Row<'t> {
    verb: &'t str,
    target: &'t str,
    wrote: &'t str,
    programs: Vec<&'t str>,
    path: &'t str,
    context: &'t str,
    /// Whether the session is one of the reference files.
    outside: bool,
}

/// Asks bough the same questions as the programs; returns how many answers of each program there
/// are.
pub fn check_written(wanted: impl Fn(&str) -> bool) -> BTreeMap<String, usize> {
    let (table, messages) = (recording::read("peers.tsv"), Messages::read());
    let mut sessions = Sessions::new();
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::new());
    for line in table.lines().skip(1) {
        let [verb, session, target, wrote, programs, path, context] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("seven fields: {line}");
        };
        if !wanted(session) {
            continue;
        }
        let programs: Vec<&str> = programs.split(' ').collect();
        for program in &programs {
            *counts.entry((*program).to_owned()).or_default() += 1;
        }
        let outside = session.starts_with("shared/");
        let row = Row { verb, target, wrote, programs, path, context, outside };
        if let Err(what) = compare(&row, &sessions.copy(session), &messages) {
            wrong.push(format!("{verb} {session} {target}: {what}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ; where that is meant, `tests/oracles/positions.py --record` asks the programs again:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    counts
}

/// Copies of sessions, each in a separate folder.
struct Sessions {
    folder: tempfile::TempDir,
    /// The bytes of each, and the name of its copy.
    known: HashMap<String, (Vec<u8>, String)>,
}

impl Sessions {
    fn new() -> Sessions {
        Sessions { folder: tempfile::tempdir().unwrap(), known: HashMap::new() }
    }

    /// Creates a new copy.
    fn copy(&mut self, name: &str) -> PathBuf {
        let (bytes, file) = self.known.entry(name.to_owned()).or_insert_with(|| read(name));
        let path = self.folder.path().join(file);
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn read(name: &str) -> (Vec<u8>, String) {
    let path = match name.strip_prefix("shared/") {
        Some(name) => need::reference_files().join(name),
        None => files::project().join("tests/cli/sessions").join(name),
    };
    let mut bytes = fs::read(&path).unwrap();
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let file = path.file_name().unwrap().to_str().unwrap();
    // For Claude Code, the name of the file is the session.
    let is_claude = name.contains("claude");
    let file = if is_claude && stem.len() != 36 { format!("{COPY}.jsonl") } else { file.to_owned() };
    if file.starts_with("real-v1") {
        let session = bough::internals::format::Session::read(&bytes).unwrap();
        let source = bough::internals::model::Table(vec![bytes.clone()]);
        let made = migrate::migrate(&session, &source, migrate::Options::default(), &mut Ids::seeded(SEED));
        bytes = Piece::join(&made.unwrap().pieces, &source).unwrap();
    }
    (bytes, file)
}

fn compare(row: &Row<'_>, copy: &Path, messages: &Messages) -> Result<(), String> {
    let old = fs::read(copy).unwrap();
    let opened = open(copy);
    let Some(written) = write(row, &opened, copy)? else {
        return if row.wrote == "refused" { Ok(()) } else { Err("it is refused".into()) };
    };
    if row.wrote == "refused" {
        return Err("it is no longer refused".into());
    }
    let new = fs::read(&written).unwrap();
    let came =
        if written == copy { new.strip_prefix(&old[..]).ok_or("old bytes changed")? } else { &new[..] };
    if sha256(came)[..12] != *row.wrote {
        return Err(format!(
            "other bytes are written than the programs were asked about:\n{}",
            String::from_utf8_lossy(came)
        ));
    }
    let opened = open(&written);
    let own = match opened.session.format {
        Format::Omp => "omp",
        Format::Chimera => "chimera",
        Format::Claude => "claude",
        Format::Harness => "harness",
        _ => "pi",
    };
    if !row.programs.contains(&own) {
        return Ok(());
    }
    let (path, context) = said(&opened, messages, row.outside);
    let same = if own == "claude" { fits(row.context, &context) } else { row.context == context.join(" ") };
    if path != row.path || !same {
        return Err(format!(
            "bough reads {path} ({}), {own} was seen at {} ({})",
            context.join(" "),
            row.path,
            row.context
        ));
    }
    Ok(())
}

/// Carries out a row; returns the file that was written, or `None` if it was refused.
fn write(row: &Row<'_>, opened: &Opened, copy: &Path) -> Result<Option<PathBuf>, String> {
    let (session, files) = (&opened.session, &opened.files);
    let whole = Snapshot { session, source: files };
    let (ids, now) = (&mut Ids::seeded(SEED), parse_time(NOW.as_bytes()));
    let target = revision::resolve_one(session, files, &format!("id:{}", row.target))
        .map_err(|error| error.to_string())?;
    let mut out = copy.to_owned();
    let plan = match row.verb {
        "switch" | "summary" => {
            let summary = (row.verb == "summary").then(|| "what was tried".to_owned());
            let wish = switch::SwitchOptions { summary, ..switch::SwitchOptions::default() };
            switch::plan(whole, switch::To::Entry(target), &wish, ids, now).map(|switch| switch.plan)
        }
        "append-message" | "append-note" | "append-custom" | "append-compaction" | "append-kept" => {
            let text = "Added by a script";
            let payload = match row.verb {
                "append-message" => Payload::Prompt(text),
                "append-note" => Payload::CustomMessage("ci", text, true),
                "append-custom" => Payload::Custom("ci", Some("{\"step\":[1,2]}")),
                "append-compaction" => Payload::Compaction(text, None),
                _ => Payload::Compaction(text, Some(target)),
            };
            let parent = (row.verb != "append-kept").then_some(target);
            append::plan(whole, payload, parent, ids, now).map(|append| append.plan)
        }
        "label" => {
            let wish =
                label::LabelOptions::Set { name: "a name of bough", target, take: false, replace: true };
            label::plan(whole, wish, ids, now)
        }
        "export" | "subtree" | "new-ids" => {
            let is_claude = session.format == Format::Claude;
            out = copy.with_file_name(if is_claude {
                format!("{NEW_SESSION}.jsonl")
            } else {
                "out.jsonl".into()
            });
            let _ = fs::remove_file(&out);
            let wish = export::ExportOptions {
                entry: target,
                subtree: row.verb == "subtree",
                new_ids: row.verb == "new-ids",
                session: if is_claude {
                    NEW_SESSION.into()
                } else {
                    export::session_id(session.format, ids, now)
                },
                to: Some(out.clone()),
                from: Some(Path::new("/work").join(copy.file_name().unwrap())),
                moved: None,
                cwd: None,
                is_empty: false,
            };
            export::plan(whole, &wish, ids, now).map(|export| export.plan)
        }
        other => return Err(format!("no such verb: {other}")),
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(ops::Error::NoPlace { .. } | ops::Error::ReadOnly { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let old = fs::read(copy).unwrap();
    let new = match plan.targets.as_slice() {
        [] => old,
        [Target::Append { bytes, .. }] => match last_line(&old) {
            LastLine::Torn => return Ok(None),
            LastLine::Open => [&old[..], b"\n", bytes].concat(),
            LastLine::Ended => [&old[..], bytes].concat(),
        },
        [Target::Create { pieces, .. }] => Piece::join(pieces, files).unwrap(),
        other => return Err(format!("other than one change: {other:?}")),
    };
    fs::write(&out, new).unwrap();
    Ok(Some(out))
}

enum LastLine {
    Ended,
    Open,
    Torn,
}

/// How a file ends, which determines what an append adds there.
fn last_line(bytes: &[u8]) -> LastLine {
    let line = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    match line {
        [] => LastLine::Ended,
        line if serde_json::from_slice::<serde_json::Value>(line).is_ok() => LastLine::Open,
        _ => LastLine::Torn,
    }
}

/// Returns where the program's HEAD is according to bough, and what the program would send to the
/// model.
fn said(opened: &Opened, messages: &Messages, outside: bool) -> (String, Vec<String>) {
    let (session, files) = (&opened.session, &opened.files);
    if session.format == Format::Claude {
        let (_, sent) = answer(opened);
        let line = session.head.entry.map(|leaf| session.entries.line(leaf).to_string());
        return (line.unwrap_or_default(), sent);
    }
    let path = session.head.leaf.map(|leaf| session.tree.path(leaf)).unwrap_or_default();
    let context = Context::build(session, files, Context::position(session)).unwrap();
    let sent = roles_and_texts(session, files, &context);
    let sent = if outside {
        // What is said in these sessions is not in the recording.
        let line = |(role, text): &(String, String)| format!("{role} {}", &sha256(text.as_bytes())[..16]);
        let lines: Vec<String> = sent.iter().map(line).collect();
        format!("{} messages, {}", sent.len(), &sha256(lines.join("\n").as_bytes())[..12])
    } else {
        messages.runs(&sent)
    };
    (runs(path.iter().map(|ix| session.entries.line(*ix))), vec![sent])
}

fn open(path: &Path) -> Opened {
    store::open(path, Options::default()).unwrap()
}
