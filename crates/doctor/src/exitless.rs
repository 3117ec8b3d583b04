//! Checks whether this host's KVM interrupts a running vCPU without an exit. The reply of an I/O server on another CPU
//! is such an interrupt. ELVIS, section 2.4, emulates this in software; processors have had it since.

use crate::finding::{Concerns, Finding, Group, Topic};
use crate::parse::{field, has_word};
use crate::place::{Arch, Place};
use crate::sys::Sys;

const TOPIC: Topic = Topic {
    id: "kvm.exitless-interrupts",
    group: Group::Kvm,
    concerns: Concerns::Kvm,
    title: "interrupts without exits",
    why: "A CPU that can't deliver an interrupt to a running vCPU needs two exits: one to inject the interrupt, and one at its end. This concerns each reply of a back-end and each interrupt between vCPUs.",
};

/// A vendor's feature, and the parameter of KVM's module that says whether it is used.
struct Feature {
    name: &'static str,
    module: &'static str,
    parameter: &'static str,
    cpu_has_it: bool,
}

pub fn finding(sys: &dyn Sys, place: &Place) -> Finding {
    if place.arch == Arch::Arm64 {
        return TOPIC.note(
            "none for interrupts from software: a GICv4 delivers only those of assigned devices",
            None,
        );
    }
    let Some(feature) = feature(sys, place) else {
        return TOPIC.note("none: the CPU has neither VMX nor SVM", None);
    };
    let path = format!(
        "/sys/module/{}/parameters/{}",
        feature.module, feature.parameter
    );
    match sys.line(&path).as_deref() {
        Some("Y" | "1") => TOPIC.ok(feature.name),
        Some("N" | "0") if feature.cpu_has_it => TOPIC.note(
            format!("off: KVM does not use the CPU's {}", feature.name),
            Some(place.by_root(
                "load KVM's module with this setting; no VM may run meanwhile",
                &reload(&feature, place),
            )),
        ),
        Some("N" | "0") => TOPIC.note(format!("none: the CPU has no {}", feature.name), None),
        _ => TOPIC.note(
            format!("unknown: {} is not loaded, or does not say", feature.module),
            None,
        ),
    }
}

/// Returns the feature of the CPU's vendor; none without VMX and SVM. Posted interrupts are a flag of VMX, and Linux
/// lists the flags of VMX on a line of their own since 5.8. AVIC is a flag of the CPU.
fn feature(sys: &dyn Sys, place: &Place) -> Option<Feature> {
    if place.flag("vmx") {
        let cpuinfo = sys.read("/proc/cpuinfo").unwrap_or_default();
        return Some(Feature {
            name: "posted interrupts (APICv)",
            module: "kvm_intel",
            parameter: "enable_apicv",
            cpu_has_it: field(&cpuinfo, "vmx flags")
                .is_some_and(|flags| has_word(flags, "posted_intr")),
        });
    }
    place.flag("svm").then(|| Feature {
        name: "AVIC",
        module: "kvm_amd",
        parameter: "avic",
        cpu_has_it: place.flag("avic"),
    })
}

fn reload(feature: &Feature, place: &Place) -> String {
    let Feature {
        module, parameter, ..
    } = feature;
    let load = place.as_root(&format!("modprobe {module} {parameter}=1"));
    // `by_root` makes the first command root's.
    format!("modprobe -r {module} && {load}")
}
