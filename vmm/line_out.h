/* The record line (docs/records.md): a file, a pipe or standard output. Guest bytes are collected into
 * lines, so that vmm's own records never land inside one. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "common/record.h"

enum console_state { CONSOLE_OK, CONSOLE_FULL, CONSOLE_FAILED };

struct console {
	pthread_mutex_t lock;
	int fd;
	uint64_t written, most;	     /* bytes; nothing is written beyond `most` */
	char line[MAX_RECORD_BYTES]; /* the guest's unfinished line */
	size_t used;
#ifdef ARCH_TEXT_BELOW
	/* Doorbell of the monitor below, which takes the bytes instead of `fd`; 0: none. */
	uint64_t below;
#endif
	bool drain;		  /* after each line, wait until a serial console has sent it */
	bool mid_line;		  /* the last byte written was no newline */
	enum console_state state; /* the first one that is not OK stays */
	/* A blocked write gives up once `stop` is set or `wake` is readable (-1: none). */
	const atomic_bool *stop;
	int wake;
	struct record_line records; /* numbers of vmm's own records */
	const char *source;	    /* of those */
};

/* fd -1: no console, every byte fails. `source`: of vmm's own records. */
void console_init(struct console *console, int fd, uint64_t most, const char *source,
		  const atomic_bool *stop);
/* Writes one byte of the guest. Lines are written whole; non-text bytes at once, because a benchmark may
 * measure that write. */
enum console_state console_put(struct console *console, uint8_t byte);
/* Writes the guest's unfinished line, unless that would block. */
void console_flush(struct console *console);
/* Sends a record of vmm's, before the guest's unfinished line. */
void record_send(struct record *record, struct console *console);
/* JSON true or false. */
static inline const char *json_bool(bool value)
{
	return value ? "true" : "false";
}
