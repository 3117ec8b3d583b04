# worldswitch test: a change by its two commits, versions or results; the builds copy Debian's kernels for ARM from the
# lab's store, as in bisect.bats. A real kernel that is built is in tests/long/trial.bats.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154,SC2016

load common
load browser
load commits

setup_file() { browser_start; }

teardown_file() { browser_stop; }

setup() {
    common_setup
    commits_setup
    BENCH='^(hypercall|cpuid)$'
    git init -q -b main tree
    for kernel in linux-arm64-6.1 linux-arm64-6.12 none; do
        echo "$kernel" >tree/kernel
        git -C tree add -A
        git -C tree commit -qm "use $kernel"
        git -C tree tag "$kernel"
    done
    git -C tree checkout -q linux-arm64-6.12
}

# $BENCH is compared, in a boot and a perturbed one of each side.
trial() { ws test "$@" --on lab:kvm-vhe --cache "$CACHE" --perturb 1 --bench "$BENCH"; }

in_tree() { (cd tree && trial "$@"); }

@test "two commits are built once, compared and explained, and versions and results give the same figures" {
    export LIMIT=400
    # From the kernel's tree.
    run -3 --separate-stderr in_tree linux-arm64-6.1 linux-arm64-6.12 --build "$BUILD" -o ../commits \
        --export-json ../commits.json --comment ../comment.md
    [[ $output == 'linux-arm64-6.12 ('*': use linux-arm64-6.12) against linux-arm64-6.1 ('* ]]
    [[ ${output//$'\n'/ } == *': 1 of 1 figure cost more, the worst is hypercall on lab:kvm-vhe, +'* ]]
    [[ $stderr == *'linux-arm64-6.12: built in '* ]]
    jq -e '.schema == "worldswitch-test/1" and .outcome == "regression" and .machines[0].machine == "lab:kvm-vhe"
        and (.machines[0].rows[0] | .benchmark == "hypercall" and .verdict == "worse" and .added == .head - .base
            and .measures == "call into the hypervisor and back, without work there"
            and (.functions | length == 3) and all(.functions[]; .own != 0))' commits.json
    head -n 1 comment.md | grep -q '^\*\*linux-arm64-6.12 '
    grep -q '^| hypercall | .* WORSE | `' comment.md
    [ "$(git -C tree rev-parse HEAD)" = "$(git -C tree rev-parse linux-arm64-6.12)" ]
    # Built before; the other direction is better.
    run -0 --separate-stderr trial linux-arm64-6.12 linux-arm64-6.1 --build "$BUILD" --kernel-tree tree --no-explain
    [[ $stderr == *'linux-arm64-6.1: was built before'* && $output == *'1 of 1 figure cost less'* ]]
    run -3 trial 6.1 6.12 --no-explain --export-json versions.json -o versions
    figures='[.machines[0].rows[] | [.benchmark, .base, .head]]'
    [ "$(jq -c "$figures" versions.json)" = "$(jq -c "$figures" commits.json)" ]
    run -3 trial versions/lab-kvm-vhe@6.1.json versions/lab-kvm-vhe@6.12.json --no-explain --export-json results.json
    [ "$(jq -c "$figures" results.json)" = "$(jq -c "$figures" commits.json)" ]
    # Nothing changed: no comment, and the old one is gone.
    run -0 trial versions/lab-kvm-vhe@6.1.json versions/lab-kvm-vhe@6.1.json --comment comment.md
    [[ $output == *': 0 of 1 figure changed.'* ]]
    [ ! -e comment.md ]
    # A budget: written, kept up, and checked even if nothing changed.
    both=(versions/lab-kvm-vhe@6.1.json versions/lab-kvm-vhe@6.12.json)
    run -3 trial "${both[@]}" --no-explain --budget kvm.toml --write -o written --comment comment.md
    head=$(jq '.machines[0].figures[0].band[1] | floor' results.json)
    grep -qx "hypercall = $head" kvm.toml
    sed -n '/^```toml$/,/^```$/p' comment.md | grep -v '^```' | diff - kvm.toml
    tr '\n' ' ' <written/test.svg | grep -q '<svg .*hypercall.*%'
    sed -i "s/^hypercall = .*/vm-switch = 1\nhypercall = 10 # agreed/" kvm.toml
    run -3 --separate-stderr trial versions/lab-kvm-vhe@6.1.json versions/lab-kvm-vhe@6.1.json --budget kvm.toml --json
    jq -e '.over_budget | length == 1 and .[0].benchmark == "hypercall" and .[0].budget == 10' <<<"$output"
    run -3 trial "${both[@]}" --no-explain --budget kvm.toml --write
    grep -qx "hypercall = $head # agreed" kvm.toml
    grep -qx "vm-switch = 1" kvm.toml
    run -2 trial "${both[@]}" --budget none.toml
    [[ $output == *'there is no budget none.toml: --write makes it'* ]]
    echo 'hypercall = 1' >wrong.toml
    run -2 trial "${both[@]}" --budget wrong.toml --write
    [[ $output == *'wrong.toml is not a budget'* ]]
}

@test "what can't be compared or built is said before anything boots" {
    run -1 trial linux-arm64-6.1 none --build "$BUILD" --kernel-tree tree
    [[ $output == *'none: its build failed '*'error: no none'*'the whole output is in '* ]]
    run -2 trial v1 v2 --kernel-tree tree
    [[ $output == *'tree has no commit v1'* ]]
    mkdir empty
    run -2 trial empty v2
    [[ $output == *'empty has neither results of an earlier run nor a kernel'* ]]
    run -2 ws test 6.1 6.12 --on lab:native
    [[ $output == *'--on lab:native: this machine does not boot Linux'* ]]
    run -2 ws test 6.1 6.12 --on kvm
    [[ $output == *'--on kvm: kernels are booted in a machine of the lab'* ]]
    run -2 ws test 6.1 6.12 --on lab:kvm-vh
    [[ $output == *'there is no platform "lab:kvm-vh"; did you mean lab:kvm-vhe'* ]]
    run -2 ws test a b --monitor --on lab:kvm
    [[ $output == *'there is no program a'* ]]
    run -2 trial 6.1 HEAD
    [[ $output == *'not a git repository'* ]]
}

# What a graph shows: for each call that is wide enough its name and the part of the whole width, the widest ten.
SHOWN='[...document.querySelectorAll("svg.flame g:not([hidden])")].map((node) =>
    [node.dataset.n, Math.round(Number(node.querySelector("rect").getAttribute("width")))])
    .sort((a, b) => b[1] - a[1]).slice(0, 10).map((one) => one.join(" ")).join("\n")'

# ordered EXPRESSION: the benchmarks in out.json by this expression of a row, the least first.
ordered() { jq -r ".machines[0].rows | sort_by($1) | map(.benchmark) | join(\" \")" out.json; }

# sorted COLUMN ORDER: clicks the column's head, after which aria-sort must name this order; prints the table's benchmarks.
sorted() {
    js "[...document.querySelectorAll('th button')].find((button) => button.textContent === '$1').id = '$1'; 0" >/dev/null
    click "#$1"
    [ "$(js "[...document.querySelectorAll('th[aria-sort]')].map((head) => head.textContent + ' ' + head.ariaSort).join()")" = "$1 $2" ] || return
    js '[...document.querySelectorAll("tbody th")].map((head) => head.textContent).join(" ")'
}

# bats test_tags=live
@test "its page is one file whose graph zooms and is searched, by pointer and by keys, and whose table sorts" {
    browser_needed
    BENCH='^(hypercall|vm-switch)$' run -3 trial 6.1 6.12 -o out --export-json out.json
    [[ $output == *'the page is out/test.html' ]]
    WIDTHS='420 1400' laid_out "$PWD/out/test.html"
    page_open "$PWD/out/test.html"
    [ "$(js 'document.querySelector("h1").textContent')" = "$(js 'document.querySelector("h1").textContent' | tr -s ' ')" ]
    # A row's name leads to its functions.
    click 'tbody th a'
    [ "$(js 'decodeURI(location.hash)')" = '#lab:kvm-vhe/hypercall' ]
    [ "$(js 'document.getElementById(decodeURI(location.hash.slice(1))).tagName')" = H3 ]
    js "$SHOWN" >whole.txt
    # A call that takes a part of the width takes all of it after a click, and Esc undoes that.
    js 'const calls = [...document.querySelectorAll("svg.flame g")]; const one = calls.find((node) => node.dataset.d === "1" && Number(node.dataset.w) > 50
        && Number(node.dataset.w) < 900); one.id = "zoomed"; 0'
    name=$(js 'document.getElementById("zoomed").dataset.n')
    click '#zoomed'
    js "$SHOWN" | grep -qxF "$name 1000"
    [ "$(js 'document.querySelector(".reset").hidden')" = false ]
    key Escape 27
    [ "$(js "$SHOWN")" = "$(cat whole.txt)" ]
    # Keys: to the caller and back, and zoom.
    key ArrowUp 38
    [ "$(js 'document.activeElement.dataset.d')" = 0 ]
    key ArrowDown 40
    [ "$(js 'document.activeElement.dataset.d')" = 1 ]
    key Enter 13
    [ "$(js 'document.querySelector(".reset").hidden')" = false ]
    click .reset
    [ "$(js "$SHOWN")" = "$(cat whole.txt)" ]
    click .search
    typed kvm_
    count=$(js '[...document.querySelectorAll("svg.flame g")].filter((node) => node.dataset.n.includes("kvm_")).length')
    [ "$count" -gt 1 ]
    [ "$(js 'document.querySelectorAll("svg.flame g.found").length')" -eq "$count" ]
    [ "$(js 'document.querySelector(".graph output").textContent')" = "$count calls" ]
    # A first click puts the greatest number first. As text, 7.9 would be greater than 19.7.
    [ "$(ordered .base)" = 'hypercall vm-switch' ]
    [ "$(ordered .percent)" = 'vm-switch hypercall' ]
    [ "$(sorted before descending)" = 'vm-switch hypercall' ]
    [ "$(sorted before ascending)" = 'hypercall vm-switch' ]
    [ "$(sorted percent descending)" = 'hypercall vm-switch' ]
    [ "$(sorted percent ascending)" = 'vm-switch hypercall' ]
    # Text begins with A.
    [ "$(sorted benchmark ascending)" = 'hypercall vm-switch' ]
    [ "$(sorted benchmark descending)" = 'vm-switch hypercall' ]
    # Both colours are in it, and what is red has more with the change.
    [ "$(js 'document.querySelectorAll("svg.flame g.more").length > 0 && document.querySelectorAll("svg.flame g.less").length > 0')" = true ]
    [ "$(complaints)" = '' ]
}
