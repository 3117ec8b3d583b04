//! A recipe: one lab machine as data. `ws-machines` boots machines from recipes, and `worldswitch lab show` prints
//! them.
//!
//! These types are complete and checked; `recipe_file` reads them from TOML and resolves `extends`.

mod below;
mod choice;
mod emulator;
mod neve;
mod published;
mod whole;

use crate::sets::Architecture;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

pub use below::{Below, BelowHypervisor};
pub use choice::Choice;
pub use emulator::{Cpu, Emulator, EmulatorKind, Flag, Since};
pub use neve::{Mechanism, Neve};
pub use published::Published;
pub use whole::{Device, DeviceKind, Io, Root, Served, Vm};

/// A lab machine, with everything that its recipe extends merged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recipe {
    /// The name after `lab:`, without variant and options.
    pub name: String,
    /// The variant that was applied: the part after `@`.
    pub variant: Option<String>,
    /// Description of the machine, in one line.
    pub summary: String,
    /// Caveat that a reader of the machine's results must know; every table of the machine shows it.
    pub caveat: Option<String>,
    /// Recipe of a machine with the same hypervisor, on which functions are recorded if they can't be on this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained_on: Option<String>,
    /// The published numbers of similar machines, the best first. [`Recipe::published`] has those that apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    pub architecture: Architecture,
    pub emulator: Emulator,
    /// The kernel that the machine boots; none if it boots a hypervisor or the guest itself.
    pub kernel: Option<Kernel>,
    pub hypervisor: Hypervisor,
    pub monitor: Monitor,
    /// A hypervisor between the machine's hypervisor and the guest; most machines have none.
    pub nested: Option<Nested>,
    /// The root file system of a machine whose guest is a whole Linux.
    pub root: Option<Root>,
    /// The VM of a machine with a root file system; none if its Linux runs without a hypervisor.
    pub vm: Option<Vm>,
    /// CPUs of the system whose workloads are measured, if a choice says so: of the machine, or of its VM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// The hypervisor below the machine's Linux, which is then in a VM itself; most machines have none.
    pub below: Option<Below>,
    /// The options (`+key=value`) of the machine.
    pub options: Vec<OptionName>,
    /// Further options, whose effect the recipe itself defines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Benchmarks that the machine can't run right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<Skip>,
    /// The file name of the guest's image, if a choice says so. By default the architecture decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest_image: Option<String>,
}

/// A benchmark that a machine can't run right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    pub benchmark: String,
    /// Reason why the machine can't run it; tables show the reason.
    pub why: String,
}

/// A word of a command line, such as a kernel parameter, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    pub word: String,
    /// Reason why the machine needs the word.
    pub why: String,
}

/// A hypervisor that runs in place of the guest, and runs the guest: a Linux with KVM and vmm, which has the machine's
/// kernel, or Xen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Nested {
    /// Xen's set of packages; none if the hypervisor is a Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xen: Option<String>,
    /// Memory of this hypervisor besides the guest's, in MiB.
    pub memory_beside_mib: u64,
    /// Command line of its kernel, or of Xen.
    pub parameters: Vec<Word>,
}

/// The kernel that the machine boots, and the modules that its `/init` loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    pub source: Source,
    pub parameters: Vec<Word>,
    /// Modules, in the order in which they are loaded.
    pub modules: Vec<Module>,
}

/// A kernel module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// The name as in modinfo(8); '-' and '_' are the same.
    pub name: String,
    /// Parameters of the module, as `npt=0`, or nothing.
    #[serde(default)]
    pub options: String,
    /// Reason why the machine needs the module.
    pub why: String,
}

/// The source of a kernel or a hypervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A set of packages in the store.
    Package(String),
    /// A user's path: the folder of a kernel and its modules, or the file of a Xen.
    Folder(PathBuf),
}

/// The hypervisor that runs the machine's guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Hypervisor {
    /// None: the guest runs directly on the machine.
    None,
    /// KVM, of the machine's kernel.
    Kvm,
    /// Xen, which the machine boots.
    Xen {
        source: Source,
        parameters: Vec<Word>,
    },
    /// neve, the project's own hypervisor for ARM, which the machine boots.
    Neve(Neve),
}

/// The user-space program that creates the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Monitor {
    /// None: the guest is booted directly, or by the hypervisor.
    None,
    /// vmm, as the only program of the machine.
    Vmm {
        /// Further lines of vmm's configuration, as `el2`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        words: Vec<Word>,
    },
    /// QEMU, from a set of packages.
    Qemu { package: String, program: String },
    /// Xen's own tool stack, from a set of packages, in dom0, which is a whole Linux.
    Xl { package: String },
}

