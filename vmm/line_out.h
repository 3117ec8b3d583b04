/* The record line (docs/records.md): a file, a pipe or our own standard output. Guest bytes are
 * gathered into lines, so that a record of ours, of source `vmm`, never lands inside one. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "common/record.h"

enum console_state { CONSOLE_OK, CONSOLE_FULL, CONSOLE_FAILED };

struct console {
	pthread_mutex_t lock;
	int fd;
	uint64_t written, most;	     /* bytes; beyond `most` nothing is written */
	char line[MAX_RECORD_BYTES]; /* the guest's line as far as it has come */
	size_t used;
	bool mid_line;		  /* what was written last ends in no newline */
	enum console_state state; /* stays at the first that is not OK */
	/* A write that has to wait is given up once `stop` is set or `wake` can be read (-1: none). */
	const atomic_bool *stop;
	int wake;
	struct record_line records; /* ours */
};

/* fd -1: there is none, and every byte fails. */
void console_init(struct console *console, int fd, uint64_t most, const atomic_bool *stop);
/* One byte of the guest. Lines go out whole; a byte that is no text goes out at once, since
 * somebody may be taking the time of it. */
enum console_state console_put(struct console *console, uint8_t byte);
/* Writes out an unfinished line, unless that would have to wait. */
void console_flush(struct console *console);
/* Sends a record of ours, before the guest's unfinished line. */
void record_send(struct record *record, struct console *console);
/* true or false, in JSON. */
static inline const char *json_bool(bool value)
{
	return value ? "true" : "false";
}
