# Guest hypervisors at virtual EL2: neve on neve, with the real guest as the nested VM, with all four
# mechanisms. Each hypervisor counts the traps that it takes; they are compared exactly. FEAT_NV and FEAT_NV2
# need the lab's QEMU (9.0 or newer); the paravirtual mechanisms do not.

load common
load neve

setup_file() {
    make -s -C "$ROOT/guest" ARCH=aarch64 >&2
    make -s -C "$ROOT/neve" variants >&2
    lab_qemu
}

setup() {
    common_setup
    neve_setup
}

# The variable is of neve.bash.
# shellcheck disable=SC2034
# choose MECHANISM: sets CPU and QEMU. This machine's QEMU may lack FEAT_NV, so nv and nv2 use the lab's.
choose() {
    case $1 in
    pv | neve) CPU=${CPU:-cortex-a57,cntfrq=1000000000} ;;
    *) CPU=max,cntfrq=1000000000 QEMU_ARM=$BATS_FILE_TMPDIR/qemu ;;
    esac
}

# nested MECHANISM VHE CPUS HYPERVISORS-WORDS GUESTS-WORDS: boots neve as L0, neve as L1, and the guest as L2.
nested() {
    local CPU=${CPU-}
    choose "$1"
    below "$(image "$1" "$2")" "$CPU" "$@"
}

# traps BENCHMARK [REGEX]: traps to the host hypervisor per operation: all, or those whose name matches.
traps() {
    exits "$1" | jq "[to_entries[] | select(.key | test(\"${2-.}\")) | .value] | add / 64"
}

well() {
    [ "$(own bye | jq -r .status)" = ok ]
    [ "$(records bye | jq -r .status)" = ok ]
    [ "$(records fault)" = '' ]
}

@test "a hypercall of a nested VM takes two traps at least, and two boots are identical" {
    for mechanism in nv2 neve; do
        for vhe in 0 1; do
            nested "$mechanism" "$vhe" 1 '' 'bench=^(hypercall|in|irq-completion)$'
            well
            [ "$(exits hypercall)" = '{"hvc":64,"el2_eret":64}' ]
            # The same, as the guest hypervisor sees it.
            grep '^@ws1 [0-9a-f]* l1 ' console.txt | grep '"bench":"hypercall"' | grep -q '"returns":{"hvc":64}'
            # An interrupt is sent in run and in control; its end takes no trap.
            [ "$(exits irq-completion | jq -c 'with_entries(select(.key | startswith("el2_") | not))')" = \
                '{"write_ICC_SGI1R_EL1":128}' ]
        done
    done
    mv console.txt first.txt
    nested neve 1 1 '' 'bench=^(hypercall|in|irq-completion)$'
    cmp first.txt console.txt
}

@test "nv (traps) and pv (calls) count the same registers" {
    for vhe in 0 1; do
        for policy in lean kvm-4.10; do
            nested nv $vhe 1 policy=$policy 'bench=^(hypercall|in)$'
            well
            own exits | jq -c '[.bench, .returns]' >nv.txt
            for cpu in cortex-a57 max; do
                CPU=$cpu,cntfrq=1000000000 nested pv $vhe 1 policy=$policy 'bench=^(hypercall|in)$'
                well
                own exits | jq -c '[.bench, .returns]' | cmp - nv.txt
            done
        done
    done
}

# The paper has 126/82, 128/82 and 15/15 (docs/notebook/neve.md lists the differences).
@test "traps of Linux 4.10's world switch" {
    while read -r mechanism vhe hypercall io; do
        nested "$mechanism" "$vhe" 1 policy=kvm-4.10 'bench=^(hypercall|in)$'
        well
        echo "$mechanism $vhe: $(traps hypercall) $(traps in)"
        [ "$(traps hypercall) $(traps in)" = "$hypercall $io" ]
    done <<END
nv 0 127 128
nv 1 79 79
neve 0 15 15
neve 1 16 16
nv2 0 17 18
nv2 1 10 11
END
}

@test "interrupts between the vCPUs of a nested VM" {
    while read -r mechanism vhe lean kvm; do
        for policy in lean kvm-4.10; do
            nested "$mechanism" "$vhe" 2 policy=$policy 'bench=^ipi'
            well
            [ "$(records result | jq -r .check | sort -u)" = proved ]
            echo "$mechanism $vhe $policy: $(traps ipi-halted) $(traps ipi-running)"
            [ "$(traps ipi-running)" = "$([ $policy = lean ] && echo "$lean" || echo "$kvm")" ]
        done
    done <<END
pv 0 17 258
pv 1 8 164
neve 0 7 36
neve 1 7 38
nv2 1 5 22
END
}

