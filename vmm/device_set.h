/* Sets an attribute of a device that KVM emulates. */
#pragma once

#include <linux/kvm.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

static bool device_set(int device, uint32_t group, uint64_t attribute, void *value)
{
	struct kvm_device_attr attr = { .group = group,
					.attr = attribute,
					.addr = (uint64_t)value };

	return ioctl(device, KVM_SET_DEVICE_ATTR, &attr) == 0;
}
