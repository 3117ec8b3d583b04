/* The doorbell of the hypervisor below, of a host that is itself in a VM (docs/guest.md): by it that one counts the
 * traps of just the measured windows, and sends records of its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/bell_note.h"

/* Of rows whose window the VM's marks begin and end: what these cost is counted as a row of this name. */
#define BELOW_MARKS   "marks"
/* The shorter run is counted as a row of this name. It is subtracted from the measured one. */
#define BELOW_SHORTER "shorter"

/* Finds it, by its physical address or I/O port; 0: there is none, and nothing is ever rung. */
void below_setup(uint64_t where);
/* Whether there is one. */
bool below_is_there(void);
/* launch_wait() (common/launch.h), or launch_ask() if there is one. */
char *below_ask(bool saves);
/* Reports the launch's nonce and unit to it, for its records. The runner ignores those that it sends before. */
void below_tell(uint64_t nonce, const char *unit);
/* What `note` is about begins and ends: last before the window, and first after it. With `reasons` in a run of its
 * own. A note without a name is not rung. */
void below_begin(const struct bell_note *note, bool reasons);
void below_end(const struct bell_note *note, bool reasons);
