/* Writes of control registers that hypervisors intercept: CR0.WP and CR4.PGE, each changed and changed
 * back, and DR7. Three rows: kvm-unit-tests' toggle_cr0_wp, toggle_cr4_pge and mov_dr. */
#include "exit_row.h"
#include <arch/timed_exits.h>

TIMED_DECLARE(toggle_cr0_wp);
TIMED_DECLARE(toggle_cr4_pge);
TIMED_WRITE_DEBUG(write_dr7);

#define DR7_NOTHING 0x400 /* no breakpoint; bit 10 is always 1 */

static struct exit_operand operand = { .value = DR7_NOTHING };

static bool init(struct bench_run *run)
{
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "only the host can count exits");
	return CHECK_UNPROVEN;
}

EXIT_ROW(wp, "toggle-cr0-wp", "privileged", "change CR0.WP and change it back", "", NULL, init,
	 check, toggle_cr0_wp, 0);
EXIT_ROW(pge, "toggle-cr4-pge", "privileged", "change CR4.PGE and change it back", "", NULL, init,
	 check, toggle_cr4_pge, 0);
EXIT_ROW(dr7, "write-dr7", "privileged", "write the debug control register", "", NULL, init, check,
	 write_dr7, 0);
