/* The histogram of exits in tracefs; see reasons.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/reasons.h"

#define TRACING	   "/sys/kernel/tracing"
#define EVENT	   TRACING "/events/kvm/kvm_exit"
#define TEXT_BYTES (1 << 14)

void tracefs_mount(void)
{
	(void)mount("tracefs", TRACING, "tracefs", 0, NULL);
}

/* `before` is nothing, or "!" to remove it. */
static bool set_trigger(const char *before)
{
	int fd = open(EVENT "/trigger", O_WRONLY | O_CLOEXEC);
	char text[128];
	int bytes = snprintf(text, sizeof(text), "%shist:keys=%s:sort=%s", before, reasons_key,
			     reasons_key);
	bool done = fd >= 0 && write(fd, text, (size_t)bytes) == bytes;

	if (fd >= 0)
		close(fd);
	return done;
}

bool reasons_begin(void)
{
	reasons_of_vmx = access("/sys/module/kvm_intel", F_OK) == 0;
	return set_trigger("");
}

void reasons_read(struct reasons *reasons)
{
	static char text[TEXT_BYTES];
	int fd = open(EVENT "/hist", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = fd < 0 ? -1 : 1;

	while (got > 0 && used < sizeof(text)) {
		got = read(fd, text + used, sizeof(text) - used);
		used += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (got != 0 || !reasons_parse(text, used, reasons))
		reasons->count = 0;
}

void reasons_end(void)
{
	(void)set_trigger("!");
}
