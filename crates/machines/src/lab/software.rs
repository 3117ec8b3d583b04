//! The software of a lab machine, as files with symbols.

use crate::machine::MachineError;
use crate::resources::Resources;
use crate::shipped::Shipped;
use std::path::PathBuf;
use ws_lab::recipe::{Hypervisor, Monitor, Recipe};
use ws_lab::sets::Architecture;

/// The part of a program in its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Guest,
    Hypervisor,
    /// A process of Linux.
    Process,
}

/// A program with symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub name: &'static str,
    pub part: Part,
    /// The program's ELF file.
    pub path: PathBuf,
}

/// The software of a machine, without Linux and Xen, whose symbols [`super::symbols`] has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// Number of levels of hypervisors below the guest.
    pub hypervisors: u8,
    pub programs: Vec<Program>,
    /// Folders with debug information of the machine's Linux or Xen, which were fetched on request.
    pub debug: Vec<PathBuf>,
}

/// Finds the software of a recipe's machine.
pub fn software(recipe: &Recipe, resources: &Resources) -> Result<Software, MachineError> {
    let architecture = recipe.architecture;
    let program = |name, part, path| Program { name, part, path };
    let guest = resources.guest_elf(architecture, recipe.guest_image.as_deref())?;
    let mut programs = vec![program("guest", Part::Guest, guest)];
    let mut hypervisors = 1 + u8::from(recipe.nested.is_some());
    match &recipe.hypervisor {
        Hypervisor::None => hypervisors = 0,
        Hypervisor::Neve(neve) => {
            hypervisors = neve.depth;
            let mut images = neve.images();
            images.dedup();
            for image in images {
                let path = resources.neve(&image)?.with_extension("elf");
                programs.push(program("neve", Part::Hypervisor, path));
            }
        }
        Hypervisor::Xen { .. }
            if recipe.architecture == Architecture::X86_64 && recipe.monitor == Monitor::None =>
        {
            programs.push(program("dom0", Part::Process, resources.dom0()?));
        }
        Hypervisor::Kvm | Hypervisor::Xen { .. } => {}
    }
    if let Monitor::Vmm { .. } = recipe.monitor {
        let path = resources.find(Shipped::Monitor(architecture))?;
        programs.push(program("vmm", Part::Process, path));
    }
    Ok(Software {
        hypervisors,
        programs,
        debug: debug(recipe, resources)?,
    })
}

/// Folders of the fetched sets with debug information of the machine's software.
fn debug(recipe: &Recipe, resources: &Resources) -> Result<Vec<PathBuf>, MachineError> {
    let (lab, store) = (resources.lab()?, resources.store()?);
    let sets = recipe.sets();
    let debug = sets.iter().filter_map(|set| lab.debug_set(set));
    let there = debug.filter_map(|set| store.find(&set).ok());
    Ok(there.map(|set| set.root).collect())
}
