//! The place of each instruction of a trace: its level, its kind of software, and its function.
//!
//! L0 is the software on the (emulated) machine itself, L1 the software of its VM, and so on; the guest is the last
//! level.

use crate::debug::Piece;
use crate::flow::Flow;
use crate::load::{self, Code};
use crate::symbols::{Symbols, SymbolsError};
use crate::trace::{Architecture, Insn, Trace};
use crate::x86;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use ws_text::number::grouped;

const PAGE_BYTES: u64 = 4096;

/// Kind of software that executes an instruction.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The benchmark kernel.
    Guest,
    /// A hypervisor, or the part of a kernel that is one: KVM's modules, KVM's code at EL2 without VHE.
    Hypervisor,
    /// The rest of a kernel.
    Kernel,
    /// A process: the monitor.
    User,
    /// RISC-V: the software of machine mode, which serves a kernel's SBI calls.
    Firmware,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Guest => "guest",
            Self::Hypervisor => "hypervisor",
            Self::Kernel => "kernel",
            Self::User => "user space",
            Self::Firmware => "firmware",
        })
    }
}

/// Role of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The benchmark kernel, in the innermost VM.
    Guest,
    /// Linux with KVM, in each level of the machine that has it.
    Linux,
    /// Xen, neve: in each level of the machine that has it.
    Hypervisor,
    /// A program of a level's user space.
    Program,
}

/// A file or kernel with its functions.
#[derive(Clone, Debug)]
pub struct Image {
    /// Name for people: `Linux`, `vmm`.
    pub name: String,
    /// Role of the image.
    pub role: Role,
    /// Functions of the image.
    pub symbols: Symbols,
    /// Number that is added to a symbol's address where it runs; 0 for images that run where they were linked.
    pub bias: u64,
    /// Code of the image, if it is known: another image at the same address in another address space has other code.
    pub code: Option<Code>,
}

impl Image {
    /// Makes an image of Linux, from the symbols that the machine prints.
    pub fn linux(symbols: Symbols) -> Self {
        Self::of_symbols("Linux", Role::Linux, symbols)
    }

    /// Makes an image of Xen, from its symbols.
    pub fn xen(symbols: Symbols) -> Self {
        Self::of_symbols("Xen", Role::Hypervisor, symbols)
    }

    fn of_symbols(name: &str, role: Role, symbols: Symbols) -> Self {
        Self {
            name: name.to_owned(),
            role,
            symbols,
            bias: 0,
            code: None,
        }
    }

    /// Makes images of an ELF file: one for each place where it ran, none if it did not run.
    pub fn of_elf(
        name: &str,
        role: Role,
        elf: &[u8],
        trace: &Trace,
    ) -> Result<Vec<Self>, SymbolsError> {
        let symbols = Symbols::of_elf(elf)?;
        let code = Code::of(elf)?;
        let biases = load::biases(&code, trace).into_iter();
        let image = |bias| Self {
            name: name.to_owned(),
            role,
            symbols: symbols.clone(),
            bias,
            code: Some(code.clone()),
        };
        Ok(biases.map(image).collect())
    }
}

/// A machine's software.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Name of the machine: `lab:kvm`.
    pub name: String,
    /// Levels of hypervisors: 0 natively, 1 with a hypervisor, 2 with nested virtualization. The guest is the level
    /// of this number.
    pub hypervisors: u8,
    /// All images; an address is looked up in the order of the list.
    pub images: Vec<Image>,
}

/// A function of a level. Two levels that run the same kernel have different functions.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Function {
    /// Name of the function, or its page's address if no table has a name.
    pub name: String,
    /// The kernel's module that has the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Name of the image; empty if the function is in no known image.
    pub image: String,
    /// Level; 0 for the machine's own software.
    pub level: u8,
    /// Kind of software.
    pub kind: Kind,
    /// Whether the compiler inlined it into its callers: it has instructions, but nobody calls it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_inlined: bool,
}

impl Function {
    /// Returns the module or image that has the function, as debug information is named.
    pub fn code(&self) -> &str {
        self.module.as_deref().unwrap_or(&self.image)
    }

