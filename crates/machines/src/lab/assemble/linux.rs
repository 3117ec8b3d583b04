//! Finds the parts of a Linux that a machine boots: its kernel, its modules, and its monitor.

use super::{found, no_initrd, read, said, words, xen, xl};
use crate::emulator::Emulator;
use crate::initramfs::{Content, Entry};
use crate::kernel_file;
use crate::lab::described::Described;
use crate::lab::payload::{
    self, GUEST, INITRD, Linux, LinuxMonitor, Nested, NestedLinux, NestedXen, XEN,
};
use crate::machine::MachineError;
use crate::resources::Resources;
use crate::shipped::Shipped;
use crate::vmm;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::Path;
use ws_lab::kernel::{Kernel, Step, module_key};
use ws_lab::manifest;
use ws_lab::recipe::{self, Module, Monitor, Recipe, Source};
use ws_lab::sets::Architecture;

/// A kernel's modules in a machine.
pub(super) struct Loaded {
    /// The modules' files, under their names.
    pub files: Vec<Entry>,
    /// The lines of the first process' configuration that load them.
    pub lines: Vec<String>,
    /// Words of the kernel's command line: the options of modules that are part of the kernel, each after a blank.
    pub parameters: String,
}

/// Finds the modules, and before each the modules that it needs. `whose` begins their names in the digest.
pub(super) fn modules(
    kernel: &Kernel,
    modules: &[Module],
    whose: &str,
    architecture: Architecture,
    described: &mut Described,
) -> Result<Loaded, MachineError> {
    let names: Vec<&str> = modules.iter().map(|module| &*module.name).collect();
    let steps = kernel.steps(&names, architecture).map_err(|e| said(&e))?;
    let options = |name: &str| {
        let module = modules.iter().find(|module| module.is(name));
        module.map_or("", |module| module.options.trim())
    };
    let mut loaded = Loaded {
        files: Vec::new(),
        lines: Vec::new(),
        parameters: String::new(),
    };
    for step in steps {
        let name = match &step {
            Step::Load(module) => &module.name,
            Step::BuiltIn { name } => name,
        };
        let options = options(name);
        if !options.is_empty() {
            described.part(&format!("{name}.options"), json!(options));
        }
        match step {
            Step::Load(module) => {
                module.check(options).map_err(|e| said(&e))?;
                described.sum(
                    &format!("{whose}{}", module.name),
                    Sha256::digest(&module.bytes),
                );
                let path = format!("{}.ko", module.name);
                let line = format!("module=/{path} {options}");
                loaded.lines.push(line.trim_end().to_owned());
                loaded.files.push(Entry::file(path, module.bytes));
            }
            Step::BuiltIn { name } => {
                described.sum(&format!("{whose}{name}, built in"), options);
                for option in options.split_whitespace() {
                    loaded.parameters += &format!(" {}.{option}", module_key(&name));
                }
            }
        }
    }
    Ok(loaded)
}

