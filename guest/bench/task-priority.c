/* The task priority by CR8, read and written: the register by which a kernel holds interrupts back. Two
 * rows, kvm-unit-tests' mov_from_cr8 and mov_to_cr8. */
#include "exit_row.h"
#include "timed_exits.h"

TIMED_READ_PRIORITY(cr8_read);
TIMED_WRITE_PRIORITY(cr8_write);

static struct exit_operand operand;

static bool init(struct bench_run *run)
{
	operand.value = 0;
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	cr8_read_run(1, &operand);
	bench_note(run, "CR8 reads as %lx; only the host can count exits", operand.value);
	return operand.value ? CHECK_FAILED : CHECK_UNPROVEN;
}

EXIT_ROW(read, "cr8-read", "exception", "read the task priority (CR8)", "", NULL, init, check,
	 cr8_read, 0);
EXIT_ROW(write, "cr8-write", "exception", "write the task priority (CR8)", "", NULL, init, check,
	 cr8_write, 0);
