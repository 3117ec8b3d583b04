# No host moves a digit: machines of each kind of recipe, in boots whose emulator's main loop looks at its CPU at the
# worst moments, and in boots at a lower priority than busy loops beside them. STRESS_BOOTS boots of each (8).

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

setup() {
    common_setup
    export LIMIT=3000
}

teardown() {
    for pid in ${loops-}; do kill "$pid"; done 2>/dev/null || true
}

# digits FOLDER: all samples of its results.
digits() {
    jq -c '.rows[] | [.benchmark // .workload, .status, (.metrics[]? | select(.unit == "insns" or .unit == "tsc_ticks").boots[]
        | .iterations, .run, .control)]' "$1"/lab-*.json
}

# stress MACHINE COMMAND...: the first boot is undisturbed.
stress() {
    local machine=$1 boot
    shift
    fetch_packages "${machine%%+*}"
    busy_loop
    loops=
    for boot in $(seq 0 "${STRESS_BOOTS:-8}"); do
        case $boot in
        0) ws "$@" --on "lab:$machine" --boots 1 --no-resume -o 0 ;;
        *[13579]) LD_PRELOAD=$(busy_loop) ws "$@" --on "lab:$machine" --boots 1 --no-resume -o "$boot" ;;
        *)
            for _ in 1 2 3; do
                nice -n 10 timeout "$LIMIT" sh -c 'while :; do :; done' 3>&- &
                loops+=" $!"
            done
            nice -n 15 timeout "$LIMIT" "$WORLDSWITCH" "$@" --on "lab:$machine" --boots 1 --no-resume -o "$boot"
            # shellcheck disable=SC2086
            kill $loops
            loops=
            ;;
        esac
        digits "$boot" >"$boot.txt"
        [ -s "$boot.txt" ]
        cmp 0.txt "$boot.txt"
    done
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
@test "lab:linux" { stress linux apps --workload '^tcp-rr$'; }
@test "lab:arm-linux" { stress arm-linux apps --workload '^tcp-rr$'; }
@test "lab:kvm-linux" { stress kvm-linux apps --workload '^tcp-rr$'; }
@test "lab:kvm-vfio-linux: the card" { stress kvm-vfio-linux+net=assigned apps --workload '^tcp-rr$'; }