/// Finds a Linux that runs a monitor and nothing else.
pub(super) fn linux(
    recipe: &Recipe,
    resources: &Resources,
    guest: &Path,
    described: &mut Described,
) -> Result<Linux, MachineError> {
    let kernel = recipe.kernel.as_ref().ok_or_else(|| {
        MachineError::Other(format!("lab:{}: its recipe has no kernel", recipe.name))
    })?;
    let found = kernel_of(recipe, &kernel.source, resources, described)?;
    described.file("kernel", &found.image)?;
    described.part("kernel", json!(format!("linux {}", found.release)));
    let mut files = vec![Entry::file(GUEST, read(guest)?)];
    if let Some(initrd) = &resources.initrd {
        described.file("initrd", initrd)?;
        files.push(Entry::file(INITRD, read(initrd)?));
    }
    let architecture = recipe.architecture;
    let loaded = modules(&found, &kernel.modules, "", architecture, described)?;
    let parameters = words(&kernel.parameters) + &loaded.parameters;
    described.part("kernel_parameters", json!(parameters));
    files.extend(loaded.files);
    let of_modules = loaded.lines;
    let mut lines = of_modules.clone();
    if let Monitor::Vmm { words } = &recipe.monitor {
        check_number(&of_modules)?;
        lines.extend(words.iter().map(|word| word.word.clone()));
    }
    let monitor = monitor(recipe, resources, &mut files, described)?;
    let nested = match &recipe.nested {
        None => None,
        Some(inner) if inner.xen.is_some() => {
            let xen = nested_xen(recipe, inner, resources, &mut files, described)?;
            lines.extend(xen_lines(inner));
            Some(Nested::Xen(xen))
        }
        Some(inner) => {
            let parameters = words(&inner.parameters) + &of_kvm(&loaded.parameters);
            described.part("inner_kernel_parameters", json!(parameters));
            let doorbell = architecture.facts().doorbell;
            let mut lines = of_inner(&of_modules);
            described.part("inner_modules", json!(lines));
            lines.push(format!("below={doorbell:#x}"));
            Some(Nested::Linux(NestedLinux {
                kernel: read(&found.image)?,
                parameters: format!("{parameters} doorbell={doorbell:#x}"),
                files: files.clone(),
                lines,
                memory_beside_mib: inner.memory_beside_mib,
            }))
        }
    };
    Ok(Linux {
        kernel: found.image,
        parameters,
        files,
        monitor,
        lines,
        nested,
    })
}

/// Finds Xen, which runs the guest in this Linux' VM, and adds its Image to `files`.
fn nested_xen(
    recipe: &Recipe,
    inner: &recipe::Nested,
    resources: &Resources,
    files: &mut Vec<Entry>,
    described: &mut Described,
) -> Result<NestedXen, MachineError> {
    if resources.initrd.is_some() {
        return Err(no_initrd());
    }
    let set = recipe.nested_xen().unwrap_or_default().to_owned();
    let hypervisor = xen(&Source::Package(set), resources, described)?;
    described.part("hypervisor_parameters", json!(words(&inner.parameters)));
    files.push(Entry::file(XEN, read(&hypervisor)?));
    Ok(NestedXen {
        hypervisor,
        memory_beside_mib: inner.memory_beside_mib,
    })
}

/// The monitor's lines that start Xen in place of the guest.
fn xen_lines(inner: &recipe::Nested) -> [String; 2] {
    let parameters = words(&inner.parameters);
    [format!("xen=/{XEN}"), format!("xen-append={parameters}")]
}

/// The lines that load modules in the VM of a nested machine. Options of kvm-amd and kvm-intel are for the outer kernel
/// only, as its guest is a hypervisor. Options of kvm are for both kernels.
fn of_inner(lines: &[String]) -> Vec<String> {
    let line = |line: &String| match line.starts_with("module=/kvm.ko ") {
        true => line.clone(),
        false => without_options(line),
    };
    lines.iter().map(line).collect()
}

/// Options of kvm among `parameters`, where kvm is part of the kernel: an inner kernel gets them too.
fn of_kvm(parameters: &str) -> String {
    let words = parameters.split(' ');
    words
        .filter(|word| word.starts_with("kvm."))
        .map(|word| format!(" {word}"))
        .collect()
}

/// A line that loads a module, without its options.
fn without_options(line: &str) -> String {
    line.split(' ').next().unwrap_or_default().to_owned()
}

/// Checks that the monitor can load so many modules.
pub(super) fn check_number(lines: &[String]) -> Result<(), MachineError> {
    match lines.len() {
        0..=vmm::MODULES_MAX => Ok(()),
        many => Err(MachineError::Other(format!(
            "the kernel needs {many} modules for KVM, the monitor loads {} at most: build some into the kernel. They are, in load order: {}",
            vmm::MODULES_MAX,
            lines
                .iter()
                .map(|line| without_options(line))
                .collect::<Vec<_>>()
                .join(" ")
                .replace("module=/", "")
        ))),
    }
}

