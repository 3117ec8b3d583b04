//! Recipes as TOML: parsed, checked key by key, and resolved along `extends`.
//!
//! A recipe that extends another inherits everything and gives only the differences: a value
//! replaces the parent's, and so does a flag, parameter, property or module with the same first
//! word (up to '=') or name. Others are appended to the parent's.

mod below;
mod whole;

use crate::lab::LabError;
use crate::recipe::{
    Below, BelowHypervisor, Choice, Cpu, Emulator, EmulatorKind, Flag, Hypervisor, Kernel,
    MEMORY_MIB, Mechanism, Module, Monitor, Nested, Neve, OptionName, Recipe, Since, Skip, Source,
    Word,
};
use crate::sets::Architecture;
use below::BelowPart;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use whole::{RootPart, VmPart};

/// A recipe's file, or several merged.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecipeFile {
    pub extends: Option<String>,
    summary: Option<String>,
    caveat: Option<String>,
    architecture: Option<Architecture>,
    options: Option<Vec<OptionName>>,
    #[serde(default)]
    emulator: EmulatorPart,
    kernel: Option<KernelPart>,
    #[serde(default)]
    hypervisor: HypervisorPart,
    #[serde(default)]
    monitor: MonitorPart,
    nested: Option<NestedPart>,
    root: Option<RootPart>,
    vm: Option<VmPart>,
    below: Option<BelowPart>,
    /// Options of the machine's name, with what they change.
    #[serde(default)]
    choice: Vec<Choice>,
    #[serde(default)]
    skip: Vec<Skip>,
    /// The differences of each variant, by the name that follows `@`.
    #[serde(default)]
    variant: BTreeMap<String, RecipeFile>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct EmulatorPart {
    kind: Option<EmulatorKind>,
    package: Option<String>,
    program: Option<String>,
    disc: Option<String>,
    since: Option<Since>,
    #[serde(default)]
    free_of: Vec<Word>,
    machine: Option<String>,
    cpus: Option<u32>,
    memory_mib: Option<u64>,
    memory_beside_mib: Option<u64>,
    #[serde(default)]
    cpu: CpuPart,
    #[serde(default)]
    flag: Vec<Flag>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuPart {
    model: Option<String>,
    #[serde(default)]
    property: Vec<Word>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelPart {
    package: Option<String>,
    #[serde(default)]
    parameter: Vec<Word>,
    #[serde(default)]
    module: Vec<Module>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HypervisorKind {
    None,
    Kvm,
    Xen,
    Neve,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct HypervisorPart {
    kind: Option<HypervisorKind>,
    package: Option<String>,
    nest: Option<Mechanism>,
    #[serde(default)]
    parameter: Vec<Word>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MonitorKind {
    None,
    Vmm,
    Qemu,
    Xl,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MonitorPart {
    kind: Option<MonitorKind>,
    package: Option<String>,
    program: Option<String>,
    #[serde(default)]
    word: Vec<Word>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NestedPart {
    memory_beside_mib: Option<u64>,
    #[serde(default)]
    parameter: Vec<Word>,
}

impl RecipeFile {
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self, LabError> {
        toml::from_str(text).map_err(|e| LabError::toml(path, &e))
    }

    /// The names of the variants that the file itself defines.
    pub(crate) fn variants(&self) -> impl Iterator<Item = &String> {
        self.variant.keys()
    }

    /// The recipe with one of the file's own variants applied; nothing if it has no such variant.
    pub(crate) fn varied(&self, variant: &str) -> Option<Self> {
        let part = self.variant.get(variant)?.clone();
        Some(part.over(self.clone()))
    }

    /// This recipe over the one that it extends.
    pub(crate) fn over(self, parent: Self) -> Self {
        Self {
            // Variants are not inherited.
            variant: self.variant,
            extends: parent.extends,
            summary: self.summary.or(parent.summary),
            caveat: self.caveat.or(parent.caveat),
            architecture: self.architecture.or(parent.architecture),
            options: self.options.or(parent.options),
            choice: merge(self.choice, parent.choice, |choice| {
                format!("{}={}", choice.option, choice.value)
            }),
            emulator: self.emulator.over(parent.emulator),
            kernel: match (self.kernel, parent.kernel) {
                (Some(mine), Some(parents)) => Some(mine.over(parents)),
                (mine, parents) => mine.or(parents),
            },
            hypervisor: self.hypervisor.over(parent.hypervisor),
            monitor: MonitorPart {
                kind: self.monitor.kind.or(parent.monitor.kind),
                package: self.monitor.package.or(parent.monitor.package),
                program: self.monitor.program.or(parent.monitor.program),
                word: merge(self.monitor.word, parent.monitor.word, word_key),
            },
            nested: match (self.nested, parent.nested) {
                (Some(mine), Some(parents)) => Some(NestedPart {
                    memory_beside_mib: mine.memory_beside_mib.or(parents.memory_beside_mib),
                    parameter: merge(mine.parameter, parents.parameter, word_key),
                }),
                (mine, parents) => mine.or(parents),
            },
            skip: merge(self.skip, parent.skip, |skip| skip.benchmark.clone()),
            root: match (self.root, parent.root) {
                (Some(mine), Some(parents)) => Some(mine.over(parents)),
                (mine, parents) => mine.or(parents),
            },
            vm: match (self.vm, parent.vm) {
                (Some(mine), Some(parents)) => Some(mine.over(parents)),
                (mine, parents) => mine.or(parents),
            },
            below: match (self.below, parent.below) {
                (Some(mine), Some(parents)) => Some(mine.over(parents)),
                (mine, parents) => mine.or(parents),
            },
        }
    }

    /// The finished recipe.
    pub(crate) fn complete(self, name: &str, path: &Path) -> Result<Recipe, LabError> {
        let fail = |what: String| LabError::Recipe {
            path: path.to_owned(),
            what,
        };
        let lacks = |key: &str| fail(format!("it lacks {key}, as do the recipes it extends"));
        let (emulator, root) = (self.emulator, self.root.map(RootPart::complete).transpose());
        let emulator = emulator.complete().map_err(lacks)?;
        let memory_mib = emulator.memory_mib;
        if !MEMORY_MIB.contains(&memory_mib) {
            return Err(fail(format!(
                "emulator.memory_mib = {memory_mib} is not 64 to 65536"
            )));
        }
        let recipe = Recipe {
            name: name.to_owned(),
            variant: None,
            summary: self.summary.ok_or(lacks("summary"))?,
            caveat: self.caveat,
            architecture: self.architecture.ok_or(lacks("architecture"))?,
            emulator,
            kernel: match self.kernel {
                None => None,
                Some(kernel) => Some(Kernel {
                    source: Source::Package(kernel.package.ok_or(lacks("kernel.package"))?),
                    parameters: kernel.parameter,
                    modules: kernel.module,
                }),
            },
            hypervisor: self.hypervisor.complete().map_err(fail)?,
            monitor: self.monitor.complete().map_err(fail)?,
            nested: match self.nested {
                None => None,
                Some(nested) => Some(Nested {
                    memory_beside_mib: nested
                        .memory_beside_mib
                        .ok_or(lacks("nested.memory_beside_mib"))?,
                    parameters: nested.parameter,
                }),
            },
            root: root.map_err(lacks)?,
            // Devices need several CPUs, which a hypervisor below does not give its Linux.
            vm: self.vm.map(|vm| match self.below {
                Some(_) => vm.without_io().complete(),
                None => vm.complete(),
            }),
            below: (self.below.map(BelowPart::complete).transpose())
                .map_err(|what| fail(what.to_owned()))?,
            options: self.options.unwrap_or_default(),
            choices: self.choice,
            skips: self.skip,
        };
        check(&recipe).map_err(fail)?;
        Ok(recipe)
    }
}

/// Checks what the types alone do not.
fn check(recipe: &Recipe) -> Result<(), String> {
    let kernel = recipe.kernel.as_ref();
    match &recipe.hypervisor {
        Hypervisor::Kvm if kernel.is_none() => {
            return Err("hypervisor.kind = \"kvm\" needs a [kernel]".into());
        }
        Hypervisor::Kvm if recipe.monitor == Monitor::None => {
            return Err("hypervisor.kind = \"kvm\" needs a [monitor]".into());
        }
        Hypervisor::Kvm if matches!(recipe.monitor, Monitor::Xl { .. }) => {
            return Err("monitor.kind = \"xl\" is for hypervisor.kind = \"xen\"".into());
        }
        Hypervisor::Kvm => {}
        Hypervisor::Xen { .. } if matches!(recipe.monitor, Monitor::Xl { .. }) => {
            if kernel.is_none() {
                return Err("monitor.kind = \"xl\" needs a [kernel], which is dom0's".into());
            }
        }
        Hypervisor::None | Hypervisor::Xen { .. } | Hypervisor::Neve(_)
            if recipe.monitor != Monitor::None =>
        {
            return Err("[monitor] is for hypervisor.kind = \"kvm\", or \"xl\" for Xen".into());
        }
        Hypervisor::None | Hypervisor::Xen { .. } | Hypervisor::Neve(_) => {}
    }
    whole::check(recipe)?;
    check_emulator(recipe)?;
    if let Some(wrong) = recipe.wrong_choice() {
        return Err(wrong);
    }
    if let Some(skip) = recipe.skips.iter().find(|skip| skip.why.trim().is_empty()) {
        return Err(format!("skip {} gives no reason (why)", skip.benchmark));
    }
    check_words(recipe)
}

/// Checks what only one of the emulators has.
fn check_emulator(recipe: &Recipe) -> Result<(), String> {
    let emulator = &recipe.emulator;
    if (emulator.kind == EmulatorKind::Bochs) != emulator.disc.is_some() {
        return Err("emulator.disc is for emulator.kind = \"bochs\", which needs it".into());
    }
    // QEMU's machines have as many CPUs as a launch asks for, which take turns on one clock.
    let most = match (emulator.kind, &recipe.monitor) {
        (EmulatorKind::Qemu, Monitor::Xl { .. }) if recipe.root.is_none() => 2,
        (EmulatorKind::Qemu, _) => 1,
        (EmulatorKind::Bochs, _) => 2,
    };
    if !(1..=most).contains(&emulator.cpus) {
        return Err("emulator.cpus is 1, or 2 with emulator.kind = \"bochs\" or where dom0 has a CPU beside the guest's".into());
    }
    Ok(())
}

/// Checks that words are words, and that each has its reason.
fn check_words(recipe: &Recipe) -> Result<(), String> {
    let kernel = recipe.kernel.as_ref();
    let own = match &recipe.monitor {
        Monitor::Vmm { words } => Some(words),
        Monitor::None | Monitor::Qemu { .. } | Monitor::Xl { .. } => None,
    };
    if recipe.nested.is_some() && own.is_none() {
        return Err("[nested] is for monitor.kind = \"vmm\"".into());
    }
    let parameters = match &recipe.hypervisor {
        Hypervisor::Xen { parameters, .. } => &**parameters,
        Hypervisor::Neve(neve) => &neve.parameters,
        _ => &[],
    };
    let nested = recipe.nested.iter().flat_map(|nested| &nested.parameters);
    let words = (recipe.emulator.cpu.properties.iter())
        .chain(&recipe.emulator.free_of)
        .chain(parameters)
        .chain(own.into_iter().flatten())
        .chain(nested)
        .chain(recipe.vm.iter().flat_map(|vm| &vm.parameters))
        .chain(recipe.below.iter().flat_map(Below::words))
        .chain(recipe.vm.iter().flat_map(|vm| &vm.settings))
        .chain(kernel.into_iter().flat_map(|kernel| &kernel.parameters))
        .map(|word| ("word", &*word.word, &*word.why));
    let flags = recipe.emulator.flags.iter().flat_map(|flag| {
        let words = flag.words.iter().map(|word| ("flag", &**word, &*flag.why));
        // A flag without words is reported as an empty word.
        let none = flag.words.is_empty().then_some(("flag", "", &*flag.why));
        words.chain(none)
    });
    let modules = kernel.into_iter().flat_map(|kernel| &kernel.modules);
    let modules = modules.chain(recipe.vm.iter().flat_map(|vm| &vm.modules));
    let of_below = recipe
        .below
        .iter()
        .filter_map(|below| match &below.hypervisor {
            BelowHypervisor::Kvm { kernel, .. } => Some(&kernel.modules),
            BelowHypervisor::Neve { .. } => None,
        });
    let modules = modules.chain(of_below.flatten());
    let modules = modules.map(|module| ("module", &*module.name, &*module.why));
    for (what, word, why) in words.chain(flags).chain(modules) {
        if word.is_empty() || word.chars().any(|c| c.is_control() || c == ' ') {
            return Err(format!("{what} \"{}\" is not a word", word.escape_debug()));
        }
        if why.trim().is_empty() {
            return Err(format!("{what} \"{word}\" gives no reason (why)"));
        }
    }
    Ok(())
}

impl EmulatorPart {
    fn over(self, parent: Self) -> Self {
        let first = |flag: &Flag| key(flag.words.first().map_or("", |word| word));
        Self {
            kind: self.kind.or(parent.kind),
            package: self.package.or(parent.package),
            program: self.program.or(parent.program),
            disc: self.disc.or(parent.disc),
            since: self.since.or(parent.since),
            free_of: merge(self.free_of, parent.free_of, word_key),
            machine: self.machine.or(parent.machine),
            cpus: self.cpus.or(parent.cpus),
            memory_mib: self.memory_mib.or(parent.memory_mib),
            memory_beside_mib: self.memory_beside_mib.or(parent.memory_beside_mib),
            cpu: CpuPart {
                model: self.cpu.model.or(parent.cpu.model),
                property: merge(self.cpu.property, parent.cpu.property, word_key),
            },
            flag: merge(self.flag, parent.flag, first),
        }
    }
}

impl EmulatorPart {
    /// The finished emulator; the error is the key that is missing.
    fn complete(self) -> Result<Emulator, &'static str> {
        let memory_mib = self.memory_mib.ok_or("emulator.memory_mib")?;
        Ok(Emulator {
            kind: self.kind.ok_or("emulator.kind")?,
            package: self.package.ok_or("emulator.package")?,
            program: self.program.ok_or("emulator.program")?,
            disc: self.disc,
            since: self.since,
            free_of: self.free_of,
            machine: self.machine.ok_or("emulator.machine")?,
            cpu: Cpu {
                model: self.cpu.model.ok_or("emulator.cpu.model")?,
                properties: self.cpu.property,
            },
            cpus: self.cpus.unwrap_or(1),
            memory_mib,
            memory_beside_mib: self.memory_beside_mib.unwrap_or(0),
            flags: self.flag,
        })
    }
}

impl KernelPart {
    fn over(self, parent: Self) -> Self {
        Self {
            package: self.package.or(parent.package),
            parameter: merge(self.parameter, parent.parameter, word_key),
            module: merge(self.module, parent.module, |module| module.name.clone()),
        }
    }
}

impl HypervisorPart {
    fn over(self, parent: Self) -> Self {
        Self {
            kind: self.kind.or(parent.kind),
            package: self.package.or(parent.package),
            nest: self.nest.or(parent.nest),
            parameter: merge(self.parameter, parent.parameter, word_key),
        }
    }

    fn complete(self) -> Result<Hypervisor, String> {
        let is_plain = self.package.is_none() && self.parameter.is_empty() && self.nest.is_none();
        match self.kind {
            None | Some(HypervisorKind::None) if is_plain => Ok(Hypervisor::None),
            Some(HypervisorKind::Kvm) if is_plain => Ok(Hypervisor::Kvm),
            Some(HypervisorKind::Neve) if self.package.is_none() => Ok(Hypervisor::Neve(Neve {
                parameters: self.parameter,
                vhe: false,
                policy: "lean".into(),
                depth: if self.nest.is_some() { 2 } else { 1 },
                nest: self.nest,
            })),
            Some(HypervisorKind::Xen) if self.nest.is_none() => Ok(Hypervisor::Xen {
                source: Source::Package(
                    self.package
                        .ok_or("hypervisor.kind = \"xen\" needs hypervisor.package")?,
                ),
                parameters: self.parameter,
            }),
            _ => Err(
                "hypervisor.package and hypervisor.parameter are for kind = \"xen\", hypervisor.nest is for \"neve\"; KVM's parameters are those of the kernel and its modules".into(),
            ),
        }
    }
}

impl MonitorPart {
    fn complete(self) -> Result<Monitor, String> {
        if let (Some(MonitorKind::Xl), None, true) =
            (self.kind, &self.program, self.word.is_empty())
        {
            let package = self
                .package
                .ok_or("monitor.kind = \"xl\" needs monitor.package")?;
            return Ok(Monitor::Xl { package });
        }
        let program = self.package.zip(self.program);
        if self.kind != Some(MonitorKind::Vmm) && !self.word.is_empty() {
            return Err("monitor.word is for kind = \"vmm\"".into());
        }
        match (self.kind, program) {
            (None | Some(MonitorKind::None), None) => Ok(Monitor::None),
            (Some(MonitorKind::Vmm), None) => Ok(Monitor::Vmm { words: self.word }),
            (Some(MonitorKind::Qemu), Some((package, program))) => {
                Ok(Monitor::Qemu { package, program })
            }
            (Some(MonitorKind::Qemu), None) => {
                Err("monitor.kind = \"qemu\" needs monitor.package and monitor.program".into())
            }
            _ => Err("monitor.package and monitor.program are for kind = \"qemu\", monitor.package also for \"xl\"".into()),
        }
    }
}

/// The key by which two words are the same: all up to '='.
fn key(word: &str) -> String {
    word.split('=').next().unwrap_or_default().to_owned()
}

fn word_key(word: &Word) -> String {
    key(&word.word)
}

/// The parent's items, those with the same key replaced by the child's, then the child's other
/// items.
fn merge<T>(mine: Vec<T>, parents: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
    let keys: Vec<String> = mine.iter().map(&key).collect();
    let mut mine: Vec<Option<T>> = mine.into_iter().map(Some).collect();
    let mut merged = Vec::new();
    for item in parents {
        let of_parent = key(&item);
        if !keys.contains(&of_parent) {
            merged.push(item);
            continue;
        }
        // All of the child's items with this key take the place of the parent's first.
        for (slot, _) in mine.iter_mut().zip(&keys).filter(|(_, k)| **k == of_parent) {
            merged.extend(slot.take());
        }
    }
    merged.extend(mine.into_iter().flatten());
    merged
}
