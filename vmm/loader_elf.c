/*
 * ELF64, little-endian (System V ABI, chapters 4 and 5). Called before the guest runs. Every offset
 * and length is checked against the file before it is used; structures are copied out, since a
 * file aligns nothing.
 */
#include "loader_elf.h"

#include <elf.h>
#include <string.h>

#define MAX_SEGMENTS		 64
#define XEN_ELFNOTE_PHYS32_ENTRY 18 /* xen/include/public/elfnote.h */
#define WORLDSWITCH_NOTE	 1  /* guest/arch/x86_64/boot.S */

struct file {
	const uint8_t *at;
	size_t bytes;
};

/* The bytes [offset, offset + bytes) of the file; NULL where it ends before. */
static const uint8_t *slice(const struct file *file, uint64_t offset, uint64_t bytes)
{
	if (offset > file->bytes || bytes > file->bytes - offset)
		return NULL;
	return file->at + offset;
}

static bool check_header(const struct file *file, uint16_t machine, Elf64_Ehdr *header,
			 struct error *error)
{
	const uint8_t *at = slice(file, 0, sizeof(*header));

	if (!at || memcmp(at, ELFMAG, SELFMAG) != 0)
		return error_set(error, "it is no ELF file");
	memcpy(header, at, sizeof(*header));
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(error, "it is no 64-bit little-endian ELF file");
	if (header->e_machine != machine)
		return error_set(error, "it is for ELF machine %u, this host is %u",
				 header->e_machine, machine);
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return error_set(error, "it is no program (ELF type %u)", header->e_type);
	if (header->e_phentsize != sizeof(Elf64_Phdr) || !header->e_phnum ||
	    header->e_phnum > MAX_SEGMENTS)
		return error_set(error, "its table of segments can't be used (%u entries of %u)",
				 header->e_phnum, header->e_phentsize);
	return true;
}

static bool load_segment(const struct file *file, const Elf64_Phdr *segment, uint64_t lowest,
			 const struct memory *memory, struct elf_kernel *kernel,
			 struct error *error)
{
	const uint8_t *from = slice(file, segment->p_offset, segment->p_filesz);
	uint8_t *to = memory_at(memory, segment->p_paddr, segment->p_memsz);

	if (!segment->p_memsz)
		return true;
	if (!from || segment->p_filesz > segment->p_memsz)
		return error_set(error, "a segment lies outside the file");
	if (!to || segment->p_paddr < lowest)
		return error_set(error,
				 "a segment of %lu KiB at 0x%lx does not fit into the guest's "
				 "memory, which it may use from 0x%lx",
				 segment->p_memsz >> 10, segment->p_paddr, lowest);
	memcpy(to, from, segment->p_filesz);
	/* Fresh memory is zero; writing zeroes would make pages present that nothing touched. */
	if (segment->p_paddr < kernel->end)
		memset(to + segment->p_filesz, 0, segment->p_memsz - segment->p_filesz);
	if (segment->p_paddr < kernel->start)
		kernel->start = segment->p_paddr;
	if (segment->p_paddr + segment->p_memsz > kernel->end)
		kernel->end = segment->p_paddr + segment->p_memsz;
	return true;
}

static void take_note(const Elf64_Nhdr *note, const uint8_t *name, const uint8_t *value,
		      struct elf_kernel *kernel)
{
	if (note->n_type == XEN_ELFNOTE_PHYS32_ENTRY && note->n_namesz == sizeof("Xen") &&
	    memcmp(name, "Xen", sizeof("Xen")) == 0 &&
	    (note->n_descsz == 4 || note->n_descsz == 8)) {
		kernel->pvh_entry = 0;
		memcpy(&kernel->pvh_entry, value, note->n_descsz);
	}
	if (note->n_type == WORLDSWITCH_NOTE && note->n_namesz == sizeof("worldswitch") &&
	    memcmp(name, "worldswitch", sizeof("worldswitch")) == 0)
		kernel->worldswitch = true;
}

/* Notes: a header, the name and the value, each rounded up to four bytes. */
static void read_notes(const struct file *file, const Elf64_Phdr *segment,
		       struct elf_kernel *kernel)
{
	uint64_t at = segment->p_offset, end = at + segment->p_filesz;

	if (!slice(file, segment->p_offset, segment->p_filesz))
		return;
	while (end - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name_at = at + sizeof(note), value_at;

		memcpy(&note, file->at + at, sizeof(note));
		value_at = name_at + ((uint64_t)note.n_namesz + 3) / 4 * 4;
		at = value_at + ((uint64_t)note.n_descsz + 3) / 4 * 4;
		if (value_at + note.n_descsz > end)
			return;
		take_note(&note, file->at + name_at, file->at + value_at, kernel);
		if (at > end)
			return;
	}
}

bool elf_load(const uint8_t *bytes, size_t length, uint16_t machine, uint64_t lowest,
	      const struct memory *memory, struct elf_kernel *kernel, struct error *error)
{
	struct file file = { .at = bytes, .bytes = length };
	Elf64_Ehdr header;

	*kernel = (struct elf_kernel){ .start = UINT64_MAX };
	if (!check_header(&file, machine, &header, error))
		return false;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;
		const uint8_t *at;

		if (header.e_phoff > length)
			return error_set(error, "its table of segments lies outside the file");
		at = slice(&file, header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (!at)
			return error_set(error, "its table of segments lies outside the file");
		memcpy(&segment, at, sizeof(segment));
		if (segment.p_type == PT_LOAD &&
		    !load_segment(&file, &segment, lowest, memory, kernel, error))
			return false;
		if (segment.p_type == PT_NOTE)
			read_notes(&file, &segment, kernel);
	}
	if (!kernel->end)
		return error_set(error, "it has nothing to load");
	return true;
}
