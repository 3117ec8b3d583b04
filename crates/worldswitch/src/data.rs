//! Where the guest image, the KVM monitor and the lab's data lie.

use crate::cli::{LabPlaces, Parts};
use std::env;
use std::path::{Path, PathBuf};
use ws_lab::lab::Lab;
use ws_lab::store::Store;
use ws_machines::resources::{LabFiles, Resources};

/// A file or folder that comes with this program.
#[derive(Clone, Copy, Debug)]
struct Part {
    name: &'static str,
    /// Its path where the program is installed.
    path: &'static str,
    /// The folder of the tree in which that path lies.
    in_tree: &'static str,
    cure: &'static str,
}

const GUEST: Part = Part {
    name: "guest image",
    path: "guest/x86_64/guest.elf",
    in_tree: "build",
    cure: "make build makes it (or make -C guest), and --guest FILE names another place",
};

const MONITOR: Part = Part {
    name: "KVM monitor",
    path: "vmm/x86_64/vmm",
    in_tree: "build",
    cure: "make build makes it (or make -C vmm), and --vmm FILE names another place",
};

const LAB: Part = Part {
    name: "folder of the lab",
    path: "lab/recipes",
    in_tree: ".",
    cure: "it comes with worldswitch, and WORLDSWITCH_DATA names another place",
};

/// What machines are made from: what the user named, else what is found. `pins`: the host CPU of
/// each vCPU's thread.
pub fn resources(parts: &Parts, pins: Vec<u32>) -> Resources {
    Resources {
        qemu: parts.qemu.clone(),
        guest: Some(guest_image(parts.guest.as_deref())),
        vmm: Some(monitor(parts.vmm.as_deref())),
        lab: Some(lab(&parts.lab)),
        pins,
        ..Resources::default()
    }
}

/// The guest image: the one that the user named, else the first of
/// `$WORLDSWITCH_DATA/guest/x86_64/guest.elf`, `guest/x86_64/guest.elf` beside this program or
/// in `../share/worldswitch`, `build/guest/x86_64/guest.elf` of the tree around this program and
/// around the current folder. With `$WORLDSWITCH_DATA` set, no other place is looked at.
///
/// # Errors
/// There is none: where it was looked for, and how to make one.
pub fn guest_image(named: Option<&Path>) -> Result<PathBuf, String> {
    named.map_or_else(|| found(GUEST), |path| there(GUEST, path))
}

/// The KVM monitor, looked for as the guest image is.
///
/// # Errors
/// There is none: where it was looked for, and how to make one.
fn monitor(named: Option<&Path>) -> Result<PathBuf, String> {
    named.map_or_else(|| found(MONITOR), |path| there(MONITOR, path))
}

/// The lab's recipes, the user's first, and the store of its packages.
///
/// # Errors
/// A file is wrong, or it is not known where packages lie.
pub fn lab(places: &LabPlaces) -> Result<LabFiles, String> {
    let installed = found(LAB)?;
    let installed = installed.parent().unwrap_or(&installed);
    let mut folders = places.lab_dir.clone();
    folders.push(installed.to_owned());
    let lab = Lab::open(&folders).map_err(|e| e.to_string())?;
    let store = match &places.cache {
        Some(path) => path.clone(),
        None => Store::default_root(|name| env::var_os(name)).ok_or(
            "it is not known where the lab's packages lie, for neither XDG_CACHE_HOME nor HOME is set: name a folder with --cache DIR",
        )?,
    };
    Ok(LabFiles {
        lab,
        store: Store::at(store),
    })
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
        return if path.exists() {
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
                .map(|folder| folder.join(part.in_tree).join(part.path))
                .collect()
        })
    };
    installed
        .chain(upward(program_folder))
        .chain(upward(current.as_deref()))
        .find(|path| path.exists())
        .ok_or_else(|| {
            format!(
                "there is no {} ({}/{}): {}",
                part.name, part.in_tree, part.path, part.cure
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