/// An option of a lab platform's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionName {
    /// `+cpu=MODEL`: another model, with the recipe's properties.
    Cpu,
    /// `+memory=MIB`.
    Memory,
    /// `+vhe=0|1`, only for neve.
    Vhe,
    /// `+policy=NAME`, only for neve.
    Policy,
    /// `+depth=2|3`, only for neve with guest hypervisors.
    Depth,
}

/// Reason why a variant or an option can't be applied to a recipe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    #[error("lab:{0} has no variants: leave out '@' and the variant")]
    NoVariants(String),
    #[error("lab:{recipe} has no variant \"{variant}\"; it has {known}")]
    OwnVariants {
        recipe: String,
        variant: String,
        known: String,
    },
    #[error(
        "lab:{recipe}@{variant}: there is no set of packages {set}; {known}. A path begins with '/', './' or '../'"
    )]
    NoSet {
        recipe: String,
        variant: String,
        set: String,
        known: String,
    },
    #[error("lab:{recipe} has no option \"{option}\"; it has {known}")]
    NoOption {
        recipe: String,
        option: String,
        known: String,
    },
    #[error("lab:{recipe}: {option}={value} is wrong: {why}")]
    Value {
        recipe: String,
        option: String,
        value: String,
        why: &'static str,
    },
    #[error("lab:{recipe}: {option}={value} is wrong: it can be {known}")]
    NoChoice {
        recipe: String,
        option: String,
        value: String,
        known: String,
    },
}

/// Memory sizes, in MiB, that suit the guest and a small host.
pub(crate) const MEMORY_MIB: std::ops::RangeInclusive<u64> = 64..=65_536;

impl Recipe {
    /// The sets of packages that the machine is made of, each once, the emulator's first.
    pub fn sets(&self) -> Vec<&str> {
        let mut sets = vec![&*self.emulator.package];
        let mut add = |set| {
            if !sets.contains(&set) {
                sets.push(set);
            }
        };
        if let Some(disc) = &self.emulator.disc {
            add(disc);
        }
        if let Some(Source::Package(set)) = self.kernel.as_ref().map(|kernel| &kernel.source) {
            add(set);
        }
        if let Hypervisor::Xen {
            source: Source::Package(set),
            ..
        } = &self.hypervisor
        {
            add(set);
        }
        if let Monitor::Qemu { package, .. } | Monitor::Xl { package } = &self.monitor {
            add(package);
        }
        if let Some(set) = self.vm.as_ref().and_then(|vm| vm.package.as_ref()) {
            add(set);
        }
        if let Some(root) = &self.root {
            add(&root.package);
            add(&root.mkfs);
        }
        if let Some(set) = self.below.as_ref().and_then(Below::set) {
            add(set);
        }
        if let Some(set) = self.nested_xen() {
            add(set);
        }
        sets
    }

    /// Xen's set of packages, if a Xen in the machine's VM runs the guest.
    pub fn nested_xen(&self) -> Option<&str> {
        self.nested.as_ref()?.xen.as_deref()
    }

    /// The part that `@` may replace: the kernel, or in a machine without a kernel the hypervisor.
    fn varied(&self) -> Option<&Source> {
        match (&self.kernel, &self.hypervisor) {
            (Some(kernel), _) => Some(&kernel.source),
            (None, Hypervisor::Xen { source, .. }) => Some(source),
            (None, _) => None,
        }
    }

    /// The part before the version in the name of the set that `@` replaces, as `linux-`.
    pub(crate) fn varied_prefix(&self) -> Option<&str> {
        match self.varied()? {
            Source::Package(set) => set.rfind('-').and_then(|end| set.get(..=end)),
            Source::Folder(_) => None,
        }
    }

    /// Replaces the kernel, or in a machine without a kernel the hypervisor: `6.12` selects that version of the same
    /// set; a variant that begins with `/`, `./` or `../` is a user's path. `sets`: the names of all sets of the
    /// machine's architecture. `own`: the recipe's own variants; `variant` is not one of them.
    pub(crate) fn with_variant(
        mut self,
        variant: &str,
        sets: &[&str],
        own: &[String],
    ) -> Result<Self, ApplyError> {
        if self.varied().is_none() {
            return Err(match own {
                [] => ApplyError::NoVariants(self.name),
                own => ApplyError::OwnVariants {
                    recipe: self.name,
                    variant: variant.to_owned(),
                    known: own.join(", "),
                },
            });
        }
        let chosen = if is_path(variant) {
            Source::Folder(PathBuf::from(variant))
        } else {
            let Some(prefix) = self.varied_prefix() else {
                return Err(ApplyError::NoVariants(self.name));
            };
            let set = format!("{prefix}{variant}");
            if !sets.contains(&&*set) {
                let of_sets = sets.iter().filter_map(|set| set.strip_prefix(prefix));
                let known: Vec<&str> = own.iter().map(|own| &**own).chain(of_sets).collect();
                return Err(ApplyError::NoSet {
                    known: format!("the variants are {}", known.join(", ")),
                    recipe: self.name,
                    variant: variant.to_owned(),
                    set,
                });
            }
            Source::Package(set)
        };
        match (&mut self.kernel, &mut self.hypervisor) {
            (Some(kernel), _) => kernel.source = chosen,
            (None, Hypervisor::Xen { source, .. }) => *source = chosen,
            (None, _) => {}
        }
        self.variant = Some(variant.to_owned());
        Ok(self)
    }

