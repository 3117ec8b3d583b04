# make install and make uninstall, from what the build step made.

load common

setup() { common_setup; }

@test "an installed command finds its parts, also after a move; uninstall leaves no file" {
    make -s -C "$ROOT" install BUILT="$(dirname "$WORLDSWITCH")" DESTDIR="$PWD/stage" PREFIX=/opt/ws
    mv stage/opt/ws moved
    # Elsewhere than in the tree, whose parts would be found too.
    cd moved
    bin/worldswitch benchmarks --json >benchmarks.json
    jq -e 'any(.. | .name?; . == "hypercall")' benchmarks.json
    bin/worldswitch machines --json >platforms.json
    jq -e 'any(.. | .name?; . == "lab:neve-nested")' platforms.json
    rm ./*.json
    [ "$(bin/elvis --version)" = "elvis $(bin/worldswitch --version | cut -d ' ' -f 2)" ]
    # Each kind of part; tests of the parts themselves use the tree's.
    for part in guest/{x86_64/{guest.elf,guest.mb,dom0.elf},aarch64/guest{,-protected}.{elf,img},riscv64/guest.{elf,img}} {vmm,lab}/{x86_64,aarch64,riscv64}/{vmm,init} \
        lab/{x86_64/agent,x86_64/agent-cpus,x86_64/agent-xen,x86_64/agent-host,x86_64/enter,aarch64/agent,aarch64/agent-cpus,aarch64/agent-xen,lock.toml,kernel.config,recipes/kvm.toml,workloads/apache.toml} plugin/api-3.so \
        neve/aarch64-neve-vhe/neve.{elf,img}; do
        case $part in vmm/*/init | lab/*/vmm) continue ;; esac
        [ -s "lib/worldswitch/$part" ] || { echo "no $part" && false; }
    done
    for page in worldswitch worldswitch-{run,lab-fetch} elvis elvis-{serve,ctl-stats}; do
        grep -q '^\.SH SYNOPSIS' "share/man/man1/$page.1"
    done
    [ -z "$(find share/man -name '*help*' -o -name '*io-client*' -o -name '*manual*')" ]
    for name in worldswitch elvis; do
        bash -n "share/bash-completion/completions/$name.bash"
        grep -q "^#compdef $name" "share/zsh/site-functions/_$name"
        grep -q "^complete --command $name" "share/fish/vendor_completions.d/$name.fish"
    done
    grep -qx 'ExecStart=/opt/ws/bin/elvis serve --config /etc/elvis.toml' lib/systemd/system/elvis.service
    make -s -C "$ROOT" uninstall PREFIX="$PWD"
    [ -z "$(find . -type f)" ]
}
