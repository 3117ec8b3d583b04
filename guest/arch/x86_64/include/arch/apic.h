/* The local APIC, as xAPIC or as x2APIC (Intel SDM vol. 3A, chapter 11). */
#ifndef APIC_H
#define APIC_H

#include <stdbool.h>
#include <stdint.h>

/* Vectors: of on_cpu(), and the APIC's spurious one (its low four bits must be set). */
#define VECTOR_IPI	  0x60
#define VECTOR_COMPLETION 0x61 /* of the row irq-completion */
#define VECTOR_LATENCY	  0x62 /* of the I/O latency rows */
#define VECTOR_SPURIOUS	  0xff

struct cpuid;

/* Uses the x2APIC where CPUID's leaf 1 has one, or the xAPIC if `xapic` says so; called once, on the first
 * CPU. */
void apic_init(const struct cpuid *features, bool xapic);
/* Enables this CPU's APIC. */
void apic_enable(void);

bool apic_is_x2apic(void);
uint32_t apic_id(void);

void apic_send_init(uint32_t to);
void apic_send_startup(uint32_t to, uint8_t page);
void apic_send_fixed(uint32_t to, uint8_t vector);

/* The two words to write to the interrupt command register for a fixed interrupt. */
void apic_fixed_command(uint32_t to, uint8_t vector, uint64_t *low, uint64_t *high);

#endif
