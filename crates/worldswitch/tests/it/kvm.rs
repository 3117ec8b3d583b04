//! Runs on platform `kvm` with a fake monitor: labels, hypercalls, counts, pinning, and every way in
//! which the monitor can fail. /dev/kvm itself is never opened.

use crate::common::{Lab, expect_code, fake, row, stderr, text, worldswitch};
use std::fs;
use ws_results::{Status, Verdict};

/// The command lines of all fake guests so far.
fn command_lines(lab: &Lab) -> Vec<String> {
    let state = lab.path("state");
    let pids = lab.pids();
    pids.iter()
        .map(|pid| fs::read_to_string(state.join(format!("pid-{pid}"))).unwrap())
        .collect()
}

#[test]
fn a_software_kvm_is_labelled_tiny_and_gets_no_hypercall() {
    let lab = Lab::new(&["sgdt", "hypercall", "in", "two-cpus"]);
    let output = lab
        .run("kvm", &[])
        .env("FAKE_KVM", "software")
        .output()
        .unwrap();
    expect_code(&output, 0);
    let told = stderr(&output);
    assert!(
        told.contains("kvm: a software KVM, without VMX or SVM"),
        "{told}"
    );
    assert!(!told.contains("for compare to detect"), "{told}");
    let table = text(&output.stdout);
    assert!(table.contains("kvm [1]"), "{table}");
    assert!(table.contains("[1] a software KVM"), "{table}");
    let lines = command_lines(&lab);
    assert_eq!(lines.len(), 6, "three boots of two launches");
    for line in &lines {
        assert!(line.contains(" hypercall=none "), "{line}");
        assert!(line.contains(" samples=5 iters=25"), "{line}");
        assert!(
            !line.contains("rows=hypercall") && !line.contains(",hypercall"),
            "{line}"
        );
    }
    let result = lab.result("kvm");
    let skipped = row(&result, "hypercall");
    assert_eq!(skipped.status, Status::Skip);
    assert!(skipped.reason.as_ref().unwrap().contains("software KVM"));
    assert_eq!(result.identity.subject["kvm"], "software");
    assert_eq!(result.identity.subject["monitor"], "vmm 9.9");
    assert_eq!(result.identity.conditions["pinning"], "none");
    // The user's options override the defaults, on any KVM.
    let output = lab
        .run(
            "kvm",
            &["--boots", "1", "--iters", "7", "--samples", "2", "--force"],
        )
        .env("FAKE_KVM", "software")
        .output()
        .unwrap();
    expect_code(&output, 0);
    let last = command_lines(&lab);
    assert_eq!(last.len(), 8);
    let asked = |line: &&String| line.contains(" samples=2 iters=7");
    assert_eq!(last.iter().filter(asked).count(), 2);
}

#[test]
fn on_hardware_hypercalls_are_made_and_counts_prove_or_contradict() {
    let lab = Lab::new(&["sgdt", "hypercall", "cold-memory-access", "in", "out"]);
    let output = lab
        .run("kvm", &["--boots", "1"])
        .env("FAKE_KVM", "hardware")
        .output()
        .unwrap();
    expect_code(&output, 0);
    let lines = command_lines(&lab);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains(" hypercall=kvm "), "{}", lines[0]);
    assert!(lines[0].contains(" doorbell=0x510"), "{}", lines[0]);
    assert!(!lines[0].contains("iters="), "the guest chooses");
    let result = lab.result("kvm");
    assert_eq!(result.identity.subject["kvm"], "hardware");
    let verdict = |name: &str| {
        row(&result, name).outcomes[0]
            .check
            .clone()
            .unwrap()
            .verdict
    };
    assert_eq!(verdict("hypercall"), Verdict::Proved);
    assert_eq!(verdict("cold-memory-access"), Verdict::Proved);
    assert_eq!(verdict("in"), Verdict::Proved);
    assert_eq!(verdict("sgdt"), Verdict::Unproven);
    let out = row(&result, "out");
    assert_eq!(
        (verdict("out"), out.status),
        (Verdict::Failed, Status::Failed)
    );
    assert!(out.reason.as_ref().unwrap().contains("39 times by io"));
    assert!(out.metrics.is_empty());
    let hypercall = row(&result, "hypercall");
    let metrics: Vec<&str> = hypercall.metrics.iter().map(|m| &*m.name).collect();
    assert_eq!(metrics, ["cost", "exits", "returns"]);
    assert_eq!(hypercall.metrics[1].boots[0].run, [43]);
    assert_eq!(hypercall.host[0].kvm.as_ref().unwrap()["hypercalls"], 40);
    let table = text(&output.stdout);
    assert!(!table.contains("software"), "{table}");
    let shown = worldswitch()
        .args(["show", &format!("{}:kvm", lab.path("out").display())])
        .output()
        .unwrap();
    expect_code(&shown, 0);
    let shown = text(&shown.stdout);
    assert!(
        shown.contains("KVM counted 40 hypercalls in 43 exits"),
        "{shown}"
    );
    assert!(shown.contains("exits 1.075 count"), "{shown}");
}

