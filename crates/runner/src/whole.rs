//! Measures one kind of row of whole Linux machines in the lab.

use crate::Measured;
use crate::parts;
use crate::rounds::rows::RowsOf;
use crate::spec::{RunSpec, Session};
use anyhow::bail;
use ws_cpus::Cpus;
use ws_lab::lab::Lab;
use ws_lab::recipe::Recipe;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_terminal::{Usage, output};

/// End of the message on a platform without devices: what it lacks, and which platform to choose.
pub const NO_DEVICES: &str =
    "VM with devices to measure: choose lab:kvm-linux or another recipe with a [vm.io]";

/// Whether the recipe has a VM with devices to measure.
pub fn has_devices(recipe: &Recipe) -> bool {
    recipe.vm.as_ref().is_some_and(|vm| vm.io.is_some())
}

/// Measures rows of whole Linux machines, after it has checked that each platform has them.
///
/// # Errors
/// [`Usage`], if a platform is not of the lab or its recipe is not `suited`; `has_no` names what it lacks. Otherwise
/// the errors of [`crate::measure`].
pub fn measure(
    spec: &RunSpec,
    suited: fn(&Recipe) -> bool,
    has_no: &str,
    session: &Session,
) -> anyhow::Result<Measured> {
    let lab = parts::recipes(&spec.parts.lab)?;
    let of_host = |name: &PlatformName| {
        let are_of_hosts = spec.rows.as_ref().is_some_and(RowsOf::are_of_hosts);
        are_of_hosts && platforms::APPLICATIONS.contains(&&*name.base())
    };
    for name in spec.platforms.iter().filter(|name| !of_host(name)) {
        recipe(&lab, name, suited, has_no)?;
    }
    let mut names = spec.platforms.iter();
    let has_vm = names.any(|name| of_host(name) && name.base() != "host");
    if let Some(why) = Cpus::here().too_few(2).filter(|_| has_vm) {
        output::remark(
            &format!("a VM and its clients share one CPU: {why} (cure: worldswitch doctor)"),
            session.colours,
        );
    }
    crate::measure(spec, None, session)
}

/// Finds the recipe of a platform, without its variant. Fails if the platform is not of the lab, or the recipe not
/// `suited`.
pub fn recipe(
    lab: &Lab,
    name: &PlatformName,
    suited: fn(&Recipe) -> bool,
    has_no: &str,
) -> anyhow::Result<Recipe> {
    if name.family.as_deref() == Some("lab") {
        let recipe = lab.recipe(&name.name, None)?;
        if suited(&recipe) {
            return Ok(recipe);
        }
    }
    bail!(Usage(format!(
        "{name} has no {has_no} (worldswitch lab list)"
    )))
}
