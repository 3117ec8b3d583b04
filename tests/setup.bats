# Tests of tools/setup on other systems, which fake commands play. Nothing is installed.

setup() {
    setup_script=$BATS_TEST_DIRNAME/../tools/setup
    bin=$BATS_TEST_TMPDIR/bin
    mkdir -p "$bin"
    unset DEBIAN_FRONTEND
    export SETUP_OS_RELEASE=$BATS_TEST_TMPDIR/os-release
    # PATH contains what the script itself needs, and what the test puts there.
    local tool
    for tool in bash env sed grep awk sort comm; do
        ln -s "$(type -P "$tool")" "$bin/$tool"
    done
}

# Puts a command on PATH: the script on stdin.
command_is() {
    { echo '#!/bin/bash'; cat; } >"$bin/$1"
    chmod +x "$bin/$1"
}

rust_is() {
    command_is cargo <<<"echo 'cargo $1 (abc 2025-01-01)'"
    command_is rustc <<<"echo 'rustc $1 (abc 2025-01-01)'"
}

# A dpkg-query for a system with the given packages.
packages_are() {
    command_is dpkg-query <<EOF
for p in "\$@"; do
    case " $* " in *" \$p "*) case \$2 in *Package*) echo "installed \$p" ;; *) printf installed ;; esac ;; esac
done
EOF
}

run_setup() { PATH=$bin run "$setup_script" "$@"; }

# What builds a kernel, at every level.
kernel='make gcc libc6-dev binutils ca-certificates git flex bison bc libelf-dev'
everything="$kernel qemu-system-x86
    clang lld llvm qemu-system-arm gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu libc6-dev-arm64-cross bats jq procps iproute2 shellcheck
clang-format libcmocka-dev libclang-rt-dev grub-common grub-pc-bin
    grub-efi-amd64-bin ovmf xorriso mtools chromium
cpio e2fsprogs"

@test "another system: exactly what is missing is listed, exit 1, nothing installed" {
    echo 'ID=ubuntu ID_LIKE=debian PRETTY_NAME="Ubuntu 24.04"' >"$SETUP_OS_RELEASE"
    rust_is 1.90.0
    command_is make <<<true
    command_is apt-get <<<'echo apt-get was called; exit 1'
    run_setup run
    [ "$status" -eq 1 ]
    [[ $output == *'Ubuntu 24.04: untested'* ]]
    [[ $output == *'qemu-system-x86_64 '*'(Debian: qemu-system-x86)'* ]]
    [[ $output != *'(Debian: make)'* ]]
    [[ $output != *'cargo and rustc'* ]]
    [[ $output != *'bats'* ]]
    [[ $output != *'apt-get was called'* ]]
}

@test "another system with an old Rust: it is listed" {
    echo 'ID=fedora' >"$SETUP_OS_RELEASE"
    rust_is 1.84.1
    run_setup run
    [ "$status" -eq 1 ]
    [[ $output == *'cargo and rustc >= 1.85'* ]]
}

@test "Debian with everything: nothing is printed or installed" {
    echo 'ID=debian VERSION_ID=12' >"$SETUP_OS_RELEASE"
    rust_is 1.85.0
    # shellcheck disable=SC2086
    packages_are $everything
    run_setup test
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "the tests need this list of packages and nothing else" {
    echo 'ID=debian VERSION_ID=12' >"$SETUP_OS_RELEASE"
    rust_is 1.85.0
    packages_are none
    run_setup check test
    [ "$status" -eq 1 ]
    # shellcheck disable=SC2086  # one word a package
    wanted=$(printf '%s\n' $everything | sort -u | xargs)
    [[ $output == *"missing for 'test': $wanted;"* ]]
}

@test "check names the missing packages of its level only" {
    echo 'ID=debian VERSION_ID=13' >"$SETUP_OS_RELEASE"
    rust_is 1.85.0
    # shellcheck disable=SC2086
    packages_are $kernel
    run_setup check run
    [ "$status" -eq 1 ]
    [[ $output == *"missing for 'run': qemu-system-x86;"* ]]
    run_setup check image
    [ "$status" -eq 1 ]
    [[ $output == *"missing for 'image': grub-common grub-efi-amd64-bin grub-pc-bin mtools qemu-system-x86 xorriso;"* ]]
    # A CI job needs no emulator and no Rust.
    rust_is 1.63.0
    run_setup check ci
    [ "$status" -eq 1 ]
    [[ $output == *"missing for 'ci': curl jq;"* ]]
}

@test "an old Rust: Debian 12 installs its Rust for browsers, Debian 13 its own with the linters" {
    rust_is 1.63.0
    # shellcheck disable=SC2086
    packages_are $everything
    echo 'ID=debian VERSION_ID=12' >"$SETUP_OS_RELEASE"
    run_setup check test
    [ "$status" -eq 1 ]
    [[ $output == *"missing for 'test': cargo-web rustc-web;"* ]]
    echo 'ID=debian VERSION_ID=13' >"$SETUP_OS_RELEASE"
    run_setup check test
    [ "$status" -eq 1 ]
    [[ $output == *"missing for 'test': cargo rust-clippy rustc rustfmt;"* ]]
}

@test "an old Rust that hides Debian's is an error that names its path" {
    echo 'ID=debian VERSION_ID=12' >"$SETUP_OS_RELEASE"
    rust_is 1.63.0
    # shellcheck disable=SC2086
    packages_are $everything rustc-web cargo-web
    run_setup run
    [ "$status" -eq 1 ]
    [[ $output == *"$bin/cargo 1.63.0"* ]]
}

@test "neither root nor sudo: the command for root is printed" {
    echo 'ID=debian VERSION_ID=13' >"$SETUP_OS_RELEASE"
    rust_is 1.85.0
    # shellcheck disable=SC2086
    packages_are $kernel
    command_is id <<<'echo 1000'
    run_setup run
    [ "$status" -eq 1 ]
    [[ $output == *'apt-get install --no-install-recommends qemu-system-x86'* ]]
}

@test "empty package lists are updated first, then packages are installed without recommends" {
    echo 'ID=debian VERSION_ID=13' >"$SETUP_OS_RELEASE"
    rust_is 1.85.0
    # shellcheck disable=SC2086
    packages_are $kernel
    command_is id <<<'echo 0'
    command_is apt-get <<EOF
echo "\$DEBIAN_FRONTEND \$*" >>$BATS_TEST_TMPDIR/calls
case "\$*" in *--simulate*) exit 100 ;; esac
EOF
    run_setup run
    [ "$status" -eq 0 ]
    grep -q 'update$' "$BATS_TEST_TMPDIR/calls"
    [[ $(tail -n 1 "$BATS_TEST_TMPDIR/calls") == 'noninteractive '*'install -y --no-install-recommends --no-remove qemu-system-x86' ]]
}

@test "wrong usage is exit 2" {
    run "$setup_script"
    [ "$status" -eq 2 ]
    run "$setup_script" everything
    [ "$status" -eq 2 ]
}
