# Kernels of users and distributions: their folders, and what of them can't be booted. make test-long has Debian's own.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup() {
    common_setup
    # An emulator that is only asked what it has, if no machine is started.
    cat >qemu <<'SH'
#!/bin/sh
case "$1 ${2-}" in
'--version ') echo 'QEMU emulator version 10.0.13' ;;
'-machine help') printf '%s  a machine\n' pc virt ;;
'-cpu help') printf '  %s  a model\n' max neoverse-n1 ;;
*) echo "$@" >>started && exit 1 ;;
esac
SH
    chmod +x qemu
    X86=$LAB_STORE/sets/linux-6.1/root
    ARM=$LAB_STORE/sets/linux-arm64-6.12/root
    release=$(basename "$X86"/usr/lib/modules/*)
    arm_release=$(basename "$ARM"/usr/lib/modules/*)
}

# refused MACHINE TEXT: its kernel is refused with the text, and no machine was started.
refused() {
    rm -f started
    run -1 ws run hypercall --on "lab:$1" --qemu "$PWD/qemu" -o out
    echo "$output"
    [[ $output == *"error: lab:$1: "*"$2"* ]]
    [ ! -e started ] && [ ! -e out ]
}

@test "a folder's kernel that can't be booted is reported before a machine starts, with what to do" {
    mkdir empty only-kernel only-modules
    refused "kvm@$PWD/empty" 'there is no kernel in'
    cp -r "$X86/boot" only-kernel/
    refused "kvm@$PWD/only-kernel" "there are no modules of Linux $release"
    cp -r "$X86/usr" only-modules/
    refused "kvm@$PWD/only-modules" "linux-binary-${release}_*.deb"

    cp -r only-modules no-dependency
    cp -r "$X86/boot" no-dependency/
    rm -r no-dependency/usr/lib/modules/*/kernel/virt
    refused "kvm@$PWD/no-dependency" "no module irqbypass in"

    cp -r only-kernel other-version
    mkdir -p other-version/lib/modules/6.0.0-1-amd64
    cp "$X86"/usr/lib/modules/*/kernel/arch/x86/kvm/*.ko other-version/lib/modules/6.0.0-1-amd64/
    refused "kvm@$PWD/other-version" 'but of 6.0.0-1-amd64: unpack packages of one version'
    mv other-version/lib/modules/{6.0.0-1-amd64,"$release"}
    cp "$LAB_STORE"/sets/linux-6.12/root/usr/lib/modules/*/kernel/virt/lib/irqbypass.ko other-version/lib/modules/"$release"/
    refused "kvm@$PWD/other-version" 'irqbypass.ko: it is for Linux 6.12'

    cp -r "$ARM" arm
    refused "kvm@$PWD/arm" 'which is an arm64 Image'
    refused "kvm-vhe@$PWD/only-kernel" 'which is a Linux bzImage for x86'
    cp "$ARM"/boot/vmlinuz-* only-kernel/boot/
    refused "kvm@$PWD/only-kernel" "several kernels in $PWD/only-kernel: $release, $arm_release. Name the file"
    refused "kvm@$PWD/only-kernel/boot/vmlinuz-$arm_release" 'which is an arm64 Image'

    # A folder that is as it should be, under a name as Debian's releases have: here the emulator is started.
    cp -r "$X86" 6.1+deb12-amd64
    run -1 ws run hypercall --on "lab:kvm@$PWD/6.1+deb12-amd64" --qemu "$PWD/qemu" -o out
    grep -q "6.1+deb12-amd64/boot/vmlinuz-$release" started
}

# with FILE OFFSET TEXT...: writes bytes into a file.
with() {
    local file=$1
    shift
    while [ $# -gt 0 ]; do
        printf '%b' "$2" | dd of="$file" bs=1 seek="$1" conv=notrunc status=none
        shift 2
    done
}

@test "a program that no Linux is, or that the monitor can't load, is reported before a machine starts" {
    # The boot headers of iPXE and of memdisk, and ELF files as those of U-Boot.
    truncate -s 300K ipxe.lkrn memdisk empty.elf
    for file in ipxe.lkrn memdisk; do
        with "$file" 497 '\05' 510 '\x55\xaa\xeb\x46HdrS\x07\x02' 526 '\x80' 529 '\x01' 896 '2.0.0+dfsg-5'
    done
    with memdisk 518 '\x03'
    with empty.elf 0 '\x7fELF\x02\x01\x01' 16 '\x02\0\x3e\0\x01' 54 '\x38'
    for machine in kvm kvm-shadow; do
        for kernel in 'ipxe.lkrn boot protocol 2.07' 'memdisk boot protocol 2.03' 'empty.elf neither a PVH entry'; do
            run -1 ws lab boot "$machine" --qemu "$PWD/qemu" --kernel "${kernel%% *}"
            echo "$output"
            [[ $output == *"can't boot ${kernel%% *}, which is "*"${kernel#* }"* ]]
        done
    done
    mkdir host
    for kernel in ipxe.lkrn memdisk empty.elf; do
        cp "$kernel" host/vmlinuz
        refused "kvm@$PWD/host" 'it contains no Linux'
    done
    [ ! -e started ]
}

@test "an arm64 kernel that is compressed, in an EFI program or an ELF file is booted as the Image in it" {
    mkdir gz zboot
    gzip -c "$ARM"/boot/vmlinuz-* >gz/Image.gz
    # A zboot image (Linux, drivers/firmware/efi/libstub/zboot-header.S).
    truncate -s 512 zboot/vmlinuz.efi
    with zboot/vmlinuz.efi 0 'MZ' 4 'zimg' 8 '\0\x02' 12 \
        "$(printf '%08x' "$(stat -c %s gz/Image.gz)" | sed 's/\(..\)\(..\)\(..\)\(..\)/\\x\4\\x\3\\x\2\\x\1/')" \
        24 'gzip' 60 '\x80' 128 'PE\0\0'
    cat gz/Image.gz >>zboot/vmlinuz.efi
    ws run hypercall --on "lab:kvm-vhe@6.12,lab:kvm-vhe@$PWD/gz,lab:kvm-vhe@$PWD/zboot" --boots 1 -o out
    [ "$(jq -s '[.[].rows[].metrics[0].boots] | unique | length' out/*.json)" -eq 1 ]
    [ "$(jq -s 'length' out/*.json)" -eq 3 ]
    [ "$(jq -r .identity.subject.kernel out/lab-kvm-vhe@*gz.json)" = "linux $arm_release" ]
    # Both are one file in the cache.
    [ "$(find "$XDG_CACHE_HOME"/worldswitch/kernels -type f | wc -l)" -eq 1 ]
    run -0 ws lab boot arm-native --kernel "$ROOT/build/guest/aarch64/guest.elf" --append 'bench=^idle$' --timeout 60
}
