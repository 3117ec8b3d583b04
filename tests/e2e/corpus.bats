# worldswitch test on changes of KVM whose cost is known. A build of a kernel takes minutes, so these changes are planted in
# a built module: in kvm.ko of Debian's kernel for RISC-V, the KVM that boots soonest. The linker puts code of ours before
# the module's, or lets it call a function of ours instead of one of the kernel's. Commits are in tests/long/trial.bats.

load common

# The states and symbols of these machines are used again by the next run. Among the user's they would take the place of
# others. A state's name has its kernel's path in it, so the kernels are here too.
CACHE=$BUILT/corpus
BENCHMARKS='^(hypercall|in)$'

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    touch begun
    rm -rf "$CACHE/kernels"
    mkdir -p "$CACHE/kernels"
    ln -sfn "$LAB_STORE/sets" "$CACHE/sets"
    SET=$LAB_STORE/sets/linux-riscv64-6.12/root
    MODULE=$(cd "$SET" && find . -path '*/riscv/kvm/kvm.ko')
    [ -n "$MODULE" ]
    # Neutral: all code is moved by a page and four bytes; a call that no benchmark makes takes longer.
    printf '%s\n' .text '.skip 4100' >moved.S
    kernel moved moved.o "$SET/$MODULE"
    planted never memdup_user
    # Slow: each exit; only exits to the monitor, for which KVM first searches its own devices.
    planted every __srcu_read_lock
    planted one bsearch
    ws run --on lab:kvm-riscv --cache "$CACHE" --perturb 1 --bench "$BENCHMARKS" -o base
}

# States of other builds are not used again.
teardown_file() { find "$CACHE/states" -type f -not -newer "$BATS_FILE_TMPDIR/begun" -delete; }

setup() {
    common_setup
    cd "$BATS_FILE_TMPDIR" || return
}

# kernel NAME WORD...: Debian's kernel with another kvm.ko, which the linker makes of these words and NAME.S.
kernel() {
    "$ROOT/tools/pinned/clang" --target=riscv64-linux-gnu -march=rv64imac -mabi=lp64 -c "$1.S" -o "$1.o"
    cp -rs "$SET" "$CACHE/kernels/$1"
    rm "$CACHE/kernels/$1/$MODULE"
    "$ROOT/tools/pinned/ld.lld" -r "${@:2}" -o "$CACHE/kernels/$1/$MODULE"
}

# planted NAME FUNCTION: a kernel whose KVM executes three more instructions at each call of this function of the kernel.
planted() {
    nm --undefined-only "$SET/$MODULE" | grep -qx " *U $2"
    printf '%s\n' .text ".globl __wrap_$2" ".type __wrap_$2, @function" "__wrap_$2:" nop "tail __real_$2" \
        ".size __wrap_$2, . - __wrap_$2" >"$1.S"
    kernel "$1" "--wrap=$2" "$SET/$MODULE" "$1.o"
}

# judged NAME: compares a kernel with Debian's.
judged() {
    ws test base "$CACHE/kernels/$1" --on lab:kvm-riscv --cache "$CACHE" --perturb 1 --bench "$BENCHMARKS" \
        -o "out-$1" --export-json "$1.json"
}

# row NAME BENCHMARK: verdict and added instructions of a row, with those of its first function, and the function's caller.
row() {
    jq -r --arg row "$2" '.machines[0].rows[] | select(.benchmark == $row)
        | "\(.verdict) \(.added | floor), \(.functions[0] | "\(.own) in \(.function) of \(.caller)")"' "$1.json"
}

@test "changes that cost nothing raise no alarm: moved code, and a call that no benchmark makes" {
    for name in moved never; do
        run -0 judged "$name"
        jq -e '.outcome == "no-regression" and .machines[0].rows == [] and (.machines[0].unchanged | length == 2)' \
            "$name.json"
    done
}

@test "three more instructions are found, and their function and its caller are named" {
    run -3 judged every
    [ "$(row every hypercall)" = 'worse 3, 3 in __wrap___srcu_read_lock of kvm_arch_vcpu_ioctl_run' ]
    # To the monitor and back into KVM: it locks twice.
    [ "$(row every in)" = 'worse 6, 6 in __wrap___srcu_read_lock of kvm_arch_vcpu_ioctl_run' ]
    run -3 judged one
    [ "$(row one in)" = 'worse 3, 3 in __wrap_bsearch of kvm_io_bus_get_first_dev' ]
    jq -e '.machines[0].unchanged == ["hypercall"]' one.json
}
