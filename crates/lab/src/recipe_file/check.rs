//! Checks of recipes beyond their types.

use crate::recipe::{Below, BelowHypervisor, EmulatorKind, Hypervisor, Monitor, Recipe};
use crate::sets::Architecture;

/// Checks the rules of a recipe that its types do not enforce.
pub(super) fn check(recipe: &Recipe) -> Result<(), String> {
    let kernel = recipe.kernel.as_ref();
    let facts = recipe.architecture.facts();
    if facts.has_only_kvm && !matches!(recipe.hypervisor, Hypervisor::None | Hypervisor::Kvm) {
        return Err(format!(
            "architecture = \"{}\" has no Xen and no neve: use hypervisor.kind = \"kvm\", or leave [hypervisor] out",
            facts.name
        ));
    }
    match &recipe.hypervisor {
        Hypervisor::Kvm if kernel.is_none() => {
            return Err("hypervisor.kind = \"kvm\" needs a [kernel]".into());
        }
        Hypervisor::Kvm if recipe.monitor == Monitor::None => {
            return Err("hypervisor.kind = \"kvm\" needs a [monitor]".into());
        }
        Hypervisor::Kvm if matches!(recipe.monitor, Monitor::Xl { .. }) => {
            return Err("monitor.kind = \"xl\" is for hypervisor.kind = \"xen\"".into());
        }
        Hypervisor::Kvm => {}
        Hypervisor::Xen { .. } if matches!(recipe.monitor, Monitor::Xl { .. }) => {
            if kernel.is_none() {
                return Err("monitor.kind = \"xl\" needs a [kernel], which is dom0's".into());
            }
        }
        Hypervisor::None | Hypervisor::Xen { .. } | Hypervisor::Neve(_)
            if recipe.monitor != Monitor::None =>
        {
            return Err("[monitor] is for hypervisor.kind = \"kvm\", or \"xl\" for Xen".into());
        }
        Hypervisor::None | Hypervisor::Xen { .. } | Hypervisor::Neve(_) => {}
    }
    super::whole::check(recipe)?;
    check_emulator(recipe)?;
    if let Some(wrong) = recipe.wrong_choice().or_else(|| recipe.wrong_published()) {
        return Err(wrong);
    }
    if let Some(skip) = recipe.skips.iter().find(|skip| skip.why.trim().is_empty()) {
        return Err(format!("skip {} gives no reason (why)", skip.benchmark));
    }
    check_words(recipe)
}

/// Checks the values that depend on the kind of the emulator.
fn check_emulator(recipe: &Recipe) -> Result<(), String> {
    let emulator = &recipe.emulator;
    if (emulator.kind == EmulatorKind::Bochs) != emulator.disc.is_some() {
        return Err("emulator.disc is for emulator.kind = \"bochs\", which needs it".into());
    }
    let io = recipe.vm.as_ref().and_then(|vm| vm.io.as_ref());
    if io.is_some_and(|io| emulator.kind == EmulatorKind::Bochs && io.cpus != emulator.cpus) {
        return Err("vm.io.cpus must be emulator.cpus with emulator.kind = \"bochs\"".into());
    }
    // QEMU's machines have as many CPUs as a launch asks for, which take turns on one clock.
    let most = match (emulator.kind, &recipe.monitor) {
        (EmulatorKind::Qemu, Monitor::Xl { .. }) if recipe.root.is_none() => 2,
        (EmulatorKind::Qemu, _) => 1,
        (EmulatorKind::Bochs, _) => 2,
    };
    if !(1..=most).contains(&emulator.cpus) {
        return Err("emulator.cpus is 1, or 2 with emulator.kind = \"bochs\" or where dom0 has a CPU in addition to the guest's".into());
    }
    Ok(())
}

/// Checks that words are single words, and that each has its reason.
fn check_words(recipe: &Recipe) -> Result<(), String> {
    let kernel = recipe.kernel.as_ref();
    let own = match &recipe.monitor {
        Monitor::Vmm { words } => Some(words),
        Monitor::None | Monitor::Qemu { .. } | Monitor::Xl { .. } => None,
    };
    if recipe.nested.is_some() && own.is_none() {
        return Err("[nested] is for monitor.kind = \"vmm\"".into());
    }
    if recipe.nested_xen().is_some() && recipe.architecture != Architecture::Aarch64 {
        return Err("nested.xen is for architecture = \"aarch64\"".into());
    }
    let parameters = match &recipe.hypervisor {
        Hypervisor::Xen { parameters, .. } => &**parameters,
        Hypervisor::Neve(neve) => &neve.parameters,
        _ => &[],
    };
    let nested = recipe.nested.iter().flat_map(|nested| &nested.parameters);
    let words = (recipe.emulator.cpu.all_properties())
        .chain(&recipe.emulator.free_of)
        .chain(parameters)
        .chain(own.into_iter().flatten())
        .chain(nested)
        .chain(recipe.vm.iter().flat_map(|vm| &vm.parameters))
        .chain(recipe.below.iter().flat_map(Below::words))
        .chain(recipe.vm.iter().flat_map(|vm| &vm.settings))
        .chain(kernel.into_iter().flat_map(|kernel| &kernel.parameters))
        .map(|word| ("word", &*word.word, &*word.why));
    let flags = recipe.emulator.flags.iter().flat_map(|flag| {
        let words = flag.words.iter().map(|word| ("flag", &**word, &*flag.why));
        // A flag without words is reported as an empty word.
        let none = flag.words.is_empty().then_some(("flag", "", &*flag.why));
        words.chain(none)
    });
    let modules = kernel.into_iter().flat_map(|kernel| &kernel.modules);
    let modules = modules.chain(recipe.vm.iter().flat_map(|vm| &vm.modules));
    let of_below = recipe
        .below
        .iter()
        .filter_map(|below| match &below.hypervisor {
            BelowHypervisor::Kvm { kernel, .. } => Some(&kernel.modules),
            BelowHypervisor::Neve { .. } => None,
        });
    let modules = modules.chain(of_below.flatten());
    let modules = modules.map(|module| ("module", &*module.name, &*module.why));
    for (what, word, why) in words.chain(flags).chain(modules) {
        if word.is_empty() || word.chars().any(|c| c.is_control() || c == ' ') {
            return Err(format!("{what} \"{}\" is not a word", word.escape_debug()));
        }
        if why.trim().is_empty() {
            return Err(format!("{what} \"{word}\" gives no reason (why)"));
        }
    }
    Ok(())
}
