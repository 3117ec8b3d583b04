# worldswitch explain: which functions an operation's instructions are in, and lab symbols: where a machine's
# functions are. The sums are exact on every machine, and recording changes no count: each machine is also measured
# without it, and the command fails if its counts differ. x86, whose boots take ten seconds of a core each, is in
# tests/long/explain.bats.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common
load browser

setup_file() {
    browser_start
    fetch_packages kvm-nvhe xen xen@4.20 arm-xen
    cd "$BATS_FILE_TMPDIR" || return 1
    # The counts that recorded machines are held against.
    ws run --on lab:neve,lab:neve-nested --bench '^hypercall$' --boots 1 -o measured
}

teardown_file() { browser_stop; }

setup() {
    common_setup
    MEASURED=$BATS_FILE_TMPDIR/measured
}

# What the guest measured without the plugin.
measured() { insns "$MEASURED/$1" hypercall; }

# A number of four to six digits as tables have it: 12,345.
grouped() { echo "${1%???},${1: -3}"; }

# has ADDRESSES NAME: a function in kvm.txt.
has() { grep -qE "^$1 [tTwW] $2\$" kvm.txt; }

# The sum of an explanation in JSON: attributed, the guest's own, measured, not charged.
sum() { jq -r '.sum | "\(.attributed) \(.guest) \(.measured) \(.intercepted)"' "$1"; }

@test "ARM: the sum is what was measured; reckoned in cycles, at built-in prices and a user's" {
    ws explain hypercall --on lab:kvm-nvhe --prices dall-2015 --json >dall.json
    read -r attributed guest measured intercepted < <(sum dall.json)
    [ "$attributed" -gt 1000 ]
    [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    jq -e '.reckoning.published == [{of: "ARM KVM", cycles: 6500}, {of: "ARM Xen", cycles: 376}]' dall.json
    # The guest's HVC and the host's.
    jq -e '[.reckoning.lines[] | select(.item == "trap") | .count] == [2, 2]' dall.json
    jq -e '.reckoning | .unpriced > 0 and .instructions > .unpriced and .cycles.from > 1000' dall.json
    printf 'class,access,cycles,accesses\nvgic,read,25,2\n' >board.csv
    ws explain hypercall --on lab:neve-nested --prices dall-2015 --prices board.csv >text
    grep -qE '^VGIC +[0-9]+ +12\.5 ' text
    grep -qF 'times the prices of dall-2015, board.csv; not measured' text
    sed -i 's/25/none/' board.csv
    run ws explain hypercall --on lab:neve-nested --prices board.csv
    [ "$status" -eq 2 ]
    [[ $output == *'board.csv: line 2, column cycles: "none"'* ]]
}

@test "a difference adds up to that of the measurements" {
    ws explain --diff lab:neve lab:neve-nested --bench hypercall >difference
    cat difference
    more=$(($(measured lab-neve-nested) - $(measured lab-neve)))
    grep -qE "^ *\+$(grouped "$more") .* in all, as measured$" difference
}

@test "nested: each level's instructions, and the traps" {
    ws explain hypercall --on lab:neve-nested --json >nested.json
    read -r attributed guest measured intercepted < <(sum nested.json)
    [ "$measured" -eq "$(measured lab-neve-nested)" ]
    [ $((attributed + guest)) -eq $((measured + intercepted)) ]
    [ "$(jq '[.traps[].count] | add' nested.json)" -eq 2 ]
    # neve is built with debug information.
    jq -e '.debug == ["neve"] and ([.tree.nodes[].own] | add) == ([.tree.nodes[] | select(.parent == null).total] | add)' nested.json
    jq -e '[.functions[] | select(.is_inlined and .name == "exit_of_l2")] | length == 1' nested.json
    # No function has more instructions in lines than it executes, and lines are those of the source.
    jq -e '. as $all | [.lines | group_by(.function)[] | .[0].function as $of | ([.[].instructions] | add) <=
        ([$all.tree.nodes[] | select(.function == $of).own] | add)] | length > 20 and all' nested.json
    line=$(grep -n 'context_enter(' "$ROOT/neve/exits/exits.c" | head -n 1 | cut -d: -f1)
    jq -e "[.lines[] | select(.file == \"exits/exits.c\" and .line == $line)] | length > 0" nested.json
}

