/* Limits shared by guest, monitor and hypervisor. */
#ifndef COMMON_LIMITS_H
#define COMMON_LIMITS_H

#include <stdint.h>

#define KIB ((uint64_t)1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

/* The most CPUs that the guest starts and that a VM has. */
#define MAX_CPUS	  64
/* Of a command line, with its NUL. */
#define MAX_CMDLINE_BYTES 2048

#define MAX_RANGES 64
struct memory_range {
	uint64_t start, end; /* bytes; end is exclusive */
};

#endif
