/*
 * The first process of a Linux guest that uses a virtio disk, for the tests of elvis; a static program. The
 * kernel's command line, which becomes its environment, has its job:
 *
 *	job=files	formats the disk (ext4), warms up, waits for a line, writes `mib=N` MiB to a file and
 *			syncs, reads them back, and compares checksums. Requests have 4 KiB and bypass the
 *			page cache (O_DIRECT), which would merge them into few large ones.
 *	job=numbers	THREADS threads write increasing numbers to blocks of their own and read them
 *			back, until the host sends a line: a smaller number shows a write that was
 *			lost or repeated, or a page that the disk wrote and a migration did not copy
 *	job=grown	waits until the disk has grown `times=N` times, and writes and reads its last block each time
 *
 * /modules has the kernel's modules, /sbin/mke2fs formats. Each line of output starts with "disk: "; the
 * last is "disk: done" or an error. Then the machine is powered off.
 */
#define _GNU_SOURCE
#define SAYS "disk: "
#include "linux_guest.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#define DISK  "/dev/vda"
#define FILES "/mnt"
#define BLOCK 4096u
#define WARM  (8u << 20)

#define THREADS 4
/* Blocks of each thread. */
#define OWN	4
/* A thread checks what it has read after this many more reads. */
#define LATE	32

static void wait_for_disk(void)
{
	for (int tries = 0; access(DISK, R_OK) < 0; tries++) {
		need(tries < 1000, "there is no " DISK);
		usleep(10000);
	}
}

/* Bit 34 of the features that device and driver use: VIRTIO_F_RING_PACKED. */
static void say_ring(void)
{
	char bits[65] = "";
	FILE *features;

	mkdir("/sys", 0555);
	need(mount("sysfs", "/sys", "sysfs", 0, NULL) == 0, "can't mount /sys: %m");
	features = fopen("/sys/block/vda/device/features", "r");
	need(features && fgets(bits, sizeof(bits), features), "can't read the disk's features");
	fclose(features);
	say("%s ring", bits[34] == '1' ? "packed" : "split");
}

static void format(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		execl("/sbin/mke2fs", "mke2fs", "-q", "-F", "-t", "ext4", DISK, (char *)NULL);
		_exit(127);
	}
	need(child > 0 && waitpid(child, &status, 0) == child && status == 0,
	     "mke2fs ended with %#x", (unsigned)status);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t add_to_checksum(uint64_t sum, const uint64_t *words)
{
	/* FNV-1a, by words. */
	for (unsigned i = 0; i < BLOCK / sizeof(*words); i++)
		sum = (sum ^ words[i]) * 0x100000001b3u;
	return sum;
}

static uint64_t *buffer(void)
{
	uint64_t *memory = aligned_alloc(BLOCK, BLOCK);

	need(memory, "no memory");
	return memory;
}

/* Writes a file of random words, and syncs it to the disk. Returns its checksum. */
static uint64_t write_file(const char *path, unsigned bytes)
{
	uint64_t *words = buffer(), state = 0x9e3779b97f4a7c15u, sum = 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);

	need(fd >= 0, "can't make %s: %m", path);
	for (unsigned done = 0; done < bytes; done += BLOCK) {
		for (unsigned i = 0; i < BLOCK / sizeof(*words); i++)
			words[i] = next_random(&state);
		sum = add_to_checksum(sum, words);
		need(write(fd, words, BLOCK) == BLOCK, "a write to %s failed: %m", path);
	}
	need(fsync(fd) == 0, "%s can't be synced: %m", path);
	close(fd);
	sync();
	return sum;
}

static uint64_t read_file(const char *path, unsigned bytes)
{
	uint64_t *words = buffer(), sum = 0;
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	need(fd >= 0, "can't open %s: %m", path);
	for (unsigned done = 0; done < bytes; done += BLOCK) {
		need(read(fd, words, BLOCK) == BLOCK, "a read of %s failed: %m", path);
		sum = add_to_checksum(sum, words);
	}
	close(fd);
	return sum;
}

static void mount_disk(void)
{
	need(mount(DISK, FILES, "ext4", 0, NULL) == 0, "can't mount " DISK ": %m");
}

static void files(unsigned bytes)
{
	uint64_t wrote, found;

	format();
	say("formatted");
	mount_disk();
	write_file(FILES "/warm", WARM);
	say("warm");
	wait_for_host();
	wrote = write_file(FILES "/data", bytes);
	say("written");
	need(umount(FILES) == 0, "can't unmount: %m");
	mount_disk();
	found = read_file(FILES "/data", bytes);
	need(found == wrote, "%016" PRIx64 " was written, %016" PRIx64 " read", wrote, found);
	need(umount(FILES) == 0, "can't unmount: %m");
	say("checksum of %u bytes is right", bytes);
	wait_for_host();
}

static atomic_bool enough_numbers;

