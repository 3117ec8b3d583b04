# shellcheck shell=sh
# What the workloads of `worldswitch run place` have in common, on the host and in its VM: they read it (`.`).

# here CPUS: this shell, and what it starts from now on, on these CPUs.
here() { busybox taskset -pc "$1" $$ >/dev/null; }

# vm NUMBER CPUS OTHERS: a VM's CPUs on CPUS, all other threads of its program on OTHERS. Threads end at any time.
vm() {
    read -r pid <"/run/vm$1.pid" || return
    for task in "/proc/$pid/task/"*; do
        cpus=$3
        read -r name <"$task/comm" || continue
        case $name in CPU*) cpus=$2 ;; esac
        busybox taskset -pc "$cpus" "${task##*/}" >/dev/null || [ ! -e "$task" ] || return
    done
}

# answers ADDRESS: waits until a netserver does.
answers() {
    timeout 120 sh -c "until netperf -4 -H $1 -l -1 >/dev/null 2>&1; do sleep 0.1; done" && return
    echo "nothing answers at $1: $(tail -qn 2 /run/second-vm.log /run/server0.out 2>/dev/null | tr '\n' ' ')"
    return 1
}

# serve CPUS: a netserver.
serve() {
    (busybox taskset -c "$1" netserver -D -4 >/dev/null 2>&1 &)
    answers 127.0.0.1
}

# again COMMAND: a work again and again.
again() { (while :; do eval "$1" || sleep 0.1; done >/dev/null 2>&1 &); }

# read_disk FILE MIB TIMES INVALIDATE: fio reads it whole so often, and as the last line says how long that took by its
# own clock, without its start. INVALIDATE 1: each time after nothing of it is in memory any more.
read_disk() {
    fio --name=place --filename="$1" --rw=read --bs=2M --size="$2M" --loops="$3" --invalidate="$4" --direct=0 \
        --ioengine=psync --thread --output-format=terse --terse-version=3 --output=/tmp/fio || return
    busybox awk -F ';' -v kib="$(($2 * $3 * 1024))" '
        $1 == 3 && $3 == "place" && $5 == 0 && $6 == kib && $9 ~ /^[1-9][0-9]*$/ { took = $9; good++ }
        END {
            if (NR != 1 || good != 1) { print "fio did not say what it read: " $0; exit 1 }
            print "read " kib " KiB"
            print "took " took "000000 ns"
        }' /tmp/fio
}
