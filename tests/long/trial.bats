# worldswitch test on a real kernel: Debian's source of Linux 6.12, and a commit that adds a branch to KVM's exit path.
# The function and the line of the branch are named. The build takes minutes.

load ../e2e/common
load ../e2e/commits

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    mkdir source
    (cd source && apt-get -q download linux-source-6.12) || skip 'this system has no package linux-source-6.12'
    dpkg-deb -x source/linux-source-6.12_*.deb source
    tar xf source/usr/src/linux-source-6.12.tar.xz
    mv linux-source-6.12 linux
    rm -r source
    git_setup
    git -C linux init -q -b main
    # Debian's .gitignore is of its packaging.
    git -C linux add -Af
    git -C linux commit -qm "Debian's source"
}

setup() {
    common_setup
    # Both tests begin with the same kernel.
    use_cache "$BATS_FILE_TMPDIR/cache"
    git_setup
    cd "$BATS_FILE_TMPDIR" || return
    git -C linux checkout -q main
    BRANCH='if (unlikely(READ_ONCE(vcpu->run->request_interrupt_window) == 77)) pr_warn_once("a window of 77\\n");'
}

@test "a branch on KVM's exit path is found with its function and line, and a comment in the source is no change" {
    sed -i "/^static int svm_handle_exit(/,/^}/{s/^\tu32 exit_code = svm->vmcb->control.exit_code;$/&\n\n\t$BRANCH/}" \
        linux/arch/x86/kvm/svm/svm.c
    git -C linux checkout -q -b branch
    git -C linux commit -qam 'KVM: SVM: warn of odd interrupt windows'
    LINE=$(grep -n 'a window of 77' linux/arch/x86/kvm/svm/svm.c | cut -d : -f 1)
    [ -n "$LINE" ]
    cd linux
    LIMIT=5400 run -3 ws test HEAD~ HEAD --on lab:kvm -o ../out --export-json ../out.json
    # Every exit takes it.
    jq -e --arg line "$LINE" '.outcome == "regression" and (.machines[0].rows | length >= 8)
        and all(.machines[0].rows[]; .verdict == "worse" and .added > 0 and .added < 10)
        and any(.machines[0].rows[]; .benchmark == "cpuid" and .functions[0].function == "svm_handle_exit"
            and .functions[0].file == "arch/x86/kvm/svm/svm.c" and (.functions[0].line | tostring) == $line)' ../out.json
    echo '/* The end. */' >>arch/x86/kvm/svm/svm.c
    git commit -qam 'KVM: SVM: a comment'
    LIMIT=3600 run -0 ws test HEAD~ HEAD --on lab:kvm -o ../same --export-json ../same.json --comment ../comment.md
    jq -e '.outcome == "no-regression" and .machines[0].rows == [] and (.machines[0].unchanged | length >= 8)' ../same.json
    [ ! -e ../comment.md ]
}

# CORPUS=all tests all 200, which takes hours, and keeps the outcomes in the folder $CORPUS_OUT.
@test "commits that cost nothing raise no alarm, and of those that cost more the function is named" {
    sample=(neutral/30 neutral/70 slow/16 slow/85)
    [ "${CORPUS-}" != all ] || sample=()
    "$BATS_TEST_DIRNAME/../corpus/make" linux "${sample[@]}"
    WORLDSWITCH=$WORLDSWITCH run -0 "$BATS_TEST_DIRNAME/../corpus/judge" linux "${CORPUS_OUT:-corpus}"
    [[ $output != *'false alarm'* && $output != *missed* && $output != *'not '* ]] || [ "${CORPUS-}" = all ]
}
