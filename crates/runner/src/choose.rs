//! Choice of a run's platforms, its baseline, and the CPUs of vCPU threads.

use crate::spec::RunSpec;
use anyhow::bail;
use std::collections::BTreeSet;
use ws_cpus::Cpus;
use ws_machines::image::BenchmarkRow;
use ws_machines::name::PlatformName;
use ws_machines::pin;
use ws_machines::platforms::{self, Usable};
use ws_machines::resources::Resources;
use ws_terminal::{Usage, output};

/// Most vCPUs that a row of the suite needs.
const VCPUS_OF_THE_SUITE: usize = 2;

/// Returns the platforms of the spec, or the usable ones of the default set.
///
/// # Errors
/// A platform is named twice or can't be used, or none of the default set is usable.
pub fn platforms(spec: &RunSpec, resources: &Resources) -> anyhow::Result<Vec<PlatformName>> {
    let named = &spec.platforms;
    if !named.is_empty() {
        let mut seen = BTreeSet::new();
        if let Some(twice) = named.iter().find(|name| !seen.insert(name.to_string())) {
            bail!(Usage(format!(
                "platform {twice} is named twice: use --boots N to boot it more often"
            )));
        }
        for name in named {
            let platform = platforms::check(name, resources).map_err(|e| Usage(e.to_string()))?;
            if let (true, Err(why)) = (spec.parameters.external, platforms::external(&platform)) {
                bail!(Usage(format!("--external can't time {name}: {why}")));
            }
        }
        return Ok(named.clone());
    }
    let mut usable = Vec::new();
    let mut missing = Vec::new();
    for platform in platforms::all(resources)?
        .iter()
        .filter(|platform| platform.default)
    {
        match platforms::usable(platform, resources) {
            Usable::Yes => match platforms::external(platform) {
                Err(why) if spec.parameters.external => {
                    missing.push(format!(
                        "{}: --external can't time it: {why}",
                        platform.name
                    ));
                }
                _ => usable.push(platform.name.parse()?),
            },
            Usable::Software => missing.push(format!(
                "{0}: a software KVM, without VMX or SVM: its figures and counts say nothing about hardware; --on {0} runs it",
                platform.name
            )),
            Usable::No(why) => missing.push(format!("{}: {why}", platform.name)),
            Usable::Depends => {}
        }
    }
    if usable.is_empty() {
        bail!("no platform is usable here\n{}", missing.join("\n"));
    }
    for why in missing {
        output::remark(&format!("left out: {why}"));
    }
    Ok(usable)
}

/// Returns the name of the base, which must be a platform of the run.
pub fn base(spec: &RunSpec, names: &[PlatformName]) -> anyhow::Result<Option<String>> {
    let Some(base) = &spec.base else {
        return Ok(None);
    };
    if !names.contains(base) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        bail!(Usage(format!(
            "--base {base} is not one of the platforms of this run ({})",
            names.join(", ")
        )));
    }
    Ok(Some(base.to_string()))
}

/// The host CPUs of vCPU threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// CPU of each vCPU; empty: not pinned.
    pub cpus: Vec<u32>,
    /// Message about the pinning.
    pub told: String,
}

/// Returns the CPUs of `--pin`. Without it, isolated ones, or those of one kind on a host that has several, if there
/// are enough.
pub fn pins(spec: &RunSpec) -> anyhow::Result<Pins> {
    let host = Cpus::here();
    let Some(cpus) = &spec.pin else {
        let wanted = spec.smp.map_or(VCPUS_OF_THE_SUITE, |smp| smp as usize);
        return Ok(chosen(&host, wanted));
    };
    for cpu in cpus {
        if let Err(why) = host.check(*cpu) {
            bail!(Usage(format!("--pin: CPU {cpu} can't be used here: {why}")));
        }
    }
    Ok(Pins {
        cpus: cpus.clone(),
        told: format!("vCPU threads are pinned to CPUs {}", pin::list(cpus)),
    })
}

