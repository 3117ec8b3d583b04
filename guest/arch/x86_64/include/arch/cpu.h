/* x86_64 registers by name (Intel SDM vol. 3A, 2.5, and vol. 4). Only for arch/x86_64. */
#ifndef CPU_H
#define CPU_H

/* ---- Also for assembly -------------------------------------------------------------------- */

#define CR0_PE	 (1 << 0)
#define CR0_MP	 (1 << 1)
#define CR0_ET	 (1 << 4)
#define CR0_NE	 (1 << 5)
#define CR0_WP	 (1 << 16)
#define CR0_PG	 (1 << 31)
#define CR0_LONG (CR0_PE | CR0_MP | CR0_ET | CR0_NE | CR0_WP | CR0_PG)
#define CR4_PAE	 (1 << 5)
#define EFER_LME (1 << 8)

#define MSR_APIC_BASE	 0x1b
#define MSR_TSC_DEADLINE 0x6e0
#define MSR_EFER	 0xc0000080
#define MSR_GS_BASE	 0xc0000101

#define MSR_X2APIC_ID	   0x802
#define MSR_X2APIC_EOI	   0x80b
#define MSR_X2APIC_SVR	   0x80f
#define MSR_X2APIC_ISR	   0x810
#define MSR_X2APIC_ICR	   0x830
#define MSR_X2APIC_TIMER   0x832
#define MSR_X2APIC_DIVIDER 0x83e

/* The same registers in memory. */
#define XAPIC_ID       0x20
#define XAPIC_EOI      0xb0
#define XAPIC_SVR      0xf0
#define XAPIC_ISR      0x100
#define XAPIC_ICR_LOW  0x300
#define XAPIC_ICR_HIGH 0x310
#define XAPIC_TIMER    0x320
#define XAPIC_DIVIDER  0x3e0

/* Segment selectors: offsets into the GDT (boot.S). */
#define SELECTOR_CODE 0x08
#define SELECTOR_DATA 0x10
#define SELECTOR_TSS  0x18
#define SELECTOR_LDT  0x28
#define GDT_BYTES     0x38

/* Physical page for the code that starts CPUs: below 1 MiB, and free on all known machines (above the BIOS
 * data area, below the buffers of GRUB and firmware). */
#define TRAMPOLINE 0x8000

/* Offsets in struct cpu (core/smp.h). */
#define CPU_READY 0
#define CPU_SPIN  8

#ifndef __ASSEMBLER__

#include <stdint.h>

static inline uint64_t read_msr(uint32_t msr)
{
	uint32_t low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr) : "memory");
	return (uint64_t)high << 32 | low;
}

static inline void write_msr(uint32_t msr, uint64_t value)
{
	__asm__ volatile("wrmsr"
			 :
			 : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
			 : "memory");
}

/* Gives the hypervisor a page by its MSR, in which bit 0 enables it; NULL: no more. All memory is mapped 1:1, so an
 * address is its physical address. */
static inline void write_msr_page(uint32_t msr, const void *page)
{
	write_msr(msr, page ? (uint64_t)page | 1 : 0);
}

static inline uint64_t read_cr2(void)
{
	uint64_t value;

	__asm__ volatile("mov %%cr2, %0" : "=r"(value));
	return value;
}

static inline void write_cr3(uint64_t value)
{
	__asm__ volatile("mov %0, %%cr3" : : "r"(value) : "memory");
}

struct cpuid {
	uint32_t a, b, c, d;
};

/* In leaf 1: there is a hypervisor. Its leaves begin with its name. */
#define CPUID_1_C_HYPERVISOR (1u << 31)
#define CPUID_HYPERVISOR     0x40000000

static inline struct cpuid cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid id;

	__asm__ volatile("cpuid"
			 : "=a"(id.a), "=b"(id.b), "=c"(id.c), "=d"(id.d)
			 : "a"(leaf), "c"(subleaf));
	return id;
}

static inline uint16_t in16(uint16_t port)
{
	uint16_t value;

	__asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

static inline void out16(uint16_t port, uint16_t value)
{
	__asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

#endif
#endif
