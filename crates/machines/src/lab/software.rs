//! What a lab machine runs, as files with symbols.

use crate::machine::MachineError;
use crate::resources::Resources;
use std::path::PathBuf;
use ws_lab::recipe::{Hypervisor, Monitor, Recipe};
use ws_lab::sets::Architecture;

/// What a program is in its machine.
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
    /// Its ELF file.
    pub path: PathBuf,
}

/// The software of a machine, but for what [`super::symbols`] has: Linux and Xen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// Levels of hypervisors below the guest.
    pub hypervisors: u8,
    /// The symbols are Xen's, not Linux's.
    pub is_xen: bool,
    pub programs: Vec<Program>,
}

/// The software of a recipe's machine.
///
/// # Errors
/// A program was not built, with the cure.
pub fn software(recipe: &Recipe, resources: &Resources) -> Result<Software, MachineError> {
    let architecture = recipe.architecture;
    let program = |name, part, path| Program { name, part, path };
    let mut programs = vec![program(
        "guest",
        Part::Guest,
        resources.guest_for(architecture)?,
    )];
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
        Hypervisor::Xen { .. } if recipe.architecture == Architecture::X86_64 => {
            programs.push(program("dom0", Part::Process, resources.dom0()?));
        }
        Hypervisor::Kvm | Hypervisor::Xen { .. } => {}
    }
    if let Monitor::Vmm { .. } = recipe.monitor {
        let path = resources.monitor_for(architecture)?;
        programs.push(program("vmm", Part::Process, path));
    }
    Ok(Software {
        hypervisors,
        is_xen: matches!(recipe.hypervisor, Hypervisor::Xen { .. }),
        programs,
    })
}
