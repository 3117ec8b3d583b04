//! What kind of kernel a user's file is, and whether a lab machine can boot it.
//!
//! A file of an unknown kind is refused: QEMU would take it for a program without a header and
//! execute whatever it contains.

use crate::machine::MachineError;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use ws_lab::recipe::{EmulatorKind, Hypervisor, Recipe};
use ws_lab::sets::Architecture;

/// The multiboot header lies within this many bytes (Multiboot specification 0.6.96, 3.1).
const SEARCHED_BYTES: u64 = 8192;
const MULTIBOOT_MAGIC: u32 = 0x1bad_b002;
/// A header's first three words: magic, flags, and a checksum that makes their sum zero.
const MULTIBOOT_HEADER_BYTES: usize = 12;

/// The offsets and values of a bzImage's two magic numbers (Linux,
/// Documentation/arch/x86/boot.rst).
const BOOT_FLAG: (usize, &[u8]) = (0x1fe, &[0x55, 0xaa]);
const SETUP_MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
/// The offset and value of an arm64 Image's magic number (Linux,
/// Documentation/arch/arm64/booting.rst).
const IMAGE_MAGIC: (usize, &[u8]) = (56, b"ARM\x64");
/// The offset of e_machine in an ELF file (System V ABI, chapter 4).
const ELF_MACHINE: usize = 18;

/// A kind of kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// For x86, of 32 or 64 bits.
    Elf,
    BzImage,
    /// A multiboot kernel that is not an ELF file.
    Multiboot,
    /// For aarch64.
    ArmElf,
    /// An arm64 Image.
    Image,
    /// For aarch64, without any header: known only by the end of its name, as kvm-unit-tests'
    /// programs.
    Flat,
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Elf => "an ELF file for x86",
            Kind::BzImage => "a Linux bzImage for x86",
            Kind::Multiboot => "a multiboot kernel for x86",
            Kind::ArmElf => "an ELF file for aarch64",
            Kind::Image => "an arm64 Image",
            Kind::Flat => "a program for aarch64 without an Image header",
            Kind::Unknown => "no known kind of kernel",
        })
    }
}

/// What kind of kernel the file is.
///
/// # Errors
/// It can't be read.
pub fn kind(path: &Path) -> Result<Kind, MachineError> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SEARCHED_BYTES).read_to_end(&mut start))
        .map_err(|e| MachineError::io("read the kernel", path, e))?;
    Ok(match of_bytes(&start) {
        Kind::Unknown if path.extension().is_some_and(|end| end == "flat") => Kind::Flat,
        kind => kind,
    })
}

/// The kind of kernel by a file's first bytes.
fn of_bytes(start: &[u8]) -> Kind {
    let has = |(at, bytes): (usize, &[u8])| start.get(at..at + bytes.len()) == Some(bytes);
    if start.starts_with(&object::elf::ELFMAG) {
        let machine = |number: u16| has((ELF_MACHINE, &number.to_le_bytes()));
        return match () {
            () if machine(object::elf::EM_X86_64) || machine(object::elf::EM_386) => Kind::Elf,
            () if machine(object::elf::EM_AARCH64) => Kind::ArmElf,
            () => Kind::Unknown,
        };
    }
    match () {
        () if has(BOOT_FLAG) && has(SETUP_MAGIC) => Kind::BzImage,
        () if has(IMAGE_MAGIC) => Kind::Image,
        () if has_multiboot_header(start) => Kind::Multiboot,
        () => Kind::Unknown,
    }
}

fn has_multiboot_header(start: &[u8]) -> bool {
    let word = |header: &[u8], index: usize| {
        let mut bytes = [0u8; 4];
        bytes.copy_from_slice(header.get(index * 4..index * 4 + 4).unwrap_or(&[0; 4]));
        u32::from_le_bytes(bytes)
    };
    (0..start.len()).step_by(4).any(|at| {
        start
            .get(at..at + MULTIBOOT_HEADER_BYTES)
            .is_some_and(|header| {
                let sum = word(header, 1).wrapping_add(word(header, 2));
                word(header, 0) == MULTIBOOT_MAGIC && sum.wrapping_add(MULTIBOOT_MAGIC) == 0
            })
    })
}

