//! `bough man`: the manual pages.

use super::{Exit, Failure};
use crate::fsck::CHECKS;
use crate::ui::Ui;
use clap::ValueHint;
use std::io;
use std::path::PathBuf;

/// Write the manual pages to a folder
///
/// Writes one page per command, and bough-revisions(7), bough-formats(5), bough-exit-codes(7) and
/// bough-config(5).
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Folder to write to
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present = "dir")]
    folder: Option<PathBuf>,

    /// Folder to write to
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "folder")]
    dir: Option<PathBuf>,
}

pub(super) fn run(args: &Args, ui: &mut Ui) -> anyhow::Result<Exit> {
    let Some(folder) = args.dir.as_ref().or(args.folder.as_ref()) else { return Ok(Exit::Usage) };
    // Who asks for the page of a command gets it.
    if let Some(name) = folder.to_str().filter(|name| args.dir.is_none() && is_page(name)) {
        return Err(Failure::Usage {
            what: format!("`{name}` is the name of a page, not of a folder"),
            hint: format!("`bough help {name}` shows the page; `bough man --dir {name}` writes all of them"),
        }
        .into());
    }
    crate::store::make_folder(folder)?;
    let pages = pages()?;
    for (name, page) in &pages {
        crate::store::write_file(&folder.join(name), page)?;
    }
    ui.note(format_args!(
        "{} written to {}",
        crate::model::Count("page", "pages", pages.len()),
        folder.display()
    ));
    Ok(Exit::Done)
}

/// The date on the pages: that of the last change of their text, so that pages don't change by
/// themselves.
const DATE: &str = "2026-11-27";

/// The topics that belong to no command.
pub(super) fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, ..)| name.trim_start_matches("bough-"))
}

/// The topics, with their texts.
pub(super) fn topic_texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOPICS.iter().map(|(name, _, text)| (name.trim_start_matches("bough-"), *text))
}

/// Whether a word names a page.
fn is_page(word: &str) -> bool {
    topics().any(|topic| topic == word) || super::whole().find_subcommand(word).is_some()
}

/// Returns all manual pages, by the names of their files.
pub fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = Vec::new();
    command_pages(&super::whole(), "bough", &mut pages)?;
    for (name, section, text) in TOPICS {
        pages.push((format!("{name}.{section}"), topic(name, section, text)));
    }
    Ok(pages)
}

fn command_pages(command: &clap::Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    let shown = command.clone().name(name.to_owned()).display_name(name.to_owned());
    let usage = command.clone().render_usage().to_string();
    let version = concat!("bough ", env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(shown).source(version).manual("bough").date(DATE);
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend(body(&format!("# Synopsis\n{}", usage.trim_start_matches("Usage: "))).into_bytes());
    page.extend(body(&description(command)).into_bytes());
    if name == "bough" {
        page.extend(commands(command).into_bytes());
    } else if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend(arguments(command)?);
    clap_mangen::Man::new(with_options_only(command)).render_options_section(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    let mut page = without_idle_breaks(&page);
    if name == "bough-fsck" {
        page.push_str(&body(&checks()));
    }
    page.push_str(&body(&super::examples::section(name.trim_start_matches("bough-"))));
    page.push_str(&body(&format!("# See also\n{}", other_pages(name))));
    pages.push((format!("{name}.1"), page.into_bytes()));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        command_pages(inner, &format!("{name}-{}", inner.get_name()), pages)?;
    }
    Ok(())
}

/// Returns a command without its arguments and examples, which have sections of their own.
fn with_options_only(command: &clap::Command) -> clap::Command {
    let options = command.clone().after_long_help("");
    options.mut_args(|arg| if arg.is_positional() { arg.hide(true) } else { arg })
}

/// Returns the pages that the page of a command refers to.
fn other_pages(name: &str) -> String {
    let others =
        ["bough(1)", "bough-revisions(7)", "bough-formats(5)", "bough-config(5)", "bough-exit-codes(7)"];
    others[usize::from(name == "bough")..].join(", ")
}

/// Returns a page without the line breaks next to vertical space, which only cause a warning.
fn without_idle_breaks(page: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let space = |at: Option<usize>| {
        at.and_then(|at| lines.get(at)).is_some_and(|line| line.is_empty() || line.starts_with(".sp"))
    };
    let kept = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| **line != ".br" || !(space(at.checked_sub(1)) || space(Some(at + 1))));
    kept.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// Returns the description of a command without its first line, which the name section has already.
fn description(command: &clap::Command) -> String {
    let text = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    match text.split_once("\n\n") {
        Some((_, rest)) => format!("# Description\n{rest}\n"),
        None => String::new(),
    }
}

/// Returns the section with the commands of bough by task.
fn commands(command: &clap::Command) -> String {
    let mut page = ".SH COMMANDS\n".to_owned();
    for (task, names) in super::GROUPS {
        page += &format!(".SS \"{task}\"\n");
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            page += &format!(".TP\nbough\\-{}(1)\n{}\n", escaped(command.get_name()), escaped(&about));
        }
    }
    page
}

