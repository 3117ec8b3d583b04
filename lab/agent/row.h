/* One workload: from its begin to its end. */
#pragma once

#include "config.h"

struct launch {
	const struct selection *selection;
	enum role role;
	unsigned cpus;		/* of the measured system */
	const char *no_network; /* why there is none; NULL: there is one */
};

/* Measures a workload, and sends its records. False: the VM is gone, nothing more can be measured. */
bool row_measure(const struct launch *launch, unsigned index);
