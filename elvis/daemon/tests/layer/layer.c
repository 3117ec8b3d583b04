/*
 * A disk that can lose its power, for tests: preloaded into the daemon (LD_PRELOAD), between it and the file of its
 * one disk.
 *
 * The file `image` is the page cache: it has all writes, and outlives a daemon that is killed. The file `stable` is
 * the platter: a block gets there when it is synced. The file `control` says which blocks differ, and which sync fails.
 * The test loses the power: it kills the daemon and copies `stable` over `image`.
 *
 * A sync that fails is as Linux has it (fsync(2), errseq): one caller gets the error, and the blocks count as written
 * though they are not, so the next sync succeeds.
 *
 * Requests by io_uring are done here when they are submitted; the kernel then does the same write
 * again. No request of the test goes to a block that has another in flight.
 *
 * After the daemon has confined itself (seccomp) this code makes no system call of its own: files are mapped.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define BLOCK  4096u
#define BLOCKS 64u
#define BYTES  ((uint64_t)BLOCK * BLOCKS)

/* Shared with the test (layer/mod.rs), which reads and writes it while no request is in flight. */
static struct control {
	uint32_t fail_in; /* The sync that fails: 1 is the next one, 0 none. */
	uint32_t syncs;	  /* Syncs so far: of all, of one write, ... */
	uint32_t failed;  /* ... and those that failed. */
	uint32_t writes;  /* Writes, and those that were synced before they ended. */
	uint32_t synced_writes;
	uint8_t dirty[BLOCKS];
} * control;

static uint8_t *image, *stable;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The io_uring of the one I/O thread. */
static struct {
	int fd;
	struct io_uring_params params;
	uint8_t *ring;
	struct io_uring_sqe *entries;
	uint32_t seen;
} uring = { .fd = -1 };

static void *map(const char *name, size_t bytes)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", getenv("LAYER"), name);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *place = fd < 0 ? MAP_FAILED
			     : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (place == MAP_FAILED) {
		perror(path);
		abort();
	}
	close(fd);
	return place;
}

__attribute__((constructor)) static void start(void)
{
	image = map("image", BYTES);
	stable = map("stable", BYTES);
	control = map("control", sizeof(*control));
}

/* The C library's function, looked up once. */
static void *real(void **kept, const char *name)
{
	void *found = __atomic_load_n(kept, __ATOMIC_RELAXED);
	if (!found) {
		found = dlsym(RTLD_NEXT, name);
		__atomic_store_n(kept, found, __ATOMIC_RELAXED);
	}
	return found;
}

static void mark(uint64_t offset, uint64_t bytes)
{
	for (uint64_t block = offset / BLOCK; block < BLOCKS && block * BLOCK < offset + bytes;
	     block++) {
		control->dirty[block] = 1;
	}
}

/*
 * Puts the written blocks of a range on the platter. If this sync fails, they only count as written.
 * The process may be killed anywhere in here, which a kernel can't: a mark is taken last.
 */
static bool sync_range(uint64_t offset, uint64_t bytes)
{
	pthread_mutex_lock(&lock);
	bool fails = control->fail_in && --control->fail_in == 0;
	control->syncs++;
	control->failed += fails;
	uint64_t end = offset + bytes;
	for (uint64_t block = offset / BLOCK; block < BLOCKS && block * BLOCK < end; block++) {
		if (control->dirty[block]) {
			if (!fails) {
				memcpy(stable + block * BLOCK, image + block * BLOCK, BLOCK);
			}
			__atomic_store_n(&control->dirty[block], 0, __ATOMIC_SEQ_CST);
		}
	}
	pthread_mutex_unlock(&lock);
	return !fails;
}

/* A write of so many bytes was done. True if it may end well. */
static bool written(uint64_t offset, uint64_t bytes, bool synced)
{
	pthread_mutex_lock(&lock);
	control->writes++;
	control->synced_writes += synced;
	/* A sync may have taken the mark that was made before the write. */
	mark(offset, bytes);
	pthread_mutex_unlock(&lock);
	return !synced || sync_range(offset, bytes);
}

static void will_write(uint64_t offset, uint64_t bytes)
{
	pthread_mutex_lock(&lock);
	mark(offset, bytes);
	pthread_mutex_unlock(&lock);
}

