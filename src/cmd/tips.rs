//! What to type instead of a command that bough does not have: verbs of git and of others, and slips of the fingers.

use super::Cli;
use crate::model::is_slip;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What removes a part of a session, or all of it.
const REMOVE: &str = "`bough drop REV` removes a branch; `bough label -d NAME` deletes a label; a session is gone with its \
                      file, which `bough archive` keeps";

/// Words that other tools have, and what bough has for them.
const TIPS: &[(&str, &str)] = &[
    ("add", "agents write sessions; `bough append` adds one entry"),
    ("amend", "`bough switch --rewind REV` moves to before a prompt and prints it, to be sent again"),
    ("bisect", "`bough grep TEXT` finds entries; `bough diff A B` compares branches"),
    ("blame", "`bough log REV` shows the path to an entry; `bough grep TEXT` finds entries"),
    ("branch", "`bough branches` lists branches; `bough switch REV` starts one"),
    ("check", "`bough fsck`"),
    ("checkout", "`bough switch REV`"),
    ("clone", "`bough export-branch -o FILE` writes a branch as a session of its own"),
    ("commit", "agents write sessions; `bough append` adds one entry"),
    (
        "compact",
        "`bough slim` makes a session small enough to resume; `bough append --kind compaction` adds a summary",
    ),
    ("continue", "`bough status` prints the command with which the agent continues a session"),
    ("copy", "`bough cherry-pick REV` copies entries; `bough export-branch` writes a branch as a session"),
    ("cost", "`bough stats`"),
    ("cp", "`bough cherry-pick REV` copies entries; `bough export-branch` writes a branch as a session"),
    ("delete", REMOVE),
    ("describe", "`bough status`"),
    ("doctor", "`bough fsck`"),
    ("edit", "`bough switch --rewind REV` moves to before a prompt and prints it, to be sent again"),
    ("fetch", "`bough merge --from SESSION` copies what another session adds"),
    ("find", "`bough grep TEXT` finds entries; `bough sessions --all` lists sessions"),
    ("fix", "`bough fsck --repair`"),
    ("fork", "`bough export-branch --store REV` makes a session that the agent can resume"),
    ("gc", "`bough op prune` deletes old backups"),
    ("history", "`bough log` shows a session; `bough op log` lists what bough did"),
    ("import", "`bough convert` writes a session for another agent"),
    ("info", "`bough status`"),
    ("init", "agents write sessions; `bough sessions` lists them"),
    ("list", "`bough sessions`"),
    ("ls", "`bough sessions`"),
    ("mv", "`bough move OLD NEW` after a folder was renamed; `bough switch REV` moves HEAD"),
    ("notes", "`bough label NAME [REV]`"),
    ("open", "`bough tree` shows a session; `bough status` prints how the agent continues it"),
    ("pick", "`bough cherry-pick REV`"),
    ("print", "`bough show REV`; `bough export --to md` prints a conversation"),
    ("prune", "`bough drop --others` removes branches; `bough op prune` deletes old backups"),
    ("pull", "`bough merge --from SESSION` copies what another session adds"),
    ("push", "sessions are files; `bough export` writes a page to share"),
    ("rebase", "`bough cherry-pick --onto REV A..B` copies entries to another branch"),
    ("reflog", "`bough op log`"),
    ("remote", "bough has no network code; `bough merge --from SESSION` copies what another session adds"),
    ("remove", REMOVE),
    ("rename", "`bough move OLD NEW` after a folder was renamed; agents name their sessions"),
    ("repair", "`bough fsck --repair`"),
    ("reset", "`bough switch REV`"),
    ("resume", "`bough status` prints the command with which the agent continues a session"),
    ("revert", "`bough undo`"),
    ("rewind", "`bough switch --rewind REV` moves to before a prompt; `bough switch turn:N` moves to one"),
    ("rm", REMOVE),
    ("search", "`bough grep`"),
    ("session", "`bough sessions`"),
    ("shortlog", "`bough log --oneline`"),
    ("shrink", "`bough slim`"),
    ("squash", "`bough slim` makes a session smaller; `bough drop REV` removes a branch"),
    ("stash", "`bough label NAME` labels HEAD; `bough switch NAME` goes back to it"),
    ("tag", "`bough label NAME [REV]`"),
    ("usage", "`bough stats`"),
    ("version", "`bough --version`"),
    ("view", "`bough tree` shows a session; `bough show REV` shows an entry"),
    ("worktree", "`bough export-branch --store REV` makes a session that the agent can resume"),
];

/// What bough has for a word below a command that has commands of its own.
const BELOW: &[(&str, &str)] = &[
    (
        "bough archive",
        "`bough archive` archives all sessions; `bough sessions --archived` lists those of the archive",
    ),
    ("bough config", "`bough config list` prints the settings"),
    ("bough op", "`bough op log` lists the operations; `bough undo OP` undoes one"),
];

