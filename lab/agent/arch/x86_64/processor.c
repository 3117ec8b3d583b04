/* Processors of x86_64; see processor.h. */
#include "processor.h"

#include <cpuid.h>
#include <string.h>

#define HYPERVISOR_BIT	 (1u << 31) /* of leaf 1's ECX */
#define HYPERVISOR_LEAF	 0x40000000u
#define FIRST_BRAND_LEAF 0x80000002u
#define BRAND_LEAVES	 3

void processor_hypervisor(char name[13])
{
	unsigned a, b, c, d, signature[3];

	name[0] = '\0';
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & HYPERVISOR_BIT))
		return;
	__cpuid(HYPERVISOR_LEAF, a, signature[0], signature[1], signature[2]);
	memcpy(name, signature, sizeof(signature));
	name[sizeof(signature)] = '\0';
}

void processor_name(char name[49])
{
	unsigned words[4];

	memset(name, 0, 49);
	for (unsigned i = 0; i < BRAND_LEAVES; i++) {
		if (!__get_cpuid(FIRST_BRAND_LEAF + i, &words[0], &words[1], &words[2], &words[3]))
			return;
		memcpy(name + sizeof(words) * i, words, sizeof(words));
	}
}
