//! The findings on made-up hosts of many kinds.

use crate::hosts::{self, around};
use crate::snapshot::Snapshot;
use crate::{Around, Finding, Here, Node, Probe, Report, Severity, examine, long, short};

const CPU: &str = "/sys/devices/system/cpu";

fn of(host: &Snapshot) -> Report {
    examine(host, &around())
}

fn find<'a>(report: &'a Report, id: &str) -> &'a Finding {
    report
        .findings
        .iter()
        .find(|finding| finding.id == id)
        .unwrap()
}

fn command(report: &Report, id: &str) -> Option<String> {
    find(report, id).cure.as_ref()?.command.clone()
}

fn here(report: &Report, id: &str) -> Here {
    find(report, id).cure.as_ref().unwrap().here
}

/// Ids with this severity.
fn with(report: &Report, severity: Severity) -> Vec<&str> {
    let findings = report.findings.iter();
    findings
        .filter(|f| f.severity == severity)
        .map(|f| f.id)
        .collect()
}

#[test]
fn a_xeon_out_of_the_box() {
    let report = of(&hosts::xeon());
    assert_eq!(with(&report, Severity::Problem), ["kvm.device"]);
    assert_eq!(
        with(&report, Severity::Warning),
        ["processor.turbo", "processor.smt"]
    );
    assert_eq!(report.worst, Severity::Problem);
    assert_eq!(find(&report, "kvm.hardware").found, "Intel VMX");
    assert_eq!(
        command(&report, "kvm.device").unwrap(),
        "sudo usermod -aG kvm \"$USER\""
    );
    assert_eq!(here(&report, "kvm.device"), Here::Root);
    assert_eq!(
        command(&report, "processor.turbo").unwrap(),
        format!("echo 1 | sudo tee {CPU}/intel_pstate/no_turbo")
    );
    assert_eq!(
        command(&report, "processor.smt").unwrap(),
        format!("echo off | sudo tee {CPU}/smt/control")
    );
    // The last two cores with all their threads.
    assert_eq!(
        command(&report, "processor.isolated").unwrap(),
        "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=managed_irq,domain,6-7,14-15 \
         nohz_full=6-7,14-15 rcu_nocbs=6-7,14-15\"' | sudo tee \
         /etc/default/grub.d/worldswitch.cfg && sudo update-grub"
    );
    let found = &find(&report, "processor.mitigations").found;
    assert_eq!(
        found,
        "mitigated: itlb_multihit, l1tf; vulnerable: mds; 1 not affecting this CPU"
    );
    assert_eq!(
        find(&report, "processor.governor").found,
        "performance, driver intel_pstate"
    );
    assert_eq!(find(&report, "kvm.halt-polling").found, "up to 200000 ns");
    assert_eq!(find(&report, "host.virtual-machine").severity, Severity::Ok);
}

#[test]
fn a_virtual_machine_in_a_cloud() {
    let mut around = around();
    around.signature = Some("KVMKVMKVM".into());
    let report = examine(&hosts::epyc_vm(), &around);
    assert_eq!(with(&report, Severity::Problem), ["kvm.hardware"]);
    assert_eq!(
        with(&report, Severity::Warning),
        ["host.virtual-machine", "host.steal"]
    );
    let below = find(&report, "host.virtual-machine");
    assert_eq!(below.found, "KVM, Google Compute Engine");
    assert_eq!(here(&report, "kvm.hardware"), Here::No);
    // Firmware's and the host's settings can't be seen: notes, not guesses.
    for id in ["processor.governor", "processor.turbo"] {
        assert_eq!(find(&report, id).severity, Severity::Note);
        assert!(find(&report, id).found.contains("not seen from here"));
    }
    assert_eq!(find(&report, "host.clock").severity, Severity::Note);
    assert_eq!(find(&report, "host.steal").found, "1.0 % since boot");
    let stat = "cpu  1000 0 500 97000 400 0 100 1 0 0\n";
    let report = of(&hosts::epyc_vm().file("/proc/stat", stat));
    let steal = find(&report, "host.steal");
    assert_eq!(steal.severity, Severity::Note);
    assert_eq!(steal.found, "under 0.1 % since boot");
}

