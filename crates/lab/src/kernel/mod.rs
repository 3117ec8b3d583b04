//! A Linux kernel and its modules, in unpacked packages or in a user's own folder.

pub(crate) mod decompress;
#[cfg(test)]
mod fake_module;
pub mod format;
mod image;
mod modules;

use crate::sets::Architecture;
use decompress::Packing;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use image::BootImage;
pub use modules::{Loadable, Step, is_of_modules, module_key};

/// The release of a kernel that does not contain its release.
const UNKNOWN: &str = "unknown";

/// Reason why a kernel or its modules can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error("can't read {}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("can't boot {}: {what}", path.display())]
    NoKernel { path: PathBuf, what: String },
    #[error(
        "there is no kernel in {}: it should contain bzImage, vmlinuz, boot/vmlinuz-VERSION or arch/x86/boot/bzImage; for ARM and RISC-V Image, Image.gz, vmlinuz.efi, boot/vmlinux-VERSION, arch/arm64/boot/Image or arch/riscv/boot/Image", folder.display()
    )]
    Nothing { folder: PathBuf },
    #[error(
        "there is no kernel in {}, but modules of Linux {release}: unpack the kernel's package there too (Debian: dpkg-deb -x linux-image-{release}_*.deb {0}, from 6.19 on linux-binary-{release}_*.deb)", folder.display()
    )]
    OnlyModules { folder: PathBuf, release: String },
    #[error("there are several kernels in {}: {found}. Name the file of one, as lab:kvm@{}", folder.display(), first.display())]
    Several {
        folder: PathBuf,
        found: String,
        first: PathBuf,
    },
    #[error(
        "there are no modules of Linux {release} in {}: build them (make modules), or unpack their package there too (Debian has them in linux-image-{release}, from 6.19 on in linux-modules-{release}: dpkg-deb -x linux-modules-{release}_*.deb FOLDER)", folder.display()
    )]
    NoModules { folder: PathBuf, release: String },
    #[error(
        "there are no modules of Linux {release} in {}, but of {others}: unpack packages of one version into one folder", folder.display()
    )]
    OtherModules {
        folder: PathBuf,
        release: String,
        others: String,
    },
    #[error(
        "Linux {release} has no module {name} in {}{needed_by}: build it as a module or into the kernel; in a package set of your own, list it in keep", folder.display()
    )]
    NoModule {
        name: String,
        needed_by: String,
        release: String,
        folder: PathBuf,
    },
    #[error("can't load the module {}: {what}", path.display())]
    Module { path: PathBuf, what: String },
    #[error(
        "the module {module} has no parameter {name}{known}. Change the options in the recipe, or use another kernel or +option"
    )]
    NoParameter {
        module: String,
        name: String,
        known: String,
    },
    #[error("modules need each other in a circle: {0}")]
    Circle(String),
}

impl KernelError {
    fn io(path: &Path, cause: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            cause,
        }
    }
}

/// A kernel that a machine can boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The file with the kernel.
    pub image: PathBuf,
    /// The release, as `uname -r` prints it.
    pub release: String,
    modules: Place,
}

/// The place of a kernel's modules.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// The folder with the modules, which may be in folders below it.
    Below(PathBuf),
    /// A folder that has modules, but only of these releases.
    Others(PathBuf, Vec<String>),
}

/// Paths of a copied image in a user's folder. The first one that exists is taken: of these, then of those in a build
/// tree (`build_images`), then of [`OTHERS`].
const COPIED: [&str; 7] = [
    "bzImage",
    "Image",
    "vmlinuz",
    "vmlinuz.efi",
    "Image.gz",
    "Image.xz",
    "Image.zst",
];
/// Paths of links to the current image, and of ELF files.
const OTHERS: [&str; 5] = [
    "boot/vmlinuz",
    "boot/Image",
    "linux.efi",
    "vmlinux",
    "boot/vmlinux",
];

/// Folders with kernels whose names have a release, and the text before the release.
const VERSIONED: [(&str, &str); 6] = [
    ("", "vmlinuz-"),
    ("boot", "vmlinuz-"),
    ("boot", "Image-"),
    ("boot", "vmlinux-"),
    ("", "vmlinux-"),
    ("EFI/Linux", ""),
];

/// Folders with a folder of modules for each release.
const MODULES: [&str; 2] = ["lib/modules", "usr/lib/modules"];

impl Kernel {
    /// Finds the kernel in unpacked packages, below their `root`.
    pub(crate) fn in_packages(root: &Path) -> Option<Self> {
        let named = |start: &str| {
            let image = starting_with(&root.join("boot"), start)
                .into_iter()
                .next()?;
            let release = image.file_name()?.to_str()?.strip_prefix(start)?.to_owned();
            Some((image, release))
        };
        // From Linux 6.19 on, Debian puts the kernel into the folder of the modules.
        let beside_modules = || {
            let folders = starting_with(&root.join("usr/lib/modules"), "");
            let folder = folders.into_iter().next()?;
            let release = folder.file_name()?.to_str()?.to_owned();
            let images = ["vmlinuz", "vmlinux"].map(|name| folder.join(name));
            let image = images.into_iter().find(|image| image.is_file())?;
            Some((image, release))
        };
        // Debian 13 names a RISC-V Image vmlinux-RELEASE.
        let found = named("vmlinuz-").or_else(|| named("vmlinux-"));
        let (image, release) = found.or_else(beside_modules)?;
        if !image.is_file() {
            return None;
        }
        Some(Self {
            modules: Place::Below(root.to_owned()),
            image,
            release,
        })
    }

