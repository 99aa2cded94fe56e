//! `bough label`: labels entries.

use super::shared::options::Global;
use super::shared::render::View;
use super::shared::words::{self, Use};
use super::shared::write;
use super::shared::write::WriteArgs;
use super::shared::write_json::More;
use super::shared::{rows, session_arg, time, write_json};
use super::{Exit, Failure, complete};
use crate::format::{Ids, Session};
use crate::model::{Ix, Kind};
use crate::ops::{ids, label, revision};
use crate::store::{self, Opened, TailRequest};
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;
use std::path::Path;

/// Label entries; list, move and delete labels
///
/// Without a name, lists the labels. If the agent has labels of its own, bough uses them, e.g. pi's
/// tree view shows them. Setting a label does not move HEAD, and the modification time of the file
/// is preserved.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough label [OPTIONS] [SESSION] [NAME [REV]]")]
pub struct Args {
    /// The session, if the first argument is a file; then the label and the entry
    ///
    /// If the entry is omitted, HEAD.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(complete::label_words))]
    words: Vec<String>,

    /// Delete a label, given by its name or by its entry
    #[arg(short, long)]
    delete: bool,

    /// Move the label if another entry has it
    #[arg(short = 'm', long = "move", conflicts_with = "delete")]
    take: bool,

    /// Replace another label of the entry
    #[arg(long, conflicts_with = "delete")]
    replace: bool,

    /// End each row of the list with a NUL byte instead of a newline
    #[arg(short = 'z')]
    nul: bool,

    #[command(flatten)]
    writing: WriteArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.for_people();
    let words = words::split(global, &args.words, Use::WritesName)?;
    let (named, words) = (words.session(), &words.revisions[..]);
    let (name, at) = match words {
        [] if !args.delete => {
            if args.nul {
                ui.end_rows_with_nul();
            }
            return list(global, named, ui);
        }
        [name] => (name, None),
        [name, at] if !args.delete => (name, Some(at)),
        _ => {
            let hint = "`bough label NAME REV` sets a label, `bough label -d NAME` deletes it";
            return Err(
                Failure::Usage { what: "expected one name and one entry".into(), hint: hint.into() }.into()
            );
        }
    };
    let seed = write::seed();
    let make = |opened: &Opened| {
        let target = match at {
            _ if args.delete => labelled(opened, name)?,
            _ => target(opened, at.map(String::as_str))?,
        };
        let options = match args.delete {
            true => label::LabelOptions::Clear { target },
            false => label::LabelOptions::Set { name, target, take: args.take, replace: args.replace },
        };
        let plan = label::plan(session_arg::whole(opened), options, &mut Ids::seeded(&seed), time::now())?;
        Ok((plan.clone(), (plan, target)))
    };
    let path = session_arg::path(global, named, ui)?;
    let open = || {
        let part = (!args.delete && !args.take)
            .then(|| open_some(&path, global, name, at.map(String::as_str), &seed))
            .flatten();
        // Errors are reported from the whole session.
        part.filter(|opened| make(opened).is_ok()).map_or_else(|| session_arg::by_path(global, &path), Ok)
    };
    let (opened, done, (plan, target)) = write::run_with(open, args.writing, None, ui, make)?;
    if ui.look.json && !args.writing.dry_run {
        write_json::print(&opened, &plan, &done, More::default(), ui)?;
    }
    if !ui.look.quiet && !args.writing.dry_run {
        report(args.delete, &opened, target, name, ui)?;
    }
    Ok(Exit::Done)
}

/// Says which label an entry got or lost.
fn report(is_deleted: bool, opened: &Opened, target: Ix, name: &str, ui: &mut Ui) -> anyhow::Result<()> {
    let id = ids::ShortIds::default().short_id(&opened.session, &opened.files, target)?;
    let before = opened.session.labels.label(target).map(text::one_line);
    let (id, name) = (text::one_line(&id), text::one_line(name));
    ui.note(match (is_deleted, before) {
        (true, before) => format!("label of {id} deleted; it was `{}`", before.unwrap_or_default()),
        (false, Some(before)) if before == name => format!("{id} is already labeled `{name}`"),
        (false, Some(before)) => format!("{id} is labeled `{name}`; it was `{before}`"),
        (false, None) => format!("{id} is labeled `{name}`"),
    });
    Ok(())
}

