//! Finds the parts of a machine whose guest is started by Xen's own tool stack.

use super::linux::linux;
use super::{found, read, words};
use crate::initramfs::Entry;
use crate::lab::described::Described;
use crate::lab::multiboot;
use crate::lab::payload::{self, LinuxMonitor};
use crate::lab::xl::{self, Dom0, Xen};
use crate::machine::MachineError;
use crate::resources::Resources;
use crate::shipped::Shipped;
use serde_json::json;
use std::path::Path;
use ws_lab::architecture::Board;
use ws_lab::recipe::{Hypervisor, Monitor, Recipe, Source, Word};

/// Whether Xen's own tool stack starts the guest.
pub(super) fn starts(recipe: &Recipe) -> bool {
    matches!(recipe.monitor, Monitor::Xl { .. })
}

/// Finds Xen with its command line, for a dom0 that is a Linux.
pub(super) fn xen(
    source: &Source,
    parameters: &[Word],
    recipe: &Recipe,
    resources: &Resources,
    described: &mut Described,
) -> Result<Xen, MachineError> {
    let parameters = words(parameters);
    described.part("hypervisor_parameters", json!(parameters));
    // On `virt` Xen gets its modules by the launch's device tree.
    if recipe.architecture.facts().board == Board::Pc {
        multiboot::describe(described);
    }
    Ok(Xen {
        hypervisor: super::xen(source, resources, described)?,
        parameters,
    })
}

/// Finds a dom0 that does nothing but run the tool stack.
pub(super) fn dom0(
    recipe: &Recipe,
    resources: &Resources,
    guest: &Path,
    described: &mut Described,
) -> Result<Dom0, MachineError> {
    let Hypervisor::Xen { source, parameters } = &recipe.hypervisor else {
        return Err(MachineError::Other("a dom0 needs Xen".into()));
    };
    let xen = xen(source, parameters, recipe, resources, described)?;
    let linux = linux(recipe, resources, guest, described)?;
    let settings = recipe.vm.iter().flat_map(|vm| &vm.settings);
    Ok(Dom0 {
        xen,
        linux,
        settings: settings.map(|line| line.word.clone()).collect(),
    })
}

/// Finds the tool stack, which dom0 runs in place of a monitor, and adds its files to `files`. The launch has the words
/// that start it.
pub(super) fn monitor(
    recipe: &Recipe,
    package: &str,
    resources: &Resources,
    files: &mut Vec<Entry>,
    described: &mut Described,
) -> Result<LinuxMonitor, MachineError> {
    let init = resources.find(Shipped::Init(recipe.architecture))?;
    described.file("init", &init)?;
    files.push(payload::init(read(&init)?));
    files.extend(xl::tools(&found(resources, package)?, described)?);
    Ok(LinuxMonitor::Qemu(Vec::new()))
}
