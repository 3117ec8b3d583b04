/* Reads a flattened device tree; see fdt.h. Pure. It does not interpret nodes (tree.c does). */
#include "common/fdt.h"

#include "common/text.h"

#define MAGIC		 0xd00dfeedu
#define HEADER_BYTES	 40
#define OLDEST_VERSION	 16 /* last_comp_version of trees laid out as version 17 */
#define RESERVATION	 16 /* bytes of an entry: address, size */
#define TOKEN_BEGIN_NODE 1u
#define TOKEN_END_NODE	 2u
#define TOKEN_PROPERTY	 3u
#define TOKEN_NOTHING	 4u
#define TOKEN_END	 9u

static uint32_t word_at(const struct fdt *fdt, uint32_t at)
{
	return (uint32_t)fdt_cells(fdt->bytes + at, 1);
}

uint64_t fdt_cells(const uint8_t *value, uint32_t cells)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < cells * 4; i++)
		sum = sum << 8 | value[i];
	return sum;
}

const char *fdt_open(struct fdt *fdt, const void *bytes, uint32_t most)
{
	uint32_t structs_bytes, strings_bytes;

	*fdt = (struct fdt){ .bytes = bytes, .size = HEADER_BYTES };
	if (most < HEADER_BYTES)
		return "there is no room for a device tree's header";
	if (word_at(fdt, 0) != MAGIC)
		return "what is there does not begin as a device tree does";
	fdt->size = word_at(fdt, 4);
	if (fdt->size < HEADER_BYTES || fdt->size > most)
		return "the device tree's size cannot be right";
	if (word_at(fdt, 24) > 17 || word_at(fdt, 20) < OLDEST_VERSION)
		return "the device tree has a version that is not known here";
	fdt->structs = word_at(fdt, 8);
	fdt->strings = word_at(fdt, 12);
	fdt->reserved = word_at(fdt, 16);
	strings_bytes = word_at(fdt, 32);
	/* Version 17 added the size of the structure block. */
	structs_bytes = word_at(fdt, 20) >= 17 ? word_at(fdt, 36) : fdt->size - fdt->structs;
	if (fdt->structs % 4 || fdt->structs < HEADER_BYTES || fdt->structs > fdt->size ||
	    structs_bytes > fdt->size - fdt->structs || fdt->strings > fdt->size ||
	    strings_bytes > fdt->size - fdt->strings || fdt->reserved > fdt->size)
		return "the device tree's blocks do not lie inside of it";
	fdt->structs_end = fdt->structs + structs_bytes;
	fdt->strings_end = fdt->strings + strings_bytes;
	return NULL;
}

/* The offset after the NUL-terminated text at `at`; 0 if it does not end before `end`. */
static uint32_t text_end(const struct fdt *fdt, uint32_t at, uint32_t end)
{
	for (; at < end; at++)
		if (!fdt->bytes[at])
			return at + 1;
	return 0;
}

static bool begin_node(const struct fdt *fdt, struct fdt_walk *walk)
{
	uint32_t end = text_end(fdt, walk->at, fdt->structs_end);

	walk->name = (const char *)fdt->bytes + walk->at;
	walk->at = (end + 3) & ~3u;
	walk->depth++;
	return end != 0;
}

static bool property(const struct fdt *fdt, struct fdt_walk *walk)
{
	uint32_t name;

	if (!walk->depth || fdt->structs_end - walk->at < 8)
		return false;
	walk->length = word_at(fdt, walk->at);
	name = word_at(fdt, walk->at + 4);
	walk->at += 8;
	if (walk->length > fdt->structs_end - walk->at || name >= fdt->strings_end - fdt->strings ||
	    !text_end(fdt, fdt->strings + name, fdt->strings_end))
		return false;
	walk->name = (const char *)fdt->bytes + fdt->strings + name;
	walk->value = fdt->bytes + walk->at;
	walk->at += (walk->length + 3) & ~3u;
	return true;
}

