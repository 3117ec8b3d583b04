/* Sends records; see record_line.h. */
#include "guest/core/record_line.h"
#include "posih.h"

static const char *source = "guest";
static struct record_line line;

void record_set_source(const char *value)
{
	source = value;
}

void record_set_nonce(uint64_t value)
{
	line.nonce = value;
}

void record_send(struct record *record)
{
	static char bytes[MAX_RECORD_BYTES + 1];
	size_t used = record_finish(record, source, &line, bytes);

	if (used)
		console_write(bytes, used);
	else
		console_printf("a record was longer than a line and is lost: %s\n", record->buffer);
}
