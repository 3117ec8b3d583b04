/* /proc/self/pagemap; see physical.h. */
#include "common/physical.h"

#include <fcntl.h>
#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst: one word per page. */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_FRAME	((1ull << 55) - 1)

bool physical_address(const void *data, uint64_t *physical)
{
	uint64_t word = 0, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t page = (uint64_t)data / page_bytes;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (pread(fd, &word, sizeof(word), (off_t)(page * sizeof(word))) < 0)
			word = 0;
		close(fd);
	}
	*physical = (word & PAGEMAP_FRAME) * page_bytes + (uint64_t)data % page_bytes;
	return (word & PAGEMAP_PRESENT) && (word & PAGEMAP_FRAME);
}
