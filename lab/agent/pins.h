/* Which CPU of the machine runs what. */
#pragma once

#include <sys/types.h>

#include "config.h"

/* This process, and what it starts from here on. */
void pins_stay(unsigned cpu);
/* Puts threads of the process on their CPUs. False: of one that is named, there is none yet. */
bool pins_place(pid_t process, const struct place *pins, unsigned count);
/* Lets this process run on each CPU for a moment, then on the first. */
void pins_visit(unsigned cpus);
