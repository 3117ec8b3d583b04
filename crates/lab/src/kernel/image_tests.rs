use super::super::format::fake_bzimage;
use super::super::format::tests::{PVH, elf};
use super::*;
use crate::sets::Architecture::{Aarch64, Riscv64};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::Write;

const ARM: Kind = Kind::Image(Aarch64);
const ARM_ELF: Kind = Kind::ImageElf(Aarch64);
const RISCV: Kind = Kind::Image(Riscv64);
const RISCV_ELF: Kind = Kind::ImageElf(Riscv64);

/// An arm64 Image with a banner.
fn arm() -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[16..24].copy_from_slice(&0x20_0000u64.to_le_bytes());
    bytes[56..60].copy_from_slice(b"ARM\x64");
    bytes[1000..1024].copy_from_slice(b"Linux version 7.3.4-arm ");
    bytes
}

/// A RISC-V Image with a banner.
fn riscv() -> Vec<u8> {
    let mut bytes = arm();
    bytes[8..16].copy_from_slice(&0x20_0000u64.to_le_bytes());
    bytes[56..60].copy_from_slice(b"RSC\x05");
    bytes[1000..1026].copy_from_slice(b"Linux version 7.3.4-riscv ");
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    lzma_rs::xz_compress(&mut &*bytes, &mut packed).unwrap();
    packed
}

/// A zstd frame of blocks that are not compressed (RFC 8878, 3.1.1), of up to 64 KiB.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let size = u16::try_from(bytes.len() - 256).unwrap().to_le_bytes();
    let block = (u32::try_from(bytes.len()).unwrap() << 3 | 1).to_le_bytes();
    [
        &[0x28, 0xb5, 0x2f, 0xfd, 0x60],
        &size[..],
        &block[..3],
        bytes,
    ]
    .concat()
}

/// The headers of a PE file for 64 bits with these sections.
fn pe(sections: &[(&str, &[u8])]) -> Vec<u8> {
    const PE: usize = 0x80;
    const OPTIONAL: usize = 112;
    let mut bytes = vec![0; PE];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x3c] = u8::try_from(PE).unwrap();
    bytes.extend(b"PE\0\0\x64\x86");
    bytes.extend(u16::try_from(sections.len()).unwrap().to_le_bytes());
    bytes.extend([0; 12]);
    bytes.extend(u16::try_from(OPTIONAL).unwrap().to_le_bytes());
    bytes.extend([0; 2]);
    let optional = bytes.len();
    bytes.resize(optional + OPTIONAL, 0);
    bytes[optional..optional + 2].copy_from_slice(&[0x0b, 2]);
    let mut at = bytes.len() + 40 * sections.len();
    for (name, content) in sections {
        let mut long = [0; 8];
        long[..name.len()].copy_from_slice(name.as_bytes());
        bytes.extend(long);
        let length = u32::try_from(content.len()).unwrap();
        for word in [
            length,
            0x1000,
            length,
            u32::try_from(at).unwrap(),
            0,
            0,
            0,
            0,
        ] {
            bytes.extend(word.to_le_bytes());
        }
        at += content.len();
    }
    for (_, content) in sections {
        bytes.extend(*content);
    }
    bytes
}

fn zboot_of(how: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = pe(&[]);
    bytes[4..8].copy_from_slice(b"zimg");
    let at = u32::try_from(bytes.len()).unwrap();
    bytes[8..12].copy_from_slice(&at.to_le_bytes());
    let length = u32::try_from(payload.len()).unwrap();
    bytes[12..16].copy_from_slice(&length.to_le_bytes());
    bytes[24..24 + how.len()].copy_from_slice(how.as_bytes());
    bytes.extend(payload);
    bytes
}

