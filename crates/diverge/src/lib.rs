//! Boots two lab machines side by side, and finds the first executed instruction at which they differ, or the functions
//! that only one of them executes.

mod order;
mod pair;
mod side;

use anyhow::{Context, bail};
use pair::{Ended, Pair};
use side::Side;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use ws_explain::boots::difference::{difference, first_difference};
use ws_explain::boots::diverged::{Diverged, SCHEMA};
use ws_explain::boots::functions::functions;
use ws_explain::boots::stream::Stream;
use ws_explain::modules;
use ws_explain::place::Machine;
use ws_explain::symbols::Symbols;
use ws_explain::trace::Trace;
use ws_machines::lab::{Part, Software};
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_machines::resources::Resources;
use ws_recorder::Texts;
use ws_runner::Session;
use ws_runner::parts::{self, Parts};
use ws_terminal::{Progress, Usage, output};

/// Two boots to compare.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Both machines.
    pub machines: [PlatformName; 2],
    /// Row that both run; by default a usual one.
    pub bench: Option<String>,
    /// The user's kernel, which both boot in place of the guest.
    pub kernel: Option<PathBuf>,
    pub initrd: Option<PathBuf>,
    /// Command line of the user's kernel.
    pub append: String,
    /// Method of comparison; by default chosen by the machines.
    pub by: Option<By>,
    /// The CPU that is compared; by default all.
    pub cpu: Option<u32>,
    /// Number of functions after the difference.
    pub next: usize,
    /// Time after which a machine that executes nothing is ended.
    pub timeout: Duration,
    pub parts: Parts,
    /// Emulator of the second machine, if it is another one.
    pub other_qemu: Option<PathBuf>,
}

/// Method of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Each executed instruction, in order.
    Instructions,
    /// The set of executed functions.
    Functions,
}

/// Disk space for the records of both boots: up to a million different instructions of some 30 bytes.
const ROOM_BYTES: u64 = 256 << 20;

/// Machine of a comparison.
pub struct Machined {
    pub name: PlatformName,
    pub resources: Resources,
    /// Name in messages, with the emulator if the user named it.
    pub label: String,
}

/// Boots both machines, and finds where they differ. Returns none if the user stopped the command.
pub fn diverge(asked: &Asked, session: &Session) -> anyhow::Result<Option<Diverged>> {
    let machines = machines(asked)?;
    let stop = &session.stop;
    let folder = ws_recorder::temporary_folder(ROOM_BYTES)?;
    let side =
        |index: usize, letter: &str| Side::of(&machines[index], asked, &folder.path().join(letter));
    let sides = [side(0, "a")?, side(1, "b")?];
    let Some(texts) = both_symbols(&machines, session)? else {
        return Ok(None);
    };
    // Two different machines differ as early as the firmware, which finds other memory or files of other sizes.
    let [a, b] = &asked.machines;
    let by = asked.by.unwrap_or(match a == b {
        true => By::Instructions,
        false => By::Functions,
    });
    let pair = Pair::launch(sides, asked.timeout)?;
    let progress = Progress::new(false);
    let ended = match by {
        By::Instructions => pair.in_step(stop, &progress),
        By::Functions => pair.apart(stop, &progress),
    };
    progress.clear();
    let Ended::Written { files, have_idled } = ended? else {
        return Ok(None);
    };
    let [a, b] = files.map(|file| fs::read(&file).map(|bytes| Stream::read(&bytes)));
    let read = "can't read the emulator's record of the boot";
    let mut streams = [a.context(read)??, b.context(read)??];
    if have_idled == [true; 2] {
        let seconds = asked.timeout.as_secs();
        let why = format!("neither machine powered off: both executed nothing for {seconds} s");
        output::remark(&why);
    }
    for (stream, has_idled) in streams.iter_mut().zip(have_idled) {
        stream.has_ended &= !has_idled || have_idled == [true; 2];
    }
    found(asked, by, &machines, &texts, &streams).map(Some)
}

