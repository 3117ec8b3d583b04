# shellcheck shell=bash
# Drives a headless Chromium over its DevTools pipe (chromedevtools.github.io/devtools-protocol):
# JSON objects, each ended by a NUL byte, in on its descriptor 3, out on 4. All tests of a file use
# one browser; each test opens a page of its own.

# Starts the browser; for setup_file. Without Chromium, tests are skipped (browser_needed).
browser_start() {
    export BROWSER=$BATS_FILE_TMPDIR/browser
    mkdir -p "$BROWSER"
    command -v chromium >/dev/null || return 0
    mkfifo "$BROWSER/in" "$BROWSER/out"
    local sandbox=()
    # Chromium's sandbox refuses to run as root.
    [ "$(id -u)" -ne 0 ] || sandbox=(--no-sandbox)
    HOME=$BROWSER chromium --headless --remote-debugging-pipe "${sandbox[@]}" --disable-gpu \
        --disable-dev-shm-usage --no-first-run --user-data-dir="$BROWSER/profile" about:blank \
        3<>"$BROWSER/in" 4<>"$BROWSER/out" >"$BROWSER/log" 2>&1 &
    echo $! >"$BROWSER/pid"
    # If it does not start, the whole file fails at once, instead of each test after its timeout.
    EVENTS=$BROWSER/events call Browser.getVersion >/dev/null || {
        cat "$BROWSER/log" >&2
        return 1
    }
}

# Ends the browser; for teardown_file.
browser_stop() {
    [ -e "$BROWSER/pid" ] || return 0
    printf '{"id": 1, "method": "Browser.close"}\0' 1<>"$BROWSER/in"
    local pid i
    pid=$(cat "$BROWSER/pid")
    for i in $(seq 50); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
}

browser_needed() {
    [ -e "$BROWSER/pid" ] || skip 'there is no chromium here (tools/setup test installs it)'
}

# call METHOD [PARAMS]: sends a command, prints its result. Events that arrive before the result go to
# $EVENTS, one per line. Fails if the command failed, or after a minute without a message.
# Both FIFOs are opened for reading and writing, as opening one end only would block.
call() {
    local params=${2-} message
    [ -n "$params" ] || params='{}'
    # In a file: a call may run in a subshell, and IDs must not repeat.
    message_id=$(($(cat "$BROWSER/id" 2>/dev/null || echo 100) + 1))
    echo "$message_id" >"$BROWSER/id"
    jq -cn --arg session "${SESSION-}" --argjson id "$message_id" --arg method "$1" --argjson params "$params" \
        '{$id, $method, $params} + if $session == "" then {} else {sessionId: $session} end' |
        tr '\n' '\0' 1<>"$BROWSER/in"
    while IFS= read -r -d '' -t 60 message <>"$BROWSER/out"; do
        case $message in
        "{\"id\":$message_id,\"error\""*)
            echo "$1: $message" >&2
            return 1
            ;;
        "{\"id\":$message_id,"*)
            jq -c .result <<<"$message"
            return 0
            ;;
        *) printf '%s\n' "$message" >>"$EVENTS" ;;
        esac
    done
    echo "$1: no answer from the browser" >&2
    return 1
}

# page_open FILE [WIDTH]: opens a file in a new page, and waits until it is loaded.
page_open() {
    local target i
    EVENTS=$BATS_TEST_TMPDIR/events
    : >"$EVENTS"
    SESSION=''
    target=$(call Target.createTarget '{"url": "about:blank"}' | jq -r .targetId)
    SESSION=$(call Target.attachToTarget "{\"targetId\": \"$target\", \"flatten\": true}" | jq -r .sessionId)
    local domain
    for domain in Page Runtime Log Network; do call "$domain.enable" >/dev/null; done
    page_width "${2:-1280}"
    call Page.navigate "$(jq -cn --arg url "file://$1" '{$url}')" >/dev/null
    for i in $(seq 1200); do
        if [ "$(js 'document.readyState + location.protocol')" = 'completefile:' ]; then return 0; fi
        sleep 0.05
    done
    echo "$1 was not loaded: $i" >&2
    return 1
}

page_width() {
    call Emulation.setDeviceMetricsOverride \
        "{\"width\": $1, \"height\": 900, \"deviceScaleFactor\": 1, \"mobile\": false}" >/dev/null
}

