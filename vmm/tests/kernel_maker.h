/* Makes small kernels for the tests: ELF files and bzImages. */
#ifndef KERNEL_MAKER_H
#define KERNEL_MAKER_H

#include <asm/bootparam.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>

/* A header, segments, their bytes. */
struct elf_file {
	uint8_t bytes[8192];
	size_t used;
	Elf64_Ehdr header;
	Elf64_Phdr segments[8];
};

static inline void elf_make(struct elf_file *file)
{
	memset(file, 0, sizeof(*file));
	memcpy(file->header.e_ident, ELFMAG, SELFMAG);
	file->header.e_ident[EI_CLASS] = ELFCLASS64;
	file->header.e_ident[EI_DATA] = ELFDATA2LSB;
	file->header.e_type = ET_EXEC;
	file->header.e_machine = EM_X86_64;
	file->header.e_phoff = sizeof(file->header);
	file->header.e_phentsize = sizeof(Elf64_Phdr);
	file->used = sizeof(file->header) + sizeof(file->segments);
}

/* Adds a segment of that type; returns it for tests to corrupt. */
static inline Elf64_Phdr *elf_add(struct elf_file *file, uint32_t type, uint64_t address,
				  const void *bytes, size_t length, uint64_t in_memory)
{
	Elf64_Phdr *segment = &file->segments[file->header.e_phnum++];

	*segment = (Elf64_Phdr){ .p_type = type,
				 .p_offset = file->used,
				 .p_paddr = address,
				 .p_filesz = length,
				 .p_memsz = in_memory };
	memcpy(file->bytes + file->used, bytes, length);
	file->used += length;
	return segment;
}

/* Writes a note to `to`; returns its bytes. */
static inline size_t elf_note(uint8_t *to, const char *name, uint32_t type, const void *value,
			      uint32_t bytes)
{
	Elf64_Nhdr note = { .n_namesz = (uint32_t)strlen(name) + 1,
			    .n_descsz = bytes,
			    .n_type = type };
	size_t at = sizeof(note), rounded = (note.n_namesz + 3) / 4 * 4;

	memcpy(to, &note, sizeof(note));
	memset(to + at, 0, rounded);
	memcpy(to + at, name, note.n_namesz);
	at += rounded;
	if (bytes)
		memcpy(to + at, value, bytes);
	return at + (bytes + 3) / 4 * 4;
}

/* Writes the headers, which completes the file. */
static inline void elf_finish(struct elf_file *file)
{
	memcpy(file->bytes, &file->header, sizeof(file->header));
	memcpy(file->bytes + sizeof(file->header), file->segments, sizeof(file->segments));
}

/* Two sectors of real-mode code with the setup header, and a kernel of four bytes. */
struct bzimage {
	uint8_t bytes[1024 + 4];
	struct setup_header *header; /* points into bytes, for tests to corrupt */
};

static inline void bzimage_make(struct bzimage *image)
{
	memset(image, 0, sizeof(*image));
	memcpy(image->bytes + 1024, "code", 4);
	image->header = (void *)(image->bytes + 0x1f1);
	image->header->setup_sects = 1;
	image->header->boot_flag = 0xaa55;
	image->header->jump = 0x66eb;
	image->header->header = 0x53726448; /* "HdrS" */
	image->header->version = 0x20f;
	image->header->loadflags = LOADED_HIGH;
	image->header->cmdline_size = 2047;
}

#endif
