//! Tests of recipes from their text to a resolved machine, in folders as users have them.

use crate::lab::Lab;
use crate::recipe::{Hypervisor, Monitor, Recipe, Served};
use crate::recipe_file::RecipeFile;
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const BASE: &str = r#"
summary = "base"
architecture = "x86_64"
options = ["memory"]
[emulator]
kind = "qemu"
package = "qemu"
program = "qemu-system-x86_64"
machine = "pc"
memory_mib = 512
cpu.model = "max"
[[emulator.cpu.property]]
word = "-rdrand"
why = "random"
[[emulator.flag]]
words = ["-seed", "1"]
why = "random"
[[emulator.flag]]
words = ["-device", "a"]
why = "a"
[[emulator.flag]]
words = ["-icount", "shift=0"]
why = "exact"
"#;

const KERNEL: &str = r#"
extends = "base"
hypervisor.kind = "kvm"
monitor.kind = "vmm"
[kernel]
package = "linux-6.1"
[[kernel.parameter]]
word = "console=ttyS0"
why = "heard"
[[kernel.module]]
name = "kvm-amd"
options = "npt=1"
why = "its part for SVM"
"#;

/// A folder of recipes: `base` and these.
fn folder(recipes: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recipes");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("base.toml"), BASE).unwrap();
    for (name, text) in recipes {
        fs::write(path.join(format!("{name}.toml")), text).unwrap();
    }
    folder
}

/// The recipe `x` with this text.
fn recipe(text: &str) -> Result<Recipe, String> {
    let folder = folder(&[("x", text), ("kernel", KERNEL)]);
    let lab = Lab::open(&[folder.path().to_owned()]).unwrap();
    lab.recipe("x", None).map_err(|e| e.to_string())
}

fn flags(recipe: &Recipe) -> Vec<String> {
    let flags = recipe.emulator.flags.iter();
    flags.map(|flag| flag.words.join(" ")).collect()
}

#[test]
fn a_recipe_has_all_of_what_it_extends() {
    let made =
        recipe("extends = \"kernel\"\nsummary = \"mine\"\nemulator.memory_mib = 256").unwrap();
    assert_eq!((&*made.name, &*made.summary), ("x", "mine"));
    assert_eq!(made.emulator.memory_mib, 256);
    assert_eq!(made.emulator.cpu.to_argument(), "max,-rdrand");
    assert_eq!(flags(&made), ["-seed 1", "-device a", "-icount shift=0"]);
    assert_eq!(made.hypervisor, Hypervisor::Kvm);
    assert_eq!(made.monitor, Monitor::Vmm { words: Vec::new() });
    assert_eq!(made.sets(), ["qemu", "linux-6.1"]);
}

#[test]
fn what_has_the_same_first_word_takes_its_parents_place() {
    let made = recipe(
        r#"
        extends = "kernel"
        [[emulator.flag]]
        words = ["-device", "b"]
        why = "b"
        [[emulator.flag]]
        words = ["-device", "c"]
        why = "c"
        [[emulator.flag]]
        words = ["-s"]
        why = "new"
        [[kernel.parameter]]
        word = "console=ttyS1"
        why = "another"
        [[kernel.module]]
        name = "kvm_amd"
        options = "npt=0"
        why = "as lsmod spells it"
        [[kernel.module]]
        name = "kvm"
        why = "new"
        "#,
    )
    .unwrap();
    let wanted = ["-seed 1", "-device b", "-device c", "-icount shift=0", "-s"];
    assert_eq!(flags(&made), wanted);
    let kernel = made.kernel.unwrap();
    assert_eq!(kernel.parameters.len(), 1);
    assert_eq!(kernel.parameters[0].word, "console=ttyS1");
    let modules: Vec<(&str, &str)> = kernel
        .modules
        .iter()
        .map(|module| (&*module.name, &*module.options))
        .collect();
    assert_eq!(modules, [("kvm_amd", "npt=0"), ("kvm", "")]);
}

