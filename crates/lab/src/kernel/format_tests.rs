use super::*;
use object::elf::{EM_AARCH64, EM_X86_64};
use proptest::prelude::*;

/// A file in which each part's bytes are at its offset.
fn file(parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0u8; 9000];
    for (at, part) in parts {
        bytes[*at..at + part.len()].copy_from_slice(part);
    }
    bytes
}

const ARM_MAGIC: (usize, &[u8]) = (56, b"ARM\x64");
const RISCV_MAGIC: (usize, &[u8]) = (56, b"RSC\x05");
const HEADER: &[u8] = b"\x02\xb0\xad\x1b\x03\0\0\0\xfb\x4f\x52\xe4";

#[test]
fn kernels_are_known_by_what_is_in_them() {
    let elf = |machine: &[u8]| file(&[(0, b"\x7fELF"), (18, machine)]);
    let (arm, riscv) = (Architecture::Aarch64, Architecture::Riscv64);
    for (bytes, expected) in [
        (elf(&[62, 0]), Kind::Elf),
        (elf(&[3, 0]), Kind::Elf),
        (elf(&[183, 0]), Kind::ImageElf(arm)),
        (elf(&[243, 0]), Kind::ImageElf(riscv)),
        (elf(&[43, 0]), Kind::Unknown),
        (file(&[BOOT_FLAG, SETUP_MAGIC]), Kind::BzImage),
        (file(&[(0, b"MZ"), BOOT_FLAG, SETUP_MAGIC]), Kind::BzImage),
        (file(&[BOOT_FLAG]), Kind::Unknown),
        (file(&[ARM_MAGIC]), Kind::Image(arm)),
        (file(&[(0, b"MZ"), ARM_MAGIC]), Kind::Image(arm)),
        (file(&[RISCV_MAGIC]), Kind::Image(riscv)),
        (file(&[(0, b"MZ"), RISCV_MAGIC]), Kind::Image(riscv)),
        (file(&[(8176, HEADER)]), Kind::Multiboot),
        (file(&[(8184, HEADER)]), Kind::Unknown),
        (file(&[(101, HEADER)]), Kind::Unknown),
        (file(&[(64, &HEADER[..8])]), Kind::Unknown),
        (
            file(&[(0, b"MZ"), (0x3c, &[0x80]), (0x80, b"PE\0\0")]),
            Kind::Efi,
        ),
        (file(&[(0, b"MZ"), (0x3c, &[0xff; 4])]), Kind::Unknown),
        (file(&[(0, b"debian\n")]), Kind::Unknown),
        (Vec::new(), Kind::Unknown),
    ] {
        assert_eq!(
            kind(&bytes),
            expected,
            "{:x?}",
            &bytes[..bytes.len().min(32)]
        );
    }
}