enum fdt_event fdt_next(const struct fdt *fdt, struct fdt_walk *walk)
{
	if (!walk->at)
		walk->at = fdt->structs;
	/* Each token advances `at` by four bytes or more, so every walk ends. */
	while (walk->at <= fdt->structs_end && fdt->structs_end - walk->at >= 4) {
		uint32_t token = word_at(fdt, walk->at);

		walk->at += 4;
		switch (token) {
		case TOKEN_BEGIN_NODE:
			return begin_node(fdt, walk) ? FDT_NODE : FDT_BROKEN;
		case TOKEN_PROPERTY:
			return property(fdt, walk) ? FDT_PROPERTY : FDT_BROKEN;
		case TOKEN_END_NODE:
			if (!walk->depth)
				return FDT_BROKEN;
			walk->depth--;
			return FDT_NODE_END;
		case TOKEN_NOTHING:
			break;
		case TOKEN_END:
			return walk->depth ? FDT_BROKEN : FDT_END;
		default:
			return FDT_BROKEN;
		}
	}
	return FDT_BROKEN;
}

/* Does the path component at `part`, which ends at `end` or a slash, match this node? Returns the
 * component's bytes, or 0. */
static uint32_t part_names(const char *part, const char *end, const char *node)
{
	const char *at = part;

	while (at < end && *at != '/' && *at == *node)
		at++, node++;
	if (at < end && *at != '/')
		return 0;
	return *node && *node != '@' ? 0 : (uint32_t)(at - part);
}

uint32_t fdt_node(const struct fdt *fdt, const char *path, uint32_t length)
{
	const char *parts[FDT_MAX_DEPTH + 1] = { NULL, path }, *end = path + length;
	struct fdt_walk walk = { 0 };
	uint32_t matched = 0; /* the depth of the deepest ancestor on the path */
	enum fdt_event event;

	while ((event = fdt_next(fdt, &walk)) < FDT_END) {
		uint32_t bytes;

		if (event == FDT_NODE_END && walk.depth < matched)
			matched = walk.depth;
		if (event != FDT_NODE || walk.depth != matched + 1 || matched == FDT_MAX_DEPTH)
			continue;
		if (matched) { /* below the root, whose name is "" */
			bytes = part_names(parts[matched] + 1, end, walk.name);
			if (!bytes)
				continue;
			parts[matched + 1] = parts[matched] + 1 + bytes;
		}
		matched++;
		if (parts[matched] == end || (matched == 1 && length == 1))
			return walk.at;
		if (*parts[matched] != '/')
			return 0;
	}
	return 0;
}

bool fdt_property(const struct fdt *fdt, uint32_t node, const char *name, struct fdt_walk *found)
{
	*found = (struct fdt_walk){ .at = node, .depth = 1 };
	while (node && fdt_next(fdt, found) == FDT_PROPERTY)
		if (text_equal(found->name, name))
			return true;
	*found = (struct fdt_walk){ 0 };
	return false;
}

bool fdt_reserved(const struct fdt *fdt, uint32_t index, uint64_t *start, uint64_t *bytes)
{
	const uint8_t *entry;

	if (index >= (fdt->size - fdt->reserved) / RESERVATION)
		return false;
	entry = fdt->bytes + fdt->reserved + index * RESERVATION;
	*start = fdt_cells(entry, 2);
	*bytes = fdt_cells(entry + 8, 2);
	return *start || *bytes;
}

bool fdt_has_string(const uint8_t *value, uint32_t length, const char *word)
{
	for (uint32_t at = 0; at < length;) {
		uint32_t i = 0;

		while (at + i < length && word[i] && value[at + i] == (uint8_t)word[i])
			i++;
		if (!word[i] && at + i < length && !value[at + i])
			return true;
		while (at < length && value[at])
			at++;
		at++;
	}
	return false;
}