    /// Returns the number of calls, for people: nobody calls an inlined function.
    pub fn calls(&self, calls: u64) -> String {
        match self.is_inlined {
            true => "-".to_owned(),
            false => grouped(calls as i64),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(value: &bool) -> bool {
    !value
}

/// End of the addresses at which a kernel may run before it has set up its page tables.
const PHYSICAL_END: u64 = 1 << 40;

/// RISC-V: physical addresses of QEMU's code of the reset, and of OpenSBI, which has the memory before the kernel. No
/// process has pages there.
const FIRMWARE: [Range<u64>; 2] = [0x1000..0x2000, 0x8000_0000..0x8020_0000];
/// Name of the firmware's code, which has no symbols.
const FIRMWARE_NAME: &str = "OpenSBI";

/// Place of an executed instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index in [`Places::functions`].
    pub function: u32,
    /// Whether the instruction is the function's first.
    pub is_start: bool,
}

/// Places of the instructions of paths. Functions are numbered as they are met.
pub struct Places<'a> {
    machine: &'a Machine,
    insns: Vec<Found<'a>>,
    /// Location less address of L0's kernel or hypervisor, which is the same for all of its own code.
    host: Option<u64>,
    /// The instruction at which exits enter L0, if machines of the architecture have one.
    exit: Option<u32>,
    /// Instructions that enter a guest.
    enters: Vec<bool>,
    /// All functions that were met.
    pub functions: Vec<Function>,
    numbers: HashMap<Function, u32>,
}

/// Place of an instruction as far as its address tells: all but its level.
#[derive(Clone, Copy)]
struct Found<'a> {
    image: Option<&'a Image>,
    /// Index in the image's symbols, and the offset.
    symbol: Option<(usize, u64)>,
    address: u64,
    /// Whether the instruction runs elsewhere than where its image is linked, as KVM's code at EL2 without VHE does.
    is_alias: bool,
    is_firmware: bool,
    /// Location less address, if that tells levels apart.
    distance: Option<u64>,
}

impl<'a> Places<'a> {
    /// Looks up all instructions of a trace.
    pub fn of(trace: &Trace, machine: &'a Machine) -> Self {
        // Code that was patched where it runs is still its function's.
        let look = |insn: &Insn| {
            let found = |is_sure| find(machine.images.iter(), insn, is_sure);
            found(true).or_else(|| found(false))
        };
        Self::found(trace, machine, look, None)
    }

    /// Looks up all instructions of a trace of a whole boot, in which they were executed first in this `order`. L0's
    /// kernel or hypervisor is the first one that runs. Firmware and loaders run at addresses of later code, so code
    /// must have the bytes of its file.
    pub fn of_boot(trace: &Trace, machine: &'a Machine, order: &[u32]) -> Self {
        let look = |insn: &Insn| find(machine.images.iter(), insn, true);
        Self::found(trace, machine, look, Some(order))
    }

    fn found(
        trace: &Trace,
        machine: &'a Machine,
        look: impl Fn(&Insn) -> Option<Found<'a>>,
        order: Option<&[u32]>,
    ) -> Self {
        let found = |insn| look(insn).unwrap_or_else(|| Found::nowhere(insn, trace.architecture));
        let mut places = Self {
            machine,
            insns: trace.insns.iter().map(found).collect(),
            host: None,
            exit: None,
            enters: Vec::new(),
            functions: Vec::new(),
            numbers: HashMap::new(),
        };
        places.take_from_guest(trace);
        let mut firsts = order.into_iter().flatten();
        let first = firsts.find_map(|insn| places.insns[*insn as usize].distance);
        let mut paths = trace.paths.iter();
        places.host = first.or_else(|| paths.find_map(|path| places.host_of(&path.insns)));
        if trace.architecture == Architecture::X86_64 {
            let mut paths = trace.paths.iter();
            places.exit = paths.find_map(|path| places.exit_of(&path.insns));
            let enters = |insn| x86::flow(insn) == Flow::EnterGuest;
            places.enters = trace.insns.iter().map(enters).collect();
        }
        // A loader of x86 unpacks a kernel to the addresses at which the loader itself ran.
        let may_alias = order.is_none() || trace.architecture != Architecture::X86_64;
        if let Some(host) = places.host.filter(|_| may_alias) {
            for (found, insn) in places.insns.iter_mut().zip(&trace.insns) {
                if found.symbol.is_none() {
                    *found = find_alias(machine, insn, host).unwrap_or(*found);
                }
            }
        }
        places
    }

