# No host moves a digit: machines of each kind of recipe, in boots whose emulator's main loop looks at its CPU at the
# worst moments, and in boots at a lower priority than busy loops beside them. STRESS_BOOTS boots of each (8).
# With STRESS_UNCURED=1 the emulator has the fault that the lab cures: how many boots differ is said, and is no failure.
# The fault shows where all CPUs of a machine halt. So a whole Linux also sleeps here. Other guests hardly halt.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/clock

setup() {
    common_setup
    export LIMIT=3000
    # Each nap is a halt, and a timer that ends it.
    mkdir -p mine/workloads
    cat >mine/workloads/a-nap.toml <<'NAP'
summary = "sleeps of 5 ms"
unit = "nap"
units = 100
place = "inside"
run = "i=0; while [ $i -lt $UNITS ]; do sleep 0.005; i=$((i + 1)); done"
proof = "true"
NAP
    naps=(apps --lab-dir mine --workload '^(a-nap|tcp-rr)$')
}

teardown() {
    for pid in ${loops-}; do kill "$pid"; done 2>/dev/null || true
}

# digits FOLDER: all samples of its results.
digits() {
    jq -c '.rows[] | [.benchmark // .workload, .status, (.metrics[]? | select(.unit == "insns" or .unit == "tsc_ticks").boots[]
        | .iterations, .run, .control)]' "$1"/lab-*.json
}

# emulator_of MACHINE: the program of its emulator.
emulator_of() {
    case $1 in
    arm-* | neve* | kvm-vhe* | kvm-nvhe* | kvm-nested*) echo qemu-system-aarch64 ;;
    *) echo qemu-system-x86_64 ;;
    esac
}

# boot FOLDER COMMAND...: one boot of $machine, with its samples in FOLDER.txt. Without the cure it may fail.
boot() {
    local folder=$1
    shift
    "$@" --on "lab:$machine" --boots 1 --no-resume -o "$folder" "${more[@]}" || [ -n "${STRESS_UNCURED-}" ]
    digits "$folder" >"$folder.txt" || [ -n "${STRESS_UNCURED-}" ]
}

# stress MACHINE COMMAND...: the first boot is undisturbed.
stress() {
    local machine=$1 number differing=0 boots=${STRESS_BOOTS:-8} more=()
    shift
    fetch_packages "${machine%%+*}"
    busy_loop
    if [ -n "${STRESS_UNCURED-}" ]; then
        [[ $machine != *riscv* ]] || skip "the uncured emulator is only made of x86's and ARM's"
        uncured "$LAB_STORE/sets/qemu/root/usr/bin/$(emulator_of "$machine")"
        lab_emulator "$PWD/uncured" emulator
        more=(--qemu "$PWD/emulator")
    fi
    boot 0 ws "$@"
    [ -s 0.txt ]
    for number in $(seq "$boots"); do
        if ((number % 2)); then
            LD_PRELOAD=$(busy_loop) boot "$number" ws "$@"
        else
            loops=
            for _ in 1 2; do
                nice -n 10 timeout "$LIMIT" sh -c 'while :; do :; done' 3>&- &
                loops+=" $!"
            done
            boot "$number" nice -n 15 timeout "$LIMIT" "$WORLDSWITCH" "$@"
            # shellcheck disable=SC2086
            kill $loops
            loops=
        fi
        diff 0.txt "$number.txt" || differing=$((differing + 1))
    done
    echo "# lab:$machine: $differing of $boots boots differ" >&3
    [ "$differing" -eq 0 ] || [ -n "${STRESS_UNCURED-}" ]
}

