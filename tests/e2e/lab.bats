# worldswitch lab: showing and listing recipes; fetching packages from a fake archive (tests/fake-apt), and
# once from a real one; exporting and importing a cache.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common
load archive

setup() {
    common_setup
    archive_setup
}

teardown() {
    for pid in ${fetching-}; do kill "$pid" 2>/dev/null || true; done
}

# The state of the set linux-1 in `lab list`.
state() { ws lab list --lab-dir mine --json | jq -r '.sets[] | select(.name == "linux-1").state'; }

calls() { grep -c "$1" "$CALLS" || true; }

@test "recipes and sets are listed, with their state" {
    run --separate-stderr ws lab list
    [ "$status" -eq 0 ]
    [[ $output == *'lab:kvm-shadow'*'@6.1 '* ]]
    [[ $output == *'linux-6.12'*'not fetched'* ]]
    run ws lab list --json
    [ "$(jq -r '[.recipes[].name] | join(" ")' <<<"$output")" = \
        "$(basename -s .toml "$ROOT"/lab/recipes/*.toml | LC_ALL=C sort | paste -sd ' ')" ]
    [ "$(jq -r '[.sets[].state] | unique[]' <<<"$output")" = 'not fetched' ]
}

@test "a recipe is shown with the reason for each word, and its digest" {
    run ws lab show lab:kvm@6.12
    [ "$status" -eq 0 ]
    [[ $output == *'-icount shift=0,sleep=off '*'executed instruction'* ]]
    [[ $output == *'kernel: of the packages linux-6.12'* ]]
    [[ $output == *'packages of linux-6.12 (not fetched)'* ]]
    [ "$(ws lab show kvm --json | jq -r '.digest | length')" -eq 64 ]
    run ws lab show kvm-intel
    [[ $output == *'cpu: model=corei7_skylake_x'*'ips=1000000000'*'one instruction'* ]]
    [[ $output == *'options of its name: cpu, memory, bochs, mitigations, apicv'*'+apicv=0 '*'posted interrupts'* ]]
    [ "$(ws lab show kvm --json | jq .digest)" != "$(ws lab show kvm-shadow --json | jq .digest)" ]
    # With options, as in --on.
    ws lab show kvm-vhe@6.12+gicv4=1 | grep -q 'gic-version=4'
}

@test "an error in a recipe or a name is reported, with the known names" {
    run ws lab show kmv
    [ "$status" -eq 1 ]
    [[ $output == *'no lab recipe "kmv"; there are amd-native, arm-linux, arm-native, arm-xen, arm-xen-linux, intel-native, kvm, kvm-amd'* ]]
    run ws lab show kvm@5.10
    [ "$status" -eq 1 ]
    [[ $output == *'the variants are 6.1, 6.12, backports, unstable'* ]]
    mkdir -p mine/recipes
    printf 'extends = "kvm"\n[emulator]\nmemroy_mib = 256\n' >mine/recipes/mine.toml
    run ws lab show mine --lab-dir mine
    [ "$status" -eq 1 ]
    [[ $output == *'mine.toml'*'line 3'*'memroy_mib'* ]]
    run ws lab list --lab-dir mine
    [ "$status" -eq 0 ]
    [[ $output == *'lab:mine'*'memroy_mib'* ]]
    run ws lab fetch nothing
    [ "$status" -eq 1 ]
    [[ $output == *'no set of packages "nothing"'* ]]
}

@test "a recipe of the user's own builds on an installed one" {
    mkdir -p mine/recipes
    printf 'extends = "kvm"\nsummary = "small"\nemulator.memory_mib = 256\n' >mine/recipes/small.toml
    run ws lab show small --lab-dir mine --json
    [ "$(jq -r '.recipe.emulator.memory_mib, .recipe.monitor.kind' <<<"$output" | xargs)" = '256 vmm' ]
    [ "$(jq -r '.facts | .role, .paging' <<<"$output" | xargs)" = 'vm nested' ]
}

