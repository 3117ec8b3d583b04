/* Requests to a device of this VM, which the agent makes itself: a program's start would be in the window. */
#pragma once

#include "command.h"
#include "config.h"

/* Opens the device and makes some requests, so that what serves it is awake. False: `outcome` says why; nothing
 * is left to be ended. */
bool requests_prepare(const struct requests *requests, struct outcome *outcome);
/* Makes `count` requests, as many at a time as `depth` says; nothing else happens. False: one failed. */
bool requests_make(uint64_t count, uint64_t *ticks);
/* Closes the device, and says in `outcome` how its requests went. */
void requests_end(struct outcome *outcome);
