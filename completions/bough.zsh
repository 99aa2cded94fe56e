#compdef bough

autoload -U is-at-least

_bough() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_bough_commands" \
"*::: :->bough" \
&& ret=0
    case $state in
    (bough)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:bough-command-$line[1]:"
        case $line[1] in
            (branches)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--contains=[Only branches whose path has this entry]:REV:_default' \
'--sort=[Sort by \`age\`, \`entries\`, \`own\` or \`name\`; with \`-\` in front, the other way round]:KEY:_default' \
'(--points --contains --sort --dag --porcelain)--order=[The reading of Claude Code'\''s entries\: \`own\` is bough'\''s, \`document\` that of claude-code-log]:ORDER:(own document)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-v[Show the last entry of each branch too]' \
'(--contains --porcelain)--points[List the entries at which branches part instead]' \
'--all[List all entries without children, those too that are only bookkeeping]' \
'--dag[Follow the stored links alone, not the reading that joins what a client recorded apart]' \
'--porcelain[Print fields for scripts\: \`*\` or a blank, leaf, entries, own, fork point, name; with tabs between]' \
'--ids[Print the ids of the leaves alone, one a line]' \
'-z[End each row with a NUL byte instead of a new line; for \`--ids\`, \`--porcelain\` and \`--json\`]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::file -- The session, if it is not the newest of this folder:_default' \
&& ret=0
;;
(cat)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'--pretty[Lay the JSON out over lines]' \
'-z[End each entry with a NUL byte instead of a new line]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then revisions and ranges:_default' \
&& ret=0
;;
(cherry-pick)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--onto=[Put the copies under this entry]:REV:_default' \
'--from=[Take the entries from this session]:SESSION:_default' \
'*--allow=[Override one refusal for safety, where \`--force\` overrides most of them]:WHAT:((live\:"an agent is at work on the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is cut off\: a new line is begun after it"
overwrite\:"a file is there already\: the new one takes its place, and the old one is backed up"
hardlink\:"the file has other names, which will keep the old content"
changed\:"the file grew since it was read\: lines are appended to what is there"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-x[Say in the session where the copies come from]' \
'--no-pairs[Refuse to copy a call without its result being named, or the reverse]' \
'--strip-thinking[Leave the model'\''s thinking out of the copies]' \
'--zero-usage[Set the counted tokens of the copies to zero]' \
'-n[Print what would be written, byte by byte, and write nothing]' \
'--dry-run[Print what would be written, byte by byte, and write nothing]' \
'--force[Override refusals for safety]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then the entries to copy, and ranges of them:_default' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':shell -- The shell:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_bough__config_commands" \
"*::: :->config" \
&& ret=0

    case $state in
    (config)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:bough-config-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--origin[Say where each comes from]' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(path)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(context)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'(--stat)--dropped[List instead what is on the path and not sent, with the reason of each]' \
'--oneline[Print one line for each message]' \
'--stat[Print how many messages there are, their bytes, and the tokens where they are stored]' \
'-z[End each row with a NUL byte instead of a new line; for \`--json\` and \`--oneline\`]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then the entry to go on at:_default' \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--from=[The session that A is in]:SESSION:_default' \
'--to=[The session that B is in]:SESSION:_default' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'(--stat)--context[Compare what the model would see]' \
'--all[Compare settings, labels, marks and the model'\''s thinking too]' \
'--stat[Print how much each side has\: entries, tokens, calls of tools]' \
'(--stat)--name-only[Print only which entries differ\: a sign and their ids, with tabs between]' \
'-z[End each row with a NUL byte instead of a new line; for \`--name-only\` and \`--json\`]' \
'(--stat --name-only)--side-by-side[Print both sides beside each other, where the terminal is wide enough]' \
'--exit-code[Exit with 1 if there are differences]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then A and B, or `A...B`:_default' \
&& ret=0
;;
(export-branch)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(--store)-o+[Where the new session goes; \`-\` is standard output]:FILE:_files' \
'(--store)--output=[Where the new session goes; \`-\` is standard output]:FILE:_files' \
'*--allow=[Override one refusal for safety, where \`--force\` overrides most of them]:WHAT:((live\:"an agent is at work on the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is cut off\: a new line is begun after it"
overwrite\:"a file is there already\: the new one takes its place, and the old one is backed up"
hardlink\:"the file has other names, which will keep the old content"
changed\:"the file grew since it was read\: lines are appended to what is there"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'--store[Put it where the agent keeps its sessions, and print the command that goes on with it]' \
'--subtree[The entry and all below it, instead of the path to it]' \
'(--new-ids)--keep-ids[Keep the ids of the entries; this is the default]' \
'--new-ids[Give the entries new ids]' \
'-n[Print what would be written, byte by byte, and write nothing]' \
'--dry-run[Print what would be written, byte by byte, and write nothing]' \
'--force[Override refusals for safety]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then the entry:_default' \
&& ret=0
;;
(fsck)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'*--with=[Mend this check too, which is mended on request alone]:CHECK:(empty-file utf-16 bom crlf blank-line nul-bytes invalid-utf8 glued-lines spliced-line split-record torn-line garbage-line deep-nesting lone-surrogate no-final-newline missing-header title-slot header-not-first duplicate-header unsupported-version legacy-version fork-of-v1 foreign-marker missing-id dangling-parent parent-cycle duplicate-id duplicate-entry id-case unknown-type-link missing-uuid forward-parent parent-elsewhere unexpected-root dangling-leaf stale-tail dangling-label dangling-branch-from dangling-kept kept-off-path missing-kept dangling-logical-parent unpaired-tool-use orphan-tool-result duplicate-tool-result misplaced-tool-result broken-pair nameless-call duplicate-tool-id empty-text-block empty-content object-content no-message unreadable-field unsendable-content unsent-role missing-usage oversize-image bad-timestamp time-regress no-conversation foreign-session inherited-prefix session-id-mismatch pointer-to-sidechain no-head assistant-first explicit-null-pointer stale-pointer sidechain-trunk foreign-summary snapshot-id-overlap coverage ownership agent-without-anchor anchor-without-agent missing-blob missing-result-file)' \
'*--strategy=[Mend a check in another way\: \`dangling-parent=root\`]:CHECK=NAME:_default' \
'*--only=[Look for these checks alone]:CHECK:(empty-file utf-16 bom crlf blank-line nul-bytes invalid-utf8 glued-lines spliced-line split-record torn-line garbage-line deep-nesting lone-surrogate no-final-newline missing-header title-slot header-not-first duplicate-header unsupported-version legacy-version fork-of-v1 foreign-marker missing-id dangling-parent parent-cycle duplicate-id duplicate-entry id-case unknown-type-link missing-uuid forward-parent parent-elsewhere unexpected-root dangling-leaf stale-tail dangling-label dangling-branch-from dangling-kept kept-off-path missing-kept dangling-logical-parent unpaired-tool-use orphan-tool-result duplicate-tool-result misplaced-tool-result broken-pair nameless-call duplicate-tool-id empty-text-block empty-content object-content no-message unreadable-field unsendable-content unsent-role missing-usage oversize-image bad-timestamp time-regress no-conversation foreign-session inherited-prefix session-id-mismatch pointer-to-sidechain no-head assistant-first explicit-null-pointer stale-pointer sidechain-trunk foreign-summary snapshot-id-overlap coverage ownership agent-without-anchor anchor-without-agent missing-blob missing-result-file)' \
'*--skip=[Leave these checks out]:CHECK:(empty-file utf-16 bom crlf blank-line nul-bytes invalid-utf8 glued-lines spliced-line split-record torn-line garbage-line deep-nesting lone-surrogate no-final-newline missing-header title-slot header-not-first duplicate-header unsupported-version legacy-version fork-of-v1 foreign-marker missing-id dangling-parent parent-cycle duplicate-id duplicate-entry id-case unknown-type-link missing-uuid forward-parent parent-elsewhere unexpected-root dangling-leaf stale-tail dangling-label dangling-branch-from dangling-kept kept-off-path missing-kept dangling-logical-parent unpaired-tool-use orphan-tool-result duplicate-tool-result misplaced-tool-result broken-pair nameless-call duplicate-tool-id empty-text-block empty-content object-content no-message unreadable-field unsendable-content unsent-role missing-usage oversize-image bad-timestamp time-regress no-conversation foreign-session inherited-prefix session-id-mismatch pointer-to-sidechain no-head assistant-first explicit-null-pointer stale-pointer sidechain-trunk foreign-summary snapshot-id-overlap coverage ownership agent-without-anchor anchor-without-agent missing-blob missing-result-file)' \
'--explain=[Explain a check]:CHECK:(empty-file utf-16 bom crlf blank-line nul-bytes invalid-utf8 glued-lines spliced-line split-record torn-line garbage-line deep-nesting lone-surrogate no-final-newline missing-header title-slot header-not-first duplicate-header unsupported-version legacy-version fork-of-v1 foreign-marker missing-id dangling-parent parent-cycle duplicate-id duplicate-entry id-case unknown-type-link missing-uuid forward-parent parent-elsewhere unexpected-root dangling-leaf stale-tail dangling-label dangling-branch-from dangling-kept kept-off-path missing-kept dangling-logical-parent unpaired-tool-use orphan-tool-result duplicate-tool-result misplaced-tool-result broken-pair nameless-call duplicate-tool-id empty-text-block empty-content object-content no-message unreadable-field unsendable-content unsent-role missing-usage oversize-image bad-timestamp time-regress no-conversation foreign-session inherited-prefix session-id-mismatch pointer-to-sidechain no-head assistant-first explicit-null-pointer stale-pointer sidechain-trunk foreign-summary snapshot-id-overlap coverage ownership agent-without-anchor anchor-without-agent missing-blob missing-result-file)' \
'*--allow=[Override one refusal for safety, where \`--force\` overrides most of them]:WHAT:((live\:"an agent is at work on the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is cut off\: a new line is begun after it"
overwrite\:"a file is there already\: the new one takes its place, and the old one is backed up"
hardlink\:"the file has other names, which will keep the old content"
changed\:"the file grew since it was read\: lines are appended to what is there"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'--repair[Mend what has a default repair]' \
'--strict[Exit with 1 where there are warnings, too]' \
'(--json)--porcelain[Print findings separated by tabs, for scripts\: file, line, level, check, id, words]' \
'-z[End each row with a NUL byte instead of a new line; for \`--porcelain\` and \`--json\`]' \
'--list-checks[List all checks\: level, name, whether a repair mends it, what is found]' \
'-n[Print what would be written, byte by byte, and write nothing]' \
'--dry-run[Print what would be written, byte by byte, and write nothing]' \
'--force[Override refusals for safety]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::files -- Session files, folders, or `-`:_default' \
&& ret=0
;;
(grep)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-A+[Print also N entries that follow on the path]:N:_default' \
'--after-context=[Print also N entries that follow on the path]:N:_default' \
'-B+[Print also N entries that come before on the path]:N:_default' \
'--before-context=[Print also N entries that come before on the path]:N:_default' \
'-C+[Print also N entries before and after]:N:_default' \
'--context=[Print also N entries before and after]:N:_default' \
'*--kind=[Search only entries of these kinds]:KIND:_default' \
'--on=[Search only what REV stands for\: an entry'\''s path, or a range]:REV:_default' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'()--all[Search all stores of all agents]' \
'-i[Take upper and lower case for the same]' \
'--ignore-case[Take upper and lower case for the same]' \
'-w[Find whole words only]' \
'--word-regexp[Find whole words only]' \
'-F[Take RE for a plain text]' \
'--fixed-strings[Take RE for a plain text]' \
'-c[Print how many entries match, for each file]' \
'--count[Print how many entries match, for each file]' \
'(-c --count)-l[Print the names of the files in which something matches]' \
'(-c --count)--files-with-matches[Print the names of the files in which something matches]' \
'-z[End file names with a NUL byte, not a newline]' \
'--null[End file names with a NUL byte, not a newline]' \
'-n[Print the line of the file behind the entry]' \
'--line-number[Print the line of the file behind the entry]' \
'-v[Print the entries that do not match]' \
'--invert-match[Print the entries that do not match]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':pattern -- A regular expression, in the syntax of Rust'\''s `regex`:_default' \
'*::files -- Files, and folders with all that is in them; without any, the session:_files' \
&& ret=0
;;
(label)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'*--allow=[Override one refusal for safety, where \`--force\` overrides most of them]:WHAT:((live\:"an agent is at work on the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is cut off\: a new line is begun after it"
overwrite\:"a file is there already\: the new one takes its place, and the old one is backed up"
hardlink\:"the file has other names, which will keep the old content"
changed\:"the file grew since it was read\: lines are appended to what is there"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-d[Clear the label of this name, or of this entry]' \
'--delete[Clear the label of this name, or of this entry]' \
'(-d --delete)-m[Take the name from the entry that has it]' \
'(-d --delete)--move[Take the name from the entry that has it]' \
'-z[End each row with a NUL byte instead of a new line; for the list]' \
'-n[Print what would be written, byte by byte, and write nothing]' \
'--dry-run[Print what would be written, byte by byte, and write nothing]' \
'--force[Override refusals for safety]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then the name, and the entry:_default' \
&& ret=0
;;
(log)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-n+[Print no more than N entries; also \`-N\`]:N:_default' \
'--max-count=[Print no more than N entries; also \`-N\`]:N:_default' \
'--skip=[Leave out the first N entries]:N:_default' \
'--since=[Only entries since a time\: a date, an age as \`2h\`, \`yesterday\`]:TIME:_default' \
'--until=[Only entries until a time]:TIME:_default' \
'*--kind=[Only entries of these kinds]:KIND:(user assistant tool system summary compaction label setting custom attachment progress header other)' \
'--filter=[Only what the tree view of the agent shows in this mode]:MODE:(default no-tools user-only labeled-only all)' \
'--grep=[Only entries whose text matches a regular expression; small letters match capital ones too]:RE:_default' \
'--format=[Print each entry by a template, or as \`oneline\`, \`short\`, \`full\` or \`raw\`]:TEMPLATE:_default' \
'(--graph --dag)--order=[The order of Claude Code'\''s entries\: \`own\` is bough'\''s reading, \`document\` that of claude-code-log]:ORDER:(own document)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'--oneline[Print one line for each entry]' \
'--graph[Draw the branches beside the entries, those on the path to HEAD first and filled (\`*\` in ASCII)]' \
'--all[Take every entry of the session, bookkeeping too\: last in the file first, none before its children]' \
'--reverse[Print the oldest of the chosen entries first]' \
'(--oneline --format --raw)--full[Print whole texts, thinking, and tool calls with their arguments]' \
'--stat[Print how many bytes and tokens each entry takes]' \
'(--oneline --format --graph)--raw[Print the lines as they are stored]' \
'--dag[Follow the stored links alone, not the reading that joins what a client recorded apart]' \
'--agents[Show what agents inside the session did, in its place]' \
'(--graph --dag -f --follow)--skipped[Show what the reading of Claude Code'\''s entries sets aside instead, with the reason]' \
'(--graph --all --reverse --skip)-f[Print the last entries, oldest first, and go on as the session grows]' \
'(--graph --all --reverse --skip)--follow[Print the last entries, oldest first, and go on as the session grows]' \
'-z[End each entry with a NUL byte instead of a new line; for \`--format\`, \`--raw\` and \`--json\`]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then revisions and ranges:_default' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':folder -- The folder:_files -/' \
&& ret=0
;;
(merge)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--summary=[The summary\: its text, \`-\` for standard input, or \`@FILE\`]:TEXT:_default' \
'*--allow=[Override one refusal for safety, where \`--force\` overrides most of them]:WHAT:((live\:"an agent is at work on the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is cut off\: a new line is begun after it"
overwrite\:"a file is there already\: the new one takes its place, and the old one is backed up"
hardlink\:"the file has other names, which will keep the old content"
changed\:"the file grew since it was read\: lines are appended to what is there"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'--squash[Bring one summary of the branch instead of its entries]' \
'-x[Say in the session where the copies come from]' \
'--no-pairs[Refuse to copy a call without its result being named, or the reverse]' \
'--strip-thinking[Leave the model'\''s thinking out of the copies]' \
'--zero-usage[Set the counted tokens of the copies to zero]' \
'-n[Print what would be written, byte by byte, and write nothing]' \
'--dry-run[Print what would be written, byte by byte, and write nothing]' \
'--force[Override refusals for safety]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then the other branch, by its leaf or any entry on it:_default' \
&& ret=0
;;
(migrate)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-o+[Write to this file and leave the old one as it is; \`-\` is standard output]:FILE:_files' \
'--output=[Write to this file and leave the old one as it is; \`-\` is standard output]:FILE:_files' \
'--to=[Stop at this version]:VERSION:(2 3)' \
'--id-seed=[Make the new ids from this word, so that they are the same each time]:SEED:_default' \
'*--allow=[Override one refusal for safety, where \`--force\` overrides most of them]:WHAT:((live\:"an agent is at work on the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is cut off\: a new line is begun after it"
overwrite\:"a file is there already\: the new one takes its place, and the old one is backed up"
hardlink\:"the file has other names, which will keep the old content"
changed\:"the file grew since it was read\: lines are appended to what is there"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'(-o --output -n --dry-run)--check[Only say which files are old, and exit with 1 if any is]' \
'--exact[Do exactly as pi does, also where it loses what version 1 kept]' \
'--keep-ids[Keep the ids of a file that has ids although it calls itself version 1]' \
'-n[Print what would be written, byte by byte, and write nothing]' \
'--dry-run[Print what would be written, byte by byte, and write nothing]' \
'--force[Override refusals for safety]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::files -- Session files, and folders with all sessions below them:_default' \
&& ret=0
;;
(op)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_bough__op_commands" \
"*::: :->op" \
&& ret=0

    case $state in
    (op)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:bough-op-command-$line[1]:"
        case $line[1] in
            (log)
_arguments "${_arguments_options[@]}" : \
'-n+[How many operations are listed at the most]:N:_default' \
'--max-count=[How many operations are listed at the most]:N:_default' \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-z[End each row with a NUL byte instead of a new line]' \
'--stat[Show how much room the log, the backups and the side files take, instead of the operations]' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session; without one, the operations on all sessions:_default' \
&& ret=0
;;
(prune)
_arguments "${_arguments_options[@]}" : \
'--keep-days=[Keep the operations of the last N days, and their backups]:N:_default' \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-n[List what would be removed, and remove nothing]' \
'--dry-run[List what would be removed, and remove nothing]' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(rev-parse)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'--verify[Want exactly one entry; print nothing and exit with 1 where there is none]' \
'--short[Print short ids]' \
'--count[Print how many entries there are]' \
'-z[End each id with a NUL byte]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then revisions and ranges:_default' \
&& ret=0
;;
(sessions)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--agent=[Only sessions of this agent\: \`pi\`, \`omp\`, \`claude\` or \`chimera\`]:AGENT:(pi omp claude chimera)' \
'()--cwd=[List the sessions of another folder]:FOLDER:_files -/' \
'--since=[Only sessions written since then\: a date, or an age as \`3d\`]:TIME:_default' \
'--sort=[Sort by \`age\`, \`size\`, \`entries\`, \`branches\`, \`name\` or \`folder\`; with \`-\` in front, the other way round]:KEY:_default' \
'-n+[List no more than N sessions]:N:_default' \
'--max-count=[List no more than N sessions]:N:_default' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'(--cwd)--all[List the sessions of all folders]' \
'(--quick --paths)--tree[Show which session came from which\: those that go on from others, or are forks of them, below these]' \
'--agents[With \`--tree\`, show the subagents of each session of Claude Code and oh-my-pi too, and the entry that started each]' \
'--quick[Read only both ends of each file\: nothing is counted]' \
'--paths[Print the paths of the files alone, one a line]' \
'-z[End each row of \`--paths\` and \`--json\` with a NUL byte, not a newline]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::folders -- Folders, with all sessions below them, and files; without any, the sessions of the current folder:_files' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'--raw[Print the lines as they are stored]' \
'-z[End each entry with a NUL byte instead of a new line; for \`--raw\` and \`--json\`]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then revisions and ranges:_default' \
&& ret=0
;;
(stats)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--by=[Count in groups]:WHAT:((branch\:"Each branch, with what no branch before it has"
model\:"Each model"
tool\:"Each tool"
day\:"Each day, in the user'\''s time zone"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'()--all[Count all sessions of all stores]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::files -- Files, and folders with all that is in them; without any, the session:_files' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::file -- The session, if it is not the newest of this folder:_default' \
&& ret=0
;;
(switch)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-c+[Label the entry, too]:NAME:_default' \
'--create=[Label the entry, too]:NAME:_default' \
'--summary=[Tell the model what was on the branch that is left]:TEXT:_default' \
'*--allow=[Override one refusal for safety, where \`--force\` overrides most of them]:WHAT:((live\:"an agent is at work on the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is cut off\: a new line is begun after it"
overwrite\:"a file is there already\: the new one takes its place, and the old one is backed up"
hardlink\:"the file has other names, which will keep the old content"
changed\:"the file grew since it was read\: lines are appended to what is there"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-m[Take the label from the entry that has it]' \
'--move[Take the label from the entry that has it]' \
'(--root)--rewind[Go to before a prompt, and print its text]' \
'--root[Go to before the first entry]' \
'-n[Print what would be written, byte by byte, and write nothing]' \
'--dry-run[Print what would be written, byte by byte, and write nothing]' \
'--force[Override refusals for safety]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then the entry to go to:_default' \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--file=[Take back only what the operation did to this file]:FILE:_files' \
'*--allow=[Override one refusal for safety, where \`--force\` overrides most of them]:WHAT:((live\:"an agent is at work on the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is cut off\: a new line is begun after it"
overwrite\:"a file is there already\: the new one takes its place, and the old one is backed up"
hardlink\:"the file has other names, which will keep the old content"
changed\:"the file grew since it was read\: lines are appended to what is there"))' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-n[Print what would be written, byte by byte, and write nothing]' \
'--dry-run[Print what would be written, byte by byte, and write nothing]' \
'--force[Override refusals for safety]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then the operation, as `bough op log` shows it:_default' \
&& ret=0
;;
        esac
    ;;
esac
}

(( $+functions[_bough_commands] )) ||
_bough_commands() {
    local commands; commands=(
'branches:List the branches of a session' \
'cat:Print entries as they are stored' \
'cherry-pick:Copy entries under HEAD, or under another entry' \
'completions:Print the completion script of a shell' \
'config:Show the settings in force' \
'context:Show what the model would be sent' \
'diff:Show how two branches differ' \
'export-branch:Make a new session out of the path to an entry' \
'fsck:Check sessions for damage, and mend it' \
'grep:Search what was said' \
'label:Name entries; list, move and clear the names' \
'log:Show the entries on the path to the position, newest first' \
'man:Write the manual pages into a folder' \
'merge:Bring over what another branch has' \
'migrate:Take old session files to the newest version of their format' \
'op:Look at what bough changed\: the operation log and its backups' \
'rev-parse:Print the ids that revisions stand for' \
'sessions:List sessions' \
'show:Show whole entries\: text, thinking, tool calls and results' \
'stats:Count entries, tools, tokens, cost and bytes' \
'status:Show a session in short\: format, position, branches, faults' \
'switch:Move HEAD, so that the agent goes on from another entry' \
'undo:Take back what bough did to a session' \
    )
    _describe -t commands 'bough commands' commands "$@"
}
(( $+functions[_bough__branches_commands] )) ||
_bough__branches_commands() {
    local commands; commands=()
    _describe -t commands 'bough branches commands' commands "$@"
}
(( $+functions[_bough__cat_commands] )) ||
_bough__cat_commands() {
    local commands; commands=()
    _describe -t commands 'bough cat commands' commands "$@"
}
(( $+functions[_bough__cherry-pick_commands] )) ||
_bough__cherry-pick_commands() {
    local commands; commands=()
    _describe -t commands 'bough cherry-pick commands' commands "$@"
}
(( $+functions[_bough__completions_commands] )) ||
_bough__completions_commands() {
    local commands; commands=()
    _describe -t commands 'bough completions commands' commands "$@"
}
(( $+functions[_bough__config_commands] )) ||
_bough__config_commands() {
    local commands; commands=(
'list:List the settings in force, one a line' \
'path:Print the path of the config file' \
    )
    _describe -t commands 'bough config commands' commands "$@"
}
(( $+functions[_bough__config__list_commands] )) ||
_bough__config__list_commands() {
    local commands; commands=()
    _describe -t commands 'bough config list commands' commands "$@"
}
(( $+functions[_bough__config__path_commands] )) ||
_bough__config__path_commands() {
    local commands; commands=()
    _describe -t commands 'bough config path commands' commands "$@"
}
(( $+functions[_bough__context_commands] )) ||
_bough__context_commands() {
    local commands; commands=()
    _describe -t commands 'bough context commands' commands "$@"
}
(( $+functions[_bough__diff_commands] )) ||
_bough__diff_commands() {
    local commands; commands=()
    _describe -t commands 'bough diff commands' commands "$@"
}
(( $+functions[_bough__export-branch_commands] )) ||
_bough__export-branch_commands() {
    local commands; commands=()
    _describe -t commands 'bough export-branch commands' commands "$@"
}
(( $+functions[_bough__fsck_commands] )) ||
_bough__fsck_commands() {
    local commands; commands=()
    _describe -t commands 'bough fsck commands' commands "$@"
}
(( $+functions[_bough__grep_commands] )) ||
_bough__grep_commands() {
    local commands; commands=()
    _describe -t commands 'bough grep commands' commands "$@"
}
(( $+functions[_bough__label_commands] )) ||
_bough__label_commands() {
    local commands; commands=()
    _describe -t commands 'bough label commands' commands "$@"
}
(( $+functions[_bough__log_commands] )) ||
_bough__log_commands() {
    local commands; commands=()
    _describe -t commands 'bough log commands' commands "$@"
}
(( $+functions[_bough__man_commands] )) ||
_bough__man_commands() {
    local commands; commands=()
    _describe -t commands 'bough man commands' commands "$@"
}
(( $+functions[_bough__merge_commands] )) ||
_bough__merge_commands() {
    local commands; commands=()
    _describe -t commands 'bough merge commands' commands "$@"
}
(( $+functions[_bough__migrate_commands] )) ||
_bough__migrate_commands() {
    local commands; commands=()
    _describe -t commands 'bough migrate commands' commands "$@"
}
(( $+functions[_bough__op_commands] )) ||
_bough__op_commands() {
    local commands; commands=(
'log:List the operations, the newest first' \
'prune:Remove old operations, their backups, and what interrupted commands left' \
    )
    _describe -t commands 'bough op commands' commands "$@"
}
(( $+functions[_bough__op__log_commands] )) ||
_bough__op__log_commands() {
    local commands; commands=()
    _describe -t commands 'bough op log commands' commands "$@"
}
(( $+functions[_bough__op__prune_commands] )) ||
_bough__op__prune_commands() {
    local commands; commands=()
    _describe -t commands 'bough op prune commands' commands "$@"
}
(( $+functions[_bough__rev-parse_commands] )) ||
_bough__rev-parse_commands() {
    local commands; commands=()
    _describe -t commands 'bough rev-parse commands' commands "$@"
}
(( $+functions[_bough__sessions_commands] )) ||
_bough__sessions_commands() {
    local commands; commands=()
    _describe -t commands 'bough sessions commands' commands "$@"
}
(( $+functions[_bough__show_commands] )) ||
_bough__show_commands() {
    local commands; commands=()
    _describe -t commands 'bough show commands' commands "$@"
}
(( $+functions[_bough__stats_commands] )) ||
_bough__stats_commands() {
    local commands; commands=()
    _describe -t commands 'bough stats commands' commands "$@"
}
(( $+functions[_bough__status_commands] )) ||
_bough__status_commands() {
    local commands; commands=()
    _describe -t commands 'bough status commands' commands "$@"
}
(( $+functions[_bough__switch_commands] )) ||
_bough__switch_commands() {
    local commands; commands=()
    _describe -t commands 'bough switch commands' commands "$@"
}
(( $+functions[_bough__undo_commands] )) ||
_bough__undo_commands() {
    local commands; commands=()
    _describe -t commands 'bough undo commands' commands "$@"
}

if [ "$funcstack[1]" = "_bough" ]; then
    _bough "$@"
else
    compdef _bough bough
fi
