//! The platforms: their list, whether each can be used here, and the machine of each.

mod of_host;

use crate::applications::{HostMachine, NestedMachine, Runs, nested_missing, nests};
use crate::counter;
use crate::lab::{self, LabMachine, Software, Symbols, SymbolsError};
use crate::logfile::LogFile;
use crate::machine::{Engine, Machine, MachineError};
use crate::name::PlatformName;
use crate::qemu::{Qemu, Settings};
use crate::resources::Resources;
use crate::serial::SerialLine;
use crate::vmm::{self, Vmm};
pub use of_host::of_host;
use ws_lab::lab::Lab;
use ws_lab::recipe::{Monitor, Recipe};
use ws_lab::sets::Architecture;

/// A kind of platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Name of the platform: `lab:native`, or `log:FILE` where the user chooses a path.
    pub name: String,
    /// Description of the platform, in a few words.
    pub summary: String,
    /// Requirements of the platform, in words.
    pub needs: String,
    /// The unit of the platform's results, or the source of the unit.
    pub unit: &'static str,
    /// Whether `run` uses it if no platform is named. A platform that is [`Usable::Software`] is left out even so.
    pub default: bool,
    kind: Kind,
}

impl Platform {
    /// Recipe of the platform, with variant and options applied, if it is of the lab.
    pub fn recipe(&self) -> Option<&Recipe> {
        match &self.kind {
            Kind::Lab(recipe) => Some(recipe),
            _ => None,
        }
    }

    /// The architecture of the platform's guest: the recipe's in the lab, x86_64 elsewhere.
    pub fn architecture(&self) -> Architecture {
        match &self.kind {
            Kind::Lab(recipe) => recipe.architecture,
            _ => Architecture::X86_64,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Lab(Box<Recipe>),
    /// The lab's recipes can't be read, with the reason.
    NoLab(String),
    /// Applications only, as [`Kind::Nested`] and [`Kind::NestedKvm`].
    Host,
    /// A nested VM, in an emulator's VM.
    Nested,
    NestedKvm,
    Qemu,
    Vmm,
    QemuKvm,
    Serial,
    Log,
}

/// Lab machines that `run` uses if no platform is named.
const DEFAULT_LAB: [&str; 3] = ["native", "kvm", "kvm-shadow"];

/// Every platform, in the order in which they are listed and run: `lab:native`, the other lab
/// machines by their recipes' names, then the host's platforms. Without recipes the lab is one
/// platform that contains the reason.
pub fn all(resources: &Resources) -> Result<Vec<Platform>, MachineError> {
    let lab = match resources.lab() {
        Ok(lab) => lab,
        Err(why) => {
            let mut all = vec![no_lab(why.to_string())];
            all.extend(of_host());
            return Ok(all);
        }
    };
    let mut names = lab.recipes().map_err(|e| other(&e))?;
    names.sort_by_key(|name| (name != "native", name.clone()));
    let mut all = Vec::new();
    for name in names {
        all.push(of_recipe(lab.recipe(&name, None).map_err(|e| other(&e))?));
    }
    all.extend(of_host());
    Ok(all)
}

fn other(error: &dyn std::error::Error) -> MachineError {
    MachineError::Other(error.to_string())
}

fn of_recipe(recipe: Recipe) -> Platform {
    let mut needs = vec![match recipe.root {
        None => "the guest image".to_owned(),
        Some(_) => "the agent".to_owned(),
    }];
    if matches!(recipe.monitor, Monitor::Vmm { .. }) {
        needs.push("the monitor vmm".to_owned());
    }
    let sets = recipe.sets().join(" ");
    needs.push(format!(
        "the packages of worldswitch lab fetch {} ({sets})",
        recipe.name
    ));
    Platform {
        name: format!("lab:{}", recipe.name),
        summary: recipe.summary.clone(),
        needs: needs.join(", "),
        unit: if recipe.emulator.cpus > 1 {
            "count"
        } else {
            "insns"
        },
        default: DEFAULT_LAB.contains(&recipe.name.as_str()),
        kind: Kind::Lab(Box::new(recipe)),
    }
}

/// The lab, if there are no recipes.
fn no_lab(why: String) -> Platform {
    Platform {
        name: "lab:NAME".into(),
        summary: "the deterministic lab: machines that count instructions".into(),
        needs: "its recipes".into(),
        unit: "insns",
        default: true,
        kind: Kind::NoLab(why),
    }
}

/// A name that no platform has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPlatform {
    #[error("there is no platform \"{name}\"; did you mean {}? worldswitch machines shows all", nearest.join(" or "))]
    Name { name: String, nearest: Vec<String> },
    #[error("platform \"{name}\" has no variants: leave out \"@{variant}\"")]
    Variant { name: String, variant: String },
    #[error("platform \"{name}\" has no option \"{option}\"; it has {}", if known.is_empty() { "none".into() } else { known.join(", ") })]
    Option {
        name: String,
        option: String,
        known: Vec<&'static str>,
    },
    #[error("platform \"{name}\": {option}={value} is wrong: {why}")]
    Value {
        name: String,
        option: String,
        value: String,
        why: &'static str,
    },
    /// For the lab: no such recipe, variant or option, or the recipe is wrong.
    #[error("{0}")]
    Lab(String),
}

/// Whether a platform can be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usable {
    Yes,
    /// Yes, but its KVM is a software KVM, whose results say nothing about hardware.
    Software,
    /// Reason why not, and the cure.
    No(String),
    /// Not known before a device or a file is named.
    Depends,
}

