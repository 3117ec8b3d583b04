# `worldswitch history --db`: a history on a PostgreSQL server, which the tests start (postgres.bash).
# bats file_tags=live

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common
load postgres

setup_file() {
    # Not below bats' folder, which others may not enter.
    export SERVER
    SERVER=$(mktemp -d "${TMPDIR:-/tmp}/ws-postgres.XXXXXX")
    if ! fetch_postgres; then
        return 1
    fi
    make_postgres "$SERVER"
    make_certificates "$SERVER"
    cat >"$SERVER/data/pg_hba.conf" <<'END'
local all all trust
hostssl all tls 127.0.0.1/32 trust
host all tls 127.0.0.1/32 reject
host all secret 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
END
    start_postgres "$SERVER" ssl=on "ssl_cert_file=$SERVER/tls/server.crt" "ssl_key_file=$SERVER/tls/server.key"
    export POSTGRES_PID
    sql "$SERVER" postgres 'CREATE ROLE reader LOGIN' 'CREATE ROLE adder LOGIN' 'CREATE ROLE outsider LOGIN' \
        'CREATE ROLE tls LOGIN SUPERUSER' "CREATE ROLE secret LOGIN PASSWORD 'right'"
    # The example of docs/results.md, on some days.
    export RESULTS=$BATS_FILE_TMPDIR/results day
    mkdir "$RESULTS"
    example_result >"$RESULTS/0.json"
    for day in 1 2 3; do
        jq --argjson day "$day" '.created = "2031-01-0\($day)T00:00:00Z" | .rows[].metrics[].boots[].run[] += 1000 * $day' \
            "$RESULTS/0.json" >"$RESULTS/$day.json"
    done
}

teardown_file() {
    [ -z "${POSTGRES_PID-}" ] || stop_postgres
    rm -rf "$SERVER"
}

# Each test has a database of its own.
setup() {
    common_setup
    DATABASE=t$BATS_TEST_NUMBER
    sql "$SERVER" postgres "CREATE DATABASE $DATABASE"
    DB=postgresql://owner@127.0.0.1:$PGPORT/$DATABASE
    unset PGUSER PGPASSWORD PGDATABASE
}

# An authority, and a certificate of it for the name localhost only.
make_certificates() {
    local at=$1/tls
    mkdir "$at"
    openssl_of_set() {
        "$1/set/usr/lib64/ld-linux-x86-64.so.2" --library-path "$1/set/usr/lib/x86_64-linux-gnu" \
            "$1/set/usr/bin/openssl" "${@:2}"
    }
    printf '[req]\ndistinguished_name = name\n[name]\n[ca]\nbasicConstraints = critical,CA:true\n[server]\nsubjectAltName = DNS:localhost\n' \
        >"$at/config"
    local name
    for name in ca other; do
        openssl_of_set "$1" req -config "$at/config" -x509 -extensions ca -newkey ec -pkeyopt ec_paramgen_curve:P-256 \
            -nodes -subj "/CN=$name" -days 2 -keyout "$at/$name.key" -out "$at/$name.crt" 2>>"$at/log"
    done
    openssl_of_set "$1" req -config "$at/config" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server \
        -keyout "$at/server.key" -out "$at/server.csr" 2>>"$at/log"
    openssl_of_set "$1" x509 -req -in "$at/server.csr" -CA "$at/ca.crt" -CAkey "$at/ca.key" -CAcreateserial -days 2 \
        -extfile "$at/config" -extensions server -out "$at/server.crt" 2>>"$at/log"
    chmod 755 "$at" && chmod 600 "$at/server.key"
    [ "$(id -u)" -ne 0 ] || chown 65534 "$at/server.key"
}

# refused WORDS COMMAND...: fails with one line that has these words.
refused() {
    local words=$1
    shift
    run --separate-stderr ws "$@"
    echo "$stderr"
    [ "$status" -eq 1 ]
    [[ "$stderr" = *"$words"* ]]
    [[ "$stderr" != *right* ]]
}

