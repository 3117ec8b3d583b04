//! Decompresses kernels and modules. Total: damaged bytes, or more than a kernel can have, are an error.

use flate2::read::GzDecoder;
use ruzstd::StreamingDecoder;
use std::io::{self, BufReader, Write};

/// The most bytes of a kernel or module: more than any has.
const LIMIT_BYTES: usize = 1 << 30;
const TOO_LARGE: &str = "it is larger than any kernel";

/// A way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Xz,
    Zstd,
    /// The old format, without a magic number of its own.
    Lzma,
}

/// Compressed kernels that this program can't read: the first bytes, and the program that unpacks them.
const OTHERS: [(&[u8], &str); 5] = [
    (b"\x02\x21\x4c\x18", "lz4"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"BZh", "bzip2"),
    (b"\x89LZO\0", "lzop"),
    (b"LZIP", "lzip"),
];

impl Packing {
    /// Finds the packing by a file's first bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Finds the packing by the ending of a file's name, as of `kvm.ko.zst`.
    pub fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "gz" => Some(Self::Gzip),
            "xz" => Some(Self::Xz),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Finds the packing by its name in the header of an EFI zboot image.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "gzip" => Some(Self::Gzip),
            "xzkern" | "xz" => Some(Self::Xz),
            "zstd" | "zstd22" => Some(Self::Zstd),
            "lzma" => Some(Self::Lzma),
            _ => None,
        }
    }

    /// Decompresses bytes.
    pub fn open(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut to = Bounded(Vec::new());
        match self {
            Self::Gzip => drop(io::copy(&mut GzDecoder::new(bytes), &mut to)?),
            Self::Xz => lzma_rs::xz_decompress(&mut BufReader::new(bytes), &mut to)
                .map_err(|e| other(&format!("{e:?}")))?,
            Self::Lzma => lzma_rs::lzma_decompress(&mut BufReader::new(bytes), &mut to)
                .map_err(|e| other(&format!("{e:?}")))?,
            Self::Zstd => {
                let decoder = StreamingDecoder::new(bytes).map_err(|e| other(&e.to_string()));
                let mut decoder = decoder?;
                // The decoder buffers so many bytes before it writes any, so the limit is checked first.
                let kept_bytes = window_bytes(bytes).max(decoder.decoder.content_size());
                if kept_bytes > LIMIT_BYTES as u64 {
                    return Err(other(TOO_LARGE));
                }
                io::copy(&mut decoder, &mut to)?;
                let (said, is) = (
                    decoder.decoder.get_checksum_from_data(),
                    decoder.decoder.get_calculated_checksum(),
                );
                if said.is_some() && said != is {
                    return Err(other("its checksum is wrong"));
                }
            }
        }
        Ok(to.0)
    }
}

/// The program that unpacks a file that [`Packing`] can't, by its first bytes.
pub(crate) fn unpacked_by(bytes: &[u8]) -> Option<&'static str> {
    let other = OTHERS.iter().find(|(magic, _)| bytes.starts_with(magic));
    other.map(|(_, program)| *program)
}

/// The window of a zstd frame, to which it may refer back; 0 of a frame that has its length instead (RFC 8878,
/// 3.1.1.1.2). With `zstd -22` the window is 128 MiB.
fn window_bytes(frame: &[u8]) -> u64 {
    const SINGLE_SEGMENT: u8 = 0x20;
    match frame {
        [_, _, _, _, flags, window, ..] if flags & SINGLE_SEGMENT == 0 => {
            let base = 1u64 << (10 + (window >> 3));
            base + base / 8 * u64::from(window & 7)
        }
        _ => 0,
    }
}

fn other(what: &str) -> io::Error {
    io::Error::other(what.to_owned())
}

/// A buffer that refuses more than [`LIMIT_BYTES`].
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > LIMIT_BYTES - self.0.len() {
            return Err(other(TOO_LARGE));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    const TEXT: &[u8] = b"hello hello hello hello worldswitch";
    /// Output of zstd -22 --ultra, reading a pipe: a window of 128 MiB.
    const ZSTD: &[u8] =
        b"\x28\xb5\x2f\xfd\x04\x88\xbd\0\0\x88hello worldswitch\x01\0\xf1\x4a\x11\x46\xac\xff\x82";
    /// Output of xz --format=lzma.
    const LZMA: &[u8] = b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x34\x19\x49\xee\x8d\xe9\x56\x0c\x61\x2a\x6f\x6b\xd3\x16\xd8\x08\xc6\x47\x9d\x20\x1f\xa0\xb7\xff\xc9\xb5\0\0";

    fn packed() -> [(Packing, Vec<u8>); 4] {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(TEXT).unwrap();
        let mut xz = Vec::new();
        lzma_rs::xz_compress(&mut &*TEXT, &mut xz).unwrap();
        [
            (Packing::Gzip, gz.finish().unwrap()),
            (Packing::Xz, xz),
            (Packing::Zstd, ZSTD.to_vec()),
            (Packing::Lzma, LZMA.to_vec()),
        ]
    }

    #[test]
    fn each_kind_is_known_and_opened() {
        for (packing, bytes) in packed() {
            assert_eq!(packing.open(&bytes).unwrap(), TEXT, "{packing:?}");
            let known = (packing != Packing::Lzma).then_some(packing);
            assert_eq!(Packing::of(&bytes), known);
        }
        assert_eq!(unpacked_by(b"BZh91AY"), Some("bzip2"));
        assert_eq!(unpacked_by(b"ARM"), None);
        assert_eq!(Packing::of(b""), None);
    }

    #[test]
    fn damage_is_found() {
        for (packing, bytes) in packed() {
            assert!(packing.open(b"").is_err(), "{packing:?}");
            assert!(
                packing.open(&bytes[..bytes.len() - 9]).is_err(),
                "{packing:?}"
            );
            // A letter of the text, as a checksum sees; LZMA of old has none.
            if let (Packing::Zstd, Some(at)) = (packing, bytes.iter().position(|b| *b == b'w')) {
                let mut other = bytes.clone();
                other[at] = b'W';
                let error = packing.open(&other).unwrap_err().to_string();
                assert_eq!(error, "its checksum is wrong");
            }
        }
    }

    #[test]
    fn more_than_any_kernel_has_is_refused() {
        let mut full = Bounded(vec![0; 10]);
        assert!(full.write(&[0; 10]).is_ok());
        assert!(full.write(vec![0; LIMIT_BYTES].as_slice()).is_err());
        // A zstd frame may have a window of 1 GiB, not of 2; one that says its length may not say more.
        let mut frame = ZSTD.to_vec();
        for (window, is) in [
            (17 << 3, true),
            (20 << 3, true),
            (21 << 3, false),
            (0xff, false),
        ] {
            frame[5] = window;
            assert_eq!(Packing::Zstd.open(&frame).is_ok(), is, "{window:x}");
        }
        let long = [
            &[0x28, 0xb5, 0x2f, 0xfd, 0xe0],
            &u64::MAX.to_le_bytes()[..],
            &[1, 0, 0],
        ];
        let error = Packing::Zstd.open(&long.concat()).unwrap_err().to_string();
        assert_eq!(error, TOO_LARGE);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(kind in 0usize..4, at in 0usize..60, with in any::<[u8; 3]>(), cut in 0usize..60) {
            let (packing, mut bytes) = packed()[kind].clone();
            for (place, byte) in bytes.iter_mut().skip(at).zip(with) {
                *place = byte;
            }
            bytes.truncate(cut.max(1));
            let _ = packing.open(&bytes);
            let _ = Packing::of(&bytes);
        }
    }
}
