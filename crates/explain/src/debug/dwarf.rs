//! Looks addresses up in an ELF file's DWARF. Only the units that have one of the addresses are read.

use super::{DebugError, Elf, Site, fit::Bases, relocation};
use addr2line::Context;
use addr2line::gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationTarget};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Size of the largest section that is read. No kernel's debug information has a larger one.
const SECTION_MAX_BYTES: u64 = 4 << 30;

fn damaged(error: impl ToString) -> DebugError {
    DebugError::Dwarf(error.to_string())
}

/// Finds the sites of addresses in the source; addresses of which nothing is known are left out.
pub(super) fn sites(
    elf: &Elf<'_>,
    bases: &Bases,
    addresses: &BTreeSet<u64>,
) -> Result<HashMap<u64, Site>, DebugError> {
    if elf.section_by_name(".debug_info").is_none() && elf.section_by_name(".zdebug_info").is_none()
    {
        return Err(DebugError::None);
    }
    let dwarf = DwarfSections::load(|id| section(elf, bases, id))?;
    let context = Context::from_dwarf(dwarf.borrow(|data| EndianSlice::new(data, LittleEndian)));
    let context = context.map_err(damaged)?;
    let mut names = Names::default();
    let mut sites = HashMap::new();
    for address in addresses {
        let folder = context.find_dwarf_and_unit(*address).skip_all_loads();
        let folder = folder.and_then(|unit| unit.comp_dir);
        let folder = folder.map(|folder| folder.to_string_lossy());
        let mut frames = context
            .find_frames(*address)
            .skip_all_loads()
            .map_err(damaged)?;
        let mut site = Site::default();
        let mut is_innermost = true;
        while let Some(frame) = frames.next().map_err(damaged)? {
            let location = frame.location.filter(|_| is_innermost);
            is_innermost = false;
            site.line = site.line.or(location.and_then(|location| {
                let line = location.line.filter(|line| *line > 0)?;
                Some((names.get(&below(location.file?, folder.as_deref())), line))
            }));
            let function = frame.function.as_ref().map(|function| function.raw_name());
            let name = match &function {
                Some(Ok(name)) => name,
                _ => "unnamed function",
            };
            site.inlined.push(names.get(name));
        }
        site.inlined.reverse();
        // The compiler may split a function and put one part back into the other.
        site.inlined.dedup();
        // The outermost is the function that has the symbol.
        site.inlined.drain(..1.min(site.inlined.len()));
        if site != Site::default() {
            sites.insert(*address, site);
        }
    }
    Ok(sites)
}

/// Names, each stored once.
#[derive(Default)]
struct Names(HashSet<Rc<str>>);

impl Names {
    fn get(&mut self, name: &str) -> Rc<str> {
        if let Some(known) = self.0.get(name) {
            return Rc::clone(known);
        }
        let name: Rc<str> = name.into();
        self.0.insert(Rc::clone(&name));
        name
    }
}

/// Returns a path without its common beginning with the folder in which the compiler ran. The place of the build is no
/// part of the source's name.
pub(super) fn below(path: &str, folder: Option<&str>) -> String {
    let folder = clean(folder.unwrap_or_default());
    let path = clean(path);
    let same = path.iter().zip(&folder).take_while(|(a, b)| a == b);
    let same = same.count().min(path.len().saturating_sub(1));
    path[same..].join("/")
}

/// Splits a path into its parts, without those that lead nowhere.
fn clean(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" if !parts.is_empty() => {}
            "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts
}

/// Returns a section's bytes as they would be where the file runs; empty if the file has no such section, or if no
/// lookup needs it.
fn section<'a>(elf: &Elf<'a>, bases: &Bases, id: SectionId) -> Result<Cow<'a, [u8]>, DebugError> {
    let is_needed = !matches!(
        id,
        SectionId::DebugLoc | SectionId::DebugLocLists | SectionId::DebugTypes
    );
    let Some(section) = elf.section_by_name(id.name()).filter(|_| is_needed) else {
        return Ok(Cow::Borrowed(&[]));
    };
    let range = section.compressed_file_range().map_err(damaged)?;
    if range.uncompressed_size > SECTION_MAX_BYTES {
        let name = id.name();
        return Err(damaged(format!(
            "{name} would have {} bytes",
            range.uncompressed_size
        )));
    }
    let mut data = section.uncompressed_data().map_err(damaged)?;
    if elf.kind() != ObjectKind::Relocatable {
        return Ok(data);
    }
    // Only a module gets here.
    let machine = elf.elf_header().e_machine.get(object::LittleEndian);
    for (offset, relocation) in section.relocations() {
        let value = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = elf.symbol_by_index(index).map_err(damaged)?;
                let section = symbol.section_index();
                let base = section.and_then(|section| bases.get(&section.0));
                symbol.address().wrapping_add(base.copied().unwrap_or(0))
            }
            RelocationTarget::Section(section) => bases.get(&section.0).copied().unwrap_or(0),
            _ => 0,
        };
        let value = value.wrapping_add_signed(relocation.addend());
        let applied = relocation::apply(data.to_mut(), offset, &relocation, value, machine);
        if applied.is_none() {
            let name = id.name();
            return Err(damaged(format!(
                "{name} has a relocation at {offset:#x} that is not known"
            )));
        }
    }
    Ok(data)
}
