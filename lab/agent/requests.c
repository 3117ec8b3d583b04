/* Requests to a device; see requests.h. */
#include "machine.h"
#include "requests.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WARM_UP	      200
#define BLOCK_BYTES   4096
/* Blocks between two reads: odd, so that each block is read before one is read again, and more than one, so
 * that the block layer merges nothing. */
#define STRIDE	      37
#define ECHO_BYTES    64 /* ICMP's header and its data */
#define ECHO_ID	      77
#define REPLY_BYTES   256
#define REPLY_LIMIT_S 5

static const struct requests *requests;
static int device = -1;
static pid_t busy;
static uint64_t made; /* since the device was opened */
static char why[200]; /* what failed */

static unsigned char *buffers; /* a block for each request at a time */
static uint64_t blocks;
static aio_context_t context;
static struct iocb controls[MAX_DEPTH], *free_controls[MAX_DEPTH];

static bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fail(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(why, sizeof(why), format, values);
	va_end(values);
	return false;
}

static bool open_disk(void)
{
	off_t bytes;

	device = open(requests->device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (device < 0)
		return fail("can't open %s: %s", requests->device, strerror(errno));
	bytes = lseek(device, 0, SEEK_END);
	if (bytes < BLOCK_BYTES)
		return fail("%s has no block", requests->device);
	blocks = (uint64_t)bytes / BLOCK_BYTES;
	buffers = mmap(NULL, MAX_DEPTH * BLOCK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffers == MAP_FAILED) {
		buffers = NULL;
		return fail("no memory: %s", strerror(errno));
	}
	/* Disks are full of zeroes. */
	memset(buffers, 0xff, MAX_DEPTH * BLOCK_BYTES);
	if (requests->depth > 1 && syscall(SYS_io_setup, requests->depth, &context) < 0)
		return fail("there is no asynchronous I/O: %s", strerror(errno));
	return true;
}

static bool open_net(void)
{
	struct timeval limit = { .tv_sec = REPLY_LIMIT_S };
	struct sockaddr_in address = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, requests->device, &address.sin_addr) != 1)
		return fail("%s is no address", requests->device);
	device = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	if (device < 0 || setsockopt(device, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    connect(device, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail("can't reach %s: %s", requests->device, strerror(errno));
	return true;
}

static off_t next_place(void)
{
	return (off_t)(made++ * STRIDE % blocks * BLOCK_BYTES);
}

static bool read_one_at_a_time(uint64_t count)
{
	while (count-- > 0)
		if (pread(device, buffers, BLOCK_BYTES, next_place()) != BLOCK_BYTES)
			return fail("a read failed: %s", strerror(errno));
	return true;
}

/* Reads with all controls that are free, but at most `most`. */
static bool submit(unsigned *free_count, uint64_t most)
{
	struct iocb *batch[MAX_DEPTH];
	long count = 0;

	while (*free_count > 0 && (uint64_t)count < most) {
		struct iocb *control = free_controls[--*free_count];
		unsigned char *buffer = buffers + (control - controls) * BLOCK_BYTES;

		*control = (struct iocb){ .aio_lio_opcode = IOCB_CMD_PREAD,
					  .aio_fildes = (uint32_t)device,
					  .aio_buf = (uintptr_t)buffer,
					  .aio_nbytes = BLOCK_BYTES,
					  .aio_offset = next_place(),
					  .aio_data = (uintptr_t)control };
		batch[count++] = control;
	}
	return count == 0 || syscall(SYS_io_submit, context, count, batch) == count ||
	       fail("reads can't be submitted: %s", strerror(errno));
}

static bool read_many_at_a_time(uint64_t count)
{
	struct io_event events[MAX_DEPTH];
	unsigned free_count = (unsigned)requests->depth;
	uint64_t submitted = 0, done = 0;

	for (unsigned i = 0; i < free_count; i++)
		free_controls[i] = &controls[i];
	while (done < count) {
		unsigned before = free_count;
		long ended;

		if (!submit(&free_count, count - submitted))
			return false;
		submitted += before - free_count;
		ended = syscall(SYS_io_getevents, context, 1, MAX_DEPTH, events, NULL);
		if (ended < 1)
			return fail("no read ended: %s", strerror(errno));
		for (long i = 0; i < ended; i++) {
			if (events[i].res != BLOCK_BYTES)
				return fail("a read failed: result %lld", events[i].res);
			free_controls[free_count++] = (struct iocb *)(uintptr_t)events[i].data;
		}
		done += (uint64_t)ended;
	}
	return true;
}

static bool send_echo(void)
{
	union {
		struct icmphdr header;
		uint16_t words[ECHO_BYTES / 2];
	} echo = { .words = { 0 } };
	uint32_t sum = 0;

	echo.header.type = ICMP_ECHO;
	echo.header.un.echo.id = htons(ECHO_ID);
	echo.header.un.echo.sequence = htons((uint16_t)made++);
	for (unsigned i = 0; i < ECHO_BYTES / 2; i++)
		sum += echo.words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	echo.header.checksum = (uint16_t) ~(sum + (sum >> 16));
	return send(device, &echo, sizeof(echo), 0) == sizeof(echo) ||
	       fail("an echo can't be sent: %s", strerror(errno));
}

/* The socket gets no other messages: nobody else knows this network. */
static bool hear_reply(void)
{
	unsigned char packet[REPLY_BYTES];
	ssize_t bytes = recv(device, packet, sizeof(packet), 0);
	struct icmphdr header;

	if (bytes < 0)
		return fail("no reply came within %d s: %s", REPLY_LIMIT_S, strerror(errno));
	if (bytes != sizeof(struct iphdr) + ECHO_BYTES)
		return fail("a reply has %zd bytes", bytes);
	memcpy(&header, packet + sizeof(struct iphdr), sizeof(header));
	return (header.type == ICMP_ECHOREPLY && header.un.echo.id == htons(ECHO_ID)) ||
	       fail("what came is no reply: type %u", header.type);
}

static bool echo_all(uint64_t count)
{
	uint64_t sent = 0;

	for (uint64_t heard = 0; heard < count; heard++) {
		for (; sent < count && sent - heard < requests->depth; sent++)
			if (!send_echo())
				return false;
		if (!hear_reply())
			return false;
	}
	return true;
}

static bool make(uint64_t count)
{
	if (requests->kind == DEVICE_NET)
		return echo_all(count);
	return requests->depth == 1 ? read_one_at_a_time(count) : read_many_at_a_time(count);
}

/* Keeps the vCPU from ever being idle, and takes no time from anybody. No PAUSE: KVM would exit at each. */
static _Noreturn void be_busy(void)
{
	struct sched_param none = { .sched_priority = 0 };

	sched_setscheduler(0, SCHED_IDLE, &none);
	for (;;)
		__asm__ volatile("");
}

static bool start_busy(void)
{
	busy = fork();
	if (busy == 0)
		be_busy();
	return busy > 0 || fail("can't make a process: %s", strerror(errno));
}

bool requests_prepare(const struct requests *wanted, struct outcome *outcome)
{
	requests = wanted;
	made = 0;
	why[0] = '\0';
	if ((requests->kind == DEVICE_NET ? open_net() : open_disk()) &&
	    (!requests->busy || start_busy()) && make(WARM_UP))
		return true;
	requests_end(outcome);
	return false;
}

bool requests_make(uint64_t count, uint64_t *ticks)
{
	uint64_t begin = clock_now();
	bool done = make(count);

	*ticks = clock_now() - begin;
	return done;
}

/* Was each block that was read a disk's? */
static void check_blocks(void)
{
	for (unsigned i = 0; i < requests->depth; i++)
		for (unsigned at = 0; at < BLOCK_BYTES; at++)
			if (buffers[i * BLOCK_BYTES + at])
				(void)fail("a read gave other data than the disk has");
}

void requests_end(struct outcome *outcome)
{
	if (!*why && requests->kind == DEVICE_DISK)
		check_blocks();
	if (busy > 0) {
		kill(busy, SIGKILL);
		waitpid(busy, NULL, 0);
	}
	if (context)
		syscall(SYS_io_destroy, context);
	if (buffers)
		munmap(buffers, MAX_DEPTH * BLOCK_BYTES);
	if (device >= 0)
		close(device);
	busy = 0;
	context = 0;
	buffers = NULL;
	device = -1;
	*outcome = (struct outcome){ .status = *why ? 1 : 0 };
	snprintf(outcome->said, sizeof(outcome->said), "%s", why);
}
