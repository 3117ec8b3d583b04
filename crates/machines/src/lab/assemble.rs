//! Makes a machine of a recipe: finds the parts that it names, and describes them for the result.

mod real_time;
mod whole;
mod xl;

pub use whole::{Applications, applications, applications_missing};

use super::bochs::{self, Bochs};
use super::described::Described;
use super::machine::Settings;
use super::payload::{self, GUEST, INITRD, Linux, LinuxMonitor, Nested, Payload};
use crate::emulator::Emulator;
use crate::image;
use crate::initramfs::{Content, Entry};
use crate::kernel_file;
use crate::machine::MachineError;
use crate::resources::Resources;
use crate::vmm;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use ws_lab::kernel::{Kernel, Step};
use ws_lab::manifest;
use ws_lab::recipe::{EmulatorKind, Hypervisor, Module, Monitor, Neve, Recipe, Source, Word};
use ws_lab::sets::Architecture;
use ws_lab::store::Unpacked;

/// What is missing for a machine of this recipe, and the cure; nothing if it can be launched. Only
/// checks that the parts are there.
pub fn missing(recipe: &Recipe, resources: &Resources) -> Result<(), MachineError> {
    let store = resources.store()?;
    for set in recipe.sets() {
        if set != recipe.emulator.package || !has_own_qemu(recipe, resources) {
            store.find(set).map_err(|e| said(&e))?;
        }
    }
    emulator(recipe, resources)?;
    if recipe.root.is_some() {
        agent(recipe, resources)?;
        resources.agent_for(recipe.architecture)?;
        return whole::missing_below(recipe, resources);
    }
    match recipe.monitor {
        Monitor::None => {}
        Monitor::Xl { .. } => drop(resources.init_for(recipe.architecture)?),
        Monitor::Vmm { .. } => drop(resources.monitor_for(recipe.architecture)?),
        Monitor::Qemu { .. } => drop(resources.init_for(recipe.architecture)?),
    }
    if has_dom0(recipe) {
        resources.dom0()?;
    }
    if let Hypervisor::Neve(neve) = &recipe.hypervisor {
        for name in neve.images() {
            resources.neve(&name)?;
        }
    }
    guest(recipe, resources).map(|_| ())
}

/// Whether the user named the QEMU that emulates the machine.
fn has_own_qemu(recipe: &Recipe, resources: &Resources) -> bool {
    recipe.emulator.kind == EmulatorKind::Qemu && resources.qemu.is_some()
}

/// Under Xen on x86 the project's own tool stack starts the guest; on ARM Xen itself does.
fn has_dom0(recipe: &Recipe) -> bool {
    matches!(recipe.hypervisor, Hypervisor::Xen { .. })
        && recipe.architecture == Architecture::X86_64
        && recipe.monitor == Monitor::None
}

/// The first process of a machine whose guest is a whole Linux: dom0's under Xen.
fn agent(recipe: &Recipe, resources: &Resources) -> Result<PathBuf, MachineError> {
    match recipe.monitor {
        Monitor::Xl { .. } => resources.xen_agent(),
        _ => resources.agent_for(recipe.architecture),
    }
}

/// The file to boot: a user's kernel, or the guest image. On x86_64 the ELF file itself is booted;
/// on aarch64 the arm64 Image of the same link, which lies next to it.
fn guest(recipe: &Recipe, resources: &Resources) -> Result<PathBuf, MachineError> {
    if recipe.root.is_some() {
        return match &resources.kernel {
            None => agent(recipe, resources),
            Some(_) => Err(MachineError::Other(format!(
                "lab:{} boots its own kernel with the root file system of its packages: another kernel of Debian is lab:{0}@VERSION, and yours lab:{0}@FOLDER",
                recipe.name
            ))),
        };
    }
    if let Some(kernel) = &resources.kernel {
        let image = kernel_file::guest(recipe, kernel)?;
        return kernel_file::bootable(&image, kernel, resources);
    }
    let named = resources.guest_for(recipe.architecture)?;
    if !image::is_elf(&named) {
        return Ok(named);
    }
    let booted = match recipe.architecture {
        // By multiboot: from a CD, or by the firmware of an HVM guest.
        Architecture::X86_64 if is_bare(recipe) || xl::starts(recipe) => "mb",
        Architecture::X86_64 => return Ok(named),
        Architecture::Aarch64 => "img",
    };
    let path = named.with_extension(booted);
    match path.is_file() {
        true => Ok(path),
        false => Err(MachineError::Other(format!(
            "there is no {}, the image of {} that is booted: make -C guest ARCH={} makes both",
            path.display(),
            named.display(),
            match recipe.architecture {
                Architecture::X86_64 => "x86_64",
                Architecture::Aarch64 => "aarch64",
            }
        ))),
    }
}

