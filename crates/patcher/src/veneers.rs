//! Veneers, for accesses that take more than one instruction. The site becomes a branch to a veneer, which accesses the
//! deferred page and branches back. TTBR1_EL1 has the address of the CPU's page, as in neve built with `PARAVIRT=neve`.
//! While TTBR1_EL1 is 0, veneers call the set-up, which passes the address of this CPU's page to the hypervisor below.
//!
//! Veneers preserve the flags and all registers except the one that is read; they save on the stack.

use crate::a64;
use crate::image::Range;
use crate::registers::Registers;
use ws_explain::a64::Encoding;

const TTBR1_EL1: Encoding = Encoding {
    op0: 3,
    op1: 0,
    n: 2,
    m: 0,
    op2: 1,
};
const MPIDR_EL1: Encoding = Encoding {
    op0: 3,
    op1: 0,
    n: 0,
    m: 0,
    op2: 5,
};
const PAGE_SHIFT: u8 = 12;
/// Aff0 to Aff2 of MPIDR_EL1: the number of neve's vCPU.
const AFFINITY_BITS: u8 = 24;
/// The link register.
const LINK: u8 = 30;
/// An address that is not a page's, as it is not aligned.
const NO_PAGE: u16 = 1;
/// The largest immediate of SUB.
const IMMEDIATE_MAX: u16 = 4095;

const LOAD_WORDS: u64 = 8;
const STORE_WORDS: u64 = 10;
const SETUP_WORDS: u64 = 14;

/// Error: a branch or an ADRP does not reach its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFar;

/// The veneers while they are generated.
pub struct Veneers {
    /// The address of the next word.
    at: u64,
    setup: u64,
    words: Vec<u32>,
}

/// Number of bytes of veneers for these loads and stores, with the set-up.
pub fn bytes(loads: u64, stores: u64) -> u64 {
    match loads + stores {
        0 => 0,
        _ => 4 * (SETUP_WORDS + LOAD_WORDS * loads + STORE_WORDS * stores),
    }
}

impl Veneers {
    /// Makes the veneers, which begin with the set-up, at the beginning of the room.
    ///
    /// # Errors
    /// The pages are too far from the room.
    pub fn new(room: Range, pages: Range, table: &Registers) -> Result<Self, TooFar> {
        let mut veneers = Self {
            at: room.start,
            setup: room.start,
            words: Vec::new(),
        };
        veneers.set_up(pages, table)?;
        Ok(veneers)
    }

    fn put(&mut self, word: u32) {
        self.words.push(word);
        self.at += 4;
    }

    /// Adds the set-up: sets TTBR1_EL1 to the address of this CPU's page, and passes it to the hypervisor
    /// below (VNCR_EL2). A CPU without a page passes [`NO_PAGE`], for which that hypervisor ends the VM.
    fn set_up(&mut self, pages: Range, table: &Registers) -> Result<(), TooFar> {
        let count = u16::try_from(pages.bytes() >> PAGE_SHIFT).unwrap_or(u16::MAX);
        let page = table.named("VNCR_EL2").ok_or(TooFar)?;
        self.put(a64::push_pair(0, 1));
        self.put(a64::mrs(0, MPIDR_EL1));
        self.put(a64::low_bits(0, 0, AFFINITY_BITS));
        self.put(a64::sub(1, 0, count.min(IMMEDIATE_MAX)));
        // The CPU's number less the number of pages is negative if the CPU has a page.
        let there = self.at + 3 * 4;
        self.put(a64::branch_negative(1, self.at, there).ok_or(TooFar)?);
        self.put(a64::movz(0, NO_PAGE));
        let tell = self.at + 3 * 4;
        self.put(a64::branch(self.at, tell).ok_or(TooFar)?);
        self.put(a64::page_address(1, self.at, pages.start).ok_or(TooFar)?);
        self.put(a64::add_shifted(0, 1, 0, PAGE_SHIFT));
        self.put(a64::hvc(table.call(page, true, 0)));
        self.put(a64::msr(TTBR1_EL1, 0));
        self.put(a64::pop_pair(0, 1));
        self.put(a64::RET);
        self.put(a64::NOP); // so that veneers are aligned to eight bytes
        Ok(())
    }

