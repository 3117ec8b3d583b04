//! Finds the guest image, the KVM monitor and the lab's recipes.

use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use ws_lab::lab::Lab;
use ws_lab::sets::Architecture;
use ws_lab::store::Store;
use ws_machines::image;
use ws_machines::name::PlatformName;
use ws_machines::recording::{Recording, What};
use ws_machines::resources::{LabFiles, Resources};
use ws_machines::shipped::Shipped;
use ws_terminal::Usage;

/// The user's replacements for the files that machines are made from.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub guest: Option<PathBuf>,
    pub qemu: Option<PathBuf>,
    /// The KVM monitor.
    pub vmm: Option<PathBuf>,
    /// Whether lab machines boot in each launch, without saved states.
    pub no_resume: bool,
    pub lab: Places,
}

/// Folders of recipes and packages, and further workloads.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Folders with the user's own recipes and sets, searched before the installed one.
    pub lab_dir: Vec<PathBuf>,
    /// Folder of fetched packages.
    pub cache: Option<PathBuf>,
    /// Workloads that a command makes itself, and files beside them: texts by name.
    pub workloads: BTreeMap<String, String>,
}

/// Finds the files that machines are made from. Those that the user named are taken first.
pub fn resources(parts: &Parts) -> Resources {
    let look = |file| match file {
        Shipped::Guest(_) => part(file, &parts.guest),
        Shipped::Monitor(_) => part(file, &parts.vmm),
        Shipped::Elvis => elvis(),
        _ => found(file),
    };
    Resources {
        qemu: parts.qemu.clone(),
        shipped: Shipped::of_machines()
            .map(|file| (file, look(file)))
            .collect(),
        lab: Some(files(&parts.lab).map_err(|e| e.to_string())),
        boots_always: parts.no_resume,
        ..Resources::default()
    }
}

/// Prepares to record a machine's execution into `file`.
pub fn recording(file: &Path, what: What) -> anyhow::Result<Recording> {
    let plugin = found(Shipped::Plugin).map_err(anyhow::Error::msg)?;
    Ok(Recording {
        plugins: plugin.parent().unwrap_or(&plugin).to_owned(),
        file: file.to_owned(),
        what,
    })
}

