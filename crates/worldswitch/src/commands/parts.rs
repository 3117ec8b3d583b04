//! Where the guest image, the KVM monitor and the lab's recipes lie.

use crate::cli::Parts;
use crate::cli::lab::Places;
use crate::commands::Usage;
use anyhow::Context;
use std::env;
use std::path::{Path, PathBuf};
use ws_lab::lab::Lab;
use ws_lab::sets::Architecture;
use ws_lab::store::Store;
use ws_machines::image;
use ws_machines::resources::{LabFiles, Resources};

/// A file that comes with this program.
#[derive(Clone, Copy, Debug)]
struct Part {
    name: &'static str,
    /// Its path where the program is installed.
    path: &'static str,
    /// The folder of the tree that has that path; `""` is the tree's own.
    tree: &'static str,
    cure: &'static str,
}

const GUEST: Part = Part {
    name: "guest image",
    path: "guest/x86_64/guest.elf",
    tree: "build",
    cure: "make build makes it (or make -C guest), and --guest FILE names another place",
};

const ARM_GUEST: Part = Part {
    name: "guest image for aarch64",
    path: "guest/aarch64/guest.elf",
    tree: "build",
    cure: "make build makes it (or make -C guest ARCH=aarch64), and --guest FILE names another place",
};

const MONITOR: Part = Part {
    name: "KVM monitor",
    path: "vmm/x86_64/vmm",
    tree: "build",
    cure: "make build makes it (or make -C vmm), and --vmm FILE names another place",
};

const ARM_MONITOR: Part = Part {
    name: "KVM monitor for aarch64",
    path: "vmm/aarch64/vmm",
    tree: "build",
    cure: "make build makes it (or make -C vmm ARCH=aarch64), and --vmm FILE names another place",
};

const INIT: Part = Part {
    name: "first process of lab machines",
    path: "lab/x86_64/init",
    tree: "build",
    cure: "make build makes it (or make -C lab/init)",
};

/// One file of the folder with lab recipes and sets of packages.
const LAB: Part = Part {
    name: "folder of lab recipes",
    path: "lab/packages.toml",
    tree: "",
    cure: "it lies in the source tree; WORLDSWITCH_DATA names another place",
};

/// What machines are made from: what the user named, else what is found. `pins`: the host CPU of
/// each vCPU's thread.
pub fn resources(parts: &Parts, pins: Vec<u32>) -> Resources {
    Resources {
        qemu: parts.qemu.clone(),
        guest: Some(part(GUEST, &parts.guest)),
        arm_guest: Some(part(ARM_GUEST, &parts.guest)),
        vmm: Some(part(MONITOR, &parts.vmm)),
        arm_vmm: Some(part(ARM_MONITOR, &parts.vmm)),
        init: Some(found(INIT)),
        lab: Some(files(&parts.lab).map_err(|e| e.to_string())),
        pins,
        ..Resources::default()
    }
}

