/* The text symbols of a kernel and its modules, out of what Linux prints in /proc/kallsyms; printed for
 * crates/machines/src/lab/symbols.rs. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct symbol {
	uint64_t address;
	const char *name, *module; /* module NULL: the kernel itself */
	char type;		   /* as nm prints it: t T w W */
};

/* How many symbols a text has at most. */
size_t kallsyms_most(const char *text);
/* Reads lines `ADDRESS TYPE NAME[\t[MODULE]]`, and keeps the text symbols, sorted by address; symbols of one
 * address stay in the order of lines. Modifies the text, into which names point. Returns how many there are. */
size_t kallsyms_read(char *text, struct symbol *symbols);
/* Prints
 *	@symbols begin
 *	DELTA TYPE NAME[ [MODULE]]	for each symbol
 *	@symbols end COUNT CRC32
 * DELTA is the distance to the address before (the first: to 0): the console is slow. It and the CRC32, which
 * is that of the lines between the first and the last with their newlines, are hexadecimal. */
void kallsyms_print(const struct symbol *symbols, size_t count, FILE *to);
