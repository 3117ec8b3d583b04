# `worldswitch history`: results are added, listed, plotted, pinned and removed.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

setup_file() {
    export RUN=$BATS_FILE_TMPDIR/run
    ws run --on lab:native --boots 1 --bench '^(in|set-cr3|print)$' -o "$RUN"
    # The same run on later days, on two kernels, with more instructions.
    local day
    for day in 1 2 3; do
        mkdir -p "$RUN-$day"
        jq --argjson day "$day" '.created = "2031-01-0\($day)T00:00:00Z" | .platform = "lab:kvm"
            | .identity.subject.kernel = (if $day == 1 then "6.9" else "6.12" end)
            | .rows[].metrics[].boots[].run[] += 10 * $day' "$RUN/lab-native.json" >"$RUN-$day/lab-kvm.json"
    done
}

setup() {
    common_setup
    export XDG_DATA_HOME=$BATS_TEST_TMPDIR/data
}

@test "an added run is listed, shown and kept once, in the user's data directory" {
    run --separate-stderr ws history list
    [ "$status" -eq 1 ]
    [[ "$stderr" = *"there is no history in $XDG_DATA_HOME/worldswitch/history.sqlite yet: create it with history add" ]]
    [ ! -e "$XDG_DATA_HOME" ]
    run --separate-stderr ws history add "$RUN" "$RUN-1"
    [ "$status" -eq 0 ]
    [[ "$stderr" = *'lab:kvm of 2031-01-01T00:00:00Z is run 2' ]]
    run --separate-stderr ws history add "$RUN"
    [[ "$stderr" = *'was already there as run 1' ]]
    [ -s "$XDG_DATA_HOME/worldswitch/history.sqlite" ]
    ws history list --json | jq -e '.runs | map([.run, .platform, .kernel]) ==
        [[1, "lab:native", null], [2, "lab:kvm", "6.9"]]'
    ws history show 2 >shown.txt
    ws show "$RUN-1:lab:kvm" >file.txt
    cmp shown.txt file.txt
}

