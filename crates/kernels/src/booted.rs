//! Machines whose kernel the user changes.

use anyhow::bail;
use ws_lab::recipe::Recipe;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_machines::resources::Resources;
use ws_terminal::Usage;

/// Finds the recipe of a machine that boots kernels of the user.
///
/// # Errors
/// Wrong usage: it is no machine of the lab, has a kernel already, or boots none.
pub fn booted(on: &PlatformName, resources: &Resources) -> anyhow::Result<Recipe> {
    if on.family.as_deref() != Some("lab") {
        bail!(Usage(format!(
            "--on {on}: kernels are booted in a machine of the lab, such as lab:kvm"
        )));
    }
    if on.variant.is_some() {
        bail!(Usage(format!(
            "--on {on}: leave out '@' and the variant, which names a kernel"
        )));
    }
    platforms::check(on, resources).map_err(|e| Usage(e.to_string()))?;
    let recipe = resources.lab()?.recipe(&on.name, None)?;
    if recipe.kernel.is_none() {
        bail!(Usage(format!(
            "--on {on}: this machine does not boot Linux"
        )));
    }
    Ok(recipe)
}
