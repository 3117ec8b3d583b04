/* VM Switch's second machine, in the same process and on the same CPU; see latency_device.h. Created at the
 * guest's first request; it lives until the process exits, and halts between commands. */
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include "vmm/latency/latency_device.h"

#define OTHER_MIB      16
#define READY_LIMIT_MS 10000

static struct {
	struct vm vm;
	struct config config;
	struct latency_page *page; /* the guest's, shared with this machine; NULL: not created */
	struct other_places places;
	uint32_t line;
	int kick;	  /* eventfd: this machine's kick raises the guest's interrupt */
	int guest_policy; /* of its thread, before it was changed */
	cpu_set_t guest_was_on[MAX_HOST_CPUS / CPU_SETSIZE];
} other;

/* A thread of SCHED_BATCH does not preempt another when it wakes up (sched(7)). Under SCHED_OTHER the CPU time that both
 * have used decides whether the thread that kicks is preempted there, or reaches its halt. Other policies are the user's
 * choice. */
static bool set_policy(int from, int to)
{
	return sched_getscheduler(0) != from ||
	       sched_setscheduler(0, to, &(struct sched_param){ 0 }) == 0;
}

/* It should never end by itself; if it does, ends the guest, which would wait forever. */
static void *run(void *guest)
{
	(void)set_policy(SCHED_OTHER, SCHED_BATCH);
	(void)vm_run(&other.vm);
	vm_end(guest, other.vm.end, "the second machine ended: %.400s", other.vm.why);
	return NULL;
}

/* Its first kick means that it takes interrupts. */
static bool wait_until_ready(void)
{
	struct pollfd wait = { .fd = other.kick, .events = POLLIN };
	eventfd_t kicks;

	if (poll(&wait, 1, READY_LIMIT_MS) != 1 || eventfd_read(other.kick, &kicks) < 0)
		return fail("the second machine does not start: %.60s", other.vm.why);
	return true;
}

static bool create(struct latency *latency)
{
	struct kvm_userspace_memory_region slot = { .slot = MAX_REGIONS,
						    .memory_size = LATENCY_PAGE,
						    .userspace_addr = (uint64_t)latency->page };
	pthread_t thread;

	if (config_protects(latency->vm->config))
		return fail("a protected VM can't share a page with a second VM");
	config_defaults(&other.config);
	other.config.memory_mib = OTHER_MIB;
	other.config.pin[0] = sched_getcpu();
	if (!vm_create(&other.vm, latency->vm->kvm, &other.config, -1) ||
	    !other_boot(&other.vm, &other.places))
		return false;
	slot.guest_phys_addr = other.places.page;
	if (ioctl(other.vm.fd, KVM_SET_USER_MEMORY_REGION, &slot) < 0)
		return fail("the second machine can't share the guest's page: %m");
	other.kick = eventfd(0, EFD_CLOEXEC);
	if (other.kick < 0 || !latency_one_clock(&other.vm.vcpus[0]) ||
	    !latency_bind(&other.vm, ARCH_PORTS, other.places.kick, 1, other.kick, true) ||
	    !latency_route(&other.vm, other.places.interrupt_address, other.places.interrupt_data,
			   &other.line))
		return false;
	other.page = latency->page;
	return pthread_create(&thread, NULL, run, latency->vm) == 0 && wait_until_ready();
}

bool other_start(struct latency *latency)
{
	cpu_set_t set[MAX_HOST_CPUS / CPU_SETSIZE] = { 0 };

	if (!other.page && !create(latency))
		return false;
	if (other.page != latency->page || other.vm.ending)
		return fail("the second machine is bound to another page, or has ended");
	CPU_SET_S((size_t)other.config.pin[0], sizeof(set), set);
	if (sched_getaffinity(0, sizeof(other.guest_was_on), other.guest_was_on) < 0 ||
	    sched_setaffinity(0, sizeof(set), set) < 0)
		return fail("can't pin both machines to one CPU: %m");
	other.guest_policy = sched_getscheduler(0);
	if (!set_policy(SCHED_OTHER, SCHED_BATCH))
		return fail("can't set the scheduler's policy: %m");
	/* The second machine's kick raises the guest's interrupt. */
	return latency_raise(&other.vm, other.line, latency->kick, true) &&
	       latency_raise(latency->vm, latency->line, other.kick, true);
}

void other_stop(struct latency *latency)
{
	if (!other.page)
		return;
	(void)latency_raise(&other.vm, other.line, latency->kick, false);
	(void)latency_raise(latency->vm, latency->line, other.kick, false);
	(void)set_policy(SCHED_BATCH, other.guest_policy);
	(void)sched_setaffinity(0, sizeof(other.guest_was_on), other.guest_was_on);
}
