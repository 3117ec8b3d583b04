/*
 * A flattened device tree, read in place (Devicetree Specification 0.4, chapter 5). Total: whatever the
 * bytes are, it never reads outside of them, and every walk ends.
 */
#ifndef COMMON_FDT_H
#define COMMON_FDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdt {
	const uint8_t *bytes;
	uint32_t size;		       /* of the whole tree */
	uint32_t structs, structs_end; /* offsets */
	uint32_t strings, strings_end;
	uint32_t reserved; /* of the memory reservation block */
};

/* The largest tree that the boot protocol allows (Linux, Documentation/arch/arm64/booting.rst). */
#define FDT_MAX_BYTES (2u << 20)

/* The deepest node that a path can name. */
#define FDT_MAX_DEPTH 8

/* Checks the header at `bytes`, reading at most `most` bytes, and fills *fdt. Returns NULL, or what is
 * wrong. */
const char *fdt_open(struct fdt *fdt, const void *bytes, uint32_t most);

enum fdt_event {
	FDT_NODE,     /* a node begins: name */
	FDT_PROPERTY, /* of the innermost open node: name, value, length */
	FDT_NODE_END,
	FDT_END,   /* end of the tree */
	FDT_BROKEN /* the rest is not a valid tree */
};

/* A walk through the tree; starts as { 0 }. */
struct fdt_walk {
	uint32_t at; /* offset of the next token; 0: the first */
	uint32_t depth;
	const char *name;
	const uint8_t *value;
	uint32_t length; /* bytes of value */
};
enum fdt_event fdt_next(const struct fdt *fdt, struct fdt_walk *walk);

/* The node at a path such as "/chosen" or "/soc/serial@1000" (`length` bytes), as the offset that a walk
 * has after the node's FDT_NODE. A name without "@" matches the first with any unit address. 0: not
 * found. */
uint32_t fdt_node(const struct fdt *fdt, const char *path, uint32_t length);

/* A property of that node. False: not found; *found is then { 0 }. */
bool fdt_property(const struct fdt *fdt, uint32_t node, const char *name, struct fdt_walk *found);

/* Entry `index` of the memory reservation block. False after the last. */
bool fdt_reserved(const struct fdt *fdt, uint32_t index, uint64_t *start, uint64_t *bytes);

/* The big-endian number in `cells` 32-bit cells at `value`; its low 64 bits if wider. */
uint64_t fdt_cells(const uint8_t *value, uint32_t cells);

/* Is `word` among the NUL-terminated strings in the value? */
bool fdt_has_string(const uint8_t *value, uint32_t length, const char *word);

#endif
