//! Debug information (DWARF) of the executed code: the inlined functions of an instruction, and its line of the source.
//! A file is used only if it belongs to the code that ran ([`fit`]).

mod dwarf;
mod fit;
mod inlined;
mod relocation;

use crate::load::Code;
use crate::place::{Machine, Places};
use crate::trace::Trace;
use object::LittleEndian;
use object::read::elf::ElfFile64;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

pub use inlined::LineCount;
pub(crate) use inlined::{expand, fold};

type Elf<'a> = ElfFile64<'a, LittleEndian>;

/// Reasons why a file's debug information can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DebugError {
    /// The file is no ELF file, or is damaged.
    #[error(
        "this is not a whole 64-bit little-endian ELF file ({0}): copy or fetch the file again"
    )]
    Elf(String),
    /// The file was stripped, or built without debug information.
    #[error(
        "it has no debug information (DWARF): give the file as it was linked, built with -g (Linux: \
         CONFIG_DEBUG_INFO), or the one of the debug package"
    )]
    None,
    /// The debug information is damaged, or of an unknown kind.
    #[error("its debug information can't be read ({0}): copy or fetch the file again")]
    Dwarf(String),
    /// The debug information has none of the executed code.
    #[error(
        "its debug information lacks all executed code: is it split into other files (.dwo)? Build \
         without CONFIG_DEBUG_INFO_SPLIT"
    )]
    Nothing,
    /// The executed code is of another build.
    #[error("it is not of the build that was executed: {0}")]
    Other(String),
}

/// Place of an instruction in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Functions whose body the compiler inlined there, the outermost first, without the one that has the symbol.
    pub inlined: Vec<Rc<str>>,
    /// File and line.
    pub line: Option<(Rc<str>, u32)>,
}

/// A piece of code that has debug information of its own: an image, or a module of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// Index in [`Machine::images`].
    pub image: usize,
    /// The kernel's module.
    pub module: Option<String>,
}

impl Piece {
    /// Returns the name of the piece: `Linux`, `kvm_amd`, `vmm`.
    pub fn name<'a>(&'a self, machine: &'a Machine) -> &'a str {
        let image = machine.images.get(self.image);
        let image = image.map_or("", |image| &*image.name);
        self.module.as_deref().unwrap_or(image)
    }
}

/// The executed instructions of each piece of code, and their sites from debug files.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// Piece and link address of each instruction of the trace.
    insns: Vec<Option<(Piece, u64)>>,
    known: BTreeMap<Piece, HashMap<u64, Site>>,
    /// The names of all pieces with debug information.
    names: BTreeSet<String>,
}

impl Sites {
    /// Lists the executed instructions of a trace. Their sites are not known yet.
    pub fn of(trace: &Trace, machine: &Machine) -> Self {
        let places = Places::of(trace, machine);
        let insns = (0..trace.insns.len()).map(|insn| places.linked(insn));
        Self {
            insns: insns.collect(),
            ..Self::default()
        }
    }

    /// Returns the pieces of code that were executed.
    pub fn pieces(&self) -> BTreeSet<Piece> {
        let insns = self.insns.iter().flatten();
        insns.map(|(piece, _)| piece.clone()).collect()
    }

    /// Reads the debug information of one piece from the bytes of a file.
    pub fn read(
        &mut self,
        machine: &Machine,
        piece: &Piece,
        file: &[u8],
    ) -> Result<(), DebugError> {
        let elf = Elf::parse(file).map_err(|error| DebugError::Elf(error.to_string()))?;
        let Some(image) = machine.images.get(piece.image) else {
            return Err(DebugError::Nothing);
        };
        let bases = match (&piece.module, &image.code) {
            (Some(module), _) => fit::module(&elf, &image.symbols, module)?,
            (None, Some(code)) => same_code(code, file)?,
            (None, None) => fit::kernel(&elf, &image.symbols)?,
        };
        let own = self.insns.iter().flatten();
        let addresses: BTreeSet<u64> = own
            .filter(|(of, _)| of == piece)
            .map(|(_, address)| *address)
            .collect();
        let sites = dwarf::sites(&elf, &bases, &addresses)?;
        if sites.is_empty() {
            return Err(DebugError::Nothing);
        }
        self.known.insert(piece.clone(), sites);
        self.names.insert(piece.name(machine).to_owned());
        Ok(())
    }

    /// Returns the names of the pieces that have debug information.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.iter().cloned().collect()
    }

    /// Returns the place of an instruction in the source.
    pub(crate) fn get(&self, insn: u32) -> Option<&Site> {
        let (piece, address) = self.insns.get(insn as usize)?.as_ref()?;
        self.known.get(piece)?.get(address)
    }
}

/// Checks that a program's own debug file has the same code.
fn same_code(code: &Code, file: &[u8]) -> Result<fit::Bases, DebugError> {
    let own = Code::of(file).map_err(|error| DebugError::Elf(error.to_string()))?;
    match own == *code {
        true => Ok(fit::Bases::new()),
        false => Err(DebugError::Other("its code differs".to_owned())),
    }
}

#[cfg(test)]
mod tests;
