# shellcheck shell=bash
# Counts what test runners really ran, from what they printed. Sourced.
#
# Every tally_* function reads a runner's log, adds to the totals and remembers what failed. A test that was
# asked for and is not in the log has failed, and so has a runner that reports an error without a failed test,
# or success without any test at all.

PASSED=0
FAILED=0
SKIPPED=0
FAILURES=()

tally() {
    local name=$1 result=$2
    case $result in
        passed) PASSED=$((PASSED + 1)) ;;
        skipped) SKIPPED=$((SKIPPED + 1)) ;;
        *)
            FAILED=$((FAILED + 1))
            FAILURES+=("$name")
            ;;
    esac
}

# Adds the lines "RESULT NAME" on standard input. A runner that exits with STATUS must bear it out.
tally_lines() {
    local suite=$1 status=$2 result name failed_before=$FAILED seen=0
    while read -r result name; do
        tally "$suite $name" "$result"
        seen=$((seen + 1))
    done
    if ((status != 0 && FAILED == failed_before)); then
        tally "$suite (the runner exited with status $status and names no failed test)" failed
    elif ((status == 0 && seen == 0)); then
        tally "$suite (the runner reports success and ran nothing)" failed
    fi
}

# pg_regress and pg_isolation_regress. Up to 15: "test NAME ... ok  12 ms", indented within a parallel group;
# from 16 on: "ok 1   - NAME   12 ms", with a plus sign within a group.
regress_results() {
    awk '
        /^(test| ) .* \.\.\. / { print ($0 ~ / \.\.\. ok/ ? "passed" : "failed"), ($1 == "test" ? $2 : $1) }
        /^ok [0-9]+ +[-+] /     { print "passed", $4 }
        /^not ok [0-9]+ +[-+] / { print "failed", $5 }
    ' "$1"
}

# first_difference DIFFS TEST: the first line that a test should have printed and the first that it printed instead,
# for whoever has the summary and not the file.
first_difference() {
    [[ -s $1 ]] || return 0
    awk -v test="$2" '
        /^diff / { ours = ($NF ~ "/" test "\\.out$"); missing = other = ""; next }
        !ours || /^(---|\+\+\+) / { next }
        /^-/ && missing == "" { missing = substr($0, 2) }
        /^\+/ && other == "" { other = substr($0, 2) }
        missing != "" && other != "" { exit }
        END { if (missing other != "") printf " (expected \"%s\", got \"%s\")", missing, other }
    ' "$1"
}

# tally_regress SUITE LOG STATUS TEST...: the tests asked for. The differences are in a directory named like the log.
tally_regress() {
    local suite=$1 log=$2 status=$3 result test
    shift 3
    {
        regress_results "$log" | while read -r result test; do
            [[ $result == passed ]] || test+=$(first_difference "${log%.log}/regression.diffs" "$test")
            echo "$result $test"
        done
        for test in "$@"; do
            regress_results "$log" | grep -qE "^(passed|failed) $test\$" || echo "failed $test (it did not run)"
        done
    } >"$log.results"
    tally_lines "$suite" "$status" <"$log.results"
    rm "$log.results"
}

# TAP from prove --verbose; only the outermost level counts, because it stands for its subtests.
tap_results() {
    awk '
        /^[^ ]+\.(pl|t) \.+ *$/      { file = $1; sub(/.*\//, "", file) }
        /^[^ ]+\.(pl|t) \.+ skipped: / { sub(/.*\//, "", $1); print "skipped", $1; next }
        /^1\.\.0 # SKIP/             { print "skipped", file; next }
        /^not ok [0-9]+.*# TODO/     { print "skipped", file, $0; next }
        /^ok [0-9]+.*# skip/         { print "skipped", file, $0; next }
        /^ok [0-9]+/                 { print "passed", file, $0 }
        /^not ok [0-9]+/             { print "failed", file, $0 }
    ' "$1"
}

# tally_tap SUITE LOG STATUS
tally_tap() {
    tap_results "$2" >"$2.results"
    tally_lines "$1" "$3" <"$2.results"
    rm "$2.results"
}

ctest_results() {
    sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.*( +|\*\*\*)(Passed|Skipped|Failed|[A-Z][A-Za-z ]*).*/\3 \1/p' "$1" |
        sed -E 's/^Passed /passed /; t; s/^Skipped /skipped /; t; s/^[A-Z][A-Za-z]* /failed /'
}

# tally_ctest SUITE LOG STATUS
tally_ctest() {
    ctest_results "$2" >"$2.results"
    tally_lines "$1" "$3" <"$2.results"
    rm "$2.results"
}

# tally_program NAME LOG STATUS: a program that closes with "N passed, N failed[, N skipped]" is believed as far
# as its exit status agrees; any other counts as one test, and exit status 77 says that it was skipped.
tally_program() {
    local name=$1 log=$2 status=$3 closing
    closing=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' || true)
    if [[ -z $closing ]]; then
        case $status in
            0) tally "$name" passed ;;
            77) tally "$name" skipped ;;
            *) tally "$name" failed ;;
        esac
        return
    fi
    tally_closing "$name" "$log" "$status" "$closing"
}

# The lines "FAILED: ..." with which the last tally_report began; it names what those before it named.
reported_failures() {
    awk '
        /^FAILED: /          { if (ended) n = ended = 0; lines[++n] = substr($0, 9); next }
                             { ended = 1 }
        END                  { for (i = 1; i <= n; i++) print lines[i] }
    ' "$1"
}

tally_closing() {
    local name=$1 log=$2 status=$3 passed failed skipped failures
    read -r passed failed skipped < <(tr -dc '0-9 \n' <<<"$4")
    PASSED=$((PASSED + passed))
    FAILED=$((FAILED + failed))
    SKIPPED=$((SKIPPED + ${skipped:-0}))
    if ((failed > 0)); then
        mapfile -t failures < <(reported_failures "$log")
        ((${#failures[@]} > 0)) || failures=("$failed of its tests")
        FAILURES+=("${failures[@]/#/$name: }")
    elif ((status != 0)); then
        tally "$name (it exited with status $status and names no failed test)" failed
    elif ((passed + ${skipped:-0} == 0)); then
        tally "$name (it reports success and ran nothing)" failed
    fi
}

# Prints what failed and, as the last line, the totals. Fails if anything did, or if there was nothing to count.
tally_report() {
    local failure
    for failure in "${FAILURES[@]}"; do
        echo "FAILED: $failure"
    done
    if ((SKIPPED > 0)); then
        echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    else
        echo "$PASSED passed, $FAILED failed"
    fi
    ((FAILED == 0 && PASSED + SKIPPED > 0))
}
