# worldswitch test --budget: budgets of instructions.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

setup() { common_setup; }

# budget LINE...: a budget of lab:native in budget.toml.
budget() {
    printf '[budget."lab:native"]\n' >budget.toml
    printf '%s\n' "$@" >>budget.toml
}

check() { ws test --budget budget.toml -o "$OUT" --force "$@"; }

@test "rows within their budget pass, and no other rows are run" {
    budget 'set-cr3 = 1' 'in = 5'
    run --separate-stderr check
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == 'lab:native  set-cr3    1       1               0 left' ]]
    [[ ${lines[2]} == 'lab:native  in         5       1               4 left' ]]
    [ "$(result lab-native '[.rows[].benchmark] | join(" ")')" = 'set-cr3 in' ]
    [ "$(result lab-native '.boots | length')" -eq 2 ]
}

@test "rows over their budget are listed, with exit code 3" {
    budget 'set-cr3 = 1' 'in = 0'
    run --separate-stderr check
    [ "$status" -eq 3 ]
    [[ $output == *'in         0       1               1 OVER'* ]]
    run --separate-stderr check --json --perturb 1
    [ "$status" -eq 3 ]
    jq -e '[.rows[] | [.benchmark, .verdict, .left]] == [["set-cr3", "within", 0], ["in", "over", -1]]' <<<"$output"
}

@test "the CI job of the examples: exit code 0 or 3, and a summary in Markdown" {
    mkdir -p .github/workflows worldswitch/target/debug
    ln -s "$WORLDSWITCH" worldswitch/target/debug/
    sed -n 's/^ *- run: \(.* test .*\)/\1/p' "$ROOT/docs/examples/ci/github.yml" >step.sh
    job() {
        budget "$@"
        mv budget.toml .github/workflows/kvm.toml
        rm -rf results
        : >summary.md
        env -i HOME="$HOME" XDG_CACHE_HOME="$XDG_CACHE_HOME" PATH=/usr/bin:/bin GITHUB_STEP_SUMMARY="$PWD/summary.md" \
            bash -e step.sh
    }
    job 'in = 5'
    [ "$(head -n 1 summary.md)" = '### Budget: 1 within' ]
    run -3 job 'in = 0' 'set-cr3 = 1'
    [ "$(head -n 1 summary.md)" = '### Budget: 1 over, 1 within' ]
    grep -qxF '| lab:native | in | 0 | 1 |  | 1 OVER |' summary.md
}

@test "a benchmark without a value is no pass, and what is over beside it counts" {
    budget 'hypercall = 5000'
    run --separate-stderr check
    [ "$status" -eq 4 ]
    [[ $output == *'no value: skip: '* ]]
    [[ $stderr == *'not judged: hypercall on lab:native: skip: '* ]]
    budget 'hypercall = 5000' 'in = 0'
    run -3 check
}

@test "a run that measures nothing is an error" {
    run --separate-stderr ws run hypercall --on lab:native -o "$OUT"
    [ "$status" -eq 1 ]
    [[ $stderr == *'nothing was measured: hypercall: skip: '* ]]
}

@test "an invalid budget is wrong usage, with the line" {
    wrong() {
        run check
        echo "$output"
        [ "$status" -eq 2 ]
        [[ $output == *"$1"* ]]
    }
    budget 'in = 1' 'im = 1'
    wrong 'line 3: there is no benchmark im; did you mean in?'
    budget 'in = "much"'
    wrong 'line 2'
    printf '\n[budget."lab:nativ"]\nin = 1\n' >budget.toml
    wrong 'line 2: there is no platform "lab:nativ"; did you mean lab:native'
    printf '[budget.kvm]\nin = 1\n' >budget.toml
    wrong 'line 1: kvm does not count instructions'
    printf '[budget."lab:native"]\nin = 1\n[budgets]\n' >budget.toml
    wrong 'line 3'
    rm budget.toml
    run check
    [ "$status" -eq 2 ]
    [[ $output == *'there is no budget budget.toml'* ]]
    [ ! -e "$OUT" ]
}

@test "--write makes a budget from a measurement, which then passes" {
    run ws test --budget new.toml --write --on lab:native --bench '^(in|set-cr3|hypercall)$' -o "$OUT"
    [ "$status" -eq 0 ]
    [[ $output == *'not in the budget: hypercall on lab:native: skip: '* ]]
    grep -qx 'in = 1' new.toml
    run ! grep -q hypercall new.toml
    run ws test --budget new.toml -o "$OUT" --force
    [ "$status" -eq 0 ]
    # Other lines stay.
    sed -i 's/^in = .*/in = 7 # of mine/; s/^set-cr3 = .*/set-cr3 = 7/' new.toml
    ws test --budget new.toml --write --on lab:native --bench '^in$' -o "$OUT" --force
    grep -qx 'in = 1 # of mine' new.toml
    grep -qx 'set-cr3 = 7' new.toml
    for option in '--on lab:native' '--bench in' '--suite kut' --all; do
        # shellcheck disable=SC2086
        run -2 ws test --budget new.toml $option
        [[ $output == *'needs BASE and HEAD, or --write'* ]]
    done
    run -2 ws test --budget new.toml --no-explain
    run -2 ws test only-a-base --budget new.toml
}

@test "lab check is an alias, for one more release" {
    budget 'in = 0'
    run --separate-stderr ws lab check --budget budget.toml -o "$OUT"
    [ "$status" -eq 3 ]
    [[ $output == *'1 OVER'* ]]
    # shellcheck disable=SC2016  # backquotes of a message
    [[ $stderr == *'`worldswitch lab check` is now `worldswitch test`'* ]]
}
