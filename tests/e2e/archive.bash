# shellcheck shell=bash
# A fake archive of Debian packages (tests/fake-apt), and sets of them in a cache of the test's own.

# Call it after common_setup.
archive_setup() {
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache CALLS=$BATS_TEST_TMPDIR/calls REPO=$BATS_TEST_TMPDIR/repo
    CACHE=$XDG_CACHE_HOME/worldswitch
    : >"$CALLS"
}

# package NAME VERSION FILE=TEXT...: adds a package to the archive; it replaces older versions.
package() {
    local name=$1 version=$2 tree=$BATS_TEST_TMPDIR/tree
    shift 2
    rm -rf "$tree"
    mkdir -p "$tree/DEBIAN" "$REPO"
    printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: x <x@example.org>\nDescription: x\n' \
        "$name" "$version" >"$tree/DEBIAN/control"
    for file; do
        mkdir -p "$(dirname "$tree/${file%%=*}")"
        if [ -e "${file#*=}" ] || [ -L "${file#*=}" ]; then
            cp -P "${file#*=}" "$tree/${file%%=*}"
        else
            printf '%s' "${file#*=}" >"$tree/${file%%=*}"
        fi
    done
    dpkg-deb -Znone --root-owner-group -b "$tree" "$REPO/$name-$version.deb" >/dev/null
    touch "$REPO/index"
    sed -i "/^$name /d" "$REPO/index"
    echo "$name $version $name-$version.deb" >>"$REPO/index"
}

# Makes an archive with a kernel, and a user's lab folder with a set of it.
archive() {
    command -v dpkg-deb >/dev/null || skip 'there is no dpkg-deb to make packages with'
    export PATH=$ROOT/tests/fake-apt:$PATH
    package linux-image-1-cloud 1.0 boot/vmlinuz-1-cloud=kernel-1.0 \
        lib/modules/1-cloud/kernel/arch/x86/kvm/kvm.ko=module usr/share/doc/x=words
    package libunrelated 5 usr/lib/unrelated=x
    mkdir -p mine/recipes
    cat >mine/packages.toml <<'SET'
["linux-1"]
summary = "a kernel"
kind = "kernel"
architecture = "x86_64"
suite = "bookworm"
packages = ["linux-image-1-cloud"]
take = ["linux-image-*"]
SET
    touch keys.gpg
    ARGS=(--lab-dir mine --mirror http://archive.example/debian --keyring keys.gpg)
}

fetch() { ws lab fetch "${ARGS[@]}" "$@"; }

# library NAME [OPTIONS]: makes the shared library NAME.so.1.0.
library() {
    echo "int f$1(void) { return 0; }" |
        gcc -shared -nostdlib -Wl,-soname,"$1.so.1" -xc - -o "$1.so.1.0" -L. -Wl,--no-as-needed "${@:2}"
}

# local_archive FOLDER SUITE DEB...: an archive of these packages for the real apt, as file:FOLDER.
local_archive() {
    local lists=$1/dists/$2 binary=main/binary-amd64 deb
    mkdir -p "$1/pool" "$lists/$binary"
    for deb in "${@:3}"; do
        cp "$deb" "$1/pool"
        dpkg-deb -f "$deb"
        printf 'Filename: pool/%s\nSize: %s\nSHA256: %s\n\n' "${deb##*/}" "$(stat -c %s "$deb")" \
            "$(sha256sum <"$deb" | head -c 64)"
    done >"$lists/$binary/Packages"
    {
        printf 'Suite: %s\nCodename: %s\nArchitectures: amd64\nComponents: main\n' "$2" "$2"
        printf 'Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n %s %s %s\n' "$(sha256sum <"$lists/$binary/Packages" | head -c 64)" \
            "$(stat -c %s "$lists/$binary/Packages")" "$binary/Packages"
    } >"$lists/Release"
}
