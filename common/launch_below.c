/* The first process in a VM rings the monitor below for its launch; see launch_below.h. */
#include "common/launch_below.h"

#include <stdio.h>
#include <string.h>

#include "common/bell_note.h"
#include "common/launch.h"
#include "common/physical.h"
#include "common/ring.h"

/* Aligned to more than its size, so that it lies within a page. */
static _Alignas(128) struct bell_note note;

static const char *ring(uint64_t doorbell)
{
	uint64_t at;

	note.magic = BELL_MAGIC;
	return physical_address(&note, &at) ? ring_below(doorbell, at)
					    : "find out where the doorbell's note is in memory";
}

char *launch_ask(uint64_t doorbell, bool saves, const char **failed)
{
	size_t bytes = 0, part;

	do {
		note = (struct bell_note){ .kind = BELL_ASK, .index = bytes, .samples = saves };
		*failed = ring(doorbell);
		if (*failed)
			return NULL;
		part = strnlen(note.bench, sizeof(note.bench));
		memcpy(launch_lines + bytes, note.bench, part);
		bytes += part;
	} while (part == sizeof(note.bench) && bytes + sizeof(note.bench) < MAX_LAUNCH_BYTES);
	launch_lines[bytes] = '\0';
	return bytes ? launch_lines : launch_wait(saves);
}

const char *launch_tell(uint64_t doorbell, uint64_t nonce, const char *unit)
{
	note = (struct bell_note){ .kind = BELL_LAUNCH, .index = nonce };
	snprintf(note.bench, sizeof(note.bench), "%s", unit);
	return ring(doorbell);
}
