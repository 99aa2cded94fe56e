# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_bough_global_optspecs
	string join \n s/session= input-format= no-pager verbose q/quiet color= ascii json h/help V/version
end

function __fish_bough_needs_command
	# Figure out if the current invocation already has a command.
	set -l cmd (commandline -opc)
	set -e cmd[1]
	argparse -s (__fish_bough_global_optspecs) -- $cmd 2>/dev/null
	or return
	if set -q argv[1]
		# Also print the command, so this can be used to figure out what it is.
		echo $argv[1]
		return 1
	end
	return 0
end

function __fish_bough_using_subcommand
	set -l cmd (__fish_bough_needs_command)
	test -z "$cmd"
	and return 1
	contains -- $cmd[1] $argv
end

complete -c bough -n "__fish_bough_needs_command" -s s -l session -d 'The session: a file, `-`, a folder with one session, an id or prefix, a name, or `latest`' -r
complete -c bough -n "__fish_bough_needs_command" -l input-format -d 'Read the session as this format, whatever it looks like' -r -f -a "pi-v1\t''
pi-v2\t''
pi-design\t''
pi\t''
harness\t''
harness-v4\t''
omp\t''
chimera\t''
claude\t''"
complete -c bough -n "__fish_bough_needs_command" -l color -d 'When to use color' -r -f -a "auto\t''
always\t''
never\t''"
complete -c bough -n "__fish_bough_needs_command" -l no-pager -d 'Never start a pager'
complete -c bough -n "__fish_bough_needs_command" -l verbose -d 'Say more'
complete -c bough -n "__fish_bough_needs_command" -s q -l quiet -d 'Say less: no hints, no notes'
complete -c bough -n "__fish_bough_needs_command" -l ascii -d 'Draw with ASCII alone'
complete -c bough -n "__fish_bough_needs_command" -l json -d 'Print JSON Lines, for scripts'
complete -c bough -n "__fish_bough_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bough -n "__fish_bough_needs_command" -s V -l version -d 'Print version'
complete -c bough -n "__fish_bough_needs_command" -f -a "completions" -d 'Print the completion script of a shell'
complete -c bough -n "__fish_bough_needs_command" -f -a "config" -d 'Show the settings in force'
complete -c bough -n "__fish_bough_needs_command" -f -a "man" -d 'Write the manual pages into a folder'
complete -c bough -n "__fish_bough_needs_command" -f -a "rev-parse" -d 'Print the ids that revisions stand for'
complete -c bough -n "__fish_bough_needs_command" -f -a "status" -d 'Show a session in short: format, position, branches, faults'
complete -c bough -n "__fish_bough_using_subcommand completions" -s s -l session -d 'The session: a file, `-`, a folder with one session, an id or prefix, a name, or `latest`' -r
complete -c bough -n "__fish_bough_using_subcommand completions" -l input-format -d 'Read the session as this format, whatever it looks like' -r -f -a "pi-v1\t''
pi-v2\t''
pi-design\t''
pi\t''
harness\t''
harness-v4\t''
omp\t''
chimera\t''
claude\t''"
complete -c bough -n "__fish_bough_using_subcommand completions" -l color -d 'When to use color' -r -f -a "auto\t''
always\t''
never\t''"
complete -c bough -n "__fish_bough_using_subcommand completions" -l no-pager -d 'Never start a pager'
complete -c bough -n "__fish_bough_using_subcommand completions" -l verbose -d 'Say more'
complete -c bough -n "__fish_bough_using_subcommand completions" -s q -l quiet -d 'Say less: no hints, no notes'
complete -c bough -n "__fish_bough_using_subcommand completions" -l ascii -d 'Draw with ASCII alone'
complete -c bough -n "__fish_bough_using_subcommand completions" -l json -d 'Print JSON Lines, for scripts'
complete -c bough -n "__fish_bough_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -s s -l session -d 'The session: a file, `-`, a folder with one session, an id or prefix, a name, or `latest`' -r
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -l input-format -d 'Read the session as this format, whatever it looks like' -r -f -a "pi-v1\t''
pi-v2\t''
pi-design\t''
pi\t''
harness\t''
harness-v4\t''
omp\t''
chimera\t''
claude\t''"
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -l color -d 'When to use color' -r -f -a "auto\t''
always\t''
never\t''"
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -l no-pager -d 'Never start a pager'
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -l verbose -d 'Say more'
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -s q -l quiet -d 'Say less: no hints, no notes'
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -l ascii -d 'Draw with ASCII alone'
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -l json -d 'Print JSON Lines, for scripts'
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -f -a "list" -d 'List the settings in force, one a line'
complete -c bough -n "__fish_bough_using_subcommand config; and not __fish_seen_subcommand_from list path" -f -a "path" -d 'Print the path of the config file'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -s s -l session -d 'The session: a file, `-`, a folder with one session, an id or prefix, a name, or `latest`' -r
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -l input-format -d 'Read the session as this format, whatever it looks like' -r -f -a "pi-v1\t''
pi-v2\t''
pi-design\t''
pi\t''
harness\t''
harness-v4\t''
omp\t''
chimera\t''
claude\t''"
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -l color -d 'When to use color' -r -f -a "auto\t''
always\t''
never\t''"
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -l origin -d 'Say where each comes from'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -l no-pager -d 'Never start a pager'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -l verbose -d 'Say more'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say less: no hints, no notes'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -l ascii -d 'Draw with ASCII alone'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -l json -d 'Print JSON Lines, for scripts'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -s s -l session -d 'The session: a file, `-`, a folder with one session, an id or prefix, a name, or `latest`' -r
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -l input-format -d 'Read the session as this format, whatever it looks like' -r -f -a "pi-v1\t''
pi-v2\t''
pi-design\t''
pi\t''
harness\t''
harness-v4\t''
omp\t''
chimera\t''
claude\t''"
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -l color -d 'When to use color' -r -f -a "auto\t''
always\t''
never\t''"
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -l no-pager -d 'Never start a pager'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -l verbose -d 'Say more'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -s q -l quiet -d 'Say less: no hints, no notes'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -l ascii -d 'Draw with ASCII alone'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -l json -d 'Print JSON Lines, for scripts'
complete -c bough -n "__fish_bough_using_subcommand config; and __fish_seen_subcommand_from path" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bough -n "__fish_bough_using_subcommand man" -s s -l session -d 'The session: a file, `-`, a folder with one session, an id or prefix, a name, or `latest`' -r
complete -c bough -n "__fish_bough_using_subcommand man" -l input-format -d 'Read the session as this format, whatever it looks like' -r -f -a "pi-v1\t''
pi-v2\t''
pi-design\t''
pi\t''
harness\t''
harness-v4\t''
omp\t''
chimera\t''
claude\t''"
complete -c bough -n "__fish_bough_using_subcommand man" -l color -d 'When to use color' -r -f -a "auto\t''
always\t''
never\t''"
complete -c bough -n "__fish_bough_using_subcommand man" -l no-pager -d 'Never start a pager'
complete -c bough -n "__fish_bough_using_subcommand man" -l verbose -d 'Say more'
complete -c bough -n "__fish_bough_using_subcommand man" -s q -l quiet -d 'Say less: no hints, no notes'
complete -c bough -n "__fish_bough_using_subcommand man" -l ascii -d 'Draw with ASCII alone'
complete -c bough -n "__fish_bough_using_subcommand man" -l json -d 'Print JSON Lines, for scripts'
complete -c bough -n "__fish_bough_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -s s -l session -d 'The session: a file, `-`, a folder with one session, an id or prefix, a name, or `latest`' -r
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l input-format -d 'Read the session as this format, whatever it looks like' -r -f -a "pi-v1\t''
pi-v2\t''
pi-design\t''
pi\t''
harness\t''
harness-v4\t''
omp\t''
chimera\t''
claude\t''"
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l color -d 'When to use color' -r -f -a "auto\t''
always\t''
never\t''"
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l verify -d 'Want exactly one entry; print nothing and exit with 1 where there is none'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l short -d 'Print short ids'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l count -d 'Print how many entries there are'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -s z -d 'End each id with a NUL byte'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l no-pager -d 'Never start a pager'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l verbose -d 'Say more'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -s q -l quiet -d 'Say less: no hints, no notes'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l ascii -d 'Draw with ASCII alone'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -l json -d 'Print JSON Lines, for scripts'
complete -c bough -n "__fish_bough_using_subcommand rev-parse" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bough -n "__fish_bough_using_subcommand status" -l input-format -d 'Read the session as this format, whatever it looks like' -r -f -a "pi-v1\t''
pi-v2\t''
pi-design\t''
pi\t''
harness\t''
harness-v4\t''
omp\t''
chimera\t''
claude\t''"
complete -c bough -n "__fish_bough_using_subcommand status" -l color -d 'When to use color' -r -f -a "auto\t''
always\t''
never\t''"
complete -c bough -n "__fish_bough_using_subcommand status" -l no-pager -d 'Never start a pager'
complete -c bough -n "__fish_bough_using_subcommand status" -l verbose -d 'Say more'
complete -c bough -n "__fish_bough_using_subcommand status" -s q -l quiet -d 'Say less: no hints, no notes'
complete -c bough -n "__fish_bough_using_subcommand status" -l ascii -d 'Draw with ASCII alone'
complete -c bough -n "__fish_bough_using_subcommand status" -l json -d 'Print JSON Lines, for scripts'
complete -c bough -n "__fish_bough_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
