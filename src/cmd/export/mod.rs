//! `bough export`: a conversation as a page, Markdown, text, or a redacted session, for people to share.

mod html;
mod output;
mod redacted_lines;
pub(super) mod redaction;
mod site;

use super::shared::config::Config;
use super::shared::options::Global;
use super::shared::thread_arg::{self, ReadOptions, ThreadView};
use super::shared::words::{self, Use};
use super::shared::{scope, session_arg, time};
use super::{Exit, Failure, complete};
use crate::context::Context;
use crate::model::{Count, Ix};
use crate::ops::document;
use crate::ops::page as pages;
use crate::ops::redact::Redact;
use crate::ops::{filter, revision};
use crate::store;
use crate::store::locate::{self, Found};
use crate::store::write::Refusal;
use crate::ui::{Ui, text};
use clap::ValueHint;
use clap_complete::engine::ArgValueCompleter;
use html::Page;
use output::Output;
use redaction::Redaction;
use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Export a conversation as a page, Markdown, text, or a redacted session
///
/// `--to html` writes one file that needs no network: the whole tree beside the conversation, with
/// search and filters. No text of the session can run as code in it. Markdown and text contain the
/// path to HEAD. A single REV selects the path to that entry, and a range or a set selects its
/// entries; this also holds for a page.
///
/// Credentials are redacted in every form except JSONL: each secret is replaced by a mark such as
/// `[redacted:github-token#1]`, and the same secret always by the same mark. Encoded images are not
/// searched.
///
/// `--project` writes a page for each session of the current project into a folder, and `index.html`,
/// which lists them, each below the session that it comes from. The pages of sessions that continue or
/// fork another have links to it, and back.
///
/// `--to jsonl` writes the whole session in the agent's own format; with `--redact`, secrets are
/// removed from it. `bough export-branch` exports one branch, for an agent to resume.
#[derive(clap::Args, Debug)]
#[command(override_usage = "bough export [OPTIONS] [SESSION] [REV|RANGE]...")]
pub struct Args {
    /// The session, if the first argument names one; then entries and ranges
    #[arg(value_name = "REV", add = ArgValueCompleter::new(complete::first_words))]
    words: Vec<String>,

    /// The form of the output
    ///
    /// If omitted, the extension of the output file determines the form. Otherwise, Markdown.
    #[arg(long, value_name = "FORM")]
    to: Option<Form>,

    /// Write to this file, with `--project` and `--all` to this folder; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    output: Option<PathBuf>,

    /// Write pages of all sessions of the current project, or of a FOLDER that is named
    #[arg(short, long, conflicts_with_all = ["plain", "front_matter", "all"])]
    project: bool,

    /// Write pages of all sessions of all projects
    #[arg(long, conflicts_with_all = ["plain", "front_matter"])]
    all: bool,

    /// Override a safety check
    #[arg(long, value_name = "WHAT")]
    allow: Option<Allow>,

    /// Replace the output file if it exists, as `--allow=overwrite` does
    #[arg(long)]
    force: bool,

    /// Write a page without a script: one path, and at most 5 MB
    #[arg(long)]
    plain: bool,

    /// Images to include in a page: `all`, `small` (up to 48 KiB) or `none`
    #[arg(long, value_name = "WHICH", default_value = "all", hide_default_value = true)]
    images: WhichImages,

    /// Leave subagents out
    #[arg(long)]
    no_agents: bool,

    /// Begin Markdown with front matter: title, date, agent, session
    #[arg(long)]
    front_matter: bool,

    /// Leave thinking out
    #[arg(long)]
    no_thinking: bool,

    /// Truncate tool results to this size, e.g. `2k` or `1M`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    results: Option<usize>,

    /// Redact credentials, and what is named: `paths`, `mail`, `hosts`
    ///
    /// Credentials are redacted without it, too; but JSONL is redacted only with this option. `paths`
    /// turns the home directory into `~`. `hosts` are those in addresses such as `https://…` and
    /// `user@host`, and IP addresses.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "credentials")]
    redact: Option<Vec<String>>,

