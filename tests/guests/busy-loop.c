/* To be preloaded into a QEMU with -icount: its main loop never sleeps, and makes a round whenever the CPU's thread leaves
 * the guest's code, as it does at HLT and WFI. On a busy host that happens now and then (lab/quirks.toml,
 * idle-clock-jump). Other programs are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A CPU's thread that holds the lock waits in vain, but not for ever. */
#define WAITS	100
#define WAIT_NS 10000

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

/* The main loop never sleeps. */
int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
	int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *) =
		dlsym(RTLD_NEXT, "ppoll");
	const struct timespec now = { 0 };

	if (!is_wanted || !is_main())
		return next(files, count, limit, mask);
	rounds++;
	return next(files, count, &now, mask);
}

static _Noreturn void jump(const char *name, struct __jmp_buf_tag *to, int value)
{
	void (*next)(struct __jmp_buf_tag *, int) = dlsym(RTLD_NEXT, name);
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	unsigned before = rounds;

	for (int i = 0; i < WAITS && is_wanted && !is_main() && rounds - before < 2; i++)
		nanosleep(&wait, NULL);
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