/// Files as distributions make them: what they are packed in, the kind inside, and its release.
fn files() -> Vec<(Vec<u8>, &'static str, Kind, Option<&'static str>)> {
    let (x86, arm) = (fake_bzimage("6.1.0-x86"), arm());
    let (of_x86, of_arm) = (Some("6.1.0-x86"), Some("7.3.4-arm"));
    let vmlinux = elf(
        62,
        &[(1, 0x100_0000, b"Linux version 6.9.1 x"), (4, 0, PVH)],
    );
    let arm_elf = elf(183, &[(1, 0x8_0000, &arm)]);
    let (riscv, of_riscv) = (riscv(), Some("7.3.4-riscv"));
    let riscv_elf = elf(243, &[(1, 0x20_0000, &riscv)]);
    let unified = pe(&[(".osrel", b"x"), (".linux", &x86), (".initrd", b"files")]);
    let both = pe(&[(".linux", &zboot_of("gzip", &gzip(&arm)))]);
    vec![
        (x86.clone(), "", Kind::BzImage, of_x86),
        (vmlinux.clone(), "", Kind::Elf, Some("6.9.1")),
        (gzip(&vmlinux), "compressed", Kind::Elf, Some("6.9.1")),
        (arm.clone(), "", ARM, of_arm),
        (gzip(&arm), "compressed", ARM, of_arm),
        (xz(&arm), "compressed", ARM, of_arm),
        (zstd(&arm), "compressed", ARM, of_arm),
        (arm_elf.clone(), "ELF", ARM, of_arm),
        (gzip(&arm_elf), "compressed ELF", ARM, of_arm),
        (zboot_of("gzip", &gzip(&arm)), "zboot", ARM, of_arm),
        (zboot_of("xzkern", &xz(&arm)), "zboot", ARM, of_arm),
        (zboot_of("zstd22", &zstd(&arm)), "zboot", ARM, of_arm),
        (unified, "unified", Kind::BzImage, of_x86),
        (both, "unified zboot", ARM, of_arm),
        (riscv.clone(), "", RISCV, of_riscv),
        (gzip(&riscv), "compressed", RISCV, of_riscv),
        (riscv_elf, "ELF", RISCV, of_riscv),
        (zboot_of("gzip", &gzip(&riscv)), "zboot", RISCV, of_riscv),
        (elf(243, &[(1, 0, b"OpenSBI")]), "", RISCV_ELF, None),
        (pe(&[(".text", b"shell")]), "", Kind::Efi, None),
        (elf(183, &[(1, 0, b"U-Boot")]), "", ARM_ELF, None),
        (b"a text".to_vec(), "", Kind::Unknown, None),
        (Vec::new(), "", Kind::Unknown, None),
    ]
}

#[test]
fn what_distributions_pack_is_unpacked() {
    for (bytes, packed, kind, release) in files() {
        let image = BootImage::of(bytes.clone()).unwrap();
        assert_eq!((&*image.packed.join(" "), image.kind), (packed, kind));
        assert_eq!(image.release().as_deref(), release, "{packed}");
        assert_eq!(packed.is_empty(), image.bytes == bytes);
        let is_unified = packed == "unified";
        assert_eq!(image.unused == [".initrd"], is_unified, "{packed}");
    }
}

#[test]
fn what_can_t_be_unpacked_is_said() {
    let mut nested = arm();
    for _ in 0..5 {
        nested = gzip(&nested);
    }
    let mut cut = zboot_of("gzip", &gzip(&arm()));
    cut.pop();
    let mut unified = pe(&[(".linux", &arm())]);
    unified.pop();
    for (bytes, said) in [
        (b"BZh91AY&SY".to_vec(), "unpack it with bzip2 -d first"),
        (
            b"\x02\x21\x4c\x18..".to_vec(),
            "unpack it with lz4 -d first",
        ),
        (gzip(&arm())[..100].to_vec(), "can't be decompressed"),
        (zboot_of("lzo", b"x"), "compressed with lzo"),
        (zboot_of("gzip", b"x"), "can't be decompressed (gzip)"),
        (cut, "damaged EFI zboot"),
        (unified, "its section .linux is damaged"),
        (nested, "packed more than 4 times"),
    ] {
        let error = BootImage::of(bytes).unwrap_err();
        assert!(error.contains(said), "{error}, not {said}");
    }
}

#[test]
fn only_a_regular_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let read = |path: &Path| BootImage::read(path).map_err(|e| e.to_string());
    assert!(
        read(folder.path())
            .unwrap_err()
            .contains("not a regular file")
    );
    assert!(
        read(Path::new("/dev/zero"))
            .unwrap_err()
            .contains("not a regular file")
    );
    assert!(
        read(&folder.path().join("none"))
            .unwrap_err()
            .contains("can't read")
    );
    let flat = folder.path().join("selftest.flat");
    fs::write(&flat, "code").unwrap();
    assert_eq!(read(&flat).unwrap().kind, Kind::Flat);
}

proptest! {
    #[test]
    fn no_bytes_make_it_stumble(
        which in 0usize..18, at in 0usize..400, with in prop::collection::vec(any::<u8>(), 0..9), cut in 0usize..6000
    ) {
        let mut bytes = files()[which].0.clone();
        for (place, byte) in bytes.iter_mut().skip(at).zip(with) {
            *place = byte;
        }
        bytes.truncate(cut);
        if let Ok(image) = BootImage::of(bytes) {
            let _ = image.release();
        }
    }
}
