//! Reads the table of benchmarks from the guest image's ELF file.
//!
//! The table lies between the symbols `__benchmarks_start` and `__benchmarks_end`; its rows are
//! sixteen little-endian 64-bit words. An image may come from anywhere, so malformed input is an
//! error, never a panic.

use crate::machine::MachineError;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSegment, ObjectSymbol};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use ws_lab::kernel::format;
use ws_lab::sets::Architecture;
use ws_results::RowFacts;

const ROW_BYTES: u64 = 128;
/// The most benchmarks that an image may have.
pub const ROWS_MAX: u64 = 1024;
const IMAGE_BYTES_MAX: u64 = 16 << 20;
const TEXT_BYTES_MAX: usize = 1024;
const NAME_BYTES_MAX: usize = 64;
const VCPUS_MAX: u64 = 64;

/// The most bytes of a loop. With loops up to this long, each page of timed code has a loop's return, which the guest
/// executes before it measures (guest/include/timed_shared.h). Otherwise the first fetch from another page would count
/// as part of an operation.
const LOOP_BYTES_MAX: usize = 512;

/// The names of the parameters, by their bit in a row's last word.
const PARAMETERS: [&str; 6] = ["page", "ws", "in", "out", "print", "hypercall"];

/// The bit of `hypercall` in the parameters.
const HYPERCALL_BIT: u32 = 5;

/// `vmcall` and `vmmcall` (Intel SDM vol. 2, VMCALL; AMD APM vol. 3, VMMCALL).
const HYPERCALLS: [[u8; 3]; 2] = [[0x0f, 0x01, 0xc1], [0x0f, 0x01, 0xd9]];

/// The mask that leaves out the immediate of an A64 instruction, and the values of `hvc` and `smc`
/// under it (Arm DDI 0487, C6.2, HVC and SMC).
const A64_CALL_MASK: u32 = 0xffe0_001f;
const A64_CALLS: [u32; 2] = [0xd400_0002, 0xd400_0003];

/// `ecall`, of the hypervisor by a kernel or of the firmware by a hypervisor (RISC-V unprivileged ISA, 2.8).
const RISCV_CALL: u32 = 0x0000_0073;

/// A guest image and its benchmarks.
#[derive(Clone, Debug)]
pub struct GuestImage {
    /// The path of the file.
    pub path: PathBuf,
    /// SHA-256 of the whole file, hex.
    pub sha256: String,
    /// Benchmarks of the image, in the table's order. Names are unique.
    pub rows: Vec<BenchmarkRow>,
}

/// A benchmark of an image, or a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BenchmarkRow {
    /// `[a-z0-9_-]`, at most 64 bytes.
    pub name: String,
    /// `[a-z0-9_-]`, at most 64 bytes.
    pub category: String,
    /// The measured operation, in words. Untrusted text.
    pub summary: String,
    /// Requirements of the benchmark, in words; empty if any machine will do. Untrusted text.
    pub requires: String,
    /// The unit of work that an operation is, as `request`; none for rows of images.
    pub work: Option<String>,
    /// Facts of the row, for views; none for rows of images.
    pub facts: RowFacts,
    /// Number of vCPUs that the benchmark needs.
    pub cpus: u32,
    /// Number of CPUs that the machine needs which runs the guest's VM; 1 where the guest is not a VM of a whole Linux.
    pub host_cpus: u32,
    /// The VM that the row needs, where the machine has several: rows of different VMs are launched apart. Otherwise
    /// empty.
    pub vm: String,
    /// Reason why the row can't be measured here, and the cure; none for rows of images.
    pub missing: Option<String>,
    /// The fewest operations in a batch, on units of time.
    pub min_iterations: u64,
    /// The most operations in a batch, on units of time.
    pub max_iterations: u64,
    /// Operations in a batch on `insns`.
    pub insns_iterations: u64,
    /// Samples on `insns`.
    pub insns_samples: u64,
    /// Parameters of the command line that affect the benchmark: `page`, `ws`, `in`, `out`, `print`, `hypercall`.
    pub parameters: Vec<&'static str>,
    /// Whether the benchmark declares hypercalls, or its timed code contains such an instruction.
    pub has_hypercall: bool,
    /// SHA-256, in hexadecimal, of the benchmark's machine code, its control loop's, the timed harness, and the counts.
    pub digest: String,
}

/// Reason why a file is not a guest image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error(transparent)]
    File(#[from] MachineError),
    #[error("{path} is not a guest image: {why}", path = path.display())]
    Malformed { path: PathBuf, why: String },
}

