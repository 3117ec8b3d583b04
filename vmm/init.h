/* What a process does that is the first of its system: the monitor as /init of a lab machine. */
#ifndef INIT_H
#define INIT_H

#include "config.h"

#define INIT_CONFIG "/vmm.conf"

/* Mounts what we read (/proc, /sys, /dev) where nobody has. */
void init_mounts(void);

/* Loads the configuration's kernel modules, in order. */
bool init_modules(const struct config *config, struct error *error);

/* Powers the machine off. */
void init_power_off(void);

#endif
