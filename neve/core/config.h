/*
 * What to run: read from the hypervisor's command line and from the modules in its device tree. Pure.
 *
 *   cpus=1,2        vCPUs of VM 0, of VM 1, ... (1)
 *   memory=256,128  MiB (256)
 *   stage2=2m|4k    largest page at stage 2 (2m)
 *   nest=MECH,...   the VM's kernel is a hypervisor at virtual EL2, by this mechanism (none):
 *                   nv, nv2 (the CPU's FEAT_NV, FEAT_NV2), pv, neve (an image built for it; any CPU)
 *   vhe=0|1,...     that hypervisor uses FEAT_VHE (0)
 *   policy=NAME,... what a world switch saves and restores (lean): kvm-4.10 and its variants (docs/neve.md)
 *   level=N         number of hypervisors below us, for our records (0)
 *   doorbell=ADDR   doorbell of the hypervisor below, in hexadecimal (none)
 *   pmem=ADDR+BYTES this memory of the machine is VM 0's too, at the same guest-physical address: persistent
 *                   memory, which keeps what is in it (none)
 *
 * A module is a node under /chosen as in Xen (docs/misc/arm/device-tree/booting.txt) and from QEMU's
 * guest-loader: compatible "multiboot,module" with "multiboot,kernel" or "multiboot,ramdisk"; reg;
 * bootargs. Each kernel is a VM, in the order of their addresses. A ramdisk belongs to the kernel below
 * it in memory. The ramdisks of a guest hypervisor are its own modules: first its kernel, then that
 * kernel's ramdisks. Its bootargs before " -- " are its own command line, the rest its kernel's.
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
#define MAX_RAMDISKS 3 /* of a guest hypervisor; other VMs have one */

enum mechanism { MECHANISM_NONE, MECHANISM_NV, MECHANISM_NV2, MECHANISM_PV, MECHANISM_NEVE };

/* In the order of policies[] in config.c. */
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
	struct memory_range pmem;		    /* in the machine's memory; start 0: none */
	struct memory_range kernel;		    /* in the machine's memory */
	struct memory_range ramdisks[MAX_RAMDISKS]; /* start 0: none */
	char bootargs[MAX_CMDLINE_BYTES];
};

struct config {
	struct vm_config vms[MAX_VMS];
	unsigned vm_count;
	uint64_t level;
};

/* Reads both. At most `most` bytes of `tree` may be read. Returns false with the error and what to do in
 * `wrong`. */
bool config_read(struct config *config, const char *command_line, const void *tree, uint32_t most,
		 struct text *wrong);

/* Reads doorbell=ADDRESS of our own command line: the doorbell of the hypervisor below, which we ring
 * too. Returns false if there is none. */
bool outer_bell(const char *command_line, uint64_t *address);

#endif