#[test]
fn each_planted_fault_costs_its_own_row_and_nothing_is_left() {
    let names = [
        "first",
        "killed",
        "resets",
        "unemulated",
        "floods",
        "garbled",
        "last",
    ];
    let run = |kvm: &str| {
        let lab = Lab::new(&names);
        let output = lab
            .run("kvm", &["--boots", "1", "--timeout", "600"])
            .env("FAKE_KVM", kvm)
            .output()
            .unwrap();
        expect_code(&output, 0);
        assert_eq!(lab.alive(), Vec::<String>::new());
        let result = lab.result("kvm");
        assert!(
            result.boots[0]
                .launches
                .iter()
                .any(|launch| launch.bad_lines == 1)
        );
        let statuses = names.map(|name| row(&result, name).status);
        let reasons = names.map(|name| row(&result, name).reason.clone().unwrap_or_default());
        (statuses, reasons)
    };
    let (statuses, reasons) = run("hardware");
    use Status::{Died, Ok, Skip};
    assert_eq!(statuses, [Ok, Died, Died, Died, Died, Ok, Ok]);
    assert!(reasons[2].contains("triple fault"), "{}", reasons[2]);
    assert!(reasons[3].contains("KVM could not run"), "{}", reasons[3]);
    assert!(reasons[4].contains("16 MiB"), "{}", reasons[4]);
    // An instruction that a software KVM can't emulate is not the row's fault.
    let (statuses, reasons) = run("software");
    assert_eq!(statuses, [Ok, Died, Died, Skip, Died, Ok, Ok]);
    assert!(reasons[3].contains("bytes 0f 02"), "{}", reasons[3]);
}

#[test]
fn a_hang_costs_its_own_row_on_any_kvm() {
    for kvm in ["hardware", "software"] {
        let lab = Lab::new(&["first", "hangs", "last"]);
        let output = lab
            .run("kvm", &["--boots", "1", "--timeout", "0.5"])
            .env("FAKE_KVM", kvm)
            .output()
            .unwrap();
        expect_code(&output, 0);
        let result = lab.result("kvm");
        let statuses = ["first", "hangs", "last"].map(|name| row(&result, name).status);
        assert_eq!(statuses, [Status::Ok, Status::Timeout, Status::Ok]);
        assert_eq!(lab.alive(), Vec::<String>::new());
    }
}

#[test]
fn a_kvm_that_cannot_be_used_is_a_line_with_the_reason_and_the_cure() {
    let lab = Lab::new(&["sgdt"]);
    for (kvm, wanted) in [
        ("denied", "no permission to open /dev/kvm: join the group"),
        ("absent", "there is no /dev/kvm: load the module"),
        ("nonsense", "make build"),
    ] {
        let output = lab.run("kvm", &[]).env("FAKE_KVM", kvm).output().unwrap();
        expect_code(&output, 1);
        let told = stderr(&output);
        assert!(told.contains(wanted), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        let output = worldswitch()
            .args(["machines", "--vmm"])
            .arg(fake("fake-vmm"))
            .env("FAKE_KVM", kvm)
            .output()
            .unwrap();
        let listed = text(&output.stdout);
        assert!(listed.contains("kvm: not usable here: "), "{listed}");
        assert!(listed.contains(wanted), "{listed}");
    }
    assert!(lab.pids().is_empty(), "no machine was started");
}

/// The names of a default run's platforms, and its standard error.
fn default_set(kvm: &str) -> (Vec<String>, String) {
    let lab = Lab::new(&["sgdt"]);
    let mut command = worldswitch();
    let output = command
        .env("FAKE_STATE", lab.path("state"))
        .env("FAKE_KVM", kvm)
        .args(["run", "--boots", "1", "--vmm"])
        .arg(fake("fake-vmm"))
        // No QEMU: only platforms with the monitor are left in the default set.
        .args(["--qemu", "/nonexistent/qemu", "--guest"])
        .arg(lab.path("guest.elf"))
        .arg("-o")
        .arg(lab.path("out"))
        .output()
        .unwrap();
    let names = fs::read_dir(lab.path("out")).map_or(Vec::new(), |entries| {
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    });
    (names, stderr(&output))
}

#[test]
fn only_a_kvm_on_hardware_is_in_the_default_set() {
    assert_eq!(default_set("hardware").0, ["kvm.json"]);
    let (names, told) = default_set("software");
    assert!(names.is_empty(), "{names:?}");
    assert!(told.contains("--on kvm runs it"), "{told}");
    let (names, told) = default_set("denied");
    assert!(
        names.is_empty() && told.contains("kvm: no permission"),
        "{told}"
    );
}

#[test]
fn a_vcpu_that_ran_elsewhere_is_told_with_its_row() {
    let lab = Lab::new(&["sgdt", "in"]);
    // The first CPU that this process may use.
    let cpu = (0..1024).find(|cpu| ws_cpus::may_use(*cpu).is_ok());
    let cpu = cpu.unwrap();
    let output = lab
        .run("kvm", &["--boots", "1", "--pin", &cpu.to_string()])
        .env("FAKE_KVM", "hardware")
        .output()
        .unwrap();
    expect_code(&output, 0);
    let told = stderr(&output);
    assert!(
        told.contains(&format!("vCPU threads are pinned to CPUs {cpu}")),
        "{told}"
    );
    let strayed = format!(
        "pinning did not hold for in: vCPU 0 was pinned to CPU {cpu} and ran on CPU {}",
        cpu + 1
    );
    assert!(told.contains(&strayed), "{told}");
    let result = lab.result("kvm");
    assert_eq!(result.identity.conditions["pinning"], cpu.to_string());
    assert!(row(&result, "sgdt").host[0].strayed.is_empty());
    assert_eq!(row(&result, "in").host[0].strayed.len(), 1);
    assert!(text(&output.stdout).contains("pinning did not hold: vCPU 0"));
}

#[test]
fn wrong_pins_are_wrong_usage() {
    let lab = Lab::new(&["sgdt", "two-cpus"]);
    for (pin, wanted) in [
        ("0", "up to 2 vCPUs"),
        ("1000,0", "CPU 1000 can't be used here"),
        ("a", "not a list of CPUs"),
    ] {
        let output = lab
            .run("kvm", &["--pin", pin])
            .env("FAKE_KVM", "hardware")
            .output()
            .unwrap();
        expect_code(&output, 2);
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    }
    assert!(lab.pids().is_empty());
}