#[test]
fn what_is_wrong_is_said_with_its_key_and_line() {
    for (text, said) in [
        ("extends = \"base\"\ncolour = 1", "line 2"),
        ("extends = \"base\"\ncolour = 1", "colour"),
        (
            "extends = \"base\"\n[emulator]\nkernel = 1",
            "unknown field `kernel`",
        ),
        (
            "extends = \"base\"\n[emulator]\n\nmemory_mib = \"much\"",
            "line 4",
        ),
        ("extends = \"base\"\n[emulator]\nkind = \"vbox\"", "vbox"),
        (
            "extends = \"base\"\n[emulator]\ncpus = 2",
            "emulator.cpus is 1, or 2 with emulator.kind = \"bochs\"",
        ),
        (
            "extends = \"base\"\n[[emulator.flag]]\nwords = [\"-x\"]",
            "why",
        ),
        (
            "extends = \"base\"\n[[emulator.flag]]\nwords = [\"-x\"]\nwhy = \" \"",
            "gives no reason",
        ),
        (
            "extends = \"base\"\n[[emulator.flag]]\nwords = []\nwhy = \"x\"",
            "is not a word",
        ),
        (
            "extends = \"base\"\n[[emulator.flag]]\nwords = [\"a b\"]\nwhy = \"x\"",
            "\"a b\" is not a word",
        ),
        ("extends = \"base\"\nemulator.memory_mib = 4", "64 to 65536"),
        (
            "extends = \"base\"\nmonitor.kind = \"vmm\"",
            "for hypervisor.kind",
        ),
        (
            "extends = \"base\"\nhypervisor.kind = \"kvm\"\nmonitor.kind = \"vmm\"",
            "needs a [kernel]",
        ),
        (
            "extends = \"base\"\nhypervisor.kind = \"xen\"",
            "needs hypervisor.package",
        ),
        (
            "extends = \"kernel\"\nmonitor.kind = \"none\"",
            "needs a [monitor]",
        ),
        (
            "extends = \"kernel\"\nmonitor.kind = \"qemu\"",
            "needs monitor.package",
        ),
        (
            "extends = \"kernel\"\nhypervisor.package = \"xen\"",
            "are for kind",
        ),
        ("extends = \"base\"\noptions = [\"colour\"]", "colour"),
        ("summary = \"alone\"", "lacks emulator.memory_mib"),
        ("extends = \"x\"", "extends itself"),
        ("extends = \"nothing\"", "there are base, kernel, x"),
        ("extends = \"../base\"", "no lab recipe \"../base\""),
    ] {
        let error = recipe(text).unwrap_err();
        assert!(error.contains(said), "{error}\nnot: {said}");
        assert!(
            error.contains("x.toml") || error.contains("no lab recipe"),
            "{error}"
        );
    }
}

#[test]
fn the_first_folder_that_has_a_name_is_taken() {
    let mine = folder(&[("mine", "extends = \"kernel\"\nsummary = \"mine\"")]);
    let installed = folder(&[("kernel", KERNEL), ("mine", "summary = \"not this one\"")]);
    let lab = Lab::open(&[mine.path().to_owned(), installed.path().to_owned()]).unwrap();
    assert_eq!(lab.recipes().unwrap(), ["base", "kernel", "mine"]);
    assert_eq!(lab.recipe("mine", None).unwrap().summary, "mine");
    let error = Lab::open(&["/nonexistent".into()]).unwrap_err().to_string();
    assert!(error.contains("/nonexistent"), "{error}");
}

