# Compares neve's counts of traps with QEMU's log of exceptions (`-d int`), and measures the cost of a trap
# that does nothing, by kind of instruction (Lim et al., section 5, has cycles). To print the costs:
#   bats --show-output-of-passing-tests tests/e2e/neve-traps.bats

load common
load neve

setup_file() {
    make -s -C "$ROOT/guest" ARCH=aarch64 >&2
    make -s -C "$ROOT/neve" variants traps >&2
    make -s -C "$ROOT/neve" PARAVIRT=calls traps >&2
    lab_qemu
}

setup() {
    common_setup
    neve_setup
}

# The variables are of neve.bash.
# shellcheck disable=SC2034
# choose MECHANISM: sets QEMU and CPU. Only the lab's QEMU has FEAT_NV.
choose() {
    QEMU_ARM=qemu-system-aarch64
    CPU=cortex-a57,cntfrq=1000000000
    [ "$1" = pv ] || { QEMU_ARM=$BATS_FILE_TMPDIR/qemu CPU=max,cntfrq=1000000000; }
}

# events: what int.log has, a line each: `ring` of the doorbell, `trap CLASS SYNDROME` of any other exception to EL2, and
# `return` to EL1.
events() {
    awk '
        /^\.\.\.with ESR/ { split($3, esr, "/"); far = "" }
        /^\.\.\.with FAR/ { far = $3 }
        /^\.\.\.to EL2/ { print esr[1] == "0x24" && far == "0xa000008" ? "ring" : "trap " esr[1] " " esr[2] }
        /^Exception return from AArch64 EL2 to AArch64 EL1/ { print "return" }' int.log
}

# without_text: the same without rings that give text to write. Of a nested VM and its hypervisor these are the hypervisor's
# `hello` (ring 1), the VM's (2 and its hypervisor's 3), the VM's `begin` (36, 37), and all after the samples. Eight empty
# pairs are rings 4 to 35.
without_text() {
    awk '$1 != "ring" || (++ring >= 4 && ring <= 35) || (ring >= 38 && ring <= 41)'
}

# windows FIRST EVERY: a line for each window of events: exceptions to EL2 by class, the number of different syndromes, and
# returns to EL1. Of each EVERY rings of the doorbell, a window is from ring FIRST to the last.
windows() {
    awk -v first="$1" -v every="$2" '
        $1 == "trap" { count[$2]++; seen[$3] = 1 }
        $1 == "return" { back++ }
        $1 == "ring" {
            place = rings++ % every + 1
            if (place == every) {
                line = ""
                different = 0
                for (class in count) line = line class "=" count[class] " "
                for (syndrome in seen) different++
                print line "syndromes=" different " returns=" back
            }
            if (place == first) {
                for (class in count) delete count[class]
                for (syndrome in seen) delete seen[syndrome]
                back = 0
            }
        }'
}

# traps MECHANISM PARAVIRT: boots the guest hypervisor that only traps.
traps() {
    choose "$1"
    machine "$CPU" 1 "nest=$1 stage2=4k memory=64" "${LAB[@]}" -d int -D int.log \
        -device "$(vm "$ROOT/build/neve/aarch64$2/traps.img" 0x50000000 nonce=a)"
    [ "$(own bye | jq -r .status)" = ok ]
    own exits | jq -r '.bench' >kinds.txt
    [ "$(wc -l <kinds.txt)" = 13 ]
}

@test "for each kind of instruction neve counts as many traps as QEMU logs, of the right class" {
    local kind window class
    for mechanism in nv pv; do
        traps $mechanism "$([ $mechanism = nv ] || echo -calls)"
        # The first eight pairs of rings have nothing between them.
        events | windows 1 2 | sed 1,8d >windows.txt
        own exits | jq -r '.returns | add' >counted.txt
        [ "$(sort -u counted.txt)" = 64 ]
        while read -r kind window; do
            case $mechanism-$kind in
            *-smc) class=0x17 ;;
            pv-mrs-id*) class=0x18 ;;
            pv-*) class=0x16 ;;
            *-eret) class=0x1a ;;
            *) class=0x18 ;;
            esac
            echo "$mechanism $kind: $window"
            # The 65th return is that of the first ring.
            [ "$window" = "$class=64 syndromes=1 returns=65" ]
        done < <(paste -d' ' kinds.txt windows.txt)
        [ "$(wc -l <windows.txt)" = 13 ]
    done
}