@test "a nested VM runs every row, with the CPU's mechanism and with the paravirtual one" {
    for mechanism in nv2 neve; do
        LIMIT=200 nested $mechanism 0 1 '' 'samples=16'
        well
        [ "$(records result | jq -r 'select(.check == "failed").bench')" = '' ]
        [ "$(records result | jq -r .bench | wc -l)" -ge 17 ]
        # A first touch of a page: one fault for the shadow table, one for the guest hypervisor's stage 2.
        [ "$(exits cold-memory-access | jq '.shadow_fault, .stage2_fault')" = $'16\n16' ]
    done
}

@test "the lab's machine has room for a third level" {
    LIMIT=120 ws run --on lab:neve-nested@nv2+depth=3 --boots 1 --bench '^hypercall$' -o "$OUT" >table.txt
    grep -E 'hypercall +[0-9]' table.txt
}

# returns LEVEL: traps per hypercall that this level's hypervisor took.
returns() {
    sed -n "s/^@ws1 [0-9a-f]* $1 [0-9a-f]* [0-9]* [0-9]* //p" console.txt |
        jq 'select(.kind == "exits").returns | add / 16'
}

@test "three levels, with each mechanism: traps by level" {
    local words='stage2=4k doorbell=0xa000008' nest
    while read -r mechanism vhe host first; do
        # shellcheck disable=SC2030
        CPU=''
        choose "$mechanism"
        nest="nest=$mechanism vhe=$vhe"
        machine "$CPU" 1 "$nest memory=400 stage2=4k" "${LAB[@]}" \
            -device "$(vm "$(image "$mechanism" "$vhe")" 0x60000000 \
                "$nest memory=200 level=1 $words -- memory=64 level=2 $words -- unit=insns samples=16 hypercall=kvm doorbell=0xa000008 bench=^hypercall\$")" \
            -device "guest-loader,addr=0x61000000,initrd=$(image "$mechanism" "$vhe")" \
            -device "guest-loader,addr=0x62000000,initrd=$GUEST_ARM"
        well
        for level in l1 l2; do
            grep "^@ws1 [0-9a-f]* $level " console.txt | grep -q '"status":"ok"'
        done
        echo "$mechanism $vhe: $(returns neve) $(returns l1) $(returns l2)"
        # One exit of L3 is one trap to L2, a few to L1, and more to L0.
        [ "$(returns neve) $(returns l1) $(returns l2)" = "$host $first 1" ]
        unset QEMU_ARM
        neve_setup
    done <<END
pv 0 148 7
nv 0 148 7
nv 1 125 2
neve 0 21 2
neve 1 41 2
nv2 0 12 2
nv2 1 16 2
END
}

@test "four levels: traps by level" {
    local nest='nest=nv2 stage2=4k' words='stage2=4k doorbell=0xa000008' image
    choose nv2
    image=$(image nv2 0)
    # shellcheck disable=SC2031
    machine "$CPU" 1 "$nest memory=900" "${LAB[@]}" -m 2048 \
        -device "$(vm "$image" 0x50000000 \
            "$nest memory=450 level=1 $words -- $nest memory=200 level=2 $words -- memory=64 level=3 $words -- unit=insns samples=16 hypercall=kvm doorbell=0xa000008 bench=^hypercall\$")" \
        -device "guest-loader,addr=0x51000000,initrd=$image" -device "guest-loader,addr=0x52000000,initrd=$image" \
        -device "guest-loader,addr=0x53000000,initrd=$GUEST_ARM"
    well
    echo "instructions: $(records result | jq -c '[.run, .control] | transpose | map(.[0] - .[1]) | group_by(.) | max_by(length)[0]')"
    [ "$(returns neve) $(returns l1) $(returns l2) $(returns l3)" = '40 12 2 1' ]
}

