//! The emulator of a machine.

use super::Word;
use serde::{Deserialize, Serialize};

/// The emulator that executes the machine's instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Emulator {
    pub kind: EmulatorKind,
    /// The set of packages that contains the emulator.
    pub package: String,
    /// The program's name in that set, as `qemu-system-x86_64`.
    pub program: String,
    /// The set of packages that makes the CD from which the machine boots; none if the emulator loads
    /// kernels itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disc: Option<String>,
    /// The oldest version that can run the machine, if not every version can.
    pub since: Option<Since>,
    /// Faults ([`crate::quirks`]) that would change what the machine measures, and why. Tables show
    /// a warning if the emulator is not known to be cured of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub free_of: Vec<Word>,
    /// The machine model, as `pc`, and its properties.
    pub machine: String,
    pub cpu: Cpu,
    /// Number of the emulator's CPUs. More than one run side by side, and the clock does not count their instructions:
    /// such a machine only counts exits.
    #[serde(skip_serializing_if = "is_one")]
    pub cpus: u32,
    /// The guest's memory.
    pub memory_mib: u64,
    /// The machine's memory besides the guest's, for the software that runs the guest.
    pub memory_beside_mib: u64,
    /// Words of the emulator's command line, in this order. The machine layer adds those that differ from launch to
    /// launch (vCPUs, memory, console, images).
    pub flags: Vec<Flag>,
}

// serde's skip_serializing_if passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(cpus: &u32) -> bool {
    *cpus == 1
}

impl Emulator {
    /// The machine model without its properties: `virt` of `virt,gic-version=3`.
    pub fn model(&self) -> &str {
        self.machine.split(',').next().unwrap_or_default()
    }
}

/// Kind of the emulator; only the machine layer uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmulatorKind {
    Qemu,
    Bochs,
}

impl EmulatorKind {
    /// Name of the emulator in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qemu => "qemu",
            Self::Bochs => "bochs",
        }
    }
}

/// The CPU that the emulator emulates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// The model, as `max` or `EPYC`.
    pub model: String,
    /// Features added to the model or removed from it, as `-rdrand`; kept if `+cpu=` names another
    /// model.
    pub properties: Vec<Word>,
    /// Properties of this model alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Word>,
    /// Properties that options of the machine's name set, in place of those of the same key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<Word>,
}

impl Cpu {
    /// Properties of every model, then those of this model, then those that options set.
    pub fn all_properties(&self) -> impl Iterator<Item = &Word> {
        let key = |word: &Word| word.word.split('=').next().map(str::to_owned);
        let stays = move |word: &&Word| self.chosen.iter().all(|other| key(other) != key(word));
        let of_recipe = self.properties.iter().chain(&self.own);
        of_recipe.filter(stays).chain(&self.chosen)
    }

    /// Sets another model, without this model's own properties.
    pub(crate) fn replace_model(&mut self, model: String) {
        if model != self.model {
            self.own.clear();
        }
        self.model = model;
    }

    /// The argument of QEMU's `-cpu`: `max,-rdrand,-rdseed`.
    pub fn to_argument(&self) -> String {
        self.with(self.all_properties())
    }

    /// The argument of QEMU's `-cpu` without this model's own properties and those that options set, for comparisons:
    /// those belong to the recipe, as its machine does.
    pub fn shared(&self) -> String {
        self.with(self.properties.iter())
    }

    fn with<'a>(&'a self, properties: impl Iterator<Item = &'a Word>) -> String {
        let words = properties.map(|property| &*property.word);
        let words: Vec<&str> = std::iter::once(&*self.model).chain(words).collect();
        words.join(",")
    }
}

/// Words of a command line that belong together, as `-icount shift=0,sleep=off`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    pub words: Vec<String>,
    /// Reason why the machine needs the words.
    pub why: String,
}

/// The first version of the emulator that can run the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// The version, as `9.0`.
    pub version: String,
    /// The feature that older versions lack.
    pub why: String,
}

impl Since {
    /// Whether `version`, as `7.2.22`, is this version or newer; false if it can't be parsed.
    pub fn is_met_by(&self, version: &str) -> bool {
        let parts = |text: &str| -> Option<Vec<u32>> {
            text.split('.').map(|part| part.parse().ok()).collect()
        };
        // A suffix is ignored, as that of `9.0.50-rc1`.
        let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
        let version = version.get(..end.unwrap_or(version.len()));
        match (version.and_then(parts), parts(&self.version)) {
            (Some(version), Some(since)) => version >= since,
            _ => false,
        }
    }
}
