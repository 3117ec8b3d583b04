/* Writes records; see record.h. */
#include "common/record.h"

#include "common/crc32.h"

struct text *record_start(struct record *record, const char *kind)
{
	text_start(&record->text, record->buffer, sizeof(record->buffer));
	text_printf(&record->text, "{\"kind\":\"%s\"", kind);
	return &record->text;
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

void record_string(struct record *record, const char *key, const char *value)
{
	record_key(record, key);
	text_json_string(&record->text, value);
}

size_t record_finish(struct record *record, const char *source, struct record_line *line,
		     char to[MAX_RECORD_BYTES + 1])
{
	char buffer[80];
	struct text head, whole;
	uint32_t crc;

	text_printf(&record->text, "}");
	text_start(&head, buffer, sizeof(buffer));
	text_printf(&head, "%s %lx %lu %zu ", source, line->nonce, line->sequence++,
		    record->text.used);
	crc = crc32(crc32(0, buffer, head.used), record->buffer, record->text.used);
	text_start(&whole, to, MAX_RECORD_BYTES + 1);
	text_printf(&whole, "@ws1 %08x %s%s\n", crc, buffer, record->buffer);
	return record->text.full || whole.full ? 0 : whole.used;
}
