//! `bough export --to html`: the page of one session.

use super::redaction::Redaction;
use super::{Args, WhichImages};
use crate::cmd::shared::thread_arg::ThreadView;
use crate::model::{Count, Ix};
use crate::ops::page::{self, Images, Options};
use crate::store;
use crate::ui::{Ui, text};
use std::cell::RefCell;
use std::io::Write as _;
use std::path::Path;

/// Writes the page of some entries to a file, or prints it.
pub(super) fn page(
    args: &Args,
    read: &ThreadView,
    chosen: &[Ix],
    redaction: &mut Redaction,
    output: Option<&Path>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let (session, files) = (&read.opened.session, &read.opened.files);
    let cwd = session.header.as_ref().and_then(|header| header.cwd.clone()).or(session.claude.cwd.clone());
    let options = Options {
        title: session.name.clone().unwrap_or_default(),
        cwd: cwd.unwrap_or_default(),
        images: match args.images {
            WhichImages::All => Images::All,
            WhichImages::Small => Images::Small,
            WhichImages::None => Images::None,
        },
        results: args.results,
        no_thinking: args.no_thinking,
        notes: Vec::new(),
    };
    let redaction = RefCell::new(redaction);
    let line = &mut |line: &[u8]| redaction.borrow_mut().line(line);
    let words = &mut |text: &str| redaction.borrow_mut().text(text);
    let written = match output {
        Some(path) => {
            let mut out = store::create(path)?;
            let written = page::write(session, files, chosen, &options, line, words, &mut out)?;
            out.flush()?;
            written
        }
        None => page::write(session, files, chosen, &options, line, words, ui.out())?,
    };
    ui.out().flush()?;
    if ui.look.quiet {
        return Ok(());
    }
    if let Some(output) = output {
        ui.note(format_args!(
            "exported {} to {}",
            Count("entry", "entries", chosen.len()),
            text::one_line(&output.display().to_string())
        ));
    }
    super::note_left_out(written.images, written.thinking, written.results, ui);
    Ok(())
}
