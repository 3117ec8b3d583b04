/* A virtual machine's life and its vCPU threads; see kvm_vm.h. arch_exit() handles the exits. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "vmm/vmm_arch.h"

#define IDLE_MS	       100 /* an unfinished console line is written after this time */
#define JOIN_TRIES     500
#define JOIN_SLEEP_US  10000
#define KICK_SIGNAL    SIGUSR1 /* gets a vCPU thread out of the guest */
#define STAT_PROCESSOR 39      /* proc(5), /proc/pid/stat */
/* KVM_VM_TYPE_ARM_PROTECTED: since Linux 7.1, older headers lack it. */
#define TYPE_PROTECTED (1ul << 31)

static bool give_region(const struct vm *vm, unsigned number, const struct region *region)
{
	struct kvm_userspace_memory_region slot = { number, 0, region->guest, region->bytes,
						    (uint64_t)region->host };

	return ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &slot) == 0 ||
	       fail("can't give the guest its memory: %m");
}

static bool give_memory(struct vm *vm)
{
	struct memory *memory = &vm->memory;
	const char *pmem = vm->config->pmem;

	arch_memory_layout(memory, vm->config->memory_mib << 20);
	if (!memory_map(memory, vm->config->huge_pages))
		return false;
	for (unsigned i = 0; i < memory->count; i++)
		if (!give_region(vm, i, &memory->regions[i]))
			return false;
	return !pmem[0] || (memory_map_file(memory, pmem, arch_pmem_address(memory)) &&
			    give_region(vm, memory->count, &memory->pmem));
}

static bool create_vcpu(struct vcpu *vcpu, struct vm *vm, unsigned number)
{
	*vcpu = (struct vcpu){ .vm = vm, .number = number, .stats_fd = -1, .host_cpu = -1 };
	vcpu->fd = ioctl(vm->fd, KVM_CREATE_VCPU, number);
	if (vcpu->fd < 0)
		return fail("can't create vCPU %u: %m", number);
	vcpu->run = mmap(NULL, (size_t)vm->kvm->run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED)
		return fail("can't map vCPU %u: %m", number);
	if (vm->kvm->has_stats)
		vcpu->stats_fd = ioctl(vcpu->fd, KVM_GET_STATS_FD, 0);
	return arch_vcpu_init(vcpu);
}

bool vm_create(struct vm *vm, const struct kvm *kvm, const struct config *config, int console_fd)
{
	unsigned long type = config_protects(config) ? TYPE_PROTECTED : 0;

	*vm = (struct vm){ .kvm = kvm, .config = config };
	pthread_mutex_init(&vm->devices.lock, NULL);
	console_init(&vm->console, console_fd, config->console_max_bytes, config->source,
		     &vm->ending);
	vm->console.drain = config->drain;
#ifdef ARCH_TEXT_BELOW
	/* The first process's console is the machine's, which the monitor below shows too. */
	vm->console.below = getpid() == 1 && isatty(console_fd) ? config->below : 0;
#endif
	do
		vm->fd = ioctl(kvm->fd, KVM_CREATE_VM, type);
	while (vm->fd < 0 && errno == EINTR);
	if (vm->fd < 0 && errno == EINVAL && config_protects(config))
		return fail("this kernel can't create a protected VM: boot Linux 7.1 or newer with "
			    "kvm-arm.mode=protected, or leave out the option protected");
	vm->end_event = eventfd(0, EFD_CLOEXEC);
	if (vm->fd < 0 || vm->end_event < 0)
		return fail("can't create a virtual machine: %m");
	if (!arch_machine_init(vm) || !give_memory(vm))
		return false;
	for (; vm->vcpu_count < config->vcpus; vm->vcpu_count++)
		if (!create_vcpu(&vm->vcpus[vm->vcpu_count], vm, vm->vcpu_count))
			return false;
	stats_learn(&vm->stats, vm->vcpus[0].stats_fd);
	return arch_add_devices(vm);
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
	/* `end` and `why` are set before the event: its reader may read both. */
	if (eventfd_write(vm->end_event, 1) < 0)
		perror("vmm: can't signal the end of the machine");
}

void vm_console(struct vm *vm, uint8_t byte)
{
	enum console_state state = console_put(&vm->console, byte);

	if (state == CONSOLE_FULL)
		vm_end(vm, END_FLOOD, "the guest wrote more than the %lu bytes of console-max",
		       vm->console.most);
	else if (state == CONSOLE_FAILED)
		vm_end(vm, END_ERROR, "the console can't be written");
}

static void on_kick(int number)
{
	(void)number;
}

