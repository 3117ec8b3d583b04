# The x86 images boot by PVH, by multiboot and from a GRUB CD, on many CPUs, with xAPIC and x2APIC.

load common

setup() { common_setup; }

@test "an image is at most 128 KiB" {
    for image in "$GUEST"/guest.elf "$GUEST"/guest.mb "$GUEST"/guest.mb2 "$GUEST"/dom0.elf; do
        [ "$(stat -c %s "$image")" -le 131072 ]
    done
}

@test "guest.elf boots by PVH, sends hello first and bye last, and powers the machine off" {
    boot -kernel "$GUEST/guest.elf" -append 'bench=^sgdt$ nonce=ab'
    [ "$(records hello | jq -r .boot)" = pvh ]
    [ "$(records result | jq -r .check)" = proved ]
    head -n 1 console.txt | grep -q '"kind":"hello"'
    tail -n 1 console.txt | grep -q '"kind":"bye","status":"ok"'
}

@test "guest.mb boots by QEMU's multiboot loader, which puts its file name before the words" {
    boot -kernel "$GUEST/guest.mb" -append 'bench=^sgdt$'
    [ "$(records hello | jq -r .boot)" = multiboot ]
    [ "$(records hello | jq -c .unknown)" = '[]' ]
    [ "$(records result | jq -r .check)" = proved ]
}

@test "guest.mb boots from a GRUB CD image" {
    mkdir -p cd/boot/grub
    cp "$GUEST/guest.mb" cd/boot/
    cat >cd/boot/grub/grub.cfg <<'CFG'
set timeout=0
menuentry worldswitch { multiboot /boot/guest.mb 'bench=^s[gi]dt$' nonce=c0ffee }
CFG
    grub-mkrescue -o cd.iso cd 2>mkrescue.log || { cat mkrescue.log; false; }
    boot -cdrom cd.iso -boot d
    [ "$(records hello | jq -r .boot)" = multiboot ]
    [ "$(records hello | jq -c .unknown)" = '[]' ]
    [ "$(records result | jq -r .bench | tr '\n' ' ')" = 'sgdt sidt ' ]
    grep -q 'guest c0ffee' console.txt
}

@test "rows= runs its rows in its order, bench= leaves some out, and hello has the seed" {
    boot -kernel "$GUEST/guest.elf" -append 'rows=sidt,in,nothing,sgdt bench=^s samples=2'
    [ "$(records hello | jq -c '[.selected, .unknown, .seed]')" = '[2,["rows=nothing"],null]' ]
    [ "$(records begin | jq -r '"\(.index) \(.bench)"' | paste -sd ' ')" = '0 sidt 1 sgdt' ]
    boot -kernel "$GUEST/guest.elf" -append 'rows=cold-memory-access,set-page-table-4k,idle samples=3 seed=63'
    [ "$(records hello | jq -c '[.selected, .unknown, .seed]')" = '[3,[],63]' ]
    [ "$(records result | jq -r .check | sort -u | paste -sd ' ')" = 'proved unproven' ]
}

@test "64 CPUs come up by xAPIC and answer interrupts" {
    CPU=max,-x2apic boot -smp 64 -kernel "$GUEST/guest.elf" -append 'bench=^ipi-halted$'
    [ "$(records hello | jq -r '"\(.cpus) \(.apic)"')" = '64 xapic' ]
    [ "$(records result | jq -r .check)" = proved ]
}

# bats test_tags=live
@test "64 CPUs come up by x2APIC and answer interrupts" {
    # QEMU's TCG emulates x2APIC since 9.0, and Debian 12 has an older one.
    fetch_packages qemu
    lab_emulator qemu-system-x86_64 "$PWD/qemu"
    QEMU=$PWD/qemu CPU=max,+x2apic boot -smp 64 -kernel "$GUEST/guest.elf" -append 'bench=^ipi-halted$'
    [ "$(records hello | jq -r '"\(.cpus) \(.apic)"')" = '64 x2apic' ]
    [ "$(records result | jq -r .check)" = proved ]
    QEMU=$PWD/qemu CPU=max,+x2apic boot -smp 2 -kernel "$GUEST/guest.elf" -append 'bench=^(ipi|self-ipi) samples=2 apic=xapic'
    [ "$(records hello | jq -c '[.cpus, .apic, .unknown]')" = '[2,"xapic",[]]' ]
    [ "$(records result | jq -r .check | sort -u)" = proved ]
}

# bats test_tags=live
@test "smp= starts fewer CPUs than there are" {
    boot -smp 4 -kernel "$GUEST/guest.elf" -append 'bench=^idle$ smp=2'
    [ "$(records hello | jq -r .cpus)" = 2 ]
}

@test "pages of 2 MiB and of 1 GiB: measured, or skipped with the reason" {
    MEMORY=1024 boot -kernel "$GUEST/guest.elf" -append 'bench=memory unit=insns page=2m ws=16777216'
    [ "$(records result | jq -r '"\(.bench) \(.page_bytes)"' | sort | tr '\n' ' ')" = \
        'cold-memory-access 2097152 hot-memory-access 2097152 ' ]
    boot -kernel "$GUEST/guest.elf" -append 'bench=memory page=1g ws=1073741824'
    [ "$(records skip | jq -r .bench | sort | tr '\n' ' ')" = 'cold-memory-access hot-memory-access ' ]
    records skip | jq -e 'select(.reason | test("memory"))'
}