#[test]
fn virtual_machines_on_arm_are_detected_by_their_firmware() {
    let on = |maker: &str, product: &str| {
        let host = hosts::arm_server()
            .file("/sys/class/dmi/id/sys_vendor", maker)
            .file("/sys/class/dmi/id/product_name", product);
        find(&of(&host), "host.virtual-machine").found.clone()
    };
    assert_eq!(on("Amazon EC2", "m7g.large"), "Amazon EC2 m7g.large");
    assert!(on("Amazon EC2", "m7g.metal").starts_with("none"));
    let tree = "/sys/firmware/devicetree/base/hypervisor/compatible";
    let host = hosts::arm_server().file(tree, "xen,xen-4.17\0xen,xen\0");
    let report = of(&host);
    let below = find(&report, "host.virtual-machine");
    assert!(below.found.starts_with("xen,xen-4.17, "), "{}", below.found);
}

#[test]
fn a_laptop_in_use() {
    let report = of(&hosts::laptop());
    assert!(with(&report, Severity::Problem).is_empty());
    assert_eq!(
        with(&report, Severity::Warning),
        [
            "processor.governor",
            "processor.turbo",
            "processor.smt",
            "host.load",
            "memory.swap"
        ]
    );
    assert_eq!(
        command(&report, "processor.governor").unwrap(),
        format!("echo performance | sudo tee {CPU}/cpufreq/policy*/scaling_governor")
    );
    assert_eq!(here(&report, "processor.smt"), Here::No);
    assert_eq!(find(&report, "kvm.device").severity, Severity::Ok);
    assert_eq!(
        command(&report, "memory.transparent-hugepages").unwrap(),
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
    );
    assert_eq!(
        find(&report, "memory.swap").found,
        "3906 MiB in use, 488 MiB of memory available"
    );
}

#[test]
fn an_arm_server_set_up_for_measuring() {
    let report = of(&hosts::arm_server());
    assert_eq!(report.worst, Severity::Note);
    for id in [
        "processor.isolated",
        "processor.governor",
        "host.clock",
        "kvm.hardware",
    ] {
        assert_eq!(find(&report, id).severity, Severity::Ok, "{id}");
    }
    assert_eq!(
        find(&report, "processor.isolated").found,
        "78-79, without a timer tick"
    );
    assert!(short(&report, true).is_empty());
}

#[test]
fn nothing_can_be_set_from_a_container() {
    let report = of(&hosts::docker());
    assert!(report.host.container && !report.host.administrator);
    for finding in &report.findings {
        let Some(cure) = &finding.cure else { continue };
        if finding.id != "host.load" {
            assert_eq!(cure.here, Here::No, "{}", finding.id);
            assert!(cure.obstacle.is_some(), "{}", finding.id);
        }
    }
    let device = find(&report, "kvm.device").cure.clone().unwrap();
    let mut without_qemu = around();
    without_qemu.tools.qemu = Err("not installed".into());
    // Root in a container can install packages, and mostly has no sudo.
    assert_eq!(
        command(&examine(&hosts::docker(), &without_qemu), "tools.qemu").unwrap(),
        "apt-get install qemu-system-x86"
    );
    assert!(device.advice.contains("--device /dev/kvm"));
}

#[test]
fn a_software_kvm_is_a_problem_for_kvm_only() {
    let report = of(&hosts::software_kvm());
    let hardware = find(&report, "kvm.hardware");
    assert_eq!(hardware.severity, Severity::Problem);
    assert!(hardware.found.starts_with("a software KVM"));
    assert!(hardware.why.contains("must never be executed"));
    assert!(
        short(&report, true)
            .iter()
            .any(|line| line.contains("software KVM"))
    );
    assert!(
        !short(&report, false)
            .iter()
            .any(|line| line.contains("software KVM"))
    );
}

#[test]
fn a_host_without_files_has_every_finding_and_no_warning() {
    let report = of(&hosts::empty());
    let ids: Vec<_> = report.findings.iter().map(|finding| finding.id).collect();
    for (name, host) in hosts::all() {
        let others: Vec<_> = of(&host)
            .findings
            .iter()
            .map(|finding| finding.id)
            .collect();
        assert_eq!(others, ids, "{name}");
    }
    assert!(with(&report, Severity::Warning).is_empty());
    // Without CPU flags it is unknown whether there should be a KVM.
    assert_eq!(with(&report, Severity::Problem), ["kvm.device"]);
    assert!(long(&report, false).contains("unknown CPU, 1 CPU"));
}

