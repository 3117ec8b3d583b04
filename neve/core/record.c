/* Records; see record.h. Text and CRC are the guest's own code (guest/core). */
#include "record.h"

#include "console.h"

void record_start(struct record *record, const char *kind)
{
	text_start(&record->text, record->buffer, sizeof(record->buffer));
	text_printf(&record->text, "{\"kind\":\"%s\"", kind);
}

void record_string(struct record *record, const char *key, const char *value)
{
	text_printf(&record->text, ",\"%s\":", key);
	text_json_string(&record->text, value);
}

void record_send(struct record *record, struct record_line *line)
{
	char head[80], whole[MAX_RECORD_BYTES + 1];
	struct text start, out;
	uint32_t crc;

	text_printf(&record->text, "}");
	text_start(&start, head, sizeof(head));
	text_printf(&start, "neve %lx %lu %zu ", line->nonce, line->sequence++, record->text.used);
	crc = crc32(crc32(0, head, start.used), record->buffer, record->text.used);
	text_start(&out, whole, sizeof(whole));
	text_printf(&out, "@ws1 %08x %s%s\n", crc, head, record->buffer);
	if (!record->text.full && !out.full)
		console_write(whole, out.used);
}
