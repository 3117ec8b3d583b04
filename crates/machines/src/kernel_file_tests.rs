use super::*;
use ws_lab::lab::Lab;

/// A file of 8 KiB in which each part's bytes are at its offset.
fn file(parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0u8; 8192];
    for (at, part) in parts {
        bytes[*at..at + part.len()].copy_from_slice(part);
    }
    bytes
}

/// A bzImage's header: protocol, loadflags, xloadflags, and the memory that it needs. With `linux`, a
/// compressed kernel is where it says.
pub(crate) fn bzimage(protocol: u16, flags: u8, wide: u8, needs_mib: u32, linux: bool) -> Vec<u8> {
    let payload: &[u8] = if linux { b"\x1f\x8b" } else { b"" };
    file(&[
        (0x1f1, &[1]),
        (0x1fe, &[0x55, 0xaa]),
        (0x202, b"HdrS"),
        (0x206, &protocol.to_le_bytes()),
        (0x20e, &0x100u16.to_le_bytes()),
        (0x211, &[flags]),
        (0x236, &[wide]),
        (0x248, &8u32.to_le_bytes()),
        (0x24c, &16u32.to_le_bytes()),
        (0x260, &(needs_mib << 20).to_le_bytes()),
        (0x300, b"6.1.0-50-amd64 (x) #1 SMP PREEMPT_RT"),
        (0x408, payload),
    ])
}

/// An arm64 Image: offset, size, flags; with a banner if it is a Linux.
fn image(offset: u64, mib: u64, flags: u64, linux: bool) -> Vec<u8> {
    let fields = [offset, mib << 20, flags].map(u64::to_le_bytes);
    let banner: &[u8] = if linux {
        b"Linux version 6.1.0-arm (x)"
    } else {
        b"U-Boot 2025"
    };
    file(&[(8, fields.as_flattened()), (56, b"ARM\x64"), (1000, banner)])
}

/// A RISC-V Image: its offset in MiB, and the rest as of [`image`].
fn riscv_image(offset_mib: u64, mib: u64, flags: u64, linux: bool) -> Vec<u8> {
    let mut bytes = image(offset_mib << 20, mib, flags, linux);
    bytes[56..60].copy_from_slice(b"RSC\x05");
    bytes
}

const PVH: &[u8] = b"\x04\0\0\0\x04\0\0\0\x12\0\0\0Xen\0\x00\x10\0\0";
const MULTIBOOT: &[u8] = b"\x02\xb0\xad\x1b\x03\0\0\0\xfb\x4f\x52\xe4";

/// A 64-bit ELF file of a machine, loaded at an address, with a note and a multiboot header or not.
fn elf(machine: u16, load: u64, note: &[u8], header: &[u8]) -> Vec<u8> {
    let segment = |kind: u32, at: u64, place: u64, bytes: u64| {
        let words = [at, place, place, bytes, bytes, 4].map(u64::to_le_bytes);
        [&u64::from(kind).to_le_bytes(), words.as_flattened()].concat()
    };
    file(&[
        (0, b"\x7fELF\x02\x01\x01"),
        (16, &[2, 0]),
        (18, &machine.to_le_bytes()),
        (20, &[1]),
        (32, &[64]),
        (52, &[64, 0, 56, 0, 2, 0, 64, 0]),
        (64, &segment(1, 4096, load, 4096)),
        (120, &segment(4, 512, 0, note.len() as u64)),
        (512, note),
        (1024, header),
        (4096, b"Linux version 6.9.1 (x)"),
    ])
}

/// Places of a multiboot header that gives them: load, end of the file's part, end of bss.
fn placed(load: u32) -> Vec<u8> {
    let flags = 1u32 << 16;
    let sum = 0u32.wrapping_sub(0x1bad_b002).wrapping_sub(flags);
    let words = [
        0x1bad_b002,
        flags,
        sum,
        load,
        load,
        load + 4096,
        load + 8192,
        load,
    ];
    words.map(u32::to_le_bytes).as_flattened().to_vec()
}

