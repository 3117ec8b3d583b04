//! `worldswitch list platforms`.

use crate::terminal::columns::pretty;
use crate::terminal::output;
use serde_json::json;
use ws_machines::platforms::{self, Usable};
use ws_machines::resources::Resources;
use ws_report::text::terminal;

/// The note on every platform on a software KVM.
const SOFTWARE: &str =
    "a software KVM, without VMX or SVM: its figures and counts say nothing about hardware";

/// Prints the platforms, what each needs, and whether it is usable here.
///
/// # Errors
/// The recipes can't be read, or standard output can't be written.
pub fn platforms(json: bool, resources: &Resources) -> anyhow::Result<()> {
    let all = platforms::all(resources)?;
    let all = all
        .iter()
        .map(|platform| (platform, platforms::usable(platform, resources)));
    output::data(&if json {
        let all: Vec<_> = all
            .map(|(platform, usable)| {
                let software = usable == Usable::Software;
                let default = platform.default && usable == Usable::Yes;
                let (usable, why) = match usable {
                    Usable::Yes | Usable::Software => (Some(true), None),
                    Usable::No(why) => (Some(false), Some(why)),
                    Usable::Depends => (None, None),
                };
                json!({
                    "name": platform.name,
                    "summary": platform.summary,
                    "needs": platform.needs,
                    "unit": platform.unit,
                    // Whether `run` without `--on` uses it on this host.
                    "default": default,
                    "usable": usable,
                    "why_not": why,
                    "note": software.then_some(SOFTWARE),
                })
            })
            .collect();
        pretty(&json!({ "platforms": all }))
    } else {
        all.map(|(platform, usable)| {
            let usable = match usable {
                Usable::Yes if platform.default => "usable, and run by default".to_owned(),
                Usable::Yes => "usable".to_owned(),
                Usable::Software => format!("usable, and not run by default: {SOFTWARE}"),
                Usable::Depends => "usable with the device or file that you name".to_owned(),
                Usable::No(why) => format!("not usable here: {why}"),
            };
            format!(
                "{}: {}\n    {}\n    unit: {}; needs {}\n",
                platform.name,
                terminal(&usable),
                platform.summary,
                platform.unit,
                platform.needs
            )
        })
        .collect()
    })
}
