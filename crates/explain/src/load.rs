//! Finds the place of an image that runs elsewhere than where it was linked, as position-independent programs do. The
//! executed code tells it.

use crate::symbols::{self, SymbolsError};
use crate::trace::Trace;
use object::{Object, ObjectSection, SectionKind};
use std::collections::{BTreeMap, BTreeSet};

const PAGE_BYTES: u64 = 4096;

/// Fewest executed bytes of a page that can tell a place.
const TELLING_BYTES: usize = 24;

/// Executed instructions, each as offset and code, by page and location. Levels may have other code at the same
/// address, so the location is a part of the key.
type Pages<'a> = BTreeMap<(u64, u64), BTreeSet<(usize, &'a [u8])>>;

/// Finds the biases of an ELF file: the numbers that were added to its addresses where it ran. There is one for each
/// place; the one with the most executed instructions is first. Empty if no instruction of the file was executed.
pub fn biases(code: &Code, trace: &Trace) -> Vec<u64> {
    let executed = pages(trace);
    let mut votes: BTreeMap<u64, usize> = BTreeMap::new();
    for (start, bytes) in &code.sections {
        for ((page, _), insns) in &executed {
            for bias in matches(*start, bytes, *page, insns) {
                *votes.entry(bias).or_default() += insns.len();
            }
        }
    }
    let mut found: Vec<(u64, usize)> = votes.into_iter().collect();
    found.sort_by_key(|(bias, votes)| (std::cmp::Reverse(*votes), *bias));
    found.into_iter().map(|(bias, _)| bias).collect()
}

/// The code of an ELF file: bytes by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    sections: Vec<(u64, Vec<u8>)>,
}

impl Code {
    /// Reads all sections of code.
    pub fn of(elf: &[u8]) -> Result<Self, SymbolsError> {
        let elf = symbols::elf(elf)?;
        let sections = elf
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .filter_map(|section| Some((section.address(), section.data().ok()?.to_vec())))
            .collect();
        Ok(Self { sections })
    }

    #[cfg(test)]
    pub(crate) fn of_bytes(address: u64, bytes: Vec<u8>) -> Self {
        Self {
            sections: vec![(address, bytes)],
        }
    }

    /// Whether the code has these bytes at this address.
    pub fn has(&self, address: u64, bytes: &[u8]) -> bool {
        self.sections.iter().any(|(start, code)| {
            let at = address.checked_sub(*start).map(|at| at as usize);
            let there = at.and_then(|at| code.get(at..at.checked_add(bytes.len())?));
            there == Some(bytes)
        })
    }
}

fn pages(trace: &Trace) -> Pages<'_> {
    let mut pages = Pages::new();
    for insn in &trace.insns {
        let offset = (insn.address % PAGE_BYTES) as usize;
        let page = insn.address - insn.address % PAGE_BYTES;
        pages
            .entry((page, insn.location / PAGE_BYTES))
            .or_default()
            .insert((offset, insn.bytes()));
    }
    let told =
        |insns: &BTreeSet<(usize, &[u8])>| insns.iter().map(|(_, code)| code.len()).sum::<usize>();
    pages.retain(|_, insns| told(insns) >= TELLING_BYTES);
    pages
}

/// Returns the biases at which all of a page's executed instructions are in a section's code. An instruction that
/// reaches beyond the section does not match.
fn matches<'a>(
    start: u64,
    code: &'a [u8],
    page: u64,
    insns: &'a BTreeSet<(usize, &'a [u8])>,
) -> impl Iterator<Item = u64> + 'a {
    let first = start - start % PAGE_BYTES;
    let end = start.saturating_add(code.len() as u64);
    let linked = (first..end).step_by(PAGE_BYTES as usize);
    linked.filter_map(move |from| {
        let is_there = |(offset, bytes): &(usize, &[u8])| {
            let at = (from + *offset as u64)
                .checked_sub(start)
                .map(|at| at as usize);
            let there = at.and_then(|at| code.get(at..at.checked_add(bytes.len())?));
            there == Some(bytes)
        };
        insns.iter().all(is_there).then(|| page.wrapping_sub(from))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Architecture, Insn};

    #[test]
    fn a_program_is_found_where_it_ran() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = symbols::elf(&own).unwrap();
        let text = elf.section_by_name(".text").unwrap();
        let bytes = text.data().unwrap();
        let run_at = |bias: u64| {
            let at = |offset: usize| {
                Insn::new(
                    text.address() + offset as u64 + bias,
                    0,
                    &bytes[offset..offset + 8],
                )
            };
            (0x2000..0x2100).step_by(8).map(at).collect::<Vec<_>>()
        };
        // Another level's, at the same address.
        let other = Insn::new(text.address() + 0x2000 + 0x7000, 1 << 20, &[0xff; 8]);
        let mut trace = Trace {
            architecture: Architecture::X86_64,
            recorder: crate::trace::Recorder::Plugin,
            has_accesses: true,
            insns: [run_at(0x5555_0000_0000), run_at(0x7000), vec![other]].concat(),
            paths: vec![],
            windows: vec![],
        };
        let code = Code::of(&own).unwrap();
        let mut found = biases(&code, &trace);
        found.sort_unstable();
        assert_eq!(found, [0x7000, 0x5555_0000_0000]);
        trace.insns.truncate(2);
        assert_eq!(biases(&code, &trace), [0u64; 0], "too little to tell");
        assert!(Code::of(b"no ELF file").is_err());
    }
}
