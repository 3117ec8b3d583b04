/* Nothing is below Xen: no doorbell is rung. The lab stops the machine in dom0's agent, and saves its state. */
#include "below.h"

#include <unistd.h>

#include "common/launch.h"
#include "xen/hypercall.h"

void below_setup(uint64_t where)
{
	(void)where;
}

char *below_ask(bool saves)
{
	/* A VM may run on a CPU of its own when dom0 is idle, and QEMU can't resume a state that it saved meanwhile: "vCPU set
	 * in guest-mode inconsistent with migrated kernel nested state". */
	bool pauses = saves && sysconf(_SC_NPROCESSORS_ONLN) > 1;
	char *lines;

	if (pauses)
		hypercall_pause(true);
	lines = launch_wait(saves);
	if (pauses)
		hypercall_pause(false);
	return lines;
}

void below_tell(uint64_t nonce, const char *unit)
{
	(void)nonce;
	(void)unit;
}

bool below_is_there(void)
{
	return false;
}

void below_begin(const struct bell_note *note, bool reasons)
{
	(void)note;
	(void)reasons;
}

void below_end(const struct bell_note *note, bool reasons)
{
	(void)note;
	(void)reasons;
}
