/* The machine as a whole: initialization, identification, power-off. */
#include "guest/arch/x86_64/machine.h"
#include <arch/apic.h>
#include "guest/core/guest_arch.h"
#include "guest/platform/boot_protocol.h"
#include <arch/cpu.h>
#include <arch/lfence.h>
#include "guest/core/cmdline.h"
#include "guest/platform/pit.h"
#include "common/relax.h"
#include "guest/core/smp.h"
#include <arch/tables.h>
#include <arch/timed_exits.h>
#include "guest/include/xen.h"

static struct acpi acpi;

const struct acpi *machine_acpi(void)
{
	return &acpi;
}

/* Masks a PC's two 8259s: the guest does not use their interrupts. */
static void mask_old_interrupt_controllers(void)
{
	out8(0x21, 0xff);
	out8(0xa1, 0xff);
}

void arch_init(void)
{
	cpu_own(&cpus[0]);
	tables_init();
	console_init();
	boot_read();
	mask_old_interrupt_controllers();
	acpi_read(&acpi, boot_info.rsdp);
}

void arch_enable_interrupts(const struct params *params)
{
	struct cpuid features = cpuid(1, 0); /* read once: in a virtual machine it is an exit */

	apic_init(&features, params->xapic);
	lfence_init(&features);
}

/* ---- Identification ------------------------------------------------------------------------ */

#define CPUID_HYPERVISOR_TIMING 0x40000010
#define CPUID_TSC_RATIO		0x15
#define CPUID_EXTENDED		0x80000000
#define CPUID_BRAND		0x80000002

static void put_registers(char *to, const uint32_t *registers, unsigned count)
{
	for (unsigned i = 0; i < count * 4; i++)
		to[i] = (char)(registers[i / 4] >> i % 4 * 8);
}

static void read_brand(char *to)
{
	if (cpuid(CPUID_EXTENDED, 0).a < CPUID_BRAND + 2) {
		struct cpuid id = cpuid(0, 0);
		uint32_t vendor[3] = { id.b, id.d, id.c };

		put_registers(to, vendor, 3);
		return;
	}
	for (unsigned i = 0; i < 3; i++) {
		struct cpuid id = cpuid(CPUID_BRAND + i, 0);
		uint32_t part[4] = { id.a, id.b, id.c, id.d };

		put_registers(to + i * 16, part, 4);
	}
}

static uint32_t hypervisor_leaf(void)
{
	return cpuid(1, 0).c & CPUID_1_C_HYPERVISOR ? cpuid(CPUID_HYPERVISOR, 0).a : 0;
}

static void read_hypervisor(char *to)
{
	struct cpuid id = cpuid(CPUID_HYPERVISOR, 0);
	uint32_t signature[3] = { id.b, id.c, id.d };

	if (cpuid(1, 0).c & CPUID_1_C_HYPERVISOR)
		put_registers(to, signature, 3);
}

void arch_cmdline_limits(struct cmdline_limits *limits)
{
	*limits = (struct cmdline_limits){
		.tick_unit = "tsc_ticks",
		.port_max = 0xffff,
		.local_apic = true,
		.scratch_port = scratch_port(),
		.print_port = 0x2f8, /* COM2: never the record port */
	};
}

uint64_t power_management_timer_port(void)
{
	return acpi.timer ? acpi.timer : PORT_NONE;
}

/* Cannot be detected here; whoever starts the guest knows. */
bool clock_can_count_insns(void)
{
	return true;
}

void machine_facts(struct machine_facts *facts, bool measure)
{
	struct cpuid ratio = { 0 };

	*facts = (struct machine_facts){
		.arch = "x86_64",
		.clock = "tsc",
		.interrupt_controller = apic_is_x2apic() ? "x2apic" : "xapic",
	};
	read_brand(facts->cpu);
	read_hypervisor(facts->hypervisor);
	if (!measure)
		return;
	facts->clock_hz_from = "cpuid";
	if (hypervisor_leaf() >= CPUID_HYPERVISOR_TIMING)
		facts->clock_hz = (uint64_t)cpuid(CPUID_HYPERVISOR_TIMING, 0).a * 1000;
	if (cpuid(0, 0).a >= CPUID_TSC_RATIO)
		ratio = cpuid(CPUID_TSC_RATIO, 0);
	if (!facts->clock_hz && ratio.a && ratio.b && ratio.c)
		facts->clock_hz = (uint64_t)ratio.c * ratio.b / ratio.a;
	if (!facts->clock_hz) {
		facts->clock_hz = pit_measure_hz();
		facts->clock_hz_from = "pit";
	}
}

/* ---- Power-off ----------------------------------------------------------------------------- */

#define SLEEP_ENABLE	   (1u << 13) /* PM1 control (ACPI 6.5, 4.8.3.2.1) */
#define SLEEP_TYPE_SHIFT   10
#define SCI_ENABLED	   1
#define REDUCED_ENABLE	   (1u << 5) /* sleep control register (4.8.3.7) */
#define REDUCED_TYPE_SHIFT 2
#define KEYBOARD_COMMAND   0x64
#define KEYBOARD_RESET	   0xfe

static void acpi_soft_off(void)
{
	uint32_t a = (uint32_t)acpi.sleep_type_a << SLEEP_TYPE_SHIFT | SLEEP_ENABLE;
	uint32_t b = (uint32_t)acpi.sleep_type_b << SLEEP_TYPE_SHIFT | SLEEP_ENABLE;
	uint32_t reduced = (uint32_t)acpi.sleep_type_a << REDUCED_TYPE_SHIFT | REDUCED_ENABLE;

	if (!acpi.can_sleep)
		return;
	if (acpi.sleep_control) {
		if (acpi.sleep_control_is_port)
			out8((uint16_t)acpi.sleep_control, (uint8_t)reduced);
		else
			*(volatile uint8_t *)acpi.sleep_control = (uint8_t)reduced;
	}
	if (!acpi.pm1a_control)
		return;
	if (acpi.smi_command && !(in16(acpi.pm1a_control) & SCI_ENABLED)) {
		out8((uint16_t)acpi.smi_command, (uint8_t)acpi.enable_value);
		for (unsigned i = 0; i < 100000 && !(in16(acpi.pm1a_control) & SCI_ENABLED); i++)
			relax();
	}
	out16(acpi.pm1a_control, (uint16_t)a);
	if (acpi.pm1b_control)
		out16(acpi.pm1b_control, (uint16_t)b);
}

_Noreturn void power_off(enum hypercall_abi hypercall)
{
	console_drained(); /* the last output must be sent before power-off */
	acpi_soft_off();
	if (hypercall == HYPERCALL_XEN)
		xen_shutdown(XEN_POWER_OFF);	/* a domain without ACPI tables */
	out8(KEYBOARD_COMMAND, KEYBOARD_RESET); /* ends a Firecracker VM */
	for (;;)
		__asm__ volatile("cli; hlt");
}
