//! The functions that execute a workload's instructions, natively and in a VM.

use crate::counted::{Recorded, functions};
use crate::titled;
use anyhow::{Context, bail};
use regex::Regex;
use std::fs;
use std::ops::RangeInclusive;
use ws_explain::spread::{Comparison, Software, Spread, WorkloadExplained};
use ws_explain::steps::{self, Point};
use ws_explain::symbols::Symbols;
use ws_lab::lab::Lab;
use ws_lab::recipe::{EmulatorKind, Hypervisor, Recipe};
use ws_lab::sets::Architecture;
use ws_lab::workload::{Place, Workload};
use ws_machines::name::PlatformName;
use ws_machines::shipped::Shipped;
use ws_machines::{lab, platforms};
use ws_report::Apps;
use ws_report::reference::Reference;
use ws_runner::Session;
use ws_runner::parts::{self, Parts};
use ws_runner::rows::RowsOf;
use ws_terminal::{Usage, output};

/// Limit of workloads: a recorded boot takes minutes, and the table is long.
const WORKLOADS_AT_MOST: usize = 3;

/// Agent's function that runs the measured command. Its two reads of the clock are the window on ARM, where the agent
/// executes no marks.
const WINDOW: &str = "window_run";

/// Workloads to explain on a platform without a VM and on others with one.
pub struct Workloads {
    natively: Side,
    in_vm: Vec<Side>,
    workloads: Vec<Workload>,
    parts: Parts,
}

/// A platform to record.
struct Side {
    name: PlatformName,
    recipe: Recipe,
}

impl Workloads {
    /// Chooses the workloads that match, on these platforms.
    ///
    /// # Errors
    /// Wrong usage: the platforms are not a native one and then others with a VM, or there are too many workloads.
    pub fn choose(
        on: &[PlatformName],
        matching: Option<&Regex>,
        parts: Parts,
    ) -> anyhow::Result<Self> {
        let lab = parts::recipes(&parts.lab)?;
        let workloads = workloads(matching, &lab)?;
        let sides = on.iter().map(|name| side(name, &lab));
        let mut sides = sides.collect::<anyhow::Result<Vec<Side>>>()?.into_iter();
        let (natively, in_vm) = (sides.next(), sides.collect::<Vec<Side>>());
        let Some(natively) = natively.filter(|_| !in_vm.is_empty()) else {
            bail!(Usage(
                "--explain compares platforms: --on lab:linux,lab:kvm-linux".to_owned()
            ));
        };
        let all = [(&natively, false)].into_iter();
        for (side, has_vm) in all.chain(in_vm.iter().map(|side| (side, true))) {
            if side.recipe.vm.is_some() != has_vm {
                bail!(Usage(format!(
                    "--explain compares a machine without a VM with others that have one, in this order: {} does not fit; choose --on lab:linux,lab:kvm-linux",
                    side.name
                )));
            }
            if side.recipe.architecture != natively.recipe.architecture {
                bail!(Usage(format!(
                    "--explain compares machines of one architecture, and {} and {} have two",
                    natively.name, side.name
                )));
            }
        }
        Ok(Self {
            natively,
            in_vm,
            workloads,
            parts,
        })
    }

    /// Boots each platform once more, recorded. Adds the parts of transactions to `apps`. `print`: also prints functions,
    /// exits and parts. Returns `None` if the user stopped the command.
    pub fn explain(
        &self,
        apps: &mut Apps,
        reference: &Reference,
        print: bool,
        session: &Session,
    ) -> anyhow::Result<Option<Vec<WorkloadExplained>>> {
        let Some(natively) = self.spreads(&self.natively, session)? else {
            return Ok(None);
        };
        let native = self.natively.name.to_string();
        for (workload, spread) in self.workloads.iter().zip(&natively) {
            take_apart(apps, workload, &native, spread, reference);
        }
        let mut explained = Vec::new();
        for side in &self.in_vm {
            let Some(in_vm) = self.spreads(side, session)? else {
                return Ok(None);
            };
            let name = side.name.to_string();
            let pairs = natively.iter().zip(&in_vm);
            for (workload, (natively, in_vm)) in self.workloads.iter().zip(pairs) {
                let comparison = Comparison {
                    workload: (&workload.name, &workload.unit),
                    units: workload.units - workload.shorter(),
                    natively: (&native, natively),
                    in_vm: (&name, in_vm),
                    is_one_of_several: self.in_vm.len() > 1,
                };
                if print {
                    print_tables(&comparison, apps)?;
                }
                explained.push(comparison.explained());
                take_apart(apps, workload, &name, in_vm, reference);
            }
        }
        if let Some(parts) = apps.recorded_to_terminal().filter(|_| print) {
            output::data(&parts)?;
        }
        Ok(Some(explained))
    }

    /// Counts the functions that a platform executes in each workload, in order. Returns `None` if the user stopped
    /// the command.
    fn spreads(&self, side: &Side, session: &Session) -> anyhow::Result<Option<Vec<Spread>>> {
        let Side { name, recipe } = side;
        let Some(software) = functions(name, &self.parts, session)? else {
            return Ok(None);
        };
        let mut spreads = Vec::new();
        for workload in &self.workloads {
            let recorded = Recorded {
                platform: name,
                row: &workload.name,
                rows: RowsOf::Applications,
                marks: window(recipe, workload, &self.parts)?,
                has_dom0: matches!(recipe.hypervisor, Hypervisor::Xen { .. }),
                points: points(recipe, workload, &software)?,
                has_shorter: workload.shorter() > 0,
                has_idle: has_several_cpus(recipe),
            };
            let Some((spread, _)) = recorded.spread(&software, &self.parts, session)? else {
                return Ok(None);
            };
            spreads.push(spread);
        }
        Ok(Some(spreads))
    }
}