/// Options that other tools have, and what bough has for them.
const OPTION_TIPS: &[(&str, &str)] = &[
    ("--abort", "nothing is left half done; `bough undo` undoes the last operation"),
    (
        "--all-branches",
        "`bough log --graph --all` shows all branches; a page of `bough export` has all of them",
    ),
    ("--cost", "`bough stats` sums up costs; prices are set in the config file, see `bough help config`"),
    ("--fix", "`bough fsck --repair`"),
    ("--hard", "`bough switch REV` moves HEAD; nothing is lost, and `bough undo` goes back"),
    (
        "--list",
        "`bough label` lists the labels, `bough branches` the branches, `bough sessions` the sessions",
    ),
    ("--patch", "`bough show REV` shows an entry; `bough diff A B` compares branches"),
    (
        "--pretty",
        "`bough log --format TEMPLATE` chooses what rows show, `bough log --oneline` prints short rows",
    ),
    ("--price", "prices are set in the config file, see `bough help config`"),
    ("--prices", "prices are set in the config file, see `bough help config`"),
    ("--short", "`bough log --oneline` prints short rows"),
    ("-a", "`bough branches` lists all branches, and `bough log --all` all entries"),
    ("-b", "a branch begins where the agent goes on after `bough switch REV`"),
    ("-d", "`bough drop REV` removes a branch; `bough label -d NAME` deletes a label"),
    ("-f", "there is no short form of --force; `bough label -m NAME REV` moves a label"),
    ("-l", "`bough label` lists the labels"),
    ("-r", "folders are read with all that is below them"),
];

/// Adds to the error about an unknown command or option what to type instead.
pub(super) fn with_tip(mut error: clap::Error) -> clap::Error {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
    {
        let tip = OPTION_TIPS.iter().find(|(known, _)| known == option);
        if !usage.contains("bough grep ") {
            // That a value may begin with a dash helps nobody who mistook an option.
            error.remove(ContextKind::Suggested);
        }
        if let Some((_, tip)) = tip {
            // The suggestion of clap is by spelling, and worse.
            error.remove(ContextKind::SuggestedArg);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*tip).into()]));
        }
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let below = BELOW.iter().find(|(command, _)| usage.contains(&format!("{command} ")));
    let tip = match below {
        Some((_, tip)) => Some((*tip).to_owned()),
        None => for_word(word),
    };
    // The suggestion of clap is by spelling, and often wrong: it takes `worktree` for `restore`.
    error.remove(ContextKind::SuggestedSubcommand);
    let tip = tip.unwrap_or_else(|| "`bough help` lists the commands".to_owned());
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// Returns what bough has for a word that is no command.
pub(super) fn for_word(word: &str) -> Option<String> {
    let known = TIPS.iter().find(|(known, _)| *known == word);
    known.map(|(_, tip)| (*tip).to_owned()).or_else(|| near(word))
}

/// Returns the commands that differ from a word by a slip: two letters changed places, or one too many, too few or wrong. Else
/// the tip for a word of another tool that differs by one, else the only command that begins with the word.
fn near(word: &str) -> Option<String> {
    let command = Cli::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let slips: Vec<String> =
        names.iter().filter(|name| is_slip(word, name)).map(|name| format!("`bough {name}`")).collect();
    if !slips.is_empty() {
        return Some(slips.join(", "));
    }
    let mut meant = TIPS.iter().filter(|(known, _)| known.len() > 3 && is_slip(word, known));
    if let Some((_, tip)) = meant.next().filter(|_| meant.next().is_none()) {
        return Some((*tip).to_owned());
    }
    let mut begun = names.iter().filter(|name| word.len() > 2 && name.starts_with(word));
    begun.next().filter(|_| begun.next().is_none()).map(|name| format!("`bough {name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tip_is_for_a_command_and_every_one_names_commands() {
        let command = Cli::command();
        for (word, tip) in TIPS.iter().chain(BELOW).chain(OPTION_TIPS) {
            assert!(command.find_subcommand(word).is_none(), "{word}");
            for line in tip.split('`').skip(1).step_by(2) {
                let name = line.split(' ').nth(1).unwrap();
                assert!(name == "--version" || command.find_subcommand(name).is_some(), "{word}: {line}");
            }
        }
        assert!(TIPS.is_sorted_by_key(|(word, _)| *word) && OPTION_TIPS.is_sorted_by_key(|(word, _)| *word));
    }

    #[test]
    #[rustfmt::skip] // a table
    fn slips_are_known() {
        let check = |word: &str, wanted: Option<&str>| assert_eq!(near(word).as_deref(), wanted, "{word}");
        check("lgo",     Some("`bough log`"));
        check("lo",      Some("`bough log`"));
        check("logg",    Some("`bough log`"));
        check("statu",   Some("`bough stats`, `bough status`"));
        check("stauts",  Some("`bough stats`, `bough status`"));
        check("swicth",  Some("`bough switch`"));
        check("unde",    Some("`bough undo`"));
        check("sess",    Some("`bough sessions`"));
        check("export-", Some("`bough export`"));
        check("brnach",  Some("`bough branches` lists branches; `bough switch REV` starts one"));
        check("comit",   Some("agents write sessions; `bough append` adds one entry"));
        check("se",      None);
        check("lx",      None);
        check("zzz",     None);
        check("",        None);
    }
}
