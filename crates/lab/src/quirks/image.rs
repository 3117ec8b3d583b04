//! Finds the parts of a file that are code, and their addresses in memory.

use object::Endianness;
use object::elf::{FileHeader64, PF_X, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader, Sym};
use std::ops::Range;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Offsets of the part in the file.
    pub range: Range<usize>,
    /// Address of the part's first byte in memory.
    pub address: u64,
}

/// Finds the parts of a file that hold its code. These are the executable segments of a 64-bit ELF file, or the whole
/// file if there are none. If the file has a symbol for `function`, returns only that function.
pub(super) fn code(content: &[u8], function: Option<&str>) -> Vec<Part> {
    let whole = Part {
        range: 0..content.len(),
        address: 0,
    };
    let segments = segments(content).unwrap_or_default();
    if segments.is_empty() {
        return vec![whole];
    }
    match function.and_then(|name| symbol(content, name, &segments)) {
        Some(function) => vec![function],
        None => segments,
    }
}

fn segments(content: &[u8]) -> object::Result<Vec<Part>> {
    let header = FileHeader64::<Endianness>::parse(content)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, content)?.iter();
    let is_code = |segment: &&object::elf::ProgramHeader64<Endianness>| {
        segment.p_type(endian) == PT_LOAD && segment.p_flags(endian) & PF_X != 0
    };
    let part = |segment: &object::elf::ProgramHeader64<Endianness>| {
        let (offset, size) = segment.file_range(endian);
        let range =
            usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(size)?).ok()?;
        (range.end <= content.len()).then_some(Part {
            range,
            address: segment.p_vaddr(endian),
        })
    };
    Ok(segments.filter(is_code).filter_map(part).collect())
}

/// Finds the function of this name, if the file's symbols have exactly one.
fn symbol(content: &[u8], name: &str, segments: &[Part]) -> Option<Part> {
    let header = FileHeader64::<Endianness>::parse(content).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, content).ok()?;
    let mut found = Vec::new();
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        let symbols = sections.symbols(endian, content, kind).ok()?;
        for symbol in symbols.iter() {
            let text = symbol.name(endian, symbols.strings());
            if text == Ok(name.as_bytes()) && symbol.st_size(endian) > 0 {
                let place = (symbol.st_value(endian), symbol.st_size(endian));
                if !found.contains(&place) {
                    found.push(place);
                }
            }
        }
    }
    let [(address, size)] = found[..] else {
        return None;
    };
    segments.iter().find_map(|segment| {
        let start = usize::try_from(address.checked_sub(segment.address)?).ok()?;
        let start = segment.range.start.checked_add(start)?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        (end <= segment.range.end).then_some(Part {
            range: start..end,
            address,
        })
    })
}

#[cfg(test)]
#[path = "image_tests.rs"]
pub(super) mod tests;
