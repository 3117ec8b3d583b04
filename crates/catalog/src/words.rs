//! Names that complete the beginning of one: benchmarks, platforms, machines and workloads. Only reads files.

use ws_lab::lab::{Lab, split};
use ws_lab::sets::Architecture;
use ws_machines::image::GuestImage;
use ws_machines::platforms;
use ws_runner::parts::{self, Parts};
use ws_text::terminal;

/// Values, each with its description.
pub type Found = Vec<(String, String)>;

/// Keeps the values that begin with `text`.
fn beginning(text: &str, all: impl IntoIterator<Item = (String, String)>) -> Found {
    let all = all.into_iter();
    all.filter(|(value, _)| value.starts_with(text)).collect()
}

fn lab() -> Option<Lab> {
    parts::recipes(&Parts::default().lab).ok()
}

/// Completes the last platform of a list such as `a,b`, leaving out the platforms already in it.
pub fn list_of_platforms(text: &str) -> Found {
    let (before, last) = match text.rsplit_once(',') {
        Some((before, last)) => (before, last),
        None => ("", text),
    };
    let start = &text[..text.len() - last.len()];
    let is_new = |(name, _): &(String, String)| before.split(',').all(|other| other != name);
    let found = platforms_from(last).into_iter().filter(is_new);
    found
        .map(|(name, help)| (format!("{start}{name}"), help))
        .collect()
}

/// Completes platforms; after `@`, the recipe's variants.
fn platforms_from(text: &str) -> Found {
    if text.starts_with("lab:") && text.contains('@') {
        let variants = variants(text).into_iter();
        return beginning(
            text,
            variants.map(|name| (format!("lab:{name}"), String::new())),
        );
    }
    let recipes = recipes().into_iter();
    let lab = recipes.map(|(name, help)| (format!("lab:{name}"), help));
    let host = platforms::of_host().map(|platform| {
        // A device or a file follows, which the shell completes.
        let name = match platform.name.split_once(':') {
            Some((family, _)) => format!("{family}:"),
            None => platform.name,
        };
        (name, platform.summary)
    });
    beginning(text, lab.chain(host))
}

/// Recipes, each with its description.
fn recipes() -> Found {
    let Some(lab) = lab() else {
        return Vec::new();
    };
    let names = lab.recipes().unwrap_or_default().into_iter();
    names
        .map(|name| {
            let recipe = lab.recipe(&name, None);
            let summary = recipe.map(|recipe| recipe.summary).unwrap_or_default();
            (name, summary)
        })
        .collect()
}

/// Variants of the recipe in `text`, as `kvm@6.12`.
fn variants(text: &str) -> Vec<String> {
    let (name, _) = split(text);
    let variants = lab().and_then(|lab| lab.variants(name).ok());
    let variants = variants.unwrap_or_default().into_iter();
    variants
        .map(|variant| format!("{name}@{variant}"))
        .collect()
}

/// Machines of the lab, with or without `lab:`, for commands that take only lab machines.
pub fn machines(text: &str) -> Found {
    if text.starts_with("lab:") {
        return platforms_from(text);
    }
    match text.contains('@') {
        true => beginning(
            text,
            variants(text).into_iter().map(|name| (name, String::new())),
        ),
        false => beginning(text, recipes()),
    }
}

/// The benchmarks of the guest images.
pub fn benchmarks(text: &str) -> Found {
    let resources = parts::resources(&Parts::default());
    let paths = Architecture::ALL.map(|of| resources.guest_for(of));
    let images = paths.into_iter().flatten();
    let mut all = Found::new();
    for image in images.filter_map(|path| GuestImage::read(&path).ok()) {
        for row in image.rows {
            if all.iter().all(|(name, _)| *name != row.name) {
                all.push((row.name, terminal(&row.summary).into_owned()));
            }
        }
    }
    beginning(text, all)
}

/// The workloads of lab machines with a whole Linux.
pub fn workloads(text: &str) -> Found {
    let names = lab().and_then(|lab| lab.workloads().ok());
    let names = names.unwrap_or_default().into_iter();
    beginning(text, names.map(|name| (name, String::new())))
}