@test "fetch: once, into the cache, only the files that the set keeps" {
    archive
    run fetch linux-1
    [ "$status" -eq 0 ]
    [[ $output == *'linux-1: 1 package of bookworm, 0 MiB, not pinned'* ]]
    [ "$(cat "$CALLS.sources")" = \
        "deb [arch=amd64 signed-by=$PWD/keys.gpg] http://archive.example/debian bookworm main" ]
    [ "$(cd "$CACHE" && find . -type f | LC_ALL=C sort | xargs)" = "./lock \
./sets/linux-1/manifest.json ./sets/linux-1/root/boot/vmlinuz-1-cloud \
./sets/linux-1/root/usr/lib/modules/1-cloud/kernel/arch/x86/kvm/kvm.ko" ]
    [ "$(jq -r '.packages[] | .name + " " + .version' "$CACHE/sets/linux-1/manifest.json")" = \
        'linux-image-1-cloud 1.0' ]
    run fetch linux-1
    [ "$status" -eq 0 ]
    [[ $output == *'linux-1: already there'* ]]
    [ "$(calls update)" -eq 1 ]
}

# bats test_tags=live
@test "fetch: a fault is cured where its code is found, when its set is fetched or later; other files are not changed" {
    archive
    fetch linux-1
    kernel=$CACHE/sets/linux-1/root/boot/vmlinuz-1-cloud
    # quirk NAME BEFORE AFTER: in the kernel, the text "kernel-1.0", a letter of it becomes another.
    quirk() {
        printf '[%s]\nsummary = "an old kernel"\nreason = "it is old"\nfile = "boot/vmlinuz-1-cloud"\n' "$1"
        printf '[[%s.cure]]\nbuilds = ["1.0"]\ncode = ["6b 65 72 6e 65 6c 2d", ["%s", "%s"]%s]\n' "$1" "$2" "$3" "${4-}"
    }
    digest() { ws lab list --lab-dir mine --json | jq -r '.sets[] | select(.name == "linux-1").digest'; }
    uncured=$(digest)
    # A fault whose code is not there.
    quirk old 33 32 >mine/quirks.toml
    run fetch linux-1
    [[ $output == *'linux-1: already there'* ]]
    [ "$(cat "$kernel")" = kernel-1.0 ]
    # A file that was fetched before the cure was known is cured in place, without the archive.
    quirk old 31 32 >mine/quirks.toml
    [ "$(state)" = 'fetched, not cured: fetch it again' ]
    : >"$CALLS"
    [[ $(fetch linux-1 2>&1) == *'linux-1: cured of old'* ]]
    [ "$(calls .)" -eq 0 ]
    [ "$(cat "$kernel")" = kernel-2.0 ]
    [ "$(state)" = 'fetched, not pinned' ]
    once=$(digest)
    [ "$once" != "$uncured" ]
    # So is one of which a second fault becomes known later, in its cured form.
    quirk other 32 .. ', ["2e 30", "2e 31"]' | sed 's/\["32", ".."\]/".."/' >>mine/quirks.toml
    [ "$(state)" = 'fetched, not cured: fetch it again' ]
    [[ $(fetch linux-1 2>&1) == *'linux-1: cured of other'* ]]
    [ "$(cat "$kernel")" = kernel-2.1 ]
    [[ $(fetch linux-1 2>&1) == *'linux-1: already there'* ]]
    cured=$(digest)
    [ "$cured" != "$once" ]
    # A file that is fetched now is cured of both, also one of another version.
    rm -r "$CACHE/sets/linux-1"
    fetch linux-1
    [ "$(cat "$kernel")" = kernel-2.1 ]
    [ "$(digest)" = "$cured" ]
    package linux-image-1-cloud 1.1 boot/vmlinuz-1-cloud='another kernel-1.0'
    rm -r "$CACHE/sets/linux-1"
    fetch linux-1
    [ "$(cat "$kernel")" = 'another kernel-2.1' ]
    # The cure is another now: the set is fetched again.
    quirk old 31 33 >mine/quirks.toml
    [[ $(fetch linux-1 2>&1) == *'linux-1: fetching 1 package'* ]]
    [ "$(cat "$kernel")" = 'another kernel-3.0' ]
    sed -i 's/"33"/"33 34"/' mine/quirks.toml
    run fetch linux-1
    [ "$status" -eq 1 ]
    [[ $output == *'quirks.toml: quirk "old": "31" and its replacement differ in length'* ]]
}

