/*
 * What is to run: read from the hypervisor's own command line and from the modules in the device tree.
 * Pure.
 *
 *   cpus=1,2        vCPUs of VM 0, of VM 1, ... (1)
 *   memory=256,128  MiB (256)
 *   stage2=2m|4k    the largest page by which guests get their memory (2m)
 *   nest=MECH,...   the VM's kernel is a hypervisor, and runs at virtual EL2 by this mechanism (none):
 *                   nv, nv2 (the CPU's FEAT_NV, FEAT_NV2), pv, neve (built for it; any CPU)
 *   policy=NAME,... what a world switch saves and restores (lean): kvm-4.10, with -gicv3 and -notimer
 *   level=N         how many hypervisors are below us, for our records (0)
 *   doorbell=ADDR   that of the hypervisor that runs us, in hexadecimal (none)
 *   vhe=0|1,...     ... one that uses FEAT_VHE (0)
 *
 * A module is a node under /chosen, as Xen has it (docs/misc/arm/device-tree/booting.txt) and QEMU's
 * guest-loader makes it: compatible "multiboot,module", and "multiboot,kernel" or "multiboot,ramdisk";
 * reg; bootargs. Each kernel is a VM, in the order of their addresses. A ramdisk belongs to the kernel
 * below it. All ramdisks of a hypervisor are its own modules: the first is its kernel, the others
 * ramdisks; of its bootargs what stands before " -- " is its command line, the rest its kernel's.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/text.h"

#define MAX_VMS	     4
#define MAX_VCPUS    8
#define MAX_MODULES  (2 * MAX_VMS)
#define MAX_RAMDISKS 3 /* of a hypervisor; of others one */

enum mechanism { MECHANISM_NONE, MECHANISM_NV, MECHANISM_NV2, MECHANISM_PV, MECHANISM_NEVE };

/* The order of their words in config.c. */
enum policy {
	POLICY_LEAN,
	POLICY_KVM,
	POLICY_KVM_AUTHORS,
	POLICY_KVM_GICV3,
	POLICY_KVM_NO_TIMER,
	POLICY_KVM_GICV3_NO_TIMER,
	POLICIES,
};

struct vm_config {
	uint64_t cpus, memory_bytes, stage2_bytes;
	enum mechanism nest;
	enum policy policy;
	bool vhe;
	struct memory_range kernel;		    /* in the machine's memory */
	struct memory_range ramdisks[MAX_RAMDISKS]; /* start 0: none */
	char bootargs[MAX_CMDLINE_BYTES];
};

struct config {
	struct vm_config vms[MAX_VMS];
	unsigned vm_count;
	uint64_t level;
};

/* Reads both. `tree` is the device tree's bytes, of which `most` may be read. False: `wrong` says what is
 * wrong and what to do. */
bool config_read(struct config *config, const char *command_line, const void *tree, uint32_t most,
		 struct text *wrong);

#endif
