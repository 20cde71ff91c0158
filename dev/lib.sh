# shellcheck shell=bash
# What the scripts share. The caller has set -euo pipefail.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly ROOT

# The make that called us would hand its flags and job server to the ones that we call. Variables given on
# its command line are in the environment as well, and stay.
unset MAKEFLAGS MFLAGS MAKELEVEL

note() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
    note "$*"
    exit 1
}

have() {
    command -v "$1" >/dev/null
}

# A pg_config is of use when the server and PGXS that it speaks of are there too.
usable_pg_config() {
    have "$1" && [[ -x "$("$1" --bindir)/postgres" && -f "$("$1" --pgxs)" ]]
}

# Prints the pg_config to build with: PG_CONFIG if it is set, else the one in the PATH, else the newest one
# that Debian's packages have put beside their server. Fails when there is none.
find_pg_config() {
    local candidate candidates=("${PG_CONFIG:-pg_config}")
    if [[ -z ${PG_CONFIG:-} ]]; then
        mapfile -t -O 1 candidates < <(compgen -G '/usr/lib/postgresql/*/bin/pg_config' | sort -rV)
    fi
    for candidate in "${candidates[@]}"; do
        if usable_pg_config "$candidate"; then
            # Debian's pg_config in the PATH is a wrapper that follows the newest server installed.
            echo "$("$candidate" --bindir)/pg_config"
            return
        fi
    done
    return 1
}

# Runs make in the checkout. Runs of ours that share a checkout take turns, because they share its objects; the
# Makefile serves as the lock, so that none is left lying about.
locked_make() {
    flock "$ROOT/Makefile" make --silent -C "$ROOT" "$@"
}

# CMake refuses a build directory that came here with a copy of the checkout.
forget_moved_build() {
    if [[ -f $1/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" "$1/CMakeCache.txt"; then
        rm -rf "$1"
    fi
}

# Copies what git would commit, and with it nothing that was built here.
copy_checkout() {
    mkdir -p "$1"
    git -C "$ROOT" ls-files --cached --others --exclude-standard -z |
        tar --directory="$ROOT" --create --null --files-from=- --ignore-failed-read 2>/dev/null |
        tar --extract --directory="$1" --no-same-owner
}

# The user that servers and their tests run as: initdb refuses root.
test_user() {
    if ((EUID != 0)); then
        id -un
    elif id postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

# Runs a command as that user, in place of this shell's own child.
as_test_user() {
    if ((EUID != 0)); then
        "$@"
    else
        setpriv --reuid="$(test_user)" --regid="$(id -g "$(test_user)")" --init-groups -- "$@"
    fi
}
