//! The examples of the commands, for `--help` and the manual pages: a line and what it does. Tests run each of them on
//! `examples/sessions/parser.jsonl`.

/// A command line, and what it does.
pub type Example = (&'static str, &'static str);

/// The examples of each command.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "append",
        &[
            (
                "bough append --kind message --text 'Run the tests'",
                "Add a prompt, as if the user had typed it",
            ),
            (
                "echo 'The build is green' | bough append --kind custom-message --type ci",
                "Add a text for the model",
            ),
            (
                "bough append --kind compaction --keep HEAD --summary 'A parser was written'",
                "Replace the messages before HEAD with a summary",
            ),
        ],
    ),
    (
        "archive",
        &[
            ("bough archive", "Archive all sessions of this machine; another run adds what is new"),
            ("bough archive && bough archive --verify", "Archive, and compare everything with its hash"),
            ("bough archive --hardlink", "Link the files instead of packing them"),
        ],
    ),
    (
        "branches",
        &[
            ("bough branches", "List the branches"),
            ("bough branches --points", "List the entries at which branches part"),
            ("bough branches --ids", "Print only the ids of the leaves"),
        ],
    ),
    (
        "cat",
        &[
            ("bough cat HEAD", "Print the line of HEAD as it is stored"),
            ("bough cat turn:1", "Print the line of the first prompt"),
            ("bough cat HEAD~1 HEAD | wc -c", "Count the bytes of two entries"),
        ],
    ),
    (
        "cherry-pick",
        &[
            ("bough cherry-pick generator", "Copy the entry that is labeled `generator` to HEAD"),
            ("bough cherry-pick -n HEAD..generator", "Show what copying a range would write"),
            (
                "bough cherry-pick -x --strip-thinking generator",
                "Note where the copy comes from, and leave thinking out",
            ),
        ],
    ),
    (
        "completions",
        &[
            ("bough completions bash", "Print the completion script of bash"),
            ("bough completions zsh > _bough", "Write the completion script of zsh to a file"),
            ("bough completions fish | head -n 3", "Show the beginning of the completion script of fish"),
        ],
    ),
    (
        "config",
        &[
            ("bough config list", "List the current settings"),
            ("bough config list --origin", "List them with their sources"),
            ("bough config path", "Print the path of the config file"),
        ],
    ),
    (
        "context",
        &[
            ("bough context --oneline", "List the messages that the model would be sent"),
            ("bough context --stat", "Count the messages"),
            ("bough context --dropped", "List the entries that it would not be sent, and why"),
        ],
    ),
    (
        "diff",
        &[
            ("bough diff generator HEAD", "Compare two branches"),
            ("bough diff --stat generator HEAD", "Compare their numbers of entries, tokens and tool calls"),
            ("bough diff --name-only generator", "List the entries in which a branch and HEAD differ"),
        ],
    ),
    (
        "drop",
        &[
            ("bough drop -n generator", "Show what dropping an entry, and all below it, would remove"),
            ("bough drop --others", "Keep only the branch of HEAD"),
            ("bough drop --others generator", "Keep that branch, too"),
        ],
    ),
    (
        "export",
        &[
            ("bough export -o page.html", "Write a page with the tree beside the conversation"),
            ("bough export turn:1.. --to md", "Print everything after the first prompt as Markdown"),
            ("bough export --to jsonl --redact=credentials,paths", "Print the session without its secrets"),
        ],
    ),
    (
        "convert",
        &[
            ("bough convert --to claude -o copy.jsonl", "Write the session for Claude Code"),
            ("bough convert --to codex --thinking text -o copy.jsonl", "Keep thoughts as text"),
            ("bough convert --to omp -n", "Show what would be lost"),
        ],
    ),
    (
        "export-branch",
        &[
            (
                "bough export-branch --store turn:2^",
                "Make a session that ends before the second prompt, and print how to resume it",
            ),
            ("bough export-branch generator -o copy.jsonl", "Write the branch with this label to a file"),
            ("bough export-branch --subtree turn:1 -o all.jsonl", "Write an entry and all its descendants"),
        ],
    ),
    (
        "fsck",
        &[
            ("bough fsck", "Check the session"),
            ("bough fsck -n --repair parser.jsonl", "Show what a repair would change"),
            ("bough fsck --explain dangling-parent", "Explain a check"),
        ],
    ),
    (
        "grep",
        &[
            ("bough grep -i parser", "Search the session"),
            ("bough grep --kind user .", "List all prompts"),
            ("bough grep -c parser .", "Count the matching entries in each file of a folder"),
        ],
    ),
    (
        "help",
        &[
            ("bough help log", "Show the manual page of a command"),
            ("bough help revisions", "Show how to name entries"),
            ("bough help config", "Show the settings"),
        ],
    ),
    (
        "join",
        &[
            ("cp parser.jsonl copy.jsonl && bough join parser.jsonl copy.jsonl", "Add what a copy has"),
            (
                "cp parser.jsonl copy.jsonl && bough join parser.jsonl copy.jsonl -o joined.jsonl",
                "Write the result to another file",
            ),
            (
                "cp -p parser.jsonl 'parser (conflicted copy).jsonl' && bough join --conflicts --remove .",
                "Join the copies that a synchronized folder got",
            ),
        ],
    ),
    (
        "label",
        &[
            ("bough label good", "Label HEAD"),
            ("bough label start turn:1", "Label the first prompt"),
            ("bough label -d generator", "Delete a label"),
        ],
    ),
    (
        "log",
        &[
            ("bough log --graph", "Show the tree of the session"),
            ("bough log --oneline -n 5", "List the last five entries"),
            ("bough log --kind user --since '1 year ago'", "List the prompts of a year"),
        ],
    ),
    (
        "man",
        &[
            ("bough man pages", "Write the manual pages to a folder"),
            ("bough man --dir pages", "Do the same with an option"),
            (
                "bough man share/man/man1 && ls share/man/man1 | head -n 3",
                "Write them to a new folder, and list some",
            ),
        ],
    ),
    (
        "merge",
        &[
            ("bough merge generator", "Copy the entries of a branch to HEAD"),
            ("bough merge -n generator", "Show what a merge would write"),
            (
                "bough merge --squash --summary 'A generator is slower' generator",
                "Add one summary of the branch instead",
            ),
        ],
    ),
    (
        "merge-base",
        &[
            ("bough merge-base generator", "Print the entry where a branch and HEAD part"),
            ("bough merge-base --short generator two-ways", "Print a short id"),
            ("bough diff generator \"$(bough merge-base generator)\"", "Show what the branch added"),
        ],
    ),
    (
        "migrate",
        &[
            ("bough migrate --check .", "List the files of old versions"),
            ("bough migrate -n parser.jsonl", "Show what an upgrade would change"),
            ("bough migrate parser.jsonl", "Upgrade a file"),
        ],
    ),
    (
        "move",
        &[
            (
                "bough move -n /home/dev/logfmt /home/dev/service",
                "Show what would move after a folder was renamed",
            ),
            (
                "bough move /home/dev/logfmt /home/dev/service",
                "Move its sessions, so that the agents find them",
            ),
            ("bough move -s parser.jsonl --to /home/dev/service", "Continue one session in another folder"),
        ],
    ),
    (
        "op",
        &[
            ("bough op log", "List the operations"),
            ("bough op log --stat", "Show how much space the backups take"),
            ("bough op prune -n", "Show which operations and backups would be removed"),
        ],
    ),
    (
        "redo",
        &[
            ("bough label good && bough undo && bough redo", "Redo what was just undone"),
            (
                "bough label good && bough switch turn:1 && bough undo -n 2 && bough redo -n 2",
                "Redo two operations",
            ),
            ("bough label good && bough undo && bough redo --dry-run", "Show what that would change"),
        ],
    ),
    (
        "restore",
        &[
            (
                "bough archive -q && bough restore --allow=overwrite 0198f3a2",
                "Put a session back as it was archived",
            ),
            (
                "bough archive -q && bough restore -n 0198f3a2 --to restored",
                "Show what restoring it into another folder would write",
            ),
            (
                "bough archive -q -o backup && bough restore 0198f3a2 --from backup --to restored",
                "Take it from another archive",
            ),
        ],
    ),
    (
        "rev-parse",
        &[
            ("bough rev-parse HEAD~2", "Print the id of an entry"),
            ("bough rev-parse --short leaves", "Print the short ids of all leaves"),
            ("bough rev-parse --count HEAD..generator", "Count the entries of a range"),
        ],
    ),
    (
        "sessions",
        &[
            ("bough sessions .", "List the sessions below a folder"),
            ("bough sessions --date local .", "List the sessions of a folder with their dates"),
            ("bough sessions --paths .", "Print only the paths of the files"),
        ],
    ),
    (
        "show",
        &[
            ("bough show", "Show HEAD"),
            ("bough show turn:1", "Show the first prompt"),
            ("bough show --json HEAD", "Print HEAD as JSON"),
        ],
    ),
    (
        "slim",
        &[
            ("bough slim --report", "Show what is big"),
            ("bough slim --images --results=4k -o smaller.jsonl", "Write a smaller copy"),
            ("bough slim --budget=150k --in-place", "Make room for the next prompt"),
        ],
    ),
    (
        "stats",
        &[
            ("bough stats", "Count the tokens, tools and bytes of the session"),
            ("bough stats --by day,model .", "Count the sessions below a folder by day and model"),
            ("bough stats --by file", "List the files that were read and changed"),
        ],
    ),
    (
        "status",
        &[
            ("bough status", "Show where HEAD is, and whether the session has faults"),
            ("bough status parser.jsonl", "Show the state of a session file"),
            ("bough status --json", "Print it as JSON"),
        ],
    ),
    (
        "switch",
        &[
            ("bough switch turn:1", "Move HEAD to the first prompt"),
            ("bough switch --rewind turn:2", "Move HEAD to before a prompt, and print the prompt"),
            ("bough switch -c again HEAD~1", "Move to an entry, and label it"),
        ],
    ),
    (
        "tree",
        &[
            ("bough tree", "Browse the tree of the session"),
            ("bough tree --filter user-only parser.jsonl", "Browse only the prompts of a session file"),
            ("bough switch \"$(bough tree --select)\"", "Choose the entry to move HEAD to"),
        ],
    ),
    (
        "undo",
        &[
            ("bough label good && bough undo", "Undo the last operation"),
            ("bough switch turn:1 && bough undo --dry-run", "Show what that would change"),
            ("bough label good && bough undo --file parser.jsonl", "Undo only the change of one file"),
        ],
    ),
];

/// Returns the examples of a command.
pub fn examples(command: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

/// Returns the examples of a command for `--help`.
pub(super) fn help(command: &str) -> String {
    let mut out = String::from("Examples:");
    for (line, what) in examples(command) {
        out.push_str(&format!("\n  {what}:\n    $ {line}"));
    }
    out
}

/// Returns the section of a manual page.
pub(super) fn section(command: &str) -> String {
    let rows = examples(command).iter().map(|(line, what)| format!("- {line} — {what}\n"));
    let rows: String = rows.collect();
    if rows.is_empty() { rows } else { format!("# Examples\n{rows}") }
}
