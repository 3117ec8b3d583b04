use super::fake_module::needing;
use super::*;

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A bzImage of this release, as far as it is read.
fn image(release: &str) -> Vec<u8> {
    format::fake_bzimage(release)
}

const NEW: &str = "7.3.4+deb13-cloud-amd64";
const OLD: &str = "6.1.0-50-amd64";

fn load(kernel: &Kernel, wanted: &[&str]) -> Result<String, String> {
    let steps = kernel.steps(wanted, Architecture::X86_64);
    let steps = steps.map_err(|e| e.to_string())?;
    let names = steps.into_iter().map(|step| match step {
        Step::Load(module) => module.name,
        Step::BuiltIn { name } => format!("({name})"),
    });
    Ok(names.collect::<Vec<_>>().join(" "))
}

/// Where distributions and builds put a kernel, its file's path, and a module.
const PLACES: [(&str, &str); 9] = [
    ("arch/x86/boot/bzImage", "arch/x86/kvm/kvm.ko"),
    ("bzImage", "kvm.ko"),
    // make tar-pkg, bisect.
    ("bzImage", "lib/modules/RELEASE/kernel/arch/x86/kvm/kvm.ko"),
    // Debian: 12, 13, and from 6.19 on in three packages.
    (
        "boot/vmlinuz-RELEASE",
        "lib/modules/RELEASE/kernel/arch/x86/kvm/kvm.ko",
    ),
    (
        "boot/vmlinuz-RELEASE",
        "usr/lib/modules/RELEASE/kernel/arch/x86/kvm/kvm.ko",
    ),
    (
        "usr/lib/modules/RELEASE/vmlinuz",
        "usr/lib/modules/RELEASE/kernel/arch/x86/kvm/kvm.ko",
    ),
    // Fedora, openSUSE.
    (
        "lib/modules/RELEASE/vmlinuz",
        "lib/modules/RELEASE/kernel/arch/x86/kvm/kvm.ko",
    ),
    ("vmlinuz-RELEASE", "modules/kvm.ko"),
    ("boot/vmlinuz", "usr/lib/modules/RELEASE/updates/kvm.ko"),
];

#[test]
fn a_kernel_and_its_modules_are_found_where_they_are_put() {
    for (image_at, module_at) in PLACES {
        let folder = tempfile::tempdir().unwrap();
        let path = |place: &str| folder.path().join(place.replace("RELEASE", NEW));
        put(&path(image_at), &image(NEW));
        put(&path(module_at), &needing("", NEW));
        let (kernel, found) = Kernel::at(folder.path()).unwrap();
        assert_eq!(kernel.release, NEW, "{image_at}");
        assert_eq!(kernel.image, path(image_at));
        assert_eq!(found.bytes, image(NEW));
        assert_eq!(load(&kernel, &["kvm"]).unwrap(), "kvm", "{module_at}");
        // By the file itself too, but for modules in another folder.
        let (kernel, _) = Kernel::at(&path(image_at)).unwrap();
        let is_near = !image_at.contains('/') || module_at.contains("RELEASE");
        assert_eq!(load(&kernel, &["kvm"]).is_ok(), is_near, "{image_at}");
    }
}

#[test]
fn an_image_of_a_known_name_takes_precedence() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(&root.join("vmlinux"), &image(OLD));
    assert_eq!(Kernel::at(root).unwrap().0.image, root.join("vmlinux"));
    put(&root.join("arch/x86/boot/bzImage"), &image(NEW));
    let kernel = Kernel::at(root).unwrap().0;
    assert_eq!(kernel.image, root.join("arch/x86/boot/bzImage"));
    // A link of a running system, beside several kernels.
    put(&root.join(format!("boot/vmlinuz-{OLD}")), &image(OLD));
    put(&root.join(format!("boot/vmlinuz-{NEW}")), &image(NEW));
    std::os::unix::fs::symlink(format!("boot/vmlinuz-{OLD}"), root.join("vmlinuz")).unwrap();
    assert_eq!(Kernel::at(root).unwrap().0.release, OLD);
}

