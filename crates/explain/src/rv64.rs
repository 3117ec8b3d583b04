//! RV64 instructions (RISC-V ISA manual, volumes I and II), as far as they hand over control, access CSRs, or move
//! registers. An instruction has four bytes, or two if it is compressed.

use crate::flow::Flow;
use crate::trace::Insn;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// Bytes of an instruction that is not compressed.
const WORD_BYTES: u64 = 4;

/// Link registers: a jump that writes one is a call, and a jump to one is a return (volume I, 2.5.1).
const RA: u32 = 1;
const T0: u32 = 5;

/// Number of a CSR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Csr(pub u16);

/// Counter of time, as `rdtime` reads it.
const TIME: Csr = Csr(0xc01);

/// Names by number.
static NAMES: LazyLock<HashMap<Csr, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("csrs.txt").lines();
    lines.filter_map(named).collect()
});

fn named(line: &'static str) -> Option<(Csr, &'static str)> {
    let (number, name) = line.split_once(' ')?;
    Some((Csr(u16::from_str_radix(number, 16).ok()?), name))
}

impl fmt::Display for Csr {
    /// Writes the name, or the number if no table here has a name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counter = match self.0 {
            0xc03..=0xc1f => Some("hpmcounter"),
            0xb03..=0xb1f => Some("mhpmcounter"),
            0x323..=0x33f => Some("mhpmevent"),
            _ => None,
        };
        match (NAMES.get(self), counter) {
            (Some(name), _) => f.pad(name),
            (None, Some(name)) => write!(f, "{name}{}", self.0 & 0x1f),
            (None, None) => write!(f, "CSR {:#05x}", self.0),
        }
    }
}

/// An access to a CSR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The CSR.
    pub csr: Csr,
    /// Whether its value goes to a register.
    pub reads: bool,
    /// Whether it gets a value, or bits of it are set or cleared.
    pub writes: bool,
}

/// An instruction's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bits {
    Word(u32),
    Compressed(u32),
}

fn bits(insn: &Insn) -> Option<Bits> {
    match *insn.bytes() {
        [a, b, c, d] if a & 3 == 3 => Some(Bits::Word(u32::from_le_bytes([a, b, c, d]))),
        [a, b] if a & 3 != 3 => Some(Bits::Compressed(u32::from(u16::from_le_bytes([a, b])))),
        _ => None,
    }
}

fn word(insn: &Insn) -> Option<u32> {
    match bits(insn)? {
        Bits::Word(word) => Some(word),
        Bits::Compressed(_) => None,
    }
}

/// Returns a field of an instruction.
fn field(word: u32, low: u32, bits: u32) -> u32 {
    word >> low & ((1 << bits) - 1)
}

/// Returns a number of so many bits with its sign.
fn signed(value: u32, bits: u32) -> i64 {
    i64::from((value << (32 - bits)) as i32 >> (32 - bits))
}

fn opcode(word: u32) -> u32 {
    word & 0x7f
}

fn rd(word: u32) -> u32 {
    field(word, 7, 5)
}

fn funct3(word: u32) -> u32 {
    field(word, 12, 3)
}

fn rs1(word: u32) -> u32 {
    field(word, 15, 5)
}

fn is_link(register: u32) -> bool {
    register == RA || register == T0
}

const LOAD: u32 = 0x03;
const LOAD_FP: u32 = 0x07;
const AUIPC: u32 = 0x17;
const STORE: u32 = 0x23;
const STORE_FP: u32 = 0x27;
const AMO: u32 = 0x2f;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const SYSTEM: u32 = 0x73;
const MISC_MEM: u32 = 0x0f;
const FLOATING_POINT: std::ops::RangeInclusive<u32> = 0x43..=0x53;
const VECTOR: u32 = 0x57;

const ECALL: u32 = 0x0000_0073;
const EBREAK: u32 = 0x0010_0073;
const SRET: u32 = 0x1020_0073;
const MRET: u32 = 0x3020_0073;
const WFI: u32 = 0x1050_0073;

/// Decodes the six instructions on CSRs (volume I, "Zicsr"). An instruction that writes no register does not read; one
/// that sets or clears no bits does not write.
pub fn access(insn: &Insn) -> Option<Access> {
    let word = word(insn).filter(|word| opcode(*word) == SYSTEM)?;
    let is_exchange = match funct3(word) {
        1 | 5 => true,
        2 | 3 | 6 | 7 => false,
        _ => return None,
    };
    Some(Access {
        csr: Csr((word >> 20) as u16),
        reads: !is_exchange || rd(word) != 0,
        writes: is_exchange || rs1(word) != 0,
    })
}

