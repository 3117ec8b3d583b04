//! A machine's processor for a real-time Linux: its KVM runs only if the processor reports an invariant TSC.

use super::{found, said};
use crate::lab::described::Described;
use crate::machine::MachineError;
use crate::resources::Resources;
use ws_lab::kernel::{BootImage, Kernel};
use ws_lab::recipe::{EmulatorKind, Hypervisor, Recipe, Source, Word};
use ws_lab::sets::Architecture;

/// The word in the version of a real-time kernel.
const MARK: &str = "PREEMPT_RT";
/// The only CPU model that may be forced to have a property.
const MODEL: &str = "max";
/// Properties that make the CPU report an invariant TSC. QEMU's TSC is invariant, but QEMU reports it only if it is
/// forced to (lab/recipes/xen.toml).
const INVARIANT: [&str; 2] = ["+invtsc", "x-force-features=on"];
const WHY: &str = "KVM of a real-time kernel requires an invariant TSC";
const NOTE: &str = "the kernel is a real-time one (PREEMPT_RT): the processor reports an invariant TSC, which its KVM requires";

/// Lets the processor report an invariant TSC if the machine's kernel is a real-time one with KVM.
pub(super) fn suit(
    recipe: &mut Recipe,
    resources: &Resources,
    described: &mut Described,
) -> Result<(), MachineError> {
    let emulator = &recipe.emulator;
    let is_concerned = recipe.architecture == Architecture::X86_64
        && emulator.kind == EmulatorKind::Qemu
        && recipe.hypervisor == Hypervisor::Kvm;
    let Some(kernel) = recipe.kernel.as_ref().filter(|_| is_concerned) else {
        return Ok(());
    };
    let version = match &kernel.source {
        Source::Folder(path) => Kernel::at(path).map_err(|e| said(&e))?.1.version(),
        Source::Package(set) => {
            let kernel = found(resources, set)?.kernel().map_err(|e| said(&e))?;
            BootImage::read(&kernel.image)
                .map_err(|e| said(&e))?
                .version()
        }
    };
    if !version.is_some_and(|version| version.contains(MARK)) {
        return Ok(());
    }
    let cpu = &mut recipe.emulator.cpu;
    if cpu
        .all_properties()
        .any(|property| property.word == INVARIANT[0])
    {
        return Ok(());
    }
    if cpu.model != MODEL {
        return Err(MachineError::Other(format!(
            "lab:{} can't run KVM of a real-time kernel (PREEMPT_RT) on the CPU model {}, which reports no invariant TSC: leave out +cpu={1}",
            recipe.name, cpu.model
        )));
    }
    cpu.own.extend(INVARIANT.map(|word| Word {
        word: word.to_owned(),
        why: WHY.to_owned(),
    }));
    described.notes.push(NOTE.to_owned());
    Ok(())
}
