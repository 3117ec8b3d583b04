//! A64 instructions (Arm DDI 0487, C4 and C6.2), as far as they hand over control or access system registers.

use crate::flow::Flow;
use crate::trace::Insn;
use std::fmt;

/// Encoding of a system register in an instruction (DDI 0487, C5.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Encoding {
    /// 0 to 3; of a register 2 or 3.
    pub op0: u8,
    /// 0 to 7.
    pub op1: u8,
    /// CRn, 0 to 15.
    pub n: u8,
    /// CRm, 0 to 15.
    pub m: u8,
    /// 0 to 7.
    pub op2: u8,
}

impl Encoding {
    /// Reads the fields of an instruction of this group: MRS, MSR, SYS.
    pub fn of(word: u32) -> Self {
        let field = |bit: u32, bits: u32| (word >> bit & ((1 << bits) - 1)) as u8;
        Self {
            op0: field(19, 2),
            op1: field(16, 3),
            n: field(12, 4),
            m: field(8, 4),
            op2: field(5, 3),
        }
    }
}

impl fmt::Display for Encoding {
    /// Writes the generic name that assemblers accept for any register.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            op0,
            op1,
            n,
            m,
            op2,
        } = self;
        write!(f, "S{op0}_{op1}_C{n}_C{m}_{op2}")
    }
}

/// An access to a system register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The register.
    pub encoding: Encoding,
    /// MSR if true, MRS if false.
    pub is_write: bool,
}

/// Returns the instruction's word; None if it is no A64 instruction.
pub fn word(insn: &Insn) -> Option<u32> {
    let bytes: [u8; 4] = insn.bytes().try_into().ok()?;
    Some(u32::from_le_bytes(bytes))
}

/// Decodes MRS and MSR of a register. MSR of an immediate (PSTATE) is no such access.
pub fn access(word: u32) -> Option<Access> {
    (word & 0xffd0_0000 == 0xd510_0000).then(|| Access {
        encoding: Encoding::of(word),
        is_write: word & 1 << 21 == 0,
    })
}

/// Whether an instruction reads CNTPCT_EL0 or CNTVCT_EL0.
pub fn is_clock(insn: &Insn) -> bool {
    word(insn).is_some_and(|word| matches!(word & !0x1f, 0xd53b_e020 | 0xd53b_e040))
}

/// Groups of instructions, by the exceptions that they can raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Loads, stores, atomics, instructions that zero a block of memory: aborts.
    Memory {
        /// Whether the registers are for floating point and vectors: then also traps.
        is_vector: bool,
    },
    /// MRS, MSR, SYS, hints: traps.
    System,
    /// All others.
    Other,
}

/// Returns the group of an instruction (DDI 0487, C4.1).
pub fn group(word: u32) -> Group {
    match word {
        _ if word & 0x0a00_0000 == 0x0800_0000 => Group::Memory {
            is_vector: word & 1 << 26 != 0,
        },
        // DC ZVA, GVA and GZVA store to memory. Other instructions on caches do not abort in the emulator.
        _ if matches!(word & !0x1f, 0xd50b_7420 | 0xd50b_7460 | 0xd50b_7480) => {
            Group::Memory { is_vector: false }
        }
        _ if word >> 22 == 0x354 => Group::System,
        _ => Group::Other,
    }
}

/// Returns the name of a system instruction that accesses no register, as far as hypervisors trap such instructions
/// (DDI 0487, C5.4, C6.2.97).
pub fn system_name(word: u32) -> &'static str {
    match word & !0x1f {
        0xd503_2040 if word == 0xd503_205f => "WFE",
        0xd503_2060 if word == 0xd503_207f => "WFI",
        // SYS with CRn 8, and CRn 7.
        sys if sys & 0xfff8_f000 == 0xd508_8000 => "TLBI",
        sys if sys & 0xfff8_f000 == 0xd508_7000 => "AT, IC, DC",
        _ => "system instruction",
    }
}

