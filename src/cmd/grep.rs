//! `bough grep`: searches the contents of entries.

mod print;
mod search;
mod stored_files;

use super::shared::exit::Failures;
use super::shared::file_args::Files;
use super::shared::options::{Global, number};
use super::shared::scope::{self, Scope};
use super::shared::time::Between;
use super::shared::{parallel, session_arg, words};
use super::{Exit, Failure, complete};
use crate::model::Kind;
use crate::ops::grep::{Options, Pattern};
use crate::ui::Ui;
use clap_complete::engine::ArgValueCompleter;
#[cfg(test)]
pub(super) use print::QueuedRow;
#[cfg(test)]
pub(super) use search::CountRow;
use search::Search;
use std::path::PathBuf;

/// Search the text of entries
///
/// Searches entries on all branches: prompts, replies, thinking, tool arguments and results,
/// summaries, names, and attachments (`--kind user,assistant` leaves these out). Escapes are decoded;
/// keys, ids and other fields are not searched. For each matching line of text, prints the entry, the
/// branch (`@` for the path to HEAD, otherwise the label or leaf of the branch), the kind and the line.
/// Exits with 1 if nothing matches. If a file can't be read, the exit status is that of the worst
/// failure.
///
/// If Claude Code stored a tool result in a file beside the session (`tool-results`), its text is
/// searched too. A prompt that is only in the input queue of Claude Code is named by its line
/// (`line:N`); `--on`, `-v` and `--since` leave such prompts out.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Regular expression, in the syntax of Rust's `regex` crate
    #[arg(value_name = "RE", allow_hyphen_values = false)]
    pattern: String,

    /// Files or folders to search; if omitted, the session
    #[arg(value_name = "FILE", add = ArgValueCompleter::new(complete::session_files))]
    files: Vec<PathBuf>,

    #[command(flatten)]
    scope: Scope,

    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,

    /// Match whole words only
    #[arg(short, long)]
    word_regexp: bool,

    /// Treat RE as a literal string
    #[arg(short = 'F', long)]
    fixed_strings: bool,

    /// Print the number of matching entries of each file
    #[arg(short, long)]
    count: bool,

    /// Print only the names of files with matches
    #[arg(short = 'l', long, conflicts_with = "count")]
    files_with_matches: bool,

    /// End file names with a NUL byte instead of a newline
    #[arg(short = 'z', long)]
    null: bool,

    /// Print the file's line number after the entry id
    #[arg(short = 'n', long)]
    line_number: bool,

    /// Print the entries that do not match
    #[arg(short = 'v', long)]
    invert_match: bool,

    /// Also print the N entries after each match on the path
    #[arg(short = 'A', long, value_name = "N", value_parser = number::<usize>, default_value_t = 0, hide_default_value = true)]
    after_context: usize,

    /// Also print the N entries before each match on the path
    #[arg(short = 'B', long, value_name = "N", value_parser = number::<usize>, default_value_t = 0, hide_default_value = true)]
    before_context: usize,

    /// Also print the N entries before and after each match
    #[arg(short = 'C', long, value_name = "N", value_parser = number::<usize>, default_value_t = 0, hide_default_value = true)]
    context: usize,

    /// Search only entries of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind, add = ArgValueCompleter::new(complete::kinds))]
    kind: Vec<Kind>,

    /// Search only the path to REV, or a range
    #[arg(long, value_name = "REV", allow_hyphen_values = true, add = ArgValueCompleter::new(complete::revisions))]
    on: Option<String>,

    #[command(flatten)]
    between: Between,
}

/// Parses a kind of `--kind`.
fn kind(word: &str) -> Result<Kind, String> {
    Kind::from_name(word).ok_or_else(|| format!("expected one of {}", Kind::ALL.map(Kind::name).join(", ")))
}

pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.for_people();
    let options =
        Options { ignore_case: args.ignore_case, word: args.word_regexp, fixed: args.fixed_strings };
    let pattern = Pattern::new(&args.pattern, options).map_err(|error| Failure::Usage {
        what: format!("invalid regular expression `{}`: {}", args.pattern, reason(&error)),
        hint: "`-F` searches for a literal string".into(),
    })?;
    let (mut args, mut global) = (args.clone(), global.clone());
    if let Some(on) = args.on.take() {
        // `REV@SESSION` names the session, unless files are named.
        let (session, revision) = words::of_option(&global, None, &on)?;
        if session.is_some() && args.files.is_empty() {
            global.session = session;
        }
        args.on = Some(revision);
    }
    let (args, global) = (&args, &global);
    let files = Files::resolve(&args.files, &args.scope, global, ui)?.with_agents();
    if files.paths.is_empty() {
        return Ok(scope::none_found(ui));
    }
    if !args.count && !args.files_with_matches {
        ui.page();
    }
    let window = args.between.window()?;
    let search = Search { args, global, pattern: &pattern, look: ui.look, window, named: files.several };
    let (mut found, mut failures, mut faulty) = (false, Failures::default(), Vec::new());
    // One batch at a time, so that early matches are printed early, and little is held in memory.
    for batch in files.paths.chunks(64) {
        let progress = session_arg::reading(global, batch.iter().map(|path| &**path));
        let results = parallel::map(batch, |path| search.file(path));
        drop(progress);
        for (path, result) in batch.iter().zip(results) {
            match result {
                Ok(outcome) => {
                    found |= outcome.found;
                    faulty.extend((outcome.faults > 0).then(|| path.clone()));
                    ui.out().write_all(outcome.printed.as_bytes())?;
                }
                Err(error) if files.several => failures.add(error, files.is_named(path), ui)?,
                Err(error) => return Err(error),
            }
        }
    }
    session_arg::warn_of_files(&faulty, files.paths.len(), args.scope.option(), ui);
    if !found && args.files.is_empty() && args.scope.words().is_empty() && Ui::talks_to_a_person() {
        ui.hint("only one session was searched; `-p` searches those of the project, `--all` all");
    }
    // A file that was not searched must be distinguishable from one without matches.
    Ok(failures.or(if found { Exit::Done } else { Exit::No }))
}

/// Returns the error in an expression, on one line.
pub(super) fn reason(error: &regex::Error) -> String {
    let words = error.to_string();
    let last = words.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}
