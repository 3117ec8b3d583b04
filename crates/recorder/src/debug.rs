//! Finds debug information of the code that a machine executed. It may be in files that the user gave, in the sets of
//! `lab fetch --debug` in the cache, or in files that the build left beside the project's own programs.

use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use ws_explain::debug::{DebugError, Piece, Sites};
use ws_explain::place::{Machine, Role};
use ws_lab::kernel::module_key;
use ws_terminal::{Usage, output};

/// Suffix of a program's debug file, which the build writes beside the program.
const DEBUG: &str = ".debug";
/// Levels of folders that a search descends. Links are not followed, so no folder is deeper.
const DEEPEST: u32 = 32;

/// Places of debug information.
pub struct Sources<'a> {
    /// Files and folders that the user gave.
    pub given: &'a [PathBuf],
    /// Folders of fetched sets.
    pub fetched: &'a [PathBuf],
    /// Program file of each image of the machine, if the image is a program.
    pub programs: &'a [Option<PathBuf>],
}

/// Checks, before anything boots, that the given files and folders exist.
pub fn check(given: &[PathBuf]) -> anyhow::Result<()> {
    for path in given {
        fs::metadata(path)
            .map_err(|error| Usage(format!("--debug {}: {error}", path.display())))?;
    }
    Ok(())
}

/// A debug file that can't be used for its piece of code, with the reason.
struct Refused {
    path: PathBuf,
    why: DebugError,
}

/// Reads the debug information of everything that was executed, as far as there is any.
///
/// # Errors
/// A given file can't be read, is of other code, or is of code that was not executed.
pub fn read(sites: &mut Sites, machine: &Machine, sources: &Sources<'_>) -> anyhow::Result<()> {
    let given = files(sources.given)?;
    let fetched = files(sources.fetched)?;
    let cure = format!(
        "debug information must match the running code exactly: worldswitch lab fetch --debug {} fetches it for Debian's kernels",
        machine.name.trim_start_matches("lab:")
    );
    let mut used = BTreeSet::new();
    for piece in sites.pieces() {
        let Some(image) = machine.images.get(piece.image) else {
            continue;
        };
        let is_its = |path: &&PathBuf| is_of(path, &piece, image.role);
        if let Some(Some(program)) = sources.programs.get(piece.image) {
            let path = with_debug(program);
            if path.is_file() {
                let read = first_fitting(sites, machine, &piece, [&path].into_iter())?;
                read.map_err(|refused| {
                    anyhow::anyhow!("{}: {}: run make build", path.display(), refused.why)
                })?;
            }
            continue;
        }
        let own: Vec<&PathBuf> = given.iter().filter(is_its).collect();
        used.extend(own.iter().copied());
        let is_given = !own.is_empty();
        // With --diff a given file may be the other machine's.
        let all = own.into_iter().chain(fetched.iter().filter(is_its));
        match first_fitting(sites, machine, &piece, all)? {
            Err(Refused { path, why }) if is_given => bail!("{}: {why}; {cure}", path.display()),
            Err(Refused { path, why }) => {
                let path = path.display();
                output::remark(&format!("{path} is not used: {why}; {cure}"));
            }
            Ok(()) => {}
        }
    }
    let is_used = |source: &&PathBuf| used.iter().any(|path| path.starts_with(source));
    match sources.given.iter().find(|source| !is_used(source)) {
        None => Ok(()),
        Some(unused) => bail!(Usage(format!(
            "--debug {}: not of the executed software ({}). Name its vmlinux, its xen-syms, a module of it \
             such as kvm.ko, or a folder with them",
            unused.display(),
            listed(sites.pieces().iter().map(|piece| piece.name(machine)))
        ))),
    }
}

/// Reads the first file that fits the piece. Returns the reason of the first file if none fits. Without files there is
/// nothing to refuse.
fn first_fitting<'a>(
    sites: &mut Sites,
    machine: &Machine,
    piece: &Piece,
    files: impl Iterator<Item = &'a PathBuf>,
) -> anyhow::Result<Result<(), Refused>> {
    let mut first = None;
    for path in files {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        match sites.read(machine, piece, &bytes) {
            Ok(()) => return Ok(Ok(())),
            Err(why) => {
                _ = first.get_or_insert(Refused {
                    path: path.clone(),
                    why,
                })
            }
        }
    }
    Ok(first.map_or(Ok(()), Err))
}

/// Tells whether a file's name is that of a piece's debug information.
fn is_of(path: &Path, piece: &Piece, role: Role) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(DEBUG).unwrap_or(&name);
    match (&piece.module, name.strip_suffix(".ko")) {
        (Some(module), Some(name)) => module_key(name) == *module,
        (None, None) => matches!(role, Role::Linux | Role::Hypervisor),
        _ => false,
    }
}

/// Lists the given files, and the debug files in given folders, by their names. Files of higher folders come first, and
/// so are tried first.
fn files(sources: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for source in sources {
        let kind = fs::metadata(source).with_context(|| source.display().to_string())?;
        if !kind.is_dir() {
            found.push(source.clone());
            continue;
        }
        let mut folders = vec![source.clone()];
        for _ in 0..DEEPEST {
            let mut deeper = Vec::new();
            for folder in folders {
                let entries =
                    fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
                let mut entries: Vec<_> = entries.flatten().collect();
                entries.sort_by_key(fs::DirEntry::file_name);
                for entry in entries {
                    match entry.file_type() {
                        Ok(kind) if kind.is_dir() => deeper.push(entry.path()),
                        Ok(kind) if kind.is_file() && is_debug_file(&entry.file_name()) => {
                            found.push(entry.path());
                        }
                        _ => {}
                    }
                }
            }
            folders = deeper;
        }
    }
    Ok(found)
}

fn is_debug_file(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    let name = name.strip_suffix(DEBUG).unwrap_or(&name);
    let is_kernel = name == "vmlinux" || name.starts_with("vmlinux-");
    let is_xen = name.starts_with("xen-syms") && !name.ends_with(".map");
    is_kernel || is_xen || name.ends_with(".ko")
}

fn with_debug(program: &Path) -> PathBuf {
    let mut name = program.as_os_str().to_owned();
    name.push(DEBUG);
    name.into()
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    names.join(", ")
}
