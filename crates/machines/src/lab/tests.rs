//! Tests of the emulator's command line for each kind of payload, and of a machine's identity.

use super::assemble::warn_of;
use super::command::{Launch, arguments};
use super::machine::{LabMachine, Settings};
use super::multiboot;
use super::payload::{self, Linux, LinuxMonitor, Payload};
use super::resume::LaunchPoint;
use super::vm;
use super::whole::Whole;
use super::xl::Xen;
use crate::emulator::Emulator;
use crate::machine::{Engine, LaunchRequest, Machine};
use std::path::Path;
use ws_lab::lab::Lab;
use ws_lab::recipe::{EmulatorKind, Recipe};
use ws_lab::sets::Architecture;

/// One of the tree's own recipes.
fn recipe(name: &str) -> Recipe {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = Lab::open(&[folder.into()]).unwrap();
    lab.recipe(name, None).unwrap()
}

fn line(recipe: &Recipe, payload: &Payload) -> String {
    let launch = Launch {
        vcpus: 2,
        host_cpus: 1,
        memory_mib: 768,
        guest_memory_mib: 512,
        command_line: "bench=^(in)$ pair=a,b",
        guest: "/g/guest.elf",
        has_initrd: false,
        made: "/dev/fd/9",
        made_bytes: 0,
        tree: "",
    };
    arguments(recipe, payload, &launch).unwrap().join(" ")
}

