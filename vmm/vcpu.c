/* A vCPU's thread; see vcpu.h. What an exit means on this architecture is arch_exit()'s. */
#include "vcpu.h"

#include <errno.h>
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

#define KICK_SIGNAL    SIGUSR1
#define STAT_PROCESSOR 39 /* proc(5), /proc/pid/stat */

const char *vcpu_reason_name(unsigned reason)
{
	static const char *const names[MAX_REASONS] = {
		[KVM_EXIT_EXCEPTION] = "exception",
		[KVM_EXIT_IO] = "io",
		[KVM_EXIT_HYPERCALL] = "hypercall",
		[KVM_EXIT_DEBUG] = "debug",
		[KVM_EXIT_HLT] = "hlt",
		[KVM_EXIT_MMIO] = "mmio",
		[KVM_EXIT_SHUTDOWN] = "shutdown",
		[KVM_EXIT_FAIL_ENTRY] = "fail_entry",
		[KVM_EXIT_INTR] = "intr",
		[KVM_EXIT_INTERNAL_ERROR] = "internal_error",
		[KVM_EXIT_SYSTEM_EVENT] = "system_event",
	};

	return reason < MAX_REASONS && names[reason] ? names[reason] : "other";
}

static void on_kick(int number)
{
	(void)number;
}

void vcpu_signals(void)
{
	/* No SA_RESTART: a write to a console that nobody reads must come back too. */
	sigaction(KICK_SIGNAL, &(struct sigaction){ .sa_handler = on_kick }, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

bool vcpu_create(struct vcpu *vcpu, struct vm *vm, unsigned number, struct error *error)
{
	*vcpu = (struct vcpu){ .vm = vm, .number = number, .stats_fd = -1, .host_cpu = -1 };
	vcpu->fd = ioctl(vm->fd, KVM_CREATE_VCPU, number);
	if (vcpu->fd < 0)
		return error_set(error, "can't make vCPU %u: %m", number);
	vcpu->run = mmap(NULL, (size_t)vm->kvm->run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED) {
		vcpu->run = NULL;
		return error_set(error, "can't map vCPU %u: %m", number);
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
	int before = cpu < 0 ? cpu : atomic_exchange(&vcpu->host_cpu, cpu);

	if (before >= 0 && before != cpu)
		vcpu->moves++;
}

void vcpu_look_where(struct vcpu *vcpu)
{
	char path[64], text[512] = "", *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", vcpu->task);
	file = fopen(path, "re");
	if (!file)
		return;
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	at = strrchr(text, ')'); /* the end of field 2, a name that may hold anything */
	for (unsigned field = 2; at && field < STAT_PROCESSOR; field++)
		at = strchr(at + 1, ' ');
	if (at)
		saw_on(vcpu, atoi(at + 1));
}

static bool pin_self(const struct vcpu *vcpu, struct error *error)
{
	int cpu = vcpu->vm->config->pin[vcpu->number];
	size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
	cpu_set_t *set;
	int result;

	if (cpu == PIN_NONE)
		return true;
	set = calloc(1, bytes);
	if (!set)
		return error_set(error, "can't pin vCPU %u: %m", vcpu->number);
	CPU_SET_S((size_t)cpu, bytes, set);
	result = sched_setaffinity(0, bytes, set);
	free(set);
	return !result || error_set(error, "can't pin vCPU %u to CPU %d: %m", vcpu->number, cpu);
}

/* One entry of the guest. What it left for is in vcpu->run. False: there is nothing to answer. */
static bool enter(struct vcpu *vcpu)
{
	int why = ioctl(vcpu->fd, KVM_RUN, 0) < 0 ? errno : 0;
	unsigned reason;

	saw_on(vcpu, sched_getcpu());
	if (why) {
		if (why != EINTR && why != EAGAIN)
			vm_end(vcpu->vm, END_KVM, "KVM_RUN of vCPU %u: %s", vcpu->number,
			       strerror(why));
		vcpu->interrupted++;
		return false;
	}
	reason = vcpu->run->exit_reason;
	vcpu->returns[reason < MAX_REASONS ? reason : MAX_REASONS - 1]++;
	return true;
}

static void *thread_main(void *argument)
{
	struct vcpu *vcpu = argument;
	struct error error;

	vcpu->task = gettid();
	if (!pin_self(vcpu, &error))
		vm_end(vcpu->vm, END_ERROR, "%s", error.text);
	while (!atomic_load(&vcpu->vm->ending))
		if (enter(vcpu))
			arch_exit(vcpu);
	return NULL;
}

bool vcpu_start(struct vcpu *vcpu, struct error *error)
{
	errno = pthread_create(&vcpu->thread, NULL, thread_main, vcpu);
	vcpu->started = !errno;
	return vcpu->started || error_set(error, "can't start vCPU %u's thread: %m", vcpu->number);
}

void vcpu_kick(struct vcpu *vcpu)
{
	/* The signal alone could come just before KVM_RUN; the flag makes that return too. */
	*(volatile __u8 *)&vcpu->run->immediate_exit = 1;
	pthread_kill(vcpu->thread, KICK_SIGNAL);
}
