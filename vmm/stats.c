/* KVM's binary statistics; see stats.h. */
#include "stats.h"

#include <linux/kvm.h>
#include <string.h>
#include <unistd.h>

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

void stats_learn(struct stats *stats, int fd)
{
	struct kvm_stats_header header;
	uint64_t at;

	stats->count = 0;
	if (fd < 0 || !read_at(fd, &header, sizeof(header), 0))
		return;
	at = header.desc_offset;
	for (uint32_t i = 0; i < header.num_desc && stats->count < MAX_STATS; i++) {
		struct kvm_stats_desc row;
		char name[MAX_STAT_NAME] = "";
		size_t bytes = header.name_size < sizeof(name) ? header.name_size : sizeof(name);

		if (!read_at(fd, &row, sizeof(row), at) ||
		    !read_at(fd, name, bytes, at + sizeof(row)))
			return;
		at += sizeof(row) + header.name_size;
		if (name[sizeof(name) - 1] || row.size != 1 ||
		    (row.flags & KVM_STATS_TYPE_MASK) != KVM_STATS_TYPE_CUMULATIVE ||
		    (row.flags & KVM_STATS_UNIT_MASK) != KVM_STATS_UNIT_NONE)
			continue;
		memcpy(stats->names[stats->count], name, sizeof(name));
		stats->offsets[stats->count++] = header.data_offset + row.offset;
	}
}

void stats_add(const struct stats *stats, int fd, uint64_t values[MAX_STATS])
{
	for (unsigned i = 0; i < stats->count; i++) {
		uint64_t value;

		if (read_at(fd, &value, sizeof(value), stats->offsets[i]))
			values[i] += value;
	}
}
