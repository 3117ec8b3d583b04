//! Tables of symbols: find the function of an address.

use object::{BinaryFormat, File, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// Bytes that a function without a size reaches, if no other one begins before. Code further away is unknown.
const REACH_BYTES: u64 = 64 << 10;

/// Reasons why symbols can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymbolsError {
    /// A line of a kernel's list is malformed.
    #[error("line {line} of the kernel's symbols is not \"DELTA TYPE NAME [MODULE]\": {text:?}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Beginning of the line.
        text: String,
    },
    /// The file is no little-endian ELF file.
    #[error("this is not a little-endian ELF file: {0}")]
    Elf(String),
    /// The table has no functions.
    #[error("no function symbols: the file was stripped; give the file as it was linked")]
    None,
    /// A kernel's module is elsewhere than when the symbols were printed.
    #[error(
        "the module {0} is not where it was when the machine printed its symbols, and calls do not tell where it is: \
         please report it"
    )]
    Module(String),
}

/// A function, by the name that its file or kernel uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Address of the first instruction.
    pub address: u64,
    /// End of the function, if known; else the function reaches to the next one.
    end: Option<u64>,
    /// Name of the function.
    pub name: String,
    /// The kernel's module that has the function.
    pub module: Option<String>,
}

/// The symbols of one image, by address. An address has one symbol, even if the image has several names for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    sorted: Vec<Symbol>,
}

/// A symbol with the linkage of its name.
type Candidate = (Linkage, Symbol);

/// Linkage of a name. Of several names of one address, one that is no mark of a section is kept, then the first of
/// these, then the one with the fewest leading underscores, then the shortest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Linkage {
    Global,
    Local,
    Weak,
    Section,
}

impl Symbols {
    /// Reads the list that a machine prints of its own kernel (common/kallsyms.h): lines `DELTA TYPE NAME [MODULE]`,
    /// DELTA in hexadecimal and counted from the line before. Lines that begin with `@` are skipped.
    pub fn of_kernel(text: &str) -> Result<Self, SymbolsError> {
        let mut address = 0u64;
        let mut found = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('@') {
                continue;
            }
            let (delta, linkage, name, module) =
                kernel_line(line).ok_or_else(|| SymbolsError::Line {
                    line: index + 1,
                    text: line.chars().take(60).collect(),
                })?;
            address = address.wrapping_add(delta);
            let module = module.map(str::to_owned);
            found.push(candidate(linkage, address, None, name, module));
        }
        Self::sort(found)
    }

    /// Reads the functions of an ELF file: symbols of code with a name.
    pub fn of_elf(bytes: &[u8]) -> Result<Self, SymbolsError> {
        let elf = elf(bytes)?;
        let sections = code_sections(&elf);
        let mut found = Vec::new();
        for symbol in elf.symbols() {
            let (Ok(name), kind) = (symbol.name(), symbol.kind()) else {
                continue;
            };
            let is_label = matches!(kind, SymbolKind::Unknown | SymbolKind::Label);
            let mut around = sections.iter().map(|(_, range)| range);
            let Some(section) = around.find(|range| range.contains(&symbol.address())) else {
                continue;
            };
            if kind != SymbolKind::Text && !is_label {
                continue;
            }
            // `$x` and the like mark code and data on ARM; `.L` is a compiler's own label.
            if name.is_empty() || name.starts_with('$') || name.starts_with('.') {
                continue;
            }
            let linkage = match (symbol.is_weak(), symbol.is_global()) {
                (true, _) => Linkage::Weak,
                (false, true) => Linkage::Global,
                (false, false) => Linkage::Local,
            };
            let end = match symbol.size() {
                0 => section.end,
                size => symbol.address().saturating_add(size),
            };
            found.push(candidate(linkage, symbol.address(), Some(end), name, None));
        }
        if found.is_empty() {
            return Err(SymbolsError::None);
        }
        // Code without a symbol, such as a linker's own stubs, gets its section's name.
        for (name, range) in sections {
            found.push(candidate(
                Linkage::Section,
                range.start,
                Some(range.end),
                &name,
                None,
            ));
        }
        Self::sort(found)
    }

    fn sort(mut found: Vec<Candidate>) -> Result<Self, SymbolsError> {
        found.sort_by(|(linkage_a, a), (linkage_b, b)| {
            let underscores =
                |symbol: &Symbol| symbol.name.len() - symbol.name.trim_start_matches('_').len();
            let rank = |linkage: Linkage, symbol: &Symbol| {
                (
                    symbol.address,
                    is_mark(&symbol.name),
                    linkage,
                    underscores(symbol),
                    symbol.name.len(),
                )
            };
            let order = rank(*linkage_a, a).cmp(&rank(*linkage_b, b));
            order.then_with(|| a.name.cmp(&b.name))
        });
        let mut sorted: Vec<Symbol> = found.into_iter().map(|(_, symbol)| symbol).collect();
        sorted.dedup_by_key(|symbol| symbol.address);
        match sorted.is_empty() {
            true => Err(SymbolsError::None),
            false => Ok(Self { sorted }),
        }
    }

    /// Finds the function of an address: returns its index, and the offset in it.
    pub fn find(&self, address: u64) -> Option<(usize, u64)> {
        let behind = self
            .sorted
            .partition_point(|symbol| symbol.address <= address);
        let index = behind.checked_sub(1)?;
        let symbol = &self.sorted[index];
        let offset = address - symbol.address;
        let is_inside = match symbol.end {
            // A label inside of a function's assembly has no size of its own; bytes after a sized function may be
            // padding.
            Some(end) => address < end,
            None => offset < REACH_BYTES,
        };
        is_inside.then_some((index, offset))
    }

    /// Returns the function of an index that `find` returned.
    pub fn get(&self, index: usize) -> Option<&Symbol> {
        self.sorted.get(index)
    }

    /// Returns the addresses of a function's code, if its file has its size.
    pub fn code_of(&self, name: &str) -> Option<RangeInclusive<u64>> {
        let symbol = self.sorted.iter().find(|symbol| symbol.name == name)?;
        let last = symbol.end?.checked_sub(1)?;
        (symbol.address <= last).then_some(symbol.address..=last)
    }

    /// Moves the functions of modules by these distances in bytes.
    pub(crate) fn shift(&mut self, distances: &BTreeMap<String, i64>) {
        for symbol in &mut self.sorted {
            let module = symbol.module.as_ref();
            if let Some(distance) = module.and_then(|module| distances.get(module)) {
                symbol.address = symbol.address.wrapping_add_signed(*distance);
            }
        }
        self.sorted.sort_by_key(|symbol| symbol.address);
    }

    /// Removes the functions of modules.
    pub(crate) fn remove(&mut self, modules: &[String]) {
        let is_of = |module: &String| modules.contains(module);
        self.sorted
            .retain(|symbol| !symbol.module.as_ref().is_some_and(is_of));
    }

    /// Returns all functions, by address.
    pub(crate) fn all(&self) -> &[Symbol] {
        &self.sorted
    }

    /// Returns the addresses of the kernel itself: from the first function of no module to the last one's reach.
    pub fn core(&self) -> Range<u64> {
        let mut own = self.sorted.iter().filter(|symbol| symbol.module.is_none());
        let first = own.next().map_or(0, |symbol| symbol.address);
        let last = own.next_back().map_or(first, |symbol| symbol.address);
        first..last.saturating_add(REACH_BYTES)
    }
}

