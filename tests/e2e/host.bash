# shellcheck shell=bash
# Common parts of the tests of workloads in real time on this host: users with less than root has, and what would be
# left behind.

# What our namespaces would show outside of them: their first process. Their other processes end after it.
none_entered() { none_runs '^/lab/init'; }

none_runs() { [ -z "$(pgrep -f "$1" || true)" ]; }

# No device of a network of ours is outside of its namespace.
no_devices() { [ -z "$(ip -o link | grep -E ' (tap[01]|br0|port0)[:@]' || true)" ]; }

# workload NAME LINE...: a workload of the user's.
workload() {
    mkdir -p mine/workloads
    printf '%s\n' "summary = \"$1\"" 'unit = "time"' 'units = 10' 'place = "inside"' "${@:2}" >"mine/workloads/$1.toml"
}

# What users without rights read: this tree, as tree, and the cache.
for_others() {
    mkdir -p cache tree home
    chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" .
    chown 65534 . home
    ln -sfn "$PWD/cache" home/worldswitch
}

# unprivileged COMMAND...: as a user with nothing. The device $CLOSED, if it is given, may be opened by nobody.
unprivileged() {
    for_others
    # shellcheck disable=SC2016
    unshare --mount bash -euc '
        mount --bind "$1" tree
        mount --bind "$2" cache
        [ -z "${CLOSED-}" ] || { mknod -m 0 closed c 10 "$((0x$(stat -c %T "$CLOSED")))"; mount --bind closed "$CLOSED"; }
        exec setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$PWD" XDG_CACHE_HOME="$PWD/home" "${@:3}"' \
        bash "$ROOT" "$LAB_STORE" "$@"
}

# no_namespaces COMMAND...: as a user who may make none. Who is in a chroot may make no namespace of users
# (user_namespaces(7)).
no_namespaces() {
    for_others
    mkdir root
    # shellcheck disable=SC2016
    unshare --mount bash -euc '
        mount --bind "$1" tree
        mount --bind "$2" cache
        mount --rbind / root
        exec chroot --userspec=65534:65534 root env --chdir="$PWD" HOME="$PWD" XDG_CACHE_HOME="$PWD/home" "${@:3}"' \
        bash "$ROOT" "$LAB_STORE" "$@"
}

# only_cure TEXT: the command failed ($output) with one error, which says this.
# shellcheck disable=SC2154
only_cure() {
    [ "$(grep -c '^error: ' <<<"$output")" = 1 ]
    [[ "$output" == *'error: '*"$1"* ]]
}

# of WORKLOAD PLATFORM EXPRESSION: a value from one line of the table.
of() { jq -r ".times[] | select(.workload == \"$1\").lines[] | select(.platform == \"$2\") | $3" apps.json; }

# on_one_cpu WORDS...: worldswitch on one CPU, without packages.
on_one_cpu() {
    local cpu
    cpu=$(awk '/^Cpus_allowed_list/ { split($2, a, "[-,]"); print a[1] }' /proc/self/status)
    taskset -c "$cpu" env XDG_CACHE_HOME="$PWD/empty" "$WORLDSWITCH" "$@"
}
