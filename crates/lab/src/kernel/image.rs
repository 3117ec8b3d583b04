//! A kernel as loaders take it, unpacked from the files of distributions: compressed files, EFI zboot and unified
//! kernel images, and the ELF files of architectures whose Linux is an Image.

use super::KernelError;
use super::decompress::{Packing, unpacked_by};
use super::format::{BzImage, Elf, Kind, banner, kind};
use object::read::pe::PeFile64;
use object::{Object, ObjectSection};
use std::fs;
use std::path::Path;

/// The most packings within each other: a unified kernel image has a zboot image, which has a compressed Image.
const DEPTH: u32 = 4;
/// The most bytes of a kernel's file: a file with debug information has 500 MB.
const LIMIT_BYTES: u64 = 2 << 30;

/// A kernel's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootImage {
    /// The bytes that a loader takes.
    pub bytes: Vec<u8>,
    pub kind: Kind,
    /// Packings of the kernel, from the outside in; empty if the file itself can be booted.
    pub packed: Vec<&'static str>,
    /// Parts of a unified kernel image that are not used.
    pub unused: Vec<&'static str>,
}

impl BootImage {
    /// Reads and unpacks a file. An error has the cure.
    pub fn read(path: &Path) -> Result<Self, KernelError> {
        let io = |e| KernelError::io(path, e);
        let about = fs::metadata(path).map_err(io)?;
        if !about.is_file() || about.len() > LIMIT_BYTES {
            return Err(KernelError::NoKernel {
                path: path.to_owned(),
                what: match about.is_file() {
                    true => "it is larger than any kernel".into(),
                    false => "it is not a regular file".into(),
                },
            });
        }
        let image = Self::of(fs::read(path).map_err(io)?);
        let mut image = image.map_err(|what| KernelError::NoKernel {
            path: path.to_owned(),
            what,
        })?;
        if image.kind == Kind::Unknown && path.extension().is_some_and(|end| end == "flat") {
            image.kind = Kind::Flat;
        }
        Ok(image)
    }

    /// Unpacks a file's bytes. An error says why that is not possible, and the cure.
    pub fn of(bytes: Vec<u8>) -> Result<Self, String> {
        let mut image = Self {
            kind: kind(&bytes),
            bytes,
            packed: Vec::new(),
            unused: Vec::new(),
        };
        for _ in 0..DEPTH {
            let Some((how, bytes)) = image.inner()? else {
                return Ok(image);
            };
            image.packed.push(how);
            image.kind = kind(&bytes);
            image.bytes = bytes;
        }
        Err(format!("it is packed more than {DEPTH} times"))
    }

    /// Unpacks the outermost packing, if there is one. Returns the packing's name and its content.
    fn inner(&mut self) -> Result<Option<(&'static str, Vec<u8>)>, String> {
        let bytes = &*self.bytes;
        match self.kind {
            Kind::BzImage | Kind::Elf | Kind::Flat | Kind::Image(_) | Kind::Multiboot => Ok(None),
            Kind::ImageElf(of) => {
                Ok(flat_image(bytes, Kind::Image(of)).map(|image| ("ELF", image)))
            }
            Kind::Efi if is_zboot(bytes) => zboot(bytes).map(|inner| Some(("zboot", inner))),
            Kind::Efi => self.unified(),
            Kind::Unknown => {
                if let Some(program) = unpacked_by(bytes) {
                    return Err(format!(
                        "it is compressed in a way that worldswitch can't read: unpack it with {program} -d first"
                    ));
                }
                let Some(packing) = Packing::of(bytes) else {
                    return Ok(None);
                };
                let inner = packing.open(bytes);
                inner
                    .map(|inner| Some(("compressed", inner)))
                    .map_err(|e| format!("it can't be decompressed: {e}"))
            }
        }
    }

    /// Extracts the kernel of a unified kernel image.
    fn unified(&mut self) -> Result<Option<(&'static str, Vec<u8>)>, String> {
        let file = PeFile64::parse(&*self.bytes);
        let linux = file.as_ref().ok().and_then(|file| {
            let linux = file.section_by_name(".linux")?;
            Some((file, linux))
        });
        let Some((file, linux)) = linux else {
            return Ok(None);
        };
        let damaged = |e| format!("its section .linux is damaged: {e}");
        let linux = linux.data().map_err(damaged)?.to_vec();
        let others = [".initrd", ".cmdline"];
        let others = others.into_iter();
        let unused = others.filter(|name| file.section_by_name(name).is_some());
        self.unused = unused.collect();
        Ok(Some(("unified", linux)))
    }

    /// The version of the Linux, as `6.1.0-50-amd64 (builder) #1 SMP`; none if the kernel is not a Linux.
    pub fn version(&self) -> Option<String> {
        match self.kind {
            Kind::BzImage => {
                let header = BzImage::of(&self.bytes).filter(|header| header.is_linux());
                header?.version().map(str::to_owned)
            }
            Kind::Elf | Kind::Image(_) => banner(&self.bytes),
            _ => None,
        }
    }

    /// The release of the Linux: the first word of its version.
    pub fn release(&self) -> Option<String> {
        let version = self.version()?;
        version.split(' ').next().map(str::to_owned)
    }
}

/// The Image of a kernel's ELF file; none if the file is another program.
fn flat_image(bytes: &[u8], wanted: Kind) -> Option<Vec<u8>> {
    let image = Elf::of(bytes).ok()?.flat(bytes)?;
    (kind(&image) == wanted).then_some(image)
}

/// Whether an EFI program is a kernel that decompresses itself (Linux,
/// drivers/firmware/efi/libstub/zboot-header.S).
fn is_zboot(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(b"zimg")
}

fn zboot(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let damaged = || "it is a damaged EFI zboot image".to_owned();
    let word = |at: usize| {
        let four = bytes.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*four)).ok()
    };
    let start = word(8).ok_or_else(damaged)?;
    let end = word(12).and_then(|length| start.checked_add(length));
    let payload = end.and_then(|end| bytes.get(start..end));
    let payload = payload.ok_or_else(damaged)?;
    let name = bytes.get(24..56).ok_or_else(damaged)?;
    let name: Vec<u8> = name.iter().copied().take_while(|b| *b != 0).collect();
    let name = String::from_utf8(name).map_err(|_| damaged())?;
    let packing = Packing::of_word(&name).ok_or_else(|| {
        format!(
            "its EFI zboot image is compressed with {}, which worldswitch can't read: use the Image of the same build",
            name.escape_debug()
        )
    })?;
    let inner = packing.open(payload);
    inner.map_err(|e| format!("its EFI zboot image can't be decompressed ({name}): {e}"))
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