/// Chooses `wanted` CPUs of one kind. Isolated ones are preferred; on a host of several kinds others are taken too,
/// where possible not CPU 0, which has most interrupts. Otherwise threads are not pinned.
fn chosen(host: &Cpus, wanted: usize) -> Pins {
    let told = |cpus: &[u32], why: &str| {
        let cpus = pin::list(cpus);
        format!("vCPU threads are pinned to CPUs {cpus}, {why}; --pin chooses others")
    };
    let isolated = &host.isolated & &host.bindable;
    if let Some(cpus) = host.pick(&isolated, wanted) {
        return Pins {
            told: told(&cpus, "which are isolated on this host"),
            cpus,
        };
    }
    if host.kinds_among(&host.allowed).len() < 2 {
        return Pins::default();
    }
    let quiet = &host.allowed - &[0].into();
    let fastest = |cpus: &[u32]| {
        host.alike(&host.allowed, wanted)
            .is_superset(&cpus.iter().copied().collect())
    };
    let cpus = host.pick(&quiet, wanted).filter(|cpus| fastest(cpus));
    match cpus.or_else(|| host.pick(&host.allowed, wanted)) {
        Some(cpus) => Pins {
            told: told(&cpus, "which are of one kind: this host has several"),
            cpus,
        },
        None => Pins::default(),
    }
}

/// Checks that every vCPU gets a CPU.
pub fn check_pins<'a>(
    spec: &RunSpec,
    pins: &[u32],
    rows: impl Iterator<Item = &'a BenchmarkRow>,
) -> anyhow::Result<()> {
    let most = rows.map(|row| spec.smp.unwrap_or(row.cpus)).max();
    let most = most.unwrap_or(0) as usize;
    if !pins.is_empty() && pins.len() < most {
        bail!(Usage(format!(
            "--pin names CPUs {}, but machines of this run have up to {most} vCPUs: name as many CPUs with --pin, or choose benchmarks that need fewer vCPUs",
            pin::list(pins)
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host of eight CPUs with these files too.
    fn host(files: &[(&str, &str)]) -> Cpus {
        Cpus::read(&|path| {
            let online = [("/sys/devices/system/cpu/online", "0-7")];
            let mut all = files.iter().chain(&online);
            let (_, text) = all.find(|(file, _)| *file == path)?;
            Some((*text).to_owned())
        })
    }

    const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
    const P_CORES: (&str, &str) = ("/sys/devices/cpu_core/cpus", "0-3");
    const E_CORES: (&str, &str) = ("/sys/devices/cpu_atom/cpus", "4-7");

    #[test]
    fn isolated_cpus_are_taken_where_there_are_enough() {
        assert_eq!(chosen(&host(&[]), 2), Pins::default());
        assert_eq!(chosen(&host(&[(ISOLATED, "3")]), 2), Pins::default());
        let pins = chosen(&host(&[(ISOLATED, "2-4")]), 2);
        assert_eq!(pins.cpus, [2, 3]);
        assert!(pins.told.contains("2,3, which are isolated"));
        // Two threads of one core would slow down each other.
        let threads = "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list";
        let pins = chosen(&host(&[(ISOLATED, "2-4"), (threads, "2-3")]), 2);
        assert_eq!(pins.cpus, [2, 4]);
    }

    #[test]
    fn on_a_host_of_two_kinds_all_vcpus_are_on_one() {
        let pins = |files: &[(&str, &str)], wanted| chosen(&host(files), wanted).cpus;
        assert_eq!(pins(&[P_CORES, E_CORES], 2), [1, 2]);
        assert_eq!(pins(&[P_CORES, E_CORES], 4), [0, 1, 2, 3]);
        assert_eq!(pins(&[P_CORES, E_CORES], 5), [0; 0]);
        assert_eq!(pins(&[P_CORES, E_CORES, (ISOLATED, "3-5")], 2), [4, 5]);
        // One of each kind is isolated.
        assert_eq!(pins(&[P_CORES, E_CORES, (ISOLATED, "3-4")], 2), [1, 2]);
        const BOUND: (&str, &str) = ("/proc/self/status", "Cpus_allowed_list:\t3-7");
        assert_eq!(pins(&[P_CORES, E_CORES, BOUND], 2), [4, 5]);
        const ALIKE: (&str, &str) = ("/proc/self/status", "Cpus_allowed_list:\t4-7");
        assert_eq!(pins(&[P_CORES, E_CORES, ALIKE], 2), [0; 0]);
    }
}
