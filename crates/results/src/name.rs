//! Encodes platform names as file names.

use std::fmt::Write;

/// The families whose `:` becomes `-`. A name that already begins with such a family and `-` has its
/// `-` encoded, so that no two platforms share a file.
const FAMILIES: [&str; 3] = ["lab", "serial", "log"];

/// Limit of a file name without its ending. It leaves room for `.json` and for a temporary file's prefix and suffix in
/// the 255 bytes that file systems allow.
const MAX_STEM_BYTES: usize = 200;

/// Returns the file name of a platform: `lab:native` gives `lab-native.json`, `log:/a/b` gives `log-_2fa_2fb.json`.
/// Names are safe in any file system, and different for every platform (names beyond 200 bytes get a 64-bit hash).
pub fn file_name(platform: &str) -> String {
    let (family, rest) = match platform.split_once(':') {
        Some((family, rest)) if FAMILIES.contains(&family) => (format!("{family}-"), rest),
        _ => match platform.split_once('-') {
            Some((family, rest)) if FAMILIES.contains(&family) => (format!("{family}_2d"), rest),
            _ => (String::new(), platform),
        },
    };
    let mut stem = family;
    for byte in rest.bytes() {
        match byte {
            b'.' if stem.is_empty() => stem.push_str("_2e"), // else the file would be hidden
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'@' | b'+' | b'=' | b',' => {
                stem.push(char::from(byte));
            }
            // Capitals too: some file systems ignore case.
            _ => {
                let _ = write!(stem, "_{byte:02x}"); // writing to a String cannot fail
            }
        }
    }
    if stem.is_empty() {
        stem.push('_'); // no other name gives it, and `.json` alone would be hidden
    }
    if stem.len() > MAX_STEM_BYTES {
        stem.truncate(MAX_STEM_BYTES); // ASCII, so any place is a boundary
        let _ = write!(stem, "__{:016x}", fnv1a(platform.as_bytes())); // `__` occurs nowhere else
    }
    stem + ".json"
}

/// The name of the `nth` file of a platform, from 1; the first has [`file_name`].
pub fn nth_file_name(platform: &str, nth: u32) -> String {
    let name = file_name(platform);
    match (nth, name.strip_suffix(".json")) {
        // No platform's name gives "_n".
        (2.., Some(stem)) => format!("{stem}_n{nth}.json"),
        _ => name,
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_users_meet() {
        assert_eq!(file_name("lab:native"), "lab-native.json");
        assert_eq!(file_name("qemu-tcg"), "qemu-tcg.json");
        assert_eq!(file_name("kvm"), "kvm.json");
        assert_eq!(
            file_name("lab:kvm@6.12+cpu=max"),
            "lab-kvm@6.12+cpu=max.json"
        );
        assert_eq!(
            file_name("serial:/dev/ttyUSB0"),
            "serial-_2fdev_2ftty_55_53_420.json"
        );
        assert_eq!(file_name("log:run.txt"), "log-run.txt.json");
    }

    #[test]
    fn names_that_look_alike_stay_apart() {
        assert_ne!(file_name("lab:native"), file_name("lab-native"));
        assert_ne!(file_name("qemu:tcg"), file_name("qemu-tcg"));
        assert_ne!(file_name("log:A"), file_name("log:a"));
        assert_ne!(file_name("lab:_2f"), file_name("lab:/"));
        let long = "x".repeat(300);
        assert_ne!(file_name(&long), file_name(&(long.clone() + "y")));
    }

    #[test]
    fn no_name_leaves_its_folder_or_hides() {
        assert_eq!(file_name(".."), "_2e..json");
        assert_eq!(file_name("../x"), "_2e._2fx.json");
        assert_eq!(file_name(""), "_.json");
    }

    #[test]
    fn only_the_first_file_has_the_platforms_name() {
        let names = [1, 2, 10].map(|nth| nth_file_name("lab:kvm", nth));
        assert_eq!(
            names,
            ["lab-kvm.json", "lab-kvm_n2.json", "lab-kvm_n10.json"]
        );
        assert_ne!(names[1], file_name("lab:kvm_n2"));
    }

    proptest! {
        #[test]
        fn every_name_is_safe_and_fits(platform in any::<String>()) {
            let name = file_name(&platform);
            prop_assert!(name.len() <= 230);
            prop_assert!(!name.starts_with('.'));
            prop_assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()
                || b".-@+=,_".contains(&b)));
        }

        #[test]
        fn different_platforms_have_different_files(
            a in "(lab|log|qemu|x)?[:-]?[-a-c_/:.]{0,6}",
            b in "(lab|log|qemu|x)?[:-]?[-a-c_/:.]{0,6}",
        ) {
            prop_assert_eq!(a == b, file_name(&a) == file_name(&b));
        }
    }
}
