# Linux guests with the applications of `worldswitch run apps` behind elvis' network, in time: netperf, memcached, Apache and
# nginx between two guests at a switch and between a guest and the host, without kicks while busy; and a daemon that is
# killed under netperf's traffic. `make test-long` runs it; it takes minutes, and needs the network once.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/net
load ../e2e/applications

setup_file() {
    elvis_packages
    applications_setup_file
}

setup() {
    common_setup
    net_namespace tap
    "${inside[@]}" ip address add 10.1.0.1/24 dev tap0
    # Between netperf's frames a busy host may let more than 5 ms pass, after which tests/e2e/elvis.bash does not poll.
    export NET_POLICY='poll_on_gap_ns = 100000000\npoll_off_idle_ns = 2000000000\npoll_keep_ns = 20000000000\npoll_review_ns = 20000000000'
    devices=(--net "$PWD/a=switch:lan" --net "$PWD/b=switch:lan" --net "$PWD/c=tap:tap0")
    serve "${devices[@]}"
    applications_guest b 2 b c
    applications_guest a 3 a
    told b 60 'netserver -4 -L 0.0.0.0 >/dev/null'
}

teardown() { net_teardown; }

# on_host PROGRAM [ARGUMENT...]: an application of the lab's packages at the host's end of the tap device.
on_host() {
    "${inside[@]}" "$APPLICATIONS/usr/lib64/ld-linux-x86-64.so.2" --library-path "$APPLICATIONS/usr/lib/x86_64-linux-gnu" \
        "$APPLICATIONS/usr/bin/$1" "${@:2}"
}

frames() { total "$1" 'net.frames // 0'; }
grown() { [ "$(frames "$1")" -ge "$2" ]; }

# counted DEVICES NAME COMMAND...: runs it, and shows frames and kicks of the devices from its 300th frame on.
counted() {
    local of=$1 name=$2 before running
    shift 2
    before=$(frames "$of")
    "$@" >counted.txt &
    running=$!
    LIMIT=120 eventually grown "$of" $((before + 300))
    kicks=$(total "$of" kicks) frames=$(frames "$of")
    wait "$running"
    kicks=$(($(total "$of" kicks) - kicks)) frames=$(($(frames "$of") - frames))
    output=$(<counted.txt)
    echo "$name: $frames frames, $kicks kicks" | tee -a "$BATS_FILE_TMPDIR/applications.txt" >&3
    [ "$frames" -gt 0 ]
}

# Hardly any kick: a guest that a busy host stops may be polled no more for a moment.
polled() { [ $((kicks * 1000)) -lt "$frames" ]; }

# shows NAME SECONDS COMMAND: as told, and prints what it said.
shows() { told "$@" && echo "$output"; }

@test "netperf between two guests at a switch, and between a guest and the host" {
    # MiB, or transactions.
    for kind in TCP_STREAM:128 TCP_MAERTS:128 TCP_RR:4000 UDP_RR:4000; do
        amount=${kind#*:} kind=${kind%:*}
        [ "$amount" -gt 1000 ] || amount=$((amount << 20))
        counted 'a|b' "a to b, $kind" shows a 300 "netperf -4 -H 10.0.0.2 -t $kind -l -$amount -P 0"
        polled
        counted c "host to b, $kind" on_host netperf -4 -H 10.1.0.2 -t "$kind" -l "-$amount" -P 0
        polled
    done
}

@test "memcached, Apache and nginx answer a guest and the host" {
    told b 60 'memcached -d -u nobody -m 32 -t 1 -U 0 -l 0.0.0.0'
    told b 60 'mkdir -p /tmp/www && head -c 40960 /usr/share/java/js.jar >/tmp/www/page && chmod -R a+rX /tmp/www'
    told b 60 "printf '%s\\n' 'ServerRoot /usr/lib/apache2' 'ServerName b' 'Listen 8080' 'PidFile /tmp/apache.pid' 'ErrorLog /tmp/apache.log' 'LoadModule mpm_event_module modules/mod_mpm_event.so' 'LoadModule authz_core_module modules/mod_authz_core.so' 'User nobody' 'Group nogroup' 'DocumentRoot /tmp/www' >/tmp/apache.conf && apache2 -f /tmp/apache.conf"
    told b 60 "printf '%s\\n' 'user nobody nogroup;' 'pid /tmp/nginx.pid;' 'events { worker_connections 64; }' 'http { access_log off; client_body_temp_path /tmp/t; proxy_temp_path /tmp/t; fastcgi_temp_path /tmp/t; uwsgi_temp_path /tmp/t; scgi_temp_path /tmp/t; server { listen 8081; root /tmp/www; } }' >/tmp/nginx.conf && nginx -e /tmp/nginx.log -c /tmp/nginx.conf"
    sum=$(head -c 40960 "$APPLICATIONS/usr/share/java/js.jar" | md5sum)
    for port in 8080 8081; do
        told a 60 "until wget -q -O /tmp/page http://10.0.0.2:$port/page; do sleep 0.5; done; md5sum </tmp/page"
        [ "$output" = "$sum" ]
        counted 'a|b' "ab to port $port" shows a 200 "ab -q -n 200 -c 10 http://10.0.0.2:$port/page"
        grep -q '^Complete requests: *200$' <<<"$output"
        grep -q '^Failed requests: *0$' <<<"$output"
        run on_host ab -q -n 200 -c 10 "http://10.1.0.2:$port/page"
        grep -q '^Failed requests: *0$' <<<"$output"
    done
    counted 'a|b' memcslap shows a 200 'memcslap -s 10.0.0.2:11211 --test=set --concurrency=1 --execute-number=1000 --initial-load=0'
    grep -q '^Time to set *1000 keys' <<<"$output"
    run on_host memcslap -s 10.1.0.2:11211 --test=set --concurrency=1 --execute-number=1000 --initial-load=0
    grep -q '^Time to set *1000 keys' <<<"$output"
}

sends() { grown "$1" 100; }

@test "kill -9 of the daemon under netperf's traffic: its connections live on" {
    echo 'netperf -4 -H 10.0.0.2 -t TCP_RR -l 30 -P 0' >a.in
    on_host netperf -4 -H 10.1.0.2 -t TCP_STREAM -l 30 -P 0 >stream.txt 3>&- &
    stream=$!
    for _ in 1 2 3; do
        eventually sends 'a|b'
        eventually sends c
        kill -9 "$elvis"
        wait "$elvis" || true
        serve "${devices[@]}"
    done
    eventually sends 'a|b'
    eventually sends c
    # Both have ended well, with what they moved.
    wait "$stream"
    grep -q '[1-9]' stream.txt
    LIMIT=120 eventually did_more a 0
    grep -q '^net: did 0' a.txt
    # A request is lost with its daemon, and sent once more.
    awk '/^net: \|/ && $8 > 0 { found = 1 } END { exit !found }' a.txt
}
