# worldswitch lab symbols: the functions of a machine's Linux, from the machine itself.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

setup() { common_setup; }

# has ADDRESSES NAME: a function in kvm.txt.
has() { grep -qE "^$1 [tTwW] $2\$" kvm.txt; }

@test "lab:kvm prints its kernel's functions and its modules', and is booted once for them" {
    # A user with nothing in the cache but packages.
    use_cache "$BATS_TEST_TMPDIR/cache"
    ws lab symbols kvm >kvm.txt
    has ffffffff81000000 _stext
    has 'ffffffff8[0-9a-f]{7}' schedule
    has 'ffffffffc[0-9a-f]{7}' $'kvm_emulate_hypercall\t\\[kvm\\]'
    has 'ffffffffc[0-9a-f]{7}' $'svm_vcpu_run\t\\[kvm_amd\\]'
    [ "$(wc -l <kvm.txt)" -gt 30000 ]
    LC_ALL=C sort -s -c -k 1,1 kvm.txt
    kept=("$XDG_CACHE_HOME"/worldswitch/symbols/*)
    [ "${#kept[@]}" -eq 1 ]
    before=$(stat -c %i "${kept[0]}")
    ws lab symbols lab:kvm | cmp - kvm.txt
    # A text that was made anew would be another file.
    [ "$(stat -c %i "${kept[0]}")" = "$before" ]
}

@test "lab:kvm-vhe, an ARM machine, prints its functions too, also those of EL2" {
    ws lab symbols kvm-vhe >kvm.txt
    has 'ffff8000[0-9a-f]{8}' __guest_enter
    has 'ffff8000[0-9a-f]{8}' __kvm_nvhe___guest_enter
}

@test "Xen's functions are in its image, on x86 and ARM" {
    for machine in xen xen@4.20 arm-xen; do
        ws lab symbols "$machine" >kvm.txt
        has '[0-9a-f]{16}' do_multicall
        has '[0-9a-f]{16}' "$([ "$machine" = arm-xen ] && echo leave_hypervisor_to_guest || echo vmx_asm_vmexit_handler)"
    done
}

@test "a machine without Linux, one without a first process, and a name of no machine" {
    run ws lab symbols native
    [ "$status" -eq 1 ]
    [[ $output == *'lab:native: it boots neither a Linux'* ]]
    run ws lab symbols kvmm
    [ "$status" -eq 2 ]
    [[ $output == *'did you mean lab:kvm'* ]]
    run ws lab symbols qemu-tcg:x
    [ "$status" -eq 2 ]
    [[ $output == *'is not a lab machine'* ]]
}
