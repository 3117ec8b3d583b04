/*
 * Descriptor tables: the GDT entries that boot.S leaves empty, the LDT, and the interrupt table; and the
 * values that benchmarks' checks compare with. Called by arch_init(), by each CPU that starts, and by
 * set_idt_entry().
 */
#include <arch/cpu.h>
#include "posih.h"
#include "guest/core/smp.h"
#include <arch/tables.h>
#include <arch/timed.h>

#define GATE_INTERRUPT 0x8e /* present, ring 0, 64-bit interrupt gate (SDM vol. 3A, 6.14.1) */
#define TYPE_LDT       0x82 /* present (table 3-2) */
#define TYPE_TSS       0x89
#define DOUBLE_FAULT   8

struct gate {
	uint16_t offset_low, selector;
	uint8_t stack, type;
	uint16_t offset_middle;
	uint32_t offset_high, reserved;
};

struct task_state {
	uint32_t reserved;
	uint64_t stacks[3], reserved_1, interrupt_stacks[7], reserved_2;
	uint16_t reserved_3, io_map;
} __attribute__((packed));

extern uint64_t gdt[];
extern struct table_register gdt_register;
extern void (*const exception_entries[32])(void);
void spurious_entry(void);

static struct gate idt[256] __attribute__((aligned(16)));
static struct task_state task_state;
static uint64_t ldt[2]; /* empty: only its selector is used */
static uint8_t double_fault_stack[4096] __attribute__((aligned(16)));

static void describe_system(unsigned selector, uint64_t base, uint64_t limit, uint64_t type)
{
	uint64_t *entry = &gdt[selector / 8];

	entry[0] = (limit & 0xffff) | (base & 0xffffff) << 16 | type << 40 |
		   (base >> 24 & 0xff) << 56;
	entry[1] = base >> 32;
}

void set_idt_entry(unsigned vector, void (*entry)(void))
{
	uint64_t address = (uint64_t)entry;

	if (vector >= 256)
		return;
	idt[vector] = (struct gate){
		.offset_low = (uint16_t)address,
		.selector = SELECTOR_CODE,
		.stack = vector == DOUBLE_FAULT,
		.type = GATE_INTERRUPT,
		.offset_middle = (uint16_t)(address >> 16),
		.offset_high = (uint32_t)(address >> 32),
	};
}

void tables_load(void)
{
	struct table_register idtr = cpu_idtr();

	__asm__ volatile("lgdt %0" : : "m"(gdt_register));
	__asm__ volatile("lidt %0" : : "m"(idtr));
}

void tables_init(void)
{
	describe_system(SELECTOR_TSS, (uint64_t)&task_state, sizeof(task_state) - 1, TYPE_TSS);
	describe_system(SELECTOR_LDT, (uint64_t)ldt, sizeof(ldt) - 1, TYPE_LDT);
	task_state.interrupt_stacks[0] =
		(uint64_t)(double_fault_stack + sizeof(double_fault_stack));
	task_state.io_map = sizeof(task_state);
	for (unsigned i = 0; i < 32; i++)
		set_idt_entry(i, exception_entries[i]);
	for (unsigned i = 32; i < 256; i++)
		set_idt_entry(i, spurious_entry);
	tables_load();
	__asm__ volatile("ltr %w0" : : "r"(SELECTOR_TSS));
}

struct table_register cpu_gdtr(void)
{
	return gdt_register;
}

struct table_register cpu_idtr(void)
{
	return (struct table_register){ .limit = sizeof(idt) - 1, .base = (uint64_t)idt };
}

uint16_t cpu_ldt_selector(void)
{
	return SELECTOR_LDT;
}

void cpu_load_ldt(void)
{
	__asm__ volatile("lldt %w0" : : "r"(SELECTOR_LDT));
}

void cpu_unload_ldt(void)
{
	__asm__ volatile("lldt %w0" : : "r"(0));
}
