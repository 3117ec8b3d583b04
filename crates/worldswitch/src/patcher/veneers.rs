//! Where one instruction is not enough: a branch to a veneer, which loads or stores in the deferred page and
//! branches back. The page of a CPU is where its TTBR1_EL1 says, as in neve built with `PARAVIRT=neve`; the
//! veneer that finds nothing there calls the set-up, which tells the hypervisor below of this CPU's page.
//!
//! Flags and all registers but the one that is read stay as they were. What is saved goes on the stack.

use crate::patcher::a64;
use crate::patcher::image::Range;
use crate::patcher::registers::{Encoding, Registers};

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
/// Aff0 to Aff2 of MPIDR_EL1: the number of a vCPU of neve's.
const AFFINITY_BITS: u8 = 24;
/// The link register.
const LINK: u8 = 30;
/// No page: on no boundary.
const NO_PAGE: u16 = 1;
/// What SUB can take.
const IMMEDIATE_MAX: u16 = 4095;

const LOAD_WORDS: u64 = 8;
const STORE_WORDS: u64 = 10;
const SETUP_WORDS: u64 = 14;

/// A branch would not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFar;

/// Veneers in the making.
pub struct Veneers {
    /// Where the next word is put.
    at: u64,
    setup: u64,
    words: Vec<u32>,
}

/// How many bytes veneers take, for so many loads and stores.
pub fn bytes(loads: u64, stores: u64) -> u64 {
    match loads + stores {
        0 => 0,
        _ => 4 * (SETUP_WORDS + LOAD_WORDS * loads + STORE_WORDS * stores),
    }
}

impl Veneers {
    /// The set-up, at the beginning of the room.
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

    /// TTBR1_EL1 = this CPU's page, told to the hypervisor below. That one ends a VM that names no page, as a
    /// CPU does for which there is none.
    fn set_up(&mut self, pages: Range, table: &Registers) -> Result<(), TooFar> {
        let count = u16::try_from(pages.bytes() >> PAGE_SHIFT).unwrap_or(u16::MAX);
        let page = table.named("VNCR_EL2").ok_or(TooFar)?;
        self.put(a64::push_pair(0, 1));
        self.put(a64::mrs(0, MPIDR_EL1));
        self.put(a64::low_bits(0, 0, AFFINITY_BITS));
        self.put(a64::sub(1, 0, count.min(IMMEDIATE_MAX)));
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
        self.put(a64::NOP); // veneers on a boundary of eight bytes
        Ok(())
    }

    /// A load into `x<rt>` in place of the instruction at `site`. Returns the branch that stands there then.
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

    /// A store of `x<rt>`, as [`Veneers::load`].
    pub fn store(&mut self, site: u64, rt: u8, offset: u16) -> Result<u32, TooFar> {
        let start = self.at;
        // Any register but its own.
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

    /// All words, from the room's beginning.
    pub fn finish(self) -> Vec<u32> {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patcher::a64::{Instruction, R31};

    #[test]
    fn veneers_take_what_they_are_said_to_take() {
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
    fn too_far_is_said() {
        let table = Registers::load().unwrap();
        let room = Range::new(0, 0x1000).unwrap();
        let pages = Range::new(0x1000, 0x2000).unwrap();
        let mut veneers = Veneers::new(room, pages, &table).unwrap();
        assert_eq!(veneers.load(1 << 28, 0, 8), Err(TooFar));
        let far = Range::new(1 << 40, (1 << 40) + 4096).unwrap();
        assert!(Veneers::new(room, far, &table).is_err());
    }
}
