# The binary patcher: a guest hypervisor that was built without macros and then patched runs on an ARMv8.0 CPU
# as the one built with macros. Traps are compared exactly, by cause.

load common
load neve

CPU_V8=cortex-a57,cntfrq=1000000000

setup_file() {
    make -s -C "$ROOT/guest" ARCH=aarch64 >&2
    make -s -C "$ROOT/neve" variants >&2
    for vhe in 0 1; do
        for mechanism in pv neve; do
            rewrite "$(plain $vhe)" $mechanism $vhe "$BATS_FILE_TMPDIR/$mechanism-$vhe.elf" \
                >"$BATS_FILE_TMPDIR/$mechanism-$vhe.txt"
            llvm-objcopy -O binary "$BATS_FILE_TMPDIR/$mechanism-$vhe.elf" "$(patched $mechanism $vhe)"
        done
    done
}

setup() {
    common_setup
    neve_setup
}

# plain VHE: the image built without macros, as the linker wrote it.
plain() { echo "$(dirname "$(image none "$1")")/neve.elf"; }

# patched MECHANISM VHE: the patched image.
patched() { echo "$BATS_FILE_TMPDIR/$1-$2.img"; }

# rewrite IN MECHANISM VHE OUT: patches an image.
rewrite() {
    local words=()
    [ "$3" = 0 ] || words+=(--vhe)
    ws lab patch "$1" -o "$4" --to "$2" "${words[@]}"
}

# boots IMAGE MECHANISM VHE CPUS HYPERVISORS-WORDS GUESTS-WORDS: boots a guest hypervisor's image; no row
# may fail.
boots() {
    local image=$1
    shift
    below "$image" $CPU_V8 "$@"
    [ "$(own bye | jq -r .status)" = ok ]
    [ "$(records bye | jq -r .status)" = ok ]
    [ "$(records result | jq -r 'select(.check == "failed").bench')" = '' ]
}

# neve's counts for each row, one line per benchmark.
counted() { own exits | jq -c '[.bench, .returns]'; }

# instructions BENCHMARK: instructions of the whole machine in a row.
instructions() { own exits | jq "select(.bench == \"$1\").host_ticks"; }

# refuses MESSAGE IN ARGUMENT...: checks for exit code 1, the message, and that nothing is written.
refuses() {
    local what=$1
    shift
    run -1 ws lab patch "$@" -o no.elf
    [[ $output == *"$what"* ]]
    [ ! -e no.elf ]
}

@test "a patched guest hypervisor takes the same traps as one built with macros" {
    for policy in lean kvm-4.10; do
        for vhe in 0 1; do
            for mechanism in pv neve; do
                boots "$(image $mechanism $vhe)" $mechanism $vhe 1 policy=$policy 'bench=^(hypercall|in)$'
                counted >macros.txt
                macros=$(instructions hypercall)
                [ "$(wc -l <macros.txt)" = 2 ]
                boots "$(patched $mechanism $vhe)" $mechanism $vhe 1 policy=$policy 'bench=^(hypercall|in)$'
                counted | cmp - macros.txt
                echo "$policy vhe=$vhe $mechanism: patched $(($(instructions hypercall) / 64)), by macros $((macros / 64)) instructions a hypercall"
                # A call replaces one instruction by one; a veneer has five instructions, a macro one or two.
                [ $((100 * $(instructions hypercall))) -lt $((macros * $([ $mechanism = pv ] && echo 101 || echo 110))) ]
            done
        done
    done
}

@test "each of two CPUs finds its deferred page, and two boots are identical" {
    for vhe in 0 1; do
        boots "$(image neve $vhe)" neve $vhe 2 policy=kvm-4.10 'bench=^ipi-running$'
        counted >macros.txt
        [ -s macros.txt ]
        boots "$(patched neve $vhe)" neve $vhe 2 policy=kvm-4.10 'bench=^ipi-running$'
        counted | cmp - macros.txt
        mv console.txt first.txt
        boots "$(patched neve $vhe)" neve $vhe 2 policy=kvm-4.10 'bench=^ipi-running$'
        cmp first.txt console.txt
    done
}

@test "a nested VM of a patched hypervisor runs every row as with macros" {
    for mechanism in pv neve; do
        for image in "$(image $mechanism 0)" "$(patched $mechanism 0)"; do
            LIMIT=200 below "$image" $CPU_V8 $mechanism 0 1 '' ''
            [ "$(own bye | jq -r .status)" = ok ]
            records result | jq -c '[.bench, .check]' >rows.txt
            [ "$(wc -l <rows.txt)" -ge 17 ]
            [ ! -e macros.txt ] || cmp rows.txt macros.txt
            mv rows.txt macros.txt
        done
        rm macros.txt
    done
}