fn settings(name: &str, payload: Payload) -> Settings {
    let recipe = recipe(name);
    Settings {
        launch_point: None,
        states: None,
        timers: None,
        recorder: None,
        memory_mib: recipe.emulator.memory_mib,
        recipe,
        emulator: Emulator {
            name: "qemu",
            program: "ld.so".into(),
            leading: vec!["qemu".into()],
            version: "10.0".into(),
            build: "QEMU emulator version 10.0".into(),
        },
        bochs: None,
        payload,
        guest: "/g/guest.elf".into(),
        is_own: true,
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
        monitor: LinuxMonitor::Vmm { is_flat: false },
        lines: vec!["module=/kvm.ko".into()],
        nested: None,
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
            "-cpu max,-rdrand,-rdseed",
            " -smp 2 -m 768 ",
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
    assert!(native.ends_with("-kernel /dev/fd/200 -append bench=^(in)$ pair=a,b"));
    let kvm = line(&recipe("kvm"), &linux());
    assert!(kvm.ends_with("-kernel /k/vmlinuz -initrd /dev/fd/9 -append console=ttyS0 quiet"));
    let xen = line(&recipe("xen"), &xen());
    let modules = "/dev/fd/201 memory=512 cpus=2,/dev/fd/202 bench=^(in)$ pair=a,,b";
    assert!(xen.ends_with(&format!(
        "-kernel /dev/fd/200 -append console=com2 -initrd {modules}"
    )));
    assert!(xen.contains("-serial file:/dev/stdout -serial file:/dev/stderr -serial null"));
}

fn dom0less() -> Payload {
    Payload::Dom0less {
        hypervisor: "/x/xen.img".into(),
        parameters: "console=dtuart".into(),
    }
}

#[test]
fn an_arm_machine_counts_as_exactly_as_the_others() {
    for (name, payload) in [
        ("arm-native", Payload::Guest),
        ("kvm-vhe", linux()),
        ("arm-xen", dom0less()),
    ] {
        let line = line(&recipe(name), &payload);
        for part in [
            "-machine virt,",
            "dtb-randomness=off",
            "-nodefaults",
            "-accel tcg,thread=single -icount shift=0,sleep=off -seed 1 -rtc base=2024-01-01T00:00:00,clock=vm",
            "cntfrq=1000000000",
        ] {
            assert!(line.contains(part), "{name}: {part} is not in {line}");
        }
    }
    let xen = line(&recipe("arm-xen"), &dom0less());
    assert!(
        xen.ends_with(
            "-kernel /x/xen.img -dtb /dev/fd/9 -device loader,file=/g/guest.elf,addr=0x4c000000,force-raw=on \
             -device loader,file=/g/guest.elf,addr=0x4d000000,force-raw=on"
        ),
        "{xen}"
    );
}

/// A machine of ARM whose dom0 is a whole Linux, with this file as its kernel.
fn arm_dom0(kernel: &str) -> Payload {
    Payload::Whole(Box::new(Whole {
        architecture: Architecture::Aarch64,
        xen: Some(Xen {
            hypervisor: "/x/xen.img".into(),
            parameters: "dom0_mem=1024M".into(),
        }),
        kernel: kernel.into(),
        parameters: "quiet".into(),
        files: Vec::new(),
        modules: Vec::new(),
        root: "/r/image".into(),
        root_bytes: 2 << 20,
        emulator: EmulatorKind::Qemu,
        workloads: Vec::new(),
        cpus: None,
        vm: None,
        below: None,
    }))
}

#[test]
fn on_arm_xen_gets_dom0_s_modules_in_memory_by_their_own_names() {
    let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let payload = arm_dom0(kernel);
    let line = line(&recipe("arm-xen-linux"), &payload);
    // The kernel has less than 2 MiB.
    let words = format!(
        "-serial file:/dev/stderr -kernel /x/xen.img -device loader,file={kernel},addr=0x4c000000,force-raw=on \
         -device loader,file=/dev/fd/9,addr=0x4c200000,force-raw=on"
    );
    assert!(line.ends_with(&words), "{line}");
    assert!(!line.contains("-append") && line.contains("-numa node,memdev=root"));
    let files = multiboot::Files {
        guest: Path::new("/g/agent"),
        initrd: None,
        made: Path::new("/dev/fd/9"),
    };
    assert!(multiboot::files(&payload, files).is_empty());
}

fn inner_linux() -> payload::NestedLinux {
    payload::NestedLinux {
        kernel: b"inner kernel".to_vec(),
        parameters: "console=ttyAMA0".into(),
        files: vec![payload::init(b"monitor".to_vec())],
        lines: vec!["module=/inner-kvm.ko".into(), "below=0x510".into()],
        memory_beside_mib: 256,
    }
}

#[test]
fn an_inner_linux_gets_the_guest_and_its_words() {
    let inner = inner_linux();
    let Payload::Linux(linux) = linux() else {
        panic!("no Linux");
    };
    let bytes = linux.nested_initramfs(&inner, &["cpus=2".into()], 2, 768);
    let bytes = bytes.unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for part in [
        "inner kernel",
        "module=/kvm.ko\nkernel=/vmlinuz\ninitrd=/initrd\nappend=console=ttyAMA0\nmemory=768\ncpus=2\nsource=l0\n",
        "monitor",
    ] {
        assert!(text.contains(part), "{part}");
    }
    // The inner Linux has its own initramfs, with only its own lines.
    assert_eq!(text.matches("vmm.conf").count(), 2);
    assert!(text.contains("module=/inner-kvm.ko\nbelow=0x510\ncpus=2\n"));
    assert_eq!(text.matches("module=/kvm.ko").count(), 1);
}

fn request(words: &str) -> LaunchRequest {
    LaunchRequest {
        vcpus: 1,
        host_cpus: 1,
        vm: String::new(),
        command_line: words.into(),
        memory_mib: None,
        timed: false,
    }
}

#[test]
fn a_nested_machine_that_stops_is_the_same_in_each_launch() {
    let Payload::Linux(mut linux) = linux() else {
        panic!("no Linux");
    };
    linux.nested = Some(payload::Nested::Linux(inner_linux()));
    let mut settings = settings("kvm-svm-nested", Payload::Linux(linux));
    let whole = |settings: &Settings, words: &str| {
        let machine = LabMachine::new(settings.clone());
        machine.made(&request(words)).unwrap()
    };
    let (one, two) = (whole(&settings, "nonce=1"), whole(&settings, "nonce=2"));
    assert!(one.file != two.file && one.at_stop.is_none());
    settings.launch_point = Some(LaunchPoint {
        stop: 1,
        lines: 2,
        room: 3,
    });
    let (one, two) = (whole(&settings, "nonce=1"), whole(&settings, "nonce=2"));
    assert_eq!(one.file, two.file);
    let (_, lines) = two.at_stop.unwrap();
    assert!(
        lines.contains("kernel=/guest.elf\nappend=nonce=2\n"),
        "{lines}"
    );
}

fn nested_xen() -> Payload {
    let Payload::Linux(mut linux) = linux() else {
        panic!("no Linux");
    };
    linux.nested = Some(payload::Nested::Xen(payload::NestedXen {
        hypervisor: "/x/xen.img".into(),
        memory_beside_mib: 448,
    }));
    Payload::Linux(linux)
}

#[test]
fn the_vm_of_a_nested_xen_has_memory_for_it_beside_the_guest_s() {
    let mut settings = settings("xen-nested", nested_xen());
    let made = |settings: &Settings| {
        let machine = LabMachine::new(settings.clone());
        machine.made(&request("nonce=1 hypercall=xen")).unwrap()
    };
    let guest_mib = settings.memory_mib;
    let lines = format!(
        "kernel=/guest.elf\nappend=nonce=1 hypercall=xen\nmemory={}\ncpus=1\n",
        guest_mib + 448
    );
    let file = made(&settings).file.unwrap();
    assert!(String::from_utf8_lossy(&file).contains(&lines));
    settings.launch_point = Some(LaunchPoint {
        stop: 1,
        lines: 2,
        room: 3,
    });
    assert_eq!(made(&settings).at_stop.unwrap().1, lines);
    // Hypercalls are Xen's, and the monitor's doorbell can't be reached.
    let machine = LabMachine::new(settings);
    let description = machine.description();
    assert_eq!(description.engine, Engine::Xen);
    assert_eq!((description.doorbell, description.words.len()), (None, 0));
}

#[test]
fn a_missing_image_is_said_before_a_tree_is_made_of_it() {
    let mut machine = LabMachine::new(settings("arm-xen", dom0less()));
    let request = request("bench=x");
    let error = machine.launch(&request).unwrap_err().to_string();
    assert!(error.contains("/g/guest.elf"), "{error}");
}

#[test]
fn a_machine_is_what_its_recipe_says() {
    let machine = |name, payload| {
        LabMachine::new(settings(name, payload))
            .description()
            .clone()
    };
    let native = machine("native", Payload::Guest);
    assert_eq!((native.engine, native.doorbell), (Engine::Emulator, None));
    let kvm = machine("kvm", linux());
    assert_eq!(kvm.engine, Engine::HardwareKvm);
    assert!(kvm.doorbell.is_some() && kvm.words.is_empty());
    let vhe = machine("kvm-vhe", linux());
    assert_eq!(vhe.architecture, Architecture::Aarch64);
    assert!(vhe.doorbell.is_some_and(|at| at > 0xffff), "an address");
    assert!(machine("arm-xen", dom0less()).words.is_empty());
    let xen = machine("xen", xen());
    assert_eq!((xen.engine, xen.words), (Engine::Xen, &["print=0x3e8"][..]));
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
    let arm = identity("arm-native", Payload::Guest);
    assert_eq!(arm.conditions, identity("kvm-vhe", linux()).conditions);
    assert_eq!(arm.conditions, identity("arm-xen", dom0less()).conditions);
    assert_eq!(arm.conditions["emulator_machine"], "virt");
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
    let bytes = linux.initramfs(&["cpus=2".into()]).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("program") && text.contains("module=/kvm.ko\ncpus=2\n"));
}

