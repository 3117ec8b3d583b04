/*
 * What the host's and the guest's agent say to each other over the guest's second serial port: lines of words
 * and numbers. Each order has a number, which the guest's words about it repeat. Pure.
 *
 *	host			guest
 *				ready CPUS MEMORY_BYTES HYPERVISOR CPU...
 *	part N TEXT			of a line of what the launch asks (asked.h), but for its last part
 *	line N TEXT			the last part; an empty line ends the launch
 *				done N STATUS TEXT...
 *	do N PHASE WORKLOAD UNITS PAD
 *				begin N			measure only: what runs from here on is measured
 *	go N						the guest measures; it waits for this without sleeping
 *				end N TICKS		measure only; always with 20 digits
 *	go N
 *				done N STATUS TEXT...	the order was carried out
 *	off						power the machine off
 *
 * STATUS is that of the command as in the shell, or `limit`; TEXT is the last line that it said. The guest is
 * not trusted: the host's agent takes only what is expected at this point.
 */
#pragma once

#include "config.h"

#define MAX_MESSAGE 512 /* bytes, with the newline */
#define MAX_PART    150 /* bytes of a line of a launch that one message has */

enum phase {
	PHASE_PREPARE,
	PHASE_SERVE,
	PHASE_RUN,
	PHASE_MEASURE,
	PHASE_PROOF,
	PHASE_CLEAN,
	PHASE_TRACE, /* packets are traced from here on */
	PHASE_STEPS, /* ends it; TEXT is what steps_put() writes */
	PHASES
};
/* As in messages; of what a user has written, it is also the line's name in the workload's file. */
const char *phase_name(enum phase phase);

enum message_kind {
	MESSAGE_READY,
	MESSAGE_PART,
	MESSAGE_LINE,
	MESSAGE_DO,
	MESSAGE_BEGIN,
	MESSAGE_END,
	MESSAGE_GO,
	MESSAGE_DONE,
	MESSAGE_OFF
};

struct message {
	enum message_kind kind;
	uint64_t number; /* of the order */
	enum phase phase;
	uint64_t units, pad;
	uint64_t ticks;
	uint64_t cpus, memory_bytes;
	uint64_t status;	 /* of the command; STATUS_LIMIT: it did not end in time */
	char name[MAX_NAME + 1]; /* the workload; of ready: the hypervisor */
	char text[MAX_MESSAGE]; /* printable ASCII; of part and line any bytes but 0 and newlines */
};

#define STATUS_LIMIT UINT64_MAX
/* In place of the name, in orders that are about no workload. */
#define NO_WORKLOAD  "."

/* Reads a line without its newline. */
bool message_read(struct message *message, const char *line, size_t bytes);
/* Writes it with its newline. `full` in `out`: never, if `out` has MAX_MESSAGE bytes and a NUL's. */
void message_write(const struct message *message, struct text *out);
