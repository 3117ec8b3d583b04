/*
 * Hypercalls; see hypercall.h. Only the tool stack's `sysctl` and `domctl`, whose structures are in Xen's public headers
 * (sysctl.h and domctl.h): the versions of these interfaces must be those of Xen.
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
#define HYPERCALL_DOMCTL 36
#define PAUSE_DOMAIN	 3
#define UNPAUSE_DOMAIN	 4
/* Of both interfaces: those of Xen 4.17 to 4.20 and a later one. */
#define FIRST_VERSION	 0x15
#define LAST_VERSION	 0x18

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

struct domctl {
	uint32_t command, version;
	uint16_t domain, unused[3];
	uint8_t room[128];
};

/* What Xen reads and writes. It fails for memory that is not there. */
static struct shared {
	struct sysctl sysctl;
	struct domctl domctl;
	struct domain_info domain;
	uint64_t idle_ns;
} shared __attribute__((aligned(4096)));

/* An interface of the tool stack. */
struct interface {
	const char *name;
	uint64_t hypercall;
	void *order;
	/* In the order. */
	const uint32_t *command;
	uint32_t *version;
	/* Xen's, as far as it is known. */
	uint32_t known;
};

static struct interface sysctl = { "sysctl",
				   HYPERCALL_SYSCTL,
				   &shared.sysctl,
				   &shared.sysctl.command,
				   &shared.sysctl.version,
				   FIRST_VERSION };
static struct interface domctl = { "domctl",
				   HYPERCALL_DOMCTL,
				   &shared.domctl,
				   &shared.domctl.command,
				   &shared.domctl.version,
				   FIRST_VERSION };

static int privcmd = -1;

static void open_privcmd(void)
{
	privcmd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC);
	if (privcmd < 0 || mlock(&shared, sizeof(shared)) < 0)
		give_up("can't make hypercalls by /dev/xen/privcmd: %s", strerror(errno));
}

/* Carries out the order. */
static void carry_out(struct interface *by)
{
	struct privcmd_hypercall call = { .op = by->hypercall,
					  .arguments = { (uint64_t)by->order } };

	if (privcmd < 0)
		open_privcmd();
	for (;; by->known++) {
		*by->version = by->known;
		if (ioctl(privcmd, PRIVCMD_HYPERCALL, &call) == 0)
			return;
		if (errno != EACCES || by->known == LAST_VERSION)
			give_up("Xen does not carry out the %s %u: %s", by->name, *by->command,
				strerror(errno));
	}
}

uint64_t hypercall_idle_ns(void)
{
	shared.sysctl = (struct sysctl){ .command = GET_CPUS };
	shared.sysctl.cpus.most = 1;
	shared.sysctl.cpus.idle_ns = &shared.idle_ns;
	carry_out(&sysctl);
	return shared.idle_ns;
}

void hypercall_domains_ns(uint64_t ns[MAX_DOMAINS])
{
	for (uint16_t domain = 0; domain < MAX_DOMAINS; domain++) {
		shared.sysctl = (struct sysctl){ .command = GET_DOMAINS };
		shared.sysctl.domains.first = domain;
		shared.sysctl.domains.most = 1;
		shared.sysctl.domains.buffer = &shared.domain;
		carry_out(&sysctl);
		ns[domain] = 0;
		if (shared.sysctl.domains.count == 1 && shared.domain.domain == domain)
			ns[domain] = shared.domain.cpu_ns;
	}
}

void hypercall_pause(bool paused)
{
	shared.domctl = (struct domctl){ .command = paused ? PAUSE_DOMAIN : UNPAUSE_DOMAIN,
					 .domain = VM_DOMAIN };
	carry_out(&domctl);
}
