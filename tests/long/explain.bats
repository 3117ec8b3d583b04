# worldswitch explain on more machines: KVM on x86, KVM on ARM with and without VHE, and those of Bochs, which its
# debugger records (two to four boots of 30 s for each).
# `make test-long` runs it.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

setup() {
    common_setup
    export LIMIT=600
}

# The sum of an explanation in JSON: attributed, the guest's own, measured, not charged.
sum() { jq -r '.sum | "\(.attributed) \(.guest) \(.measured) \(.intercepted)"' "$1"; }

# How often a register or field is read and written, in all phases: 1/0.
accesses() {
    jq -r --arg class "$2" --arg name "$3" '[.registers[] | select(.class == $class and .register == $name)]
        | "\([.[].reads] | add // 0)/\([.[].writes] | add // 0)"' "$1"
}

# has ADDRESSES NAME: a function in kvm.txt.
has() { grep -qE "^$1 [tTwW] $2\$" kvm.txt; }

@test "x86: the sum is what was measured, what the emulator adds is left out, MSRs and the VMCB's fields are named" {
    fetch_packages kvm
    ws explain hypercall --on lab:kvm --without nrips --json --flamegraph flame.svg >kvm.json
    read -r attributed guest measured intercepted < <(sum kvm.json)
    [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    [ "$intercepted" -eq 1 ]
    [ "$(jq -r '[.functions[].name] | index("svm_vcpu_run") != null' kvm.json)" = true ]
    [ "$(jq '.added[0].name == "nrips" and .added[0].instructions > 1000' kvm.json)" = true ]
    [ "$(jq '.left_out.names == ["nrips"] and .left_out.instructions == .added[0].instructions' kvm.json)" = true ]
    [ "$(jq '[.phases[].instructions, .left_out.instructions] | add' kvm.json)" -eq "$attributed" ]
    grep -q '<svg' flame.svg
    grep -q svm_skip_emulated_instruction flame.svg
    run grep -q kvm_emulate_instruction flame.svg
    [ "$status" -eq 1 ]
    # Linux 6.1, arch/x86/kvm/svm/svm.c, svm_vcpu_run(): each is read behind the exit and written before the entry.
    for register in RAX RSP RIP; do [ "$(accesses kvm.json vmcb-general $register)" = 1/1 ]; done
    [ "$(accesses kvm.json vmcb-register CR2)" = 1/1 ]
    [ "$(accesses kvm.json vmcb-control TLB_CONTROL)" = 0/1 ]
    [ "$(accesses kvm.json virtualization VMRUN)" = 0/1 ]
    [ "$(accesses kvm.json msr DBGCTL)" = 1/0 ]
    [ "$(jq '[.registers[] | select(.class == "msr" and (.register | test("MSR$")))] == []' kvm.json)" = true ]
}

@test "lab:kvm prints its kernel's functions and its modules', and is booted once for them" {
    fetch_packages kvm
    ws lab symbols kvm >kvm.txt
    has ffffffff81000000 _stext
    has 'ffffffff8[0-9a-f]{7}' schedule
    has 'ffffffffc[0-9a-f]{7}' $'kvm_emulate_hypercall\t\\[kvm\\]'
    has 'ffffffffc[0-9a-f]{7}' $'svm_vcpu_run\t\\[kvm_amd\\]'
    [ "$(wc -l <kvm.txt)" -gt 30000 ]
    LC_ALL=C sort -s -c -k 1,1 kvm.txt
    # A text that was made anew would be another file.
    before=$(stat -c %i "$XDG_CACHE_HOME"/worldswitch/symbols/*)
    ws lab symbols lab:kvm | cmp - kvm.txt
    [ "$(stat -c %i "$XDG_CACHE_HOME"/worldswitch/symbols/*)" = "$before" ]
}

@test "Bochs, VMX: the sum is what was measured, twice the same, and fields of the VMCS are named" {
    fetch_packages kvm-intel
    ws run --on lab:kvm-intel --bench '^hypercall$' --boots 1 --perturb 0 -o measured
    ws explain hypercall --on lab:kvm-intel --json >first.json
    ws explain hypercall --on lab:kvm-intel --json >second.json
    cmp first.json second.json
    read -r attributed guest measured intercepted < <(sum first.json)
    [ "$measured" -eq "$(insns measured/lab-kvm-intel hypercall)" ]
    [ $((attributed + guest)) -eq "$measured" ]
    # The clock charges each instruction that begins, also the one that exits.
    [ "$intercepted" -eq 0 ]
    [ "$(jq '[.phases[].instructions] | add' first.json)" -eq "$attributed" ]
    [ "$(jq -c '[.phases[].phase]' first.json)" = '["exit","handling","entry"]' ]
    [ "$(accesses first.json virtualization VMRESUME)" = 0/1 ]
    # Linux 6.1, arch/x86/kvm/vmx/vmx.c: vmx_vcpu_run(); skip_emulated_instruction().
    [ "$(accesses first.json vmcs-exit EXIT_REASON)" = 1/0 ]
    [ "$(accesses first.json vmcs-exit EXIT_INSTRUCTION_LENGTH)" = 1/0 ]
    [ "$(accesses first.json vmcs-guest RIP)" = 1/1 ]
    [ "$(jq '.has_accesses and .has_fields' first.json)" = true ]
}

@test "Bochs, SVM: the sum is what was measured, MSRs are named, and it says that fields of the VMCB are not" {
    fetch_packages kvm-amd
    ws explain in --on lab:kvm-amd+npt=0 --json >svm.json
    read -r attributed guest measured intercepted < <(sum svm.json)
    [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    [ "$(accesses svm.json virtualization VMRUN)" = 0/1 ]
    [ "$(jq '.has_accesses and (.has_fields | not)' svm.json)" = true ]
    [ "$(jq '[.registers[] | select(.class == "msr" and (.register | test("MSR$")))] == []' svm.json)" = true ]
    [ "$(jq '[.phases[] | select(.phase == "user-space").instructions] | add > 100' svm.json)" = true ]
}

@test "Bochs: what can't be recorded is refused before it boots" {
    fetch_packages kvm-intel kvm-amd bochs-3.0
    run ws explain hypercall --on lab:kvm-intel+bochs=3.0
    [ "$status" -eq 1 ]
    [[ $output == *"Bochs 3.0 can't be recorded"*'without +bochs='* ]]
    [[ $output != *booting* ]]
    run ws explain hypercall --on lab:kvm-amd
    [ "$status" -eq 1 ]
    [[ $output == *'nested page tables'*'+npt=0 of lab:kvm-amd'* ]]
    [[ $output != *booting* ]]
}

@test "Bochs: with mitigations, modules are found where they are" {
    fetch_packages kvm-intel
    ws explain hypercall --on lab:kvm-intel+mitigations=auto --json >auto.json
    jq -e '[.functions[].name] | index("vmx_vmexit") and index("vmx_l1d_flush")' auto.json
    [ "$(jq -c '[.phases[].phase]' auto.json)" = '["exit","handling","entry"]' ]
}

@test "RISC-V: calls and accesses of user space, AIA, several vCPUs, and another kernel" {
    local row machine
    fetch_packages kvm-riscv linux-riscv64-unstable
    for machine in kvm-riscv kvm-riscv+aia=1 kvm-riscv@unstable; do
        for row in in hypercall-user cold-memory-access ipi-halted; do
            ws explain "$row" --on "lab:$machine" --json >explained.json
            read -r attributed guest measured intercepted < <(sum explained.json)
            echo "$machine $row: $attributed + $guest, measured $measured, not charged $intercepted"
            [ "$guest" -ge 1 ] && [ "$intercepted" -ge 0 ] && [ "$intercepted" -le 2 ]
            jq -r '[.functions[].name] | join(" ")' explained.json | grep -q kvm_riscv
        done
    done
    # ECALL itself is charged: nothing is left over.
    ws explain hypercall --on lab:kvm-riscv --json >explained.json
    read -r attributed guest measured intercepted < <(sum explained.json)
    [ "$intercepted" -eq 0 ] && [ $((attributed + guest)) -eq "$measured" ]
    # Without Sstc KVM sets a timer of the host, and that calls the firmware.
    ws run --on lab:kvm-riscv,lab:kvm-riscv+sstc=0 --boots 1 --bench '^(set-timer|timer-10ms)$' -o timers
    [ "$(insns timers/lab-kvm-riscv+sstc=0 set-timer)" -gt $(($(insns timers/lab-kvm-riscv set-timer) + 400)) ]
    [ "$(insns timers/lab-kvm-riscv timer-10ms)" -lt 20 ]
    [ "$(insns timers/lab-kvm-riscv+sstc=0 timer-10ms)" -gt 2000 ]
}

@test "ARM: with and without VHE, and the difference adds up" {
    fetch_packages kvm-vhe kvm-nvhe
    ws run --on lab:kvm-vhe,lab:kvm-nvhe --bench '^hypercall$' --boots 1 -o measured
    ws explain hypercall --on lab:kvm-vhe --json >vhe.json
    ws explain hypercall --on lab:kvm-nvhe --json >nvhe.json
    for mode in vhe nvhe; do
        read -r attributed guest measured intercepted < <(sum $mode.json)
        [ "$measured" -eq "$(insns measured/lab-kvm-$mode hypercall)" ]
        [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    done
    # Without VHE, the EL1 system registers are saved and restored in both directions.
    registers() { jq "[.registers[] | select(.class == \"$2\") | .reads + .writes] | add // 0" "$1.json"; }
    [ "$(registers nvhe el1)" -gt $((4 * $(registers vhe el1))) ]
}

@test "several vCPUs: the sum is what was measured, and the difference of two kernels what compare says" {
    fetch_packages kvm kvm-vhe kvm-vhe@6.12
    for row in ipi-running ipi-halted; do
        # Alone, as it is recorded: the rows before it count.
        ws run --on lab:kvm,lab:kvm-vhe,lab:kvm-vhe@6.12 --bench "^$row\$" --boots 2 --perturb 2 --force -o measured
        for machine in kvm kvm-vhe; do
            ws explain "$row" --on "lab:$machine" --json >explained.json
            [ "$(jq .sum.measured explained.json)" -eq "$(insns "measured/lab-$machine" "$row")" ]
            jq -e '.windows > 0 and .windows + .partial + ([.others[].windows] | add // 0) == .samples' explained.json
        done
    done
    ws explain ipi-halted --diff lab:kvm-vhe lab:kvm-vhe@6.12 --json >diff.json
    run -3 ws compare measured:lab:kvm-vhe measured:lab:kvm-vhe@6.12
    [[ $output == *" $(jq .measured diff.json) instructions more"* ]]
}

@test "ARM: a list register in use, and floating point that is saved and restored with a trap of its own" {
    fetch_packages kvm-vhe
    accesses() { jq -r "[.registers[] | select(.register == \"$2\")] | \"\([.[].reads] | add) \([.[].writes] | add)\"" "$1.json"; }
    for row in hypercall-pending in-fp; do
        ws explain "$row" --on lab:kvm-vhe --json >"$row.json"
        read -r attributed guest measured intercepted < <(sum "$row.json")
        [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    done
    [ "$(accesses hypercall-pending ICH_LR0_EL2)" = '1 2' ]
    # The monitor's 32 and the guest's; FPSR twice too.
    [ "$(accesses in-fp V0-V31)" = '64 64' ]
    [ "$(accesses in-fp FPSR)" = '2 2' ]
    [ "$(jq -c '[.traps[] | [.cause, .count]]' in-fp.json)" = '[["memory access",1],["floating point",1]]' ]
    [ "$(jq '[.registers[] | select(.class == "floating-point" and .phase == "handling").writes] | add' in-fp.json)" -eq 33 ]
}

@test "compare --explain: the functions of what VHE changes" {
    fetch_packages kvm-vhe kvm-nvhe
    ws run --on lab:kvm-vhe,lab:kvm-nvhe --bench '^hypercall$' --boots 1 -o measured
    run ws compare "measured:lab:kvm-vhe" "measured:lab:kvm-nvhe" --explain
    echo "$output"
    [[ $output == *'From hypercall on lab:kvm-vhe to hypercall on lab:kvm-nvhe: +'* ]]
    [[ $output == *'__sysreg_save_state_nvhe: gained'* ]]
    more=$(($(insns measured/lab-kvm-nvhe hypercall) - $(insns measured/lab-kvm-vhe hypercall)))
    grep -qE "^ *\+$more .* in all, as measured$" <<<"$output"
}