@test "in the disassembly only accesses to registers without a row are left" {
    for vhe in 0 1; do
        for mechanism in pv neve; do
            # Newer disassemblers have names for these registers.
            llvm-objdump -d --no-show-raw-insn "$BATS_FILE_TMPDIR/$mechanism-$vhe.elf" | sed "s/HFGRTR_EL2/S3_4_C1_C1_4/
                s/HFGWTR_EL2/S3_4_C1_C1_5/; s/HFGITR_EL2/S3_4_C1_C1_6/; s/HCRX_EL2/S3_4_C1_C2_2/
                s/HDFGRTR_EL2/S3_4_C3_C1_4/; s/HDFGWTR_EL2/S3_4_C3_C1_5/; s/VSESR_EL2/S3_4_C5_C2_3/" >code.txt
            run ! grep -E $'\t(mrs|msr)\t.*_EL2|\teret|CurrentEL|\ttlbi|S3_5_C' code.txt
            # HCRX, VSESR and fine-grained traps, which neve does not offer to a guest hypervisor.
            [ "$(grep -oE 'S3_4_C[0-9]+_C[0-9]+_[0-9]' code.txt | sort -u | xargs)" = \
                'S3_4_C1_C1_4 S3_4_C1_C1_5 S3_4_C1_C1_6 S3_4_C1_C2_2 S3_4_C3_C1_4 S3_4_C3_C1_5 S3_4_C5_C2_3' ]
        done
    done
}

@test "the report lists each instruction that differs, and where" {
    ws lab patch "$(plain 0)" -o again.elf --to pv --json >report.json
    cmp again.elf "$BATS_FILE_TMPDIR/pv-0.elf"
    [ "$(jq -r '[.schema, .target, .vhe] | @csv' report.json)" = '"worldswitch-patch/1","pv",false' ]
    # Where the two images differ, by address: the first segment is at 0x40200000, and 0x1000 in the file.
    cmp -l "$(plain 0)" again.elf | awk '{ printf "0x%x\n", int(($1 - 1) / 4) * 4 - 4096 + 1075838976 }' |
        sort -u >differ.txt
    jq -r '.changed[].places[]' report.json | sort | cmp - differ.txt
    grep -q '^HCR_EL2 *write *[0-9]* *store to the page' "$BATS_FILE_TMPDIR/neve-0.txt"
    grep -q "^$(wc -l <differ.txt) instructions of [0-9]* were rewritten; veneers take 0 bytes" \
        "$BATS_FILE_TMPDIR/pv-0.txt"
}

@test "a raw image is patched in the range of --code" {
    llvm-objcopy -O binary "$(plain 0)" plain.img
    # .text, which follows .head: `[ 2] .text PROGBITS address offset size`, in hex.
    read -r address size < <(llvm-readelf -S "$(plain 0)" |
        sed -n 's/.* \.text *PROGBITS *\([^ ]*\) [^ ]* \([^ ]*\).*/\1 \2/p')
    start=$((16#$address - 0x40200000))
    text=$start-$((start + 16#$size))
    ws lab patch plain.img -o patched.img --to pv --code "$text" >/dev/null
    cmp patched.img "$(patched pv 0)"
    refuses 'use --veneers and --pages' plain.img --to neve --code "$text"
}

@test "images that can't be patched safely are refused with what to do" {
    llvm-strip -o stripped.elf "$(plain 0)"
    refuses 'it was stripped. Give the file that the linker wrote' stripped.elf --to pv
    refuses 'a name that only a VHE hypervisor uses: add --vhe for such a hypervisor' "$(plain 1)" --to pv
    refuses 'was it patched before, or built with PARAVIRT?' "$BATS_FILE_TMPDIR/pv-0.elf" --to pv
    refuses 'was it patched before' "$BATS_FILE_TMPDIR/neve-0.elf" --to neve
    refuses 'built with PARAVIRT?' "$(dirname "$(image pv 0)")/neve.elf" --to neve
    refuses 'for X86_64' "$WORLDSWITCH" --to pv
    refuses '--code START-END' "$(image none 0)" --to pv
    refuses 'link it first' "$ROOT/build/neve/aarch64/obj/exits/exits.c.o" --to pv
    refuses "can't read" nowhere.elf --to pv
    run -2 ws lab patch "$(plain 0)" -o no.elf --to perhaps
    run -2 ws lab patch "$(plain 0)" -o no.elf --to pv --code 8-4
}
