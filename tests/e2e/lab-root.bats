# worldswitch lab fetch: sets of kind root, their images, and sets that were fetched with other patterns.

load common
load archive

setup() {
    common_setup
    archive_setup
    archive
}

# The state of a set in `lab list`.
state() { ws lab list --lab-dir mine --json | jq -r --arg set "$1" '.sets[] | select(.name == $set).state'; }

# Makes packages of a root file system, and its set `system`.
root() {
    # What a program needs: a library, one in a folder that the library names, and one that another program
    # loads by its path.
    mkdir -p usr/lib/x86_64-linux-gnu/private
    library libdeep
    library libplugin
    library libmine -l:libdeep.so.1.0 -l:libplugin.so.1.0 -Wl,-rpath,"\$ORIGIN/private"
    library libother
    ln -s libmine.so.1.0 libmine.so.1
    echo 'int flibmine(void); void _start(void) { flibmine(); }' |
        gcc -nostdlib -xc - -o program -L. -l:libmine.so.1.0 -Wl,--unresolved-symbols=ignore-all
    chmod 755 program
    printf '#!/bin/sh\n' >script
    chmod 755 script
    ln -s program first
    ln -s ../../bin/first second
    ln -s /usr/share/absent dangling
    lib=usr/lib/x86_64-linux-gnu
    rm "$REPO/index"
    package program 1 usr/bin/program=program usr/bin/first=first usr/libexec/x/second=second \
        usr/sbin/script=script usr/sbin/unused=script usr/share/doc/x=words usr/share/x/kept=words \
        usr/share/x/dangling=dangling opt/plugins/libplugin.so.1=libplugin.so.1.0 usr/lib/unused/x=words
    package libc 1 lib64/ld-linux-x86-64.so.2=libother.so.1.0
    package libmine 1 $lib/libmine.so.1.0=libmine.so.1.0 $lib/libmine.so.1=libmine.so.1 \
        $lib/private/libdeep.so.1=libdeep.so.1.0
    package libother 1 $lib/libother.so.1=libother.so.1.0
    cat >mine/packages.toml <<'SET'
[system]
summary = "a root file system"
kind = "root"
architecture = "x86_64"
suite = "bookworm"
packages = ["program"]
programs = ["program", "usr/sbin/script"]
keep = ["usr/share/x/*", "opt/plugins/*"]
SET
}

@test "a root keeps its programs, what its patterns name, all that these need, and links that lead there" {
    root
    run fetch system
    [ "$status" -eq 0 ]
    [[ $output == *'its file system will be made once erofs is fetched too'* ]]
    [ "$(cd "$CACHE/sets/system/root" && find . ! -type d | LC_ALL=C sort | xargs)" = "\
./opt/plugins/libplugin.so.1 ./usr/bin/first ./usr/bin/program ./usr/lib/x86_64-linux-gnu/libmine.so.1 \
./usr/lib/x86_64-linux-gnu/libmine.so.1.0 ./usr/lib/x86_64-linux-gnu/private/libdeep.so.1 \
./usr/lib64/ld-linux-x86-64.so.2 ./usr/libexec/x/second ./usr/sbin/script ./usr/share/x/kept" ]
    [ -z "$(find "$CACHE/sets/system/root" -type d -empty)" ]
    [ -x "$CACHE/sets/system/root/usr/sbin/script" ]
    [ ! -x "$CACHE/sets/system/root/usr/share/x/kept" ]
    [ "$(jq -r '[.packages[].name] | join(" ")' "$CACHE/sets/system/manifest.json")" = 'libc libmine program' ]
    # Without the file that is loaded by its path, the library is missing.
    sed -i 's/, "opt.*"//' mine/packages.toml
    rm -r "$CACHE"
    run fetch system
    [ "$status" -eq 1 ]
    [[ $output == *'libmine.so.1.0 needs libplugin.so.1, which no package has'* ]]
}

@test "an image has the same bytes whoever makes it, and is made once" {
    fetch_packages erofs >/dev/null 2>&1 || [ -d "$LAB_STORE/sets/erofs" ] || skip 'the set erofs is not fetched'
    root
    image() {
        mkdir -p "$1/sets"
        ln -sfn "$LAB_STORE/sets/erofs" "$1/sets/erofs"
        fetch system --cache "$1"
    }
    (umask 077 && TZ=Asia/Tokyo LC_ALL=C image other)
    run image one
    [ "$status" -eq 0 ]
    [[ $output == *'system: making its file system'* ]]
    (cd one/images && sha256sum -c <(sed "s/\$/  $(echo *.img)/" ./*.sha256))
    diff -r one/images other/images
    [ "$(($(stat -c %s one/images/*.img) % (2 << 20)))" -eq 0 ]
    grep -q 'root:x:0:0:root' one/images/*.img
    run image one
    [[ $output == *'already there'* ]]
    [[ $output != *'making'* ]]
    # Another definition gives another image; the old one goes.
    sed -i 's/keep = \[/&"usr\/sbin\/unused", /' mine/packages.toml
    image one
    [ "$(find one/images -name '*.img' | wc -l)" -eq 1 ]
    [ ! -e "one/images/$(cd other/images && echo *.img)" ]
}

@test "a set that was fetched with other patterns is fetched again" {
    fetch linux-1
    [ "$(state linux-1)" = 'fetched, not pinned' ]
    run fetch linux-1
    [[ $output == *'already there'* ]]
    echo 'keep = ["usr/share/doc/*"]' >>mine/packages.toml
    [ "$(state linux-1)" = 'fetched, with other files: fetch it again' ]
    # Without network the set that is there stays.
    OFFLINE=1 run fetch linux-1
    [ "$status" -eq 0 ]
    [[ $output == *'keeping the existing set, though it lacks files that this version of worldswitch needs'* ]]
    fetch linux-1
    [ -e "$CACHE/sets/linux-1/root/usr/share/doc/x" ]
    [ "$(state linux-1)" = 'fetched, not pinned' ]
}

@test "a set of an older version is fetched again only if its kind keeps more files now" {
    root
    cat >>mine/packages.toml <<'SET'
["linux-1"]
summary = "a kernel"
kind = "kernel"
architecture = "x86_64"
suite = "bookworm"
packages = ["linux-image-1-cloud"]
[tool]
summary = "a program"
kind = "program"
architecture = "x86_64"
suite = "bookworm"
packages = ["program"]
programs = ["program"]
SET
    package linux-image-1-cloud 1.0 boot/vmlinuz-1-cloud=kernel-1.0
    package libplugin 1 $lib/libplugin.so.1=libplugin.so.1.0 $lib/libdeep.so.1=libdeep.so.1.0
    fetch linux-1 tool
    for set in linux-1 tool; do
        jq 'del(.kept_by)' "$CACHE/sets/$set/manifest.json" >old.json
        cp old.json "$CACHE/sets/$set/manifest.json"
    done
    run fetch tool linux-1
    [ "$status" -eq 0 ]
    [[ $output == *'tool: already there'* ]]
    [[ $output == *'linux-1: fetching'* ]]
}
