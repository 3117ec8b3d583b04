/* Numbers of PSCI's functions (Arm DEN 0022, 5.1). */
#ifndef PSCI_FUNCTIONS_H
#define PSCI_FUNCTIONS_H

#define PSCI_VERSION	  0x84000000u
#define PSCI_CPU_OFF	  0x84000002u
#define PSCI_MIGRATE_TYPE 0x84000006u
#define PSCI_SYSTEM_OFF	  0x84000008u
#define PSCI_SYSTEM_RESET 0x84000009u
#define PSCI_FEATURES	  0x8400000au

/* These have arguments of 32 bits; with PSCI_64 of 64 bits. */
#define PSCI_64		   0x40000000u
#define PSCI_CPU_SUSPEND   0x84000001u
#define PSCI_CPU_ON	   0x84000003u
#define PSCI_AFFINITY_INFO 0x84000004u

#endif
