# worldswitch run fleet on a real Slurm: a controller and three nodes on this host, which end with each test
# (tests/cluster). Cells are small: machines without a hypervisor, and few samples. make test-long has kernels, a
# node that dies, and packages that are carried.
# bats file_tags=live

load common
load fleet

setup() {
    common_setup
    fleet_setup
}

teardown() {
    [ -z "${POSTGRES_PID-}" ] || stop_postgres
    [ -z "${ELSEWHERE-}" ] || rm -rf "$ELSEWHERE"
}

@test "every cell is measured once, a task that was killed again, and then nothing" {
    on_cluster <<'SCRIPT'
        campaign <<<'cells = "benchmark"'
        fleet plan --json >plan.json
        test "$(states plan.json)" = '6 to do'
        # On n2 the first machine hangs, until its task is killed.
        hang_on n2
        fleet submit
        until [ -e hung ]; do sleep 0.1; done
        ended_but 1
        test "$(states)" = $'5 done\n1 running'
        kill -KILL "$(cat hung)"
        settled
        # It was no failure of the cell's.
        test "$(states)" = $'5 done\n1 to do'
        unhang
        fleet submit >submit.txt
        grep -q 'submitted 1 of 6 cells; 5 known' submit.txt
        settled
        test "$(states)" = '6 done'
        fleet submit | grep -q '^nothing to submit: 6 cells: 6 done$'
        # One run of each cell; of the proof one of each node that had a task, all with the same digits.
        for cell in shared/cells/*; do
            runs=("$cell"/runs/*)
            case ${#runs[@]} in
                1) ;;
                *) test "$(jq -rs '[.[].node] | unique | length' "$cell"/runs/*/run.json)" = "${#runs[@]}"
                   test "$(jq -cs 'map(.digits) | unique | length' "$cell"/runs/*/run.json)" = 1
                   proof=${#runs[@]} ;;
            esac
        done
        test "$proof" -ge 2
        # What a killed task left of a cell is gone; of a proof it goes with the node's next one.
        test -z "$(find shared/cells -name '.new-*' ! -name '.new-of-*')"
        # One result a machine, with all its benchmarks.
        fleet collect -o out
        test "$(jq '.rows | length' out/lab-native.json)" = 3
        test "$(jq '[.boots[].launches | length] | unique' -c out/lab-native.json)" = '[3]'
        $WORLDSWITCH show out | grep -q set-cr3
SCRIPT
}

@test "a node that counts otherwise is named, and what it measured is set apart" {
    on_cluster <<'SCRIPT'
        campaign <<<'cells = "benchmark"'
        wrong n3
        fleet submit
        settled
        fleet status --json >status.json
        test "$(jq -r '.nodes[] | select(.standing != "trusted").name' status.json)" = n3
        jq -r '.nodes[] | select(.name == "n3").why' status.json | grep -q 'it gives other counts than n1, n2: .* of lab:native'
        run_status=0
        fleet collect -o first 2>collect.txt || run_status=$?
        # Unless the others had measured everything before n3 was known to be wrong.
        test "$run_status" = 1
        grep -q 'node n3 is not trusted' collect.txt
        test -z "$(find shared/cells -path '*/runs/n3-*')"
        test -n "$(find shared/cells -path '*/apart/n3-*')"
        # The rest goes to the others.
        fleet submit 2>&1 | grep -q 'known'
        settled
        test "$(states)" = '6 done'
        test "$(fleet status --json | jq -r '[.cells[].node] | unique | index("n3")')" = null
        # Once it is repaired, it is a node as others.
        right n3
        fleet submit --repaired n3 | grep -q '^nothing to submit'
        test "$(fleet status --json | jq '[.nodes[] | select(.standing != "trusted")] | length')" = 0
        fleet collect -o second
SCRIPT
}

@test "two submit the same at once, and one cancels in the middle" {
    on_cluster <<'SCRIPT'
        campaign <<<'proof = false'
        hang_on n1 n2 n3
        fleet submit >one.txt & fleet submit >two.txt
        wait $!
        test "$(cat one.txt two.txt | grep -c '^submitted 2 of 2 cells')" = 1
        test "$(cat one.txt two.txt | grep -c '^nothing to submit: 2 cells: ')" = 1
        test "$(squeue -h -r | wc -l)" = 2
        until [ -e hung ]; do sleep 0.1; done
        fleet cancel | grep -q 'cancelled 2 tasks of ws-try-'
        settled
        test "$(states)" = '2 to do'
        test "$(find shared/cells -name run.json -o -name '.new-*' | wc -l)" = 0
        fleet cancel | grep -q '^nothing is queued'
        unhang
        fleet submit >again.txt
        settled
        test "$(states)" = '2 done'
SCRIPT
}

@test "a disk that is full loses nothing but the cell's time" {
    on_cluster <<'SCRIPT'
        campaign /mnt/small/shared <<<'proof = false'
        # It fills up while the machine runs, after the room for results was looked at.
        fill_on n1 n2 n3
        fleet submit
        settled
        test "$(states)" = '2 to do'
        nothing_half() { test -z "$(find /mnt/small/shared/cells -name run.json -o -name '.new-*')"; }
        nothing_half
        # Said before anything is submitted or measured.
        if fleet submit 2>said.txt; then exit 1; fi
        grep -q 'KiB left, and the results may take .* KiB: make room, and submit again' said.txt
        rm /mnt/small/fill
        fill_here
        if fleet submit --local 2>said.txt; then exit 1; fi
        grep -q 'lab:native .*No space left on device' said.txt
        nothing_half
        unhang
        rm /mnt/small/fill
        fleet submit --local
        test "$(states)" = '2 done'
SCRIPT
}

@test "kernels are built once by a job that cells wait for; the same bytes are measured once" {
    on_cluster <<'SCRIPT'
        make_tree
        cat >campaign.toml <<'TOML'
name = "kernels"
folder = "shared"
machines = ["lab:kvm-vhe"]
benchmarks = ["hypercall"]
boots = 1
perturb = 0
proof = false
[slurm]
cache = "/mnt/work/cache-%N"
carry = false
[slurm.build]
cpus = 1
[[kernel]]
tree = "tree"
commits = "start..main"
build = 'test "$(cat kernel)" != none && cp /mnt/sets/"$(cat kernel)"/root/boot/vmlinuz-* "$WORLDSWITCH_OUT/bzImage" && find /mnt/sets/"$(cat kernel)"/root -name "*.ko" -exec cp {} "$WORLDSWITCH_OUT" \;'
TOML
        fleet plan | grep -q '^3 kernels are not built yet'
        fleet submit | tee submit.txt
        grep -q 'build  *1$' submit.txt
        settled
        # The second commit has the first one's kernel, the third does not build.
        fleet status --json >status.json
        test "$(jq -c '[.kernels[].state]' status.json)" = '["built","built","failed"]'
        test "$(jq -c '[.cells[].state]' status.json)" = '["done","done","failed"]'
        jq -r '.cells[2].why' status.json | grep -q "its kernel can't be built: its build failed"
        test "$(find shared/cells -name run.json | wc -l)" = 1
        test "$(git -C tree worktree list | wc -l)" = 1
SCRIPT
}

@test "what a history has is known, in any folder" {
    use_cache "$BATS_TEST_TMPDIR/store"
    printf '%s\n' 'name = "x"' 'folder = "one"' 'machines = ["lab:native"]' 'benchmarks = ["in", "set-cr3"]' \
        'history = "h.sqlite"' 'boots = 1' 'perturb = 0' >campaign.toml
    ws run fleet submit campaign.toml --local
    run ws run fleet collect campaign.toml -o out
    [ "$status" -eq 0 ]
    [[ $output == *'1 results are new in the history'* ]]
    # Another folder, and fewer boots than the history has.
    sed -i 's/"one"/"two"/' campaign.toml
    [ "$(ws run fleet plan campaign.toml --json | jq -c '[.cells[] | [.state, .run]]')" = '[["known",1]]' ]
    run ws run fleet submit campaign.toml --local
    [[ $output == *'nothing to submit: 1 cell: 1 known'* ]]
    ws run fleet collect campaign.toml -o again
    cmp out/lab-native.json again/lab-native.json
    # More boots, other samples, or another selection are not known.
    for change in 's/boots = 1/boots = 2/' 's/"in", //' 's/^boots/samples = 5\n&/'; do
        sed "$change" campaign.toml >other.toml
        [ "$(ws run fleet plan other.toml --json | jq -r '.cells[0].state')" = 'to do' ]
    done
    # A file that is no history.
    echo x >h.sqlite
    run ws run fleet plan campaign.toml
    [ "$status" -eq 1 ]
    [[ $output == *"can't read known results from the campaign's history"* ]]
}

@test "what tasks post is in the database once, also if the network to it goes" {
    load postgres
    fetch_postgres
    # Not below bats' folder, which the server's user may not enter.
    FLEET=$(mktemp -d "${TMPDIR:-/tmp}/ws-fleet.XXXXXX")
    ELSEWHERE=$FLEET
    chmod 755 "$FLEET"
    make_postgres "$FLEET/pg"
    start_postgres "$FLEET/pg"
    sql "$FLEET/pg" postgres 'CREATE DATABASE lab' 'CREATE ROLE node LOGIN' 'CREATE ROLE reader LOGIN'
    local owner=postgresql://owner@127.0.0.1:$PGPORT/lab
    # The nodes have a network of their own: there the server is a socket in the shared folder.
    echo "export DB='postgresql://node@/lab?host=/mnt/work/pg/socket&port=$PGPORT'" >"$FLEET/db"
    # Whoever makes the tables owns them.
    mkdir empty
    example_result | jq '.created = "2020-01-01T00:00:00Z" | .platform = "lab:other"' >empty/x.json
    ws history add empty --db "$owner"
    ws history grant add node --db "$owner"
    ws history grant read reader --db "$owner"
    [ "$(id -u)" -ne 0 ] || chown nobody "$FLEET/pg"
    on_cluster <<'SCRIPT'
        . /mnt/work/db
        in_database() { "$WORLDSWITCH" history list --json --db "$DB" | jq -c '[.runs[].platform] - ["lab:other"] | sort'; }
        campaign <<TOML
history = "$DB"
post = true
proof = false
TOML
        cp campaign.toml all.toml
        sed 's/, "lab:native+cpu=EPYC"//' all.toml >campaign.toml
        fleet submit
        settled
        test "$(in_database)" = '["lab:native"]'
        # The network goes while the other machine runs.
        cp all.toml campaign.toml
        for node in n1 n2 n3; do
            loader "cache-$node" 'touch /mnt/work/began; until [ -e /mnt/work/go ]; do sleep 0.1; done'
        done
        fleet submit | grep -q 'submitted 1 of 2 cells; 1 known'
        until [ -e began ]; do sleep 0.1; done
        mv pg/socket pg/away
        touch go
        settled
        grep -q 'not in the history yet, collect adds it' shared/logs/*
        mv pg/away pg/socket
        test "$(in_database)" = '["lab:native"]'
        # Nothing was lost, and collect adds it; nothing twice.
        test "$(states)" = '2 done'
        fleet collect -o out 2>&1 | grep -q '1 results are new in the history'
        fleet collect -o out --force 2>&1 | grep -q '0 results are new in the history'
        test "$(in_database)" = '["lab:native","lab:native+cpu=EPYC"]'
        # Who may only read may plan: for any other folder all is known.
        sed 's/"shared"/"other"/; s/node@/reader@/; s/^post.*//' all.toml >campaign.toml
        test "$(fleet plan --json | jq -c '[.cells[].state]')" = '["known","known"]'
        fleet submit | grep -q '^nothing to submit: 2 cells: 2 known'
        # A node that its own proof finds wrong posts nothing, though nothing keeps it from measuring.
        sed 's/"shared"/"odd"/; s/^samples.*/samples = 5/; s/^proof.*//' all.toml >odd.toml
        sed 's/, "lab:native+cpu=EPYC"//; s/^post.*//; s/^history.*//' odd.toml >campaign.toml
        SLURMD_NODENAME=n1 fleet submit --local
        runs=$(echo odd/cells/*/runs)
        for node in n2 n3; do
            cp -r "$runs"/n1-* "$runs/$node-x"
            jq ".node = \"$node\" | .digits[] = \"other\"" "$runs"/n1-*/run.json >"$runs/$node-x/run.json"
        done
        rm -r "$runs"/n1-*
        cp odd.toml campaign.toml
        SLURMD_NODENAME=n4 fleet submit --local 2>&1 | tee said.txt
        grep -q 'n4 gives other counts than n2, n3: .* its results will be set apart' said.txt
        grep -q 'lab:native+cpu=EPYC .*: measured' said.txt
        test "$(in_database)" = '["lab:native","lab:native+cpu=EPYC"]'
SCRIPT
}

@test "what is wrong in a campaign is said before anything is submitted" {
    cat >bad.toml <<<$'name = "x"\nfolder = "f"\nmachines = ["lab:native"]\nbenchmarks = ["im"]'
    run ws run fleet plan bad.toml
    [ "$status" -eq 2 ]
    [[ $output == *'benchmarks: there is no benchmark im; did you mean in?'* ]]
    cat >bad.toml <<<$'name = "x"\nfolder = "f"\nmachines = ["lab:native"]\n[slurm]\ncpus = "two"'
    run ws run fleet submit bad.toml
    [ "$status" -eq 2 ]
    [[ $output == *'bad.toml: slurm.cpus: '* ]]
    cat >bad.toml <<<$'name = "x"\nfolder = "f"\nmachines = ["qemu-tcg"]'
    run ws run fleet submit bad.toml
    [ "$status" -eq 2 ]
    [[ $output == *'qemu-tcg: this platform measures time: name the nodes'* ]]
    # Where there is no Slurm.
    cat >good.toml <<<$'name = "x"\nfolder = "f"\nmachines = ["lab:native"]'
    PATH=/nonexistent run "$WORLDSWITCH" run fleet submit good.toml
    [ "$status" -eq 1 ]
    [[ $output == *'there is no sbatch here'*'--local'* ]]
}
