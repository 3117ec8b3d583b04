//! `worldswitch lab show`: a resolved recipe, with the reason for each flag and parameter.

use super::list::{self, State};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use ws_lab::lab::Lab;
use ws_lab::quirks::Quirk;
use ws_lab::recipe::{Emulator, EmulatorKind, Hypervisor, Monitor, Recipe, Source};
use ws_lab::sets::Package;
use ws_lab::store::{Store, Unpacked};
use ws_machines::lab::facts;
use ws_machines::platforms;
use ws_report::reference::{Error, load};
use ws_results::{Paging, Role};
use ws_terminal::columns;
use ws_terminal::output;

/// Shows the recipe with this name.
pub fn show(lab: &Lab, store: &Store, name: &str, json: bool) -> anyhow::Result<()> {
    let recipe = platforms::recipe(lab, &super::machine(name)?)?;
    let states: Vec<(&str, State)> = recipe
        .sets()
        .into_iter()
        .map(|set| (set, list::state(lab, store, set)))
        .collect();
    if json {
        return output::data(&as_json(lab, &recipe, &states)?);
    }
    let mut text = described(&recipe)?;
    tell_faults(&mut text, lab, &recipe, &states);
    for (set, state) in &states {
        tell_packages(&mut text, lab.pins(set), set, state);
    }
    let _ = writeln!(text, "\ndigest of the recipe: {}", recipe.digest());
    output::data(&text)
}

fn as_json(lab: &Lab, recipe: &Recipe, states: &[(&str, State)]) -> serde_json::Result<String> {
    let sets = states.iter().map(|(set, state)| {
        let there = state.there.as_ref();
        json!({
            "name": set,
            "state": state.word,
            "pinned": there.map(Unpacked::pinned),
            "digest": there.map(Unpacked::digest),
            "cured": there.map(|there| &there.manifest().cured),
            "packages": there.map(Unpacked::packages),
            "pins": lab.pins(set),
        })
    });
    columns::json(&json!({
        "recipe": recipe,
        "facts": facts(recipe),
        "digest": recipe.digest(),
        "faults": faults(lab, recipe).collect::<BTreeMap<_, _>>(),
        "sets": sets.collect::<Vec<_>>(),
    }))
}

/// Prints each known fault, and whether the fetched emulator is free of it.
fn tell_faults(text: &mut String, lab: &Lab, recipe: &Recipe, states: &[(&str, State)]) {
    let emulator = &recipe.emulator.package;
    let emulator = states.iter().find(|(set, _)| set == emulator);
    let emulator = emulator.and_then(|(_, state)| state.there.as_ref());
    for (name, quirk) in faults(lab, recipe) {
        let is_cured = emulator.map(|set| set.manifest().cured.contains_key(name));
        let state = match is_cured {
            None => "",
            Some(true) => " (cured)",
            Some(false) => " (NOT cured)",
        };
        head(text, &format!("fault {name}: {}{state}", quirk.summary));
        for words in quirk.reason.lines() {
            line(text, words, "");
        }
        for cure in &quirk.cures {
            for (before, after) in cure.changes() {
                let function = cure.function.as_ref().map(|name| format!(" in {name}"));
                let function = function.unwrap_or_default();
                line(text, &format!("{before} becomes {after}{function}"), "");
            }
            line(text, &format!("found in {}", cure.builds.join(", ")), "");
        }
    }
}

/// Prints the fetched packages of a set, else the pinned ones.
fn tell_packages(text: &mut String, pins: &[Package], set: &str, state: &State) {
    head(text, &format!("packages of {set} ({})", state.word));
    let there = state.there.as_ref();
    let packages = there.map_or(pins, |there| there.packages());
    if packages.is_empty() {
        let _ = writeln!(text, "  the newest versions: none are pinned");
    }
    for package in packages {
        line(text, &format!("{} {}", package.name, package.version), "");
    }
    if let Some(there) = there {
        line(text, &format!("digest {}", there.digest()), "");
    }
}

/// The faults that the emulator must be free of.
fn faults<'a>(lab: &'a Lab, recipe: &'a Recipe) -> impl Iterator<Item = (&'a str, &'a Quirk)> {
    let names = recipe.emulator.free_of.iter().map(|fault| &*fault.word);
    names.filter_map(|name| Some((name, lab.quirks().get(name)?)))
}

