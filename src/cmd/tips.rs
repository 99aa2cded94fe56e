//! What to type instead of a command that bough does not have: verbs of git and of others, and slips of the fingers.

use super::Cli;
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
    ("continue", "`bough status` prints the command with which the agent continues a session"),
    ("copy", "`bough cherry-pick REV` copies entries; `bough export-branch` writes a branch as a session"),
    ("cost", "`bough stats`"),
    ("delete", REMOVE),
    ("describe", "`bough status`"),
    ("doctor", "`bough fsck`"),
    ("edit", "`bough switch --rewind REV` moves to before a prompt and prints it, to be sent again"),
    ("fetch", "`bough merge --from SESSION` copies what another session adds"),
    ("find", "`bough grep TEXT` finds entries; `bough sessions --all` lists sessions"),
    ("fix", "`bough fsck --repair`"),
    ("fork", "`bough export-branch --store REV` makes a session that the agent can resume"),
    ("gc", "`bough op prune` deletes old backups"),
    ("init", "agents write sessions; `bough sessions` lists them"),
    ("list", "`bough sessions`"),
    ("ls", "`bough sessions`"),
    ("mv", "`bough move OLD NEW` after a folder was renamed; `bough switch REV` moves HEAD"),
    ("open", "`bough tree` shows a session; `bough status` prints how the agent continues it"),
    ("pick", "`bough cherry-pick REV`"),
    ("prune", "`bough drop --others` removes branches; `bough op prune` deletes old backups"),
    ("pull", "`bough merge --from SESSION` copies what another session adds"),
    ("push", "sessions are files; `bough export` writes a page to share"),
    ("rebase", "`bough cherry-pick --onto REV A..B` copies entries to another branch"),
    ("reflog", "`bough op log`"),
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
    ("stash", "`bough label NAME` labels HEAD; `bough switch NAME` goes back to it"),
    ("tag", "`bough label NAME [REV]`"),
    ("version", "`bough --version`"),
];

/// Options that other tools have, and what bough has for them.
const OPTION_TIPS: &[(&str, &str)] = &[
    ("--abort", "nothing is left half done; `bough undo` undoes the last operation"),
    ("--cost", "`bough stats` sums up costs; prices are set in the config file, see `bough help config`"),
    ("--fix", "`bough fsck --repair`"),
    ("--hard", "`bough switch REV` moves HEAD; nothing is lost, and `bough undo` goes back"),
    ("--patch", "`bough show REV` shows an entry; `bough diff A B` compares branches"),
    ("--price", "prices are set in the config file, see `bough help config`"),
    ("--prices", "prices are set in the config file, see `bough help config`"),
    ("--short", "`bough log --oneline` prints short rows"),
    ("-a", "`bough branches` lists all branches, and `bough log --all` all entries"),
    ("-b", "a branch begins where the agent goes on after `bough switch REV`"),
    ("-d", "`bough drop REV` removes a branch; `bough label -d NAME` deletes a label"),
    ("-l", "`bough label` lists the labels"),
];

/// Adds to the error about an unknown command or option what to type instead.
pub(super) fn with_tip(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && let Some((_, tip)) = OPTION_TIPS.iter().find(|(known, _)| known == option)
    {
        // The suggestion of clap is by spelling, and worse.
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*tip).into()]));
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let tip = match TIPS.iter().find(|(known, _)| known == word) {
        Some((_, tip)) => Some((*tip).to_owned()),
        None => near(word).map(|name| format!("`bough {name}`")),
    };
    if let Some(tip) = tip {
        // The suggestion of clap is by spelling, and worse.
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the command that differs from a word by a slip: two letters changed places, or one too many, too few or wrong.
fn near(word: &str) -> Option<String> {
    let command = Cli::command();
    let mut names = command.get_subcommands().map(clap::Command::get_name);
    names.find(|name| is_slip(word.as_bytes(), name.as_bytes())).map(str::to_owned)
}

fn is_slip(word: &[u8], name: &[u8]) -> bool {
    let same = word.iter().zip(name).take_while(|(a, b)| a == b).count();
    let (word, name) = (&word[same..], &name[same..]);
    match (word, name) {
        ([a, b, word @ ..], [c, d, name @ ..]) if a == d && b == c && word == name => true,
        ([_, word @ ..], [_, name @ ..]) if word == name => true,
        ([_, word @ ..], name) if word == name => true,
        (word, [_, name @ ..]) => word == name,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tip_is_for_a_command_and_every_one_names_commands() {
        let command = Cli::command();
        for (word, tip) in TIPS.iter().chain(OPTION_TIPS) {
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
        check("lgo",     Some("log"));
        check("lo",      Some("log"));
        check("logg",    Some("log"));
        check("statu",   Some("stats"));
        check("swicth",  Some("switch"));
        check("unde",    Some("undo"));
        check("zzz",     None);
        check("",        None);
    }
}
