//! Reasons why CPUs can't be used, for people.

use crate::facts::Cpus;
use crate::list::{self, Set};

/// A reason why CPUs are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The affinity mask.
    Affinity(Set),
    /// The cpuset of a control group.
    Cpuset(Option<String>, Set),
    Offline(Set),
    /// Second threads of cores, which were taken offline.
    SecondThreads(Set),
}

/// `CPU 3` or `CPUs 0-2`.
#[must_use]
pub fn named(cpus: &Set) -> String {
    match cpus.len() {
        0 => "no CPU".to_owned(),
        1 => format!("CPU {}", list::show(cpus)),
        _ => format!("CPUs {}", list::show(cpus)),
    }
}

fn one_of(cpus: &Set) -> String {
    match cpus.len() {
        1 => named(cpus),
        _ => format!("one of {}", list::show(cpus)),
    }
}

impl Limit {
    /// The CPUs that are left out.
    #[must_use]
    pub fn cpus(&self) -> &Set {
        match self {
            Self::Affinity(cpus) | Self::Cpuset(_, cpus) => cpus,
            Self::Offline(cpus) | Self::SecondThreads(cpus) => cpus,
        }
    }

    /// Describes the limit for people, with the CPUs.
    #[must_use]
    pub fn text(&self) -> String {
        let cpus = named(self.cpus());
        let are = if self.cpus().len() == 1 { "is" } else { "are" };
        match self {
            Self::Affinity(_) => {
                format!("the affinity mask (taskset, CPUAffinity=) leaves out {cpus}")
            }
            Self::Cpuset(None, _) => format!("the cpuset leaves out {cpus}"),
            Self::Cpuset(Some(group), _) => {
                format!("the cpuset of its control group {group} leaves out {cpus}")
            }
            Self::Offline(_) => format!("{cpus} {are} offline"),
            Self::SecondThreads(_) => format!("{cpus} {are} offline, as SMT is off"),
        }
    }
}

impl Cpus {
    /// Lists the limits that keep this process from CPUs of this machine; empty if it may use all.
    #[must_use]
    pub fn limits(&self) -> Vec<Limit> {
        let offline = &self.present - &self.online;
        let offline = match self.is_smt_off {
            true => Limit::SecondThreads(offline),
            false => Limit::Offline(offline),
        };
        let mut limits = vec![
            Limit::Affinity(&(&self.bindable - &self.isolated) - &self.allowed),
            Limit::Cpuset(self.group.clone(), &self.online - &self.bindable),
            offline,
        ];
        limits.retain(|limit| !limit.cpus().is_empty());
        limits
    }

    /// Checks that a thread of this process can be bound to a CPU. The error says why not, and names the usable CPUs.
    pub fn check(&self, cpu: u32) -> Result<(), String> {
        if self.bindable.contains(&cpu) {
            return Ok(());
        }
        let why = match &self.group {
            _ if !self.present.contains(&cpu) => "there is no such CPU".to_owned(),
            _ if !self.online.contains(&cpu) => "it is offline".to_owned(),
            Some(group) => format!("it is not in the cpuset of control group {group}"),
            None => "it is not in the cpuset of this process".to_owned(),
        };
        Err(format!("{why}; use {}", one_of(&self.bindable)))
    }

