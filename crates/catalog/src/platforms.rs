//! Platforms to measure on, what each needs, and whether it is usable here.

use schemars::JsonSchema;
use serde::Serialize;
use ws_machines::platforms::{self, Platform, Usable};
use ws_machines::resources::Resources;
use ws_terminal::columns;
use ws_text::terminal;

/// The note on every platform on a software KVM.
const SOFTWARE: &str =
    "a software KVM, without VMX or SVM: its figures and counts say nothing about hardware";

/// The format version of `--json`.
const SCHEMA: &str = "worldswitch-platforms/1";

/// The platforms.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Platforms<'a> {
    /// Always `worldswitch-platforms/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    platforms: Vec<Listed<'a>>,
}

/// A platform.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed<'a> {
    name: &'a str,
    summary: &'a str,
    /// Requirements, in words.
    needs: &'a str,
    /// Unit of its figures.
    unit: &'a str,
    /// Whether `run` without `--on` uses the platform on this host.
    default: bool,
    /// Whether the platform is usable here; null if that depends on the named device or file.
    usable: Option<bool>,
    /// Reason why not, and the cure.
    why_not: Option<String>,
    /// Limits of its figures.
    note: Option<&'static str>,
}

impl<'a> Listed<'a> {
    fn of(platform: &'a Platform, usable: Usable) -> Self {
        Self {
            name: &platform.name,
            summary: &platform.summary,
            needs: &platform.needs,
            unit: platform.unit,
            default: platform.default && usable == Usable::Yes,
            note: (usable == Usable::Software).then_some(SOFTWARE),
            usable: match usable {
                Usable::Yes | Usable::Software => Some(true),
                Usable::No(_) => Some(false),
                Usable::Depends => None,
            },
            why_not: match usable {
                Usable::No(why) => Some(why),
                Usable::Yes | Usable::Software | Usable::Depends => None,
            },
        }
    }
}

/// Lists the platforms, as text or as JSON.
pub fn platforms(resources: &Resources, as_json: bool) -> anyhow::Result<String> {
    let all = platforms::all(resources)?;
    let all = all
        .iter()
        .map(|platform| (platform, platforms::usable(platform, resources)));
    if as_json {
        return Ok(columns::json(&Platforms {
            schema: SCHEMA,
            platforms: all
                .map(|(platform, usable)| Listed::of(platform, usable))
                .collect(),
        })?);
    }
    let lines = all.map(|(platform, usable)| {
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
    });
    Ok(lines.collect())
}
