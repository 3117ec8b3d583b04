# tools/try-chroot, as far as it goes without a bare root: what it refuses before it touches
# anything. `make test-long` builds the roots.

setup() {
    script=$BATS_TEST_DIRNAME/../tools/try-chroot
}

@test "wrong usage is exit 2 and shows the right one" {
    run "$script" bookworm
    [ "$status" -eq 2 ]
    [[ $output == *'try-chroot SUITE DIR'* ]]
    run "$script" bookworm dir --unknown
    [ "$status" -eq 2 ]
    run "$script" bookworm dir --with
    [ "$status" -eq 2 ]
}

@test "a folder that holds something is refused and left as it is" {
    echo precious >"$BATS_TEST_TMPDIR/file"
    run "$script" bookworm "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    [[ $output == *'not empty'* ]]
    [ "$(cat "$BATS_TEST_TMPDIR/file")" = precious ]
}

@test "a folder to bring along that is not there is named" {
    run "$script" bookworm "$BATS_TEST_TMPDIR/root" --with "$BATS_TEST_TMPDIR/none"
    [ "$status" -eq 1 ]
    [[ $output == *'there is no folder '*none* ]]
    [ ! -e "$BATS_TEST_TMPDIR/root" ]
}

@test "who is not root is told so" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho 1000\n' >"$BATS_TEST_TMPDIR/bin/id"
    chmod +x "$BATS_TEST_TMPDIR/bin/id"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run "$script" bookworm "$BATS_TEST_TMPDIR/root"
    [ "$status" -eq 1 ]
    [[ $output == *'as root'* ]]
    [ ! -e "$BATS_TEST_TMPDIR/root" ]
}
