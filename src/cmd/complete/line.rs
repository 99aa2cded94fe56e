//! The words on the command line before the word that is completed.

use crate::cmd::shared::config;
use crate::cmd::shared::config::Config;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::session_arg;
use crate::cmd::shared::words;
use crate::store::{self, Opened};
use clap::{Arg, Command};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The session, and the words before the one that is completed.
#[derive(Debug, Default)]
pub(super) struct Typed {
    /// The session given by `-s`, or by a first word that looks like a file, or by the environment.
    session: Option<String>,
    /// Whether the first word, which may name the session, is still missing.
    first: bool,
    /// The words of the command, except the session.
    pub(super) words: Vec<String>,
    /// The options, by their ids, with their values.
    options: Vec<(String, String)>,
    /// The config file.
    config: Config,
}

static TYPED: OnceLock<Typed> = OnceLock::new();

/// Returns the words typed so far, once [`read`] was called.
pub(super) fn typed() -> &'static Typed {
    TYPED.get_or_init(Typed::default)
}

/// Reads the words of a command line up to the one that is completed, for [`typed`]; returns them
/// with aliases resolved.
///
/// The names of aliases are added as commands to `command`, so that they are offered, too.
pub(super) fn read(command: &mut Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let config = config::load().unwrap_or_default();
    unalias(command, &config, &mut words);
    for (name, meaning) in &config.alias {
        if command.find_subcommand(name).is_none() {
            *command = std::mem::take(command)
                .subcommand(Command::new(name.clone()).about(format!("Alias of `{meaning}`")));
        }
    }
    let before: Vec<String> =
        words.iter().take(words.len() - 1).skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let _ = TYPED.set(Typed::parse(command, &before, config));
    words
}

/// Replaces an alias with its words.
fn unalias(command: &Command, config: &Config, words: &mut Vec<OsString>) {
    // An alias may refer to another one; more than a few form a cycle.
    for _ in 0..10 {
        let mut options = Options::default();
        let last = words.len() - 1;
        let at =
            (1..last).find(|at| matches!(options.next(command, &words[*at].to_string_lossy()), Part::Word));
        let Some(at) = at.filter(|at| command.find_subcommand(&words[*at]).is_none()) else { return };
        let Some(meaning) = config.alias.get(&*words[at].to_string_lossy()) else { return };
        let meaning = shlex::split(meaning).unwrap_or_default().into_iter().map(OsString::from);
        words.splice(at..=at, meaning);
    }
}

/// The type of a word on the command line.
enum Part {
    /// A command, an alias, or an argument of a command.
    Word,
    /// An option without a value, or one whose value follows.
    Option,
    /// An option with its value.
    Value(String, String),
}

/// Distinguishes the words of a command from its options and their values.
#[derive(Default)]
struct Options {
    /// The option whose value comes next.
    open: Option<String>,
    /// Whether `--` came before.
    ended: bool,
    /// The options without values so far.
    flags: Vec<String>,
}

impl Options {
    fn next(&mut self, command: &Command, word: &str) -> Part {
        if let Some(option) = self.open.take() {
            return Part::Value(option, word.to_owned());
        }
        if self.ended || word == "-" || !word.starts_with('-') {
            return Part::Word;
        }
        if word == "--" {
            self.ended = true;
            return Part::Option;
        }
        let Some(long) = word.strip_prefix("--") else { return self.short(command, &word[1..]) };
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let fits = |arg: &&Arg| {
            let names = arg.get_long_and_visible_aliases().into_iter().flatten();
            names.chain(arg.get_all_aliases().into_iter().flatten()).any(|known| known == name)
        };
        let Some(arg) = command.get_arguments().find(fits) else { return Part::Option };
        match value {
            Some(value) => Part::Value(arg.get_id().to_string(), value.to_owned()),
            None => self.without_value(arg),
        }
    }

    /// Parses a group of short options; the rest after one with a value is the value.
    fn short(&mut self, command: &Command, group: &str) -> Part {
        for (at, sign) in group.char_indices() {
            let Some(arg) = command.get_arguments().find(|arg| arg.get_short() == Some(sign)) else {
                continue;
            };
            let rest = &group[at + sign.len_utf8()..];
            if takes_value(arg) && !rest.is_empty() {
                let value = rest.strip_prefix('=').unwrap_or(rest);
                return Part::Value(arg.get_id().to_string(), value.to_owned());
            }
            self.without_value(arg);
        }
        Part::Option
    }

    fn without_value(&mut self, arg: &Arg) -> Part {
        if takes_value(arg) {
            self.open = Some(arg.get_id().to_string());
        } else {
            self.flags.push(arg.get_id().to_string());
        }
        Part::Option
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.min_values() > 0)
}

