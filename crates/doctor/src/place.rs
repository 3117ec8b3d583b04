//! The place where the doctor runs: the user, the kind of host, and the settings that can be changed from there.

use crate::finding::{Cure, Here};
use crate::parse::{field, has_word};
use crate::sys::Sys;
use ws_cpus::Cpus;

/// The kernel's first PID namespace, always by this number (PROC_PID_INIT_INO).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
/// Bit of CAP_SYS_ADMIN in a capability mask (capability.h).
const CAP_SYS_ADMIN: u32 = 21;
const GRUB_FOLDER: &str = "/etc/default/grub.d";

/// The instruction set, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    X86,
    Arm64,
    Unknown,
}

/// The facts about user and host that the checks need.
#[derive(Clone, Debug)]
pub struct Place {
    pub arch: Arch,
    /// The first CPU's flags, separated by blanks.
    pub flags: String,
    pub cpus: Cpus,
    /// Whether this is a container.
    pub container: bool,
    /// Whether the user is root, possibly in a container only.
    pub root: bool,
    /// Whether the user may change the kernel's settings, if their files are writable.
    pub administrator: bool,
    /// Whether `/sys` is mounted read-only.
    pub sys_read_only: bool,
    /// Whether Debian's GRUB appears to boot this host.
    pub grub: bool,
}

impl Place {
    pub fn of(sys: &dyn Sys) -> Self {
        let cpuinfo = sys.read("/proc/cpuinfo").unwrap_or_default();
        let (arch, flags) = match (field(&cpuinfo, "flags"), field(&cpuinfo, "Features")) {
            (Some(flags), _) => (Arch::X86, flags),
            (None, Some(features)) => (Arch::Arm64, features),
            (None, None) => (Arch::Unknown, ""),
        };
        let status = sys.read("/proc/self/status").unwrap_or_default();
        let container = container(sys);
        Self {
            arch,
            flags: flags.to_owned(),
            cpus: Cpus::read(&|path| sys.read(path)),
            container,
            root: is_root(&status),
            administrator: is_root(&status) && rules_the_host(sys, &status),
            sys_read_only: sys_read_only(&sys.read("/proc/self/mounts").unwrap_or_default()),
            grub: !container
                && sys.exists("/usr/sbin/update-grub")
                && sys.exists("/etc/default/grub"),
        }
    }

    pub fn flag(&self, wanted: &str) -> bool {
        has_word(&self.flags, wanted)
    }

    /// A command that needs root, with `sudo` unless the user is root.
    pub fn as_root(&self, command: &str) -> String {
        match self.root {
            true => command.to_owned(),
            false => format!("sudo {command}"),
        }
    }

    /// A cure that needs root on the host itself.
    pub fn by_root(&self, advice: &str, command: &str) -> Cure {
        if self.container && !self.administrator {
            return self.not_from_container(advice, &self.as_root(command));
        }
        Cure {
            advice: advice.to_owned(),
            command: Some(self.as_root(command)),
            here: self.here(),
            obstacle: None,
        }
    }

    /// A cure that writes `value` to the files that match `pattern`, all under `/sys`.
    pub fn setting(&self, value: &str, pattern: &str, advice: &str) -> Cure {
        let advice = format!("{advice}, until the next boot");
        let tee = self.as_root("tee");
        let command = format!("echo {value} | {tee} {pattern}");
        if self.sys_read_only {
            return Cure {
                advice,
                command: Some(command),
                here: Here::No,
                obstacle: Some(
                    "/sys is read-only here, as in most containers: run the command on the host itself"
                        .to_owned(),
                ),
            };
        }
        if self.container && !self.administrator {
            return self.not_from_container(&advice, &command);
        }
        Cure {
            here: self.here(),
            advice,
            command: Some(command),
            obstacle: None,
        }
    }

    /// A cure that adds `words` to the kernel's command line.
    pub fn boot_words(&self, words: &str, advice: &str) -> Cure {
        let obstacle = match (self.container, self.grub) {
            (true, _) => "a container can't change its kernel's command line",
            (_, false) => "only Debian's GRUB is known here, and this host does not boot with it",
            _ => {
                let file = format!("{GRUB_FOLDER}/worldswitch.cfg");
                let command = format!(
                    "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {words}\"' | {} {file} && {}",
                    self.as_root("tee"),
                    self.as_root("update-grub")
                );
                return Cure {
                    advice: format!(
                        "{advice} on the kernel's command line, then reboot (to undo it, remove \
                         {file}, update-grub, reboot)"
                    ),
                    command: Some(command),
                    here: self.here(),
                    obstacle: None,
                };
            }
        };
        Cure::no(&format!("{advice}: boot the kernel with {words}"), obstacle)
    }

    /// Who can apply a cure that needs root.
    fn here(&self) -> Here {
        match self.administrator {
            true => Here::Yes,
            false => Here::Root,
        }
    }

    fn not_from_container(&self, advice: &str, command: &str) -> Cure {
        Cure {
            advice: advice.to_owned(),
            command: Some(command.to_owned()),
            here: Here::No,
            obstacle: Some(
                "this container has no rights over its host: do it on the host itself".to_owned(),
            ),
        }
    }
}

/// Whether the doctor runs in a container, which has a PID namespace of its own. If the namespace can't be read, the
/// files that docker and podman create decide.
fn container(sys: &dyn Sys) -> bool {
    match sys.link("/proc/self/ns/pid") {
        Some(namespace) => namespace != FIRST_PID_NAMESPACE,
        None => sys.exists("/.dockerenv") || sys.exists("/run/.containerenv"),
    }
}

/// Whether the user is root. The line has the real, effective, saved and file system user IDs; the effective one
/// counts.
fn is_root(status: &str) -> bool {
    field(status, "Uid").and_then(|uids| uids.split_ascii_whitespace().nth(1)) == Some("0")
}

/// Whether the user has CAP_SYS_ADMIN in the first user namespace, not only in one of a container.
fn rules_the_host(sys: &dyn Sys, status: &str) -> bool {
    let capable = field(status, "CapEff")
        .and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .is_some_and(|mask| mask >> CAP_SYS_ADMIN & 1 == 1);
    let map = sys.read("/proc/self/uid_map").unwrap_or_default();
    let map: Vec<&str> = map.split_ascii_whitespace().take(3).collect();
    capable && map == ["0", "0", "4294967295"]
}

/// Whether the last mount at `/sys`, the visible one, is read-only.
fn sys_read_only(mounts: &str) -> bool {
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let at = fields.next()?;
            let options = fields.nth(1)?;
            (at == "/sys").then_some(options)
        })
        .next_back()
        .is_some_and(|options| options.split(',').any(|option| option == "ro"))
}
