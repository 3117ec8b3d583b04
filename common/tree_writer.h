/* Writes flattened device trees (Devicetree Specification 0.4, chapter 5) into a bounded buffer:
 * tree_begin(), nodes and properties, tree_end(). Pure. */
#ifndef COMMON_TREE_WRITER_H
#define COMMON_TREE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

struct tree_writer {
	uint8_t *to;
	uint32_t room, used;
	char names[512];
	uint32_t names_used;
	bool full; /* something did not fit */
};

void tree_begin(struct tree_writer *tree, uint8_t *to, uint32_t room);
void tree_node(struct tree_writer *tree, const char *name);
void tree_node_end(struct tree_writer *tree);
void tree_property(struct tree_writer *tree, const char *name, const void *value, uint32_t bytes);
void tree_text(struct tree_writer *tree, const char *name, const char *text);

/* A string literal: one string, or several separated by NULs. */
#define TREE_TEXTS(tree, name, value) tree_property(tree, name, value, sizeof(value))

/* A property of 32-bit cells. */
void tree_cells(struct tree_writer *tree, const char *name, const uint32_t *cells, uint32_t count);
#define TREE_CELLS(tree, name, ...)                               \
	tree_cells(tree, name, (const uint32_t[]){ __VA_ARGS__ }, \
		   sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
/* An address or a size as two cells. */
#define TREE_WIDE(value) (uint32_t)((uint64_t)(value) >> 32), (uint32_t)(value)

/* Ends it; returns its size, or 0 if it did not fit. */
uint32_t tree_end(struct tree_writer *tree);

#endif
