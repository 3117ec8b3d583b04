use super::super::fake_module::{module, needing};
use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::Write;

const RELEASE: &str = "6.1.0-50-amd64";

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A folder with modules of these paths and dependencies.
fn folder(modules: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, depends) in modules {
        let file = format!("{path}.ko");
        put(&folder.path().join(file), &needing(depends, RELEASE));
    }
    folder
}

/// The steps as words: a name, or (name) of one that is built in.
fn steps(folder: &Path, wanted: &[&str]) -> Result<String, String> {
    let modules = Modules::below(folder, RELEASE);
    let steps = modules.steps(wanted, Architecture::X86_64);
    let word = |step| match step {
        Step::Load(Loadable { name, .. }) => name,
        Step::BuiltIn { name } => format!("({name})"),
    };
    let words = |steps: Vec<Step>| steps.into_iter().map(word).collect::<Vec<_>>();
    steps
        .map(|steps| words(steps).join(" "))
        .map_err(|e| e.to_string())
}

#[test]
fn each_module_comes_after_what_it_needs() {
    let debian = folder(&[
        ("virt/lib/irqbypass", ""),
        ("arch/x86/kvm/kvm", "irqbypass"),
        ("arch/x86/kvm/kvm-amd", "kvm,ccp"),
        ("arch/x86/kvm/kvm-intel", "kvm"),
        ("drivers/crypto/ccp/ccp", "rng-core"),
        ("drivers/char/hw_random/rng-core", ""),
    ]);
    for (wanted, expected) in [
        // As the recipes name them.
        (
            &["irqbypass", "kvm", "kvm-amd"][..],
            "irqbypass kvm rng-core ccp kvm-amd",
        ),
        (&["kvm-amd"], "irqbypass kvm rng-core ccp kvm-amd"),
        (
            &["irqbypass", "kvm", "kvm-intel"],
            "irqbypass kvm kvm-intel",
        ),
        // A name as it was asked for, also if another one needs it first.
        (
            &["kvm_amd", "rng_core"],
            "irqbypass kvm rng_core ccp kvm_amd",
        ),
        (&["ccp", "ccp"], "rng-core ccp"),
        (&[], ""),
    ] {
        assert_eq!(
            steps(debian.path(), wanted).unwrap(),
            expected,
            "{wanted:?}"
        );
    }
}

#[test]
fn what_is_part_of_the_kernel_is_not_loaded() {
    let some = folder(&[("kernel/kvm", "irqbypass,rng-core")]);
    let list = "kernel/virt/lib/irqbypass.ko\nkernel/drivers/char/hw_random/rng-core.ko\n";
    put(&some.path().join("modules.builtin"), list.as_bytes());
    assert_eq!(
        steps(some.path(), &["irqbypass", "kvm"]).unwrap(),
        "(irqbypass) (rng-core) kvm"
    );
    // A build tree's modules may be older than its list: a file is loaded.
    put(&some.path().join("irqbypass.ko"), &needing("", RELEASE));
    assert_eq!(steps(some.path(), &["irqbypass"]).unwrap(), "irqbypass");
}

#[test]
fn compressed_modules_are_loaded_decompressed() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b, c) = (
        needing("b", RELEASE),
        needing("c", RELEASE),
        needing("", RELEASE),
    );
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(&a).unwrap();
    put(&folder.path().join("a.ko.gz"), &gz.finish().unwrap());
    let mut xz = Vec::new();
    lzma_rs::xz_compress(&mut &*b, &mut xz).unwrap();
    put(&folder.path().join("b.ko.xz"), &xz);
    // A frame of one block that is not compressed (RFC 8878, 3.1.1).
    let size = u8::try_from(c.len() - 256).unwrap();
    let block = (u32::try_from(c.len()).unwrap() << 3 | 1).to_le_bytes();
    let head = [0x28, 0xb5, 0x2f, 0xfd, 0x60, size, 0];
    put(
        &folder.path().join("c.ko.zst"),
        &[&head, &block[..3], &c].concat(),
    );
    let modules = Modules::below(folder.path(), RELEASE);
    let loaded = modules.steps(&["a"], Architecture::X86_64).unwrap();
    let bytes = loaded.into_iter().map(|step| match step {
        Step::Load(module) => module.bytes,
        Step::BuiltIn { name } => panic!("{name}"),
    });
    assert_eq!(bytes.collect::<Vec<_>>(), [c, b, a]);
}

