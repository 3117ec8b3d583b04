# The boot image (tools/boot-image) on QEMU's emulator: by BIOS and by UEFI, from CD, disk and USB, and on screens of
# several kinds. What is on the screen is read by its font.

load ../e2e/common

setup() { common_setup; }

UEFI="-drive if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd"

setup_file() {
    make -s -C "$ROOT/guest" >&2
    "${HOST_CC:-cc}" -std=gnu11 -Wall -Wextra -Werror -I"$ROOT" -o "$BATS_FILE_TMPDIR/screen-text" \
        "$ROOT/tests/long/screen-text.c" "$ROOT/guest/screen/font.c"
    "$ROOT/tools/boot-image" "$BATS_FILE_TMPDIR/all.iso" "$GUEST/guest.mb2" table=1 stay=15
}


# watched QEMU-ARGUMENT...: boots with a screen and three CPUs; the machine must power itself off. The console is in
# console.txt, and what was on the screen after the last record in screen.ppm (raw) and text.
watched() {
    rm -f console.txt screen.ppm
    mkfifo to-monitor
    timeout 300 "$QEMU" -accel tcg -cpu max -m 512 -smp 3 -nodefaults -vga std -display none -no-reboot \
        -serial file:console.txt -serial null -monitor stdio "$@" <to-monitor >monitor.txt &
    local machine=$!
    exec 7>to-monitor
    LIMIT=250 eventually grep -qs '"kind":"bye"' console.txt
    # The countdown begins after the last record.
    sleep 2
    echo "screendump screen.ppm" >&7
    echo "xp /4000xb 0xb8000" >&7
    LIMIT=10 eventually test -s screen.ppm
    wait "$machine"
    exec 7>&-
    rm to-monitor
    # Firmware may have left a line unfinished.
    sed -i 's/^.*\(@ws1 [0-9a-f]* guest\)/\1/' console.txt
    "$BATS_FILE_TMPDIR/screen-text" <screen.ppm >text
}

# The whole suite was measured, and is on the screen, on the console, and in what the command makes of the console.
whole_suite() {
    local rows
    rows=$(benchmarks)
    [ "$(records hello | jq -c '[.boot, .cpus, .selected, .unknown]')" = "[\"multiboot2\",3,$rows,[]]" ]
    [ "$(records bye | jq -r .status)" = ok ]
    [ "$(records fault)" = '' ]
    # Those that need a hypervisor or vmm are skips.
    [ "$(records skip | wc -l)" -le $((rows / 2)) ]
    grep -q "CPUs: 3, memory: 5[0-9][0-9] MiB, hypervisor: TCGTCGTCGTCG" text
    grep -qE "^$(records result | jq -rs 'map(.bench) | unique | length') measured, [0-9]+ skipped, 0 failed\. Power off in [0-9]+ s *$" text
    for row in $(records end | jq -r .bench); do
        grep -qE "(^| )$row +(~0|[0-9.,]+|skip) " text
        grep -qE "^$row +(~0|[0-9.,]+( \?)?|skip  .+)$" console.txt
    done
    rm -rf out
    ws run --on log:console.txt -o out >table.txt
    [ "$(jq '[.rows[] | select(.metrics | length > 0)] | length' out/*.json)" = \
        "$(records result | jq -rs 'map(.bench) | unique | length')" ]
    grep -qE 'ipi-running +[~0-9]' table.txt
}

@test "BIOS: CD, disk, USB" {
    image=format=raw,readonly=on,file=$BATS_FILE_TMPDIR/all.iso
    for from in "-cdrom $BATS_FILE_TMPDIR/all.iso" "-drive if=virtio,$image" \
        "-device qemu-xhci -drive if=none,id=stick,$image -device usb-storage,drive=stick"; do
        # shellcheck disable=SC2086
        watched -machine pc $from
        whole_suite
    done
}

@test "UEFI: CD, disk, USB" {
    image=format=raw,readonly=on,file=$BATS_FILE_TMPDIR/all.iso
    for from in "-cdrom $BATS_FILE_TMPDIR/all.iso" "-drive if=virtio,$image" \
        "-device qemu-xhci -drive if=none,id=stick,$image -device usb-storage,drive=stick"; do
        # shellcheck disable=SC2086
        watched -machine q35 $UEFI $from
        whole_suite
    done
}

# word_of_header INDEX VALUE: changes a word of the frame buffer's tag in Multiboot2's header, in the file mb2; word 0
# is the tag's type, 2 to 4 are width, height, depth. The tag follows four others of 72 bytes.
word_of_header() {
    local header
    header=$(LC_ALL=C grep -obUaP '\xd6\x50\x52\xe8' mb2 | head -n 1 | cut -d : -f 1)
    # shellcheck disable=SC2059  # the format is the bytes
    printf "$(printf '\\x%02x\\x%02x' $(($2 % 256)) $(($2 / 256)))" |
        dd of=mb2 bs=1 seek=$((header + 72 + 4 * $1)) conv=notrunc status=none
}

# booted_with_header: boots the file mb2 with two benchmarks, by BIOS.
booted_with_header() {
    "$ROOT/tools/boot-image" cd.iso mb2 table=1 stay=8 rows=sgdt,print smp=2
    watched -machine pc -cdrom cd.iso
}

@test "screens of 16, 24 and 32 bits, and other sizes" {
    for mode in '800 600 16' '640 480 24' '1280 1024 32'; do
        cp "$GUEST/guest.mb2" mb2
        # shellcheck disable=SC2086
        set -- $mode
        word_of_header 2 "$1"
        word_of_header 3 "$2"
        word_of_header 4 "$3"
        booted_with_header
        [ "$(sed -n 2p screen.ppm | tr -d '\0')" = "$1 $2" ]
        grep -qE '^sgdt +' text
        grep -qE '^print +' text
        grep -qE '^2 measured, 0 skipped, 0 failed\. Power off in [0-9] s' text
    done
}

@test "EGA text" {
    cp "$GUEST/guest.mb2" mb2
    word_of_header 0 77 # a tag that GRUB does not know, and may pass over
    booted_with_header
    # Drawn by the VGA's own font: a byte of the memory is the character, the next one its colours.
    tr -d '\r' <monitor.txt | grep -aoP '^[0-9a-f]+: \K0x.*' | tr ' ' '\n' | awk '
        function hex(c) { return index("0123456789abcdef", c) - 1 }
        NR % 2 { printf "%c", 16 * hex(substr($1, 3, 1)) + hex(substr($1, 4, 1)) }
        NR % 160 == 0 { print "" }' >text
    [ "$(wc -l <text)" -eq 25 ]
    head -n 1 text | grep -q '^worldswitch [0-9.]*: '
    grep -qE '^sgdt +(~0|[0-9.]+)  ' text
    tail -n 1 text | grep -qE '^2 measured, 0 skipped, 0 failed\. Power off in [0-9] s *$'
}