@test "for 64 hypercalls of a nested VM neve counts by class as many traps as QEMU logs" {
    local name
    for mechanism in nv pv; do
        choose $mechanism
        name=$([ $mechanism = nv ] && echo none || echo pv)
        LIMIT=200 below "$(image "$name" 0)" "$CPU" $mechanism 0 1 policy=kvm-4.10 'bench=^hypercall$' \
            -d int -D int.log
        # Four rings: the nested VM's and its hypervisor's, twice. neve counts between the second and the
        # last.
        events | without_text | windows 2 4 >windows.txt
        [ "$(wc -l <windows.txt)" = 9 ]
        [ "$(sed 8q windows.txt | sed 's/ syndromes.*//' | sort -u | wc -l)" = 1 ]
        # Minus the traps of the rings themselves, which the first eight windows have.
        logged=$(awk '{ for (i = 1; i <= NF - 2; i++) { split($i, part, "="); n[NR, part[1]] = part[2]; all[part[1]] } }
            END { for (class in all) if (n[9, class] != n[1, class]) print class, n[9, class] - n[1, class] }' windows.txt | sort)
        counted=$(exits hypercall | jq -r --arg mechanism $mechanism '
            def class:
                if . == "hvc" then "0x16"
                elif test("(ACTLR_EL1|MDSCR_EL1|PMSELR_EL0|PMUSERENR_EL0)$") then "0x18" # ARMv8.0 traps them too
                elif $mechanism == "pv" then "0x16"
                elif . == "el2_eret" then "0x1a"
                else "0x18" end;
            to_entries | map({class: .key | class, value}) | group_by(.class)[]
                | "\(.[0].class) \(map(.value) | add)"' | sort)
        echo "$mechanism logged: $logged"
        echo "$mechanism counted: $counted"
        [ "$logged" = "$counted" ]
        [ "$(awk '{ sum += $2 } END { print sum }' <<<"$logged")" = $((127 * 64)) ]
    done
}

@test "the cost of a trap that does nothing, by kind of instruction, is the same in each boot" {
    for mechanism in nv pv nv2; do
        traps $mechanism "$([ $mechanism = pv ] && echo -calls)"
        mv console.txt first.txt
        traps $mechanism "$([ $mechanism = pv ] && echo -calls)"
        cmp first.txt console.txt
        sed -n 's/^traps: //p' console.txt >$mechanism.txt
    done
    echo 'instruction, and instructions of it and L0 by nv, pv, nv2'
    paste -d' ' nv.txt pv.txt nv2.txt | awk '{ print $1, $2, $4, $6 }' | tee costs.txt
    # With FEAT_NV2 some accesses are memory accesses of one instruction; a trap costs more than the world
    # switch of 31 registers.
    [ "$(awk '$4 == 1 { print $1 }' costs.txt | xargs)" = \
        'mrs-hcr_el2 msr-hcr_el2 mrs-sctlr_el1 msr-sctlr_el1 mrs-ich_vmcr_el2' ]
    [ "$(awk '$2 < 100 || $3 < 100 || ($4 < 100 && $4 != 1)' costs.txt)" = '' ]
}

# docs/notebook/neve.md, sensitivity.
@test "traps of the variants of the world switch: the authors' tree, no timer, GICv3" {
    while read -r policy mechanism vhe traps; do
        choose "$([ "$mechanism" = nv ] && echo nv || echo pv)"
        below "$(image "$mechanism" "$vhe")" "$CPU" "$mechanism" "$vhe" 1 policy="$policy" 'bench=^hypercall$'
        echo "$policy $mechanism vhe=$vhe: $(exits hypercall | jq 'add / 64')"
        [ "$(exits hypercall | jq 'add / 64')" = "$traps" ]
    done <<END
kvm-4.10-authors nv 0 126
kvm-4.10-authors nv 1 82
kvm-4.10-authors neve 0 15
kvm-4.10-authors neve 1 18
kvm-4.10-notimer nv 0 126
kvm-4.10-notimer nv 1 74
kvm-4.10-notimer neve 0 14
kvm-4.10-notimer neve 1 11
kvm-4.10-gicv3 nv 0 132
kvm-4.10-gicv3 nv 1 84
kvm-4.10-gicv3 neve 0 19
kvm-4.10-gicv3 neve 1 20
END
}
