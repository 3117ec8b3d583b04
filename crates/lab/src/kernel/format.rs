//! The kind of a kernel by its bytes, and the values of its header. Total: any bytes get an answer.

use super::decompress::Packing;
use crate::sets::Architecture;
use object::Endianness;
use object::elf::{ELFMAG, EM_386, FileHeader32, FileHeader64, PT_LOAD, PT_NOTE};
use object::read::elf::{FileHeader, ProgramHeader};
use std::fmt;
use std::io::BufRead;
use std::ops::Range;

/// The first bytes of a file, in which the multiboot header is (Multiboot specification 0.6.96, 3.1).
const SEARCHED_BYTES: usize = 8192;
const MULTIBOOT_MAGIC: u32 = 0x1bad_b002;
/// The size of a multiboot header's first three words: magic, flags, and a checksum that makes their sum zero.
const MULTIBOOT_HEADER_BYTES: usize = 12;
/// Flag 16 of a multiboot header, which then has addresses in the five words after the checksum.
const MULTIBOOT_GIVES_PLACES: u32 = 1 << 16;

/// The offsets and values of a bzImage's two magic numbers (Linux,
/// Documentation/arch/x86/boot.rst).
const BOOT_FLAG: (usize, &[u8]) = (0x1fe, &[0x55, 0xaa]);
const SETUP_MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
/// The offset of an Image's magic number (Linux, Documentation/arch/arm64/booting.rst and
/// arch/riscv/boot-image-header.rst).
const IMAGE_MAGIC: usize = 56;
/// The offset of e_machine in an ELF file (System V ABI, chapter 4).
const ELF_MACHINE: usize = 18;
/// XEN_ELFNOTE_PHYS32_ENTRY (xen/include/public/elfnote.h).
const PVH_NOTE: u32 = 18;

/// A kind of kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ELF file for x86, of 32 or 64 bits.
    Elf,
    BzImage,
    /// A multiboot kernel that is not an ELF file.
    Multiboot,
    /// An ELF file for an architecture whose Linux is an Image.
    ImageElf(Architecture),
    /// An Image.
    Image(Architecture),
    /// A program for aarch64 without any header: known only by the ending of its name, as kvm-unit-tests' programs.
    Flat,
    /// A program for EFI firmware without a Linux in it.
    Efi,
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Elf => "an ELF file for x86",
            Kind::BzImage => "a Linux bzImage for x86",
            Kind::Multiboot => "a multiboot kernel for x86",
            Kind::ImageElf(of) => return write!(f, "an ELF file for {}", of.facts().isa),
            Kind::Image(of) => of.facts().linux,
            Kind::Flat => "a program without an Image header",
            Kind::Efi => "a program for EFI firmware",
            Kind::Unknown => "an unknown kind of file",
        })
    }
}

impl Kind {
    /// The architecture of the kernel; none if the kind does not tell. A program for aarch64 without any header is known
    /// only by its name.
    pub fn architecture(self) -> Option<Architecture> {
        match self {
            Kind::Elf | Kind::BzImage | Kind::Multiboot => Some(Architecture::X86_64),
            Kind::ImageElf(of) | Kind::Image(of) => Some(of),
            Kind::Flat | Kind::Efi | Kind::Unknown => None,
        }
    }
}

