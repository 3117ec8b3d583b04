//! What a platform's numbers depend on: what the platform knows, and what its guest says.

use serde_json::{Map, Value, json};
use ws_results::Identity;

/// Adds to what the platform knows of itself what the run and the guest's `hello` say.
pub fn complete(
    mut identity: Identity,
    platform: &str,
    image_sha256: Option<&str>,
    hello: Option<&Map<String, Value>>,
) -> Identity {
    let empty = Map::new();
    let hello = hello.unwrap_or(&empty);
    let said = |key: &str| hello.get(key).cloned().unwrap_or(Value::Null);
    let subject = &mut identity.subject;
    subject.insert("platform".into(), json!(platform));
    subject.insert("guest".into(), said("guest"));
    subject.insert("boot_protocol".into(), said("boot"));
    subject.insert("apic".into(), said("apic"));
    for key in ["compiler", "exception_level"] {
        if let word @ Value::String(_) = said(key) {
            subject.insert(key.into(), word);
        }
    }
    if said("external") == true {
        subject.insert("timed_from_outside".into(), json!(true));
    }
    let hypervisor = match said("hypervisor") {
        Value::String(name) if name.is_empty() => json!("none seen by the guest"),
        other => other,
    };
    subject.insert("hypervisor".into(), hypervisor);
    if let Some(sha256) = image_sha256 {
        subject.insert("guest_image_sha256".into(), json!(sha256));
    }
    let conditions = &mut identity.conditions;
    for key in ["unit", "arch", "cpu", "clock", "pad"] {
        conditions.insert(key.into(), said(key));
    }
    if said("unit") != "insns" {
        // Which seed it is differs from boot to boot.
        let order = match said("seed") {
            Value::Null => "as in the image",
            _ => "by a boot's seed",
        };
        conditions.insert("order".into(), json!(order));
    }
    // What is left of a machine's memory is its firmware's doing, so where the memory itself is
    // known, it is no condition.
    if conditions.contains_key("memory_mib") {
        subject.insert("memory_bytes".into(), said("memory_bytes"));
    } else {
        conditions.insert("memory_bytes".into(), said("memory_bytes"));
    }
    // A frequency that the guest measured differs a little in every boot, so it could never
    // agree; under icount it is exact, and one that the CPU states is a fact.
    let from = said("clock_hz_from");
    let stated = from == "cpuid" || from == "cntfrq" || said("unit") == "insns";
    let place = if stated {
        &mut identity.conditions
    } else {
        &mut identity.subject
    };
    place.insert("clock_hz".into(), said("clock_hz"));
    identity
        .subject
        .insert("clock_hz_from".into(), said("clock_hz_from"));
    identity
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(unit: &str, from: &str) -> Map<String, Value> {
        let value = json!({"unit": unit, "arch": "x86_64", "cpu": "QEMU", "hypervisor": "",
            "clock": "tsc", "clock_hz": 1_000_000_000u64, "clock_hz_from": from, "pad": 0});
        match value {
            Value::Object(map) => map,
            _ => panic!("no object"),
        }
    }

    #[test]
    fn the_guests_words_find_their_places() {
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
    fn memory_that_firmware_took_away_is_no_condition() {
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
        assert_eq!(identity.conditions["unit"], Value::Null);
    }
}
