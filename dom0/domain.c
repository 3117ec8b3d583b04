/* A domain by hypercalls, in the order of domain.h. The structures passed to Xen are in domctl.h. */
#include "dom0/domain.h"

#include <arch/cpu.h>
#include "dom0/domctl.h"

#define PAGE		4096
#define LARGE_PAGE	0x200000
#define LARGE_ORDER	9	      /* 512 pages of 4 KiB */
#define WINDOW		0x40000000ull /* unused physical addresses in dom0 */
#define MAX_EVENT_PORT	63	      /* one word of pending events */
#define PAGE_POOL_A_CPU 0x100000
#define PAGE_POOL_A_MIB 0x2000

/* Segments at a PVH start: flat, 32 bits, present, ring 0 (SDM vol. 3A, 3.4.5; access rights as in the
 * upper half of a descriptor, without the four limit bits). */
#define RIGHTS_CODE 0xc9b
#define RIGHTS_DATA 0xc93
#define RIGHTS_TSS  0x08b
#define RIGHTS_LDT  0x082
#define FLAGS_FIXED 0x2
#define DR6_FIXED   0xffff0ff0
#define DR7_FIXED   0x400

bool domain_did(struct domain *domain, const char *what, int64_t answer)
{
	if (answer < 0)
		text_printf(domain->trouble, "Xen refuses to %s (error %ld)", what, -answer);
	return answer >= 0;
}

static int64_t call_domctl(const struct domain *domain, uint32_t command, struct domctl *domctl)
{
	domctl->command = command;
	domctl->interface = domain->interface;
	domctl->domain = domain->id;
	return xen_call(XEN_DOMCTL, (uint64_t)domctl, NULL);
}

/* Finds the domctl version: the one with which Xen reports domain 0, which always exists. */
static bool find_interface(struct domain *domain)
{
	struct domain zero = *domain;
	struct domctl domctl;
	int64_t answer = 0;

	zero.id = 0;
	for (zero.interface = DOMCTL_OLDEST; zero.interface <= DOMCTL_NEWEST; zero.interface++) {
		domctl = (struct domctl){ 0 };
		answer = call_domctl(&zero, DOMCTL_INFO, &domctl);
		if (answer >= 0) {
			domain->interface = zero.interface;
			return true;
		}
	}
	text_printf(domain->trouble,
		    "this Xen speaks none of the domctl interfaces 0x%x to 0x%x that Xen 4.17 to "
		    "4.20 have (error %ld)",
		    DOMCTL_OLDEST, DOMCTL_NEWEST, -answer);
	return false;
}

bool domain_create(struct domain *domain, unsigned cpus)
{
	struct domctl domctl = { 0 };
	struct domctl_create *create = &domctl.u.create;
	unsigned emulate;

	if (!find_interface(domain))
		return false;
	emulate = domain->interface >= DOMCTL_WITH_ALTP2M ? 3 : 2;
	*create = (struct domctl_create){
		.handle = { 1 },
		.flags = CREATE_HVM | CREATE_HAP,
		.max_vcpus = cpus,
		.max_event_port = MAX_EVENT_PORT,
		.max_grant_frames = 1,
		.grant_version = 1,
	};
	create->rest[emulate] = CREATE_EMULATE_APIC;
	if (!domain_did(domain, "create a domain", call_domctl(domain, DOMCTL_CREATE, &domctl)))
		return false;
	domain->id = domctl.domain;

	domctl = (struct domctl){ .u.max_vcpus = cpus };
	if (!domain_did(domain, "give it CPUs", call_domctl(domain, DOMCTL_MAX_VCPUS, &domctl)))
		return false;
	domctl = (struct domctl){ .u.tsc.mode = TSC_NATIVE };
	return domain_did(domain, "give it the machine's clock",
			  call_domctl(domain, DOMCTL_SET_TSC, &domctl));
}

static bool populate(struct domain *domain, uint64_t first_frame, uint64_t large_pages)
{
	uint64_t frames[MEMORY_MAX_BATCH];
	struct memory_reservation reservation = {
		.frames = frames,
		.count = large_pages,
		.order = LARGE_ORDER,
		.domain = domain->id,
	};
	int64_t done;

	for (uint64_t i = 0; i < large_pages; i++)
		frames[i] = first_frame + (i << LARGE_ORDER);
	done = xen_call(XEN_MEMORY_OP, MEMORY_POPULATE, &reservation);
	if (done >= 0 && (uint64_t)done < large_pages) {
		text_printf(domain->trouble, "Xen has too little memory for the domain: give the "
					     "machine more, or the domain less (memory=)");
		return false;
	}
	return domain_did(domain, "give it memory", done);
}

/* The pool holds the page tables of nested paging; its size is that of Xen's own tool stack
 * (tools/libs/light: 1 MiB per CPU, 8 KiB per MiB). */