    /// Adds a load into `x<rt>` for the instruction at `site`. Returns the branch that replaces it.
    pub fn load(&mut self, site: u64, rt: u8, offset: u16) -> Result<u32, TooFar> {
        let start = self.at;
        self.put(a64::mrs(rt, TTBR1_EL1));
        let none = self.at + 3 * 4;
        self.put(a64::branch_zero(rt, self.at, none).ok_or(TooFar)?);
        self.put(a64::ldr(rt, rt, offset));
        self.put(a64::branch(self.at, site + 4).ok_or(TooFar)?);
        self.call_setup(start)?;
        a64::branch(site, start).ok_or(TooFar)
    }

    /// Adds a store of `x<rt>` for the instruction at `site`. Returns the branch that replaces it.
    pub fn store(&mut self, site: u64, rt: u8, offset: u16) -> Result<u32, TooFar> {
        let start = self.at;
        // The base may be any register other than rt.
        let base = if rt == 16 { 17 } else { 16 };
        self.put(a64::push(base));
        let again = self.at;
        self.put(a64::mrs(base, TTBR1_EL1));
        let none = self.at + 4 * 4;
        self.put(a64::branch_zero(base, self.at, none).ok_or(TooFar)?);
        self.put(a64::str(rt, base, offset));
        self.put(a64::pop(base));
        self.put(a64::branch(self.at, site + 4).ok_or(TooFar)?);
        self.call_setup(again)?;
        a64::branch(site, start).ok_or(TooFar)
    }

    fn call_setup(&mut self, then: u64) -> Result<(), TooFar> {
        self.put(a64::push(LINK));
        self.put(a64::branch_link(self.at, self.setup).ok_or(TooFar)?);
        self.put(a64::pop(LINK));
        self.put(a64::branch(self.at, then).ok_or(TooFar)?);
        Ok(())
    }

    /// All words, from the beginning of the room.
    pub fn finish(self) -> Vec<u32> {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a64::{Instruction, R31};

    #[test]
    fn bytes_is_the_size_of_the_veneers() {
        let table = Registers::load().unwrap();
        let room = Range::new(0x1000, 0x2000).unwrap();
        let pages = Range::new(0x8000, 0xa000).unwrap();
        let mut veneers = Veneers::new(room, pages, &table).unwrap();
        assert_eq!(
            veneers.load(0x400, 3, 0x78),
            a64::branch(0x400, 0x1000 + 14 * 4).ok_or(TooFar)
        );
        assert!(veneers.store(0x404, 16, 0x80).is_ok());
        let words = veneers.finish();
        assert_eq!(4 * words.len() as u64, bytes(1, 1));
        // The call that names the page is the only one.
        let calls: Vec<_> = words
            .iter()
            .filter_map(|&word| match a64::decode(word) {
                Instruction::Hvc(immediate) => Some(immediate),
                _ => None,
            })
            .collect();
        assert_eq!(
            calls,
            [table.call(table.named("VNCR_EL2").unwrap(), true, 0)]
        );
    }

    #[test]
    fn a_store_never_uses_its_own_register_as_base() {
        let table = Registers::load().unwrap();
        let room = Range::new(0, 0x10000).unwrap();
        let pages = Range::new(0x10000, 0x11000).unwrap();
        for rt in 0..=R31 {
            let mut veneers = Veneers::new(room, pages, &table).unwrap();
            veneers.store(0x20000, rt, 8).unwrap();
            let base = if rt == 16 { 17 } else { 16 };
            assert!(veneers.finish().contains(&a64::str(rt, base, 8)));
        }
    }

    #[test]
    fn targets_out_of_reach_are_errors() {
        let table = Registers::load().unwrap();
        let room = Range::new(0, 0x1000).unwrap();
        let pages = Range::new(0x1000, 0x2000).unwrap();
        let mut veneers = Veneers::new(room, pages, &table).unwrap();
        assert_eq!(veneers.load(1 << 28, 0, 8), Err(TooFar));
        let far = Range::new(1 << 40, (1 << 40) + 4096).unwrap();
        assert!(Veneers::new(room, far, &table).is_err());
    }
}
