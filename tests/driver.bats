# Tests of the test driver (tests/run) and of tests/repeat.

bats_require_minimum_version 1.5.0

setup() {
    export TEST_STEPS=$BATS_TEST_TMPDIR/steps TEST_LOGS=$BATS_TEST_TMPDIR/logs
    driver=$BATS_TEST_DIRNAME/run
    cd "$BATS_TEST_TMPDIR" || return
}

# Makes the driver run the steps on stdin.
steps() {
    { echo 'steps() {'; cat; echo '}'; echo 'steps_long() { step long-one 5 plain true; }'; } >"$TEST_STEPS"
}

# A step that writes its process ID to `pid` and waits. If timeout gets a signal just after its fork, it does
# not kill its child: so `pid` is written only when timeout sleeps in its wait for the child.
waiting() {
    cat <<EOF
sh -c 'until grep -q "^State:.S" /proc/\$PPID/status; do sleep 0.05; done
    echo \$\$ >"$BATS_TEST_TMPDIR/pid"; exec sleep 500'
EOF
}

# Waits for `pid` up to a minute.
has_pid() {
    for _ in $(seq 600); do
        [ ! -s "$BATS_TEST_TMPDIR/pid" ] || return 0
        sleep 0.1
    done
    return 1
}

last_line() { [ "${lines[-1]}" = "$1" ]; }

@test "what a passing step records is printed, and counts as nothing" {
    steps <<'EOF'
step good 5 tap printf 'ok 1 a\n# recorded: in: 2, and 1 with the pinned packages\n'
step fetch 5 plain echo 'lab: NOT PINNED: qemu: x'
EOF
    run "$driver"
    [ "$status" -eq 0 ]
    last_line '2 passed, 0 failed, 0 skipped'
    [[ $output == *'  recorded: in: 2, and 1 with the pinned packages'* ]]
    [[ $output == *'  NOT PINNED: qemu: x'* ]]
}

@test "a passing and a failing step: one of each, exit 1, the log shown" {
    steps <<'EOF'
step good 5 plain true
step bad 5 plain sh -c 'echo what went wrong; exit 3'
EOF
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '1 passed, 1 failed, 0 skipped'
    [[ $output == *'what went wrong'* ]]
    [[ $output == *'exit code 3'* ]]
}

@test "only passing steps: exit 0" {
    steps <<<'step good 5 plain true'
    run "$driver"
    [ "$status" -eq 0 ]
    last_line '1 passed, 0 failed, 0 skipped'
}

@test "a skip is counted, with its reason" {
    steps <<'EOF'
step good 5 plain true
skip odd 'no such tool'
EOF
    run "$driver"
    [ "$status" -eq 0 ]
    last_line '1 passed, 0 failed, 1 skipped'
    [[ $output == *'skipped: no such tool'* ]]
}

@test "--strict: only a skip that the list allows passes, whoever reports it; without a reason it fails" {
    cat >hardware <<<$'# a comment\n\n: no hardware'
    export TEST_HARDWARE_SKIPS=$PWD/hardware
    steps <<'EOF'
step tap 5 tap printf '%s\n' 1..4 'ok 1 a' 'ok 2 b # skip no hardware' 'ok 3 c # skip no ip' 'ok 4 d # skip'
step cargo 5 cargo printf '%s\n' 'test x ... ignored' \
    'test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s'
skip tool 'no such tool'
EOF
    run "$driver" --strict
    [ "$status" -eq 1 ]
    last_line '2 passed, 4 failed, 1 skipped'
    [[ $output == *'skipped: b: no hardware'* ]]
    for reason in 'c: no ip' 'd: ' 'x: ' 'no such tool'; do
        [[ $output == *"| not allowed: $reason"* ]] || { echo "$reason" && false; }
    done
    run "$driver"
    [ "$status" -eq 0 ]
    last_line '2 passed, 0 failed, 5 skipped'
}

@test "TAP: passed, failed and skipped tests are counted" {
    steps <<'EOF'
step tap 5 tap printf 'TAP version 13\n1..3\nok 1 a\nnot ok 2 b # in 3 s\nok 3 c # skip no kvm\n'
EOF
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '1 passed, 1 failed, 1 skipped'
    [[ $output == *'skipped: c: no kvm'* ]]
}

