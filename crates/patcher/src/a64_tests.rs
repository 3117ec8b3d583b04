use super::*;
use proptest::prelude::*;

const fn register(op0: u8, op1: u8, n: u8, m: u8, op2: u8) -> Encoding {
    Encoding {
        op0,
        op1,
        n,
        m,
        op2,
    }
}

const TTBR1_EL1: Encoding = register(3, 0, 2, 0, 1);
const HCR_EL2: Encoding = register(3, 4, 1, 1, 0);

/// The right side is from LLVM's assembler.
#[test]
fn encodings_equal_the_assemblers() {
    for (ours, theirs) in [
        (branch(0, 8).unwrap(), 0x1400_0002),
        (branch(8, 0).unwrap(), 0x17ff_fffe),
        (branch_link(0, 16).unwrap(), 0x9400_0004),
        (branch_zero(5, 12, 28).unwrap(), 0xb400_0085),
        (branch_negative(1, 0, 8).unwrap(), 0xb7f8_0041),
        (hvc(0xffff), 0xd41f_ffe2),
        (hvc(0x8023), 0xd410_0462),
        (NOP, 0xd503_201f),
        (RET, 0xd65f_03c0),
        (movz(7, 8), 0xd280_0107),
        (mrs(3, TTBR1_EL1), 0xd538_2023),
        (msr(TTBR1_EL1, 0), 0xd518_2020),
        (mrs(9, HCR_EL2), 0xd53c_1109),
        (msr(HCR_EL2, 9), 0xd51c_1109),
        (push(16), 0xf81f_0ff0),
        (pop(16), 0xf841_07f0),
        (ldr(3, 3, 0x78), 0xf940_3c63),
        (str(3, 16, 0xbd0), 0xf905_ea03),
        (str(R31, 16, 0x20), 0xf900_121f),
        (push_pair(0, 1), 0xa9bf_07e0),
        (pop_pair(0, 1), 0xa8c1_07e0),
        (low_bits(0, 0, 24), 0xd340_5c00),
        (sub(1, 0, 8), 0xd100_2001),
        (add_shifted(0, 1, 0, 12), 0x8b00_3020),
        (page_address(1, 0x1234, 0x1000).unwrap(), 0x9000_0001),
        (page_address(1, 0, 0x1000).unwrap(), 0xb000_0001),
        (page_address(1, 0x4000, 0x3000).unwrap(), 0xf0ff_ffe1),
    ] {
        assert_eq!(ours, theirs, "{ours:#x} and {theirs:#x}");
    }
}

#[test]
fn instructions_of_hypervisors_are_decoded() {
    use Instruction::{Eret, EretAuthenticated, Hvc, Other, Register, SetPan, System};
    let system = |op1, n, m, op2, rt| System {
        encoding: register(1, op1, n, m, op2),
        rt,
    };
    let read = |op1, n, m, op2, rt| Register {
        encoding: register(3, op1, n, m, op2),
        rt,
        write: false,
    };
    for (word, is) in [
        (0xd69f_03e0, Eret),
        (0xd69f_0bff, EretAuthenticated),
        (0xd69f_0fff, EretAuthenticated),
        (0xd41f_ffe2, Hvc(0xffff)),
        (0xd400_0003, Other), // smc #0
        (0xd500_419f, SetPan(1)),
        (0xd50c_83df, system(4, 8, 3, 6, R31)),
        (0xd50c_8024, system(4, 8, 0, 1, 4)),
        (0xd508_7802, system(0, 7, 8, 0, 2)),
        (0xd503_201f, Other),
        (0xd503_4fdf, Other),               // msr daifset, #15
        (0xd538_4249, read(0, 4, 2, 2, 9)), // CurrentEL
        (0xd53d_1000, read(5, 1, 0, 0, 0)), // SCTLR_EL12
        (0, Other),
        (u32::MAX, Other),
    ] {
        assert_eq!(decode(word), is, "{word:#x}");
    }
}

#[test]
fn branches_out_of_reach_are_none() {
    let far = 128 << 20;
    assert_eq!(branch(0, far - 4), Some(0x15ff_ffff));
    assert_eq!(branch(0, far), None);
    assert_eq!(branch(far, 0), Some(0x1600_0000));
    assert_eq!(branch(far + 4, 0), None);
    assert_eq!(branch(0, 2), None);
    assert_eq!(branch(u64::MAX - 3, 0), None);
    assert_eq!(branch_zero(0, 0, 1 << 20), None);
    assert_eq!(page_address(0, 0, 4 << 30), None);
}

proptest! {
    #[test]
    fn a_register_access_decodes_to_itself(
        op0 in 2u8..4, op1 in 0u8..8, n in 0u8..16, m in 0u8..16, op2 in 0u8..8, rt in 0u8..32,
    ) {
        let encoding = register(op0, op1, n, m, op2);
        let access = |write| Instruction::Register { encoding, rt, write };
        prop_assert_eq!(decode(mrs(rt, encoding)), access(false));
        prop_assert_eq!(decode(msr(encoding, rt)), access(true));
    }

    #[test]
    fn a_call_decodes_to_itself(immediate: u16) {
        prop_assert_eq!(decode(hvc(immediate)), Instruction::Hvc(immediate));
    }

    /// A word that decodes as an access encodes to the same word.
    #[test]
    fn a_decoded_access_encodes_to_the_same_word(low in 0u32..1 << 22) {
        let word = 0xd500_0000 | low;
        if let Instruction::Register { encoding, rt, write } = decode(word) {
            let again = if write { msr(encoding, rt) } else { mrs(rt, encoding) };
            prop_assert_eq!(again, word);
        }
    }

    #[test]
    fn a_branch_has_its_target(from in 0u64..1 << 27, to in 0u64..1 << 27) {
        let (from, to) = (from & !3, to & !3);
        let word = branch(from, to).unwrap();
        let words = ((word << 6) as i32 >> 6) as i64;
        prop_assert_eq!(from as i64 + 4 * words, to as i64);
    }
}
