# fish completion of hermes-exec: hermes-exec completion fish | source
function __hermes_exec
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete -- $words[2..] 2>/dev/null
end
function __hermes_exec_files
    test -z "$(__hermes_exec)"
end
complete -c hermes-exec -f -a '(__hermes_exec | string match -v \t)'
complete -c hermes-exec -n __hermes_exec_files -F
