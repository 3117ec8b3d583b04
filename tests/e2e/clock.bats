# The lab's clock does not depend on when the host runs the threads of the emulator (lab/quirks.toml, idle-clock-jump and
# breakpoint-stops-one): a guest that halts sees the same clock while the emulator's main loop looks at it at the worst
# moment, and a breakpoint stops all CPUs at once. Without the cures they do not.

# `run` sets $output and $status.
# shellcheck disable=SC2030,SC2031,SC2154

load common
load clock

setup_file() {
    fetch_packages native arm-native
    export WORK=$BATS_FILE_TMPDIR/work
    mkdir "$WORK"
    local pinned=$ROOT/tools/pinned halts=$ROOT/tests/guests/halts.S
    local clang=("$pinned/clang" --target=x86_64-linux-gnu -m32 -c)
    "${clang[@]}" -o "$WORK/x.o" "$halts"
    "$pinned/ld.lld" -m elf_i386 -Ttext=0x100000 -o "$WORK/x86_64" "$WORK/x.o"
    "${clang[@]}" -DWORK=24000 -DSPIN=pause -o "$WORK/p.o" "$halts"
    "$pinned/ld.lld" -m elf_i386 -Ttext=0x100000 -o "$WORK/pauses" "$WORK/p.o"
    "$pinned/clang" --target=aarch64-linux-gnu -c -o "$WORK/a.o" "$halts"
    "$pinned/ld.lld" -Ttext=0x40200000 --image-base=0x40100000 -o "$WORK/aarch64" "$WORK/a.o"
    "$pinned/clang" --target=aarch64-linux-gnu -c -o "$WORK/s.o" "$ROOT/tests/guests/stops.S"
    "$pinned/ld.lld" -Ttext=0x40200000 --image-base=0x40100000 -o "$WORK/stops" "$WORK/s.o"
}

setup() {
    common_setup
    export LIMIT=60
}

# clock GUEST PROGRAM [PRELOAD [WORD...]]: what the guest prints on an emulator with these words too.
clock() {
    local words
    case $1 in
    x86_64 | pauses) words=(-machine pc -cpu max -device "isa-debug-exit,iobase=0xf4") ;;
    aarch64) words=(-machine "virt,gic-version=3" -cpu neoverse-n1) ;;
    esac
    rm -f clock.txt
    lab_emulator "$2" qemu
    timeout "$LIMIT" env ${3:+LD_PRELOAD="$3"} ./qemu "${words[@]}" "${@:4}" -m 64 -no-user-config -nodefaults -accel tcg,thread=single -icount shift=0,sleep=off -seed 1 \
        -display none -monitor none -no-reboot -serial file:clock.txt -kernel "$WORK/$1" || [ $? -eq 1 ]
    [ "$(wc -l <clock.txt)" -eq 8 ]
    cat clock.txt
}

# is_cured_or_said ARCH FAULT: whether this emulator is cured. A newer one may not be; then the lab says so.
is_cured_or_said() {
    local program=qemu-system-$1 file=$LAB_STORE/sets/qemu
    ! jq -e --arg fault "$2" '.cured | has($fault)' "$file/manifest.json" >/dev/null || return 0
    ! are_pinned qemu
    echo "# recorded: $program of this version is not cured of $2" >&3
    return 1
}

check() {
    local program=$LAB_STORE/sets/qemu/root/usr/bin/qemu-system-$1
    is_cured_or_said "$1" "$2" || return 0
    clock "$1" "$program" >alone.txt
    for _ in 1 2; do
        clock "$1" "$program" "$(busy_loop)" >busy.txt
        cmp alone.txt busy.txt
    done
    uncured "$program"
    run ! cmp uncured "$program"
    clock "$1" "$PWD/uncured" "$(busy_loop)" >faulty.txt
    is_alone_alike() {
        clock "$1" "$PWD/uncured" >free.txt
        cmp alone.txt free.txt
    }
    once_of_five is_alone_alike "$1"
    run ! cmp alone.txt faulty.txt
}

# once_of_five COMMAND...: whether it succeeds in one of five attempts. On a busy host the fault may also happen by itself. One
# boot of the uncured emulator without it shows that the cure changes nothing else.
once_of_five() {
    local attempt
    for attempt in 1 2 3 4 5; do
        ! "$@" || return 0
        echo "attempt $attempt failed: $*"
    done
    return 1
}

@test "x86: a timer that ends a halt is never late, and is without the cure" { check x86_64 idle-clock-jump; }

@test "ARM: a timer that ends a halt is never late, and is without the cure" { check aarch64 idle-clock-jump-arm; }

