//! Made-up hosts for tests, with files as on such machines.

use crate::snapshot::Snapshot;
use crate::{Around, Node, Probe, Tools};

const CPU: &str = "/sys/devices/system/cpu";

/// All tools are there, and nothing was run in KVM.
pub fn around() -> Around {
    Around {
        tools: Tools {
            qemu: Ok("7.2.22, /usr/bin/qemu-system-x86_64".into()),
            guest: Ok("/opt/guest.elf".into()),
            monitor: Ok("/opt/vmm".into()),
        },
        probe: Probe::NotMade("this is a test".into()),
        signature: None,
        earlier_stat: None,
    }
}

/// `/dev/kvm` as udev makes it; `usable` by the user or not.
pub fn kvm_device(usable: bool) -> Node {
    Node {
        mode: 0o660,
        gid: 104,
        device: true,
        usable,
    }
}

pub fn all() -> Vec<(&'static str, Snapshot)> {
    vec![
        ("xeon", xeon()),
        ("epyc_vm", epyc_vm()),
        ("laptop", laptop()),
        ("arm_server", arm_server()),
        ("docker", docker()),
        ("software_kvm", software_kvm()),
        ("hybrid", hybrid()),
        ("board", board()),
        ("slice", slice()),
        ("empty", empty()),
    ]
}

/// A host without any file.
pub fn empty() -> Snapshot {
    Snapshot::default()
}

/// The files of an idle Linux.
fn quiet_linux(cpus: &str) -> Snapshot {
    Snapshot::default()
        .file("/proc/sys/kernel/osrelease", "6.12.57+deb13-amd64\n")
        .file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n")
        .file("/proc/loadavg", "0.05 0.03 0.00 1/345 6789\n")
        .file("/proc/stat", "cpu  1000 0 500 98000 400 0 100 0 0 0\n")
        .file("/proc/meminfo", "MemTotal: 65536000 kB\nMemAvailable:   60000000 kB\nSwapTotal:       0 kB\nSwapFree:        0 kB\n")
        .file("/proc/self/mounts", "sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0\nproc /proc proc rw 0 0\n")
        .file("/proc/self/uid_map", "         0          0 4294967295\n")
        .symlink("/proc/self/ns/pid", "pid:[4026531836]")
        .file("/etc/group", "root:x:0:\nkvm:x:104:\n")
        .file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n")
        .file("/usr/bin/apt-get", "")
        .file("/usr/sbin/update-grub", "")
        .file("/etc/default/grub", "")
        .file(&format!("{CPU}/online"), format!("{cpus}\n"))
        .file(&format!("{CPU}/isolated"), "\n")
        .file(&format!("{CPU}/nohz_full"), "(null)\n")
        .file(&format!("{CPU}/smt/active"), "0\n")
        .file(&format!("{CPU}/smt/control"), "notsupported\n")
        .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
}

fn user(host: Snapshot) -> Snapshot {
    host.file("/proc/self/status", status("0-1023"))
}

fn root(host: Snapshot) -> Snapshot {
    let status = "Name:\tx\nUid:\t0\t0\t0\t0\nGroups:\t0 \nCapEff:\t000001ffffffffff\n";
    host.file("/proc/self/status", status)
}

fn x86(host: Snapshot, model: &str, flags: &str) -> Snapshot {
    let tsc = "constant_tsc nonstop_tsc";
    let cpuinfo = format!(
        "processor\t: 0\nmodel name\t: {model}\nflags\t\t: fpu {tsc} {flags}\n\nprocessor\t: 1\n"
    );
    let source = "/sys/devices/system/clocksource/clocksource0";
    host.file("/proc/cpuinfo", cpuinfo)
        .file(&format!("{source}/current_clocksource"), "tsc\n")
        .file(
            &format!("{source}/available_clocksource"),
            "tsc hpet acpi_pm\n",
        )
}

