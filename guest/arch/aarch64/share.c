/*
 * Shares memory of a protected VM of KVM (pKVM) with its host, by KVM's hypercalls; see core/share.h. Function numbers:
 * Linux, Documentation/virt/kvm/arm/hypercalls.rst. A hypervisor is asked who it is by its call UID (SMC Calling
 * Convention, Arm DEN 0028).
 */
#include "guest/core/share.h"
#include "guest/arch/aarch64/machine.h"

#define CALL_UID      0x8600ff01
#define FEATURES      0x86000000
#define HAS_MEM_SHARE (1u << 3) /* in the first word that FEATURES returns */
#define HYP_MEMINFO   0xc6000002
#define MEM_SHARE     0xc6000003

#define SHARE_PAGE 4096ul

/* Results of a call; those of CALL_UID and FEATURES have 32 bits. */
struct results {
	uint64_t x0, x1, x2, x3;
};

/* KVM's UID, 28b46fb6-2ec5-11e9-a9ca-4b564d003a74. */
static const struct results kvm_uid = { 0xb66fb428, 0xe911c52e, 0x564bcaa9, 0x743a004d };

static bool shares;

static struct results call(uint64_t function, uint64_t page)
{
	register uint64_t x0 __asm__("x0") = function;
	register uint64_t x1 __asm__("x1") = page;
	register uint64_t x2 __asm__("x2") = 0;
	register uint64_t x3 __asm__("x3") = 0;

	CALL_BELOW("hvc #0");
	return (struct results){ x0, x1, x2, x3 };
}

/* Without KVM the numbers may belong to other calls. */
static void find_share_call(void *unused)
{
	struct results uid = call(CALL_UID, 0);

	(void)unused;
	shares = uid.x0 == kvm_uid.x0 && uid.x1 == kvm_uid.x1 && uid.x2 == kvm_uid.x2 &&
		 uid.x3 == kvm_uid.x3 && (call(FEATURES, 0).x0 & HAS_MEM_SHARE);
}

void share_pages(uint64_t start, uint64_t end)
{
	for (uint64_t page = start; shares && page < end; page += SHARE_PAGE) {
		if (call(MEM_SHARE, page).x0 == 0)
			continue;
		console_printf("worldswitch cannot run here: KVM does not share the page at %lx\n",
			       page);
		power_off(HYPERCALL_NONE);
	}
}

/* KVM has MEM_SHARE only in protected VMs: elsewhere the guest goes on, as the host can read all of its memory. In a
 * protected VM a refusal is the end, because the monitor could not read the first ring's note. */
void share_image(void)
{
	extern char image_start[], image_end[];
	struct fault fault;
	uint64_t bytes;

	/* Calls that are not PSCI's may raise an exception in an emulator without EL2. */
	if (machine_tree()->psci != PSCI_HVC || !try_call(find_share_call, NULL, &fault) || !shares)
		return;
	bytes = call(HYP_MEMINFO, 0).x0;
	if (bytes != SHARE_PAGE) {
		console_printf(
			"worldswitch cannot run here: KVM shares pages of %lu bytes, not of %lu\n",
			bytes, SHARE_PAGE);
		power_off(HYPERCALL_NONE);
	}
	share_pages((uint64_t)image_start, (uint64_t)image_end);
}
