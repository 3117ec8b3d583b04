//! Explains one operation: boots the machine, records the benchmark, and explains the recording.

use crate::debug;
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ws_explain::debug::Sites;
use ws_explain::explained::Explained;
use ws_explain::place::{Image, Machine, Role};
use ws_explain::sum::Measured as Samples;
use ws_explain::symbols::{Symbols, SymbolsError as SymbolsReadError};
use ws_explain::trace::{Trace, TraceError};
use ws_explain::{bochs, modules};
use ws_lab::recipe::EmulatorKind;
use ws_machines::image::GuestImage;
use ws_machines::lab::{Part, Software, SymbolsError};
use ws_machines::name::PlatformName;
use ws_machines::recording::What;
use ws_machines::resources::Resources;
use ws_machines::room::free_bytes;
use ws_machines::{debugger, platforms};
use ws_results::{Metric, ResultFile, Row, Status};
use ws_runner::parts::{self, Parts};
use ws_runner::{Benchmarks, Measured, Output, RunSpec, Session, benchmarks, measure};
use ws_terminal::{Usage, output};

/// Room for a plugin's trace (of `lab:kvm-nested`: 1 MB) and a console (at most 16 MiB).
const ROOM_BYTES: u64 = 64 << 20;
/// Time limit of a benchmark that Bochs' debugger records, instruction by instruction. Two million instructions (an I/O
/// of a nested guest, 64 times) take half a minute or more.
const DEBUGGER_LIMIT: Duration = Duration::from_secs(300);

/// Explains a benchmark on machines.
pub struct Explainer<'a> {
    /// The benchmark.
    pub benchmark: &'a str,
    /// Parts that machines are made from.
    pub parts: &'a Parts,
    /// Names of the emulator's additions that the explanation leaves out.
    pub without: &'a [String],
    /// Files and folders with debug information.
    pub debug: &'a [PathBuf],
    pub session: &'a Session,
}

impl Explainer<'_> {
    /// Records one measurement of the benchmark and explains it. Returns none if the user stopped the run.
    pub fn explain(&self, name: &PlatformName) -> anyhow::Result<Option<Explained>> {
        if name.family.as_deref() != Some("lab") {
            bail!(Usage(format!(
                "{name} can't be recorded: choose a lab machine (worldswitch lab list)"
            )));
        }
        let resources = parts::resources(self.parts);
        let (emulator, vcpus) = self.check_benchmark(name, &resources)?;
        let folder = temporary_folder(match emulator {
            EmulatorKind::Qemu => ROOM_BYTES,
            EmulatorKind::Bochs => ROOM_BYTES + debugger::KEPT_BYTES_MAX,
        })?;
        let file = folder.path().join("trace");
        // A machine that can't be recorded is refused before anything boots.
        let recorded = Resources {
            recording: Some(parts::recording(&file, What::Paths)?),
            ..resources.clone()
        };
        platforms::open(name, &recorded).with_context(|| name.to_string())?;
        let Some(symbols) = symbols(name, &resources, self.session)? else {
            return Ok(None);
        };
        let measured = self.record(name, emulator, folder.path(), &file)?;
        if measured.interrupted {
            return Ok(None);
        }
        if measured.problems.iter().any(|problem| problem.broken) {
            bail!("{name}: the recording differs from the earlier measurement");
        }
        if measured.results.is_empty() {
            bail!("{name}: nothing was recorded");
        }
        let samples = samples(&measured, self.benchmark)?;
        let trace = read(&file, emulator)
            .with_context(|| format!("{name}: its emulator ended without writing a trace"))?;
        let trace = trace.with_context(|| name.to_string())?;
        let software = platforms::software(name, &resources)?;
        let (machine, programs) = machine(name, &symbols, &software, &trace, modules::settle)?;
        let mut sites = Sites::of(&trace, &machine);
        let sources = debug::Sources {
            given: self.debug,
            fetched: &software.debug,
            programs: &programs,
        };
        debug::read(&mut sites, &machine, &sources)?;
        let explained = Explained::of_without(
            &trace,
            &machine,
            self.benchmark,
            &samples,
            self.without,
            &sites,
        );
        let explained = explained.with_context(|| name.to_string())?;
        Ok(Some(Explained { vcpus, ..explained }))
    }

    /// Checks, before anything boots, that the machine and the benchmark exist. Returns the machine's emulator and the
    /// number of vCPUs that the benchmark needs.
    fn check_benchmark(
        &self,
        name: &PlatformName,
        resources: &Resources,
    ) -> anyhow::Result<(EmulatorKind, u32)> {
        let platform = platforms::check(name, resources).map_err(|e| Usage(e.to_string()))?;
        let recipe = resources.lab()?.recipe(&name.name, None)?;
        if recipe.root.is_some() {
            bail!(Usage(format!(
                "{name} runs a whole Linux, and explain takes operations of the benchmark kernel, as on lab:kvm; \
                 worldswitch run apps --explain explains workloads, and worldswitch run io --explain requests"
            )));
        }
        let image = GuestImage::read(&resources.guest_for(platform.architecture())?)?;
        let names: Vec<&str> = image.rows.iter().map(|row| &*row.name).collect();
        benchmarks::check(self.benchmark, &names)?;
        let row = image.rows.iter().find(|row| row.name == self.benchmark);
        Ok((recipe.emulator.kind, row.map_or(1, |row| row.cpus)))
    }

    /// Boots the machine once with only this benchmark, and records it into `file`.
    fn record(
        &self,
        name: &PlatformName,
        emulator: EmulatorKind,
        folder: &Path,
        file: &Path,
    ) -> anyhow::Result<Measured> {
        let spec = RunSpec {
            platforms: vec![name.clone()],
            benchmarks: Benchmarks::Named(vec![self.benchmark.to_owned()]),
            boots: Some(1),
            perturb: Some(0),
            output: Output {
                folder: Some(folder.join("results")),
                force: false,
            },
            recording: Some((file.to_owned(), What::Paths)),
            timeout: match emulator {
                EmulatorKind::Qemu => None,
                EmulatorKind::Bochs => Some(DEBUGGER_LIMIT),
            },
            parts: self.parts.clone(),
            ..RunSpec::default()
        };
        let measured = measure(&spec, None, self.session)?;
        measured.tell_problems();
        Ok(measured)
    }
}

