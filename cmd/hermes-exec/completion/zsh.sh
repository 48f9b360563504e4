#compdef hermes-exec
# zsh completion of hermes-exec: source <(hermes-exec completion zsh), or a file _hermes-exec on $fpath
_hermes_exec() {
    local line word none=
    local -a found
    for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ $line == $'\t' ]] && none=1 && continue  # no file either
        [[ -n $line ]] || continue
        word=${${line%%$'\t'*}//:/\\:}
        [[ $line == *$'\t'?* ]] && word+=:${line#*$'\t'}  # a colon without a description shows an empty one
        found+=("$word")
    done
    if (( ${#found} )); then
        _describe hermes-exec found
    elif [[ -z $none ]]; then
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _hermes_exec "$@"
else
    compdef _hermes_exec hermes-exec
fi
