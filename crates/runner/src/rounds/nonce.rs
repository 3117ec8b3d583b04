//! Nonces, which mark the records of a launch.

use crate::rounds::plan::Planned;
use sha2::{Digest, Sha256};
use std::hash::{BuildHasher, Hasher, RandomState};
use ws_records::Nonce;

/// Bit that is set in every nonce, which then always has 16 digits: all command lines have the same length.
const TOP_BIT: u64 = 1 << 63;

/// Makes a random nonce: an old console can't contain it.
pub fn random() -> Nonce {
    // The standard library seeds RandomState from the system's random numbers.
    Nonce(RandomState::new().build_hasher().finish() | TOP_BIT)
}

/// Makes the nonce of a launch that must be identical in every boot and on every host: to parse other digits, the guest
/// would execute other instructions. Each launch has its own console, which can't contain old records.
pub fn fixed(platform: &str, launch: usize, planned: &Planned) -> Nonce {
    let mut hash = Sha256::new();
    let cpus = cpus_text(planned.vcpus, planned.host_cpus);
    hash.update(format!("{platform}\n{launch}\n{cpus}\n"));
    hash.update(planned.rows.join("\n"));
    let value = hash
        .finalize()
        .iter()
        .take(8)
        .fold(0, |value, byte| value << 8 | u64::from(*byte));
    Nonce(value | TOP_BIT)
}

/// CPUs of a launch, as part of its name and nonce. One CPU of the host, which almost all launches have, is left out:
/// it would change the nonces of older versions, and with them the counts.
pub fn cpus_text(vcpus: u32, host_cpus: u32) -> String {
    match host_cpus {
        1 => vcpus.to_string(),
        more => format!("{vcpus} {more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_have_sixteen_digits() {
        let planned = Planned {
            vcpus: 1,
            host_cpus: 1,
            vm: String::new(),
            rows: vec!["a".into()],
        };
        for launch in 0..100 {
            assert_eq!(fixed("lab:native", launch, &planned).to_string().len(), 16);
            assert_eq!(random().to_string().len(), 16);
        }
    }

    #[test]
    fn fixed_nonces_differ_by_launch_only() {
        let planned = Planned {
            vcpus: 1,
            host_cpus: 1,
            vm: String::new(),
            rows: vec!["a".into()],
        };
        assert_eq!(fixed("p", 0, &planned), fixed("p", 0, &planned));
        assert_ne!(fixed("p", 0, &planned), fixed("p", 1, &planned));
        let more = Planned {
            host_cpus: 3,
            ..planned.clone()
        };
        assert_ne!(fixed("p", 0, &planned), fixed("p", 0, &more));
        assert_ne!(random(), random());
    }
}