/// Is what the user named used by one of the machines, which have these architectures? For another
/// architecture the tree's own part is taken, and what was named would be left aside without a word.
///
/// # Errors
/// A file is for none of them.
pub fn check_named(parts: &Parts, architectures: &[Architecture]) -> Result<(), Usage> {
    for (option, named) in [("--guest", &parts.guest), ("--vmm", &parts.vmm)] {
        let Some(path) = named else { continue };
        let its = match image::is_aarch64(path) {
            true => Architecture::Aarch64,
            false => Architecture::X86_64,
        };
        if !architectures.contains(&its) {
            let what = match (path.is_file(), image::is_elf(path), its) {
                (false, ..) => "is no file",
                (true, false, _) => "is no ELF file",
                (true, true, Architecture::X86_64) => "is for x86_64",
                (true, true, Architecture::Aarch64) => "is for aarch64",
            };
            return Err(Usage(format!(
                "{option} {} {what}, and no machine that was asked for takes it: ask for one that does, or leave {option} out",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Recipes and store together, for machines that are made of them.
///
/// # Errors
/// As those of [`recipes`] and [`store`].
pub fn files(places: &Places) -> anyhow::Result<LabFiles> {
    Ok(LabFiles {
        lab: recipes(places)?,
        store: store(places)?,
    })
}

/// The recipes and sets of the user's folders and of the installed one.
///
/// # Errors
/// One of them can't be read, or there is none.
pub fn recipes(places: &Places) -> anyhow::Result<Lab> {
    let mut folders = places.lab_dir.clone();
    match lab_folder() {
        Ok(folder) => folders.push(folder),
        Err(why) if folders.is_empty() => anyhow::bail!(why),
        // The user's own may do without.
        Err(_) => {}
    }
    Ok(Lab::open(&folders)?)
}

/// The store that the user named, or the one in the user's cache.
///
/// # Errors
/// The environment does not say where that is.
pub fn store(places: &Places) -> anyhow::Result<Store> {
    let root = match &places.cache {
        Some(root) => root.clone(),
        None => Store::default_root(|name| env::var_os(name)).context(
            "neither XDG_CACHE_HOME nor HOME says where fetched packages are kept: name a folder with --cache DIR",
        )?,
    };
    Ok(Store::at(root))
}

/// A part for one architecture: the file that the user named if it is for that, else the first of
/// `$WORLDSWITCH_DATA/PATH`, PATH beside this program or in `../share/worldswitch`, `build/PATH` of
/// the tree around this program and around the current folder. With `$WORLDSWITCH_DATA` set, no
/// other place is looked at.
///
/// # Errors
/// There is none: where it was looked for, and how to make one.
fn part(part: Part, named: &Option<PathBuf>) -> Result<PathBuf, String> {
    match named {
        Some(path) if image::is_aarch64(path) == part.path.contains("aarch64") => there(part, path),
        _ => found(part),
    }
}

/// The folder with the lab's recipes and sets, looked for as the guest image is; in the tree it is
/// no built file.
///
/// # Errors
/// There is none: where it was looked for.
pub fn lab_folder() -> Result<PathBuf, String> {
    let file = found(LAB)?;
    Ok(file.parent().unwrap_or(&file).to_owned())
}

/// A path that the user named, if it is there.
fn there(part: Part, path: &Path) -> Result<PathBuf, String> {
    if path.is_file() {
        Ok(path.to_owned())
    } else {
        Err(format!("there is no {} {}", part.name, path.display()))
    }
}

fn found(part: Part) -> Result<PathBuf, String> {
    let data = env::var_os("WORLDSWITCH_DATA").map(PathBuf::from);
    find(part, data, env::current_exe().ok(), env::current_dir().ok())
}

fn find(
    part: Part,
    data: Option<PathBuf>,
    program: Option<PathBuf>,
    current: Option<PathBuf>,
) -> Result<PathBuf, String> {
    if let Some(data) = data {
        let path = data.join(part.path);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!(
                "there is no {} {}, where WORLDSWITCH_DATA says: set it right, or leave it out",
                part.name,
                path.display()
            ))
        };
    }
    let program_folder = program.as_deref().and_then(Path::parent);
    let installed = program_folder.into_iter().flat_map(|folder| {
        [
            folder.join(part.path),
            folder.join("../share/worldswitch").join(part.path),
        ]
    });
    let upward = |start: Option<&Path>| -> Vec<PathBuf> {
        start.map_or(Vec::new(), |start| {
            start
                .ancestors()
                .map(|folder| folder.join(part.tree).join(part.path))
                .collect()
        })
    };
    installed
        .chain(upward(program_folder))
        .chain(upward(current.as_deref()))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            format!(
                "there is no {} ({}): {}",
                part.name,
                Path::new(part.tree).join(part.path).display(),
                part.cure
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        path.to_owned()
    }

    #[test]
    fn places_are_looked_at_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let program = put(&root.join("tree/target/release/worldswitch"));
        let here = root.join("elsewhere/deep");
        fs::create_dir_all(&here).unwrap();
        let found = |data: Option<&str>| {
            find(
                GUEST,
                data.map(|d| root.join(d)),
                Some(program.clone()),
                Some(here.clone()),
            )
        };
        assert!(found(None).unwrap_err().contains("make build"));
        let around_here = put(&root.join("elsewhere/build").join(GUEST.path));
        assert_eq!(found(None), Ok(around_here));
        let in_tree = put(&root.join("tree/build").join(GUEST.path));
        assert_eq!(found(None), Ok(in_tree));
        let shared = root.join("tree/target/share/worldswitch").join(GUEST.path);
        put(&shared);
        assert_eq!(
            found(None).unwrap().canonicalize().unwrap(),
            shared.canonicalize().unwrap()
        );
        let beside = put(&root.join("tree/target/release").join(GUEST.path));
        assert_eq!(found(None), Ok(beside));
        let named = put(&root.join("data").join(GUEST.path));
        assert_eq!(found(Some("data")), Ok(named));
        assert!(
            found(Some("wrong"))
                .unwrap_err()
                .contains("WORLDSWITCH_DATA")
        );
    }
}
