# `worldswitch report`: the page of a real run in a real browser.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common
load browser

setup_file() {
    browser_start
    export RUN=$BATS_FILE_TMPDIR/run
    ws run --on lab:native,qemu-tcg --boots 2 --samples 3 --report -o "$RUN" \
        >"$BATS_FILE_TMPDIR/table.txt" 2>"$BATS_FILE_TMPDIR/log.txt"
    export PAGE=$RUN/report.html
}

teardown_file() { browser_stop; }

setup() { common_setup; }

# The values of the first table, benchmark by benchmark; in full (data-v) where the shown text is rounded.
TABLE_VALUES='JSON.stringify([...document.querySelectorAll("#table tbody tr")].map((row) =>
    [row.dataset.b, ...[...row.querySelectorAll("td:not(.category, .compared)")].map((cell) =>
        Number(cell.dataset.v ?? cell.firstChild.textContent.replace(/[, ?!]/g, "")))]))'

# Opens what is folded.
UNFOLDED='for (const fold of document.querySelectorAll("details.fold")) fold.open = true; 0'

VISIBLE_ROWS='[...document.querySelectorAll("#table tbody tr:not([hidden])")].map((row) => row.dataset.b).join(" ")'

@test "run --report writes the page beside the results and prints its path" {
    [ -s "$PAGE" ]
    grep -q "the report is $PAGE" "$BATS_FILE_TMPDIR/log.txt"
    ws report "$RUN" -o again.html
    cmp "$PAGE" again.html
}

@test "the page has no errors, and makes no network requests" {
    browser_needed
    page_open "$PAGE"
    [ "$(complaints)" = '' ]
    # It does not refer to anything outside of itself.
    run ! grep -oE '(src|href)="[^#"][^"]*"|url\([^)]*\)|@import' "$PAGE"
}

# made PLATFORM ROW ADDED [FILTER]: lab:native's result as if another machine's, each of its operations as much longer.
made() {
    # Without facts the platform's name says what the machine is.
    # shellcheck disable=SC2016  # jq's own
    local row='.rows[] | select(.benchmark == "in") | .benchmark = $row
        | .metrics = [.metrics[] | select(.name == "cost")]
        | .metrics[].boots[].run |= map(. + $added)'
    jq --arg platform "$1" --arg row "$2" --argjson added "$3" \
        ".platform = \$platform | del(.identity.facts) | .rows = [$row] | ${4:-.}" "$RUN/lab-native.json"
}

