# An archive that has moved on, for the real apt: a local folder. Pinned versions come from an archive of old versions;
# else newer ones are used, and it is said.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common
load archive

setup() {
    common_setup
    archive_setup
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip 'there is no apt to fetch with'
    mkdir -p mine/recipes
}

teardown() { [ -z "${silent-}" ] || kill "$silent"; }

# The archive drops version 1.0 of a kernel, to which the set linux-1 is pinned, for 1.1. The one of old versions has
# it, as of 3 Feb 2026.
moved_on() {
    cat >mine/packages.toml <<'SET'
["linux-1"]
summary = "a kernel"
kind = "kernel"
architecture = "x86_64"
suite = "bookworm"
packages = ["linux-image-1-cloud"]
SET
    package linux-image-1-cloud 1.0 boot/vmlinuz-1-cloud=kernel-1.0
    UNTIL='Sat, 10 Jan 2026 00:00:00 UTC' local_archive old/20260203T040506Z bookworm "$REPO"/*-1.0.deb
    local_archive new bookworm "$REPO"/*-1.0.deb
    ARGS=(--lab-dir mine --mirror "file:$PWD/new")
    fetch --update-lock linux-1
    sed -i 's/^date = .*/date = 2026-02-03T04:05:06Z/' mine/lock.toml
    package linux-image-1-cloud 1.1 boot/vmlinuz-1-cloud=kernel-1.1
    rm -r new "$CACHE"
    local_archive new bookworm "$REPO"/*-1.1.deb
}

kernel() { cat "$CACHE/sets/linux-1/root/boot/vmlinuz-1-cloud"; }
pinned() { jq .pinned "$CACHE/sets/linux-1/manifest.json"; }

@test "a pinned version that the archive dropped comes from the archive of old versions, as of the lock's date" {
    moved_on
    for newest in '' --newest; do
        run fetch --old-archive "file:$PWD/old/{date}" $newest linux-1
        [ "$status" -eq 0 ]
        [[ $output == *"linux-1: the archive no longer has the pinned versions; asking file:$PWD/old/20260203T040506Z"* ]]
        [[ $output != *'NOT PINNED'* ]]
        [ "$(kernel) $(pinned)" = 'kernel-1.0 true' ]
        rm -r "$CACHE"
    done
    # Another file of that version is refused there too.
    package linux-image-1-cloud 1.0 boot/vmlinuz-1-cloud=another
    local_archive old/20260203T040506Z bookworm "$REPO"/*-1.0.deb
    run fetch --newest --old-archive "file:$PWD/old/{date}" linux-1
    [ "$status" -eq 1 ]
    [[ $output == *'is not the file that lock.toml pins'* ]]
}

@test "where old versions are nowhere, the error says what was tried; --newest takes the newest, in one line" {
    moved_on
    rm -r old/*
    for old in "file:$PWD/old/{date}" none; do
        run fetch --old-archive "$old" linux-1
        [ "$status" -eq 1 ]
        [[ $output == *'no longer has what lock.toml pins for linux-1: linux-image-1-cloud 1.0. '* ]]
        [[ $output == *'The newest is linux-image-1-cloud 1.1: worldswitch lab fetch --newest linux-1 '*'--old-archive URL'* ]]
        case $old in
        none) [[ $output == *'No archive of old versions was asked.'* ]] ;;
        *) [[ $output == *"file:$PWD/old/20260203T040506Z was asked for old versions: "* ]] ;;
        esac
    done
    # One that has other packages only.
    local_archive old/20260203T040506Z bookworm "$REPO"/*-1.1.deb
    run fetch --old-archive "file:$PWD/old/{date}" linux-1
    [ "$status" -eq 1 ]
    [[ $output == *"file:$PWD/old/20260203T040506Z does not have all of it either."* ]]
    run fetch --old-archive "file:$PWD/old/{date}" --newest linux-1
    [ "$status" -eq 0 ]
    [ "$(kernel) $(pinned)" = 'kernel-1.1 false' ]
    [ "$(grep -c 'NOT PINNED: linux-1: ' <<<"$output")" -eq 1 ]
    # What is there in place of these pins is used without asking anybody.
    rm -r new old
    run fetch --newest linux-1
    [ "$status" -eq 0 ]
    [[ $output == *'linux-1: already there'*'NOT PINNED: linux-1: '* ]]
    [[ $output != *asking* ]]
}

# bats test_tags=live
@test "an archive of old versions that does not answer is given up after seconds" {
    command -v perl >/dev/null || skip 'there is no perl to play a silent server with'
    moved_on
    # apt without proxies, which would answer.
    mkdir bin
    printf '#!/bin/sh\n' >bin/apt-config
    chmod +x bin/apt-config
    unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
    perl -MSocket -e 'socket($s, PF_INET, SOCK_STREAM, 0) && bind($s, sockaddr_in(0, INADDR_LOOPBACK)) && listen($s, 9) or die;
        ($port) = sockaddr_in(getsockname($s)); open($f, ">", "port.new"); print $f $port; close $f;
        rename("port.new", "port"); sleep 600' 3>&- &
    silent=$!
    eventually test -e port
    start=$SECONDS
    PATH=$PWD/bin:$PATH run fetch --newest --old-archive "http://127.0.0.1:$(cat port)/{date}" linux-1
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(kernel)" = kernel-1.1 ]
    [[ $output == *'was asked for old versions: '* ]]
    # apt's own limit is two minutes.
    [ $((SECONDS - start)) -lt 60 ]
}
