/* A doorbell that is an I/O port; see ring.h. */
#include "common/ring.h"

#include <errno.h>
#include <stddef.h>
#include <sys/io.h>

/* The port is open only for the write: with ports open, each return to user space costs more. */
const char *ring_below(uint64_t where, uint64_t note)
{
	if (note > UINT32_MAX) {
		errno = EFBIG;
		return "ring for a note above 4 GiB";
	}
	if (ioperm(where, sizeof(uint32_t), 1) < 0)
		return "open the doorbell's port";
	outl((uint32_t)note, (uint16_t)where);
	return ioperm(where, sizeof(uint32_t), 0) == 0 ? NULL : "close the doorbell's port";
}
