//! Decodes the A64 instructions that hypervisors use, and encodes the instructions that replace them (DDI 0487, C6.2).
//! General registers are numbers to 30; 31 is XZR or SP, depending on the instruction.

use ws_explain::a64::{self, Access, Encoding};

/// Register 31: SP or XZR.
pub const R31: u8 = 31;

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// MRS and MSR of a register.
    Register {
        encoding: Encoding,
        rt: u8,
        write: bool,
    },
    /// SYS: maintenance of TLBs and caches, address translation.
    System {
        encoding: Encoding,
        rt: u8,
    },
    Eret,
    /// ERETAA, ERETAB.
    EretAuthenticated,
    Hvc(u16),
    /// MSR PAN, #imm.
    SetPan(u8),
    Other,
}

const MSR: u32 = 0xd510_0000;
const SYS: u32 = 0xd508_0000;
const READ: u32 = 1 << 21;
const ERET: u32 = 0xd69f_03e0;
const ERETAA: u32 = 0xd69f_0bff;
const ERETAB: u32 = 0xd69f_0fff;
const HVC: u32 = 0xd400_0002;
const MSR_PAN: u32 = 0xd500_409f;

/// Decodes a word.
pub fn decode(word: u32) -> Instruction {
    let rt = (word & 31) as u8;
    if let Some(Access { encoding, is_write }) = a64::access(word) {
        return Instruction::Register {
            encoding,
            rt,
            write: is_write,
        };
    }
    let encoding = Encoding::of(word);
    match word {
        ERET => Instruction::Eret,
        ERETAA | ERETAB => Instruction::EretAuthenticated,
        _ if word & 0xffe0_001f == HVC => Instruction::Hvc((word >> 5) as u16),
        _ if word & 0xffff_f0ff == MSR_PAN => Instruction::SetPan(encoding.m),
        _ if word & 0xfff8_0000 == SYS => Instruction::System { encoding, rt },
        _ => Instruction::Other,
    }
}

fn fields(encoding: Encoding) -> u32 {
    let Encoding {
        op0,
        op1,
        n,
        m,
        op2,
    } = encoding;
    u32::from(op0) << 19
        | u32::from(op1) << 16
        | u32::from(n) << 12
        | u32::from(m) << 8
        | u32::from(op2) << 5
}

/// `mrs x<rt>, <register>`
pub fn mrs(rt: u8, encoding: Encoding) -> u32 {
    MSR | READ | fields(encoding) | u32::from(rt)
}

/// `msr <register>, x<rt>`
pub fn msr(encoding: Encoding, rt: u8) -> u32 {
    MSR | fields(encoding) | u32::from(rt)
}

/// `hvc #<immediate>`
pub fn hvc(immediate: u16) -> u32 {
    HVC | u32::from(immediate) << 5
}

/// `nop`
pub const NOP: u32 = 0xd503_201f;
/// `udf #0`
pub const UDF: u32 = 0;
/// `ret`
pub const RET: u32 = 0xd65f_03c0;

/// `movz x<rd>, #<immediate>`
pub fn movz(rd: u8, immediate: u16) -> u32 {
    0xd280_0000 | u32::from(immediate) << 5 | u32::from(rd)
}

/// `ldr x<rt>, [x<rn>, #<offset>]`; the offset is a multiple of 8 below 32768.
pub fn ldr(rt: u8, rn: u8, offset: u16) -> u32 {
    0xf940_0000 | u32::from(offset / 8) << 10 | u32::from(rn) << 5 | u32::from(rt)
}

/// `str x<rt>, [x<rn>, #<offset>]`, as [`ldr`].
pub fn str(rt: u8, rn: u8, offset: u16) -> u32 {
    ldr(rt, rn, offset) & !(1 << 22)
}

/// `str x<rt>, [sp, #-16]!`
pub fn push(rt: u8) -> u32 {
    0xf81f_0fe0 | u32::from(rt)
}

/// `ldr x<rt>, [sp], #16`
pub fn pop(rt: u8) -> u32 {
    0xf841_07e0 | u32::from(rt)
}

/// `stp x<a>, x<b>, [sp, #-16]!`
pub fn push_pair(a: u8, b: u8) -> u32 {
    0xa9bf_03e0 | u32::from(b) << 10 | u32::from(a)
}

/// `ldp x<a>, x<b>, [sp], #16`
pub fn pop_pair(a: u8, b: u8) -> u32 {
    0xa8c1_03e0 | u32::from(b) << 10 | u32::from(a)
}

/// `ubfx x<rd>, x<rn>, #0, #<bits>`
pub fn low_bits(rd: u8, rn: u8, bits: u8) -> u32 {
    0xd340_0000 | u32::from(bits - 1) << 10 | u32::from(rn) << 5 | u32::from(rd)
}

/// `sub x<rd>, x<rn>, #<immediate>`; the immediate is below 4096.
pub fn sub(rd: u8, rn: u8, immediate: u16) -> u32 {
    0xd100_0000 | u32::from(immediate) << 10 | u32::from(rn) << 5 | u32::from(rd)
}

/// `add x<rd>, x<rn>, x<rm>, lsl #<shift>`
pub fn add_shifted(rd: u8, rn: u8, rm: u8, shift: u8) -> u32 {
    0x8b00_0000 | u32::from(rm) << 16 | u32::from(shift) << 10 | u32::from(rn) << 5 | u32::from(rd)
}

/// The signed distance in words, as a field of `bits` bits.
fn distance(from: u64, to: u64, bits: u32) -> Option<u32> {
    let words = i64::try_from(i128::from(to) - i128::from(from)).ok()?;
    let limit = 1_i64 << (bits - 1);
    let (words, rest) = (words >> 2, words & 3);
    (rest == 0 && (-limit..limit).contains(&words)).then_some(words as u32 & ((1 << bits) - 1))
}

/// `b <to>`, at `from`. `None`: too far, or not a multiple of four bytes.
pub fn branch(from: u64, to: u64) -> Option<u32> {
    Some(0x1400_0000 | distance(from, to, 26)?)
}

/// `bl <to>`, as [`branch`].
pub fn branch_link(from: u64, to: u64) -> Option<u32> {
    Some(0x9400_0000 | distance(from, to, 26)?)
}

/// `cbz x<rt>, <to>`, as [`branch`].
pub fn branch_zero(rt: u8, from: u64, to: u64) -> Option<u32> {
    Some(0xb400_0000 | distance(from, to, 19)? << 5 | u32::from(rt))
}

/// `tbnz x<rt>, #63, <to>`, as [`branch`].
pub fn branch_negative(rt: u8, from: u64, to: u64) -> Option<u32> {
    Some(0xb7f8_0000 | distance(from, to, 14)? << 5 | u32::from(rt))
}

/// `adrp x<rd>, <to>`, at `from`; `to` is aligned to 4 KiB. `None`: farther than 4 GiB.
pub fn page_address(rd: u8, from: u64, to: u64) -> Option<u32> {
    // The distance in pages is computed as if pages were words.
    let pages = distance((from >> 12) << 2, (to >> 12) << 2, 21)?;
    Some(0x9000_0000 | (pages & 3) << 29 | (pages >> 2) << 5 | u32::from(rd))
}

#[cfg(test)]
#[path = "a64_tests.rs"]
mod tests;