/// Returns the name of an instruction that calls or returns to another privilege level, or that processes floating
/// point (DDI 0487, C4.1: op0 x111).
pub fn call_name(word: u32) -> &'static str {
    match word {
        _ if word & 0xffe0_001f == 0xd400_0001 => "SVC",
        _ if word & 0xffe0_001f == 0xd400_0002 => "HVC",
        _ if word & 0xffe0_001f == 0xd400_0003 => "SMC",
        0xd69f_03e0 | 0xd69f_0bff | 0xd69f_0fff => "ERET",
        _ if word & 0x0e00_0000 == 0x0e00_0000 => "floating point",
        _ => "other",
    }
}

/// A load or store of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// A load from memory if true, a store if false.
    pub is_load: bool,
    /// Whether the registers are for floating point and vectors.
    pub is_vector: bool,
    /// Number of registers.
    pub registers: u64,
}

/// Decodes loads and stores of one register or of a pair (DDI 0487, C4.1.94): not exclusive ones, atomics, or
/// prefetches.
pub fn moved(word: u32) -> Option<Moved> {
    let is_vector = word & 1 << 26 != 0;
    let is_pair = word & 0x3a00_0000 == 0x2800_0000;
    // Unsigned offset; unscaled, pre- and post-indexed, or by register but no atomic.
    let is_unsigned = word & 0x3b00_0000 == 0x3900_0000;
    let is_other = word & 0x3b20_0000 == 0x3800_0000 || word & 0x3b20_0c00 == 0x3820_0800;
    let is_one = is_unsigned || is_other;
    let opc = word >> 22 & 3;
    let is_prefetch = !is_vector && word >> 30 == 3 && opc == 2;
    if !is_pair && (!is_one || is_prefetch) {
        return None;
    }
    let is_load = match (is_pair, is_vector) {
        (true, _) | (false, true) => opc & 1 == 1,
        (false, false) => opc != 0,
    };
    Some(Moved {
        is_load,
        is_vector,
        registers: 1 + u64::from(is_pair),
    })
}

/// Decodes how an instruction hands over control.
pub fn flow(insn: &Insn) -> Flow {
    let Some(word) = word(insn) else {
        return Flow::Plain;
    };
    // The offset in words is `bits` wide and begins at `low`.
    let target = |low: u32, bits: u32| {
        let offset = ((word >> low) << (32 - bits)) as i32 >> (32 - bits);
        insn.address.wrapping_add((i64::from(offset) * 4) as u64)
    };
    match word {
        _ if word & 0xfc00_0000 == 0x9400_0000 => Flow::Call(Some(target(0, 26))),
        _ if word & 0xfc00_0000 == 0x1400_0000 => Flow::Jump(Some(target(0, 26))),
        // B.cond, BC.cond; CBZ, CBNZ; TBZ, TBNZ.
        _ if word & 0xff00_0000 == 0x5400_0000 => Flow::Branch(target(5, 19)),
        _ if word & 0x7e00_0000 == 0x3400_0000 => Flow::Branch(target(5, 19)),
        _ if word & 0x7e00_0000 == 0x3600_0000 => Flow::Branch(target(5, 14)),
        _ if word & 0xfe00_0000 == 0xd600_0000 => register_branch(word),
        // SVC, HVC, SMC.
        _ if word & 0xffe0_001c == 0xd400_0000 && word & 3 != 0 => Flow::SystemCall,
        _ => Flow::Plain,
    }
}

