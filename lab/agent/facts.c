/* Facts of the machine; see facts.h. */
#include "facts.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include "processor.h"

void facts_read(struct message *facts)
{
	struct sysinfo info = { .mem_unit = 0 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	(void)sysinfo(&info);
	*facts = (struct message){ .kind = MESSAGE_READY,
				   .cpus = cpus > 0 ? (uint64_t)cpus : 1,
				   .memory_bytes = (uint64_t)info.totalram * info.mem_unit };
	processor_hypervisor(facts->name);
	processor_name(facts->text);
}
