# Machines with three CPUs, busy with the requests of a VM's devices, come to an end: on the lab's emulator, which
# is cured of svm-interrupt-twice (lab/quirks.toml), in every boot; on the same emulator without the cure they
# hang, and each hang is told as one. `make test-long` runs it.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

setup() {
    common_setup
    export LIMIT=7200
}

BOOTS=${BOOTS:-20}
ROWS='^io-(qemu|iothread|storage-daemon|elvis|vhost)-d1$'

# A program in $PWD that runs the lab's emulator as it is in its package.
uncured() {
    local set=$XDG_CACHE_HOME/worldswitch/sets/qemu/root faulty cured at
    # shellcheck disable=SC2001
    bytes() { sed 's/../\\x&/g' <<<"$1"; }
    IFS='|' read -r _ _ faulty cured < <(grep '^svm-interrupt-twice|qemu-system-x86 1:10.0.13' \
        "$ROOT/crates/lab/src/quirks/builds.txt")
    cp -L "$set/usr/bin/qemu-system-x86_64" as-packaged
    at=$(LC_ALL=C grep -obUaP "$(bytes "$cured")" as-packaged | cut -d: -f1)
    printf '%b' "$(bytes "$faulty")" | dd of=as-packaged bs=1 seek="$at" conv=notrunc status=none
    ! cmp -s as-packaged "$set/usr/bin/qemu-system-x86_64"
    lab_emulator "$PWD/as-packaged" qemu-as-packaged
}

@test "no machine hangs on the cured emulator" {
    fetch_packages kvm-linux
    ws run --on lab:kvm-linux --bench "$ROWS" --boots 1 --perturb "$BOOTS" --timeout 600 -o "$OUT"
    [ "$(result lab-kvm-linux '[.rows[] | select(.status == "ok")] | length')" -eq 5 ]
    [ "$(result lab-kvm-linux '.boots | length')" -eq $((BOOTS + 1)) ]
}

@test "without the cure machines hang, and it is told" {
    fetch_packages kvm-linux
    uncured
    # The second machine hangs, and so it does when it is launched again: each time 900 s of processor time.
    run ws run --on lab:kvm-linux --bench '^io-(qemu|iothread)-d1$' --boots 1 --perturb 0 \
        --qemu "$PWD/qemu-as-packaged" -o "$OUT"
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'svm-interrupt-twice'* ]]
    [ "$(result lab-kvm-linux '[.rows[].outcomes[]? | select(.status == "timeout")] | length')" -ge 1 ]
}
