/*
 * I/O Latency Out and In (Dall et al. 2015, Table 1): from the guest's kick to its receipt by the other
 * side, and from there to the guest's handler. Three rows each, by receiver: a thread that spins, a thread
 * that is woken, and the monitor's user space after an exit of the vCPU.
 */
#include "latency_row.h"

TIMED_DECLARE(io_latency_out);
TIMED_DECLARE(io_latency_in);

static bool init_out_spinning(struct bench_run *run)
{
	return latency_start(run, LATENCY_OUT_SPINNING, false);
}

static bool init_out_woken(struct bench_run *run)
{
	return latency_start(run, LATENCY_OUT_WOKEN, false);
}

static bool init_out_userspace(struct bench_run *run)
{
	return latency_start(run, LATENCY_OUT_USERSPACE, false);
}

static bool init_in_spinning(struct bench_run *run)
{
	return latency_start(run, LATENCY_IN_THREAD, false);
}

static bool init_in_woken(struct bench_run *run)
{
	return latency_start(run, LATENCY_IN_THREAD_LATE, true);
}

static bool init_in_userspace(struct bench_run *run)
{
	return latency_start(run, LATENCY_IN_USERSPACE, false);
}

/* The rows differ in name, preparation, and number of CPUs. */
#define LATENCY_ROW(id, title, words, loop, how_many, needed)                                  \
	BENCHMARK_ROW(id, title, "io", words, needed, latency_needs, init_##id, latency_check, \
		      loop, .cleanup = latency_stop, .cpus = how_many, .min_iterations = 1,    \
		      .max_iterations = 16, .parameters = SELF_TIMED)

LATENCY_ROW(out_spinning, "io-latency-out-spinning", "kick until a thread that polls has seen it",
	    io_latency_out, 2, "our own monitor, two CPUs");
LATENCY_ROW(out_woken, "io-latency-out-woken", "kick until a thread that slept has seen it",
	    io_latency_out, 2, "our own monitor, two CPUs");
LATENCY_ROW(out_userspace, "io-latency-out-userspace",
	    "kick until the monitor's user space has seen it", io_latency_out, 1,
	    "our own monitor");
LATENCY_ROW(in_spinning, "io-latency-in-spinning",
	    "interrupt by a thread until the running guest's handler", io_latency_in, 2,
	    "our own monitor, two CPUs");
LATENCY_ROW(in_woken, "io-latency-in-woken",
	    "interrupt by a thread until the halted guest's handler", io_latency_in, 2,
	    "our own monitor, two CPUs");
LATENCY_ROW(in_userspace, "io-latency-in-userspace",
	    "interrupt by the monitor's user space until the guest's handler", io_latency_in, 1,
	    "our own monitor");
