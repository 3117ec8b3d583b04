//! Reads the plugin's recording (plugin/file.h): the instructions that a machine executed between the marks of its
//! guest, as paths. The file is untrusted: a damaged one is refused with the reason, and nothing is guessed.

use crate::x86;
use std::ops::Range;

const MAGIC: &str = "worldswitch-trace ";
const VERSION: &str = "3";
const END: &[u8] = b"end\n";
/// Limit of the first line and of the two after it.
const LINE_BYTES_MAX: usize = 256;
const INSN_BYTES_MAX: usize = 16;
/// Size of a VMCB (AMD APM vol. 2, 15.5.1).
const VMCB_BYTES: u32 = 4096;

/// Reasons why a file is not a trace that can be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The file has another first line.
    #[error("this is not a trace of worldswitch's plugin: its first line differs")]
    NotATrace,
    /// The file is of another version of the plugin.
    #[error(
        "the trace has version {found:?}, but this program reads {read:?}: build the plugin and the program from one tree (make build), and record again"
    )]
    Version {
        /// Version of the file.
        found: String,
        /// Version that this program reads.
        read: &'static str,
    },
    /// The emulator's target is unknown.
    #[error(
        "the trace is of a machine of type {0:?}; known are \"x86_64\", \"aarch64\" and \"riscv64\""
    )]
    Target(String),
    /// The plugin ran out of memory or of another resource.
    #[error("the recording is incomplete, {0}: record fewer benchmarks in one run")]
    NotWhole(String),
    /// A window has no end.
    #[error("the recording is incomplete: an exception ended {0} timed calls of the guest")]
    Dropped(u64),
    /// The file can't be read.
    #[error("the trace can't be read: {0}")]
    Unread(String),
    /// The file ends too early.
    #[error(
        "the trace ends in {0}: the emulator was stopped while writing, or the disk is full; record again"
    )]
    Cut(&'static str),
    /// A number in the file is impossible.
    #[error("the trace is damaged: {0}; record again")]
    Damaged(String),
}

/// The emulated processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// AMD64, with SVM or VMX.
    X86_64,
    /// A64.
    Aarch64,
    /// RV64 with the hypervisor extension.
    Riscv64,
}

impl Architecture {
    /// All processors.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Aarch64, Self::Riscv64];

    /// Returns the name that the kernel and the emulator use.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Riscv64 => "riscv64",
        }
    }

    /// Returns the architecture of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Recorder of a trace. It determines the rules of the emulator's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// The project's plugin, in QEMU. QEMU's clock charges translated blocks, and takes back the instructions that were
    /// not executed.
    Plugin,
    /// Bochs' debugger, which prints the time at each instruction. Bochs' clock charges each instruction that begins,
    /// even if it is intercepted or faults.
    Debugger,
}

/// An instruction as it was executed: code that was patched in place is another instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Insn {
    /// Virtual address.
    pub address: u64,
    /// Address of the first byte in the emulator's memory: tells address spaces apart.
    pub location: u64,
    size: u8,
    bytes: [u8; INSN_BYTES_MAX],
}

impl Insn {
    /// Makes an instruction of at most 16 bytes; more are cut.
    pub fn new(address: u64, location: u64, bytes: &[u8]) -> Self {
        let size = bytes.len().min(INSN_BYTES_MAX);
        let mut kept = [0; INSN_BYTES_MAX];
        kept[..size].copy_from_slice(&bytes[..size]);
        Self {
            address,
            location,
            size: size as u8,
            bytes: kept,
        }
    }

    /// Returns the instruction's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.size)]
    }

    /// Returns the address after the instruction.
    pub fn next(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.size))
    }
}

/// A place at which the emulator's clock was charged for instructions that nobody executed. In the plugin's trace: a
/// translated block that an exception left in its middle; the clock may have been charged for all of it. In the
/// debugger's trace: an interrupt that left a guest, a fetch of an instruction that did or that faulted, or a processor
/// that slept; the clock was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// The last instruction that was executed, as the index in the path.
    pub at: usize,
    /// Instructions of the block after that one, or ticks.
    pub rest: u64,
}

/// An access of an x86 instruction that its bytes do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accessed {
    /// The instruction, as the index in the path.
    pub at: usize,
    /// The accessed register or field.
    pub what: What,
}

/// The register or field of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The register of this number: an MSR, an extended control register, a field of the current VMCS.
    Number(u32),
    /// The hypervisor's VMCB at this offset, in bytes.
    Vmcb {
        /// Offset at which the access begins.
        offset: u32,
        /// A write if true, a read if false.
        is_write: bool,
    },
}

