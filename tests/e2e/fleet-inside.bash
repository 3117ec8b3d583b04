# shellcheck shell=bash
# What the scripts of tests on a cluster may call; they run in /mnt/work, as tests/cluster says.

# What is in single quotes, other shells expand.
# shellcheck disable=SC2016

WORLDSWITCH=/mnt/tree/target/debug/worldswitch
# As tests/debian-13/jq, whose link leads to the user's own cache.
jq() {
    local root=/mnt/sets/debian-13/root
    "$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" "$root/usr/bin/jq" "$@"
}
# The nodes' own stores have the packages of this host.
for node in n1 n2 n3; do
    mkdir -p "cache-$node"
    ln -sfn /mnt/sets "cache-$node/sets"
done
mkdir -p "$HOME/.cache/worldswitch"
ln -sfn /mnt/sets "$HOME/.cache/worldswitch/sets"

# campaign [FOLDER]: a small campaign, with the lines of standard input.
campaign() {
    {
        cat
        cat <<TOML
name = "try"
folder = "${1:-shared}"
machines = ["lab:native", "lab:native+cpu=EPYC"]
benchmarks = ["in", "cpuid", "set-cr3"]
boots = 1
perturb = 0
samples = 4
[slurm]
cache = "/mnt/work/cache-%N"
carry = false
TOML
    } >campaign.toml
}

# fleet COMMAND [OPTION...]
fleet() {
    local what=$1
    shift
    "$WORLDSWITCH" run fleet "$what" campaign.toml "$@"
}

# states [FILE]: how many cells are in which state.
states() {
    local query='.cells | group_by(.state) | map("\(length) \(.[0].state)") | .[]'
    if [ $# -eq 0 ]; then fleet status --json | jq -r "$query"; else jq -r "$query" "$1"; fi
}

# ended_but N: waits until no more than N tasks are queued or running.
ended_but() {
    until [ "$(squeue -h -r | wc -l)" -le "$1" ]; do sleep 0.1; done
}
settled() { ended_but 0; }

# loader CACHE TEXT: in this cache, the shell script TEXT runs the emulator, as the loader of its package would.
loader() {
    local sets=$1/sets path=usr/lib64/ld-linux-x86-64.so.2
    rm -rf "$sets"
    mkdir -p "$sets/qemu/root/usr/lib64"
    ln -s /mnt/sets/* "$sets/" 2>/dev/null || true
    ln -s /mnt/sets/qemu/manifest.json "$sets/qemu/"
    ln -s /mnt/sets/qemu/root/usr/* "$sets/qemu/root/usr/" 2>/dev/null || true
    # It is also run without a kernel, to see what it is.
    printf '#!/bin/bash\nreal=(/mnt/sets/qemu/root/%s "$@")\n[[ " $* " != *" -kernel "* ]] || {\n%s\n}\nexec "${real[@]}"\n' "$path" "$2" \
        >"$sets/qemu/root/$path"
    chmod +x "$sets/qemu/root/$path"
}
# The first machine of these nodes hangs, or all of their machines if there are several; `hung` has its task's process.
hang_on() {
    for node; do
        loader "cache-$node" 'if [ -e /mnt/work/hang-all ] || { [ -e /mnt/work/hang ] && ! [ -e /mnt/work/hung ]; }; then
            echo $PPID >/mnt/work/hung
            exec sleep 1000
        fi'
    done
    touch hang
    [ $# -eq 1 ] || touch hang-all
}
# While a machine of these nodes runs, the disk of the shared folder fills up.
fill='! [ -e /mnt/work/hang ] || cat /dev/zero >/mnt/small/fill 2>/dev/null'
fill_on() {
    for node; do loader "cache-$node" "$fill"; done
    touch hang
}
fill_here() { loader "$HOME/.cache/worldswitch" "$fill"; }
unhang() { rm -f hang hung hang-all; }
# The emulator of this node takes two ticks for an instruction, as nobody can see from its files' digests.
wrong() { loader "cache-$1" 'real=("${real[@]//shift=0/shift=1}")'; }
right() {
    rm -rf "cache-$1"
    mkdir "cache-$1"
    ln -s /mnt/sets "cache-$1/sets"
}

# A node dies: its daemon, what runs its jobs (which would tell of their end), and the jobs.
node_dies() {
    local jobs process dead=("$(cat "$NODES/$1")") tasks=()
    jobs=$(squeue -h -t R -w "$1" -o %A | paste -sd'|')
    for process in /proc/[0-9]*; do
        if tr '\0' ' ' <"$process/cmdline" | grep -qE "slurmstepd(-wlm)?: \[(${jobs:-none})\."; then
            dead+=("${process#/proc/}")
        elif tr '\0' '\n' <"$process/environ" | grep -qx "SLURMD_NODENAME=$1"; then
            tasks+=("${process#/proc/}")
        fi
    done 2>/dev/null
    echo "dead: ${#dead[@]} of Slurm, ${#tasks[@]} of the job"
    kill -KILL "${dead[@]}" "${tasks[@]}"
}

# A tree of three commits: two with the same kernel, one without any.
make_tree() {
    export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org
    git init -q -b main tree
    local subject
    for subject in linux-arm64-6.1 linux-arm64-6.1 none; do
        echo "$subject" >tree/kernel
        echo x >>tree/log
        git -C tree add -A
        git -C tree commit -qm "with $subject"
        git -C tree tag start 2>/dev/null || true
    done
}
