//! Facts about this host on which results in units of time depend.

use std::fs;
use ws_results::Identity;

/// Facts about the host; an empty text where the system does not report one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Kernel release.
    pub kernel: String,
    /// CPU model name.
    pub cpu: String,
    /// Microcode revision.
    pub microcode: String,
    /// Whether the host is itself a virtual machine, by its CPU's flags.
    pub virtualized: bool,
}

impl Host {
    /// Reads the facts about this host.
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self::parse(&cpuinfo, &kernel)
    }

    /// Adds the facts to a result's identity.
    pub fn describe(self, identity: &mut Identity) {
        let mut subject = |key: &str, value: String| {
            identity.subject.insert(key.into(), value.into());
        };
        subject("host_kernel", self.kernel);
        subject("host_virtualized", self.virtualized.to_string());
        let mut condition = |key: &str, value: String| {
            identity.conditions.insert(key.into(), value.into());
        };
        condition("host_cpu", self.cpu);
        condition("host_microcode", self.microcode);
    }

    fn parse(cpuinfo: &str, kernel: &str) -> Self {
        let field = |wanted: &str| {
            cpuinfo
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(key, _)| key.trim() == wanted)
                .map(|(_, value)| value.trim().to_owned())
                .unwrap_or_default()
        };
        Self {
            kernel: kernel.trim().to_owned(),
            cpu: field("model name"),
            microcode: field("microcode"),
            virtualized: field("flags").split(' ').any(|flag| flag == "hypervisor"),
        }
    }
}

/// The name of the machine on which this program runs; none if it has none.
pub fn name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    (!name.is_empty() && name != "(none)").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_is_read() {
        let host = Host::parse(
            "processor\t: 0\nmodel name\t: AMD EPYC 7B13\nmicrocode\t: 0xffffffff\nflags\t\t: fpu hypervisor lahf_lm\n\nprocessor\t: 1\nmodel name\t: other\n",
            "6.1.0-18-amd64\n",
        );
        assert_eq!(host.kernel, "6.1.0-18-amd64");
        assert_eq!(host.cpu, "AMD EPYC 7B13");
        assert_eq!(host.microcode, "0xffffffff");
        assert!(host.virtualized);
    }

    #[test]
    fn a_silent_system_gives_empty_facts() {
        assert_eq!(Host::parse("", ""), Host::default());
    }
}
