/*
 * Stations of a network, for the tests of elvis' network devices; a static program. As the first process of a
 * Linux guest it gets its words from the kernel's command line, which becomes its environment; on the host its
 * arguments are the same words:
 *
 *	own=ADDRESS	its address on eth0 (10.0.0.0/24); in a guest only
 *	peer=ADDRESS	the other station
 *	job=serve	answers others, until the machine is stopped
 *	job=talk	pings the other station, warms up, waits for a line, then sends and fetches `mib=N`
 *			MiB by TCP and compares checksums, and makes `trips=N` round trips of
 *			64 bytes
 *	job=count	makes round trips with increasing numbers on one connection, until the host sends
 *			a line: a number that is not returned shows a connection that did not live on
 *
 * /modules has the kernel's modules. Each line of output starts with "net: "; the last is "net: done" or an
 * error. A guest's machine is then powered off.
 */
#define _GNU_SOURCE
#define SAYS "net: "
#include "linux_guest.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define PORT  7
#define PINGS 5
#define WARM  (2u << 20)
#define CHUNK 65536u

/* What a connection is for, its first byte. */
#define SINK   's'
#define SOURCE 'S'
#define TRIP   'e'

static struct sockaddr_in address_of(const char *text, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	need(text && inet_aton(text, &address.sin_addr), "no address: %s", text ? text : "none");
	return address;
}

/* Gives eth0 its address, and starts it. */
static void set_up(const char *own)
{
	struct ifreq request = { .ifr_name = "eth0" };
	struct sockaddr_in address = address_of(own, 0), mask = address_of("255.255.255.0", 0);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), tries = 0;

	need(fd >= 0, "no socket: %m");
	memcpy(&request.ifr_addr, &address, sizeof(address));
	while (ioctl(fd, SIOCSIFADDR, &request) < 0) {
		need(errno == ENODEV && tries++ < 1000, "can't set the address of eth0: %m");
		usleep(10000);
	}
	memcpy(&request.ifr_netmask, &mask, sizeof(mask));
	need(ioctl(fd, SIOCSIFNETMASK, &request) == 0, "can't set the mask of eth0: %m");
	need(ioctl(fd, SIOCGIFFLAGS, &request) == 0, "eth0 has no flags: %m");
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
	need(ioctl(fd, SIOCSIFFLAGS, &request) == 0, "can't start eth0: %m");
	close(fd);
}

static uint64_t add_to_checksum(uint64_t sum, const uint8_t *bytes, size_t count)
{
	/* FNV-1a. */
	for (size_t i = 0; i < count; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3u;
	return sum;
}

static bool write_all(int fd, const void *from, size_t count)
{
	const uint8_t *bytes = from;

	while (count > 0) {
		ssize_t done = write(fd, bytes, count);

		if (done <= 0)
			return false;
		bytes += done;
		count -= (size_t)done;
	}
	return true;
}

static bool read_all(int fd, void *to, size_t count)
{
	uint8_t *bytes = to;

	while (count > 0) {
		ssize_t done = read(fd, bytes, count);

		if (done <= 0)
			return false;
		bytes += done;
		count -= (size_t)done;
	}
	return true;
}

/* Sends this many bytes. Returns their checksum in *sum. */
static bool send_data(int fd, uint64_t count, uint64_t *sum)
{
	uint64_t state = count + 0x9e3779b97f4a7c15u;
	uint8_t *bytes = malloc(CHUNK);
	bool sent = bytes;

	*sum = 0;
	for (uint64_t done = 0; sent && done < count; done += CHUNK) {
		for (unsigned i = 0; i < CHUNK; i += 8) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			memcpy(bytes + i, &state, 8);
		}
		*sum = add_to_checksum(*sum, bytes, CHUNK);
		sent = write_all(fd, bytes, CHUNK);
	}
	free(bytes);
	return sent;
}

static bool fetch_data(int fd, uint64_t count, uint64_t *sum)
{
	uint8_t *bytes = malloc(CHUNK);
	bool got = bytes;

	*sum = 0;
	for (uint64_t done = 0; got && done < count; done += CHUNK) {
		got = read_all(fd, bytes, CHUNK);
		*sum = add_to_checksum(*sum, bytes, CHUNK);
	}
	free(bytes);
	return got;
}

/* One connection of a server. */
static void *answer(void *connection)
{
	int fd = (int)(intptr_t)connection;
	uint8_t kind = 0, echo[64];
	uint64_t count = 0, sum = 0;

	if (read_all(fd, &kind, 1) && read_all(fd, &count, sizeof(count))) {
		if (kind == SINK && fetch_data(fd, count, &sum))
			write_all(fd, &sum, sizeof(sum));
		if (kind == SOURCE && send_data(fd, count, &sum))
			write_all(fd, &sum, sizeof(sum));
		while (kind == TRIP && read_all(fd, echo, sizeof(echo)))
			write_all(fd, echo, sizeof(echo));
	}
	close(fd);
	return NULL;
}

