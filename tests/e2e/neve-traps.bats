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

# rings: the instruction of each ring of the doorbell in int.log, by its address.
rings() {
    awk '
        /^\.\.\.with ESR/ { split($3, esr, "/"); far = "" }
        /^\.\.\.with FAR/ { far = $3 }
        /^\.\.\.with ELR/ { elr = $3 }
        /^\.\.\.to EL2/ && esr[1] == "0x24" && far == "0xa000008" { print elr }' int.log
}

# bells: the numbers of those rings that begin and end samples, of all rings of a nested VM and its hypervisor. The others
# give text to write. The eight pairs that come first have no text between them: the VM, its hypervisor, and both again.
bells() {
    rings | awk '
        { at[NR] = $1 }
        END {
            for (i = 1; i + 31 <= NR && !begin; i++) {
                for (j = i; j < i + 28 && at[j] == at[j + 4]; j++);
                if (j == i + 28 && at[i] == at[i + 2]) { begin = at[i + 1]; end = at[i + 3] }
            }
            for (i = 1; i <= NR; i++)
                if (at[i] == begin || at[i] == end) print i - 1 "\n" i
        }'
}

# windows FIRST EVERY [RING...]: a line for each window of int.log: exceptions to EL2 by class, the number of different
# syndromes, and returns to EL1. Of each EVERY rings of the doorbell, a window is from ring FIRST to the last. With
# numbers (RING...) only those rings count; without, all rings.
windows() {
    awk -v first="$1" -v every="$2" -v list="${*:3}" '
        BEGIN { n = split(list, numbers, " "); for (i = 1; i <= n; i++) bell[numbers[i]] = 1 }
        /^\.\.\.with ESR/ { split($3, esr, "/"); far = "" }
        /^\.\.\.with FAR/ { far = $3 }
        /^\.\.\.to EL2/ && !(esr[1] == "0x24" && far == "0xa000008") { count[esr[1]]++; seen[esr[2]] = 1 }
        /^\.\.\.to EL2/ && esr[1] == "0x24" && far == "0xa000008" && (bell[++ring] || !n) {
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
        }
        /^Exception return from AArch64 EL2 to AArch64 EL1/ { back++ }' int.log
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
        windows 1 2 | sed 1,8d >windows.txt
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
        # shellcheck disable=SC2046  # a word for each
        windows 2 4 $(bells) >windows.txt
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

# docs/neve.md, sensitivity.
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