@test "a plot is by date, or by kernel in the order of versions" {
    ws history --store here.sqlite add "$RUN-3" "$RUN-1" "$RUN-2"
    ws history plot in --store here.sqlite >by-date.txt
    [ "$(awk 'NR > 1 { print $1, $2, length($3) }' by-date.txt)" = '2031-01-01T00:00:00Z 11 14
2031-01-02T00:00:00Z 21 27
2031-01-03T00:00:00Z 31 40' ]
    ws history plot in --by kernel --store here.sqlite >by-kernel.txt
    [ "$(awk 'NR > 1 { print $1, $2 }' by-kernel.txt)" = '6.9 11
6.12 26' ]
    ws history plot in --store here.sqlite --svg in.svg
    grep -q '^<svg xmlns=' in.svg
    [ "$(grep -o '<circle' in.svg | wc -l)" -eq 3 ]
}

@test "the page has the trends by kernel, in the order of versions" {
    # set-cr3 did not move.
    mkdir 6.1
    jq '.identity.subject.kernel = "6.1" | .created = "2031-02-01T00:00:00Z"
        | .rows |= map(if .benchmark == "set-cr3" then .metrics[].boots[].run[] += 10 else . end)' \
        "$RUN-1/lab-kvm.json" >6.1/lab-kvm.json
    jq '.rows |= map(if .benchmark == "set-cr3" then .metrics[].boots[].run[] -= 10 else . end)' \
        "$RUN-1/lab-kvm.json" >moved.json
    ws history --store here.sqlite add "$RUN" "$RUN-1"
    ws report --history --store here.sqlite -o page.html
    # One kernel has no trend.
    run ! grep -q 'Trends by kernel' page.html
    sed 's/"2031-01-01/"2031-01-05/; s/"6.9"/"6.12"/' moved.json >6.12.json
    ws history --store here.sqlite add 6.1 6.12.json
    ws report --history --store here.sqlite -o page.html
    grep -o 'Trends by kernel.*</section>' page.html | sed 's/<\/section>.*//' >trends.txt
    cat trends.txt
    grep -q 'lab:kvm, insns, 3 kernels from 6.1 to 6.12: 1 moved, 2 did not' trends.txt
    grep -q '<th scope="row">set-cr3</th><td><svg' trends.txt
    grep -q -e '-10 from 6.1 to 6.9 (runs 3 and 2)' trends.txt
    [ "$(grep -o '<circle' trends.txt | wc -l)" -eq 3 ]
}

@test "two platforms never share an axis" {
    ws history --store here.sqlite add "$RUN" "$RUN-1"
    [ "$(ws history plot in --store here.sqlite | grep -c ' on lab:')" -eq 2 ]
    run --separate-stderr ws history plot in --store here.sqlite --svg in.svg
    [ "$status" -eq 2 ]
    [[ "$stderr" = *'lab:kvm in insns, lab:native in insns: choose one with --platform, and in time also --host' ]]
    [ ! -e in.svg ]
    ws history plot in --store here.sqlite --svg in.svg --platform lab:kvm
    [ -s in.svg ]
}

@test "a run can be pinned, and a platform has one pin" {
    ws history --store here.sqlite add "$RUN-1" "$RUN-2"
    ws history pin 1 --store here.sqlite
    ws history pin 2 --store here.sqlite
    ws history list --store here.sqlite --json | jq -e '.runs | map(.pinned) == [false, true]'
    ws history remove 2 --store here.sqlite
    ws history list --store here.sqlite --json | jq -e '.runs | map(.run) == [1]'
}

@test "a host that gives other digits, or with another governor, is named" {
    local host
    for host in n1 n2 n3 n4; do
        mkdir "$host"
        # n3's lab is broken. On time its governor is bad.
        jq --arg host "$host" '.identity.subject.host = $host
            | if $host == "n3" then .rows[0].metrics[0].boots[0].run[5] += 1 else . end' \
            "$RUN/lab-native.json" >"$host/lab-native.json"
        jq --arg host "$host" '.platform = "kvm" | .identity.subject.host = $host | .identity.conditions.unit = "tsc_ticks"
            | .boots = [range(16) as $boot | .boots[0] | .boot = $boot + 1]
            | .disturbances = (if $host == "n3" then [{id: "processor.governor", severity: "warning", title: "",
                found: "powersave", why: ""}] else [] end)
            | .rows = [range(8) as $row | .rows[0] | .benchmark = "row-\($row)" | .exact = null
                | .metrics = [.metrics[0] | .unit = "tsc_ticks"
                    | .boots = [range(16) as $boot | .boots[0] | .boot = $boot + 1 | .iterations = 1
                        | .control = [10, 10] | .run = ([1, 1] | map(. * (if $host == "n3" then 14000 else 10000 end)
                            * ($row + 1) + 7 * (($boot * 5 + $row) % 16)))]]]' "$RUN/lab-native.json" >"$host/kvm.json"
    done
    ws history --store here.sqlite add n1 n2 n3 n4
    ws history hosts --store here.sqlite >hosts.txt
    cat hosts.txt
    grep -q '^kvm, tsc_ticks: 4 hosts, 1 differs from n[124], the one in the middle$' hosts.txt
    grep -q '^  n3  *differs  *+40.* %  *row-0, row-1, row-2 and 5 more  *processor.governor: powersave (most: -)$' hosts.txt
    grep -q '^lab:native, insns: 4 hosts, 1 differs from most$' hosts.txt
    [ "$(grep -c '^  n' hosts.txt)" -eq 2 ]
    ws history hosts --store here.sqlite --json |
        jq -e '.schema == "worldswitch-hosts/1" and ([.kinds[].hosts[] | select(.standing == "differs").host] == ["n3", "n3"])'
    # The old name is an alias, for one more release.
    ws history report --store here.sqlite -o page.html 2>note.txt
    # shellcheck disable=SC2016  # backquotes of a message
    grep -q 'is now `worldswitch report --history`' note.txt
    ws report n1 n2 n3 n4 -o pages.html
    for page in page.html pages.html; do
        grep -q 'lab:native, insns: 4 hosts, 1 differs from most' "$page"
        grep -q 'processor.governor: powersave' "$page"
    done
    # compare takes folders of hosts, as fleet collect writes them: each host is compared with itself.
    mkdir before
    cp -r n1 n2 n3 n4 before
    cp -r before after
    jq '.rows[].metrics[].boots[].run |= map(. * 3 / 2 | floor)' before/n2/kvm.json >after/n2/kvm.json
    rm after/n4/kvm.json
    run --separate-stderr ws compare before after --export-json c.json
    [ "$status" -eq 3 ]
    cat <<<"$output"
    [[ "$stderr" = *'kvm of n4 is in the base only'* ]]
    grep -q '^kvm, tsc_ticks: 3 hosts, each against its own base$' <<<"$output"
    grep -q '^lab:native, insns: 4 hosts, each against its own base$' <<<"$output"
    grep -q '^  row-0  *1.000x  *1.000x  *1.50[0-9]x  *n2  *2  *0$' <<<"$output"
    grep -q '^kvm, tsc_ticks: 3 hosts, 1 differs from n[12], the one in the middle$' <<<"$output"
    [[ "$output" != *'kvm on n1 against kvm (base)'* ]]
    jq -e '([.over_hosts[] | select(.platform == "kvm").rows[].worse] | unique) == [["n2"]]
        and ([.comparisons[] | select(.other.platform == "kvm").thresholds.significance * 3] | unique) == [0.01]
        and ([.hosts.base[].hosts[] | select(.standing == "differs").host] | unique) == ["n3"]' c.json
    run ws compare before after --export-markdown c.md
    [ "$status" -eq 3 ]
    grep -q '^<details><summary>kvm on n2: ' c.md
    # What is the same file in the base is not judged again.
    for host in n1 n3; do
        jq '.created = "2026-12-01T00:00:00Z"' before/$host/kvm.json >after/$host/kvm.json
    done
    ws report after --base before -o based.html
    ws report after:kvm --base before/n1/kvm.json -o one.html
    for host in n1 n2 n3; do
        grep -q "aria-label=\"kvm on $host against that of [^:]*:..:..Z: all rows" based.html
        [ "$host" = n1 ] || grep -q "aria-label=\"kvm on $host against that of [^:]*:..:..Z on n1: all rows" one.html
    done
    # Of a platform in a folder of hosts each host has one.
    ws compare before:kvm before:kvm --export-json same.json
    jq -e '[.over_hosts[].hosts | length] == [4]' same.json
    # Each host has its own line and its own pin on time.
    ws history plot row-0 --store here.sqlite --platform kvm | grep -q '^row-0 on kvm on n2, tsc_ticks'
    run ws history hosts --store here.sqlite --platform nothing
    [ "$status" -eq 1 ]
    [[ "$output" = *'no run of "nothing" names the host that measured' ]]
}

@test "bad input is an error that says what to do" {
    ws history --store here.sqlite add "$RUN-1"
    run --separate-stderr ws history plot bogus --store here.sqlite
    [ "$status" -eq 2 ]
    [[ "$stderr" = *'no figure of "bogus"; there are in, print, set-cr3' ]]
    run --separate-stderr ws history show 77 --store here.sqlite
    [ "$status" -eq 1 ]
    [[ "$stderr" = *'there is no run 77 in the history: history list shows all runs' ]]
    echo 'something else, and long enough to be looked at' >foreign
    run --separate-stderr ws history add "$RUN-1" --store foreign
    [ "$status" -eq 1 ]
    [[ "$stderr" = *'foreign is not a history of worldswitch' ]]
    [ "$(cat foreign)" = 'something else, and long enough to be looked at' ]
    head -c 100 "$RUN-1/lab-kvm.json" >cut.json
    run --separate-stderr ws history add cut.json --store here.sqlite
    [ "$status" -eq 1 ]
    [[ "$stderr" = *'cut.json'*'EOF'* ]]
    run --separate-stderr ws history add "$RUN-1" --store /proc/x/here.sqlite
    [ "$status" -eq 1 ]
    [[ "$stderr" = *"can't make the folder for /proc/x/here.sqlite"* ]]
}