#[test]
fn group_membership_newer_than_the_login_is_detected() {
    let member = hosts::xeon().file("/etc/group", "kvm:x:104:bob,ann\n");
    assert_eq!(command(&of(&member), "kvm.device").unwrap(), "newgrp kvm");
    // The cure is never to join group root, nor a group whose name the shell would run.
    for (gid, groups) in [(0, "root:x:0:\n"), (104, "$(reboot):x:104:\n"), (7, "")] {
        let node = Node {
            gid,
            ..hosts::kvm_device(false)
        };
        let host = hosts::xeon()
            .device("/dev/kvm", node)
            .file("/etc/group", groups);
        assert_eq!(
            command(&of(&host), "kvm.device").unwrap(),
            "sudo chown \"$USER\" /dev/kvm"
        );
    }
    let unloaded = of(&hosts::xeon().without("/dev/kvm"));
    assert_eq!(
        command(&unloaded, "kvm.device").unwrap(),
        "sudo modprobe kvm_intel"
    );
}

#[test]
fn interrupts_without_exits_are_what_the_module_says() {
    let on = |flags: &str, vmx_flags: &str, parameter: &str, value: &str| {
        let cpuinfo = format!("flags : fpu {flags}\nvmx flags : {vmx_flags}\n");
        let host = hosts::xeon().file("/proc/cpuinfo", cpuinfo);
        let report = of(&host.file(&format!("/sys/module/{parameter}"), value));
        let finding = find(&report, "kvm.exitless-interrupts");
        (
            finding.severity,
            finding.found.clone(),
            command(&report, "kvm.exitless-interrupts"),
        )
    };
    let apicv = "kvm_intel/parameters/enable_apicv";
    let avic = "kvm_amd/parameters/avic";
    let (severity, found, _) = on("vmx", "vnmi posted_intr", apicv, "Y\n");
    assert_eq!(
        (severity, found.as_str()),
        (Severity::Ok, "posted interrupts (APICv)")
    );
    let (severity, _, cure) = on("vmx", "vnmi posted_intr", apicv, "N\n");
    assert_eq!(severity, Severity::Note);
    assert_eq!(
        cure.unwrap(),
        "sudo modprobe -r kvm_intel && sudo modprobe kvm_intel enable_apicv=1"
    );
    let (_, found, cure) = on("vmx", "vnmi", apicv, "N\n");
    assert!(found.starts_with("none") && cure.is_none(), "{found}");
    assert_eq!(on("svm avic", "", avic, "1\n").0, Severity::Ok);
    let (_, found, cure) = on("svm avic", "", avic, "N\n");
    assert!(
        found.contains("AVIC") && cure.unwrap().ends_with("avic=1"),
        "{found}"
    );
    assert!(on("svm", "", avic, "N\n").1.contains("no AVIC"));
    assert!(on("vmx", "", avic, "Y\n").1.starts_with("unknown"));
    assert!(on("sse2", "", avic, "Y\n").1.contains("neither"));
    let arm = of(&hosts::arm_server());
    assert!(
        find(&arm, "kvm.exitless-interrupts")
            .found
            .contains("GICv4")
    );
}

#[test]
fn kvm_works_reports_the_probe() {
    let with_probe = |probe| {
        let around = Around { probe, ..around() };
        let report = examine(&hosts::xeon(), &around);
        let works = find(&report, "kvm.works");
        (works.severity, works.found.clone())
    };
    let ran = |software| {
        with_probe(Probe::Ran {
            software,
            exit_ns: 14_000,
        })
    };
    assert_eq!(ran(false).0, Severity::Ok);
    assert!(ran(false).1.contains("14000 ns"));
    assert_eq!(ran(true).0, Severity::Problem);
    let (severity, found) = with_probe(Probe::Failed("no memory".into()));
    assert_eq!(
        (severity, found.as_str()),
        (Severity::Problem, "no: no memory")
    );
    let (severity, found) = with_probe(Probe::NotMade("no monitor".into()));
    assert_eq!(
        (severity, found.as_str()),
        (Severity::Note, "not tried: no monitor")
    );
}

#[test]
fn the_current_load_overrides_the_average() {
    let load = |average: &str, earlier: Option<&str>, now: &str| {
        let host = hosts::xeon()
            .file("/proc/loadavg", average)
            .file("/proc/stat", now);
        let around = Around {
            earlier_stat: earlier.map(str::to_owned),
            ..around()
        };
        find(&examine(&host, &around), "host.load").severity
    };
    let (start, idle, busy) = ("cpu  0 0 0 0", "cpu  0 0 0 1600", "cpu  1400 0 0 200");
    assert_eq!(load("0.10 0 0", Some(start), idle), Severity::Ok);
    assert_eq!(load("15.0 0 0", Some(start), idle), Severity::Note);
    assert_eq!(load("15.0 0 0", None, idle), Severity::Warning);
    assert_eq!(load("0.10 0 0", Some(start), busy), Severity::Warning);
    assert_eq!(load("2.00 0 0", Some(start), idle), Severity::Note);
    // One idle CPU is enough on a host that has only one.
    let lone = hosts::xeon().file(&format!("{CPU}/online"), "0\n");
    assert_eq!(find(&of(&lone), "host.load").severity, Severity::Ok);
}