    /// Do not redact
    #[arg(long, conflicts_with = "redact")]
    no_redact: bool,

    /// Write nothing; exit with 1 if anything would be redacted
    #[arg(long, conflicts_with_all = ["output", "no_redact"])]
    check: bool,

    /// Write a report to this file, as JSON: which rule matched where, without the text
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "no_redact")]
    redact_report: Option<PathBuf>,
}

impl Args {
    /// Returns whether the output file may be replaced.
    fn overwrites(&self) -> bool {
        self.force || self.allow == Some(Allow::Overwrite)
    }
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Allow {
    /// Replace the output file if it exists
    Overwrite,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum WhichImages {
    /// All images, each once
    All,
    /// Images up to 48 KiB
    Small,
    /// No images
    None,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// A page with the tree beside the conversation
    Html,
    /// Markdown for GitHub and Pandoc
    #[value(alias = "markdown")]
    Md,
    /// Plain text
    #[value(alias = "text")]
    Txt,
    /// The whole session in its own format
    Jsonl,
}

pub(super) fn run(args: &Args, global: &Global, config: &Config, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.project || args.all {
        return several(args, global, config, ui);
    }
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let form = args.to.map_or_else(|| form_of(output), Ok)?;
    let words = words::split(global, &args.words, Use::Reads)?;
    let (named, revisions) = (words.session(), &words.revisions[..]);
    if form == Form::Jsonl && !revisions.is_empty() {
        return Err(Failure::Usage {
            what: "`--to jsonl` exports whole sessions only".into(),
            hint: "`bough export-branch REV` exports one branch as a session".into(),
        }
        .into());
    }
    let is_page = form == Form::Html && !args.plain;
    let (mut read, context) = read(args, is_page, named, global, ui)?;
    let chosen = match is_page && revisions.is_empty() {
        true => {
            read.join()?;
            read.opened.session.entries.all().collect()
        }
        false => chosen(&mut read, revisions)?,
    };
    if let Some(output) = output.filter(|_| !args.check) {
        refuse_source(&read, output)?;
        if !args.overwrites() && output.symlink_metadata().is_ok() {
            return Err(Refusal::Exists { path: output.to_owned() }.into());
        }
    }
    let context = context.filter(|_| revisions.is_empty());
    let mut redaction = Redaction::new(args, form != Form::Jsonl, config)?;
    let page = Page { read: &read, chosen: &chosen, context, links: HashMap::new(), home: None };
    if form == Form::Jsonl || args.check && revisions.is_empty() {
        redaction.learn_file(&read.opened)?;
    } else if is_page {
        page.learn(&mut redaction)?;
    } else {
        redaction.learn_entries(&read.opened, &chosen)?;
    }
    if let Some(report) = &args.redact_report {
        refuse_source(&read, report)?;
        refuse_other_file(report)?;
        store::replace_file(report, redaction.report().as_bytes())?;
    }
    if args.check {
        redaction.print_check(ui);
        if args.redact_report.is_none() && !redaction.is_clean() {
            ui.hint("`--redact-report FILE` writes where they are");
        }
        return Ok(if redaction.is_clean() { Exit::Done } else { Exit::No });
    }
    if is_page {
        let written = page.write(args, config, &mut redaction, output, None, ui)?;
        if !ui.look.quiet {
            note_exported(output, &Count("entry", "entries", chosen.len()).to_string(), ui);
            note_left_out(written.images, written.thinking, written.results, ui);
        }
        redaction.print_counts(ui);
        return Ok(Exit::Done);
    }
    write_other(args, form, &read, &chosen, &mut redaction, output, ui)?;
    Ok(Exit::Done)
}

/// Writes a session, or some of its entries, in another form than a page.
fn write_other(
    args: &Args,
    form: Form,
    read: &ThreadView,
    chosen: &[Ix],
    redaction: &mut Redaction,
    output: Option<&Path>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let written = match form {
        Form::Jsonl => redacted_lines::session(&read.opened, redaction)?,
        Form::Md | Form::Txt | Form::Html => {
            as_document(args, form, read, chosen, redaction, ui)?.into_bytes()
        }
    };
    write_document(&written, form, output, read, ui)?;
    ui.out().flush()?;
    if !ui.look.quiet {
        let what = match form {
            Form::Jsonl => "the session".to_owned(),
            _ => Count("entry", "entries", chosen.len()).to_string(),
        };
        note_exported(output, &what, ui);
    }
    redaction.print_counts(ui);
    if form == Form::Jsonl {
        hint_secrets(args, redaction, ui);
    }
    Ok(())
}

/// Writes a document or a session to its file, or prints it.
fn write_document(
    written: &[u8],
    form: Form,
    output: Option<&Path>,
    read: &ThreadView,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    match output {
        Some(path) => {
            let mut output = Output::create(path)?;
            output.write_all(written)?;
            output.finish(&read.opened, None, ui)?;
        }
        None if form == Form::Txt => {
            let written = String::from_utf8_lossy(written);
            let shown = written.lines().map(text::safe).collect::<Vec<_>>().join("\n");
            writeln!(ui.out(), "{}", shown.trim_end())?;
        }
        None => ui.out().write_all(written)?,
    }
    Ok(())
}

/// Says what an exported session has of secrets, or lacks without them.
fn hint_secrets(args: &Args, redaction: &Redaction, ui: &mut Ui) {
    if redaction.is_off() && !args.no_redact {
        ui.hint(
            "secrets are in it as they are in the session; `--redact` marks them out, `--check` only looks",
        );
    }
    if !redaction.is_clean() {
        ui.hint("an agent that continues this session may fail where it needs a redacted value");
    }
}

/// Exports all sessions of a project, or of all projects.
fn several(args: &Args, global: &Global, config: &Config, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.to.is_some_and(|form| form != Form::Html) {
        let what = "several sessions are exported as pages only".into();
        return Err(Failure::Usage { what, hint: "omit `--to`, or name one session".into() }.into());
    }
    if global.session.is_some() {
        let option = if args.all { "--all" } else { "--project" };
        return Err(scope::no_other(option, format!("omit `{option}`, or the session")).into());
    }
    let found = match &args.words[..] {
        [] if args.all => locate::stores(&global.roots).iter().flat_map(locate::sessions).collect(),
        [] => session_arg::of_project(global, locate::Worktrees::Listed),
        [folder] if !args.all && Path::new(folder).is_dir() => {
            let inside = session_arg::in_folder(global, Path::new(folder));
            if inside.is_empty() {
                return Err(store::Error::NoneInFolder { path: folder.into() }.into());
            }
            inside.into_iter().filter_map(Found::from_path).collect()
        }
        [.., word] => {
            let what = format!("`{}`: expected a folder, or nothing", text::one_line(word));
            let hint = "`--project` exports whole sessions; omit it to choose entries".into();
            return Err(Failure::Usage { what, hint }.into());
        }
    };
    if let Some(report) = &args.redact_report {
        found.iter().try_for_each(|found| refuse_equal(&found.path, report))?;
        refuse_other_file(report)?;
    }
    let mut redaction = Redaction::new(args, true, config)?;
    if args.check {
        let (_, failures) = site::learn(args, &found, &mut redaction, global, ui)?;
        redaction.print_check(ui);
        return Ok(failures.or(if redaction.is_clean() { Exit::Done } else { Exit::No }));
    }
    let exit = site::write(args, &found, &mut redaction, global, config, ui)?;
    if let Some(report) = &args.redact_report {
        store::replace_file(report, redaction.report().as_bytes())?;
    }
    Ok(exit)
}

/// Reads the session; for a page of one, with its subagents, and with what would be sent at HEAD.
fn read(
    args: &Args,
    is_page: bool,
    named: Option<&str>,
    global: &Global,
    ui: &mut Ui,
) -> anyhow::Result<(ThreadView, Option<Context>)> {
    let agents = is_page && !args.no_agents && !args.check;
    let manner = ReadOptions { agents, ..ReadOptions::default() };
    if agents && thread_arg::folder(global, named).is_some() {
        return Ok((thread_arg::read(global, named, manner, ui)?, None));
    }
    let opened = session_arg::session(global, named, ui)?;
    if !is_page {
        return Ok((ThreadView::unlinearized(opened), None));
    }
    let context = html::context_at_head(&opened)?;
    let read =
        if agents { thread_arg::read_opened(opened, manner, ui)? } else { ThreadView::unlinearized(opened) };
    Ok((read, context))
}

/// Says what was exported to where.
fn note_exported(output: Option<&Path>, what: &str, ui: &mut Ui) {
    if let Some(output) = output {
        ui.note(format_args!("exported {what} to {}", text::one_line(&output.display().to_string())));
    }
}

/// The form that the name of a file asks for. Fails if it asks for one that there is not.
fn form_of(output: Option<&Path>) -> Result<Form, Failure> {
    Ok(match output.and_then(Path::extension).and_then(|extension| extension.to_str()) {
        Some("txt" | "text") => Form::Txt,
        Some("jsonl") => Form::Jsonl,
        Some("html" | "htm") => Form::Html,
        Some(other @ ("pdf" | "doc" | "docx" | "odt" | "rtf" | "epub" | "csv" | "json" | "xml")) => {
            let what = format!("there is no export to `.{other}`");
            let hint = "`--to` chooses md, txt, html or jsonl; a browser prints html to a PDF".into();
            return Err(Failure::Usage { what, hint });
        }
        _ => Form::Md,
    })
}

/// The entries to export, oldest first: the path to HEAD, or what the revisions name.
fn chosen(read: &mut ThreadView, revisions: &[String]) -> anyhow::Result<Vec<Ix>> {
    let opened = &read.opened;
    let mut singles = Vec::new();
    let mut sets = Vec::new();
    for word in revisions {
        if revision::is_set(&opened.session, &opened.files, word)? {
            sets.push(word.clone());
        } else {
            singles.push(revision::resolve_one(&opened.session, &opened.files, word)?);
        }
    }
    read.join()?;
    let session = &read.opened.session;
    let mut out: Vec<Ix> = Vec::new();
    if revisions.is_empty() {
        let end = session.end();
        out.extend(
            end.into_iter()
                .flat_map(|end| session.tree.ancestors(end))
                .filter(|ix| filter::conversation(session, *ix)),
        );
    }
    for ix in singles {
        let end = read.reading.as_ref().map_or(ix, |reading| reading.stand_in(ix));
        let path = session.tree.ancestors(session.end_at(end));
        out.extend(path.filter(|ix| filter::any_conversation(session, *ix) || *ix == end));
    }
    if !sets.is_empty() {
        out.extend(revision::set(session, &read.opened.files, &sets)?);
    }
    out.sort_unstable();
    out.dedup();
    // Paths of linearized sessions are in the order of the conversation, which is not always that of the file.
    let mut place = vec![u32::MAX; session.entries.len()];
    let ends: Vec<Ix> = session.end().into_iter().chain(out.last().copied()).collect();
    for end in ends.into_iter().rev() {
        let path: Vec<Ix> = session.tree.ancestors(end).collect();
        for (at, ix) in path.iter().rev().enumerate() {
            place[ix.index()] = at as u32;
        }
    }
    if out.iter().all(|ix| place[ix.index()] != u32::MAX) {
        out.sort_by_key(|ix| place[ix.index()]);
    }
    Ok(out)
}

/// Refuses to write over a file of the session.
fn refuse_source(read: &ThreadView, output: &Path) -> anyhow::Result<()> {
    refuse_equal(read.opened.files.path(0), output)
}

/// Refuses to replace a file by a report, unless it is an older report.
fn refuse_other_file(report: &Path) -> anyhow::Result<()> {
    const BEGINS: &[u8] = b"{\"schema\":\"bough.redaction/";
    let is_file = report.metadata().is_ok_and(|facts| facts.is_file() && facts.len() > 0);
    if is_file && locate::first_bytes(report, BEGINS.len() as u64) != BEGINS {
        let name = text::one_line(&report.display().to_string());
        let what = format!("{name}: already exists, and is not a report");
        return Err(Failure::Refused { what, hint: "name another file".into() }.into());
    }
    Ok(())
}

fn refuse_equal(session: &Path, output: &Path) -> anyhow::Result<()> {
    let real = output.canonicalize().ok();
    let source = session.canonicalize().ok();
    if real.is_some() && real == source {
        return Err(Failure::Usage {
            what: format!("`{}` is the session itself", text::one_line(&output.display().to_string())),
            hint: "name another file".into(),
        }
        .into());
    }
    Ok(())
}

fn as_document(
    args: &Args,
    form: Form,
    read: &ThreadView,
    chosen: &[Ix],
    redaction: &mut Redaction,
    ui: &mut Ui,
) -> anyhow::Result<String> {
    let (session, files) = (&read.opened.session, &read.opened.files);
    let options = document::Options { no_thinking: args.no_thinking, results: args.results };
    let date = |ix: Ix| time::date(session.entries.time(ix));
    let line = &mut |line: &[u8]| redaction.line(line).into_owned();
    let (mut items, left) = document::items(session, files, chosen, options, line, &date)?;
    for item in &mut items {
        item.label = item.label.take().map(|label| redaction.text(&label).into_owned());
    }
    let title = html::title(&read.opened, chosen, html::TITLE, redaction)?;
    if !ui.look.quiet {
        note_left_out(left.images, left.thinking, left.results, ui);
    }
    Ok(match form {
        // A prompt as its title would be there twice.
        Form::Txt => {
            let name = redaction.text(session.name.as_deref().unwrap_or_default());
            document::text(&name, &items)
        }
        Form::Html => {
            let (page, left) = pages::plain(&title, &items);
            if left > 0 {
                ui.note(format_args!(
                    "warning: {} left out, since the page would be larger than {} MB",
                    Count("entry was", "entries were", left),
                    pages::PLAIN_MOST / 1_000_000
                ));
            }
            page
        }
        _ => {
            let mut out = String::new();
            if args.front_matter {
                let first = chosen.first().map(|ix| session.entries.time(*ix)).and_then(time::iso);
                let id = session.id().map(|id| redaction.text(&id).into_owned());
                let rows = [
                    ("title", Some(if title.is_empty() { "Session".to_owned() } else { title.clone() })),
                    ("date", first),
                    ("agent", Some(session.format.agent().to_owned())),
                    ("session", id),
                ];
                out += "---\n";
                for (key, value) in rows {
                    if let Some(value) = value {
                        out += &format!("{key}: {}\n", document::quoted_in_front_matter(&value));
                    }
                }
                out += "---\n\n";
            }
            out + &document::markdown(&title, &items)
        }
    })
}

/// Reads a size: `500`, `2k`, `1M`.
fn size(text: &str) -> Result<usize, String> {
    let (number, unit) = match text.to_ascii_lowercase().as_str() {
        text if text.ends_with('k') => (text[..text.len() - 1].to_owned(), 1024),
        text if text.ends_with('m') => (text[..text.len() - 1].to_owned(), 1024 * 1024),
        text => (text.to_owned(), 1),
    };
    number
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "use a number of bytes, e.g. `500`, `2k`, `1M`".to_owned())
}

/// Notes what options left out of an export.
fn note_left_out(images: usize, thinking: usize, results: usize, ui: &mut Ui) {
    for (count, one, many) in [
        (images, "image was left out", "images were left out"),
        (thinking, "thinking block was left out", "thinking blocks were left out"),
        (results, "tool result was cut", "tool results were cut"),
    ] {
        if count > 0 {
            ui.note(Count(one, many, count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_or_is_in_bytes() {
        assert_eq!((size("7"), size("2k"), size("1M")), (Ok(7), Ok(2048), Ok(1 << 20)));
        assert!(size("x").is_err() && size("").is_err() && size("99999999999999999999").is_err());
    }
}
