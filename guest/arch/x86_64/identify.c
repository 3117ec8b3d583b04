/* What the rows' checks need to know about the CPU and the hypervisor. */
#include <arch/cpu.h>
#include "posih.h"
#include <arch/timed.h>
#include "guest/include/xen.h"

#define EFLAGS_ID (1ull << 21)

uint64_t cpu_msw(void)
{
	uint64_t cr0;

	__asm__ volatile("mov %%cr0, %0" : "=r"(cr0));
	return cr0;
}

struct root_operand cpu_root_operand(void)
{
	return (struct root_operand){ .root = cpu_page_table_root() };
}

/* KVM: an unknown number returns -KVM_ENOSYS (include/uapi/linux/kvm_para.h). */
#define KVM_UNKNOWN 0x7fffffff
#define KVM_ENOSYS  1000

/* Xen: xen_version, command 0: major << 16 | minor (xen/include/public/version.h). */
struct hypercall_operand hypercall_operand(enum hypercall_abi abi)
{
	return (struct hypercall_operand){
		.amd = cpu_is_amd(),
		.number = abi == HYPERCALL_KVM ? KVM_UNKNOWN : XEN_VERSION_OP,
		.wanted = abi == HYPERCALL_KVM ? 0 - (uint64_t)KVM_ENOSYS : 0,
	};
}

bool cpu_flags_can_be_written(void)
{
	uint64_t before, after;

	__asm__ volatile("pushfq\n\t"
			 "mov (%%rsp), %0\n\t"
			 "xorq %2, (%%rsp)\n\t"
			 "popfq\n\t"
			 "pushfq\n\t"
			 "pop %1\n\t"
			 "push %0\n\t"
			 "popfq"
			 : "=&r"(before), "=&r"(after)
			 : "r"(EFLAGS_ID)
			 : "cc", "memory");
	return (before ^ after) == EFLAGS_ID;
}

bool cpu_is_amd(void)
{
	struct cpuid id = cpuid(0, 0);

	/* "AuthenticAMD", "HygonGenuine": the first letters suffice. */
	return id.b == 0x68747541 || id.b == 0x6f677948;
}