fn governed(mut host: Snapshot, governor: &str, driver: &str, offered: &str) -> Snapshot {
    for policy in 0..2 {
        let policy = format!("{CPU}/cpufreq/policy{policy}");
        host = host
            .file(
                &format!("{policy}/scaling_governor"),
                format!("{governor}\n"),
            )
            .file(&format!("{policy}/scaling_driver"), format!("{driver}\n"))
            .file(
                &format!("{policy}/scaling_available_governors"),
                format!("{offered}\n"),
            );
    }
    host
}

/// A bare server with SMT, untuned but for the governor. The user is not in the group kvm.
pub fn xeon() -> Snapshot {
    let mut host = x86(
        user(quiet_linux("0-15")),
        "Intel(R) Xeon(R) Gold 6338",
        "vmx",
    );
    host = governed(host, "performance", "intel_pstate", "performance powersave");
    for cpu in 0..16 {
        let (one, other) = (cpu % 8, cpu % 8 + 8);
        host = host.file(
            &format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"),
            format!("{one},{other}\n"),
        );
    }
    let flaws = format!("{CPU}/vulnerabilities");
    host.file(&format!("{CPU}/intel_pstate/no_turbo"), "0\n")
        .file(&format!("{CPU}/smt/active"), "1\n")
        .file(&format!("{CPU}/smt/control"), "on\n")
        .file(
            &format!("{flaws}/l1tf"),
            "Mitigation: PTE Inversion; VMX: conditional cache flushes\n",
        )
        .file(
            &format!("{flaws}/itlb_multihit"),
            "KVM: Mitigation: Split huge pages\n",
        )
        .file(&format!("{flaws}/mds"), "Vulnerable; SMT vulnerable\n")
        .file(&format!("{flaws}/meltdown"), "Not affected\n")
        .file("/sys/module/kvm/parameters/halt_poll_ns", "200000\n")
        .file("/sys/class/dmi/id/sys_vendor", "Dell Inc.\n")
        .file("/sys/class/dmi/id/product_name", "PowerEdge R750\n")
        .device("/dev/kvm", kvm_device(false))
}

/// A cloud's virtual machine without nested virtualization, with stolen time. The user is root.
pub fn epyc_vm() -> Snapshot {
    let host = x86(root(quiet_linux("0-3")), "AMD EPYC 7B13", "hypervisor");
    let source = "/sys/devices/system/clocksource/clocksource0";
    host.file(&format!("{source}/current_clocksource"), "kvm-clock\n")
        .file(
            &format!("{source}/available_clocksource"),
            "kvm-clock tsc\n",
        )
        .file("/proc/stat", "cpu  1000 0 500 97000 400 0 100 1000 0 0\n")
        .file("/sys/class/dmi/id/sys_vendor", "Google\n")
        .file("/sys/class/dmi/id/product_name", "Google Compute Engine\n")
}

/// A laptop with governor powersave, swap in use and a busy desktop.
pub fn laptop() -> Snapshot {
    let host = x86(user(quiet_linux("0-7")), "AMD Ryzen 7 PRO 6850U", "svm");
    governed(host, "powersave", "amd-pstate-epp", "performance powersave")
        .file(&format!("{CPU}/cpufreq/boost"), "1\n")
        .file(&format!("{CPU}/smt/active"), "1\n")
        .file(&format!("{CPU}/smt/control"), "notimplemented\n")
        .file("/proc/loadavg", "6.50 5.00 4.00 3/900 4242\n")
        .file(
            "/proc/meminfo",
            "MemAvailable: 500000 kB\nSwapTotal: 8000000 kB\nSwapFree: 4000000 kB\n",
        )
        .file(
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
        )
        .file("/sys/module/kvm/parameters/halt_poll_ns", "0\n")
        .device("/dev/kvm", kvm_device(true))
}

