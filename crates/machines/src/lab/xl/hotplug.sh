#!/usr/bin/busybox sh
# What xl runs when it adds or removes a back-end of the domain, in place of Xen's scripts, which need more
# programs: the disk is a block device already, and the bridge is there.
PATH=/usr/bin
type=${XENBUS_PATH#backend/}
case ${type%%/*}-$1 in
vif-online)
	ip link set "$vif" master br0 &&
		ip link set "$vif" up &&
		xenstore-write "$XENBUS_PATH/hotplug-status" connected
	;;
vbd-add)
	device=$(xenstore-read "$XENBUS_PATH/params") &&
		xenstore-write "$XENBUS_PATH/physical-device" "$(stat -c %t:%T "$device")" \
			"$XENBUS_PATH/hotplug-status" connected
	;;
esac