/// Finds the kind of a kernel by a file's bytes, of which the first 8 KiB are enough.
pub fn kind(bytes: &[u8]) -> Kind {
    let has = |(at, magic): (usize, &[u8])| bytes.get(at..at + magic.len()) == Some(magic);
    let mut all = Architecture::ALL.into_iter();
    if bytes.starts_with(&ELFMAG) {
        let machine = half(bytes, ELF_MACHINE);
        return match all.find(|one| one.facts().elf_machine == machine) {
            Some(of) if of.facts().image_magic.is_some() => Kind::ImageElf(of),
            Some(_) => Kind::Elf,
            None if machine == EM_386 => Kind::Elf,
            None => Kind::Unknown,
        };
    }
    let has_magic = |one: &Architecture| {
        let magic = one.facts().image_magic;
        magic.is_some_and(|magic| has((IMAGE_MAGIC, magic)))
    };
    match all.find(has_magic) {
        _ if has(BOOT_FLAG) && has(SETUP_MAGIC) => Kind::BzImage,
        Some(of) => Kind::Image(of),
        None if Multiboot::of(bytes).is_some() => Kind::Multiboot,
        None if is_efi(bytes) => Kind::Efi,
        None => Kind::Unknown,
    }
}

/// Whether the bytes begin a program for EFI firmware, a PE file.
fn is_efi(bytes: &[u8]) -> bool {
    let at = word(bytes, 0x3c) as usize;
    bytes.starts_with(b"MZ")
        && bytes
            .get(at..)
            .is_some_and(|rest| rest.starts_with(b"PE\0\0"))
}

/// The little-endian word at `at`; 0 beyond the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
    four.map_or(0, |four| u32::from_le_bytes(*four))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    let two = bytes.get(at..).and_then(|rest| rest.first_chunk());
    two.map_or(0, |two| u16::from_le_bytes(*two))
}

fn double(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes.get(at..).and_then(|rest| rest.first_chunk());
    eight.map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// The setup header of a bzImage, which boot programs other than Linux have too.
#[derive(Clone, Copy, Debug)]
pub struct BzImage<'a>(&'a [u8]);

impl<'a> BzImage<'a> {
    /// The header of a file of [`Kind::BzImage`].
    pub fn of(file: &'a [u8]) -> Option<Self> {
        (kind(file) == Kind::BzImage).then_some(Self(file))
    }

    /// The version of the boot protocol: 0x20f is 2.15.
    pub fn protocol(self) -> u16 {
        half(self.0, 0x206)
    }

    /// Whether the kernel is loaded at 1 MiB.
    pub fn loads_high(self) -> bool {
        self.0.get(0x211).is_some_and(|flags| flags & 1 != 0)
    }

    /// Whether the kernel has a 64-bit entry (XLF_KERNEL_64, since protocol 2.12).
    pub fn is_64_bit(self) -> bool {
        self.protocol() >= 0x20c && half(self.0, 0x236) & 1 != 0
    }

    /// The bytes that are loaded: all after the real-mode code.
    pub fn kernel(self) -> &'a [u8] {
        let sectors = match self.0.get(0x1f1) {
            None | Some(0) => 4,
            Some(sectors) => usize::from(*sectors),
        };
        self.0.get((sectors + 1) * 512..).unwrap_or_default()
    }

    /// The addresses of the memory that the kernel needs to decompress itself (since protocol 2.10).
    pub fn memory(self) -> Range<u64> {
        const LOADED_AT: u64 = 0x10_0000;
        let aligned = LOADED_AT + u64::from(word(self.0, 0x230));
        let start = aligned.max(double(self.0, 0x258));
        start..start.saturating_add(word(self.0, 0x260).into())
    }

    /// The text of the kernel's version, as `6.1.0-50-amd64 (builder) #1 SMP PREEMPT_RT Debian`.
    pub fn version(self) -> Option<&'a str> {
        let start = usize::from(half(self.0, 0x20e)) + 0x200;
        let text = self.0.get(start..)?;
        let end = text.iter().take(256).position(|b| *b == 0)?;
        let text = std::str::from_utf8(text.get(..end)?).ok()?;
        (start > 0x200 && !text.is_empty()).then_some(text)
    }

    /// Whether the kernel is a Linux: the header has the place of the compressed kernel (since protocol 2.8), and
    /// compressed bytes, or an ELF file, are there.
    pub fn is_linux(self) -> bool {
        let payload = || {
            let start = word(self.0, 0x248) as usize;
            let end = start.checked_add(word(self.0, 0x24c) as usize)?;
            self.kernel().get(start..end)
        };
        let is_packed = |payload: &[u8]| {
            Packing::of(payload).is_some()
                || super::decompress::unpacked_by(payload).is_some()
                || payload.starts_with(&ELFMAG)
                || payload.starts_with(b"\x5d\0\0") // LZMA
        };
        self.protocol() >= 0x208 && payload().is_some_and(is_packed)
    }
}

