/* The doorbell's note (docs/guest.md); see doorbell.h. A monitor copies it at each ring. */
#include "guest/core/doorbell.h"
#include "guest/core/guest_arch.h"
#include "common/bell_note.h"

#define LEARN_PAIRS 8

static struct bell_note note;

static void ring(const struct params *params, uint32_t kind)
{
	if (params->doorbell == PORT_NONE)
		return;
	note.magic = BELL_MAGIC;
	note.kind = kind;
	ring_doorbell(params->doorbell, &note);
}

void bell_begin(const struct params *params, uint64_t index, const char *bench)
{
	unsigned i = 0;

	for (; bench[i] && i < sizeof(note.bench) - 1; i++)
		note.bench[i] = bench[i];
	note.bench[i] = 0;
	note.index = index;
	note.iterations = note.samples = 0;
	ring(params, BELL_BEGIN);
}

void bell_end(const struct params *params, uint64_t iterations, uint64_t samples)
{
	note.iterations = iterations;
	note.samples = samples;
	ring(params, BELL_END);
}

void bell_learn(const struct params *params)
{
	for (unsigned i = 0; i < LEARN_PAIRS; i++) {
		bell_begin(params, 0, "");
		bell_end(params, 0, 0);
	}
}
