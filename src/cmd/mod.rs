//! The command line: arguments, output, exit status.

mod append;
mod archive;
mod branches;
mod cat;
mod cherry_pick;
mod complete;
mod completions;
mod context;
mod convert;
mod diff;
mod drop;
mod examples;
mod export;
mod export_branch;
mod fsck;
mod grep;
mod help;
mod join;
mod label;
mod log;
mod man;
mod merge;
mod merge_base;
mod migrate;
mod op;
// `move` is a word of Rust.
#[path = "move/mod.rs"]
mod relocate;
mod restore;
mod rev_parse;
mod sessions;
mod shared;
mod show;
mod slim;
mod stats;
mod status;
mod switch;
mod tips;
mod tree;
mod undo;

pub use examples::examples;
pub use man::pages as man_pages;
pub use shared::exit::{Exit, Failure, report_bugs};

use crate::ui::Ui;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, ValueEnum};
use shared::config::Config;
use shared::options::Global;
use std::ffi::OsString;
use std::mem::ManuallyDrop;

/// git for coding-agent sessions
///
/// View the conversation tree, move HEAD, label entries, export and compare branches, check and
/// repair files, and undo any change. bough works on the session files of pi, oh-my-pi, Chimera and
/// Claude Code. It also reads those of Codex, Gemini CLI, Copilot CLI and OpenCode.
#[derive(Parser, Debug)]
#[command(name = "bough", version, max_term_width = 100, disable_help_subcommand = true)]
// As in git, the last one counts: an alias has options that a user overrides.
#[command(args_override_self = true)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

// The options of a command are created when they are needed: see `parse_one`.
#[derive(clap::Subcommand, Debug)]
#[command(defer = true)]
enum Command {
    Append(append::Args),
    Archive(archive::Args),
    Branches(branches::Args),
    Cat(cat::Args),
    CherryPick(cherry_pick::Args),
    Completions(completions::Args),
    Config(shared::config::Args),
    Context(context::Args),
    Convert(convert::Args),
    Diff(diff::Args),
    Drop(drop::Args),
    Export(export::Args),
    ExportBranch(export_branch::Args),
    Fsck(fsck::Args),
    Grep(grep::Args),
    Help(help::Args),
    Join(join::Args),
    Label(label::Args),
    Log(log::Args),
    Man(man::Args),
    Merge(merge::Args),
    MergeBase(merge_base::Args),
    Migrate(migrate::Args),
    Move(relocate::Args),
    Op(op::Args),
    Redo(undo::RedoArgs),
    Restore(restore::Args),
    RevParse(rev_parse::Args),
    Sessions(sessions::Args),
    Show(show::Args),
    Slim(slim::Args),
    Stats(stats::Args),
    Status(status::Args),
    Switch(switch::Args),
    Tree(tree::Args),
    Undo(undo::Args),
}

/// The commands by task, as the help and the manual list them.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Look at sessions",
        &[
            "status", "log", "tree", "show", "branches", "diff", "grep", "context", "stats", "sessions",
            "export",
        ],
    ),
    (
        "Move and copy",
        &[
            "switch",
            "label",
            "cherry-pick",
            "merge",
            "export-branch",
            "convert",
            "move",
            "drop",
            "slim",
            "join",
        ],
    ),
    ("Check, repair and undo", &["fsck", "migrate", "undo", "redo", "op", "archive", "restore"]),
    (
        "Plumbing and setup",
        &["append", "cat", "rev-parse", "merge-base", "config", "completions", "help", "man"],
    ),
];

/// Runs the program on the words of the command line, including its name; returns the exit status.
///
/// If the variable `COMPLETE` names a shell, answers that shell's questions instead.
pub fn run(words: impl IntoIterator<Item = OsString>) -> Exit {
    let words: Vec<OsString> = words.into_iter().collect();
    if std::env::var_os("COMPLETE").is_some() {
        complete::answer();
    }
    let (config, broken) = match shared::config::load() {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(error)),
    };
    let json = shared::exit::wants_json(&words);
    let mut cli = match parse(words, &config) {
        Ok(cli) => cli,
        Err(error) => {
            return match broken {
                // The word may be an alias of the file that can't be read.
                Some(broken) if error.kind() == ErrorKind::InvalidSubcommand => {
                    let mut look = Global::default().look(&config);
                    look.json = json;
                    shared::exit::report(&broken, &mut Ui::standard(look))
                }
                _ => shared::exit::usage(&error, json),
            };
        }
    };
    cli.global.roots.clone_from(&config.session.roots);
    cli.global.unshown =
        config.fsck.skip.iter().filter_map(|check| crate::fsck::Check::from_id(check)).collect();
    let mut ui = Ui::standard(cli.global.look(&config));
    ui.set_pager(cli.global.pager(&config));
    let result = match broken {
        Some(error) if !works_without_config(&cli.command) => Err(error),
        _ => carry_out(&cli, &config, &mut ui),
    };
    let result = result.and_then(|exit| Ok(ui.finish().map(|()| exit)?));
    match result {
        Ok(exit) => exit,
        Err(error) => shared::exit::report(&error, &mut ui),
    }
}