/// The header of an Image.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    architecture: Architecture,
    file: &'a [u8],
}

impl<'a> Image<'a> {
    /// The header of a file of [`Kind::Image`].
    pub fn of(file: &'a [u8]) -> Option<Self> {
        match kind(file) {
            Kind::Image(architecture) => Some(Self { architecture, file }),
            _ => None,
        }
    }

    /// Whether the kernel is for a big-endian machine (bit 0 of the flags).
    pub fn is_big_endian(self) -> bool {
        double(self.file, 24) & 1 != 0
    }

    /// The addresses of the Image's memory, relative to a 2 MiB boundary or to the beginning of the RAM. The range is
    /// empty if the header lacks a size that it should have.
    pub fn memory(self) -> Range<u64> {
        const OLD_OFFSET: u64 = 0x8_0000;
        const OLD_BYTES: u64 = 2 << 20;
        let file = self.file.len() as u64;
        let (start, bytes) = match (double(self.file, 8), double(self.file, 16)) {
            // arm64 Images before Linux 3.17 have no size.
            (_, 0) if self.architecture == Architecture::Aarch64 => (OLD_OFFSET, file + OLD_BYTES),
            (start, 0) => return start..start,
            (start, bytes) => (start, bytes.max(file)),
        };
        start..start.saturating_add(bytes)
    }
}

/// Finds the version in the banner that every Linux prints first, in a kernel that is not compressed. Its form is that
/// of [`BzImage::version`].
pub fn banner(kernel: &[u8]) -> Option<String> {
    const BANNER: &[u8] = b"inux version ";
    let mut rest = kernel;
    // The search jumps from `L` to `L`, as a kernel has 40 million bytes.
    while rest.skip_until(b'L').is_ok_and(|skipped| skipped > 0) {
        let text = rest.strip_prefix(BANNER).unwrap_or_default();
        if text.first().is_some_and(u8::is_ascii_digit) {
            let text = text.iter().take(512).copied();
            let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
            let text: Vec<u8> = text.take_while(is_text).collect();
            return String::from_utf8(text).ok();
        }
    }
    None
}

/// Values that a loader reads in an ELF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elf {
    /// Whether the file has 64 bits.
    pub is_wide: bool,
    /// Whether Xen's note has an entry for PVH.
    pub has_pvh: bool,
    pub segments: Vec<Segment>,
}

/// A part of an ELF file that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The bytes in the file.
    pub file: Range<u64>,
    /// The physical addresses.
    pub memory: Range<u64>,
}

impl Elf {
    /// Reads a file of [`Kind::Elf`] or [`Kind::ImageElf`].
    pub fn of(file: &[u8]) -> Result<Self, object::Error> {
        match file.get(4) {
            Some(&object::elf::ELFCLASS32) => read::<FileHeader32<Endianness>>(file),
            _ => read::<FileHeader64<Endianness>>(file),
        }
    }

    /// Joins the segments into one piece, from the lowest address on, as `objcopy -O binary` writes it.
    pub(super) fn flat(&self, file: &[u8]) -> Option<Vec<u8>> {
        const LIMIT_BYTES: u64 = 1 << 30;
        let loaded = self.segments.iter().filter(|s| !s.file.is_empty());
        let start = loaded.clone().map(|s| s.memory.start).min()?;
        let mut flat = Vec::new();
        for segment in loaded {
            let bytes = segment.file.start.try_into().ok()?..segment.file.end.try_into().ok()?;
            let bytes = file.get::<Range<usize>>(bytes)?;
            let at = segment.memory.start - start;
            let end = at.checked_add(bytes.len() as u64)?;
            if end > LIMIT_BYTES {
                return None;
            }
            let (at, end) = (usize::try_from(at).ok()?, usize::try_from(end).ok()?);
            flat.resize(end.max(flat.len()), 0);
            flat.get_mut(at..end)?.copy_from_slice(bytes);
        }
        Some(flat)
    }
}