@test "lab show lists the faults of which a machine's emulator must be free" {
    run ws lab show kvm
    [[ $output == *'without its fault svm-interrupt-twice'* ]]
    [[ $output == *'fault svm-interrupt-twice: '*'89 b3 .. .. ff ff becomes 66 0f 1f 44 00 00 in helper_vmrun'*'found in qemu-system-x86 '* ]]
    [ "$(ws lab show kvm --json | jq -r '.faults["svm-interrupt-twice"].cure | length')" -ge 1 ]
    [ "$(ws lab show native --json | jq -c '.faults | keys')" = '["breakpoint-stops-one","idle-clock-jump"]' ]
    [ "$(ws lab show intel-native --json | jq -c .faults)" = '{}' ]
    mkdir -p mine/recipes
    printf 'extends = "kvm"\n[[emulator.free_of]]\nword = "other"\nwhy = "x"\n' >mine/recipes/mine.toml
    run ws lab show mine --lab-dir mine
    [ "$status" -eq 1 ]
    [[ $output == *'emulator.free_of names "other", which no quirks.toml has'* ]]
}

@test "fetch: a damaged set is fetched again" {
    archive
    fetch linux-1
    echo other >"$CACHE/sets/linux-1/root/boot/vmlinuz-1-cloud"
    run fetch linux-1
    [ "$status" -eq 0 ]
    [[ $output == *'boot/vmlinuz-1-cloud was changed'* ]]
    [ "$(cat "$CACHE/sets/linux-1/root/boot/vmlinuz-1-cloud")" = kernel-1.0 ]
    echo '{' >"$CACHE/sets/linux-1/manifest.json"
    fetch linux-1
    [ "$(state)" = 'fetched, not pinned' ]
}

@test "fetch: pins are written, and pinned versions are fetched" {
    archive
    fetch --update-lock linux-1
    grep -qx '\["linux-1"\]' mine/lock.toml
    grep -qE "^date = $(date -u +%Y)-..-..T..:..:..Z\$" mine/lock.toml
    [ "$(state)" = fetched ]
    rm -r "$CACHE"
    fetch linux-1
    [ "$(jq .pinned "$CACHE/sets/linux-1/manifest.json")" = true ]
    # Another archive that has the pinned version beside a newer one.
    package linux-image-2-cloud 2.0 boot/vmlinuz-2-cloud=kernel-2.0
    rm -r "$CACHE"
    fetch linux-1
    [ -f "$CACHE/sets/linux-1/root/boot/vmlinuz-1-cloud" ]
    [ "$(state)" = fetched ]
}

@test "fetch: a pinned version that is gone is an error that names the newest and the flag" {
    archive
    fetch --update-lock linux-1
    package linux-image-1-cloud 1.1 boot/vmlinuz-1-cloud=kernel-1.1
    # What was fetched before is still used.
    run fetch linux-1
    [ "$status" -eq 0 ]
    rm -r "$CACHE"
    sed -i 's/^date = .*/date = 2026-02-03T04:05:06Z/' mine/lock.toml
    run fetch linux-1
    [ "$status" -eq 1 ]
    # Old versions were asked for, of lists that have expired.
    [ "$(tail -n 1 "$CALLS.sources")" = "deb [arch=amd64 check-valid-until=no signed-by=$PWD/keys.gpg] \
http://snapshot.debian.org/archive/debian/20260203T040506Z bookworm main" ]
    [[ $output == *'no longer has what lock.toml pins for linux-1: linux-image-1-cloud 1.0.'* ]]
    [[ $output == *'The newest is linux-image-1-cloud 1.1: worldswitch lab fetch --newest linux-1'* ]]
    [ -z "$(ls "$CACHE/sets" 2>/dev/null)" ]
    run fetch --newest linux-1
    [ "$status" -eq 0 ]
    [[ $output == *'not pinned'* ]]
    [ "$(jq .pinned "$CACHE/sets/linux-1/manifest.json")" = false ]
    [ "$(state)" = 'fetched, other versions than pinned' ]
    # Asked again for pins that are gone: what is there stays, with a message.
    run fetch linux-1
    [ "$status" -eq 0 ]
    [[ $output == *'keeping the existing set'* ]]
}

