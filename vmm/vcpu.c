/* A vCPU's thread; see vcpu.h. What an exit means on this architecture is arch_exit()'s. */
#include "vcpu.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch.h"
#include "vm.h"

#define STAT_PROCESSOR 39 /* proc(5), /proc/pid/stat */

const char *vcpu_reason_name(unsigned reason)
{
	static const char *const names[MAX_REASONS] = {
		[KVM_EXIT_UNKNOWN] = "unknown",
		[KVM_EXIT_EXCEPTION] = "exception",
		[KVM_EXIT_IO] = "io",
		[KVM_EXIT_HYPERCALL] = "hypercall",
		[KVM_EXIT_DEBUG] = "debug",
		[KVM_EXIT_HLT] = "hlt",
		[KVM_EXIT_MMIO] = "mmio",
		[KVM_EXIT_IRQ_WINDOW_OPEN] = "irq_window",
		[KVM_EXIT_SHUTDOWN] = "shutdown",
		[KVM_EXIT_FAIL_ENTRY] = "fail_entry",
		[KVM_EXIT_INTR] = "intr",
		[KVM_EXIT_SET_TPR] = "set_tpr",
		[KVM_EXIT_TPR_ACCESS] = "tpr_access",
		[KVM_EXIT_NMI] = "nmi",
		[KVM_EXIT_INTERNAL_ERROR] = "internal_error",
		[KVM_EXIT_SYSTEM_EVENT] = "system_event",
		[KVM_EXIT_IOAPIC_EOI] = "ioapic_eoi",
		[KVM_EXIT_X86_RDMSR] = "rdmsr",
		[KVM_EXIT_X86_WRMSR] = "wrmsr",
		[KVM_EXIT_X86_BUS_LOCK] = "bus_lock",
		[KVM_EXIT_NOTIFY] = "notify",
	};

	return reason < MAX_REASONS && names[reason] ? names[reason] : "other";
}

bool vcpu_create(struct vcpu *vcpu, struct vm *vm, unsigned number, int pin, struct error *error)
{
	*vcpu = (struct vcpu){ .vm = vm, .number = number, .pin = pin, .stats_fd = -1 };
	vcpu->host_cpu = -1;
	vcpu->fd = ioctl(vm->fd, KVM_CREATE_VCPU, number);
	if (vcpu->fd < 0)
		return error_errno(error, "can't make vCPU %u", number);
	vcpu->run = mmap(NULL, (size_t)vm->kvm->run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED) {
		vcpu->run = NULL;
		return error_errno(error, "can't map vCPU %u", number);
	}
	if (vm->kvm->has_stats)
		vcpu->stats_fd = ioctl(vcpu->fd, KVM_GET_STATS_FD, 0);
	return arch_vcpu_init(vcpu, error);
}

void vcpu_destroy(struct vcpu *vcpu)
{
	if (vcpu->run)
		munmap(vcpu->run, (size_t)vcpu->vm->kvm->run_bytes);
	if (vcpu->stats_fd >= 0)
		close(vcpu->stats_fd);
	if (vcpu->fd >= 0)
		close(vcpu->fd);
}

static void saw_on(struct vcpu *vcpu, int cpu)
{
	if (cpu < 0 || cpu == vcpu->host_cpu)
		return;
	if (vcpu->host_cpu >= 0)
		vcpu->moves++;
	vcpu->host_cpu = cpu;
}

void vcpu_look_where(struct vcpu *vcpu)
{
	char path[64], text[512], *at;
	pid_t task = vcpu->task;
	ssize_t bytes;
	int fd;

	if (!task)
		return;
	if (pthread_equal(pthread_self(), vcpu->thread)) {
		saw_on(vcpu, sched_getcpu());
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	bytes = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[bytes > 0 ? bytes : 0] = 0;
	/* The name, field 2, ends in the last parenthesis. */
	at = strrchr(text, ')');
	for (unsigned field = 2; at && field < STAT_PROCESSOR; field++)
		at = strchr(at + 1, ' ');
	if (at)
		saw_on(vcpu, atoi(at + 1));
}

static bool pin_self(const struct vcpu *vcpu, struct error *error)
{
	cpu_set_t *set;
	size_t bytes;
	int result;

	if (vcpu->pin < 0)
		return true;
	set = CPU_ALLOC(vcpu->pin + 1);
	bytes = CPU_ALLOC_SIZE(vcpu->pin + 1);
	if (!set)
		return error_errno(error, "can't pin vCPU %u", vcpu->number);
	CPU_ZERO_S(bytes, set);
	CPU_SET_S((size_t)vcpu->pin, bytes, set);
	result = sched_setaffinity(0, bytes, set);
	CPU_FREE(set);
	if (result)
		return error_errno(error, "can't pin vCPU %u to CPU %d", vcpu->number, vcpu->pin);
	return true;
}

/* One entry of the guest. What it left for is in vcpu->run. False: it was a signal. */
static bool enter(struct vcpu *vcpu)
{
	unsigned reason;

	if (ioctl(vcpu->fd, KVM_RUN, 0) < 0) {
		if (errno != EINTR && errno != EAGAIN)
			vm_end(vcpu->vm, END_KVM, "KVM_RUN of vCPU %u: %s", vcpu->number,
			       strerror(errno));
		vcpu->interrupted++;
		return false;
	}
	reason = vcpu->run->exit_reason;
	vcpu->returns[reason < MAX_REASONS ? reason : MAX_REASONS - 1]++;
	saw_on(vcpu, sched_getcpu());
	return true;
}

static void *thread_main(void *argument)
{
	struct vcpu *vcpu = argument;
	struct error error;

	vcpu->task = gettid();
	if (!pin_self(vcpu, &error)) {
		vm_end(vcpu->vm, END_ERROR, "%s", error.text);
		return NULL;
	}
	while (!atomic_load(&vcpu->vm->ending))
		if (enter(vcpu))
			arch_exit(vcpu);
	return NULL;
}

bool vcpu_start(struct vcpu *vcpu, struct error *error)
{
	errno = pthread_create(&vcpu->thread, NULL, thread_main, vcpu);
	if (errno)
		return error_errno(error, "can't start the thread of vCPU %u", vcpu->number);
	vcpu->started = true;
	return true;
}

void vcpu_kick(struct vcpu *vcpu)
{
	/* The signal alone could come just before KVM_RUN; the flag makes that return too. */
	*(volatile __u8 *)&vcpu->run->immediate_exit = 1;
	pthread_kill(vcpu->thread, VM_KICK_SIGNAL);
}