# states MACHINE COMMAND...: compares the clocks and samples of two saved states. The first is of an undisturbed boot. The
# second is of a boot with busy loops on the host, and with a cache that has a longer path.
states() {
    local machine=$1 cache
    loops=
    shift
    fetch_packages "${machine%%+*}"
    for cache in quiet starved/far/away; do
        mkdir -p "$cache/worldswitch"
        ln -s "$LAB_STORE/sets" "$LAB_STORE/images" "$cache/worldswitch/"
        XDG_CACHE_HOME=$PWD/$cache ws "$@" --on "lab:$machine" --boots 1 -o "${cache%%/*}.out"
        [ "$(find "$cache" -name '*.state' | wc -l)" -ge 1 ]
        digits "${cache%%/*}.out" >"${cache%%/*}.txt"
        find "$cache" -name '*.state' | sort | while read -r state; do state_clock "$state"; done >>"${cache%%/*}.txt"
        # For the second boot.
        [ -n "$loops" ] || for _ in 1 2; do
            timeout "$LIMIT" sh -c 'while :; do :; done' 3>&- &
            loops+=" $!"
        done
    done
    [ -s quiet.txt ]
    diff quiet.txt starved.txt
}

rows='^(in|print|hypercall|self-ipi-halted|timer.*|tsc-deadline.*|event-send)$'

# bats needs a test of each machine for its name.
@test "lab:native" { stress native run --bench "$rows"; }
@test "lab:kvm" { stress kvm run --bench "$rows"; }
@test "lab:kvm-shadow" { stress kvm-shadow run --bench "$rows"; }
@test "lab:qemu-kvm" { stress qemu-kvm run --bench "$rows"; }
@test "lab:xen" { stress xen run --bench "$rows"; }
@test "lab:xen-hvm" { stress xen-hvm run --bench "$rows"; }
@test "lab:arm-native" { stress arm-native run --bench "$rows"; }
@test "lab:kvm-vhe" { stress kvm-vhe run --bench "$rows"; }
@test "lab:kvm-nvhe" { stress kvm-nvhe run --bench "$rows"; }
@test "lab:arm-xen" { stress arm-xen run --bench "$rows"; }
@test "lab:kvm-nested" { stress kvm-nested run --bench '^(in|hypercall)$'; }
@test "lab:neve-nested" { stress neve-nested run --bench '^(in|hypercall)$'; }
@test "lab:riscv-native" { stress riscv-native run --bench "$rows"; }
@test "lab:kvm-riscv" { stress kvm-riscv run --bench "$rows"; }
@test "lab:linux" { stress linux "${naps[@]}"; }
@test "lab:arm-linux" { stress arm-linux "${naps[@]}"; }
@test "lab:kvm-linux" { stress kvm-linux "${naps[@]}"; }
@test "lab:kvm-vhe-linux" { stress kvm-vhe-linux "${naps[@]}"; }
@test "lab:xen-linux" { stress xen-linux "${naps[@]}"; }
@test "lab:arm-xen-linux" { stress arm-xen-linux "${naps[@]}"; }
@test "lab:kvm-vfio-linux: the card" { stress kvm-vfio-linux+net=assigned apps --workload '^tcp-rr$'; }
@test "states of lab:kvm with two CPUs" { states kvm run --bench '^ipi-'; }
@test "states of lab:kvm@6.12 with two CPUs" { states kvm@6.12 run --bench '^ipi-'; }
@test "states of lab:kvm-vhe with two CPUs" { states kvm-vhe run --bench '^ipi-'; }
@test "states of lab:qemu-kvm with two CPUs" { states qemu-kvm run --bench '^ipi-'; }
@test "states of lab:xen-hvm with two CPUs" { states xen-hvm run --bench '^ipi-'; }
@test "states of lab:xen-hvm@apart with three CPUs" { states xen-hvm@apart run --bench '^ipi-'; }
@test "states of lab:kvm-riscv with two CPUs" { states kvm-riscv run --bench '^ipi-'; }
@test "states of lab:kvm-riscv+sstc=0 with two CPUs" { states kvm-riscv+sstc=0 run --bench '^ipi-'; }
@test "states of lab:kvm-linux" { states kvm-linux apps --workload '^tcp-rr$'; }
@test "states of lab:xen-linux" { states xen-linux apps --workload '^tcp-rr$'; }
@test "states of lab:arm-xen-linux" { states arm-xen-linux apps --workload '^tcp-rr$'; }
