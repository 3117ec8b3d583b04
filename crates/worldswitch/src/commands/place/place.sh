# shellcheck shell=sh
# What the workloads of `worldswitch place` have in common, on the host and in its VM: they read it (`.`).

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

# cached FILE TIMES: reads it whole so often.
cached() {
    i=0
    while [ "$i" -lt "$2" ]; do
        dd if="$1" of=/dev/null bs=2M || return
        i=$((i + 1))
    done
}

# buffered FILE TIMES: each time after nothing of it is in memory any more.
buffered() {
    j=0
    while [ "$j" -lt "$2" ]; do
        dd if="$1" iflag=nocache count=0 2>/dev/null && cached "$1" 1 || return
        j=$((j + 1))
    done
}
