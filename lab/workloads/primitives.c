/*
 * What a kernel does most, as lmbench measures it, with fixed counts: a program of the workloads
 * context-switch-*, pipe, pipe-alone, fork-exit, mmap and page-fault, which compile it in the machine.
 *	primitives switch PROCESSES KIB HOPS	a token goes round a ring of processes, as in lat_ctx
 *	primitives pipe TRIPS			a byte there and back between two processes, as in lat_pipe
 *	primitives alone KIB BYTES		a byte through a pipe without another process: what lat_ctx takes off
 *	primitives fork COUNT			a child that exits, as in lat_proc fork
 *	primitives mmap KIB COUNT		maps a file in memory, touches it, unmaps it, as in lat_mmap
 *	primitives fault KIB PAGES		the first write to a page of a mapping, as in lat_pagefault
 * It prints one line for the workload's proof if the kernel counted what is to be measured; else it says what is
 * wrong, and fails.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 64
#define KIB	      1024
/* lat_mmap touches a mapping at these distances. */
#define TOUCHED	      (16 * KIB)
#define MAPPED	      "/tmp/mapped"

static _Noreturn void fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(1);
}

static unsigned long number(const char *word)
{
	char *end;
	unsigned long value = strtoul(word, &end, 10);

	if (*end || end == word)
		fail("%s is no number", word);
	return value;
}

/* The working set, which each process has for itself. */
struct set {
	unsigned *words;
	size_t count;
};

static struct set set_of(unsigned long kib)
{
	struct set set = { .count = kib * KIB / sizeof(unsigned) };

	set.words = calloc(set.count + 1, sizeof(unsigned));
	if (!set.words)
		fail("no memory for %lu KiB", kib);
	return set;
}

/* Not to be seen through by the compiler: the sum is used nowhere. */
static void work(const struct set *set)
{
	volatile unsigned used;
	unsigned sum = 0;

	for (size_t i = 0; i < set->count; i++)
		sum += set->words[i];
	used = sum;
	(void)used;
}

static void give(int to)
{
	if (write(to, "t", 1) != 1)
		fail("a pipe can't be written");
}

/* False: its other end is closed. */
static bool take(int from)
{
	char token;

	return read(from, &token, 1) == 1;
}

static void pipe_new(int ends[2])
{
	if (pipe(ends) < 0)
		fail("there is no pipe");
}

static pid_t fork_new(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		fail("there is no process");
	return child;
}

static void wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		fail("a child failed");
}

static struct rusage usage(int of)
{
	struct rusage usage;

	if (getrusage(of, &usage) < 0)
		fail("the kernel has no counts");
	return usage;
}

/* How often such processes gave their CPU to another one, because they waited or were preempted. */
static unsigned long switched(int of)
{
	struct rusage counted = usage(of);

	return (unsigned long)(counted.ru_nvcsw + counted.ru_nivcsw);
}

/* On one CPU a process that is given the token can run only if the one before it stops. */
static void stay_on_cpu(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	if (cpu < 0)
		fail("the kernel does not say which CPU this is");
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		fail("CPU %d can't be kept", cpu);
}

/* A process of the ring, until the one before it is gone. */
static _Noreturn void pass_on(int from, int to, struct set set)
{
	while (take(from)) {
		work(&set);
		give(to);
	}
	_exit(0);
}

/* Starts the processes of the ring but the first: [1, processes). Process i reads pipe i and writes the next one. */
static void ring_start(int pipes[][2], unsigned long processes, unsigned long kib, pid_t children[])
{
	for (unsigned long i = 1; i < processes; i++) {
		children[i] = fork_new();
		if (children[i])
			continue;
		/* Every other end is closed, so that the ring ends when its first process closes its own. */
		for (unsigned long other = 0; other < processes; other++) {
			if (other != i)
				close(pipes[other][0]);
			if (other != (i + 1) % processes)
				close(pipes[other][1]);
		}
		pass_on(pipes[i][0], pipes[(i + 1) % processes][1], set_of(kib));
	}
}

