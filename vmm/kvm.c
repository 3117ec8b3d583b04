/* /dev/kvm itself; see kvm.h. What each architecture needs of it is in arch/. */
#include "kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "arch.h"

#define NODE "/dev/kvm"

static bool no_node(struct error *error)
{
	if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		return error_set(error,
				 "there is no usable " NODE ": switch virtualization on in the "
				 "firmware (in a virtual machine: its host must allow it) and "
				 "load the module kvm_intel or kvm_amd");
	if (errno == EACCES || errno == EPERM)
		return error_set(error,
				 "no permission to open " NODE ": join the group that owns it "
				 "(sudo usermod -aG kvm \"$USER\") and log in anew");
	return error_set(error, "can't open " NODE ": %m");
}

int kvm_capability(const struct kvm *kvm, long capability)
{
	int value = ioctl(kvm->fd, KVM_CHECK_EXTENSION, capability);

	return value < 0 ? 0 : value;
}

static bool check(const struct kvm *kvm, struct error *error)
{
	if (kvm->api != KVM_API_VERSION || kvm->run_bytes < (int)sizeof(struct kvm_run))
		return error_set(error,
				 NODE " speaks version %d, this program %d: use another kernel",
				 kvm->api, KVM_API_VERSION);
	for (const struct kvm_need *need = arch_kvm_needs(); need->name; need++)
		if (!kvm_capability(kvm, need->capability))
			return error_set(error, NODE " has no %s: use another kernel", need->name);
	return true;
}

bool kvm_open(struct kvm *kvm, struct error *error)
{
	*kvm = (struct kvm){ .fd = open(NODE, O_RDWR | O_CLOEXEC) };
	if (kvm->fd < 0)
		return no_node(error);
	kvm->api = ioctl(kvm->fd, KVM_GET_API_VERSION, 0);
	kvm->run_bytes = ioctl(kvm->fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	kvm->max_vcpus = kvm_capability(kvm, KVM_CAP_MAX_VCPUS);
	kvm->has_stats = kvm_capability(kvm, KVM_CAP_BINARY_STATS_FD);
	kvm->software = arch_kvm_is_software();
	if (check(kvm, error))
		return true;
	kvm_close(kvm);
	return false;
}

void kvm_close(struct kvm *kvm)
{
	close(kvm->fd);
	kvm->fd = -1;
}
