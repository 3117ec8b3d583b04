//! Options of a machine's name whose effect its recipe defines, as `+apicv=0`.

use super::{
    ApplyError, DeviceKind, Emulator, Hypervisor, Module, Monitor, Published, Recipe, Served, Skip,
    Word,
};
use crate::kernel::module_key;
use serde::{Deserialize, Serialize};

/// Numbers of CPUs of a measured system. Each vCPU is pinned, and so is the back-end of the VM's network: the host's
/// agent takes 8 pins (`lab/agent/config.h`).
const CPUS: std::ops::RangeInclusive<u32> = 2..=7;

/// A value of an option, and its changes to the recipe. Without the option nothing changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The option's name, as `apicv`.
    pub option: String,
    /// The option's value, as `0`.
    pub value: String,
    /// Purpose of the value.
    pub why: String,
    /// Another set of packages with the emulator.
    #[serde(default)]
    pub package: Option<String>,
    /// Another model of CPU.
    #[serde(default)]
    pub cpu: Option<String>,
    /// Properties of the CPU, which replace those of the same key. Machines that differ in them are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_property: Vec<String>,
    /// Another machine model with its properties, as `virt,aia=aplic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Kernel parameters, which replace those of the same key.
    #[serde(default)]
    pub parameter: Vec<String>,
    /// Xen's parameters, which replace those of the same key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hypervisor: Vec<String>,
    /// Options of modules that the recipe loads, which replace those of the same key.
    #[serde(default)]
    pub module: Vec<ModuleOptions>,
    /// Words of vmm's configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitor: Vec<String>,
    /// Another image of the guest, as a file name. It is in the folder of the guest's ELF file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<String>,
    /// Benchmarks that the machine then can't run right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<Skip>,
    /// Settings of the VM (`vm.setting`), which replace those of the same key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setting: Vec<String>,
    /// The back-end of the network of the VM's workloads, on the CPUs of `vm.io`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Served>,
    /// CPUs of the system whose workloads are measured, natively and as vCPUs. Without this value there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Caveat that a reader of results must know, in place of the recipe's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// The published numbers of similar machines, in place of the recipe's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Vec<Published>>,
}

/// Options of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleOptions {
    /// The module's name.
    pub name: String,
    /// Options of the module, as `enable_apicv=0 pml=0`.
    pub options: String,
}

