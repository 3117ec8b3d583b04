/*
 * What a freestanding C program has to bring itself. Pure: all of it also builds on the host and
 * has unit tests there (tests/).
 */
#ifndef LIB_H
#define LIB_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Text (core/format.c) ----------------------------------------------------------------- */

size_t text_length(const char *text);
bool text_equal(const char *a, const char *b);

/*
 * A bounded buffer of text. `full` is set, and stays, when something did not fit; what is in the
 * buffer is then cut and still ends in NUL.
 */
struct text {
	char *at;
	size_t size, used; /* bytes; used excludes the NUL */
	bool full;
};
void text_start(struct text *out, char *buffer, size_t size);

/* printf's %s %c %u %x %d %% with the lengths l, ll and z, width and zero padding. */
void text_printf(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *out, const char *format, va_list values);

/* A JSON string with its quotes. All but printable ASCII is escaped. */
void text_json_string(struct text *out, const char *value);

/* Reads a decimal or 0x-hexadecimal number that fills all of [text, text + bytes). */
bool parse_u64(const char *text, size_t bytes, uint64_t *value);

/* ---- CRC-32 ISO-HDLC, zlib's (core/crc32.c) ------------------------------------------------ */

/* Continues `crc` (0 to start) over the bytes. */
uint32_t crc32(uint32_t crc, const void *bytes, size_t length);

/* ---- Regular expressions (core/regex.c) ---------------------------------------------------- */

/*
 * Is there a match anywhere in `text`? Literals, . * + ? | () [] [^] with ranges, ^, $ and
 * backslash before a special character. Linear time in text times pattern; no recursion on the
 * text. A pattern that is wrong or too large matches nothing; regex_valid() tells.
 */
bool regex_search(const char *pattern, const char *text);
bool regex_valid(const char *pattern);

/* ---- Command line (core/cmdline.c) --------------------------------------------------------- */

struct params;
/*
 * Reads `line` into *params, which the caller has filled with the defaults. Words that mean
 * nothing, or whose value cannot be used, go to `unknown`, separated by blanks. `storage` keeps
 * the strings that *params points to.
 */
void cmdline_parse(const char *line, struct params *params, char *storage, size_t storage_bytes,
		   struct text *unknown);
/* What differs by machine. */
struct cmdline_limits {
	const char *tick_unit; /* what unit= calls a tick of the clock, "tsc_ticks" */
	uint64_t port_max;     /* the highest number or address of a port */
	/* The defaults of in= and out=, and of print=; PORT_NONE: there is none. */
	uint64_t scratch_port, print_port;
};

/* The defaults of every key. */
void cmdline_defaults(struct params *params, const struct cmdline_limits *limits);

#endif
