//! The parts of a recipe's file about whole Linuxes.

use super::{key_of_module, merge, word_key};
use crate::recipe::{Hypervisor, Io, Module, Monitor, Recipe, Root, Vm, Word};
use crate::sets::Architecture;
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RootPart {
    package: Option<String>,
    mkfs: Option<String>,
}

impl RootPart {
    pub(super) fn over(self, parent: Self) -> Self {
        Self {
            package: self.package.or(parent.package),
            mkfs: self.mkfs.or(parent.mkfs),
        }
    }

    /// Makes the finished part. The error is the key that is missing.
    pub(super) fn complete(self) -> Result<Root, &'static str> {
        Ok(Root {
            package: self.package.ok_or("root.package")?,
            mkfs: self.mkfs.ok_or("root.mkfs")?,
        })
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VmPart {
    package: Option<String>,
    #[serde(default)]
    setting: Vec<Word>,
    #[serde(default)]
    parameter: Vec<Word>,
    #[serde(default)]
    module: Vec<Module>,
    io: Option<Io>,
}

impl VmPart {
    pub(super) fn over(self, parent: Self) -> Self {
        Self {
            package: self.package.or(parent.package),
            setting: merge(self.setting, parent.setting, word_key),
            parameter: merge(self.parameter, parent.parameter, word_key),
            module: merge(self.module, parent.module, key_of_module),
            io: self.io.or(parent.io),
        }
    }

    pub(super) fn without_io(self) -> Self {
        Self { io: None, ..self }
    }

    pub(super) fn complete(self) -> Vm {
        Vm {
            package: self.package,
            settings: self.setting,
            parameters: self.parameter,
            modules: self.module,
            io: self.io,
            network: None,
        }
    }
}

/// Checks a machine with a root file system.
pub(super) fn check(recipe: &Recipe) -> Result<(), String> {
    if recipe.root.is_some() && !recipe.architecture.facts().has_whole_linux {
        let offered = Architecture::with_whole_linux().map(|one| format!("\"{}\"", one.name()));
        return Err(format!(
            "a machine with a [root] has architecture = {}: whole Linux systems are not offered on {}",
            offered.collect::<Vec<_>>().join(" or "),
            recipe.architecture.name()
        ));
    }
    let Some(root) = &recipe.root else {
        let under_xl = matches!(recipe.monitor, Monitor::Xl { .. });
        return match (&recipe.vm, &recipe.below) {
            (Some(vm), _) if !under_xl || !vm.has_only_settings() => {
                Err("[vm] needs a [root]; vm.setting alone is for a monitor of kind \"xl\"".into())
            }
            (_, Some(_)) => Err("[below] needs a [root] and a [vm]".into()),
            (_, None) => Ok(()),
        };
    };
    if recipe.kernel.is_none() {
        return Err("[root] needs a [kernel]".into());
    }
    if recipe.below.is_some() && recipe.vm.is_none() {
        return Err("[below] needs a [vm]".into());
    }
    if let Some(io) = recipe.vm.as_ref().and_then(|vm| vm.io.as_ref()) {
        check_io(io)?;
    }
    let under_xl = matches!(recipe.monitor, Monitor::Xl { .. });
    if let Some(vm) = recipe.vm.as_ref().filter(|_| !under_xl) {
        if vm.package.is_some() {
            return Err("vm.package is for a monitor of kind \"xl\"".into());
        }
    }
    match (&recipe.hypervisor, &recipe.vm, &recipe.monitor) {
        (Hypervisor::None, None, Monitor::None) => Ok(()),
        (Hypervisor::Kvm, Some(_), Monitor::Qemu { package, .. }) if *package == root.package => {
            Ok(())
        }
        (Hypervisor::Xen { .. }, Some(vm), Monitor::Xl { .. }) if vm.io.is_none() => Ok(()),
        _ => Err(
            "a machine with a [root] has no hypervisor, or hypervisor.kind = \"kvm\", a [vm] and a monitor of kind \"qemu\" from the packages of its root, or hypervisor.kind = \"xen\", a [vm] without devices and a monitor of kind \"xl\"".into(),
        ),
    }
}

/// Numbers of CPUs of a machine with devices. The vCPU has a CPU of its own. Back-ends have one too if there are three,
/// else they share QEMU's.
const IO_CPUS: std::ops::RangeInclusive<u32> = 2..=8;
/// The most requests at a time, as many as the guest's agent makes, and the most rows of all devices together.
const DEPTH_MAX: u32 = 64;
const IO_ROWS_MAX: usize = 64;
/// The largest factor: a row at depth 64 then has 480,000 requests, a minute.
const REPEAT_MAX: u32 = 100;
/// The most devices: each has an address on QEMU's PCI bus and a network of its own.
const DEVICES_MAX: usize = 12;

/// Checks the devices whose I/O is measured.
fn check_io(io: &Io) -> Result<(), String> {
    if !IO_CPUS.contains(&io.cpus) {
        return Err(format!("vm.io.cpus = {} is not 2 to 8", io.cpus));
    }
    if io.devices.is_empty() || io.devices.len() > DEVICES_MAX {
        return Err(format!("[vm.io] needs 1 to {DEVICES_MAX} devices"));
    }
    let is_depth = |depth: &u32| (1..=DEPTH_MAX).contains(depth);
    if io.depths.is_empty() || !io.depths.iter().all(is_depth) {
        return Err(format!("vm.io.depths are each 1 to {DEPTH_MAX}"));
    }
    let is_alone = |(index, depth)| !io.depths[..index].contains(depth);
    if !io.depths.iter().enumerate().all(is_alone) {
        return Err("vm.io.depths has a depth twice".into());
    }
    if !(1..=REPEAT_MAX).contains(&io.repeat) {
        return Err(format!(
            "vm.io.repeat = {} is not 1 to {REPEAT_MAX}",
            io.repeat
        ));
    }
    // Each depth has two rows: with a vCPU that sleeps, and with one that never does.
    if io.devices.len() * io.depths.len() * 2 > IO_ROWS_MAX {
        return Err(format!(
            "[vm.io] has more than {} depths of all devices",
            IO_ROWS_MAX / 2
        ));
    }
    for (index, device) in io.devices.iter().enumerate() {
        let name = &device.name;
        if !crate::workload::is_name(name) {
            return Err(format!(
                "\"{}\" can't be a device's name",
                name.escape_debug()
            ));
        }
        let alike = io.devices.iter().take(index);
        if alike.clone().any(|other| other.name == *name) {
            return Err(format!("two devices have the name {name}"));
        }
        if !device.served.suits(device.kind) {
            return Err(format!(
                "device {name}: its back-end has no devices of this kind"
            ));
        }
        if alike
            .clone()
            .any(|other| other.kind == device.kind && other.served == device.served)
        {
            return Err(format!(
                "device {name}: another device has the same back-end"
            ));
        }
        if device.why.trim().is_empty() {
            return Err(format!("device \"{name}\" gives no reason (why)"));
        }
    }
    Ok(())
}