impl Kind {
    /// The unit of a platform of this host.
    fn unit(&self) -> &'static str {
        match self {
            Kind::Serial | Kind::Log => "as the guest says",
            Kind::Host | Kind::Nested | Kind::NestedKvm => "ns",
            _ => "tsc_ticks",
        }
    }

    /// The options that may follow `+`; a recipe lists those of its own machine.
    fn options(&self) -> &'static [&'static str] {
        match self {
            Kind::Qemu | Kind::QemuKvm => &["cpu", "memory"],
            Kind::Vmm => &["memory"],
            Kind::Lab(_)
            | Kind::NoLab(_)
            | Kind::Host
            | Kind::Nested
            | Kind::NestedKvm
            | Kind::Serial
            | Kind::Log => &[],
        }
    }
}

/// Memory sizes, in MiB, that suit the guest and a small host.
const MEMORY_MIB: std::ops::RangeInclusive<u64> = 64..=65_536;

/// The platform `name`, with its variant and options checked and applied. An unknown name's error has the nearest
/// names.
pub fn check(name: &PlatformName, resources: &Resources) -> Result<Platform, UnknownPlatform> {
    if name.family.as_deref() == Some("lab") {
        return lab_machine(name, resources);
    }
    let platform = of_host()
        .into_iter()
        .find(|platform| match (&platform.kind, &name.family) {
            (Kind::Serial, Some(family)) => family == "serial",
            (Kind::Log, Some(family)) => family == "log",
            _ => platform.name == name.base(),
        })
        .ok_or_else(|| unknown(name, resources))?;
    if let Some(variant) = &name.variant {
        return Err(UnknownPlatform::Variant {
            name: platform.name,
            variant: variant.clone(),
        });
    }
    for (option, value) in &name.options {
        let known = platform.kind.options();
        if !known.contains(&option.as_str()) {
            return Err(UnknownPlatform::Option {
                name: platform.name,
                option: option.clone(),
                known: known.into(),
            });
        }
        let why = match option.as_str() {
            "cpu" => cpu(value).err(),
            _ => memory_mib(value).err(),
        };
        if let Some(why) = why {
            return Err(UnknownPlatform::Value {
                name: platform.name,
                option: option.clone(),
                value: value.clone(),
                why,
            });
        }
    }
    Ok(platform)
}

/// The lab machine `name`.
fn lab_machine(name: &PlatformName, resources: &Resources) -> Result<Platform, UnknownPlatform> {
    let wrong = |e: &dyn std::error::Error| UnknownPlatform::Lab(e.to_string());
    let lab = resources.lab().map_err(|e| wrong(&e))?;
    let recipes = lab.recipes().map_err(|e| wrong(&e))?;
    if !recipes.contains(&name.name) {
        return Err(unknown(name, resources));
    }
    Ok(of_recipe(recipe(lab, name)?))
}

