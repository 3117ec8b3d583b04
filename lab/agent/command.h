/* Commands of workloads: sh -c, with a time limit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine.h"

/* In the machine's own time. Idle time passes at once, so what waits for nothing is ended soon; what computes
 * without end is ended by the runner. */
#define COMMAND_LIMIT_S (60 * SLOWNESS)

/* A command that is ready to be started by one write. */
struct command {
	pid_t pid;
	int ended; /* becomes readable when it has ended */
	int gate;
};

struct outcome {
	uint64_t status; /* as in the shell; STATUS_LIMIT: it did not end in time */
	char said[256];	 /* the last line of its output */
};

/* The environment, folder and host name that commands on this side get; once. */
void command_setup(void);
/* `$UNITS` of the commands from here on. */
void command_units(uint64_t units);
/* `output` takes what it says; network: of the namespace, -1: this one's. The process exists and waits when
 * this returns. False: no process could be made. */
bool command_prepare(struct command *command, const char *line, const char *output, int network);
/* Starts it and waits until it has ended, or was killed at the limit. Returns its status. Unless it `serves`,
 * what it left running is killed. */
uint64_t command_run(struct command *command, bool serves);
/* Both, for a command that is not measured. */
void command_do(const char *line, const char *output, int network, bool serves,
		struct outcome *outcome);
/* Its status and the last line of its output. */
void command_outcome(uint64_t status, const char *output, struct outcome *outcome);
/* Kills all processes but this one. With a `spared` child, not 0: only forgets children that have ended. */
void command_end_all(pid_t spared);
