/* The monitor's records; see record.h. Text and CRC are the guest's own code (guest/core). */
#include "record.h"

#include <string.h>

void record_start(struct record *record, const char *kind)
{
	text_start(&record->text, record->buffer, sizeof(record->buffer));
	text_printf(&record->text, "{\"kind\":\"%s\"", kind);
}

void record_key(struct record *record, const char *key)
{
	text_printf(&record->text, ",\"%s\":", key);
}

void record_u64(struct record *record, const char *key, uint64_t value)
{
	record_key(record, key);
	text_printf(&record->text, "%lu", value);
}

void record_bool(struct record *record, const char *key, bool value)
{
	record_key(record, key);
	text_printf(&record->text, value ? "true" : "false");
}

void record_string(struct record *record, const char *key, const char *value)
{
	record_key(record, key);
	text_json_string(&record->text, value);
}

size_t record_format(char *to, size_t bytes, uint64_t nonce, uint64_t sequence, const char *json)
{
	char covered[MAX_RECORD_BYTES];
	struct text text, line;

	text_start(&text, covered, sizeof(covered));
	text_printf(&text, "vmm %lx %lu %zu %s", nonce, sequence, strlen(json), json);
	text_start(&line, to, bytes);
	text_printf(&line, "@ws1 %08x %s\n", crc32(0, covered, text.used), covered);
	return text.full || line.full ? 0 : line.used;
}

void record_send(struct record *record, struct record_line *line)
{
	char buffer[MAX_RECORD_BYTES + 1];
	size_t bytes;

	text_printf(&record->text, "}");
	bytes = record_format(buffer, sizeof(buffer), line->nonce, line->sequence++,
			      record->buffer);
	if (bytes && !record->text.full)
		console_line(line->console, buffer, bytes);
}
