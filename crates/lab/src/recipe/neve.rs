//! neve in a recipe: the hypervisors below the guest, and the mechanism by which they run each other.

use super::{OptionName, Word};
use serde::{Deserialize, Serialize};

/// neve below the guest. It runs the guest in a VM of the host's neve, or in one of a guest hypervisor, which is neve
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Neve {
    /// Words of each neve's command line.
    pub parameters: Vec<Word>,
    /// Mechanism by which guest hypervisors are run; none if there are no guest hypervisors.
    pub nest: Option<Mechanism>,
    /// Whether the guest hypervisors, or the only hypervisor, use FEAT_VHE.
    pub vhe: bool,
    /// World switch policy: the state that the hypervisor of the guest saves and restores in a world switch.
    pub policy: String,
    /// The number of hypervisors below the guest.
    pub depth: u8,
}

impl Neve {
    /// The folder names of the hypervisors' images, the host's first.
    pub fn images(&self) -> Vec<String> {
        let image = |paravirt: &str, vhe| {
            let vhe = if vhe { "-vhe" } else { "" };
            format!("aarch64{paravirt}{vhe}")
        };
        let Some(nest) = self.nest else {
            return vec![image("", self.vhe)];
        };
        let paravirt = match nest {
            Mechanism::Nv | Mechanism::Nv2 => "",
            Mechanism::Pv => "-calls",
            Mechanism::Neve => "-neve",
        };
        let guests = (1..self.depth).map(|_| image(paravirt, self.vhe));
        std::iter::once(image("", false)).chain(guests).collect()
    }

    /// Sets an option of neve.
    pub(super) fn apply(&mut self, option: OptionName, value: &str) -> Result<(), &'static str> {
        match option {
            OptionName::Vhe => match value {
                "0" => self.vhe = false,
                "1" => self.vhe = true,
                _ => return Err("it must be 0 or 1"),
            },
            OptionName::Policy if POLICIES.contains(&value) => self.policy = value.to_owned(),
            OptionName::Policy => {
                return Err(
                    "it must be lean or kvm-4.10, the latter optionally with -authors, -gicv3, \
                            -notimer or -gicv3-notimer appended",
                );
            }
            OptionName::Depth => match (value, self.nest) {
                ("2", Some(_)) => self.depth = 2,
                ("3", Some(_)) => self.depth = 3,
                _ => return Err("it must be 2 or 3"),
            },
            OptionName::Cpu | OptionName::Memory => {}
        }
        Ok(())
    }

    /// Whether an option has this value, by default or by the machine's name.
    pub(super) fn has(&self, option: &str) -> bool {
        match option.split_once('=') {
            Some(("vhe", value)) => value == if self.vhe { "1" } else { "0" },
            Some(("policy", value)) => value == self.policy,
            Some(("depth", value)) => value == self.depth.to_string(),
            _ => false,
        }
    }
}

/// Mechanism by which a guest hypervisor is run (docs/neve.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    Nv,
    Nv2,
    Pv,
    Neve,
}

impl Mechanism {
    /// The value on neve's command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Nv => "nv",
            Self::Nv2 => "nv2",
            Self::Pv => "pv",
            Self::Neve => "neve",
        }
    }
}

/// The world switch policies of neve.
const POLICIES: [&str; 6] = [
    "lean",
    "kvm-4.10",
    "kvm-4.10-authors",
    "kvm-4.10-gicv3",
    "kvm-4.10-notimer",
    "kvm-4.10-gicv3-notimer",
];