impl Typed {
    /// Reads the words after the name of the program.
    fn parse(command: &Command, before: &[String], config: Config) -> Typed {
        let mut typed = Typed { config, ..Typed::default() };
        let mut at = command;
        let mut options = Options::default();
        for word in before {
            match options.next(at, word) {
                Part::Option => {}
                Part::Value(option, value) => typed.options.push((option, value)),
                Part::Word => match at.find_subcommand(word) {
                    Some(below) if typed.words.is_empty() => at = below,
                    _ => typed.words.push(word.clone()),
                },
            }
        }
        typed.options.extend(options.flags.into_iter().map(|flag| (flag, String::new())));
        let named = typed.value("session").map(str::to_owned);
        typed.first = named.is_none() && typed.words.is_empty();
        typed.session = named;
        if typed.session.is_none() && typed.begins_with_session(at.get_name()) {
            typed.session = Some(typed.words.remove(0));
        }
        if typed.session.is_none() {
            typed.session = crate::cmd::shared::options::session_variable();
        }
        typed
    }

    /// Returns whether the first word of a command names the session.
    fn begins_with_session(&self, command: &str) -> bool {
        let Some(word) = self.words.first() else { return false };
        // The first word of `grep` is the expression, even if it looks like a file.
        if command == "grep" {
            return false;
        }
        let global = Global { roots: self.config.session.roots.clone(), ..Global::default() };
        session_arg::looks_like_a_file(&at_home(word))
            || command != "label" && words::is_id_of_session(&global, word)
    }

    /// Returns the value of an option.
    fn value(&self, option: &str) -> Option<&str> {
        self.options.iter().rev().find(|(name, _)| name == option).map(|(_, value)| &**value)
    }

    /// Returns the folder of the archive given by `--from`.
    pub(super) fn folder_of_archive(&self) -> Option<PathBuf> {
        self.value("from").map(at_home).map(PathBuf::from)
    }

    /// Returns whether an option is given.
    pub(super) fn has(&self, option: &str) -> bool {
        self.value(option).is_some()
    }

    /// Returns whether the completed word may name the session.
    pub(super) fn may_name_session(&self) -> bool {
        self.first && !(self.has("from") || self.has("to"))
    }

    /// Returns the folders with sessions in the config file.
    pub(super) fn roots(&self) -> &[PathBuf] {
        &self.config.session.roots
    }

    /// Opens the session of the command.
    pub(super) fn open(&self) -> Option<Opened> {
        self.open_word(self.session.as_deref())
    }

    /// Opens the session in which the completed word names an entry: that of `--from`, that of
    /// `--to` for the second word, or else the session of the command.
    pub(super) fn open_from(&self) -> Option<Opened> {
        let other = if self.words.is_empty() || !self.has("to") { "from" } else { "to" };
        self.open_word(self.value(other).or(self.session.as_deref()))
    }

    fn open_word(&self, word: Option<&str>) -> Option<Opened> {
        let global = Global {
            roots: self.config.session.roots.clone(),
            input_format: self.value("input_format").map(str::to_owned),
            ..Global::default()
        };
        let path = match word {
            Some("-") => return None,
            Some(word) => session_arg::by_word(&global, &at_home(word)).ok()?,
            None => session_arg::latest(&global).ok()?,
        };
        store::open(&path, global.options()).ok()
    }
}

/// Returns a word as the shell will pass it to the program: with `~` replaced by the home folder.
pub(super) fn at_home(word: &str) -> String {
    match (word.strip_prefix("~/"), etcetera::home_dir()) {
        (Some(below), Ok(home)) => home.join(below).to_string_lossy().into_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[track_caller]
    fn check(line: &str, session: &str, words: &str) {
        let mut command = crate::cmd::Cli::command();
        command.build();
        let config =
            Config { alias: [("lg".to_owned(), "log --oneline".to_owned())].into(), ..Config::default() };
        let mut all: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        unalias(&command, &config, &mut all);
        let before: Vec<String> =
            all[1..all.len() - 1].iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let typed = Typed::parse(&command, &before, config);
        assert_eq!(
            (typed.session.as_deref().unwrap_or_default(), &*typed.words.join(" ")),
            (session, words),
            "{line}"
        );
    }

    #[test]
    #[rustfmt::skip] // a table
    fn the_session_is_found_among_the_words() {
        //     the line, its last word being completed      the session  the other words
        check("bough log ",                                 "",          "");
        check("bough log a.jsonl ",                         "a.jsonl",   "");
        check("bough log -n 3 a.jsonl ",                    "a.jsonl",   "");
        check("bough log -n3 --kind user a.jsonl HEAD ",    "a.jsonl",   "HEAD");
        check("bough log --kind=user a.jsonl HEAD ",        "a.jsonl",   "HEAD");
        check("bough log HEAD a.jsonl ",                    "",          "HEAD a.jsonl");
        check("bough -s a.jsonl log ",                      "a.jsonl",   "");
        check("bough log -s a.jsonl b.jsonl ",              "a.jsonl",   "b.jsonl");
        check("bough log --session=a.jsonl ",               "a.jsonl",   "");
        check("bough log -sa.jsonl ",                       "a.jsonl",   "");
        check("bough log -s 3f2a HEAD ",                    "3f2a",      "HEAD");
        check("bough --ascii -q lg a.jsonl ",               "a.jsonl",   "");
        check("bough op log a.jsonl ",                      "a.jsonl",   "");
        check("bough label -d a.jsonl ",                    "a.jsonl",   "");
        check("bough log -- a.jsonl ",                      "a.jsonl",   "");
        check("bough grep a.jsonl ",                        "",          "a.jsonl");
        check("bough log - ",                               "-",         "");
    }
}
