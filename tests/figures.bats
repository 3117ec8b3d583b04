# tests/figures compares tables of the book with what their commands print, here of a command that measures nothing.

# Backquotes are those of Markdown.
# shellcheck disable=SC2016,SC2119,SC2120

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    # `run` and `run apps` note their words. `show` has two benchmarks, of the platform that was measured.
    cat >worldswitch <<'END'
#!/bin/bash
case $1 in
lab) jq -n '{sets: [{name: "clang-19", state: env.STATE}]}' ;;
show)
    on=$(jq -r .on "$2/lab.json")
    jq -n --arg on "$on" '{columns: [{platform: $on}], rows: [
        {benchmark: "in", cells: [{status: "ok", value: 3438}]},
        {benchmark: "out", cells: [{status: "ok", value: (if $on == "lab:kvm" then 12345678 else 7 end)}]},
        {benchmark: "lost", cells: [{status: "died", value: null}]}]}'
    ;;
*)
    echo "$*" >>"$CALLS"
    while [ "$1" != --on ]; do shift; done
    on=$2
    while [ "$1" != -o ]; do shift; done
    # Results have the platform, and whether its packages are pinned.
    mkdir -p "$2"
    jq -n --arg on "$on" '{on: $on, identity: {subject: {packages_pinned: (env.PINNED == "true")}}}' >"$2/lab.json"
    printf 'workload unit insns\nin 3,438\n\nworkload unit step\nrecv 12\n\nlegend\n'
    ;;
esac
END
    chmod +x worldswitch
    export WORLDSWITCH=$PWD/worldswitch CALLS=$PWD/calls FIGURES=$PWD/kept PINNED=true STATE=fetched
}

# page: a page of the book, from the input.
page() { cat >page.md; }

figures() { "$BATS_TEST_DIRNAME/figures" "$@" "$PWD/page.md"; }

good() {
    page <<'END'
Text with 1 figure.

<!-- figures: worldswitch run --on lab:kvm,lab:kvm+x=1 --bench '^(in|out)$' -->
| row | `kvm` (6.1) | [`+x=1`](x.md) | the paper |
|---|--:|--:|--:|
| [in](in.md) (a byte) | **3,438** | 3,438; once 9 | 12 |
| `in`, `out` | 3,438, 12,345,678 | 3,438, 7 | |
| device I/O (`out`) | | 7 | 5, 6, 7 |
| lost | skip | | |

`worldswitch list` and `worldswitch run --on lab:kvm,lab:kvm+x=1
--bench '^(in|out)$' -o here`:

<!-- figures -->
| | in | out | ratio |
|---|---|---|---|
| `lab:kvm` | 3,438 | 12345678 | 3.1 |
| the paper | | | 8,370 |
END
}

@test "figures that were measured, in tables of both kinds" {
    good
    run -0 figures
    [[ ${lines[-1]} = 'figures: 9 compared, 0 differences' ]]
    # Each platform of benchmarks is measured once, though two tables have it.
    [ "$(sort calls | cut -d ' ' -f 1-5)" = $'run --on lab:kvm --bench ^(in|out)$\nrun --on lab:kvm+x=1 --bench ^(in|out)$' ]
    cp page.md before
    run -0 figures --renew --kept
    cmp page.md before
}

@test "each figure that differs is said with its line, and renewed" {
    good
    cp page.md before
    sed -i -e '6s/3,438;/3,439;/' -e '7s/12,345,678/9/' -e '17s/12345678/1/' page.md
    run -1 figures
    [ "${#lines[@]}" -ge 4 ]
    [[ $output = *"page.md:6: in of lab:kvm+x=1: measured 3,438, the docs have 3,439"* ]]
    [[ $output = *"page.md:7: out of lab:kvm: measured 12,345,678, the docs have 9"* ]]
    [[ $output = *"page.md:17: out of lab:kvm: measured 12,345,678, the docs have 1"* ]]
    [[ ${lines[-1]} = 'figures: 9 compared, 3 differences' ]]
    run -1 figures --renew --kept
    sed -i '17s/12345678/12,345,678/' before
    diff before page.md
}

@test "what differs with other packages than the pinned ones is no failure, and not renewed" {
    good
    sed -i '6s/3,438;/3,439;/' page.md
    cp page.md before
    run -1 figures
    PINNED=false run -0 figures --renew
    [[ $output = *"in of lab:kvm+x=1: measured 3,438, the docs have 3,439"* && $output = *'lab/lock.toml does not pin: no failure'* ]]
    cmp page.md before
    STATE=other run -0 figures
    # What is there in other packages only can be missing here: a wrong name is a failure with all.
    sed -i 's/^| `in`, /| `inn`, /' page.md
    PINNED=false run -1 figures
}

