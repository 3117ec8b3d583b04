/* The place where the lab stops a machine that has booted; see launch.h. */
#include "common/launch.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/idle.h"

#define PAGE_BYTES 4096u

/* The lab finds these two by their names. At the stop the first byte says whether to save the state; from there on
 * they are the launch's lines. */
char launch_lines[MAX_LAUNCH_BYTES];
/* The instruction is at an address where nothing else of a machine is ever executed. */
#define POINT 0x5a5a5000
__asm__(".globl launch_point\n.set launch_point, 0x5a5a5000");

#ifdef __x86_64__
static const unsigned char return_to_caller[] = { 0xc3 };
#elif defined(__riscv)
static const unsigned char return_to_caller[] = { 0x67, 0x80, 0x00, 0x00 };
#else
static const unsigned char return_to_caller[] = { 0xc0, 0x03, 0x5f, 0xd6 };
#endif

/* Makes a page with that instruction, to be executed. Returns NULL if it can't. */
static void *make_point(void)
{
	void *page = mmap((void *)POINT, PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (page != (void *)POINT)
		return NULL;
	memcpy(page, return_to_caller, sizeof(return_to_caller));
	__builtin___clear_cache(page, (char *)page + sizeof(return_to_caller));
	return mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) == 0 ? page : NULL;
}

char *launch_wait(bool saves)
{
	volatile char *pages = launch_lines;
	void *page = make_point();
	void (*point)(void);

	/* The lab can write only to pages that are there. */
	for (size_t at = 0; at < sizeof(launch_lines); at += PAGE_BYTES)
		pages[at] = 0;
	pages[0] = saves ? '+' : '-';
	/* Nothing but the instruction comes after it: the other CPUs are idle for no longer than that is sure. */
	if (!idle_await())
		fprintf(stderr,
			"the CPUs of this machine are never idle: figures may depend on the host\n");
	if (page) {
		memcpy(&point, &page, sizeof(point));
		point();
		(void)munmap(page, PAGE_BYTES);
	}
	if (pages[1] == 0 && (pages[0] == '+' || pages[0] == '-'))
		pages[0] = 0;
	return launch_lines;
}
