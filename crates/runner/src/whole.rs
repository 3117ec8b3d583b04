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

/// Measures rows of whole Linux machines, after it has checked that each platform has them.
///
/// # Errors
/// [`Usage`], if a platform is not of the lab or has no such rows. Otherwise the errors of [`crate::measure`].
pub fn measure(rows: RowsOf, spec: RunSpec, session: &Session) -> anyhow::Result<Measured> {
    let lab = parts::recipes(&spec.parts.lab)?;
    let are_of_hosts = rows.are_of_hosts();
    let of_host =
        |name: &PlatformName| are_of_hosts && platforms::APPLICATIONS.contains(&&*name.base());
    for name in spec.platforms.iter().filter(|name| !of_host(name)) {
        recipe(&lab, name, &rows)?;
    }
    let mut names = spec.platforms.iter();
    let has_vm = names.any(|name| of_host(name) && name.base() != "host");
    if let Some(why) = Cpus::here().too_few(2).filter(|_| has_vm) {
        output::remark(&format!(
            "a VM and its clients share one CPU: {why} (cure: worldswitch doctor)"
        ));
    }
    let spec = RunSpec {
        rows: Some(rows),
        ..spec
    };
    crate::measure(&spec, None, session)
}

/// Finds the recipe of a platform, without its variant. Fails if the platform is not of the lab, or has no such rows.
pub fn recipe(lab: &Lab, name: &PlatformName, rows: &RowsOf) -> anyhow::Result<Recipe> {
    if name.family.as_deref() == Some("lab") {
        let recipe = lab.recipe(&name.name, None)?;
        if rows.suits(&recipe) {
            return Ok(recipe);
        }
    }
    bail!(Usage(format!(
        "{name} has no {} (worldswitch lab list)",
        rows.lacking()
    )))
}