static void write_number(int fd, uint64_t *words, uint64_t number, unsigned block)
{
	for (unsigned i = 0; i < BLOCK / sizeof(*words); i++)
		words[i] = number;
	need(pwrite(fd, words, BLOCK, (off_t)block * BLOCK) == BLOCK, "a write failed: %m");
}

/* A read whose buffer is checked later, as a migration may copy the page in between. */
struct late {
	uint64_t *words, number;
	unsigned block;
};

static void read_number(int fd, struct late *late, uint64_t number, unsigned block)
{
	need(pread(fd, late->words, BLOCK, (off_t)block * BLOCK) == BLOCK, "a read failed: %m");
	late->number = number;
	late->block = block;
}

static void check_number(const struct late *late)
{
	const uint64_t *words = late->words, number = late->number;

	for (unsigned i = 0; i < BLOCK / sizeof(*words); i++)
		need(words[i] == number, "block %u: %" PRIu64 " was written, %" PRIu64 " read",
		     late->block, number, words[i]);
}

static void *count_up(void *thread)
{
	unsigned first = OWN * *(unsigned *)thread;
	uint64_t last[OWN] = { 0 }, number = 0, random = first + 1, *words = buffer();
	struct late late[LATE] = { 0 };
	unsigned reads = 0;
	int fd = open(DISK, O_RDWR | O_DIRECT | O_CLOEXEC);

	need(fd >= 0, "can't open " DISK ": %m");
	for (unsigned i = 0; i < LATE; i++)
		late[i].words = buffer();
	while (!enough_numbers) {
		struct late *next = &late[reads % LATE];

		unsigned block = (unsigned)(++number % OWN);

		write_number(fd, words, number, first + block);
		last[block] = number;
		block = (unsigned)(next_random(&random) % OWN);
		if (last[block] == 0)
			continue;
		if (reads++ >= LATE)
			check_number(next);
		read_number(fd, next, last[block], first + block);
	}
	for (unsigned i = 0; i < LATE && i < reads; i++)
		check_number(&late[i]);
	for (unsigned block = 0; block < OWN; block++) {
		read_number(fd, &late[0], last[block], first + block);
		check_number(&late[0]);
	}
	close(fd);
	return (void *)number;
}

static void numbers(void)
{
	pthread_t threads[THREADS];
	unsigned order[THREADS];
	uintptr_t all = 0;

	say("warm");
	for (unsigned i = 0; i < THREADS; i++) {
		order[i] = i;
		need(pthread_create(&threads[i], NULL, count_up, &order[i]) == 0, "no thread");
	}
	wait_for_host();
	enough_numbers = true;
	for (unsigned i = 0; i < THREADS; i++) {
		void *count = NULL;

		pthread_join(threads[i], &count);
		all += (uintptr_t)count;
	}
	say("%ju numbers are right", (uintmax_t)all);
}

static uint64_t disk_bytes(int fd)
{
	uint64_t bytes = 0;

	need(ioctl(fd, BLKGETSIZE64, &bytes) == 0, "no size of " DISK ": %m");
	return bytes;
}

/* The kernel changes the size of a disk in use when the disk interrupts it, and never otherwise. */
static void grown(unsigned times)
{
	uint64_t bytes, now, *words = buffer();
	struct late last = { .words = buffer() };
	int block = 0, fd = open(DISK, O_RDWR | O_DIRECT | O_CLOEXEC);

	need(fd >= 0, "can't open " DISK ": %m");
	need(ioctl(fd, BLKSSZGET, &block) == 0, "no block size of " DISK ": %m");
	bytes = disk_bytes(fd);
	say("has %" PRIu64 " bytes, in blocks of %d", bytes, block);
	while (times-- > 0) {
		while ((now = disk_bytes(fd)) == bytes)
			usleep(10000);
		need(now > bytes, "the disk shrank from %" PRIu64 " to %" PRIu64 " bytes", bytes,
		     now);
		bytes = now;
		write_number(fd, words, bytes, (unsigned)(bytes / BLOCK) - 1);
		read_number(fd, &last, bytes, (unsigned)(bytes / BLOCK) - 1);
		check_number(&last);
		say("uses %" PRIu64 " bytes", bytes);
	}
	close(fd);
}

int main(void)
{
	const char *job = getenv("job"), *mib = getenv("mib"), *times = getenv("times");

	mount_devices();
	mkdir(FILES, 0755);
	load_modules();
	wait_for_disk();
	say_ring();
	if (job && strcmp(job, "files") == 0 && mib)
		files((unsigned)strtoul(mib, NULL, 10) << 20);
	else if (job && strcmp(job, "numbers") == 0)
		numbers();
	else if (job && strcmp(job, "grown") == 0 && times)
		grown((unsigned)strtoul(times, NULL, 10));
	else
		need(false, "no job that is known");
	say("done");
	stop(0);
}
