# shellcheck shell=bash
# Emulators with faults that the lab cures (lab/quirks.toml).

# as_packaged FAULT: the lab's emulator, of the version that lab/lock.toml pins, without the cure of this fault.
as_packaged() {
    local faulty cured program=$LAB_STORE/sets/qemu/root/usr/bin/qemu-system-x86_64 last=0 at i
    [[ $1 != *-arm ]] || program=${program%x86_64}aarch64
    # shellcheck disable=SC2001
    bytes() { sed 's/../\\x&/g' <<<"$1"; }
    IFS='|' read -r _ _ faulty cured < <(grep "^$1|qemu-system-[^ ]* 1:10.0.13" "$ROOT/crates/lab/src/quirks/builds.txt")
    # What follows the last byte that the cure changes may be code from elsewhere.
    for ((i = 0; i < ${#cured}; i += 2)); do
        [ "${faulty:i:2}" = "${cured:i:2}" ] || last=$((i + 2))
    done
    cp -L "$program" as-packaged
    at=$(LC_ALL=C grep -obUaP "$(bytes "${cured:0:last}")" as-packaged | cut -d: -f1)
    printf '%b' "$(bytes "${faulty:0:last}")" | dd of=as-packaged bs=1 seek="$at" conv=notrunc status=none
    ! cmp -s as-packaged "$program"
}

# uncured PROGRAM: its content with the check of qtest_allowed, which the cure replaced, in its place again.
uncured() {
    local at bytes
    cp "$1" uncured
    address() { printf '%d' "0x$(nm -D "$1" | awk -v name="$2" '$3 == name { print $1 }')"; }
    # The check's address, then the file's offset of its seven bytes.
    at=$(objdump -d --start-address="$(address "$1" icount_start_warp_timer)" --stop-address="$(($(address "$1" icount_start_warp_timer) + 256))" "$1" |
        sed -n 's/^ *\([0-9a-f]*\):\t83 3d .. .. .. .. 00 *\tcmpl .*/\1/p' | tail -n 1)
    bytes=$(printf '%08x' $((($(address "$1" qtest_allowed) - 0x$at - 7) & 0xffffffff)))
    printf '%b' "\x80\x3d\x${bytes:6:2}\x${bytes:4:2}\x${bytes:2:2}\x${bytes:0:2}\x00" |
        dd of=uncured conv=notrunc bs=1 seek="$(offset "$1" $((0x$at)))" status=none
    chmod +x uncured
}

# offset PROGRAM ADDRESS: where the code at an address is in the file.
offset() {
    local offset from bytes
    readelf -lW "$1" | awk '$1 == "LOAD" { print $2, $3, $5 }' | while read -r offset from bytes; do
        (($2 < from || $2 >= from + bytes)) || echo $((offset + $2 - from))
    done
}

# state_clock FILE: the clock of a machine's saved state: the nanoseconds that were skipped, and the instructions. QEMU's
# subsection (5) has the length of its name (12), the name, a version of four bytes, and both.
state_clock() {
    local at
    at=$(LC_ALL=C grep -obUaP '\x05\x0ctimer/icount' "$1" | cut -d: -f1)
    od -An -t d8 --endian=big -j $((at + 18)) -N 16 "$1"
}
