/* Rings; see below.h. */
#include "below.h"

#include <errno.h>
#include <string.h>

#include "common/launch.h"
#include "common/launch_below.h"
#include "common/physical.h"
#include "common/ring.h"
#include "say.h"

/* As the benchmark guest's (docs/guest.md): they show what rings cost. */
#define EMPTY_PAIRS 8

static uint64_t doorbell; /* 0: none */

static void ring(const struct bell_note *note, uint32_t kind)
{
	/* Aligned to more than its size, so that it lies within a page. */
	static _Alignas(128) struct bell_note said;
	const char *failed;
	uint64_t at;

	said = *note;
	said.magic = BELL_MAGIC;
	said.kind = kind;
	if (!physical_address(&said, &at))
		give_up("the kernel does not say where the doorbell's note is in memory");
	failed = ring_below(doorbell, at);
	if (failed)
		give_up("the doorbell at 0x%lx: can't %s: %s", doorbell, failed, strerror(errno));
}

void below_setup(uint64_t where)
{
	const struct bell_note none = { .magic = 0 };

	doorbell = where;
	for (unsigned i = 0; doorbell && i < EMPTY_PAIRS; i++) {
		ring(&none, BELL_BEGIN);
		ring(&none, BELL_END);
	}
}

char *below_ask(bool saves)
{
	const char *failed;
	char *lines = doorbell ? launch_ask(doorbell, saves, &failed) : launch_wait(saves);

	if (!lines)
		give_up("the doorbell at 0x%lx: can't %s: %s", doorbell, failed, strerror(errno));
	return lines;
}

void below_tell(uint64_t nonce, const char *unit)
{
	const char *failed = doorbell ? launch_tell(doorbell, nonce, unit) : NULL;

	if (failed)
		give_up("the doorbell at 0x%lx: can't %s: %s", doorbell, failed, strerror(errno));
}

bool below_is_there(void)
{
	return doorbell != 0;
}

void below_begin(const struct bell_note *note, bool reasons)
{
	if (doorbell && note->bench[0])
		ring(note, reasons ? BELL_BEGIN_REASONS : BELL_BEGIN);
}

void below_end(const struct bell_note *note, bool reasons)
{
	if (doorbell && note->bench[0])
		ring(note, reasons ? BELL_END_REASONS : BELL_END);
}