/// Files by name, as they are on the disks of users.
fn kernels() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("vmlinuz", bzimage(0x20f, 1, 1, 64, true)),
        ("vmlinuz-32", bzimage(0x20f, 1, 0, 64, true)),
        ("vmlinuz-huge", bzimage(0x20f, 1, 1, 600, true)),
        ("memtest", bzimage(0x20f, 1, 1, 64, false)),
        ("ipxe.lkrn", bzimage(0x207, 1, 0, 0, false)),
        ("memdisk", bzimage(0x203, 1, 0, 0, false)),
        ("zImage", bzimage(0x20f, 0, 1, 64, true)),
        ("vmlinux", elf(62, 0x100_0000, PVH, b"")),
        ("vmlinux-no-pvh", elf(62, 0x100_0000, b"", b"")),
        ("i386.flat", elf(3, 0x40_0000, b"", MULTIBOOT)),
        ("low.elf", elf(62, 0x1000, PVH, b"")),
        ("far.elf", elf(62, 0x4000_0000, PVH, b"")),
        ("uboot.elf", elf(3, 0xfff0_0000, b"", &placed(0xfff0_0000))),
        ("raw", file(&[(0, &placed(0x20_0000))])),
        ("raw-low", file(&[(0, &placed(0x1000))])),
        ("hostname", file(&[(0, b"debian\n")])),
        (
            "shell.efi",
            file(&[(0, b"MZ"), (0x3c, &[0x80]), (0x80, b"PE\0\0\x64\x86")]),
        ),
        ("Image", image(0, 32, 10, true)),
        ("Image-big-endian", image(0, 32, 1, true)),
        ("Image-huge", image(0, 600, 10, true)),
        ("Image-odd", image(4, 32, 10, true)),
        ("u-boot-Image", image(0, 32, 10, false)),
        ("selftest.flat", file(&[])),
        ("uboot-arm.elf", elf(183, 0, b"", b"")),
        ("Image-riscv", riscv_image(2, 32, 0, true)),
        ("Image-riscv-huge", riscv_image(2, 600, 0, true)),
        ("Image-riscv-odd", riscv_image(1, 32, 0, true)),
        ("Image-riscv-big-endian", riscv_image(2, 32, 1, true)),
        ("u-boot-Image-riscv", riscv_image(2, 32, 0, false)),
        ("opensbi.elf", elf(243, 0, b"", b"")),
    ]
}

/// What a machine says of each file: nothing of those that it takes.
fn said(
    machine: &str,
    check: impl Fn(&Recipe, &Path) -> Result<(), MachineError>,
) -> Vec<(&'static str, Option<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let lab = Lab::open(&[concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab").into()]).unwrap();
    let recipe = lab.recipe(machine, None).unwrap();
    let check = |(name, bytes): (&'static str, Vec<u8>)| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let why = check(&recipe, &path).err().map(|e| e.to_string());
        if let Some(why) = &why {
            let start = format!("can't boot {}, which is ", path.display());
            assert!(why.contains(&start) && why.contains(": "), "{why}");
        }
        (name, why)
    };
    kernels().into_iter().map(check).collect()
}