static uint64_t length(const struct iovec *parts, int count)
{
	uint64_t bytes = 0;
	for (int i = 0; i < count; i++) {
		bytes += parts[i].iov_len;
	}
	return bytes;
}

ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	static void *kept;
	ssize_t (*next)(int, const struct iovec *, int, off_t, int) = real(&kept, "pwritev2");
	will_write((uint64_t)offset, length(parts, count));
	ssize_t done = next(fd, parts, count, offset, flags & ~RWF_DSYNC);
	if (done > 0 && !written((uint64_t)offset, (uint64_t)done, flags & RWF_DSYNC)) {
		errno = EIO;
		return -1;
	}
	return done;
}

int fdatasync(int fd)
{
	(void)fd;
	if (!sync_range(0, BYTES)) {
		errno = EIO;
		return -1;
	}
	return 0;
}

/* A range is punched or zeroed; no test tells the two apart. */
static void zero(uint64_t offset, uint64_t bytes)
{
	if (offset + bytes > BYTES) {
		abort();
	}
	will_write(offset, bytes);
	memset(image + offset, 0, bytes);
	(void)written(offset, bytes, false);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	(void)fd;
	(void)mode;
	zero((uint64_t)offset, (uint64_t)bytes);
	return 0;
}

/* Does what an entry asks for, and changes it so that the kernel gives the same result. */
static void submitted(struct io_uring_sqe *entry)
{
	struct iovec whole = { (void *)(uintptr_t)entry->addr, entry->len };
	const struct iovec *parts = &whole;
	int count = 1;
	bool good = true;

	switch (entry->opcode) {
	case IORING_OP_WRITEV:
		parts = (const struct iovec *)(uintptr_t)entry->addr;
		count = (int)entry->len;
		/* fall through */
	case IORING_OP_WRITE:
	case IORING_OP_WRITE_FIXED: {
		uint64_t at = entry->off;
		if (at + length(parts, count) > BYTES) {
			abort();
		}
		for (int i = 0; i < count; i++) {
			memcpy(image + at, parts[i].iov_base, parts[i].iov_len);
			at += parts[i].iov_len;
		}
		good = written(entry->off, at - entry->off, entry->rw_flags & RWF_DSYNC);
		entry->rw_flags &= ~RWF_DSYNC;
		break;
	}
	case IORING_OP_FALLOCATE:
		zero(entry->off, entry->addr);
		break;
	case IORING_OP_FSYNC:
		good = sync_range(0, BYTES);
		break;
	default:
		return;
	}
	if (!good) {
		entry->fd = -1;
	} else if (entry->opcode == IORING_OP_FALLOCATE || entry->opcode == IORING_OP_FSYNC) {
		uint64_t token = entry->user_data;
		memset(entry, 0, sizeof(*entry));
		entry->opcode = IORING_OP_NOP;
		entry->user_data = token;
	}
}

static void entered(void)
{
	uint32_t *tail = (uint32_t *)(uring.ring + uring.params.sq_off.tail);
	uint32_t *places = (uint32_t *)(uring.ring + uring.params.sq_off.array);
	uint32_t mask = *(uint32_t *)(uring.ring + uring.params.sq_off.ring_mask);
	for (uint32_t end = __atomic_load_n(tail, __ATOMIC_ACQUIRE); uring.seen != end;
	     uring.seen++) {
		submitted(&uring.entries[places[uring.seen & mask]]);
	}
}

long syscall(long number, ...)
{
	static void *kept;
	long (*next)(long, ...) = real(&kept, "syscall");
	va_list words;
	va_start(words, number);
	long a = va_arg(words, long), b = va_arg(words, long), c = va_arg(words, long);
	long d = va_arg(words, long), e = va_arg(words, long), f = va_arg(words, long);
	va_end(words);
	if (number == SYS_io_uring_enter && (int)a == uring.fd) {
		entered();
	}
	long done = next(number, a, b, c, d, e, f);
	if (number == SYS_io_uring_setup && done >= 0) {
		uring.fd = (int)done;
		uring.seen = 0;
		memcpy(&uring.params, (void *)b, sizeof(uring.params));
	}
	return done;
}

void *mmap(void *place, size_t bytes, int access, int flags, int fd, off_t offset)
{
	static void *kept;
	void *(*next)(void *, size_t, int, int, int, off_t) = real(&kept, "mmap");
	void *done = next(place, bytes, access, flags, fd, offset);
	if (done != MAP_FAILED && fd >= 0 && fd == uring.fd) {
		if (offset == IORING_OFF_SQ_RING) {
			uring.ring = done;
		} else if (offset == IORING_OFF_SQES) {
			uring.entries = done;
		}
	}
	return done;
}
