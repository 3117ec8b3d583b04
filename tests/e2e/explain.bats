# worldswitch explain: which functions an operation's instructions are in. The sums are exact on every machine, and
# recording changes no count: each machine is also measured without it, and the command fails if its counts differ.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup_file() {
    fetch_packages kvm-vhe kvm-nvhe kvm
    cd "$BATS_FILE_TMPDIR" || return 1
    # The counts that recorded machines are held against.
    ws run --on lab:kvm-vhe,lab:kvm-nvhe,lab:neve,lab:neve-nested --bench '^hypercall$' --boots 1 -o measured
}

setup() {
    common_setup
    MEASURED=$BATS_FILE_TMPDIR/measured
}

# What the guest measured without the plugin.
measured() { insns "$MEASURED/$1" hypercall; }

# The sum of an explanation in JSON: attributed, the guest's own, measured, not charged.
sum() { jq -r '.sum | "\(.attributed) \(.guest) \(.measured) \(.intercepted)"' "$1"; }

@test "x86: the sum is what was measured, and what the emulator adds is told" {
    ws explain hypercall --on lab:kvm --json --flamegraph flame.svg >kvm.json
    read -r attributed guest measured intercepted < <(sum kvm.json)
    [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    [ "$intercepted" -eq 1 ]
    [ "$(jq -r '[.functions[].name] | index("svm_vcpu_run") != null' kvm.json)" = true ]
    [ "$(jq '.added[0].name == "nrips" and .added[0].instructions > 1000' kvm.json)" = true ]
    [ "$(jq '[.phases[].instructions] | add' kvm.json)" -eq "$attributed" ]
    grep -q '<svg' flame.svg
    grep -q svm_skip_emulated_instruction flame.svg
}

@test "ARM: with and without VHE, and the difference adds up" {
    ws explain hypercall --on lab:kvm-vhe --json >vhe.json
    ws explain hypercall --on lab:kvm-nvhe --json >nvhe.json
    for mode in vhe nvhe; do
        read -r attributed guest measured intercepted < <(sum $mode.json)
        [ "$measured" -eq "$(measured lab-kvm-$mode)" ]
        [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    done
    # Without VHE, the EL1 system registers are saved and restored in both directions.
    registers() { jq "[.registers[] | select(.class == \"$2\") | .reads + .writes] | add // 0" "$1.json"; }
    [ "$(registers nvhe el1)" -gt $((4 * $(registers vhe el1))) ]
}

@test "ARM: reckoned in cycles, at built-in prices and a user's" {
    ws explain hypercall --on lab:kvm-nvhe --prices dall-2015 --json >dall.json
    jq -e '.reckoning.published == [{of: "ARM KVM", cycles: 6500}, {of: "ARM Xen", cycles: 376}]' dall.json
    # The guest's HVC and the host's.
    jq -e '[.reckoning.lines[] | select(.item == "trap") | .count] == [2, 2]' dall.json
    jq -e '.reckoning | .unpriced > 0 and .instructions > .unpriced and .cycles.from > 1000' dall.json
    printf 'class,access,cycles,accesses\nvgic,read,25,2\n' >board.csv
    ws explain hypercall --on lab:kvm-nvhe --prices dall-2015 --prices board.csv >text
    grep -qE '^VGIC +[0-9]+ +12\.5 ' text
    grep -qF 'times the prices of dall-2015, board.csv; not measured' text
    sed -i 's/25/none/' board.csv
    run ws explain hypercall --on lab:kvm-nvhe --prices board.csv
    [ "$status" -eq 2 ]
    [[ $output == *'board.csv: line 2, column cycles: "none"'* ]]
}

@test "a difference adds up to that of the measurements" {
    ws explain --diff lab:neve lab:neve-nested --bench hypercall >difference
    cat difference
    more=$(($(measured lab-neve-nested) - $(measured lab-neve)))
    grep -qE "^ *\+$(sed 's/\(...\)$/,\1/' <<<"$more") .* in all, as measured$" difference
}

@test "nested: each level's instructions, and the traps" {
    ws explain hypercall --on lab:neve-nested --json >nested.json
    read -r attributed guest measured intercepted < <(sum nested.json)
    [ "$measured" -eq "$(measured lab-neve-nested)" ]
    [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    [ "$(jq '[.traps[].count] | add' nested.json)" -eq 2 ]
}

@test "as text, as folded stacks; each instruction once" {
    ws explain hypercall --on lab:neve-nested >text
    grep -qF "$(measured lab-neve-nested | sed 's/\(...\)$/,\1/') instructions" text
    ws explain hypercall --on lab:neve-nested --folded >folded
    [ "$(awk '{ n += $NF } END { print n }' folded)" -ge "$(measured lab-neve-nested)" ]
}

@test "what can't be explained is refused with the reason" {
    run ws explain hypercall --on qemu-tcg
    [ "$status" -eq 2 ]
    [[ $output == *'choose a lab machine'* ]]
    run ws explain nonsense --on lab:neve-nested
    [ "$status" -ne 0 ]
    [[ $output == *'matches no benchmark'* ]]
    run ws explain hypercall --on lab:nonsense
    [ "$status" -eq 2 ]
    run ws explain hypercall --on lab:neve-nested --without nrips
    [ "$status" -eq 2 ]
    [[ $output == *'nothing that can be taken out'* ]]
    run ws explain ipi-running --on lab:neve
    [ "$status" -ne 0 ]
    [[ $output == *'vCPU'* ]]
}
