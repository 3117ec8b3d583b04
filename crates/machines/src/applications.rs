//! Applications in real time: a whole Linux's programs on this host itself, in namespaces, or in a VM of QEMU
//! there. The root file system, the workloads and the agent are those of the lab's machines `linux` and `kvm-linux`
//! (`lab/agent/host`).

mod disks;
mod nested;

use crate::child::Child;
use crate::emulator;
use crate::host::Host;
use crate::image::BenchmarkRow;
use crate::inherited::Inherited;
use crate::initramfs::{self, Content, Entry};
use crate::lab::{self, Applications, Executor, Launched};
use crate::machine::{Console, Control, Description, Engine, LaunchRequest, Machine, MachineError};
use crate::resources::Resources;
use crate::shipped::Shipped;
use crate::vmm::Kvm;
use disks::Disks;
pub use disks::{HOST_DISK, HOST_DISK_MIB, vm_disk_mib};
pub use nested::{NestedMachine, missing as nested_missing, nests};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use ws_lab::recipe::Recipe;
use ws_lab::workload::With;
use ws_results::{Facts, Identity, System};

/// Folder of the initramfs' files in the root file system, and the image of the VM's root there.
const LAB: &str = "lab";
const IMAGE: &str = "/lab/root.img";

const TUN: &str = "/dev/net/tun";

/// Memory of a VM, without its root file system.
const MEMORY_MIB: u64 = 1024;

/// Command line of a VM's kernel. No parameter makes boots alike. Under TCG a busy host may let ten timer interrupts
/// pass, at which Linux would panic.
const PARAMETERS: &str = "console=ttyS0 quiet panic=-1 no_timer_check";

/// A workload's longest step, on an emulator (`lab/agent/host/machine.h`).
const SILENCE: Duration = Duration::from_secs(660);

/// System that runs the programs.
#[derive(Clone, Debug)]
pub enum Runs {
    /// Linux of this host.
    Host,
    /// A VM of QEMU's emulator.
    Emulated,
    /// A VM of QEMU with this host's KVM.
    Kvm(Kvm),
}

impl Runs {
    /// Name of the lab's machine whose parts are used.
    fn recipe(&self) -> &'static str {
        match self {
            Self::Host => "linux",
            Self::Emulated | Self::Kvm(_) => "kvm-linux",
        }
    }

    fn is_vm(&self) -> bool {
        !matches!(self, Self::Host)
    }

    fn engine(&self) -> Engine {
        match self {
            Self::Host => Engine::Unknown,
            Self::Emulated => Engine::Emulator,
            Self::Kvm(kvm) => kvm.engine,
        }
    }

    /// The rows that can be measured there.
    fn rows(&self, rows: Vec<BenchmarkRow>) -> Vec<BenchmarkRow> {
        let with = With::ALL.map(lab::launch_with);
        let rows = rows.into_iter().filter_map(|row| {
            let is_here = row.vm.is_empty() || (self.is_vm() && with.contains(&row.vm));
            let missing = row.missing.filter(|_| row.vm.is_empty());
            is_here.then_some(BenchmarkRow { missing, ..row })
        });
        rows.collect()
    }
}

/// Applications on this host.
#[derive(Debug)]
pub struct HostMachine {
    description: Description,
    runs: Runs,
    /// The program that enters namespaces.
    enter: PathBuf,
    applications: Applications,
    memory_mib: u64,
    cpu: String,
    /// The host's kernel has vhost-net.
    vhost: bool,
    /// The disks of the launches that had any, in words.
    disks: Option<String>,
    running: Option<Child>,
}

