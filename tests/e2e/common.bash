# shellcheck shell=bash
# Common parts of the end-to-end tests, which use the command as a user does, on the real QEMU.

bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
# From the build step (tests/steps); tests fail if they are missing.
WORLDSWITCH=${CARGO_TARGET_DIR:-$ROOT/target}/debug/worldswitch
GUEST=$ROOT/build/guest/x86_64
# Things that are built once for all tests that need them.
BUILT=$ROOT/build/test/e2e
export ROOT WORLDSWITCH GUEST BUILT

QEMU=${QEMU:-qemu-system-x86_64}

# make, one at a time: files of tests run in parallel, and some build the same things.
make() {
    mkdir -p "$BUILT"
    flock "$BUILT/lock" make "$@"
}

# Of the real user's files only the fetched packages (the step lab-fetch fetches them) and the states of machines that
# have booted are used. Seen counts, histories and settings are those of a new user, another one for each test file.
LAB_STORE=${LAB_STORE:-${XDG_CACHE_HOME:-$HOME/.cache}/worldswitch}
export LAB_STORE
new_user() {
    mkdir -p "$1/home"
    # For make, which a test may call: where rustup keeps its compilers.
    export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
    export HOME=$1/home XDG_DATA_HOME=$1/data
    unset WORLDSWITCH_DATA NO_COLOR XDG_CONFIG_HOME
    use_cache "$1/cache"
}

# Makes a new cache in this folder, with the fetched packages and the states of machines.
use_cache() {
    mkdir -p "$1/worldswitch" "$LAB_STORE/states"
    [ -e "$1/worldswitch/sets" ] || ln -s "$LAB_STORE/sets" "$LAB_STORE/states" "$1/worldswitch/"
    export XDG_CACHE_HOME=$1
}

# Makes a cache with these sets only: lab machines without their packages do not run by default, which saves
# half a minute of CPU time for the two that boot Linux.
only_sets() {
    local set
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/few
    mkdir -p "$XDG_CACHE_HOME/worldswitch/sets" "$LAB_STORE/states"
    ln -s "$LAB_STORE/states" "$XDG_CACHE_HOME/worldswitch/"
    for set; do
        ln -s "$LAB_STORE/sets/$set" "$XDG_CACHE_HOME/worldswitch/sets/"
    done
}

# Fetches missing packages, for all tests and the user: the newest, if the archive no longer has the pinned ones.
fetch_packages() { LIMIT=600 ws lab fetch --cache "$LAB_STORE" --newest "$@"; }

