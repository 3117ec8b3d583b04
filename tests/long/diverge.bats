# worldswitch lab diverge on machines with a Linux, whose boots have 10^9 instructions and more: a machine is the same
# again, and two kernels differ in the functions that only one of them executes.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

setup_file() { fetch_packages kvm kvm@6.12 linux; }

setup() {
    common_setup
    export LIMIT=3000
}

# has BOOT NAME [JQ]: a function that only one of the boots executes, of which an expression is true.
has() {
    jq -e --arg name "$2" ".functions.boots[$1].only | map(select(.function.name == \$name and (${3:-true}))) != []" found.json
}

@test "KVM's machine, and a whole Linux with a workload, execute the same in each boot" {
    for machine in kvm linux; do
        run -0 ws -q lab diverge "$machine" "$machine"
        [[ $output =~ 'No difference: both execute the same '[1-9],[0-9]{3},[0-9]{3},[0-9]{3}' instructions.' ]]
    done
}

@test "two kernels: the first function that only one of them executes, and later ones" {
    run -3 ws -q lab diverge kvm kvm@6.12 --json
    echo "$output" >found.json
    jq -e '.boots == ["lab:kvm", "lab:kvm@6.12"] and .functions.common > 5000
        and (.functions.boots | all(.only | length > 200))' found.json
    has 1 tdx_early_init '.is_in_other == false and .function.level == 0 and .function.kind == "kernel"'
    has 1 common_startup_64 '.is_in_other == false'
    has 0 secondary_startup_64_no_verify '.is_in_other'
    ! are_pinned linux-6.1 linux-6.12 || jq -e '.functions.boots | map(.only[0].function.name)
        == ["secondary_startup_64_no_verify", "common_startup_64"]' found.json
}

@test "one kernel with nested paging and with shadow paging: the hypervisor's functions of each" {
    run -3 ws -q lab diverge kvm kvm-shadow --json
    echo "$output" >found.json
    for name in npf_interception kvm_tdp_page_fault; do
        has 0 "$name" '.is_in_other and .function.kind == "hypervisor" and (.function.module // "" | startswith("kvm"))'
    done
    for name in pf_interception shadow_mmu_init_context; do
        has 1 "$name" '.is_in_other and .function.kind == "hypervisor" and (.function.module // "" | startswith("kvm"))'
    done
    # Both run the guest.
    jq -e '.functions.boots | all(.only | all(.function.kind != "guest"))' found.json
}
