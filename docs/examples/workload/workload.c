/*
 * A workload that is no benchmark of the suite, to hold the cost model against (docs/method.md, "Is the
 * model right?"): what processes of a Linux guest do. Each part is timed by the time stamp counter; in a
 * VM of our monitor the host counts its exits, between two rings of the doorbell (docs/guest.md) that the
 * kernel's command line names: the kernel hands `doorbell=PORT` on to its first process.
 *
 * Prints a line of JSON for each part and switches the machine off.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/bell_note.h"

#define PAGE	     4096
#define LEARN_PAIRS  8 /* rings with nothing between them: the host learns what they cost */
#define MEMORY_BYTES (8u << 20)
#define FILE_BYTES   (2u << 20)
#define PROCESSES    40
#define ROUND_TRIPS  400
#define LINES	     20

static struct bell_note *note;
static uint32_t note_address;
static uint16_t doorbell; /* 0: none */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	uint32_t low, high;

	__asm__ volatile("mfence\n\tlfence\n\trdtsc\n\tlfence"
			 : "=a"(low), "=d"(high)
			 :
			 : "memory");
	return (uint64_t)high << 32 | low;
}

/* The note on a page of its own, and where that lies: a host knows physical addresses. */
static void find_note(void)
{
	const char *word = getenv("doorbell");
	uint64_t entry;
	int map;

	note = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED,
		    -1, 0);
	if (note == MAP_FAILED)
		die("mmap");
	if (!word)
		return;
	doorbell = (uint16_t)strtoul(word, NULL, 0);
	mkdir("/proc", 0755);
	if (mount("proc", "/proc", "proc", 0, NULL))
		die("mount /proc");
	map = open("/proc/self/pagemap", O_RDONLY);
	if (map < 0 || pread(map, &entry, 8, (off_t)((uintptr_t)note / PAGE * 8)) != 8)
		die("/proc/self/pagemap");
	close(map);
	note_address = (uint32_t)((entry & ((1ull << 55) - 1)) * PAGE);
	if (iopl(3))
		die("iopl");
}

static void ring(const char *name, uint32_t kind, uint64_t samples)
{
	if (!doorbell)
		return;
	note->magic = BELL_MAGIC;
	note->kind = kind;
	note->iterations = note->samples = samples;
	strncpy(note->bench, name, sizeof(note->bench) - 1);
	outl(note_address, doorbell);
}

/* Pages that nothing has touched, one after another. */
static void memory(void)
{
	char *at = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED)
		die("mmap");
	madvise(at, MEMORY_BYTES, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < MEMORY_BYTES; i += PAGE)
		at[i] = 1;
	munmap(at, MEMORY_BYTES);
}

/* Processes that come and go. */
static void processes(void)
{
	for (unsigned i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

/* Two processes that answer each other. */
static void pipes(void)
{
	int there[2], back[2];
	char byte = 0;
	pid_t child;

	if (pipe(there) || pipe(back))
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	for (unsigned i = 0; i < ROUND_TRIPS; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			die("pipe");
	close(there[0]);
	close(there[1]);
	waitpid(child, NULL, 0);
	close(back[0]);
	close(back[1]);
}

/* A file in memory, written and read. */
static void files(void)
{
	static char block[64 * 1024];
	int file = open("/file", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (file < 0)
		die("/file");
	for (size_t done = 0; done < FILE_BYTES; done += sizeof(block))
		if (write(file, block, sizeof(block)) != (ssize_t)sizeof(block))
			die("write");
	lseek(file, 0, SEEK_SET);
	while (read(file, block, sizeof(block)) > 0)
		;
	close(file);
	unlink("/file");
}

/* What the kernel logs: it writes each byte to the serial port itself. */
static void messages(void)
{
	static const char line[] = "<1>workload: a line of the kernel's log, forty-eight!\n";
	int log = open("/dev/kmsg", O_WRONLY);

	if (log < 0)
		die("/dev/kmsg");
	for (unsigned i = 0; i < LINES; i++)
		if (write(log, line, sizeof(line) - 1) < 0)
			die("/dev/kmsg");
	close(log);
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "memory", memory }, { "processes", processes }, { "pipes", pipes },
	{ "files", files },   { "messages", messages },
};
#define PARTS (sizeof(parts) / sizeof(*parts))

int main(void)
{
	uint64_t ticks[PARTS];

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	find_note();
	for (unsigned i = 0; i < LEARN_PAIRS; i++) {
		ring("", BELL_BEGIN, 0);
		ring("", BELL_END, 0);
	}
	for (unsigned i = 0; i < PARTS; i++) {
		uint64_t start;

		ring(parts[i].name, BELL_BEGIN, 0);
		start = now();
		parts[i].run();
		ticks[i] = now() - start;
		ring(parts[i].name, BELL_END, 1);
	}
	for (unsigned i = 0; i < PARTS; i++)
		printf("workload {\"part\":\"%s\",\"ticks\":%llu}\n", parts[i].name,
		       (unsigned long long)ticks[i]);
	printf("workload end\n");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
