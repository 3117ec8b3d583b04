//! The symbols of a lab machine's Linux: names and addresses of the functions of its kernel and modules, as the machine
//! itself knows them. Debian's packages have no symbols.
//!
//! The machine is booted once more, with `lab/init` as its first process in the monitor's place,
//! which loads the same modules and prints `/proc/kallsyms`. The parameter `nokaslr` of the recipes
//! puts the kernel where it is in every boot.
//!
//! The text is kept in the user's cache under a digest of all that it depends on.
//!
//! Xen has its symbols in its image (`xen_symbols`): nothing is booted for them. A dom0 that is a Linux prints its own
//! symbols.

use super::described::Described;
use super::machine::{LabMachine, Made, Settings};
use super::payload::{self, Booted, Linux, LinuxMonitor};
use super::xen_symbols::{self, XenSymbol, XenSymbolsError};
use crate::initramfs::Entry;
use crate::kept;
use crate::machine::{CONSOLE_LIMIT_BYTES, Console, LaunchRequest, Machine, MachineError};
use crate::resources::Resources;
use crate::shipped::Shipped;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The lines around the symbols, and the begin of a line by which `lab/init` says what failed (common/kallsyms.h,
/// lab/init/init.c).
const BEGIN: &str = "@symbols begin\n";
const END: &str = "\n@symbols end ";
const INIT_SAYS: &str = "init: ";
/// The line of `lab/init`'s configuration that asks for the symbols.
const ASK: &str = "symbols";

/// The kernel's parameter that puts the kernel at the same address in each boot.
const NO_KASLR: &str = "nokaslr";

/// The most texts that the cache keeps, of 1 to 3 MiB each: a bisection has a text for each kernel.
const KEPT: usize = 32;

/// The symbols of a machine, as texts of lines, each with a newline: `@symbols begin`; for each symbol of code, sorted
/// by address, `DELTA TYPE NAME[ [MODULE]]`, where DELTA is the hexadecimal distance to the address before (the first:
/// to 0) and TYPE is `t`, `T`, `w` or `W` as in nm; `@symbols end COUNT CRC32`. Each text is checked against COUNT and
/// CRC32.
#[derive(Debug)]
pub struct Symbols {
    /// Xen's text, if the machine runs Xen.
    pub xen: Option<String>,
    /// Linux' text, if the machine runs a Linux.
    pub linux: Option<String>,
    /// Reason why the cache could not keep Linux' text; none if it has the text.
    pub not_kept: Option<MachineError>,
}

/// Reason why there are no symbols.
#[derive(Debug, thiserror::Error)]
pub enum SymbolsError {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("it is not a lab machine: worldswitch lab list shows them")]
    NotLab,
    #[error("it boots neither a Linux, which could print its symbols, nor Xen")]
    NoLinux,
    #[error(transparent)]
    Xen(#[from] XenSymbolsError),
    #[error(
        "dom0 and the VM have different kernels at the same addresses, so an address does not identify a function. This machine can't be explained"
    )]
    TwoKernels,
    #[error(
        "its kernel may be at another address in each boot, where symbols of another boot are wrong: add the parameter {NO_KASLR} to the recipe"
    )]
    Kaslr,
    #[error("stopped while it booted for its symbols")]
    Stopped,
    /// The first process said why.
    #[error(
        "its Linux prints no symbols: {0}; explain --debug can't help, because debug information has no addresses of modules"
    )]
    Refused(String),
    #[error("its Linux did not print its symbols within {seconds} s; its last line was: {last}")]
    Late { seconds: u64, last: String },
    #[error("its Linux ended before it printed its symbols ({how}); its last line was: {last}")]
    Ended { how: String, last: String },
    #[error(
        "its Linux printed more than {} MiB instead of its symbols; the last line was: {last}",
        CONSOLE_LIMIT_BYTES >> 20
    )]
    Flood { last: String },
    #[error("its symbols are damaged: {0}")]
    Damaged(Damage),
}

/// Fault in the text of symbols in a console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("there is no line \"@symbols begin\"")]
    None,
    #[error("they have no end: the machine was powered off, or gave up, while it printed them")]
    Cut,
    #[error(
        "the last line announces {said} symbols, but {came} arrived: something else wrote on the console (the kernel's parameter quiet prevents it)"
    )]
    Count { said: u64, came: u64 },
    #[error(
        "their sum is wrong: something else wrote on the console (the kernel's parameter quiet prevents it)"
    )]
    Sum,
}

