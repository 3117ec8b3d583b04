/* A note of kind BELL_TEXT; see bell_text.h. */
#include "common/bell_text.h"
#include "common/bell_note.h"
#include "common/device_io.h"

bool bell_text(uint64_t doorbell, const char *text, size_t bytes)
{
	struct bell_note note = {
		.magic = BELL_MAGIC, .kind = BELL_TEXT, .index = (uint64_t)text, .samples = bytes
	};

	ring_doorbell(doorbell, &note);
	return note.kind == BELL_TAKEN;
}