/// The instructions that were executed in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path {
    /// Instructions in their order, as indices of [`Trace::insns`].
    pub insns: Vec<u32>,
    /// Cuts, in the order of `at`.
    pub cuts: Vec<Cut>,
    /// Accesses, in the order of `at`.
    pub accesses: Vec<Accessed>,
}

impl Path {
    /// Returns the accesses of the instruction of this index that its bytes do not say.
    pub fn accessed(&self, at: usize) -> &[Accessed] {
        let first = self.accesses.partition_point(|access| access.at < at);
        let behind = self.accesses.partition_point(|access| access.at <= at);
        &self.accesses[first..behind]
    }
}

/// A trace, whole and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The emulated processor.
    pub architecture: Architecture,
    /// Recorder of the trace.
    pub recorder: Recorder,
    /// Whether paths have their accesses; for accesses to a VMCB see [`Trace::has_fields`].
    pub has_accesses: bool,
    /// All different instructions.
    pub insns: Vec<Insn>,
    /// All different paths. If two have the same instructions, their cuts or accesses differ.
    pub paths: Vec<Path>,
    /// The windows in the order of time: the index of each one's path.
    pub windows: Vec<u32>,
}

impl Trace {
    /// Reads a whole file. A file is refused if it is damaged, cut or of another version, or if the plugin could not
    /// keep everything.
    pub fn read(bytes: &[u8]) -> Result<Self, TraceError> {
        let mut reader = Reader { bytes };
        let architecture = reader.head(MAGIC, VERSION)?;
        let has_accesses = reader.number("whether accesses are known")? != 0;
        let insns = reader.insns()?;
        let paths = reader.paths(insns.len())?;
        let windows = reader.windows(paths.len())?;
        reader.end()?;
        Ok(Self {
            architecture,
            recorder: Recorder::Plugin,
            has_accesses,
            insns,
            paths,
            windows,
        })
    }

    /// Whether accesses to a VMCB, if there is one, are known: the debugger is not asked for memory.
    pub fn has_fields(&self) -> bool {
        let is_svm = || self.insns.iter().any(x86::is_vmrun);
        self.has_accesses && (self.recorder == Recorder::Plugin || !is_svm())
    }

    /// Returns the instructions of a path.
    pub fn path(&self, index: u32) -> impl ExactSizeIterator<Item = &Insn> {
        let path: &[u32] = match self.paths.get(index as usize) {
            Some(path) => &path.insns,
            None => &[],
        };
        path.iter().map(|insn| &self.insns[*insn as usize])
    }
}

pub(crate) fn damaged(what: impl Into<String>) -> TraceError {
    TraceError::Damaged(what.into())
}

