# The ring of processes that docs/notebook/method-model.md compares with the suite ("Against lmbench").

load ../e2e/common

setup() { common_setup; }

@test "processes of a Linux guest in the lab: every switch exact, rows without exits the same on two kernels" {
    export LIMIT=900
    fetch_packages kvm kvm@6.12
    kernel=("$LAB_STORE"/sets/linux-6.1/root/boot/vmlinuz-*)
    WORLDSWITCH=$WORLDSWITCH "$ROOT/docs/examples/ring/run" "${kernel[0]}" ring 2 lab:kvm lab:kvm@6.12
    for platform in lab-kvm lab-kvm@6.12; do
        jq -e '.rows | length == 18 and all(.exact)' "ring/$platform.json"
    done
    status=0
    ws compare ring/lab-kvm.json ring/lab-kvm@6.12.json >verdict.txt || status=$?
    [ "$status" -eq 4 ]
    # There is no verdict on the suite, and no row is better or worse.
    ! grep -E 'HPT|[0-9] (better|worse)' verdict.txt || false
}
