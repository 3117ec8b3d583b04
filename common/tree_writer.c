/* Writes device trees; see tree_writer.h. Pure. */
#include "common/tree_writer.h"

#include "common/text.h"

#define HEADER_BYTES 56 /* ten words, and the terminator of an empty reservation block */
#define RESERVATIONS 40

#define TOKEN_NODE     1
#define TOKEN_NODE_END 2
#define TOKEN_PROPERTY 3
#define TOKEN_END      9

static void put(struct tree_writer *tree, uint32_t at, uint32_t word)
{
	for (unsigned i = 0; i < 4; i++)
		tree->to[at + i] = (uint8_t)(word >> (24 - 8 * i));
}

static void add(struct tree_writer *tree, uint32_t word)
{
	if (tree->full || tree->room - tree->used < 4) {
		tree->full = true;
		return;
	}
	put(tree, tree->used, word);
	tree->used += 4;
}

static void add_bytes(struct tree_writer *tree, const uint8_t *bytes, uint32_t count)
{
	uint32_t padded = (count + 3) & ~3u;

	if (tree->full || padded < count || tree->room - tree->used < padded) {
		tree->full = true;
		return;
	}
	for (uint32_t i = 0; i < padded; i++)
		tree->to[tree->used + i] = i < count ? bytes[i] : 0;
	tree->used += padded;
}

void tree_begin(struct tree_writer *tree, uint8_t *to, uint32_t room)
{
	*tree = (struct tree_writer){ .to = to, .room = room, .full = room < HEADER_BYTES };
	for (uint32_t i = 0; i < HEADER_BYTES && !tree->full; i++)
		to[i] = 0;
	tree->used = tree->full ? 0 : HEADER_BYTES;
}

void tree_node(struct tree_writer *tree, const char *name)
{
	add(tree, TOKEN_NODE);
	add_bytes(tree, (const uint8_t *)name, (uint32_t)text_length(name) + 1);
}

void tree_node_end(struct tree_writer *tree)
{
	add(tree, TOKEN_NODE_END);
}

/* The offset of the name in the strings block; added if absent. */
static uint32_t name_at(struct tree_writer *tree, const char *name)
{
	uint32_t at = 0, bytes = (uint32_t)text_length(name) + 1;

	while (at < tree->names_used && !text_equal(tree->names + at, name))
		at += (uint32_t)text_length(tree->names + at) + 1;
	if (at < tree->names_used)
		return at;
	if (sizeof(tree->names) - tree->names_used < bytes) {
		tree->full = true;
		return 0;
	}
	for (uint32_t i = 0; i < bytes; i++)
		tree->names[at + i] = name[i];
	tree->names_used += bytes;
	return at;
}

void tree_property(struct tree_writer *tree, const char *name, const void *value, uint32_t bytes)
{
	add(tree, TOKEN_PROPERTY);
	add(tree, bytes);
	add(tree, name_at(tree, name));
	add_bytes(tree, value, bytes);
}

void tree_text(struct tree_writer *tree, const char *name, const char *text)
{
	tree_property(tree, name, text, (uint32_t)text_length(text) + 1);
}

void tree_cells(struct tree_writer *tree, const char *name, const uint32_t *cells, uint32_t count)
{
	add(tree, TOKEN_PROPERTY);
	add(tree, count * 4);
	add(tree, name_at(tree, name));
	for (uint32_t i = 0; i < count; i++)
		add(tree, cells[i]);
}

uint32_t tree_end(struct tree_writer *tree)
{
	uint32_t structs_end;

	add(tree, TOKEN_END);
	structs_end = tree->used;
	add_bytes(tree, (const uint8_t *)tree->names, tree->names_used);
	if (tree->full)
		return 0;
	put(tree, 0, 0xd00dfeed);
	put(tree, 4, tree->used);
	put(tree, 8, HEADER_BYTES);
	put(tree, 12, structs_end);
	put(tree, 16, RESERVATIONS);
	put(tree, 20, 17); /* version, and last compatible version */
	put(tree, 24, 16);
	put(tree, 32, tree->names_used);
	put(tree, 36, structs_end - HEADER_BYTES);
	return tree->used;
}