@test "cargo: the test programs' lines are added up" {
    steps <<'EOF'
step cargo 5 cargo printf '%s\n' 'test a::b ... ignored, takes hours' \
    'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s' \
    'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'
EOF
    run "$driver"
    [ "$status" -eq 0 ]
    last_line '5 passed, 0 failed, 1 skipped'
    [[ $output == *'skipped: a::b: takes hours'* ]]
}

@test "cmocka: the groups are added up" {
    cat >"$BATS_TEST_TMPDIR/t.c" <<'EOF'
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
static void good(void **s) { (void)s; }
static void bad(void **s) { (void)s; assert_int_equal(1, 2); }
static void odd(void **s) { (void)s; skip(); }
int main(void)
{
    const struct CMUnitTest one[] = { cmocka_unit_test(good), cmocka_unit_test(bad) };
    const struct CMUnitTest two[] = { cmocka_unit_test(good), cmocka_unit_test(odd) };
    return cmocka_run_group_tests(one, NULL, NULL) + cmocka_run_group_tests(two, NULL, NULL);
}
EOF
    gcc -o "$BATS_TEST_TMPDIR/t" "$BATS_TEST_TMPDIR/t.c" -lcmocka
    steps <<<"step c 5 cmocka $BATS_TEST_TMPDIR/t"
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '2 passed, 1 failed, 1 skipped'
    [[ $output == *'skipped: odd'* ]]
}

@test "a non-zero exit code without a failed test is a failure" {
    steps <<<"step tap 5 tap sh -c 'echo ok 1 a; exit 1'"
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '1 passed, 1 failed, 0 skipped'
}

@test "a step that ran no test fails" {
    steps <<<'step tap 5 tap true'
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '0 passed, 1 failed, 0 skipped'
    [[ $output == *'ran no test'* ]]
}

@test "a step that hangs is killed at its limit" {
    # Without the limit it would outlive this test.
    steps <<<'step slow 1 plain sleep 3600'
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '0 passed, 1 failed, 0 skipped'
    [[ $output == *'time limit of 1 s'* ]]
}

@test "a pattern chooses steps; one that matches none is an error" {
    steps <<'EOF'
step good 5 plain true
step bad 5 plain false
EOF
    run "$driver" '^go'
    [ "$status" -eq 0 ]
    last_line '1 passed, 0 failed, 0 skipped'
    run "$driver" nothing
    [ "$status" -eq 2 ]
}

@test "--list names the steps and runs none; --long adds its own" {
    steps <<<'step bad 5 plain false'
    run "$driver" --list
    [ "$status" -eq 0 ]
    [ "$output" = bad ]
    run "$driver" --long long
    [ "$status" -eq 0 ]
    last_line '1 passed, 0 failed, 0 skipped'
}

@test "an interrupted driver kills its step and exits with 130" {
    steps <<<"step slow 600 plain $(waiting)"
    "$driver" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    local job=$!
    has_pid
    kill -TERM "$job"
    local code=0
    wait "$job" || code=$?
    [ "$code" -eq 130 ]
    run ! kill -0 "$(cat "$BATS_TEST_TMPDIR/pid")"
}

@test "a linter of another version is skipped with the reason, one of tests/tool-versions runs" {
    {
        sed -n '/^gated()/,/^}/p' "$BATS_TEST_DIRNAME/steps"
        echo 'steps() {'
        echo '    gated odd shellcheck 0.0.1 5 false'
        echo "    gated none shellcheck '' 5 false"
        echo '    gated known shellcheck 0.9.0 5 false'
        echo '}'
    } >"$TEST_STEPS"
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '0 passed, 1 failed, 2 skipped'
    [[ $output == *'shellcheck is 0.0.1 here'* ]]
}

