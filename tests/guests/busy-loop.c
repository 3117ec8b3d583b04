/* To be preloaded into a QEMU with -icount: its main loop makes a round whenever the CPU's thread has halted the CPU and
 * has not yet accounted for what it executed. On a busy host that happens now and then (lab/quirks.toml,
 * idle-clock-jump). Other programs are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A CPU's thread that holds the lock waits in vain, but not for ever. */
#define WAITS	100
#define WAIT_NS 10000

/* The main loop sleeps no longer than this. */
#define SLEEP_NS 100000

/* QEMU's EXCP_HLT, which is the same for HLT and WFI, is in the CPU's state this near behind the buffer of its jump. */
#define HALTED	   0x10001
#define NEAR_BYTES 1024

static atomic_uint rounds;

static int is_wanted, main_id;

__attribute__((constructor)) static void look(void)
{
	char words[1 << 16];
	FILE *file = fopen("/proc/self/cmdline", "r");
	size_t bytes = file ? fread(words, 1, sizeof(words), file) : 0;

	is_wanted = memmem(words, bytes, "\0-icount", 9) != NULL;
	main_id = getpid();
	if (file)
		fclose(file);
}

static int is_main(void)
{
	return syscall(SYS_gettid) == main_id;
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
	int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) =
		dlsym(RTLD_NEXT, "ppoll");
	const struct timespec most = { .tv_nsec = SLEEP_NS };

	if (!is_wanted || !is_main())
		return next(files, count, limit, mask);
	rounds++;
	if (limit && limit->tv_sec == 0 && limit->tv_nsec < most.tv_nsec)
		return next(files, count, limit, mask);
	return next(files, count, &most, mask);
}

static int is_halt(const struct __jmp_buf_tag *to)
{
	const char *state = (const char *)(to + 1);
	uint32_t word;

	for (size_t at = 0; at < NEAR_BYTES; at += sizeof(word)) {
		memcpy(&word, state + at, sizeof(word));
		if (word == HALTED)
			return 1;
	}
	return 0;
}

/* Waits until the main loop has made a whole round. */
static void wait_for_round(void)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	unsigned before = rounds;

	for (int i = 0; i < WAITS && rounds - before < 2; i++)
		nanosleep(&wait, NULL);
}

static _Noreturn void jump(const char *name, struct __jmp_buf_tag *to, int value)
{
	void (*next)(struct __jmp_buf_tag *, int) = dlsym(RTLD_NEXT, name);

	if (is_wanted && !is_main() && is_halt(to))
		wait_for_round();
	next(to, value);
	__builtin_unreachable();
}

/* QEMU calls siglongjmp(), by this name if it is built with _FORTIFY_SOURCE. */
_Noreturn void __longjmp_chk(struct __jmp_buf_tag to[1], int value)
{
	jump("__longjmp_chk", to, value);
}

_Noreturn void siglongjmp(sigjmp_buf to, int value)
{
	jump("siglongjmp", to, value);
}