/// Returns both machines, with their files.
fn machines(asked: &Asked) -> anyhow::Result<[Machined; 2]> {
    let one = |name: &PlatformName, qemu: Option<&PathBuf>| -> anyhow::Result<Machined> {
        let parts = Parts {
            qemu: qemu.cloned(),
            ..asked.parts.clone()
        };
        let mut resources = parts::resources(&parts);
        resources.kernel.clone_from(&asked.kernel);
        resources.initrd.clone_from(&asked.initrd);
        platforms::check(name, &resources).map_err(|e| Usage(e.to_string()))?;
        Ok(Machined {
            name: name.clone(),
            resources,
            label: match qemu {
                Some(path) => format!("{name} on {}", path.display()),
                None => name.to_string(),
            },
        })
    };
    for file in asked.kernel.iter().chain(&asked.initrd) {
        fs::File::open(file).with_context(|| format!("can't read {}", file.display()))?;
    }
    let [a, b] = &asked.machines;
    let qemu = asked.parts.qemu.as_ref();
    Ok([one(a, qemu)?, one(b, asked.other_qemu.as_ref().or(qemu))?])
}

/// Reads the functions of both kernels. A machine that can't print its functions is compared without names. Returns
/// `None` if the user stopped the command.
fn both_symbols(machines: &[Machined; 2], session: &Session) -> anyhow::Result<Option<[Texts; 2]>> {
    let of =
        |machine: &Machined| match ws_recorder::symbols(&machine.name, &machine.resources, session)
        {
            Err(why) => {
                output::remark(&format!("no names of functions: {why:#}"));
                Ok(Some(Texts::default()))
            }
            found => found,
        };
    let [a, b] = machines;
    let Some(first) = of(a)? else { return Ok(None) };
    // An emulator does not change where functions are.
    if a.name == b.name {
        return Ok(Some([first.clone(), first]));
    }
    Ok(of(b)?.map(|second| [first, second]))
}

/// Compares both boots' records.
fn found(
    asked: &Asked,
    by: By,
    machines: &[Machined; 2],
    texts: &[Texts; 2],
    streams: &[Stream; 2],
) -> anyhow::Result<Diverged> {
    let both = streams.each_ref();
    if let (Some(cpu), [0, 0]) = (asked.cpu, both.map(|stream| stream.executed)) {
        bail!(Usage(format!(
            "neither machine executed anything on CPU {cpu}: leave out --cpu, or name a --bench that needs several CPUs"
        )));
    }
    let mut diverged = Diverged {
        schema: SCHEMA.into(),
        boots: machines.each_ref().map(|machine| machine.label.clone()),
        executed: both.map(|stream| stream.executed),
        cpu: asked.cpu,
        has_clock: both.iter().all(|stream| stream.has_clock),
        differ: false,
        difference: None,
        functions: None,
    };
    if by == By::Instructions && first_difference(both)?.is_none() {
        return Ok(diverged);
    }
    let [a, b] = [0, 1].map(|side| {
        software(&machines[side], &texts[side], &streams[side])
            .with_context(|| machines[side].name.to_string())
    });
    let placed = [&a?, &b?];
    match by {
        By::Instructions => {
            diverged.difference = difference(both, placed, asked.next)?;
            diverged.differ = diverged.difference.is_some();
        }
        By::Functions => {
            let functions = functions(both, placed);
            if functions.common == 0 {
                bail!(
                    "both boots have no known function in common: compare them with --by instructions"
                );
            }
            diverged.differ = functions.boots.iter().any(|boot| !boot.only.is_empty());
            diverged.functions = Some(functions);
        }
    }
    Ok(diverged)
}

/// Returns the machine's software with its functions. The functions of a user's kernel are those in its file.
fn software(machined: &Machined, texts: &Texts, stream: &Stream) -> anyhow::Result<Machine> {
    let mut software: Software = platforms::software(&machined.name, &machined.resources)?;
    if let Some(kernel) = &machined.resources.kernel {
        let bytes = fs::read(kernel).with_context(|| format!("can't read {}", kernel.display()))?;
        let has_symbols = Symbols::of_elf(&bytes).is_ok();
        if !has_symbols {
            output::remark(&format!(
                "no symbols in {}: to see its functions, name an ELF file that is not stripped",
                kernel.display()
            ));
        }
        software
            .programs
            .retain(|program| has_symbols || program.part != Part::Guest);
        for program in &mut software.programs {
            if program.part == Part::Guest {
                program.path.clone_from(kernel);
            }
        }
    }
    let settle = |symbols: &mut Symbols, trace: &Trace| {
        let lost = modules::settle_known(symbols, trace);
        if !lost.is_empty() {
            let lost = lost.join(", ");
            output::remark(&format!(
                "{}: no names of functions in these modules, which were moved during the boot: {lost}",
                machined.name
            ));
        }
        Ok(())
    };
    let trace = stream.trace();
    let (machine, _) = ws_recorder::machine(&machined.name, texts, &software, &trace, settle)?;
    Ok(machine)
}
