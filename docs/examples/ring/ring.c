/*
 * What a switch between processes costs: a ring of processes joined by pipes, through which one byte
 * goes round, as the context-switch benchmark that HyperBench's section 6.4 takes from lmbench (McVoy
 * and Staelin, "lmbench: Portable Tools for Performance Analysis", USENIX ATC 1996, section 6.6). Each
 * process has a working set that it sums up before it hands the byte on.
 *
 * The control is one process alone that does the same reads, writes and sums through as many pipes:
 * run less control is the switch. Both are taken by the time stamp counter, in turns, and printed
 * as they are, a line of JSON for each ring.
 *
 * As a machine's first process it switches the machine off at the end; anywhere else it just ends.
 * All its processes stay on one CPU.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_PROCESSES 20
#define MOST_BYTES     (64 * 1024)
#define ROUNDS	       10 /* in one sample */
#define SAMPLES	       11

static const unsigned process_counts[] = { 2, 4, 8, 12, 16, 20 };
static const size_t working_sets[] = { 0, 16 * 1024, 64 * 1024 };

struct ring {
	unsigned processes;
	size_t bytes;
	int read_end[MOST_PROCESSES]; /* the pipe that process i reads from */
	int write_end[MOST_PROCESSES];
	pid_t children[MOST_PROCESSES];
};

static unsigned char working_set[MOST_BYTES];
static volatile unsigned long sum_of_all; /* so that the sums are not left out */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("mfence\n\tlfence\n\trdtsc\n\tlfence"
			 : "=a"(low), "=d"(high)
			 :
			 : "memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value) : : "memory");
	return value;
#endif
}

static void use_working_set(size_t bytes)
{
	unsigned long sum = 0;

	for (size_t i = 0; i < bytes; i += sizeof(sum)) {
		unsigned long word;

		memcpy(&word, working_set + i, sizeof(word));
		sum += word;
	}
	sum_of_all += sum;
}

/* Takes the byte from one pipe and gives it to another. False: the ring has ended. */
static int pass_on(int from, int to, size_t bytes)
{
	char token;

	if (read(from, &token, 1) != 1)
		return 0;
	use_working_set(bytes);
	if (write(to, &token, 1) != 1)
		die("write");
	return 1;
}

static void close_all(const struct ring *ring, int but_read, int but_write)
{
	for (unsigned i = 0; i < ring->processes; i++) {
		if (ring->read_end[i] != but_read)
			close(ring->read_end[i]);
		if (ring->write_end[i] != but_write)
			close(ring->write_end[i]);
	}
}

/* Process i reads pipe i and writes pipe i + 1; this process is number 0. */
static void make_ring(struct ring *ring)
{
	for (unsigned i = 0; i < ring->processes; i++) {
		int ends[2];

		if (pipe(ends))
			die("pipe");
		ring->read_end[i] = ends[0];
		ring->write_end[i] = ends[1];
	}
	for (unsigned i = 1; i < ring->processes; i++) {
		int from = ring->read_end[i], to = ring->write_end[(i + 1) % ring->processes];

		ring->children[i] = fork();
		if (ring->children[i] < 0)
			die("fork");
		if (ring->children[i] > 0)
			continue;
		close_all(ring, from, to);
		/* Pages of its own, as each process of a real load has. */
		memset(working_set, (int)i, sizeof(working_set));
		while (pass_on(from, to, ring->bytes))
			;
		_exit(0);
	}
}

static void end_ring(const struct ring *ring)
{
	close_all(ring, -1, -1);
	for (unsigned i = 1; i < ring->processes; i++)
		waitpid(ring->children[i], NULL, 0);
}

/* ROUNDS times round the ring. */
static uint64_t run(const struct ring *ring)
{
	uint64_t start = now();

	for (unsigned round = 0; round < ROUNDS; round++) {
		char token = 0;

		if (write(ring->write_end[1 % ring->processes], &token, 1) != 1)
			die("write");
		if (read(ring->read_end[0], &token, 1) != 1)
			die("read");
		use_working_set(ring->bytes);
	}
	return now() - start;
}

/* The same reads, writes and sums by this process alone. */
static uint64_t control(const struct ring *pipes)
{
	uint64_t start = now();

	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < pipes->processes; i++) {
			char token = 0;

			if (write(pipes->write_end[i], &token, 1) != 1)
				die("write");
			if (read(pipes->read_end[i], &token, 1) != 1)
				die("read");
			use_working_set(pipes->bytes);
		}
	return now() - start;
}

static void print_values(const char *name, const uint64_t *values)
{
	printf("\"%s\":[", name);
	for (unsigned i = 0; i < SAMPLES; i++)
		printf("%s%llu", i ? "," : "", (unsigned long long)values[i]);
	printf("]");
}

static void measure(unsigned processes, size_t bytes)
{
	struct ring ring = { .processes = processes, .bytes = bytes };
	struct ring pipes = { .processes = processes, .bytes = bytes };
	uint64_t with[SAMPLES], without[SAMPLES];

	make_ring(&ring);
	for (unsigned i = 0; i < processes; i++) {
		int ends[2];

		if (pipe(ends))
			die("pipe");
		pipes.read_end[i] = ends[0];
		pipes.write_end[i] = ends[1];
	}
	control(&pipes); /* and let every process come to its first read */
	run(&ring);
	for (unsigned i = 0; i < SAMPLES; i++) {
		without[i] = control(&pipes);
		with[i] = run(&ring);
	}
	end_ring(&ring);
	close_all(&pipes, -1, -1);

	printf("ring {\"processes\":%u,\"bytes\":%zu,\"iterations\":%u,", processes, bytes,
	       ROUNDS * processes);
	print_values("run", with);
	printf(",");
	print_values("control", without);
	printf("}\n");
	fflush(stdout);
}

int main(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_setaffinity(0, sizeof(first), &first))
		die("sched_setaffinity");
	memset(working_set, 1, sizeof(working_set));
	for (unsigned p = 0; p < sizeof(process_counts) / sizeof(*process_counts); p++)
		for (unsigned s = 0; s < sizeof(working_sets) / sizeof(*working_sets); s++)
			measure(process_counts[p], working_sets[s]);
	printf("ring end\n");
	fflush(stdout);
	if (getpid() == 1) {
		sync();
		reboot(RB_POWER_OFF);
	}
	return 0;
}
