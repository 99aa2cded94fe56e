//! `bough label`: names entries.

use super::writing::{self, Writing};
use super::{Exit, Failure, complete, global::Global, open};
use crate::format::Content;
use crate::model::{Ix, Source};
use crate::ops::{ids, label, revision};
use crate::store::Opened;
use crate::ui::{Ui, text};
use clap_complete::engine::ArgValueCompleter;
use serde_json::json;

/// Name entries; list, move and clear the names
///
/// Without a name, lists the labels in force. The labels are those of the agent, where it has any: pi's tree shows them.
/// A label moves nothing, and keeps the time of the file.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session, if it looks like a file; then the name, and the entry
    ///
    /// Without an entry, HEAD.
    #[arg(value_name = "NAME [REV]", add = ArgValueCompleter::new(complete::words))]
    words: Vec<String>,

    /// Clear the label of this name, or of this entry
    #[arg(short, long)]
    delete: bool,

    /// Take the name from the entry that has it
    #[arg(short = 'm', long = "move", conflicts_with = "delete")]
    take: bool,

    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, words) = open::split(global, &args.words);
    let (name, at) = match words {
        [] if !args.delete => return list(global, named, ui),
        [name] => (name, None),
        [name, at] if !args.delete => (name, Some(at)),
        _ => {
            let hint = "`bough label NAME REV` sets one, `bough label -d NAME` clears it";
            return Err(Failure::Usage {
                what: "a label has one name and one entry".into(),
                hint: hint.into(),
            }
            .into());
        }
    };
    let make = |opened: &Opened| {
        let (session, files) = (&opened.session, &opened.files);
        let target = match at {
            _ if args.delete => labelled(opened, name)?,
            Some(at) => revision::one(session, files, at)?,
            None => label::default_target(session)?,
        };
        let wish = match args.delete {
            true => label::Wish::Clear { target },
            false => label::Wish::Set { name, target, take: args.take },
        };
        let plan = label::plan(session, files, wish, &mut writing::ids(), writing::now())?;
        Ok((plan, target))
    };
    let (opened, _, target) = writing::run(global, args.writing, named, ui, make)?;
    if !ui.look.quiet && !args.writing.dry_run {
        let id = ids::ShortIds::default().of(&opened.session, &opened.files, target)?;
        let before = opened.session.labels.of(target).map(text::one_line);
        let (id, name) = (text::one_line(&id), text::one_line(name));
        ui.note(match (args.delete, before) {
            (true, before) => format!("{id} has no label any more; it was `{}`", before.unwrap_or_default()),
            (false, Some(before)) if before == name => format!("{id} is labelled `{name}` already"),
            (false, Some(before)) => format!("{id} is labelled `{name}`; it was `{before}`"),
            (false, None) => format!("{id} is labelled `{name}`"),
        });
    }
    Ok(Exit::Done)
}

/// The entry whose label is to be cleared: by the name, else by the revision.
fn labelled(opened: &Opened, word: &str) -> anyhow::Result<Ix> {
    let (session, files) = (&opened.session, &opened.files);
    let found: Vec<Ix> = session.labels.named(word).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => Ok(revision::one(session, files, word)?),
        several => {
            let candidates =
                several.iter().map(|ix| ids::name(session, files, *ix)).collect::<Result<_, _>>()?;
            Err(crate::ops::Error::Ambiguous { revision: word.into(), candidates }.into())
        }
    }
}

fn list(global: &Global, named: Option<&str>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let opened = open::session(global, named, ui)?;
    let (session, files) = (&opened.session, &opened.files);
    let short = ids::ShortIds::default();
    let widest = session.labels.all().map(|(_, line)| text::one_line(&line.text).chars().count()).max();
    for (ix, label) in session.labels.all() {
        if ui.look.json {
            let object = json!({
                "schema": "bough.label/1",
                "label": label.text,
                "id": ids::name(session, files, ix)?,
                "kind": session.entries.kind(ix).word(),
                "line": session.entries.line(ix),
                "set_on_line": label.line,
            });
            writeln!(ui.out(), "{object}")?;
            continue;
        }
        let line = files.bytes(session.span(ix))?;
        let words = text::one_line(&Content::of(session.format, &line).summary());
        let row = format!(
            "{}  {}  {:<9}  {words}",
            text::pad(&text::one_line(&label.text), widest.unwrap_or(0)),
            text::one_line(&short.of(session, files, ix)?),
            session.entries.kind(ix).word(),
        );
        let row = if ui.look.terminal { text::fit(&row, ui.look.width) } else { row };
        writeln!(ui.out(), "{}", row.trim_end())?;
    }
    Ok(Exit::Done)
}
