//! Tests of platforms' names, and of the errors for missing parts.

use super::*;
use crate::resources::LabFiles;
use crate::shipped::Shipped;
use ws_lab::lab::Lab;
use ws_lab::store::Store;

/// The tree's own recipes, and an empty store.
const GUEST: Shipped = Shipped::Guest(Architecture::X86_64);
const MONITOR: Shipped = Shipped::Monitor(Architecture::X86_64);

fn resources() -> Resources {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    Resources {
        lab: Some(Ok(LabFiles {
            lab: Lab::open(&[folder.into()]).unwrap(),
            store: Store::at("/nonexistent"),
        })),
        ..Resources::default()
    }
}

fn checked(text: &str) -> Result<String, String> {
    let name: PlatformName = text.parse().unwrap();
    let platform = check(&name, &resources());
    platform.map(|p| p.name).map_err(|e| e.to_string())
}

#[test]
fn known_names_are_found() {
    assert_eq!(checked("lab:native"), Ok("lab:native".into()));
    assert_eq!(checked("lab:kvm@6.12+cpu=EPYC"), Ok("lab:kvm".into()));
    assert_eq!(
        checked("qemu-tcg+cpu=EPYC+memory=256"),
        Ok("qemu-tcg".into())
    );
    assert_eq!(checked("kvm+memory=256"), Ok("kvm".into()));
    assert_eq!(checked("qemu-kvm+cpu=EPYC"), Ok("qemu-kvm".into()));
    assert_eq!(checked("serial:/dev/ttyS0"), Ok("serial:DEVICE".into()));
    assert_eq!(checked("log:x@y+z"), Ok("log:FILE".into()));
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let error = checked("lab:natve").unwrap_err();
    assert!(error.contains("did you mean lab:native or"), "{error}");
    assert!(error.contains("worldswitch machines"), "{error}");
    let error = checked("qemu-tgc").unwrap_err();
    assert!(error.contains("did you mean qemu-tcg or"), "{error}");
}

#[test]
fn variants_and_options_that_nothing_reads_are_refused() {
    let error = checked("lab:native@6.12").unwrap_err();
    assert!(error.contains("no variants"), "{error}");
    let error = checked("lab:kvm@5.10").unwrap_err();
    assert!(error.contains("6.1, 6.12"), "{error}");
    let error = checked("lab:kvm+colour=blue").unwrap_err();
    assert!(error.contains("it has cpu, memory"), "{error}");
    assert!(checked("kvm@6.12").unwrap_err().contains("@6.12"));
    let error = checked("qemu-tcg+colour=blue").unwrap_err();
    assert!(error.contains("it has cpu, memory"), "{error}");
    let error = checked("kvm+cpu=max").unwrap_err();
    assert!(error.ends_with("it has memory"), "{error}");
    assert!(checked("qemu-tcg+memory=1").unwrap_err().contains("MiB"));
    assert!(
        checked("qemu-tcg+cpu=max,x")
            .unwrap_err()
            .contains("CPU model")
    );
}

#[test]
fn only_what_this_host_can_hear_and_time_is_timed_from_outside() {
    let resources = resources();
    let external = |text: &str| external(&check(&text.parse().unwrap(), &resources).unwrap());
    for name in ["qemu-tcg", "kvm", "qemu-kvm"] {
        assert_eq!(
            external(name).is_ok(),
            counter::UNIT == Some("tsc_ticks"),
            "{name}"
        );
    }
    for (name, why) in [
        ("lab:native", "counts instructions"),
        ("serial:/dev/ttyS0", "counter"),
        ("log:x", "saved console"),
    ] {
        assert!(external(name).unwrap_err().contains(why), "{name}");
    }
}

#[test]
fn what_is_missing_is_said_with_its_cure() {
    let resources = Resources {
        qemu: Some("/nonexistent/qemu".into()),
        shipped: [
            (GUEST, Ok("/nonexistent/guest.elf".into())),
            (MONITOR, Err("it is not built: make build".into())),
        ]
        .into(),
        ..resources()
    };
    let all = all(&resources).unwrap();
    let usable_is = |name: &str| {
        let platform = all.iter().find(|platform| platform.name == name);
        usable(platform.unwrap(), &resources)
    };
    let Usable::No(why) = usable_is("lab:native") else {
        panic!("usable");
    };
    assert!(why.contains("/nonexistent/qemu"), "{why}");
    assert_eq!(usable_is("log:FILE"), Usable::Depends);
    let Usable::No(why) = usable_is("kvm") else {
        panic!("usable");
    };
    assert_eq!(why, "it is not built: make build");
    let Usable::No(why) = usable_is("lab:kvm") else {
        panic!("usable");
    };
    assert!(why.contains("worldswitch lab fetch linux-6.1"), "{why}");
}

#[test]
fn the_guest_alone_is_listed_first_and_run_by_default() {
    let all = all(&resources()).unwrap();
    assert_eq!(all[0].name, "lab:native");
    let default: Vec<&str> = all
        .iter()
        .filter(|platform| platform.default)
        .map(|platform| platform.name.as_str())
        .collect();
    assert_eq!(
        default,
        [
            "lab:native",
            "lab:kvm",
            "lab:kvm-shadow",
            "kvm",
            "qemu-kvm",
            "qemu-tcg"
        ]
    );
}

/// A store whose set `qemu` has an emulator of version 10.0, which makes the file `started` when it is started.
fn store_of_emulator(folder: &std::path::Path, pinned: bool) -> Store {
    use std::os::unix::fs::PermissionsExt;
    let set = folder.join("store/sets/qemu");
    let root = set.join("root/usr");
    std::fs::create_dir_all(root.join("bin")).unwrap();
    std::fs::create_dir_all(root.join("lib64")).unwrap();
    std::fs::write(root.join("bin/qemu-system-x86_64"), "").unwrap();
    let loader = root.join("lib64/ld-linux-x86-64.so.2");
    let answers = "QEMU emulator version 10.0 microvm pc q35 max EPYC EPYC-Genoa";
    let started = folder.join("started");
    let script = format!("#!/bin/sh\n: >{}\necho {answers}\n", started.display());
    std::fs::write(&loader, script).unwrap();
    std::fs::set_permissions(&loader, std::fs::Permissions::from_mode(0o755)).unwrap();
    let manifest = format!(
        r#"{{"version": 1, "set": "qemu", "kind": "program", "architecture": "x86_64", "suite": "sid",
            "pinned": {pinned}, "packages": [], "files": {{}}}}"#
    );
    std::fs::write(set.join("manifest.json"), manifest).unwrap();
    Store::at(folder.join("store"))
}

#[test]
fn an_emulator_of_pinned_packages_is_not_started_to_list_it() {
    for pinned in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let mut resources = resources();
        let guest = Ok("/nonexistent/guest.elf".into());
        resources.shipped.insert(GUEST, guest);
        if let Some(Ok(files)) = &mut resources.lab {
            files.store = store_of_emulator(folder.path(), pinned);
        }
        let all = all(&resources).unwrap();
        assert_eq!(usable(&all[0], &resources), Usable::Yes, "{}", all[0].name);
        assert_eq!(folder.path().join("started").exists(), !pinned);
    }
}
