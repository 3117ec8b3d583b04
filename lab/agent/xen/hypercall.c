/*
 * Hypercalls; see hypercall.h. Only the tool stack's `sysctl`, whose structures are in Xen's public headers
 * (sysctl.h and domctl.h): the version of that interface must be the one of Xen.
 */
#include "hypercall.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "say.h"

/* Linux's ioctl of a hypercall. */
struct privcmd_hypercall {
	uint64_t op, arguments[5];
};
#define PRIVCMD_HYPERCALL _IOC(_IOC_NONE, 'P', 0, sizeof(struct privcmd_hypercall))

#define HYPERCALL_SYSCTL 35
#define GET_DOMAINS	 6
#define GET_CPUS	 8
/* Those of Xen 4.17 to 4.20 and a later one. */
#define FIRST_VERSION	 0x15
#define LAST_VERSION	 0x16

struct domain_info {
	uint16_t domain, unused;
	uint32_t flags;
	uint64_t pages[6];
	uint64_t cpu_ns;
	uint64_t rest[24]; /* more than there is in any version */
};

struct sysctl {
	uint32_t command, version;
	union {
		struct {
			uint32_t most, unused;
			uint64_t *idle_ns;
			uint32_t count;
		} cpus;
		struct {
			uint16_t first, unused;
			uint32_t most;
			struct domain_info *buffer;
			uint32_t count;
		} domains;
		uint8_t room[128];
	};
};

/* What Xen reads and writes. It fails for memory that is not there. */
static struct shared {
	struct sysctl sysctl;
	struct domain_info domain;
	uint64_t idle_ns;
} shared __attribute__((aligned(4096)));

static int privcmd = -1;
static uint32_t version = FIRST_VERSION;

static void open_privcmd(void)
{
	privcmd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC);
	if (privcmd < 0 || mlock(&shared, sizeof(shared)) < 0)
		give_up("can't make hypercalls by /dev/xen/privcmd: %s", strerror(errno));
}

/* Carries out shared.sysctl. */
static void carry_out(void)
{
	struct privcmd_hypercall call = { .op = HYPERCALL_SYSCTL,
					  .arguments = { (uint64_t)&shared.sysctl } };

	if (privcmd < 0)
		open_privcmd();
	for (;; version++) {
		shared.sysctl.version = version;
		if (ioctl(privcmd, PRIVCMD_HYPERCALL, &call) == 0)
			return;
		if (errno != EACCES || version == LAST_VERSION)
			give_up("Xen does not carry out the sysctl %u: %s", shared.sysctl.command,
				strerror(errno));
	}
}

uint64_t hypercall_idle_ns(void)
{
	shared.sysctl = (struct sysctl){ .command = GET_CPUS };
	shared.sysctl.cpus.most = 1;
	shared.sysctl.cpus.idle_ns = &shared.idle_ns;
	carry_out();
	return shared.idle_ns;
}

void hypercall_domains_ns(uint64_t ns[MAX_DOMAINS])
{
	for (uint16_t domain = 0; domain < MAX_DOMAINS; domain++) {
		shared.sysctl = (struct sysctl){ .command = GET_DOMAINS };
		shared.sysctl.domains.first = domain;
		shared.sysctl.domains.most = 1;
		shared.sysctl.domains.buffer = &shared.domain;
		carry_out();
		ns[domain] = 0;
		if (shared.sysctl.domains.count == 1 && shared.domain.domain == domain)
			ns[domain] = shared.domain.cpu_ns;
	}
}
