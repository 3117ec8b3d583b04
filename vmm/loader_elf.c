/* ELF, little-endian, of 32 or 64 bits (System V ABI, chapters 4 and 5). Called before the guest
 * runs. Every offset and length is checked against the file before it is used. */
#include <elf.h>
#include <string.h>

#include "memory.h"

#define MAX_SEGMENTS		 64
#define XEN_ELFNOTE_PHYS32_ENTRY 18 /* xen/include/public/elfnote.h: PVH's entry */
#define WORLDSWITCH_NOTE	 1  /* guest/arch/x86_64/boot.S */

struct file {
	const uint8_t *at;
	size_t bytes;
	bool wide; /* structures are those of 64 bits */
};

/* Do the bytes [offset, offset + bytes) lie in the file? */
static bool inside(const struct file *file, uint64_t offset, uint64_t bytes)
{
	return offset <= file->bytes && bytes <= file->bytes - offset;
}

/* A number that lies inside the file, where nothing is aligned. */
static uint64_t number(const struct file *file, uint64_t offset, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, file->at + offset, bytes);
	return value;
}

#define NUMBER(file, at, type, name) \
	number(file, (at) + offsetof(type, name), sizeof(((type *)0)->name))
/* A field of the Ehdr or Phdr at an offset. */
#define FIELD(file, at, type, name) \
	((file)->wide ? NUMBER(file, at, Elf64_##type, name) : NUMBER(file, at, Elf32_##type, name))

static bool check_header(struct file *file, uint16_t machine, uint16_t machine32)
{
	uint64_t its, type;

	if (file->bytes < sizeof(Elf64_Ehdr) || memcmp(file->at, ELFMAG, SELFMAG) != 0)
		return fail("it is no ELF file");
	file->wide = file->at[EI_CLASS] == ELFCLASS64;
	if (file->at[EI_DATA] != ELFDATA2LSB)
		return fail("it is no little-endian ELF file");
	its = FIELD(file, 0, Ehdr, e_machine);
	type = FIELD(file, 0, Ehdr, e_type);
	if (its != (file->wide ? machine : machine32))
		return fail("it is for ELF machine %lu, this host is %u", its, machine);
	return type == ET_EXEC || type == ET_DYN || fail("it is no program (ELF type %lu)", type);
}

static bool load_segment(const struct file *file, uint64_t at, uint64_t lowest,
			 const struct memory *memory, struct kernel *kernel)
{
	uint64_t offset = FIELD(file, at, Phdr, p_offset), start = FIELD(file, at, Phdr, p_paddr);
	uint64_t in_file = FIELD(file, at, Phdr, p_filesz), bytes = FIELD(file, at, Phdr, p_memsz);
	uint8_t *to = memory_at(memory, start, bytes);

	if (!bytes)
		return true;
	if (!inside(file, offset, in_file) || in_file > bytes)
		return fail("a segment lies outside the file");
	if (!to || start < lowest)
		return fail("a segment of %lu KiB at 0x%lx does not fit into the guest's memory, "
			    "which it may use from 0x%lx",
			    bytes >> 10, start, lowest);
	memcpy(to, file->at + offset, in_file);
	/* Fresh memory is zero; writing zeroes would make pages present that nothing touched. */
	if (start < kernel->end)
		memset(to + in_file, 0, bytes - in_file);
	if (start + bytes > kernel->end)
		kernel->end = start + bytes;
	return true;
}

/* Notes: a header, the name and the value, each rounded up to four bytes. */
static void read_notes(const struct file *file, uint64_t at, struct kernel *kernel)
{
	uint64_t next = FIELD(file, at, Phdr, p_offset), end = FIELD(file, at, Phdr, p_filesz);
	Elf64_Nhdr note; /* 32-bit files have the same */

	if (!inside(file, next, end))
		return;
	for (end += next; next <= end && end - next >= sizeof(note);) {
		const char *name = (const char *)file->at + next + sizeof(note);
		uint64_t value;

		memcpy(&note, file->at + next, sizeof(note));
		value = next + sizeof(note) + ((uint64_t)note.n_namesz + 3) / 4 * 4;
		next = value + ((uint64_t)note.n_descsz + 3) / 4 * 4;
		if (value + note.n_descsz > end)
			return;
		if (note.n_type == XEN_ELFNOTE_PHYS32_ENTRY && note.n_namesz == sizeof("Xen") &&
		    memcmp(name, "Xen", sizeof("Xen")) == 0 &&
		    (note.n_descsz == 4 || note.n_descsz == 8))
			kernel->entry = number(file, value, note.n_descsz);
		if (note.n_type == WORLDSWITCH_NOTE && note.n_namesz == sizeof("worldswitch") &&
		    memcmp(name, "worldswitch", sizeof("worldswitch")) == 0)
			kernel->worldswitch = true;
	}
}

bool elf_load(const uint8_t *bytes, size_t length, uint16_t machine, uint16_t machine32,
	      uint64_t lowest, const struct memory *memory, struct kernel *kernel)
{
	struct file file = { .at = bytes, .bytes = length };
	uint64_t at, count, size;

	*kernel = (struct kernel){ 0 };
	if (!check_header(&file, machine, machine32))
		return false;
	kernel->start = FIELD(&file, 0, Ehdr, e_entry);
	at = FIELD(&file, 0, Ehdr, e_phoff);
	count = FIELD(&file, 0, Ehdr, e_phnum);
	size = FIELD(&file, 0, Ehdr, e_phentsize);
	if (size != (file.wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) || !count ||
	    count > MAX_SEGMENTS)
		return fail("its table of segments can't be used (%lu entries of %lu)", count,
			    size);
	if (!inside(&file, at, count * size))
		return fail("its table of segments lies outside the file");
	for (; count; count--, at += size) {
		uint64_t type = FIELD(&file, at, Phdr, p_type);

		if (type == PT_LOAD && !load_segment(&file, at, lowest, memory, kernel))
			return false;
		if (type == PT_NOTE)
			read_notes(&file, at, kernel);
	}
	return kernel->end || fail("it has nothing to load");
}