    /// Finds a user's kernel: a file, or the only kernel of a folder, which is a build tree or has installed or
    /// unpacked packages. The modules are in the folder for the kernel's release, or anywhere below.
    pub fn at(path: &Path) -> Result<(Self, BootImage), KernelError> {
        let about = fs::metadata(path).map_err(|e| KernelError::io(path, e))?;
        let file = match about.is_dir() {
            true => image_in(path)?,
            false => path.to_owned(),
        };
        let image = BootImage::read(&file)?;
        let release = image.release().unwrap_or_else(|| UNKNOWN.to_owned());
        let modules = match about.is_dir() {
            true => modules_in(path, &release),
            false => modules_of(&file, &release),
        };
        let kernel = Self {
            image: file,
            release,
            modules,
        };
        Ok((kernel, image))
    }

    /// Returns the steps that load these modules, and before each the modules that it needs.
    pub fn steps(
        &self,
        wanted: &[&str],
        architecture: Architecture,
    ) -> Result<Vec<Step>, KernelError> {
        let folder = match &self.modules {
            _ if wanted.is_empty() => return Ok(Vec::new()),
            Place::Below(folder) => folder,
            Place::Others(folder, releases) => {
                return Err(KernelError::OtherModules {
                    folder: folder.clone(),
                    release: self.release.clone(),
                    others: releases.join(", "),
                });
            }
        };
        modules::Modules::below(folder, &self.release).steps(wanted, architecture)
    }
}

/// Finds the only kernel in a user's folder.
fn image_in(folder: &Path) -> Result<PathBuf, KernelError> {
    let built = Architecture::ALL.into_iter();
    let built = built.flat_map(|one| one.facts().build_images);
    let known = COPIED.iter().chain(built).chain(&OTHERS);
    let mut known = known.map(|path| folder.join(path));
    if let Some(image) = known.find(|path| path.is_file()) {
        return Ok(image);
    }
    // Kernels are collected by release: the same kernel may be in /boot and in the folder of its modules.
    let mut found = BTreeMap::new();
    for (place, start) in VERSIONED {
        for path in starting_with(&folder.join(place), start) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let release = name.strip_prefix(start).unwrap_or_default();
            // openSUSE also has the ELF file of the same kernel: vmlinux-RELEASE.xz.
            let packed = release.rsplit_once('.');
            let packed = packed.filter(|(_, end)| Packing::of_suffix(end).is_some());
            let release = packed.map_or(release, |(release, _)| release).to_owned();
            // Folders of boot loaders have other files too.
            let is_one = !place.starts_with("EFI") || release.ends_with(".efi");
            if is_one && path.is_file() {
                found.entry(release).or_insert(path);
            }
        }
    }
    let releases = releases_in(folder);
    for (release, place) in &releases {
        let path = place.join("vmlinuz");
        if path.is_file() {
            found.entry(release.clone()).or_insert(path);
        }
    }
    if found.len() > 1 {
        let names: Vec<&str> = found.keys().map(|release| &**release).collect();
        return Err(KernelError::Several {
            folder: folder.to_owned(),
            found: names.join(", "),
            first: found.values().next().cloned().unwrap_or_default(),
        });
    }
    let folder = folder.to_owned();
    match (found.into_values().next(), releases.into_keys().next()) {
        (Some(image), _) => Ok(image),
        (None, Some(release)) => Err(KernelError::OnlyModules { folder, release }),
        (None, None) => Err(KernelError::Nothing { folder }),
    }
}

/// The folders of installed modules, by release.
fn releases_in(root: &Path) -> BTreeMap<String, PathBuf> {
    let folders = MODULES
        .iter()
        .flat_map(|place| starting_with(&root.join(place), ""));
    let folders = folders.filter(|path| path.is_dir());
    let named = folders.filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)));
    named.collect()
}

/// The place of the modules of this release in a folder.
fn modules_in(root: &Path, release: &str) -> Place {
    let mut releases = releases_in(root);
    match releases.remove(release) {
        Some(folder) => Place::Below(folder),
        None if release == UNKNOWN || releases.is_empty() => Place::Below(root.to_owned()),
        None => Place::Others(root.to_owned(), releases.into_keys().collect()),
    }
}

/// The place of the modules of a kernel's file. It is the nearest folder above the file that has modules for the
/// release, or that is a build tree. Otherwise it is the file's folder.
fn modules_of(file: &Path, release: &str) -> Place {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    for folder in file.ancestors().skip(1) {
        if folder.ends_with(Path::new("modules").join(release)) {
            return Place::Below(folder.to_owned());
        }
        if let Some(place) = releases_in(folder).remove(release) {
            return Place::Below(place);
        }
        if folder.join("modules.builtin").is_file() {
            return Place::Below(folder.to_owned());
        }
    }
    Place::Below(file.parent().unwrap_or(&file).to_owned())
}

/// The entries whose names begin with `start`, sorted.
fn starting_with(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests;