    /// Tells why unbound threads can't run on so many CPUs at once; none if they can.
    #[must_use]
    pub fn too_few(&self, wanted: usize) -> Option<String> {
        let count = self.allowed.len();
        if count >= wanted {
            return None;
        }
        let few = match count {
            1 => "one CPU".to_owned(),
            count => format!("{count} CPUs"),
        };
        let mut why: Vec<String> = self.limits().iter().map(Limit::text).collect();
        let isolated: Set = &(&self.isolated & &self.bindable) - &self.allowed;
        if !isolated.is_empty() {
            why.push(format!(
                "isolated CPUs must be named: --pin {}",
                list::show(&isolated)
            ));
        }
        if why.is_empty() {
            why.push("this machine has no more".to_owned());
        }
        Some(format!(
            "this program can use {few} ({}): {}",
            list::show(&self.allowed),
            why.join("; ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::{self, Made};
    use proptest::prelude::*;

    fn of(made: Made) -> (Cpus, Vec<String>) {
        let cpus = made.cpus();
        let limits = cpus.limits().iter().map(Limit::text).collect();
        (cpus, limits)
    }

    #[test]
    fn every_limit_has_its_reason() {
        let four = || Made::new("0-3");
        assert_eq!(of(four()).1, [""; 0]);
        let (cpus, limits) = of(four().affinity("0"));
        assert_eq!(
            limits,
            ["the affinity mask (taskset, CPUAffinity=) leaves out CPUs 1-3"]
        );
        assert_eq!(cpus.usable(), Set::from([0]));
        // A thread may still be bound to the others.
        assert_eq!(cpus.bindable, Set::from([0, 1, 2, 3]));
        let (cpus, limits) = of(four().group("/a/b", "/a", "1"));
        assert_eq!(
            limits,
            ["the cpuset of its control group /a leaves out CPUs 0,2-3"]
        );
        assert_eq!((cpus.allowed.len(), cpus.bindable.len()), (1, 1));
        let (_, limits) = of(four().present("0-5"));
        assert_eq!(limits, ["CPUs 4-5 are offline"]);
        let (_, limits) = of(four().present("0-4").smt_off());
        assert_eq!(limits, ["CPU 4 is offline, as SMT is off"]);
        let all = four().present("0-4").group("/a", "/a", "0-1").affinity("1");
        assert_eq!(of(all).1.len(), 3);
        // Isolated CPUs are in no affinity mask, and can be used.
        let (cpus, limits) = of(four().isolated("2-3").affinity("0-1"));
        assert!(limits.is_empty(), "{limits:?}");
        assert_eq!(cpus.usable().len(), 4);
        let (cpus, limits) = of(Made::new("0-1").isolated("1").affinity("0"));
        assert!(limits.is_empty(), "{limits:?}");
        assert!(cpus.too_few(2).unwrap().contains("--pin 1"));
    }

    #[test]
    fn a_cpu_that_cannot_be_used_has_its_reason_and_the_others() {
        let cpus = Made::new("0-3")
            .present("0-4")
            .group("/a", "/a", "0-1")
            .cpus();
        assert_eq!(cpus.check(1), Ok(()));
        let why = |cpu| cpus.check(cpu).unwrap_err();
        assert_eq!(
            why(2),
            "it is not in the cpuset of control group /a; use one of 0-1"
        );
        assert_eq!(why(4), "it is offline; use one of 0-1");
        assert_eq!(why(99), "there is no such CPU; use one of 0-1");
        let one = Made::new("0").cpus().check(1).unwrap_err();
        assert_eq!(one, "there is no such CPU; use CPU 0");
        // taskset is no reason: a thread may be bound elsewhere.
        assert_eq!(Made::new("0-3").affinity("0").cpus().check(3), Ok(()));
    }

    #[test]
    fn this_host_agrees_with_its_kernel() {
        let cpus = Cpus::here();
        for cpu in (0..8).chain([1000, u32::MAX]) {
            assert_eq!(
                cpus.check(cpu).is_ok(),
                crate::may_use(cpu).is_ok(),
                "CPU {cpu}"
            );
        }
        assert_eq!(cpus.allowed, crate::allowed(None).unwrap());
        let files = Cpus::read(&|path| std::fs::read_to_string(path).ok());
        assert!(files.allowed.is_subset(&cpus.online));
    }

    proptest! {
        /// For any masks: what can't be used is explained, each CPU once, and never all of them.
        #[test]
        fn all_cpus_are_usable_or_left_out_for_one_reason(
            online: u8, present: u8, affinity: u8, cpuset: u8, isolated: u8, host in 0..made::ALL,
        ) {
            let text = |mask: u8| list::show(&(0..8).filter(|cpu| mask >> cpu & 1 == 1).collect());
            let made = made::host(host);
            let cpus = made.file("/sys/devices/system/cpu/online", &text(online))
                .present(&text(present)).affinity(&text(affinity))
                .group("/x", "/x", &text(cpuset)).isolated(&text(isolated)).cpus();
            let mut seen = cpus.usable();
            prop_assert!(!seen.is_empty() && !cpus.allowed.is_empty());
            for limit in cpus.limits() {
                prop_assert!(seen.is_disjoint(limit.cpus()), "{:?} {limit:?}", cpus);
                seen.extend(limit.cpus());
            }
            prop_assert_eq!(&seen, &cpus.present);
            for cpu in 0..9 {
                prop_assert_eq!(cpus.check(cpu).is_ok(), cpus.bindable.contains(&cpu));
            }
            for wanted in 1..5 {
                prop_assert_eq!(cpus.too_few(wanted).is_some(), cpus.allowed.len() < wanted);
            }
        }
    }
}
