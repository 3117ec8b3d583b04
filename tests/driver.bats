# The driver of the tests, tests/run: does it count right, and does it fail when it has to?

bats_require_minimum_version 1.5.0

setup() {
    export TEST_STEPS=$BATS_TEST_TMPDIR/steps TEST_LOGS=$BATS_TEST_TMPDIR/logs
    driver=$BATS_TEST_DIRNAME/run
}

# Makes the driver run the steps on stdin.
steps() {
    { echo 'steps() {'; cat; echo '}'; echo 'steps_long() { step long-one 5 plain true; }'; } >"$TEST_STEPS"
}

# A step that notes its process in `pid` and does no more. timeout, told to end just as it has forked,
# leaves its child alone: so not before it sleeps in its wait for it.
waiting() {
    cat <<EOF
sh -c 'until grep -q "^State:.S" /proc/\$PPID/status; do sleep 0.05; done
    echo \$\$ >"$BATS_TEST_TMPDIR/pid"; exec sleep 500'
EOF
}

# Waits for it up to a minute.
has_pid() {
    for _ in $(seq 600); do
        [ ! -s "$BATS_TEST_TMPDIR/pid" ] || return 0
        sleep 0.1
    done
    return 1
}

last_line() { [ "${lines[-1]}" = "$1" ]; }

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

@test "TAP: passed, failed and skipped are told apart" {
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

@test "an exit code that no count explains is a failure" {
    steps <<<"step tap 5 tap sh -c 'echo ok 1 a; exit 1'"
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '1 passed, 1 failed, 0 skipped'
}

@test "a step that counted no test has failed" {
    steps <<<'step tap 5 tap true'
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '0 passed, 1 failed, 0 skipped'
    [[ $output == *'ran no test'* ]]
}

@test "a step that hangs is ended at its limit" {
    # Of itself it would outlive this test.
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

@test "an interrupted driver ends its step and says so" {
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

@test "a linter of another version is a skip with its reason, a named one judges" {
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

@test "steps alongside run beside the others, are counted last, and fail like them" {
    steps <<EOF2
alongside beside 100 plain sh -c 'touch "$BATS_TEST_TMPDIR/began"; until [ -e "$BATS_TEST_TMPDIR/seen" ]; do sleep 0.05; done'
alongside bad 100 plain sh -c 'echo what went wrong; exit 3'
step sees 100 plain sh -c 'until [ -e "$BATS_TEST_TMPDIR/began" ]; do sleep 0.05; done; touch "$BATS_TEST_TMPDIR/seen"'
EOF2
    run "$driver"
    [ "$status" -eq 1 ]
    last_line '2 passed, 1 failed, 0 skipped'
    [[ $output == *'ok   sees'*'ok   beside'*'FAIL bad'*'what went wrong'* ]]
}

@test "a signal ends steps alongside too" {
    steps <<EOF2
alongside beside 600 plain $(waiting)
step long 600 plain sleep 500
EOF2
    "$driver" >/dev/null 2>&1 3>&- &
    local pid=$!
    has_pid
    kill -TERM "$pid"
    local code=0
    wait "$pid" || code=$?
    [ "$code" -eq 130 ]
    run ! kill -0 "$(cat "$BATS_TEST_TMPDIR/pid")"
}