/// Reads an emulator's recording. The inner error says why the recording can't be explained.
fn read(file: &Path, emulator: EmulatorKind) -> io::Result<Result<Trace, TraceError>> {
    Ok(match emulator {
        EmulatorKind::Qemu => Trace::read(&fs::read(file)?),
        EmulatorKind::Bochs => bochs::read(BufReader::new(File::open(file)?)),
    })
}

/// Makes a folder for the trace, the results and the console, and checks that `room` bytes are free there. A full disk
/// would otherwise show as a trace without an end.
pub fn temporary_folder(room: u64) -> anyhow::Result<tempfile::TempDir> {
    let place = std::env::temp_dir();
    let folder = tempfile::tempdir().with_context(|| {
        format!(
            "can't write in {}: name another place in TMPDIR",
            place.display()
        )
    })?;
    if let Some(free) = free_bytes(folder.path()).filter(|free| *free < room) {
        bail!(
            "{} has only {} MiB free, and a recording may need {} MiB: free some space, or name another place in TMPDIR",
            place.display(),
            free >> 20,
            room >> 20
        );
    }
    Ok(folder)
}

/// Symbols of Xen and Linux, as the machine prints them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    pub xen: Option<String>,
    pub linux: Option<String>,
}

/// Reads the symbols of Xen and Linux, as far as the machine runs them. Returns none if the user stopped the program.
pub fn symbols(
    name: &PlatformName,
    resources: &Resources,
    session: &Session,
) -> anyhow::Result<Option<Texts>> {
    match platforms::symbols(name, resources, &|| session.stop.requested()) {
        Ok(symbols) => {
            if let Some(why) = &symbols.not_kept {
                output::remark(&format!("{why}; the next call boots the machine again"));
            }
            Ok(Some(Texts {
                xen: symbols.xen,
                linux: symbols.linux,
            }))
        }
        Err(SymbolsError::NoLinux) => Ok(Some(Texts::default())),
        Err(SymbolsError::Stopped) => Ok(None),
        Err(error) => Err(error).with_context(|| name.to_string()),
    }
}

/// Returns the samples of the benchmark's instructions.
fn samples(measured: &Measured, benchmark: &str) -> anyhow::Result<Samples> {
    let row = measured
        .results
        .iter()
        .find_map(|result: &ResultFile| result.row(benchmark));
    let Some(row) = row else {
        bail!("{benchmark} was not measured: worldswitch benchmarks shows all");
    };
    if row.status != Status::Ok {
        let why = row
            .reason
            .as_deref()
            .unwrap_or("the result does not say why");
        bail!("{benchmark} was not measured: {why}");
    }
    let metric = |row: &Row| {
        row.metrics
            .iter()
            .find(|metric: &&Metric| metric.unit == "insns")
            .cloned()
    };
    let boots = metric(row).map(|metric| metric.boots).unwrap_or_default();
    let boot = boots
        .into_iter()
        .next()
        .context("the result has no samples")?;
    Ok(Samples {
        run: boot.run,
        control: boot.control,
    })
}

/// Returns the machine's software with its functions, and the file of each image that is a program. `settle` moves the
/// functions of Linux' modules to their addresses in the trace.
///
/// # Errors
/// A program can't be read or has no symbols, or modules are elsewhere than when the symbols were printed.
pub fn machine(
    name: &PlatformName,
    symbols: &Texts,
    software: &Software,
    trace: &Trace,
    settle: impl Fn(&mut Symbols, &Trace) -> Result<(), SymbolsReadError>,
) -> anyhow::Result<(Machine, Vec<Option<PathBuf>>)> {
    let mut images = Vec::new();
    let mut files = Vec::new();
    if let Some(text) = &symbols.xen {
        images.push(Image::xen(Symbols::of_kernel(text)?));
        files.push(None);
    }
    if let Some(text) = &symbols.linux {
        let mut symbols = Symbols::of_kernel(text)?;
        settle(&mut symbols, trace)?;
        images.push(Image::linux(symbols));
        files.push(None);
    }
    for program in &software.programs {
        let role = match program.part {
            Part::Guest => Role::Guest,
            Part::Hypervisor => Role::Hypervisor,
            Part::Process => Role::Program,
        };
        let path = program.path.display();
        let elf = fs::read(&program.path).with_context(|| path.to_string())?;
        let placed = Image::of_elf(program.name, role, &elf, trace);
        images.extend(placed.with_context(|| path.to_string())?);
        // A program may be several images, each of which has an entry.
        files.resize(images.len(), Some(program.path.clone()));
    }
    let machine = Machine {
        name: name.to_string(),
        hypervisors: software.hypervisors,
        images,
    };
    Ok((machine, files))
}
