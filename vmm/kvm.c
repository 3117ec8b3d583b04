/* /dev/kvm itself; see kvm_vm.h. Architecture-specific parts are in arch/. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vmm/vmm_arch.h"

#define NODE "/dev/kvm"

static bool no_node(void)
{
	if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		return fail("there is no usable " NODE ": switch virtualization on in the firmware "
			    "(in a virtual machine: its host must allow it) and load the module "
			    "kvm_intel or kvm_amd");
	if (errno == EACCES || errno == EPERM)
		return fail("no permission to open " NODE ": join the group that owns it "
			    "(sudo usermod -aG kvm \"$USER\") and log in anew");
	return fail("can't open " NODE ": %m");
}

int kvm_capability(const struct kvm *kvm, long capability)
{
	return ioctl(kvm->fd, KVM_CHECK_EXTENSION, capability);
}

bool kvm_open(struct kvm *kvm)
{
	*kvm = (struct kvm){ .fd = open(NODE, O_RDWR | O_CLOEXEC) };
	if (kvm->fd < 0)
		return no_node();
	kvm->api = ioctl(kvm->fd, KVM_GET_API_VERSION, 0);
	kvm->run_bytes = ioctl(kvm->fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	kvm->max_vcpus = kvm_capability(kvm, KVM_CAP_MAX_VCPUS);
	kvm->software = arch_kvm_is_software();
	kvm->has_stats = kvm_capability(kvm, KVM_CAP_BINARY_STATS_FD) > 0;
	if (kvm->api != KVM_API_VERSION || kvm->run_bytes < (int)sizeof(struct kvm_run) ||
	    kvm_capability(kvm, KVM_CAP_IMMEDIATE_EXIT) <= 0)
		return fail(NODE " is older than Linux 4.12 (version %d): use another kernel",
			    kvm->api);
	return true;
}

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

void stats_learn(struct stats *stats, int fd)
{
	struct kvm_stats_header header;
	uint64_t at;

	if (fd < 0 || !read_at(fd, &header, sizeof(header), 0))
		return;
	at = header.desc_offset;
	for (uint32_t i = 0; i < header.num_desc && stats->count < MAX_STATS; i++) {
		struct kvm_stats_desc row;
		char name[MAX_STAT_NAME] = "";
		size_t bytes = header.name_size < sizeof(name) ? header.name_size : sizeof(name);

		if (!read_at(fd, &row, sizeof(row), at) ||
		    !read_at(fd, name, bytes, at + sizeof(row)))
			return;
		at += sizeof(row) + header.name_size;
		if (name[sizeof(name) - 1] || row.size != 1 ||
		    (row.flags & KVM_STATS_TYPE_MASK) != KVM_STATS_TYPE_CUMULATIVE ||
		    (row.flags & KVM_STATS_UNIT_MASK) != KVM_STATS_UNIT_NONE)
			continue;
		memcpy(stats->names[stats->count], name, sizeof(name));
		stats->offsets[stats->count++] = header.data_offset + row.offset;
	}
}

void stats_add(const struct stats *stats, int fd, uint64_t values[MAX_STATS])
{
	for (unsigned i = 0; i < stats->count; i++) {
		uint64_t value;

		if (read_at(fd, &value, sizeof(value), stats->offsets[i]))
			values[i] += value;
	}
}
