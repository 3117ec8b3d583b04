//! Recipes as TOML: parsed, checked key by key, and resolved along `extends`.
//!
//! A recipe that extends another inherits everything and has only the differences. A value replaces the parent's. So
//! does a flag, parameter, property or module with the same first word (up to '=') or name. Others are appended to the
//! parent's.

mod below;
mod check;
mod whole;

use crate::kernel::module_key;
use crate::lab::LabError;
use crate::recipe::{
    Choice, Cpu, Emulator, EmulatorKind, Flag, Hypervisor, Kernel, MEMORY_MIB, Mechanism, Module,
    Monitor, Nested, Neve, OptionName, Published, Recipe, Since, Skip, Source, Word,
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
    explained_on: Option<String>,
    published: Option<Vec<Published>>,
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
    /// Options of the machine's name, with their changes.
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
    #[serde(default)]
    own: Vec<Word>,
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
    xen: Option<String>,
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

    /// The recipe with one of the file's own variants applied; none if it has no such variant.
    pub(crate) fn varied(&self, variant: &str) -> Option<Self> {
        let part = self.variant.get(variant)?.clone();
        Some(part.over(self.clone()))
    }

    /// Merges this recipe with the recipe that it extends.
    pub(crate) fn over(self, parent: Self) -> Self {
        Self {
            // Variants are not inherited.
            variant: self.variant,
            extends: parent.extends,
            summary: self.summary.or(parent.summary),
            caveat: self.caveat.or(parent.caveat),
            explained_on: self.explained_on.or(parent.explained_on),
            published: self.published.or(parent.published),
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
            monitor: self.monitor.over(parent.monitor),
            nested: match (self.nested, parent.nested) {
                (Some(mine), Some(parents)) => Some(NestedPart {
                    xen: mine.xen.or(parents.xen),
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

    /// Makes the finished recipe, and checks it.
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
        // A recipe may inherit choices that its machine can't have. They are dropped: a hypervisor below gives its
        // Linux one CPU only.
        let (is_below, kind) = (self.below.is_some(), self.monitor.kind);
        let can_have = |choice: &Choice| {
            (choice.network.is_none() && choice.cpus.is_none() || !is_below)
                && (choice.monitor.is_empty() || kind == Some(MonitorKind::Vmm))
        };
        let recipe = Recipe {
            name: name.to_owned(),
            variant: None,
            summary: self.summary.ok_or(lacks("summary"))?,
            caveat: self.caveat,
            explained_on: self.explained_on,
            published: self.published.unwrap_or_default(),
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
            nested: (self.nested.map(NestedPart::complete).transpose()).map_err(lacks)?,
            root: root.map_err(lacks)?,
            // Devices need several CPUs, and a hypervisor below gives its Linux one only.
            vm: self.vm.map(|vm| match self.below {
                Some(_) => vm.without_io().complete(),
                None => vm.complete(),
            }),
            cpus: None,
            choices: self.choice.into_iter().filter(can_have).collect(),
            below: (self.below.map(BelowPart::complete).transpose())
                .map_err(|what| fail(what.to_owned()))?,
            options: self.options.unwrap_or_default(),
            skips: self.skip,
            guest_image: None,
        };
        check::check(&recipe).map_err(fail)?;
        Ok(recipe)
    }
}

impl NestedPart {
    /// Makes the finished part. The error is the key that is missing.
    fn complete(self) -> Result<Nested, &'static str> {
        Ok(Nested {
            xen: self.xen,
            memory_beside_mib: self.memory_beside_mib.ok_or("nested.memory_beside_mib")?,
            parameters: self.parameter,
        })
    }
}

impl CpuPart {
    fn over(self, parent: Self) -> Self {
        let parents = match self.model {
            Some(_) => Vec::new(),
            None => parent.own,
        };
        Self {
            own: merge(self.own, parents, word_key),
            model: self.model.or(parent.model),
            property: merge(self.property, parent.property, word_key),
        }
    }
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
            cpu: self.cpu.over(parent.cpu),
            flag: merge(self.flag, parent.flag, first),
        }
    }
}

impl EmulatorPart {
    /// Makes the finished emulator. The error is the key that is missing.
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
                own: self.cpu.own,
                chosen: Vec::new(),
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
            module: merge(self.module, parent.module, key_of_module),
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
    /// Merges the monitor with the parent's. A monitor of another kind inherits nothing.
    fn over(self, parent: Self) -> Self {
        if self.kind.is_some() && self.kind != parent.kind {
            return self;
        }
        Self {
            kind: parent.kind,
            package: self.package.or(parent.package),
            program: self.program.or(parent.program),
            word: merge(self.word, parent.word, word_key),
        }
    }

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

fn key_of_module(module: &Module) -> String {
    module_key(&module.name)
}

fn word_key(word: &Word) -> String {
    key(&word.word)
}

/// Merges items: the parent's, those with the same key replaced by the child's, then the child's other items.
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
