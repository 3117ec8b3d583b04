//! The files that are made anew for a launch.

use super::LabMachine;
use crate::lab::command::{self, Inner};
use crate::lab::dom0_tree::{self, Modules};
use crate::lab::payload::{GUEST, INITRD, Linux, LinuxMonitor, Nested, Payload};
use crate::lab::resume::LaunchPoint;
use crate::lab::tree::{self, Domain};
use crate::lab::virt;
use crate::lab::whole::{Launched, Whole};
use crate::lab::{vm, xl};
use crate::machine::{LaunchRequest, MachineError};
use ws_lab::architecture::Board;

/// The files and lines that are made anew for a launch.
#[derive(Debug, Default)]
pub(in crate::lab) struct Made {
    /// An initramfs, or under Xen on ARM a device tree.
    pub file: Option<Vec<u8>>,
    /// The point where the machine stops once it has booted, and the lines that its first process gets there.
    pub at_stop: Option<(LaunchPoint, String)>,
}

impl LabMachine {
    /// The device tree of a machine whose guest is a whole Linux, with an initramfs of these bytes.
    pub(super) fn tree(
        &self,
        request: &LaunchRequest,
        initramfs_bytes: u64,
    ) -> Result<Option<Vec<u8>>, MachineError> {
        let Some(whole) = self.settings.payload.whole() else {
            return Ok(None);
        };
        // A hypervisor below makes the device tree of its VM itself.
        if whole.architecture.facts().board == Board::Pc || whole.below.is_some() {
            return Ok(None);
        }
        let address = virt::MEMORY + (self.settings.machine_memory_mib(request) << 20);
        let tree = match &whole.xen {
            None => virt::with_root(request.host_cpus, address, whole.root_bytes),
            Some(xen) => {
                let modules = Modules::of(whole, initramfs_bytes)?;
                let root = [address, whole.root_bytes];
                dom0_tree::tree(xen, &whole.parameters, modules, request.host_cpus, root)
            }
        };
        tree.map(Some)
            .map_err(|e| MachineError::Other(format!("can't make a device tree: {e}")))
    }

    /// Makes the files and lines of a launch. A machine that stops gets its lines at the stop, so that launches share
    /// its files and its saved state.
    pub(in crate::lab) fn made(&self, request: &LaunchRequest) -> Result<Made, MachineError> {
        let point = self.settings.launch_point;
        let memory_mib = self.settings.guest_memory_mib(request);
        let (file, lines) = match &self.settings.payload {
            Payload::Guest | Payload::Xen { .. } | Payload::Neve { .. } => {
                return Ok(Made::default());
            }
            Payload::Linux(linux) => {
                let own = self.launch_lines(linux, request);
                let now = if point.is_some() { &[][..] } else { &own };
                (self.initramfs(linux, now, request)?, lines(&own))
            }
            Payload::Whole(whole) => {
                let launched = self.launched(whole, request);
                let files = match point {
                    Some(_) => whole.machine(launched)?,
                    None => whole.files(launched)?,
                };
                let file = whole.initramfs(&files, launched.host_memory_mib)?;
                (file, whole.asked(launched))
            }
            Payload::Dom0(dom0) => {
                let now = point.is_none().then_some(&*request.command_line);
                let file = dom0.initramfs(request.vcpus, memory_mib, now)?;
                (file, lines(&xl::asked(&request.command_line)))
            }
            Payload::Dom0less { parameters, .. } => {
                let guest = &self.settings.guest;
                let image = std::fs::metadata(guest)
                    .map_err(|e| MachineError::io("read the guest image", guest, e))?;
                let tree = tree::tree(&Domain {
                    cpus: request.vcpus,
                    memory_mib,
                    image_bytes: image.len(),
                    command_line: &request.command_line,
                    parameters,
                });
                let failed = |e| MachineError::Other(format!("can't make a device tree: {e}"));
                (tree.map_err(failed)?, String::new())
            }
        };
        Ok(Made {
            file: Some(file),
            at_stop: point.map(|point| (point, lines)),
        })
    }

    /// The parameters of a launch of a whole Linux.
    fn launched<'a>(&self, whole: &Whole, request: &'a LaunchRequest) -> Launched<'a> {
        Launched {
            words: &request.command_line,
            vm: &request.vm,
            disk: None,
            vcpus: request.vcpus,
            host_cpus: request.host_cpus,
            memory_mib: self.settings.guest_memory_mib(request),
            host_memory_mib: self.settings.machine_memory_mib(request),
            executor: vm::LAB,
            root: whole.root_device(),
        }
    }

    /// Makes the initramfs of a Linux that runs a monitor; `lines` are for the guest's monitor.
    fn initramfs(
        &self,
        linux: &Linux,
        lines: &[String],
        request: &LaunchRequest,
    ) -> Result<Vec<u8>, MachineError> {
        let Some(Nested::Linux(inner)) = &linux.nested else {
            return linux.initramfs(lines);
        };
        let memory_mib = self.settings.guest_memory_mib(request) + inner.memory_beside_mib;
        linux.nested_initramfs(inner, lines, request.vcpus, memory_mib)
    }

    /// Lines for the first process in a launch.
    fn launch_lines(&self, linux: &Linux, request: &LaunchRequest) -> Vec<String> {
        if let LinuxMonitor::Qemu(words) = &linux.monitor {
            return self.words_of_inner(words, request);
        }
        let guest_mib = self.settings.guest_memory_mib(request);
        let beside_mib = linux.nested_xen().map_or(0, |xen| xen.memory_beside_mib);
        let mut lines = vec![
            format!("kernel=/{GUEST}"),
            format!("append={}", request.command_line),
            format!("memory={}", guest_mib + beside_mib),
            format!("cpus={}", request.vcpus),
        ];
        if self.settings.initrd.is_some() {
            lines.push(format!("initrd=/{INITRD}"));
        }
        if linux.monitor == (LinuxMonitor::Vmm { is_flat: true }) {
            lines.push("flat".into());
        }
        lines
    }

    /// The arguments of the QEMU inside the machine, one a line.
    fn words_of_inner(&self, words: &[String], request: &LaunchRequest) -> Vec<String> {
        let inner = command::monitor(&Inner {
            vcpus: request.vcpus,
            memory_mib: self.settings.guest_memory_mib(request),
            command_line: &request.command_line,
            guest: &format!("/{GUEST}"),
            initrd: self.settings.initrd.as_ref().map(|_| format!("/{INITRD}")),
        });
        let witnessed = command::WITNESSED.map(str::to_owned);
        let more = usize::from(!self.settings.is_own) * witnessed.len();
        words
            .iter()
            .chain(&inner)
            .chain(witnessed.iter().take(more))
            .map(|word| format!("word={word}"))
            .collect()
    }
}

/// Lines of a configuration.
fn lines(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}
