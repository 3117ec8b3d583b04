# Debian's kernels from the archive, each unpacked by dpkg-deb -x, as the kernel of a lab machine: all that a user has
# to do is name the folder. What is no Linux, also from there, is refused before a machine starts.
# `make test-long` runs it; it needs the network (700 MB).

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/table

SUITES='bookworm bookworm-backports trixie trixie-backports sid experimental'

# An apt of this file's own for all suites, with this system's archive.
setup_file() {
    make -s -C "$ROOT/vmm" >&2
    fetch_packages kvm kvm-vhe
    local uri keys suite folder=$BATS_FILE_TMPDIR/apt
    # shellcheck disable=SC2016
    uri=$(apt-get indextargets --no-release-info --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' |
        sed -n '/security/d; s/ main$//p' | head -n 1)
    keys=$(find /usr/share/keyrings -name 'debian-archive-keyring.*' | head -n 1)
    if [ -z "$uri" ] || [ -z "$keys" ]; then
        skip "apt knows no Debian archive here"
    fi
    mkdir -p "$folder"/state/lists/partial "$folder"/cache/archives/partial
    touch "$folder/status"
    for suite in $SUITES; do
        echo "deb [arch=amd64,arm64 signed-by=$keys] $uri $suite main"
    done >"$folder/sources.list"
    cat >"$folder/apt.conf" <<CONF
APT::Architecture "amd64";
APT::Architectures { "amd64"; "arm64"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::State "$folder/state";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
CONF
    APT_CONFIG=$folder/apt.conf timeout 900 apt-get -q update >&2
}

setup() {
    common_setup
    export LIMIT=900
}

# apt WORD...: apt-get as set up above.
apt() { APT_CONFIG=$BATS_FILE_TMPDIR/apt/apt.conf timeout 900 apt-get -q "$@"; }

# unpack FOLDER SUITE PACKAGE: unpacks a package, and those of a kernel that it depends on, into a new folder.
unpack() {
    local wanted=$3
    mkdir -p packages "$1"
    # PACKAGE, or of a kernel's metapackage what it stands for: Inst NAME (VERSION ...).
    wanted=$(apt --simulate -t "$2" --no-install-recommends install "$3" |
        sed -nE "s/^Inst ((linux-(image|binary|modules|base)-[^ ]*[0-9][^ ]*|${3%:*})(:[a-z0-9]+)?) \(([^ ]+) .*/\1=\5/p")
    echo "$wanted"
    # shellcheck disable=SC2086
    (cd packages && rm -f -- *.deb && apt download $wanted)
    for package in packages/*.deb; do
        dpkg-deb -x "$package" "$1"
    done
}

# measured FOLDER [MACHINE]: a hypercall on the folder's kernel has a figure, which is printed.
measured() {
    local machine=${2:-kvm} figure file before=$SECONDS
    ws run hypercall --on "lab:$machine@$PWD/$1" --boots 1 -o "out/$1" >table.txt 2>&1 || { cat table.txt; false; }
    file=$(echo out/"$1"/*.json)
    figure=$(insns "${file%.json}" hypercall)
    [ "$(jq -r '.rows[0].outcomes[0].check.verdict' "$file")" = proved ]
    echo "# lab:$machine@$1: $(jq -r .identity.subject.kernel "$file"), hypercall $figure, $((SECONDS - before)) s" >&3
    [ "$figure" -gt 500 ] && [ "$figure" -lt 5000 ]
}

@test "6.1: cloud, amd64 and rt" {
    local flavour
    for flavour in cloud-amd64 amd64 rt-amd64; do
        unpack "6.1-$flavour" bookworm "linux-image-$flavour"
        measured "6.1-$flavour"
    done
    [ "$(jq -r .identity.subject.caveat out/6.1-rt-amd64/*.json | grep -c PREEMPT_RT)" -eq 1 ]
}

@test "6.12: cloud, amd64 and rt, and Debian 12's backport" {
    local flavour
    for flavour in cloud-amd64 amd64 rt-amd64; do
        unpack "6.12-$flavour" trixie "linux-image-$flavour"
        measured "6.12-$flavour"
    done
    unpack 6.12+deb12 bookworm-backports linux-image-cloud-amd64
    measured 6.12+deb12
}

@test "the newest of backports, unstable and experimental, whose packages are split" {
    local flavour suite
    for flavour in cloud-amd64 amd64 rt-amd64; do
        unpack "backports+$flavour" trixie-backports "linux-image-$flavour"
        measured "backports+$flavour"
    done
    for suite in sid experimental; do
        unpack "$suite" "$suite" linux-image-cloud-amd64
        measured "$suite"
    done
    # Without the modules' package, or without the kernel's.
    cp -r sid no-modules
    rm -r no-modules/usr/lib/modules/*/kernel
    run -1 ws run hypercall --on "lab:kvm@$PWD/no-modules" -o none
    [[ $output == *'dpkg-deb -x linux-modules-'* ]]
    rm sid/usr/lib/modules/*/vmlinuz
    run -1 ws run hypercall --on "lab:kvm@$PWD/sid" -o none
    [[ $output == *'linux-binary-'* ]]
}

@test "ARM: the newest of backports" {
    unpack arm trixie-backports linux-image-cloud-arm64:arm64
    measured arm kvm-vhe
    run -1 ws run hypercall --on "lab:kvm@$PWD/arm" -o none
    [[ $output == *'which is an arm64 Image: the machine'*'is an x86'* ]]
}

@test "iPXE, memdisk and U-Boot are refused before a machine starts" {
    local file package
    for package in ipxe syslinux-common u-boot-qemu; do
        unpack boot sid "$package"
    done
    for file in boot/usr/lib/{ipxe/ipxe.lkrn,syslinux/memdisk,u-boot/qemu-x86/uboot.elf,u-boot/qemu-x86_64/uboot.elf,u-boot/qemu-x86_64/u-boot.bin,ipxe/ipxe-amd64.efi}; do
        run -1 ws lab boot kvm --kernel "$file"
        echo "$output"
        [[ $output == *"can't boot $file, which is"* ]]
        mkdir -p as-host
        cp "$file" as-host/vmlinuz
        run -1 ws run hypercall --on "lab:kvm@$PWD/as-host" -o none
        echo "$output"
        [[ $output == *"can't boot $PWD/as-host/vmlinuz, which is"*'no Linux'* ]]
    done
}
