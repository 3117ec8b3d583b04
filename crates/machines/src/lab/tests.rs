//! Tests of the emulator's command line for each kind of payload, and of a machine's identity.

use super::command::{Launch, arguments};
use super::machine::{LabMachine, Settings};
use super::payload::{self, Linux, Payload};
use crate::emulator::Emulator;
use crate::machine::{Engine, Machine};
use std::path::Path;
use ws_lab::lab::Lab;
use ws_lab::recipe::Recipe;

/// One of the tree's own recipes.
fn recipe(name: &str) -> Recipe {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = Lab::open(&[folder.into()]).unwrap();
    lab.recipe(name, None).unwrap()
}

fn line(recipe: &Recipe, payload: &Payload) -> String {
    let launch = Launch {
        vcpus: 2,
        memory_mib: 768,
        guest_memory_mib: 512,
        command_line: "bench=^(in)$ pair=a,b",
        guest: "/g/guest.elf",
        initrd: None,
        initramfs: "/dev/fd/9",
    };
    arguments(recipe, payload, &launch).join(" ")
}

fn settings(name: &str, payload: Payload) -> Settings {
    let recipe = recipe(name);
    Settings {
        memory_mib: recipe.emulator.memory_mib,
        recipe,
        emulator: Emulator {
            program: "ld.so".into(),
            leading: vec!["qemu".into()],
            version: "10.0".into(),
            build: "QEMU emulator version 10.0".into(),
        },
        payload,
        guest: "/g/guest.elf".into(),
        initrd: None,
        digest: "ab".into(),
        parts: Vec::new(),
    }
}

fn linux() -> Payload {
    Payload::Linux(Linux {
        kernel: "/k/vmlinuz".into(),
        parameters: "console=ttyS0 quiet".into(),
        files: vec![payload::init(b"program".to_vec())],
        config: vec!["module=/kvm.ko".into()],
    })
}

fn xen() -> Payload {
    Payload::Xen {
        hypervisor: "/x/xen.elf".into(),
        dom0: "/g/dom0.elf".into(),
        parameters: "console=com2".into(),
    }
}

#[test]
fn a_lab_machine_has_no_source_of_host_time() {
    for (name, payload) in [("native", Payload::Guest), ("kvm", linux()), ("xen", xen())] {
        let line = line(&recipe(name), &payload);
        for part in [
            "-machine pc ",
            "-nodefaults",
            "-accel tcg,thread=single -icount shift=0,sleep=off -seed 1 -rtc base=2024-01-01T00:00:00,clock=vm",
            "-cpu max,-rdrand,-rdseed -smp 2 -m 768",
            "-no-reboot",
            "-serial file:/dev/stdout -serial ",
        ] {
            assert!(line.contains(part), "{name}: {part} is not in {line}");
        }
        assert!(!line.contains("-qmp") && !line.contains("kvm "), "{line}");
    }
}

#[test]
fn each_payload_is_handed_over_in_its_own_way() {
    let native = line(&recipe("native"), &Payload::Guest);
    assert!(native.ends_with("-kernel /g/guest.elf -append bench=^(in)$ pair=a,b"));
    let kvm = line(&recipe("kvm"), &linux());
    assert!(kvm.ends_with("-kernel /k/vmlinuz -initrd /dev/fd/9 -append console=ttyS0 quiet"));
    let xen = line(&recipe("xen"), &xen());
    let modules = "/g/dom0.elf memory=512 cpus=2,/g/guest.elf bench=^(in)$ pair=a,,b";
    assert!(xen.ends_with(&format!(
        "-kernel /x/xen.elf -append console=com2 -initrd {modules}"
    )));
    assert!(xen.contains("-serial file:/dev/stdout -serial file:/dev/stderr -serial null"));
}

#[test]
fn a_machine_is_what_its_recipe_says() {
    let machine = |name, payload| LabMachine::new(settings(name, payload));
    let native = machine("native", Payload::Guest);
    assert_eq!(
        (native.engine(), native.doorbell()),
        (Engine::Emulator, None)
    );
    let kvm = machine("kvm", linux());
    assert_eq!(kvm.engine(), Engine::HardwareKvm);
    assert!(kvm.doorbell().is_some() && kvm.words().is_empty());
    let xen = machine("xen", xen());
    assert_eq!(
        (xen.engine(), xen.words()),
        (Engine::Xen, &["print=0x3e8"][..])
    );
}

#[test]
fn no_fact_of_the_host_is_a_condition_and_all_machines_agree_in_them() {
    let identity = |name, payload| LabMachine::new(settings(name, payload)).identity();
    let native = identity("native", Payload::Guest);
    let keys: Vec<&String> = native.conditions.keys().collect();
    assert_eq!(
        keys,
        [
            "emulator",
            "emulator_cpu",
            "emulator_machine",
            "memory_mib",
            "pinning"
        ]
    );
    assert_eq!(native.conditions, identity("kvm", linux()).conditions);
    assert_eq!(native.conditions, identity("xen", xen()).conditions);
    assert_eq!(native.subject["machine_digest"], "ab");
    assert!(
        identity("kvm", linux()).subject["caveat"]
            .as_str()
            .unwrap()
            .contains("NRIPS")
    );
}

#[test]
fn an_initramfs_has_the_launch_s_words_behind_those_of_all() {
    let Payload::Linux(linux) = linux() else {
        panic!("no Linux");
    };
    let initramfs = linux.initramfs(&["cpus=2".into()]).unwrap();
    let bytes = std::fs::read(Path::new(&initramfs.path())).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("program") && text.contains("module=/kvm.ko\ncpus=2\n"));
}
