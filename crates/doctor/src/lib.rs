//! `worldswitch doctor`: checks a host for platforms that can't be used and for disturbances of a measurement, and
//! names the cures.
//!
//! Pure: makes a [`Report`] from the files of a host ([`Sys`]) and the caller's own findings ([`Around`]). Nothing is
//! started, opened for writing, or changed. Any file content gives a report, with the same findings in the same order
//! on every host. `docs/doctor.md` describes the report, `docs/doctor-schema.json` is its JSON Schema.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod below;
mod clock;
mod cpuid;
mod cpus;
mod exitless;
mod finding;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod hosts_fuzz;
#[cfg(test)]
mod hosts_tests;
mod isolation;
mod kvm;
mod load;
mod memory;
mod parse;
mod place;
mod processor;
mod root;
mod schema;
#[cfg(test)]
mod snapshot;
mod sys;
mod text;
mod tools;

pub use cpuid::hypervisor_signature;
pub use finding::{Concerns, Cure, Finding, Group, Here, Host, Report, SCHEMA, Severity};
pub use kvm::Probe;
pub use root::Root;
pub use schema::schema;
pub use sys::{Node, Sys};
pub use text::{long, short};
pub use tools::Tools;

use below::Below;
use place::Place;
use ws_cpus::list::Set;

/// Facts that the caller found out and that are not in files.
#[derive(Clone, Debug)]
pub struct Around {
    /// Programs and images.
    pub tools: Tools,
    /// The result of running a guest in `/dev/kvm`.
    pub probe: Probe,
    /// Result of [`hypervisor_signature`].
    pub signature: Option<String>,
    /// The text of `/proc/stat` some 100 ms ago: the difference gives the current load.
    pub earlier_stat: Option<String>,
}

/// Checks a host.
pub fn examine(sys: &dyn Sys, around: &Around) -> Report {
    let place = Place::of(sys);
    let below = Below::of(sys, &place, around.signature.as_deref());
    let virtual_machine = below.is_virtual_machine();
    let mut findings = tools::findings(sys, &place, &around.tools);
    findings.extend(kvm::findings(sys, &place, virtual_machine, &around.probe));
    findings.extend(cpus::findings(&place));
    findings.extend(processor::findings(sys, &place, virtual_machine));
    findings.extend(isolation::findings(&place));
    findings.push(below.finding());
    findings.extend(clock::findings(sys, &place, virtual_machine));
    findings.extend(load::findings(sys, &place, around.earlier_stat.as_deref()));
    findings.extend(memory::findings(sys, &place));
    let cpuinfo = sys.read("/proc/cpuinfo").unwrap_or_default();
    let worst = findings.iter().map(|finding| finding.severity).max();
    let count = |cpus: &Set| u32::try_from(cpus.len()).unwrap_or(u32::MAX);
    Report {
        schema: SCHEMA.to_owned(),
        host: Host {
            kernel: sys.line("/proc/sys/kernel/osrelease").unwrap_or_default(),
            cpu: parse::short(parse::field(&cpuinfo, "model name").unwrap_or_default()),
            cpus: count(&place.cpus.online),
            usable: count(&place.cpus.usable()),
            container: place.container,
            administrator: place.administrator,
        },
        worst: worst.unwrap_or(Severity::Ok),
        findings,
    }
}
