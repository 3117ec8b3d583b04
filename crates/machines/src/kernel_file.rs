//! Checks whether a lab machine can boot a user's kernel, and finds the file that it boots. That is the kernel's own
//! file, or an unpacked copy in the cache.
//!
//! A file of an unknown kind is refused: QEMU would take it for a program without a header and
//! execute whatever it contains. A kernel that the monitor's loader would refuse (vmm/arch, vmm/loader_elf.c)
//! is refused here too, before the machine boots.

use crate::kept;
use crate::machine::MachineError;
use crate::resources::Resources;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use ws_lab::kernel::BootImage;
use ws_lab::kernel::format::{self, BzImage, Elf, Image, Multiboot};
use ws_lab::recipe::{EmulatorKind, Hypervisor, Monitor, Recipe};
use ws_lab::sets::Architecture;

pub use ws_lab::kernel::format::Kind;

/// The first bytes of a file, by which its kind is known.
const SEARCHED_BYTES: u64 = 8192;
/// The first version of Linux' boot protocol that the monitor boots, and the address to which it loads kernels.
const LEAST_PROTOCOL: u16 = 0x20a;
const LOADED_AT: u64 = 0x10_0000;

/// The folder of the cache with unpacked kernels, and how many the cache keeps, of up to 60 MB each.
const UNPACKED: &str = "kernels";
const KEPT: usize = 16;

/// Reads the kind of a kernel file that is not packed.
pub fn kind(path: &Path) -> Result<Kind, MachineError> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SEARCHED_BYTES).read_to_end(&mut start))
        .map_err(|e| MachineError::io("read the kernel", path, e))?;
    Ok(match format::kind(&start) {
        Kind::Unknown if path.extension().is_some_and(|end| end == "flat") => Kind::Flat,
        kind => kind,
    })
}

/// The file that a machine boots for a kernel: its own, or an unpacked copy in the cache.
pub fn bootable(
    image: &BootImage,
    path: &Path,
    resources: &Resources,
) -> Result<PathBuf, MachineError> {
    if image.packed.is_empty() {
        return Ok(path.to_owned());
    }
    let digest = Sha256::digest(&image.bytes);
    let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = resources.store()?.root().join(UNPACKED);
    kept::keep(&folder, &name, &image.bytes, KEPT)
        .map_err(|e| MachineError::io("keep the unpacked kernel in", &folder, e))
}

/// The note on the parts of a unified kernel image that a machine does not use; none for other kernels.
pub fn unused(image: &BootImage, path: &Path) -> Option<String> {
    let (parts, path) = (ws_text::and(&image.unused), path.display());
    (!parts.is_empty())
        .then(|| format!("only the kernel of the unified kernel image {path} is used, not {parts}"))
}

/// Returns the note of [`unused`] for a kernel's file.
pub fn unused_of(path: &Path) -> Result<Option<String>, MachineError> {
    if kind(path)? != Kind::Efi {
        return Ok(None);
    }
    let image = BootImage::read(path).map_err(|e| MachineError::Other(e.to_string()))?;
    Ok(unused(&image, path))
}

/// Reads a kernel that a machine of this recipe is to boot as its guest. A kernel that passes may still be faulty.
pub fn guest(recipe: &Recipe, path: &Path) -> Result<BootImage, MachineError> {
    let image = BootImage::read(path).map_err(|e| MachineError::Other(e.to_string()))?;
    match refused(recipe, image.kind).or_else(|| not_loaded(recipe, &image)) {
        None => Ok(image),
        Some(cure) => Err(MachineError::Other(format!(
            "lab:{} can't boot {}, which is {}: {cure}",
            recipe.name,
            path.display(),
            what(&image)
        ))),
    }
}

/// The kind of a kernel in words.
fn what(image: &BootImage) -> String {
    match BzImage::of(&image.bytes) {
        Some(header) if !header.is_linux() => {
            "a program with a bzImage's header, but not a Linux".into()
        }
        _ => image.kind.to_string(),
    }
}

