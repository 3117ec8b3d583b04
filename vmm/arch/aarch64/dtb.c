/* Writes a flattened device tree (Devicetree Specification 0.4, chapter 5).
 * Called by tree.c. Pure. */
#include <string.h>

#include "machine.h"

#define HEADER_BYTES 56 /* ten words, and an empty block of reservations */
#define MAGIC	     0xd00dfeedu
#define BEGIN_NODE   1
#define END_NODE     2
#define PROPERTY     3
#define END	     9
#define VERSION	     17
#define OLDEST	     16

static void put_word(uint8_t *to, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(to, &value, sizeof(value));
}

/* Room for so many bytes, rounded up to words, zero; NULL where there is none.
 */
static uint8_t *room(struct dtb *dtb, size_t bytes)
{
	uint8_t *at = dtb->at + dtb->used;

	bytes = (bytes + 3) / 4 * 4;
	if (dtb->full || bytes > dtb->most - dtb->used) {
		dtb->full = true;
		return NULL;
	}
	memset(at, 0, bytes);
	dtb->used += bytes;
	return at;
}

static void add_word(struct dtb *dtb, uint32_t value)
{
	uint8_t *at = room(dtb, sizeof(value));

	if (at)
		put_word(at, value);
}

static void add_bytes(struct dtb *dtb, const void *bytes, size_t count)
{
	uint8_t *at = room(dtb, count);

	if (at)
		memcpy(at, bytes, count);
}

/* Where that name stands among the strings, once for each. */
static uint32_t name_at(struct dtb *dtb, const char *name)
{
	size_t bytes = strlen(name) + 1, at = 0;

	while (at < dtb->strings_used && strcmp(dtb->strings + at, name) != 0)
		at += strlen(dtb->strings + at) + 1;
	if (at == dtb->strings_used && bytes <= DTB_STRINGS_BYTES - at) {
		memcpy(dtb->strings + at, name, bytes);
		dtb->strings_used += bytes;
	}
	dtb->full |= at == dtb->strings_used;
	return (uint32_t)at;
}

void dtb_start(struct dtb *dtb, uint8_t *to, size_t most)
{
	*dtb = (struct dtb){ .at = to, .most = most };
	(void)room(dtb, HEADER_BYTES);
}

void dtb_node(struct dtb *dtb, const char *name)
{
	add_word(dtb, BEGIN_NODE);
	add_bytes(dtb, name, strlen(name) + 1);
}

void dtb_node_end(struct dtb *dtb)
{
	add_word(dtb, END_NODE);
}

void dtb_bytes(struct dtb *dtb, const char *name, const void *value, size_t bytes)
{
	add_word(dtb, PROPERTY);
	add_word(dtb, (uint32_t)bytes);
	add_word(dtb, name_at(dtb, name));
	add_bytes(dtb, value, bytes);
}

void dtb_cells(struct dtb *dtb, const char *name, unsigned count, const uint32_t *cells)
{
	add_word(dtb, PROPERTY);
	add_word(dtb, count * 4);
	add_word(dtb, name_at(dtb, name));
	for (unsigned i = 0; i < count; i++)
		add_word(dtb, cells[i]);
}

size_t dtb_finish(struct dtb *dtb)
{
	uint32_t strings_at, header[10];

	add_word(dtb, END);
	strings_at = (uint32_t)dtb->used;
	add_bytes(dtb, dtb->strings, dtb->strings_used);
	if (dtb->full)
		return 0;
	memcpy(header,
	       (uint32_t[]){ MAGIC, (uint32_t)dtb->used, HEADER_BYTES, strings_at, 40, VERSION,
			     OLDEST, 0, (uint32_t)dtb->strings_used, strings_at - HEADER_BYTES },
	       sizeof(header));
	for (unsigned i = 0; i < 10; i++)
		put_word(dtb->at + i * 4, header[i]);
	return dtb->used;
}
