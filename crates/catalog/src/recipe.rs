//! A resolved recipe, with the reason for each flag and parameter.

use crate::recipes::{State, state};
use serde_json::json;
use std::collections::BTreeMap;
use ws_lab::lab::Lab;
use ws_lab::quirks::Quirk;
use ws_lab::recipe::{Emulator, EmulatorKind, Hypervisor, Monitor, Recipe, Source, Word};
use ws_lab::sets::Package;
use ws_lab::store::{Store, Unpacked};
use ws_machines::lab::facts;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_report::reference;
use ws_results::{Paging, Role};
use ws_terminal::columns;
use ws_text::{pad_right, terminal};

/// Describes the machine of this name, as text or as JSON.
pub fn recipe(
    lab: &Lab,
    store: &Store,
    name: &PlatformName,
    as_json: bool,
) -> anyhow::Result<String> {
    let recipe = platforms::recipe(lab, name)?;
    let states: Vec<(&str, State)> = recipe
        .sets()
        .into_iter()
        .map(|set| (set, state(lab, store, set)))
        .collect();
    if as_json {
        return Ok(json(lab, &recipe, &states)?);
    }
    let variant = recipe.variant.iter().map(|variant| format!("@{variant}"));
    let variant: String = variant.collect();
    let mut text = Text(format!(
        "lab:{}{}: {}\n",
        recipe.name,
        terminal(&variant),
        terminal(&recipe.summary)
    ));
    text.facts(&recipe)?;
    text.parts(&recipe);
    text.faults(lab, &recipe, &states);
    for (set, state) in &states {
        text.packages(lab.pins(set), set, state);
    }
    Ok(format!(
        "{}\ndigest of the recipe: {}\n",
        text.0,
        recipe.digest()
    ))
}

fn json(lab: &Lab, recipe: &Recipe, states: &[(&str, State)]) -> serde_json::Result<String> {
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

/// The faults that the emulator must be free of.
fn faults<'a>(lab: &'a Lab, recipe: &'a Recipe) -> impl Iterator<Item = (&'a str, &'a Quirk)> {
    let names = recipe.emulator.free_of.iter().map(|fault| &*fault.word);
    names.filter_map(|name| Some((name, lab.quirks().get(name)?)))
}

/// The description of a recipe: sections of lines.
struct Text(String);

impl Text {
    fn head(&mut self, words: &str) {
        self.0 += &format!("\n{}\n", terminal(words));
    }

    /// Adds a line, and after its words the reason for them.
    fn line(&mut self, words: &str, why: &str) {
        let words = terminal(words);
        self.0 += &match why {
            "" => format!("  {words}\n"),
            why => format!("  {}  {}\n", pad_right(&words, 38), terminal(why)),
        };
    }

    fn words(&mut self, words: &[Word]) {
        for word in words {
            self.line(&word.word, &word.why);
        }
    }

