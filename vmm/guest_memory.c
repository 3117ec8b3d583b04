/* A guest's memory on the host; see guest_memory.h. All guest addresses go through memory_at(). */
#include "vmm/guest_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst: one word per page. */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_WORDS	1024u /* read at a time */

bool memory_map(struct memory *memory)
{
	uint8_t *at = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return fail("can't map %lu MiB of memory: %m", memory->bytes >> 20);
	(void)madvise(at, memory->bytes, MADV_NOHUGEPAGE); /* fails on kernels without THP */
	memory->base = at;
	for (unsigned i = 0; i < memory->count; i++) {
		memory->regions[i].host = at;
		at += memory->regions[i].bytes;
	}
	return true;
}

bool memory_map_file(struct memory *memory, const char *path, uint64_t guest)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *at = MAP_FAILED;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return fail("can't open %.200s: %m", path);
	if (!status.st_size || (uint64_t)status.st_size % page_bytes) {
		close(fd);
		return fail("%.200s has %ld bytes: persistent memory has whole pages", path,
			    status.st_size);
	}
	at = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return fail("can't map %.200s: %m", path);
	memory->pmem = (struct region){ guest, (uint64_t)status.st_size, at };
	return true;
}

void *memory_at(const struct memory *memory, uint64_t guest, uint64_t bytes)
{
	for (unsigned i = 0; i < memory->count; i++) {
		const struct region *region = &memory->regions[i];
		uint64_t offset = guest - region->guest;

		if (guest >= region->guest && offset <= region->bytes &&
		    bytes <= region->bytes - offset)
			return region->host + offset;
	}
	return NULL;
}

bool memory_pages(const struct memory *memory, uint64_t *pages)
{
	uint64_t words[PAGEMAP_WORDS], page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t next = (uint64_t)memory->base / page_bytes;
	uint64_t end = next + memory->bytes / page_bytes;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	ssize_t got = 1;

	for (*pages = 0; got > 0 && next < end; next += (uint64_t)got) {
		uint64_t wanted = end - next < PAGEMAP_WORDS ? end - next : PAGEMAP_WORDS;

		got = pread(fd, words, wanted * sizeof(*words), (off_t)(next * sizeof(*words))) /
		      (ssize_t)sizeof(*words);
		for (ssize_t i = 0; i < got; i++)
			*pages += (words[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) != 0;
	}
	if (fd >= 0)
		close(fd);
	return got > 0;
}