/// The symbols in a console, with their first and last line.
fn block(console: &[u8]) -> Result<String, Damage> {
    // The terminal adds carriage returns.
    let console = String::from_utf8_lossy(console).replace('\r', "");
    let start = console.find(BEGIN).ok_or(Damage::None)?;
    let text = console.get(start..).unwrap_or_default();
    let end = text.find(END).ok_or(Damage::Cut)?;
    let symbols = text.get(BEGIN.len()..end + 1).unwrap_or_default();
    let last = text.get(end + END.len()..).unwrap_or_default();
    let (last, _) = last.split_once('\n').ok_or(Damage::Cut)?;
    let (said, sum) = last.split_once(' ').ok_or(Damage::Sum)?;
    let said = said.parse().map_err(|_| Damage::Sum)?;
    let came = symbols.lines().count() as u64;
    if said != came {
        return Err(Damage::Count { said, came });
    }
    if u32::from_str_radix(sum, 16) != Ok(crc32fast::hash(symbols.as_bytes())) {
        return Err(Damage::Sum);
    }
    let whole = end + END.len() + last.len() + 1;
    Ok(text.get(..whole).unwrap_or_default().to_owned())
}

/// The last line of a console with something in it, to show.
fn last_line(console: &[u8]) -> String {
    let text = String::from_utf8_lossy(console);
    let last = text.lines().rev().map(str::trim).find(|l| !l.is_empty());
    last.map_or("none".into(), |line| line.chars().take(200).collect())
}

/// The message of `lab/init` about what failed, if there is one.
fn refusal(console: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(console);
    let mut lines = text.lines().map(str::trim);
    lines.find_map(|line| line.strip_prefix(INIT_SAYS).map(str::to_owned))
}

/// The initramfs: `init` as the first process, and the modules of the machine.
fn initramfs(booted: &Booted<'_>, init: &[u8]) -> Result<Vec<u8>, SymbolsError> {
    let Booted { files, lines, .. } = booted;
    // FILE [KEY=VALUE ...]
    let modules = lines
        .iter()
        .filter_map(|line| line.strip_prefix("module=/"));
    let names: Vec<&str> = modules.filter_map(|line| line.split(' ').next()).collect();
    let is_module = |entry: &&Entry| names.contains(&entry.path.as_str());
    let mut its = vec![payload::init(init.to_vec())];
    its.extend(files.iter().filter(is_module).cloned());
    let is_line = |line: &&String| line.starts_with("module=");
    let linux = Linux {
        kernel: PathBuf::new(),
        parameters: String::new(),
        files: its,
        monitor: LinuxMonitor::Qemu(Vec::new()),
        lines: lines.iter().filter(is_line).cloned().collect(),
        nested: None,
    };
    Ok(linux.initramfs(&[ASK.into()])?)
}

/// SHA-256, in hexadecimal, of all that the symbols depend on.
fn digest(
    settings: &Settings,
    booted: &Booted<'_>,
    initramfs: &[u8],
) -> Result<String, SymbolsError> {
    if !booted.parameters.split(' ').any(|word| word == NO_KASLR) {
        return Err(SymbolsError::Kaslr);
    }
    let mut described = Described::default();
    described.file("kernel", booted.kernel)?;
    described.sum("parameters", booted.parameters);
    described.sum("initramfs", initramfs);
    described.sum("emulator", &settings.emulator.build);
    let emulator = serde_json::to_string(&settings.recipe.emulator);
    let emulator = emulator.map_err(|e| MachineError::Other(e.to_string()))?;
    described.sum("emulator of the recipe", emulator);
    Ok(described.digest())
}