/// Finds the kernel of a machine. A user's kernel is checked, and unpacked if it is packed.
pub(super) fn kernel_of(
    recipe: &Recipe,
    source: &Source,
    resources: &Resources,
    described: &mut Described,
) -> Result<Kernel, MachineError> {
    match source {
        Source::Package(set) => {
            let set = found(resources, set)?;
            described.set(&set);
            set.kernel().map_err(|e| said(&e))
        }
        Source::Folder(path) => {
            described.part("kernel_from", json!(path.display().to_string()));
            let (mut kernel, image) = Kernel::at(path).map_err(|e| said(&e))?;
            kernel_file::host(recipe, &image, &kernel.image)?;
            let unused = kernel_file::unused(&image, &kernel.image);
            described.notes.extend(unused);
            kernel.image = kernel_file::bootable(&image, &kernel.image, resources)?;
            Ok(kernel)
        }
    }
}

/// Finds the monitor that Linux runs, and adds its files to `files`.
fn monitor(
    recipe: &Recipe,
    resources: &Resources,
    files: &mut Vec<Entry>,
    described: &mut Described,
) -> Result<LinuxMonitor, MachineError> {
    match &recipe.monitor {
        Monitor::Qemu { package, program } => {
            let init = resources.find(Shipped::Init(recipe.architecture))?;
            described.file("init", &init)?;
            files.push(payload::init(read(&init)?));
            qemu(package, program, resources, files, described)
        }
        Monitor::Vmm { .. } => {
            let monitor = resources.find(Shipped::Monitor(recipe.architecture))?;
            described.file("monitor", &monitor)?;
            let name = monitor_name(&monitor, recipe.architecture)?;
            described.part("monitor", json!(name));
            files.push(payload::init(read(&monitor)?));
            let kernel = resources.kernel.as_deref();
            let kind = kernel.map(kernel_file::kind).transpose()?;
            Ok(LinuxMonitor::Vmm {
                is_flat: kind == Some(kernel_file::Kind::Flat),
            })
        }
        Monitor::Xl { package } => xl::monitor(recipe, package, resources, files, described),
        Monitor::None => Err(MachineError::Other(format!(
            "lab:{}: its recipe has no monitor",
            recipe.name
        ))),
    }
}

/// The monitor's name and version. A monitor for another architecture can't be run here, so its content names it.
fn monitor_name(monitor: &Path, architecture: Architecture) -> Result<String, MachineError> {
    match architecture {
        Architecture::X86_64 => vmm::version(monitor),
        _ => {
            let digest = Sha256::digest(read(monitor)?);
            let start: String = digest.iter().take(6).map(|b| format!("{b:02x}")).collect();
            Ok(format!(
                "vmm for {}, SHA-256 {start}...",
                architecture.name()
            ))
        }
    }
}

/// A QEMU to run inside the machine: its files, under the paths that they have in their packages,
/// and the words that start it there.
fn qemu(
    package: &str,
    program: &str,
    resources: &Resources,
    files: &mut Vec<Entry>,
    described: &mut Described,
) -> Result<LinuxMonitor, MachineError> {
    let set = found(resources, package)?;
    described.set(&set);
    let outer = set.program(program).map_err(|e| said(&e))?;
    let version = Emulator::started_by(&outer)?.version;
    described.part("monitor", json!(format!("qemu {version}")));
    // Other programs of the set are not used there, and would cost boot time.
    let other = |path: &str| path.starts_with("usr/bin/") && !path.ends_with(program);
    for (path, entry) in set.manifest().files.iter().filter(|(path, _)| !other(path)) {
        let content = match entry {
            manifest::Entry::File { .. } => Content::Bytes(read(&set.root.join(path))?),
            manifest::Entry::Link { to } => Content::Link(to.clone()),
        };
        files.push(Entry {
            path: path.clone(),
            content,
        });
    }
    // Inside the machine, the set's folder is the root.
    let root = set.root.to_string_lossy().into_owned();
    let words = outer
        .iter()
        .map(|word| word.to_string_lossy().replace(&root, ""));
    Ok(LinuxMonitor::Qemu(words.collect()))
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