/// Whether an instruction reads the counter of time: RDTIME.
pub fn is_clock(insn: &Insn) -> bool {
    access(insn).is_some_and(|access| access.csr == TIME && !access.writes)
}

/// Groups of instructions, by the exceptions that they can raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Loads, stores, atomics, operations on a block of the cache: page faults.
    Memory,
    /// Instructions on CSRs, fences of address translation, WFI, SRET: traps.
    System,
    /// ECALL and EBREAK, which always raise one.
    Call,
    /// All others.
    Other,
}

/// Returns the group of an instruction.
pub fn group(insn: &Insn) -> Group {
    match bits(insn) {
        Some(Bits::Compressed(half)) if compressed_move(half).is_some() => Group::Memory,
        Some(Bits::Compressed(0x9002)) | Some(Bits::Word(ECALL | EBREAK)) => Group::Call,
        Some(Bits::Compressed(_)) | None => Group::Other,
        Some(Bits::Word(word)) => match (opcode(word), funct3(word)) {
            (LOAD | LOAD_FP | STORE | STORE_FP | AMO, _) => Group::Memory,
            // CBO.INVAL, CBO.CLEAN, CBO.FLUSH, CBO.ZERO.
            (MISC_MEM, 2) => Group::Memory,
            // HLV, HLVX, HSV.
            (SYSTEM, 4) => Group::Memory,
            (SYSTEM, _) => Group::System,
            _ => Group::Other,
        },
    }
}

/// Returns the cause for which an instruction leaves a guest. The bytes do not tell a trap from an interrupt that came
/// just after the instruction.
pub fn trap_name(insn: &Insn) -> String {
    let word = word(insn).unwrap_or_default();
    match (access(insn), group(insn)) {
        (Some(Access { csr, reads, writes }), _) => {
            let way = match (reads, writes) {
                (_, false) => "read",
                (false, true) => "write",
                (true, true) => "change",
            };
            format!("{way} of {csr}")
        }
        (None, Group::Memory) => "memory access, interrupt".to_owned(),
        (None, Group::Call | Group::System) => match word {
            ECALL => "ECALL",
            SRET => "SRET",
            WFI => "WFI",
            _ if word >> 25 == 0x09 => "SFENCE.VMA",
            _ if matches!(word >> 25, 0x11 | 0x31) => "HFENCE",
            _ if is_ebreak(insn) => "EBREAK",
            _ => "system instruction",
        }
        .to_owned(),
        (None, Group::Other) => match opcode(word) {
            VECTOR => "vector, interrupt",
            of if FLOATING_POINT.contains(&of) => "floating point, interrupt",
            _ => "interrupt",
        }
        .to_owned(),
    }
}

fn is_ebreak(insn: &Insn) -> bool {
    matches!(
        bits(insn),
        Some(Bits::Word(EBREAK) | Bits::Compressed(0x9002))
    )
}