/// Whether Bochs boots the guest itself.
fn is_bare(recipe: &Recipe) -> bool {
    recipe.emulator.kind == EmulatorKind::Bochs && recipe.hypervisor == Hypervisor::None
}

/// Finds all parts of a machine.
///
/// # Errors
/// One is missing or can't be read, with the cure.
pub fn assemble(mut recipe: Recipe, resources: &Resources) -> Result<Settings, MachineError> {
    let guest = guest(&recipe, resources)?;
    let emulator = emulator(&recipe, resources)?;
    let mut described = Described::default();
    real_time::suit(&mut recipe, resources, &mut described)?;
    described.sum("recipe", recipe.digest());
    described.sum("emulator", emulator.build.clone());
    described.file("guest", &guest)?;
    describe_emulator(&mut recipe, resources, &emulator, &mut described)?;
    let payload = payload(&recipe, resources, &guest, &mut described)?;
    let bochs = bochs_of(&recipe, resources, &mut described)?;
    let recorder = resources.recording.as_ref();
    let recorder = recorder.map(|recording| recording.recorder(&recipe, &emulator));
    for note in std::mem::take(&mut described.notes) {
        add_caveat(&mut recipe, note);
    }
    Ok(Settings {
        recorder: recorder.transpose()?,
        memory_mib: recipe.emulator.memory_mib,
        digest: described.digest(),
        parts: described.parts(),
        recipe,
        emulator,
        bochs,
        payload,
        guest,
        is_own: resources.kernel.is_none(),
        initrd: resources.initrd.clone(),
    })
}

/// What the emulator boots.
fn payload(
    recipe: &Recipe,
    resources: &Resources,
    guest: &Path,
    described: &mut Described,
) -> Result<Payload, MachineError> {
    Ok(match &recipe.hypervisor {
        Hypervisor::None | Hypervisor::Kvm | Hypervisor::Xen { .. } if recipe.root.is_some() => {
            whole::whole(recipe, resources, guest, described)?
        }
        Hypervisor::None => Payload::Guest,
        Hypervisor::Kvm => linux(recipe, resources, guest, described)?,
        Hypervisor::Xen { .. } | Hypervisor::Neve(_) if resources.initrd.is_some() => {
            return Err(MachineError::Other(
                "Xen and neve start the guest without an initramfs: choose a machine with KVM"
                    .into(),
            ));
        }
        Hypervisor::Neve(hypervisor) => neve(hypervisor, resources, described)?,
        Hypervisor::Xen { .. } if xl::starts(recipe) => {
            xl::dom0(recipe, resources, guest, described)?
        }
        Hypervisor::Xen { source, parameters } => {
            let hypervisor = xen(source, resources, described)?;
            let parameters = words(parameters);
            described.part("hypervisor_parameters", json!(parameters));
            if has_dom0(recipe) {
                let dom0 = resources.dom0()?;
                described.file("dom0", &dom0)?;
                Payload::Xen {
                    hypervisor,
                    dom0,
                    parameters,
                }
            } else {
                // Besides the launch's words, this program alone determines the content of the
                // tree.
                described.sum("device tree", env!("CARGO_PKG_VERSION"));
                Payload::Dom0less {
                    hypervisor,
                    parameters,
                }
            }
        }
    })
}

