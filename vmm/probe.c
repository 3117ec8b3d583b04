/* The probe: runs a few instructions in a small VM and prints a JSON line; see kvm_vm.h. Being able to open
 * /dev/kvm proves nothing. */
#include <stdio.h>

#include "vmm/vmm_arch.h"

#define PROBE_MIB      16
#define PROBE_DOORBELL 0xf0
#define PROBE_EXITS    1000u
#define PROBE_RINGS    3 /* before the exits, after them, and after CPUID */
#define PROBE_LIMIT_S  10

struct probe {
	struct vm vm;
	unsigned rings;
	uint64_t ns[PROBE_RINGS];
};

static void on_ring(void *context, struct access *access)
{
	struct probe *probe = context;

	if (!access->write || probe->rings == PROBE_RINGS)
		return;
	probe->ns[probe->rings++] = now_ns();
	if (probe->rings == PROBE_RINGS)
		vm_end(&probe->vm, END_OFF, "the probe's guest is done");
}

/* Runs the probe's guest; true if all its rings came. */
static bool run(struct probe *probe, struct kvm *kvm, struct config *config)
{
	const struct device row = { "probe", ARCH_PORTS, PROBE_DOORBELL, 1, on_ring, probe };
	struct vm *vm = &probe->vm;

	config_defaults(config);
	config->memory_mib = PROBE_MIB;
	config->timeout_s = PROBE_LIMIT_S;
	if (!kvm_open(kvm) || !vm_create(vm, kvm, config, -1) || !devices_add(&vm->devices, &row) ||
	    !arch_boot_probe(vm, PROBE_DOORBELL, PROBE_EXITS))
		return false;
	if (!vm_run(vm))
		return fail("the probe's guest on /dev/kvm can't be stopped");
	return vm->end == END_OFF || fail("/dev/kvm runs no guest: %.400s", vm->why);
}

int probe(void)
{
	static struct probe probe;
	static struct config config;
	static struct kvm kvm;
	char line[2048];
	struct text out;
	bool usable = run(&probe, &kvm, &config);

	text_start(&out, line, sizeof(line));
	text_printf(&out, "{\"usable\":%s,\"reason\":", json_bool(usable));
	if (usable)
		text_printf(&out, "null,\"exit_ns\":%lu",
			    (probe.ns[1] - probe.ns[0]) / (PROBE_EXITS + 1));
	else
		text_json_string(&out, error_text);
	text_printf(&out, ",\"software\":%s", json_bool(arch_kvm_is_software()));
	if (kvm.api > 0)
		text_printf(&out, ",\"api\":%d,\"max_vcpus\":%d,\"stats\":%s", kvm.api,
			    kvm.max_vcpus, json_bool(kvm.has_stats));
	text_printf(&out, "}");
	puts(line);
	return usable ? END_OFF : END_NO_KVM;
}
