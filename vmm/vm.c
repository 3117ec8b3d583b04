/* A virtual machine's life; see vm.h. */
#include "vm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "arch.h"

#define JOIN_TRIES    500
#define JOIN_SLEEP_NS 10000000L

static void on_kick(int signal)
{
	(void)signal;
}

void vm_signals(void)
{
	/* No SA_RESTART: a write to a console that nobody reads must come back too. */
	struct sigaction kick = { .sa_handler = on_kick };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(VM_KICK_SIGNAL, &kick, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

static bool give_memory(struct vm *vm, const struct vm_shape *shape, struct error *error)
{
	arch_memory_layout(&vm->memory, shape->memory_bytes);
	if (!memory_map(&vm->memory, shape->backing, error))
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
			return error_errno(error, "can't give the guest its memory");
	}
	return true;
}

bool vm_create(struct vm *vm, const struct kvm *kvm, const struct vm_shape *shape,
	       struct error *error)
{
	*vm = (struct vm){ .kvm = kvm, .fd = -1, .end_event = -1, .vcpu_wanted = shape->vcpus };
	devices_init(&vm->devices);
	console_init(&vm->console, shape->console_fd, shape->console_max_bytes, &vm->ending);
	if (shape->vcpus > (unsigned)kvm->max_vcpus)
		return error_set(error, "this KVM has %d vCPUs at most", kvm->max_vcpus);
	vm->end_event = eventfd(0, EFD_CLOEXEC);
	if (vm->end_event < 0)
		return error_errno(error, "can't make an eventfd");
	do
		vm->fd = ioctl(kvm->fd, KVM_CREATE_VM, 0);
	while (vm->fd < 0 && errno == EINTR);
	if (vm->fd < 0)
		return error_errno(error, "can't make a virtual machine");
	if (!arch_machine_init(vm, error) || !give_memory(vm, shape, error))
		return false;
	while (vm->vcpu_count < shape->vcpus) {
		unsigned number = vm->vcpu_count++;

		if (!vcpu_create(&vm->vcpus[number], vm, number, shape->pin[number], error))
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
	static const uint64_t one = 1;
	va_list values;

	if (atomic_exchange(&vm->ending, true))
		return;
	va_start(values, format);
	vsnprintf(vm->why, sizeof(vm->why), format, values);
	va_end(values);
	vm->end = end;
	/* The event publishes both: whoever waits for it may read them. An eventfd that counts to
	 * one cannot be full. */
	if (write(vm->end_event, &one, sizeof(one)) < 0)
		perror("vmm: the machine's end can't be told");
}

/* Kicked again and again: a signal that comes while a thread is about to block in another system
 * call than KVM_RUN is lost on it. */
static bool join_one(struct vcpu *vcpu)
{
	struct timespec sleep = { .tv_nsec = JOIN_SLEEP_NS };

	for (unsigned i = 0; i < JOIN_TRIES; i++) {
		vcpu_kick(vcpu);
		if (!pthread_tryjoin_np(vcpu->thread, NULL)) {
			vcpu->started = false;
			return true;
		}
		nanosleep(&sleep, NULL);
	}
	return false;
}

bool vm_join(struct vm *vm)
{
	bool all = true;

	for (unsigned i = 0; i < vm->vcpu_count; i++)
		if (vm->vcpus[i].started)
			vcpu_kick(&vm->vcpus[i]);
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		if (vm->vcpus[i].started && !join_one(&vm->vcpus[i]))
			all = false;
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
