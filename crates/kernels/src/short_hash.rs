//! Short hashes for names, which identify what a file or folder was made of.

use sha2::{Digest, Sha256};

/// The first hexadecimal digits of the SHA-256 of these bytes, one after another.
pub fn short_hash<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>, digits: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    let hash = hash.finalize();
    let mut text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(digits);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_beginning_of_the_hash_of_all_parts() {
        // FIPS 180-2, B.1.
        assert_eq!(short_hash(["a", "bc"], 8), "ba7816bf");
        assert_eq!(short_hash(["abc"], 16), "ba7816bf8f01cfea");
    }
}
