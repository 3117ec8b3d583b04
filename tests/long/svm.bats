# The platform qemu-kvm with whole Linux VMs, where /dev/kvm is SVM: a Linux with kvm-amd in QEMU's emulator, in which
# worldswitch runs applications on its host and in a VM of KVM, and both together. Only that it works is measured.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    fetch_packages kvm-linux qemu
}

setup() { common_setup; }

@test "apps and place on qemu-kvm, on SVM: a VM of KVM boots, and all rows are measured" {
    make -s -C "$ROOT" install DESTDIR="$PWD/installed" PREFIX=/opt >&2
    # Nothing is chosen, but what would run it is made: the image of the root file system.
    run -2 ws run apps --on qemu-tcg --workload '^none$'
    mkdir machine
    # The shell of the machine expands it.
    # shellcheck disable=SC2016
    "$ROOT/tests/svm/make-machine" machine installed/opt "$LAB_STORE" "$XDG_CACHE_HOME/worldswitch/images" '
        worldswitch run apps --on host,qemu-kvm --workload "^(fork-exec|tcp-rr)$" --boots 1 -o apps --export-json apps.json
        worldswitch run place --on qemu-kvm --kind cpu --cells 1 --time 30 -o place --export-json place.json
        for file in apps.json apps/qemu-kvm.json place.json; do result $file; done'
    qemu=$LAB_STORE/sets/qemu/root/usr
    LIMIT=3000 with_loader "$qemu" qemu-system-x86_64 \
        -L "$qemu/share/qemu" -L "$qemu/share/seabios" -no-user-config -nodefaults -machine q35 -accel tcg,thread=single \
        -cpu max -smp 2 -m 3072 -display none -monitor none -no-reboot -serial file:console.txt \
        -drive file=machine/disk.img,format=raw,if=none,id=disk,readonly=on -device virtio-blk-pci,drive=disk \
        -kernel "$(find "$LAB_STORE/sets/linux-6.12/root/boot" -name 'vmlinuz*')" -initrd machine/initrd.cpio \
        -append 'console=ttyS0 quiet panic=-1 no_timer_check tsc=reliable mitigations=off'
    tr '\r' '\n' <console.txt | grep -v '^.\[K' | tail -50
    for file in apps.json apps/qemu-kvm.json place.json; do sent "$file" >"$(basename "$file")"; done
    [ "$(jq -c '[.times[].lines[] | select(.ns > 0) | .platform]' apps.json)" = '["host","qemu-kvm","host","qemu-kvm"]' ]
    [ "$(jq -r '.identity.subject | .runs, .kvm, .vhost_net' qemu-kvm.json)" = $'in a VM of KVM and QEMU\nhardware\ntrue' ]
    [ "$(jq -r '[.kinds[0].cells[0] | .alone, .both | .host_per_s > 0 and .guest_per_s > 0] | all' place.json)" = true ]
}
