//! Tests of the recipes and sets in `lab/`.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

use std::path::Path;
use ws_lab::architecture::{Architecture, Board};
use ws_lab::lab::Lab;
use ws_lab::recipe::{BelowHypervisor, Hypervisor, Module, Monitor, Recipe, Source, Word};
use ws_lab::workload::Place;

fn lab() -> Lab {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
    Lab::open(&[folder]).unwrap()
}

#[test]
fn every_recipe_is_whole_and_its_sets_are_there() {
    let lab = lab();
    let names = lab.recipes().unwrap();
    assert_eq!(
        names,
        [
            "amd-native",
            "arm-linux",
            "arm-native",
            "arm-xen",
            "arm-xen-linux",
            "intel-native",
            "kvm",
            "kvm-amd",
            "kvm-assigned",
            "kvm-intel",
            "kvm-intel-linux",
            "kvm-intel-nested",
            "kvm-intel-shadow",
            "kvm-intel-smp",
            "kvm-linux",
            "kvm-nested",
            "kvm-nested-linux",
            "kvm-nvhe",
            "kvm-nvhe-linux",
            "kvm-protected",
            "kvm-riscv",
            "kvm-shadow",
            "kvm-svm-nested",
            "kvm-svm-nested-linux",
            "kvm-vel2",
            "kvm-vfio-linux",
            "kvm-vhe",
            "kvm-vhe-linux",
            "linux",
            "native",
            "neve",
            "neve-linux",
            "neve-nested",
            "qemu-kvm",
            "riscv-native",
            "xen",
            "xen-hvm",
            "xen-linux",
            "xen-nested"
        ]
    );
    for name in names {
        let recipe = lab.recipe(&name, None).unwrap();
        for set in recipe.sets() {
            lab.set(set).unwrap();
        }
    }
}

#[test]
fn a_machine_on_which_another_one_is_explained_exists_and_has_its_hypervisor() {
    let lab = lab();
    let mut seen = 0;
    for name in lab.recipes().unwrap() {
        let recipe = lab.recipe(&name, None).unwrap();
        if let Some(other) = &recipe.explained_on {
            seen += 1;
            let other = lab.recipe(other, None).unwrap();
            assert_eq!(other.hypervisor, recipe.hypervisor, "{name}");
            assert_eq!(other.explained_on, None, "{name}");
        }
    }
    assert!(seen > 0);
}