impl HostMachine {
    /// Makes a machine, and starts nothing. `memory_mib` and `cpu` are a VM's.
    pub fn new(
        runs: Runs,
        memory_mib: Option<u64>,
        cpu: Option<String>,
        resources: &Resources,
    ) -> Result<Self, MachineError> {
        let recipe = recipe(runs.recipe(), resources)?;
        let mut applications = lab::applications(&recipe, resources)?;
        let whole = &mut applications.whole;
        // The host's kernel loads no modules for a launch; a VM's kernel gets its modules.
        whole.modules.clear();
        whole.files.truncate(1);
        if let Some(vm) = &mut whole.vm {
            vm.parameters = PARAMETERS.into();
        }
        let default = if matches!(runs, Runs::Kvm(_)) {
            "host"
        } else {
            "max"
        };
        Ok(Self {
            description: Description {
                workloads: Some(runs.rows(applications.whole.rows())),
                boot_limit: Some(SILENCE),
                ..Description::new(Control::Launched, Some("ns"), runs.engine())
            },
            runs,
            enter: resources.find(Shipped::Enter)?,
            applications,
            memory_mib: memory_mib.unwrap_or(MEMORY_MIB),
            cpu: cpu.unwrap_or_else(|| default.to_owned()),
            vhost: Path::new("/dev/vhost-net").exists(),
            disks: None,
            running: None,
        })
    }

    fn executor(&self) -> Executor<'_> {
        Executor {
            accelerator: match self.runs {
                Runs::Kvm(_) => "kvm",
                Runs::Host | Runs::Emulated => "tcg,thread=multi",
            },
            cpu: &self.cpu,
            vhost: self.vhost,
            exact: false,
        }
    }

    /// Files of the root file system, without /usr, as an initramfs.
    fn files(
        &self,
        request: &LaunchRequest,
        disks: Option<&Disks>,
    ) -> Result<Vec<u8>, MachineError> {
        let set = &self.applications.set;
        let beside = ws_lab::image::beside_usr(set);
        let beside = beside.map_err(|e| MachineError::Other(e.to_string()))?;
        let mut files: Vec<Entry> = beside.into_iter().map(entry).collect();
        let launched = Launched {
            words: &request.command_line,
            vm: &request.vm,
            vcpus: request.vcpus,
            host_cpus: 1,
            memory_mib: self.memory_mib,
            host_memory_mib: 0,
            executor: self.executor(),
            root: IMAGE,
            disk: disks.map(Disks::of_vm),
        };
        files.extend(disks.map(Disks::entry));
        // The agent gets only the workloads that this launch can run.
        let mut whole = self.applications.whole.clone();
        let vm = |with: Option<With>| with.map(lab::launch_with).unwrap_or_default();
        whole
            .workloads
            .retain(|workload| vm(workload.with) == request.vm);
        let own = whole.files(launched)?;
        files.extend(own.into_iter().map(|entry| Entry {
            path: format!("{LAB}/{}", entry.path),
            ..entry
        }));
        initramfs::pack(&files)
    }
}

fn entry((path, content): (String, ws_lab::image::Content)) -> Entry {
    Entry {
        path,
        content: match content {
            ws_lab::image::Content::Folder { mode } => Content::Folder(mode),
            ws_lab::image::Content::File { bytes, .. } => Content::Bytes(bytes),
            ws_lab::image::Content::Link(target) => Content::Link(target),
        },
    }
}

/// Whether this user may make namespaces: asks the program that makes them.
fn may_enter(enter: &Path) -> Result<(), MachineError> {
    let asked = Command::new(enter).arg("--check").output();
    let asked = asked.map_err(|e| MachineError::io("run", enter, e))?;
    match asked.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&asked.stderr);
            let said = said.trim().trim_start_matches("enter: ");
            Err(MachineError::Other(said.to_owned()))
        }
    }
}

/// Whether this user may make a VM's network.
fn tun() -> Result<(), MachineError> {
    let opened = File::options().read(true).write(true).open(TUN);
    let cure = |e: &io::Error| match e.kind() {
        ErrorKind::PermissionDenied => "run as root, or allow it: sudo setfacl -m u:$USER:rw",
        _ => "sudo modprobe tun makes it; a container must be given",
    };
    let opened = opened.map_err(|e| {
        let cure = cure(&e);
        MachineError::Other(format!(
            "can't open {TUN}, which makes a VM's network: {e}: {cure} {TUN}"
        ))
    });
    opened.map(drop)
}