/// Reason why machines of the recipe boot no kernels of this kind as their guest, and the cure.
fn refused(recipe: &Recipe, kind: Kind) -> Option<String> {
    let its = recipe.architecture;
    if let Some(other) = kind.architecture().filter(|other| *other != its) {
        let (its, wanted) = (its.facts(), other.facts());
        let [native, kvm] = wanted.examples;
        return Some(format!(
            "its processor is {}: use {} machine such as {native} or {kvm}",
            its.processor, wanted.processor
        ));
    }
    let linux = its.facts().linux;
    let why = match (its, &recipe.hypervisor, kind) {
        (Architecture::X86_64, Hypervisor::Xen { .. }, Kind::Elf) => return None,
        (Architecture::X86_64, Hypervisor::Xen { .. }, Kind::BzImage | Kind::Multiboot) => {
            "its dom0 only starts ELF files with a PVH entry: use lab:native or lab:kvm for this one"
        }
        (Architecture::X86_64, Hypervisor::None, Kind::Elf)
            if recipe.emulator.kind == EmulatorKind::Bochs =>
        {
            "from its CD this machine boots a Linux bzImage or a multiboot kernel that is not an ELF file: use lab:native or lab:kvm-intel for this one"
        }
        (Architecture::X86_64, _, Kind::Elf | Kind::BzImage | Kind::Multiboot)
        | (_, _, Kind::Image(_)) => return None,
        (Architecture::Aarch64, Hypervisor::None | Hypervisor::Kvm, Kind::Flat)
            if recipe.nested_xen().is_none() =>
        {
            return None;
        }
        (Architecture::X86_64, _, Kind::Flat) => {
            "its processor is an x86: use an ARM machine such as lab:arm-native or lab:kvm-vhe"
        }
        (Architecture::X86_64, ..) => {
            "this machine boots a Linux bzImage, an ELF file with a PVH entry, a multiboot kernel, or an EFI program with a Linux in it (a unified kernel image)"
        }
        (Architecture::Aarch64, _, Kind::Flat) => {
            "this machine boots an arm64 Image: use lab:arm-native or a machine with KVM for programs without a header"
        }
        (_, _, Kind::ImageElf(_)) => {
            return Some(format!(
                "this machine boots {linux}, or the ELF file of a Linux, which contains one"
            ));
        }
        (Architecture::Aarch64, ..) => {
            "this machine boots an arm64 Image, also a compressed one or in an EFI program (zboot, unified kernel image), or a program without a header whose name ends in .flat, as in kvm-unit-tests"
        }
        _ => {
            return Some(format!(
                "this machine boots {linux}, also a compressed one or in an EFI program (zboot, unified kernel image)"
            ));
        }
    };
    Some(why.to_owned())
}

/// Reason why the guest's loader in machines of the recipe would refuse the kernel, and the cure.
fn not_loaded(recipe: &Recipe, image: &BootImage) -> Option<String> {
    let memory_bytes = recipe.emulator.memory_mib << 20;
    let by_vmm = matches!(recipe.monitor, Monitor::Vmm { .. });
    match image.kind {
        Kind::BzImage if by_vmm => bzimage(&image.bytes, memory_bytes),
        Kind::Elf => {
            let only_pvh = matches!(recipe.hypervisor, Hypervisor::Xen { .. });
            elf(&image.bytes, only_pvh, by_vmm, memory_bytes)
        }
        Kind::Multiboot if by_vmm => multiboot(&image.bytes, memory_bytes),
        Kind::Image(Architecture::Aarch64) => arm_image(&image.bytes, memory_bytes),
        Kind::Image(of) => other_image(of, &image.bytes, memory_bytes),
        _ => None,
    }
}

fn bzimage(bytes: &[u8], memory_bytes: u64) -> Option<String> {
    let header = BzImage::of(bytes)?;
    let protocol = header.protocol();
    if protocol < LEAST_PROTOCOL || !header.loads_high() {
        let (major, minor) = (protocol >> 8, protocol & 0xff);
        return Some(format!(
            "its boot protocol {major}.{minor:02} is older than 2.10, as that of iPXE, memdisk and Linux before 2.6.31: use lab:native, which starts it as a PC does"
        ));
    }
    if header.kernel().is_empty() {
        return Some("it ends before its kernel begins: copy the file again".into());
    }
    let loaded = LOADED_AT..LOADED_AT + header.kernel().len() as u64;
    none_fits([loaded, header.memory()], memory_bytes)
}

fn elf(bytes: &[u8], only_pvh: bool, by_vmm: bool, memory_bytes: u64) -> Option<String> {
    let file = match Elf::of(bytes) {
        Ok(file) => file,
        Err(e) => return Some(format!("it is damaged ({e}): copy the file again")),
    };
    if !file.has_pvh {
        let header = Multiboot::of(bytes).filter(|_| !only_pvh);
        match header.and_then(|header| header.memory) {
            None if header.is_none() => {
                return Some(match only_pvh {
                    true => "it has no PVH entry (an ELF note, which CONFIG_PVH gives a Linux)".into(),
                    false => "it has neither a PVH entry (an ELF note, which CONFIG_PVH gives a Linux) nor a multiboot header, so no machine of the lab boots it".into(),
                });
            }
            Some(_) => return multiboot(bytes, memory_bytes),
            None => {}
        }
    }
    if !by_vmm {
        return None;
    }
    let segments = file.segments.iter().filter(|s| !s.memory.is_empty());
    let lowest = segments.clone().map(|segment| segment.memory.start).min();
    if lowest.is_some_and(|lowest| lowest < LOADED_AT) {
        return Some("it is loaded below 1 MiB, where the monitor has its tables".into());
    }
    none_fits(segments.map(|segment| segment.memory.clone()), memory_bytes)
}

