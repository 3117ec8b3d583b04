/* Pings; see pings.h. */
#include "host/pings.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "files.h"

#define MEMORY_FILE  "/run/clock"
#define MEMORY_BYTES 4096
#define DEVICES	     "/sys/bus/pci/devices/*"
#define VENDOR	     "0x1af4\n"
#define DEVICE	     "0x1110\n"

#define ROUND_TRIPS 4000
/* On a busy host both sides seldom run at once; a session takes some ms else. */
#define SESSION_NS  10000000000
/* The VM gives up. */
#define ANSWER_NS   60000000000
#define OVER	    UINT64_MAX

/* Each side writes a line of the cache of its own. */
struct memory {
	_Atomic uint64_t ping;
	uint64_t unused[7];
	_Atomic uint64_t pong;
	_Atomic uint64_t there_ns;
};

static struct memory *memory;

/* The clock of captures. */
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static const char *map(const char *path)
{
	static char why[160];
	int fd;
	void *mapped;

	if (memory)
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC);
	mapped = fd < 0 ? MAP_FAILED
			: mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		snprintf(why, sizeof(why), "the clocks can't be compared: %.80s: %s", path,
			 strerror(errno));
	else
		memory = mapped;
	if (fd >= 0)
		close(fd);
	return memory ? NULL : why;
}

/* ---- The host's side ------------------------------------------------------------------------- */

static struct round_trip all[ROUND_TRIPS];
static unsigned count;
static uint64_t number; /* of the last ping */
static uint64_t first_there;
static pthread_t pinger;
static atomic_bool stopped;

/* False: nobody answers any more. */
static bool ping(struct round_trip *trip)
{
	trip->sent = now_ns();
	atomic_store_explicit(&memory->ping, ++number, memory_order_release);
	while (atomic_load_explicit(&memory->pong, memory_order_acquire) != number)
		if (atomic_load_explicit(&stopped, memory_order_relaxed))
			return false;
	trip->back = now_ns();
	trip->there = atomic_load_explicit(&memory->there_ns, memory_order_relaxed);
	return true;
}

static void *ping_all(void *unused)
{
	uint64_t end_ns = UINT64_MAX;

	while (count < ROUND_TRIPS && ping(&all[count])) {
		/* The first answer takes until the VM has its order. */
		if (count++ == 0) {
			end_ns = all[0].back + SESSION_NS;
			first_there = all[0].there;
		} else if (all[count - 1].back > end_ns) {
			break;
		}
	}
	atomic_store_explicit(&memory->ping, OVER, memory_order_release);
	return unused;
}

const char *pings_start(void)
{
	const char *wrong = map(MEMORY_FILE);

	if (wrong)
		return wrong;
	count = 0;
	first_there = 0;
	atomic_store(&stopped, false);
	/* Nothing of the last session: the VM may look before the first ping. */
	atomic_store_explicit(&memory->pong, number, memory_order_relaxed);
	atomic_store_explicit(&memory->ping, number, memory_order_release);
	return pthread_create(&pinger, NULL, ping_all, NULL) == 0
		       ? NULL
		       : "the clocks can't be compared: no thread";
}

uint64_t pings_first(void)
{
	return first_there;
}

unsigned pings_stop(const struct round_trip **trips)
{
	atomic_store(&stopped, true);
	pthread_join(pinger, NULL);
	*trips = all;
	return fit_keep(all, count);
}

/* ---- The VM's side --------------------------------------------------------------------------- */

static bool file_is(const char *folder, const char *file, const char *expected)
{
	char path[160], text[16];
	size_t bytes;

	snprintf(path, sizeof(path), "%.120s/%s", folder, file);
	bytes = file_read(path, text, sizeof(text));
	return bytes == strlen(expected) && memcmp(text, expected, bytes) == 0;
}

/* BAR 2 of the device. */
static const char *map_device(void)
{
	const char *wrong = "the clocks can't be compared: there is no ivshmem";
	char path[160];
	glob_t found;

	if (glob(DEVICES, 0, NULL, &found) != 0)
		return wrong;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (!file_is(found.gl_pathv[i], "vendor", VENDOR) ||
		    !file_is(found.gl_pathv[i], "device", DEVICE))
			continue;
		snprintf(path, sizeof(path), "%.120s/enable", found.gl_pathv[i]);
		(void)file_write(path, "1");
		snprintf(path, sizeof(path), "%.120s/resource2", found.gl_pathv[i]);
		wrong = map(path);
	}
	globfree(&found);
	return wrong;
}

const char *pings_answer(uint64_t *first)
{
	const char *wrong = memory ? NULL : map_device();
	uint64_t begin_ns = now_ns(), last, ping, now;

	if (wrong)
		return wrong;
	last = atomic_load_explicit(&memory->pong, memory_order_relaxed);
	*first = 0;
	while ((ping = atomic_load_explicit(&memory->ping, memory_order_acquire)) != OVER) {
		now = now_ns();
		if (now - begin_ns > ANSWER_NS)
			return "the clocks can't be compared: the host is silent";
		if (ping == last)
			continue;
		atomic_store_explicit(&memory->there_ns, now, memory_order_relaxed);
		atomic_store_explicit(&memory->pong, ping, memory_order_release);
		last = ping;
		if (!*first)
			*first = now;
	}
	return NULL;
}