# bats test_tags=live
@test "VNCR_EL2 of a guest hypervisor: its own address, changed and unmapped by another CPU" {
    make -s -C "$ROOT/neve" deferred
    choose nv2
    machine max 2 'nest=nv2 cpus=2 memory=64 stage2=4k' \
        -device "$(vm "$ROOT/build/neve/aarch64/deferred.img" 0x50000000 nonce=a)"
    grep '^deferred' console.txt
    [ "$(grep -v '^@ws1' console.txt)" = 'deferred: all well' ]
    [ "$(own bye | jq -r .status)" = ok ]
}

# beside MECHANISM CPUS IMAGE WORDS-OF-THE-GUEST [ARGUMENT...]: boots a test's guest hypervisor and the real
# guest side by side, in host time with a thread per CPU: a VM that loops keeps only its own CPUs busy.
beside() {
    choose "$1"
    # shellcheck disable=SC2031
    machine "${CPU%%,*}" $(($2 + 1)) "nest=$1,none cpus=$2,1 memory=64,64 stage2=4k" \
        -device "$(vm "$(dirname "$(image "$1" 0)")/$3.img" 0x50000000 nonce=a)" \
        -device "$(vm "$GUEST_ARM" 0x51000000 "hypercall=kvm nonce=b samples=2 $4")" "${@:5}"
}

# The same for a first VM that never ends: stops the machine when the other VM has ended well.
beside_until_end() {
    rm -f console.txt
    beside "$@" -pidfile qemu.pid &
    local machine=$!
    while kill -0 $machine && ! grep -qs '^@ws1 [0-9a-f]* neve b 1 .*"status":"ok"' console.txt; do
        sleep 0.1
    done
    kill "$(cat qemu.pid)" || true
    wait $machine || true
}

# attacker MECHANISM TARGET [VARIABLE]: builds a test's guest hypervisor for a mechanism.
attacker() {
    local paravirt=none
    case $1 in
    pv) paravirt=calls ;;
    neve) paravirt=neve ;;
    esac
    make -s -C "$ROOT/neve" "$2" PARAVIRT=$paravirt "${@:3}"
}

# The test's expectations first hold at real EL2, of this machine's QEMU and of the lab's.
@test "virtual EL2 behaves as EL2: keys that a VM writes, virtual interrupts of HCR_EL2, list registers" {
    make -s -C "$ROOT/neve" rules
    for qemu in "$QEMU_ARM" "$BATS_FILE_TMPDIR/qemu"; do
        QEMU_ARM=$qemu NEVE=$(dirname "$NEVE")/rules.img machine max 1 '' "${LAB[@]}"
        [ "$(cat console.txt)" = 'rules: all well' ]
    done
    for mechanism in nv nv2 pv neve; do
        for vhe in 0 1; do
            attacker $mechanism rules VHE=$vhe
            # shellcheck disable=SC2030,SC2031
            CPU=max
            choose $mechanism
            machine "${CPU%%,*}" 1 "nest=$mechanism vhe=$vhe memory=64 stage2=4k" "${LAB[@]}" \
                -device "$(vm "$(dirname "$(image $mechanism $vhe)")/rules.img" 0x50000000 nonce=a)"
            echo "$mechanism $vhe: $(grep '^rules' console.txt)"
            [ "$(grep -v '^@ws1' console.txt)" = 'rules: all well' ]
            [ "$(own bye | jq -r .status)" = ok ]
            unset QEMU_ARM CPU
            neve_setup
        done
    done
}

# make test-long runs 10,000 with each mechanism.
# bats test_tags=live
@test "random programs of a guest hypervisor harm neither its host nor the VM beside it" {
    local programs=${PROGRAMS:-500}
    for mechanism in nv2 nv pv neve; do
        attacker "$mechanism" hostile PROGRAMS="$programs"
        CPU=$([ "$mechanism" != neve ] || echo max) # max has pointer authentication, cortex-a57 has not
        LIMIT=200 beside "$mechanism" 1 "hostile$programs" ''
        grep "hostile: $programs programs" console.txt
        [ "$(grep -c '^@ws1 [0-9a-f]* neve [ab] 1 .*"status":"ok"' console.txt)" = 2 ]
        [ "$(records result | jq -r 'select(.check == "failed").bench')" = '' ]
        unset QEMU_ARM CPU
        neve_setup
    done
}

