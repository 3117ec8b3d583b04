//! Finds the parts of a machine whose guest is a whole Linux.

use super::linux::{check_number, kernel_of, modules};
use super::{found, read, said, words};
use crate::lab::below::{Below, BelowHypervisor};
use crate::lab::cpus::{Cpus, System};
use crate::lab::described::Described;
use crate::lab::io::{Elvis, Io};
use crate::lab::payload::{self, Linux, LinuxMonitor};
use crate::lab::whole::{Runs, Vm, Whole};
use crate::lab::xl;
use crate::machine::MachineError;
use crate::resources::Resources;
use crate::shipped::Shipped;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use ws_lab::kernel::Kernel;
use ws_lab::lab::LabError;
use ws_lab::recipe::{self, Hypervisor, Monitor, Recipe, Served, Source};
use ws_lab::store::{StoreError, Unpacked};

/// Finds a whole Linux with programs, and its VM.
pub(super) fn whole(
    recipe: &Recipe,
    resources: &Resources,
    agent: &Path,
    described: &mut Described,
) -> Result<Whole, MachineError> {
    let image = image(recipe, resources, described)?;
    whole_of(recipe, resources, agent, image, described)
}

/// Finds or makes the image of the root file system. Returns its path and size.
fn image(
    recipe: &Recipe,
    resources: &Resources,
    described: &mut Described,
) -> Result<(PathBuf, u64), MachineError> {
    let Some(root) = &recipe.root else {
        return Err(no_root(recipe));
    };
    let set = found(resources, &root.package)?;
    let mkfs = found(resources, &root.mkfs)?;
    described.set(&set);
    let store = resources.store()?;
    let image = store.root_image(&set, &mkfs, &mut |_| ());
    let image = image.map_err(|e| said(&e))?;
    let bytes = fs::metadata(&image.path)
        .map_err(|e| MachineError::io("read", &image.path, e))?
        .len();
    described.sum("root", &image.sha256);
    described.part("root", json!(image.sha256));
    Ok((image.path, bytes))
}

fn no_root(recipe: &Recipe) -> MachineError {
    MachineError::Other(format!(
        "lab:{}: its recipe has no root file system or no kernel",
        recipe.name
    ))
}

/// Finds a whole Linux with its VM, for this image of the root file system.
fn whole_of(
    recipe: &Recipe,
    resources: &Resources,
    agent: &Path,
    (root, root_bytes): (PathBuf, u64),
    described: &mut Described,
) -> Result<Whole, MachineError> {
    let Some(kernel) = &recipe.kernel else {
        return Err(no_root(recipe));
    };
    let system = kernel_of(recipe, &kernel.source, resources, described)?;
    described.file("kernel", &system.image)?;
    described.part("kernel", json!(format!("linux {}", system.release)));
    let architecture = recipe.architecture;
    let loaded = modules(&system, &kernel.modules, "", architecture, described)?;
    let parameters = words(&kernel.parameters) + &loaded.parameters;
    described.part("kernel_parameters", json!(parameters));
    let mut files = loaded.files;
    files.insert(0, payload::init(read(agent)?));
    let vm = vm(recipe, resources, &system, described)?;
    let xen = match &recipe.hypervisor {
        Hypervisor::Xen { source, parameters } => Some(super::xl::xen(
            source, parameters, recipe, resources, described,
        )?),
        _ => None,
    };
    // Workloads are not part of the digest. Each is part of the conditions of its own row, and a launch's counts are
    // known by all of them.
    let lab = resources.lab()?;
    let names = lab.workloads().map_err(|e| said(&e))?;
    let workloads = names.iter().map(|name| {
        let workload = lab.workload(name)?;
        Ok(match recipe.cpus {
            Some(cpus) => workload.on(cpus),
            None => workload,
        })
    });
    let workloads = workloads
        .collect::<Result<_, LabError>>()
        .map_err(|e| said(&e))?;
    Ok(Whole {
        architecture: recipe.architecture,
        xen,
        kernel: system.image,
        parameters,
        files,
        modules: loaded.lines,
        root,
        root_bytes,
        emulator: recipe.emulator.kind,
        workloads,
        cpus: recipe.cpus.map(|count| Cpus {
            count,
            system: match (&recipe.vm, &recipe.hypervisor) {
                (None, _) => System::Native,
                (Some(_), Hypervisor::Xen { .. }) => System::VmOfXen,
                (Some(_), _) => System::VmOfKvm,
            },
        }),
        vm,
        below: (recipe.below.as_ref())
            .map(|below| self::below(below, recipe, resources, described))
            .transpose()?,
    })
}

