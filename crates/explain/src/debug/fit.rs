//! Checks that a debug file is of the code that was executed: its functions must be at the addresses that the machine
//! reports. For a module the check also finds the addresses at which its sections were loaded.

use super::{DebugError, Elf};
use crate::symbols::{Symbol, Symbols};
use object::read::elf::ElfSymbol64;
use object::{LittleEndian, Object, ObjectKind, ObjectSymbol, SectionIndex};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Load addresses of sections, by their index; empty for a file that runs where it was linked.
pub(super) type Bases = BTreeMap<usize, u64>;

/// Checks the file of a kernel or of Xen: it must have every function that the machine reports, at the same address.
pub(super) fn kernel(elf: &Elf<'_>, symbols: &Symbols) -> Result<Bases, DebugError> {
    if elf.kind() == ObjectKind::Relocatable {
        return Err(DebugError::Other("it is a module".to_owned()));
    }
    let mut there: HashSet<(u64, &str)> = HashSet::new();
    for symbol in elf.symbols() {
        if let Some(name) = name(&symbol) {
            there.insert((symbol.address(), name));
        }
    }
    if there.is_empty() {
        return Err(no_symbols());
    }
    let own = symbols.all().iter().filter(|own| own.module.is_none());
    let is_there = |own: &&Symbol| there.contains(&(own.address, plain(&own.name)));
    match own.clone().find(|own| !is_there(own)) {
        None => Ok(Bases::new()),
        Some(missing) => Err(DebugError::Other(format!(
            "{} is not at {:#x} in it, and {} more of {} functions are elsewhere",
            missing.name,
            missing.address,
            own.clone().filter(|own| !is_there(own)).count() - 1,
            own.count()
        ))),
    }
}

/// Checks the file of a module: all functions of a section with unique names must imply the same load address.
pub(super) fn module(elf: &Elf<'_>, symbols: &Symbols, module: &str) -> Result<Bases, DebugError> {
    if elf.kind() != ObjectKind::Relocatable {
        return Err(DebugError::Other("it is not a module".to_owned()));
    }
    let own = symbols.all().iter();
    let own = own.filter(|own| own.module.as_deref() == Some(module));
    let loaded = unique(own.map(|own| (plain(&own.name), own.address)));
    let linked = elf.symbols().filter_map(|symbol| {
        let section = symbol.section_index()?;
        Some((name(&symbol)?, (section, symbol.address())))
    });
    let linked = unique(linked);
    let mut bases: BTreeMap<usize, (u64, &str)> = BTreeMap::new();
    for (name, address) in &loaded {
        let Some((SectionIndex(section), offset)) = linked.get(name).copied().flatten() else {
            continue;
        };
        let Some(address) = address else { continue };
        let base = address.wrapping_sub(offset);
        let (first, of) = *bases.entry(section).or_insert((base, name));
        if first != base {
            return Err(DebugError::Other(format!(
                "{name} and {of} are {:#x} bytes further apart in the machine than in the file",
                base.abs_diff(first)
            )));
        }
    }
    let missing = loaded.keys().find(|name| !linked.contains_key(*name));
    match missing {
        _ if linked.is_empty() => Err(no_symbols()),
        Some(missing) => Err(DebugError::Other(format!("{missing} is not in it"))),
        None => Ok(bases
            .into_iter()
            .map(|(at, (base, _))| (at, base))
            .collect()),
    }
}

fn no_symbols() -> DebugError {
    DebugError::Other("it has no function symbols to compare".to_owned())
}

/// Maps names to values; None for a name that occurs more than once.
fn unique<'a, T>(all: impl Iterator<Item = (&'a str, T)>) -> HashMap<&'a str, Option<T>> {
    let mut found = HashMap::new();
    for (name, value) in all {
        let value = Some(value);
        found
            .entry(name)
            .and_modify(|known| *known = None)
            .or_insert(value);
    }
    found
}

/// Returns a symbol's name in the form that [`Symbols`] has.
fn name<'a>(symbol: &ElfSymbol64<'a, '_, LittleEndian>) -> Option<&'a str> {
    let name = symbol.name().ok().filter(|name| !name.is_empty())?;
    Some(plain(name))
}

/// Removes the compiler's suffix for the unlikely part of a function, and the file that Xen's table puts before a name.
fn plain(name: &str) -> &str {
    let name = name.rsplit('#').next().unwrap_or(name);
    name.strip_suffix(".cold").unwrap_or(name)
}
