# The monitor (vmm/) on this machine's /dev/kvm, with the real guest, and with guests that attack it.

load common

setup_file() {
    make -s -C "$ROOT/guest" >&2
    make -s -C "$ROOT/vmm" >&2
    guest_with hostile x86_64 "$ROOT/tests/guests/hostile.c"
}

setup() {
    common_setup
    VMM=$ROOT/build/vmm/x86_64/vmm
    HOSTILE=$BUILT/hostile/guest.elf
}

teardown() {
    # A test's consoles are in its own folder, so their paths identify its machines.
    ! pgrep -f -- "$VMM.*$BATS_TEST_TMPDIR" || {
        pgrep -af -- "$VMM.*$BATS_TEST_TMPDIR"
        return 1
    }
}

probe() { timeout 30 "$VMM" --probe; }
needs_kvm() { probe >probe.json || skip "$(jq -r .reason probe.json)"; }
is_software() { jq -e .software probe.json >/dev/null; }

# Runs the monitor, with its console in console.txt, its standard error in said.txt, its exit status in
# $status.
vmm() {
    status=0
    timeout --kill-after=5 "${LIMIT:-100}" "$VMM" --console "$BATS_TEST_TMPDIR/console.txt" "$@" \
        2>said.txt || status=$?
}
# guest WORD...: boots the suite's guest, or $KERNEL, with these words; counts are small enough for a
# software KVM.
guest() {
    vmm --kernel "${KERNEL:-$GUEST/guest.elf}" "${OPTIONS[@]}" \
        --append "samples=3 iters=10 doorbell=0x510 nonce=ab $*"
}
# The monitor's own records of a kind.
own() {
    sed -n 's/^@ws1 [0-9a-f]* vmm [0-9a-f]* [0-9]* [0-9]* //p' console.txt |
        jq -c "select(.kind == \"$1\")"
}
# exits BENCHMARK EXPRESSION: a field of the exits record of a benchmark.
exits() { own exits | jq -r "select(.bench == \"$1\") | $2"; }

# Starts a machine that never ends by itself; $machine is its process.
spin() {
    "$VMM" --console "$BATS_TEST_TMPDIR/console.txt" --kernel "$HOSTILE" \
        --append 'bench=^hostile-spin$ samples=1' "$@" 2>said.txt 3>&- &
    machine=$!
    eventually grep -q '"bench":"hostile-spin"' console.txt
}
# Waits for $machine, at most a minute, and sets $status.
reap() {
    eventually is_gone "$machine"
    status=0
    wait "$machine" || status=$?
}
is_gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; }

@test "the probe runs a guest in /dev/kvm, and prints the result as one line of JSON" {
    status=0
    probe >probe.json || status=$?
    [ "$(wc -l <probe.json)" -eq 1 ]
    if [ "$(jq .usable probe.json)" = true ]; then
        [ "$status" -eq 0 ]
        [ "$(jq .exit_ns probe.json)" -gt 0 ]
        if grep -qwE 'vmx|svm' /proc/cpuinfo; then expected=false; else expected=true; fi
        [ "$(jq .software probe.json)" = "$expected" ]
    else
        [ "$status" -eq 14 ]
        [ "$(jq -r '.reason | length' probe.json)" -gt 0 ]
    fi
}

@test "without /dev/kvm: the reason and the cure, exit status 14" {
    [ "$(id -u)" -eq 0 ] || skip "only root can hide /dev/kvm"
    unshare -m sh -c 'mount -t tmpfs none /dev 2>/dev/null' || skip "mounts are not permitted here"
    status=0
    without='mount -t tmpfs none /dev && exec "$@"'
    unshare -m sh -c "$without" - "$VMM" --probe >probe.json || status=$?
    [ "$status" -eq 14 ]
    jq -e '.usable == false and (.reason | test("firmware"))' probe.json
    status=0
    unshare -m sh -c "$without" - "$VMM" --kernel x 2>said.txt || status=$?
    [ "$status" -eq 14 ]
    grep -q 'firmware' said.txt
}

@test "without permission: the reason and the cure" {
    [ -e /dev/kvm ] || skip "there is no /dev/kvm"
    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    cp "$VMM" "$BATS_TEST_TMPDIR/as-nobody"
    chmod -R a+rX "$BATS_TEST_TMPDIR"
    status=0
    # Through /proc: the user nobody can't reach the tests' folders.
    exec 9<"$BATS_TEST_TMPDIR/as-nobody"
    setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/9 --probe >probe.json ||
        status=$?
    exec 9<&-
    [ "$status" -ne 0 ] || skip "everybody may use /dev/kvm here"
    jq -e '.reason | test("usermod -aG kvm")' probe.json
}

