//! A Linux kernel and its modules, in unpacked packages or in a user's own folder.

use std::fs;
use std::path::{Path, PathBuf};

/// A kernel that a machine can boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The bootable image.
    pub image: PathBuf,
    /// The release, as `uname -r` prints it.
    pub release: String,
    /// The folder of its modules, which may be in subfolders.
    pub modules: PathBuf,
}

/// Paths of the image in a user's folder: copied there, in a build tree, or installed by `make
/// install` or `make tar-pkg`.
const IMAGES: [&str; 6] = [
    "bzImage",
    "Image",
    "vmlinuz",
    "arch/x86/boot/bzImage",
    "arch/arm64/boot/Image",
    "boot/vmlinuz",
];

impl Kernel {
    /// The kernel in unpacked packages, below their `root`.
    pub(crate) fn in_packages(root: &Path) -> Option<Self> {
        let (image, release) = match starting_with(&root.join("boot"), "vmlinuz-") {
            Some(image) => {
                let name = image.file_name()?.to_str()?.strip_prefix("vmlinuz-")?;
                let release = name.to_owned();
                (image, release)
            }
            // From Linux 7 on, Debian puts it into the folder of the modules.
            None => {
                let folder = starting_with(&root.join("usr/lib/modules"), "")?;
                let release = folder.file_name()?.to_str()?.to_owned();
                (folder.join("vmlinuz"), release)
            }
        };
        if !image.is_file() {
            return None;
        }
        Some(Self {
            modules: root.to_owned(),
            image,
            release,
        })
    }

    /// The kernel in a user's folder: `bzImage` or `vmlinuz`, or a build tree; its modules may be
    /// anywhere below.
    ///
    /// # Errors
    /// There is none, with the names that were tried.
    pub fn in_folder(folder: &Path) -> Result<Self, String> {
        let known = IMAGES.iter().map(|path| folder.join(path));
        let image = known
            .filter(|path| path.is_file())
            .chain(starting_with(folder, "vmlinuz-"))
            .chain(starting_with(&folder.join("boot"), "vmlinuz-"))
            .next()
            .ok_or_else(|| {
                format!(
                    "there is no kernel in {}: it should contain bzImage, vmlinuz or {}",
                    folder.display(),
                    IMAGES[3]
                )
            })?;
        let release = fs::read(&image).ok().and_then(|bytes| release(&bytes));
        Ok(Self {
            modules: folder.to_owned(),
            image,
            release: release.unwrap_or_else(|| "unknown".to_owned()),
        })
    }

    /// The file of a module; '-' and '_' in its name are the same.
    ///
    /// # Errors
    /// There is none.
    pub fn module(&self, name: &str) -> Result<PathBuf, String> {
        let wanted = format!("{}.ko", name.replace('-', "_"));
        let is_wanted = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.replace('-', "_") == wanted
        };
        find(&self.modules, 16, &is_wanted).ok_or_else(|| {
            format!(
                "kernel {} has no module {name} in {}: build it as a module, not compressed; for a kernel of worldswitch lab fetch, fetch it again",
                self.release,
                self.modules.display()
            )
        })
    }
}

/// The first file, by name, whose name begins with `start`.
fn starting_with(folder: &Path, start: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths.into_iter().next()
}

/// The first wanted file below `folder`, in the order of names. Links to folders are not followed:
/// in a build tree some lead in circles.
fn find(folder: &Path, depth: u32, wanted: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut folders = Vec::new();
    for entry in entries {
        match entry.file_type().ok() {
            Some(kind) if kind.is_dir() => folders.push(entry.path()),
            Some(_) if wanted(&entry.path()) => return Some(entry.path()),
            _ => {}
        }
    }
    let depth = depth.checked_sub(1)?;
    folders
        .iter()
        .find_map(|folder| find(folder, depth, wanted))
}

/// The release in an x86 kernel's boot header (Linux, Documentation/arch/x86/boot.rst:
/// `kernel_version` at 0x20e points to a string, less 0x200).
fn release(image: &[u8]) -> Option<String> {
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let pointer = image.get(0x20e..0x210)?;
    let start = usize::from(u16::from_le_bytes([pointer[0], pointer[1]])) + 0x200;
    let text = image.get(start..)?.iter().take(256);
    let text: Vec<u8> = text.copied().take_while(|b| b.is_ascii_graphic()).collect();
    String::from_utf8(text).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, bytes: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// The start of a bzImage of this release.
    fn image(release: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
        bytes[0x300..0x300 + release.len()].copy_from_slice(release.as_bytes());
        bytes
    }

    #[test]
    fn a_build_tree_has_its_kernel_and_modules() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let error = Kernel::in_folder(root).unwrap_err();
        assert!(error.contains("bzImage"), "{error}");
        put(
            &root.join("arch/x86/boot/bzImage"),
            &image("6.9.0-mine (x@y) #1"),
        );
        put(&root.join("arch/x86/kvm/kvm-amd.ko"), b"");
        put(&root.join("virt/lib/irqbypass.ko"), b"");
        // A link in a circle, as in a build tree.
        std::os::unix::fs::symlink("..", root.join("virt/source")).unwrap();
        let kernel = Kernel::in_folder(root).unwrap();
        assert_eq!(kernel.release, "6.9.0-mine");
        let module = kernel.module("kvm_amd").unwrap();
        assert_eq!(module, root.join("arch/x86/kvm/kvm-amd.ko"));
        kernel.module("irqbypass").unwrap();
        let error = kernel.module("kvm").unwrap_err();
        assert!(error.contains("6.9.0-mine has no module kvm"), "{error}");
        // A copied image takes precedence over a built one.
        put(&root.join("bzImage"), b"short");
        let kernel = Kernel::in_folder(root).unwrap();
        assert_eq!(
            (kernel.image, &*kernel.release),
            (root.join("bzImage"), "unknown")
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
        put(&root.join("boot/vmlinuz-6.1-cloud"), b"");
        let kernel = Kernel::in_packages(root).unwrap();
        assert_eq!(kernel.image, root.join("boot/vmlinuz-6.1-cloud"));
        assert_eq!(kernel.release, "6.1-cloud");
    }
}