@test "hot memory access reads one line further in each page, and every page" {
    # Page 64 is at byte 0 again, after a virtual page that is not mapped; of 512 pages, read 512 is page 0.
    while read -r reads page byte; do
        boot -kernel "$GUEST/guest.elf" -append "bench=^hot unit=insns samples=$reads"
        [ "$(records result | jq -r 'select(.part == 1) | "\(.check): \(.note)"')" = \
            "proved: the last read gave the number of page $page, which is at byte $byte of it" ]
    done <<'READS'
5 5 320
63 63 4032
64 64 0
100 100 2304
520 8 512
READS
}

@test "the counters of sender and receiver of interrupts share no cache line" {
    for image in "$GUEST/guest.elf" "$ROOT/build/guest/aarch64/guest.elf"; do
        nm "$image" | awk '$3 ~ /^ipi_(received|found_halted|found_running)$/ { print $1 }' >counters.txt
        [ "$(wc -l <counters.txt)" -eq 3 ]
        # Lines of 64 bytes come in pairs: without its last two digits, in steps of 128.
        [ "$(while read -r at; do echo $((0x$at / 128)); done <counters.txt | sort -u | wc -l)" -eq 3 ]
    done
}

@test "on an AMD processor without a hypervisor LFENCE is made to order, on each CPU" {
    # QEMU logs code that it translates, so what runs: `set` on the first CPU, lfence_enable on the second.
    range=$(nm -S --numeric-sort "$GUEST/guest.elf" | awk '$4 == "lfence_enable" { print "0x" $1 "+0x" $2 }')
    while read -r cpu writes; do
        rm -f asm.txt
        CPU=$cpu boot -smp 2 -kernel "$GUEST/guest.elf" -append 'bench=^(idle|ipi-halted)$' \
            -d in_asm -D asm.txt -dfilter "$range"
        [ "$(records hello | jq -r .cpus)" = 2 ]
        [ "$(records result | jq -r .check | sort -u)" = proved ]
        grep lfence_enable asm.txt
        [ "$(grep -c wrmsr asm.txt)" -eq "$writes" ]
    done <<'CPUS'
EPYC,-hypervisor 1
EPYC 0
Nehalem,-hypervisor 0
Opteron_G1,-hypervisor 0
CPUS
}

@test "hypercall=kvm without a hypervisor is a skip, not a crash" {
    boot -kernel "$GUEST/guest.elf" -append 'bench=^(hypercall|idle)$ hypercall=kvm'
    [ "$(records skip | jq -r .bench)" = hypercall ]
    records skip | jq -e '.reason | test("exception")'
    [ "$(records bye | jq -r .status)" = ok ]
}

# bats test_tags=live
@test "iterations in units of time stay within the paper's ranges" {
    boot -kernel "$GUEST/guest.elf" -append 'samples=3'
    while read -r bench lowest highest; do
        iterations=$(records result | jq --arg bench "$bench" 'select(.bench == $bench).iterations')
        [ "$iterations" -ge "$lowest" ]
        [ "$iterations" -le "$highest" ]
    done <<'RANGES'
sgdt 10000 10000000
sidt 10000 10000000
sldt 10000 10000000
smsw 10000 10000000
pushf-popf 10000 10000000
lgdt 10000 10000000
set-cr3 10000 10000000
hot-memory-access 10 100000
cold-memory-access 10 100000
in 1000 10000000
out 1000 10000000
print 10 1000
RANGES
}

@test "a doorbell that takes no text: records come by the serial port" {
    boot -kernel "$GUEST/guest.elf" -append 'bench=^sgdt$ doorbell=0x5f0'
    [ "$(records result | jq -r .bench)" = sgdt ]
    [ "$(records bye | jq -r .status)" = ok ]
}

@test "unknown words are listed in hello" {
    boot -kernel "$GUEST/guest.elf" -append 'bench=^idle$ colour=blue samples=0'
    [ "$(records hello | jq -c .unknown)" = '["colour=blue","samples=0"]' ]
}

@test "dom0.elf without Xen prints that it is for Xen, and ends" {
    boot -kernel "$GUEST/dom0.elf"
    grep -q 'dom0: this program is for Xen' console.txt
}

@test "dom0.elf and the guest do not overlap in memory" {
    end=$(nm "$GUEST/guest.elf" | awk '$3 == "image_end" { print $1 }')
    start=$(nm "$GUEST/dom0.elf" | awk '$3 == "image_start" { print $1 }')
    [ $((0x$end)) -lt $((0x$start)) ]
}

@test "the boot image by UEFI: all CPUs, a table for people, records for the command, power-off" {
    "$ROOT/tools/boot-image" image.iso "$GUEST/guest.mb2" table=1 'bench=^s[gi]dt$' samples=3 nonce=b007
    boot -smp 3 -drive if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd -cdrom image.iso
    # The firmware leaves a line unfinished.
    sed -i 's/^.*\(@ws1 [0-9a-f]* guest\)/\1/' console.txt
    [ "$(records hello | jq -c '[.boot, .cpus, .selected, .unknown]')" = '["multiboot2",3,2,[]]' ]
    grep -qE '^sgdt +(~0|[0-9.]+)$' console.txt
    grep -q '^2 measured, 0 skipped, 0 failed' console.txt
    tail -n 1 console.txt | grep -q '"kind":"bye","status":"ok"'
    ws run --on log:console.txt -o out >table.txt
    [ "$(jq -r '.rows[] | .benchmark + " " + .status' out/*.json | paste -sd ' ')" = 'sgdt ok sidt ok' ]
    run ! "$ROOT/tools/boot-image" image.iso "$GUEST/guest.mb2" 'bench=a b'
}