static void ring(unsigned long processes, unsigned long kib, unsigned long hops)
{
	int pipes[MAX_PROCESSES][2];
	pid_t children[MAX_PROCESSES];
	struct set set = set_of(kib);
	unsigned long rounds = hops / processes, switches;

	if (processes < 2 || processes > MAX_PROCESSES || hops % processes)
		fail("2 to %d processes, and as many hops as whole rounds have", MAX_PROCESSES);
	stay_on_cpu();
	for (unsigned long i = 0; i < processes; i++)
		pipe_new(pipes[i]);
	ring_start(pipes, processes, kib, children);
	for (unsigned long round = 0; round < rounds; round++) {
		give(pipes[1][1]);
		if (!take(pipes[0][0]))
			fail("the ring broke");
		work(&set);
	}
	for (unsigned long i = 0; i < processes; i++)
		close(pipes[i][1]);
	for (unsigned long i = 1; i < processes; i++)
		wait_for(children[i]);
	switches = switched(RUSAGE_SELF) + switched(RUSAGE_CHILDREN);
	if (switches < hops)
		fail("%lu switches in %lu hops", switches, hops);
	printf("hops %lu\n", hops);
}

static void alone(unsigned long kib, unsigned long bytes)
{
	struct set set = set_of(kib);
	int ends[2];

	pipe_new(ends);
	for (unsigned long i = 0; i < bytes; i++) {
		give(ends[1]);
		if (!take(ends[0]))
			fail("the pipe broke");
		work(&set);
	}
	printf("bytes %lu\n", bytes);
}

static void children(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		pid_t child = fork_new();

		if (!child)
			_exit(0);
		wait_for(child);
	}
	printf("children %lu\n", count);
}

/* A file in memory, all of it there. */
static FILE *file_new(unsigned long kib)
{
	FILE *file = fopen(MAPPED, "w+");
	static const char block[KIB];

	if (!file)
		fail("there is no %s", MAPPED);
	for (unsigned long i = 0; i < kib; i++)
		if (fwrite(block, sizeof(block), 1, file) != 1)
			fail("%s can't be written", MAPPED);
	if (fflush(file))
		fail("%s can't be written", MAPPED);
	return file;
}

static volatile char *map(FILE *file, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);

	if (at == MAP_FAILED)
		fail("%s can't be mapped", MAPPED);
	return at;
}

static void unmap(volatile char *at, size_t bytes)
{
	if (munmap((void *)(uintptr_t)at, bytes) < 0)
		fail("%s can't be unmapped", MAPPED);
}

static void mappings(unsigned long kib, unsigned long count)
{
	FILE *file = file_new(kib);
	size_t bytes = kib * KIB;

	for (unsigned long i = 0; i < count; i++) {
		volatile char *at = map(file, bytes);

		for (size_t offset = 0; offset < bytes; offset += TOUCHED)
			at[offset] = 1;
		unmap(at, bytes);
	}
	if ((unsigned long)usage(RUSAGE_SELF).ru_minflt < count * (bytes / TOUCHED))
		fail("fewer faults than pages were touched");
	printf("mappings %lu\n", count);
	fclose(file);
}

static void faults(unsigned long kib, unsigned long pages)
{
	FILE *file = file_new(kib);
	size_t bytes = kib * KIB, page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *at = map(file, bytes);
	unsigned long done = 0;

	while (done < pages) {
		for (size_t offset = 0; offset < bytes && done < pages; offset += page, done++)
			at[offset] = 1;
		/* The pages stay in memory; the mapping no longer knows them. */
		if (madvise((void *)(uintptr_t)at, bytes, MADV_DONTNEED) < 0)
			fail("the mapping can't be emptied");
	}
	if ((unsigned long)usage(RUSAGE_SELF).ru_minflt < pages)
		fail("fewer faults than pages were touched");
	printf("faults %lu\n", pages);
	fclose(file);
}

int main(int count, char **words)
{
	unsigned long numbers[3] = { 0 };
	const char *kind = count > 1 ? words[1] : "";

	for (int i = 2; i < count && i < 5; i++)
		numbers[i - 2] = number(words[i]);
	if (strcmp(kind, "switch") == 0 && count == 5)
		ring(numbers[0], numbers[1], numbers[2]);
	else if (strcmp(kind, "pipe") == 0 && count == 3)
		ring(2, 0, numbers[0] * 2);
	else if (strcmp(kind, "alone") == 0 && count == 4)
		alone(numbers[0], numbers[1]);
	else if (strcmp(kind, "fork") == 0 && count == 3)
		children(numbers[0]);
	else if (strcmp(kind, "mmap") == 0 && count == 4)
		mappings(numbers[0], numbers[1]);
	else if (strcmp(kind, "fault") == 0 && count == 4)
		faults(numbers[0], numbers[1]);
	else
		fail("the head of primitives.c has what it can do");
	return 0;
}