impl GuestImage {
    /// Reads the image at `path`.
    ///
    /// # Errors
    /// The file can't be read, is larger than 16 MiB, or is not a guest image.
    pub fn read(path: &Path) -> Result<Self, ImageError> {
        let error = |e| MachineError::io("read the guest image", path, e);
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(IMAGE_BYTES_MAX + 1).read_to_end(&mut bytes))
            .map_err(error)?;
        let rows = parse(&bytes).map_err(|why| ImageError::Malformed {
            path: path.into(),
            why,
        })?;
        Ok(Self {
            path: path.into(),
            sha256: hex(&Sha256::digest(&bytes)),
            rows,
        })
    }
}

/// Whether the file at `path` is an ELF file; false if it can't be read.
pub fn is_elf(path: &Path) -> bool {
    start(path).starts_with(&object::elf::ELFMAG)
}

/// The architecture of the file at `path`: by an ELF file's machine type, or by an Image's magic number. Any other file,
/// and one that can't be read, counts as x86_64.
pub fn architecture(path: &Path) -> Architecture {
    format::kind(&start(path))
        .architecture()
        .unwrap_or(Architecture::X86_64)
}

/// The first 64 bytes of a file, or fewer if it is shorter.
fn start(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut bytes));
    match read {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}

/// Reads the benchmarks from the bytes of an image. The error says in words what is wrong.
pub fn parse(bytes: &[u8]) -> Result<Vec<BenchmarkRow>, String> {
    if bytes.len() as u64 > IMAGE_BYTES_MAX {
        return Err(format!("it is larger than {} MiB", IMAGE_BYTES_MAX >> 20));
    }
    let elf = ElfFile64::<LittleEndian>::parse(bytes)
        .map_err(|e| format!("it is not a little-endian ELF64 file ({e})"))?;
    let image = Image::new(&elf);
    let start = image.symbol("__benchmarks_start")?;
    let end = image.symbol("__benchmarks_end")?;
    let length = end
        .checked_sub(start)
        .filter(|length| length % ROW_BYTES == 0)
        .ok_or("its table of benchmarks is not made of whole rows")?;
    let count = length / ROW_BYTES;
    if count == 0 || count > ROWS_MAX {
        return Err(format!(
            "it has {count} benchmarks (1 to {ROWS_MAX} are allowed)"
        ));
    }
    let harness = image.function(image.symbol("timed_call")?, "timed_call")?;
    let mut rows: Vec<BenchmarkRow> = Vec::new();
    for (index, words) in image
        .bytes(start, length)?
        .chunks_exact(ROW_BYTES as usize)
        .enumerate()
    {
        let row = row(&image, harness, words).map_err(|why| format!("its row {index}: {why}"))?;
        if rows.iter().any(|other| other.name == row.name) {
            return Err(format!("two of its benchmarks are called \"{}\"", row.name));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn row(image: &Image<'_>, harness: &[u8], bytes: &[u8]) -> Result<BenchmarkRow, String> {
    let word = |index: usize| -> u64 {
        let mut value = [0u8; 8];
        if let Some(part) = bytes.get(index * 8..index * 8 + 8) {
            value.copy_from_slice(part);
        }
        u64::from_le_bytes(value)
    };
    let cpus = u32::try_from(word(10))
        .ok()
        .filter(|cpus| (1..=VCPUS_MAX as u32).contains(cpus))
        .ok_or_else(|| format!("it needs {} vCPUs (1 to {VCPUS_MAX} are allowed)", word(10)))?;
    let run = image.function(word(6), "run")?;
    let control = image.function(word(7), "control")?;
    let longest = run.len().max(control.len());
    if longest > LOOP_BYTES_MAX {
        return Err(format!(
            "its loop has {longest} bytes of code, and the guest can warm up loops of at most {LOOP_BYTES_MAX}: make it shorter"
        ));
    }
    let mut digest = Sha256::new();
    digest.update(harness);
    digest.update(run);
    digest.update(control);
    // The row's first words are addresses of texts and functions, which differ between builds of the same benchmark.
    digest.update(bytes.get(80..).unwrap_or_default());
    Ok(BenchmarkRow {
        name: plain(image.text(word(0))?)?,
        category: plain(image.text(word(1))?)?,
        summary: image.text(word(2))?,
        requires: image.text(word(3))?,
        work: None,
        facts: RowFacts::default(),
        cpus,
        host_cpus: 1,
        vm: String::new(),
        missing: None,
        min_iterations: word(11),
        max_iterations: word(12),
        insns_iterations: word(13),
        insns_samples: word(14),
        parameters: PARAMETERS
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| word(15) >> bit & 1 == 1)
            .map(|(_, name)| name)
            .collect(),
        has_hypercall: word(15) >> HYPERCALL_BIT & 1 == 1
            || (image.holds_hypercall)(run)
            || (image.holds_hypercall)(control),
        digest: hex(&digest.finalize()),
    })
}

/// Whether `code` contains the bytes of a hypercall instruction. They may also lie within or across
/// other instructions; that counts as well.
fn holds_hypercall(code: &[u8]) -> bool {
    code.windows(3)
        .any(|bytes| HYPERCALLS.iter().any(|call| call == bytes))
}

/// Whether A64 `code`, where every instruction has four bytes, contains a hypercall instruction.
fn holds_a64_hypercall(code: &[u8]) -> bool {
    code.chunks_exact(4).any(|bytes| {
        let mut word = [0u8; 4];
        word.copy_from_slice(bytes);
        A64_CALLS.contains(&(u32::from_le_bytes(word) & A64_CALL_MASK))
    })
}

/// Whether RISC-V `code` contains a hypercall instruction. Instructions have two or four bytes: the two lowest bits of
/// the first half say which.
fn holds_riscv_hypercall(code: &[u8]) -> bool {
    let mut rest = code;
    while let [first, _, after @ ..] = rest {
        if first & 3 != 3 {
            rest = after;
            continue;
        }
        let Some((word, after)) = rest.split_first_chunk() else {
            return false;
        };
        if u32::from_le_bytes(*word) == RISCV_CALL {
            return true;
        }
        rest = after;
    }
    false
}

/// Checks a word that is used in a command line's `bench=`, where other characters have a meaning.
fn plain(text: String) -> Result<String, String> {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    if text.is_empty() || text.len() > NAME_BYTES_MAX || !text.bytes().all(good) {
        return Err(format!(
            "\"{}\" is not a name (1 to {NAME_BYTES_MAX} of a-z, 0-9, '-' and '_')",
            text.escape_default()
        ));
    }
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An image as it is loaded into the guest's memory.
struct Image<'data> {
    /// The first address and the bytes of each loaded segment, as far as the file contains them.
    segments: Vec<(u64, &'data [u8])>,
    symbols: HashMap<&'data str, u64>,
    function_bytes: HashMap<u64, u64>,
    /// Whether code contains a hypercall instruction, for the image's architecture.
    holds_hypercall: fn(&[u8]) -> bool,
}

impl<'data> Image<'data> {
    fn new(elf: &ElfFile64<'data, LittleEndian>) -> Self {
        let segments = elf
            .segments()
            .filter_map(|segment| Some((segment.address(), segment.data().ok()?)))
            .collect();
        let mut symbols = HashMap::new();
        let mut function_bytes = HashMap::new();
        for symbol in elf.symbols() {
            if let Ok(name) = symbol.name() {
                symbols.insert(name, symbol.address());
            }
            if symbol.kind() == object::SymbolKind::Text && symbol.size() > 0 {
                function_bytes.insert(symbol.address(), symbol.size());
            }
        }
        Self {
            segments,
            symbols,
            function_bytes,
            holds_hypercall: match elf.architecture() {
                object::Architecture::Aarch64 => holds_a64_hypercall,
                object::Architecture::Riscv64 => holds_riscv_hypercall,
                _ => holds_hypercall,
            },
        }
    }

    fn symbol(&self, name: &str) -> Result<u64, String> {
        self.symbols
            .get(name)
            .copied()
            .ok_or_else(|| format!("it has no symbol {name}"))
    }

    /// The rest of the segment from `address` on.
    fn from(&self, address: u64) -> Result<&'data [u8], String> {
        self.segments
            .iter()
            .find_map(|(first, bytes)| {
                let offset = usize::try_from(address.checked_sub(*first)?).ok()?;
                bytes.get(offset..).filter(|rest| !rest.is_empty())
            })
            .ok_or_else(|| format!("nothing is loaded at {address:#x}"))
    }

    fn bytes(&self, address: u64, length: u64) -> Result<&'data [u8], String> {
        usize::try_from(length)
            .ok()
            .and_then(|length| self.from(address).ok()?.get(..length))
            .ok_or_else(|| format!("{length} bytes at {address:#x} are not all loaded"))
    }

    fn function(&self, address: u64, what: &str) -> Result<&'data [u8], String> {
        let length = self
            .function_bytes
            .get(&address)
            .ok_or_else(|| format!("{what} at {address:#x} is not a function with a size"))?;
        self.bytes(address, *length)
    }

    /// The NUL-terminated text at `address`; empty at 0, for a text that the row leaves out.
    fn text(&self, address: u64) -> Result<String, String> {
        if address == 0 {
            return Ok(String::new());
        }
        let rest = self.from(address)?;
        let rest = rest.get(..TEXT_BYTES_MAX).unwrap_or(rest);
        let length = rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| format!("the text at {address:#x} does not end"))?;
        Ok(String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).into_owned())
    }
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