/// Checks that a machine of this recipe can boot the file. The kernel may still be faulty: its
/// loader checks more.
///
/// # Errors
/// It can't be read, or a machine of this recipe can't boot such a kernel, with the cure.
pub fn check(recipe: &Recipe, path: &Path) -> Result<Kind, MachineError> {
    let kind = kind(path)?;
    let cure = match (recipe.architecture, &recipe.hypervisor, kind) {
        (Architecture::X86_64, Hypervisor::Xen { .. }, Kind::Elf) => return Ok(kind),
        (Architecture::X86_64, Hypervisor::Xen { .. }, Kind::BzImage | Kind::Multiboot) => {
            "its dom0 only starts ELF files with a PVH entry: use lab:native or lab:kvm for this one"
        }
        (Architecture::X86_64, Hypervisor::None, Kind::Elf)
            if recipe.emulator.kind == EmulatorKind::Bochs =>
        {
            "it boots from a CD, a Linux bzImage or a multiboot kernel that is no ELF file: use lab:native or lab:kvm-intel for this one"
        }
        (Architecture::X86_64, _, Kind::Elf | Kind::BzImage | Kind::Multiboot)
        | (Architecture::Aarch64, _, Kind::Image)
        | (Architecture::Aarch64, Hypervisor::None | Hypervisor::Kvm, Kind::Flat) => {
            return Ok(kind);
        }
        (Architecture::X86_64, _, Kind::Unknown) => {
            "it takes a Linux bzImage, an ELF file with a PVH entry, or a multiboot kernel"
        }
        (Architecture::X86_64, _, Kind::ArmElf | Kind::Image | Kind::Flat) => {
            "its processor is an x86: use an ARM machine such as lab:arm-native or lab:kvm-vhe"
        }
        (Architecture::Aarch64, _, Kind::Elf | Kind::BzImage | Kind::Multiboot) => {
            "its processor is an ARM: use an x86 machine such as lab:native or lab:kvm"
        }
        (Architecture::Aarch64, _, Kind::ArmElf) => {
            "it takes an arm64 Image: name the one that the kernel's build makes from its ELF file (objcopy -O binary)"
        }
        (Architecture::Aarch64, _, Kind::Flat) => {
            "it takes an arm64 Image: use lab:arm-native or a machine with KVM for programs without a header"
        }
        (Architecture::Aarch64, _, Kind::Unknown) => {
            "it takes an uncompressed arm64 Image, or a program without a header whose name ends in .flat, as in kvm-unit-tests"
        }
    };
    Err(MachineError::Other(format!(
        "lab:{} can't boot {}, which is {kind}: {cure}",
        recipe.name,
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use ws_lab::lab::Lab;

    /// Writes a file in which each part's bytes are at its offset; returns its path.
    fn file(folder: &Path, name: &str, parts: &[(usize, &[u8])]) -> PathBuf {
        let mut bytes = vec![0u8; 9000];
        for (at, part) in parts {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    const HEADER: &[u8] = b"\x02\xb0\xad\x1b\x03\0\0\0\xfb\x4f\x52\xe4";

    fn files(folder: &Path) -> Vec<(PathBuf, Kind)> {
        let elf = |name, machine: &[u8]| file(folder, name, &[(0, b"\x7fELF"), (18, machine)]);
        vec![
            (elf("x86.elf", &[62, 0]), Kind::Elf),
            (elf("i386.flat", &[3, 0]), Kind::Elf),
            (elf("arm.elf", &[183, 0]), Kind::ArmElf),
            (elf("sparc.elf", &[43, 0]), Kind::Unknown),
            (
                file(folder, "vmlinuz", &[BOOT_FLAG, SETUP_MAGIC]),
                Kind::BzImage,
            ),
            (file(folder, "Image", &[IMAGE_MAGIC]), Kind::Image),
            (file(folder, "header.flat", &[IMAGE_MAGIC]), Kind::Image),
            (file(folder, "selftest.flat", &[]), Kind::Flat),
            (file(folder, "early", &[(8176, HEADER)]), Kind::Multiboot),
            (file(folder, "late", &[(8184, HEADER)]), Kind::Unknown),
            (file(folder, "odd", &[(101, HEADER)]), Kind::Unknown),
            (
                file(folder, "wrong-sum", &[(64, &HEADER[..8])]),
                Kind::Unknown,
            ),
            (file(folder, "hostname", &[(0, b"debian\n")]), Kind::Unknown),
        ]
    }

    #[test]
    fn kernels_are_known_by_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        for (path, expected) in files(folder.path()) {
            assert_eq!(kind(&path).unwrap(), expected, "{}", path.display());
        }
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        assert_eq!(kind(&empty).unwrap(), Kind::Unknown);
        assert!(kind(folder.path()).is_err(), "a folder");
    }

    #[test]
    fn a_machine_takes_kernels_for_itself_and_refuses_all_others_with_the_cure() {
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::open(&[concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab").into()]).unwrap();
        let taken = |machine: &str| -> Vec<String> {
            let recipe = lab.recipe(machine, None).unwrap();
            let files = files(folder.path());
            let names = files.iter().filter_map(|(path, kind)| {
                let name = path.file_name()?.to_string_lossy().into_owned();
                match check(&recipe, path) {
                    Ok(taken) => {
                        assert_eq!(taken, *kind);
                        Some(name)
                    }
                    Err(why) => {
                        let why = why.to_string();
                        assert!(why.starts_with(&format!("lab:{machine} can't boot ")));
                        assert!(why.contains(&name) && why.contains(": it"), "{why}");
                        None
                    }
                }
            });
            names.collect()
        };
        let x86 = ["x86.elf", "i386.flat", "vmlinuz", "early"];
        assert_eq!(taken("native"), x86);
        assert_eq!(taken("kvm"), x86);
        assert_eq!(taken("qemu-kvm"), x86);
        assert_eq!(taken("xen"), ["x86.elf", "i386.flat"]);
        let arm = ["Image", "header.flat", "selftest.flat"];
        assert_eq!(taken("arm-native"), arm);
        assert_eq!(taken("kvm-vhe"), arm);
        assert_eq!(taken("arm-xen"), arm[..2]);
        assert_eq!(taken("neve"), arm[..2]);
    }
}