fn describe_emulator(
    recipe: &mut Recipe,
    resources: &Resources,
    emulator: &Emulator,
    described: &mut Described,
) -> Result<(), MachineError> {
    if !has_own_qemu(recipe, resources) {
        let set = found(resources, &recipe.emulator.package)?;
        described.set(&set);
        let cured = &set.manifest().cured;
        warn_of(recipe, |fault| cured.contains_key(fault), UNCURED);
    } else {
        warn_of(recipe, |_| false, UNKNOWN);
        // Its libraries are not known; the digest covers only its version and the program itself.
        described.file("emulator", &emulator.program)?;
        described.part("emulator_from", json!("--qemu"));
    }
    Ok(())
}

/// Bochs, and what makes its CDs, if it is the emulator.
fn bochs_of(
    recipe: &Recipe,
    resources: &Resources,
    described: &mut Described,
) -> Result<Option<Bochs>, MachineError> {
    let Some(disc) = &recipe.emulator.disc else {
        return Ok(None);
    };
    let set = found(resources, &recipe.emulator.package)?;
    let discs = found(resources, disc)?;
    described.set(&discs);
    Bochs::of(&set, &discs).map(Some)
}

/// neve, and the hypervisors of its guests.
fn neve(
    neve: &Neve,
    resources: &Resources,
    described: &mut Described,
) -> Result<Payload, MachineError> {
    let mut hypervisors = Vec::new();
    let build: Vec<String> = neve.images();
    for name in &build {
        let image = resources.neve(name)?;
        described.file(&format!("neve {name}"), &image)?;
        hypervisors.push(image);
    }
    described.part("hypervisor_build", json!(build.join(" ")));
    described.part("hypervisor_policy", json!(neve.policy));
    Ok(Payload::Neve { hypervisors })
}

/// Xen's file.
fn xen(
    source: &Source,
    resources: &Resources,
    described: &mut Described,
) -> Result<PathBuf, MachineError> {
    let hypervisor = match source {
        Source::Package(set) => {
            let set = found(resources, set)?;
            described.set(&set);
            described.part("hypervisor_build", json!(set.set));
            set.xen().map_err(|e| said(&e))?
        }
        Source::Folder(path) => {
            described.part("hypervisor_build", json!(path.display().to_string()));
            path.clone()
        }
    };
    described.file("hypervisor", &hypervisor)?;
    Ok(hypervisor)
}

/// A kernel's modules in a machine.
struct Loaded {
    /// Under their names.
    files: Vec<Entry>,
    /// The lines of the first process' configuration that load them.
    lines: Vec<String>,
    /// Words of the kernel's command line: the options of those that are part of it.
    parameters: String,
}

/// The modules, and before each those that it needs; `whose` begins their names in the digest.
fn modules(
    kernel: &Kernel,
    modules: &[Module],
    whose: &str,
    architecture: Architecture,
    described: &mut Described,
) -> Result<Loaded, MachineError> {
    let names: Vec<&str> = modules.iter().map(|module| &*module.name).collect();
    let steps = kernel.steps(&names, architecture).map_err(|e| said(&e))?;
    let options = |name: &str| {
        let module = modules.iter().find(|module| module.name == name);
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
                    loaded.parameters += &format!(" {}.{option}", name.replace('-', "_"));
                }
            }
        }
    }
    Ok(loaded)
}

/// A Linux that runs a monitor and nothing else.
fn linux(
    recipe: &Recipe,
    resources: &Resources,
    guest: &Path,
    described: &mut Described,
) -> Result<Payload, MachineError> {
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
        Some(inner) => {
            let parameters = words(&inner.parameters);
            described.part("inner_kernel_parameters", json!(parameters));
            Some(Nested {
                kernel: read(&found.image)?,
                parameters,
                files: files.clone(),
                // Their options are the host's.
                lines: without_options(&of_modules),
                memory_beside_mib: inner.memory_beside_mib,
            })
        }
    };
    Ok(Payload::Linux(Linux {
        kernel: found.image,
        parameters,
        files,
        monitor,
        lines,
        nested,
    }))
}

