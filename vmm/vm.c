/* A virtual machine's life; see vm.h. */
#include "vm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "arch.h"

#define JOIN_TRIES    500
#define JOIN_SLEEP_US 10000

static bool give_memory(struct vm *vm, struct error *error)
{
	arch_memory_layout(&vm->memory, vm->config->memory_mib << 20);
	if (!memory_map(&vm->memory, (enum backing)vm->config->backing, error))
		return false;
	for (unsigned i = 0; i < vm->memory.count; i++) {
		const struct region *region = &vm->memory.regions[i];
		struct kvm_userspace_memory_region slot = {
			.slot = i,
			.guest_phys_addr = region->guest,
			.memory_size = region->bytes,
			.userspace_addr = (uint64_t)region->host,
		};

		if (ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &slot) < 0)
			return error_set(error, "can't give the guest its memory: %m");
	}
	return true;
}

bool vm_create(struct vm *vm, const struct kvm *kvm, const struct config *config, int console_fd,
	       struct error *error)
{
	*vm = (struct vm){ .kvm = kvm, .config = config, .fd = -1 };
	devices_init(&vm->devices);
	console_init(&vm->console, console_fd, config->console_max_bytes, &vm->ending);
	vm->end_event = eventfd(0, EFD_CLOEXEC);
	if (vm->end_event < 0)
		return error_set(error, "can't make an eventfd: %m");
	if (config->vcpus > (unsigned)kvm->max_vcpus)
		return error_set(error, "this KVM has %d vCPUs at most", kvm->max_vcpus);
	do
		vm->fd = ioctl(kvm->fd, KVM_CREATE_VM, 0);
	while (vm->fd < 0 && errno == EINTR);
	if (vm->fd < 0)
		return error_set(error, "can't make a virtual machine: %m");
	if (!arch_machine_init(vm, error) || !give_memory(vm, error))
		return false;
	while (vm->vcpu_count < config->vcpus) {
		unsigned number = vm->vcpu_count++;

		if (!vcpu_create(&vm->vcpus[number], vm, number, error))
			return false;
	}
	stats_learn(&vm->stats, vm->vcpus[0].stats_fd);
	return arch_add_devices(vm, error);
}

bool vm_start(struct vm *vm, struct error *error)
{
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		if (!vcpu_start(&vm->vcpus[i], error))
			return false;
	return true;
}

void vm_end(struct vm *vm, int end, const char *format, ...)
{
	va_list values;

	if (atomic_exchange(&vm->ending, true))
		return;
	va_start(values, format);
	vsnprintf(vm->why, sizeof(vm->why), format, values);
	va_end(values);
	vm->end = end;
	/* Whoever reads the event may read both. */
	if (eventfd_write(vm->end_event, 1) < 0)
		perror("vmm: the machine's end can't be told");
}

bool vm_join(struct vm *vm)
{
	bool all = true;

	for (unsigned i = 0; i < vm->vcpu_count; i++)
		if (vm->vcpus[i].started)
			vcpu_kick(&vm->vcpus[i]);
	/* Again and again: a signal that comes just before another system call than KVM_RUN, a write
	 * to the console say, does not keep that from blocking. */
	for (unsigned i = 0; i < vm->vcpu_count; i++) {
		struct vcpu *vcpu = &vm->vcpus[i];

		for (unsigned tries = 0; vcpu->started && tries < JOIN_TRIES; tries++) {
			if (!pthread_tryjoin_np(vcpu->thread, NULL)) {
				vcpu->started = false;
				break;
			}
			vcpu_kick(vcpu);
			usleep(JOIN_SLEEP_US);
		}
		all = all && !vcpu->started;
	}
	return all;
}

void vm_destroy(struct vm *vm)
{
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		vcpu_destroy(&vm->vcpus[i]);
	if (vm->fd >= 0)
		close(vm->fd);
	if (vm->end_event >= 0)
		close(vm->end_event);
	memory_unmap(&vm->memory);
}