impl Recipe {
    /// The names of all options, each once.
    pub fn option_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.options.iter().map(|option| option.name()).collect();
        for choice in &self.choices {
            if !names.contains(&&*choice.option) {
                names.push(&choice.option);
            }
        }
        names
    }

    /// Applies an option that the recipe itself defines.
    pub(super) fn with_choice(mut self, option: &str, value: &str) -> Result<Self, ApplyError> {
        let of_option = || self.choices.iter().filter(|choice| choice.option == option);
        let Some(choice) = of_option().find(|choice| choice.value == value).cloned() else {
            let known: Vec<&str> = of_option().map(|choice| &*choice.value).collect();
            return Err(ApplyError::NoChoice {
                known: known.join(" or "),
                recipe: self.name,
                option: option.to_owned(),
                value: value.to_owned(),
            });
        };
        let network = self.vm.as_ref().and_then(|vm| vm.network);
        if choice.cpus.or(self.cpus).is_some() && choice.network.or(network).is_some() {
            return Err(ApplyError::Value {
                recipe: self.name,
                option: option.to_owned(),
                value: value.to_owned(),
                why: "+net= and +cpus= can't be combined: leave one out",
            });
        }
        self.cpus = choice.cpus.or(self.cpus);
        self.emulator.apply(&choice);
        self.guest_image = choice.guest.or(self.guest_image);
        self.skips.extend(choice.skip);
        if let Some(caveat) = choice.caveat {
            self.caveat = Some(caveat);
        }
        if let Some(published) = choice.published {
            self.published = published;
        }
        if let Monitor::Vmm { words } = &mut self.monitor {
            for word in choice.monitor {
                let why = choice.why.clone();
                replace(words, Word { word, why }, |word| &word.word);
            }
        }
        if let Hypervisor::Xen { parameters, .. } = &mut self.hypervisor {
            for word in choice.hypervisor {
                let why = choice.why.clone();
                replace(parameters, Word { word, why }, |word| &word.word);
            }
        }
        if let Some(vm) = &mut self.vm {
            vm.network = choice.network.or(vm.network);
            for word in choice.setting {
                let why = choice.why.clone();
                replace(&mut vm.settings, Word { word, why }, |word| &word.word);
            }
        }
        self.apply_to_kernel(&choice.why, choice.parameter, choice.module);
        Ok(self)
    }

    /// Sets a kernel's parameters, and options of its modules.
    fn apply_to_kernel(&mut self, why: &str, parameters: Vec<String>, modules: Vec<ModuleOptions>) {
        let Some(kernel) = &mut self.kernel else {
            return;
        };
        for word in parameters {
            let word = Word {
                word,
                why: why.to_owned(),
            };
            // An inner kernel gets the parameter too, if it has one of this key.
            let inner = self.nested.as_mut().map(|nested| &mut nested.parameters);
            let has = |inner: &Vec<Word>| inner.iter().any(|own| key(&own.word) == key(&word.word));
            if let Some(inner) = inner.filter(|inner| has(inner)) {
                replace(inner, word.clone(), |word| &word.word);
            }
            replace(&mut kernel.parameters, word, |word| &word.word);
        }
        for change in modules {
            for module in kernel.modules.iter_mut().filter(|m| m.is(&change.name)) {
                module.set_options(&change.options);
            }
        }
    }

    /// Whether the kernel loads the module.
    fn loads(&self, module: &str) -> bool {
        let mut modules = self.kernel.iter().flat_map(|kernel| &kernel.modules);
        modules.any(|own| own.is(module))
    }

    /// Fault of a choice, in words for the recipe's author; none if all are right.
    pub(crate) fn wrong_choice(&self) -> Option<String> {
        for choice in &self.choices {
            let name = format!("choice {}={}", choice.option, choice.value);
            let has_kernel_part = !(choice.parameter.is_empty() && choice.module.is_empty());
            if self.options.iter().any(|o| o.name() == choice.option) {
                return Some(format!("{name}: there is an option of this name already"));
            }
            if choice.why.trim().is_empty() {
                return Some(format!("{name} gives no reason (why)"));
            }
            if let Some(wrong) = choice.wrong() {
                return Some(format!("{name}: {wrong}"));
            }
            if has_kernel_part && self.kernel.is_none() {
                return Some(format!("{name} needs a [kernel]"));
            }
            if !choice.monitor.is_empty() && !matches!(self.monitor, Monitor::Vmm { .. }) {
                return Some(format!("{name} needs our own monitor"));
            }
            if !choice.hypervisor.is_empty() && !matches!(self.hypervisor, Hypervisor::Xen { .. }) {
                return Some(format!("{name}: hypervisor needs a recipe with Xen"));
            }
            if !choice.setting.is_empty() && self.vm.is_none() {
                return Some(format!("{name} needs a [vm]"));
            }
            if choice.cpus.is_some() && self.root.is_none() {
                return Some(format!(
                    "{name}: cpus needs a [root], whose workloads use them"
                ));
            }
            if choice.cpus.is_some_and(|cpus| !CPUS.contains(&cpus)) {
                return Some(format!("{name}: cpus is not 2 to 7"));
            }
            if choice.network.is_some() && self.vm.iter().all(|vm| vm.io.is_none()) {
                return Some(format!("{name}: network needs the CPUs of a [vm.io]"));
            }
            let mut devices = self
                .vm
                .iter()
                .flat_map(|vm| &vm.io)
                .flat_map(|io| &io.devices);
            let has_card = devices.any(|device| device.served == Served::Assigned);
            let serves = |served: Served| {
                served.suits(DeviceKind::Net) && (served != Served::Assigned || has_card)
            };
            if choice.network.is_some_and(|served| !serves(served)) {
                return Some(format!(
                    "{name}: this back-end has no network for workloads"
                ));
            }
            let unknown = |of: &&ModuleOptions| !self.loads(&of.name);
            if let Some(of) = choice.module.iter().find(unknown) {
                return Some(format!("{name}: the module \"{}\" is not loaded", of.name));
            }
        }
        None
    }
}

