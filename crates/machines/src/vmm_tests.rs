//! Tests of the monitor's command line, of its probe and of a machine in it, with a shell script in
//! place of the monitor.

use super::*;

/// A script that is executed as the monitor. Another process writes it: see `qemu_tests.rs`.
fn fake(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("vmm");
    let done = Command::new("/bin/sh")
        .args(["-c", "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\""])
        .arg(&path)
        .arg(format!("#!/bin/sh\n{body}\n"))
        .status()
        .unwrap();
    assert!(done.success());
    path
}

/// Probes a monitor that prints `answer`.
fn probed(answer: &str) -> Result<Kvm, String> {
    let folder = tempfile::tempdir().unwrap();
    let body =
        format!("case $1 in --version) echo 'vmm 9.9';; --probe) echo '{answer}'; exit 14;; esac");
    Kvm::probe(&fake(folder.path(), &body)).map_err(|e| e.to_string())
}

#[test]
fn the_probe_tells_hardware_from_software() {
    let kvm = probed(r#"{"usable":true,"reason":null,"exit_ns":900,"software":false}"#).unwrap();
    assert_eq!((kvm.engine, kvm.exit_ns), (Engine::HardwareKvm, 900));
    assert_eq!(kvm.monitor_version, "vmm 9.9");
    assert_eq!(kvm.sizes(), None);
    let kvm = probed(r#"{"usable":true,"exit_ns":8000,"software":true,"more":[1]}"#).unwrap();
    assert_eq!(kvm.engine, Engine::SoftwareKvm);
}

#[test]
fn where_the_probe_does_not_say_it_is_taken_for_software() {
    let kvm = probed(r#"{"usable":true,"exit_ns":900}"#).unwrap();
    assert_eq!(kvm.engine, Engine::SoftwareKvm);
}

#[test]
fn what_is_measured_on_a_software_kvm_is_tiny() {
    let sizes = |exit_ns: u64| {
        let answer = format!(r#"{{"usable":true,"exit_ns":{exit_ns},"software":true}}"#);
        probed(&answer).unwrap().sizes().unwrap()
    };
    assert_eq!(sizes(8000).iters, 25);
    assert_eq!(sizes(1).iters, 100);
    assert_eq!(sizes(0).iters, 100);
    assert_eq!(sizes(10_000_000).iters, 5);
    assert!(sizes(8000).samples <= 10 && sizes(8000).boots <= 5);
}

#[test]
fn why_it_cannot_be_used_comes_from_the_probe_with_its_cure() {
    let why = "no permission to open /dev/kvm: join the group that owns it";
    let error = probed(&format!(r#"{{"usable":false,"reason":"{why}"}}"#)).unwrap_err();
    assert_eq!(error, why);
    let error = probed(r#"{"usable":false,"reason":null}"#).unwrap_err();
    assert!(error.contains("/dev/kvm can't be used"), "{error}");
    for nonsense in ["", "usage: vmm", "[]", "{}"] {
        let error = probed(nonsense).unwrap_err();
        assert!(error.contains("make build"), "{nonsense}: {error}");
    }
    let error = Kvm::probe(Path::new("/nonexistent/vmm")).unwrap_err();
    assert!(error.to_string().contains("can't start /nonexistent/vmm"));
}

fn settings(monitor: &Path) -> Settings {
    Settings {
        kvm: Kvm {
            engine: Engine::SoftwareKvm,
            exit_ns: 8000,
            monitor: monitor.to_owned(),
            monitor_version: "vmm 9.9".into(),
        },
        guest: "/tmp/a guest.elf".into(),
        memory_mib: None,
        pins: Vec::new(),
    }
}

fn request(vcpus: u32) -> LaunchRequest {
    LaunchRequest {
        vcpus,
        host_cpus: 1,
        vm: String::new(),
        command_line: "bench=^(idle)$ hypercall=none".into(),
        memory_mib: None,
        timed: false,
    }
}

#[test]
fn the_command_line_says_what_was_asked() {
    let mut settings = settings(Path::new("vmm"));
    assert_eq!(
        settings.arguments(&request(2)).join(" "),
        "--kernel /tmp/a guest.elf --cpus 2 --memory 512 --console-max 17825792 --append bench=^(idle)$ hypercall=none"
    );
    settings.memory_mib = Some(256);
    settings.pins = vec![3, 1];
    let line = settings.arguments(&request(1)).join(" ");
    assert!(line.contains("--memory 256") && line.contains("--pin 3 --append"));
    assert!(settings.arguments(&request(2)).contains(&"3,1".to_owned()));
}

#[test]
fn a_software_kvm_is_labelled_and_pinning_is_a_condition() {
    let mut settings = settings(Path::new("vmm"));
    let identity = Vmm::new(settings.clone()).identity();
    assert_eq!(identity.subject["kvm"], "software");
    assert_eq!(identity.subject["monitor"], "vmm 9.9");
    assert_eq!(identity.conditions["pinning"], "none");
    assert_eq!(identity.conditions["memory_mib"], 512);
    assert!(identity.conditions.contains_key("host_cpu"));
    settings.kvm.engine = Engine::HardwareKvm;
    settings.pins = vec![2, 3];
    let identity = Vmm::new(settings).identity();
    assert_eq!(identity.subject["kvm"], "hardware");
    assert_eq!(identity.conditions["pinning"], "2,3");
}

fn follow(machine: &mut Vmm) -> (String, String) {
    let start = Instant::now();
    let mut buffer = Vec::new();
    loop {
        match machine.console(&mut buffer).unwrap() {
            Console::Ended(how) => return (String::from_utf8(buffer).unwrap(), how),
            Console::Data => {}
            Console::Quiet => std::thread::sleep(Duration::from_millis(1)),
        }
        assert!(start.elapsed() < Duration::from_secs(60), "never ended");
    }
}

#[test]
fn how_a_machine_ended_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let body = "echo console; echo 'vmm: KVM internal error 1: an instruction that KVM can'\\''t emulate, at rip 0x1' >&2; exit 11";
    let mut machine = Vmm::new(settings(&fake(folder.path(), body)));
    machine.launch(&request(1)).unwrap();
    let (console, how) = follow(&mut machine);
    assert_eq!(console, "console\n");
    assert_eq!(how, "KVM could not run the guest any further");
    assert_eq!(
        machine.could_not_emulate().unwrap(),
        "KVM internal error 1: an instruction that KVM can't emulate, at rip 0x1"
    );
    assert!(machine.complaints().starts_with("vmm: KVM internal error"));
    assert!(machine.command_line().unwrap().contains("hypercall=none"));

    let mut machine = Vmm::new(settings(&fake(folder.path(), "exit 10")));
    machine.launch(&request(1)).unwrap();
    assert!(follow(&mut machine).1.contains("triple fault"));
    assert_eq!(machine.could_not_emulate(), None);
    let mut machine = Vmm::new(settings(&fake(folder.path(), "exit 3")));
    machine.launch(&request(1)).unwrap();
    assert_eq!(follow(&mut machine).1, "its process exited with status 3");
}