@test "wrong usage is reported, exit status 2" {
    for words in '' '--colour=blue' '--cpus=65 --kernel=x' '--kernel=x --pin=0,0'; do
        # shellcheck disable=SC2086
        vmm $words
        [ "$status" -eq 2 ]
        [ -s said.txt ]
    done
    timeout 60 "$VMM" --help | grep -q -- '--console-max'
    timeout 60 "$VMM" --version | grep -qE '^vmm [0-9.]+$'
}

@test "files that are not kernels are errors with a reason" {
    needs_kvm
    head -c 3000 /dev/urandom >random
    head -c 5000 "$GUEST/guest.elf" >cut.elf
    : >empty
    for file in random cut.elf empty missing /bin/true; do
        vmm --insist --kernel "$file"
        [ "$status" -eq 1 ]
        grep -qF "$file: " said.txt
    done
}

# bats test_tags=live
@test "the guest boots and ends; the runner reads the records of both" {
    needs_kvm
    guest 'bench=^(idle|sgdt|in)$'
    [ "$status" -eq 0 ]
    [ ! -s said.txt ]
    [ "$(records hello | jq -r '"\(.boot) \(.cpus)"')" = 'pvh 1' ]
    [ "$(records result | jq -r .check | sort -u)" = proved ]
    [ "$(own bye | jq -r .status)" = ok ]
    head -n 1 console.txt | grep -q ' vmm ab 0 .*"kind":"hello"'
    tail -n 1 console.txt | grep -q ' vmm ab .*"kind":"bye"'
    ws run --on "log:$BATS_TEST_TMPDIR/console.txt" -o "$OUT" >table.txt
    file=$(ls "$OUT"/*.json)
    [ "$(jq '[.rows[] | select(.status == "ok")] | length' "$file")" -eq 3 ]
    [ "$(jq -c '[.boots[].launches[] | .bad_lines, .stale_records, .lost_records, .end]' "$file")" = '[0,0,0,"bye"]' ]
}

@test "exits: as many as operations in rows that exit, none in rows that do not" {
    needs_kvm
    guest 'bench=^(in|out|sgdt|sldt|sidt|pushf-popf|lgdt|idle)$'
    for row in in out; do
        [ "$(exits $row .operations)" -eq 30 ]
        [ "$(exits $row '.returns | tojson')" = '{"io":30}' ]
    done
    for row in idle sgdt sldt sidt pushf-popf lgdt; do
        [ "$(exits $row '.returns | tojson')" = '{}' ]
    done
    # Trial batches of adaptive counts are not counted; they would double the number.
    guest 'bench=^in$ iters=40 samples=2'
    [ "$(exits in .operations)" -eq 80 ]
    [ "$(exits in .returns.io)" -eq 80 ]
}

@test "cold memory: each operation adds a page that was not present" {
    needs_kvm
    guest 'bench=^(hot|cold)-memory-access$ iters=20'
    [ "$(exits cold-memory-access '.pages_after - .pages_before')" -eq 60 ]
    [ "$(exits hot-memory-access '.pages_after - .pages_before')" -eq 0 ]
    [ "$(exits cold-memory-access .page_faults)" -ge 60 ]
}

# bats test_tags=live
@test "two CPUs and 64 answer interrupts" {
    needs_kvm
    for cpus in 2 64; do
        OPTIONS=(--cpus "$cpus")
        guest 'bench=^ipi-halted$'
        [ "$(records hello | jq .cpus)" -eq "$cpus" ]
        [ "$(records result | jq -r .check)" = proved ]
        [ "$(own bye | jq '.vcpus | length')" -eq "$cpus" ]
    done
}

@test "no hypercall instruction on a software KVM, even if requested" {
    needs_kvm
    is_software || skip "this KVM has hardware below it"
    guest 'hypercall=kvm bench=^hypercall$'
    [ "$status" -eq 0 ]
    grep -q 'hypercall=none' said.txt
    [ "$(records hello | jq -r .hypercall)" = none ]
    [ "$(records skip | jq -r .bench)" = hypercall ]
    # Other kernels than the guest may execute hypercalls, so they need --insist.
    sed 's/worldswitch\x00/worldswatch\x00/' "$GUEST/guest.elf" >foreign.elf
    KERNEL=foreign.elf guest 'bench=^idle$'
    [ "$status" -eq 1 ]
    grep -q -- '--insist' said.txt
    [ "$(records hello)" = '' ]
    OPTIONS=(--insist)
    KERNEL=foreign.elf guest 'bench=^idle$'
    [ "$status" -eq 0 ]
}

# Builds other kernels than the guest: foreign.elf, for PVH, and foreign.bzimage.
make_foreign() {
    as --32 "$ROOT/tests/guests/foreign.S" -o foreign.o
    ld -m elf_i386 -Ttext-segment=0x100000 foreign.o -o foreign.elf
    as --32 --defsym BZIMAGE=1 "$ROOT/tests/guests/foreign.S" -o foreign.o
    ld -m elf_i386 --oformat binary -Ttext=0 foreign.o -o foreign.bzimage
}

@test "other kernels, by PVH and as a bzImage, get their command line and RAM disk" {
    needs_kvm
    make_foreign
    printf 'and a RAM disk' >ramdisk
    for kernel in foreign.elf foreign.bzimage; do
        if is_software; then
            vmm --kernel "$kernel"
            [ "$status" -eq 1 ]
            grep -q -- 'software KVM.*--insist' said.txt
            [ ! -s console.txt ]
        fi
        vmm --insist --kernel "$kernel" --append 'some words, ' --initrd ramdisk
        [ "$status" -eq 0 ]
        grep -qx 'some words, and a RAM disk' console.txt
        vmm --insist --kernel "$kernel" --append 'no disk'
        grep -qx 'no disk' console.txt
        vmm --insist --kernel "$kernel" --initrd missing
        [ "$status" -eq 1 ]
        grep -q 'missing: ' said.txt
        truncate -s 15M large
        vmm --insist --kernel "$kernel" --memory 16 --initrd large
        [ "$status" -eq 1 ]
        grep -q 'do not fit' said.txt
    done
}

# bats test_tags=live
@test "what powers QEMU off powers the monitor off, and no other value does" {
    needs_kvm
    # Sleep type 0 with the enable bit, also beside other bits of the word; else type or enable bit are others.
    for off in 0x2000:0 0x2001:0 0x0000:13 0x3400:13 0x2400:13 0x3c00:13; do
        as --32 --defsym OFF="${off%:*}" "$ROOT/tests/guests/foreign.S" -o foreign.o
        ld -m elf_i386 -Ttext-segment=0x100000 foreign.o -o foreign.elf
        vmm --insist --timeout 2 --kernel foreign.elf --append "$off"
        grep -qx "$off" console.txt
        [ "$status" -eq "${off#*:}" ]
    done
}

@test "hypercalls: as many exits as operations, by the kernel's own count" {
    needs_kvm
    ! is_software || skip "a software KVM does not survive a hypercall instruction"
    jq -e .stats probe.json || skip "this kernel offers no KVM statistics"
    guest 'hypercall=kvm bench=^hypercall$'
    [ "$(exits hypercall .kvm.hypercalls)" -eq 30 ]
}

# bats test_tags=live
@test "vCPUs stay where they are pinned, and the last record reports it" {
    needs_kvm
    cpu=$(taskset -pc $$ | sed 's/.*[^0-9]//')
    OPTIONS=(--cpus 2 --pin "$cpu,$cpu")
    guest 'bench=^(idle|ipi-halted)$'
    [ "$(own bye | jq -c '[.vcpus[] | .pin, .host_cpu, .moves]')" = "[$cpu,$cpu,0,$cpu,$cpu,0]" ]
    [ "$(exits idle .moves)" -eq 0 ]
    OPTIONS=(--pin 4000)
    guest 'bench=^idle$'
    [ "$status" -eq 1 ]
    grep -q "can't pin vCPU 0 to CPU 4000" said.txt
}

@test "a configuration file does the same as arguments" {
    needs_kvm
    printf '%s\n' '# a comment' "kernel=$GUEST/guest.elf" 'append=bench=^idle$ samples=2 iters=3' \
        'cpus=2' 'memory=64' >vmm.conf
    vmm --config vmm.conf --memory 32
    [ "$status" -eq 0 ]
    [ "$(own hello | jq -c '[.cpus, .memory_bytes]')" = '[2,33554432]' ]
    echo 'cpus=none' >>vmm.conf
    vmm --config vmm.conf
    [ "$status" -eq 2 ]
    grep -q 'line 6' said.txt
}

# bats test_tags=live
@test "accesses to missing memory and ports, and invalid doorbell notes: survived, counted" {
    needs_kvm
    KERNEL=$HOSTILE guest 'bench=^(hostile-(beyond|ports|bell)|in)$'
    [ "$status" -eq 0 ]
    [ "$(records result | jq -r .check | sort -u)" = proved ]
    [ "$(own bye | jq .nowhere)" -ge 100 ]
    [ "$(exits in .returns.io)" -eq 30 ]
    grep -q '^a line of several dozen bytes, which is one exit to the monitor$' console.txt
    [ "$(exits line .returns.io)" -eq 1 ]
}

@test "a triple fault: exit status 10, and where it was" {
    needs_kvm
    KERNEL=$HOSTILE guest 'bench=^hostile-triple$'
    [ "$status" -eq 10 ]
    grep -q 'triple fault on vCPU 0 at rip 0x' said.txt
    [ "$(own bye | jq -r .status)" = reset ]
    [[ $(cat said.txt) =~ bytes(( [0-9a-f]{2}){8})\ \(exit ]]
    # An unmapped rip is reported without bytes, not with those of other memory.
    KERNEL=$HOSTILE guest 'bench=^hostile-astray$'
    [[ $(cat said.txt) =~ rip\ 0x600000000000.*bytes(\ \?){8}\ \(exit ]]
}

@test "a jump to missing memory: the monitor ends with the reason" {
    needs_kvm
    KERNEL=$HOSTILE guest 'bench=^hostile-fetch$'
    [ "$status" -eq 11 ]
    grep -q 'rip 0xd0000000' said.txt
}

# bats test_tags=live
@test "a guest that spins with interrupts off: ended by --timeout, exit status 13" {
    needs_kvm
    KERNEL=$HOSTILE
    OPTIONS=(--timeout 3)
    guest 'bench=^hostile-spin$'
    [ "$status" -eq 13 ]
    [ "$(own bye | jq -r .status)" = timeout ]
}

# bats test_tags=live
@test "a flood: ended at --console-max, exit status 12" {
    needs_kvm
    KERNEL=$HOSTILE
    OPTIONS=(--console-max 9000)
    guest 'bench=^hostile-flood$'
    [ "$status" -eq 12 ]
    [ "$(stat -c %s console.txt)" -eq 9000 ]
    grep -q 'console-max' said.txt
}

# bats test_tags=live
@test "SIGTERM, SIGINT and SIGHUP end a spinning guest with a last record" {
    needs_kvm
    for signal in 15 2 1; do
        rm -f console.txt
        # Background jobs ignore SIGINT, unless job control is on.
        set -m
        spin --cpus 2
        set +m
        kill "-$signal" "$machine"
        reap
        [ "$status" -eq $((128 + signal)) ]
        grep -q "ended by signal $signal" said.txt
        [ "$(own bye | jq -r .status)" = signal ]
    done
}

# bats test_tags=live
@test "SIGKILL leaves no thread" {
    needs_kvm
    spin --cpus 2
    tasks=("/proc/$machine/task/"*)
    [ "${#tasks[@]}" -ge 3 ]
    kill -9 "$machine"
    reap
    [ "$status" -eq 137 ]
    for task in "${tasks[@]}"; do
        [ ! -e "/proc/${task##*/}" ]
    done
}