@test "the sentence and its chart are on the first screen: benchmarks, a base, block I/O, nested VMs" {
    browser_needed
    first_screen "$PAGE"
    [[ "$(js 'document.querySelector("h1").textContent')" = 'In qemu-tcg a'*' takes '* ]]

    mkdir before after io nested
    made lab:kvm in 3000 >before/kvm.json
    made lab:kvm in 3400 '.created = "2099-01-01T00:00:00Z"' >after/kvm.json
    ws report after --base before -o base.html
    first_screen "$PWD/base.html"
    [[ "$(js 'document.querySelector("h1").textContent')" = *'the base'* ]]
    [ "$(js 'document.querySelectorAll("figure.chart .bar > s").length')" -eq 1 ]

    for device in qemu:105330 iothread:92239 storage-daemon:79297 elvis:39227; do
        made lab:kvm-linux "io-${device%:*}-d1" "${device#*:}" '.rows[].work = "request"' >"io/$device"
    done
    jq -s '.[0].rows = map(.rows[]) | .[0]' io/*:* >io/all.json
    ws report io/all.json -o io.html
    first_screen "$PWD/io.html"
    [[ "$(js 'document.querySelector("h1").textContent')" = 'One virtio-blk request served by elvis takes 39,228 '* ]]

    for mechanism in nv pv neve nv2; do
        for options in '' +policy=kvm-4.10 +vhe=1 +policy=kvm-4.10+vhe=1; do
            made "lab:neve-nested@$mechanism$options" hypercall "$((${#mechanism} * 4000))" >"nested/$mechanism$options.json"
        done
    done
    made lab:neve hypercall 206 >nested/neve-plain.json
    ws report nested -o nested.html
    first_screen "$PWD/nested.html"
    [[ "$(js 'document.querySelector("h1").textContent')" = 'With NEVE ('*' instead of '* ]]
    # Names that differ are shown in full.
    [ "$(js 'new Set([...document.querySelectorAll("figure.chart .name")].map((name) => name.textContent)).size')" -eq 17 ]
}

@test "its tables have the numbers of the results" {
    browser_needed
    page_open "$PAGE"
    js "$TABLE_VALUES" | jq -c 'map({(.[0]): .[1:]}) | add' >page.json
    ws show "$RUN" --json | jq -c '[.rows[] | {(.benchmark): [.cells[].value]}] | add' >results.json
    # Compared by jq as numbers: jq 1.7 would print 1 and 1.0 as different text.
    jq -en --slurpfile page page.json --slurpfile results results.json '$page == $results' ||
        { diff <(jq -S . page.json) <(jq -S . results.json); false; }
    [ "$(jq length page.json)" -eq "$(benchmarks)" ]
    # The plots by boot have a mark for each boot with samples, and a cell for each mark.
    marks=$(js '[...document.querySelectorAll("#boots use")].length')
    cells=$(js '[...document.querySelectorAll("#boots td[data-q]")].length')
    boots=$(jq -s '[.[].rows[] | select(.status != "failed") | .metrics[] | select(.name == "cost").boots[]] | length' "$RUN"/*.json)
    [ "$marks" -eq "$boots" ]
    [ "$cells" -eq "$boots" ]
}

# bats test_tags=live
@test "filters by name, category and platform hide rows, plots and columns" {
    browser_needed
    page_open "$PAGE"
    js "$UNFOLDED"
    click '#by-name'
    typed memory
    [ "$(js "$VISIBLE_ROWS")" = 'hot-memory-access cold-memory-access' ]
    [ "$(js '[...document.querySelectorAll("#boots .card:not([hidden])")].length')" -eq 4 ]
    [ "$(js 'document.querySelector("#shown").textContent')" = "2 of $(benchmarks) benchmarks, 2 of 2 platforms" ]
    js 'document.querySelector("#by-name").value = ""; 0'
    js 'const c = document.querySelector("#by-category"); c.value = "unprivileged"; c.dispatchEvent(new Event("input", {bubbles: true})); 0'
    [ "$(js "$VISIBLE_ROWS")" = 'sgdt sldt sidt smsw pushf-popf pvclock-read hv-reference-tsc' ]
    click '.by-platform[value="1"]'
    [ "$(js '[...document.querySelectorAll("#table td[data-q]")].filter((cell) => cell.offsetParent).length')" -eq 5 ]
    [ "$(js '[...document.querySelectorAll("#boots g[data-p=\"1\"]")].every((lane) => lane.getBoundingClientRect().width === 0)')" = true ]
    [ "$(complaints)" = '' ]
}

# bats test_tags=live
@test "pointing at a figure or a mark, or moving there by keys, shows its details" {
    browser_needed
    page_open "$PAGE"
    js "$UNFOLDED"
    tip='document.querySelector("#tip:not([hidden])")?.textContent ?? ""'
    [ "$(js "$tip")" = '' ]
    hover '#table tr[data-b="sgdt"] td[data-q]'
    [ "$(js "$tip")" = '1 insns: mode of 2 boots, 6 samples; least 1, greatest 1; exact: every boot gave the same samples; proved' ]
    hover '#boots .card[data-b="sgdt"] use'
    [ "$(js "$tip")" = 'lab:native, boot 1: 1; all samples alike; 3 samples of 1 operation' ]
    hover h1
    [ "$(js "$tip")" = '' ]
    # By keys: one cell of the table is in the tab order, arrows move on from there.
    [ "$(js '[...document.querySelectorAll("#table [tabindex=\"0\"]")].length')" -eq 1 ]
    js 'document.querySelector("#table").closest(".scroll").focus(); 0'
    key Tab 9
    [ "$(js 'document.activeElement.closest("tr").dataset.b')" = idle ]
    key ArrowDown 40
    [ "$(js 'document.activeElement.closest("tr").dataset.b')" = sgdt ]
    [[ "$(js "$tip")" = '1 insns: mode of 2 boots'* ]]
    key ArrowRight 39
    [[ "$(js "$tip")" = *tsc_ticks* ]]
    key Escape 27
    [ "$(js "$tip")" = '' ]
    [ "$(complaints)" = '' ]
}

# bats test_tags=live
@test "the command line can be copied" {
    browser_needed
    page_open "$PAGE"
    js "$UNFOLDED"
    click .copy
    [ "$(js 'getSelection().toString()')" = "$(jq -r '.command | join(" ")' "$RUN/lab-native.json")" ]
    [[ "$(js 'document.querySelector(".copy").textContent')" = Copied* ]]
}

@test "every plot has a name and a table, every table a caption and headers" {
    browser_needed
    page_open "$PAGE"
    [ "$(js '[...document.querySelectorAll("svg[role=img]")].length')" -ge 30 ]
    [ "$(js '[...document.querySelectorAll("figure")].every((one) => one.querySelector("figcaption").textContent)')" = true ]
    [ "$(js '[...document.querySelectorAll("svg[role=img]")].every((svg) =>
        svg.getAttribute("aria-label") && svg.closest(".card").querySelector("table tbody tr"))')" = true ]
    [ "$(js '[...document.querySelectorAll("table")].every((table) => table.caption?.textContent)')" = true ]
    [ "$(js '[...document.querySelectorAll("th")].every((head) => head.scope)')" = true ]
    [ "$(js '[...document.querySelectorAll(".scroll")].every((box) => box.tabIndex === 0 && box.getAttribute("aria-label"))')" = true ]
    # IDs are unique, and every link inside the page has a target.
    [ "$(js '(() => { const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
        return new Set(ids).size === ids.length })()')" = true ]
    [ "$(js '[...document.querySelectorAll("a[href]")].every((link) => document.querySelector(link.getAttribute("href")))')" = true ]
}

@test "text has enough contrast, in light and dark" {
    browser_needed
    page_open "$PAGE"
    for scheme in light dark; do
        call Emulation.setEmulatedMedia "{\"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"$scheme\"}]}" >/dev/null
        # WCAG 2.1, 1.4.3: at least 4.5 to 1.
        # shellcheck disable=SC2016  # JavaScript's own
        js '(() => {
            const probe = document.body.appendChild(document.createElement("i"));
            const rgb = (name) => {
                probe.style.color = `var(--${name})`;
                return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
            };
            const light = (name) => rgb(name).map((c) => c / 255)
                .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
                .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
            const contrast = (a, b) => {
                const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
                return (high + 0.05) / (low + 0.05);
            };
            const pairs = [...["fg", "dim", "link", "good", "bad"].flatMap((text) => [[text, "bg"], [text, "panel"]]),
                ...["k0", "k3", "k5"].map((back) => ["fg", back])];
            const poor = pairs.filter(([a, b]) => contrast(a, b) < 4.5).map(([a, b]) => `${a} on ${b}: ${contrast(a, b)}`);
            probe.remove();
            return JSON.stringify(poor) + getComputedStyle(document.body).backgroundColor;
        })()' >"$scheme.txt"
    done
    [ "$(cat light.txt)" = '[]rgb(255, 255, 255)' ]
    [ "$(cat dark.txt)" = '[]rgb(13, 17, 23)' ]
    picture dark
}

@test "at two widths the page does not scroll sideways" {
    browser_needed
    page_open "$PAGE" 1280
    [ "$(js 'document.documentElement.scrollWidth')" -le 1280 ]
    picture wide
    page_width 390
    [ "$(js 'document.documentElement.scrollWidth')" -le 390 ]
    picture narrow
}

@test "no kind of page sticks out, cuts a column off or has empty rows, from a phone's width to a wide screen's" {
    browser_needed
    made_pages "$PWD/pages"
    # Of hosts, of kernels and of a model they have none.
    for kernel in 6.1.0-50-cloud-amd64 6.6.0-rt-amd64 6.12.107+deb13-cloud-amd64 7.3-rc1; do
        for host in n1 n2 n3 n4; do
            mkdir -p "kernels/$kernel/$host"
            jq --arg kernel "$kernel" --arg host "$host" '.platform = "lab:kvm" | .identity.subject.host = $host
                | .identity.subject.kernel = "linux \($kernel)" | .created = "20\($kernel | length + 10)-01-01T00:00:00Z"
                | .rows |= map(select(.status == "ok")
                    | .metrics[].boots[].run |= map(. + ($kernel | length) * (if $host == "n3" then 7 else 100 end)))' \
                "$RUN/lab-native.json" >"kernels/$kernel/$host/lab-kvm.json"
        done
        ws history --store h.sqlite add "kernels/$kernel"/*
    done
    ws history --store h.sqlite report -o pages/history.html
    "${WORLDSWITCH%/*}/elvis" simulate --figure 7 --json >figure.json
    ws report --simulated figure.json -o pages/simulated.html
    cp "$PAGE" pages/run.html
    # The largest pages come first, and one that has no further kind of section adds nothing. Those of more than a
    # megabyte are about their size.
    local page section sections kinds='' chosen=()
    for page in $(find "$PWD/pages" -name '*.html' -size -1000k -printf '%s %p\n' | sort -rn | cut -d ' ' -f 2); do
        sections=$(grep -oE '<section id="[a-z]+"' "$page" | sort -u)
        for section in $sections; do
            [[ "$section" = '<section' || "$kinds" = *"$section"* ]] || { kinds+=$sections && chosen+=("$page") && break; }
        done
    done
    for section in $(grep -rhoE 'section #[a-z]+|folded\("[a-z]+"' "$ROOT/crates/report/src/page" | grep -oE '[a-z]+"?$') \
        iterations placement variants; do
        [[ "$kinds" = *"id=\"${section%\"}\""* ]] || { echo "no page has the section $section" && false; }
    done
    # tests/long/report.bats has all pages, and two widths more.
    WIDTHS='420 1400' laid_out "${chosen[@]}"
}

@test "it prints, with its tables open and without its buttons" {
    browser_needed
    page_open "$PAGE"
    call Page.printToPDF '{"printBackground": true}' | jq -r .data | base64 -d >page.pdf
    [ "$(head -c 5 page.pdf)" = %PDF- ]
    call Emulation.setEmulatedMedia '{"media": "print"}' >/dev/null
    [ "$(js '[...document.querySelectorAll("#filters, .copy")].every((node) => node.offsetParent === null)')" = true ]
    js 'dispatchEvent(new Event("beforeprint")); 0'
    [ "$(js '[...document.querySelectorAll("details")].every((one) => one.open)')" = true ]
    js 'dispatchEvent(new Event("afterprint")); 0'
    [ "$(js '[...document.querySelectorAll("details")].every((one) => one.open)')" = false ]
}

@test "without its script the page is complete" {
    browser_needed
    sed 's/<script>.*//; /^.use strict.;$/,$d' "$PAGE" >plain.html
    page_open "$PWD/plain.html"
    [ "$(js '[...document.querySelectorAll("#table tbody tr")].length')" -eq "$(benchmarks)" ]
    [ "$(js 'document.querySelector("#filters").offsetParent')" = null ]
    # The page's content security policy blocks a foreign script.
    sed 's|<header |<script>document.title = "foreign"</script><header |' "$PAGE" >foreign.html
    page_open "$PWD/foreign.html"
    [ "$(js document.title)" = 'worldswitch: qemu-tcg, lab:native' ]
    [[ "$(complaints)" = *'Content Security Policy'* ]]
}

@test "strings of a result are escaped" {
    browser_needed
    evil='"><img src=x onerror=alert(1)><script>alert(2)</script>'
    mkdir evil
    jq --arg evil "$evil" '.platform = $evil | .command += [$evil] | .identity.subject[$evil] = $evil
        | .tool = $evil | .rows[0].benchmark = $evil | .rows[0].category = $evil
        | .rows[1].status = "fault" | .rows[1].reason = $evil
        | .boots[0].launches[0].end = "died" | .boots[0].launches[0].end_detail = $evil' \
        "$RUN/qemu-tcg.json" >evil/evil.json
    ws report evil -o evil.html
    page_open "$PWD/evil.html"
    [ "$(complaints)" = '' ]
    [ "$(js 'document.querySelectorAll("script").length + " " + document.querySelectorAll("img").length')" = '1 0' ]
    [ "$(js 'document.querySelector("#table tbody th").textContent')" = "$evil" ]
    click '#by-name'
    typed '"><img'
    [ "$(js '[...document.querySelectorAll("#table tbody tr:not([hidden])")].length')" -eq 1 ]
}

# bats test_tags=live
@test "the figures of block I/O: curves with details and filters, and tables" {
    browser_needed
    ws run io ablation mixed --quick --rounds 2 --measure 50 --server elvis,elvis@per-device -o io
    ws report io -o io.html
    page_open "$PWD/io.html"
    [ "$(complaints)" = '' ]
    # Seven figures of ablation, six of each of mixed's roles; each has two curves over three or two steps.
    [ "$(js '[...document.querySelectorAll("#io .card")].length')" -eq 19 ]
    [ "$(js '[...document.querySelectorAll("#io .curve")].length')" -eq 38 ]
    [ "$(js '[...document.querySelectorAll("#io g[data-r] use")].length')" -eq $((7 * 6 + 12 * 4)) ]
    hover '#io .card:first-of-type g[data-r="0"] use'
    shown=$(js 'document.querySelector("#tip:not([hidden])")?.textContent ?? ""')
    [[ $shown = 'elvis, 1: '*'; least '*', greatest '* ]]
    # A platform that is filtered out has no curve, no mark and no column.
    click '.by-platform[value="1"]'
    [ "$(js '[...document.querySelectorAll("#io [data-p=\"1\"]")].every((node) => node.getBoundingClientRect().width === 0)')" = true ]
    page_width 390
    [ "$(js 'document.documentElement.scrollWidth')" -le 390 ]
    page_width 1280
    click '.by-platform[value="1"]'
    js 'document.querySelector("#io").scrollIntoView(); 0'
    picture io
}

@test "a report that can't be made is an error with the reason" {
    run --separate-stderr ws report nowhere -o x.html
    [ "$status" -eq 1 ]
    [[ "$stderr" = *'nowhere" is not a file, a folder'* ]]
    run --separate-stderr ws report "$RUN" --base qemu-kvm -o x.html
    [ "$status" -eq 1 ]
    [[ "$stderr" = *'neither a platform of these results (lab:native, qemu-tcg) nor other results'* ]]
    run --separate-stderr ws report "$RUN" -o /proc/x.html
    [ "$status" -eq 1 ]
    [[ "$stderr" = *'cannot write in /proc'* ]]
    run ws report
    [ "$status" -eq 2 ]
    [ ! -e x.html ]
}
