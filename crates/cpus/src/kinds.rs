//! Kinds of cores: CPUs of one machine that differ in speed. Files are from the kernel's
//! Documentation/ABI/testing/sysfs-devices-system-cpu and sysfs-bus-event_source-devices.

use crate::list::{self, Set};

const CPU: &str = "/sys/devices/system/cpu";

/// Performance monitors of Intel's hybrid processors, one for each kind of core; the fastest first.
const MONITORS: [(&str, &str); 3] = [
    ("cpu_core", "performance"),
    ("cpu_atom", "efficiency"),
    ("cpu_lowpower", "low-power"),
];

/// Least ratio of speeds, by capacity or highest frequency, of two CPUs of one kind: the best cores of one kind get a
/// few percent more.
const ALIKE: f64 = 0.9;

/// CPUs of one speed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name for people: `performance`, `capacity 1024`, `up to 5.1 GHz`.
    pub name: String,
    /// Online CPUs of the kind.
    pub cpus: Set,
}

/// Returns the kinds of these CPUs, the fastest first where that is known; one kind if the host shows no difference.
pub fn read(read: &dyn Fn(&str) -> Option<String>, online: &Set) -> Vec<Kind> {
    let ways = [monitors, capacities, frequencies, models];
    let found = ways.iter().map(|way| way(read, online));
    let several = found.into_iter().find(|kinds| kinds.len() > 1);
    several.unwrap_or_else(|| {
        vec![Kind {
            name: "one kind".to_owned(),
            cpus: online.clone(),
        }]
    })
}

type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

fn monitors(read: Read, online: &Set) -> Vec<Kind> {
    let kind = |(monitor, name): (&str, &str)| {
        let cpus = list::parse(&read(&format!("/sys/devices/{monitor}/cpus"))?)?;
        Some(Kind {
            name: name.to_owned(),
            cpus: cpus.intersection(online).copied().collect(),
        })
    };
    let mut kinds: Vec<Kind> = MONITORS.into_iter().filter_map(kind).collect();
    let known: Set = kinds.iter().flat_map(|kind| kind.cpus.clone()).collect();
    kinds.push(Kind {
        name: "other".to_owned(),
        cpus: online - &known,
    });
    kinds.retain(|kind| !kind.cpus.is_empty());
    kinds
}

/// Kinds by capacity, on Arm and RISC-V: 1024 is the fastest CPU at its highest frequency.
fn capacities(read: Read, online: &Set) -> Vec<Kind> {
    by_speed(read, online, "cpu_capacity", |capacity| {
        format!("capacity {capacity}")
    })
}

fn frequencies(read: Read, online: &Set) -> Vec<Kind> {
    by_speed(read, online, "cpufreq/cpuinfo_max_freq", |khz| {
        format!("up to {:.1} GHz", khz as f64 / 1e6)
    })
}

fn by_speed(read: Read, online: &Set, file: &str, name: fn(u64) -> String) -> Vec<Kind> {
    let speed = |cpu: &u32| {
        let speed = read(&format!("{CPU}/cpu{cpu}/{file}"))?;
        let speed: u64 = speed.trim().parse().ok()?;
        (speed > 0).then_some((speed, *cpu))
    };
    // A CPU of unknown speed can't be compared with the others.
    let Some(mut speeds) = online.iter().map(speed).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    speeds.sort_unstable_by_key(|(speed, cpu)| (std::cmp::Reverse(*speed), *cpu));
    let mut kinds: Vec<Kind> = Vec::new();
    let mut fastest = 0;
    for (speed, cpu) in speeds {
        match kinds.last_mut() {
            Some(kind) if speed as f64 >= fastest as f64 * ALIKE => {
                kind.cpus.insert(cpu);
            }
            _ => {
                fastest = speed;
                kinds.push(Kind {
                    name: name(speed),
                    cpus: [cpu].into(),
                });
            }
        }
    }
    kinds
}

/// Kinds by model, on Arm: implementer and part number of MIDR_EL1. In the order of their first CPUs, as no speed is
/// known.
fn models(read: Read, online: &Set) -> Vec<Kind> {
    const MODEL: u64 = 0xff00_fff0;
    let mut kinds: Vec<Kind> = Vec::new();
    for cpu in online {
        let midr = read(&format!("{CPU}/cpu{cpu}/regs/identification/midr_el1"));
        let midr = midr
            .and_then(|midr| u64::from_str_radix(midr.trim().trim_start_matches("0x"), 16).ok());
        let Some(midr) = midr else {
            return Vec::new();
        };
        let name = format!("model {:#010x}", midr & MODEL);
        match kinds.iter_mut().find(|kind| kind.name == name) {
            Some(kind) => {
                kind.cpus.insert(*cpu);
            }
            None => kinds.push(Kind {
                name,
                cpus: [*cpu].into(),
            }),
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use crate::list::show;
    use crate::made::{self, Made};

    fn shown(made: &Made) -> Vec<String> {
        let kinds = made.cpus().kinds;
        let shown = kinds
            .iter()
            .map(|kind| format!("{} {}", show(&kind.cpus), kind.name));
        shown.collect()
    }

    #[test]
    fn every_way_by_which_a_host_shows_its_kinds() {
        assert_eq!(shown(&Made::new("0-3")), ["0-3 one kind"]);
        let hybrid = made::host(1);
        assert_eq!(shown(&hybrid), ["0-7 performance", "8-11 efficiency"]);
        let three = hybrid.file("/sys/devices/cpu_lowpower/cpus", "11");
        let three = three.file("/sys/devices/cpu_atom/cpus", "8-9");
        assert_eq!(
            shown(&three),
            [
                "0-7 performance",
                "8-9 efficiency",
                "11 low-power",
                "10 other"
            ]
        );
        // The efficient ones are offline.
        let alike = made::host(1).file("/sys/devices/system/cpu/online", "0-7");
        assert_eq!(shown(&alike), ["0-7 one kind"]);
        assert_eq!(
            shown(&made::host(2)),
            ["4-5 capacity 1024", "0-3 capacity 430"]
        );
        assert_eq!(
            shown(&made::host(4)),
            ["0-3 up to 5.1 GHz", "4-5 up to 3.3 GHz"]
        );
        let midr = |made: Made, cpu: u32, midr: &str| {
            let file = format!("/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
            made.file(&file, midr)
        };
        let models = midr(Made::new("0-1"), 0, "0x00000000410fd034");
        // One that is not known can't be compared.
        assert_eq!(shown(&models), ["0-1 one kind"]);
        let same = midr(models.clone(), 1, "0x00000000410fd031");
        assert_eq!(shown(&same), ["0-1 one kind"]);
        let other = midr(models, 1, "0x00000000411fd0b0");
        assert_eq!(shown(&other), ["0 model 0x4100d030", "1 model 0x4100d0b0"]);
        let broken = made::host(2).file("/sys/devices/system/cpu/cpu0/cpu_capacity", "many");
        assert_eq!(shown(&broken), ["0-5 one kind"]);
    }
}