/// Whether a name is a linker script's mark of the beginning or end of a part of a kernel
/// (include/asm-generic/vmlinux.lds.h).
fn is_mark(name: &str) -> bool {
    let marks = [
        "_text_start",
        "_text_end",
        "_thunk_start",
        "_thunk_end",
        "_text",
        "_stext",
        "_etext",
    ];
    name.starts_with('_') && marks.iter().any(|mark| name.ends_with(mark))
}

fn candidate(
    linkage: Linkage,
    address: u64,
    end: Option<u64>,
    name: &str,
    module: Option<String>,
) -> Candidate {
    // The compiler moves a function's unlikely part elsewhere; it is the same function.
    let name = name.strip_suffix(".cold").unwrap_or(name);
    let symbol = Symbol {
        address,
        end,
        name: name.to_owned(),
        module,
    };
    (linkage, symbol)
}

fn kernel_line(line: &str) -> Option<(u64, Linkage, &str, Option<&str>)> {
    let mut words = line.split(' ');
    let delta = u64::from_str_radix(words.next()?, 16).ok()?;
    let linkage = match words.next()? {
        "T" => Linkage::Global,
        "t" => Linkage::Local,
        "W" | "w" => Linkage::Weak,
        _ => return None,
    };
    let name = words.next().filter(|name| !name.is_empty())?;
    let module = match words.next() {
        Some(word) => Some(word.strip_prefix('[')?.strip_suffix(']')?),
        None => None,
    };
    words
        .next()
        .is_none()
        .then_some((delta, linkage, name, module))
}

/// Parses an ELF file, of 64 or 32 bits.
pub(crate) fn elf(bytes: &[u8]) -> Result<File<'_>, SymbolsError> {
    let file = File::parse(bytes).map_err(|error| SymbolsError::Elf(error.to_string()))?;
    if file.format() != BinaryFormat::Elf || !file.is_little_endian() {
        return Err(SymbolsError::Elf(format!("it is {:?}", file.format())));
    }
    Ok(file)
}

/// Returns the sections of code: names and addresses.
fn code_sections(elf: &File<'_>) -> Vec<(String, Range<u64>)> {
    elf.sections()
        .filter(|section| section.kind() == SectionKind::Text)
        .map(|section| {
            let name = section.name().unwrap_or("code").to_owned();
            let end = section.address().saturating_add(section.size());
            (name, section.address()..end)
        })
        .collect()
}

#[cfg(test)]
#[path = "symbols_tests.rs"]
mod tests;