/// The recipe of a lab machine's name, with its variant and options.
///
/// # Errors
/// There is no such recipe, variant or option, or the recipe is wrong.
pub fn recipe(lab: &Lab, name: &PlatformName) -> Result<Recipe, UnknownPlatform> {
    let wrong = |e: &dyn std::error::Error| UnknownPlatform::Lab(e.to_string());
    let mut recipe = lab
        .recipe(&name.name, name.variant.as_deref())
        .map_err(|e| wrong(&e))?;
    for (option, value) in &name.options {
        recipe = recipe.with_option(option, value).map_err(|e| wrong(&e))?;
    }
    Ok(recipe)
}

fn unknown(name: &PlatformName, resources: &Resources) -> UnknownPlatform {
    // If recipes can't be read, the error is reported when a lab machine is opened.
    let all = all(resources).unwrap_or_else(|_| of_host().into());
    UnknownPlatform::Name {
        name: name.base(),
        nearest: nearest(&name.base(), &all),
    }
}

/// Checks the name of a CPU model: a comma would begin another property of QEMU's `-cpu`.
fn cpu(value: &str) -> Result<String, &'static str> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if value.chars().all(good) {
        Ok(value.to_owned())
    } else {
        Err("a CPU model has only letters, digits, '-', '_' and '.'")
    }
}

fn memory_mib(value: &str) -> Result<u64, &'static str> {
    value
        .parse()
        .ok()
        .filter(|mib| MEMORY_MIB.contains(mib))
        .ok_or("it must be a number of MiB, 64 to 65536")
}

/// The two known names with the smallest edit distance to `text`.
fn nearest(text: &str, all: &[Platform]) -> Vec<String> {
    let text = text.to_lowercase();
    let mut names: Vec<&str> = all.iter().map(|platform| &*platform.name).collect();
    names.sort_by_key(|name| strsim::levenshtein(&text, name));
    names.into_iter().take(2).map(str::to_owned).collect()
}

/// Whether `platform` can be used here. The first call that involves KVM probes KVM.
pub fn usable(platform: &Platform, resources: &Resources) -> Usable {
    let needs = match &platform.kind {
        Kind::Serial | Kind::Log => return Usable::Depends,
        Kind::NoLab(why) => return Usable::No(why.clone()),
        Kind::Lab(recipe) => lab::missing(recipe, resources).map(|()| Engine::Emulator),
        Kind::Host => return needing(lab::applications_missing(resources)),
        Kind::Nested => return needing(nested_missing(resources)),
        Kind::NestedKvm => {
            let nests = resources.kvm().and_then(|kvm| nests(&kvm));
            return needing(nests.and_then(|()| nested_missing(resources)));
        }
        Kind::Qemu => resources.emulator().map(|_| Engine::Emulator),
        Kind::Vmm => resources.kvm().map(|kvm| kvm.engine),
        Kind::QemuKvm => resources
            .emulator_with_kvm()
            .and_then(|_| resources.kvm())
            .map(|kvm| kvm.engine),
    };
    let guest = resources.guest_for(platform.architecture());
    match needs.and_then(|engine| guest.map(|_| engine)) {
        Ok(Engine::SoftwareKvm) => Usable::Software,
        Ok(_) => Usable::Yes,
        Err(why) => Usable::No(why.to_string()),
    }
}

fn needing(missing: Result<(), MachineError>) -> Usable {
    match missing {
        Ok(()) => Usable::Yes,
        Err(why) => Usable::No(why.to_string()),
    }
}

/// Checks that a platform's guest can be timed from outside. Its clock must be a counter that this host also has, and
/// the host must receive its console byte by byte.
pub fn external(platform: &Platform) -> Result<(), &'static str> {
    match platform.kind {
        Kind::Qemu | Kind::Vmm | Kind::QemuKvm if counter::UNIT == Some(platform.unit) => Ok(()),
        Kind::Qemu | Kind::Vmm | Kind::QemuKvm => {
            Err("this host's CPU has a different counter than the guest")
        }
        Kind::Lab(_) | Kind::NoLab(_) => Err(
            "it counts instructions, which no outside clock can measure, and its console is a file, so that no reader can change its counts",
        ),
        Kind::Host | Kind::Nested | Kind::NestedKvm => Err("it runs applications only"),
        Kind::Serial => {
            Err("this host's counter is not that of the machine at the line's other end")
        }
        Kind::Log => Err("a saved console has no arrival times"),
    }
}

