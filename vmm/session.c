/* One guest: load, boot, wait, report how it ended. The main thread only waits; guests run on their own
 * threads. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "vmm/vmm_arch.h"
#include "common/launch_below.h"
#include "common/word.h"

#define PAGE_BYTES     4096u
#define HYPERCALL_NONE " hypercall=none"

/* Our own guest executes hypercall instructions only if its command line says so, and they break a software
 * KVM. Any other kernel may execute them. */
static bool keep_from_hypercalls(struct config *config, bool ours)
{
	char value[16] = "none";

	if (!ours && !config->insist)
		return fail(
			"it is not worldswitch's guest, and this is a software KVM: a hypercall "
			"instruction may hang the guest or escape it; --insist runs it anyway");
	/* The guest, too, ignores a value that does not fit and uses the one before it. */
	(void)word_find(config->append, "hypercall", value, sizeof(value));
	if (strcmp(value, "none") == 0)
		return true;
	fprintf(stderr, "vmm: software KVM: changed hypercall=%s to hypercall=none\n", value);
	if (strlen(config->append) + sizeof(HYPERCALL_NONE) > sizeof(config->append))
		return fail("append= is too long to add" HYPERCALL_NONE);
	strcat(config->append, HYPERCALL_NONE);
	return true;
}

/* Puts it as high as allowed, above the kernel. */
static bool load_initrd(const struct memory *memory, const char *path, const struct kernel *kernel,
			struct region *to)
{
	uint64_t end = memory->regions[0].guest + memory->regions[0].bytes;
	uint8_t *content = file_read(path, memory->regions[0].bytes, &to->bytes);

	if (!content)
		return false;
	if (kernel->initrd_end && kernel->initrd_end < end)
		end = kernel->initrd_end;
	to->guest = to->bytes < end ? (end - to->bytes) / PAGE_BYTES * PAGE_BYTES : 0;
	to->host = to->guest < kernel->end ? NULL : memory_at(memory, to->guest, to->bytes);
	if (to->host)
		memcpy(to->host, content, to->bytes);
	free(content);
	return to->host || fail("%.200s: its %lu KiB do not fit between the kernel, which ends at "
				"0x%lx, and 0x%lx: raise memory=",
				path, to->bytes >> 10, kernel->end, end);
}

static bool load(struct vm *vm, struct config *config)
{
	struct region initrd = { 0 };
	struct kernel kernel = { .flat = config->flat,
#ifdef ARCH_XEN
				 .xen = config->xen
#endif
	};
	size_t bytes;
	uint8_t *file = file_read(config->kernel, vm->memory.bytes, &bytes);
	bool done = false;

	if (!file)
		return false;
	if (!arch_load(file, bytes, &vm->memory, &kernel) ||
	    (vm->kvm->software && !keep_from_hypercalls(config, kernel.worldswitch)))
		fail("%.200s: %.300s", config->kernel, error_text);
	else if (!config->initrd[0] || load_initrd(&vm->memory, config->initrd, &kernel, &initrd))
		done = arch_boot(vm, &kernel, &initrd, config->append);
	free(file);
	return done;
}

/* Takes doorbell= and nonce= from the guest's command line. */
static bool heed_words(struct vm *vm, const char *line)
{
	char doorbell[32] = "none";
	uint64_t port;

	(void)word_nonce(line, &vm->console.records.nonce);
	(void)word_find(line, "doorbell", doorbell, sizeof(doorbell));
	if (strcmp(doorbell, "none") == 0)
		return true;
	if (!parse_u64(doorbell, strlen(doorbell), &port) || port > ARCH_PORT_MAX)
		return fail("doorbell=%s is no port", doorbell);
	return bell_add(vm, port) && latency_add(vm, port);
}

/* The main thread reads the signals that end vmm; vCPU threads inherit the mask. A broken pipe or a full
 * file is an error of the console, not a signal. */
static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static bool prepare(struct vm *vm, const struct kvm *kvm, struct config *config)
{
	int signal_fd = catch_signals(), console = STDOUT_FILENO;

	if (strcmp(config->console, "-") != 0)
		console = open(config->console, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY,
			       0644);
	if (console < 0 || signal_fd < 0)
		return fail("can't open %s, or can't wait for signals: %m", config->console);
	if (!vm_create(vm, kvm, config, console))
		return false;
	vm->console.wake = signal_fd;
	return load(vm, config) && heed_words(vm, config->append);
}

void session_hello(struct vm *vm, const char *unit)
{
	struct record record;

	record_start(&record, "hello");
	record_string(&record, "unit", unit);
	text_printf(&record.text,
		    ",\"protocol\":1,\"vmm\":\"" VMM_VERSION "\",\"arch\":\"" ARCH_NAME
		    "\",\"cpus\":%u,\"memory_bytes\":%lu,\"kvm_api\":%d,\"software\":%s,"
		    "\"stats\":%s,\"doorbell\":%s",
		    vm->vcpu_count, vm->memory.bytes, vm->kvm->api, json_bool(vm->kvm->software),
		    json_bool(vm->stats.count), json_bool(vm->doorbell));
	record_send(&record, &vm->console);
}

/* With the nonce and unit of the guest's command line. The monitor below gets them too. */
static bool say_hello(struct vm *vm)
{
	uint64_t below = vm->config->below;
	char unit[32] = ARCH_UNIT;
	const char *failed;

	(void)word_find(vm->config->append, "unit", unit, sizeof(unit));
	failed = below ? launch_tell(below, vm->console.records.nonce, unit) : NULL;
	if (failed)
		return fail("below=: can't %s: %m", failed);
	session_hello(vm, unit);
	return true;
}

static void say_bye(struct vm *vm)
{
	static const char *const names[END_SIGNAL] = {
		[END_OFF] = "ok",      [END_RESET] = "reset",	  [END_KVM] = "kvm",
		[END_FLOOD] = "flood", [END_TIMEOUT] = "timeout", [END_ERROR] = "error",
	};
	struct record record;

	console_flush(&vm->console);
	record_start(&record, "bye");
	record_string(&record, "status", vm->end < END_SIGNAL ? names[vm->end] : "signal");
	record_string(&record, "why", vm->why);
	text_printf(&record.text, ",\"nowhere\":%lu,\"vcpus\":", vm->devices.nowhere);
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		text_printf(&record.text, "%c{\"pin\":%d,\"host_cpu\":%d,\"moves\":%lu}",
			    i ? ',' : '[', vm->config->pin[i], vm->vcpus[i].host_cpu,
			    vm->vcpus[i].moves);
	text_printf(&record.text, "]");
	record_send(&record, &vm->console);
	if (vm->end != END_OFF)
		fprintf(stderr, "vmm: %s\n", vm->why);
}

int session_run(struct config *config)
{
	static struct kvm kvm;
	static struct vm vm;

	if (!kvm_open(&kvm))
		return complain(END_NO_KVM);
	if (!prepare(&vm, &kvm, config) || !say_hello(&vm))
		return complain(END_ERROR);
	if (!vm_run(&vm)) {
		/* The guest's memory may still be in use: leave it to the kernel at exit. */
		fprintf(stderr, "vmm: %s; a vCPU thread does not stop\n", vm.why);
		_exit(vm.end);
	}
	say_bye(&vm);
	return vm.end;
}
