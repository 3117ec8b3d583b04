# shellcheck shell=bash
# A PostgreSQL server of the tests' own: the set postgresql of the lab's store, with its own loader and libraries, as an
# unprivileged user, in a folder of its own, on a socket there and on a free port of the loopback. Nothing of the system is
# used or changed. The server ends with the tests, however they end.

POSTGRES_SET=$LAB_STORE/sets/postgresql/root
PGBIN=usr/lib/postgresql/15/bin

# Skips the tests with the reason if the packages are not there and can't be fetched.
fetch_postgres() {
    [ -e "$POSTGRES_SET/$PGBIN/postgres" ] || fetch_or_skip --cache "$LAB_STORE" --newest postgresql
}

# Becomes a program; initdb refuses to run as root, so root's is nobody's. It is killed when this shell's parent ends.
# `inside` may name what starts it.
become_unprivileged() {
    local drop=()
    [ "$(id -u)" -ne 0 ] || drop=(--reuid=65534 --regid=65534 --clear-groups)
    exec "${inside[@]}" setpriv "${drop[@]}" --pdeathsig KILL env -i PATH=/usr/bin:/bin LC_ALL=C "$@"
}

# make_postgres FOLDER: a new, empty database cluster, with a role `owner`.
make_postgres() {
    local at=$1 name
    # PostgreSQL finds its files by the path of its own program, so the folder is laid out like the set. A copy: others
    # may not read a user's cache.
    mkdir -p "$at/$PGBIN" && chmod 755 "$at"
    cp -r "$POSTGRES_SET" "$at/set"
    ln -s "$at/set/usr/share" "$at/usr/share"
    ln -s "$at/set/usr/lib/postgresql/15/lib" "$at/usr/lib/postgresql/15/lib"
    for name in initdb postgres psql; do
        cat >"$at/$PGBIN/$name" <<END
#!/bin/sh
exec "$at/set/usr/lib64/ld-linux-x86-64.so.2" --library-path "$at/set/usr/lib/x86_64-linux-gnu" \\
    --argv0 "$at/$PGBIN/$name" "$at/set/$PGBIN/$name" "\$@"
END
        chmod 755 "$at/$PGBIN/$name"
    done
    mkdir "$at/data" "$at/socket" "$at/small" && chmod 700 "$at/data" "$at/small" && chmod 755 "$at/socket"
    [ "$(id -u)" -ne 0 ] || chown 65534 "$at/data" "$at/small" "$at/socket"
    (become_unprivileged "$at/$PGBIN/initdb" -D "$at/data" -U owner -A trust --locale=C -E UTF8 --no-sync \
        --wal-segsize=1 --no-instructions) >"$at/initdb.log" 2>&1 || { cat "$at/initdb.log" >&2 && return 1; }
}

# start_postgres FOLDER [SETTING=VALUE...]: starts it; sets POSTGRES_PID, PGPORT and PGHOST, its socket.
start_postgres() {
    local at=$1 words=() setting inside=()
    shift
    # For root: a disk of its own that is soon full, in a mount namespace that ends with the server.
    # shellcheck disable=SC2016
    [ "$(id -u)" -ne 0 ] || inside=(unshare --mount sh -c
        'mount -t tmpfs -o size=14m,mode=700,uid=65534,gid=65534 none "$0" && exec "$@"' "$at/small")
    for setting in fsync=off autovacuum=off max_connections=40 shared_buffers=16MB "$@"; do
        words+=(-c "$setting")
    done
    export PGPORT PGHOST=$at/socket
    for _ in 1 2 3 4 5; do
        PGPORT=$((20000 + RANDOM % 12000))
        : >"$at/server.log"
        (become_unprivileged "$at/$PGBIN/postgres" -D "$at/data" -k "$at/socket" -c listen_addresses=127.0.0.1 \
            -p "$PGPORT" "${words[@]}") >"$at/server.log" 2>&1 3>&- &
        POSTGRES_PID=$!
        eventually started "$at" || return
        ! grep -q 'database system is ready' "$at/server.log" || return 0
        # Somebody else has the port.
        grep -q 'could not bind' "$at/server.log" || break
    done
    cat "$at/server.log" >&2
    return 1
}

# Whether it takes connections, or is gone.
started() { grep -q 'database system is ready' "$1/server.log" || ! kill -0 "$POSTGRES_PID" 2>/dev/null; }

stop_postgres() {
    kill -INT "$POSTGRES_PID" 2>/dev/null || true
    wait "$POSTGRES_PID" 2>/dev/null || true
}

# The result in docs/results.md.
# shellcheck disable=SC2016
example_result() {
    sed -n '/^## An example/,$p' "$ROOT/docs/results.md" | sed -n '/^```json/,/^```$/{/^```/d;p}'
}

# sql FOLDER DATABASE [STATEMENT...]: runs statements as the owner; prints the values, a row a line.
sql() {
    local at=$1 database=$2 words=() statement
    shift 2
    for statement; do
        words+=(-c "$statement")
    done
    "$at/$PGBIN/psql" -X -q -At -v ON_ERROR_STOP=1 -U owner -d "$database" "${words[@]}"
}