@test "x86: PAUSE ends a CPU's turn only if there are several, and the clock is as without the cure" {
    local program=$LAB_STORE/sets/qemu/root/usr/bin/qemu-system-x86_64 cpus
    is_cured_or_said x86_64 pause-leaves-loop || return 0
    # spent FILE GUEST PROGRAM...: what the guest prints goes to the file, and the user time of it in ms is printed.
    spent() {
        local TIMEFORMAT=%3U user
        user=$({ time clock "${@:2}" >"$1"; } 2>&1)
        echo $((10#${user/./}))
    }
    local one several
    one=$(spent one.txt pauses "$program")
    several=$(spent several.txt pauses "$program" '' -smp 2)
    echo "ms of 3 million PAUSEs: $one, with two CPUs $several" >&3
    ((several > 3 * one))
    if are_pinned qemu; then
        as_packaged pause-leaves-loop
        for cpus in 1 2; do
            clock pauses "$program" '' -smp "$cpus" >cured.txt
            clock pauses "$PWD/as-packaged" '' -smp "$cpus" >faulty.txt
            cmp cured.txt faulty.txt
        done
    fi
}

# count_at_stop PROGRAM: the count of the second CPU when the first one meets a breakpoint at `stop` (tests/guests/stops.S).
# QEMU's debugger stub answers on its standard output.
count_at_stop() {
    local reply number
    # ask WORDS: sends a packet of the remote protocol of gdb; the answer is $reply.
    ask() {
        local at char sum=0
        for ((at = 0; at < ${#1}; at++)); do
            printf -v char %d "'${1:at:1}"
            sum=$(((sum + char) % 256))
        done
        printf '+$%s#%02x' "$1" "$sum" >&"${QEMU[1]}"
        IFS= read -r -d '#' -t "$LIMIT" -u "${QEMU[0]}" reply
        reply=${reply##*\$}
    }
    lab_emulator "$1" qemu
    coproc QEMU { exec timeout "$LIMIT" ./qemu -machine "virt,gic-version=3" -cpu neoverse-n1 -smp 2 -m 64 -no-user-config \
        -nodefaults -accel tcg,thread=single -icount shift=0,sleep=off -seed 1 -display none -monitor none -S -gdb stdio \
        -kernel "$WORK/stops" 3>&-; }
    ask "Z0,$(nm "$WORK/stops" | sed -n 's/^0*\(.*\) T stop$/\1/p'),4"
    [ "$reply" = OK ]
    ask c
    [[ $reply == T05* ]]
    ask Hg2
    ask p0
    kill "$QEMU_PID"
    # The bytes of x0, the least first.
    number=$(fold -w 2 <<<"$reply" | tac | tr -d '\n')
    echo $((16#$number))
}

@test "a breakpoint stops all CPUs at once, and does not without the cure" {
    local program=$LAB_STORE/sets/qemu/root/usr/bin/qemu-system-aarch64 count attempt
    is_cured_or_said aarch64 breakpoint-stops-one-arm || return 0
    count=$(count_at_stop "$program")
    echo "count: $count" >&2
    [ "$count" -gt 10000 ]
    for attempt in 1 2 3 4 5; do
        [ "$(count_at_stop "$program")" -eq "$count" ]
    done
    as_packaged breakpoint-stops-one-arm
    # How far the second CPU comes depends on the host: sometimes nowhere.
    for attempt in {1..30}; do
        [ "$(count_at_stop "$PWD/as-packaged")" -eq "$count" ] || return 0
    done
    false
}

# diverges ARCH FAULT MACHINE KERNEL PLACE: `lab diverge` names the halt at PLACE if the emulator of B has the fault and its
# main loop looks at the CPU then; without one of these two there is no difference.
diverges() {
    local program=$LAB_STORE/sets/qemu/root/usr/bin/qemu-system-$1 machine=$3 kernel=$4
    is_cured_or_said "$1" "$2" || return 0
    uncured "$program"
    lab_emulator "$program" busy
    lab_emulator "$PWD/uncured" alone
    lab_emulator "$PWD/uncured" faulty
    sed -i "1a export LD_PRELOAD='$(busy_loop)'" busy faulty
    ws lab diverge "$machine" "$machine" --kernel "$kernel" --other-qemu "$PWD/busy"
    once_of_five ws lab diverge "$machine" "$machine" --kernel "$kernel" --other-qemu "$PWD/alone"
    run -3 ws lab diverge "$machine" "$machine" --kernel "$kernel" --other-qemu "$PWD/faulty" --next 2
    [[ $output == *"instructions. The last one is $5."* ]]
    [[ $output =~ 'There a CPU halts. The clock skips '([0-9,]+)' ns in A, and '([0-9,]+)' ns in B.' ]]
    [ "${BASH_REMATCH[1]//,/}" -lt "${BASH_REMATCH[2]//,/}" ]
}

@test "x86: lab diverge names the halt that the fault makes longer" {
    local start halt
    read -r start _ < <(nm "$WORK/x86_64" | grep ' _start$')
    halt=$(objdump -d "$WORK/x86_64" | sed -n 's/^ *\([0-9a-f]*\):.*\thlt *$/\1/p' | head -n 1)
    diverges x86_64 idle-clock-jump native "$WORK/x86_64" "_start+$(printf '%#x' $((0x$halt - 0x$start))) (L0, guest)"
    [[ $output == *$'Then B:\n'*'L0 guest       handler'* ]]
}

@test "ARM: lab diverge finds the halt that the fault makes longer" {
    local start halt
    "$ROOT/tools/pinned/ld.lld" -Ttext=0x40080000 --image-base=0x40000000 --oformat=binary -o halts.flat "$WORK/a.o"
    # The loader puts a file without symbols at 512 KiB.
    read -r start _ < <(nm "$WORK/aarch64" | grep ' _start$')
    halt=$(llvm-objdump -d "$WORK/aarch64" | sed -n 's/^ *\([0-9a-f]*\):.*\twfi *$/\1/p' | head -n 1)
    halt=$((0x$halt - 0x$start + 0x40080000))
    diverges aarch64 idle-clock-jump-arm arm-native halts.flat \
        "unknown code at $(printf '%#x +%#x' $((halt & ~0xfff)) $((halt & 0xfff))) (L0)"
}