/// Prints the functions, with the cost model's prediction if there is one, the exits and the sums.
fn print_tables(comparison: &Comparison<'_>, apps: &Apps) -> anyhow::Result<()> {
    let (workload, _) = comparison.workload;
    let (platform, _) = comparison.in_vm;
    let mut of_it = apps.predicted.iter();
    let of_it = of_it.find(|of| of.workload == workload && of.platform == platform);
    let exits_cost = of_it.and_then(|predicted| predicted.exits_cost);
    let tables = [comparison.table(), comparison.components_table(exits_cost)];
    titled(tables.into_iter().chain(comparison.exits_table()))?;
    output::data(&format!("\n{}", comparison.proof()))?;
    Ok(())
}

/// Finds a platform's recipe, which must be of a machine that can be recorded.
fn side(name: &PlatformName, lab: &Lab) -> anyhow::Result<Side> {
    let recipe = match name.family.as_deref() {
        Some("lab") => platforms::recipe(lab, name).map_err(|e| Usage(e.to_string()))?,
        _ => bail!(Usage(format!(
            "--explain records only machines of the lab, and {name} is not one: choose --on lab:linux,lab:kvm-linux"
        ))),
    };
    let has_xen = matches!(recipe.hypervisor, Hypervisor::Xen { .. });
    if has_xen && recipe.architecture == Architecture::X86_64 {
        bail!(Usage(format!(
            "--explain can't separate dom0 and the VM of {name}, whose kernels differ: choose --on lab:linux,lab:kvm-linux, \
             or Xen on ARM: --on lab:arm-linux,lab:arm-xen-linux"
        )));
    }
    let is_nested = recipe.below.is_some() || matches!(recipe.hypervisor, Hypervisor::Neve(_));
    if recipe.emulator.kind != EmulatorKind::Qemu || is_nested {
        bail!(Usage(format!(
            "--explain records machines of QEMU with one level of VMs, and {name} is not one: choose --on lab:linux,lab:kvm-linux"
        )));
    }
    Ok(Side {
        name: name.clone(),
        recipe,
    })
}

fn workloads(matching: Option<&Regex>, lab: &Lab) -> anyhow::Result<Vec<Workload>> {
    let is_chosen = |name: &String| matching.is_some_and(|of| of.is_match(name));
    let mut names = lab.workloads()?;
    names.retain(is_chosen);
    if names.is_empty() || names.len() > WORKLOADS_AT_MOST {
        let found = match matching {
            Some(_) => format!("{} match", names.len()),
            None => "none was named".to_owned(),
        };
        bail!(Usage(format!(
            "--explain takes one to {WORKLOADS_AT_MOST} workloads by --workload REGEX, and {found}: \
             worldswitch benchmarks --on lab:kvm-linux lists them"
        )));
    }
    let workloads: Vec<Workload> = names
        .iter()
        .map(|name| lab.workload(name))
        .collect::<Result<_, _>>()?;
    if let Some(workload) = workloads.iter().find(|workload| workload.vcpus > 1) {
        bail!(Usage(format!(
            "{} needs {} CPUs, so it is not measured natively and there is nothing to compare it with",
            workload.name, workload.vcpus
        )));
    }
    Ok(workloads)
}

/// Adds the parts of a workload's transaction, if they were recorded.
fn take_apart(
    apps: &mut Apps,
    workload: &Workload,
    platform: &str,
    spread: &Spread,
    reference: &Reference,
) {
    if spread.ways.is_empty() {
        return;
    }
    match steps::steps(spread, workload.units - workload.shorter()) {
        Ok(steps) => apps.take_apart(&workload.name, platform, &steps, reference),
        Err(why) => {
            let name = &workload.name;
            output::remark(&format!("{name} on {platform} is not taken apart: {why}"));
        }
    }
}

/// Whether the agent can't take idle time off, as a CPU's idle time does not say when all CPUs were idle.
fn has_several_cpus(recipe: &Recipe) -> bool {
    recipe.cpus.or(recipe.emulator.cpus.into()) > Some(1)
}

/// Finds the addresses of the code that measures a workload, in the agent of the system where the workload's command is;
/// none if that agent executes marks.
fn window(
    recipe: &Recipe,
    workload: &Workload,
    parts: &Parts,
) -> anyhow::Result<Option<RangeInclusive<u64>>> {
    if recipe.architecture == Architecture::X86_64 {
        return Ok(None);
    }
    let is_in_vm = recipe.vm.is_some() && workload.place == Place::Inside;
    let agent = match is_in_vm {
        true => Shipped::Agent(recipe.architecture),
        false => lab::agent(recipe),
    };
    let agent = parts::resources(parts).find(agent)?;
    let file = agent.display();
    let bytes = fs::read(&agent).with_context(|| format!("can't read {file}"))?;
    let symbols = Symbols::of_elf(&bytes).with_context(|| file.to_string())?;
    let code = symbols.code_of(WINDOW);
    let code = code.with_context(|| format!("{file} has no function {WINDOW}: run make build"))?;
    Ok(Some(code))
}

/// Finds the functions that a transaction's packets pass. On x86 the agents of host and VM trace packets, and the clocks of
/// both are known.
fn points(recipe: &Recipe, workload: &Workload, software: &Software) -> anyhow::Result<Vec<Point>> {
    if recipe.architecture == Architecture::X86_64 || !workload.steps {
        return Ok(Vec::new());
    }
    Ok(steps::points(&software.linux, recipe.vm.is_some())?)
}
