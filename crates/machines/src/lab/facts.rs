//! Facts about a lab machine, from its recipe.

use ws_lab::recipe::{
    Below, BelowHypervisor, Hypervisor, Mechanism, Module, Monitor, Neve, Recipe, Word,
};
use ws_lab::sets::Architecture;
use ws_results::{Facts, Paging, Published, Role, System};

/// The facts of a recipe's machine, with its variant and options. Results carry them.
pub fn facts(recipe: &Recipe) -> Facts {
    let published = recipe.published().cloned();
    let is_xen = recipe.nested_xen().is_some();
    Facts {
        role: Some(role(recipe)),
        system: Some(match recipe.root {
            Some(_) => System::Linux,
            None => System::Guest,
        }),
        hypervisor: match recipe.hypervisor {
            Hypervisor::None => None,
            Hypervisor::Kvm if is_xen => Some("xen".into()),
            Hypervisor::Kvm => Some("kvm".into()),
            Hypervisor::Xen { .. } => Some("xen".into()),
            Hypervisor::Neve(_) => Some("neve".into()),
        },
        monitor: match recipe.monitor {
            Monitor::None => None,
            // The monitor has started Xen, which starts the guest by itself.
            Monitor::Vmm { .. } if is_xen => None,
            Monitor::Vmm { .. } => Some("vmm".into()),
            Monitor::Qemu { .. } => Some("qemu".into()),
            Monitor::Xl { .. } => Some("xl".into()),
        },
        paging: paging(recipe),
        vhe: vhe(recipe),
        mechanism: mechanism(recipe).map(|nest| nest.word().to_owned()),
        published: published
            .map(|of| Published {
                paper: of.paper,
                table: of.table,
                setup: of.setup,
                hardware: of.hardware,
            })
            .collect(),
    }
}

fn role(recipe: &Recipe) -> Role {
    let has_guest_hypervisor =
        recipe.nested.is_some() || recipe.below.is_some() || mechanism(recipe).is_some();
    match recipe.hypervisor {
        Hypervisor::None => Role::Native,
        _ if has_guest_hypervisor => Role::NestedVm,
        _ => Role::Vm,
    }
}

fn mechanism(recipe: &Recipe) -> Option<Mechanism> {
    match (&recipe.hypervisor, &recipe.below) {
        (Hypervisor::Neve(Neve { nest, .. }), _) => *nest,
        (_, Some(Below { hypervisor, .. })) => match hypervisor {
            BelowHypervisor::Neve { nest, .. } => Some(*nest),
            BelowHypervisor::Kvm { .. } => None,
        },
        _ => None,
    }
}

/// The paging of the guest; none where it is not known.
fn paging(recipe: &Recipe) -> Option<Paging> {
    match &recipe.hypervisor {
        Hypervisor::None => None,
        Hypervisor::Kvm => {
            let modules = recipe.kernel.iter().flat_map(|kernel| &kernel.modules);
            let of_module = |module: &Module| Paging::of_options(&module.options);
            Some(
                modules
                    .filter_map(of_module)
                    .next_back()
                    .unwrap_or(Paging::Nested),
            )
        }
        Hypervisor::Xen { parameters, .. } => {
            let settings = recipe.vm.iter().flat_map(|vm| &vm.settings);
            // A PV guest has neither kind, and xl's and Xen's hap choose another one.
            let decides = |word: &Word| {
                let key = word.word.split('=').next();
                key == Some("hap") || word.word.replace(['"', '\''], "") == "type=pv"
            };
            let mut words = parameters.iter().chain(settings);
            (!words.any(decides)).then_some(Paging::Nested)
        }
        Hypervisor::Neve(_) => Some(Paging::Nested),
    }
}

