# bash completion for cuzkctl. It knows no verb and no option itself: --help says which there are and
# what stands behind each (NAME, WORKER, FILE, ...), and the daemon, when one answers, which circuits,
# workers and jobs it has.

# The values of a key in one line of JSON: only those that need no quoting.
_cuzkctl_json() {
    grep -o "\"$1\": *\"\?[A-Za-z0-9._-]*" | sed "s/.*[: \"]//"
}

# What can stand for a word of the help, one a line. The program with its socket follows.
_cuzkctl_values() {
    local kind=$1
    shift
    case $kind in
    NAME) timeout 2 "$@" --json circuit list 2>/dev/null | _cuzkctl_json name ;;
    WORKER*)
        timeout 2 "$@" --json workers 2>/dev/null | _cuzkctl_json name
        printf '%s\n' synth gpu finalizer all
        ;;
    JOB) timeout 2 "$@" --json jobs --limit 100 2>/dev/null | _cuzkctl_json job ;;
    CLASS) printf '%s\n' low normal high critical ;;
    STATE) printf '%s\n' queued running done failed cancelled ;;
    LEVEL) printf '%s\n' error warn info debug ;;
    esac
}

_cuzkctl() {
    local current=${COMP_WORDS[COMP_CWORD]} word help verb='' first='' kind='' last='' index
    local -a program=("${COMP_WORDS[0]/#\~/$HOME}") given=() rest=()

    # readline has cut --option=value in three.
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        [[ $word == = ]] || given+=("$word")
    done
    [[ $current == = ]] && current=''

    # The verb is one word or two; what --socket names is asked.
    for ((index = 0; index < ${#given[@]}; index++)); do
        word=${given[index]}
        if [[ $word == --socket ]]; then
            [[ -n ${given[index + 1]} ]] && program+=(--socket "${given[index + 1]}")
            ((index++))
        elif [[ $word != -* ]]; then
            rest+=("$word")
        fi
    done
    help=$("${program[@]}" --help 2>/dev/null) || return
    local verbs
    verbs=$(sed -n '/^Verbs:/,/^$/s/^  \([a-z-]\{1,\}\( [a-z-]\{1,\}\)\?\)  .*/\1/p' <<<"$help")
    for first in "${rest[0]} ${rest[1]}" "${rest[0]}"; do
        if grep -qxF -- "${first:- }" <<<"$verbs"; then
            verb=$first
            break
        fi
    done
    [[ -n $verb ]] && help=$("${program[@]}" $verb --help 2>/dev/null)

    # What kind of value is due: behind an option its own, else that of the next positional.
    local -A takes=()
    while read -r word kind _; do
        [[ $kind =~ ^[A-Z]+$ ]] && takes[$word]=$kind
    done < <(grep '^  --' <<<"$help")
    kind='' rest=()
    for word in "${given[@]}"; do
        if [[ -n $last ]]; then
            last=''
        elif [[ $word == --* && -n ${takes[$word]} ]]; then
            last=$word
        elif [[ $word != -* ]]; then
            rest+=("$word")
        fi
    done
    if [[ -n $last ]]; then
        kind=${takes[$last]}
    elif [[ -n $verb ]]; then
        local -a positional
        # WORKER, or [WORKER] where it may be left out.
        read -ra positional <<<"$(sed -n "1s/^cuzkctl $verb \(.*\)\[options\].*/\1/p" <<<"$help" | tr -d '[]')"
        local -a words=($verb)
        kind=${positional[${#rest[@]} - ${#words[@]}]}
        # The name of a new circuit is new.
        [[ $verb == 'circuit add' ]] && kind=''
    fi

    COMPREPLY=()
    if [[ -z $last && $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(grep -o '^  --[a-z0-9-]*' <<<"$help")" -- "$current")
    elif [[ $kind == FILE || $kind == PATH || $kind == DIR ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    elif [[ -n $kind ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_cuzkctl_values "$kind" "${program[@]}")" -- "$current")
    elif [[ -z $verb && ${#rest[@]} -eq 0 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cut -d ' ' -f 1 <<<"$verbs" | sort -u)" -- "$current")
    elif [[ -z $verb && ${#rest[@]} -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(sed -n "s/^${rest[0]} //p" <<<"$verbs")" -- "$current")
    fi
}

complete -F _cuzkctl cuzkctl
