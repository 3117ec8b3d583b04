/* The probe: a few instructions in a machine of their own, and a JSON line; see probe.h. A node that
 * can be opened proves nothing. */
#include "probe.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "arch.h"
#include "lib.h"
#include "vm.h"

#define PROBE_MIB      16
#define PROBE_DOORBELL 0xf0
#define PROBE_EXITS    1000u
#define PROBE_RINGS    3 /* before the exits, after them, and behind CPUID */
#define PROBE_LIMIT_MS 10000

struct probe {
	struct kvm kvm;
	struct vm vm;
	struct config config;
	unsigned rings;
	uint64_t ns[PROBE_RINGS];
};

static void on_ring(void *context, const struct access *access)
{
	struct probe *probe = context;
	struct timespec now;

	if (!access->write || probe->rings == PROBE_RINGS)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	probe->ns[probe->rings++] = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (probe->rings == PROBE_RINGS)
		vm_end(&probe->vm, END_OFF, "the probe's guest is done");
}

/* Runs the probe's guest; true when all its rings came. */
static bool run(struct probe *probe, struct error *error)
{
	const struct device row = { "probe", SPACE_PORT, PROBE_DOORBELL, 1, on_ring, probe };
	struct vm *vm = &probe->vm;
	struct pollfd wait = { .events = POLLIN };

	config_defaults(&probe->config);
	probe->config.memory_mib = PROBE_MIB;
	if (!vm_create(vm, &probe->kvm, &probe->config, -1, error) ||
	    !devices_add(&vm->devices, &row, error) ||
	    !arch_boot_probe(vm, PROBE_DOORBELL, PROBE_EXITS, error) || !vm_start(vm, error))
		return false;
	wait.fd = vm->end_event;
	if (poll(&wait, 1, PROBE_LIMIT_MS) <= 0)
		vm_end(vm, END_TIMEOUT, "its guest did not get to its end");
	if (!vm_join(vm))
		return error_set(error, "/dev/kvm has a guest that can't be stopped");
	return vm->end == END_OFF || error_set(error, "/dev/kvm runs no guest: %.400s", vm->why);
}

static void put_bool(struct text *out, const char *key, bool value)
{
	text_printf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

int probe(void)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	struct error error = { "no memory" };
	char line[2048];
	struct text out;
	bool usable;

	vcpu_signals();
	usable = probe && kvm_open(&probe->kvm, &error) && run(probe, &error);
	text_start(&out, line, sizeof(line));
	text_printf(&out, "{\"usable\":%s,\"reason\":", usable ? "true" : "false");
	if (usable)
		text_printf(&out, "null,\"exit_ns\":%lu",
			    (probe->ns[1] - probe->ns[0]) / (PROBE_EXITS + 1));
	else
		text_json_string(&out, error.text);
	put_bool(&out, "software", arch_kvm_is_software());
	if (probe && probe->kvm.api > 0) {
		text_printf(&out, ",\"api\":%d,\"max_vcpus\":%d", probe->kvm.api,
			    probe->kvm.max_vcpus);
		put_bool(&out, "stats", probe->kvm.has_stats);
	}
	text_printf(&out, "}");
	puts(line);
	/* The process ends here, and with it the machine, even one whose thread is lost. */
	return usable ? END_OFF : END_NO_KVM;
}
