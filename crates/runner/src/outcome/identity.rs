//! Identity of a result: everything that its figures depend on, from the platform and from the guest's `hello`.

use serde_json::json;
use ws_records::Hello;
use ws_results::{Facts, Identity};

/// Completes the platform's identity with the run's facts and the guest's `hello`.
pub fn complete(
    mut identity: Identity,
    platform: &str,
    image_sha256: Option<&str>,
    hello: Option<&Hello>,
) -> Identity {
    let (unit, arch) = (hello.map(|h| &h.unit), hello.map(|h| &h.arch));
    let counts = unit.is_some_and(|unit| unit == "insns");
    let hello = hello.cloned().unwrap_or_default();
    if identity.facts.is_empty() {
        identity.facts = Facts::named(platform);
    }
    let Identity {
        subject,
        conditions,
        ..
    } = &mut identity;
    subject.insert("platform".into(), json!(platform));
    subject.insert("guest".into(), json!(hello.guest));
    subject.insert("boot_protocol".into(), json!(hello.boot));
    subject.insert("apic".into(), json!(hello.apic));
    let compiler = hello
        .compiler
        .as_ref()
        .map(|c| ("compiler".into(), json!(c)));
    subject.extend(compiler);
    let level = hello.exception_level.as_ref();
    subject.extend(level.map(|level| ("exception_level".into(), json!(level))));
    if hello.external {
        subject.insert("timed_from_outside".into(), json!(true));
    }
    let hypervisor = match hello.hypervisor.as_deref() {
        Some("") => Some("none seen by the guest"),
        other => other,
    };
    subject.insert("hypervisor".into(), json!(hypervisor));
    if let Some(sha256) = image_sha256 {
        subject.insert("guest_image_sha256".into(), json!(sha256));
    }
    conditions.insert("unit".into(), json!(unit));
    conditions.insert("arch".into(), json!(arch));
    conditions.insert("cpu".into(), json!(hello.cpu));
    conditions.insert("clock".into(), json!(hello.clock));
    conditions.insert("pad".into(), json!(hello.pad));
    if !counts {
        // The seed itself is not a condition: it differs from boot to boot.
        let order = match hello.seed {
            None => "as in the image",
            Some(_) => "by a boot's seed",
        };
        conditions.insert("order".into(), json!(order));
    }
    // The guest's usable memory depends on the firmware. If the machine's memory is known, that is the condition, and
    // the usable memory is not.
    let place = match conditions.contains_key("memory_mib") {
        true => &mut *subject,
        false => &mut *conditions,
    };
    place.insert("memory_bytes".into(), json!(hello.memory_bytes));
    add_frequency(&mut identity, &hello, counts);
    identity
}

/// Adds the clock's frequency: as a condition if it is exact (instructions are counted, or the CPU states it). A
/// frequency that the guest measured differs a little in every boot, so boots could never agree on it.
fn add_frequency(identity: &mut Identity, hello: &Hello, counts: bool) {
    let from = hello.clock_hz_from.as_deref();
    let place = match counts || matches!(from, Some("cpuid" | "cntfrq")) {
        true => &mut identity.conditions,
        false => &mut identity.subject,
    };
    place.insert("clock_hz".into(), json!(hello.clock_hz));
    let from = json!(from);
    identity.subject.insert("clock_hz_from".into(), from);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(unit: &str, from: &str) -> Hello {
        let value = json!({"protocol": 1, "unit": unit, "arch": "x86_64", "cpus": 1, "cpu": "QEMU",
            "hypervisor": "", "clock": "tsc", "clock_hz": 1_000_000_000u64, "clock_hz_from": from, "pad": 0});
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_hello_becomes_subject_and_conditions() {
        let hello = hello("insns", "pit");
        let identity = complete(Identity::default(), "lab:native", Some("ab"), Some(&hello));
        assert_eq!(identity.subject["platform"], "lab:native");
        assert_eq!(identity.subject["hypervisor"], "none seen by the guest");
        assert_eq!(identity.subject["guest_image_sha256"], "ab");
        assert_eq!(identity.conditions["unit"], "insns");
        assert_eq!(identity.conditions["clock_hz"], 1_000_000_000u64);
    }

    #[test]
    fn a_measured_frequency_is_no_condition() {
        let of = |from| {
            complete(
                Identity::default(),
                "x",
                None,
                Some(&hello("tsc_ticks", from)),
            )
        };
        assert!(!of("pit").conditions.contains_key("clock_hz"));
        assert!(of("pit").subject.contains_key("clock_hz"));
        assert!(of("cpuid").conditions.contains_key("clock_hz"));
    }

    #[test]
    fn usable_memory_is_no_condition_if_the_machines_is_known() {
        let mut known = Identity::default();
        known.conditions.insert("memory_mib".into(), json!(512));
        let hello = hello("tsc_ticks", "pit");
        let known = complete(known, "kvm", None, Some(&hello));
        assert!(!known.conditions.contains_key("memory_bytes"));
        assert!(known.subject.contains_key("memory_bytes"));
        let heard = complete(Identity::default(), "log:x", None, Some(&hello));
        assert!(heard.conditions.contains_key("memory_bytes"));
    }

    #[test]
    fn no_hello_is_no_panic() {
        let identity = complete(Identity::default(), "x", None, None);
        assert!(identity.conditions["unit"].is_null());
    }
}