fn described(recipe: &Recipe) -> Result<String, Error> {
    let mut text = String::new();
    let variant = recipe.variant.iter().map(|variant| format!("@{variant}"));
    let variant: String = variant.collect();
    let name = ws_text::terminal(&variant).into_owned();
    let _ = writeln!(
        text,
        "lab:{}{name}: {}",
        recipe.name,
        ws_text::terminal(&recipe.summary)
    );
    tell_facts(&mut text, recipe)?;
    tell_emulator(&mut text, &recipe.emulator);
    if let Hypervisor::Xen { source, parameters } = &recipe.hypervisor {
        head(&mut text, &format!("hypervisor: Xen, {}", place(source)));
        for parameter in parameters {
            line(&mut text, &parameter.word, &parameter.why);
        }
    }
    if let Some(kernel) = &recipe.kernel {
        head(&mut text, &format!("kernel: {}", place(&kernel.source)));
        for parameter in &kernel.parameters {
            line(&mut text, &parameter.word, &parameter.why);
        }
        head(&mut text, "modules, in load order");
        for module in &kernel.modules {
            let words = format!("{} {}", module.name, module.options);
            line(&mut text, words.trim_end(), &module.why);
        }
    }
    tell_monitor(&mut text, &recipe.monitor);
    tell_domain(&mut text, recipe);
    if let Some(nested) = &recipe.nested {
        let what = match &nested.xen {
            None => "the same kernel with the same monitor".to_owned(),
            Some(set) => format!("Xen of the packages {set}"),
        };
        head(
            &mut text,
            &format!("in it, instead of the guest: {what}, which runs the guest"),
        );
        for parameter in &nested.parameters {
            line(&mut text, &parameter.word, &parameter.why);
        }
    }
    let options = recipe.option_names();
    if !options.is_empty() {
        let options = options.join(", ");
        head(&mut text, &format!("options of its name: {options}"));
    }
    for choice in &recipe.choices {
        let words = format!("+{}={}", choice.option, choice.value);
        line(&mut text, &words, &choice.why);
    }
    if !recipe.skips.is_empty() {
        head(&mut text, "benchmarks that it skips");
    }
    for skip in &recipe.skips {
        line(&mut text, &skip.benchmark, &skip.why);
    }
    Ok(text)
}

/// Prints the facts by which views choose and relate its results.
fn tell_facts(text: &mut String, recipe: &Recipe) -> Result<(), Error> {
    let facts = facts(recipe);
    let role = facts.role.map(Role::word);
    let paging = facts.paging.map(Paging::word);
    let words = [role, facts.hypervisor.as_deref(), paging];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    head(
        text,
        &format!("facts for tables and pages: {}", words.join(", ")),
    );
    if facts.published.is_empty() {
        return Ok(());
    }
    let reference = load()?;
    for of in &facts.published {
        let table = of.table.iter().map(|table| format!(", table {table}"));
        let table: String = table.collect();
        let words = format!(
            "compared with {}{table}: {} on {}",
            of.paper, of.setup, of.hardware
        );
        let why = match reference.has(of) {
            true => "",
            false => {
                "there are no such numbers: see docs/reference.md for papers, tables, setups and hardware"
            }
        };
        line(text, &words, why);
    }
    Ok(())
}

fn tell_emulator(text: &mut String, emulator: &Emulator) {
    head(text, "emulator");
    line(
        text,
        &format!("{} of the packages {}", emulator.program, emulator.package),
        "",
    );
    if let Some(since) = &emulator.since {
        line(text, &format!("{} or newer", since.version), &since.why);
    }
    for fault in &emulator.free_of {
        line(
            text,
            &format!("without its fault {}", fault.word),
            &fault.why,
        );
    }
    let (machine, memory, cpu) = (&emulator.machine, emulator.memory_mib, &emulator.cpu);
    let words = match emulator.kind {
        EmulatorKind::Qemu => [
            format!("-machine {machine} -m {memory}"),
            format!("-cpu {}", cpu.to_argument()),
        ],
        EmulatorKind::Bochs => [
            format!("pci: chipset={machine}, memory: guest={memory}"),
            format!("cpu: model={}, count={}", cpu.model, emulator.cpus),
        ],
    };
    for words in words {
        line(text, &words, "");
    }
    for property in emulator.cpu.all_properties() {
        line(text, &format!("    {}", property.word), &property.why);
    }
    for flag in &emulator.flags {
        line(text, &flag.words.join(" "), &flag.why);
    }
}

fn tell_monitor(text: &mut String, monitor: &Monitor) {
    match monitor {
        Monitor::None => {}
        Monitor::Vmm { words } => {
            head(text, "monitor: the project's own");
            for word in words {
                line(text, &word.word, &word.why);
            }
        }
        Monitor::Qemu { package, program } => head(
            text,
            &format!("monitor: {program} of the packages {package}"),
        ),
        Monitor::Xl { package } => head(
            text,
            &format!("monitor: Xen's tool stack of the packages {package}"),
        ),
    }
}

fn tell_domain(text: &mut String, recipe: &Recipe) {
    let settings = recipe.vm.iter().flat_map(|vm| &vm.settings);
    for (index, setting) in settings.enumerate() {
        if index == 0 {
            head(
                text,
                match recipe.monitor {
                    Monitor::Xl { .. } => "its domain's configuration (xl.cfg)",
                    _ => "more of its command line",
                },
            );
        }
        line(text, &setting.word, &setting.why);
    }
}

fn place(source: &Source) -> String {
    match source {
        Source::Package(set) => format!("of the packages {set}"),
        Source::Folder(path) => format!("in {}", path.display()),
    }
}

fn head(text: &mut String, words: &str) {
    let _ = writeln!(text, "\n{}", ws_text::terminal(words));
}

/// Prints words and, after them, the reason for them.
fn line(text: &mut String, words: &str, why: &str) {
    let words = ws_text::terminal(words);
    let _ = match why {
        "" => writeln!(text, "  {words}"),
        why => writeln!(
            text,
            "  {}  {}",
            ws_text::pad_right(&words, 38),
            ws_text::terminal(why)
        ),
    };
}
