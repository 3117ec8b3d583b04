/* Text that a monitor must not take from a guest's doorbell (docs/guest.md, kind 7). */
#ifndef TESTS_GUESTS_WRONG_TEXT_H
#define TESTS_GUESTS_WRONG_TEXT_H

#include "common/bell_note.h"
#include "common/record.h"
#include "row.h"

/* Gives text outside memory, text across the end of memory, and text longer than a record. `nowhere`: an address without
 * memory; `end`: the end of memory; `ring` passes the note on. False: some of it was taken. */
static bool takes_no_wrong_text(const struct bench_run *run, uint64_t nowhere, uint64_t end,
				void (*ring)(const struct bench_run *, uint64_t))
{
	static struct bell_note note;
	const struct {
		uint64_t index, samples;
	} wrong[] = { { nowhere, 16 },
		      { end - 8, 16 },
		      { end - 512, MAX_RECORD_BYTES },
		      { UINT64_MAX, 16 },
		      { (uint64_t)&note, MAX_RECORD_BYTES + 1 },
		      { (uint64_t)&note, UINT64_MAX },
		      { UINT64_MAX, UINT64_MAX } };

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		note = (struct bell_note){ .magic = BELL_MAGIC,
					   .kind = BELL_TEXT,
					   .index = wrong[i].index,
					   .samples = wrong[i].samples };
		ring(run, (uint64_t)&note);
		if (note.kind != BELL_TEXT)
			return false;
	}
	return true;
}

#endif
