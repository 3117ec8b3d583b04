# Machines that the user boots (serial:, log:), and benchmarks from outside the tree.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

setup() { common_setup; }

# A failed test must not leave its machine running: bats would wait for it.
teardown() {
    for pid in ${machine-} ${runner-}; do kill "$pid" 2>/dev/null || true; done
}

# bats test_tags=live
@test "serial: over a pty, with a machine that starts when the runner listens" {
    # -no-shutdown: a pty would vanish with its machine, with unread bytes; a serial line would not.
    mkfifo monitor
    timeout 300 "$QEMU" -machine pc -accel tcg -cpu max -m 128 -nodefaults -display none \
        -no-reboot -no-shutdown -S -monitor stdio -serial pty -serial null -kernel "$GUEST/guest.elf" \
        -append 'bench=^(sgdt|in|hypercall)$ samples=4 nonce=5e' <monitor >qemu.txt 2>&1 &
    machine=$!
    exec 7>monitor
    eventually grep -q /dev/pts/ qemu.txt
    pty=$(grep -o '/dev/pts/[0-9]*' qemu.txt | head -n 1)
    # QEMU checks once a second whether the pty is open, and drops output while it is not. It is held open
    # here until the end. QEMU has noticed when the guest's UART (line status at 0x3fd) has the byte sent
    # here.
    exec 8<>"$pty"
    stty -F "$pty" raw -echo
    printf x >&8
    uart_has_it() {
        echo 'i /b 0x3fd' >&7
        grep -qE '= 0x[0-9a-f]*[13579bdf]\b' qemu.txt
    }
    eventually uart_has_it
    # Read the byte, so that the guest does not see it.
    echo 'i /b 0x3f8' >&7
    "$WORLDSWITCH" run --on "serial:$pty" --boots 1 -o "$OUT" >table.txt 2>log.txt 3>&- 8>&- &
    runner=$!
    eventually grep -q 'waiting for a guest' log.txt
    echo cont >&7
    # The runner ends at the guest's bye.
    ended() { ! kill -0 "$runner" 2>/dev/null; }
    eventually ended
    wait "$runner" || { echo "the runner ended with $?"; cat log.txt; false; }
    echo quit >&7
    exec 7>&- 8>&-
    file=$(ls "$OUT"/*.json)
    [ "$(jq -r '.rows[] | .benchmark + " " + .status' "$file" | sort | tr '\n' ' ')" = \
        'hypercall skip in ok sgdt ok ' ]
    grep -q sgdt table.txt
}

@test "log: a saved console gives the rows that its guest measured" {
    boot -kernel "$GUEST/guest.elf" -append 'bench=^(sgdt|in)$ samples=4 nonce=1'
    cp console.txt two.txt
    boot -kernel "$GUEST/guest.elf" -append 'bench=^(sgdt|in)$ samples=4 nonce=2'
    cat console.txt >>two.txt
    ws run --on log:two.txt -o "$OUT" >table.txt
    file=$(ls "$OUT"/*.json)
    [ "$(jq '.boots | length' "$file")" -eq 2 ]
    [ "$(jq -r '[.rows[].status] | unique | join(" ")' "$file")" = ok ]
    [ "$(jq '[.rows[] | select(.benchmark == "sgdt").metrics[0].boots[].run | length] | tostring' "$file")" = '"[4,4]"' ]
}

@test "log: a console that was cut keeps what came before the cut" {
    boot -kernel "$GUEST/guest.elf" -append 'bench=^(sgdt|in|out)$ samples=4 nonce=1'
    cut_at=$(grep -b '"kind":"begin","bench":"out"' console.txt | cut -d: -f1)
    head -c "$((cut_at + 30))" console.txt >cut.txt
    ws run --on log:cut.txt -o "$OUT" >table.txt || true
    file=$(ls "$OUT"/*.json)
    [ "$(jq -r '.rows[] | select(.benchmark == "sgdt").status' "$file")" = ok ]
    [ "$(jq -r '.rows[] | select(.benchmark == "in").status' "$file")" = ok ]
    run ! grep -q '"out".*"ok"' "$file"
}

@test "log: a missing file is an error that names it" {
    run -1 --separate-stderr ws run --on log:nowhere.txt -o "$OUT"
    [[ $stderr == *nowhere.txt* ]]
    [ "$(grep -o 'No such file' <<<"$stderr" | wc -l)" -eq 1 ]
}

@test "a benchmark from outside the tree: at most 40 lines, built and run" {
    example=$ROOT/docs/examples/read-cr8.c
    [ "$(wc -l <"$example")" -le 40 ]
    # From a folder outside the tree, as a user would.
    cp "$example" mine.c
    make -s -C "$ROOT/guest" EXTRA_BENCH="$PWD/mine.c" OUT="$PWD/guest"
    ws benchmarks --guest guest/guest.elf | grep -q read-cr8
    ws run --on lab:native --guest guest/guest.elf --bench '^read-cr8$' -o "$OUT" >table.txt
    [ "$(result lab-native '.rows[0].status')" = ok ]
    [ "$(result lab-native '.rows[0].exact')" = true ]
    # One instruction on lab:native.
    [ "$(result lab-native '.rows[0].metrics[0].boots[0] | .run[1] - .control[1]')" -eq 1 ]
}

@test "adding a benchmark changes the digest of no other row" {
    guest_with read-cr8 x86_64 "$ROOT/docs/examples/read-cr8.c"
    digests='[.. | objects | select(has("digest")) | {name, digest}] | map(select(.name != "read-cr8"))'
    ws benchmarks --json | jq "$digests" >before.json
    ws benchmarks --json --guest "$BUILT/read-cr8/guest.elf" | jq "$digests" >after.json
    [ "$(jq length before.json)" -eq "$(benchmarks)" ]
    cmp before.json after.json
}
