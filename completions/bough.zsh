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
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp chimera claude)' \
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
            (completions)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp chimera claude)' \
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
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp chimera claude)' \
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
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp chimera claude)' \
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
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp chimera claude)' \
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
(man)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':folder -- The folder:_files' \
&& ret=0
;;
(rev-parse)
_arguments "${_arguments_options[@]}" : \
'-s+[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--session=[The session\: a file, \`-\`, a folder with one session, an id or prefix, a name, or \`latest\`]:SESSION:_default' \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--verify[Want exactly one entry; print nothing and exit with 1 where there is none]' \
'--short[Print short ids]' \
'--count[Print how many entries there are]' \
'-z[End each id with a NUL byte]' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::words -- The session, if it looks like a file; then revisions and ranges:_default' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--input-format=[Read the session as this format, whatever it looks like]:FORMAT:(pi-v1 pi-v2 pi-design pi harness harness-v4 omp chimera claude)' \
'--color=[When to use color]:WHEN:(auto always never)' \
'--no-pager[Never start a pager]' \
'--verbose[Say more]' \
'-q[Say less\: no hints, no notes]' \
'--quiet[Say less\: no hints, no notes]' \
'--ascii[Draw with ASCII alone]' \
'--json[Print JSON Lines, for scripts]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::session -- The session, if it is not the newest of this folder:_default' \
&& ret=0
;;
        esac
    ;;
esac
}

(( $+functions[_bough_commands] )) ||
_bough_commands() {
    local commands; commands=(
'completions:Print the completion script of a shell' \
'config:Show the settings in force' \
'man:Write the manual pages into a folder' \
'rev-parse:Print the ids that revisions stand for' \
'status:Show a session in short\: format, position, branches, faults' \
    )
    _describe -t commands 'bough commands' commands "$@"
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
(( $+functions[_bough__man_commands] )) ||
_bough__man_commands() {
    local commands; commands=()
    _describe -t commands 'bough man commands' commands "$@"
}
(( $+functions[_bough__rev-parse_commands] )) ||
_bough__rev-parse_commands() {
    local commands; commands=()
    _describe -t commands 'bough rev-parse commands' commands "$@"
}
(( $+functions[_bough__status_commands] )) ||
_bough__status_commands() {
    local commands; commands=()
    _describe -t commands 'bough status commands' commands "$@"
}

if [ "$funcstack[1]" = "_bough" ]; then
    _bough "$@"
else
    compdef _bough bough
fi
