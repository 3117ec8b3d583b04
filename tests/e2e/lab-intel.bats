# Intel's machine of the lab, on Bochs, without a hypervisor: its counts are those of every host, rows that it can't
# count are skipped with the reason, and without the packages it is a line that says what to fetch. A boot of KVM there
# takes 40 s of a core: it is in tests/long/lab-intel.bats.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup_file() { fetch_packages kvm-intel; }

setup() { common_setup; }

@test "a boot gives the kept digits, on the emulator that the recipe names" {
    ws run --on lab:intel-native --boots 1 --perturb 0 --bench '^(sgdt|set-cr3|in|cold-memory-access|print|ipi-halted)$' -o native
    for row in 'sgdt 1' 'set-cr3 1' 'in 1' 'cold-memory-access 1' 'print 32'; do
        read -r name digit <<<"$row"
        as_kept "$name" "$(insns native/lab-intel-native "$name")" "$digit" is_pinned native/lab-intel-native.json
    done
    file=native/lab-intel-native.json
    # Two CPUs have no clock that counts instructions.
    [[ $(jq -r '.rows[] | select(.benchmark == "ipi-halted").outcomes[0].reason' "$file") == *'on one CPU only'* ]]
    [ "$(jq -r .identity.conditions.emulator "$file")" = 'bochs 2.7' ]
    [ "$(jq -r .identity.conditions.emulator_machine "$file")" = i440fx ]
}

@test "a machine without its packages is a line that names lab fetch; unknown values of options are refused" {
    run ws machines --cache empty
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
