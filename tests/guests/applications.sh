#!/busybox sh
# shellcheck shell=dash
# The first process of a Linux guest with the applications of `worldswitch run apps` (tests/e2e/applications.bash): mounts
# their root file system, gives the network cards 10.0.0.N, 10.1.0.N ... (number=N on the kernel's command line), and
# does what the lines on its console say. Each line of its own output begins with "net: ".
: "${number:?}"
PATH=/usr/bin:/usr/sbin:/tools
export PATH
/busybox mkdir -p /tools
/busybox --install -s /tools
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in failover net_failover virtio_net virtio_blk libcrc32c erofs; do
    insmod "/modules/$module.ko" 2>/dev/null || echo "net: no module $module"
done
until [ -b /dev/vda ]; do sleep 0.1; done
mount -t erofs -o ro /dev/vda /image
mount --bind /image/usr /usr
cp -a /image/etc/. /etc
# Who programs run as.
printf '%s\n' 'root:x:0:0::/:/bin/sh' 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' >/etc/group
for folder in bin sbin lib lib64; do
    ln -s "usr/$folder" "/$folder"
done
mkdir -p /dev/shm /var/log
chmod 1777 /tmp /dev/shm
/tools/ip link set lo up
i=0
while [ -e "/sys/class/net/eth$i" ]; do
    # Each card answers for its own address.
    echo 1 >"/proc/sys/net/ipv4/conf/eth$i/arp_ignore"
    /tools/ip address add "10.$i.0.$number/24" dev "eth$i"
    /tools/ip link set "eth$i" up
    i=$((i + 1))
done
stty -echo
echo 'net: ready'
while read -r line; do
    sh -c "$line" >/tmp/said 2>&1
    status=$?
    sed 's/^/net: | /' /tmp/said
    echo "net: did $status"
done
