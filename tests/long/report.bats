# The first screen of reports of real runs: tests/e2e/report.bats looks at made-up ones, which cost no boots.

load ../e2e/common
load ../e2e/browser

setup_file() { browser_start; }

teardown_file() { browser_stop; }

setup() {
    common_setup
    browser_needed
}

# opens RUN WORDS...: the page of a run has its sentence and chart on the first screen.
opens() {
    local run=$1
    shift
    ws report "$run" "$@" -o "$run.html"
    first_screen "$PWD/$run.html"
    [ "$(complaints)" = '' ]
}

@test "of make run's platforms, and against an earlier run" {
    LIMIT=900 ws run --quick -o before
    opens before
    LIMIT=900 ws run --on lab:native,lab:kvm --boots 1 -o after
    opens after --base before
}

@test "of a VM's block I/O" {
    LIMIT=900 ws run io --on lab:kvm-linux -o vm
    opens vm
    [[ "$(js 'document.querySelector("h1").textContent')" = 'One virtio-blk request served by elvis takes '* ]]
}

@test "of servers of block I/O" {
    LIMIT=900 ws run io scaling --quick -o servers
    opens servers
    [[ "$(js 'document.querySelector("h1").textContent')" = 'With 14 devices '* ]]
}

@test "of nested VMs" {
    LIMIT=1800 ws run nested -o nested
    opens nested
    [[ "$(js 'document.querySelector("h1").textContent')" = 'With NEVE (lab:neve-nested@neve+policy=kvm-4.10) one hypercall '* ]]
}

@test "of all that unit tests make: nothing sticks out at any width" {
    made_pages "$PWD/pages"
    mapfile -t pages < <(find "$PWD/pages" -name "*.html" -size -1000k | sort)
    WIDTHS='420 800 1400 1920' laid_out "${pages[@]}"
}
