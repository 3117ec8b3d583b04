//! The recipes and sets that come with the tree.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use ws_lab::lab::Lab;
use ws_lab::recipe::{Hypervisor, Monitor, Source};

fn lab() -> Lab {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
    Lab::open(&[folder]).unwrap()
}

#[test]
fn every_recipe_is_whole_and_its_sets_are_there() {
    let lab = lab();
    let names = lab.recipes().unwrap();
    assert_eq!(names, ["kvm", "kvm-shadow", "native", "qemu-kvm", "xen"]);
    for name in names {
        let recipe = lab.recipe(&name, None).unwrap();
        for set in recipe.sets() {
            lab.set(set).unwrap();
        }
    }
}

#[test]
fn shadow_paging_differs_from_nested_paging_in_one_word() {
    let nested = lab().recipe("kvm", None).unwrap();
    let shadow = lab().recipe("kvm-shadow", None).unwrap();
    assert_ne!(nested.digest(), shadow.digest());
    assert_eq!(nested.emulator, shadow.emulator);
    assert_eq!(nested.monitor, Monitor::Vmm);
    let options = |recipe: &ws_lab::recipe::Recipe| {
        let modules = &recipe.kernel.as_ref().unwrap().modules;
        let words: Vec<_> = modules
            .iter()
            .map(|module| format!("{} {}", module.name, module.options))
            .collect();
        words.join(";")
    };
    assert_eq!(options(&nested), "irqbypass ;kvm ;kvm-amd npt=1");
    assert_eq!(options(&shadow), "irqbypass ;kvm ;kvm-amd npt=0");
}

#[test]
fn a_variant_is_another_version_of_the_same_set_or_a_folder() {
    let lab = lab();
    let source = |variant| {
        lab.recipe("kvm", Some(variant))
            .unwrap()
            .kernel
            .unwrap()
            .source
    };
    assert_eq!(source("6.12"), Source::Package("linux-6.12".into()));
    assert_eq!(source("/my/build"), Source::Folder("/my/build".into()));
    let Hypervisor::Xen { source, .. } = lab.recipe("xen", Some("4.20")).unwrap().hypervisor else {
        panic!("no Xen");
    };
    assert_eq!(source, Source::Package("xen-4.20".into()));
    let error = lab.recipe("kvm", Some("5.0")).unwrap_err().to_string();
    assert!(
        error.contains("the variants are 6.1, 6.12, unstable"),
        "{error}"
    );
    let error = lab.recipe("native", Some("6.1")).unwrap_err().to_string();
    assert!(error.contains("has no variants"), "{error}");
}