static void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static _Noreturn void serve(void)
{
	struct sockaddr_in any = address_of("0.0.0.0", PORT);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	need(listener >= 0, "no socket: %m");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	need(bind(listener, (struct sockaddr *)&any, sizeof(any)) == 0, "can't bind: %m");
	need(listen(listener, 16) == 0, "can't listen: %m");
	say("serves");
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		pthread_t thread;

		if (fd < 0)
			continue;
		no_delay(fd);
		if (pthread_create(&thread, NULL, answer, (void *)(intptr_t)fd) == 0)
			pthread_detach(thread);
	}
}

/* Connects; the other station may not be there yet. */
static int connect_to(const char *peer, uint8_t kind, uint64_t count)
{
	struct sockaddr_in address = address_of(peer, PORT);

	for (int tries = 0; tries < 600; tries++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		need(fd >= 0, "no socket: %m");
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
			no_delay(fd);
			need(write_all(fd, &kind, 1) && write_all(fd, &count, sizeof(count)),
			     "the connection broke: %m");
			return fd;
		}
		close(fd);
		usleep(100000);
	}
	need(false, "can't connect to %s: %m", peer);
	return -1;
}

static uint16_t internet_checksum(const void *data, size_t count)
{
	const uint8_t *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < count; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static void ping(const char *peer)
{
	struct sockaddr_in address = address_of(peer, 0);
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	uint8_t reply[256];
	unsigned got = 0;

	need(fd >= 0, "no raw socket: %m");
	for (uint16_t number = 0; got < PINGS; number++) {
		struct {
			struct icmphdr head;
			uint8_t data[56];
		} request = { .head = { .type = ICMP_ECHO } };
		struct pollfd readable = { .fd = fd, .events = POLLIN };

		need(number < 600, "%s does not answer pings", peer);
		request.head.un.echo.sequence = htons(number);
		request.head.checksum = internet_checksum(&request, sizeof(request));
		/* It fails until the address is resolved. */
		if (sendto(fd, &request, sizeof(request), 0, (struct sockaddr *)&address,
			   sizeof(address)) < 0)
			usleep(100000);
		while (poll(&readable, 1, 500) == 1) {
			ssize_t count = read(fd, reply, sizeof(reply));
			struct icmphdr head;

			if (count < (ssize_t)(sizeof(struct iphdr) + sizeof(head)))
				continue;
			memcpy(&head, reply + sizeof(struct iphdr), sizeof(head));
			if (head.type == ICMP_ECHOREPLY && head.un.echo.sequence == htons(number)) {
				got++;
				break;
			}
		}
	}
	close(fd);
	say("%u pings were answered", got);
}

static void move_data(const char *peer, uint8_t kind, uint64_t count)
{
	int fd = connect_to(peer, kind, count);
	uint64_t sum = 0, theirs = 1;
	bool moved = kind == SINK ? send_data(fd, count, &sum) : fetch_data(fd, count, &sum);

	need(moved && read_all(fd, &theirs, sizeof(theirs)), "the connection broke: %m");
	need(sum == theirs, "the checksum is %016" PRIx64 " here and %016" PRIx64 " there", sum,
	     theirs);
	close(fd);
}

static void round_trip(int fd, uint64_t number)
{
	uint64_t message[8] = { number, ~number }, back[8] = { 0 };

	need(write_all(fd, message, sizeof(message)) && read_all(fd, back, sizeof(back)),
	     "the connection broke at %" PRIu64 ": %m", number);
	need(memcmp(message, back, sizeof(back)) == 0, "%" PRIu64 " came back as %" PRIu64, number,
	     back[0]);
}

static void talk(const char *peer, uint64_t count, unsigned trips)
{
	int fd;

	ping(peer);
	move_data(peer, SINK, WARM);
	move_data(peer, SOURCE, WARM);
	fd = connect_to(peer, TRIP, 0);
	for (unsigned i = 0; i < trips / 4; i++)
		round_trip(fd, i);
	say("warm");
	wait_for_host();
	move_data(peer, SINK, count);
	move_data(peer, SOURCE, count);
	say("checksums of %" PRIu64 " bytes are right", count);
	for (unsigned i = 0; i < trips; i++)
		round_trip(fd, i);
	say("%u round trips", trips);
	close(fd);
	wait_for_host();
}

static void count_up(const char *peer)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int fd = connect_to(peer, TRIP, 0);
	uint64_t number = 0;

	say("warm");
	while (poll(&input, 1, 0) == 0)
		round_trip(fd, number++);
	wait_for_host();
	say("%" PRIu64 " numbers came back", number);
	close(fd);
}

int main(int count, char **words)
{
	const char *job, *peer, *mib, *trips;

	for (int i = 1; i < count; i++)
		putenv(words[i]);
	job = getenv("job");
	peer = getenv("peer");
	mib = getenv("mib");
	trips = getenv("trips");
	if (getpid() == 1) {
		mount_devices();
		load_modules();
		set_up(getenv("own"));
	}
	if (job && strcmp(job, "serve") == 0)
		serve();
	else if (job && strcmp(job, "talk") == 0 && mib && trips)
		talk(peer, strtoull(mib, NULL, 10) << 20, (unsigned)strtoul(trips, NULL, 10));
	else if (job && strcmp(job, "count") == 0)
		count_up(peer);
	else
		need(false, "no job that is known");
	say("done");
	stop(0);
}
