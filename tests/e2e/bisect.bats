# worldswitch bisect: on a made-up history whose builds take Debian's kernels out of the lab's store, those
# for ARM, which boot in a fifth of the time; make test-long takes x86's.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

MACHINE=${BISECT_MACHINE:-lab:kvm-vhe} KERNELS=${BISECT_KERNELS:-linux-arm64}

teardown() {
    # It is gone already where the test passed.
    [ -z "${begun-}" ] || kill -KILL "$begun" 2>/dev/null || true
}

setup() {
    common_setup
    # A cache of the test's own.
    CACHE=$BATS_TEST_TMPDIR/cache
    mkdir "$CACHE"
    ln -s "$LAB_STORE/sets" "$CACHE/sets"
    export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x \
        GIT_COMMITTER_EMAIL=x@example.org GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
    # Expanded by the sh that builds.
    # shellcheck disable=SC2016
    BUILD='test -d "$LAB_STORE/sets/$(cat kernel)/root" || { echo "error: no $(cat kernel)"; exit 2; }
        cp "$LAB_STORE/sets/$(cat kernel)"/root/boot/vmlinuz-* "$WORLDSWITCH_OUT/bzImage"
        find "$LAB_STORE/sets/$(cat kernel)/root" -name "*.ko" -exec cp {} "$WORLDSWITCH_OUT" \;
        echo changed >>log'
}

# change KERNEL SUBJECT: a commit whose kernel is this set of packages.
change() {
    echo "$1" >kernel
    echo "$2" >>log
    git add -A
    git commit -qm "$2"
}

# A history in ./tree, as a user has it: with a branch, a commit that does not build, work not yet
# committed, hooks, and a bisection of his own under way.
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

# All of the user's own checkout.
state() {
    git rev-parse HEAD
    git bisect log
    git worktree list
    git for-each-ref
    git status --short
    cat kernel
}

bisect() { ws bisect --kernel-tree tree --cache "$CACHE" -o "$OUT" --force --perturb 1 --build "$BUILD" "$@"; }

# begin FILE: one in the background, what it says in FILE, its number in $begun. A job in the
# background would ignore Ctrl-C.
begin() {
    env --default-signal=INT "$WORLDSWITCH" bisect --kernel-tree tree --cache "$CACHE" -o "$OUT" \
        --build "$BUILD" --good start --bad main --bench in >"$1" 2>&1 3>&- &
    begun=$!
}

is_gone() { ! is_running "$1"; }

# Nothing of it is left but an empty lock.
is_clean() {
    [ "$(find "$CACHE/bisect" -mindepth 1 ! -name '*.lock')" = '' ]
    (cd tree && state) | diff before -
    [ ! -e hooks-ran ]
}

@test "bisect ends at the commit that changed, past one that does not build" {
    history
    run --separate-stderr bisect --on "$MACHINE" --good start --bad main --bench hypercall --json
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$(jq -r '.first_bad.commit, .first_bad.subject' <<<"$output" | xargs)" = \
        "$(git -C tree rev-parse change) the change" ]
    # Each with its figure; what gives the same kernel is not booted again.
    [ "$(jq -r '.commits[0].subject, .commits[-1].subject' <<<"$output" | xargs)" = 'the start the end' ]
    [ "$(jq '[.commits[] | select(.measured != null) | .booted] | unique | length' <<<"$output")" -eq 2 ]
    [ "$(jq '[.commits[] | select(.verdict == "good") | .measured] | unique | length' <<<"$output")" -eq 1 ]
    [ "$(jq '[.commits[] | select(.verdict == "bad") | .measured] | unique | length' <<<"$output")" -eq 1 ]
    [ "$(jq '.commits[0].measured != .commits[-1].measured' <<<"$output")" = true ]
    jq -e '.commits[] | select(.verdict == "skip") | .why | contains("error: no none")' <<<"$output"
    id=$(jq -r '.commits[0].commit[:12]' <<<"$output")
    jq -e '.rows[0].benchmark == "hypercall"' "$OUT/$id"/lab-kvm*.json
    is_clean
}

@test "bisect: what is named wrongly is said before anything is built" {
    history
    cases=(
        "--good nothing --bad main --bench hypercall|has no commit nothing"
        "--good main --bad start --bench hypercall|swap them"
        "--good start --bad main --bench hyper|there is no benchmark hyper; there are idle"
        "--good start --bad main --bench in --on kvm|machine of the lab"
        "--good start --bad main --bench in --on lab:native|boots no Linux"
        "--good start --bad main --bench in --on lab:kvm@6.1|the kernel is that of each commit"
        "--good --x --bad main --bench in|--good"
    )
    for case in "${cases[@]}"; do
        # shellcheck disable=SC2086
        run bisect ${case%%|*}
        echo "$output"
        [ "$status" -eq 2 ]
        [[ $output == *"${case#*|}"* ]]
    done
    run ws bisect --kernel-tree "$CACHE" --cache "$CACHE" --good a --bad b --bench in
    [ "$status" -eq 2 ]
    [[ $output == *'not a git repository'* ]]
    is_clean
    [ ! -e "$OUT" ]
}

@test "bisect: an end that can't be built is an error, with the last that the build said" {
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
@test "bisect: a stop ends builds and all that they started, and takes the worktree away" {
    history
    BUILD='touch started; sleep 987654 & sleep 987653'
    begin stopped.txt
    eventually compgen -G "$CACHE/bisect/*/tree/started"
    # Of two at once, the second is refused.
    run bisect --good start --bad main --bench in
    [ "$status" -eq 1 ]
    [[ $output == *'another worldswitch bisects'* ]]
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
@test "bisect: what a killed one left is cleared up by the next" {
    history
    BUILD='touch started; exec sleep 987655'
    begin killed.txt
    eventually compgen -G "$CACHE/bisect/*/tree/started"
    kill -KILL "$begun"
    wait "$begun" || true
    # The kernel ends the build with its parent.
    eventually is_gone 'sleep 987655'
    BUILD=false run bisect --good start --bad main --bench in
    [ "$status" -eq 1 ]
    is_clean
}
