# Lab machines that resume where they had booted (docs/lab.md, Resuming): the digits are those of a boot, and a state
# that is damaged, of another version, or can't be kept costs a boot and never a digit.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common
load clock

# The first boot of a machine, with the state that it leaves, for the tests that need one.
setup_file() {
    fetch_packages kvm-vhe
    cd "$BATS_FILE_TMPDIR" || return
    folders "$BATS_FILE_TMPDIR"
    measure first
}

setup() {
    common_setup
    folders "$BATS_TEST_TMPDIR"
}

# folders IN: a cache without states, and the machine and its rows.
folders() {
    export LIMIT=120 WORK=$1/work STATES=$1/cache/worldswitch/states
    mkdir -p "$WORK" "$STATES"
    ln -s "$LAB_STORE/sets" "$STATES/.."
    export XDG_CACHE_HOME=$1/cache
    # The host's timer is in idle. Without the preloaded library the last two rows have other samples.
    rows=(hypercall idle vm-switch timer-10ms)
    machine=kvm-vhe
}

# The machine has booted, with the samples in $WORK/first.samples.
has_booted() {
    cp -a "$BATS_FILE_TMPDIR/cache/worldswitch/states/." "$STATES"
    cp "$BATS_FILE_TMPDIR/work/first.samples" "$WORK"
}

# measure NAME [OPTION...]: the samples of $rows on $machine.
measure() {
    ws run "${rows[@]}" --on "lab:$machine" --boots 1 --perturb 0 --output "$WORK/$1" "${@:2}" >&2
    jq -c '[.rows[] | select(.status == "ok") | .metrics[].boots[].run]' "$WORK/$1/lab-$machine.json" |
        tee "$WORK/$1.samples"
    [ "$(jq length "$WORK/$1.samples")" -ge 2 ]
}

states() { find "$STATES" -name '*.state' | wc -l; }

# Nothing of a state that was being written is left.
only_states() { [ "$(find "$STATES" -type f ! -name '*.state' | wc -l)" -eq 0 ]; }

@test "a machine that resumes gives the samples of one that boots" {
    measure booted --no-resume
    [ "$(states)" -eq 0 ]
    has_booted
    [ "$(states)" -eq 1 ]
    only_states
    touch -d '1 hour ago' "$STATES"/*.state
    local made
    made=$(stat -c '%i %s' "$STATES"/*.state)
    measure resumed
    # The same file, used now.
    [ "$(stat -c '%i %s' "$STATES"/*.state)" = "$made" ]
    [ -n "$(find "$STATES" -name '*.state' -mmin -30)" ]
    cmp "$WORK/booted.samples" "$WORK/first.samples"
    cmp "$WORK/booted.samples" "$WORK/resumed.samples"
}

# A breakpoint stops the machine, and QEMU's main loop learns of it later (clock.bats).
@test "a state has the same clock however busy the host is" {
    has_booted
    state_clock "$STATES"/*.state >quiet.txt
    [ "$(wc -w <quiet.txt)" -eq 2 ]
    rm "$STATES"/*.state
    LD_PRELOAD=$(busy_loop) measure busy
    state_clock "$STATES"/*.state | diff quiet.txt -
    cmp "$WORK/first.samples" "$WORK/busy.samples"
}

# QEMU announces a resumed machine to its network, by a timer of the host's clock, which ends turns of vCPUs. Here it
# would do so each millisecond.
@test "the host's clock does not end a turn of a resumed machine's vCPUs" {
    # Both recipes have one name. The nonce depends on the name, and the guest parses the nonce.
    mkdir -p {quiet,loud}/recipes
    tee quiet/recipes/other.toml >loud/recipes/other.toml <<<$'extends = "kvm-vhe"\nsummary = "the same"'
    cat >>loud/recipes/other.toml <<'RECIPE'
[[emulator.flag]]
words = [
    "-global", "migration.announce-rounds=1000", "-global", "migration.announce-initial=1",
    "-global", "migration.announce-max=1",
]
why = "no pause, no end"
RECIPE
    rows=(ipi-halted io-latency-in-spinning)
    machine=other
    measure quiet --lab-dir quiet
    measure first --lab-dir loud
    measure resumed --lab-dir loud
    [ "$(states)" -ge 2 ]
    cmp "$WORK/quiet.samples" "$WORK/first.samples"
    cmp "$WORK/quiet.samples" "$WORK/resumed.samples"
}

# A loader separates what it preloads by spaces and colons.
@test "a machine resumes by files of a folder whose name has a space and a colon" {
    local data="$PWD/a folder: mine"
    mkdir "$data"
    cp -r "$ROOT/lab" "$ROOT/build/guest" "$ROOT/build/vmm" "$ROOT/build/plugin" "$data"
    has_booted
    WORLDSWITCH_DATA=$data measure resumed
    cmp "$WORK/first.samples" "$WORK/resumed.samples"
}

# states.rs in crates/machines/src/lab/resume tests states that are cut or of another version.
@test "a state that is damaged is booted again, and replaced" {
    has_booted
    local state
    state=$(echo "$STATES"/*.state)
    printf 'X' | dd of="$state" conv=notrunc bs=1 seek=30000000 status=none
    cp "$state" "$WORK/damaged"
    measure again
    cmp "$WORK/first.samples" "$WORK/again.samples"
    [ "$(states)" -eq 1 ]
    only_states
    run ! cmp -s "$state" "$WORK/damaged"
}

@test "two runs at once make and use the same state" {
    measure one &
    local one=$!
    measure two
    wait "$one"
    cmp "$WORK/one.samples" "$WORK/two.samples"
    [ "$(states)" -eq 1 ]
    only_states
}

@test "a machine is measured where no state can be kept" {
    rmdir "$STATES" || rm "$STATES"
    touch "$STATES"
    measure nowhere
    cmp "$WORK/nowhere.samples" "$BATS_FILE_TMPDIR/work/first.samples"
}

@test "a damaged state that can't be removed is booted, and not resumed again" {
    has_booted
    printf 'X' | dd of="$(echo "$STATES"/*.state)" conv=notrunc bs=1 seek=30000000 status=none
    export LIMIT=60
    read_only() {
        # shellcheck disable=SC2016
        timeout "$LIMIT" unshare -rm sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"' "$STATES" "$WORLDSWITCH" "$@"
    }
    ws() { read_only "$@"; }
    measure again
    cmp "$WORK/first.samples" "$WORK/again.samples"
    [ "$(states)" -eq 1 ]
}
