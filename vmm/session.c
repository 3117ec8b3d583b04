/* One guest: load, boot, wait, tell how it ended. Called by main. The main thread only waits; guests
 * run on threads of their own. */
#include "session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "arch.h"
#include "bell.h"

#define MAX_KERNEL_BYTES (64u << 20)
#define IDLE_MS		 100 /* an unfinished line on the console is shown after so long */
#define HYPERCALL_NONE	 " hypercall=none"

struct session {
	const struct config *config;
	struct kvm kvm;
	struct vm vm;
	struct bell bell;
	struct record_line line;
	char command_line[MAX_APPEND_BYTES];
	int signal_fd;
};

/* ---- Before it runs ------------------------------------------------------------------------ */

/* Our own guest executes a hypercall instruction only if its command line says so, and a software
 * KVM does not survive one. Of a kernel that we do not know, nobody can say. */
static bool keep_from_hypercalls(struct session *session, bool ours, struct error *error)
{
	char value[16] = "none";

	if (!session->kvm.software)
		return true;
	if (!ours && !session->config->insist)
		return error_set(
			error,
			"it is not worldswitch's guest, and this is a software KVM, where a "
			"hypercall instruction hangs a guest: --insist runs it all the same");
	(void)config_word(session->command_line, "hypercall", value, sizeof(value));
	if (strcmp(value, "none") == 0)
		return true;
	fprintf(stderr, "vmm: this is a software KVM: hypercall=%s becomes hypercall=none\n",
		value);
	if (strlen(session->command_line) + sizeof(HYPERCALL_NONE) > MAX_APPEND_BYTES)
		return error_set(error, "append= has no room for" HYPERCALL_NONE);
	strcat(session->command_line, HYPERCALL_NONE);
	return true;
}

static bool boot(struct session *session, const uint8_t *file, size_t bytes, struct error *error)
{
	struct elf_kernel kernel;

	return elf_load(file, bytes, arch_elf_machine, arch_kernel_lowest, &session->vm.memory,
			&kernel, error) &&
	       keep_from_hypercalls(session, kernel.worldswitch, error) &&
	       arch_boot(&session->vm, &kernel, session->command_line, error);
}

static bool load(struct session *session, struct error *error)
{
	const char *path = session->config->kernel;
	uint8_t *content = malloc(MAX_KERNEL_BYTES);
	FILE *file = fopen(path, "re");
	struct error why = { "" };
	bool done = false;

	if (!content || !file) {
		error_set(&why, "it can't be opened: %m");
	} else {
		size_t bytes = fread(content, 1, MAX_KERNEL_BYTES, file);

		if (ferror(file) || bytes == MAX_KERNEL_BYTES)
			error_set(&why, "it can't be read, or has more than %u MiB",
				  MAX_KERNEL_BYTES >> 20);
		else
			done = boot(session, content, bytes, &why);
	}
	if (file)
		fclose(file);
	free(content);
	return done || error_set(error, "%.200s: %.300s", path, why.text);
}

/* What the guest's command line tells us too. */
static bool heed_words(struct session *session, struct error *error)
{
	char doorbell[32] = "none", nonce[32] = "0x";
	uint64_t port;

	session->line.console = &session->vm.console;
	if (config_word(session->command_line, "nonce", nonce + 2, 17))
		(void)parse_u64(nonce, strlen(nonce), &session->line.nonce);
	(void)config_word(session->command_line, "doorbell", doorbell, sizeof(doorbell));
	if (strcmp(doorbell, "none") == 0)
		return true;
	if (!parse_u64(doorbell, strlen(doorbell), &port) || port > 0xfffc)
		return error_set(error, "doorbell=%s is no port", doorbell);
	return bell_add(&session->bell, &session->vm, &session->line, (uint16_t)port, error);
}

/* Signals that end us are read by the main thread; vCPU threads inherit that they are blocked. */
static bool prepare(struct session *session, struct error *error)
{
	const char *path = session->config->console;
	int console = STDOUT_FILENO;
	sigset_t set;

	if (strcmp(path, "-") != 0)
		console = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
	if (console < 0)
		return error_set(error, "can't write %s: %m", path);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	vcpu_signals();
	session->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (session->signal_fd < 0)
		return error_set(error, "can't wait for signals: %m");
	if (!vm_create(&session->vm, &session->kvm, session->config, console, error))
		return false;
	session->vm.console.wake = session->signal_fd;
	return load(session, error) && heed_words(session, error);
}

/* ---- While it runs ------------------------------------------------------------------------- */