rows() { sql "$SERVER" "$DATABASE" "SELECT count(*) FROM worldswitch.$1"; }

@test "the store's own tests pass on a server" {
    local tests
    tests=$(cd "$ROOT" && RUSTC_WRAPPER=$PWD/tests/test-rustc cargo test --locked --no-run --tests \
        --message-format=json 2>/dev/null | jq -r 'select(.target.name == "ws_history" and .executable).executable')
    WORLDSWITCH_TEST_DB=$DB PROPTEST_CASES=3 PROPTEST_RNG_SEED=1 "$tests" tests:: >log || { cat log && false; }
    grep -q '^test result: ok. [1-9]' log
    # They made databases of their own.
    [ "$(sql "$SERVER" postgres "SELECT count(*) > 5 FROM pg_database WHERE datname LIKE 't%\_%'")" = t ]
}

@test "the commands are the same with a server" {
    refused "there is no history in $DB yet: create it with history add" history list --db "$DB"
    export WORLDSWITCH_HISTORY=$DB
    ws history add "$RESULTS/1.json" "$RESULTS/2.json" --pin-first
    run --separate-stderr ws history add "$RESULTS/1.json"
    [[ "$stderr" = *'was already there as run 1' ]]
    ws history list --json | jq -e '.runs | map([.run, .pinned]) == [[1, true], [2, false]]'
    ws history show 2 >shown.txt
    ws show "$RESULTS/2.json" >file.txt
    cmp shown.txt file.txt
    [ "$(ws history plot sgdt | awk 'NR > 1 { print $2 }' | xargs)" = '15 16' ]
    run ws history check
    [ "$status" -eq 4 ]
    [[ "$output" = *'inconclusive'* ]]
    # There and back: the same results, numbers and pins.
    ws history copy --to here.sqlite
    WORLDSWITCH_HISTORY=here.sqlite ws history list >file.txt
    ws history list >server.txt
    cmp file.txt server.txt
    ws history remove 2
    run --separate-stderr ws history copy --store here.sqlite --to "$DB"
    [[ "$stderr" = *'1 runs and 0 pins were copied to '*', under new numbers; 1 were there already' ]]
    ws history list --json | jq -e '.runs | map(.run) == [1, 3]'
}

@test "a reader only reads and an adder only adds" {
    local reader=${DB/owner/reader} adder=${DB/owner/adder} outsider=${DB/owner/outsider}
    refused 'adder may not do this (permission denied for database' history add "$RESULTS/1.json" --db "$adder"
    ws history add "$RESULTS/1.json" --db "$DB"
    ws history grant read reader --db "$DB"
    ws history grant add adder --db "$DB"
    ws history list --db "$reader" --json | jq -e '.runs | length == 1'
    ws history copy --db "$reader" --to read.sqlite
    ws history list --store read.sqlite --json | jq -e '.runs | length == 1'
    refused 'reader may not do this (permission denied for table runs)' history add "$RESULTS/2.json" --db "$reader"
    ws history add "$RESULTS/2.json" --pin-first --db "$adder"
    local who
    for who in "$reader" "$adder"; do
        refused 'may not do this (permission denied for table runs)' history remove 1 --db "$who"
        refused 'may not do this (permission denied for table pins)' history pin 1 --db "$who"
        refused 'may not do this (the tables belong to owner)' history grant add outsider --db "$who"
    done
    refused 'outsider may not do this (permission denied for schema worldswitch)' history list --db "$outsider"
    # Not by other statements either.
    for who in reader adder; do
        for statement in 'UPDATE worldswitch.runs SET id = 0' 'DELETE FROM worldswitch.figures' \
            'TRUNCATE worldswitch.pins' 'UPDATE worldswitch.version SET version = 9' 'DROP SCHEMA worldswitch CASCADE'; do
            run sql "$SERVER" "$DATABASE" "SET ROLE $who" "$statement"
            [ "$status" -ne 0 ]
        done
    done
    ws history grant nothing reader --db "$DB"
    refused 'reader may not do this' history list --db "$reader"
    refused 'role "nobody_here" does not exist' history grant read nobody_here --db "$DB"
    ws history add "$RESULTS/1.json" --store here.sqlite
    refused 'is a file: grant access by its permissions' history grant read x --store here.sqlite
    [ "$(rows runs)" -eq 2 ]
}

