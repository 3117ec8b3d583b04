/* A measured window: how long something took, without the time in which the machine was idle. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "command.h"

/* For a moment in which the machine is not idle: the end of the command's preparation, or a mark of the
 * guest's. The guest's own idle time is none of the machine's. 0 on several CPUs, whose idle times do not say
 * when all of them were idle. */
uint64_t window_idle_ticks(void);

/* A loop of so many instructions, which moves what comes after in time. */
void window_pad(uint64_t instructions);

/* Runs the command. Returns its status, and its ticks. */
uint64_t window_run(struct command *command, uint64_t *ticks);