@test "fetch --newest: the pinned version if the archive has it, else the newest, which is downloaded once" {
    archive
    fetch --newest linux-1
    fetch --update-lock linux-1
    cp mine/lock.toml old.toml
    package linux-image-1-cloud 1.1 boot/vmlinuz-1-cloud=kernel-1.1
    fetch --update-lock linux-1
    cp mine/lock.toml new.toml
    cp old.toml mine/lock.toml
    # The cache has 1.1 and the pins are 1.0: it is not known yet that the archive no longer has 1.0.
    : >"$CALLS"
    run fetch --newest linux-1
    [ "$status" -eq 0 ]
    # One line says so, also when it is there.
    [ "$(grep -c 'NOT PINNED: linux-1: ' <<<"$output")" -eq 1 ]
    [ "$(calls download)" -eq 1 ]
    run fetch --newest linux-1
    [[ $output == *'already there'* ]]
    [ "$(grep -c 'NOT PINNED: linux-1: ' <<<"$output")" -eq 1 ]
    [ "$(calls download)" -eq 1 ]
    # The pins become 1.1, which is there already.
    cp new.toml mine/lock.toml
    [ "$(jq .pinned "$CACHE/sets/linux-1/manifest.json")" = false ]
    run fetch --newest linux-1
    [[ $output == *'already there'* ]]
    [[ $output != *'NOT PINNED'* ]]
    [ "$(jq .pinned "$CACHE/sets/linux-1/manifest.json")" = true ]
    # Other pins, which the archive has: they replace what is there. The file differs from the first 1.0, even
    # if both are made in the same second.
    package linux-image-1-cloud 1.0 boot/vmlinuz-1-cloud=kernel-1.0 \
        lib/modules/1-cloud/kernel/arch/x86/kvm/kvm.ko=module usr/share/doc/x=others
    cp old.toml mine/lock.toml
    sed -i 's/"[0-9a-f]\{64\}"/"'"$(sha256sum <"$REPO/linux-image-1-cloud-1.0.deb" | head -c 64)"'"/' mine/lock.toml
    run fetch --newest linux-1
    [ "$status" -eq 0 ]
    [ "$(jq -r '.packages[0].version' "$CACHE/sets/linux-1/manifest.json")" = 1.0 ]
    [ "$(jq .pinned "$CACHE/sets/linux-1/manifest.json")" = true ]
}

@test "fetch: another file under the pinned version is refused" {
    archive
    fetch --update-lock linux-1
    rm -r "$CACHE"
    package linux-image-1-cloud 1.0 boot/vmlinuz-1-cloud=other
    run fetch linux-1
    [ "$status" -eq 1 ]
    [[ $output == *'linux-image-1-cloud 1.0 of the archive is not the file that lock.toml pins'* ]]
    run fetch --newest linux-1
    [ "$status" -eq 1 ]
    [ ! -e "$CACHE/sets/linux-1" ]
}

# bats test_tags=live
@test "fetch: without network it uses what is there, else the error says what to do" {
    archive
    OFFLINE=1 run fetch linux-1
    [ "$status" -eq 1 ]
    [[ $output == *'no network'*'worldswitch lab import FILE'* ]]
    fetch linux-1
    OFFLINE=1 run fetch linux-1
    [ "$status" -eq 0 ]
}

@test "fetch: without apt, without an archive, without its keys" {
    command -v dpkg-deb >/dev/null || skip 'there is no dpkg-deb to make packages with'
    archive
    mkdir empty
    PATH=$PWD/empty run "$WORLDSWITCH" lab fetch "${ARGS[@]}" linux-1
    [ "$status" -eq 1 ]
    [[ $output == *'apt-config is not installed'*'worldswitch lab import FILE'* ]]
    run ws lab fetch --mirror http://archive.example/debian linux-1
    [ "$status" -eq 2 ]
    [[ $output == *'--keyring'* ]]
    run ws lab fetch --mirror 'http://archive.example/x y' --keyring keys.gpg --lab-dir mine linux-1
    [ "$status" -eq 1 ]
    [[ $output == *'has a space'* ]]
}

# bats test_tags=live
@test "fetch: a killed fetch leaves no partial set, and the next one cleans up" {
    archive
    STOP_IN_DOWNLOAD=1 "$WORLDSWITCH" lab fetch "${ARGS[@]}" linux-1 3>&- &
    fetching=$!
    eventually test -e "$CALLS.stopped"
    # A second fetch waits, and prints that it does.
    timeout 60 "$WORLDSWITCH" lab fetch "${ARGS[@]}" linux-1 >second.txt 2>&1 3>&- &
    second=$!
    eventually grep -q 'another worldswitch is writing' second.txt
    [ ! -e "$CACHE/sets/linux-1" ]
    compgen -G "$CACHE/new-*"
    kill -KILL "$fetching"
    wait "$second"
    [ "$(state)" = 'fetched, not pinned' ]
    run ! compgen -G "$CACHE/new-*"
}

