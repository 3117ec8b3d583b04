/* Where the instructions went under Xen: to the VM's domain, with what Xen does for it, or to dom0. In place of
 * the threads of a QEMU. */
#include "threads.h"

#include <string.h>

#include "common/exits.h"
#include "xen/hypercall.h"

static uint64_t own[MAX_DOMAINS];
static bool own_known;

void threads_setup(void)
{
}

void threads_read(struct threads *threads)
{
	*threads = (struct threads){ .ns = { 0 } };
	hypercall_domains_ns(threads->ns);
}

void threads_learn(const struct threads *begin, const struct threads *end)
{
	struct threads passed = *end;

	exits_subtract(passed.ns, begin->ns, MAX_DOMAINS);
	exits_learn(own, passed.ns, MAX_DOMAINS, &own_known);
}

void threads_add(struct threads *sum, const struct threads *begin, const struct threads *end,
		 bool marked)
{
	struct threads passed = *end;

	exits_subtract(passed.ns, begin->ns, MAX_DOMAINS);
	if (marked)
		exits_subtract(passed.ns, own, MAX_DOMAINS);
	for (unsigned i = 0; i < MAX_DOMAINS; i++)
		sum->ns[i] += passed.ns[i];
}

static void name_of(const void *unused, unsigned row, struct text *out)
{
	(void)unused;
	text_printf(out, "%s", row ? "other" : "vcpu0");
}

void threads_send(struct record *record, const struct threads *sum, uint64_t ticks)
{
	uint64_t vm = sum->ns[VM_DOMAIN] < ticks ? sum->ns[VM_DOMAIN] : ticks;
	uint64_t rows[] = { vm, ticks - vm };

	exits_counts(record, "threads", rows, 2, name_of, NULL);
}
