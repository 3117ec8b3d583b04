//! Finds the places of a kernel's modules. In the boot that printed the symbols they may have been elsewhere. The
//! kernel frees a module's code of initialization some time after it was loaded; the next module gets that place or
//! another one. Calls tell the places, as they lead to the beginnings of functions.

use crate::flow::Flow;
use crate::symbols::{Symbols, SymbolsError};
use crate::trace::{Architecture, Insn, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// Modules are placed at pages.
const PAGE_BYTES: i64 = 4096;
/// Greatest distance that is tried, in pages: more than all code of initialization.
const PAGES_MAX: i64 = 256;
/// Fewest calls into a module that can tell its place.
const CALLS_MIN: usize = 3;
/// Distance up to which a call only fills the processor's stack of returns, and calls no function.
const FILL_BYTES: u64 = 32;

/// Moves the symbols of modules to the places that the trace's calls tell.
///
/// # Errors
/// The calls into a module agree on no single place.
pub fn settle(symbols: &mut Symbols, trace: &Trace) -> Result<(), SymbolsError> {
    let (distances, lost) = distances(symbols, trace.architecture, &trace.insns);
    if let Some(module) = lost.into_iter().next() {
        return Err(SymbolsError::Module(module));
    }
    symbols.shift(&distances);
    Ok(())
}

/// Moves the symbols of modules, for the trace of a whole boot, in which a module may be at the place of another one's
/// code of initialization. Modules whose place is not sure lose their symbols; returns their names.
pub fn settle_known(symbols: &mut Symbols, trace: &Trace) -> Vec<String> {
    settle_insns(symbols, trace.architecture, &trace.insns)
}

/// The same, for the instructions that a kernel executed.
pub fn settle_insns(
    symbols: &mut Symbols,
    architecture: Architecture,
    insns: &[Insn],
) -> Vec<String> {
    let (distances, lost) = distances(symbols, architecture, insns);
    symbols.shift(&distances);
    symbols.remove(&lost);
    lost
}

/// Returns the distances in bytes by which modules were moved, and the modules whose distance is not sure.
fn distances(
    symbols: &Symbols,
    architecture: Architecture,
    insns: &[Insn],
) -> (BTreeMap<String, i64>, Vec<String>) {
    let targets = targets(architecture, insns);
    let mut modules: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for symbol in symbols.all() {
        if let Some(module) = &symbol.module {
            modules
                .entry(module.clone())
                .or_default()
                .insert(symbol.address);
        }
    }
    let (mut distances, mut lost) = (BTreeMap::new(), Vec::new());
    for (module, starts) in modules {
        match distance(&starts, &targets) {
            Some(0) => {}
            Some(found) => {
                distances.insert(module, found);
            }
            None => lost.push(module),
        }
    }
    (distances, lost)
}

/// Returns the targets of calls whose bytes say it.
fn targets(architecture: Architecture, insns: &[Insn]) -> BTreeSet<u64> {
    let flows = Flow::all(architecture, insns);
    let calls = insns
        .iter()
        .zip(flows)
        .filter_map(|(insn, flow)| match flow {
            Flow::Call(Some(target)) if target.abs_diff(insn.next()) > FILL_BYTES => Some(target),
            _ => None,
        });
    calls.collect()
}

/// Returns the distance in bytes by which a module with functions at `starts` was moved, if it is sure.
fn distance(starts: &BTreeSet<u64>, targets: &BTreeSet<u64>) -> Option<i64> {
    let (first, last) = (*starts.first()?, *starts.last()?);
    let found = |distance: i64| {
        let moved = |address: u64| address.wrapping_add_signed(distance);
        let within = targets.range(moved(first)..=moved(last));
        let is_start = |target: &&u64| starts.contains(&target.wrapping_add_signed(-distance));
        (within.clone().filter(is_start).count(), within.count())
    };
    let pages = -PAGES_MAX..=PAGES_MAX;
    let most = pages
        .clone()
        .map(|pages| found(pages * PAGE_BYTES).0)
        .max()?;
    if most < CALLS_MIN {
        return Some(0);
    }
    let is_best = |distance: &i64| found(*distance).0 == most;
    let mut best = pages.map(|pages| pages * PAGE_BYTES).filter(is_best);
    let distance = if is_best(&0) { 0 } else { best.next()? };
    let is_only = distance == 0 || best.next().is_none();
    // A few calls may be to labels that are no functions.
    let (starts, all) = found(distance);
    (is_only && starts * 10 >= all * 9).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Recorder;

    const STARTS: [u64; 5] = [0x10, 0x60, 0x140, 0x1200, 0x2350];
    const BASE: u64 = 0xffff_ffff_c020_0000;

    fn symbols() -> Symbols {
        let mut text = "ffffffff81000000 T kernel\n".to_owned();
        let mut before = 0xffff_ffff_8100_0000;
        for start in STARTS {
            let address = BASE + start;
            text += &format!("{:x} t f{start:x} [kvm]\n", address - before);
            before = address;
        }
        Symbols::of_kernel(&text).unwrap()
    }

    /// A trace of calls to these addresses.
    fn calls(targets: &[u64]) -> Trace {
        let from = 0xffff_ffff_c000_0000_u64;
        let call = |target: &u64| {
            let [a, b, c, d] = (target.wrapping_sub(from + 5) as u32).to_le_bytes();
            Insn::new(from, 0, &[0xe8, a, b, c, d])
        };
        Trace {
            architecture: Architecture::X86_64,
            recorder: Recorder::Plugin,
            has_accesses: true,
            insns: targets.iter().map(call).collect(),
            paths: vec![],
            windows: vec![],
        }
    }

    fn at(symbols: &Symbols, address: u64) -> Option<&str> {
        let (index, offset) = symbols.find(address)?;
        (offset == 0).then(|| &*symbols.get(index).unwrap().name)
    }

    #[test]
    fn a_module_is_where_calls_find_its_functions() {
        for distance in [0, 0x2000, -0x5000_i64] {
            let mut symbols = symbols();
            let moved = |start: &u64| (BASE + start).wrapping_add_signed(distance);
            let targets: Vec<u64> = STARTS.iter().map(moved).collect();
            settle(&mut symbols, &calls(&targets)).unwrap();
            assert_eq!(at(&symbols, targets[3]), Some("f1200"), "{distance:#x}");
            assert_eq!(at(&symbols, 0xffff_ffff_8100_0000), Some("kernel"));
        }
    }

    #[test]
    fn a_module_that_hardly_anybody_calls_stays() {
        for targets in [&[][..], &[0xffff_ffff_8100_0000], &[BASE + 0x3010]] {
            let mut unmoved = symbols();
            settle(&mut unmoved, &calls(targets)).unwrap();
            assert_eq!(unmoved, symbols(), "{targets:x?}");
        }
    }

    #[test]
    fn what_the_calls_do_not_tell_is_an_error() {
        let some = STARTS.map(|start| BASE + start);
        let other = STARTS.map(|start| BASE + start + 0x21);
        let error = settle(&mut symbols(), &calls(&[some, other].concat())).unwrap_err();
        assert_eq!(error, SymbolsError::Module("kvm".into()));
        let mut known = symbols();
        let lost = settle_known(&mut known, &calls(&[some, other].concat()));
        assert_eq!(lost, ["kvm"]);
        assert_eq!(at(&known, some[0]), None);
        assert_eq!(at(&known, 0xffff_ffff_8100_0000), Some("kernel"));
    }
}