/// QEMU's words for a VM of `lab:kvm-linux`, varied.
fn inner(vary: impl FnOnce(&mut vm::Whole<'static>)) -> String {
    let mut whole = vm::Whole {
        executor: vm::LAB,
        architecture: Architecture::X86_64,
        program: "/usr/bin/qemu",
        vcpus: 1,
        queues: 1,
        has_placed_threads: false,
        memory_mib: 512,
        io: None,
        network: None,
        disk: None,
        is_second: false,
        root: "/dev/pmem0",
        root_bytes: 1 << 20,
        kernel: "/k",
        initrd: "/i",
        parameters: "quiet",
        settings: &[],
    };
    vary(&mut whole);
    vm::vm(&whole).join(" ")
}

#[test]
fn a_network_card_has_pairs_of_queues_and_threads_that_are_placed_have_names() {
    let vary = |vm: &mut vm::Whole<'_>| (vm.vcpus, vm.queues) = (2, 2);
    let (one, two) = (inner(|_| ()), inner(vary));
    assert!(!one.contains("queues") && !one.contains("mq=") && one.contains("-smp 1 "));
    assert!(two.contains("vhost=on,queues=2 ") && two.contains(",mq=on,vectors=6 "));
    let four = inner(|vm| (vm.vcpus, vm.has_placed_threads) = (4, true));
    assert!(four.contains("-smp 4 ") && four.contains("-name vm,debug-threads=on"));
    assert!(!four.contains("queues") && !four.contains("memory-backend-memfd"));
}

#[test]
fn a_second_vm_and_disks_are_only_where_they_are_asked_for() {
    static DISK: vm::Disk = vm::Disk {
        path: String::new(),
        direct: true,
    };
    let in_time = |vm: &mut vm::Whole| vm.executor.exact = false;
    let exact = inner(|_| ());
    assert!(!exact.contains("debug-threads") && !exact.contains("pidfile"));
    let first = inner(in_time);
    assert!(first.contains("-pidfile /run/vm1.pid -name vm,debug-threads=on"));
    assert!(
        first.contains("ifname=tap0") && first.contains("ivshmem") && !first.contains("virtio-blk")
    );
    let second = inner(|vm| {
        in_time(vm);
        vm.is_second = true;
    });
    assert!(second.contains("-pidfile /run/vm2.pid") && second.contains("ifname=tap1"));
    assert!(second.contains("52:54:00:00:00:03") && second.contains("-serial null"));
    assert!(!second.contains("marks") && !second.contains("ivshmem"));
    let disk = inner(|vm| vm.disk = Some(&DISK));
    assert!(disk.contains("read-only=on,aio=threads,cache.direct=on -device virtio-blk-pci"));
}

#[test]
fn an_emulator_that_may_have_a_fault_is_told_with_the_figures() {
    let caveat = |name, cured: bool| {
        let mut recipe = settings(name, Payload::Guest).recipe;
        warn_of(&mut recipe, |_| cured, "it has");
        recipe.caveat.unwrap_or_default()
    };
    let warning = "; it has idle-clock-jump, breakpoint-stops-one and svm-interrupt-twice (worldswitch lab show xen)";
    assert_eq!(caveat("xen", false), caveat("xen", true) + warning);
    assert!(caveat("kvm-shadow", false).ends_with("lab show kvm-shadow)"));
    assert!(caveat("arm-native", false).ends_with(
        "it has idle-clock-jump-arm and breakpoint-stops-one-arm (worldswitch lab show arm-native)"
    ));
    assert_eq!(caveat("intel-native", false), caveat("intel-native", true));
}
