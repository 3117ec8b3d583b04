/* A guest's memory on the host; see memory.h. memory_at() is what all guest addresses go through. */
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst: one word a page. */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)

bool memory_map(struct memory *memory, enum backing backing, struct error *error)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uint64_t at = 0;

	if (backing == BACKING_HUGETLB)
		flags |= MAP_HUGETLB;
	memory->base = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (memory->base == MAP_FAILED) {
		memory->base = NULL;
		return error_set(
			error,
			"can't map %lu MiB of memory (pages=hugetlb needs free huge pages): "
			"%m",
			memory->bytes >> 20);
	}
	/* A kernel without THP refuses both, and then there is nothing to choose. */
	if (backing != BACKING_HUGETLB)
		(void)madvise(memory->base, memory->bytes,
			      backing == BACKING_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < memory->count; i++) {
		memory->regions[i].host = memory->base + at;
		at += memory->regions[i].bytes;
	}
	return true;
}

void memory_unmap(struct memory *memory)
{
	if (memory->base)
		munmap(memory->base, memory->bytes);
	memory->base = NULL;
}

void *memory_at(const struct memory *memory, uint64_t guest, uint64_t bytes)
{
	for (unsigned i = 0; i < memory->count; i++) {
		const struct region *region = &memory->regions[i];

		if (guest >= region->guest && guest - region->guest <= region->bytes &&
		    bytes <= region->bytes - (guest - region->guest))
			return region->host + (guest - region->guest);
	}
	return NULL;
}

bool memory_pages(const struct memory *memory, uint64_t *pages)
{
	uint64_t words[1024], page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t next = (uint64_t)memory->base / page_bytes;
	uint64_t end = next + memory->bytes / page_bytes;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	*pages = 0;
	while (next < end) {
		size_t wanted = sizeof(words);
		ssize_t got;

		if (end - next < wanted / sizeof(words[0]))
			wanted = (end - next) * sizeof(words[0]);
		got = pread(fd, words, wanted, (off_t)(next * sizeof(words[0])));
		if (got < (ssize_t)sizeof(words[0]))
			break;
		for (size_t i = 0; i < (size_t)got / sizeof(words[0]); i++)
			*pages += (words[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) != 0;
		next += (size_t)got / sizeof(words[0]);
	}
	close(fd);
	return next == end;
}
