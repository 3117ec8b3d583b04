/* Which CPU of the machine runs what. */
#pragma once

#include <sys/types.h>

#include "config.h"
#include "several.h"

/* This process, and what it starts from here on. */
void pins_stay(unsigned cpu);
#if SEVERAL_CPUS
/* The same on all CPUs but this one. */
void pins_leave(unsigned cpu);
#endif
/* Puts threads of the process on their CPUs. False: of one that is named, there is none yet. */
bool pins_place(pid_t process, const struct place *pins, unsigned count);
/* Lets this process run on each CPU for a moment, then on the first; with SEVERAL_CPUS where it was. */
void pins_visit(unsigned cpus);
