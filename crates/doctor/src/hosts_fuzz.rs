//! Property test: any file content gives a valid report.

use crate::hosts::{self, around};
use crate::{Around, Here, Node, examine, long, short};
use proptest::prelude::*;

const CPU: &str = "/sys/devices/system/cpu";

/// Every path that the code reads: those of all made-up hosts, and some more.
fn known_paths() -> Vec<String> {
    let hosts = hosts::all();
    let paths = hosts.iter().flat_map(|(_, host)| host.paths());
    let mut paths: Vec<String> = paths.map(str::to_owned).collect();
    paths.extend(["/proc/xen/capabilities", "/sys/hypervisor/type"].map(str::to_owned));
    paths.push("/sys/firmware/devicetree/base/hypervisor/compatible".into());
    paths.push("/sys/fs/cgroup/cpuset.cpus.isolated".into());
    paths.push(format!("{CPU}/cpufreq/policy0/boost"));
    paths.push(format!("{CPU}/present"));
    paths.push("/sys/fs/cgroup/lab.slice/cpu.max".into());
    paths.sort();
    paths.dedup();
    paths
}

/// Contents of a file: random text, numbers, or the contents of other files.
fn contents() -> impl Strategy<Value = String> {
    let hosts = hosts::all();
    let texts = hosts.iter().flat_map(|(_, host)| {
        let read = |path| crate::Sys::read(host, path).unwrap_or_default();
        host.paths().map(read).collect::<Vec<_>>()
    });
    let texts: Vec<String> = texts.collect();
    prop_oneof![
        "(?s).{0,80}",
        "[0-9 .,\\-]{0,40}",
        "cpu  [0-9 ]{0,120}",
        "[a-z ]{0,20}: [0-9]{0,25} kB\n",
        proptest::sample::select(texts),
    ]
}

proptest! {
    #[test]
    fn whatever_a_host_says_is_answered(
        files in prop::collection::vec((proptest::sample::select(known_paths()), contents()), 0..40),
        device in prop::option::of((any::<u32>(), any::<u32>(), any::<bool>(), any::<bool>())),
        signature in prop::option::of("(?s).{0,12}"),
        earlier_stat in prop::option::of(contents()),
        base in 0..hosts::all().len(),
    ) {
        let mut host = hosts::all().swap_remove(base).1;
        for (path, text) in files {
            host = host.file(&path, text);
        }
        if let Some((mode, gid, device, usable)) = device {
            host = host.device("/dev/kvm", Node { mode, gid, device, usable });
        }
        let around = Around { signature, earlier_stat, ..around() };
        let report = examine(&host, &around);
        prop_assert_eq!(report.findings.len(), examine(&hosts::empty(), &around).findings.len());
        for finding in &report.findings {
            prop_assert!(!finding.found.is_empty(), "{}", finding.id);
            if let Some(cure) = &finding.cure {
                prop_assert_eq!(cure.here == Here::No, cure.obstacle.is_some(), "{}", finding.id);
                // Only a group's checked name goes from a host's files into a command.
                let command = cure.command.as_deref().unwrap_or_default();
                prop_assert!(!command.chars().any(|c| c.is_control() || c == '`'), "{}", command);
            }
        }
        prop_assert!(report.host.usable >= 1);
        if report.host.usable < 2 && report.host.cpus > 1 {
            let usable = report.findings.iter().find(|finding| finding.id == "processor.usable");
            prop_assert!(usable.is_some_and(|finding| finding.severity == crate::Severity::Warning));
        }
        let text = long(&report, false);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{}", text);
        prop_assert!(short(&report, true).len() <= 4);
        prop_assert!(serde_json::to_string(&report).is_ok());
    }
}