impl Machine for HostMachine {
    fn description(&self) -> &Description {
        &self.description
    }

    fn child(&mut self) -> Option<&mut Child> {
        self.running.as_mut()
    }

    fn prepare(&mut self) -> Result<(), MachineError> {
        match &self.runs {
            Runs::Kvm(kvm) if kvm.engine == Engine::SoftwareKvm => Err(MachineError::Other(
                "/dev/kvm is a software KVM here, without VMX or SVM, which does not boot a Linux: qemu-tcg runs it in QEMU's emulator".into(),
            )),
            runs => {
                may_enter(&self.enter)?;
                if runs.is_vm() { tun() } else { Ok(()) }
            }
        }
    }

    fn launch(&mut self, request: &LaunchRequest) -> Result<(), MachineError> {
        self.kill();
        let disks = (request.vm == lab::launch_with(With::Disk)).then(|| {
            Disks::make(
                HOST_DISK_MIB,
                vm_disk_mib(matches!(self.runs, Runs::Emulated)),
            )
        });
        let disks = disks.transpose()?;
        let files = self.files(request, disks.as_ref())?;
        let files = Inherited::of("the root file system", &files)?;
        let mut command = Command::new(&self.enter);
        command
            .arg("--usr")
            .arg(self.applications.set.root.join("usr"))
            .args(["--files", &files.path()]);
        if self.runs.is_vm() {
            command
                .arg("--root-image")
                .arg(&self.applications.whole.root);
        }
        // Workloads write files of any size, so the launch sets no limit.
        let mut inherited = vec![files.into_handed()];
        if let Some(disks) = disks {
            self.disks = Some(disks.words());
            inherited.extend(disks.into_handed());
        }
        let child = Child::start(command, request.timed, u64::MAX, inherited)?;
        self.running = Some(child);
        Ok(())
    }

    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError> {
        Child::console(self.running.as_mut(), buffer, |_, status| {
            emulator::how(status)
        })
    }

    fn identity(&self) -> Identity {
        let (platform, runs, kvm) = match &self.runs {
            Runs::Host => ("host", "on the host, in namespaces", None),
            Runs::Emulated => ("qemu-tcg", "in a VM of QEMU's emulator", None),
            Runs::Kvm(kvm) => ("qemu-kvm", "in a VM of KVM and QEMU", Some(kvm)),
        };
        let mut identity = identity(&self.applications, platform, runs, kvm);
        let mut subject = |key: &str, value: serde_json::Value| {
            identity.subject.insert(key.into(), value);
        };
        if self.runs.is_vm() {
            subject("monitor_cpu", self.cpu.clone().into());
            subject("vm_memory_mib", self.memory_mib.into());
            subject("vhost_net", self.vhost.into());
        }
        if let Some(disks) = &self.disks {
            subject("disks", disks.clone().into());
        }
        identity
    }
}

/// The lab's recipe of this name, whose parts run on this host.
fn recipe(name: &str, resources: &Resources) -> Result<Recipe, MachineError> {
    if cfg!(not(target_arch = "x86_64")) {
        return Err(MachineError::Other(
            "applications run on hosts of x86_64 only".into(),
        ));
    }
    let recipe = resources.lab()?.recipe(name, None);
    recipe.map_err(|e| MachineError::Other(e.to_string()))
}

/// Identity of a result: the system that runs the applications, in words, and its parts. `kvm` is the host's KVM, if it
/// runs them.
fn identity(
    applications: &Applications,
    platform: &str,
    runs: &str,
    kvm: Option<&Kvm>,
) -> Identity {
    let mut identity = Identity {
        facts: Facts {
            system: Some(System::Linux),
            ..Facts::named(platform)
        },
        ..Identity::default()
    };
    identity.subject.extend(applications.parts.clone());
    identity.subject.insert("runs".into(), runs.into());
    if let Some(kvm) = kvm {
        kvm.describe(&mut identity);
    }
    identity.conditions.insert("pinning".into(), "none".into());
    Host::read().describe(&mut identity);
    identity
}
