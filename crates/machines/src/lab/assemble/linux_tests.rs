use super::super::real_time;
use super::*;
use crate::kernel_file::tests::bzimage;
use std::fs;
use ws_lab::lab::Lab;

#[path = "../../../../lab/src/kernel/fake_module.rs"]
mod fake_module;

const RELEASE: &str = "6.1.0-50-amd64";

/// A folder with a real-time kernel of [`RELEASE`], modules as Debian's usual kernels have them, and a list of
/// what is part of the kernel.
fn folder(built_in: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("bzImage"),
        bzimage(0x20f, 1, 1, 64, true),
    )
    .unwrap();
    for (name, depends) in [
        ("kvm", "irqbypass"),
        ("kvm-amd", "kvm,ccp"),
        ("irqbypass", ""),
        ("ccp", ""),
    ] {
        if !built_in.contains(&format!("/{name}.ko")) {
            let module = fake_module::needing(depends, RELEASE);
            fs::write(folder.path().join(format!("{name}.ko")), module).unwrap();
        }
    }
    fs::write(folder.path().join("modules.builtin"), built_in).unwrap();
    folder
}

fn recipe(name: &str, kernel: &Path) -> Recipe {
    let lab = Lab::open(&[concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab").into()]).unwrap();
    let path = kernel.to_str().unwrap();
    lab.recipe(name, Some(path)).unwrap()
}

fn loaded(folder: &Path) -> (Loaded, String) {
    let (kernel, _) = Kernel::at(folder).unwrap();
    let recipe = recipe("kvm-shadow", folder);
    let wanted = &recipe.kernel.unwrap().modules;
    let mut described = Described::default();
    let loaded = modules(&kernel, wanted, "", Architecture::X86_64, &mut described);
    (loaded.unwrap(), described.digest())
}

#[test]
fn a_machine_loads_what_its_modules_need_and_gives_each_its_own_options() {
    let folder = folder("");
    let (debian, digest) = loaded(folder.path());
    assert_eq!(
        debian.lines,
        [
            "module=/irqbypass.ko",
            "module=/kvm.ko halt_poll_ns=0",
            "module=/ccp.ko",
            "module=/kvm-amd.ko npt=0"
        ]
    );
    let paths: Vec<&str> = debian.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["irqbypass.ko", "kvm.ko", "ccp.ko", "kvm-amd.ko"]);
    assert_eq!(debian.parameters, "");
    assert_eq!(
        of_inner(&debian.lines),
        [
            "module=/irqbypass.ko",
            "module=/kvm.ko halt_poll_ns=0",
            "module=/ccp.ko",
            "module=/kvm-amd.ko"
        ]
    );
    // Linux would ignore an option that the module does not know.
    let (kernel, _) = Kernel::at(folder.path()).unwrap();
    let mut wrong = recipe("kvm-shadow", folder.path()).kernel.unwrap().modules;
    wrong.last_mut().unwrap().options = "npt=0 nested-pages=0".into();
    let refused = modules(
        &kernel,
        &wrong,
        "",
        Architecture::X86_64,
        &mut Described::default(),
    );
    assert_eq!(
        refused.err().unwrap().to_string(),
        "the module kvm-amd has no parameter nested-pages. Its parameters: halt_poll_ns, npt. Change the options in the recipe, \
         or use another kernel or +option"
    );
    // A module that another one needs is part of the machine's digest.
    let other = fake_module::module(62, &["depends=", "vermagic=6.1.0-50-amd64 x", "version=2"]);
    fs::write(folder.path().join("ccp.ko"), other).unwrap();
    assert_ne!(loaded(folder.path()).1, digest);
}

#[test]
fn options_of_a_module_that_is_part_of_the_kernel_are_on_its_command_line() {
    let list =
        "kernel/arch/x86/kvm/kvm.ko\nkernel/arch/x86/kvm/kvm-amd.ko\nkernel/virt/irqbypass.ko\n";
    let folder = folder(list);
    let (built_in, digest) = loaded(folder.path());
    assert_eq!(built_in.lines, [""; 0]);
    assert_eq!(built_in.parameters, " kvm.halt_poll_ns=0 kvm_amd.npt=0");
    assert_eq!(of_kvm(&built_in.parameters), " kvm.halt_poll_ns=0");
    assert_ne!(digest, Described::default().digest());
}

#[test]
fn the_monitor_s_limit_of_modules_is_said_before_it_starts() {
    let header = include_str!("../../../../../vmm/options.h");
    let line = header.lines().find(|line| line.contains("MAX_MODULES"));
    let number = line.unwrap().split_whitespace().last().unwrap();
    assert_eq!(number.parse::<usize>().unwrap(), vmm::MODULES_MAX);
    let lines = |many: usize| (0..many).map(|n| format!("module=/m{n}.ko a=1"));
    check_number(&lines(vmm::MODULES_MAX).collect::<Vec<_>>()).unwrap();
    let error = check_number(&lines(vmm::MODULES_MAX + 1).collect::<Vec<_>>());
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("needs 9 modules")
            && error.ends_with("/m7.ko /m8.ko".replace('/', "").as_str()),
        "{error}"
    );
}

#[test]
fn the_processor_of_a_real_time_kernel_says_that_its_tsc_is_invariant() {
    let real_time = folder("");
    let usual = folder("");
    let image = bzimage(0x20f, 1, 1, 64, true);
    let at = image.windows(3).position(|part| part == b"_RT").unwrap();
    let mut image = image;
    image[at..at + 3].copy_from_slice(b"\0\0\0");
    fs::write(usual.path().join("bzImage"), image).unwrap();
    let suited = |mut recipe: Recipe| {
        let mut described = Described::default();
        real_time::suit(&mut recipe, &Resources::default(), &mut described)
            .map(|()| (recipe.emulator.cpu, described.notes.len()))
            .map_err(|e| e.to_string())
    };
    for (machine, folder, expected) in [
        ("kvm", &real_time, true),
        ("kvm-shadow", &real_time, true),
        ("qemu-kvm", &real_time, true),
        ("kvm", &usual, false),
        // Bochs' processors have one anyway, ARM's no TSC.
        ("kvm-intel", &real_time, false),
        ("kvm-vhe", &real_time, false),
    ] {
        let recipe = recipe(machine, folder.path());
        let before = recipe.emulator.cpu.clone();
        let (cpu, notes) = suited(recipe).unwrap();
        let is_forced = cpu.to_argument().ends_with(",+invtsc,x-force-features=on");
        assert_eq!(
            (is_forced, notes),
            (expected, usize::from(expected)),
            "{machine}"
        );
        // Results of both can be compared.
        assert_eq!(cpu.shared(), before.shared());
        assert_eq!(cpu == before, !expected);
    }
    let other = recipe("kvm", real_time.path()).with_option("cpu", "EPYC");
    let error = suited(other.unwrap()).unwrap_err();
    assert!(error.contains("leave out +cpu=EPYC"), "{error}");
}