@test "what keeps a user out is said, with the cure" {
    refused "can't connect (Connection refused (os error 111)): check that the server runs there" \
        history list --db postgresql://owner@127.0.0.1:1/x
    refused "can't connect" history list --db "postgresql://owner@nowhere.invalid/x"
    refused 'there is no database nowhere: make it with createdb nowhere' history list --db "${DB%/*}/nowhere"
    local secret=${DB/owner/secret}
    refused 'secret needs a password: set PGPASSWORD, or write it into ~/.pgpass' history list --db "$secret"
    PGPASSWORD=wrong refused 'the password of secret is wrong' history list --db "$secret"
    # The right one lets in, from each place.
    PGPASSWORD=right refused 'there is no history in' history list --db "$secret"
    echo "127.0.0.1:*:$DATABASE:secret:right" >"$HOME/.pgpass"
    chmod 600 "$HOME/.pgpass"
    refused 'there is no history in' history list --db "$secret"
    chmod 644 "$HOME/.pgpass"
    refused 'others may read the passwords in it: chmod 600 it' history list --db "$secret"
    rm "$HOME/.pgpass"
    refused 'role "stranger" does not exist' history list --db "${DB/owner/stranger}"
    run ws history list --db mysql://x
    [ "$status" -eq 1 ]
    [[ "$output" = *'it has the form postgresql://USER@HOST:PORT/DATABASE'* ]]
    # By its socket.
    refused 'there is no history in database' history list --db "postgresql://owner@/$DATABASE"
}

@test "a server that does not answer is given up" {
    ws history add "$RESULTS/1.json" --db "$DB"
    kill -STOP "$POSTGRES_PID"
    run --separate-stderr ws history list --db "$DB?connect_timeout=1"
    kill -CONT "$POSTGRES_PID"
    [ "$status" -eq 1 ]
    [[ "$stderr" = *'no answer within 1 s: check the address and the server'* ]]
    ws history list --db "$DB"
}

@test "tables of another version are refused" {
    ws history add "$RESULTS/1.json" --db "$DB"
    sql "$SERVER" "$DATABASE" 'UPDATE worldswitch.version SET version = 77'
    refused 'has version 77, and this program knows versions up to 3: use a newer worldswitch' history list --db "$DB"
    sql "$SERVER" "$DATABASE" 'UPDATE worldswitch.version SET version = 1'
    refused 'its owner owner can upgrade it with history migrate' history list --db "$DB"
    refused 'has version 1, which this program cannot upgrade to version 3' history migrate --db "$DB"
    sql "$SERVER" "$DATABASE" 'UPDATE worldswitch.version SET version = 3'
    run --separate-stderr ws history migrate --db "$DB"
    [[ "$stderr" = *'already has version 3' ]]
    sql "$SERVER" "$DATABASE" 'DROP TABLE worldswitch.version'
    refused 'is not a history of worldswitch' history list --db "$DB"
}

@test "several programs add at once, and the same result is kept once" {
    local pids=() pid
    for _ in 1 2 3; do
        ws history add "$RESULTS"/{1,2,3}.json --db "$DB" --pin-first 2>/dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid"
    done
    [ "$(rows runs) $(rows figures) $(rows pins)" = '3 3 1' ]
}

