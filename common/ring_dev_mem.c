/* A doorbell in memory: its page of /dev/mem; see ring.h. */
#include "common/ring.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* The page stays mapped: the doorbell is rung at the begin and end of what is counted. */
const char *ring_below(uint64_t where, uint64_t note)
{
	static volatile uint64_t *bell;
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), inside = where % page_bytes;
	uint8_t *page;
	int fd;

	if (!bell) {
		fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
		if (fd < 0)
			return "open /dev/mem";
		page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    (off_t)(where - inside));
		close(fd);
		if (page == MAP_FAILED)
			return "map the doorbell's page of /dev/mem";
		bell = (volatile uint64_t *)(page + inside);
	}
	/* The note is written before its address is. */
#ifdef __riscv
	__asm__ volatile("fence" : : : "memory");
#else
	__asm__ volatile("dsb sy" : : : "memory");
#endif
	*bell = note;
	return NULL;
}
