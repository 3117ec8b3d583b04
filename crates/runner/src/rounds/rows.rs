//! Choice of a machine's rows by a command, beside `--bench`.

use ws_machines::image::BenchmarkRow;
use ws_results::{APPLICATION, IO, IoRow};

/// Kind of rows that a command measures.
#[derive(Clone, Debug)]
pub enum RowsOf {
    /// Workloads.
    Applications,
    /// Workloads of one CPU.
    ApplicationsOfOneCpu,
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
    /// Whether the command measures rows like this at all.
    pub fn knows(&self, row: &BenchmarkRow) -> bool {
        match self {
            Self::Applications | Self::ApplicationsOfOneCpu => row.category == APPLICATION,
            Self::Devices(_) => row.category == IO && IoRow::parse(&row.name).is_some(),
        }
    }

    /// Whether the command measures this row.
    pub fn wants(&self, row: &BenchmarkRow) -> bool {
        self.knows(row)
            && match self {
                Self::Applications => true,
                Self::ApplicationsOfOneCpu => row.cpus == 1,
                Self::Devices(devices) => {
                    IoRow::parse(&row.name).is_some_and(|row| devices.want(&row))
                }
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

    fn row(name: &str, category: &str) -> BenchmarkRow {
        BenchmarkRow {
            name: name.into(),
            category: category.into(),
            ..BenchmarkRow::default()
        }
    }

    #[test]
    fn a_command_measures_its_own_kind() {
        let applications = RowsOf::Applications;
        assert!(applications.wants(&row("tcp-rr", "application")));
        assert!(!applications.wants(&row("io-qemu-d1", "io")));
        let mut two = row("apache-interrupts-one", "application");
        two.cpus = 2;
        assert!(applications.wants(&two) && !RowsOf::ApplicationsOfOneCpu.wants(&two));
        let all = RowsOf::Devices(Devices::default());
        assert!(all.wants(&row("io-qemu-d1", "io")) && !all.wants(&row("in", "io")));
        assert!(!all.knows(&row("tcp-rr", "application")));
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
            let names = [
                "io-qemu-d1",
                "io-qemu-d8-busy",
                "io-qemu-net-d8",
                "io-elvis-d1",
            ];
            let names = names.into_iter();
            let wanted = names.filter(|name| devices.wants(&row(name, "io")));
            wanted.collect::<Vec<_>>().join(" ")
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