/// The lines that load modules, without their options.
fn without_options(lines: &[String]) -> Vec<String> {
    let first = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
    lines.iter().map(first).collect()
}

/// Checks that the monitor can load as many modules.
fn check_number(lines: &[String]) -> Result<(), MachineError> {
    match lines.len() {
        0..=vmm::MODULES_MAX => Ok(()),
        many => Err(MachineError::Other(format!(
            "the kernel needs {many} modules for KVM, the monitor loads {} at most: build some into the kernel. They are, in load order: {}",
            vmm::MODULES_MAX,
            without_options(lines).join(" ").replace("module=/", "")
        ))),
    }
}

/// The kernel of a machine. A user's is checked, and unpacked if it has to be.
fn kernel_of(
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

/// The monitor that Linux runs; its files are added to `files`.
fn monitor(
    recipe: &Recipe,
    resources: &Resources,
    files: &mut Vec<Entry>,
    described: &mut Described,
) -> Result<LinuxMonitor, MachineError> {
    match &recipe.monitor {
        Monitor::Qemu { package, program } => {
            let init = resources.init_for(recipe.architecture)?;
            described.file("init", &init)?;
            files.push(payload::init(read(&init)?));
            qemu(package, program, resources, files, described)
        }
        Monitor::Vmm { .. } => {
            let monitor = resources.monitor_for(recipe.architecture)?;
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

/// The monitor's name and version. One for another architecture can't be run here, so it is named
/// by its content.
fn monitor_name(monitor: &Path, architecture: Architecture) -> Result<String, MachineError> {
    match architecture {
        Architecture::X86_64 => vmm::version(monitor),
        Architecture::Aarch64 => {
            let digest = Sha256::digest(read(monitor)?);
            let start: String = digest.iter().take(6).map(|b| format!("{b:02x}")).collect();
            Ok(format!("vmm for aarch64, SHA-256 {start}..."))
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

/// The warning about the lab's own emulator, and about the user's.
const UNCURED: &str = "this emulator is not cured of the fault";
const UNKNOWN: &str = "the QEMU of --qemu may have the fault";

/// Adds a warning, which every table of the machine shows, about faults that its emulator may have.
pub(super) fn warn_of(recipe: &mut Recipe, is_cured: impl Fn(&str) -> bool, says: &str) {
    let faults = recipe.emulator.free_of.iter();
    let faults: Vec<&str> = faults
        .map(|fault| &*fault.word)
        .filter(|fault| !is_cured(fault))
        .collect();
    if faults.is_empty() {
        return;
    }
    let warning = format!(
        "{says} {} (worldswitch lab show {})",
        faults.join(" and "),
        recipe.name
    );
    add_caveat(recipe, warning);
}

fn add_caveat(recipe: &mut Recipe, caveat: String) {
    let said = recipe.caveat.take().into_iter().chain([caveat]);
    recipe.caveat = Some(said.collect::<Vec<_>>().join("; "));
}

/// The emulator that the user named, or the lab's own.
pub fn emulator(recipe: &Recipe, resources: &Resources) -> Result<Emulator, MachineError> {
    let emulator = if has_own_qemu(recipe, resources) {
        resources.emulator()?
    } else {
        let set = found(resources, &recipe.emulator.package)?;
        if recipe.emulator.kind == EmulatorKind::Bochs {
            return bochs::emulator(&set, &recipe.emulator.program);
        }
        let words = set.program(&recipe.emulator.program);
        Emulator::started_by(&words.map_err(|e| said(&e))?)?
    };
    emulator.suits(recipe)?;
    Ok(emulator)
}

fn found(resources: &Resources, set: &str) -> Result<Unpacked, MachineError> {
    resources.store()?.find(set).map_err(|e| said(&e))
}

fn said(error: &dyn std::error::Error) -> MachineError {
    MachineError::Other(error.to_string())
}

fn read(path: &Path) -> Result<Vec<u8>, MachineError> {
    fs::read(path).map_err(|e| MachineError::io("read", path, e))
}

fn words(words: &[Word]) -> String {
    let words: Vec<&str> = words.iter().map(|word| &*word.word).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