bool domain_add_memory(struct domain *domain, uint64_t mib, unsigned cpus)
{
	uint64_t large_pages = mib * 0x100000 / LARGE_PAGE, at = 0;
	struct domctl domctl = { .u.max_memory_kib = mib * 1024 + 1024 };

	if (!domain_did(domain, "set its memory's limit",
			call_domctl(domain, DOMCTL_MAX_MEMORY, &domctl)))
		return false;
	domctl = (struct domctl){
		.u.page_pool_bytes = cpus * PAGE_POOL_A_CPU + mib * PAGE_POOL_A_MIB,
	};
	if (!domain_did(domain, "give it page tables",
			call_domctl(domain, DOMCTL_SET_PAGE_POOL, &domctl)))
		return false;
	while (at < large_pages) {
		uint64_t count = large_pages - at;

		if (count > MEMORY_MAX_BATCH)
			count = MEMORY_MAX_BATCH;
		if (!populate(domain, at << LARGE_ORDER, count))
			return false;
		at += count;
	}
	return true;
}

static bool map_batch(struct domain *domain, uint64_t foreign, uint64_t own, unsigned pages)
{
	uint64_t foreign_frames[MEMORY_MAX_BATCH], frames[MEMORY_MAX_BATCH];
	int32_t errors[MEMORY_MAX_BATCH] = { 0 };
	struct memory_add_batch batch = {
		.domain = XEN_DOMAIN_SELF,
		.space = SPACE_FOREIGN,
		.count = (uint16_t)pages,
		.foreign_domain = domain->id,
		.foreign_frames = foreign_frames,
		.frames = frames,
		.errors = errors,
	};

	for (unsigned i = 0; i < pages; i++) {
		foreign_frames[i] = foreign / PAGE + i;
		frames[i] = own / PAGE + i;
	}
	if (!domain_did(domain, "map its memory",
			xen_call(XEN_MEMORY_OP, MEMORY_ADD_BATCH, &batch)))
		return false;
	for (unsigned i = 0; i < pages; i++)
		if (!domain_did(domain, "map a page of its memory", errors[i]))
			return false;
	return true;
}

/* Each mapping uses new addresses: Xen refuses to map over a mapped page. */
uint8_t *domain_map(struct domain *domain, uint64_t address, unsigned pages)
{
	static uint64_t next = WINDOW;
	uint64_t at = next;

	next += (uint64_t)pages * PAGE;
	for (unsigned done = 0; done < pages;) {
		unsigned count = pages - done;

		if (count > MEMORY_MAX_BATCH)
			count = MEMORY_MAX_BATCH;
		if (!map_batch(domain, address + (uint64_t)done * PAGE, at + (uint64_t)done * PAGE,
			       count))
			return NULL;
		done += count;
	}
	return (uint8_t *)at;
}

bool domain_give_ports(struct domain *domain, uint32_t first, uint32_t count)
{
	struct domctl domctl = {
		.u.ports = { .guest_first = first,
			     .machine_first = first,
			     .count = count,
			     .add = 1 },
	};

	return domain_did(domain, "give it a serial port",
			  call_domctl(domain, DOMCTL_PORTS, &domctl));
}

bool domain_start_at(struct domain *domain, uint64_t entry, uint64_t start_info)
{
	struct {
		struct save_record header_record;
		struct save_header header;
		struct save_record cpu_record;
		struct save_cpu cpu;
		struct save_record end_record;
	} __attribute__((packed)) context = {
		.header_record = { .type = SAVE_HEADER, .bytes = sizeof(context.header) },
		.header = { .magic = SAVE_MAGIC, .version = SAVE_VERSION, .cpuid = cpuid(1, 0).a },
		.cpu_record = { .type = SAVE_CPU, .bytes = sizeof(context.cpu) },
		.cpu = {
			.rbx = start_info,
			.rip = entry,
			.rflags = FLAGS_FIXED,
			.cr0 = CR0_PE | CR0_ET,
			.dr6 = DR6_FIXED,
			.dr7 = DR7_FIXED,
			.limits = { [SAVE_CS] = ~0u, [SAVE_DS] = ~0u, [SAVE_ES] = ~0u,
				    [SAVE_SS] = ~0u, [SAVE_TR] = 0x67 },
			.rights = { [SAVE_CS] = RIGHTS_CODE, [SAVE_DS] = RIGHTS_DATA,
				    [SAVE_ES] = RIGHTS_DATA, [SAVE_SS] = RIGHTS_DATA,
				    [SAVE_TR] = RIGHTS_TSS, [SAVE_LDTR] = RIGHTS_LDT },
		},
		.end_record = { .type = SAVE_END },
	};
	struct domctl domctl = {
		.u.context = { .bytes = sizeof(context), .records = &context },
	};

	return domain_did(domain, "set its first CPU",
			  call_domctl(domain, DOMCTL_SET_CONTEXT, &domctl));
}

bool domain_unpause(struct domain *domain)
{
	struct domctl domctl = { 0 };

	return domain_did(domain, "let it go", call_domctl(domain, DOMCTL_UNPAUSE, &domctl));
}

bool domain_has_ended(struct domain *domain, enum xen_shutdown *reason)
{
	struct domctl domctl = { 0 };

	if (!domain_did(domain, "report on a domain", call_domctl(domain, DOMCTL_INFO, &domctl))) {
		*reason = XEN_CRASH;
		return true;
	}
	*reason = (enum xen_shutdown)(domctl.u.info.flags >> INFO_REASON_SHIFT & 0xff);
	return domctl.u.info.flags & INFO_SHUTDOWN;
}
