//! `bough rev-parse`: what revisions stand for.

use super::{Exit, complete, global::Global, open};
use crate::model::Ix;
use crate::ops::{self, ids, revision};
use crate::ui::Ui;
use clap_complete::engine::ArgValueCompleter;

/// Print the ids that revisions stand for
///
/// One id a line, in the order of the revisions: of a range in the order of the path, of another set in file order. Sets
/// follow the links as they are stored, as `bough log --dag` does. Entries without an id are printed as `line:N`,
/// and without `-z` those too whose id has a line break in it.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough rev-parse [OPTIONS] [SESSION] [REV]...")]
pub struct Args {
    /// The session, if it looks like a file; then revisions and ranges
    ///
    /// Without revisions, HEAD.
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::words))]
    words: Vec<String>,

    /// Want exactly one entry; print nothing and exit with 1 where there is none
    #[arg(long)]
    verify: bool,

    /// Print short ids
    #[arg(long)]
    short: bool,

    /// Print how many entries there are
    #[arg(long)]
    count: bool,

    /// End each id with a NUL byte
    #[arg(short = 'z')]
    nul: bool,
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (named, revisions) = open::split(global, &args.words);
    let opened = open::session(global, named, ui)?;
    let (session, files) = (&opened.session, &opened.files);
    let revisions = if revisions.is_empty() { &["HEAD".to_owned()] } else { revisions };
    let found: Vec<Ix> = if args.verify {
        match revision::one(session, files, &revisions[0]) {
            Ok(ix) if revisions.len() == 1 => vec![ix],
            Err(error @ (ops::Error::Io(_) | ops::Error::Malformed { .. })) => return Err(error.into()),
            Ok(_) | Err(_) => return Ok(Exit::No),
        }
    } else {
        let sets =
            revisions.iter().map(|revision| revision::set(session, files, std::slice::from_ref(revision)));
        sets.collect::<Result<Vec<_>, _>>()?.concat()
    };
    if args.count {
        writeln!(ui.out(), "{}", found.len())?;
        return Ok(Exit::Done);
    }
    let short = ids::ShortIds::default();
    for ix in found {
        let name = if args.short { short.of(session, files, ix)? } else { ids::name(session, files, ix)? };
        if ui.look.json {
            let entries = &session.entries;
            let mut object = serde_json::json!({ "schema": "bough.revision/1" });
            if let Some(id) = Some(ids::id(session, files, ix)?).filter(|id| !id.is_empty()) {
                object["id"] = id.into();
            }
            object["line"] = entries.line(ix).into();
            object["kind"] = entries.kind(ix).word().into();
            writeln!(ui.out(), "{object}")?;
        } else {
            let end = if args.nul { '\0' } else { '\n' };
            let name = ids::in_row(session, ix, name, end);
            let name = ui.look.shown(&name);
            write!(ui.out(), "{name}{end}")?;
        }
    }
    Ok(Exit::Done)
}