/// Finds the symbols of a machine: Xen's in its image, Linux' in the cache. A Linux whose symbols are not there is
/// booted once to print them, which takes some seconds. `stop` is asked now and then whether to give up.
pub fn symbols(
    settings: Settings,
    resources: &Resources,
    stop: &dyn Fn() -> bool,
) -> Result<Symbols, SymbolsError> {
    let properties = settings.payload.properties();
    let has_two_kernels = settings.payload.whole().is_some()
        && settings
            .recipe
            .vm
            .as_ref()
            .is_some_and(|vm| vm.package.is_some());
    let xen = match properties.xen {
        Some(_) if has_two_kernels => return Err(SymbolsError::TwoKernels),
        Some(path) => {
            let image = fs::read(path).map_err(|e| MachineError::io("read", path, e))?;
            Some(as_text(&xen_symbols::read(&image)?))
        }
        None => None,
    };
    let Some(linux) = properties.linux else {
        if xen.is_none() {
            return Err(SymbolsError::NoLinux);
        }
        return Ok(Symbols {
            xen,
            linux: None,
            not_kept: None,
        });
    };
    let init = resources.find(Shipped::Init(settings.recipe.architecture))?;
    let init = fs::read(&init).map_err(|e| MachineError::io("read", &init, e))?;
    let initramfs = initramfs(&linux, &init)?;
    let folder = resources.store()?.root().join("symbols");
    let name = digest(&settings, &linux, &initramfs)?;
    let path = folder.join(&name);
    // A text in the cache that is damaged is made anew.
    if let Some(text) = fs::read(&path).ok().and_then(|bytes| block(&bytes).ok()) {
        return Ok(Symbols {
            xen,
            linux: Some(text),
            not_kept: None,
        });
    }
    let text = printed(settings, &initramfs, stop)?;
    let kept = kept::keep(&folder, &name, text.as_bytes(), KEPT);
    let not_kept = kept.map_err(|e| MachineError::io("keep symbols in", folder, e));
    Ok(Symbols {
        xen,
        linux: Some(text),
        not_kept: not_kept.err(),
    })
}

/// Writes Xen's symbols in the form of those that a Linux prints.
fn as_text(symbols: &[XenSymbol]) -> String {
    let mut lines = String::new();
    let mut before = 0;
    for symbol in symbols {
        let delta = symbol.address - before;
        before = symbol.address;
        let _ = writeln!(lines, "{delta:x} {} {}", symbol.kind, symbol.name);
    }
    let sum = crc32fast::hash(lines.as_bytes());
    let count = symbols.len();
    format!("{BEGIN}{lines}@symbols end {count} {sum:08x}\n")
}

/// Boots the machine with this initramfs, and returns what it prints.
fn printed(
    settings: Settings,
    initramfs: &[u8],
    stop: &dyn Fn() -> bool,
) -> Result<String, SymbolsError> {
    let request = LaunchRequest {
        vcpus: 1,
        host_cpus: 1,
        vm: String::new(),
        command_line: String::new(),
        memory_mib: None,
        timed: false,
    };
    let mut machine = LabMachine::new(settings);
    let made = Made {
        file: Some(initramfs.to_vec()),
        at_stop: None,
    };
    machine.start(&request, made)?;
    let mut console = Vec::new();
    let how = follow(&mut machine, &mut console, stop)?;
    match block(&console) {
        Ok(text) => Ok(text),
        Err(Damage::None) => Err(match refusal(&console) {
            Some(why) => SymbolsError::Refused(why),
            None => SymbolsError::Ended {
                how,
                last: last_line(&console),
            },
        }),
        Err(damage) => Err(SymbolsError::Damaged(damage)),
    }
}

/// Reads a machine's console until the machine ends; returns how it ended.
fn follow(
    machine: &mut LabMachine,
    console: &mut Vec<u8>,
    stop: &dyn Fn() -> bool,
) -> Result<String, SymbolsError> {
    let started = Instant::now();
    let limit = machine.description().boot_limit.unwrap_or(Duration::MAX);
    loop {
        match machine.console(console)? {
            Console::Ended(how) => return Ok(how),
            Console::Data => {}
            Console::Quiet => machine.wait(),
        }
        if stop() {
            return Err(SymbolsError::Stopped);
        }
        let last = || last_line(console);
        if console.len() as u64 > CONSOLE_LIMIT_BYTES {
            return Err(SymbolsError::Flood { last: last() });
        }
        if started.elapsed().saturating_sub(machine.waited()) > limit {
            return Err(SymbolsError::Late {
                seconds: limit.as_secs(),
                last: last(),
            });
        }
    }
}

#[cfg(test)]
#[path = "symbols_tests.rs"]
mod tests;
