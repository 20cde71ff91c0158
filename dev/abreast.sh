# shellcheck shell=bash
# Runs things side by side, because tests wait more than they work. Sourced.

# abreast JOBS DIRECTORY NAME... -- COMMAND...
#
# Runs the command for every name, which it finds in place of {}, JOBS at a time. What one prints is kept in
# DIRECTORY/NAME.log and shown in one piece when it ends, but for a tally at its end, which is the caller's to add up.
# Its exit status is in DIRECTORY/NAME.status, for status_of.
abreast() {
    local jobs=$1 directory=$2
    local -a names=()
    shift 2
    while [[ $1 != -- ]]; do
        names+=("$1")
        rm -f "$directory/$1.status"
        shift
    done
    shift
    mkdir -p "$directory"
    # shellcheck disable=SC2016 # for the shell of each
    printf '%s\n' "${names[@]}" | xargs -P "$jobs" -I{} bash -c '
        status=0
        "${@:3}" >"$1/$2.log" 2>&1 </dev/null || status=$?
        echo "$status" >"$1/$2.status"
        flock "$1" sed -E "\${/^[0-9]+ passed, [0-9]+ failed/d}" "$1/$2.log"' abreast "$directory" {} "$@"
}

# Whatever was ended before it could say has failed.
status_of() {
    cat "$1/$2.status" 2>/dev/null || echo 1
}