/// Opens only as much of the session as is needed to label one entry, if that can be determined:
/// HEAD, the entry and its labels, and whether the name and the id of the new line are unused.
fn open_some(path: &Path, global: &Global, name: &str, at: Option<&str>, seed: &str) -> Option<Opened> {
    let ids = match at {
        None | Some("HEAD" | "@") => Vec::new(),
        Some(word)
            if word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') =>
        {
            vec![word]
        }
        Some(_) => return None,
    };
    // A short name may be any word, and some characters can be spelled in more than one way.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_.:+#@".contains(&byte);
    if name.len() < 4 || !name.bytes().all(is_plain) {
        return None;
    }
    let fresh = |format| vec![Ids::seeded(seed).entry(format, &[])];
    // HEAD is the last entry of the conversation.
    let enough =
        |session: &Session| !ids.is_empty() || session.knows_path(1, |ix| session.is_conversation(ix));
    let part =
        TailRequest { ids: &ids, absent: &[name], fresh: &fresh, enough: &enough, ..TailRequest::default() };
    let opened = store::open_part(path, global.options(), &part).ok()?;
    opened.session.partial.then_some(opened)
}

/// Returns the entry to label. HEAD is the entry that the user works on, whether it is given or the
/// default.
fn target(opened: &Opened, word: Option<&str>) -> anyhow::Result<Ix> {
    let (session, files) = (&opened.session, &opened.files);
    Ok(match word {
        None | Some("HEAD" | "@") => label::default_target(session)?,
        Some(word) => revision::resolve_one(session, files, word)?,
    })
}

/// Returns the entry whose label is to be deleted: by the label, or else by the revision.
fn labelled(opened: &Opened, word: &str) -> anyhow::Result<Ix> {
    let found: Vec<Ix> = opened.session.labels.entries(word).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => target(opened, Some(word)).map_err(|error| match error.downcast_ref() {
            Some(crate::ops::Error::NoRevision { .. }) => {
                let what = format!("no entry has the label `{word}`");
                Failure::NotFound { what, hint: "`bough label` lists the labels".into() }.into()
            }
            _ => error,
        }),
        several => Err(revision::ambiguous(session_arg::whole(opened), word, several)?.into()),
    }
}

/// A label in force: label.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.label/1")]
pub(super) struct LabelRow<'a> {
    /// Its name.
    label: &'a str,
    /// The id of the entry, or `line:N` where the format has no ids.
    id: String,
    /// The kind of the entry, in the words that all formats share.
    kind: Kind,
    /// The line of the entry.
    line: u64,
    /// The line that set the label.
    set_on_line: u64,
}

fn list(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let opened = session_arg::session(global, named, ui)?;
    let (session, files) = (&opened.session, &opened.files);
    let short = ids::ShortIds::default();
    let mut view = View::new(&opened);
    let widest = session.labels.all().map(|(_, line)| text::width(&text::one_line(line.text))).max();
    // The id is always shown.
    let width = widest.unwrap_or(0).min(ui.look.width.saturating_sub(12).max(8));
    for (ix, label) in session.labels.all() {
        if ui.look.json {
            let row = LabelRow {
                label: label.text,
                id: ids::name(session, files, ix)?,
                kind: session.entries.kind(ix),
                line: session.entries.line(ix),
                set_on_line: label.line,
            };
            rows::print(&row, ui)?;
            continue;
        }
        let words = view.summary(ix)?;
        let row = format!(
            "{}  {}  {:<9}  {words}",
            text::pad(&text::fit(&text::one_line(label.text), width), width),
            text::one_line(&short.short_id(session, files, ix)?),
            session.entries.kind(ix).name(),
        );
        let row = text::fit(&row, ui.look.width);
        writeln!(ui.out(), "{}", row.trim_end())?;
    }
    Ok(Exit::Done)
}
