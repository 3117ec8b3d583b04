# Runs in dom0: starts Xen's tool stack, in the folder that has nothing but its files, then the domain of
# /domain.cfg and of the lines that are its arguments. Ends when that domain is gone.
folders='proc sys dev run tmp'
if [ -d /lab ]; then
	# Here the root is that of the applications; the tool stack's is the initramfs.
	for folder in $folders; do
		busybox mkdir -p /lab/$folder
		busybox mount -o rbind /$folder /lab/$folder
	done
	exec busybox chroot /lab /usr/bin/busybox sh /start
fi
/usr/bin/busybox --install -s /usr/bin
tools=$(echo /usr/lib/xen-*/bin)
export PATH=$tools:/usr/bin
mkdir -p /run/xen /run/xenstored /run/lock /var/lib/xen /var/lib/xenstored /var/log/xen /dev/pts
ln -s /run /var/run
ln -s /run/lock /var/lock
: >/etc/xen/xl.conf
[ -e /dev/pts/ptmx ] || mount -t devpts devpts /dev/pts
[ -e /proc/xen/capabilities ] || mount -t xenfs xenfs /proc/xen
xenstored --pid-file=/run/xenstored.pid || exit
xen-init-dom0 >/dev/null || exit
xenconsoled --pid-file=/run/xenconsoled.pid || exit
# How the agents talk: fifos of dom0's, the console of the domain. (cat would hold the fifo's lock while it waits
# for the console, by sendfile.)
if [ -p /tmp/marks.in ]; then
	{
		until tty=$(xenstore-read /local/domain/1/console/tty 2>/dev/null) && [ -n "$tty" ]; do
			sleep 0.05
		done
		dd bs=512 if=/tmp/marks.in of="$tty" 2>/dev/null &
		exec dd bs=512 if="$tty" of=/tmp/marks.out 2>/dev/null
	} &
fi
xl create -F /domain.cfg "$@"
status=$?
xl dmesg | tail -n 40 >/tmp/guest.log
exit $status
