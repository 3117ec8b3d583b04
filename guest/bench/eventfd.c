/* A write that KVM turns into an eventfd without a reader: a kick without a receiver. In kvm-unit-tests:
 * the PCI test device. */
#include "exit_row.h"
#include "latency_row.h"

TIMED_PAIR(out_eventfd, BEFORE_PORT, "", OP_PORT_OUT, "");

static struct port_operand operand;
static const struct latency_page *page;
static uint64_t before;

static bool init(struct bench_run *run)
{
	page = latency_command(run, LATENCY_NOBODY);
	operand.port = (io_port)(run->params->doorbell + LATENCY_KICK_AT);
	run->operand = &operand;
	before = page ? page->stamps : 0;
	return page;
}

/* The monitor reports the eventfd's count at the end. */
static enum check check(struct bench_run *run)
{
	latency_stop(run);
	bench_note(run, "%lu writes, and the eventfd counted %lu", run->total,
		   page->stamps - before);
	return page->stamps - before == run->total ? CHECK_PROVED : CHECK_FAILED;
}

EXIT_ROW(out_eventfd, "out-eventfd", "io", "write a byte to a port that is an eventfd",
	 "our own monitor", latency_needs, init, check, out_eventfd, 0);
