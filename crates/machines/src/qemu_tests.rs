//! Tests of QEMU's command line and of a QEMU machine, with a shell script in place of QEMU.

use super::*;
use crate::counter;
use std::path::Path;
use std::time::{Duration, Instant};

/// A script that prints QEMU's version for `--version` and otherwise runs `body`. Another process
/// writes it: a file that is open for writing, here or in a process that another test is just
/// starting, can't be executed.
fn fake(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("qemu");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'QEMU emulator version 7.2.22 (Debian x)'; exit; fi\n{body}\n"
    );
    let done = Command::new("/bin/sh")
        .args(["-c", "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\""])
        .arg(&path)
        .arg(&script)
        .status()
        .unwrap();
    assert!(done.success());
    path
}

fn settings(program: &Path) -> Settings {
    Settings {
        emulator: Emulator {
            name: "qemu",
            program: program.into(),
            leading: Vec::new(),
            version: "7.2.22".into(),
            build: "QEMU emulator version 7.2.22 (Debian x)".into(),
        },
        guest: "/tmp/a guest.elf".into(),
        cpu: None,
        memory_mib: None,
        kvm: None,
        pins: Vec::new(),
    }
}

fn with_kvm(engine: Engine, program: &Path) -> Settings {
    Settings {
        kvm: Some(Kvm {
            engine,
            exit_ns: 1000,
            monitor: "vmm".into(),
            monitor_version: "vmm 9.9".into(),
        }),
        ..settings(program)
    }
}

fn request() -> LaunchRequest {
    LaunchRequest {
        vcpus: 2,
        host_cpus: 1,
        vm: String::new(),
        command_line: "bench=^(idle)$ nonce=1".into(),
        memory_mib: None,
        timed: false,
    }
}

#[test]
fn the_hosts_time_has_neither_icount_nor_seed() {
    let line = settings(Path::new("q")).arguments(&request()).join(" ");
    assert!(!line.contains("icount") && !line.contains("-seed") && !line.contains("-rtc"));
    assert!(line.contains("-accel tcg -cpu max -smp 2"));
}

#[test]
fn options_reach_the_command_line_and_the_conditions() {
    let mut settings = settings(Path::new("q"));
    settings.cpu = Some("EPYC".into());
    settings.memory_mib = Some(256);
    let line = settings.arguments(&request()).join(" ");
    assert!(line.contains("-cpu EPYC -smp 2 -m 256"));
    let conditions = Qemu::new(settings).identity().conditions;
    assert_eq!(conditions["emulator_cpu"], "EPYC");
    assert_eq!(conditions["memory_mib"], 256);
}

#[test]
fn kvm_takes_the_emulators_place() {
    let settings = with_kvm(Engine::HardwareKvm, Path::new("q"));
    let line = settings.arguments(&request()).join(" ");
    assert!(line.contains("-accel kvm -cpu host -smp 2"), "{line}");
    assert!(!line.contains("tcg"));
    let settings = with_kvm(Engine::SoftwareKvm, Path::new("q"));
    let line = settings.arguments(&request()).join(" ");
    assert!(
        line.contains("-accel kvm -cpu host,-arch-capabilities "),
        "{line}"
    );
}

#[test]
fn qemu_with_kvm_is_a_monitor_and_no_emulator() {
    let machine = Qemu::new(with_kvm(Engine::SoftwareKvm, Path::new("q")));
    let identity = machine.identity();
    assert_eq!(identity.subject["monitor"], "qemu 7.2.22");
    assert_eq!(identity.subject["kvm"], "software");
    assert!(!identity.conditions.contains_key("emulator"));
    assert_eq!(machine.description().engine, Engine::SoftwareKvm);
    let machine = Qemu::new(settings(Path::new("q")));
    assert_eq!(machine.description().engine, Engine::Emulator);
    assert!(!machine.identity().subject.contains_key("kvm"));
}

#[test]
fn only_what_needs_it_gets_a_control_channel() {
    let mut timed = settings(Path::new("q"));
    assert!(!timed.is_controlled());
    timed.pins = vec![0, 1];
    assert!(timed.is_controlled());
    assert_eq!(Qemu::new(timed).identity().conditions["pinning"], "0,1");
    assert!(with_kvm(Engine::HardwareKvm, Path::new("q")).is_controlled());
}

#[test]
fn a_qemu_that_dies_before_it_speaks_is_found_at_its_console() {
    let folder = tempfile::tempdir().unwrap();
    let program = fake(folder.path(), "echo 'no such CPU' >&2; exit 1");
    let mut timed = settings(&program);
    timed.pins = vec![0, 0];
    let mut machine = Qemu::new(timed);
    machine.launch(&request()).unwrap();
    assert_eq!(follow(&mut machine).1, "its process exited with status 1");
    assert_eq!(machine.complaints(), "no such CPU");
    let line = machine.command_line().unwrap();
    assert!(line.contains("-chardev socket,id=qmp,fd="), "{line}");
    assert!(line.ends_with(" -S"), "{line}");
}