/// Returns whether a command needs nothing of the config file, so that it helps to repair the file.
fn works_without_config(command: &Command) -> bool {
    match command {
        Command::Help(_) | Command::Man(_) | Command::Completions(_) => true,
        Command::Config(args) => args.wants_no_file(),
        _ => false,
    }
}

fn carry_out(cli: &Cli, config: &Config, ui: &mut Ui) -> anyhow::Result<Exit> {
    let global = &cli.global;
    match &cli.command {
        Command::Append(args) => append::run(args, global, ui),
        Command::Archive(args) => archive::run(args, global, ui),
        Command::Restore(args) => restore::run(args, global, ui),
        Command::Branches(args) => branches::run(args, global, ui),
        Command::Cat(args) => cat::run(args, global, ui),
        Command::CherryPick(args) => cherry_pick::run(args, global, ui),
        Command::Completions(args) => completions::run(args, ui),
        Command::Config(args) => shared::config::run(args, global, config, ui),
        Command::Context(args) => context::run(args, global, ui),
        Command::Convert(args) => convert::run(args, global, ui),
        Command::Fsck(args) => fsck::run(args, global, ui),
        Command::Help(args) => help::run(args, config, ui),
        Command::Grep(args) => grep::run(args, global, ui),
        Command::Join(args) => join::run(args, global, ui),
        Command::Export(args) => export::run(args, global, config, ui),
        Command::ExportBranch(args) => export_branch::run(args, global, ui),
        Command::Diff(args) => diff::run(args, global, ui),
        Command::Drop(args) => drop::run(args, global, ui),
        Command::Label(args) => label::run(args, global, ui),
        Command::Log(args) => log::run(args, global, ui),
        Command::Man(args) => man::run(args, ui),
        Command::Op(args) => op::run(args, global, ui),
        Command::Merge(args) => merge::run(args, global, ui),
        Command::MergeBase(args) => merge_base::run(args, global, ui),
        Command::Move(args) => relocate::run(args, global, ui),
        Command::Migrate(args) => migrate::run(args, global, ui),
        Command::Redo(args) => undo::redo(args, global, ui),
        Command::RevParse(args) => rev_parse::run(args, global, ui),
        Command::Sessions(args) => sessions::run(args, global, config, ui),
        Command::Show(args) => show::run(args, global, ui),
        Command::Slim(args) => slim::run(args, global, ui),
        Command::Stats(args) => stats::run(args, global, config, ui),
        Command::Status(args) => status::run(args, global, ui),
        Command::Switch(args) => switch::run(args, global, ui),
        Command::Tree(args) => tree::run(args, global, config, ui),
        Command::Undo(args) => undo::run(args, global, ui),
    }
}

/// Parses the words. One that is not a command may be an alias, which is replaced by its words.
fn parse(mut words: Vec<OsString>, config: &Config) -> Result<Cli, clap::Error> {
    if words.iter().any(|word| word == "log") {
        words.iter_mut().for_each(number_of_entries);
    }
    // An alias may refer to another one; more than a few form a cycle.
    for _ in 0..10 {
        let error = match parse_words(&words) {
            Err(error) if error.kind() == ErrorKind::InvalidSubcommand => error,
            other => return other.map_err(tips::with_tip),
        };
        let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
            return Err(error);
        };
        let Some(meaning) = config.alias.get(word) else { return Err(tips::with_tip(error)) };
        let Some(at) = words.iter().skip(1).position(|other| **other == **word) else { return Err(error) };
        let meaning = shlex::split(meaning).unwrap_or_default().into_iter().map(OsString::from);
        words.splice(at + 1..at + 2, meaning);
    }
    parse_words(&words).map_err(tips::with_tip)
}

fn parse_words(words: &[OsString]) -> Result<Cli, clap::Error> {
    let mut cli = match parse_one(words) {
        Some(cli) => cli?,
        None => {
            // Help, and the text of an error, may mention all commands.
            let mut command = whole_for_help();
            let matches = command.try_get_matches_from_mut(words)?;
            Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?
        }
    };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    cli.global.asks_back = asks_back(words.iter().map(|word| &**word));
    Ok(cli)
}

/// Parses words that begin with a command, or ask for the version, with the options of that command
/// only: creating the options of all commands costs more than the rest of a short run. Returns
/// `None` if the words are anything else, or wrong.
fn parse_one(words: &[OsString]) -> Option<Result<Cli, clap::Error>> {
    let first = words.get(1)?;
    // The program ends soon, and to free all options one by one takes a tenth of the time until it begins its work.
    let mut cli = ManuallyDrop::new(Cli::command());
    let mut command = Global::augment_args(clap::Command::new("bough"))
        .version(env!("CARGO_PKG_VERSION"))
        .args_override_self(true)
        .disable_help_subcommand(true);
    if let Some(named) = cli.find_subcommand_mut(first) {
        command = command.subcommand(std::mem::take(named));
    }
    let mut command = ManuallyDrop::new(command);
    match command.try_get_matches_from_mut(words) {
        Ok(matches) => Cli::from_arg_matches_mut(&mut ManuallyDrop::new(matches)).ok().map(Ok),
        Err(error) => (error.kind() == ErrorKind::DisplayVersion).then_some(Err(error)),
    }
}