/// Whether an instruction is WFI.
pub fn is_wfi(insn: &Insn) -> bool {
    word(insn) == Some(WFI)
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

/// Decodes loads and stores: not atomics.
pub fn moved(insn: &Insn) -> Option<Moved> {
    let word = match bits(insn)? {
        Bits::Compressed(half) => return compressed_move(half),
        Bits::Word(word) => word,
    };
    let (is_load, is_vector) = match opcode(word) {
        LOAD => (true, false),
        STORE => (false, false),
        LOAD_FP => (true, true),
        STORE_FP => (false, true),
        _ => return None,
    };
    // Of a vector's loads and stores those of whole registers say their number: the field nf.
    let is_scalar = matches!(funct3(word), 1..=4);
    let registers = match is_vector && !is_scalar {
        true => 1 + u64::from(field(word, 29, 3)),
        false => 1,
    };
    Some(Moved {
        is_load,
        is_vector,
        registers,
    })
}

/// Decodes loads and stores of quadrants 0 and 2 (volume I, "C", table of RVC opcodes).
fn compressed_move(half: u32) -> Option<Moved> {
    let funct3 = half >> 13;
    let (is_load, is_vector) = match (half & 3, funct3) {
        (0 | 2, 2 | 3) => (true, false),
        (0 | 2, 6 | 7) => (false, false),
        (0 | 2, 1) => (true, true),
        (0 | 2, 5) => (false, true),
        // Zcb: C.LBU, C.LHU, C.LH; C.SB, C.SH.
        (0, 4) => (half >> 11 & 1 == 0, false),
        _ => return None,
    };
    Some(Moved {
        is_load,
        is_vector,
        registers: 1,
    })
}

/// Decodes how each instruction hands over control. A far call has two instructions: AUIPC, and the JALR after it whose
/// target the two say together.
pub fn flows(insns: &[Insn]) -> Vec<Flow> {
    let far: HashMap<(u64, u64), &Insn> = insns
        .iter()
        .filter(|insn| word(insn).is_some_and(|word| opcode(word) == AUIPC))
        .map(|insn| ((insn.next(), insn.location.wrapping_add(WORD_BYTES)), insn))
        .collect();
    let of = |insn: &Insn| {
        let before = far.get(&(insn.address, insn.location));
        let target = before.and_then(|before| far_target(before, insn));
        match (flow(insn), target) {
            (Flow::Call(None), Some(_)) => Flow::Call(target),
            (Flow::Jump(None), Some(_)) => Flow::Jump(target),
            (flow, _) => flow,
        }
    };
    insns.iter().map(of).collect()
}

/// Returns the target of a JALR by the register that the AUIPC before it wrote.
fn far_target(auipc: &Insn, jalr: &Insn) -> Option<u64> {
    let (high, low) = (word(auipc)?, word(jalr)?);
    if opcode(low) != JALR || rd(high) != rs1(low) {
        return None;
    }
    let offset = signed(high >> 12, 20) << 12;
    let offset = offset.wrapping_add(signed(low >> 20, 12));
    Some(auipc.address.wrapping_add_signed(offset) & !1)
}

/// Decodes how an instruction hands over control.
pub fn flow(insn: &Insn) -> Flow {
    let word = match bits(insn) {
        None => return Flow::Plain,
        Some(Bits::Compressed(half)) => return compressed_flow(insn, half),
        Some(Bits::Word(word)) => word,
    };
    let to = |offset: i64| insn.address.wrapping_add_signed(offset);
    match opcode(word) {
        JAL => {
            let target = Some(to(jal_offset(word)));
            match is_link(rd(word)) {
                true => Flow::Call(target),
                false => Flow::Jump(target),
            }
        }
        JALR if funct3(word) == 0 => jump(rd(word), rs1(word)),
        BRANCH => Flow::Branch(to(branch_offset(word))),
        SYSTEM => match word {
            ECALL => Flow::SystemCall,
            SRET | MRET => Flow::ExceptionReturn,
            _ => Flow::Plain,
        },
        _ => Flow::Plain,
    }
}

/// Decides by the link registers what a jump to a register is (volume I, 2.5.1).
fn jump(rd: u32, rs1: u32) -> Flow {
    match (is_link(rd), is_link(rs1)) {
        (true, _) => Flow::Call(None),
        (false, true) => Flow::Return,
        (false, false) => Flow::Jump(None),
    }
}

fn jal_offset(word: u32) -> i64 {
    let offset = field(word, 31, 1) << 20
        | field(word, 12, 8) << 12
        | field(word, 20, 1) << 11
        | field(word, 21, 10) << 1;
    signed(offset, 21)
}

fn branch_offset(word: u32) -> i64 {
    let offset = field(word, 31, 1) << 12
        | field(word, 7, 1) << 11
        | field(word, 25, 6) << 5
        | field(word, 8, 4) << 1;
    signed(offset, 13)
}

fn compressed_flow(insn: &Insn, half: u32) -> Flow {
    let to = |offset: i64| insn.address.wrapping_add_signed(offset);
    match (half & 3, half >> 13) {
        // C.J; C.BEQZ, C.BNEZ.
        (1, 5) => Flow::Jump(Some(to(compressed_jump_offset(half)))),
        (1, 6 | 7) => Flow::Branch(to(compressed_branch_offset(half))),
        // C.JR, C.JALR: the second register's field is 0, the first one's is not.
        (2, 4) if field(half, 2, 5) == 0 && rd(half) != 0 => {
            let link = if half >> 12 & 1 == 1 { RA } else { 0 };
            jump(link, rd(half))
        }
        _ => Flow::Plain,
    }
}

fn compressed_jump_offset(half: u32) -> i64 {
    let offset = field(half, 12, 1) << 11
        | field(half, 8, 1) << 10
        | field(half, 9, 2) << 8
        | field(half, 6, 1) << 7
        | field(half, 7, 1) << 6
        | field(half, 2, 1) << 5
        | field(half, 11, 1) << 4
        | field(half, 3, 3) << 1;
    signed(offset, 12)
}

fn compressed_branch_offset(half: u32) -> i64 {
    let offset = field(half, 12, 1) << 8
        | field(half, 5, 2) << 6
        | field(half, 2, 1) << 5
        | field(half, 10, 2) << 3
        | field(half, 3, 2) << 1;
    signed(offset, 9)
}

#[cfg(test)]
#[path = "rv64_tests.rs"]
mod tests;