#[test]
fn a_qemu_without_kvm_is_refused_with_the_cure() {
    let folder = tempfile::tempdir().unwrap();
    let program = fake(folder.path(), "echo 'Accelerators supported:'; echo tcg");
    let error = Emulator::find(Some(&program))
        .unwrap()
        .needs_kvm()
        .unwrap_err();
    assert!(error.to_string().contains("without KVM"), "{error}");
    let program = fake(folder.path(), "echo 'Accelerators supported:'; echo kvm");
    Emulator::find(Some(&program)).unwrap().needs_kvm().unwrap();
}

fn follow(machine: &mut Qemu) -> (String, String) {
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
fn the_console_is_followed_to_its_end_and_errors_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let program = fake(
        folder.path(),
        "echo first >/dev/stdout; echo 'bad flag' >&2; sleep 0.05; echo last >>/dev/stdout; exit 1",
    );
    let emulator = Emulator::find(Some(&program)).unwrap();
    assert_eq!(emulator.version, "7.2.22");
    let mut machine = Qemu::new(settings(&program));
    for _ in 0..2 {
        machine.launch(&request()).unwrap();
        let (text, how) = follow(&mut machine);
        assert_eq!(text, "first\nlast\n");
        assert_eq!(how, "its process exited with status 1");
        assert_eq!(machine.complaints(), "bad flag");
    }
    assert!(
        machine
            .command_line()
            .unwrap()
            .ends_with("'bench=^(idle)$ nonce=1'")
    );
}

#[test]
fn a_timed_console_says_when_each_piece_came() {
    let folder = tempfile::tempdir().unwrap();
    // The last piece is written only after the first was read.
    let heard = folder.path().join("heard");
    let program = fake(
        folder.path(),
        &format!(
            "printf first >>/dev/stdout; until [ -e '{}' ]; do sleep 0.01; done; printf last >>/dev/stdout",
            heard.display()
        ),
    );
    let mut machine = Qemu::new(settings(&program));
    let timed = LaunchRequest {
        timed: true,
        ..request()
    };
    machine.launch(&timed).unwrap();
    let (start, mut first) = (Instant::now(), Vec::new());
    while first.len() < 5 {
        assert!(start.elapsed() < Duration::from_secs(60), "no output");
        machine.console(&mut first).unwrap();
        machine.wait();
    }
    let between = counter::read();
    std::fs::write(&heard, "").unwrap();
    assert_eq!(follow(&mut machine).0, "last");
    let mut chunks = Vec::new();
    machine.heard(&mut chunks);
    let bytes: Vec<usize> = chunks.iter().map(|chunk| chunk.bytes).collect();
    assert_eq!(bytes, [5, 4]);
    // Timestamped on arrival, not when taken.
    assert!(chunks[0].ticks < between && between < chunks[1].ticks);
    chunks.clear();
    machine.heard(&mut chunks);
    assert!(chunks.is_empty());
    machine.launch(&request()).unwrap();
    assert_eq!(follow(&mut machine).0, "firstlast");
    machine.heard(&mut chunks);
    assert!(chunks.is_empty(), "not timed");
}

#[test]
fn a_killed_machine_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let program = fake(folder.path(), "echo $$; exec sleep 600");
    let mut machine = Qemu::new(settings(&program));
    machine.launch(&request()).unwrap();
    let mut buffer = Vec::new();
    let start = Instant::now();
    while buffer.last() != Some(&b'\n') {
        assert!(start.elapsed() < Duration::from_secs(60), "no output");
        machine.console(&mut buffer).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    machine.kill();
    let pid = String::from_utf8(buffer).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
    assert!(matches!(
        machine.console(&mut Vec::new()).unwrap(),
        Console::Ended(_)
    ));
}

#[test]
fn a_guest_image_that_is_not_there_is_an_error() {
    let mut machine = Qemu::new(settings(Path::new("/bin/true")));
    let error = machine.prepare().unwrap_err().to_string();
    assert!(error.contains("/tmp/a guest.elf"), "{error}");
}

#[test]
fn a_machine_that_ends_by_itself_has_reset_or_powered_off() {
    let folder = tempfile::tempdir().unwrap();
    let program = fake(folder.path(), "exit 0");
    let mut machine = Qemu::new(settings(&program));
    machine.launch(&request()).unwrap();
    assert!(
        follow(&mut machine)
            .1
            .starts_with("the machine reset itself")
    );
}
