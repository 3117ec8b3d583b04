/*
 * Preloaded into the QEMU that resumes an ARM machine. QEMU 10 saves the registers of EL2's timers, but not when they
 * are due: a kernel at EL2 would wait for its next tick for ever. Before the machine runs, each timer is set by its
 * registers again, through functions that QEMU exports to its plugins. Other emulators do not have them.
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
