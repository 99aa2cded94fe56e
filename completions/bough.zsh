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
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
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
            (append)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--kind=[The kind of the entry]:KIND:((message\:"A prompt, or a reply"
custom\:"Data of a program, as JSON; the model does not see it"
custom-message\:"Text that the model sees although the user did not type it"
compaction\:"A summary that replaces the messages before it"
label\:"A label for an entry"))' \
'--parent=[The entry to append to]:REV:_default' \
'--role=[The role of the message\: \`user\`, or \`assistant\` for a reply as if the model had written it]:ROLE:((user\:"The user"
assistant\:"The model"))' \
'--type=[The type of the entry, by which the program that uses it finds it]:NAME:_default' \
'--keep=[The first entry that the model still sees after a compaction]:REV:_default' \
'--text=[The text of a message, the name of a label, or JSON for \`custom\`]:TEXT:_default' \
'(--text)--summary=[The summary of a compaction\: the text itself, \`-\` for standard input, or \`@FILE\`]:TEXT:_default' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--hidden[Do not show the entry in the agent'\''s interface]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::file -- The session; if omitted, the newest of the current folder:_default' \
&& ret=0
;;
(archive)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--older=[Only sessions that were last written before a time\: a date, or an age such as \`20d\`]:TIME:_default' \
'-o+[The folder of the archive]:FOLDER:_files -/' \
'--output=[The folder of the archive]:FOLDER:_files -/' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--all)--project[Only the sessions of the current folder]' \
'--all[The sessions of all folders (default)]' \
'--hardlink[Link files instead of packing them, if the archive is on the same file system]' \
'(--project --all --older -n --dry-run --hardlink)--verify[Unpack everything in the archive, and compare it with the manifest]' \
'-n[Print what would be archived, and write nothing]' \
'--dry-run[Print what would be archived, and write nothing]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
":: :_bough__archive_commands" \
"*::: :->archive" \
&& ret=0

    case $state in
    (archive)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:bough-archive-command-$line[1]:"
        case $line[1] in
            (prune)
_arguments "${_arguments_options[@]}" : \
'--keep=[Keep what is newer than this\: a date, or an age such as \`1y\`]:TIME:_default' \
'-o+[The folder of the archive]:FOLDER:_files -/' \
'--output=[The folder of the archive]:FOLDER:_files -/' \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-n[Print what would be removed, and remove nothing]' \
'--dry-run[Print what would be removed, and remove nothing]' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(branches)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--contains=[Only branches that contain this entry]:REV:_default' \
'--sort=[Sort by \`age\`, \`entries\`, \`own\` or \`name\`; a leading \`-\` reverses the order]:KEY:_default' \
'--date=[How to print times]:STYLE:((relative\:"How long ago\: \`3h\`"
iso\:"ISO 8601 in UTC\: \`2026-03-02T11\:58\:03Z\`"
local\:"The local date and time\: \`2026-03-02 11\:58\`"))' \
'(--points --contains --sort --dag --porcelain)--order=[Order of Claude Code entries\: \`own\` (bough'\''s) or \`document\` (of claude-code-log)]:ORDER:(own document)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-v[Also show the last entry of each branch]' \
'(--contains --porcelain)--points[List branch points instead]' \
'--all[Include leaves that are only bookkeeping]' \
'--dag[Use parent links as stored, without linearizing]' \
'--porcelain[Print tab-separated fields for scripts\: \`*\` or a space, leaf, entries, own, branch point, name]' \
'--ids[Print only the ids of the leaves, one per line]' \
'-z[End each row with a NUL byte instead of a newline; for \`--ids\`, \`--porcelain\` and \`--json\`]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::file -- The session; if omitted, the newest of the current folder:_default' \
&& ret=0
;;
(cat)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--pretty[Pretty-print the JSON on several lines]' \
'-z[End each entry with a NUL byte instead of a newline]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then revisions and ranges:_default' \
&& ret=0
;;
(cherry-pick)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--onto=[Append the copies to this entry]:REV:_default' \
'--from=[Copy the entries from this session]:SESSION:_default' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-x[Note in the session where the copies come from]' \
'--no-pairs[Fail if a tool call is named without its result, or a result without its call]' \
'--strip-thinking[Leave the model'\''s thinking out of the copies]' \
'--zero-usage[Set the token counts of the copies to zero]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument is a file; then the entries or ranges to copy:_default' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':shell -- The shell that will read the script:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(config)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
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
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--origin[Show the source of each setting]' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(path)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
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
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--stat)--dropped[Instead, list the entries on the path that would not be sent, with reasons]' \
'--oneline[Print one line per message]' \
'--stat[Print the number of messages and bytes, and the tokens if they are stored]' \
'-z[End each row with a NUL byte instead of a newline; for \`--json\` and \`--oneline\`]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then the entry to continue from:_default' \
&& ret=0
;;
(convert)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--to=[The agent that is to continue the session]:AGENT:(pi omp chimera claude codex)' \
'(--store)-o+[Write the new session to this file, or into this folder; \`-\` is standard output]:FILE:_files' \
'(--store)--output=[Write the new session to this file, or into this folder; \`-\` is standard output]:FILE:_files' \
'--cwd=[Make FOLDER the working directory of the new session]:FOLDER:_files -/' \
'--thinking=[What becomes of thoughts\: \`keep\`, \`text\` or \`drop\`]:HOW:(keep text drop)' \
'--tools=[What becomes of the names of tools\: \`keep\` or \`map\`]:HOW:(keep map)' \
'--max-loss=[Fail if more than N things would be lost]:N:_default' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--store[Write it to the agent'\''s store, and print the command that resumes it]' \
'--no-source[Do not carry the lines of the old session in the new one]' \
'--anew[Convert all messages, even if lines of an old session in the format of AGENT could come back]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::file -- The session; by default the one that the agent would continue:_default' \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--from=[The session that contains A]:SESSION:_default' \
'--to=[The session that contains B]:SESSION:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--stat)--context[Compare the messages that the model would be sent]' \
'--all[Also compare settings, labels, markers and the model'\''s thinking]' \
'--stat[Print the number of entries, tokens and tool calls on each side]' \
'(--stat)--name-only[Print only \`-\`, \`+\` or \`~\` and the ids of the entries that differ, separated by tabs]' \
'-z[End each row with a NUL byte instead of a newline; for \`--name-only\` and \`--json\`]' \
'(--stat --name-only)--side-by-side[Print both sides side by side if the terminal is wide enough]' \
'--exit-code[Exit with 1 if there are differences]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then A and B, or `A...B`:_default' \
&& ret=0
;;
(drop)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--others[Remove all branches but that of HEAD, and those of the given entries]' \
'(--others)--failed[Remove replies that failed or were interrupted, if nothing but such replies follows]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then the entries to remove:_default' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--to=[The form of the output]:FORM:((html\:"A page with the tree beside the conversation"
md\:"Markdown for GitHub and Pandoc"
txt\:"Plain text"
jsonl\:"The whole session in its own format"))' \
'-o+[Write to this file, with \`--project\` and \`--all\` to this folder; \`-\` is standard output]:FILE:_files' \
'--output=[Write to this file, with \`--project\` and \`--all\` to this folder; \`-\` is standard output]:FILE:_files' \
'--allow=[Override a safety check]:WHAT:((overwrite\:"Replace the output file if it exists"))' \
'--images=[Images to include in a page\: \`all\`, \`small\` (up to 48 KiB) or \`none\`]:WHICH:((all\:"All images, each once"
small\:"Images up to 48 KiB"
none\:"No images"))' \
'--results=[Truncate tool results to this size, e.g. \`2k\` or \`1M\`]:SIZE:_default' \
'*--redact=[Redact credentials, and what is named\: \`paths\`, \`mail\`, \`hosts\`]::GROUPS:_default' \
'(--no-redact)--redact-report=[Write a report to this file, as JSON\: which rule matched where, without the text]:FILE:_files' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--plain --front-matter --all)-p[Write pages of all sessions of the current project, or of a FOLDER that is named]' \
'(--plain --front-matter --all)--project[Write pages of all sessions of the current project, or of a FOLDER that is named]' \
'(--plain --front-matter)--all[Write pages of all sessions of all projects]' \
'--force[Replace the output file if it exists, as \`--allow=overwrite\` does]' \
'--plain[Write a page without a script\: one path, and at most 5 MB]' \
'--no-agents[Leave subagents out]' \
'--front-matter[Begin Markdown with front matter\: title, date, agent, session]' \
'--no-thinking[Leave thinking out]' \
'(--redact)--no-redact[Do not redact]' \
'(-o --output --no-redact)--check[Write nothing; exit with 1 if anything would be redacted]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then entries and ranges:_default' \
&& ret=0
;;
(export-branch)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(--store)-o+[Write the new session to this file, or into this folder; \`-\` is standard output]:FILE:_files' \
'(--store)--output=[Write the new session to this file, or into this folder; \`-\` is standard output]:FILE:_files' \
'--cwd=[Make FOLDER the working directory of the new session; with \`--store\`, it goes to that project]:FOLDER:_files -/' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--store[Write it to the agent'\''s store, and print the command that resumes it]' \
'(--subtree)--rewind[Export what is before a prompt, and print the prompt, to be edited and sent again]' \
'--subtree[Export the entry and all its descendants instead]' \
'(--new-ids)--keep-ids[Keep the ids of the entries (default)]' \
'--new-ids[Give the entries new ids]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then the entry:_default' \
&& ret=0
;;
(fsck)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'*--with=[Also repair findings of this check, which are repaired only on request]:CHECK:(empty-file utf-16 bom crlf blank-line nul-bytes invalid-utf8 glued-lines spliced-line split-record torn-line garbage-line deep-nesting lone-surrogate no-final-newline missing-header title-slot header-not-first duplicate-header unsupported-version legacy-version fork-of-v1 foreign-marker missing-id dangling-parent parent-cycle duplicate-id duplicate-entry id-case unknown-type-link missing-uuid forward-parent parent-elsewhere unexpected-root dangling-leaf stale-tail dangling-label dangling-branch-from dangling-kept kept-off-path missing-kept dangling-logical-parent unpaired-tool-use orphan-tool-result duplicate-tool-result misplaced-tool-result broken-pair nameless-call duplicate-tool-id empty-text-block empty-content object-content no-message unreadable-field unsendable-content unsent-role missing-usage oversize-image bad-timestamp time-regress no-conversation foreign-session inherited-prefix session-id-mismatch pointer-to-sidechain no-head assistant-first explicit-null-pointer stale-pointer sidechain-trunk foreign-summary snapshot-id-overlap coverage ownership agent-without-anchor anchor-without-agent missing-blob missing-result-file)' \
'*--strategy=[Use another repair strategy for a check, e.g. \`dangling-parent=root\`]:CHECK=NAME:_default' \
'*--only=[Run only these checks]:CHECK:(empty-file utf-16 bom crlf blank-line nul-bytes invalid-utf8 glued-lines spliced-line split-record torn-line garbage-line deep-nesting lone-surrogate no-final-newline missing-header title-slot header-not-first duplicate-header unsupported-version legacy-version fork-of-v1 foreign-marker missing-id dangling-parent parent-cycle duplicate-id duplicate-entry id-case unknown-type-link missing-uuid forward-parent parent-elsewhere unexpected-root dangling-leaf stale-tail dangling-label dangling-branch-from dangling-kept kept-off-path missing-kept dangling-logical-parent unpaired-tool-use orphan-tool-result duplicate-tool-result misplaced-tool-result broken-pair nameless-call duplicate-tool-id empty-text-block empty-content object-content no-message unreadable-field unsendable-content unsent-role missing-usage oversize-image bad-timestamp time-regress no-conversation foreign-session inherited-prefix session-id-mismatch pointer-to-sidechain no-head assistant-first explicit-null-pointer stale-pointer sidechain-trunk foreign-summary snapshot-id-overlap coverage ownership agent-without-anchor anchor-without-agent missing-blob missing-result-file)' \
'*--skip=[Skip these checks]:CHECK:(empty-file utf-16 bom crlf blank-line nul-bytes invalid-utf8 glued-lines spliced-line split-record torn-line garbage-line deep-nesting lone-surrogate no-final-newline missing-header title-slot header-not-first duplicate-header unsupported-version legacy-version fork-of-v1 foreign-marker missing-id dangling-parent parent-cycle duplicate-id duplicate-entry id-case unknown-type-link missing-uuid forward-parent parent-elsewhere unexpected-root dangling-leaf stale-tail dangling-label dangling-branch-from dangling-kept kept-off-path missing-kept dangling-logical-parent unpaired-tool-use orphan-tool-result duplicate-tool-result misplaced-tool-result broken-pair nameless-call duplicate-tool-id empty-text-block empty-content object-content no-message unreadable-field unsendable-content unsent-role missing-usage oversize-image bad-timestamp time-regress no-conversation foreign-session inherited-prefix session-id-mismatch pointer-to-sidechain no-head assistant-first explicit-null-pointer stale-pointer sidechain-trunk foreign-summary snapshot-id-overlap coverage ownership agent-without-anchor anchor-without-agent missing-blob missing-result-file)' \
'--explain=[Explain a check]:CHECK:(empty-file utf-16 bom crlf blank-line nul-bytes invalid-utf8 glued-lines spliced-line split-record torn-line garbage-line deep-nesting lone-surrogate no-final-newline missing-header title-slot header-not-first duplicate-header unsupported-version legacy-version fork-of-v1 foreign-marker missing-id dangling-parent parent-cycle duplicate-id duplicate-entry id-case unknown-type-link missing-uuid forward-parent parent-elsewhere unexpected-root dangling-leaf stale-tail dangling-label dangling-branch-from dangling-kept kept-off-path missing-kept dangling-logical-parent unpaired-tool-use orphan-tool-result duplicate-tool-result misplaced-tool-result broken-pair nameless-call duplicate-tool-id empty-text-block empty-content object-content no-message unreadable-field unsendable-content unsent-role missing-usage oversize-image bad-timestamp time-regress no-conversation foreign-session inherited-prefix session-id-mismatch pointer-to-sidechain no-head assistant-first explicit-null-pointer stale-pointer sidechain-trunk foreign-summary snapshot-id-overlap coverage ownership agent-without-anchor anchor-without-agent missing-blob missing-result-file)' \
'(-p --project --all)--files-from=[The sessions that a file (or \`-\`) lists]:FILE:_files' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--repair[Repair what can be repaired by default]' \
'(--repair --only --skip --porcelain)--places[Check where sessions are, not what is in them]' \
'--strict[Also exit with 1 if there are only warnings]' \
'(--json)--porcelain[Print tab-separated findings for scripts\: file, line, level, check, id, message]' \
'-z[End rows of \`--porcelain\` and \`--json\` with NUL]' \
'--list-checks[List all checks, with what they find]' \
'(--all)-p[All sessions of the current project]' \
'(--all)--project[All sessions of the current project]' \
'--all[All sessions of all agents]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::files -- Session files, folders, or `-` for standard input:_default' \
&& ret=0
;;
(grep)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(-p --project --all)--files-from=[The sessions that a file (or \`-\`) lists]:FILE:_files' \
'-A+[Also print the N entries after each match on the path]:N:_default' \
'--after-context=[Also print the N entries after each match on the path]:N:_default' \
'-B+[Also print the N entries before each match on the path]:N:_default' \
'--before-context=[Also print the N entries before each match on the path]:N:_default' \
'-C+[Also print the N entries before and after each match]:N:_default' \
'--context=[Also print the N entries before and after each match]:N:_default' \
'*--kind=[Search only entries of these kinds]:KIND:_default' \
'--on=[Search only the path to REV, or a range]:REV:_default' \
'--since=[Only entries from this time on\: a date, an age such as \`2h\`, \`monday\`, \`last week\`, \`12\:05\`]:TIME:_default' \
'--until=[Only entries up to this time]:TIME:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--all)-p[All sessions of the current project]' \
'(--all)--project[All sessions of the current project]' \
'--all[All sessions of all agents]' \
'-i[Ignore case]' \
'--ignore-case[Ignore case]' \
'-w[Match whole words only]' \
'--word-regexp[Match whole words only]' \
'-F[Treat RE as a literal string]' \
'--fixed-strings[Treat RE as a literal string]' \
'-c[Print the number of matching entries of each file]' \
'--count[Print the number of matching entries of each file]' \
'(-c --count)-l[Print only the names of files with matches]' \
'(-c --count)--files-with-matches[Print only the names of files with matches]' \
'-z[End file names with a NUL byte instead of a newline]' \
'--null[End file names with a NUL byte instead of a newline]' \
'-n[Print the file'\''s line number after the entry id]' \
'--line-number[Print the file'\''s line number after the entry id]' \
'-v[Print the entries that do not match]' \
'--invert-match[Print the entries that do not match]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':pattern -- Regular expression, in the syntax of Rust'\''s `regex` crate:_default' \
'*::files -- Files or folders to search; if omitted, the session:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The command or the topic; a command with a command of its own has two words:_default' \
&& ret=0
;;
(join)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(--conflicts)-o+[Write the result to this file, which may be one of the copies; \`-\` is standard output]:FILE:_files' \
'(--conflicts)--output=[Write the result to this file, which may be one of the copies; \`-\` is standard output]:FILE:_files' \
'--head=[The copy whose HEAD the result has]:COPY:((a\:"That of A"
b\:"That of B"
newest\:"The one whose last entry is newer"))' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--conflicts[Find copies that Syncthing, Dropbox or Nextcloud left, and join each with its session]' \
'--remove[Remove each copy after it was joined; \`bough undo\` restores it]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::files -- The two copies; with `--conflicts`, the folder in which copies are looked for:_files' \
&& ret=0
;;
(label)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-d[Delete a label, given by its name or by its entry]' \
'--delete[Delete a label, given by its name or by its entry]' \
'(-d --delete)-m[Move the label if another entry has it]' \
'(-d --delete)--move[Move the label if another entry has it]' \
'(-d --delete)--replace[Replace another label of the entry]' \
'-z[End each row of the list with a NUL byte instead of a newline]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument is a file; then the label and the entry:_default' \
&& ret=0
;;
(log)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(-p --project --all-sessions)--files-from=[The logs of the sessions that a file (or \`-\`) lists]:FILE:_files' \
'-n+[Print at most N entries; also \`-N\`]:N:_default' \
'--max-count=[Print at most N entries; also \`-N\`]:N:_default' \
'--skip=[Skip the first N entries]:N:_default' \
'--since=[Only entries since a time\: a date, an age such as \`2h\`, or \`yesterday\`]:TIME:_default' \
'--until=[Only entries until a time]:TIME:_default' \
'--date=[How to print times]:STYLE:((relative\:"How long ago\: \`3h\`"
iso\:"ISO 8601 in UTC\: \`2026-03-02T11\:58\:03Z\`"
local\:"The local date and time\: \`2026-03-02 11\:58\`"))' \
'*--kind=[Only entries of these kinds]:KIND:(user assistant tool system summary compaction label setting custom attachment progress header other)' \
'--filter=[Only entries that the agent'\''s tree view shows in this mode]:MODE:(default no-tools user-only labeled-only all)' \
'--grep=[Only entries whose text matches a regular expression; a pattern in lower case ignores case]:RE:_default' \
'--format=[Print each entry with a template, or as \`oneline\`, \`short\`, \`full\` or \`raw\`]:TEMPLATE:_default' \
'(--graph --dag)--order=[Order of Claude Code entries\: \`own\` (bough'\''s) or \`document\` (of claude-code-log)]:ORDER:(own document)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--oneline[Print one line per entry]' \
'--graph[Draw the tree; the path to HEAD comes first, with filled circles (\`*\` in ASCII)]' \
'--all[Include every entry, bookkeeping too, in reverse file order with children before parents]' \
'(--all-sessions)-p[The logs of all sessions of the current project, one after the other]' \
'(--all-sessions)--project[The logs of all sessions of the current project, one after the other]' \
'--all-sessions[The logs of all sessions of all agents]' \
'--reverse[Print the oldest of the selected entries first]' \
'(--graph --kind --filter --full --stat --format --raw --agents --order --skipped -f --follow)--prompts[List only the prompts, with their numbers for \`turn\:N\`]' \
'(--raw)--full[Print whole texts, thinking, and tool calls with their arguments]' \
'--stat[Print the number of bytes and tokens of each entry]' \
'(--oneline --format --graph)--raw[Print the lines as stored]' \
'--dag[Use parent links as stored, without linearizing]' \
'--agents[Also show the entries of subagents, at the entry that started them]' \
'(--graph --dag -f --follow)--skipped[List only the Claude Code entries that linearization left out, with reasons]' \
'(--graph --all --reverse --skip)-f[Print the last entries, oldest first, then keep printing as the session grows]' \
'(--graph --all --reverse --skip)--follow[Print the last entries, oldest first, then keep printing as the session grows]' \
'-z[End each entry with a NUL byte instead of a newline; for \`--format\`, \`--raw\` and \`--json\`]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then revisions and ranges:_default' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'()--dir=[Folder to write to]:DIR:_files -/' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::folder -- Folder to write to:_files -/' \
&& ret=0
;;
(merge)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(--squash)--from=[Copy what a branch of this session adds; without REV, its path to HEAD]:SESSION:_default' \
'--summary=[Text of the summary, \`-\` for standard input, or \`@FILE\`]:TEXT:_default' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--squash[Append one summary of the branch instead of copying its entries]' \
'-x[Note in the session where the copies come from]' \
'--no-pairs[Fail if a tool call is named without its result, or a result without its call]' \
'--strip-thinking[Leave the model'\''s thinking out of the copies]' \
'--zero-usage[Set the token counts of the copies to zero]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument is a file; then the branch, given by its leaf or any entry on it:_default' \
&& ret=0
;;
(merge-base)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--short[Print a short id]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then the two entries:_default' \
&& ret=0
;;
(migrate)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-o+[Write to this file and leave the old one unchanged; \`-\` is standard output]:FILE:_files' \
'--output=[Write to this file and leave the old one unchanged; \`-\` is standard output]:FILE:_files' \
'--to=[Upgrade only to this version]:VERSION:(2 3)' \
'--id-seed=[Derive the new ids from SEED, so that they are the same each time]:SEED:_default' \
'(-p --project --all)--files-from=[The sessions that a file (or \`-\`) lists]:FILE:_files' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(-o --output -n --dry-run)--check[Only report which files are old, and exit with 1 if any is]' \
'--exact[Match pi exactly, even if that drops context that version 1 kept]' \
'--keep-ids[Keep the ids of a file that has ids although its header says version 1]' \
'(--all)-p[All sessions of the current project]' \
'(--all)--project[All sessions of the current project]' \
'--all[All sessions of all agents]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::files -- Session files, or folders of sessions:_default' \
&& ret=0
;;
(move)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(--map)--to=[The new working directory of the session that \`-s\` names]:DIR:_files -/' \
'*--map=[Another folder that has a new name, e.g. \`/Users/a=/home/a\`; may be repeated]:OLD=NEW:_default' \
'--into=[Copy the sessions to another store]:STORE:_files -/' \
'(--to)--from=[Take the sessions from this store only, e.g. from that of another machine]:STORE:_files -/' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--copy[Copy the sessions, and leave the old ones where they are]' \
'--text[Also change the paths in prompts, replies and tool results]' \
'--trust[Also move Claude Code'\''s settings of the folder, e.g. that it is trusted]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::folders -- The folder as it was called, and as it is called now:_files -/' \
&& ret=0
;;
(op)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
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
'-n+[List at most N operations]:N:_default' \
'--max-count=[List at most N operations]:N:_default' \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-z[End each row with a NUL byte instead of a newline]' \
'--stat[Show the size of the log, the backups and the side files instead]' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session; if omitted, operations on all sessions are listed:_default' \
&& ret=0
;;
(prune)
_arguments "${_arguments_options[@]}" : \
'--keep-days=[Keep the operations of the last N days, and their backups]:N:_default' \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-n[List what would be removed, and remove nothing]' \
'--dry-run[List what would be removed, and remove nothing]' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(redo)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-n+[Redo the last N operations that were undone]:N:_default' \
'--count=[Redo the last N operations that were undone]:N:_default' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--all[Redo the last undone operation of any session]' \
'--force[Override safety checks]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session:_default' \
&& ret=0
;;
(restore)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--from=[The folder of the archive]:FOLDER:_files -/' \
'--at=[Restore it as it was archived last at or before this time\: a date, or an age such as \`3d\`]:TIME:_default' \
'--to=[Put the session into this folder instead of where it was]:FOLDER:_files -/' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':id -- The id of the session, or its beginning, as `bough sessions --archived` lists it; or the path that its file had, or its name:_default' \
&& ret=0
;;
(rev-parse)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--verify[Require exactly one entry; otherwise print nothing and exit with 1]' \
'--short[Print short ids]' \
'--count[Print the number of entries]' \
'-z[End each id with a NUL byte instead of a newline]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then revisions and ranges:_default' \
&& ret=0
;;
(sessions)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(-p --project --all)--files-from=[The sessions that a file (or \`-\`) lists]:FILE:_files' \
'--agent=[Only sessions of this agent\: \`pi\`, \`omp\`, \`claude\`, \`chimera\`, \`codex\`, \`gemini\` or \`copilot\`]:AGENT:(pi omp claude chimera codex gemini copilot)' \
'()--cwd=[List the sessions of another working directory]:FOLDER:_files -/' \
'--since=[Only sessions written since a time\: a date, or an age such as \`3d\`]:TIME:_default' \
'--until=[Only sessions last written before a time]:TIME:_default' \
'--date=[How to print times]:STYLE:((relative\:"How long ago\: \`3h\`"
iso\:"ISO 8601 in UTC\: \`2026-03-02T11\:58\:03Z\`"
local\:"The local date and time\: \`2026-03-02 11\:58\`"))' \
'--sort=[Sort by \`age\`, \`size\`, \`entries\`, \`branches\`, \`name\` or \`folder\`; a leading \`-\` reverses the order]:KEY:_default' \
'-n+[List at most N sessions]:N:_default' \
'--max-count=[List at most N sessions]:N:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--all)-p[All sessions of the current project]' \
'(--all)--project[All sessions of the current project]' \
'--all[All sessions of all agents]' \
'(--cwd --tree --paths --quick)--archived[List the sessions of the archive, which \`bough archive\` makes]' \
'(--archived --tree --paths --quick --sort)--lost[List the sessions of Claude Code that are gone, with their prompts]' \
'(--quick --paths)--tree[List forks and continuations below the session that they come from]' \
'--agents[With \`--tree\`, also show the subagents of Claude Code and oh-my-pi sessions, and the entry that started each]' \
'--quick[Read only both ends of each file, and count nothing]' \
'--paths[Print only the paths of the files, one per line]' \
'-z[End each row of \`--paths\` and \`--json\` with a NUL byte instead of a newline]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::folders -- Folders of sessions, or session files; if omitted, the sessions of the current folder:_files' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'--raw[Print the lines as stored]' \
'(--raw)--text[Print only the text of each entry]' \
'-z[End each entry with a NUL byte instead of a newline; for \`--raw\`, \`--text\` and \`--json\`]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument names one; then revisions and ranges:_default' \
&& ret=0
;;
(slim)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--results=[Tool results, and output of commands, that are longer than SIZE, e.g. \`4k\`]:SIZE:_default' \
'*--custom=[State that an extension stored with this type, but for the newest on each branch]:TYPE:_default' \
'--budget=[Replace only as much as needed for the model to be sent at most this many tokens, e.g. \`150k\`]:TOKENS:_default' \
'(--store --in-place)-o+[Write the new session to this file, or into this folder; \`-\` is standard output]:FILE:_files' \
'(--store --in-place)--output=[Write the new session to this file, or into this folder; \`-\` is standard output]:FILE:_files' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(-o --output --store --in-place --budget)--report[Print what is big, by kind, and write nothing]' \
'--images[Images and documents]' \
'--thinking[The model'\''s thinking]' \
'--tool-use-result[Claude Code'\''s second copies of results, which are not sent]' \
'--subagents[Transcripts of subagents]' \
'--snapshots[Snapshots of files, with which Claude Code goes back to earlier contents]' \
'--before-compaction[Results, images and thinking before a compaction, in entries that are sent on no branch]' \
'(--in-place)--store[Write it to the agent'\''s store, and print the command that resumes it (default)]' \
'--in-place[Rewrite the session itself]' \
'(-o --output --store --in-place --subagents --custom --snapshots --tool-use-result --before-compaction)--append[Append entries that replace the parts for the model, and leave all that is there]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::file -- The session, if it is not the newest of this folder:_default' \
&& ret=0
;;
(stats)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(-p --project --all)--files-from=[The sessions that a file (or \`-\`) lists]:FILE:_files' \
'*--by=[Group the counts by one or two of these, separated by a comma]:WHAT:((branch\:"Each branch, with what no earlier branch has"
model\:"Each model"
tool\:"Each tool"
file\:"Each file that tools read or changed"
type\:"Each kind of entry"
session\:"Each session"
project\:"Each project"
agent\:"Each agent"
day\:"Each day, in the user'\''s time zone"
week\:"Each week, by its Monday"
month\:"Each month"))' \
'(--by)--to=[Print a page instead of tables\: charts by day, and the sessions, models, tools and files with the most]:FORM:((html\:"One HTML page"))' \
'--since=[Only entries from this time on\: a date, an age such as \`2h\`, \`monday\`, \`last week\`, \`12\:05\`]:TIME:_default' \
'--until=[Only entries up to this time]:TIME:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--all)-p[All sessions of the current project]' \
'(--all)--project[All sessions of the current project]' \
'--all[All sessions of all agents]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::files -- Files or folders to count; if omitted, the session:_files' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::file -- The session; if omitted, the newest of the current folder:_default' \
&& ret=0
;;
(switch)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'-c+[Also label the entry]:NAME:_default' \
'--create=[Also label the entry]:NAME:_default' \
'--summary=[Give the model a summary of the branch that is left]:TEXT:_default' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'-m[Move the label if another entry has it]' \
'--move[Move the label if another entry has it]' \
'--replace[Replace another label of the entry]' \
'(--root)--rewind[Move to the parent of a prompt and print the prompt, to be edited and sent again]' \
'--root[Move to before the first entry]' \
'-n[Print exactly what would be written, and write nothing]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'--force[Override safety checks]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the first argument is a file; then the entry to move to:_default' \
&& ret=0
;;
(tree)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--select=[Choose an entry and print its id; with \`many\`, the ids of all marked entries]::HOW:(one many)' \
'--filter=[Begin with this filter]:FILTER:(default no-tools user-only labeled-only all)' \
'--keys=[Take these keys instead of those of the terminal, and print the screen after them, for tests]:KEYS:_default' \
'--size=[The size of the screen that \`--keys\` has, e.g. \`80x24\`]:SIZE:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--project)--all[List the sessions of all projects first]' \
'()--project[List the sessions of the current folder first, even if a session is set]' \
'--mouse[Scroll with the mouse wheel]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::word -- The session\: a file, a folder with sessions, an id or id prefix, a name, or `latest`:_default' \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or id prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format instead of detecting it]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp openclaw prime chimera claude codex gemini copilot opencode)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'(--to --file)-n+[Undo the last N operations]:N:_default' \
'(--to --file)--count=[Undo the last N operations]:N:_default' \
'(--file)--to=[Undo all operations after this one, which stays]:OP:_default' \
'--file=[Undo only the changes to this file]:FILE:_files' \
'*--allow=[Override one safety check; \`--force\` overrides most of them]:WHAT:((live\:"an agent is using the session; if it holds the file open, what it writes meanwhile is carried over"
truncated\:"the last line is truncated\: a new line is started after it"
overwrite\:"the target exists\: it is backed up and replaced"
hardlink\:"the file has other hard links, which will keep the old contents"
changed\:"the file grew since it was read\: lines are appended to its current contents"))' \
'--wait=[Wait at most so long for an agent that is writing to the session; 0 refuses at once]:SECONDS:_default' \
'--no-pager[Do not use a pager]' \
'--verbose[Print more detail]' \
'-q[Suppress hints and notes]' \
'--quiet[Suppress hints and notes]' \
'--ascii[Draw with ASCII characters only]' \
'--json[Print JSON Lines, for scripts]' \
'(--file --to)--all[Undo the last operation on any session]' \
'--force[Override safety checks]' \
'--dry-run[Print exactly what would be written, and write nothing]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if the word names one; then the operation, as shown by `bough op log`:_default' \
&& ret=0
;;
        esac
    ;;
esac
}

(( $+functions[_bough_commands] )) ||
_bough_commands() {
    local commands; commands=(
'append:Append an entry made by a script, and print its id' \
'archive:Copy sessions to an archive, which the agents do not clean up' \
'branches:List the branches of a session' \
'cat:Print entries as stored' \
'cherry-pick:Copy entries to HEAD, or to another entry' \
'completions:Print a shell completion script' \
'config:Show the current settings' \
'context:Show the messages that the agent would send to the model' \
'convert:Convert a session for another agent' \
'diff:Show how two branches differ' \
'drop:Remove branches from a session' \
'export:Export a conversation as a page, Markdown, text, or a redacted session' \
'export-branch:Export the path to an entry as a new session' \
'fsck:Check sessions for damage, and repair it' \
'grep:Search the text of entries' \
'help:Show a manual page' \
'join:Join two copies of one session that went on apart' \
'label:Label entries; list, move and delete labels' \
'log:Show the entries on the path to HEAD, newest first' \
'man:Write the manual pages to a folder' \
'merge:Cherry-pick all entries that only another branch has' \
'merge-base:Print the entry where two branches part' \
'migrate:Upgrade session files to the current format version' \
'move:Move sessions to another working directory' \
'op:Show and prune the operation log' \
'redo:Redo an operation that was undone' \
'restore:Restore a session from the archive' \
'rev-parse:Print the ids that revisions resolve to' \
'sessions:List sessions' \
'show:Show whole entries\: text, thinking, tool calls and results' \
'slim:Replace what is big in a session by notes, so that the agent can go on' \
'stats:Count entries, tools, tokens, cost and bytes' \
'status:Show the state of a session\: format, HEAD, branches, faults' \
'switch:Move HEAD, so that the agent continues from another entry' \
'tree:Browse a session'\''s tree in the terminal, and act on it' \
'undo:Undo an operation' \
    )
    _describe -t commands 'bough commands' commands "$@"
}
(( $+functions[_bough__append_commands] )) ||
_bough__append_commands() {
    local commands; commands=()
    _describe -t commands 'bough append commands' commands "$@"
}
(( $+functions[_bough__archive_commands] )) ||
_bough__archive_commands() {
    local commands; commands=(
'prune:Remove old sessions from the archive' \
    )
    _describe -t commands 'bough archive commands' commands "$@"
}
(( $+functions[_bough__archive__prune_commands] )) ||
_bough__archive__prune_commands() {
    local commands; commands=()
    _describe -t commands 'bough archive prune commands' commands "$@"
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
'list:List the current settings, one per line' \
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
(( $+functions[_bough__convert_commands] )) ||
_bough__convert_commands() {
    local commands; commands=()
    _describe -t commands 'bough convert commands' commands "$@"
}
(( $+functions[_bough__diff_commands] )) ||
_bough__diff_commands() {
    local commands; commands=()
    _describe -t commands 'bough diff commands' commands "$@"
}
(( $+functions[_bough__drop_commands] )) ||
_bough__drop_commands() {
    local commands; commands=()
    _describe -t commands 'bough drop commands' commands "$@"
}
(( $+functions[_bough__export_commands] )) ||
_bough__export_commands() {
    local commands; commands=()
    _describe -t commands 'bough export commands' commands "$@"
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
(( $+functions[_bough__help_commands] )) ||
_bough__help_commands() {
    local commands; commands=()
    _describe -t commands 'bough help commands' commands "$@"
}
(( $+functions[_bough__join_commands] )) ||
_bough__join_commands() {
    local commands; commands=()
    _describe -t commands 'bough join commands' commands "$@"
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
(( $+functions[_bough__merge-base_commands] )) ||
_bough__merge-base_commands() {
    local commands; commands=()
    _describe -t commands 'bough merge-base commands' commands "$@"
}
(( $+functions[_bough__migrate_commands] )) ||
_bough__migrate_commands() {
    local commands; commands=()
    _describe -t commands 'bough migrate commands' commands "$@"
}
(( $+functions[_bough__move_commands] )) ||
_bough__move_commands() {
    local commands; commands=()
    _describe -t commands 'bough move commands' commands "$@"
}
(( $+functions[_bough__op_commands] )) ||
_bough__op_commands() {
    local commands; commands=(
'log:List operations, newest first' \
'prune:Remove old operations, their backups, and files left by interrupted commands' \
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
(( $+functions[_bough__redo_commands] )) ||
_bough__redo_commands() {
    local commands; commands=()
    _describe -t commands 'bough redo commands' commands "$@"
}
(( $+functions[_bough__restore_commands] )) ||
_bough__restore_commands() {
    local commands; commands=()
    _describe -t commands 'bough restore commands' commands "$@"
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
(( $+functions[_bough__slim_commands] )) ||
_bough__slim_commands() {
    local commands; commands=()
    _describe -t commands 'bough slim commands' commands "$@"
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
(( $+functions[_bough__tree_commands] )) ||
_bough__tree_commands() {
    local commands; commands=()
    _describe -t commands 'bough tree commands' commands "$@"
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
