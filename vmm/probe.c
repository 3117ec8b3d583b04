/* The probe: a few instructions in a machine of their own, and a JSON line; see probe.h. A node that
 * can be opened proves nothing. */
#include "probe.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch.h"
#include "lib.h"
#include "vm.h"

#define PROBE_MEMORY   (16u << 20)
#define PROBE_DOORBELL 0xf0
#define PROBE_EXITS    1000u
#define PROBE_RINGS    3
#define PROBE_LIMIT_MS 10000

struct probe {
	struct vm vm;
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
static bool run(struct probe *probe, const struct kvm *kvm, struct error *error)
{
	static const int pin[] = { CONFIG_PIN_NOBODY };
	const struct vm_shape shape = {
		.memory_bytes = PROBE_MEMORY, .vcpus = 1, .pin = pin, .console_fd = -1
	};
	const struct device row = { "probe", SPACE_PORT, PROBE_DOORBELL, 1, on_ring, probe };
	struct vm *vm = &probe->vm;
	struct pollfd wait = { .events = POLLIN };

	if (!vm_create(vm, kvm, &shape, error) || !devices_add(&vm->devices, &row, error) ||
	    !arch_boot_probe(vm, PROBE_DOORBELL, PROBE_EXITS, error) || !vm_start(vm, error))
		return false;
	wait.fd = vm->end_event;
	if (poll(&wait, 1, PROBE_LIMIT_MS) <= 0)
		vm_end(vm, END_TIMEOUT, "its guest did not get to its end in %u s",
		       PROBE_LIMIT_MS / 1000);
	if (!vm_join(vm))
		return error_set(error, "its guest can't be stopped");
	return vm->end == END_OFF || error_set(error, "/dev/kvm runs no guest: %.400s", vm->why);
}

static void put_bool(struct text *out, const char *key, bool value)
{
	text_printf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

/* Why it cannot be used is in front of the first colon, the cure behind. */
static void put_reason(struct text *out, const char *reason)
{
	text_printf(out, ",\"reason\":");
	text_json_string(out, reason);
}

int probe(void)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	struct kvm kvm = { .fd = -1 };
	struct error error = { "no memory" };
	char line[2048];
	struct text out;
	bool usable;

	vm_signals();
	usable = probe && kvm_open(&kvm, &error);
	if (usable) {
		usable = run(probe, &kvm, &error);
		/* A machine whose thread is lost must keep its memory until the process ends. */
		if (!probe->vm.vcpus[0].started)
			vm_destroy(&probe->vm);
	}
	text_start(&out, line, sizeof(line));
	text_printf(&out, "{\"usable\":%s", usable ? "true" : "false");
	if (usable)
		text_printf(&out, ",\"reason\":null,\"exit_ns\":%lu",
			    (probe->ns[1] - probe->ns[0]) / (PROBE_EXITS + 1));
	else
		put_reason(&out, error.text);
	put_bool(&out, "software", arch_kvm_is_software());
	if (kvm.api > 0) {
		text_printf(&out, ",\"api\":%d,\"max_vcpus\":%d", kvm.api, kvm.max_vcpus);
		put_bool(&out, "stats", kvm.has_stats);
		put_bool(&out, "ioeventfd", kvm_capability(&kvm, KVM_CAP_IOEVENTFD) > 0);
		put_bool(&out, "irqfd", kvm_capability(&kvm, KVM_CAP_IRQFD) > 0);
	}
	puts(strcat(line, "}"));
	kvm_close(&kvm);
	free(probe);
	return usable ? END_OFF : END_NO_KVM;
}