/// Parts of a machine's applications, where no emulator runs them.
#[derive(Debug)]
pub struct Applications {
    pub whole: Whole,
    /// The set with the root file system.
    pub set: Unpacked,
    pub parts: Vec<(String, serde_json::Value)>,
}

/// Checks that the parts for applications on this host are there. An error names the missing part and the cure.
pub fn applications_missing(resources: &Resources) -> Result<(), MachineError> {
    resources.find(Shipped::HostAgent)?;
    resources.find(Shipped::Enter)?;
    let recipe = resources.lab()?.recipe("linux", None);
    fetched(&recipe.map_err(|e| said(&e))?, resources)
}

/// Checks that all packages are fetched. The error names all that are missing. The recipe's emulator is not needed.
fn fetched(recipe: &Recipe, resources: &Resources) -> Result<(), MachineError> {
    let mut missing = Vec::new();
    for set in recipe.sets() {
        if *set == recipe.emulator.package {
            continue;
        }
        match resources.store()?.check(set) {
            Err(StoreError::Missing { set }) => missing.push(set),
            Err(other) => return Err(said(&other)),
            Ok(()) => {}
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (sets, recipe) = (missing.join(", "), &recipe.name);
    Err(MachineError::Other(format!(
        "the lab's packages {sets}, of which QEMU and all programs are, are not fetched: worldswitch lab fetch {recipe} (without network: worldswitch lab import FILE)"
    )))
}

/// Finds the applications of a recipe for this host. Without a VM no image of the root file system is made.
pub fn applications(recipe: &Recipe, resources: &Resources) -> Result<Applications, MachineError> {
    // The host's agent takes the place of the lab's, on the host and in its VM.
    let agent = resources
        .find(Shipped::HostAgent)
        .map_err(|e| e.to_string());
    let resources = Resources {
        shipped: [(Shipped::Agent(recipe.architecture), agent)].into(),
        lab: resources.lab.clone(),
        ..Resources::default()
    };
    let Some(root) = &recipe.root else {
        return Err(no_root(recipe));
    };
    fetched(recipe, &resources)?;
    let set = found(&resources, &root.package)?;
    let agent = resources.find(Shipped::Agent(recipe.architecture))?;
    let mut described = Described::default();
    let image = match recipe.vm {
        Some(_) => image(recipe, &resources, &mut described)?,
        None => {
            described.set(&set);
            (PathBuf::new(), 0)
        }
    };
    Ok(Applications {
        whole: whole_of(recipe, &resources, &agent, image, &mut described)?,
        set,
        parts: described.parts(),
    })
}

/// Checks that the parts of the hypervisor below are there. An error names the missing part and the cure.
pub(super) fn missing_below(recipe: &Recipe, resources: &Resources) -> Result<(), MachineError> {
    match recipe.below.as_ref().map(|below| &below.hypervisor) {
        None => Ok(()),
        Some(recipe::BelowHypervisor::Kvm { .. }) => resources
            .find(Shipped::Monitor(recipe.architecture))
            .map(drop),
        Some(recipe::BelowHypervisor::Neve { .. }) => resources.neve(NEVE).map(drop),
    }
}

/// Finds the hypervisor below the machine's Linux.
fn below(
    below: &recipe::Below,
    recipe: &Recipe,
    resources: &Resources,
    described: &mut Described,
) -> Result<Below, MachineError> {
    let hypervisor = match &below.hypervisor {
        recipe::BelowHypervisor::Kvm {
            kernel,
            words: lines,
        } => {
            let source = &kernel.source;
            let system = kernel_of(recipe, source, resources, &mut Described::default())?;
            described.file("kernel below", &system.image)?;
            described.part("kernel_below", json!(format!("linux {}", system.release)));
            let architecture = recipe.architecture;
            let loaded = modules(&system, &kernel.modules, "below ", architecture, described)?;
            let parameters = words(&kernel.parameters) + &loaded.parameters;
            described.part("kernel_below_parameters", json!(parameters));
            let (mut files, mut modules) = (loaded.files, loaded.lines);
            check_number(&modules)?;
            let monitor = resources.find(Shipped::Monitor(recipe.architecture))?;
            described.file("monitor below", &monitor)?;
            files.push(payload::init(read(&monitor)?));
            modules.extend(lines.iter().map(|word| word.word.clone()));
            BelowHypervisor::Kvm(Box::new(Linux {
                kernel: system.image,
                parameters,
                files,
                monitor: LinuxMonitor::Vmm { is_flat: false },
                lines: modules,
                nested: None,
            }))
        }
        recipe::BelowHypervisor::Neve { nest, parameters } => {
            let image = resources.neve(NEVE)?;
            described.file("neve below", &image)?;
            let words = format!("{} nest={}", words(parameters), nest.word());
            described.part("below", json!(format!("neve {words}")));
            BelowHypervisor::Neve { image, words }
        }
    };
    Ok(Below {
        memory_beside_mib: below.memory_beside_mib,
        hypervisor,
    })
}

/// The build of neve as a host's hypervisor.
const NEVE: &str = "aarch64";

/// Finds the VM of a whole Linux, if the recipe has one. The VM's agent is the usual one, under Xen too.
fn vm(
    recipe: &Recipe,
    resources: &Resources,
    system: &Kernel,
    described: &mut Described,
) -> Result<Option<Vm>, MachineError> {
    let Some(vm) = &recipe.vm else {
        return Ok(None);
    };
    let settings = vm.settings.iter().map(|line| line.word.clone()).collect();
    let runs = match &recipe.monitor {
        Monitor::Qemu { program, .. } => Runs::Qemu {
            program: format!("/usr/bin/{program}"),
            settings,
        },
        Monitor::Xl { package } => {
            let set = found(resources, package)?;
            // dom0's agent is another program, which is described as the machine's guest.
            described.file(
                "agent",
                &resources.find(Shipped::Agent(recipe.architecture))?,
            )?;
            Runs::Xl {
                files: xl::tools(&set, described)?,
                settings,
            }
        }
        Monitor::None | Monitor::Vmm { .. } => return Ok(None),
    };
    let own = match &vm.package {
        None => None,
        Some(set) => Some(kernel_of(
            recipe,
            &Source::Package(set.clone()),
            resources,
            described,
        )?),
    };
    if let Some(own) = &own {
        described.file("inner kernel", &own.image)?;
        described.part("inner_kernel", json!(format!("linux {}", own.release)));
    }
    let system = own.as_ref().unwrap_or(system);
    let architecture = recipe.architecture;
    let loaded = modules(system, &vm.modules, "inner ", architecture, described)?;
    let parameters = words(&vm.parameters) + &loaded.parameters;
    described.part("inner_kernel_parameters", json!(parameters));
    let mut files = loaded.files;
    let agent = resources.find(Shipped::Agent(recipe.architecture))?;
    files.insert(0, payload::init(read(&agent)?));
    let io = (vm.io.as_ref()).map(|io| self::io(io, vm.network, resources, described));
    Ok(Some(Vm {
        runs,
        kernel: read(&system.image)?,
        parameters,
        files,
        modules: loaded.lines,
        io: io.transpose()?,
        network: vm.network,
    }))
}

/// Finds the devices whose I/O is measured. Without elvis a machine still has the devices that other back-ends serve.
fn io(
    io: &recipe::Io,
    network: Option<Served>,
    resources: &Resources,
    described: &mut Described,
) -> Result<Io, MachineError> {
    let devices = io.devices.iter().map(|device| device.served);
    let mut served = devices.chain(network);
    let elvis = match resources.find(Shipped::Elvis) {
        _ if !served.any(Served::is_elvis) => Err("no device is served by it".to_owned()),
        Err(why) => Err(why.to_string()),
        Ok(path) => {
            described.file("elvis", &path)?;
            Ok(Elvis::new(read(&path)?))
        }
    };
    Ok(Io {
        cpus: io.cpus,
        depths: io.depths.clone(),
        repeat: io.repeat,
        devices: io.devices.clone(),
        elvis,
    })
}
