/*
 * The lab preloads this library into the QEMU that resumes an ARM machine. QEMU 10 saves the registers of EL2's timers,
 * but not their deadlines: without one a kernel at EL2 waits for ever for its next tick. Before the CPUs run, the
 * library makes QEMU compute the deadlines from the registers, by functions that Debian's QEMU exports. In a program
 * without these functions it does nothing.
 */
#include <stdbool.h>
#include <stddef.h>

#pragma weak qemu_add_vm_change_state_handler
#pragma weak qemu_get_cpu
#pragma weak arm_gt_htimer_cb
#pragma weak arm_gt_hvtimer_cb

typedef void state_changed(void *unused, bool is_running, int state);
void *qemu_add_vm_change_state_handler(state_changed *call, void *unused);
void *qemu_get_cpu(int index);
/* Of EL2's physical and virtual timer: their deadline and their interrupt, by their registers. */
void arm_gt_htimer_cb(void *cpu);
void arm_gt_hvtimer_cb(void *cpu);

/* With QEMU's lock, before the CPUs run. */
static void set_timers(void *unused, bool is_running, int state)
{
	void *cpu;

	(void)unused;
	(void)state;
	if (!is_running)
		return;
	for (int index = 0; (cpu = qemu_get_cpu(index)); index++) {
		arm_gt_htimer_cb(cpu);
		arm_gt_hvtimer_cb(cpu);
	}
}

__attribute__((constructor)) static void start(void)
{
	if (qemu_add_vm_change_state_handler && qemu_get_cpu && arm_gt_htimer_cb &&
	    arm_gt_hvtimer_cb)
		(void)qemu_add_vm_change_state_handler(set_timers, NULL);
}
