/* Counter differences between two doorbell rings; see exits.h. */
#include "common/exits.h"

#define ROOM_FOR_COUNT 80

void exits_start(struct record *record, const struct bell_note *note)
{
	uint64_t operations;

	if (__builtin_mul_overflow(note->iterations, note->samples, &operations))
		operations = UINT64_MAX;
	record_start(record, "exits");
	record_string(record, "bench", note->bench);
	text_printf(&record->text,
		    ",\"index\":%lu,\"iterations\":%lu,\"samples\":%lu,\"operations\":%lu",
		    note->index, note->iterations, note->samples, operations);
}

void exits_counts(struct record *record, const char *key, const uint64_t *counts, unsigned counters,
		  void (*name_of)(const void *names, unsigned counter, struct text *out),
		  const void *names)
{
	struct text *out = &record->text;
	const char *separator = "";

	text_printf(out, ",\"%s\":{", key);
	for (unsigned i = 0; i < counters; i++) {
		if (!counts[i] || out->size - out->used < ROOM_FOR_COUNT)
			continue;
		text_printf(out, "%s\"", separator);
		name_of(names, i, out);
		text_printf(out, "\":%lu", counts[i]);
		separator = ",";
	}
	text_printf(out, "}");
}

void exits_subtract(uint64_t *passed, const uint64_t *begin, unsigned counters)
{
	for (unsigned i = 0; i < counters; i++)
		passed[i] -= passed[i] < begin[i] ? passed[i] : begin[i];
}

void exits_learn(uint64_t *own, const uint64_t *passed, unsigned counters, bool *known)
{
	for (unsigned i = 0; i < counters; i++)
		if (!*known || passed[i] < own[i])
			own[i] = passed[i];
	*known = true;
}