@test "as text, as folded stacks and as a flame graph; each instruction once" {
    ws explain hypercall --on lab:neve-nested --flamegraph flame.svg >text
    grep -q '<svg' flame.svg
    grep -q exit_of_l2 flame.svg
    grep -qF "$(grouped "$(measured lab-neve-nested)") instructions" text
    grep -qE '^ +[0-9,]+ +[0-9,]+ +-  +exit_of_l2 \[L0 hypervisor, inlined\]$' text
    ws explain hypercall --on lab:neve-nested --folded >folded
    [ "$(awk '{ n += $NF } END { print n }' folded)" -ge "$(measured lab-neve-nested)" ]
}

@test "the report shows what was kept beside results, and only it without results" {
    cp -r "$MEASURED" run
    ws explain hypercall --on lab:neve -o run >text
    ws explain hypercall --on lab:neve-nested -o run >/dev/null
    run ws explain hypercall --on lab:neve -o run
    [ "$status" -eq 1 ]
    [[ $output == *'has an explanation of hypercall on lab:neve already'*--force* ]]
    # Explanations are no results.
    [ "$(ws show run --json | jq '.columns | length')" -eq 2 ]
    ws report run -o page.html
    mkdir only
    cp run/explain-* only
    ws report only -o only.html
    browser_needed
    for page in page only; do
        page_open "$PWD/$page.html"
        [ "$(complaints)" = '' ]
        [ "$(js '[...document.querySelectorAll("#explained svg.flame")].length')" -eq 2 ]
        # The lines of the tree are those of the command.
        js '[...document.querySelectorAll("#explained .card")].map((card) => [...card.querySelectorAll(".call:not(.heads)")]
            .map((line) => [...line.children].map((cell) => cell.textContent).join(" ")).join("\n"))[0]' >shown
        sed -n '/^ *total/,/^[0-9]* calls of fewer\|^$/{/^ *[0-9]/p}' text | sed 's/^ *//; s/  */ /g' | grep -v 'calls of' >told
        diff told shown
        [ "$(js '[...document.querySelectorAll("#explained svg.flame")].every((svg) =>
            svg.closest(".card").querySelector("table tbody tr"))')" = true ]
        # Its graphs zoom and are searched.
        js 'const one = [...document.querySelectorAll("svg.flame g")].find((node) => node.dataset.d === "1" && Number(node.dataset.w) > 100
            && Number(node.dataset.w) < 900); one.id = "zoomed"; 0' >/dev/null
        click '#zoomed'
        [ "$(js 'document.querySelector("#zoomed rect").getAttribute("width")')" = 1000 ]
        click .reset
        [ "$(js 'Number(document.querySelector("#zoomed rect").getAttribute("width")) < 900')" = true ]
        click .search
        typed exit
        [ "$(js 'document.querySelectorAll("svg.flame g.found").length > 0')" = true ]
        page_width 420
        [ "$(js 'document.documentElement.scrollWidth')" -le 420 ]
        page_width 1280
    done
    # What the emulator adds is hidden without a gap: here the callee with the most instructions is called that.
    mkdir added
    jq '(.tree.nodes | map(select(.parent != null)) | max_by(.total)) as $node | .tree.nodes[$node.parent].function as $caller
        | .architecture = "x86_64" | .functions[$node.function].name = "kvm_emulate_instruction"
        | .functions[$caller].name = "svm_skip_emulated_instruction"' run/explain-*nested*.json >added/explain-x.json
    ws report added -o added.html
    page_open "$PWD/added.html"
    # Of the shown calls: the sum of the outermost, the widest's share of it, and whether one is an addition.
    js_shown='(() => { const shown = [...document.querySelectorAll("svg.flame g:not([hidden])")].map((node) => [node, Number(node.querySelector("rect").getAttribute("width"))]);
        const roots = shown.filter(([node]) => node.dataset.d === "0").map(([, width]) => width);
        return [roots.reduce((sum, width) => sum + width, 0), Math.max(...roots)].map(Math.round).join(" ")
            + " " + shown.some(([node]) => node.hasAttribute("data-e")); })()'
    whole=$(js "$js_shown")
    [[ $whole == '1000 '*' true' ]]
    click .added
    hidden=$(js "$js_shown")
    [[ $hidden == '1000 '*' false' && ${hidden% false} != "${whole% true}" ]]
    click .added
    [ "$(js "$js_shown")" = "$whole" ]
    # Graphs of machines without additions have no such box.
    page_open "$PWD/page.html"
    [ "$(js 'document.querySelectorAll(".added").length')" -eq 0 ]
    # A call is folded and unfolded without a script.
    click '#explained details[open] > summary.call'
    [ "$(js 'document.querySelector("#explained summary.call").parentElement.open')" = false ]
    js 'document.querySelector("#explained").scrollIntoView(); 0'
    picture explained
}

