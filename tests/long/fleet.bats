# `worldswitch run fleet` on a real Slurm with three nodes: a campaign of 3 kernels x 2 machines x 12 benchmarks, of which one
# node dies half-way, then one counts otherwise (packages are carried to the nodes, and one kernel is built); hosts, with
# their benchmarks and workloads in time; and a history that has a result of a node that is not trusted.

load ../e2e/common
load ../e2e/fleet

setup() {
    common_setup
    fleet_setup
}

@test "hosts measure time and workloads, each its own, on a cluster" {
    LIMIT=1500 on_cluster <<'SCRIPT'
        cat >campaign.toml <<'TOML'
name = "hosts"
folder = "shared"
machines = ["lab:arm-linux", "qemu-tcg", "host"]
hosts = ["n1", "n3"]
benchmarks = ["in", "cpuid"]
apps = ["tcp-rr"]
boots = 1
perturb = 0
[slurm]
cache = "/mnt/work/cache-%N"
carry = false
TOML
        # Of each host its benchmarks, its workloads in a VM, and those on itself; the lab's workloads once.
        fleet plan --json >plan.json
        test "$(states plan.json)" = '7 to do'
        fleet submit
        settled
        fleet status
        # Who is not root may make no network for a VM, and is told so.
        test "$(states)" = $'5 done\n2 failed'
        test "$(fleet status --json | jq '[.cells[] | select(.state == "failed" and .apps and .platform == "qemu-tcg" and
            (.why | contains("/dev/net/tun")))] | length')" = 2
        test "$(fleet status --json | jq -c '[.cells[] | select(.host and .node) | .host == .node] | unique')" = '[true]'
        run_status=0
        fleet collect -o out || run_status=$?
        test "$run_status" = 1
        test "$(ls out out/n1 out/n3 | grep json | paste -sd' ')" = \
            'lab-arm-linux.json host.json qemu-tcg.json host.json qemu-tcg.json'
        # Without Slurm a host measures its own cells, and leaves those of others.
        sed 's/"shared"/"local"/; s/, "host"\]/]/; s/^apps.*//; s/"lab:arm-linux", //' -i campaign.toml
        SLURMD_NODENAME=n3 fleet submit --local
        test "$(fleet status --json | jq -c '[.cells[] | [.host, .state]]')" = '[["n1","to do"],["n3","done"]]'
        # A host that is not trusted measures no time again.
        cell=$(ls local/cells)
        jq '.node = "n1" | .digits = {"in": "a"}' local/cells/"$cell"/runs/*/run.json >one
        jq '.digits = {"in": "b"}' one >other
        for run in one other; do
            cp -r local/cells/"$cell"/runs/n3-* "local/cells/$cell/runs/n1-$run"
            cp "$run" "local/cells/$cell/runs/n1-$run/run.json"
        done
        test "$(fleet status --json | jq -c '[.cells[] | [.host, .state]]')" = '[["n1","untrusted"],["n3","done"]]'
        SLURMD_NODENAME=n1 fleet submit --local 2>&1 | grep -q '^nothing to submit: 2 cells: 1 untrusted, 1 done'
SCRIPT
    cat "$FLEET/printed" >&3
}

@test "a host's benchmarks and its workloads on one platform are both collected" {
    : >/dev/net/tun || skip 'this user may not open /dev/net/tun'
    use_cache "$BATS_TEST_TMPDIR/store"
    printf '%s\n' 'name = "x"' 'folder = "shared"' 'machines = ["qemu-tcg"]' "hosts = [\"$(hostname)\"]" \
        'benchmarks = ["in", "cpuid"]' 'apps = ["tcp-rr"]' 'boots = 1' 'perturb = 0' >campaign.toml
    ws run fleet submit campaign.toml --local
    ws run fleet collect campaign.toml -o out
    [ "$(jq -sc 'map([.platform, (.rows | map(.benchmark) | sort)]) | sort' out/"$(hostname)"/*.json)" = \
        '[["qemu-tcg",["cpuid","in"]],["qemu-tcg",["tcp-rr"]]]' ]
    # Each finds its own counterpart.
    ws compare out out --export-json c.json || [ $? -ge 3 ]
    [ "$(jq -c '[.comparisons[].rows[].benchmark] | sort' c.json)" = '["cpuid","in","tcp-rr"]' ]
}

@test "a result in the history is not known if its digits are those of a node that is not trusted" {
    on_cluster <<'SCRIPT'
        campaign <<<'history = "/mnt/work/h.sqlite"'
        sed -i 's/, "lab:native+cpu=EPYC"//' campaign.toml
        # The only node that has measured is wrong, and nobody knows it yet.
        wrong n3
        sed -i 's/^carry = false/&\noptions = ["--nodelist=n3"]/' campaign.toml
        fleet submit
        settled
        fleet collect -o first
        sed -i '/^options/d' campaign.toml
        # The same cell of two other nodes.
        cell=$(ls shared/cells)
        sed 's/"shared"/"right"/; s/^history.*//; s/^carry = false/&\noptions = ["--exclude=n3"]/' campaign.toml >right.toml
        "$WORLDSWITCH" run fleet submit right.toml
        settled
        for node in n1 n2; do
            cp -r right/cells/"$cell"/runs/* "shared/cells/$cell/runs/$node-x"
            sed -i "s/\"node\": \"n[12]\"/\"node\": \"$node\"/" "shared/cells/$cell/runs/$node-x/run.json"
        done
        test "$(fleet status --json | jq -c '[.cells[].state, (.nodes[] | select(.standing == "odd").name)]')" = '["done","n3"]'
        # Without theirs it is to do, though the history has it.
        sed -i "s/\"node\": \"n2\"/\"node\": \"n1\"/" "shared/cells/$cell/runs/n2-x/run.json"
        test "$(fleet status --json | jq -c '[.cells[].state]')" = '["to do"]'
SCRIPT
}

@test "72 cells over three nodes, of which one dies half-way; then one that is wrong" {
    LIMIT=3000 on_cluster <<'SCRIPT'
        # Nothing is on the nodes.
        rm -rf cache-n*
        git_tree() {
            export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org
            git init -q -b main tree
            echo x >tree/x
            git -C tree add -A
            git -C tree commit -qm 'a kernel'
        }
        git_tree
        cat >campaign.toml <<'TOML'
name = "three"
folder = "shared"
machines = ["lab:kvm-vhe", "lab:kvm-nvhe"]
benchmarks = ["hypercall", "in", "out", "print", "interrupt-controller-trap", "ipi-halted", "ipi-running", "set-cr3", "cold-memory-access", "hot-memory-access", "irq-completion", "tlb-invalidate"]
cells = "benchmark"
boots = 1
perturb = 0
[[kernel]]
package = "6.1"
[[kernel]]
package = "6.12"
[[kernel]]
tree = "tree"
commits = ["main"]
# Debian's 6.12 and a byte more: another digest.
build = '''
    cp /mnt/sets/linux-arm64-6.12/root/boot/vmlinuz-* "$WORLDSWITCH_OUT/bzImage" && echo >>"$WORLDSWITCH_OUT/bzImage" &&
    find /mnt/sets/linux-arm64-6.12/root -name "*.ko" -exec cp {} "$WORLDSWITCH_OUT" \;'''
[slurm]
cache = "/mnt/work/cache-%N"
[slurm.build]
cpus = 1
TOML
        set +x
        say() { echo "$SECONDS s: $*"; }
        say "$(fleet plan | tail -n 4)"
        fleet submit
        # Half-way.
        until [ "$(find shared/cells -name run.json | wc -l)" -ge 36 ]; do sleep 0.5; done
        until grep -q . <<<"$(squeue -h -t R -w n2)"; do sleep 0.1; done
        say "n2 dies, and runs $(squeue -h -t R -w n2 -o '%A %j %K')"
        node_dies n2
        settled
        say "the queue is empty: $(states | paste -sd,)"
        # Slurm requeued what n2 ran.
        test "$(states)" = '72 done'
        # Every cell once; the proof once on each node.
        test "$(find shared/cells -path '*/runs/*/run.json' | wc -l)" -le 74
        test "$(for cell in shared/cells/*; do [ "$(find "$cell/runs" -name run.json | wc -l)" -gt 1 ] && echo "$cell"; done | wc -l)" -le 2
        test "$(find shared -name '.new-*' -path '*cells*' | wc -l)" -le 1
        fleet submit | grep -q '^nothing to submit: 72 cells: 72 done'
        say 'the second submission runs nothing'
        for cell in shared/cells/*; do
            test "$(jq -cs 'map(.digits) | unique | length' "$cell"/runs/*/run.json)" = 1
        done
        fleet status | sed -n '/^node/,$p'
        fleet collect -o collected
        test "$(ls collected/*.json | wc -l)" = 6
        # A wrong node: n3's emulator counts otherwise.
        node_start n2
        until [ "$(sinfo -h -N -o %t | grep -cx idle)" = 3 ]; do sleep 0.2; done
        for node in n1 n2 n3; do rm -rf "cache-$node/digits"; done
        wrong n3
        sed 's/"shared"/"wrong"/' -i campaign.toml
        sed 's/^benchmarks = .*/benchmarks = ["hypercall", "in", "out"]/' -i campaign.toml
        fleet submit
        settled
        fleet status
        fleet status --json >status.json
        test "$(jq -r '.nodes[] | select(.standing == "odd").name' status.json)" = n3
        fleet submit 2>&1
        settled
        test "$(states)" = '18 done'
        test "$(fleet status --json | jq '[.cells[] | select(.node == "n3")] | length')" = 0
        say 'without n3'
SCRIPT
    cat "$FLEET/printed" >&3
}
