//! Choice of a machine's rows by a command, beside `--bench`.

use ws_lab::recipe::Recipe;
use ws_machines::image::BenchmarkRow;
use ws_results::{APPLICATION, IoRow};

/// Kind of rows that a command measures.
#[derive(Clone, Debug)]
pub enum RowsOf {
    /// Workloads.
    Applications,
    /// Workloads of one CPU.
    ApplicationsOfOneCpu,
    /// Workloads of a host and its VM on chosen CPUs.
    Placements,
    /// Devices of a VM.
    Devices(Devices),
}

/// Choice of I/O rows; a field without a value allows any.
#[derive(Clone, Debug, Default)]
pub struct Devices {
    /// Pattern of the device's name, for any part of it.
    pub device: Option<regex::Regex>,
    /// Outstanding requests.
    pub depths: Option<Vec<u16>>,
    /// Whether the vCPU never halts.
    pub busy: Option<bool>,
}

impl RowsOf {
    /// Whether the rows are workloads of a Linux, which machines of this host run too.
    pub fn are_of_hosts(&self) -> bool {
        matches!(self, Self::Applications | Self::Placements)
    }

    /// Whether a lab machine of this recipe can have the rows.
    pub fn suits(&self, recipe: &Recipe) -> bool {
        match self {
            Self::Applications | Self::ApplicationsOfOneCpu => recipe.root.is_some(),
            Self::Placements => false,
            Self::Devices(_) => recipe.vm.as_ref().is_some_and(|vm| vm.io.is_some()),
        }
    }

    /// Says what a platform without the rows lacks, and which platform to choose.
    pub(crate) fn lacking(&self) -> &'static str {
        match self {
            Self::Applications => {
                "applications: choose host, qemu-kvm, qemu-tcg, lab:linux, lab:kvm-linux or another recipe with a [root]"
            }
            Self::ApplicationsOfOneCpu => {
                "applications: choose lab:neve-linux or another recipe with a [root]"
            }
            Self::Placements => "placements",
            Self::Devices(_) => {
                "VM with devices to measure: choose lab:kvm-linux or another recipe with a [vm.io]"
            }
        }
    }

    /// Whether the command measures rows like this at all.
    pub fn knows(&self, row: &BenchmarkRow) -> bool {
        match self {
            Self::Applications | Self::ApplicationsOfOneCpu => row.category == APPLICATION,
            Self::Placements => row.facts.placement.is_some(),
            Self::Devices(_) => row.facts.io.is_some(),
        }
    }

    /// Whether the command measures this row.
    pub fn wants(&self, row: &BenchmarkRow) -> bool {
        self.knows(row)
            && match self {
                Self::Applications | Self::Placements => true,
                Self::ApplicationsOfOneCpu => row.cpus == 1,
                Self::Devices(devices) => row.facts.io.as_ref().is_some_and(|io| devices.want(io)),
            }
    }
}

impl Devices {
    /// Whether this row is in the choice.
    pub fn want(&self, row: &IoRow) -> bool {
        let device = self.device.as_ref();
        let depths = self.depths.as_ref();
        device.is_none_or(|device| device.is_match(&row.device))
            && depths.is_none_or(|depths| depths.iter().any(|depth| row.depth == u32::from(*depth)))
            && self.busy.is_none_or(|busy| row.busy == busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_results::place::{PlaceKind, PlaceRow, Places, Side, Spot};

    fn row(name: &str, category: &str) -> BenchmarkRow {
        BenchmarkRow {
            name: name.into(),
            category: category.into(),
            ..BenchmarkRow::default()
        }
    }

    fn io(device: &str, depth: u32, busy: bool) -> BenchmarkRow {
        let io = IoRow {
            device: device.into(),
            depth,
            busy,
        };
        BenchmarkRow {
            facts: io.clone().into(),
            ..row(&io.name(), "io")
        }
    }

    #[test]
    fn a_command_measures_its_own_kind() {
        let applications = RowsOf::Applications;
        assert!(applications.wants(&row("tcp-rr", "application")));
        assert!(!applications.wants(&io("qemu", 1, false)));
        let mut two = row("apache-interrupts-one", "application");
        two.cpus = 2;
        assert!(applications.wants(&two) && !RowsOf::ApplicationsOfOneCpu.wants(&two));
        let all = RowsOf::Devices(Devices::default());
        assert!(all.wants(&io("qemu", 1, false)) && !all.wants(&row("in", "io")));
        assert!(!all.knows(&row("tcp-rr", "application")));
        // What a name looks like does not matter.
        assert!(!all.knows(&row("io-qemu-d1", "io")));
    }

    #[test]
    fn placements_are_known_by_their_facts() {
        let places = Places {
            host: Spot::of("0"),
            vm: Spot::of("1"),
        };
        let place = PlaceRow::both(PlaceKind::Cpu, Side::Guest, &places);
        let plain = row(&place.name(), "application");
        let placed = BenchmarkRow {
            facts: place.into(),
            ..plain.clone()
        };
        assert!(RowsOf::Placements.wants(&placed) && !RowsOf::Placements.knows(&plain));
    }

    #[test]
    fn devices_are_chosen_by_name_depth_and_vcpu() {
        let wanted = |device: Option<&str>, depths: Option<Vec<u16>>, busy| -> String {
            let device = device.map(|text| regex::Regex::new(text).unwrap());
            let devices = RowsOf::Devices(Devices {
                device,
                depths,
                busy,
            });
            let rows = [
                io("qemu", 1, false),
                io("qemu", 8, true),
                io("qemu-net", 8, false),
                io("elvis", 1, false),
            ];
            let wanted = rows.iter().filter(|row| devices.wants(row));
            let names: Vec<&str> = wanted.map(|row| &*row.name).collect();
            names.join(" ")
        };
        assert_eq!(
            wanted(Some("^qemu$"), None, None),
            "io-qemu-d1 io-qemu-d8-busy"
        );
        assert_eq!(
            wanted(Some("qemu"), Some(vec![8]), None),
            "io-qemu-d8-busy io-qemu-net-d8"
        );
        assert_eq!(wanted(None, Some(vec![8]), Some(false)), "io-qemu-net-d8");
        assert_eq!(wanted(None, None, Some(true)), "io-qemu-d8-busy");
        assert_eq!(wanted(None, Some(vec![2]), None), "");
    }
}
