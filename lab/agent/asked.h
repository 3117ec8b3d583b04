/* What a launch asks of a machine that has booted. */
#pragma once

#include "config.h"

/* The lines of the launch: those of LAUNCH_FILE if it is there, else the lab's, which may stop the machine here and save
 * its state (common/launch.h); "" if there are none. `saves`: the state is worth being saved. */
char *asked_lines(bool saves);
/* Reads them, and writes the files of workloads. False: `error` says why. */
bool asked_read(struct config *config, char *lines, struct text *error);
