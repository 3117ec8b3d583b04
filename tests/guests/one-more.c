/*
 * Rows of the suite with one more instruction in the timed loop (tests/e2e/lab-machines.bats): the lab must
 * count exactly one more.
 */
#include "row.h"

TIMED_LOOP(sgdt_one_more, OP_STORE_GDTR "\n\tnop");
static struct table_register stored;

static bool init_sgdt(struct bench_run *run)
{
	run->operand = &stored;
	return true;
}
ROW(sgdt_one_more, "sgdt-one-more", .init = init_sgdt, .run = sgdt_one_more_run,
    .control = sgdt_one_more_control, .insns_samples = 64);

TIMED_DECLARE(hypercall_one_more); /* one-more.S */

/* A hypercall number unknown to KVM, and KVM's answer (guest/bench/hypercall.c). */
static struct hypercall_operand call = { .number = 0x7fffffff, .wanted = 0 - 1000ull }, unused;

static const char *needs_hypercall(const struct params *params)
{
	return params->hypercall == HYPERCALL_KVM ? NULL : "no KVM answers hypercalls here";
}

static bool init_hypercall(struct bench_run *run)
{
	call.amd = cpu_is_amd();
	unused = call;
	run->operand = &call;
	run->control_operand = &unused;
	return true;
}
ROW(hypercall_one_more, "hypercall-one-more", .needs = needs_hypercall, .init = init_hypercall,
    .run = hypercall_one_more_run, .control = hypercall_one_more_control, .insns_samples = 64,
    .parameters = PARAM_HYPERCALL);