impl Choice {
    /// Fault of the choice in itself, in words; none if it is right with any recipe.
    fn wrong(&self) -> Option<String> {
        let properties = self.cpu_property.iter().map(|word| ("cpu_property", word));
        let machine = self.machine.iter().map(|word| ("machine", word));
        for (key, word) in properties.chain(machine) {
            if word.is_empty() || word.chars().any(|c| c.is_control() || c == ' ') {
                let word = word.escape_debug();
                return Some(format!("\"{word}\" of {key} is not a word"));
            }
        }
        let wrong = match () {
            () if self.cpu_property.iter().any(|word| word.contains(',')) => {
                "cpu_property has a word for each property"
            }
            () if self.guest.iter().any(|name| !is_file_name(name)) => {
                "guest is not the name of a file"
            }
            () if self.skip.iter().any(|skip| skip.why.trim().is_empty()) => {
                "a skip gives no reason (why)"
            }
            () => return None,
        };
        Some(wrong.to_owned())
    }
}

impl Emulator {
    /// Applies a choice's changes to the emulator.
    fn apply(&mut self, choice: &Choice) {
        if let Some(package) = &choice.package {
            self.package.clone_from(package);
        }
        if let Some(cpu) = &choice.cpu {
            self.cpu.replace_model(cpu.clone());
        }
        if let Some(machine) = &choice.machine {
            self.machine.clone_from(machine);
        }
        for word in &choice.cpu_property {
            let (word, why) = (word.clone(), choice.why.clone());
            replace(&mut self.cpu.chosen, Word { word, why }, |word| &word.word);
        }
    }
}

impl Module {
    /// Whether this is the module of that name.
    pub fn is(&self, name: &str) -> bool {
        module_key(&self.name) == module_key(name)
    }

    /// Sets options, as `ept=0 pml=0`: an option of the same key is replaced, others are added.
    fn set_options(&mut self, options: &str) {
        let mut words: Vec<String> = self.options.split(' ').map(str::to_owned).collect();
        words.retain(|word| !word.is_empty());
        for word in options.split(' ').filter(|word| !word.is_empty()) {
            replace(&mut words, word.to_owned(), |word| word);
        }
        self.options = words.join(" ");
    }
}

/// Puts a word into the place of the word with the same key (all up to '='), or at the end.
fn replace<T>(words: &mut Vec<T>, word: T, text: impl Fn(&T) -> &str) {
    match words
        .iter_mut()
        .find(|other| key(text(other)) == key(text(&word)))
    {
        Some(other) => *other = word,
        None => words.push(word),
    }
}

/// Whether the text names a file of a folder: not a path, and not hidden.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// The key that a word sets: all up to '='.
fn key(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_module_are_replaced_by_key_and_else_added() {
        let mut module = Module {
            name: "kvm-intel".into(),
            options: "ept=1".into(),
            why: "x".into(),
        };
        module.set_options("ept=0 enable_apicv=0");
        assert_eq!(module.options, "ept=0 enable_apicv=0");
        module.set_options("enable_apicv=1");
        assert_eq!(module.options, "ept=0 enable_apicv=1");
        module.options.clear();
        module.set_options("nested=1");
        assert_eq!(module.options, "nested=1");
    }
}
