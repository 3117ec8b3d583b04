/* Reads of CPU identification registers: the features, which hypervisors trap in order to hide some, and
 * the cache type, which any program may read. Two rows. */
#include "bench.h"

TIMED_READ_ID_REGISTER(read_id_register);
TIMED_READ_CACHE_TYPE(read_cache_type);

static struct register_operand operand;

static bool init(struct bench_run *run)
{
	operand = (struct register_operand){ 0 };
	run->operand = &operand;
	return true;
}

static enum check judge(struct bench_run *run, uint64_t now)
{
	if (operand.value != now) {
		bench_note(run, "read %lx, found %lx", operand.value, now);
		return CHECK_FAILED;
	}
	bench_note(run, "the last read gave what the register gives now");
	return CHECK_PROVED;
}

static enum check check_id_register(struct bench_run *run)
{
	return judge(run, cpu_id_register());
}

static enum check check_cache_type(struct bench_run *run)
{
	return judge(run, cpu_cache_type());
}

#define REGISTER_ROW(id, title, words, judged)                                                 \
	BENCHMARK_ROW(id, title, "unprivileged", words, "", NULL, init, judged, id, .cpus = 1, \
		      .min_iterations = 10000, .max_iterations = 10000000)

REGISTER_ROW(read_id_register, "read-id-register",
	     "read a register that tells the CPU's features (sensitive)", check_id_register);
REGISTER_ROW(read_cache_type, "read-cache-type",
	     "read how the caches are made (unprivileged, sensitive)", check_cache_type);