# first_screen FILE: the page's sentence and its chart are whole on the first screen of a wide and a narrow window, in
# light and dark, and no value of the chart sticks out of it. The page does not
# scroll sideways.
first_screen() {
    local width scheme found
    page_open "$1"
    for width in 1400 420; do
        page_width "$width"
        for scheme in light dark; do
            call Emulation.setEmulatedMedia "{\"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"$scheme\"}]}" >/dev/null
            # shellcheck disable=SC2016  # JavaScript's own
            found=$(js '(() => {
                const box = (node) => node.getBoundingClientRect();
                const sentence = document.querySelector("h1"), chart = document.querySelector("figure.chart");
                if (!chart) return "there is no chart";
                const wrong = [];
                for (const node of [sentence, chart]) {
                    const { left, top, right, bottom, width, height } = box(node);
                    if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight || width < 300 || height < 20)
                        wrong.push(`${node.tagName} is at ${[left, top, right, bottom]}`);
                }
                const { x, y, height } = box(sentence);
                if (document.elementFromPoint(x + 5, y + height / 2) !== sentence) wrong.push("the sentence is covered");
                const bars = [...chart.querySelectorAll(".bar")];
                if (!bars.some((bar) => box(bar.querySelector("i")).width > 50)) wrong.push("there is no bar");
                for (const text of chart.querySelectorAll("b, .name, figcaption"))
                    if (box(text).right > box(chart).right + 1 || box(text).left < box(chart).left - 1)
                        wrong.push(`${text.textContent} sticks out`);
                const room = document.documentElement.clientWidth;
                if (document.documentElement.scrollWidth > room) {
                    const wide = [...document.querySelectorAll("body *")].filter((node) => box(node).right > room && !node.closest(".scroll"));
                    wrong.push(`it scrolls sideways: ${wide.map((node) => node.className || node.tagName).slice(0, 5)}`);
                }
                return wrong.join("; ");
            })()')
            picture "$(basename "$1" .html)-$width-$scheme"
            if [ -n "$found" ]; then
                echo "$1, $width, $scheme: $found" >&2
                return 1
            fi
        done
    done
}

# laid_out FILES...: with all that is folded open, at each of $WIDTHS nothing of these pages sticks out or is cut off, each
# column can be seen whole, and no row is higher than what it shows (layout.js).
laid_out() {
    local file width found bad=''
    for file; do
        page_open "$file"
        js 'for (const fold of document.querySelectorAll("details")) fold.open = true; 0' >/dev/null
        for width in ${WIDTHS:?}; do
            page_width "$width"
            found=$(js "$(cat "$BATS_TEST_DIRNAME/../e2e/layout.js")")
            picture "layout-$(basename "$file" .html)-$width"
            [ -z "$found" ] || {
                bad=1
                echo "${file##*/}, $width: $(wc -l <<<"$found") faults, such as"
                head -n 5 <<<"$found"
            }
        done
        call Page.close >/dev/null
        SESSION=''
    done
    [ -z "$bad" ]
}

# made_pages FOLDER: the pages of the unit tests of ws-report, into this folder.
made_pages() {
    local tests
    tests=$(cd "$ROOT" && RUSTC_WRAPPER=$PWD/tests/test-rustc cargo test --locked --no-run --tests --message-format=json \
        2>/dev/null | jq -r 'select((.target.src_path // "" | endswith("crates/report/tests/it/main.rs")) and .executable).executable')
    mkdir -p "$1"
    # Those of random results would be others each time.
    WS_PAGES=$1 "$tests" --test-threads 2 --skip any_results --skip the_heading >"$1/log" || { cat "$1/log" && false; }
}

# js EXPRESSION: prints its value, strings as they are, else JSON. Fails on an exception.
js() {
    local result
    result=$(call Runtime.evaluate \
        "$(jq -cn --arg expression "$1" '{$expression, returnByValue: true, awaitPromise: true}')")
    jq -r 'if has("exceptionDetails") then error(tojson) else .result.value end |
        if type == "string" then . else tojson end' <<<"$result"
}

# Moves the real pointer onto the middle of the first element that a selector finds.
hover() {
    local x y
    read -r x y < <(js "(() => {
        const it = document.querySelector('$1');
        it.scrollIntoView({block: 'center', inline: 'center'});
        const b = it.getBoundingClientRect();
        return (b.x + b.width / 2) + ' ' + (b.y + b.height / 2);
    })()")
    call Input.dispatchMouseEvent "{\"type\": \"mouseMoved\", \"x\": $x, \"y\": $y}" >/dev/null
    POINTER="\"x\": $x, \"y\": $y"
}

click() {
    hover "$1"
    local type
    for type in mousePressed mouseReleased; do
        call Input.dispatchMouseEvent "{\"type\": \"$type\", $POINTER, \"button\": \"left\", \"clickCount\": 1}" >/dev/null
    done
}

# Presses a key by its DOM name.
key() {
    local type
    for type in rawKeyDown keyUp; do
        call Input.dispatchKeyEvent "{\"type\": \"$type\", \"key\": \"$1\", \"code\": \"$1\", \"windowsVirtualKeyCode\": ${2:-0}}" >/dev/null
    done
}

typed() {
    call Input.insertText "$(jq -cn --arg text "$1" '{$text}')" >/dev/null
}

# Errors of the page, and its requests to the network. Should be empty.
complaints() {
    js 0 >/dev/null # reads all events before its result
    jq -c 'select(.method == "Runtime.exceptionThrown" or .method == "Page.javascriptDialogOpening"
        or (.method == "Log.entryAdded" and .params.entry.level == "error")
        or (.method == "Runtime.consoleAPICalled" and .params.type == "error")
        or (.method == "Network.requestWillBeSent" and (.params.request.url | test("^file:.*html$") | not)))' "$EVENTS"
}

# With PICTURES=1, keeps a screenshot of the first screen for a person to look at; this takes seconds.
picture() {
    [ -n "${PICTURES-}" ] || return 0
    mkdir -p "$BUILT/report"
    call Page.captureScreenshot '{"format": "png"}' | jq -r .data |
        base64 -d >"$BUILT/report/$1.png"
}