fn taken(said: Vec<(&'static str, Option<String>)>) -> String {
    let taken = said.into_iter().filter(|(_, why)| why.is_none());
    taken.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

fn as_guest(machine: &str) -> Vec<(&'static str, Option<String>)> {
    said(machine, |recipe, path| guest(recipe, path).map(drop))
}

fn as_host(machine: &str) -> Vec<(&'static str, Option<String>)> {
    said(machine, |recipe, path| {
        let image = BootImage::read(path).map_err(|e| MachineError::Other(e.to_string()))?;
        host(recipe, &image, path)
    })
}

#[test]
fn a_machine_takes_guests_that_what_starts_them_can_load() {
    for (machine, expected) in [
        ("kvm", "vmlinuz vmlinuz-32 memtest vmlinux i386.flat raw"),
        // A PC's firmware starts all programs with a boot header.
        (
            "native",
            "vmlinuz vmlinuz-32 vmlinuz-huge memtest ipxe.lkrn memdisk zImage vmlinux i386.flat low.elf far.elf raw raw-low",
        ),
        (
            "qemu-kvm",
            "vmlinuz vmlinuz-32 vmlinuz-huge memtest ipxe.lkrn memdisk zImage vmlinux i386.flat low.elf far.elf raw raw-low",
        ),
        // Bochs boots from a CD.
        (
            "intel-native",
            "vmlinuz vmlinuz-32 vmlinuz-huge memtest ipxe.lkrn memdisk zImage raw raw-low",
        ),
        ("xen", "vmlinux low.elf far.elf"),
        ("arm-native", "Image u-boot-Image selftest.flat"),
        ("kvm-vhe", "Image u-boot-Image selftest.flat"),
        ("arm-xen", "Image u-boot-Image"),
        ("neve", "Image u-boot-Image"),
        ("riscv-native", "Image-riscv u-boot-Image-riscv"),
        ("kvm-riscv", "Image-riscv u-boot-Image-riscv"),
    ] {
        assert_eq!(taken(as_guest(machine)), expected, "{machine}");
    }
}

#[test]
fn a_machine_s_own_kernel_is_a_linux_that_can_run_its_monitor() {
    for (machine, expected) in [
        ("kvm", "vmlinuz vmlinuz-huge zImage vmlinux"),
        ("qemu-kvm", "vmlinuz vmlinuz-huge zImage vmlinux"),
        ("kvm-intel", "vmlinuz vmlinuz-huge zImage"),
        ("kvm-vhe", "Image Image-big-endian Image-huge Image-odd"),
        (
            "kvm-riscv",
            "Image-riscv Image-riscv-huge Image-riscv-odd Image-riscv-big-endian",
        ),
    ] {
        let is_x86 = !["kvm-vhe", "kvm-riscv"].contains(&machine);
        let said = as_host(machine);
        for (name, why) in &said {
            let why = why.as_deref().unwrap_or_default();
            let cure = match *name {
                _ if why.is_empty() => continue,
                "memtest" | "ipxe.lkrn" | "memdisk" if is_x86 => "no Linux",
                "u-boot-Image" | "uboot-arm.elf" if machine == "kvm-vhe" => "no Linux",
                "u-boot-Image-riscv" | "opensbi.elf" if machine == "kvm-riscv" => "no Linux",
                "vmlinuz-32" if is_x86 => "CONFIG_64BIT",
                "vmlinux" if machine == "kvm-intel" => "from a CD",
                "vmlinux-no-pvh" if machine == "kvm" => "CONFIG_PVH",
                "Image" if machine != "kvm-vhe" => "use an ARM machine such as",
                "vmlinuz" if !is_x86 => "use an x86 machine such as",
                "Image-riscv" => "use a RISC-V machine such as lab:kvm-riscv",
                _ => ": ",
            };
            assert!(why.contains(cure), "{machine} {name}: {why}, not {cure}");
        }
        let kernels = said
            .into_iter()
            .filter(|(name, _)| !name.ends_with(".elf") && *name != "i386.flat");
        assert_eq!(taken(kernels.collect()), expected, "{machine}");
    }
}

#[test]
fn what_only_the_loader_would_refuse_is_said_with_the_cure() {
    let said = as_guest("kvm");
    for (name, cure) in [
        (
            "ipxe.lkrn",
            "a program with a bzImage's header, but not a Linux: its boot protocol 2.07 is older than 2.10",
        ),
        ("memdisk", "protocol 2.03"),
        ("zImage", "older than 2.10"),
        (
            "vmlinuz-huge",
            "it needs memory up to 601 MiB, the guest has 512: add more with +memory",
        ),
        ("vmlinux-no-pvh", "neither a PVH entry"),
        ("low.elf", "below 1 MiB"),
        ("raw-low", "below 1 MiB"),
        ("far.elf", "memory up to 1025 MiB"),
        (
            "uboot.elf",
            "loaded at 0xfff00000, where machines have their firmware",
        ),
        (
            "hostname",
            "which is an unknown kind of file: this machine boots",
        ),
        (
            "shell.efi",
            "a program for EFI firmware: this machine boots",
        ),
        ("Image", "use an ARM machine"),
    ] {
        let why = said.iter().find(|(file, _)| *file == name).unwrap();
        let why = why.1.as_deref().unwrap_or_default();
        assert!(why.contains(cure), "{name}: {why}, not {cure}");
    }
    let arm = as_guest("kvm-vhe");
    for (name, cure) in [
        ("Image-big-endian", "CONFIG_CPU_BIG_ENDIAN"),
        ("Image-huge", "memory up to 600 MiB"),
        ("Image-odd", "an offset that is not in any Linux"),
        ("uboot-arm.elf", "the ELF file of a Linux"),
        ("vmlinuz", "use an x86 machine"),
    ] {
        let why = arm.iter().find(|(file, _)| *file == name).unwrap();
        let why = why.1.as_deref().unwrap_or_default();
        assert!(why.contains(cure), "{name}: {why}, not {cure}");
    }
}

#[test]
fn what_a_riscv_machine_does_not_load_is_said_with_the_cure() {
    let riscv = as_guest("kvm-riscv");
    for (name, cure) in [
        ("Image-riscv-big-endian", "it is big-endian"),
        ("Image-riscv-huge", "memory up to 602 MiB"),
        ("Image-riscv-odd", "an offset or a size that is not in any"),
        ("opensbi.elf", "the ELF file of a Linux"),
        (
            "vmlinuz",
            "its processor is a RISC-V: use an x86 machine such as lab:native or lab:kvm",
        ),
        (
            "Image",
            "use an ARM machine such as lab:arm-native or lab:kvm-vhe",
        ),
        ("selftest.flat", "this machine boots a RISC-V Image"),
        ("hostname", "this machine boots a RISC-V Image"),
    ] {
        let why = riscv.iter().find(|(file, _)| *file == name).unwrap();
        let why = why.1.as_deref().unwrap_or_default();
        assert!(why.contains(cure), "{name}: {why}, not {cure}");
    }
    let x86 = as_guest("native");
    let why = x86.iter().find(|(file, _)| *file == "Image-riscv").unwrap();
    let why = why.1.as_deref().unwrap_or_default();
    assert!(why.contains("its processor is an x86: use a RISC-V machine such as lab:riscv-native or lab:kvm-riscv"), "{why}");
}

#[test]
fn a_file_s_kind_is_known_by_its_start_or_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let kind_of = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        kind(&path).unwrap()
    };
    assert_eq!(kind_of("a.flat", b"code"), Kind::Flat);
    assert_eq!(
        kind_of("header.flat", &image(0, 1, 0, false)),
        Kind::Image(Architecture::Aarch64)
    );
    assert_eq!(
        kind_of("late", &[&[0; 8190], MULTIBOOT].concat()),
        Kind::Unknown
    );
    assert!(kind(folder.path()).is_err(), "a folder");
}
