/* Where the first process of a lab machine has booted it and does not know yet what to do. The lab stops the machine
 * here, saves its state, and writes the lines of this launch, so that the next launch of the same machine resumes
 * here instead of booting (docs/lab.md). Where nobody stops it, there are no lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MAX_LAUNCH_BYTES (512u << 10)

/* The lines of this process. */
extern char launch_lines[MAX_LAUNCH_BYTES];

/* Stops. `saves`: this state is worth being saved. Returns the lines, which end with a NUL and may be modified; ""
 * if there are none. */
char *launch_wait(bool saves);
