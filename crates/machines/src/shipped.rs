//! The files that come with this program: their names, their places, and how each is made.

use ws_lab::architecture::{Architecture, Timers};

/// A file that comes with this program, of an architecture where there is one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shipped {
    /// The guest image: an ELF file, next to the other images of the same link.
    Guest(Architecture),
    /// vmm.
    Monitor(Architecture),
    /// The first process of a lab machine whose monitor is not vmm, or that prints its symbols.
    Init(Architecture),
    /// The first process of a lab machine whose guest is a whole Linux.
    Agent(Architecture),
    /// The first process of such a machine, if it has several CPUs and no VM.
    CpusAgent(Architecture),
    /// The first process of a dom0 that is a whole Linux.
    XenAgent(Architecture),
    /// The first process of applications on this host, and of VMs there.
    HostAgent,
    /// The program that starts [`Shipped::HostAgent`] in namespaces.
    Enter,
    /// elvis, the project's own back-end, for x86_64. It is beside this program.
    Elvis,
    /// A library that sets the timers of a machine that resumes.
    Timers(Timers),
    /// The plugin of QEMU, of which the others are in the same folder.
    Plugin,
    /// A file in the folder of lab recipes and sets of packages.
    Lab,
}

impl Shipped {
    /// The files that machines may need.
    pub fn of_machines() -> impl Iterator<Item = Self> {
        let of = |architecture| {
            [
                Self::Guest(architecture),
                Self::Monitor(architecture),
                Self::Init(architecture),
            ]
        };
        let agents = |architecture| {
            [
                Self::Agent(architecture),
                Self::CpusAgent(architecture),
                Self::XenAgent(architecture),
            ]
        };
        let all = Architecture::ALL.into_iter();
        let timers = all.clone().filter_map(|one| one.facts().timers);
        all.flat_map(of)
            .chain(Architecture::with_whole_linux().flat_map(agents))
            .chain([Self::HostAgent, Self::Enter, Self::Elvis])
            .chain(timers.map(Self::Timers))
    }

    /// The file's name, its path in an installation, and the folder whose Makefile makes it.
    fn row(self) -> [&'static str; 3] {
        match self {
            Self::Guest(_) => ["guest image", "guest/ARCH/guest.elf", "guest"],
            Self::Monitor(_) => ["KVM monitor", "vmm/ARCH/vmm", "vmm"],
            Self::Init(_) => ["first process of lab machines", "lab/ARCH/init", "lab/init"],
            Self::Agent(_) => [
                "first process of lab machines with applications",
                "lab/ARCH/agent",
                "lab/agent",
            ],
            Self::CpusAgent(_) => [
                "first process of lab machines of several CPUs with applications",
                "lab/ARCH/agent-cpus",
                "lab/agent",
            ],
            Self::XenAgent(_) => [
                "first process of dom0 with applications",
                "lab/ARCH/agent-xen",
                "lab/agent",
            ],
            Self::HostAgent => [
                "agent that runs applications on this host",
                "lab/x86_64/agent-host",
                "lab/agent",
            ],
            Self::Enter => [
                "program that starts it in namespaces",
                "lab/x86_64/enter",
                "lab/agent",
            ],
            Self::Elvis => ["elvis", "elvis", ""],
            Self::Timers(library) => [library.name, library.path, "plugin"],
            Self::Plugin => [
                "plugin of QEMU that records what is executed",
                "plugin/api-3.so",
                "plugin",
            ],
            Self::Lab => ["folder of lab recipes", "lab/packages.toml", ""],
        }
    }

    /// The architecture, if there is one such file for each.
    pub fn architecture(self) -> Option<Architecture> {
        match self {
            Self::Guest(of) | Self::Monitor(of) | Self::Init(of) => Some(of),
            Self::Agent(of) | Self::CpusAgent(of) | Self::XenAgent(of) => Some(of),
            _ => None,
        }
    }

    /// The file's name in messages.
    pub fn name(self) -> String {
        let [name, ..] = self.row();
        match self.architecture() {
            Some(Architecture::X86_64) | None => name.to_owned(),
            Some(other) => format!("{name} for {}", other.name()),
        }
    }

    /// The file's path in an installation.
    pub fn path(self) -> String {
        let [_, path, _] = self.row();
        let of = self.architecture().unwrap_or(Architecture::X86_64);
        path.replace("ARCH", of.name())
    }

    /// The folder of the source tree that has this path; `""` is the tree's root.
    pub fn tree(self) -> &'static str {
        match self {
            Self::Lab => "",
            _ => "build",
        }
    }

    /// The cure where the file is missing.
    pub fn cure(self) -> String {
        let [_, _, folder] = self.row();
        let word = match self.architecture() {
            Some(Architecture::X86_64) | None => String::new(),
            Some(other) => format!(" ARCH={}", other.name()),
        };
        let make = format!("run make build (or make -C {folder}{word})");
        match self {
            Self::Guest(_) => format!("{make}, or name it with --guest FILE"),
            Self::Monitor(_) => format!("{make}, or name it with --vmm FILE"),
            Self::Elvis => "run make build".to_owned(),
            Self::Lab => {
                "it is in the source tree; if it is elsewhere, set WORLDSWITCH_DATA".to_owned()
            }
            _ => make,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_and_made_for_its_architecture() {
        let agent = Shipped::XenAgent(Architecture::Aarch64);
        assert_eq!(
            agent.name(),
            "first process of dom0 with applications for aarch64"
        );
        assert_eq!(agent.path(), "lab/aarch64/agent-xen");
        assert_eq!(
            agent.cure(),
            "run make build (or make -C lab/agent ARCH=aarch64)"
        );
        let monitor = Shipped::Monitor(Architecture::Riscv64);
        assert_eq!(monitor.name(), "KVM monitor for riscv64");
        assert_eq!(monitor.path(), "vmm/riscv64/vmm");
        assert!(monitor.cure().contains("make -C vmm ARCH=riscv64"));
        let guest = Shipped::Guest(Architecture::X86_64);
        assert_eq!(guest.path(), "guest/x86_64/guest.elf");
        assert_eq!(
            guest.cure(),
            "run make build (or make -C guest), or name it with --guest FILE"
        );
    }
}