@test "a connection that is lost in the middle leaves nothing half" {
    ws history add "$RESULTS"/{1,2,3}.json --store here.sqlite --pin-first
    ws history add "$RESULTS/0.json" --db "$DB"
    # Somebody else keeps the pins, so the copy waits when it has written the runs.
    mkfifo hold
    sql "$SERVER" "$DATABASE" <hold >/dev/null &
    local holder=$!
    exec 7<>hold
    echo 'BEGIN; LOCK worldswitch.pins IN ACCESS EXCLUSIVE MODE;' >&7
    local locks="SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock'"
    holds() { [ "$(sql "$SERVER" "$DATABASE" "$locks AND granted")" -eq 1 ]; }
    eventually holds
    ws history copy --store here.sqlite --to "$DB" 2>copied.txt &
    local copy=$!
    waits() {
        [ "$(sql "$SERVER" "$DATABASE" "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'worldswitch'
            AND wait_event_type = 'Lock'")" -eq 1 ]
    }
    eventually waits
    sql "$SERVER" "$DATABASE" "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'worldswitch'"
    status=0
    wait "$copy" || status=$?
    [ "$status" -eq 1 ]
    echo '\q' >&7
    wait "$holder"
    exec 7>&-
    cat copied.txt
    grep -q 'unfinished work was undone: try again' copied.txt
    [ "$(rows runs) $(rows figures)" = '1 1' ]
    ws history copy --store here.sqlite --to "$DB"
    [ "$(rows runs) $(rows figures) $(rows pins)" = '4 4 1' ]
}

@test "TLS is used and checked as sslmode says" {
    local tls=${DB/owner/tls} ca=sslrootcert=$SERVER/tls/ca.crt mode
    ws history add "$RESULTS/1.json" --db "$DB"
    # The certificate is for localhost.
    local named=${tls/127.0.0.1/localhost}
    for mode in prefer require "verify-ca&$ca"; do
        ws history list --db "$tls?sslmode=$mode" >/dev/null
    done
    ws history list --db "$named?sslmode=verify-full&hostaddr=127.0.0.1&$ca" >/dev/null
    PGSSLMODE=verify-full PGSSLROOTCERT=$SERVER/tls/ca.crt ws history list --db "$named?hostaddr=127.0.0.1" >/dev/null
    refused 'the server does not let tls in' history list --db "$tls?sslmode=disable"
    refused 'certificate not valid for name "127.0.0.1"' history list --db "$tls?sslmode=verify-full&$ca"
    refused 'UnknownIssuer' history list --db "$tls?sslmode=verify-ca&sslrootcert=$SERVER/tls/other.crt"
    refused 'sslrootcert=system' history list --db "$tls?sslmode=verify-full&sslrootcert=/nowhere.crt"
    refused 'sslmode is "allow": use disable, prefer' history list --db "$tls?sslmode=allow"
}

# The last test: the server can do no more on that disk.
@test "a server's full disk is an error, and nothing is half" {
    [ "$(id -u)" -eq 0 ] || skip 'only root can mount a small disk'
    sql "$SERVER" postgres "CREATE TABLESPACE small LOCATION '$SERVER/small'" 'CREATE DATABASE small TABLESPACE small'
    DATABASE=small DB=${DB%/*}/small
    ws history add "$RESULTS/0.json" --db "$DB"
    # Else the server would have no room for what it has taken already.
    sql "$SERVER" "$DATABASE" CHECKPOINT
    # What can't be compressed, more than the disk has in one transaction.
    local index
    for index in 1 2 3 4 5 6 7 8; do
        head -c 1500000 /dev/urandom | base64 -w0 | jq -R --argjson day "$index" --slurpfile result "$RESULTS/0.json" \
            '. as $text | $result[0] | .created = "2032-01-0\($day)T00:00:00Z" | .boots[0].launches[0].console_tail = $text' \
            >"big-$index.json"
    done
    ws history add big-*.json --store here.sqlite 2>/dev/null
    refused "the server's disk is full, so nothing was kept: could not extend file" \
        history copy --store here.sqlite --to "$DB"
    [ "$(rows runs) $(rows figures)" = '1 1' ]
    ws history show 1 --db "$DB" >shown.txt
}
