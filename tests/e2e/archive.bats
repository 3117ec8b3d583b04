# An archive that has moved on, for the real apt: a local folder. Pinned versions come from an archive of old versions;
# else newer ones are used, and it is said.

# `run` sets $output and $status; archive.bash and common.bash set and use the rest.
# shellcheck disable=SC2034,SC2153,SC2154

load common
load archive

setup() {
    common_setup
    archive_setup
    command -v apt-get >/dev/null || skip 'there is no apt to fetch with'
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
    local_archive old/20260203T040506Z bookworm "$REPO"/*-1.0.deb
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
        *) [[ $output == *"The archive of old versions, file:$PWD/old/20260203T040506Z, can't be read: "* ]] ;;
        esac
    done
    # One that has other packages only.
    local_archive old/20260203T040506Z bookworm "$REPO"/*-1.1.deb
    run fetch --old-archive "file:$PWD/old/{date}" linux-1
    [ "$status" -eq 1 ]
    [[ $output == *"file:$PWD/old/20260203T040506Z, does not have all of them either. "* ]]
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
    [[ $output == *"linux-1: taking the newest versions. The archive of old versions, http://127.0.0.1:"*", can't be read: "* ]]
    # apt's own limit is two minutes.
    [ $((SECONDS - start)) -lt 60 ]
}

# A newer QEMU: that of the lab with a byte more. Its set is pinned to a version that is gone. Of two faults one is in
# every program (its cure is another form of the same instruction), and the other one's code is nowhere in it.
newer_qemu() {
    local root=$LAB_STORE/sets/qemu/root files=() file
    fetch_packages qemu
    { cat "$root/usr/bin/qemu-system-x86_64" && printf x; } >newer
    chmod +x newer
    while read -r file; do
        files+=("$file=$root/$file")
    done < <(cd "$root" && find usr/lib* usr/share ! -type d)
    package qemu-system-x86 1:99 usr/bin/qemu-system-x86_64=newer "${files[@]}"
    local_archive new trixie "$REPO/qemu-system-x86-1:99.deb"
    sed -n '/^\[qemu\]/,/^$/p' "$ROOT/lab/packages.toml" |
        sed '/^packages/s/, .*/]/; /^programs/s/, .*/]/' >mine/packages.toml
    printf '[qemu]\npackages = [\n{ name = "qemu-system-x86", version = "1", architecture = "amd64", sha256 = "%064d" },\n]\n' 0 \
        >mine/lock.toml
    # fault NAME CODE
    fault() {
        printf '[%s]\nsummary = "s"\nreason = "r"\nfile = "usr/bin/qemu-system-x86_64"\n' "$1"
        printf '[[%s.cure]]\nbuilds = ["x"]\ncode = [%s]\n' "$@"
    }
    {
        # _start: xor %ebp,%ebp; mov %rdx,%r9; pop %rsi; mov %rsp,%rdx; and $-16,%rsp; push %rax; push %rsp
        fault everywhere '["31 ed", "33 .."], "49 89 d1 5e 48 89 e2 48 83 e4 f0 50 54"'
        fault unheard-of '"0f 0b 0f 0b 0f 0b 0f 0b 0f 0b 0f 0b", ["0f 0b", "90 90"]'
    } >mine/quirks.toml
    printf '%s\n' 'extends = "native"' 'summary = "free of faults"' '[[emulator.free_of]]' 'word = "everywhere"' \
        'why = "x"' '[[emulator.free_of]]' 'word = "unheard-of"' 'why = "x"' >mine/recipes/free.toml
}

@test "a newer QEMU: its fault is cured by its code; of another results say that it is not; kept counts are recorded" {
    newer_qemu
    run ws lab fetch --lab-dir mine --mirror "file:$PWD/new" --old-archive none --newest qemu
    [ "$status" -eq 0 ]
    [ "$(grep -c 'NOT PINNED: qemu: ' <<<"$output")" -eq 1 ]
    # If the cure of the lab's own fault does not know this QEMU, that is said too.
    [ "$(grep -c 'qemu: not cured of unheard-of, as its code is not in usr/bin/qemu-system-x86_64' <<<"$output")" -eq 1 ]
    [[ $output != *'not cured of everywhere'* ]]
    [ "$(jq -c '.cured | [.everywhere, .["unheard-of"]]' "$CACHE/sets/qemu/manifest.json")" = '["usr/bin/qemu-system-x86_64",null]' ]
    [ "$(cmp -l newer "$CACHE/sets/qemu/root/usr/bin/qemu-system-x86_64" | awk '{ print $2, $3 }')" = '61 63' ]
    run ws lab show --lab-dir mine free
    [[ $output == *'fault everywhere: s (cured)'*'fault unheard-of: s (NOT cured)'* ]]
    ws run --lab-dir mine --on lab:free --boots 1 --perturb 0 --bench '^in$' -o "$OUT" >table.txt
    for file in table.txt "$OUT/lab-free.json"; do
        # The table breaks lines.
        tr -s '[:space:]' ' ' <"$file" | grep -q 'this emulator is not cured of the fault unheard-of (worldswitch lab show free)'
        run ! grep everywhere "$file"
    done
    # What tests do with counts that are kept of the pinned packages (common.bash).
    [ "$(result lab-free .identity.subject.packages_pinned)" = false ]
    as_kept in "$(insns "$OUT/lab-free" in)" 7 is_pinned "$OUT/lab-free.json" 3>recorded
    [ "$(cat recorded)" = '# recorded: in: 1, and 7 with the pinned packages' ]
    jq '.identity.subject.packages_pinned = true' "$OUT/lab-free.json" >pinned.json
    compiler=fetched
    ws() {
        printf '{"sets": [{"name": "clang-19", "state": "%s"}, {"name": "a", "state": "fetched"}, {"name": "b", "state": "x"}]}' "$compiler"
    }
    as_kept in 7 7 is_pinned pinned.json
    run ! as_kept in 1 7 is_pinned pinned.json
    run ! as_kept in 1 7 are_pinned clang-19 a
    as_kept in 1 7 are_pinned a b 3>recorded
    compiler='fetched, other versions than pinned'
    as_kept in 1 7 is_pinned pinned.json 3>recorded
}