@test "a table that can't be compared is no pass" {
    local change command
    good
    figures
    for change in '9s/skip/5/' '6s/\[in\]/[inn]/' '7s/12,345,678/1, 2/' '/^| row/s/`kvm`.*/a | b | c |/' '/^|/d' \
        '4s/`+x=1`/`+x=2`/' '3s/figures:/figure:/' '14s/$/ /' '6s/|$//' '4s/|$//' '7s/ 3,438, 7 / skip /' '6s/3,438/3.438/' \
        '4s/`+x=1`/`+1`/'; do
        good
        cp page.md before
        sed -i "$change" page.md
        run ! cmp -s before page.md
        run figures --kept
        echo "$change: $output"
        [ "$status" -eq 1 ]
    done
    echo 'Nothing of figures.' >page.md
    run -2 figures
    : >calls
    for command in 'rm -rf /' 'worldswitch run io --on lab:kvm' \
        'worldswitch run place --on lab:kvm' 'worldswitch run fleet --on lab:kvm'; do
        page <<<"<!-- figures: $command -->"
        run -2 figures
        [[ $output = *"only run, run apps and run nested can be measured, not $command"* ]]
        [ ! -s calls ]
    done
    good
    echo 'exit 1' >worldswitch
    run -2 figures
}

@test "what a command prints, the part that begins as the block does" {
    blocks() {
        printf '%s\n' '<!-- figures: worldswitch run apps --on lab:linux -->' '```' 'workload unit insns' 'in 3,438' '```' \
            '<!-- figures: worldswitch run apps --on lab:linux -->' '```' 'workload unit step' "recv $1" '```' >page.md
    }
    blocks 12
    run -0 figures
    [[ ${lines[-1]} = 'figures: 4 compared, 0 differences' ]]
    blocks 13
    cp page.md before
    PINNED=false run -0 figures --renew
    [[ $output = *'lab/lock.toml does not pin: no failure'* ]]
    cmp page.md before
    run -1 figures
    [[ $output = *'page.md:9: the command prints: recv 12'* ]]
    # Without a first line that the command prints it is the first part.
    sed -i '8d;3d' page.md
    run -1 figures
    run -1 figures --renew --kept
    [ "$(sed -n 3,4p page.md)" = $'workload unit insns\nin 3,438' ]
    [ "$(sed -n 8,9p page.md)" = $'workload unit insns\nin 3,438' ]
}

@test "applications, and nested VMs, are measured by one command for all platforms" {
    local kind
    for kind in apps nested; do
        : >calls
        printf '%s\n' "<!-- figures: worldswitch run $kind --on lab:kvm,lab:linux -->" '```' 'workload unit insns' \
            'in 3,438' '```' >page.md
        run -0 figures
        [ "$(cut -d ' ' -f 1-4 calls)" = "run $kind --on lab:kvm,lab:linux" ]
    done
}

@test "the command of a comment is the last one in the text above" {
    page <<'END'
`worldswitch run --on lab:a` and `worldswitch show x`

```
worldswitch run --on lab:b,\
lab:e --bench '^(in|out)$' \
    --boots 1 -o x    # three lines
worldswitch compare x y
```

<!-- figures -->
Then `worldswitch run apps --on
lab:c -o y`, not `worldswitch run io` or `worldswitch run fleet plan x.toml`.

  <!-- figures -->
<!-- figures: worldswitch run --on lab:d -->
END
    run -0 figures --list
    [ "${lines[0]}" = "$PWD/page.md"$'\t10\tworldswitch run --on lab:b,lab:e --bench \'^(in|out)$\' --boots 1' ]
    [ "${lines[1]}" = "$PWD/page.md"$'\t14\tworldswitch run apps --on lab:c' ]
    [ "${lines[2]}" = "$PWD/page.md"$'\t15\tworldswitch run --on lab:d' ]
}

@test "a sample is one platform that the table names" {
    local text
    good
    # The table has no column of lab:native.
    sed -i 's/--on lab:kvm,/--on lab:native,lab:kvm,/' page.md
    for text in a b c d; do
        : >calls
        run -0 figures --sample "$text"
        [ "$(cut -d ' ' -f 3 calls)" = lab:kvm ]
    done
    sed -i 's/12345678/1/' page.md
    # The wrong figure is in the second table, which some samples are of.
    for text in {a..z}; do
        run figures --sample "$text"
        [ "$status" -eq 0 ] || break
    done
    [ "$status" -eq 1 ]
}