    /// Gives a hypervisor the instructions that only seem to be the guest's. A guest's image may by chance have the same
    /// bytes at the same address. But the guest's memory is not where the hypervisor's other code is.
    fn take_from_guest(&mut self, trace: &Trace) {
        let machine = self.machine;
        let is_known = |image: &&Image| image.role != Role::Guest && image.code.is_some();
        let known = |insn| find(machine.images.iter().filter(is_known), insn, true);
        let both = || self.insns.iter().zip(&trace.insns);
        let told: HashSet<u64> = both()
            .filter(|(found, _)| !found.is_guest())
            .filter_map(|(_, insn)| known(insn)?.distance)
            .collect();
        let taken: Vec<(usize, Found<'a>)> = both()
            .enumerate()
            .filter(|(_, (found, _))| found.is_guest())
            .filter_map(|(at, (_, insn))| Some((at, known(insn)?)))
            .filter(|(_, other)| other.distance.is_some_and(|there| told.contains(&there)))
            .collect();
        for (at, other) in taken {
            self.insns[at] = other;
        }
    }

    /// Returns the instructions after a guest's exit, which are L0's.
    fn after_exit<'b>(&self, path: &'b [u32]) -> impl Iterator<Item = &'b u32> {
        let is_guest = |insn: &&u32| self.insns[**insn as usize].is_guest();
        let before = path.iter().skip_while(move |insn| !is_guest(insn));
        before.skip_while(is_guest)
    }

    fn host_of(&self, path: &[u32]) -> Option<u64> {
        let mut outside = self.after_exit(path);
        outside.find_map(|insn| self.insns[*insn as usize].distance)
    }

    /// Finds the instruction at which exits enter L0, the same for exits of every level: VMX's HOST_RIP, or the one
    /// after SVM's VMRUN.
    fn exit_of(&self, path: &[u32]) -> Option<u32> {
        self.after_exit(path).next().copied()
    }

    /// Returns the places of a path's instructions, in their order.
    pub fn path(&mut self, path: &[u32]) -> Vec<Place> {
        let mut level = self.machine.hypervisors;
        let mut before: Option<u32> = None;
        path.iter()
            .map(|insn| {
                let found = self.insns[*insn as usize];
                level = self.level(*insn, level, before);
                before = Some(*insn);
                let function = self.function(&found, level);
                Place {
                    function,
                    is_start: matches!(found.symbol, Some((_, 0))),
                }
            })
            .collect()
    }

    /// Returns an instruction's distance from the beginning of its function, or of its page if the function is not
    /// known.
    pub(crate) fn offset(&self, insn: usize) -> u64 {
        let found = &self.insns[insn];
        let in_page = found.address % PAGE_BYTES;
        found.symbol.map_or(in_page, |(_, offset)| offset)
    }

    /// Returns the piece of code that has an instruction of the trace, and the address at which it was linked.
    pub(crate) fn linked(&self, insn: usize) -> Option<(Piece, u64)> {
        let found = self.insns.get(insn)?;
        let (own, (index, offset)) = (found.image?, found.symbol?);
        let symbol = own.symbols.get(index)?;
        let image = self.machine.images.iter();
        let piece = Piece {
            image: image.clone().position(|image| std::ptr::eq(image, own))?,
            module: symbol.module.clone(),
        };
        Some((piece, symbol.address + offset))
    }

    /// Returns the level of an instruction. A kernel's location tells its level. All other code, such as modules, has
    /// the level of the instruction before, unless a guest was just entered or left.
    fn level(&self, insn: u32, level: u8, before: Option<u32>) -> u8 {
        let last = self.machine.hypervisors;
        let found = &self.insns[insn as usize];
        let was_guest = before.is_none_or(|before| self.insns[before as usize].is_guest());
        let entered = |before: u32| self.enters.get(before as usize) == Some(&true);
        match found.distance {
            _ if found.is_guest() => last,
            _ if found.is_alias || found.is_firmware => 0,
            Some(distance) if Some(distance) == self.host || last < 2 => 0,
            Some(_) => 1,
            None if was_guest || self.exit == Some(insn) => 0,
            None if level == 0 && last > 1 && before.is_some_and(entered) => 1,
            None => level.min(last.saturating_sub(1)),
        }
    }

    fn function(&mut self, found: &Found<'_>, level: u8) -> u32 {
        let function = found.function(level);
        let next = self.functions.len() as u32;
        *self.numbers.entry(function.clone()).or_insert_with(|| {
            self.functions.push(function);
            next
        })
    }
}