@test "compare --explain: the functions of what changed, or why they can't be told" {
    run ws compare "$MEASURED:lab:neve" "$MEASURED:lab:neve-nested" --explain
    echo "$output"
    [[ $output == *'From hypercall on lab:neve to hypercall on lab:neve-nested: +'* ]]
    [[ $output == *'exit_of_l2: gained'* ]]
    more=$(($(measured lab-neve-nested) - $(measured lab-neve)))
    grep -qE "^ *\+$(grouped "$more") .* in all, as measured$" <<<"$output"
    # Of another machine, which is no longer here.
    jq '.identity.subject.machine_digest = "0"' "$MEASURED/lab-neve-nested.json" >other.json
    run ws compare "$MEASURED:lab:neve" other.json --explain
    [[ $output == *'hypercall: not explained: lab:neve-nested of '*"can't be made again"* ]]
}

@test "what can't be explained is refused with the reason" {
    run ws explain hypercall --on qemu-tcg
    [ "$status" -eq 2 ]
    [[ $output == *'choose a lab machine'* ]]
    run ws explain hypercal --on lab:neve-nested
    [ "$status" -eq 2 ]
    [[ $output == *'there is no benchmark hypercal; did you mean hypercall?' ]]
    run ws explain hypercall --on lab:nonsense
    [ "$status" -eq 2 ]
    run -2 ws explain io-elvis-d1 --on lab:kvm-linux
    [[ $output == *'lab:kvm-linux runs a whole Linux'*'worldswitch run apps --explain explains workloads, and worldswitch run io --explain requests'* ]]
    run ws explain hypercall --on lab:neve --debug no-such-file
    [ "$status" -eq 2 ]
    [[ $output == *'--debug no-such-file: No such file'* ]]
    run ws explain hypercall --on lab:neve --debug "$PWD"
    [ "$status" -eq 2 ]
    [[ $output == *'not of the executed software (guest, neve)'* ]]
}

@test "lab:kvm-nvhe prints its kernel's functions, also those of EL2, and is booted once for them" {
    ws lab symbols kvm-nvhe >kvm.txt
    LC_ALL=C sort -s -c -k 1,1 kvm.txt
    # A text that was made anew would be another file.
    before=$(stat -c %i "$XDG_CACHE_HOME"/worldswitch/symbols/*)
    ws lab symbols lab:kvm-nvhe | cmp - kvm.txt
    [ "$(stat -c %i "$XDG_CACHE_HOME"/worldswitch/symbols/*)" = "$before" ]
    has 'ffff8000[0-9a-f]{8}' __guest_enter
    has 'ffff8000[0-9a-f]{8}' __kvm_nvhe___guest_enter
}

@test "Xen's functions are in its image, on x86 and ARM" {
    for machine in xen xen@4.20 arm-xen; do
        ws lab symbols "$machine" >kvm.txt
        has '[0-9a-f]{16}' do_multicall
        has '[0-9a-f]{16}' "$([ "$machine" = arm-xen ] && echo leave_hypervisor_to_guest || echo vmx_asm_vmexit_handler)"
    done
}

@test "a machine without Linux, one without a first process, and a name of no machine" {
    run ws lab symbols native
    [ "$status" -eq 1 ]
    [[ $output == *'lab:native: it boots neither a Linux'* ]]
    run ws lab symbols kvmm
    [ "$status" -eq 2 ]
    [[ $output == *'did you mean lab:kvm'* ]]
    run ws lab symbols qemu-tcg:x
    [ "$status" -eq 2 ]
    [[ $output == *'is not a lab machine'* ]]
}
