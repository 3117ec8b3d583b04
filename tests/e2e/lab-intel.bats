# Intel's machine of the lab, on Bochs: its counts are those of every host, rows that it can't count are skipped
# with the reason, and without the packages it is a line that says what to fetch. More is in
# tests/long/lab-intel.bats.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup_file() { fetch_packages --newest kvm-intel; }

setup() { common_setup; }

@test "a boot of KVM on VMX gives the kept digits, proved by KVM's own counts" {
    LIMIT=900 ws run --on lab:kvm-intel --boots 1 --perturb 0 --bench '^(hypercall|cpuid|cold-memory-access|ipi-halted)$' -o kvm
    for row in 'hypercall 1008' 'cpuid 971' 'cold-memory-access 4664'; do
        read -r name digit <<<"$row"
        echo "$name: $(insns kvm/lab-kvm-intel "$name"), kept $digit"
        [ "$(insns kvm/lab-kvm-intel "$name")" -eq "$digit" ]
    done
    file=kvm/lab-kvm-intel.json
    [ "$(jq -c '[.rows[] | select(.status == "ok").outcomes[0].check.verdict] | unique' "$file")" = '["proved"]' ]
    # Two CPUs have no clock that counts instructions.
    [[ $(jq -r '.rows[] | select(.benchmark == "ipi-halted").outcomes[0].reason' "$file") == *'on one CPU only'* ]]
    [ "$(jq -r .identity.conditions.emulator "$file")" = 'bochs 2.7' ]
    [ "$(jq -r .identity.conditions.emulator_machine "$file")" = i440fx ]
    [[ $(jq -r .identity.subject.kernel_parameters "$file") == *mitigations=off* ]]
}

@test "a machine without its packages is a line that names lab fetch; unknown values of options are refused" {
    run ws list platforms --cache empty
    [[ $output == *'lab:kvm-intel: not usable here'*'worldswitch lab fetch'* ]]
    run ws run --on lab:kvm-intel --cache empty
    [ "$status" -eq 1 ]
    [[ $output == *'worldswitch lab fetch bochs-2.7'* ]]
    run ws run --on lab:kvm-intel+mitigations=on
    [ "$status" -eq 2 ]
    [[ $output == *'mitigations=on is wrong: it can be auto'* ]]
    run ws run --on lab:kvm-intel+nrips=0
    [ "$status" -eq 2 ]
    [[ $output == *'has no option "nrips"; it has cpu, memory, bochs, mitigations'* ]]
}
