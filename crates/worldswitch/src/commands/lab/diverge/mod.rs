//! `worldswitch lab diverge`: the first executed instruction at which two boots differ, or the functions that only one of
//! two kernels executes.

mod order;
mod pair;
mod side;

use crate::cli::lab::{By, DivergeArgs};
use crate::cli::session;
use crate::shared::Done;
use anyhow::{Context, bail};
use pair::{Ended, Pair};
use side::Side;
use std::fs;
use ws_analysis::Outcome;
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
use ws_runner::{Session, parts};
use ws_terminal::{Colours, Progress, Usage, output};

/// Disk space for the records of both boots: up to a million different instructions of some 30 bytes.
const ROOM_BYTES: u64 = 256 << 20;

/// Machine of a comparison.
pub struct Machined {
    pub name: PlatformName,
    pub resources: Resources,
    /// Name in messages, with the emulator if the user named it.
    pub label: String,
}

/// Boots both machines, and prints where they differ.
pub fn diverge(args: &DivergeArgs, colours: Colours) -> anyhow::Result<Done> {
    let machines = machines(args)?;
    let session = session(colours)?;
    let stop = &session.stop;
    let folder = ws_recorder::temporary_folder(ROOM_BYTES)?;
    let mut sides = Vec::new();
    for (machine, letter) in machines.iter().zip(["a", "b"]) {
        sides.push(Side::of(machine, args, &folder.path().join(letter))?);
    }
    let Some(texts) = both_symbols(&machines, &session)? else {
        super::say("stopped");
        return Ok(Done::InPart);
    };
    // Two different machines differ as early as the firmware, which finds other memory or files of other sizes.
    let [a, b] = &machines;
    let by = args.by.unwrap_or(match a.name == b.name {
        true => By::Instructions,
        false => By::Functions,
    });
    let pair = Pair::launch(sides, args.timeout)?;
    let progress = Progress::new(false);
    let ended = match by {
        By::Instructions => pair.in_step(stop, &progress),
        By::Functions => pair.apart(stop, &progress),
    };
    progress.clear();
    let diverged = match ended? {
        Ended::Stopped => {
            super::say("stopped");
            return Ok(Done::InPart);
        }
        Ended::Written { files, have_idled } => {
            let [a, b] = files.map(|file| fs::read(&file).map(|bytes| Stream::read(&bytes)));
            let read = "can't read the emulator's record of the boot";
            let mut streams = [a.context(read)??, b.context(read)??];
            if have_idled == [true; 2] {
                let seconds = args.timeout.as_secs();
                let why =
                    format!("neither machine powered off: both executed nothing for {seconds} s");
                output::remark(&why, colours);
            }
            for (stream, has_idled) in streams.iter_mut().zip(have_idled) {
                stream.has_ended &= !has_idled || have_idled == [true; 2];
            }
            found(args, by, &machines, &texts, &streams, colours)?
        }
    };
    output::data(&match args.json {
        true => diverged.to_json()?,
        false => diverged.to_text(args.next as usize),
    })?;
    Ok(Done::Judged(match diverged.differ {
        true => Outcome::Regression,
        false => Outcome::NoRegression,
    }))
}

/// Returns both machines, with their files.
fn machines(args: &DivergeArgs) -> anyhow::Result<[Machined; 2]> {
    let one = |name: &str, qemu: Option<&std::path::PathBuf>| -> anyhow::Result<Machined> {
        let name = super::machine(name)?;
        let mut parts = args.parts.to_parts();
        parts.qemu = qemu.cloned();
        let mut resources = parts::resources(&parts);
        resources.kernel.clone_from(&args.kernel);
        resources.initrd.clone_from(&args.initrd);
        platforms::check(&name, &resources).map_err(|e| Usage(e.to_string()))?;
        let label = match qemu {
            Some(path) => format!("{name} on {}", path.display()),
            None => name.to_string(),
        };
        Ok(Machined {
            name,
            resources,
            label,
        })
    };
    for file in args.kernel.iter().chain(&args.initrd) {
        fs::File::open(file).with_context(|| format!("can't read {}", file.display()))?;
    }
    let qemu = args.parts.qemu.as_ref();
    Ok([
        one(&args.a, qemu)?,
        one(&args.b, args.other_qemu.as_ref().or(qemu))?,
    ])
}

/// Reads the functions of both kernels. A machine that can't print its functions is compared without names. Returns
/// `None` if the user stopped the command.
fn both_symbols(machines: &[Machined; 2], session: &Session) -> anyhow::Result<Option<[Texts; 2]>> {
    let of =
        |machine: &Machined| match ws_recorder::symbols(&machine.name, &machine.resources, session)
        {
            Err(why) => {
                output::remark(&format!("no names of functions: {why:#}"), session.colours);
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
    args: &DivergeArgs,
    by: By,
    machines: &[Machined; 2],
    texts: &[Texts; 2],
    streams: &[Stream; 2],
    colours: Colours,
) -> anyhow::Result<Diverged> {
    let both = streams.each_ref();
    if let (Some(cpu), [0, 0]) = (args.cpu, both.map(|stream| stream.executed)) {
        bail!(Usage(format!(
            "neither machine executed anything on CPU {cpu}: leave out --cpu, or name a --bench that needs several CPUs"
        )));
    }
    let mut diverged = Diverged {
        schema: SCHEMA.into(),
        boots: machines.each_ref().map(|machine| machine.label.clone()),
        executed: both.map(|stream| stream.executed),
        cpu: args.cpu,
        has_clock: both.iter().all(|stream| stream.has_clock),
        differ: false,
        difference: None,
        functions: None,
    };
    if by == By::Instructions && first_difference(both)?.is_none() {
        return Ok(diverged);
    }
    let [a, b] = [0, 1].map(|side| {
        software(&machines[side], &texts[side], &streams[side], colours)
            .with_context(|| machines[side].name.to_string())
    });
    let placed = [&a?, &b?];
    match by {
        By::Instructions => {
            diverged.difference = difference(both, placed, args.next as usize)?;
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
fn software(
    machined: &Machined,
    texts: &Texts,
    stream: &Stream,
    colours: Colours,
) -> anyhow::Result<Machine> {
    let mut software: Software = platforms::software(&machined.name, &machined.resources)?;
    if let Some(kernel) = &machined.resources.kernel {
        let bytes = fs::read(kernel).with_context(|| format!("can't read {}", kernel.display()))?;
        let has_symbols = Symbols::of_elf(&bytes).is_ok();
        if !has_symbols {
            output::remark(
                &format!(
                    "no symbols in {}: to see its functions, name an ELF file that is not stripped",
                    kernel.display()
                ),
                colours,
            );
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
            output::remark(
                &format!(
                    "{}: no names of functions in these modules, which were moved during the boot: {lost}",
                    machined.name
                ),
                colours,
            );
        }
        Ok(())
    };
    let trace = stream.trace();
    let (machine, _) = ws_recorder::machine(&machined.name, texts, &software, &trace, settle)?;
    Ok(machine)
}
