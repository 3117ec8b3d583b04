# shellcheck shell=bash
# Parts of the tests of `worldswitch run fleet` on a cluster of its own.

fleet_setup() {
    export FLEET=$BATS_TEST_TMPDIR/cluster
    mkdir "$FLEET"
}

# on_cluster: runs the script of standard input on a cluster; skips the test if there can be none here.
on_cluster() {
    {
        echo 'set -euo pipefail; . /mnt/tree/tests/e2e/fleet-inside.bash; set -x'
        cat
    } >"$FLEET/script"
    local status=0
    timeout --kill-after=5 "${LIMIT:-300}" "$ROOT/tests/cluster" "$FLEET" "$LAB_STORE" bash /mnt/work/script >"$FLEET/printed" 2>&1 || status=$?
    if [ "$status" -eq 77 ]; then
        skip "$(tail -n 1 "$FLEET/printed")"
    fi
    if [ "$status" -ne 0 ]; then
        cat "$FLEET/printed"
        tail -n 20 "$FLEET"/shared/logs/* || true
        return 1
    fi
}