@test "fetch: a damaged package and one without a kernel are refused" {
    archive
    head -c 300 "$REPO/linux-image-1-cloud-1.0.deb" >"$REPO/cut.deb"
    mv "$REPO/cut.deb" "$REPO/linux-image-1-cloud-1.0.deb"
    run fetch linux-1
    [ "$status" -eq 1 ]
    [ ! -e "$CACHE/sets/linux-1" ]
    package linux-image-1-cloud 1.0 usr/share/doc/x=words
    run fetch linux-1
    [ "$status" -eq 1 ]
    [[ $output == *'has no kernel'* ]]
    [ ! -e "$CACHE/sets/linux-1" ]
}

@test "fetch: a program is fetched with the libraries that it needs, and no others" {
    archive
    library libdeep
    library libmine -l:libdeep.so.1.0
    library libother
    ln -s libmine.so.1.0 libmine.so.1
    ln -s /lib/x86_64-linux-gnu/libdeep.so.1.0 libdeep.so.1
    echo 'int flibmine(void); void _start(void) { flibmine(); }' |
        gcc -nostdlib -xc - -o program -L. -l:libmine.so.1.0 -Wl,--unresolved-symbols=ignore-all
    lib=usr/lib/x86_64-linux-gnu
    rm "$REPO/index"
    package program 1 usr/bin/program=program
    package libc 1 lib64/ld-linux-x86-64.so.2=libother.so.1.0
    package libmine 1 $lib/libmine.so.1.0=libmine.so.1.0 $lib/libmine.so.1=libmine.so.1
    package libdeep 1 lib/x86_64-linux-gnu/libdeep.so.1.0=libdeep.so.1.0 $lib/libdeep.so.1=libdeep.so.1
    package libother 1 $lib/libother.so.1=libother.so.1.0
    cat >mine/packages.toml <<'SET'
[tool]
summary = "a program"
kind = "program"
architecture = "x86_64"
suite = "bookworm"
packages = ["program"]
programs = ["program"]
SET
    fetch tool
    [ "$(jq -r '[.packages[].name] | join(" ")' "$CACHE/sets/tool/manifest.json")" = \
        'libc libdeep libmine program' ]
    [ "$(cd "$CACHE/sets/tool/root/$lib" && echo *)" = \
        'libdeep.so.1 libdeep.so.1.0 libmine.so.1 libmine.so.1.0' ]
    [ "$(readlink "$CACHE/sets/tool/root/$lib/libdeep.so.1")" = libdeep.so.1.0 ]
    sed -i /libdeep/d "$REPO/index"
    rm -r "$CACHE"
    run fetch tool
    [ "$status" -eq 1 ]
    [[ $output == *'libmine.so.1.0 needs'*'libdeep.so.1, which no package has'* ]]
}

@test "export and import carry a cache to a host without apt" {
    archive
    fetch linux-1
    ws lab export lab.tar.gz
    PATH=$PWD/empty run "$WORLDSWITCH" lab import lab.tar.gz --cache other
    [ "$status" -eq 0 ]
    diff -r "$CACHE/sets" other/sets
    head -c -20 lab.tar.gz >cut.tar.gz
    run ws lab import cut.tar.gz --cache third
    [ "$status" -eq 1 ]
    [[ $output == *'not a complete archive'*'Nothing was imported'* ]]
    [ ! -e third/sets ]
    run ws lab import /dev/null --cache third
    [ "$status" -eq 1 ]
    run ws lab export new.tar.gz --cache empty
    [ "$status" -eq 1 ]
    [[ $output == *'worldswitch lab fetch'* ]]
    run ws lab export new.tar.gz linux-9
    [ "$status" -eq 1 ]
    [ ! -e new.tar.gz ]
}

@test "fetch: Xen from the Debian archive of this system's apt" {
    # The newest if the pinned one is gone: this tests fetching, not the version.
    fetch_or_skip --newest xen-4.17
    [ "$(head -c 4 "$CACHE/sets/xen-4.17/root/boot/xen.elf" | tail -c 3)" = ELF ]
    [[ $(ws lab list --json | jq -r '.sets[] | select(.name == "xen-4.17").state') == fetched* ]]
    run ws lab fetch --newest xen-4.17
    [[ $output == *'already there'* ]]
}
