# shellcheck shell=bash
# What the end-to-end tests share. They use the command as a user does, on the real QEMU.

bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
# The build has made these (tests/steps); a test that finds none fails.
WORLDSWITCH=${CARGO_TARGET_DIR:-$ROOT/target}/release/worldswitch
GUEST=$ROOT/build/guest/x86_64
# What is built once for all tests that need it.
BUILT=$ROOT/build/test/e2e
export ROOT WORLDSWITCH GUEST BUILT

QEMU=${QEMU:-qemu-system-x86_64}

# Files of tests run side by side, and several build the same things.
make() {
    mkdir -p "$BUILT"
    flock "$BUILT/lock" make "$@"
}

# Nothing of the user's is read or written but the fetched packages, which the step lab-fetch brings:
# digits that were seen, histories and settings are those of a new user, one for each test file.
LAB_STORE=${LAB_STORE:-${XDG_CACHE_HOME:-$HOME/.cache}/worldswitch}
export LAB_STORE
new_user() {
    mkdir -p "$1/home"
    export HOME=$1/home XDG_DATA_HOME=$1/data
    unset WORLDSWITCH_DATA NO_COLOR XDG_CONFIG_HOME
    use_cache "$1/cache"
}

# The fetched packages, with all else of a cache new in this folder.
use_cache() {
    mkdir -p "$1/worldswitch"
    [ -e "$1/worldswitch/sets" ] || ln -s "$LAB_STORE/sets" "$1/worldswitch/sets"
    export XDG_CACHE_HOME=$1
}

# A cache of its own that has but these sets: a lab machine whose packages are missing is not run by default, and
# two that boot Linux take half a minute of a processor.
only_sets() {
    local set
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/few
    mkdir -p "$XDG_CACHE_HOME/worldswitch/sets"
    for set; do
        ln -s "$LAB_STORE/sets/$set" "$XDG_CACHE_HOME/worldswitch/sets/"
    done
}

# Fetches packages that are not there yet, for all tests and the user.
fetch_packages() { LIMIT=600 ws lab fetch --cache "$LAB_STORE" "$@"; }

# Fetches from the real archive; where that can't be reached, the test is skipped with the reason.
# shellcheck disable=SC2154
fetch_or_skip() {
    run ws lab fetch "$@"
    [ "$status" -ne 0 ] || return 0
    case $output in
    *'there is no apt'* | *'no Debian archive'* | *'apt-get failed'*)
        skip "the archive can't be reached: $(tail -n 2 <<<"$output" | head -n 1)"
        ;;
    esac
    echo "$output"
    return 1
}

# Debian 13's on every host: versions write numbers differently, 1 or 1.0. The step lab-fetch has fetched it;
# without it, whoever asks a result would hear "no" to everything.
[ -e "$ROOT/build/debian-13/usr/bin/jq" ] || "$ROOT/tests/debian-13/fetch" || return
jq() { "$ROOT/tests/debian-13/jq" "$@"; }
export -f jq

[ -z "${BATS_FILE_TMPDIR-}" ] || new_user "$BATS_FILE_TMPDIR/user"

common_setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    OUT=$BATS_TEST_TMPDIR/out
}

# worldswitch with a time limit, just below that of the whole step: it only tells where something hangs. Not
# `run`: bats has that.
ws() {
    timeout --kill-after=5 "${LIMIT:-550}" "$WORLDSWITCH" "$@"
}

# guest_with NAME ARCH "FILE...": the suite's guest with other benchmarks, in $BUILT/NAME.
guest_with() {
    make -s -C "$ROOT/guest" ARCH="$2" EXTRA_BENCH="$3" OUT="$BUILT/$1" OBJ="$ROOT/build/guest/$2/obj" >&2
}

# The guest with the planted faults; says where.
planted_guest() {
    guest_with planted x86_64 "$ROOT/tests/guests/planted.c"
    echo "$BUILT/planted/guest.elf"
}

# The machine ends by itself within a minute, or the test fails. The console is in console.txt.
boot() {
    timeout 60 "$QEMU" -machine pc -accel tcg -cpu "${CPU:-max}" -m "${MEMORY:-512}" -nodefaults \
        -display none -no-reboot -monitor none -serial file:console.txt -serial null "$@"
}

# The JSON of all records of a kind in console.txt: a line each.
records() {
    sed -n 's/^@ws1 [0-9a-f]* guest [0-9a-f]* [0-9]* [0-9]* //p' console.txt |
        jq -c "select(.kind == \"$1\")"
}

# How many benchmarks the guest image has.
benchmarks() {
    ws list benchmarks --json | jq '.benchmarks | length'
}

# One number or string out of the result file of a platform.
result() {
    jq -r "$2" "$OUT/$1.json"
}

# value FILE BENCHMARK EXPRESSION: something of a row in a result file (without .json).
value() { jq -r --arg bench "$2" ".rows[] | select(.benchmark == \$bench) | $3" "$1.json"; }

# insns FILE BENCHMARK: the instructions that were most frequent in the first boot of a row.
insns() {
    value "$1" "$2" '[.metrics[] | select(.name == "cost").boots[0] | .run, .control] | transpose
        | map(.[0] - .[1]) | group_by(.) | max_by(length)[0]'
}

# The status of each row, as "name status" lines.
statuses() {
    result "$1" '.rows[] | .benchmark + " " + .status'
}

# Does a process exist whose command line has this text? (pgrep sees itself not.)
is_running() {
    pgrep -f -- "$1" >/dev/null
}

# Waits up to a minute until a command holds.
eventually() {
    for _ in $(seq 600); do
        "$@" && return 0
        sleep 0.1
    done
    echo "never came true: $*" >&2
    return 1
}
