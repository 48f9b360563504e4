# bash completion of hermes-exec: source <(hermes-exec completion bash)
_hermes_exec() {
    local word words=() given='' i
    COMPREPLY=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = || ${COMP_WORDS[i-1]} == = ]] && ((i > 1)); then  # bash takes --flag=value apart
            words[${#words[@]}-1]+=$word
            given=${words[${#words[@]}-1]%%=*}=
        else
            words+=("$word")
            given=''
        fi
    done
    while IFS=$'\t' read -r word _; do
        if [[ -n $word ]]; then
            word=${word#"$given"}
            [[ $word == *[[:space:]]* ]] && printf -v word %q "$word"
            COMPREPLY+=("$word")
        else
            compopt +o default +o bashdefault 2>/dev/null  # no file either
        fi
    done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
}
complete -o default -o bashdefault -F _hermes_exec hermes-exec