    /// Adds the facts by which views choose and relate its results.
    fn facts(&mut self, recipe: &Recipe) -> Result<(), reference::Error> {
        let facts = facts(recipe);
        let role = facts.role.map(Role::word);
        let paging = facts.paging.map(Paging::word);
        let words = [role, facts.hypervisor.as_deref(), paging];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        self.head(&format!("facts for tables and pages: {}", words.join(", ")));
        if facts.published.is_empty() {
            return Ok(());
        }
        let reference = reference::load()?;
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
            self.line(&words, why);
        }
        Ok(())
    }

    /// Adds the machine's parts, from the emulator to the guest.
    fn parts(&mut self, recipe: &Recipe) {
        self.emulator(&recipe.emulator);
        if let Hypervisor::Xen { source, parameters } = &recipe.hypervisor {
            self.head(&format!("hypervisor: Xen, {}", place(source)));
            self.words(parameters);
        }
        if let Some(kernel) = &recipe.kernel {
            self.head(&format!("kernel: {}", place(&kernel.source)));
            self.words(&kernel.parameters);
            self.head("modules, in load order");
            for module in &kernel.modules {
                let words = format!("{} {}", module.name, module.options);
                self.line(words.trim_end(), &module.why);
            }
        }
        self.monitor(recipe);
        if let Some(nested) = &recipe.nested {
            let what = match &nested.xen {
                None => "the same kernel with the same monitor".to_owned(),
                Some(set) => format!("Xen of the packages {set}"),
            };
            self.head(&format!(
                "in it, instead of the guest: {what}, which runs the guest"
            ));
            self.words(&nested.parameters);
        }
        let options = recipe.option_names();
        if !options.is_empty() {
            self.head(&format!("options of its name: {}", options.join(", ")));
        }
        for choice in &recipe.choices {
            self.line(&format!("+{}={}", choice.option, choice.value), &choice.why);
        }
        if !recipe.skips.is_empty() {
            self.head("benchmarks that it skips");
        }
        for skip in &recipe.skips {
            self.line(&skip.benchmark, &skip.why);
        }
    }

    fn emulator(&mut self, emulator: &Emulator) {
        self.head("emulator");
        self.line(
            &format!("{} of the packages {}", emulator.program, emulator.package),
            "",
        );
        if let Some(since) = &emulator.since {
            self.line(&format!("{} or newer", since.version), &since.why);
        }
        for fault in &emulator.free_of {
            self.line(&format!("without its fault {}", fault.word), &fault.why);
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
            self.line(&words, "");
        }
        for property in emulator.cpu.all_properties() {
            self.line(&format!("    {}", property.word), &property.why);
        }
        for flag in &emulator.flags {
            self.line(&flag.words.join(" "), &flag.why);
        }
    }

    fn monitor(&mut self, recipe: &Recipe) {
        match &recipe.monitor {
            Monitor::None => {}
            Monitor::Vmm { words } => {
                self.head("monitor: the project's own");
                self.words(words);
            }
            Monitor::Qemu { package, program } => {
                self.head(&format!("monitor: {program} of the packages {package}"));
            }
            Monitor::Xl { package } => {
                self.head(&format!(
                    "monitor: Xen's tool stack of the packages {package}"
                ));
            }
        }
        let settings = recipe.vm.as_ref().map(|vm| &vm.settings);
        if let Some(settings) = settings.filter(|settings| !settings.is_empty()) {
            self.head(match recipe.monitor {
                Monitor::Xl { .. } => "its domain's configuration (xl.cfg)",
                _ => "more of its command line",
            });
            self.words(settings);
        }
    }

    /// Adds each known fault, and whether the fetched emulator is free of it.
    fn faults(&mut self, lab: &Lab, recipe: &Recipe, states: &[(&str, State)]) {
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
            self.head(&format!("fault {name}: {}{state}", quirk.summary));
            for words in quirk.reason.lines() {
                self.line(words, "");
            }
            for cure in &quirk.cures {
                for (before, after) in cure.changes() {
                    let function = cure.function.as_ref().map(|name| format!(" in {name}"));
                    let function = function.unwrap_or_default();
                    self.line(&format!("{before} becomes {after}{function}"), "");
                }
                self.line(&format!("found in {}", cure.builds.join(", ")), "");
            }
        }
    }

    /// Adds the fetched packages of a set, else the pinned ones.
    fn packages(&mut self, pins: &[Package], set: &str, state: &State) {
        self.head(&format!("packages of {set} ({})", state.word));
        let there = state.there.as_ref();
        let packages = there.map_or(pins, |there| there.packages());
        if packages.is_empty() {
            self.line("the newest versions: none are pinned", "");
        }
        for package in packages {
            self.line(&format!("{} {}", package.name, package.version), "");
        }
        if let Some(there) = there {
            self.line(&format!("digest {}", there.digest()), "");
        }
    }
}

fn place(source: &Source) -> String {
    match source {
        Source::Package(set) => format!("of the packages {set}"),
        Source::Folder(path) => format!("in {}", path.display()),
    }
}
