/* A byte written to device memory: one that the monitor's user space handles, one that KVM turns into an
 * eventfd without a reader, and one whose eventfd takes writes of any length: virtio's doorbells do. Three
 * rows; in kvm-unit-tests: the PCI test device. */
#include "exit_row.h"
#include "latency_row.h"
#include <arch/timed_exits.h>

TIMED_WRITE_BYTE(mmio_write);

static struct exit_operand operand;
static const struct latency_page *page;
static uint64_t before;

static bool prepare(struct bench_run *run, enum latency_command command)
{
	page = latency_command(run, command);
	if (!page)
		return false;
	operand.number = page->memory_kick;
	run->operand = &operand;
	before = page->stamps;
	return true;
}

static bool init_userspace(struct bench_run *run)
{
	return prepare(run, LATENCY_OUT_USERSPACE);
}

static bool init_eventfd(struct bench_run *run)
{
	return prepare(run, LATENCY_NOBODY_MEMORY);
}

static bool init_any_length(struct bench_run *run)
{
	return prepare(run, LATENCY_NOBODY_ANY_LENGTH);
}

/* The monitor counts each write, or reports the eventfd's count at the end. */
static enum check check(struct bench_run *run)
{
	latency_stop(run);
	bench_note(run, "%lu writes, and the monitor counted %lu", run->total,
		   page->stamps - before);
	return page->stamps - before == run->total ? CHECK_PROVED : CHECK_FAILED;
}

EXIT_ROW(userspace, "mmio-write", "io", "write a byte to a device's memory", "our own monitor",
	 latency_needs, init_userspace, check, mmio_write, 0);
EXIT_ROW(eventfd, "mmio-write-eventfd", "io", "write a byte to an MMIO address with an ioeventfd",
	 "our own monitor", latency_needs, init_eventfd, check, mmio_write, 0);
EXIT_ROW(any_length, "mmio-write-eventfd-any", "io",
	 "write a byte to an MMIO address with an ioeventfd of any length", "our own monitor",
	 latency_needs, init_any_length, check, mmio_write, 0);