#[test]
fn of_several_kernels_one_must_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for release in [OLD, NEW] {
        put(
            &root.join(format!("boot/vmlinuz-{release}")),
            &image(release),
        );
        let module = format!("lib/modules/{release}/kvm.ko");
        put(&root.join(module), &needing("", release));
    }
    let error = Kernel::at(root).unwrap_err().to_string();
    assert!(error.contains(&format!(
        "several kernels in {}: {OLD}, {NEW}.",
        root.display()
    )));
    let file = root.join(format!("boot/vmlinuz-{OLD}"));
    assert!(
        error.ends_with(&format!("as lab:kvm@{}", file.display())),
        "{error}"
    );
    for release in [OLD, NEW] {
        let file = root.join(format!("boot/vmlinuz-{release}"));
        let kernel = Kernel::at(&file).unwrap().0;
        assert_eq!(kernel.release, release);
        // Only those of its own release.
        assert_eq!(load(&kernel, &["kvm"]).unwrap(), "kvm");
    }
    // The same kernel in several places is one.
    put(&root.join(format!("boot/vmlinux-{NEW}.xz")), b"");
    fs::remove_file(&file).unwrap();
    put(
        &root.join(format!("usr/lib/modules/{NEW}/vmlinuz")),
        &image(NEW),
    );
    assert_eq!(Kernel::at(root).unwrap().0.release, NEW);
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let error = |path: &Path| Kernel::at(path).unwrap_err().to_string();
    assert!(error(&root.join("none")).contains("can't read"));
    assert!(
        error(root).contains("should contain bzImage"),
        "{}",
        error(root)
    );
    // Only linux-modules is unpacked; only linux-binary and linux-base; modules of another version.
    let module = root.join(format!("usr/lib/modules/{NEW}/kernel/kvm.ko"));
    put(&module, &needing("", NEW));
    assert!(
        error(root).contains(&format!("linux-binary-{NEW}_*.deb")),
        "{}",
        error(root)
    );
    put(&root.join(format!("boot/vmlinuz-{OLD}")), &image(OLD));
    let kernel = Kernel::at(root).unwrap().0;
    let said = load(&kernel, &["kvm"]).unwrap_err();
    assert!(
        said.contains(&format!("no modules of Linux {OLD} in")),
        "{said}"
    );
    assert!(said.contains(&format!("but of {NEW}: unpack")), "{said}");
    // An ARM machine needs none.
    assert_eq!(load(&kernel, &[]).unwrap(), "");
    fs::remove_file(module).unwrap();
    let list = format!("usr/lib/modules/{OLD}/modules.builtin");
    put(&root.join(list), b"kernel/virt/lib/irqbypass.ko\n");
    let kernel = Kernel::at(root).unwrap().0;
    let said = load(&kernel, &["irqbypass", "kvm"]).unwrap_err();
    assert!(
        said.contains(&format!("linux-modules-{OLD}_*.deb")),
        "{said}"
    );
}

#[test]
fn packages_have_it_in_boot_or_among_the_modules() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert_eq!(Kernel::in_packages(root), None);
    put(&root.join("usr/lib/modules/7.2-cloud/vmlinuz"), b"");
    let kernel = Kernel::in_packages(root).unwrap();
    assert_eq!(kernel.release, "7.2-cloud");
    // RISC-V's kernel is not compressed, and its name tells.
    put(&root.join("boot/vmlinux-6.12-riscv64"), b"");
    let kernel = Kernel::in_packages(root).unwrap();
    assert_eq!(kernel.image, root.join("boot/vmlinux-6.12-riscv64"));
    assert_eq!(kernel.release, "6.12-riscv64");
    put(&root.join("boot/vmlinuz-6.1-cloud"), b"");
    let kernel = Kernel::in_packages(root).unwrap();
    assert_eq!(kernel.image, root.join("boot/vmlinuz-6.1-cloud"));
    assert_eq!(kernel.release, "6.1-cloud");
}
