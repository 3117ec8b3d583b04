# Machines with three CPUs, busy with the requests of a VM's devices, come to an end: on the lab's emulator, which
# is cured of svm-interrupt-twice (lab/quirks.toml), in every boot; on the same emulator without the cure they
# hang, and each hang is told as one. `make test-long` runs it.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/clock

setup() {
    common_setup
    export LIMIT=7200
}

BOOTS=${BOOTS:-20}
ROWS='^io-(qemu|iothread|storage-daemon|elvis|vhost)-d1$'

@test "no machine hangs on the cured emulator" {
    fetch_packages kvm-linux
    ws run --on lab:kvm-linux --bench "$ROWS" --boots 1 --perturb "$BOOTS" --timeout 600 -o "$OUT"
    [ "$(result lab-kvm-linux '[.rows[] | select(.status == "ok")] | length')" -eq 5 ]
    [ "$(result lab-kvm-linux '.boots | length')" -eq $((BOOTS + 1)) ]
}

@test "without the cure machines hang, and it is told" {
    fetch_packages kvm-linux
    as_packaged svm-interrupt-twice
    lab_emulator "$PWD/as-packaged" qemu-as-packaged
    # The second machine hangs, and so it does when it is launched again: each time 900 s of processor time.
    run ws run --on lab:kvm-linux --bench '^io-(qemu|iothread)-d1$' --boots 1 --perturb 0 \
        --qemu "$PWD/qemu-as-packaged" -o "$OUT"
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'svm-interrupt-twice'* ]]
    [ "$(result lab-kvm-linux '[.rows[].outcomes[]? | select(.status == "timeout")] | length')" -ge 1 ]
}