static void wait_for_end(struct session *session)
{
	struct vm *vm = &session->vm;
	struct pollfd waits[] = { { .fd = vm->end_event, .events = POLLIN },
				  { .fd = session->signal_fd, .events = POLLIN } };
	uint64_t limit_s = session->config->timeout_s;
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		int ready = poll(waits, 2, IDLE_MS);
		struct signalfd_siginfo got;

		if (ready > 0 && waits[0].revents)
			return;
		if (ready > 0 && read(session->signal_fd, &got, sizeof(got)) > 0)
			vm_end(vm, END_SIGNAL + (int)got.ssi_signo, "ended by signal %u",
			       got.ssi_signo);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (limit_s && (uint64_t)(now.tv_sec - start.tv_sec) >= limit_s &&
		    (now.tv_nsec >= start.tv_nsec ||
		     (uint64_t)(now.tv_sec - start.tv_sec) > limit_s))
			vm_end(vm, END_TIMEOUT, "it ran longer than timeout=%lu", limit_s);
		if (!ready)
			console_flush(&vm->console);
	}
}

/* ---- What we say --------------------------------------------------------------------------- */

static const char *yes(bool is)
{
	return is ? "true" : "false";
}

static void say_hello(struct session *session)
{
	const struct vm *vm = &session->vm;
	char unit[32] = "tsc_ticks";
	struct record record;

	(void)config_word(session->command_line, "unit", unit, sizeof(unit));
	record_start(&record, "hello");
	record_string(&record, "unit", unit);
	text_printf(&record.text,
		    ",\"protocol\":1,\"vmm\":\"" VMM_VERSION "\",\"arch\":\"%s\",\"cpus\":%u,"
		    "\"memory_bytes\":%lu,\"kvm_api\":%d,\"software\":%s,\"stats\":%s,"
		    "\"doorbell\":%s",
		    arch_name, vm->vcpu_count, vm->memory.bytes, session->kvm.api,
		    yes(session->kvm.software), yes(vm->stats.count), yes(session->bell.vm));
	record_send(&record, &session->line);
}

static const char *end_name(int end)
{
	static const char *const names[END_SIGNAL] = {
		[END_OFF] = "ok",      [END_RESET] = "reset",	  [END_KVM] = "kvm",
		[END_FLOOD] = "flood", [END_TIMEOUT] = "timeout", [END_ERROR] = "error",
	};

	return end < END_SIGNAL ? names[end] : "signal";
}

static void say_bye(struct session *session)
{
	struct vm *vm = &session->vm;
	struct record record;

	console_flush(&vm->console);
	record_start(&record, "bye");
	record_string(&record, "status", end_name(vm->end));
	record_string(&record, "why", vm->why);
	text_printf(&record.text, ",\"nowhere\":%lu,\"vcpus\":", vm->devices.nowhere);
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		text_printf(&record.text, "%c{\"pin\":%d,\"host_cpu\":%d,\"moves\":%lu}",
			    i ? ',' : '[', vm->config->pin[i], vm->vcpus[i].host_cpu,
			    vm->vcpus[i].moves);
	text_printf(&record.text, "]");
	record_send(&record, &session->line);
	if (vm->end != END_OFF)
		fprintf(stderr, "vmm: %s\n", vm->why);
}

/* ---- All together -------------------------------------------------------------------------- */

static int run(struct session *session)
{
	struct vm *vm = &session->vm;
	struct error error;

	if (!prepare(session, &error)) {
		fprintf(stderr, "vmm: %s\n", error.text);
		return END_ERROR;
	}
	say_hello(session);
	if (!vm_start(vm, &error))
		vm_end(vm, END_ERROR, "%s", error.text);
	wait_for_end(session);
	if (!vm_join(vm)) {
		/* Its memory may still be in use: leave it to the kernel, which ends us. */
		fprintf(stderr, "vmm: %s; a vCPU's thread does not come back\n", vm->why);
		_exit(vm->end);
	}
	say_bye(session);
	return vm->end;
}

int session_run(const struct config *config)
{
	struct session *session = calloc(1, sizeof(*session));
	struct error error = { "no memory" };
	int end = END_NO_KVM;

	if (session && kvm_open(&session->kvm, &error)) {
		session->config = config;
		session->vm.fd = session->vm.end_event = -1;
		memcpy(session->command_line, config->append, sizeof(session->command_line));
		end = run(session);
		vm_destroy(&session->vm);
		kvm_close(&session->kvm);
	} else {
		fprintf(stderr, "vmm: %s\n", error.text);
	}
	free(session);
	return end;
}
