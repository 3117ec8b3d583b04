/* Writes records on the console, one line each (docs/records.md). */
#include "record.h"
#include "posih.h"

#include "common/crc32.h"

#define MAX_LINE_BYTES 4096
#define HEADER_BYTES   80

static char json_buffer[MAX_LINE_BYTES - HEADER_BYTES];
static struct text json;
static const char *source = "guest";
static uint64_t nonce, sequence;

void record_set_source(const char *value)
{
	source = value;
}

void record_set_nonce(uint64_t value)
{
	nonce = value;
}

struct text *record_start(const char *kind)
{
	text_start(&json, json_buffer, sizeof(json_buffer));
	text_printf(&json, "{\"kind\":");
	text_json_string(&json, kind);
	return &json;
}

void record_key(const char *key)
{
	text_printf(&json, ",\"%s\":", key);
}

void record_u64(const char *key, uint64_t value)
{
	record_key(key);
	text_printf(&json, "%lu", value);
}

void record_string(const char *key, const char *value)
{
	record_key(key);
	text_json_string(&json, value);
}

void record_send(void)
{
	char header[HEADER_BYTES];
	struct text head;
	uint32_t crc;

	text_printf(&json, "}");
	if (json.full) {
		console_printf("a record was longer than a line and is lost: %s\n", json_buffer);
		sequence++; /* the gap tells the reader */
		return;
	}
	text_start(&head, header, sizeof(header));
	text_printf(&head, "%s %lx %lu %zu ", source, nonce, sequence++, json.used);
	crc = crc32(crc32(0, header, head.used), json_buffer, json.used);
	console_printf("@ws1 %08x %s%s\n", crc, header, json_buffer);
}
