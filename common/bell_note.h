/* What lies where a ring of the doorbell points (docs/guest.md): the guest writes it (guest/core/doorbell.c), a
 * monitor copies it. */
#ifndef COMMON_BELL_NOTE_H
#define COMMON_BELL_NOTE_H

#include <stdint.h>

#define BELL_MAGIC 0x31425357u /* "WSB1" */
#define BELL_BEGIN 1
#define BELL_END   2

struct bell_note {
	uint32_t magic, kind;
	uint64_t index, iterations, samples; /* the last two 0: nothing lies between the rings */
	char bench[64];
};

#endif
