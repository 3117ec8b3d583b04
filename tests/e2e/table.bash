# shellcheck shell=bash
# One run that several files of tests read: the suite on lab:native, lab:kvm and lab:kvm-shadow, with the
# rows of docs/examples/mixed.c and tests/guests/one-more.c in the guest. Two boots, in the
# second of which the host has something else to do, and a perturbed one. For common.bash.

THREE=lab:native,lab:kvm,lab:kvm-shadow
# Rows that the two files add.
ADDED=3

# table: makes the run where this build's is not there yet, and says in $TABLE, $TABLE.txt and $TABLE.log
# where it is. What takes two minutes on two cores of one's own may take ten on busy ones.
table() {
    local build
    make -s -C "$ROOT/guest" EXTRA_BENCH="$ROOT/docs/examples/mixed.c $ROOT/tests/guests/one-more.c" \
        OUT="$BUILT/table-guest" >&2
    build=$(cat "$WORLDSWITCH" "$ROOT"/build/vmm/x86_64/vmm "$BUILT/table-guest/guest.elf" "$ROOT"/lab/*.toml \
        "$ROOT"/lab/recipes/*.toml "$ROOT"/build/lab/*/init | sha256sum | cut -c1-16)
    export TABLE=$BUILT/table-$build/run
    {
        flock 9
        [ -e "$TABLE.made" ] || make_table
    } 9>"$BUILT/table.lock"
}

make_table() {
    rm -rf "$BUILT"/table-????????????????
    mkdir "${TABLE%/*}"
    load_on_second_boot 9>&- 3>&- &
    LIMIT=600 ws run --on "$THREE" --boots 2 --perturb 1 --guest "$BUILT/table-guest/guest.elf" -o "$TABLE" \
        >"$TABLE.txt" 2>"$TABLE.log" 9>&- || { cat "$TABLE.log" >&2; return 1; }
    touch "$TABLE.made"
    wait
}

# Two busy loops, and a reader of the machines' records that stands still again and again.
load_on_second_boot() {
    local reader loops=()
    until grep -qs ' boot 2/' "$TABLE.log"; do
        [ ! -e "$TABLE.made" ] || return 0
        sleep 0.1
    done
    for _ in 1 2; do
        timeout 600 sh -c 'while :; do :; done' &
        loops+=($!)
    done
    while reader=$(pgrep -xf "$WORLDSWITCH run --on $THREE .*"); do
        kill -STOP "$reader" && echo stood >>"$TABLE.reader"
        sleep 2
        kill -CONT "$reader"
        sleep 3
    done
    kill "${loops[@]}"
}