#[test]
fn options_are_checked_and_applied() {
    let made = || recipe("extends = \"base\"\noptions = [\"cpu\", \"memory\"]").unwrap();
    let epyc = made().with_option("cpu", "EPYC").unwrap();
    assert_eq!(epyc.emulator.cpu.to_argument(), "EPYC,-rdrand");
    assert_ne!(epyc.digest(), made().digest());
    let own = "extends = \"base\"\noptions = [\"cpu\"]\n[[emulator.cpu.own]]\nword = \"+invtsc\"\nwhy = \"true\"";
    let own = recipe(own).unwrap();
    assert_eq!(own.emulator.cpu.to_argument(), "max,-rdrand,+invtsc");
    let other = own.with_option("cpu", "EPYC").unwrap();
    assert_eq!(
        other.emulator.cpu, epyc.emulator.cpu,
        "a property of max alone"
    );
    let small = made().with_option("memory", "64").unwrap();
    assert_eq!(small.emulator.memory_mib, 64);
    for (key, value, said) in [
        ("memory", "63", "MiB"),
        ("memory", "1G", "MiB"),
        ("cpu", "max,+x", "CPU model"),
        ("cpu", "", "CPU model"),
        ("colour", "blue", "it has cpu, memory"),
    ] {
        let error = made().with_option(key, value).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_digest_is_that_of_what_is_done_not_of_what_is_said() {
    let digest = |text: &str| recipe(text).unwrap().digest();
    let base = digest("extends = \"base\"");
    assert_eq!(base, digest("extends = \"base\"\nsummary = \"other\""));
    let flag = |words: &str, why: &str| {
        digest(&format!(
            "extends = \"base\"\n[[emulator.flag]]\nwords = [{words}]\nwhy = \"{why}\""
        ))
    };
    assert_eq!(base, flag("\"-seed\", \"1\"", "for another reason"));
    assert_ne!(base, flag("\"-seed\", \"2\"", "random"));
    let kernel = recipe("extends = \"kernel\"").unwrap();
    let at = |path| {
        kernel
            .clone()
            .with_variant(path, &[], &[])
            .unwrap()
            .digest()
    };
    assert_eq!(at("/one/build"), at("./another"));
    assert_ne!(at("/one/build"), kernel.digest());
}

proptest! {
    #[test]
    fn no_text_makes_it_stumble(text in "((extends|emulator|kernel|why|x)?[ =.\\[\\]\"\n{}a]{0,4}){0,12}") {
        let path = Path::new("x.toml");
        let base = RecipeFile::parse(BASE, path).unwrap();
        if let Ok(file) = RecipeFile::parse(&text, path) {
            let _ = file.over(base).complete("x", path);
        }
    }
}

#[test]
fn published_numbers_are_inherited_whole_and_are_no_part_of_the_digest() {
    let columns = |recipe: &Recipe| -> Vec<String> {
        let published = recipe.published();
        published
            .map(|of| format!("{} {} on {}", of.paper, of.setup, of.hardware))
            .collect()
    };
    let numbers = |setup: &str| {
        format!(
            "published = [{{ paper = \"dall-2015\", setup = \"{setup}\", hardware = \"m400\" }}]"
        )
    };
    let parent = format!("{}\n{KERNEL}", numbers("kvm"));
    let of = |text: &str| {
        let folder = folder(&[("parent", &parent), ("x", text)]);
        let lab = Lab::open(&[folder.path().to_owned()]).unwrap();
        lab.recipe("x", None).unwrap()
    };
    let heir = of("extends = \"parent\"");
    assert_eq!(columns(&heir), ["dall-2015 kvm on m400"]);
    let other = of(&format!("extends = \"parent\"\n{}", numbers("xen")));
    assert_eq!(columns(&other), ["dall-2015 xen on m400"]);
    let none = of("extends = \"parent\"\npublished = []");
    assert!(columns(&none).is_empty());
    for recipe in [other, none] {
        assert_eq!(recipe.digest(), heir.digest());
    }
    let choice = "[[choice]]\noption = \"a\"\nvalue = \"0\"\nwhy = \"x\"\npublished = []";
    let chosen = of(&format!("extends = \"parent\"\n{choice}"));
    assert!(columns(&chosen.with_option("a", "0").unwrap()).is_empty());
    let with_options = numbers("kvm").replace(" }", ", options = [\"vhe=0\"] }");
    let error = recipe(&format!("extends = \"kernel\"\n{with_options}")).unwrap_err();
    assert!(
        error.contains("published.options is for hypervisor.kind = \"neve\""),
        "{error}"
    );
}

#[test]
fn a_variant_of_its_own_is_the_recipe_with_something_other() {
    let text = "extends = \"kernel\"\nsummary = \"x\"\n[variant.small]\nemulator.memory_mib = 64\n";
    let folder = folder(&[("x", text), ("kernel", KERNEL)]);
    let lab = Lab::open(&[folder.path().to_owned()]).unwrap();
    let small = lab.recipe("x", Some("small")).unwrap();
    assert_eq!(small.emulator.memory_mib, 64);
    assert_eq!(
        (&*small.summary, small.variant.as_deref()),
        ("x", Some("small"))
    );
    assert_eq!(lab.recipe("x", None).unwrap().emulator.memory_mib, 512);
}

#[test]
fn words_of_the_monitor_and_an_inner_linux_are_for_our_own_monitor() {
    let nested =
        "[nested]\nmemory_beside_mib = 64\n[[nested.parameter]]\nword = \"quiet\"\nwhy = \"y\"\n";
    let word = "[[monitor.word]]\nword = \"el2\"\nwhy = \"y\"\n";
    let made = recipe(&format!(
        "extends = \"kernel\"\nsummary = \"x\"\n{nested}{word}"
    ))
    .unwrap();
    assert_eq!(made.nested.unwrap().parameters[0].word, "quiet");
    let Monitor::Vmm { words } = made.monitor else {
        panic!("another monitor");
    };
    assert_eq!(words[0].word, "el2");
    for (more, said) in [
        (nested, "[nested] is for monitor.kind = \"vmm\""),
        (word, "monitor.word is for kind = \"vmm\""),
    ] {
        let error = recipe(&format!("extends = \"base\"\nsummary = \"x\"\n{more}")).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let lacks = recipe("extends = \"kernel\"\nsummary = \"x\"\n[nested]\n").unwrap_err();
    assert!(lacks.contains("nested.memory_beside_mib"), "{lacks}");
    // vmm starts Xen on ARM only.
    let xen = format!("extends = \"kernel\"\nsummary = \"x\"\n{nested}").replace(
        "memory_beside_mib",
        "xen = \"xen-arm64-4.20\"\nmemory_beside_mib",
    );
    let error = recipe(&xen).unwrap_err();
    assert!(error.contains("nested.xen is for"), "{error}");
}

#[test]
fn below_a_whole_linux_is_another_linux_or_neve() {
    let whole = "extends = \"base\"\nsummary = \"x\"\nhypervisor.kind = \"kvm\"\n\
        monitor.kind = \"qemu\"\nmonitor.package = \"apps\"\nmonitor.program = \"q\"\n\
        root.package = \"apps\"\nroot.mkfs = \"erofs\"\nkernel.package = \"linux-6.1\"\n";
    let read = |below: &str| recipe(&format!("{whole}[vm]\n[below]\n{below}"));
    let kvm = "kind = \"kvm\"\npackage = \"linux-6.12\"\nmemory_beside_mib = 64\n";
    let word = "[[below.word]]\nword = \"el2\"\nwhy = \"y\"\n";
    let made = read(&format!("{kvm}{word}")).unwrap();
    assert!(made.sets().contains(&"linux-6.12"));
    let without = recipe(&format!("{whole}[vm]\n")).unwrap();
    assert_ne!(made.digest(), without.digest());
    let below = made.below.unwrap();
    assert_eq!(
        (below.memory_beside_mib, below.set()),
        (64, Some("linux-6.12"))
    );
    let neve = "kind = \"neve\"\nnest = \"nv\"\nmemory_beside_mib = 64\n";
    assert_eq!(read(neve).unwrap().below.unwrap().set(), None);
    for (below, said) in [
        (
            "kind = \"neve\"\nmemory_beside_mib = 64\n".to_owned(),
            "kind = \"neve\" with nest",
        ),
        (format!("{neve}{word}"), "kind = \"neve\" with nest"),
        (
            format!("{kvm}nest = \"nv\"\n"),
            "kind = \"kvm\" with a package",
        ),
        (
            "kind = \"neve\"\nnest = \"nv\"\n".to_owned(),
            "memory_beside_mib",
        ),
        (
            format!("{kvm}[[below.word]]\nword = \"el2\"\nwhy = \"\"\n"),
            "gives no reason",
        ),
    ] {
        let error = read(&below).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let error = recipe(&format!(
        "extends = \"kernel\"\nsummary = \"x\"\n[below]\n{neve}"
    ));
    assert!(error.unwrap_err().contains("[below] needs a [root]"));
}

#[test]
fn devices_of_a_vm_are_served_by_what_has_such() {
    let whole = "extends = \"base\"\nsummary = \"x\"\nhypervisor.kind = \"kvm\"\n\
        monitor.kind = \"qemu\"\nmonitor.package = \"apps\"\nmonitor.program = \"q\"\n\
        root.package = \"apps\"\nroot.mkfs = \"erofs\"\nkernel.package = \"linux-6.1\"\n";
    let device = |name: &str, kind: &str, served: &str, why: &str| {
        format!(
            "[[vm.io.device]]\nname = \"{name}\"\nkind = \"{kind}\"\nserved = \"{served}\"\nwhy = \"{why}\"\n"
        )
    };
    let read = |cpus: u32, devices: &[String]| {
        recipe(&format!(
            "{whole}[vm.io]\ncpus = {cpus}\n{}",
            devices.concat()
        ))
    };
    for kind in ["disk", "net"] {
        read(3, &[device("a", kind, "elvis", "y")]).unwrap();
    }
    let disk = device("a", "disk", "iothread", "y");
    let io = read(3, &[disk.clone(), device("b", "net", "vhost-net", "y")]).unwrap();
    let io = io.vm.unwrap().io.unwrap();
    assert_eq!((io.cpus, io.devices.len()), (3, 2));
    assert_eq!(io.depths, [1, 8]);
    let deep = |depths: &str| {
        recipe(&format!(
            "{whole}[vm.io]\ncpus = 3\ndepths = {depths}\n{disk}"
        ))
    };
    let deeper = deep("[2, 64]").unwrap().vm.unwrap().io.unwrap();
    assert_eq!((deeper.depths, deeper.repeat), (vec![2, 64], 1));
    let longer = deep("[1]\nrepeat = 10").unwrap().vm.unwrap().io.unwrap();
    assert_eq!(longer.repeat, 10);
    for (depths, said) in [
        ("[1]\nrepeat = 0", "vm.io.repeat = 0 is not 1 to 100"),
        ("[1]\nrepeat = 101", "vm.io.repeat = 101 is not 1 to 100"),
        ("[]", "vm.io.depths are each 1 to 64"),
        ("[1, 0]", "vm.io.depths are each 1 to 64"),
        ("[65]", "vm.io.depths are each 1 to 64"),
        ("[2, 4, 2]", "vm.io.depths has a depth twice"),
    ] {
        let error = deep(depths).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let many: Vec<String> = (1..=33).map(|depth| depth.to_string()).collect();
    let error = deep(&format!("[{}]", many.join(", "))).unwrap_err();
    assert!(error.contains("more than 32 depths"), "{error}");
    assert_eq!(io.devices[1].served, Served::VhostNet);
    for (cpus, devices, said) in [
        (1, vec![disk.clone()], "vm.io.cpus = 1 is not 2 to 8"),
        (3, vec![], "[vm.io] needs 1 to 12 devices"),
        (
            3,
            vec![disk.clone(), disk.clone()],
            "two devices have the name a",
        ),
        (
            3,
            vec![disk.clone(), device("b", "disk", "iothread", "y")],
            "another device has the same back-end",
        ),
        (
            3,
            vec![device("a", "net", "qemu-storage-daemon", "y")],
            "has no devices of this kind",
        ),
        (
            3,
            vec![device("a", "disk", "vhost-net", "y")],
            "has no devices of this kind",
        ),
        (
            3,
            vec![device("A b", "disk", "elvis", "y")],
            "can't be a device's name",
        ),
        (
            3,
            vec![device("a", "disk", "elvis", " ")],
            "gives no reason (why)",
        ),
        (
            3,
            vec![device("a", "tape", "elvis", "y")],
            "unknown variant",
        ),
    ] {
        let error = read(cpus, &devices).unwrap_err();
        assert!(error.contains(said), "{error}, not {said}");
    }
}

#[test]
fn xen_s_own_tool_stack_needs_a_dom0_and_starts_one_domain() {
    let xl = "extends = \"base\"\nsummary = \"x\"\nhypervisor.kind = \"xen\"\nhypervisor.package = \"xen-4.17\"\n\
        monitor.kind = \"xl\"\nmonitor.package = \"tools\"\n";
    let dom0 = "kernel.package = \"linux-6.1\"\n";
    let setting = "[[vm.setting]]\nword = \"vnc=0\"\nwhy = \"y\"\n";
    let of = |more: &str| recipe(&format!("{xl}{more}"));
    let hvm = of(&format!("{dom0}{setting}")).unwrap();
    assert_eq!(
        hvm.sets(),
        [&*hvm.emulator.package, "linux-6.1", "xen-4.17", "tools"]
    );
    let plain = of(dom0).unwrap();
    assert_ne!(hvm.digest(), plain.digest());
    let root = "root.package = \"apps\"\nroot.mkfs = \"erofs\"\n";
    let linux = of(&format!(
        "{dom0}{root}vm.package = \"linux-6.12\"\n{setting}"
    ))
    .unwrap();
    assert!(linux.sets().contains(&"linux-6.12"));
    for (more, said) in [
        (String::new(), "needs a [kernel], which is dom0's"),
        (
            format!("{dom0}vm.package = \"linux-6.12\"\n"),
            "[vm] needs a [root]",
        ),
        (format!("{dom0}{root}"), "a machine with a [root]"),
        (
            format!("{dom0}monitor.program = \"xl\"\n"),
            "monitor.package also for \"xl\"",
        ),
    ] {
        let error = of(&more).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let kvm =
        "extends = \"kernel\"\nsummary = \"x\"\nmonitor.kind = \"xl\"\nmonitor.package = \"t\"\n";
    let error = recipe(kvm).unwrap_err();
    assert!(
        error.contains("is for hypervisor.kind = \"xen\""),
        "{error}"
    );
}

#[test]
fn a_monitor_of_another_kind_has_none_of_the_parent_s_words() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = crate::lab::Lab::open(&[folder.into()]).unwrap();
    let smp = lab.recipe("kvm-intel-smp", None).unwrap();
    let linux = lab.recipe("kvm-intel-linux", None).unwrap();
    assert!(matches!(&smp.monitor, Monitor::Vmm { words } if words.len() == 1));
    assert!(matches!(&linux.monitor, Monitor::Qemu { package, .. } if package == "apps"));
    // The serving CPU is QEMU's, as the machine has two.
    let io = linux.vm.unwrap().io.unwrap();
    assert_eq!((io.cpus, linux.emulator.cpus), (2, 2));
}

#[test]
fn a_choice_may_add_words_to_a_vm() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = crate::lab::Lab::open(&[folder.into()]).unwrap();
    let of = || lab.recipe("kvm-intel-linux", None).unwrap();
    let settings = |recipe: &Recipe| {
        let settings = recipe.vm.iter().flat_map(|vm| &vm.settings);
        let words: Vec<String> = settings.map(|word| word.word.clone()).collect();
        words.join(" ")
    };
    let chosen = of().with_option("cpu-pm", "1").unwrap();
    assert_eq!(settings(&of()), "");
    assert_eq!(settings(&chosen), "-overcommit cpu-pm=on");
    assert_ne!(of().digest(), chosen.digest());
    let error = of().with_option("cpu-pm", "0").unwrap_err().to_string();
    assert!(error.contains("it can be 1"), "{error}");
    let without = "extends = \"kernel\"\nsummary = \"x\"\n[[choice]]\noption = \"a\"\nvalue = \"1\"\nwhy = \"y\"\nsetting = [\"-b\"]\n";
    let error = recipe(without).unwrap_err();
    assert!(error.contains("choice a=1 needs a [vm]"), "{error}");
}

#[test]
fn a_choice_may_set_the_machine_and_properties_of_its_cpu() {
    let choice = |more: &str| {
        recipe(&format!(
            "extends = \"base\"\nsummary = \"x\"\n[[choice]]\noption = \"a\"\nvalue = \"1\"\nwhy = \"y\"\n{more}\n"
        ))
    };
    let more = "machine = \"q35,smm=off\"\ncpu_property = [\"-rdrand\", \"pdpe1gb=on\"]";
    let plain = choice(more).unwrap();
    let made = plain.clone().with_option("a", "1").unwrap();
    assert_eq!(made.emulator.machine, "q35,smm=off");
    assert_eq!(made.emulator.cpu.to_argument(), "max,-rdrand,pdpe1gb=on");
    assert_eq!(made.emulator.cpu.shared(), "max,-rdrand");
    assert_eq!(plain.emulator.cpu.to_argument(), "max,-rdrand");
    for (more, said) in [
        ("machine = \"a b\"", "\"a b\" of machine is not a word"),
        ("cpu_property = [\"\"]", "of cpu_property is not a word"),
        ("cpu_property = [\"a=1,b=2\"]", "a word for each property"),
    ] {
        let error = choice(more).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn no_whole_linux_is_offered_on_riscv64() {
    let root = "extends = \"base\"\nsummary = \"x\"\narchitecture = \"riscv64\"\nroot.package = \"apps\"\nroot.mkfs = \"erofs\"\n";
    let error = recipe(root).unwrap_err();
    assert!(error.contains("not offered on riscv64"), "{error}");
}

#[test]
fn a_choice_may_say_who_serves_the_network() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = crate::lab::Lab::open(&[folder.into()]).unwrap();
    let of = || lab.recipe("kvm-linux", None).unwrap();
    let chosen = of().with_option("net", "elvis").unwrap();
    assert_eq!(of().vm.unwrap().network, None);
    assert_eq!(chosen.vm.as_ref().unwrap().network, Some(Served::Elvis));
    assert_ne!(of().caveat, chosen.caveat);
    assert_ne!(of().digest(), chosen.digest());
    let error = of().with_option("net", "tap").unwrap_err().to_string();
    assert!(
        error.contains("vhost or elvis or elvis-fine-grained"),
        "{error}"
    );
    // There the machine has one CPU.
    let nested = lab.recipe("kvm-svm-nested-linux", None).unwrap();
    assert!(!nested.option_names().contains(&"net"));
    let choice = |network: &str, of: &str| {
        let text = format!(
            "extends = \"{of}\"\nsummary = \"x\"\n[[choice]]\noption = \"a\"\nvalue = \"1\"\nwhy = \"y\"\nnetwork = \"{network}\"\n"
        );
        recipe(&text).unwrap_err().to_string()
    };
    let error = choice("vhost-net", "kernel");
    assert!(error.contains("needs the CPUs of a [vm.io]"), "{error}");
}

#[test]
fn a_choice_may_give_the_measured_system_several_cpus() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    let lab = crate::lab::Lab::open(&[folder.into()]).unwrap();
    for name in [
        "linux",
        "kvm-linux",
        "arm-linux",
        "kvm-vhe-linux",
        "kvm-nvhe-linux",
        "arm-xen-linux",
    ] {
        let of = || lab.recipe(name, None).unwrap();
        let chosen = of().with_option("cpus", "4").unwrap();
        assert_eq!((of().cpus, chosen.cpus), (None, Some(4)), "{name}");
        assert_ne!(of().digest(), chosen.digest());
        let caveat = chosen.caveat.unwrap();
        assert!(caveat.contains("one clock"), "{name}: {caveat}");
    }
    let xen = lab.recipe("arm-xen-linux", None).unwrap();
    let Hypervisor::Xen { parameters, .. } = xen.with_option("cpus", "4").unwrap().hypervisor
    else {
        panic!("no Xen")
    };
    assert!(
        parameters
            .iter()
            .any(|word| word.word == "dom0_max_vcpus=2")
    );
    // A hypervisor below gives its Linux one CPU.
    for name in ["kvm-nested-linux", "kvm-svm-nested-linux", "neve-linux"] {
        let nested = lab.recipe(name, None).unwrap();
        assert!(!nested.option_names().contains(&"cpus"), "{name}");
    }
    // Who serves the network is compared on the CPUs of [vm.io].
    let both = |first: (&str, &str), second: (&str, &str)| {
        let recipe = lab.recipe("kvm-linux", None).unwrap();
        let recipe = recipe.with_option(first.0, first.1).unwrap();
        let error = recipe.with_option(second.0, second.1).unwrap_err();
        error.to_string()
    };
    let (cpus, net) = (("cpus", "4"), ("net", "vhost"));
    for error in [both(cpus, net), both(net, cpus)] {
        assert!(error.contains("can't be combined"), "{error}");
    }
    let choice = |more: &str| {
        let text = format!(
            "extends = \"kernel\"\nsummary = \"x\"\n[[choice]]\noption = \"a\"\nvalue = \"1\"\nwhy = \"y\"\n{more}\n"
        );
        recipe(&text).unwrap_err().to_string()
    };
    let error = choice("cpus = 4");
    assert!(error.contains("cpus needs a [root]"), "{error}");
    let error = choice("hypervisor = [\"a=b\"]");
    assert!(
        error.contains("hypervisor needs a recipe with Xen"),
        "{error}"
    );
}