#[test]
fn a_clock_source_other_than_the_tsc_is_a_warning() {
    let source = "/sys/devices/system/clocksource/clocksource0";
    let on = |current: &str, offered: &str| {
        let host = hosts::xeon().file(&format!("{source}/current_clocksource"), current);
        of(&host.file(&format!("{source}/available_clocksource"), offered))
    };
    let report = on("hpet\n", "tsc hpet\n");
    assert_eq!(find(&report, "host.clock").severity, Severity::Warning);
    assert_eq!(
        command(&report, "host.clock").unwrap(),
        format!("echo tsc | sudo tee {source}/current_clocksource")
    );
    assert_eq!(command(&on("hpet\n", "hpet acpi_pm\n"), "host.clock"), None);
    let uneven = hosts::xeon().file("/proc/cpuinfo", "flags : fpu vmx nonstop_tsc\n");
    let report = of(&uneven);
    assert!(
        find(&report, "host.clock")
            .found
            .contains("lacks constant_tsc")
    );
}

#[test]
fn isolated_partitions_of_cgroups_count() {
    let host = hosts::xeon().file("/sys/fs/cgroup/cpuset.cpus.isolated", "14-15\n");
    let report = of(&host);
    let isolated = find(&report, "processor.isolated");
    assert_eq!(isolated.found, "14-15, but with a timer tick");
    // Of two CPUs none can be isolated.
    let small = of(&hosts::xeon().file(&format!("{CPU}/online"), "0-1\n"));
    assert_eq!(here(&small, "processor.isolated"), Here::No);
}

/// What keeps a program from CPUs: each with its reason, and the cure by who can apply it.
#[test]
fn cpus_that_cannot_be_used_are_counted_with_the_reason_and_the_cure() {
    let xeon = || hosts::xeon().file("/proc/self/status", hosts::status("0-15"));
    let bound = |cpus: &str| hosts::xeon().file("/proc/self/status", hosts::status(cpus));
    let present = |host: Snapshot, cpus: &str| host.file(&format!("{CPU}/present"), cpus);
    let quota = |text: &str| {
        let host = hosts::in_group(xeon(), "0-15");
        host.file("/sys/fs/cgroup/lab.slice/cpu.max", text)
    };
    let one = present(
        hosts::epyc_vm().file(&format!("{CPU}/online"), "0\n"),
        "0\n",
    );
    let root = present(hosts::epyc_vm(), "0-4\n");
    let smt_off = present(xeon(), "0-31\n").file(&format!("{CPU}/smt/control"), "off\n");
    // Host, usable CPUs, severity, words of what was found, and of the cure with who can apply it.
    let cases = [
        (xeon(), 16, Severity::Ok, "all 16", ""),
        (
            bound("0"),
            1,
            Severity::Warning,
            "1 of 16 (0); the affinity mask (taskset, CPUAffinity=) leaves out CPUs 1-15",
            "Yes taskset -pc 0-15 $$",
        ),
        (
            bound("0-3"),
            4,
            Severity::Note,
            "4 of 16 (0-3); the affinity",
            "Yes taskset -pc 0-15 $$",
        ),
        (
            hosts::slice(),
            1,
            Severity::Warning,
            "1 of 16 (3); the cpuset of its control group /lab.slice leaves out CPUs 0-2,4-15",
            "Root add CPUs 0-2,4-15 to the cpuset",
        ),
        (
            hosts::in_group(xeon(), "0-1").file("/proc/self/status", hosts::status("0-1")),
            2,
            Severity::Note,
            "2 of 16 (0-1); the cpuset",
            "Root add CPUs 2-15",
        ),
        (
            present(xeon(), "0-16\n"),
            16,
            Severity::Note,
            "16 of 17 (0-15); CPU 16 is offline",
            "Root echo 1 | sudo tee /sys/devices/system/cpu/cpu16/online",
        ),
        (
            present(xeon(), "0-19\n"),
            16,
            Severity::Note,
            "CPUs 16-19 are offline",
            "Root echo 1 | sudo tee /sys/devices/system/cpu/cpu[0-9]*/online",
        ),
        (
            root,
            4,
            Severity::Note,
            "CPU 4 is offline",
            "Yes echo 1 | tee /sys/devices/system/cpu/cpu4/online",
        ),
        // The doctor itself advises this.
        (
            smt_off,
            16,
            Severity::Ok,
            "CPUs 16-31 are offline, as SMT is off",
            "",
        ),
        (
            one,
            1,
            Severity::Note,
            "one, as this machine has no more",
            "",
        ),
        (
            quota("150000 100000\n"),
            16,
            Severity::Warning,
            "all 16; control groups grant the time of 1.50 CPUs",
            "Root raise the limit of 1.50 CPUs",
        ),
        (quota("max 100000\n"), 16, Severity::Ok, "all 16", ""),
        (hosts::arm_server(), 80, Severity::Ok, "all 80", ""),
    ];
    for (host, usable, severity, found, cure) in cases {
        let report = of(&host);
        let finding = find(&report, "processor.usable");
        assert_eq!(
            (report.host.usable, finding.severity),
            (usable, severity),
            "{}",
            finding.found
        );
        assert!(finding.found.contains(found), "{}", finding.found);
        let text = finding.cure.as_ref().map_or(String::new(), |cure| {
            let command = cure.command.as_ref();
            format!("{:?} {}", cure.here, command.unwrap_or(&cure.advice))
        });
        assert!(
            text.starts_with(cure) && text.is_empty() == cure.is_empty(),
            "{text}"
        );
        let head = long(&report, false);
        let head = head.lines().next().unwrap();
        let all = report.host.usable == report.host.cpus;
        assert_eq!(
            head.contains("of which this program can use"),
            !all,
            "{head}"
        );
    }
}