/// The symbols of the Linux of the lab machine `name`; see [`lab::symbols`].
pub fn symbols(
    name: &PlatformName,
    resources: &Resources,
    stop: &dyn Fn() -> bool,
) -> Result<Symbols, SymbolsError> {
    match check(name, resources).map_err(|e| other(&e))?.kind {
        Kind::Lab(recipe) => lab::symbols(lab::assemble(*recipe, resources)?, resources, stop),
        Kind::NoLab(why) => Err(MachineError::Other(why).into()),
        Kind::Host
        | Kind::Nested
        | Kind::NestedKvm
        | Kind::Qemu
        | Kind::Vmm
        | Kind::QemuKvm
        | Kind::Serial
        | Kind::Log => Err(SymbolsError::NotLab),
    }
}

/// The programs of the lab machine `name`, without Linux and Xen.
pub fn software(name: &PlatformName, resources: &Resources) -> Result<Software, MachineError> {
    match check(name, resources)
        .map_err(|e| MachineError::Other(e.to_string()))?
        .kind
    {
        Kind::Lab(recipe) => lab::software(&recipe, resources),
        _ => Err(MachineError::Other(SymbolsError::NotLab.to_string())),
    }
}

/// The platforms of this host that run applications, each a whole Linux's programs in real time.
pub const APPLICATIONS: [&str; 5] = [
    "host",
    "qemu-kvm",
    "qemu-tcg",
    "qemu-kvm-nested",
    "qemu-tcg-nested",
];

/// Makes the machine with the applications of the platform `name`, of the lab or one of [`APPLICATIONS`]. Nothing is
/// started.
pub fn open_applications(
    name: &PlatformName,
    resources: &Resources,
) -> Result<Box<dyn Machine>, MachineError> {
    let platform = check(name, resources).map_err(|e| other(&e))?;
    let runs = match platform.kind {
        Kind::Host => Runs::Host,
        Kind::Qemu => Runs::Emulated,
        Kind::QemuKvm => Runs::Kvm(resources.kvm()?),
        Kind::Nested => return Ok(Box::new(NestedMachine::new(None, resources)?)),
        Kind::NestedKvm => {
            let kvm = Some(resources.kvm()?);
            return Ok(Box::new(NestedMachine::new(kvm, resources)?));
        }
        _ => return open(name, resources),
    };
    let option = |key: &str| name.options.get(key);
    let memory = option("memory").and_then(|value| memory_mib(value).ok());
    let model = option("cpu").and_then(|value| cpu(value).ok());
    Ok(Box::new(HostMachine::new(runs, memory, model, resources)?))
}

/// Makes the machine of the platform `name`. Nothing is started.
///
/// # Errors
/// A part of the machine is missing, or [`check`] refuses the name.
pub fn open(name: &PlatformName, resources: &Resources) -> Result<Box<dyn Machine>, MachineError> {
    let platform = check(name, resources).map_err(|e| other(&e))?;
    let option = |key: &str| name.options.get(key);
    let memory_mib = option("memory").and_then(|value| memory_mib(value).ok());
    let qemu = |emulator, kvm| -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(Qemu::new(Settings {
            emulator,
            guest: resources.guest()?,
            cpu: option("cpu").and_then(|value| cpu(value).ok()),
            memory_mib,
            kvm,
            pins: resources.pins.clone(),
        })))
    };
    match platform.kind {
        Kind::NoLab(why) => Err(MachineError::Other(why)),
        Kind::Host | Kind::Nested | Kind::NestedKvm => Err(MachineError::Other(format!(
            "it runs applications only: worldswitch run apps --on {name}"
        ))),
        Kind::Serial => Ok(Box::new(SerialLine::new(&name.name))),
        Kind::Log => Ok(Box::new(LogFile::new(&name.name))),
        Kind::Lab(recipe) => {
            let settings = lab::assemble(*recipe, resources)?;
            Ok(Box::new(LabMachine::new(settings)))
        }
        Kind::Qemu => qemu(resources.emulator()?, None),
        Kind::QemuKvm => {
            let kvm = resources.kvm()?;
            qemu(resources.emulator_with_kvm()?, Some(kvm))
        }
        Kind::Vmm => Ok(Box::new(Vmm::new(vmm::Settings {
            kvm: resources.kvm()?,
            guest: resources.guest()?,
            memory_mib,
            pins: resources.pins.clone(),
        }))),
    }
}

#[cfg(test)]
#[path = "platforms_tests.rs"]
mod tests;