/// A bare ARM server with isolated CPUs.
pub fn arm_server() -> Snapshot {
    root(quiet_linux("0-79"))
        .file(
            "/proc/cpuinfo",
            "processor\t: 0\nFeatures\t: fp asimd evtstrm aes\nCPU part\t: 0xd0c\n",
        )
        .file(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "arch_sys_counter\n",
        )
        .file(&format!("{CPU}/isolated"), "78-79\n")
        .file(&format!("{CPU}/nohz_full"), "78-79\n")
        .file(
            &format!("{CPU}/cpufreq/policy0/scaling_governor"),
            "performance\n",
        )
        .file(&format!("{CPU}/smt/control"), "notimplemented\n")
        .file("/sys/class/dmi/id/sys_vendor", "Ampere(R)\n")
        .file("/sys/class/dmi/id/product_name", "Mt. Jade\n")
        .device("/dev/kvm", kvm_device(true))
}

/// A container as docker starts it on the laptop: uid 0 without capabilities over the host,
/// read-only /sys, no /dev/kvm.
pub fn docker() -> Snapshot {
    let status = "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n";
    laptop()
        .without("/dev/kvm")
        .file("/proc/self/status", status)
        .file(
            "/proc/self/mounts",
            "sysfs /sys sysfs ro,nosuid,nodev,noexec,relatime 0 0\n",
        )
        .symlink("/proc/self/ns/pid", "pid:[4026532500]")
}

/// A virtual machine with a /dev/kvm but no hardware virtualization.
pub fn software_kvm() -> Snapshot {
    epyc_vm().device("/dev/kvm", kvm_device(true))
}

/// Files of each of these CPUs.
fn each(
    host: Snapshot,
    cpus: std::ops::Range<u32>,
    file: &str,
    text: impl Fn(u32) -> String,
) -> Snapshot {
    cpus.fold(host, |host, cpu| {
        host.file(&format!("{CPU}/cpu{cpu}/{file}"), text(cpu))
    })
}

/// A laptop with six performance cores of two threads (0-11) and eight efficiency cores (12-19).
pub fn hybrid() -> Snapshot {
    let host = x86(
        user(quiet_linux("0-19")),
        "Intel(R) Core(TM) i7-12700H",
        "vmx",
    );
    let host = governed(host, "performance", "intel_pstate", "performance powersave")
        .file("/sys/devices/cpu_core/cpus", "0-11\n")
        .file("/sys/devices/cpu_atom/cpus", "12-19\n")
        .file(&format!("{CPU}/smt/active"), "1\n")
        .file(&format!("{CPU}/smt/control"), "on\n")
        .device("/dev/kvm", kvm_device(true));
    each(host, 0..12, "topology/thread_siblings_list", |cpu| {
        format!("{}-{}\n", cpu & !1, cpu | 1)
    })
}

/// An ARM board with four small cores (0-3) and two big ones.
pub fn board() -> Snapshot {
    let host = user(quiet_linux("0-5")).file(
        "/proc/cpuinfo",
        "processor\t: 0\nFeatures\t: fp asimd evtstrm aes\nCPU part\t: 0xd03\n",
    );
    each(host, 0..6, "cpu_capacity", |cpu| {
        if cpu < 4 { "485\n" } else { "1024\n" }.to_owned()
    })
}

/// The bare server, in a slice of systemd's that may use one CPU.
pub fn slice() -> Snapshot {
    in_group(xeon(), "3").file("/proc/self/status", status("3"))
}

/// In a control group with these CPUs.
pub fn in_group(host: Snapshot, cpus: &str) -> Snapshot {
    host.file("/proc/self/cgroup", "0::/lab.slice/run.scope\n")
        .file("/sys/fs/cgroup/cpuset.cpus.effective", "0-15\n")
        .file(
            "/sys/fs/cgroup/lab.slice/cpuset.cpus.effective",
            format!("{cpus}\n"),
        )
        .file(
            "/sys/fs/cgroup/lab.slice/run.scope/cpuset.cpus.effective",
            format!("{cpus}\n"),
        )
}

/// A user's status, with this affinity mask.
pub fn status(affinity: &str) -> String {
    format!(
        "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nGroups:\t1000 \nCapEff:\t0000000000000000\nCpus_allowed_list:\t{affinity}\n"
    )
}
