# `worldswitch run place`: a host and its VM at work on chosen CPUs. What is measured here is only that it works; all kinds
# of work are in tests/long/place.bats.

# `run` sets $output and $status.
# shellcheck disable=SC2154

# bats file_tags=live

load common
load host

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    fetch_packages linux
}

setup() { common_setup; }

@test "two placements of one kind, alone and together" {
    ws run place --on qemu-tcg --kind trip-host --cells 2 --boots 1 -o out --export-json place.json >table.txt 2>said.txt
    cat said.txt table.txt
    grep -q 'of trip-host: .* rows, about 1 min' said.txt
    cells=$(($(nproc) > 1 ? 2 : 1))
    [ "$(jq -r '.kinds | length' place.json)" = 1 ]
    [ "$(jq -r '.kinds[0].cells | length' place.json)" = "$cells" ]
    [ "$(jq -r '[.kinds[0].cells[] | .alone, .both | .host_per_s > 0 and .guest_per_s > 0] | all' place.json)" = true ]
    [ "$(jq -r '[.kinds[0].cells[] | .host_kept > 0 and .guest_kept > 0] | all' place.json)" = true ]
    ws compare --all out out | grep -q place-trip-host-host-both
    ws show out --export-markdown - | grep -q '^### trip-host on qemu-tcg'
    [ "$cells" = 1 ] || grep -q 'needs three boots: --boots 3' table.txt
    # The report draws it.
    ws report out -o page.html
    grep -q '<figure class="heat' page.html
    eventually none_entered
    no_devices
}

@test "what can't be is said" {
    run -2 ws run place --on host
    [[ "$output" == *'choose qemu-kvm or qemu-tcg'* ]]
    run -2 ws run place --on qemu-tcg --kind disks
    [[ "$output" == *'choose of net-self'* ]]
}

@test "what a host lacks is said in one line, with the cure" {
    local here=tree/target/debug/worldswitch
    run -1 no_namespaces "$here" place --on qemu-tcg --kind cpu
    only_cure 'run as root, or allow them: sysctl '
    if [ -e /dev/kvm ]; then
        CLOSED=/dev/kvm run -1 unprivileged "$here" place --kind cpu
        only_cure 'no permission to open /dev/kvm: join the group'
    fi
    XDG_CACHE_HOME=$PWD/empty run -1 ws run place --on qemu-tcg --kind cpu
    only_cure 'of which QEMU and all programs are, are not fetched: worldswitch lab fetch kvm-linux'
    # A user who may make namespaces, but not open /dev/net/tun.
    rm -f closed
    CLOSED=/dev/net/tun run -1 unprivileged "$here" place --on qemu-tcg --kind cpu
    only_cure 'run as root, or allow it: sudo setfacl'
    # One CPU is one placement.
    run -1 on_one_cpu place --on qemu-tcg --kind cpu
    [[ "$output" == *'with one CPU there is only one placement'*'(cure: worldswitch doctor)'* ]]
    only_cure 'are not fetched'
}