/// Returns the section with the positional arguments of a command, if it has any.
fn arguments(command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    if command.get_positionals().next().is_some() {
        let shown = command.clone().mut_args(|arg| if arg.is_positional() { arg } else { arg.hide(true) });
        clap_mangen::Man::new(shown).render_options_section(&mut page)?;
    }
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    Ok(page.replacen(".SH OPTIONS", ".SH ARGUMENTS", 1).into_bytes())
}

/// The pages that belong to no command: name, section, text. A line that begins with `# ` is a
/// heading, one with `- ` a term (up to ` — `) and its meaning; others are paragraphs.
const TOPICS: &[(&str, &str, &str)] = &[
    ("bough-revisions", "7", include_str!("../../docs/revisions.txt")),
    ("bough-exit-codes", "7", include_str!("../../docs/exit-codes.txt")),
    ("bough-formats", "5", include_str!("../../docs/formats.txt")),
    ("bough-config", "5", include_str!("../../docs/config.txt")),
];

/// Returns the table of checks, in the form of a topic.
fn checks() -> String {
    let mut text = String::from(
        "# Checks\nThe level follows each check, and whether --repair repairs it: by default, on request (--with CHECK), or not.\n",
    );
    for row in CHECKS {
        text.push_str(&format!(
            "- {} ({}, {}) — {} {}\n",
            row.id,
            row.level.name(),
            row.repair.phrase(),
            row.what,
            row.why
        ));
    }
    text
}

fn topic(name: &str, section: &str, text: &str) -> Vec<u8> {
    let mut page = format!(
        ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH {name} {section} {DATE} \"bough {}\" bough\n",
        env!("CARGO_PKG_VERSION")
    );
    page.push_str(&body(text));
    page.into_bytes()
}

/// Returns the text of a topic as roff.
fn body(text: &str) -> String {
    let mut page = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            page.push_str(&format!(".SH {}\n", heading.to_uppercase()));
        } else if let Some(item) = line.strip_prefix("- ") {
            let (term, meaning) = item.split_once(" — ").unwrap_or((item, ""));
            page.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", escaped(term), escaped(meaning)));
        } else if line.is_empty() {
            page.push_str(".PP\n");
        } else {
            page.push_str(&escaped(line));
            page.push('\n');
        }
    }
    // A paragraph macro before a heading or an item only causes a warning.
    while let Some(at) = [".PP\n.SH", ".PP\n.TP", ".PP\n.PP"].iter().find_map(|pair| page.find(pair)) {
        page.replace_range(at..at + 4, "");
    }
    while page.ends_with(".PP\n") {
        page.truncate(page.len() - 4);
    }
    page
}

/// Returns text in which roff finds no markup.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\*(Aq").replace('`', "");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}