fn vhe(recipe: &Recipe) -> Option<bool> {
    match &recipe.hypervisor {
        // The host's neve below guest hypervisors is always built without.
        Hypervisor::Neve(neve) => Some(neve.vhe && neve.nest.is_none()),
        Hypervisor::Kvm if recipe.nested_xen().is_some() => None,
        Hypervisor::Kvm if recipe.architecture == Architecture::Aarch64 => {
            let mut parameters = recipe.kernel.iter().flat_map(|kernel| &kernel.parameters);
            let splits = ["kvm-arm.mode=nvhe", "kvm-arm.mode=protected"];
            Some(!parameters.any(|word| splits.contains(&&*word.word)))
        }
        Hypervisor::None | Hypervisor::Kvm | Hypervisor::Xen { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};
    use ws_lab::lab::{Lab, split};

    /// A machine by its name, with variant and options.
    fn of(lab: &Lab, name: &str) -> Facts {
        let mut parts = name.split('+');
        let (base, variant) = split(parts.next().unwrap());
        let mut recipe = lab.recipe(base, variant).unwrap();
        for option in parts {
            let (key, value) = option.split_once('=').unwrap();
            recipe = recipe.with_option(key, value).unwrap();
        }
        facts(&recipe)
    }

    fn shipped_folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab")
    }

    fn lab() -> Lab {
        Lab::open(&[shipped_folder()]).unwrap()
    }

    /// `extends = "kvm"` alone, or with another memory, is what lab:kvm is. So views set it beside the same machines.
    #[test]
    fn a_recipe_of_one_s_own_is_what_it_extends() {
        let folder = tempfile::tempdir().unwrap();
        let recipes = folder.path().join("recipes");
        std::fs::create_dir(&recipes).unwrap();
        let shipped = lab().recipes().unwrap();
        for name in &shipped {
            let text = format!("extends = \"{name}\"\nemulator.memory_mib = 128");
            std::fs::write(recipes.join(format!("my-{name}.toml")), text).unwrap();
        }
        let lab = Lab::open(&[folder.path().to_owned(), shipped_folder()]).unwrap();
        for name in shipped {
            assert_eq!(of(&lab, &format!("my-{name}")), of(&lab, &name), "{name}");
        }
    }

    #[test]
    fn facts_follow_what_a_recipe_changes() {
        let lab = lab();
        let with = |name: &str, change: &dyn Fn(&mut Recipe)| {
            let mut recipe = lab.recipe(name, None).unwrap();
            change(&mut recipe);
            facts(&recipe)
        };
        let npt = with("kvm-nested", &|recipe| recipe.nested = None);
        assert_eq!(npt.role, Some(Role::Vm));
        let pv = with("xen-linux", &|recipe| {
            let settings = &mut recipe.vm.as_mut().unwrap().settings;
            settings.push(Word {
                word: "type=\"pv\"".into(),
                why: "x".into(),
            });
        });
        assert_eq!((pv.role, pv.paging), (Some(Role::Vm), None));
        let shadow = with("kvm-intel", &|recipe| {
            recipe.kernel.as_mut().unwrap().modules[2].options = "ept=0".into();
        });
        assert_eq!(shadow.paging, Some(Paging::Shadow));
    }

    #[test]
    fn a_nested_vm_of_xen_is_xen_s() {
        let nested = of(&lab(), "xen-nested");
        let alone = of(&lab(), "arm-xen");
        assert_eq!(nested.role, Some(Role::NestedVm));
        assert_eq!(
            nested,
            Facts {
                role: nested.role,
                ..alone
            }
        );
    }

    /// An older result has the facts of its platform's name. They are those of the recipe, as no machine has changed since.
    /// A new recipe needs no entry there.
    #[test]
    fn machines_of_older_results_are_what_the_recipes_say() {
        let lab = lab();
        let mut names = lab.recipes().unwrap();
        let neve = ["nv", "nv2", "pv", "neve"].map(|nest| format!("neve-nested@{nest}"));
        for base in neve.into_iter().chain(["neve".into()]) {
            for options in ["", "+policy=kvm-4.10", "+policy=kvm-4.10-notimer"] {
                let name = format!("{base}{options}");
                names.extend([format!("{name}+vhe=1"), name]);
            }
        }
        names.extend(
            [
                "arm-native@el2",
                "kvm-amd+npt=0",
                "kvm-intel+bochs=3.0",
                "kvm-intel-nested+vmcs-shadowing=0",
                "kvm-linux+cpus=4",
                "kvm@6.12+halt-poll=default",
                "neve-linux@6.1",
                "neve-linux@nv",
                "neve-linux@nv2",
                "neve-nested@neve+policy=kvm-4.10+depth=3",
                "xen-hvm@apart",
            ]
            .map(Into::into),
        );
        let named = |name: &str| Facts::named(&format!("lab:{name}"));
        names.retain(|name| !named(name).is_empty());
        for name in &names {
            assert_eq!(of(&lab, name), named(name), "{name}");
        }
        assert!(names.len() >= 75, "{}", names.len());
    }
}