/// The part of the file that is not yet read.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads the common beginning of the plugin's files.
    pub(crate) fn head(
        &mut self,
        magic: &str,
        version: &'static str,
    ) -> Result<Architecture, TraceError> {
        let first = self.line("its first line").unwrap_or_default();
        match first.strip_prefix(magic) {
            None => return Err(TraceError::NotATrace),
            Some(found) if found == version => {}
            Some(found) => {
                return Err(TraceError::Version {
                    found: found.to_owned(),
                    read: version,
                });
            }
        }
        let target = self.line("the target's name")?;
        let Some(architecture) = Architecture::of_name(&target) else {
            return Err(TraceError::Target(target));
        };
        let failed = self.line("the reason why it is not whole")?;
        if !failed.is_empty() {
            return Err(TraceError::NotWhole(failed));
        }
        match self.number("the count of dropped windows")? {
            0 => Ok(architecture),
            dropped => Err(TraceError::Dropped(dropped)),
        }
    }

    /// Checks that only the last line is left.
    pub(crate) fn end(&self) -> Result<(), TraceError> {
        match self.bytes {
            END => Ok(()),
            rest if END.starts_with(rest) => Err(TraceError::Cut("its last line")),
            _ => Err(damaged("its last line is not \"end\"")),
        }
    }

    fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], TraceError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(TraceError::Cut(what))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn line(&mut self, what: &'static str) -> Result<String, TraceError> {
        let end = self
            .bytes
            .iter()
            .take(LINE_BYTES_MAX)
            .position(|byte| *byte == b'\n');
        let end = match end {
            Some(end) => end,
            None if self.bytes.len() < LINE_BYTES_MAX => return Err(TraceError::Cut(what)),
            None => return Err(damaged(format!("{what} has no end"))),
        };
        let line = String::from_utf8_lossy(self.take(end, what)?).into_owned();
        self.take(1, what)?;
        Ok(line)
    }

    /// Reads an unsigned LEB128 number.
    pub(crate) fn number(&mut self, what: &'static str) -> Result<u64, TraceError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1, what)?[0];
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damaged(format!("{what} has more than 64 bits")))
    }

    /// Reads a count of things, each of which takes a byte at least. So no memory is reserved for things that can't be
    /// there.
    pub(crate) fn count(&mut self, what: &'static str) -> Result<Range<usize>, TraceError> {
        let count = self.number(what)?;
        match usize::try_from(count) {
            Ok(count) if count <= self.bytes.len() => Ok(0..count),
            _ => Err(TraceError::Cut(what)),
        }
    }

    /// Reads a little-endian word.
    pub(crate) fn word(&mut self, what: &'static str) -> Result<u64, TraceError> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8, what)?);
        Ok(u64::from_le_bytes(word))
    }

    fn insns(&mut self) -> Result<Vec<Insn>, TraceError> {
        self.count("its instructions")?
            .map(|_| self.insn())
            .collect()
    }

    /// Reads address, location, size and bytes of an instruction.
    pub(crate) fn insn(&mut self) -> Result<Insn, TraceError> {
        const WHAT: &str = "its instructions";
        let address = self.word(WHAT)?;
        let location = self.word(WHAT)?;
        let size = usize::from(self.take(1, WHAT)?[0]);
        if size == 0 || size > INSN_BYTES_MAX {
            return Err(damaged(format!("an instruction has {size} bytes")));
        }
        Ok(Insn::new(address, location, self.take(size, WHAT)?))
    }

    /// Reads a signed number in zigzag.
    pub(crate) fn difference(&mut self, what: &'static str) -> Result<i64, TraceError> {
        let coded = self.number(what)?;
        Ok((coded >> 1) as i64 ^ -((coded & 1) as i64))
    }

    fn paths(&mut self, insns: usize) -> Result<Vec<Path>, TraceError> {
        self.count("its paths")?
            .map(|_| {
                let insns = self.path(insns)?;
                let cuts = self.cuts(insns.len())?;
                let accesses = self.accesses(insns.len())?;
                Ok(Path {
                    insns,
                    cuts,
                    accesses,
                })
            })
            .collect()
    }

    /// Reads the instructions of a path. They are numbered from 1, and each is the difference to the one before, in
    /// zigzag.
    fn path(&mut self, insns: usize) -> Result<Vec<u32>, TraceError> {
        const WHAT: &str = "its paths";
        let mut number = 0i64;
        let mut path = Vec::new();
        for _ in self.count(WHAT)? {
            number = number.wrapping_add(self.difference(WHAT)?);
            if number < 1 || number as u64 > insns as u64 {
                return Err(damaged(format!(
                    "a path has instruction {number} of {insns}"
                )));
            }
            path.push((number - 1) as u32);
        }
        Ok(path)
    }

    fn cuts(&mut self, length: usize) -> Result<Vec<Cut>, TraceError> {
        const WHAT: &str = "its cuts";
        self.count(WHAT)?
            .map(|_| {
                let (at, rest) = (self.number(WHAT)?, self.number(WHAT)?);
                match usize::try_from(at) {
                    // A block has far fewer instructions.
                    Ok(at) if at < length && rest < 1 << 16 => Ok(Cut { at, rest }),
                    _ => Err(damaged(format!(
                        "a path of {length} has a cut at {at} with {rest} after it"
                    ))),
                }
            })
            .collect()
    }

    /// Reads the accesses of a path. The index of each one's instruction is the difference to the one before.
    fn accesses(&mut self, length: usize) -> Result<Vec<Accessed>, TraceError> {
        const WHAT: &str = "its accesses";
        let mut at = 0u64;
        self.count(WHAT)?
            .map(|_| {
                at = at.saturating_add(self.number(WHAT)?);
                let (kind, which) = (self.number(WHAT)?, self.number(WHAT)?);
                let what = match (kind, u32::try_from(which)) {
                    (0, Ok(number)) => What::Number(number),
                    (1 | 2, Ok(offset)) if offset < VMCB_BYTES => What::Vmcb {
                        offset,
                        is_write: kind == 2,
                    },
                    _ => return Err(damaged(format!("an access of kind {kind} is to {which}"))),
                };
                match usize::try_from(at) {
                    Ok(at) if at < length => Ok(Accessed { at, what }),
                    _ => Err(damaged(format!("a path of {length} has an access at {at}"))),
                }
            })
            .collect()
    }

    fn windows(&mut self, paths: usize) -> Result<Vec<u32>, TraceError> {
        const WHAT: &str = "its windows";
        self.count(WHAT)?
            .map(|_| match self.number(WHAT)? {
                path if path < paths as u64 => Ok(path as u32),
                path => Err(damaged(format!("a window has path {path} of {paths}"))),
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