static void saw_on(struct vcpu *vcpu, int cpu)
{
	int before = atomic_exchange(&vcpu->host_cpu, cpu);

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
	at = strrchr(text, ')'); /* the end of field 2, a name that may contain anything */
	for (unsigned field = 2; at && field < STAT_PROCESSOR; field++)
		at = strchr(at + 1, ' ');
	if (at)
		saw_on(vcpu, atoi(at + 1));
}

static bool pin_self(const struct vcpu *vcpu)
{
	cpu_set_t sets[MAX_HOST_CPUS / CPU_SETSIZE] = { 0 }; /* used as one large set */
	int cpu = vcpu->vm->config->pin[vcpu->number];

	if (cpu == PIN_NONE)
		return true;
	CPU_SET_S((size_t)cpu, sizeof(sets), sets);
	return !sched_setaffinity(0, sizeof(sets), sets) ||
	       fail("can't pin vCPU %u to CPU %d: %m", vcpu->number, cpu);
}

/* Enters the guest once, and handles the exit. */
static void enter(struct vcpu *vcpu)
{
	int why = ioctl(vcpu->fd, KVM_RUN, 0) < 0 ? errno : 0;
	unsigned reason = vcpu->run->exit_reason;

	saw_on(vcpu, sched_getcpu());
	if (why) {
		vcpu->interrupted++;
		if (why != EINTR && why != EAGAIN && !arch_run_failed(vcpu, why))
			vm_end(vcpu->vm, END_KVM, "KVM_RUN: %s", strerror(why));
		return;
	}
	vcpu->returns[reason < MAX_REASONS ? reason : MAX_REASONS - 1]++;
	arch_exit(vcpu);
}

static void *vcpu_thread(void *argument)
{
	struct vcpu *vcpu = argument;

	vcpu->task = gettid();
	if (!pin_self(vcpu))
		vm_end(vcpu->vm, END_ERROR, "%s", error_text);
	while (!atomic_load(&vcpu->vm->ending))
		enter(vcpu);
	return NULL;
}

static bool start(struct vm *vm)
{
	for (struct vcpu *vcpu = vm->vcpus; vcpu < vm->vcpus + vm->vcpu_count; vcpu++) {
		errno = pthread_create(&vcpu->thread, NULL, vcpu_thread, vcpu);
		vcpu->started = !errno;
		if (!vcpu->started)
			return fail("can't start vCPU %u's thread: %m", vcpu->number);
	}
	return true;
}

static void wait_for_end(struct vm *vm)
{
	struct pollfd waits[] = { { .fd = vm->end_event, .events = POLLIN },
				  { .fd = vm->console.wake, .events = POLLIN } };
	uint64_t limit_s = vm->config->timeout_s, start_ns = now_ns();

	for (;;) {
		int ready = poll(waits, 2, IDLE_MS);
		struct signalfd_siginfo got;

		if (ready > 0 && waits[0].revents)
			return;
		if (ready > 0 && read(vm->console.wake, &got, sizeof(got)) > 0)
			vm_end(vm, END_SIGNAL + (int)got.ssi_signo, "ended by signal %u",
			       got.ssi_signo);
		if (limit_s && now_ns() - start_ns >= limit_s * 1000000000)
			vm_end(vm, END_TIMEOUT, "it ran longer than timeout=%lu", limit_s);
		if (!ready)
			console_flush(&vm->console);
	}
}

/* Waits for the threads. False: one is stuck in the kernel. */
static bool join(struct vm *vm)
{
	/* Kicks repeatedly: a signal just before a blocking system call other than KVM_RUN, such as a write
	 * to the console, does not interrupt that call. */
	for (unsigned tries = 0; tries < JOIN_TRIES; tries++) {
		unsigned running = 0;

		for (struct vcpu *vcpu = vm->vcpus; vcpu < vm->vcpus + vm->vcpu_count; vcpu++) {
			if (vcpu->started && !pthread_tryjoin_np(vcpu->thread, NULL))
				vcpu->started = false;
			if (!vcpu->started)
				continue;
			/* For a signal that arrives just before KVM_RUN. */
			*(volatile __u8 *)&vcpu->run->immediate_exit = 1;
			pthread_kill(vcpu->thread, KICK_SIGNAL);
			running++;
		}
		if (!running)
			return true;
		usleep(JOIN_SLEEP_US);
	}
	return false;
}

bool vm_run(struct vm *vm)
{
	/* No SA_RESTART: a blocked write to the console must be interrupted too. */
	sigaction(KICK_SIGNAL, &(struct sigaction){ .sa_handler = on_kick }, NULL);
	if (!start(vm))
		vm_end(vm, END_ERROR, "%s", error_text);
	wait_for_end(vm);
	return join(vm);
}
