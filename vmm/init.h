/* What the first process of a system does: the monitor as /init of a lab machine. */
#ifndef INIT_H
#define INIT_H

#include "config.h"

/* Mounts what we read, /proc, /sys and /dev, where nobody has. */
void init_mounts(void);

/* Loads the configuration's kernel modules, in order. */
bool init_modules(const struct config *config, struct error *error);

/* Powers the machine off. Does not return. */
void init_power_off(void);

#endif
