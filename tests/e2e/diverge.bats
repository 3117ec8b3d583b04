# worldswitch lab diverge: the first executed instruction at which two boots differ, or the functions that only one of them
# executes. clock.bats has a halt that a fault of the emulator makes longer; two kernels are in tests/long/diverge.bats.

# `run` sets $output and $status.
# shellcheck disable=SC2030,SC2031,SC2154

load common

setup_file() { fetch_packages native arm-native; }

setup() {
    common_setup
    export LIMIT=120
}

@test "a machine is the same in every boot, on one CPU and on two" {
    for machine in native neve; do
        run -0 ws lab diverge "$machine" "lab:$machine"
        [[ $output == *"A: lab:$machine"$'\n'"B: lab:$machine"*'No difference: both execute the same '* ]]
        # The host decides how many instructions an emulator executes after a power-off: they do not count.
        for _ in 1 2; do
            ws lab diverge "$machine" "$machine" --json | jq -c '.executed[]' >>"$machine.txt"
        done
        [ "$(sort -u "$machine.txt" | wc -l)" -eq 1 ]
    done
    ws lab diverge native native --bench ipi-running --json >both.json
    ws lab diverge native native --bench ipi-running --json --cpu 1 >one.json
    jq -e '.differ == false and .has_clock and .executed[0] > 1000000' both.json
    jq -e '.differ == false and .cpu == 1 and .executed[0] > 10000' one.json
    [ "$(jq '.executed[0]' one.json)" -lt "$(jq '.executed[0]' both.json)" ]
}

@test "the first other instruction is named with its function and level, and what follows it" {
    run ws lab diverge neve neve-nested --by instructions --next 4
    [ "$status" -eq 3 ]
    # The device trees have another count of modules.
    [[ $output =~ 'Both execute the same '[0-9,]+' instructions. The last one is tree_read+0x'[0-9a-f]+' (L0, hypervisor).' ]]
    [[ $output =~ 'Then A executes tree_read+0x'[0-9a-f]+' (L0, hypervisor), and B executes tree_read+0x' ]]
    [[ $output == *$'\nBefore that, both:\n'*'L0 hypervisor  fdt_property'*$'\nThen A:\n'*$'\nThen B:\n'* ]]
    [ "$(sed -n '/^Then B:/,$p' <<<"$output" | grep -c ' L0 ')" -eq 4 ]
    run -3 ws lab diverge neve neve-nested --by instructions --next 4 --json
    jq -e '.schema == "worldswitch-diverge/1" and .differ and .difference.what == "instruction"
        and .difference.last.function.name == "tree_read" and .difference.last.function.level == 0
        and (.difference.sides | map(.next | length) == [4, 4])
        and (.difference.sides[0].at | .code != "" and .function.name == "tree_read")
        and .difference.sides[0].at.address != .difference.sides[1].at.address
        and all(.executed[]; . > 786782)' <<<"$output"
}

@test "of other code the functions that only one boot executes are told" {
    run ws lab diverge arm-native neve --next 3
    [ "$status" -eq 3 ]
    [[ $output =~ 'A executes '[0-9]+' known functions and '[0-9,]+' instructions. B executes '[0-9]+' and ' ]]
    [[ $output =~ 'Functions that only B executes: '[0-9]+'. The first ones' ]]
    [[ $output == *'L0 hypervisor  first_steps, after first_entry (A has no such function)'* ]]
    [[ $output == *'L0 guest       enter_level, after first_entry (B executes it at L1 only)'* ]]
    run -3 ws lab diverge arm-native neve --json
    # The guest is one level higher under neve.
    jq -e '.functions.boots | (.[1].only | map(select(.function.kind == "guest" and .function.level == 1)) | length > 50)
        and (.[0].only | all(.function.level == 0 and .function.kind == "guest"))
        and all(.[].only | map(.executed_before); . == sort)' <<<"$output"
    # A machine executes the same functions again.
    run -0 ws lab diverge arm-native arm-native --by functions
    [[ $output == *'B also executes each function that A executes.'*'A also executes each function that B executes.'* ]]
}

@test "a machine that can't be compared, and what to do instead" {
    run -1 ws lab diverge kvm-intel kvm-intel@6.12
    [[ $output == *"Bochs' debugger prints each instruction"*'worldswitch explain --diff lab:kvm-intel lab:kvm-intel@VERSION --bench'* ]]
    run -2 ws lab diverge native kvmm
    [[ $output == *'did you mean lab:kvm'* ]]
    run -2 ws lab diverge native native --bench hypercal
    [[ $output == *'did you mean hypercall?'* ]]
    run -2 ws lab diverge native native --cpu 1
    [[ $output == *'neither machine executed anything on CPU 1: leave out --cpu'* ]]
    run -1 ws lab diverge native native --other-qemu /there/is/none
    [[ $output == *'/there/is/none'* ]]
    run -1 env TMPDIR="$(mkdir -p "$PWD/$(printf 'x%.0s' {1..120})" && cd x* && pwd)" "$WORLDSWITCH" lab diverge native native
    [[ $output == *'name a shorter place in TMPDIR'* ]]
}

# bats test_tags=live
@test "a machine that stands still is taken as ended; Ctrl-C ends both" {
    # It halts for ever, after so many instructions behind an output to a port that powers nothing off.
    still() {
        "$ROOT/tools/pinned/clang" --target=x86_64-linux-gnu -m32 -c -o "still-$1.o" -x assembler - <<END
	.long 0x1badb002, 0, -0x1badb002
	.globl _start
_start:	cli
	out %al, \$0x80
	.fill $1, 1, 0x90
	hlt
END
        "$ROOT/tools/pinned/ld.lld" -m elf_i386 -Ttext=0x100000 -o "still-$1" "still-$1.o"
    }
    still 0
    still 100
    run -0 ws lab diverge native native --kernel still-0 --timeout 1
    [[ $output == *'both executed nothing for 1 s'*'No difference'* ]]
    # Only a power-off takes back what came after an output.
    for behind in 0 100; do
        ws lab diverge native native --kernel "still-$behind" --timeout 1 --json | jq -c .executed >"$behind.txt"
    done
    jq -ne 'input as $less | input as $more | $more == ($less | map(. + 100))' 0.txt 100.txt
    "$WORLDSWITCH" lab diverge native native --kernel "$PWD/still-0" --append "of $PWD" --timeout 100 2>said.txt 3>&- &
    # The emulator, and not the command with its --append.
    eventually is_running " -append of $PWD"
    kill -INT $!
    local code=0
    wait $! || code=$?
    [ "$code" -eq 1 ]
    grep -q 'stopped' said.txt
    run ! is_running " -append of $PWD"
}
