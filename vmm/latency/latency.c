/* The I/O latency device; see latency_device.h. A command is executed on the vCPU that writes it, under the
 * devices' lock. The page is guest memory: copied once, then checked; what vmm writes there it never reads
 * back. */
#include "common/relax.h"
#include "vmm/latency/latency_device.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROW_BYTES   16
#define MEMORY_KICK 0xd0000000u /* on x86: in the hole below the I/O APIC */
#define UNTIL_HALT_US \
	1000 /* a guest about to halt has halted by then: this is longer than KVM's halt polling */

void latency_relax(void)
{
	relax();
}

static void stamp(struct latency *latency)
{
	latency->page->stamp = latency_now();
	atomic_thread_fence(memory_order_release);
	latency->page->stamps++;
	atomic_thread_fence(memory_order_seq_cst);
}

static void stamp_and_interrupt(struct latency *latency)
{
	stamp(latency);
	(void)eventfd_write(latency->interrupt, 1);
}

/* Polls the page for the ping-pong by which the guest compares the two clocks. */
static void serve_clock(struct latency *latency)
{
	while (!atomic_load(&latency->stop)) {
		uint64_t asked = latency->page->asked;

		if (asked != latency->asked) {
			latency->asked = asked;
			stamp(latency);
		}
		latency_relax();
	}
}

static void serve_kicks(struct latency *latency)
{
	while (!atomic_load(&latency->stop)) {
		eventfd_t kicks;

		if (eventfd_read(latency->kick, &kicks) < 0) {
			latency_relax(); /* non-blocking: polls */
		} else if (latency->command < LATENCY_IN_THREAD) {
			stamp(latency);
		} else {
			if (latency->command == LATENCY_IN_THREAD_LATE)
				usleep(UNTIL_HALT_US);
			if (!atomic_load(&latency->stop))
				stamp_and_interrupt(latency);
		}
	}
}

static void *serve(void *argument)
{
	struct latency *latency = argument;

	if (latency->command == LATENCY_CLOCK)
		serve_clock(latency);
	else
		serve_kicks(latency);
	return NULL;
}

/* The thread runs on the CPU of vCPU 1, which is halted meanwhile; if that is not pinned, on any CPU but
 * vCPU 0's. */
static bool start_thread(struct latency *latency)
{
	const int *pin = latency->vm->config->pin;
	cpu_set_t sets[MAX_HOST_CPUS / CPU_SETSIZE] = { 0 };
	size_t bytes = sizeof(sets);

	if (sched_getaffinity(getpid(), bytes, sets) < 0)
		return fail("can't learn which CPUs there are: %m");
	if (CPU_COUNT_S(bytes, sets) < 2 && latency->command != LATENCY_OUT_WOKEN &&
	    latency->command != LATENCY_IN_THREAD_LATE)
		return fail("the monitor has one CPU: on it guest and thread can't both run");
	if (pin[0] != PIN_NONE)
		CPU_CLR_S((size_t)pin[0], bytes, sets);
	if (pin[1] != PIN_NONE) {
		CPU_ZERO_S(bytes, sets);
		CPU_SET_S((size_t)pin[1], bytes, sets);
	}
	atomic_store(&latency->stop, false);
	latency->asked = latency->page->asked;
	errno = pthread_create(&latency->thread, NULL, serve, latency);
	latency->has_thread = !errno;
	return (latency->has_thread && !pthread_setaffinity_np(latency->thread, bytes, sets)) ||
	       fail("can't start a thread beside the guest's: %m");
}

bool latency_bind(struct vm *vm, enum space space, uint64_t address, uint32_t bytes, int event,
		  bool bind)
{
	struct kvm_ioeventfd how = { .addr = address, .len = bytes, .fd = event };

	how.flags = (space == SPACE_PORT ? KVM_IOEVENTFD_FLAG_PIO : 0) |
		    (bind ? 0 : KVM_IOEVENTFD_FLAG_DEASSIGN);
	return ioctl(vm->fd, KVM_IOEVENTFD, &how) == 0 || fail("KVM_IOEVENTFD: %m");
}

bool latency_raise(struct vm *vm, uint32_t line, int event, bool raise)
{
	struct kvm_irqfd how = { .fd = (uint32_t)event, .gsi = line };

	how.flags = raise ? 0 : KVM_IRQFD_FLAG_DEASSIGN;
	return ioctl(vm->fd, KVM_IRQFD, &how) == 0 || fail("KVM_IRQFD: %m");
}

static bool counts_itself(enum latency_command command)
{
	return command >= LATENCY_NOBODY && command <= LATENCY_NOBODY_ANY_LENGTH;
}

static bool is_in_memory(enum latency_command command)
{
	return command == LATENCY_NOBODY_MEMORY || command == LATENCY_NOBODY_ANY_LENGTH;
}

/* Must the counters be equal? Kicks that are only counted get no stamps: on RISC-V, where KVM can't make the
 * counters equal, they are what works. Elsewhere all commands make them equal. */