/// Checks that a machine of these architectures uses each file that the user named. Machines of another architecture
/// use the tree's own file: the user's would be ignored silently.
pub fn check_named(parts: &Parts, architectures: &[Architecture]) -> Result<(), Usage> {
    for (option, named) in [("--guest", &parts.guest), ("--vmm", &parts.vmm)] {
        let Some(path) = named else { continue };
        let its = image::architecture(path);
        if !architectures.contains(&its) {
            let what = match (path.is_file(), image::is_elf(path), its) {
                (false, ..) => "is not a file".to_owned(),
                (true, false, _) => "is not an ELF file".to_owned(),
                (true, true, its) => format!("is for {}", its.name()),
            };
            return Err(Usage(format!(
                "{option} {} {what}, and no selected machine uses it: select one that does, or leave {option} out",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Opens recipes and store together, for lab machines.
pub fn files(places: &Places) -> anyhow::Result<LabFiles> {
    Ok(LabFiles {
        lab: recipes(places)?,
        store: store(places)?,
    })
}

/// Opens the recipes and sets of the user's folders and of the installed one.
pub fn recipes(places: &Places) -> anyhow::Result<Lab> {
    let mut folders = places.lab_dir.clone();
    match lab_folder() {
        Ok(folder) => folders.push(folder),
        Err(why) if folders.is_empty() => anyhow::bail!(why),
        // The user's own folders suffice.
        Err(_) => {}
    }
    Ok(Lab::open(&folders)?.with_workloads(places.workloads.clone()))
}

/// Opens the store that the user named, or the one in the user's cache.
pub fn store(places: &Places) -> anyhow::Result<Store> {
    let root = match &places.cache {
        Some(root) => root.clone(),
        None => Store::default_root(|name| env::var_os(name)).context(
            "neither XDG_CACHE_HOME nor HOME is set: name the folder of fetched packages with --cache DIR",
        )?,
    };
    Ok(Store::at(root))
}

/// Finds a part for one architecture. The user's file is taken if it is for that architecture. Otherwise the part is
/// the first of `$WORLDSWITCH_DATA/PATH`, PATH beside this program or in `../lib/worldswitch`, and `build/PATH` in the
/// tree around this program and around the current folder. If `$WORLDSWITCH_DATA` is set, no other place is searched.
fn part(file: Shipped, named: &Option<PathBuf>) -> Result<PathBuf, String> {
    let its = file.architecture().unwrap_or(Architecture::X86_64);
    match named {
        Some(path) if image::architecture(path) == its => there(file, path),
        _ => found(file),
    }
}

/// Finds the folder of the lab's recipes and sets, as the guest image is found. In the tree the folder is not below
/// `build`.
pub fn lab_folder() -> Result<PathBuf, String> {
    let file = found(Shipped::Lab)?;
    Ok(file.parent().unwrap_or(&file).to_owned())
}

/// Finds the lab's small kernel configuration: the user's own, else the installed one.
pub fn kernel_config(places: &Places) -> anyhow::Result<PathBuf> {
    let folders = places.lab_dir.iter().cloned();
    let folders = folders.chain(lab_folder().ok());
    let found = folders
        .map(|folder| folder.join("kernel.config"))
        .find(|path| path.is_file())
        .context("no lab folder has a kernel.config")?;
    Ok(std::path::absolute(found)?)
}

/// Returns the user's path, if the file exists.
/// Parses the name of a lab machine, with or without `lab:`.
///
/// # Errors
/// The text is not a name, or it names another platform.
pub fn lab_machine(name: &str) -> anyhow::Result<PlatformName> {
    let text = match name.contains(':') {
        true => name.to_owned(),
        false => format!("lab:{name}"),
    };
    let name: PlatformName = text.parse()?;
    if name.family.as_deref() != Some("lab") {
        bail!(Usage(format!(
            "{name} is not a lab machine: worldswitch lab list shows them"
        )));
    }
    Ok(name)
}

fn there(file: Shipped, path: &Path) -> Result<PathBuf, String> {
    if path.is_file() {
        Ok(path.to_owned())
    } else {
        Err(format!("there is no {} {}", file.name(), path.display()))
    }
}

/// Finds elvis, which is built beside this program.
fn elvis() -> Result<PathBuf, String> {
    let program = env::current_exe().map_err(|e| format!("this program is not found: {e}"))?;
    let path = program.with_file_name("elvis");
    if !path.is_file() {
        Err(format!(
            "there is no elvis at {}: {}",
            path.display(),
            Shipped::Elvis.cure()
        ))
    } else if !image::is_elf(&path) || image::architecture(&path) != Architecture::X86_64 {
        Err(format!(
            "{} is not for x86_64, which the lab's machine is",
            path.display()
        ))
    } else {
        Ok(path)
    }
}

fn found(file: Shipped) -> Result<PathBuf, String> {
    let data = env::var_os("WORLDSWITCH_DATA").map(PathBuf::from);
    find(file, data, env::current_exe().ok(), env::current_dir().ok())
}

/// Finds a shipped file. `WORLDSWITCH_DATA` alone counts if it is set. Otherwise an installation goes before a tree,
/// and the program's tree before the current folder's.
fn find(
    file: Shipped,
    data: Option<PathBuf>,
    program: Option<PathBuf>,
    current: Option<PathBuf>,
) -> Result<PathBuf, String> {
    let place = file.path();
    if let Some(data) = data {
        let path = data.join(place);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!(
                "there is no {} {}, where WORLDSWITCH_DATA points: correct or unset WORLDSWITCH_DATA",
                file.name(),
                path.display()
            ))
        };
    }
    let program_folder = program.as_deref().and_then(Path::parent);
    let installed = program_folder.into_iter().flat_map(|folder| {
        [
            folder.join(&place),
            folder.join("../lib/worldswitch").join(&place),
        ]
    });
    let upward = |start: Option<&Path>| -> Vec<PathBuf> {
        start.map_or(Vec::new(), |start| {
            start
                .ancestors()
                .map(|folder| folder.join(file.tree()).join(&place))
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
                file.name(),
                Path::new(file.tree()).join(&place).display(),
                file.cure()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const GUEST: Shipped = Shipped::Guest(Architecture::X86_64);

    fn put(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        path.to_owned()
    }

    #[test]
    fn places_are_looked_at_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let program = put(&root.join("tree/target/debug/worldswitch"));
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
        let around_here = put(&root.join("elsewhere/build").join(GUEST.path()));
        assert_eq!(found(None), Ok(around_here));
        let in_tree = put(&root.join("tree/build").join(GUEST.path()));
        assert_eq!(found(None), Ok(in_tree));
        let installed = root.join("tree/target/lib/worldswitch").join(GUEST.path());
        put(&installed);
        assert_eq!(
            found(None).unwrap().canonicalize().unwrap(),
            installed.canonicalize().unwrap()
        );
        let beside = put(&root.join("tree/target/debug").join(GUEST.path()));
        assert_eq!(found(None), Ok(beside));
        let named = put(&root.join("data").join(GUEST.path()));
        assert_eq!(found(Some("data")), Ok(named));
        assert!(
            found(Some("wrong"))
                .unwrap_err()
                .contains("WORLDSWITCH_DATA")
        );
    }
}