    /// Applies one `+key=value`.
    pub fn with_option(mut self, key: &str, value: &str) -> Result<Self, ApplyError> {
        if self.choices.iter().any(|choice| choice.option == key) {
            return self.with_choice(key, value);
        }
        let known = |option: &&OptionName| option.name() == key;
        let Some(option) = self.options.iter().find(known).copied() else {
            let known = match self.option_names().join(", ") {
                none if none.is_empty() => "none".to_owned(),
                known => known,
            };
            return Err(ApplyError::NoOption {
                recipe: self.name,
                option: key.to_owned(),
                known,
            });
        };
        let applied = match option {
            OptionName::Cpu => cpu_model(value).map(|model| self.emulator.cpu.replace_model(model)),
            OptionName::Memory => memory_mib(value).map(|mib| self.emulator.memory_mib = mib),
            OptionName::Vhe | OptionName::Policy | OptionName::Depth => {
                match &mut self.hypervisor {
                    Hypervisor::Neve(neve) => neve.apply(option, value),
                    _ => Err("only a machine with neve has this option"),
                }
            }
        };
        match applied {
            Ok(()) => Ok(self),
            Err(why) => Err(ApplyError::Value {
                recipe: self.name,
                option: key.to_owned(),
                value: value.to_owned(),
                why,
            }),
        }
    }

    /// SHA-256, in hexadecimal, of the recipe's effects on a machine. It leaves out names, summary, published numbers
    /// and reasons. It also leaves out the content of packages and folders, which have their own digests.
    pub fn digest(&self) -> String {
        let mut value = serde_json::json!({
            "architecture": self.architecture,
            "emulator": self.emulator,
            "kernel": self.kernel,
            "hypervisor": self.hypervisor,
            "monitor": self.monitor,
            "nested": self.nested,
        });
        // Machines without these parts leave them out, so that their digests are those of versions before there were
        // such parts.
        if let (Some(root), Some(fields)) = (&self.root, value.as_object_mut()) {
            fields.insert("root".into(), serde_json::json!([root, self.vm]));
        }
        if let (Some(cpus), Some(fields)) = (self.cpus, value.as_object_mut()) {
            fields.insert("cpus".into(), serde_json::json!(cpus));
        }
        if let (Some(below), Some(fields)) = (&self.below, value.as_object_mut()) {
            fields.insert("below".into(), serde_json::json!(below));
        }
        if let (None, Some(vm), Some(fields)) = (&self.root, &self.vm, value.as_object_mut()) {
            fields.insert("vm".into(), serde_json::json!(vm));
        }
        strip(&mut value);
        // serde_json sorts the keys of objects, so the text is always the same.
        hex(&Sha256::digest(value.to_string()))
    }
}

/// Removes fields that are only for people, and the paths of folders.
fn strip(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.remove("why");
            fields.remove("folder");
            fields.values_mut().for_each(strip);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a variant is a user's path.
pub fn is_path(variant: &str) -> bool {
    ["/", "./", "../"].iter().any(|s| variant.starts_with(s))
}

impl OptionName {
    /// The name as users type it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Vhe => "vhe",
            Self::Policy => "policy",
            Self::Depth => "depth",
        }
    }
}

/// Checks the name of a CPU model: a comma would begin another property of QEMU's `-cpu`.
fn cpu_model(value: &str) -> Result<String, &'static str> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !value.is_empty() && value.chars().all(good) {
        Ok(value.to_owned())
    } else {
        Err("a CPU model has only letters, digits, '-', '_' and '.'")
    }
}

fn memory_mib(value: &str) -> Result<u64, &'static str> {
    let mib = value.parse().ok();
    mib.filter(|mib| MEMORY_MIB.contains(mib))
        .ok_or("it must be a number of MiB, 64 to 65536")
}

#[cfg(test)]
#[path = "recipe_tests.rs"]
mod tests;
