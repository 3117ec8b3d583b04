# worldswitch lab bisect on a made-up history whose builds copy Debian's kernels from the lab's store: those for
# ARM, which boot in a fifth of the time. make test-long uses x86's, and also looks at the functions that the found
# commit changed.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common
load commits

MACHINE=${BISECT_MACHINE:-lab:kvm-vhe} KERNELS=${BISECT_KERNELS:-linux-arm64}

teardown() {
    # If the test passed, it has ended already.
    [ -z "${begun-}" ] || kill -KILL "$begun" 2>/dev/null || true
}

setup() {
    common_setup
    commits_setup
    # It also changes a file of the commit.
    BUILD+=$'\necho changed >>log'
}

# change KERNEL SUBJECT: makes a commit whose kernel is this set of packages.
change() {
    echo "$1" >kernel
    echo "$2" >>log
    git add -A
    git commit -qm "$2"
}

# Makes a history in ./tree, as a user has it: with a branch, a commit that does not build, uncommitted
# changes, hooks, and a bisection in progress.
history() {
    git init -q -b main tree
    cd tree || return 1
    change "$KERNELS-6.1" 'the start'
    git tag start
    change "$KERNELS-6.1" 'a second'
    git checkout -qb side
    echo x >other
    git add -A
    git commit -qm 'on a branch'
    git checkout -q main
    change none 'does not build'
    git merge -q --no-ff -m 'a merge' side
    change "$KERNELS-6.1" 'builds again'
    change "$KERNELS-6.12" 'the change'
    git tag change
    change "$KERNELS-6.12" 'after it'
    change "$KERNELS-6.12" 'the end'
    git bisect start -q HEAD start 2>/dev/null
    echo 'mine' >kernel
    printf '#!/bin/sh\necho hook >>"%s/hooks-ran"\n' "$BATS_TEST_TMPDIR" >.git/hooks/post-checkout
    chmod +x .git/hooks/post-checkout
    state >../before
    cd .. || return 1
}

# The state of the user's checkout.
state() {
    git rev-parse HEAD
    git bisect log
    git worktree list
    git for-each-ref
    git status --short
    cat kernel
}

bisect() { ws lab bisect --kernel-tree tree --cache "$CACHE" -o "$OUT" --force --perturb 1 --build "$BUILD" "$@"; }

# begin FILE: starts a bisection in the background, with its output in FILE and its process ID in $begun. The
# shell makes background jobs ignore SIGINT, so the default is restored.
begin() {
    env --default-signal=INT "$WORLDSWITCH" lab bisect --kernel-tree tree --cache "$CACHE" -o "$OUT" \
        --build "$BUILD" --good start --bad main --bench in >"$1" 2>&1 3>&- &
    begun=$!
}

is_gone() { ! is_running "$1"; }

# Checks that only an empty lock is left, and the user's checkout is unchanged.
is_clean() {
    [ "$(find "$CACHE/bisect" -mindepth 1 ! -name '*.lock')" = '' ]
    (cd tree && state) | diff before -
    [ ! -e hooks-ran ]
}

@test "bisect ends at the commit that changed the count, past one that does not build" {
    history
    words=(--no-explain)
    [ -z "${BISECT_EXPLAIN-}" ] || words=()
    run --separate-stderr bisect --on "$MACHINE" --good start --bad main --bench hypercall --json "${words[@]}"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$(jq -r '.first_bad.commit, .first_bad.subject' <<<"$output" | xargs)" = \
        "$(git -C tree rev-parse change) the change" ]
    # Each commit has a figure; the same kernel is not booted twice.
    [ "$(jq -r '.commits[0].subject, .commits[-1].subject' <<<"$output" | xargs)" = 'the start the end' ]
    [ "$(jq '[.commits[] | select(.measured != null) | .booted] | unique | length' <<<"$output")" -eq 2 ]
    [ "$(jq '[.commits[] | select(.verdict == "good") | .measured] | unique | length' <<<"$output")" -eq 1 ]
    [ "$(jq '[.commits[] | select(.verdict == "bad") | .measured] | unique | length' <<<"$output")" -eq 1 ]
    [ "$(jq '.commits[0].measured != .commits[-1].measured' <<<"$output")" = true ]
    jq -e '.commits[] | select(.verdict == "skip") | .why | contains("error: no none")' <<<"$output"
    # Which functions changed is also shown, and adds up to the change.
    [ -z "${BISECT_EXPLAIN-}" ] || jq -e '(.commits[-1].measured - .commits[0].measured) as $more | .difference
        | .measured == $more and ([.functions[] | .after.own - .before.own] | add) + .guest == .measured
            + .control + .intercepted' <<<"$output"
    id=$(jq -r '.commits[0].commit[:12]' <<<"$output")
    jq -e '.rows[0].benchmark == "hypercall"' "$OUT/$id"/lab-kvm*.json
    is_clean
}

@test "bisect: wrong arguments are refused before anything is built" {
    history
    cases=(
        "--good nothing --bad main --bench hypercall|has no commit nothing"
        "--good main --bad start --bench hypercall|swap them"
        "--good start --bad main --bench hyper|there is no benchmark hyper; did you mean hypercall?"
        "--good start --bad main --bench in --on kvm|machine of the lab"
        "--good start --bad main --bench in --on lab:native|does not boot Linux"
        "--good start --bad main --bench in --on lab:kvm@6.1|leave out '@' and the variant, which names a kernel"
        "--good --x --bad main --bench in|--good"
    )
    for case in "${cases[@]}"; do
        # shellcheck disable=SC2086
        run bisect ${case%%|*}
        echo "$output"
        [ "$status" -eq 2 ]
        [[ $output == *"${case#*|}"* ]]
    done
    run ws lab bisect --kernel-tree "$CACHE" --cache "$CACHE" --good a --bad b --bench in
    [ "$status" -eq 2 ]
    [[ $output == *'not a git repository'* ]]
    is_clean
    [ ! -e "$OUT" ]
}

@test "bisect: an end that can't be built is an error, with the build's last line" {
    history
    run bisect --good "$(git -C tree log --format=%h --grep='does not build' main)" --bad main --bench in
    [ "$status" -eq 1 ]
    [[ $output == *'--good '*'its build failed'*'status 2): error: no none'* ]]
    is_clean
    BUILD=true run bisect --good start --bad main --bench in
    [ "$status" -eq 1 ]
    [[ $output == *'made no kernel'* ]]
    is_clean
}

# bats test_tags=live
@test "bisect: Ctrl-C ends builds and all their processes, and removes the worktree" {
    history
    BUILD='touch started; sleep 987654 & sleep 987653'
    begin stopped.txt
    eventually compgen -G "$CACHE/bisect/*/tree/started"
    # A second one at the same time is refused.
    run bisect --good start --bad main --bench in
    [ "$status" -eq 1 ]
    [[ $output == *'another worldswitch builds commits of'* ]]
    kill -INT "$begun"
    code=0
    wait "$begun" || code=$?
    cat stopped.txt
    [ "$code" -eq 1 ]
    grep -q 'stopped' stopped.txt
    is_gone 'sleep 98765[34]'
    is_clean
}

# bats test_tags=live
@test "bisect: the next bisection removes what a killed one left" {
    history
    BUILD='touch started; exec sleep 987655'
    begin killed.txt
    eventually compgen -G "$CACHE/bisect/*/tree/started"
    kill -KILL "$begun"
    wait "$begun" || true
    # The kernel kills the build with its parent.
    eventually is_gone 'sleep 987655'
    BUILD=false run bisect --good start --bad main --bench in
    [ "$status" -eq 1 ]
    is_clean
}