#[test]
fn what_can_t_be_loaded_is_said_with_the_cure() {
    let some = folder(&[
        ("kvm", "irqbypass"),
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("self", "self"),
    ]);
    let root = some.path();
    let other = module(62, &["depends=", "vermagic=6.1.0-49-amd64 SMP"]);
    put(&root.join("old.ko"), &other);
    put(&root.join("arm.ko"), &module(183, &["depends="]));
    put(&root.join("text.ko"), b"no ELF");
    put(&root.join("short.ko"), &needing("", RELEASE)[..70]);
    put(&root.join("cut.ko.xz"), b"\xfd7zXZ\0cut");
    for (name, said) in [
        ("kvm", "has no module irqbypass in"),
        ("kvm", ", which kvm needs: build it"),
        ("kvm-amd", "Linux 6.1.0-50-amd64 has no module kvm-amd in"),
        ("a", "in a circle: a -> b -> c -> a"),
        ("self", "in a circle: self -> self"),
        (
            "old",
            "it is for Linux 6.1.0-49-amd64, the kernel is 6.1.0-50",
        ),
        ("arm", "another architecture"),
        ("text", "text.ko: it is not a kernel module"),
        ("short", "short.ko: it is not a kernel module"),
        ("cut", "cut.ko.xz: it can't be decompressed"),
    ] {
        let error = steps(root, &[name]).unwrap_err();
        assert!(error.contains(said), "{name}: {error}");
    }
    let empty = tempfile::tempdir().unwrap();
    let error = steps(empty.path(), &["kvm"]).unwrap_err();
    assert!(
        error.contains("linux-modules-6.1.0-50-amd64_*.deb"),
        "{error}"
    );
    // A kernel that does not say its release takes what is there.
    let modules = Modules::below(root, UNKNOWN);
    assert!(modules.steps(&["old"], Architecture::X86_64).is_ok());
}

#[test]
fn of_several_files_the_first_is_taken_and_links_are_not_followed() {
    let some = folder(&[("b/kvm", "of_b"), ("a/kvm", ""), ("b/x/y/z/deep", "")]);
    std::os::unix::fs::symlink("..", some.path().join("a/circle")).unwrap();
    assert_eq!(steps(some.path(), &["kvm", "deep"]).unwrap(), "kvm deep");
}

#[test]
fn which_files_are_of_modules() {
    for (name, is) in [
        ("kvm.ko", true),
        ("kvm.ko.gz", true),
        ("kvm.ko.xz", true),
        ("kvm.ko.zst", true),
        ("modules.builtin", true),
        ("kvm.ko.lz4", false),
        ("kvm.o", false),
        ("ko", false),
        ("vmlinuz.xz", false),
    ] {
        assert_eq!(is_of_modules(name), is, "{name}");
    }
}

proptest! {
    /// Whatever they need of each other: an order in which all is there before it is needed, or an error.
    #[test]
    fn every_order_is_right(needs in prop::collection::vec(prop::collection::vec(0usize..7, 0..3), 6)) {
        let name = |number: &usize| format!("m{number}");
        let lists: Vec<(String, String)> = needs
            .iter()
            .enumerate()
            .map(|(number, needs)| {
                (name(&number), needs.iter().map(name).collect::<Vec<_>>().join(","))
            })
            .collect();
        let lists: Vec<(&str, &str)> = lists.iter().map(|(a, b)| (&**a, &**b)).collect();
        let folder = folder(&lists);
        let wanted: Vec<&str> = lists.iter().map(|(name, _)| *name).collect();
        match steps(folder.path(), &wanted) {
            Ok(order) => {
                let order: Vec<&str> = order.split(' ').collect();
                let place = |name: &str| order.iter().position(|other| *other == name);
                prop_assert_eq!(order.len(), wanted.len());
                for (name, needs) in &lists {
                    for needed in needs.split(',').filter(|needed| !needed.is_empty()) {
                        prop_assert!(place(needed) < place(name), "{needed} {name} {order:?}");
                    }
                }
            }
            Err(error) => {
                // m6 is not there; a circle is one through needs.
                let is_missing = needs.iter().flatten().any(|number| *number == 6);
                prop_assert!(is_missing || error.contains("circle"), "{error}");
            }
        }
    }

    #[test]
    fn no_module_makes_it_stumble(
        at in 0usize..400, with in any::<[u8; 4]>(), cut in 0usize..400, text in ".{0,40}"
    ) {
        let mut bytes = module(62, &["depends=a,b", &text, "vermagic=6.1"]);
        for (place, byte) in bytes.iter_mut().skip(at).zip(with) {
            *place = byte;
        }
        bytes.truncate(cut.max(1));
        let _ = about(&bytes);
    }
}
