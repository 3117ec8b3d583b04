//! Makes a machine of a recipe: finds the parts that it names, and describes them for the result.

mod linux;
mod real_time;
mod whole;
mod xl;

pub use whole::{Applications, applications, applications_missing};

use super::bochs::{self, Bochs};
use super::described::Described;
use super::machine::Settings;
use super::multiboot;
use super::payload::Payload;
use super::resume::States;
use crate::emulator::Emulator;
use crate::image;
use crate::kernel_file;
use crate::machine::MachineError;
use crate::recording::{Recording, What};
use crate::resources::Resources;
use crate::shipped::Shipped;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use ws_lab::architecture::{Architecture, Board};
use ws_lab::recipe::{EmulatorKind, Hypervisor, Monitor, Neve, Recipe, Source, Word};
use ws_lab::store::Unpacked;

/// Checks that the parts of a machine of this recipe are there. An error names the missing part and the cure.
pub fn missing(recipe: &Recipe, resources: &Resources) -> Result<(), MachineError> {
    let store = resources.store()?;
    for set in recipe.sets() {
        if set != recipe.emulator.package || !has_own_qemu(recipe, resources) {
            store.check(set).map_err(|e| said(&e))?;
        }
    }
    emulator_missing(recipe, resources)?;
    if recipe.root.is_some() {
        resources.find(agent(recipe))?;
        resources.find(Shipped::Agent(recipe.architecture))?;
        return whole::missing_below(recipe, resources);
    }
    match recipe.monitor {
        Monitor::None => {}
        Monitor::Xl { .. } => drop(resources.find(Shipped::Init(recipe.architecture))?),
        Monitor::Vmm { .. } => drop(resources.find(Shipped::Monitor(recipe.architecture))?),
        Monitor::Qemu { .. } => drop(resources.find(Shipped::Init(recipe.architecture))?),
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

/// The first process of a machine whose guest is a whole Linux: dom0's under Xen. On a machine that is itself a
/// measured system of several CPUs it is another one.
pub fn agent(recipe: &Recipe) -> Shipped {
    match recipe.monitor {
        Monitor::Xl { .. } => Shipped::XenAgent(recipe.architecture),
        _ if recipe.vm.is_none() && recipe.cpus.is_some() => {
            Shipped::CpusAgent(recipe.architecture)
        }
        _ => Shipped::Agent(recipe.architecture),
    }
}

/// The file to boot: a user's kernel, or the guest image. On a PC that is the ELF file itself, or its multiboot image;
/// on `virt` the Image. Images lie next to the ELF file, of the same link.
fn guest(recipe: &Recipe, resources: &Resources) -> Result<PathBuf, MachineError> {
    if recipe.root.is_some() {
        return match &resources.kernel {
            None => resources.find(agent(recipe)),
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
    // Some machines boot by multiboot: from a CD, or by the firmware of an HVM guest.
    let by_multiboot = is_bare(recipe) || xl::starts(recipe);
    let facts = recipe.architecture.facts();
    if facts.board == Board::Pc && !by_multiboot {
        return Ok(named);
    }
    let path = match &recipe.guest_image {
        Some(name) => named.with_file_name(name),
        None => named.with_extension(facts.guest_extension),
    };
    match path.is_file() {
        true => Ok(path),
        false => Err(MachineError::Other(format!(
            "{} is missing, the image of {} that boots: make -C guest ARCH={} makes both",
            path.display(),
            named.display(),
            facts.name
        ))),
    }
}

/// Whether Bochs boots the guest itself.
fn is_bare(recipe: &Recipe) -> bool {
    recipe.emulator.kind == EmulatorKind::Bochs && recipe.hypervisor == Hypervisor::None
}

/// Finds all parts of a machine.
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
    // The parts have added their notes by now: tables show them with the recipe's own caveat.
    for note in std::mem::take(&mut described.notes) {
        add_caveat(&mut recipe, note);
    }
    // A boot that is recorded whole does not stop.
    let records_boot = |recording: &Recording| matches!(recording.what, What::Boot { .. });
    let launch_point = match recipe.emulator.kind {
        EmulatorKind::Qemu if !resources.recording.as_ref().is_some_and(records_boot) => {
            payload.launch_point()
        }
        EmulatorKind::Qemu | EmulatorKind::Bochs => None,
    };
    // The digest does not cover the libraries of a user's QEMU, and it may not resume: its machines boot.
    let states = match has_own_qemu(&recipe, resources) {
        true => None,
        false => {
            let folder = resources.store()?.root().join("states");
            Some(States::at(folder, !resources.boots_always))
        }
    };
    let resumes = launch_point.is_some() && states.is_some();
    let library = recipe.architecture.facts().timers.filter(|_| resumes);
    let timers = library.map(|library| resources.find(Shipped::Timers(library)));
    let timers = timers.transpose()?;
    if let Some(path) = &timers {
        described.file("timers", path)?;
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
        launch_point,
        states,
        timers,
    })
}

/// Finds what the emulator boots, by the recipe's hypervisor.
fn payload(
    recipe: &Recipe,
    resources: &Resources,
    guest: &Path,
    described: &mut Described,
) -> Result<Payload, MachineError> {
    Ok(match &recipe.hypervisor {
        Hypervisor::None | Hypervisor::Kvm | Hypervisor::Xen { .. } if recipe.root.is_some() => {
            let whole = whole::whole(recipe, resources, guest, described)?;
            Payload::Whole(Box::new(whole))
        }
        Hypervisor::None => Payload::Guest,
        Hypervisor::Kvm => Payload::Linux(linux::linux(recipe, resources, guest, described)?),
        Hypervisor::Xen { .. } | Hypervisor::Neve(_) if resources.initrd.is_some() => {
            return Err(no_initrd());
        }
        Hypervisor::Neve(hypervisor) => Payload::Neve {
            hypervisors: neve(hypervisor, resources, described)?,
        },
        Hypervisor::Xen { .. } if xl::starts(recipe) => {
            let dom0 = xl::dom0(recipe, resources, guest, described)?;
            Payload::Dom0(Box::new(dom0))
        }
        Hypervisor::Xen { source, parameters } => {
            let hypervisor = xen(source, resources, described)?;
            let parameters = words(parameters);
            described.part("hypervisor_parameters", json!(parameters));
            if has_dom0(recipe) {
                let dom0 = resources.dom0()?;
                described.file("dom0", &dom0)?;
                multiboot::describe(described);
                Payload::Xen {
                    hypervisor,
                    dom0,
                    parameters,
                }
            } else {
                // The launch's words and this program alone determine the content of the tree.
                described.sum("device tree", env!("CARGO_PKG_VERSION"));
                Payload::Dom0less {
                    hypervisor,
                    parameters,
                }
            }
        }
    })
}

/// The error of an initramfs for a guest that Xen or neve starts.
fn no_initrd() -> MachineError {
    MachineError::Other(
        "Xen and neve start the guest without an initramfs: choose a machine with KVM".into(),
    )
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

/// Bochs, and the maker of its CDs, if Bochs is the emulator.
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

/// The images of neve, and of the guest hypervisors above it.
fn neve(
    neve: &Neve,
    resources: &Resources,
    described: &mut Described,
) -> Result<Vec<PathBuf>, MachineError> {
    let mut hypervisors = Vec::new();
    let build: Vec<String> = neve.images();
    for name in &build {
        let image = resources.neve(name)?;
        described.file(&format!("neve {name}"), &image)?;
        hypervisors.push(image);
    }
    described.part("hypervisor_build", json!(build.join(" ")));
    described.part("hypervisor_policy", json!(neve.policy));
    Ok(hypervisors)
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
        ws_text::and(&faults),
        recipe.name
    );
    add_caveat(recipe, warning);
}

fn add_caveat(recipe: &mut Recipe, caveat: String) {
    let said = recipe.caveat.take().into_iter().chain([caveat]);
    recipe.caveat = Some(said.collect::<Vec<_>>().join("; "));
}

/// Checks that the emulator suits the recipe. The recipes were written for the pinned packages, so those are asked only
/// when they are used: each question starts the emulator.
fn emulator_missing(recipe: &Recipe, resources: &Resources) -> Result<(), MachineError> {
    let wanted = &recipe.emulator;
    if !has_own_qemu(recipe, resources) {
        let store = resources.store()?;
        let pinned = store.check_program(&wanted.package, &wanted.program);
        if pinned.map_err(|e| said(&e))? || wanted.kind == EmulatorKind::Bochs {
            return Ok(());
        }
    }
    emulator(recipe, resources).map(drop)
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