static bool needs_clock(enum latency_command command)
{
#ifdef __riscv
	return !counts_itself(command);
#else
	(void)command;
	return true;
#endif
}

/* Stops the current command, even one that was only partly set up. */
static void end(struct latency *latency)
{
	eventfd_t kicks;

	if (latency->has_thread) {
		atomic_store(&latency->stop, true);
		(void)eventfd_write(latency->kick, 1);
		pthread_join(latency->thread, NULL);
		latency->has_thread = false;
	}
	if (latency->command == LATENCY_SWITCH)
		other_stop(latency);
	if (is_assigned(latency->command))
		assigned_stop();
	if (counts_itself(latency->command) && eventfd_read(latency->kick, &kicks) == 0)
		latency->page->stamps += kicks;
	if (latency->kick >= 0) {
		(void)latency_bind(latency->vm, latency->space, latency->at, latency->bytes,
				   latency->kick, false);
		close(latency->kick);
	}
	if (latency->interrupt >= 0) {
		(void)latency_raise(latency->vm, latency->line, latency->interrupt, false);
		close(latency->interrupt);
	}
	latency->kick = latency->interrupt = -1;
	latency->command = LATENCY_STOP;
}

static bool begin(struct latency *latency, uint64_t address, uint64_t data)
{
	enum latency_command command = latency->command;
	struct vm *vm = latency->vm;
	bool polled;
	bool by_exit = command == LATENCY_OUT_USERSPACE || command == LATENCY_IN_USERSPACE;

	if (command == LATENCY_STOP)
		return true;
	if (is_assigned(command))
		return assigned_start(latency->page);
	if (command > LATENCY_SWITCH)
		return fail("this device knows no command %u", command);
	if (gettid() != vm->vcpus[0].task)
		return fail("only vCPU 0 may use this device");
	if (needs_clock(command) && !latency_one_clock(&vm->vcpus[0]))
		return false;
	if (command >= LATENCY_IN_THREAD) {
		if (!latency_route(vm, address, data, &latency->line))
			return false;
		latency->interrupt = eventfd(0, EFD_CLOEXEC);
		if (latency->interrupt < 0 ||
		    !latency_raise(vm, latency->line, latency->interrupt, true))
			return fail("KVM raises no interrupt by an eventfd: %m");
	}
	if (by_exit)
		return true;
	polled = command == LATENCY_OUT_SPINNING || counts_itself(command);
	latency->space = is_in_memory(command) ? SPACE_MMIO : ARCH_PORTS;
	latency->at = is_in_memory(command) ? MEMORY_KICK : latency->kick_at;
	latency->bytes = command == LATENCY_NOBODY_ANY_LENGTH ? 0 : 1;
	latency->kick = eventfd(0, EFD_CLOEXEC | (polled ? EFD_NONBLOCK : 0));
	if (latency->kick < 0 ||
	    !latency_bind(vm, latency->space, latency->at, latency->bytes, latency->kick, true))
		return fail("KVM makes no eventfd of a kick: %m");
	if (counts_itself(command))
		return true;
	return command == LATENCY_SWITCH ? other_start(latency) : start_thread(latency);
}

static void take_command(struct latency *latency, uint64_t at)
{
	struct latency_page *page = memory_at(&latency->vm->memory, at, LATENCY_PAGE);

	if (!page || at % LATENCY_PAGE || page->magic != LATENCY_MAGIC)
		return;
	end(latency);
	latency->page = page;
	latency->command = *(volatile uint32_t *)&page->command;
	error_text[0] = 0;
	if (!begin(latency, page->interrupt_address, page->interrupt_data))
		end(latency);
	memcpy(page->why, error_text, sizeof(page->why));
	page->memory_kick = ARCH_PORTS == SPACE_PORT ? MEMORY_KICK : 0;
	page->answered = 1;
}

static void latency_access(void *context, struct access *access)
{
	struct latency *latency = context;

	if (!access->write)
		return;
	if (access->offset == 0 && access->bytes > 1)
		take_command(latency, access->value);
	else if (latency->command == LATENCY_OUT_USERSPACE)
		stamp(latency);
	else if (latency->command == LATENCY_IN_USERSPACE)
		stamp_and_interrupt(latency);
}

bool latency_add(struct vm *vm, uint64_t doorbell)
{
	struct latency *latency = calloc(1, sizeof(*latency));

	if (!latency)
		return fail("no memory for the device of I/O latency");
	*latency = (struct latency){
		.vm = vm, .kick_at = doorbell + LATENCY_KICK_AT, .kick = -1, .interrupt = -1
	};
	if (ARCH_PORTS == SPACE_PORT &&
	    !devices_add(&vm->devices, &(struct device){ "kick", SPACE_MMIO, MEMORY_KICK, 1,
							 latency_access, latency }))
		return false;
	return devices_add(&vm->devices,
			   &(struct device){ "latency", ARCH_PORTS, doorbell + LATENCY_AT,
					     ROW_BYTES, latency_access, latency });
}