# The second of two vCPUs changes the first one's deferred page and tables, and sends interrupts and TLBIs.
# It may make its own VM fail, with the reason. make test-long runs 10,000 programs.
# bats test_tags=live
@test "random programs beside a vCPU that storms and rewrites their deferred page and tables" {
    local programs=${PROGRAMS:-300}
    for mechanism in neve nv2; do
        attacker "$mechanism" hostile PROGRAMS="$programs"
        CPU=''
        LIMIT=$((60 + programs / 10)) beside "$mechanism" 2 "hostile$programs" 'bench=^(hot|cold)'
        grep "hostile: $programs programs" console.txt ||
            grep '^@ws1 [0-9a-f]* neve a 1 .*"status":"error"' console.txt
        grep '^@ws1 [0-9a-f]* neve b 1 .*"status":"ok"' console.txt
        [ "$(records result | jq -r 'select(.check == "failed").bench')" = '' ]
        run ! grep '^neve failed' console.txt
        unset QEMU_ARM CPU
        neve_setup
    done
}

# bats test_tags=live
@test "a guest hypervisor that does what is not allowed is ended alone, with the reason" {
    while read -r mechanism wrong why; do
        attacker "$mechanism" wrong WRONG="$wrong"
        CPU=''
        beside "$mechanism" 1 "wrong$wrong" 'bench=^hot'
        grep "^@ws1 [0-9a-f]* neve a 1 .*\"status\":\"error\".*$why" console.txt
        grep '^@ws1 [0-9a-f]* neve b 1 .*"status":"ok"' console.txt
        unset QEMU_ARM CPU
        neve_setup
    done <<END
neve 1 its deferred page, 0x9000000, is no page of its memory
pv 2 its hypervisor returns to AArch32, SPSR_EL2 0x1d3
nv2 3 its exception vector, 0x7000000200, takes an exception itself, without end
nv 4 its exception vector, 0x9000200, takes an exception itself, without end
END
}

# bats test_tags=live
@test "a guest hypervisor that loops or changes its own deferred page keeps only its CPUs busy" {
    while read -r mechanism cpus word; do
        attacker "$mechanism" wrong "WRONG=$word"
        CPU=''
        beside_until_end "$mechanism" "$cpus" "wrong$word" 'bench=^(hot|cold)'
        grep '^@ws1 [0-9a-f]* neve b 1 .*"status":"ok"' console.txt
        [ "$(records result | jq -r 'select(.check == "failed").bench')" = '' ]
        run ! grep '^neve failed' console.txt
        unset QEMU_ARM CPU
        neve_setup
    done <<END
pv 2 5
nv2 1 6
neve 2 7
END
}

@test "an unsupported nest= is refused with the reason" {
    machine neoverse-n1 1 'nest=nv2' -device "$(vm "$NEVE" 0x50000000 '')"
    grep -q '^neve cannot run VM 0: this CPU has no FEAT_NV2: nest=pv and nest=neve' console.txt
    machine neoverse-n1 1 'nest=perhaps' -device "$(vm "$NEVE" 0x50000000 '')"
    grep -q "^neve cannot run: the command line's word nest=perhaps is none of .*nest=none|nv|nv2|pv|neve" console.txt
    machine cortex-a57 1 'nest=pv' -device "$(vm "$(image pv 0)" 0x50000000 '')"
    grep -q '^neve cannot run: there is no kernel ' console.txt
}

@test "the runner: nested VMs as platforms, exact, and neve's counts prove each operation" {
    # returns PLATFORM BENCHMARK: exits of the vCPU to neve, by reason.
    returns() { result "$1" ".rows[] | select(.benchmark == \"$2\") | .host[0].returns | tojson"; }
    ws run --on lab:neve,lab:neve-nested@nv2,lab:neve-nested@pv+cpu=cortex-a57 --boots 2 \
        --bench '^(hypercall|in|irq-completion)$' -o "$OUT" >table.txt
    for platform in lab-neve lab-neve-nested@nv2 lab-neve-nested@pv+cpu=cortex-a57; do
        [ "$(result "$platform" '[.rows[] | [.status, .exact, .outcomes[].check.verdict]] | unique | tojson')" = \
            '[["ok",true,"proved","proved"]]' ]
    done
    [ "$(returns lab-neve hypercall)" = '{"hvc":64}' ]
    [ "$(returns lab-neve-nested@nv2 hypercall)" = '{"el2_eret":64,"hvc":64}' ]
    [ "$(returns lab-neve-nested@nv2 in)" = '{"el2_eret":64,"el2_read_HPFAR_EL2":64,"stage2_fault":64}' ]
}
