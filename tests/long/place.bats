# `worldswitch run place` with all kinds of work, its time as a bound, its parts on CPUs of their own, and what it leaves
# behind. What is measured here is only that it works.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/host

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    fetch_packages linux
}

setup() { common_setup; }

@test "all kinds of work, alone and together" {
    LIMIT=1800 ws run place --on qemu-tcg --cells 1 --boots 1 --time 600 -o out --export-json place.json >table.txt
    cat table.txt
    [ "$(jq -r '[.kinds[].kind] | join(" ")' place.json)" = \
        'net-self net-host net-guest disk-buffered disk-cached cpu memory trip-host trip-guest' ]
    [ "$(jq -r '[.kinds[].cells[] | .alone, .both | .host_per_s > 0 and .guest_per_s > 0] | all' place.json)" = true ]
    grep -q '^Disks: files on .* of 256 MiB, the VM.s of 64 MiB' table.txt
    ws report out -o page.html
    [ "$(grep -o '<figure class="heat h0">' page.html | wc -l)" = 9 ]
    eventually none_entered
    no_devices
}

# bats test_tags=live
@test "the time is a bound: what is measured is kept and shown, and what is left out is said" {
    # So many boots take far longer on any host; the first one is over by then on a busy one.
    local begin=$SECONDS
    LIMIT=400 run -1 ws run place --on qemu-tcg --kind trip-host --cells 2 --boots 400 --time 5 -o out --export-json place.json
    echo "$output"
    [ $((SECONDS - begin)) -lt 330 ]
    [[ "$output" == *'the time was used up; left out, or measured in fewer than 400 boots: trip-host at all '* ]]
    [ "$(jq -r '[.kinds[0].cells[0].alone, .kinds[0].cells[0].both | .host_per_s > 0 and .guest_per_s > 0] | all' place.json)" = true ]
    [ "$(jq -r '.interrupted' out/qemu-tcg.json)" = true ]
    eventually none_entered
    no_devices
}

# threads VCPU OTHERS: all threads of the VM's program are where they should be.
threads() {
    local pid task name cpus vcpus='' others=''
    pid=$(pgrep -f 'qemu-system-x86_64 .*-pidfile /run/vm1.pid') || return
    for task in /proc/"$pid"/task/*; do
        # Threads end at any time.
        read -r name <"$task/comm" || continue
        cpus=$(awk '/^Cpus_allowed_list/ { print $2 }' "$task/status") || continue
        case $name in
        CPU*) vcpus+=" $cpus" ;;
        *) others+=" $cpus" ;;
        esac
    done
    [ "$vcpus" = " $1" ] && [ "${others// $2/}" = '' ] && [ "$others" != " $2" ]
}

# netserver CPU: one of ours is only there.
netserver() {
    local pid
    for pid in $(pgrep -x netserver); do
        [ "$(awk '/^Cpus_allowed_list/ { print $2 }' "/proc/$pid/status")" != "$1" ] || return 0
    done
    return 1
}

@test "the parts of a placement are on CPUs of their own" {
    [ "$(nproc)" = 2 ] || skip "other placements are chosen with more than two CPUs, and none with one"
    LIMIT=1800 ws run place --on qemu-tcg --kind trip-host --cells 10 --boots 1 --time 600 -o out --export-json place.json >table.txt 3>&- &
    # In the order of rows' names all four are there at some time.
    LIMIT=1500 eventually threads 1 0
    LIMIT=1500 eventually netserver 1
    wait "$!"
    cat table.txt
    [ "$(jq -r '[.kinds[0].cells[] | select(.io_cpus == "0") | .guest_kept > 0] | @json' place.json)" = '[true,true]' ]
    [ "$(jq -r '[.kinds[0].cells[] | select(.receiver_cpus == "1") | .guest_kept > 0] | @json' place.json)" = '[true,true]' ]
    grep -q '^0>1 *1>0 ' table.txt
}

# are_vms COUNT: so many VMs of ours are there.
are_vms() { [ "$(pgrep -fc 'qemu-system-x86_64 .*-pidfile /run/vm' || true)" = "$1" ]; }

@test "nothing is left behind of two VMs and of disks: after Ctrl-C and after kill -9" {
    mkdir tmp
    for kind in trip-guest disk-cached; do
        for signal in INT KILL; do
            # Background jobs ignore SIGINT.
            TMPDIR=$PWD/tmp env --default-signal=INT "$WORLDSWITCH" run place --on qemu-tcg --kind "$kind" --cells 1 \
                -o "out-$kind-$signal" 3>&- &
            LIMIT=600 eventually are_vms "$([ "$kind" = trip-guest ] && echo 2 || echo 1)"
            kill "-$signal" "$!"
            wait "$!" || true
            eventually none_entered
            eventually are_vms 0
            no_devices
            [ -z "$(ls -A tmp)" ]
        done
    done
}