# bats test_tags=live
@test "a closed console ends the monitor; with a console that blocks, signals end it" {
    needs_kvm
    { timeout 100 "$VMM" --kernel "$HOSTILE" --append 'bench=^hostile-flood$ samples=1' 2>said.txt ||
        echo $? >status.txt; } | head -n 3 >/dev/null
    [ "$(cat status.txt)" -eq 1 ]
    grep -q "console can't be written" said.txt
    mkfifo line
    sleep 600 <>line 3>&- &
    sleeper=$!
    # The pipe is full at the start, so that the first record must wait; then it has room for some records.
    for room in 0 8192; do
        head -c $((65536 - room)) /dev/zero >line
        "$VMM" --console line --kernel "$HOSTILE" --append 'bench=^hostile-flood$ samples=1' \
            2>said.txt 3>&- &
        machine=$!
        # With a full pipe only the main thread waits in poll(2), to write the first record; with room for
        # some records the main thread and the vCPU's thread do.
        blocks() {
            [ "$(cat "/proc/$machine/task/"*/syscall | grep -c '^7 ')" -eq $((room == 0 ? 1 : 2)) ]
        }
        eventually blocks
        kill -15 "$machine"
        reap
        [ "$status" -eq 143 ]
        timeout 1 cat line >/dev/null || true # empties it
    done
    kill "$sleeper"
}

# bats test_tags=live
@test "two machines side by side, each on its own console" {
    needs_kvm
    for i in 1 2; do
        timeout 100 "$VMM" --kernel "$GUEST/guest.elf" --console "$BATS_TEST_TMPDIR/$i.txt" \
            --append "bench=^(sgdt|in)\$ samples=3 iters=10 nonce=$i" 3>&- &
        machines[i]=$!
    done
    wait "${machines[1]}"
    wait "${machines[2]}"
    for i in 1 2; do
        [ "$(grep -c "guest $i .*\"kind\":\"result\"" "$i.txt")" -eq 2 ]
    done
}
