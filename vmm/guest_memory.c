/* A guest's memory on the host; see guest_memory.h. All guest addresses go through memory_at(). */
#include "vmm/guest_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES_AT_A_TIME 4096u
#define HUGE_BYTES	(2ul << 20)

bool memory_map(struct memory *memory, bool huge)
{
	/* A huge page is aligned: in the guest's memory, which begins at 0, and on the host. */
	uint64_t more = huge ? HUGE_BYTES : 0;
	uint8_t *at = mmap(NULL, memory->bytes + more, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return fail("can't map %lu MiB of memory: %m", memory->bytes >> 20);
	if (huge)
		at += -(uint64_t)at % HUGE_BYTES;
	/* Kernels without THP have only pages of 4 KiB. */
	if (madvise(at, memory->bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0 && huge)
		return fail("this kernel has no transparent huge pages: %m");
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

/* mincore() gives a byte for each page. /proc/self/pagemap gives eight bytes, and reading it takes ten times as many
 * instructions. */
bool memory_pages(const struct memory *memory, uint64_t *pages)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), all = memory->bytes / page_bytes,
		 count;
	unsigned char is_there[PAGES_AT_A_TIME];

	*pages = 0;
	for (uint64_t first = 0; first < all; first += count) {
		count = all - first < PAGES_AT_A_TIME ? all - first : PAGES_AT_A_TIME;
		if (mincore(memory->base + first * page_bytes, count * page_bytes, is_there) < 0)
			return false;
		for (uint64_t i = 0; i < count; i++)
			*pages += is_there[i] & 1; /* the other bits are reserved */
	}
	return true;
}