impl Found<'_> {
    /// An instruction in no image.
    fn nowhere(insn: &Insn, architecture: Architecture) -> Self {
        let mut firmware = FIRMWARE.iter();
        Self {
            image: None,
            symbol: None,
            address: insn.address,
            is_alias: false,
            is_firmware: architecture == Architecture::Riscv64
                && firmware.any(|range| range.contains(&insn.address)),
            distance: None,
        }
    }

    fn is_guest(&self) -> bool {
        self.image.is_some_and(|image| image.role == Role::Guest)
    }

    fn function(&self, level: u8) -> Function {
        let symbol = self.image.zip(self.symbol);
        let symbol = symbol.and_then(|(image, (index, _))| image.symbols.get(index));
        let module = symbol.and_then(|symbol| symbol.module.clone());
        let kind = match self.image.map(|image| image.role) {
            Some(Role::Guest) => Kind::Guest,
            Some(Role::Hypervisor) => Kind::Hypervisor,
            Some(Role::Program) => Kind::User,
            Some(Role::Linux) if self.is_alias && self.address < PHYSICAL_END => Kind::Kernel,
            Some(Role::Linux) if self.is_alias || is_kvm(module.as_deref()) => Kind::Hypervisor,
            // All architectures' kernels are in the upper half of the addresses.
            Some(Role::Linux) => Kind::Kernel,
            None if self.is_firmware => Kind::Firmware,
            None if self.address >> 63 == 1 => Kind::Kernel,
            None => Kind::User,
        };
        let page = self.address & !(PAGE_BYTES - 1);
        Function {
            name: match symbol {
                Some(symbol) => symbol.name.clone(),
                None if self.is_firmware => FIRMWARE_NAME.to_owned(),
                None => format!("unknown code at {page:#x}"),
            },
            module,
            image: self
                .image
                .map_or_else(String::new, |image| image.name.clone()),
            level,
            kind,
            is_inlined: false,
        }
    }
}

pub(crate) fn is_kvm(module: Option<&str>) -> bool {
    matches!(module, Some("kvm" | "kvm_amd" | "kvm_intel"))
}

/// Finds the first image that has code at an instruction's address. If `is_sure`, an image whose code is known must
/// have these bytes.
fn find<'a>(
    mut images: impl Iterator<Item = &'a Image>,
    insn: &Insn,
    is_sure: bool,
) -> Option<Found<'a>> {
    images.find_map(|image| {
        let address = insn.address.wrapping_sub(image.bias);
        let is_other = |code: &Code| !code.has(address, insn.bytes());
        if is_sure && image.code.as_ref().is_some_and(is_other) {
            return None;
        }
        let symbol = image.symbols.find(address)?;
        let tells = match image.role {
            Role::Hypervisor => true,
            // Modules and user space have no fixed place in memory.
            Role::Linux => image.symbols.core().contains(&address),
            Role::Guest | Role::Program => false,
        };
        Some(Found {
            image: Some(image),
            symbol: Some(symbol),
            is_alias: false,
            is_firmware: false,
            address: insn.address,
            distance: tells.then(|| insn.location.wrapping_sub(insn.address)),
        })
    })
}

/// Finds code of L0's kernel that runs at another address: its location is where the kernel's own would be.
fn find_alias<'a>(machine: &'a Machine, insn: &Insn, host: u64) -> Option<Found<'a>> {
    let address = insn.location.wrapping_sub(host);
    machine
        .images
        .iter()
        .filter(|image| image.role == Role::Linux && image.symbols.core().contains(&address))
        .find_map(|image| {
            Some(Found {
                image: Some(image),
                symbol: Some(image.symbols.find(address)?),
                is_alias: true,
                is_firmware: false,
                address: insn.address,
                distance: None,
            })
        })
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