/// Timing decides whether a poll for a halted vCPU succeeds. Each level counts: the KVM of a machine, the one in its VM, and
/// the one below its Linux.
#[test]
fn no_kvm_polls_for_a_halted_vcpu() {
    let lab = lab();
    let mut seen = 0;
    let mut check = |name: &str, modules: &[Module], parameters: &[Word]| {
        seen += 1;
        let of_module = modules.iter().find(|module| module.name == "kvm");
        let off = match of_module {
            Some(module) => module
                .options
                .split(' ')
                .any(|word| word == "halt_poll_ns=0"),
            // KVM is no module on ARM.
            None => parameters
                .iter()
                .any(|word| word.word == "kvm.halt_poll_ns=0"),
        };
        assert!(off, "{name}: halt_poll_ns=0 is missing");
    };
    for name in lab.recipes().unwrap() {
        let recipe = lab.recipe(&name, None).unwrap();
        let kernel = recipe.kernel.as_ref();
        if let (Hypervisor::Kvm, Some(kernel)) = (&recipe.hypervisor, kernel) {
            check(&name, &kernel.modules, &kernel.parameters);
        }
        // The inner kernel loads the outer kernel's modules.
        let inner_linux = recipe.nested.as_ref().filter(|nested| nested.xen.is_none());
        if let (Some(nested), Some(kernel)) = (inner_linux, kernel) {
            check(&name, &kernel.modules, &nested.parameters);
        }
        let below = recipe.below.as_ref().map(|below| &below.hypervisor);
        if let Some(BelowHypervisor::Kvm { kernel, .. }) = below {
            check(&name, &kernel.modules, &kernel.parameters);
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn a_machine_that_polls_does_so_at_both_levels() {
    let recipe = lab().recipe("kvm-nested", None).unwrap();
    let polls = recipe.with_option("halt-poll", "default").unwrap();
    let word = |words: &[Word]| {
        let mut own = words
            .iter()
            .filter(|w| w.word.starts_with("kvm.halt_poll_ns="));
        (own.next().unwrap().word.clone(), own.count())
    };
    let default = ("kvm.halt_poll_ns=500000".to_owned(), 0);
    assert_eq!(word(&polls.kernel.unwrap().parameters), default);
    assert_eq!(word(&polls.nested.unwrap().parameters), default);
}

/// A choice's caveat replaces the recipe's, and what that says of the emulator holds with the choice too.
#[test]
fn the_caveat_of_a_choice_tells_of_nrips_as_the_recipe_s_does() {
    let lab = lab();
    let mut seen = 0;
    for name in lab.recipes().unwrap() {
        let recipe = lab.recipe(&name, None).unwrap();
        let tells =
            |caveat: &Option<String>| caveat.as_ref().is_some_and(|it| it.contains("no NRIPS"));
        if !tells(&recipe.caveat) {
            continue;
        }
        for choice in recipe
            .choices
            .iter()
            .filter(|choice| choice.caveat.is_some())
        {
            assert!(tells(&choice.caveat), "{name}+{}", choice.option);
            seen += 1;
        }
    }
    assert!(seen > 3, "{seen}");
}

#[test]
fn only_our_own_monitor_has_words_of_a_choice() {
    let lab = lab();
    let recipe = lab.recipe("kvm-shadow", None).unwrap();
    let huge = recipe.with_option("host-pages", "2m").unwrap();
    let Monitor::Vmm { words } = &huge.monitor else {
        panic!("{:?}", huge.monitor);
    };
    assert_eq!(words.last().unwrap().word, "huge-pages");
    // It extends lab:kvm, with QEMU for a monitor.
    let recipe = lab.recipe("qemu-kvm", None).unwrap();
    assert!(!recipe.option_names().contains(&"host-pages"));
    assert!(recipe.with_option("host-pages", "2m").is_err());
}

#[test]
fn every_workload_is_whole_and_proves_its_work() {
    let lab = lab();
    let names = lab.workloads().unwrap();
    assert_eq!(names.len(), 28, "{names:?}");
    for name in names {
        let workload = lab.workload(&name).unwrap();
        let serves = workload.serve.is_some();
        assert_eq!(serves, workload.place == Place::Client, "{name}");
        assert!(workload.proof.is_some(), "{name}");
    }
    let error = lab.workload("../kvm").unwrap_err().to_string();
    assert!(
        error.contains("context-switch-2p-16k, fio, fork-exec, fork-exit"),
        "{error}"
    );
}

#[test]
fn what_a_workload_sends_is_what_its_proof_checks() {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = tree.join("docs/examples/lab");
    let lab = Lab::open(&[examples, tree.join("lab")]).unwrap();
    for (name, bytes) in [
        ("apache", 40 << 10),
        ("apache-1k", 1 << 10),
        ("nginx", 40 << 10),
        ("nginx-200k", 200 << 10),
        ("nginx-keepalive", 40 << 10),
        ("tcp-maerts", 1 << 20),
        ("tcp-rr", 0),
        ("tcp-rr-16k", 32 << 10),
        ("tcp-stream", 1 << 20),
    ] {
        assert_eq!(lab.workload(name).unwrap().bytes, bytes, "{name}");
    }
}

#[test]
fn a_user_s_workload_takes_the_place_of_an_installed_one() {
    let folder = tempfile::tempdir().unwrap();
    let workloads = folder.path().join("workloads");
    std::fs::create_dir(&workloads).unwrap();
    let text =
        "summary = \"mine\"\nunit = \"read\"\nunits = 1\nplace = \"inside\"\nrun = \"true\"\n";
    std::fs::write(workloads.join("fio.toml"), text).unwrap();
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
    let both = Lab::open(&[folder.path().to_owned(), installed]).unwrap();
    assert_eq!(both.workload("fio").unwrap().summary, "mine");
    assert_eq!(both.workloads().unwrap(), lab().workloads().unwrap());
    assert_ne!(
        both.workload("fio").unwrap().digest(),
        lab().workload("fio").unwrap().digest()
    );
}

#[test]
fn shadow_paging_differs_from_nested_paging_in_one_word() {
    let nested = lab().recipe("kvm", None).unwrap();
    let shadow = lab().recipe("kvm-shadow", None).unwrap();
    assert_ne!(nested.digest(), shadow.digest());
    assert_eq!(nested.emulator, shadow.emulator);
    assert_eq!(nested.monitor, Monitor::Vmm { words: Vec::new() });
    let options = |recipe: &ws_lab::recipe::Recipe| {
        let modules = &recipe.kernel.as_ref().unwrap().modules;
        let words: Vec<_> = modules
            .iter()
            .map(|module| format!("{} {}", module.name, module.options))
            .collect();
        words.join(";")
    };
    assert_eq!(
        options(&nested),
        "irqbypass ;kvm halt_poll_ns=0;kvm-amd npt=1"
    );
    assert_eq!(
        options(&shadow),
        "irqbypass ;kvm halt_poll_ns=0;kvm-amd npt=0"
    );
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
        error.contains("the variants are 6.1, 6.12, backports, unstable"),
        "{error}"
    );
    let error = lab.recipe("native", Some("6.1")).unwrap_err().to_string();
    assert!(error.contains("has no variants"), "{error}");
}

#[test]
fn the_facts_of_an_architecture_are_whole_and_its_own() {
    let (lab, all) = (lab(), Architecture::ALL);
    for one in all {
        let facts = one.facts();
        assert_eq!(serde_json::to_value(one).unwrap(), facts.name);
        assert!(["a ", "an "].iter().any(|a| facts.processor.starts_with(a)));
        for (example, hypervisor) in facts
            .examples
            .iter()
            .zip([Hypervisor::None, Hypervisor::Kvm])
        {
            let recipe = lab
                .recipe(example.strip_prefix("lab:").unwrap(), None)
                .unwrap();
            assert_eq!((recipe.architecture, recipe.hypervisor), (one, hypervisor));
        }
        // A board that a device tree describes has neither ports nor a loader of other formats.
        let is_virt = facts.board == Board::Virt;
        assert_eq!(facts.doorbell > 0xffff, is_virt, "{}", facts.name);
        assert_eq!(facts.image_magic.is_some(), is_virt, "{}", facts.name);
        for other in all.into_iter().filter(|other| *other != one) {
            let other = other.facts();
            assert_ne!(facts.name, other.name);
            assert_ne!(facts.debian, other.debian);
            assert_ne!(facts.elf_machine, other.elf_machine);
            assert_ne!(facts.image_magic, other.image_magic);
            assert_ne!(
                (facts.loader, facts.libraries),
                (other.loader, other.libraries)
            );
            assert_ne!(
                (facts.linux, facts.build_images),
                (other.linux, other.build_images)
            );
        }
    }
}

#[test]
fn an_architecture_s_kernels_are_its_own() {
    let lab = lab();
    assert_eq!(
        lab.variants("kvm-vhe").unwrap(),
        ["6.1", "6.12", "unstable"]
    );
    assert_eq!(
        lab.variants("kvm").unwrap(),
        ["6.1", "6.12", "backports", "unstable"]
    );
    assert_eq!(lab.variants("kvm-riscv").unwrap(), ["6.12", "unstable"]);
    assert_eq!(lab.variants("arm-xen").unwrap(), ["4.20"]);
    let vhe = lab.recipe("kvm-vhe", Some("6.12")).unwrap();
    let source = Source::Package("linux-arm64-6.12".into());
    assert_eq!(vhe.kernel.unwrap().source, source);
    let error = lab.recipe("kvm-vhe", Some("5.0")).unwrap_err().to_string();
    assert!(
        error.contains("no set of packages linux-arm64-5.0"),
        "{error}"
    );
}

#[test]
fn a_riscv_machine_chooses_its_interrupt_controller_its_timer_and_its_paging() {
    let with = |name: &str, options: &[&str]| {
        let of = |recipe: Recipe, option: &&str| recipe.with_option(option, "1").unwrap();
        let mut recipe = lab().recipe(name, None).unwrap();
        if options.contains(&"sstc") {
            recipe = recipe.with_option("sstc", "0").unwrap();
        }
        let options = options.iter().filter(|option| **option != "sstc");
        options.fold(recipe, of)
    };
    for name in ["riscv-native", "kvm-riscv"] {
        let usual = with(name, &[]);
        let cpu = |recipe: &Recipe| recipe.emulator.cpu.to_argument();
        assert_eq!(cpu(&usual), "rv64,h=true,sstc=true");
        let both = with(name, &["aia", "sstc"]);
        let said = "rv64,h=true,sstc=off,smaia=true,ssaia=true";
        assert_eq!(cpu(&both), said);
        assert_eq!(both.emulator.machine, "virt,aia=aplic-imsic,aia-guests=1");
        assert_eq!(both.emulator.model(), "virt");
        // They are compared with each other.
        assert_eq!(both.emulator.cpu.shared(), usual.emulator.cpu.shared());
        assert_ne!(both.digest(), usual.digest());
        let sv39 = with(name, &[]).with_option("mmu", "sv39").unwrap();
        assert_eq!(cpu(&sv39), "rv64,h=true,sstc=true,sv48=off");
        // Another model keeps what an option of the name says.
        let other = both.with_option("cpu", "max").unwrap();
        let said = "max,h=true,sstc=off,smaia=true,ssaia=true";
        assert_eq!(cpu(&other), said);
    }
}

#[test]
fn a_recipe_has_variants_of_its_own() {
    let lab = lab();
    assert_eq!(lab.variants("arm-native").unwrap(), ["el2"]);
    let el1 = lab.recipe("arm-native", None).unwrap();
    let el2 = lab.recipe("arm-native", Some("el2")).unwrap();
    assert_eq!(el2.variant.as_deref(), Some("el2"));
    assert!(el2.emulator.machine.contains("virtualization=on"));
    assert!(!el1.emulator.machine.contains("virtualization=on"));
    let error = lab
        .recipe("arm-native", Some("el3"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("it has el2"), "{error}");
    // Recipes that extend it do not inherit its variants.
    assert!(lab.recipe("arm-xen", Some("el2")).is_err());
}

#[test]
fn nested_virtualization_needs_a_new_qemu() {
    let nested = lab().recipe("kvm-nested", None).unwrap();
    let since = nested.emulator.since.unwrap();
    for (version, enough) in [
        ("7.2.22", false),
        ("8.2", false),
        ("9.0.0", true),
        ("10.0.13", true),
        ("9.0.50-rc1", true),
        ("x", false),
        ("", false),
    ] {
        assert_eq!(since.is_met_by(version), enough, "{version}");
    }
    assert!(nested.nested.is_some());
}

#[test]
fn a_nested_xen_is_of_its_own_packages() {
    let lab = lab();
    let recipe = lab.recipe("xen-nested", None).unwrap();
    assert_eq!(recipe.hypervisor, Hypervisor::Kvm);
    assert_eq!(recipe.nested_xen(), Some("xen-arm64-4.20"));
    let sets = ["qemu", "linux-arm64-unstable", "xen-arm64-4.20"];
    assert_eq!(recipe.sets(), sets);
    // Xen has the command line of lab:arm-xen.
    let Hypervisor::Xen { parameters, .. } = lab.recipe("arm-xen", None).unwrap().hypervisor else {
        panic!("no Xen");
    };
    let words = |words: Vec<Word>| words.into_iter().map(|w| w.word).collect::<Vec<_>>();
    let nested = recipe.nested.unwrap();
    assert_eq!(words(nested.parameters), words(parameters));
    assert_eq!(lab.recipe("kvm-nested", None).unwrap().nested_xen(), None);
}
