/* The monitor's records; see record.h. Text and CRC are the guest's own code (guest/core). */
#include "record.h"

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
	char covered[MAX_RECORD_BYTES], whole[MAX_RECORD_BYTES + 1];
	struct text text, out;

	text_printf(&record->text, "}");
	text_start(&text, covered, sizeof(covered));
	text_printf(&text, "vmm %lx %lu %zu %s", line->nonce, line->sequence++, record->text.used,
		    record->buffer);
	text_start(&out, whole, sizeof(whole));
	text_printf(&out, "@ws1 %08x %s\n", crc32(0, covered, text.used), covered);
	if (!record->text.full && !text.full && !out.full)
		console_line(line->console, whole, out.used);
}
