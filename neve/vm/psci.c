/* Handles a VM's PSCI calls; see psci.h. Pure. */
#include "vm/psci.h"

#include <stddef.h>

#include "common/psci_functions.h"

#define SMCCC_VERSION	    0x80000000u
#define SMCCC_ARCH_FEATURES 0x80000001u

#define VERSION_1_1	   0x10001u
#define SUCCESS		   0
#define NOT_SUPPORTED	   (~0ull)
#define INVALID_PARAMETERS (~1ull)
#define ALREADY_ON	   (~3ull)
#define INVALID_ADDRESS	   (~8ull)
#define AFFINITY_ON	   0
#define AFFINITY_OFF	   1
#define NOT_NEEDED	   2 /* MIGRATE_INFO_TYPE: there is no trusted OS that needs migration */

void psci_init(struct psci *psci, unsigned cpu_count)
{
	*psci = (struct psci){ .cpu_count = cpu_count };
	psci->on[0] = true;
}

static struct psci_result answer(uint64_t value)
{
	return (struct psci_result){ .action = PSCI_ANSWER, .value = value };
}

/* The functions that PSCI_FEATURES reports; none has a feature flag. */
static bool known(uint64_t function)
{
	static const uint32_t functions[] = {
		PSCI_VERSION,
		PSCI_CPU_SUSPEND,
		PSCI_CPU_SUSPEND | PSCI_64,
		PSCI_CPU_OFF,
		PSCI_CPU_ON,
		PSCI_CPU_ON | PSCI_64,
		PSCI_AFFINITY_INFO,
		PSCI_AFFINITY_INFO | PSCI_64,
		PSCI_MIGRATE_TYPE,
		PSCI_SYSTEM_OFF,
		PSCI_SYSTEM_RESET,
		PSCI_FEATURES,
		SMCCC_VERSION,
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (functions[i] == function)
			return true;
	return false;
}

static struct psci_result cpu_on(struct psci *psci, const uint64_t x[4])
{
	if (x[1] >= psci->cpu_count)
		return answer(INVALID_PARAMETERS);
	if (psci->on[x[1]])
		return answer(ALREADY_ON);
	if (x[2] & 3)
		return answer(INVALID_ADDRESS);
	psci->on[x[1]] = true;
	return (struct psci_result){
		.action = PSCI_START,
		.value = SUCCESS,
		.cpu = (unsigned)x[1],
		.entry = x[2],
		.context = x[3],
	};
}

static struct psci_result affinity_info(const struct psci *psci, const uint64_t x[4])
{
	if (x[2] || x[1] >= psci->cpu_count)
		return answer(INVALID_PARAMETERS);
	return answer(psci->on[x[1]] ? AFFINITY_ON : AFFINITY_OFF);
}

struct psci_result psci_call(struct psci *psci, unsigned self, const uint64_t x[4])
{
	/* A function number has 32 bits; the rest of x0 is ignored. */
	uint32_t function = (uint32_t)x[0];
	const uint64_t narrow[4] = { function, (uint32_t)x[1], (uint32_t)x[2], (uint32_t)x[3] };

	switch (function) {
	case SMCCC_VERSION:
	case PSCI_VERSION:
		return answer(VERSION_1_1);
	case SMCCC_ARCH_FEATURES:
		return answer((uint32_t)x[1] == SMCCC_VERSION ? SUCCESS : NOT_SUPPORTED);
	case PSCI_FEATURES:
		return answer(known((uint32_t)x[1]) ? SUCCESS : NOT_SUPPORTED);
	case PSCI_MIGRATE_TYPE:
		return answer(NOT_NEEDED);
	case PSCI_CPU_ON:
	case PSCI_CPU_ON | PSCI_64:
		return cpu_on(psci, function & PSCI_64 ? x : narrow);
	case PSCI_AFFINITY_INFO:
	case PSCI_AFFINITY_INFO | PSCI_64:
		return affinity_info(psci, function & PSCI_64 ? x : narrow);
	case PSCI_CPU_SUSPEND:
	case PSCI_CPU_SUSPEND | PSCI_64:
		/* A shallower state than requested is allowed (5.4.1): every state is a standby that
		 * keeps the CPU's state. */
		return (struct psci_result){ .action = PSCI_STANDBY, .value = SUCCESS };
	case PSCI_CPU_OFF:
		psci->on[self] = false;
		return (struct psci_result){ .action = PSCI_CPU_STOPS };
	case PSCI_SYSTEM_OFF:
		return (struct psci_result){ .action = PSCI_OFF };
	case PSCI_SYSTEM_RESET:
		return (struct psci_result){ .action = PSCI_RESET };
	default:
		return answer(NOT_SUPPORTED);
	}
}