/// Decodes BR, BLR, RET, ERET, and their forms with pointer authentication, by the field opc (bits 21 to 24).
fn register_branch(word: u32) -> Flow {
    match word >> 21 & 0xf {
        0 | 8 => Flow::Jump(None),
        1 | 9 => Flow::Call(None),
        2 => Flow::Return,
        4 => Flow::ExceptionReturn,
        _ => Flow::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow_of(word: u32) -> Flow {
        flow(&Insn::new(0x1000, 0, &word.to_le_bytes()))
    }

    #[test]
    fn transfers_are_decoded() {
        let known = [
            (0x9400_0002, Flow::Call(Some(0x1008))), // bl .+8
            (0x97ff_ffff, Flow::Call(Some(0xffc))),  // bl .-4
            (0x1400_0001, Flow::Jump(Some(0x1004))), // b .+4
            (0x5400_0041, Flow::Branch(0x1008)),     // b.ne .+8
            (0xb4ff_ffe0, Flow::Branch(0xffc)),      // cbz x0, .-4
            (0x3700_0040, Flow::Branch(0x1008)),     // tbnz w0, #0, .+8
            (0xd61f_0200, Flow::Jump(None)),         // br x16
            (0xd63f_0020, Flow::Call(None)),         // blr x1
            (0xd65f_03c0, Flow::Return),             // ret
            (0xd65f_0bff, Flow::Return),             // retaa
            (0xd69f_03e0, Flow::ExceptionReturn),    // eret
            (0xd69f_0bff, Flow::ExceptionReturn),    // eretaa
            (0xd400_0001, Flow::SystemCall),         // svc #0
            (0xd400_0022, Flow::SystemCall),         // hvc #1
            (0xd420_0000, Flow::Plain),              // brk #0
            (0xd503_201f, Flow::Plain),              // nop
        ];
        for (word, wanted) in known {
            assert_eq!(flow_of(word), wanted, "{word:#x}");
        }
        assert_eq!(flow(&Insn::new(0, 0, &[0xd6, 0x5f])), Flow::Plain);
    }

    #[test]
    fn groups_tell_what_may_abort() {
        let memory = Group::Memory { is_vector: false };
        let known = [
            (0xf940_0041, memory),                            // ldr x1, [x2]
            (0x3dc0_0040, Group::Memory { is_vector: true }), // ldr q0, [x2]
            (0xd50b_7423, memory),                            // dc zva, x3
            (0xd50b_7e23, Group::System),                     // dc civac, x3
            (0xd538_1001, Group::System),                     // mrs x1, sctlr_el1
            (0x9100_0400, Group::Other),                      // add x0, x0, #1
        ];
        for (word, wanted) in known {
            assert_eq!(group(word), wanted, "{word:#x}");
        }
    }

    #[test]
    fn loads_and_stores_are_decoded() {
        let moved =
            |word| moved(word).map(|moved| (moved.is_load, moved.is_vector, moved.registers));
        assert_eq!(
            moved(0xa900_0440),
            Some((false, false, 2)),
            "stp x0, x1, [x2]"
        );
        assert_eq!(
            moved(0xa8c1_7bfd),
            Some((true, false, 2)),
            "ldp x29, x30, [sp], #16"
        );
        assert_eq!(moved(0xf940_0020), Some((true, false, 1)), "ldr x0, [x1]");
        assert_eq!(moved(0xf900_0020), Some((false, false, 1)), "str x0, [x1]");
        assert_eq!(
            moved(0xad00_0440),
            Some((false, true, 2)),
            "stp q0, q1, [x2]"
        );
        assert_eq!(moved(0x3dc0_0020), Some((true, true, 1)), "ldr q0, [x1]");
        assert_eq!(moved(0xf880_0020), None, "prfum");
        assert_eq!(moved(0xc85f_7c20), None, "ldxr x0, [x1]");
        assert_eq!(moved(0xf820_0020), None, "ldadd x0, x0, [x1]");
        assert_eq!(moved(0x8b00_0020), None, "add x0, x1, x0");
    }

    #[test]
    fn accesses_are_decoded() {
        let hcr = Encoding {
            op0: 3,
            op1: 4,
            n: 1,
            m: 1,
            op2: 0,
        };
        let read = Access {
            encoding: hcr,
            is_write: false,
        };
        let write = Access {
            encoding: hcr,
            is_write: true,
        };
        assert_eq!(access(0xd53c_1100), Some(read));
        assert_eq!(access(0xd51c_1103), Some(write));
        assert_eq!(access(0xd503_4fdf), None, "msr daifset, #15");
        assert_eq!(access(0xd50b_7e20), None, "dc civac, x0");
        assert_eq!(hcr.to_string(), "S3_4_C1_C1_0");
    }
}
