# Verdicts and predictions on real results: A/A in the lab, a planted instruction, a nested VM against a VM, and
# a workload that the cost model was not made from. Most use the runs of table.bash; tests/long/lab.bats has verdicts
# on nested against shadow paging.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common
load table

setup_file() { table; }

setup() {
    common_setup
}

# compared ARGUMENT...: compares; sets $status, and writes table.txt and c.json.
compared() {
    status=0
    ws compare "$@" --export-json c.json >table.txt || status=$?
    cat table.txt
}

verdict() { jq -r ".comparisons[0].rows[] | select(.benchmark == \"$1\").verdict" c.json; }

@test "a second run of the same is no change, with identical counts" {
    ws run --on lab:native --guest "$BUILT/table-guest/guest.elf" -o again \
        --bench '^(sgdt|pushf-popf|in|cold-memory-access)$' >/dev/null 2>&1
    compared "$TABLE:lab:native" again --bench '^(sgdt|pushf-popf|in|cold-memory-access)$'
    [ "$status" -eq 0 ]
    [ "$(jq '[.comparisons[0].rows[] | select(.verdict == "no-change" and .counts.identical)] | length' c.json)" -eq 4 ]
}

@test "a single planted instruction is found and counted" {
    mkdir tree
    cp -r "$ROOT/common" "$ROOT/dom0" "$ROOT/guest" "$ROOT/tools" tree
    sed -i 's/\(#define OP_PORT_IN *"in %dx, %al\)"/\1\\n\\tnop"/' tree/guest/arch/x86_64/include/arch/timed.h
    grep -q 'OP_PORT_IN.*nop' tree/guest/arch/x86_64/include/arch/timed.h
    make -s -C tree/guest CC="$ROOT/tools/pinned/clang" OUT="$PWD/planted" >&2
    ws run --on lab:native --guest "$BUILT/table-guest/guest.elf" --bench '^(in|sgdt)$' -o base >/dev/null 2>&1
    ws run --on lab:native --guest planted/guest.elf --bench '^(in|sgdt)$' -o with >/dev/null 2>&1
    # The row's code differs, which is reported first.
    compared "$TABLE:lab:native" with --bench '^(in|sgdt)$'
    [ "$status" -eq 1 ]
    grep -q 'different digest' table.txt
    # Beside other rows an instruction can be theirs.
    compared "$TABLE:lab:native" with --bench '^(in|sgdt)$' --allow digest
    [ "$status" -eq 4 ]
    grep -q 'inconclusive *1 instruction more, or due to other benchmarks' table.txt
    compared base with --allow digest
    [ "$status" -eq 3 ]
    grep -q 'worse *1 instruction more' table.txt
    # As in a nightly job: the first run is pinned, the next is compared with it and gives the same table.
    ws history --store h.sqlite add --pin-first base 2>/dev/null
    ws history --store h.sqlite check --allow-first --allow digest
    ws history --store h.sqlite add with 2>/dev/null
    status=0
    ws history --store h.sqlite check --bench '^(in|sgdt)$' --allow digest >check.txt || status=$?
    [ "$status" -eq 3 ]
    diff table.txt check.txt
    [ "$(verdict sgdt)" = no-change ]
}

@test "a nested VM against a VM: rows that trap are worse, others no change" {
    ws run --on lab:neve,lab:neve-nested --boots 1 --perturb 1 -o nested \
        --bench '^(pushf-popf|hot-memory-access|hypercall|in)$' >&2
    compared nested:lab:neve nested:lab:neve-nested
    [ "$status" -eq 3 ]
    for row in hypercall in; do [ "$(verdict $row)" = worse ]; done
    for row in pushf-popf hot-memory-access; do [ "$(verdict $row)" = no-change ]; done
    grep -Eq '^in .* worse +[0-9]+ instructions more' table.txt
}

@test "the cost model predicts a workload that it was not made from within 2 %" {
    ws show "$TABLE" --native "$TABLE:lab:native" --export-json m.json \
        --events "$ROOT/docs/examples/mixed.toml" >/dev/null
    local platform predicted measured
    for platform in kvm kvm-shadow; do
        predicted=$(jq ".models[] | select(.model.platform == \"lab:$platform\").prediction.total" m.json)
        # The mean cost of a pass, over all samples of the first boot.
        measured=$(jq '.rows[] | select(.benchmark == "mixed").metrics[0].boots[0] | . as $b |
            [range(.run | length) | ($b.run[.] - $b.control[.]) / $b.iterations] | add / length' \
            "$TABLE/lab-$platform.json")
        echo "lab:$platform: predicted $predicted, measured $measured"
        jq -en "($predicted / $measured - 1) | fabs < 0.02"
        # It is not one of the rows that the model was made from.
        [ "$(jq "[.models[].model.rows[] | select(.benchmark == \"mixed\")] | length" m.json)" -eq 0 ]
    done
}

@test "the page of that run has the three platforms, their verdicts and the model" {
    local platform total file
    mkdir older
    for file in "$TABLE"/*.json; do
        jq '.created = "2000-01-01T00:00:00Z" | if .platform == "lab:native" then
            (.rows[] | select(.benchmark == "print").metrics[] | select(.name == "cost").boots[].run) |= map(. - 20)
            else . end' "$file" >"older/${file##*/}"
    done
    ws report "$TABLE" --base older -o page.html --events "$ROOT/docs/examples/mixed.toml"
    grep -q '<h3>lab:native: 1 worse, ' page.html
    grep -q 'most of all print in lab:native' page.html
    grep -Eq 'print</th><td class="verdict worse">worse</td>' page.html
    grep -Eq 'sgdt</th><td class="verdict same">no change</td>' page.html
    grep -q 'mixed.toml: what virtualization adds, by term, insns' page.html
    for platform in lab:native lab:kvm lab:kvm-shadow; do
        grep -q "<th scope=\"colgroup\"[^>]*>$platform" page.html
    done
    ws show "$TABLE" --native "$TABLE:lab:native" --export-json m.json \
        --events "$ROOT/docs/examples/mixed.toml" >/dev/null
    for total in $(jq '.models[].prediction.total | round' m.json); do
        grep -q "<b>$(sed ':a;s/\B[0-9]\{3\}\>/,&/;ta' <<<"$total")</b>" page.html
    done
    # The recipes' note on KVM machines, which lab:native does not have.
    # One line, unless each says that its emulator is not cured of a fault, which names the machine.
    grep -Eq 'lab:kvm(, lab:kvm-shadow)?: QEMU.*NRIPS' page.html
    ws report "$TABLE:lab:native" -o native.html
    run ! grep -q NRIPS native.html
}

@test "a cut, foreign or older result is refused by every command, with the field" {
    local file=$TABLE/lab-native.json bad
    head -c "$(($(stat -c %s "$file") / 2))" "$file" >cut.json
    jq '.boots[0].launches[0].vcpus = "x"' "$file" >foreign.json
    jq '.schema = "worldswitch-result/0"' "$file" >older.json
    for bad in 'cut.json rows\[[0-9]+\]' 'foreign.json boots\[0\].launches\[0\].vcpus' 'older.json schema .worldswitch-result/0'; do
        local name=${bad%% *} command
        for command in "compare $file $name" "show $name" "report $name -o x.html" "model $name --native $file" \
            "history --store h.sqlite add $name"; do
            # shellcheck disable=SC2086 # words
            run --separate-stderr ws $command
            [ "$status" -eq 1 ]
            grep -Eq "${bad#* }" <<<"$stderr"
        done
    done
    [ ! -e x.html ]
}
