# bash completion of pgidem. Behind -- it completes the command as if pgidem were not there.

_pgidem_options() {
    case $1 in
        once)
            echo --help --key --scope --utc --lease --retain --fingerprint --wait --nonblock --conflict-exit-code \
                --on-done --rerun --on-failure --store-output --kill-after --retry --backoff --if-unavailable --json \
                --dbname --verbose
            ;;
        lock)
            echo --help --utc --ttl --wait --nonblock --conflict-exit-code --at-least --delay --data --kill-after \
                --retry --backoff --if-unavailable --json --dbname --verbose
            ;;
        get) echo --help --scope --dbname --verbose --json ;;
        forget) echo --help --scope --dbname --verbose --json --force ;;
        resolve) echo --help --scope --dbname --verbose --json --result --code ;;
        locks) echo --help --dbname --verbose --json ;;
        stat) echo --help --scope --dbname --verbose --json ;;
        top) echo --help --scope --dbname --verbose --json --delay --iterations --once ;;
        *) echo --help --version ;;
    esac
}

_pgidem_words() {
    case $1 in
        --on-done) echo skip fail ;;
        --on-failure) echo release store ;;
        --if-unavailable) echo fail skip run local ;;
        -w | --wait) echo forever ;;
    esac
}

# Options after which a word of its own follows.
_pgidem_takes_word() {
    case $1 in
        --key | -s | --scope | --lease | --retain | --fingerprint | -w | --wait | -E | --conflict-exit-code | \
            --on-done | --on-failure | --store-output | -k | --kill-after | --retry | --backoff | --if-unavailable | \
            -d | --dbname | --ttl | --at-least | --delay | --data | --result | --code | -n | --iterations)
            # -n is --nonblock but for top.
            [[ $1 != -n || $2 == top ]]
            ;;
        *) return 1 ;;
    esac
}

_pgidem() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' place
    COMPREPLY=()
    for ((place = 1; place < COMP_CWORD; place++)); do
        if [[ ${COMP_WORDS[place]} == -- ]]; then
            declare -F _command_offset >/dev/null && _command_offset $((place + 1))
            return
        fi
        if [[ -z $command && ${COMP_WORDS[place]} != -* ]]; then
            command=${COMP_WORDS[place]}
        fi
    done
    if _pgidem_takes_word "$previous" "$command"; then
        mapfile -t COMPREPLY < <(compgen -W "$(_pgidem_words "$previous")" -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_pgidem_options "$command")" -- "$current")
    elif [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "once lock get forget resolve locks stat top" -- "$current")
    elif [[ $command == resolve ]]; then
        mapfile -t COMPREPLY < <(compgen -W "retry finish fail" -- "$current")
    fi
}

complete -F _pgidem pgidem
