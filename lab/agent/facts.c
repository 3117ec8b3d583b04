/* Facts of the machine; see facts.h. */
#include "facts.h"

#include <cpuid.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define HYPERVISOR_BIT	 (1u << 31) /* of leaf 1's ECX */
#define HYPERVISOR_LEAF	 0x40000000u
#define FIRST_BRAND_LEAF 0x80000002u
#define BRAND_LEAVES	 3

static void read_hypervisor(char name[13])
{
	unsigned a, b, c, d, signature[3];

	name[0] = '\0';
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & HYPERVISOR_BIT))
		return;
	__cpuid(HYPERVISOR_LEAF, a, signature[0], signature[1], signature[2]);
	memcpy(name, signature, sizeof(signature));
	name[sizeof(signature)] = '\0';
}

static void read_brand(char name[49])
{
	unsigned words[4];

	memset(name, 0, 49);
	for (unsigned i = 0; i < BRAND_LEAVES; i++) {
		if (!__get_cpuid(FIRST_BRAND_LEAF + i, &words[0], &words[1], &words[2], &words[3]))
			return;
		memcpy(name + sizeof(words) * i, words, sizeof(words));
	}
}

void facts_read(struct message *facts)
{
	struct sysinfo info = { .mem_unit = 0 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	(void)sysinfo(&info);
	*facts = (struct message){ .kind = MESSAGE_READY,
				   .cpus = cpus > 0 ? (uint64_t)cpus : 1,
				   .memory_bytes = (uint64_t)info.totalram * info.mem_unit };
	read_hypervisor(facts->name);
	read_brand(facts->text);
}
