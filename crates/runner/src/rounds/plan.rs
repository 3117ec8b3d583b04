//! Launches of a boot, and the guest's command line.
//!
//! Pure: no machine, no clock.

use std::num::NonZeroU64;
use ws_machines::hypercall::Hypercall;
use ws_machines::image::BenchmarkRow;
use ws_machines::machine::Description;

/// Bytes of the longest command line that the guest reads.
const COMMAND_LINE_BYTES_MAX: usize = 2047;

/// A launch that is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub vcpus: u32,
    /// CPUs of the machine that runs the guest's VM.
    pub host_cpus: u32,
    /// Name of the guest's VM among the machine's; empty where there is only one.
    pub vm: String,
    /// Names of benchmarks, in the image's order.
    pub rows: Vec<String>,
}

/// Page size of the memory that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Size4K,
    Size2M,
    Size1G,
}

impl Page {
    /// Word of the page size on the guest's command line.
    pub fn word(self) -> &'static str {
        match self {
            Page::Size4K => "4k",
            Page::Size2M => "2m",
            Page::Size1G => "1g",
        }
    }
}

/// Way in which an x86 guest accesses its local APIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apic {
    /// Memory-mapped registers.
    Xapic,
    /// Model-specific registers.
    X2apic,
}

impl Apic {
    /// Word of the way on the guest's command line, and in `hello`.
    pub fn word(self) -> &'static str {
        match self {
            Apic::Xapic => "xapic",
            Apic::X2apic => "x2apic",
        }
    }
}

/// The user's parameters for the guest, the same for every launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    pub samples: Option<u64>,
    pub iters: Option<u64>,
    pub page: Option<Page>,
    pub ws_bytes: Option<u64>,
    pub pad: Option<u64>,
    pub apic: Option<Apic>,
    /// Whether the guest sends marks, so that the host can time it from outside.
    pub external: bool,
    /// Seed of the boot: the guest derives from it which loop is first and where data lie, and runs rows in the given
    /// order.
    pub seed: Option<NonZeroU64>,
}

/// Plans the launches of a boot. Rows that need the same VM and numbers of CPUs are together, the fewest vCPUs first;
/// with `smp`, all rows have so many vCPUs. `rows` stay in their order. `apart`: each row is in a launch of its own.
pub fn launches(rows: &[&BenchmarkRow], smp: Option<u32>, apart: bool) -> Vec<Planned> {
    let empty = |row: &BenchmarkRow| Planned {
        vcpus: smp.unwrap_or(row.cpus),
        host_cpus: row.host_cpus,
        vm: row.vm.clone(),
        rows: Vec::new(),
    };
    let mut launches: Vec<Planned> = Vec::new();
    for row in rows {
        let launch = empty(row);
        if !launches.contains(&launch) {
            launches.push(launch);
        }
    }
    launches.sort_by_key(|launch| (launch.vcpus, launch.host_cpus));
    launches
        .into_iter()
        .flat_map(|launch| {
            let names = rows.iter().filter(|row| empty(row) == launch);
            let names: Vec<String> = names.map(|row| row.name.clone()).collect();
            split(&launch, names, apart)
        })
        .collect()
}

/// Splits rows into launches whose names fit on a command line, or of one row each.
fn split(empty: &Planned, names: Vec<String>, apart: bool) -> Vec<Planned> {
    // The rest of the command line is far shorter than 512 bytes.
    const NAMES_BYTES_MAX: usize = COMMAND_LINE_BYTES_MAX - 512;
    let mut launches: Vec<Planned> = Vec::new();
    let mut bytes = 0;
    for name in names {
        bytes += name.len() + 1;
        match launches.last_mut() {
            Some(last) if bytes <= NAMES_BYTES_MAX && !apart => last.rows.push(name),
            _ => {
                bytes = name.len() + 1;
                launches.push(Planned {
                    rows: vec![name],
                    ..empty.clone()
                });
            }
        }
    }
    launches
}