@test "steps run side by side, and a barrier waits for all before it" {
    # Each of the first two ends when the other has started.
    steps <<EOF2
step one 100 plain sh -c 'touch "$BATS_TEST_TMPDIR/one"; until [ -e "$BATS_TEST_TMPDIR/two" ]; do sleep 0.05; done; touch "$BATS_TEST_TMPDIR/done"'
step two 100 plain sh -c 'touch "$BATS_TEST_TMPDIR/two"; until [ -e "$BATS_TEST_TMPDIR/one" ]; do sleep 0.05; done; echo what went wrong; exit 3'
barrier
step after 100 plain test -e "$BATS_TEST_TMPDIR/done"
EOF2
    TEST_JOBS=2 run "$driver"
    [ "$status" -eq 1 ]
    last_line '2 passed, 1 failed, 0 skipped'
    [[ $output == *'FAIL two'*'what went wrong'*'ok   after'* ]]
}

@test "TEST_JOBS=1 runs one step at a time" {
    steps <<EOF2
step one 100 plain sh -c '[ ! -e "$BATS_TEST_TMPDIR/on" ] && touch "$BATS_TEST_TMPDIR/on" && sleep 0.2 && rm "$BATS_TEST_TMPDIR/on"'
step two 100 plain sh -c '[ ! -e "$BATS_TEST_TMPDIR/on" ]'
EOF2
    TEST_JOBS=1 run "$driver"
    [ "$status" -eq 0 ]
    last_line '2 passed, 0 failed, 0 skipped'
}

@test "--class chooses steps, --check runs other steps" {
    steps <<'EOF2'
step pure 5 plain true
lab counts 5 plain false
live timed 5 plain true
EOF2
    echo 'steps_check() { step quick 5 plain true; }' >>"$TEST_STEPS"
    run "$driver" --class live --list
    [ "$status" -eq 0 ]
    [ "$output" = timed ]
    run "$driver" --class lab
    [ "$status" -eq 1 ]
    last_line '0 passed, 1 failed, 0 skipped'
    run "$driver" --check
    [ "$status" -eq 0 ]
    [[ $output == *'ok   quick'* ]]
    last_line '1 passed, 0 failed, 0 skipped'
    run "$driver" --class other
    [ "$status" -eq 2 ]
}

@test "a step's time and CPU time are printed" {
    steps <<<"step busy 50 plain sh -c 'i=0; while [ \$i -lt 200000 ]; do i=\$((i + 1)); done; sleep 0.3'"
    run "$driver"
    [ "$status" -eq 0 ]
    read -r _ _ wall _ cpu _ <<<"${lines[0]}"
    awk -v wall="$wall" -v cpu="$cpu" 'BEGIN { exit !(wall >= 0.3 && cpu > 0 && cpu < 50) }'
}

@test "repeat: a test that fails once in three runs is reported by condition; a second call continues" {
    export REPEAT_DIR=$BATS_TEST_TMPDIR/repeat
    # Fails in its third run; the pure step is never run.
    steps <<EOF2
step pure 5 plain false
lab counts 5 plain true
live odd 5 tap sh -c 'echo x >>"$BATS_TEST_TMPDIR/runs"; echo ok 1 good; [ "\$(wc -l <"$BATS_TEST_TMPDIR/runs")" -ne 3 ] || { echo not ok 2 races; exit 1; }'
EOF2
    run "$BATS_TEST_DIRNAME/repeat" 2
    [ "$status" -eq 1 ]
    [[ $output == *'counts'*' 0      0 '*' 1      0 '* ]]
    [[ $output == *'odd'*' 2      1 '*' 2      0 '* ]]
    [[ $output == *'failed'*'1 quiet'*'races'* ]]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/runs")" -eq 4 ]
    run "$BATS_TEST_DIRNAME/repeat" 3
    [ "$status" -eq 1 ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/runs")" -eq 6 ]
    run "$BATS_TEST_DIRNAME/repeat" 2 pure
    [ "$status" -eq 2 ]
    run "$BATS_TEST_DIRNAME/repeat" none
    [ "$status" -eq 2 ]
}

@test "no C comment lists callers by file, as such lists become wrong" {
    cd "$BATS_TEST_DIRNAME/.."
    run ! git grep -nE '[Cc]alled by .*\.[chS]\b' -- '*.[chS]'
}