#[test]
fn cores_of_two_kinds_are_a_warning_with_the_cpus_of_one() {
    let report = of(&hosts::hybrid());
    let kinds = find(&report, "processor.kinds");
    assert_eq!(kinds.severity, Severity::Warning);
    assert_eq!(kinds.found, "2: performance (0-11), efficiency (12-19)");
    let cure = |report: &Report| command(report, "processor.kinds").unwrap();
    assert_eq!(cure(&report), "taskset -c 0-11 worldswitch run");
    // The last two cores are efficient ones; those that are isolated are of the fastest kind.
    let isolate = command(&report, "processor.isolated").unwrap();
    assert!(isolate.contains("domain,8-11 "), "{isolate}");
    let report = of(&hosts::board());
    let kinds = find(&report, "processor.kinds");
    assert_eq!(kinds.severity, Severity::Warning);
    assert_eq!(kinds.found, "2: capacity 1024 (4-5), capacity 485 (0-3)");
    assert_eq!(cure(&report), "taskset -c 4-5 worldswitch run");
    // The cure works.
    let cured = hosts::board().file("/proc/self/status", hosts::status("4-5"));
    let report = of(&cured);
    let kinds = find(&report, "processor.kinds");
    assert_eq!(
        (kinds.severity, &*kinds.found),
        (Severity::Ok, "one in use: capacity 1024 (4-5)")
    );
    for (name, host) in [("xeon", hosts::xeon()), ("empty", hosts::empty())] {
        assert_eq!(find(&of(&host), "processor.kinds").found, "one", "{name}");
    }
}

#[test]
fn the_short_form_is_short() {
    let report = of(&hosts::laptop());
    let lines = short(&report, false);
    assert_eq!(lines.len(), 4);
    assert_eq!(
        lines[0],
        "frequency governor: powersave, driver amd-pstate-epp"
    );
    assert_eq!(lines[3], "2 more; for details: worldswitch doctor");
    let report = of(&hosts::xeon());
    assert_eq!(short(&report, false).len(), 3);
    // With KVM, its problem is first, being worse than the warnings.
    assert!(short(&report, true)[0].starts_with("/dev/kvm: "));
}

#[test]
fn colour_and_columns() {
    let report = of(&hosts::xeon());
    let plain = long(&report, false);
    assert!(!plain.contains('\x1b'));
    assert!(long(&report, true).contains("\x1b[31mproblem\x1b[0m"));
    for line in plain.lines() {
        // Commands are not wrapped, so that they can be copied.
        assert!(line.len() <= 100 || line.contains("sudo"), "{line}");
    }
    assert!(
        plain.ends_with("1 problem, 2 warnings, 5 notes, 13 ok\n"),
        "{plain}"
    );
}