# lab_emulator PROGRAM FILE: makes FILE a command that runs the lab's QEMU, with its own libraries; or, if PROGRAM is a
# path, that changed copy of it.
lab_emulator() {
    local root=$LAB_STORE/sets/qemu/root program=$1
    [[ $program == /* ]] || program=$root/usr/bin/$program
    cat >"$2" <<END
#!/bin/sh
exec "$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" \\
    "$program" -L "$root/usr/share/qemu" -L "$root/usr/share/seabios" "\$@"
END
    chmod +x "$2"
}

# busy_loop: builds what makes an emulator's main loop look at its CPU at the worst moments (tests/guests/busy-loop.c);
# prints its path, for LD_PRELOAD.
busy_loop() {
    local made=$BATS_FILE_TMPDIR/busy-loop.so
    [ -e "$made" ] || gcc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$made" "$ROOT/tests/guests/busy-loop.c" -ldl >&2
    echo "$made"
}

# Fetches from the real archive; skips the test with the reason if it can't be reached.
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

# Debian 13's jq on every host, as versions print numbers differently (1 or 1.0). The step lab-fetch fetches
# it; without it, every query of a result would fail.
[ -e "$ROOT/build/debian-13/usr/bin/jq" ] || "$ROOT/tests/debian-13/fetch" || return
jq() { "$ROOT/tests/debian-13/jq" "$@"; }
export -f jq

[ -z "${BATS_FILE_TMPDIR-}" ] || new_user "$BATS_FILE_TMPDIR/user"

common_setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    OUT=$BATS_TEST_TMPDIR/out
}

# worldswitch with a time limit below that of the whole step, so that a hang is reported where it is. Not
# named `run`, which is bats' own.
ws() {
    timeout --kill-after=5 "${LIMIT:-550}" "$WORLDSWITCH" "$@"
}

# with_loader USR PROGRAM [ARGUMENT...]: runs a program of the lab's packages with its own libraries, with such a limit.
with_loader() {
    local usr=$1 program=$2
    shift 2
    timeout --kill-after=5 "${LIMIT:-550}" "$usr/lib64/ld-linux-x86-64.so.2" --library-path "$usr/lib/x86_64-linux-gnu" \
        "$usr/bin/$program" "$@"
}

# guest_with NAME ARCH "FILE...": builds the suite's guest with more benchmarks, in $BUILT/NAME.
guest_with() {
    make -s -C "$ROOT/guest" ARCH="$2" EXTRA_BENCH="$3" OUT="$BUILT/$1" OBJ="$ROOT/build/guest/$2/obj" >&2
}

# Builds the guest with the planted faults; prints its path.
planted_guest() {
    guest_with planted x86_64 "$ROOT/tests/guests/planted.c"
    echo "$BUILT/planted/guest.elf"
}

# Boots a machine, which must end by itself within a minute. The console is in console.txt.
boot() {
    timeout 60 "$QEMU" -machine pc -accel tcg -cpu "${CPU:-max}" -m "${MEMORY:-512}" -nodefaults \
        -display none -no-reboot -monitor none -serial file:console.txt -serial null "$@"
}

# The JSON of all records of a kind in console.txt, one per line.
records() {
    sed -n 's/^@ws1 [0-9a-f]* guest [0-9a-f]* [0-9]* [0-9]* //p' console.txt |
        jq -c "select(.kind == \"$1\")"
}

# The number of benchmarks in the guest image.
benchmarks() {
    ws benchmarks --json | jq '.benchmarks | length'
}

# result PLATFORM EXPRESSION: a value from the result file of a platform.
result() {
    jq -r "$2" "$OUT/$1.json"
}

# value FILE BENCHMARK EXPRESSION: a value from a row of a result file (given without .json).
value() { jq -r --arg bench "$2" ".rows[] | select(.benchmark == \$bench) | $3" "$1.json"; }

# insns FILE BENCHMARK: a row's mode of instructions in the first boot.
insns() {
    value "$1" "$2" '[.metrics[] | select(.name == "cost").boots[0] | .run, .control] | transpose
        | map(.[0] - .[1]) | group_by(.) | max_by(length)[0]'
}

# has_one_path FILE BENCHMARK: whether the operations of the first boot took one path: all but two samples, of which the first
# warms up, are within 5 % of the mode.
has_one_path() {
    local mode
    mode=$(insns "$1" "$2")
    value "$1" "$2" '[.metrics[] | select(.name == "cost").boots[0] | .run, .control] | transpose | map(.[0] - .[1])' |
        jq -e --argjson mode "$mode" 'map(select((. / $mode - 1 | fabs) > 0.05)) | length <= 2'
}

# The status of each row, as "name status" lines.
statuses() {
    result "$1" '.rows[] | .benchmark + " " + .status'
}

# sent FILE: what a machine has sent of it by `result` (tests/guests/result.sh); its console is in console.txt.
sent() {
    tr -d '\r' <console.txt | sed -n "/^=== ${1//\//\\/}\$/,/^=== end/p" | grep -v '^===' | base64 -d | gunzip
}

# Whether there is a process whose command line contains this text (pgrep leaves itself out).
is_running() {
    pgrep -f -- "$1" >/dev/null
}

# Waits until a command succeeds, at most $LIMIT seconds (60).
eventually() {
    local end=$((SECONDS + ${LIMIT:-60}))
    until "$@"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "did not succeed within ${LIMIT:-60} seconds: $*" >&2
            return 1
        fi
        sleep 0.1
    done
}

# listens SOCKET: whether a process listens there. The file is made a little earlier, by bind().
listens() { awk -v path="$1" '$4 == "00010000" && $8 == path { found = 1 } END { exit !found }' /proc/net/unix; }

# are_pinned SET...: whether these sets are what lab/lock.toml pins.
are_pinned() {
    ws lab list --json --cache "$LAB_STORE" |
        jq -e '[.sets[] | select(.name | IN($ARGS.positional[])).state == "fetched"] | all' --args "$@" >/dev/null
}

# is_pinned FILE: whether a result is of a machine of pinned packages, and the compiler is pinned too, which made the
# programs that run there.
is_pinned() { jq -e '.identity.subject.packages_pinned' "$1" >/dev/null && are_pinned clang-19; }

# as_kept WHAT COUNT KEPT PINNED...: checks a count. A kept count is that of one machine: if the archive has moved on, so
# that the command PINNED fails, the count is only recorded; tests/run prints it.
as_kept() {
    echo "$1: $2, kept $3"
    [ "$2" != "$3" ] || return 0
    ! "${@:4}" || return 1
    echo "# recorded: $1: $2, and $3 with the pinned packages" >&3
}

# executed FILE ROW KEPT: the ticks of a row's one boot, without what is taken off it. They are the same on every host as
# long as the agent, the lab's packages and how the machine is started stay as they are. After a change of these, put the
# new number here.
executed() {
    as_kept "ticks of $2" "$(jq -r ".rows[] | select(.benchmark == \"$2\").metrics[0].boots[0] | .run[0] - .control[0]" "$1")" \
        "$3" is_pinned "$1"
}