/// A machine's parameters for its guest, the same for every launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub unit: &'static str,
    pub hypercall: Hypercall,
    pub doorbell: Option<u64>,
    /// Further words of the command line.
    pub words: &'static [&'static str],
}

impl Asked {
    /// Takes the parameters of this machine.
    pub fn by(machine: &Description) -> Self {
        Self {
            unit: machine.unit.unwrap_or("tsc_ticks"),
            hypercall: Hypercall::answered_by(machine.engine),
            doorbell: machine.doorbell,
            words: machine.words,
        }
    }
}

/// Makes the guest's command line for a launch.
pub fn command_line(
    planned: &Planned,
    parameters: &Parameters,
    asked: Asked,
    nonce: &str,
) -> String {
    let mut words = vec![
        match parameters.seed {
            Some(_) => format!("rows={}", planned.rows.join(",")),
            None => format!("bench=^({})$", planned.rows.join("|")),
        },
        format!("unit={}", asked.unit),
        format!("smp={}", planned.vcpus),
        format!("hypercall={}", asked.hypercall.word()),
        format!("nonce={nonce}"),
    ];
    words.extend(asked.doorbell.map(|port| format!("doorbell={port:#x}")));
    words.extend(asked.words.iter().map(|word| (*word).to_owned()));
    let mut number = |key: &str, value: Option<u64>| {
        words.extend(value.map(|value| format!("{key}={value}")));
    };
    number("samples", parameters.samples);
    number("iters", parameters.iters);
    number("ws", parameters.ws_bytes);
    number("pad", parameters.pad);
    number("seed", parameters.seed.map(NonZeroU64::get));
    words.extend(parameters.page.map(|page| format!("page={}", page.word())));
    words.extend(parameters.apic.map(|apic| format!("apic={}", apic.word())));
    words.extend(parameters.external.then(|| "external=1".to_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{qemu, vmm};
    use ws_machines::machine::{Engine, Machine};

    fn row(name: &str, cpus: u32) -> BenchmarkRow {
        BenchmarkRow {
            name: name.into(),
            cpus,
            host_cpus: 1,
            ..BenchmarkRow::default()
        }
    }

    fn planned(vcpus: u32, rows: &[&str]) -> Planned {
        Planned {
            vcpus,
            host_cpus: 1,
            vm: String::new(),
            rows: rows.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn asked(unit: &'static str) -> Asked {
        Asked {
            unit,
            hypercall: Hypercall::None,
            doorbell: None,
            words: &[],
        }
    }

    #[test]
    fn rows_run_on_as_few_vcpus_as_they_need() {
        let rows = [row("a", 1), row("ipi", 2), row("b", 1)];
        let rows: Vec<_> = rows.iter().collect();
        assert_eq!(
            launches(&rows, None, false),
            [planned(1, &["a", "b"]), planned(2, &["ipi"])]
        );
        assert_eq!(
            launches(&rows, Some(4), false),
            [planned(4, &["a", "ipi", "b"])]
        );
        assert_eq!(launches(&[], None, false), []);
        assert_eq!(
            launches(&rows, None, true),
            [planned(1, &["a"]), planned(1, &["b"]), planned(2, &["ipi"])]
        );
    }

    #[test]
    fn rows_that_need_other_machines_are_launched_apart() {
        let on = |name, vm: &str| BenchmarkRow {
            host_cpus: 3,
            vm: vm.into(),
            ..row(name, 1)
        };
        let rows = [
            on("x", "x"),
            on("io", ""),
            row("a", 1),
            row("two", 2),
            on("y", "x"),
        ];
        let rows: Vec<_> = rows.iter().collect();
        let io = |vm: &str, rows: &[&str]| Planned {
            host_cpus: 3,
            vm: vm.into(),
            ..planned(1, rows)
        };
        assert_eq!(
            launches(&rows, None, false),
            [
                planned(1, &["a"]),
                io("x", &["x", "y"]),
                io("", &["io"]),
                planned(2, &["two"])
            ]
        );
    }

    #[test]
    fn command_lines_say_what_was_asked_and_no_more() {
        let launch = planned(2, &["set-cr3", "in"]);
        assert_eq!(
            command_line(&launch, &Parameters::default(), asked("insns"), "ab12"),
            "bench=^(set-cr3|in)$ unit=insns smp=2 hypercall=none nonce=ab12"
        );
        let all = Parameters {
            samples: Some(5),
            iters: Some(100),
            page: Some(Page::Size2M),
            ws_bytes: Some(4096),
            pad: Some(8),
            apic: Some(Apic::Xapic),
            external: true,
            seed: None,
        };
        assert_eq!(
            command_line(&launch, &all, asked("tsc_ticks"), "0"),
            "bench=^(set-cr3|in)$ unit=tsc_ticks smp=2 hypercall=none nonce=0 samples=5 iters=100 ws=4096 pad=8 page=2m apic=xapic external=1"
        );
    }

    #[test]
    fn a_boot_with_a_seed_names_its_rows_in_their_order() {
        let parameters = Parameters {
            seed: NonZeroU64::new(7),
            ..Parameters::default()
        };
        assert_eq!(
            command_line(
                &planned(1, &["in", "cpuid"]),
                &parameters,
                asked("tsc_ticks"),
                "0"
            ),
            "rows=in,cpuid unit=tsc_ticks smp=1 hypercall=none nonce=0 seed=7"
        );
    }

    #[test]
    fn hypercalls_and_the_doorbell_are_as_the_machine_has_them() {
        let asked = Asked {
            unit: "tsc_ticks",
            hypercall: Hypercall::Kvm,
            doorbell: Some(0x510),
            words: &["print=0x3e8"],
        };
        assert_eq!(
            command_line(&planned(1, &["in"]), &Parameters::default(), asked, "7"),
            "bench=^(in)$ unit=tsc_ticks smp=1 hypercall=kvm nonce=7 doorbell=0x510 print=0x3e8"
        );
    }

    /// The word after `hypercall=` for each platform that may run on KVM.
    fn words(engine: Engine) -> Vec<&'static str> {
        let machines: [Box<dyn Machine>; 3] = [
            Box::new(qemu(None)),
            Box::new(qemu(Some(engine))),
            Box::new(vmm(engine)),
        ];
        machines
            .iter()
            .map(|machine| Asked::by(machine.description()).hypercall.word())
            .collect()
    }

    #[test]
    fn no_platform_makes_hypercalls_on_a_software_kvm() {
        assert_eq!(words(Engine::SoftwareKvm), ["none"; 3]);
        assert_eq!(words(Engine::HardwareKvm), ["none", "kvm", "kvm"]);
    }

    #[test]
    fn many_rows_are_split_so_that_no_command_line_is_too_long() {
        let rows: Vec<_> = (0..200).map(|i| row(&format!("{i:0>60}"), 1)).collect();
        let launches = launches(&rows.iter().collect::<Vec<_>>(), None, false);
        let all = Parameters {
            samples: Some(u64::MAX),
            iters: Some(u64::MAX),
            page: Some(Page::Size4K),
            ws_bytes: Some(u64::MAX),
            pad: Some(u64::MAX),
            apic: Some(Apic::X2apic),
            external: true,
            seed: NonZeroU64::new(u64::MAX),
        };
        for launch in &launches {
            let line = command_line(
                launch,
                &all,
                Asked {
                    doorbell: Some(u64::MAX),
                    ..asked("tsc_ticks")
                },
                "ffffffffffffffff",
            );
            assert!(line.len() <= COMMAND_LINE_BYTES_MAX, "{}", line.len());
        }
        assert_eq!(launches.iter().map(|l| l.rows.len()).sum::<usize>(), 200);
        assert!(launches.len() < 12);
    }
}