/// Returns whether the command line may contain a revision that refers to HEAD before the last
/// switch; then the operation log is read.
fn asks_back<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    let mut ends = 0;
    words.into_iter().any(|word| {
        // The second may be a revision: the ancestors without the entry itself.
        ends += usize::from(word == "--");
        let value = match word.strip_prefix("--") {
            Some(option) => option.split_once('=').map_or("", |(_, value)| value),
            None => word,
        };
        ends > 1 || value.contains("@{-") || names_former(value)
    })
}

/// Returns whether a revision contains a dash in a place at which an entry may be named.
fn names_former(revision: &str) -> bool {
    revision.match_indices('-').any(|(at, _)| {
        let before = revision[..at].chars().next_back();
        let behind = revision[at + 1..].chars().next();
        matches!(before, None | Some('.' | ':'))
            && matches!(behind, None | Some('~' | '^' | ':' | '.' | '+' | '-'))
    })
}

/// Returns the command line with the options of all commands.
fn whole() -> clap::Command {
    finished(with_examples())
}

/// Returns the commands, each with its examples.
fn with_examples() -> clap::Command {
    let mut command = Cli::command();
    for (_, names) in GROUPS {
        for name in *names {
            command = command.mut_subcommand(name, |inner| inner.after_long_help(examples::help(name)));
        }
    }
    command
}

/// Builds the commands, and adds the overview of them.
fn finished(mut command: clap::Command) -> clap::Command {
    // The commands have no descriptions before this.
    command.build();
    let overview = overview(&command);
    command.help_template(overview)
}

/// Returns the same for help: rare options that all commands take are left to the long form, and `--help` of `fsck`
/// is short.
fn whole_for_help() -> clap::Command {
    let mut command = with_examples();
    for rare in ["input_format", "no_pager", "verbose", "color", "ascii"] {
        command = command.mut_arg(rare, |arg| arg.hide_short_help(true));
    }
    finished(command.mut_subcommand("fsck", with_short_help))
}

/// Makes `--help` as short as `-h`, with the examples: what `fsck` has to say is in its manual page.
fn with_short_help(command: clap::Command) -> clap::Command {
    let help = clap::Arg::new("help")
        .short('h')
        .long("help")
        .action(clap::ArgAction::HelpShort)
        .help("Print help; `bough help fsck` shows more");
    let examples = examples::help(command.get_name());
    command.disable_help_flag(true).arg(help).after_help(examples)
}

/// Returns the template of the help of bough itself, which lists the commands by task.
fn overview(command: &clap::Command) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let widest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut out = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (task, names) in GROUPS {
        out += &format!("\n{header}{task}:{header:#}\n");
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let (name, about) = (command.get_name(), command.get_about().cloned().unwrap_or_default());
            out += &format!("  {literal}{name}{literal:#}{:1$}{about}\n", "", widest + 2 - name.len());
        }
    }
    out + &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}")
}

/// Spells `-3` as `-n3`, for `log`.
fn number_of_entries(word: &mut OsString) {
    let number = word.to_str().and_then(|word| word.strip_prefix('-'));
    let number =
        number.filter(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    if let Some(number) = number {
        *word = format!("-n{number}").into();
    }
}

/// Returns the static completion scripts of all shells, by the names of their files.
pub fn completion_scripts() -> Vec<(String, Vec<u8>)> {
    let shells = clap_complete::Shell::value_variants().iter();
    shells.map(|shell| (format!("bough.{shell}"), completions::script(*shell))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_under_one_task() {
        let mut listed: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        listed.sort_unstable();
        let command = Cli::command();
        let mut all: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    #[rustfmt::skip] // a table
    fn the_log_is_read_only_for_revisions_that_ask_for_it() {
        let check = |words: &str, wanted: bool| assert_eq!(asks_back(words.split(' ')), wanted, "{words}");
        for words in [
            "-", "@{-1}", "@{-1}~2", "-~1", "-^", "-+", "-..HEAD", "HEAD..-", "HEAD...-", "HEAD::-", "-..", "..@{-1}", "--onto=-",
            "--onto=-~1", "--contains=-", "-- --",
        ] {
            check(words, true);
        }
        for words in ["HEAD", "-n", "--", "--json --", "-20", "-n20", "s.jsonl", "0198c0de-0000..0198c0de-0001", "a-b", "--onto=a-b"] {
            check(words, false);
        }
    }
}