/// Setup headers as files of Debian have them: whether it is a Linux, of 64 bits, its release.
#[test]
fn a_linux_is_known_by_its_header() {
    let linux = fake_bzimage("6.1.0-50-amd64");
    let with = |parts: &[(usize, &[u8])]| {
        let mut bytes = linux.clone();
        for (at, part) in parts {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        bytes
    };
    let release = Some("6.1.0-50-amd64 (builder) #1 SMP");
    for (what, bytes, expected) in [
        ("Linux", linux.clone(), (true, true, release)),
        (
            "gzip",
            with(&[(0x410, b"\x1f\x8b\0\0")]),
            (true, true, release),
        ),
        ("xz", with(&[(0x410, b"\xfd7zXZ\0")]), (true, true, release)),
        (
            "lz4",
            with(&[(0x410, b"\x02\x21\x4c\x18")]),
            (true, true, release),
        ),
        ("lzo", with(&[(0x410, b"\x89LZO\0")]), (true, true, release)),
        ("bzip2", with(&[(0x410, b"BZh9")]), (true, true, release)),
        (
            "lzma",
            with(&[(0x410, b"\x5d\0\0\0")]),
            (true, true, release),
        ),
        (
            "not compressed",
            with(&[(0x410, b"\x7fELF")]),
            (true, true, release),
        ),
        ("of 32 bits", with(&[(0x236, &[0])]), (true, false, release)),
        // 2.07, without fields for a payload.
        (
            "iPXE",
            with(&[(0x206, &[7]), (0x300, b"2.0.0+dfsg-5\0")]),
            (false, false, Some("2.0.0+dfsg-5")),
        ),
        (
            "memdisk",
            with(&[(0x206, &[3]), (0x300, b"MEMDISK 6.04\0")]),
            (false, false, Some("MEMDISK 6.04")),
        ),
        (
            "no payload",
            with(&[(0x410, b"none")]),
            (false, true, release),
        ),
        (
            "payload outside",
            with(&[(0x24c, &[0xff; 4])]),
            (false, true, release),
        ),
        ("no version", with(&[(0x20e, &[0, 0])]), (true, true, None)),
    ] {
        let header = BzImage::of(&bytes).unwrap();
        let found = (header.is_linux(), header.is_64_bit(), header.version());
        assert_eq!(found, expected, "{what}");
    }
    let header = BzImage::of(&linux).unwrap();
    assert_eq!((header.protocol(), header.loads_high()), (0x20f, true));
    assert_eq!(header.kernel().len(), 0x200);
    assert_eq!(header.memory(), 0x100_0000..0x140_0000);
    assert!(BzImage::of(b"MZ").is_none());
}

#[test]
fn a_banner_says_the_release() {
    let banner = |text: &str| banner(text.as_bytes());
    assert_eq!(
        banner("%s Linux version %s L Linux version 7.3.4+deb13-arm64 (a@b) #1").as_deref(),
        Some("7.3.4+deb13-arm64 (a@b) #1")
    );
    assert_eq!(banner("Linux version 6"), Some("6".into()));
    assert_eq!(banner("U-Boot 2025.01 Linux"), None);
    assert_eq!(banner(""), None);
}

#[test]
fn an_arm_image_says_what_memory_it_needs() {
    let image = |offset: u64, bytes: u64, flags: u64| {
        let fields = [offset, bytes, flags].map(u64::to_le_bytes);
        file(&[(8, fields.as_flattened()), ARM_MAGIC])
    };
    let header = |bytes: &[u8]| {
        let header = Image::of(bytes).unwrap();
        (header.memory(), header.is_big_endian())
    };
    assert_eq!(header(&image(0, 0x20_0000, 10)), (0..0x20_0000, false));
    assert_eq!(header(&image(8, 0x20_0000, 1)), (8..0x20_0008, true));
    // Less than the file has, before 3.17, and what can't be.
    assert_eq!(header(&image(0, 1, 0)).0, 0..9000);
    assert_eq!(
        header(&image(0, 0, 0)).0,
        0x8_0000..0x8_0000 + 9000 + (2 << 20)
    );
    assert_eq!(header(&image(1, u64::MAX, 0)).0.end, u64::MAX);
}

#[test]
fn a_riscv_image_says_what_memory_it_needs() {
    let header = |offset: u64, bytes: u64, flags: u64| {
        let fields = [offset, bytes, flags].map(u64::to_le_bytes);
        let bytes = file(&[(8, fields.as_flattened()), RISCV_MAGIC]);
        let header = Image::of(&bytes).unwrap();
        (header.memory(), header.is_big_endian())
    };
    const OFFSET: u64 = 0x20_0000;
    assert_eq!(header(OFFSET, 0x10_0000, 0), (OFFSET..0x30_0000, false));
    assert_eq!(header(0, 1, 1), (0..9000, true));
    assert_eq!(header(OFFSET, 0, 0).0, OFFSET..OFFSET);
    assert_eq!(header(OFFSET, u64::MAX, 0).0.end, u64::MAX);
    assert!(Image::of(&file(&[BOOT_FLAG, SETUP_MAGIC])).is_none());
}

/// An ELF file for a machine: segments (type, physical address, content).
pub(in crate::kernel) fn elf(machine: u16, segments: &[(u32, u64, &[u8])]) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0".to_vec();
    bytes.extend(machine.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(64u64.to_le_bytes());
    bytes.extend([0; 12]);
    for half in [64, 56, segments.len(), 64, 0, 0] {
        bytes.extend(u16::try_from(half).unwrap().to_le_bytes());
    }
    let mut at = 64 + 56 * segments.len();
    for (kind, place, content) in segments {
        bytes.extend(kind.to_le_bytes());
        bytes.extend([0; 4]);
        let length = content.len() as u64;
        for field in [at as u64, *place, *place, length, length, 4] {
            bytes.extend(field.to_le_bytes());
        }
        at += content.len();
    }
    for (.., content) in segments {
        bytes.extend(*content);
    }
    bytes
}

/// Xen's note with the entry for PVH.
pub(in crate::kernel) const PVH: &[u8] = b"\x04\0\0\0\x04\0\0\0\x12\0\0\0Xen\0\x00\x10\0\0";

#[test]
fn an_elf_file_says_where_it_is_loaded_and_whether_by_pvh() {
    let other = [&PVH[..8], b"\x01\0\0\0Xen\0\0\0\0\0"].concat();
    for (segments, has_pvh) in [
        (vec![(1, 0x100_0000, &b"code"[..]), (4, 0, PVH)], true),
        (vec![(1, 0x100_0000, b"code"), (4, 0, &*other)], false),
        (vec![(1, 0x100_0000, b"code"), (4, 0, &PVH[..10])], false),
        (vec![(1, 0x100_0000, b"code")], false),
    ] {
        let found = Elf::of(&elf(EM_X86_64, &segments)).unwrap();
        assert_eq!((found.is_wide, found.has_pvh), (true, has_pvh));
        assert_eq!(found.segments.len(), 1);
        assert_eq!(found.segments[0].memory, 0x100_0000..0x100_0004);
    }
    assert!(Elf::of(b"\x7fELF\x02").is_err());
}

#[test]
fn segments_are_put_together_as_objcopy_does() {
    let bytes = elf(
        EM_AARCH64,
        &[
            (1, 0x2010, b"later"),
            (1, 0x2000, b"first"),
            (1, 0x9000, b""),
        ],
    );
    let flat = Elf::of(&bytes).unwrap().flat(&bytes).unwrap();
    assert_eq!(flat, b"first\0\0\0\0\0\0\0\0\0\0\0later");
    let far = elf(EM_AARCH64, &[(1, 0, b"a"), (1, u64::MAX - 8, b"b")]);
    assert_eq!(Elf::of(&far).unwrap().flat(&far), None);
}

proptest! {
    #[test]
    fn no_bytes_make_it_stumble(
        which in 0usize..4, at in 0usize..700, with in prop::collection::vec(any::<u8>(), 0..12), cut in 0usize..1600
    ) {
        let mut bytes = [
            fake_bzimage("6.1"),
            elf(EM_X86_64, &[(1, 0x100_0000, b"code"), (4, 0, PVH), (1, 0x200_0000, b"data")]),
            file(&[(8, &[7; 24]), ARM_MAGIC]),
            file(&[(600, HEADER)]),
        ][which].clone();
        for (place, byte) in bytes.iter_mut().skip(at).zip(with) {
            *place = byte;
        }
        bytes.truncate(cut);
        let _ = kind(&bytes);
        let _ = banner(&bytes);
        let _ = Multiboot::of(&bytes);
        if let Ok(elf) = Elf::of(&bytes) {
            let _ = elf.flat(&bytes);
        }
        if let Some(header) = BzImage::of(&bytes) {
            let _ = (header.protocol(), header.is_linux(), header.is_64_bit(), header.version());
            let _ = (header.kernel(), header.memory(), header.loads_high());
        }
        if let Some(header) = Image::of(&bytes) {
            let _ = (header.memory(), header.is_big_endian());
        }
    }
}
