//! Relocates a module's debug information: a module is linked only when it is loaded.

use object::elf;
use object::{Relocation, RelocationFlags, RelocationKind};

/// Applies a relocation to the section's bytes; `value` is its symbol's address with the addend. None: this kind is not
/// known, or there is no room for it.
pub(super) fn apply(
    data: &mut [u8],
    at: u64,
    relocation: &Relocation,
    value: u64,
    machine: u16,
) -> Option<()> {
    let place = data.get_mut(usize::try_from(at).ok()?..)?;
    match (relocation.kind(), relocation.size(), relocation.flags()) {
        (RelocationKind::Absolute, size @ (32 | 64), _) => {
            let place = place.get_mut(..usize::from(size / 8))?;
            place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
            Some(())
        }
        (_, _, RelocationFlags::Elf { r_type }) if machine == elf::EM_RISCV => {
            on_riscv(place, r_type, value)
        }
        _ => None,
    }
}

/// How a value changes a number.
#[derive(Clone, Copy)]
enum Change {
    Set,
    Add,
    Subtract,
}

impl Change {
    fn of(self, old: u64, value: u64) -> u64 {
        match self {
            Self::Set => value,
            Self::Add => old.wrapping_add(value),
            Self::Subtract => old.wrapping_sub(value),
        }
    }
}

/// RISC-V's linkers may shorten code, so even the distance of two labels of one function is made by two relocations
/// (RISC-V ELF psABI, 8.4).
fn on_riscv(place: &mut [u8], kind: u32, value: u64) -> Option<()> {
    use Change::{Add, Set, Subtract};
    let (change, bytes) = match kind {
        elf::R_RISCV_NONE | elf::R_RISCV_RELAX => return Some(()),
        elf::R_RISCV_ADD8 => (Add, 1),
        elf::R_RISCV_ADD16 => (Add, 2),
        elf::R_RISCV_ADD32 => (Add, 4),
        elf::R_RISCV_ADD64 => (Add, 8),
        elf::R_RISCV_SUB8 => (Subtract, 1),
        elf::R_RISCV_SUB16 => (Subtract, 2),
        elf::R_RISCV_SUB32 => (Subtract, 4),
        elf::R_RISCV_SUB64 => (Subtract, 8),
        elf::R_RISCV_SET8 => (Set, 1),
        elf::R_RISCV_SET16 => (Set, 2),
        elf::R_RISCV_SET32 => (Set, 4),
        elf::R_RISCV_SET6 => return six_bits(place, Set, value),
        elf::R_RISCV_SUB6 => return six_bits(place, Subtract, value),
        elf::R_RISCV_SET_ULEB128 => return leb128(place, Set, value),
        elf::R_RISCV_SUB_ULEB128 => return leb128(place, Subtract, value),
        _ => return None,
    };
    let place = place.get_mut(..bytes)?;
    let mut old = [0; 8];
    old[..bytes].copy_from_slice(place);
    let new = change.of(u64::from_le_bytes(old), value);
    place.copy_from_slice(&new.to_le_bytes()[..bytes]);
    Some(())
}

/// Changes the lower six bits of a byte.
fn six_bits(place: &mut [u8], change: Change, value: u64) -> Option<()> {
    let byte = place.first_mut()?;
    let new = change.of(u64::from(*byte & 0x3f), value) as u8;
    *byte = *byte & 0xc0 | new & 0x3f;
    Some(())
}

/// Changes a number in LEB128, which keeps its length.
fn leb128(place: &mut [u8], change: Change, value: u64) -> Option<()> {
    let last = place.iter().position(|byte| byte & 0x80 == 0)?;
    let bytes = place.get_mut(..=last)?;
    let mut old = 0u64;
    for byte in bytes.iter().rev() {
        old = old << 7 | u64::from(byte & 0x7f);
    }
    let mut new = change.of(old, value);
    for byte in bytes {
        *byte = *byte & 0x80 | new as u8 & 0x7f;
        new >>= 7;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn changed(mut bytes: Vec<u8>, steps: &[(u32, u64)]) -> Option<Vec<u8>> {
        for (kind, value) in steps {
            on_riscv(&mut bytes, *kind, *value)?;
        }
        Some(bytes)
    }

    #[test]
    fn a_distance_is_made_of_two_addresses() {
        const BASE: u64 = 0xffff_ffff_0200_1000;
        let known: [(&[u8], u32, u32, &[u8]); 7] = [
            (&[0, 9], elf::R_RISCV_ADD8, elf::R_RISCV_SUB8, &[0x34, 9]),
            (&[0, 0], elf::R_RISCV_ADD16, elf::R_RISCV_SUB16, &[0x34, 1]),
            (
                &[0; 4],
                elf::R_RISCV_ADD32,
                elf::R_RISCV_SUB32,
                &[0x34, 1, 0, 0],
            ),
            (
                &[0; 8],
                elf::R_RISCV_ADD64,
                elf::R_RISCV_SUB64,
                &[0x34, 1, 0, 0, 0, 0, 0, 0],
            ),
            (
                &[7; 4],
                elf::R_RISCV_SET32,
                elf::R_RISCV_SUB32,
                &[0x34, 1, 0, 0],
            ),
            (&[0xc1], elf::R_RISCV_SET6, elf::R_RISCV_SUB6, &[0xf4]),
            (
                &[0x80, 0x80, 0, 5],
                elf::R_RISCV_SET_ULEB128,
                elf::R_RISCV_SUB_ULEB128,
                &[0xb4, 0x82, 0, 5],
            ),
        ];
        for (bytes, first, second, wanted) in known {
            let steps = [(first, BASE + 0x134), (second, BASE)];
            assert_eq!(
                changed(bytes.to_vec(), &steps).as_deref(),
                Some(wanted),
                "{first}"
            );
        }
    }

    #[test]
    fn what_is_not_known_or_does_not_fit_is_refused() {
        assert_eq!(changed(vec![1], &[(elf::R_RISCV_RELAX, 5)]), Some(vec![1]));
        assert_eq!(changed(vec![0; 8], &[(elf::R_RISCV_HI20, 1)]), None);
        assert_eq!(changed(vec![0; 3], &[(elf::R_RISCV_ADD32, 1)]), None);
        assert_eq!(changed(vec![], &[(elf::R_RISCV_SET6, 1)]), None);
        assert_eq!(
            changed(vec![0x80], &[(elf::R_RISCV_SET_ULEB128, 1)]),
            None,
            "no end"
        );
    }

    proptest! {
        #[test]
        fn any_relocation_changes_no_length(
            bytes in prop::collection::vec(any::<u8>(), 0..12),
            kind in 0u32..70,
            value in any::<u64>(),
        ) {
            let length = bytes.len();
            if let Some(bytes) = changed(bytes, &[(kind, value)]) {
                prop_assert_eq!(bytes.len(), length);
            }
        }
    }
}