fn multiboot(bytes: &[u8], memory_bytes: u64) -> Option<String> {
    let (load, end) = Multiboot::of(bytes)?.memory?;
    let end = end.max(load + 1);
    if load < LOADED_AT {
        return Some("it is loaded below 1 MiB, where the monitor has its tables".into());
    }
    none_fits(std::iter::once(load..end), memory_bytes)
}

fn arm_image(bytes: &[u8], memory_bytes: u64) -> Option<String> {
    const BOUNDARY: u64 = 2 << 20;
    let header = Image::of(bytes)?;
    if header.is_big_endian() {
        return Some("it is big-endian: build one without CONFIG_CPU_BIG_ENDIAN".into());
    }
    let memory = header.memory();
    if memory.start >= BOUNDARY || memory.start % 8 != 0 {
        return Some(
            "its header has an offset that is not in any Linux: copy the file again".into(),
        );
    }
    none_fits(std::iter::once(memory), memory_bytes)
}

/// Checks an Image as [`arm_image`] does, for another architecture than ARM.
fn other_image(of: Architecture, bytes: &[u8], memory_bytes: u64) -> Option<String> {
    const BOUNDARY: u64 = 2 << 20;
    let header = Image::of(bytes)?;
    if header.is_big_endian() {
        let name = of.facts().isa;
        return Some(format!("it is big-endian, and Linux for {name} is not"));
    }
    let memory = header.memory();
    if memory.is_empty() || memory.start % BOUNDARY != 0 {
        return Some(
            "its header has an offset or a size that is not in any Linux: copy the file again"
                .into(),
        );
    }
    none_fits(std::iter::once(memory), memory_bytes)
}

/// Reason why a kernel that needs these addresses can't be loaded, if the guest has no memory at one of them.
fn none_fits(needed: impl IntoIterator<Item = Range<u64>>, memory_bytes: u64) -> Option<String> {
    /// Addresses of a PC's devices and its firmware.
    const DEVICES: Range<u64> = 0xc000_0000..0x1_0000_0000;
    let last = needed.into_iter().max_by_key(|range| range.end)?;
    if last.end <= memory_bytes {
        return None;
    }
    Some(match DEVICES.contains(&last.start) {
        true => format!(
            "it is loaded at {:#x}, where machines have their firmware: no machine of the lab boots it",
            last.start
        ),
        false => format!(
            "it needs memory up to {} MiB, the guest has {}: add more with +memory=MIB",
            last.end.div_ceil(1 << 20),
            memory_bytes >> 20
        ),
    })
}

/// Checks that a machine of this recipe can boot the kernel as its own Linux.
pub fn host(recipe: &Recipe, image: &BootImage, path: &Path) -> Result<(), MachineError> {
    match not_host(recipe, image) {
        None => Ok(()),
        Some(why) => Err(MachineError::Other(format!(
            "can't boot {}, which is {}: {why}",
            path.display(),
            what(image)
        ))),
    }
}

/// Reason why a machine of this recipe can't boot the kernel as its own Linux, and the cure.
fn not_host(recipe: &Recipe, image: &BootImage) -> Option<String> {
    let its = recipe.architecture;
    if let Some(other) = image.kind.architecture().filter(|other| *other != its) {
        let (its, wanted) = (its.facts(), other.facts());
        let [_, kvm] = wanted.examples;
        return Some(format!(
            "the machine's processor is {}: use {} machine such as {kvm}",
            its.processor, wanted.processor
        ));
    }
    let why = match image.kind {
        Kind::BzImage => match BzImage::of(&image.bytes) {
            Some(header) if !header.is_linux() => Some(NO_LINUX),
            Some(header) if !header.is_64_bit() => Some(NOT_64_BIT),
            _ => None,
        },
        Kind::Elf => elf_host(recipe, image),
        Kind::Image(_) => image.release().is_none().then_some(NO_LINUX),
        Kind::Multiboot | Kind::ImageElf(_) => Some(NO_LINUX),
        Kind::Unknown | Kind::Efi | Kind::Flat => Some(NO_LINUX),
    };
    why.map(str::to_owned)
}

const NO_LINUX: &str = "it contains no Linux, and this machine needs a Linux as its own kernel";
const NOT_64_BIT: &str =
    "it is a 32-bit Linux, which can't run the monitor: build one with CONFIG_64BIT";

/// Reason why the emulator can't boot a Linux' ELF file.
fn elf_host(recipe: &Recipe, image: &BootImage) -> Option<&'static str> {
    if recipe.emulator.kind == EmulatorKind::Bochs {
        return Some("the machine boots a bzImage from a CD: name the bzImage of the same build");
    }
    match Elf::of(&image.bytes) {
        _ if image.release().is_none() => Some(NO_LINUX),
        Ok(file) if !file.is_wide => Some(NOT_64_BIT),
        Ok(file) if file.has_pvh => None,
        _ => Some(
            "it has no PVH entry: build it with CONFIG_PVH, or name the bzImage of the same build",
        ),
    }
}

#[cfg(test)]
#[path = "kernel_file_tests.rs"]
pub(crate) mod tests;