fn read<H: FileHeader<Endian = Endianness>>(file: &[u8]) -> Result<Elf, object::Error> {
    let header = H::parse(file)?;
    let endian = header.endian()?;
    let mut elf = Elf {
        is_wide: header.is_class_64(),
        ..Elf::default()
    };
    for segment in header.program_headers(endian, file)? {
        match segment.p_type(endian) {
            PT_LOAD => {
                let (at, bytes) = segment.file_range(endian);
                let place: u64 = segment.p_paddr(endian).into();
                let size: u64 = segment.p_memsz(endian).into();
                elf.segments.push(Segment {
                    file: at..at.saturating_add(bytes),
                    memory: place..place.saturating_add(size),
                });
            }
            PT_NOTE => {
                let mut notes = segment.notes(endian, file)?;
                // A damaged note ends the search, as in the monitor.
                while let Some(Ok(Some(note))) = notes.as_mut().map(|notes| notes.next()) {
                    elf.has_pvh |= note.name() == b"Xen" && note.n_type(endian) == PVH_NOTE;
                }
            }
            _ => {}
        }
    }
    Ok(elf)
}

/// A multiboot header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiboot {
    /// First address and end of the loaded memory, if the header has them; otherwise the kernel is an ELF file, which
    /// has them.
    pub memory: Option<(u64, u64)>,
}

impl Multiboot {
    /// Finds the header in a file, if there is one.
    pub fn of(file: &[u8]) -> Option<Self> {
        let file = file.get(..SEARCHED_BYTES.min(file.len()))?;
        let is_header = |at: &usize| {
            let sum = word(file, at + 4).wrapping_add(word(file, at + 8));
            file.len() >= at + MULTIBOOT_HEADER_BYTES
                && word(file, *at) == MULTIBOOT_MAGIC
                && sum.wrapping_add(MULTIBOOT_MAGIC) == 0
        };
        let at = (0..file.len()).step_by(4).find(is_header)?;
        let places = word(file, at + 4) & MULTIBOOT_GIVES_PLACES != 0;
        let (load, bss_end) = (word(file, at + 16), word(file, at + 24));
        Some(Self {
            memory: places.then_some((load.into(), bss_end.into())),
        })
    }
}

/// A bzImage of this release, for tests: a header of protocol 2.15 and an empty compressed kernel.
#[cfg(test)]
pub(super) fn fake_bzimage(release: &str) -> Vec<u8> {
    let mut bytes = vec![0; 0x600];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0x1f1, &[1]);
    put(BOOT_FLAG.0, BOOT_FLAG.1);
    put(SETUP_MAGIC.0, SETUP_MAGIC.1);
    put(0x206, &0x20fu16.to_le_bytes());
    put(0x20e, &0x100u16.to_le_bytes());
    put(0x211, &[1]);
    put(0x236, &1u16.to_le_bytes());
    put(0x248, &0x10u32.to_le_bytes());
    put(0x24c, &0x20u32.to_le_bytes());
    put(0x258, &0x100_0000u64.to_le_bytes());
    put(0x260, &0x40_0000u32.to_le_bytes());
    put(0x300, release.as_bytes());
    put(0x300 + release.len(), b" (builder) #1 SMP");
    put(0x410, b"\x28\xb5\x2f\xfd");
    bytes
}

#[cfg(test)]
#[path = "format_tests.rs"]
pub(super) mod tests;
