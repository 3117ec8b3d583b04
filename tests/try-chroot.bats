# Tests of what tools/try-chroot refuses before it changes anything. `make test-long` builds real roots.

setup() {
    script=$BATS_TEST_DIRNAME/../tools/try-chroot
}

@test "wrong usage is exit 2 and prints the usage" {
    run "$script" bookworm
    [ "$status" -eq 2 ]
    [[ $output == *'try-chroot SUITE DIR'* ]]
    run "$script" bookworm dir --unknown
    [ "$status" -eq 2 ]
    run "$script" bookworm dir --with
    [ "$status" -eq 2 ]
}

@test "a folder that is not empty is refused and not changed" {
    echo precious >"$BATS_TEST_TMPDIR/file"
    run "$script" bookworm "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    [[ $output == *'not empty'* ]]
    [ "$(cat "$BATS_TEST_TMPDIR/file")" = precious ]
}

@test "--with a folder that does not exist is an error that names it" {
    run "$script" bookworm "$BATS_TEST_TMPDIR/root" --with "$BATS_TEST_TMPDIR/none"
    [ "$status" -eq 1 ]
    [[ $output == *'there is no folder '*none* ]]
    [ ! -e "$BATS_TEST_TMPDIR/root" ]
}

@test "without root it is refused" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho 1000\n' >"$BATS_TEST_TMPDIR/bin/id"
    chmod +x "$BATS_TEST_TMPDIR/bin/id"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run "$script" bookworm "$BATS_TEST_TMPDIR/root"
    [ "$status" -eq 1 ]
    [[ $output == *'as root'* ]]
    [ ! -e "$BATS_TEST_TMPDIR/root" ]
}
