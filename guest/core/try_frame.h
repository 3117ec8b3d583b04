/* try_call()'s frame, for the one file of each architecture that takes its exceptions. What saves and restores registers
 * is in that architecture's assembly. */
#ifndef TRY_FRAME_H
#define TRY_FRAME_H

#include "guest/core/guest_arch.h"

/* Assembly uses the first word. */
struct try_frame {
	uint64_t sp;
	struct try_frame *outer;
	struct fault *fault;
};

bool try_enter(void (*fn)(void *), void *arg, struct try_frame *frame);
_Noreturn void try_leave(struct try_frame *frame);

static struct try_frame *innermost; /* of the first CPU: only that one runs benchmarks */

bool try_call(void (*fn)(void *), void *arg, struct fault *fault)
{
	struct try_frame frame = { .outer = innermost, .fault = fault };
	bool returned;

	innermost = &frame;
	returned = try_enter(fn, arg, &frame);
	innermost = frame.outer;
	return returned;
}

#endif
