//! A kernel's modules: their files, their dependencies, and the order in which they are loaded.

use super::decompress::Packing;
use super::{KernelError, UNKNOWN};
use crate::sets::Architecture;
use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most folders within each other that are searched.
const DEPTH: u32 = 16;
/// The file that lists the modules that are part of the kernel.
const BUILT_IN: &str = "modules.builtin";

/// Step for a module: load it, or nothing as it is built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Load(Loadable),
    /// The module is part of the kernel.
    BuiltIn {
        /// Name of the module, as it was asked for.
        name: String,
    },
}

/// A module to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loadable {
    /// Name of the module, as it was asked for; the file's name if only another module needs it.
    pub name: String,
    /// The module's bytes, decompressed.
    pub bytes: Vec<u8>,
    /// Names of the module's parameters, in the form in which Linux compares them.
    parameters: BTreeSet<String>,
}

impl Loadable {
    /// Checks options for the module, such as `npt=1 nested=1`. Linux ignores an option that it does not know, and the
    /// machine would be another than its recipe says.
    ///
    /// # Errors
    /// The module does not have one of these parameters.
    pub fn check(&self, options: &str) -> Result<(), KernelError> {
        let mut names = options
            .split_whitespace()
            .filter_map(|option| option.split('=').next());
        let is_known = |name: &&str| self.parameters.contains(&module_key(name));
        match names.find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => Err(KernelError::NoParameter {
                module: self.name.clone(),
                name: name.to_owned(),
                known: match &*Vec::from_iter(self.parameters.iter().map(|name| &**name)) {
                    [] => String::new(),
                    names => format!(". Its parameters: {}", names.join(", ")),
                },
            }),
        }
    }
}

/// Values of a module's section .modinfo, and its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct About {
    /// Names of the modules that the module needs.
    depends: Vec<String>,
    /// The release of the kernel that the module was built for.
    release: Option<String>,
    /// The machine of its ELF file.
    machine: u16,
    /// Names of its parameters, in the form in which Linux compares them.
    parameters: BTreeSet<String>,
}

/// The modules below a folder.
#[derive(Debug)]
pub(super) struct Modules<'a> {
    pub folder: &'a Path,
    /// The release of the kernel.
    pub release: &'a str,
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
}

/// A module's name in the form in which Linux compares it: '-' and '_' are the same.
pub fn module_key(name: &str) -> String {
    name.replace('-', "_")
}

/// The name of a module's file without its endings: `kvm-amd` of `kvm-amd.ko.xz`.
fn stem(file: &str) -> Option<&str> {
    let packed = file.rsplit_once('.');
    let packed = packed.filter(|(_, end)| Packing::of_suffix(end).is_some());
    packed.map_or(file, |(file, _)| file).strip_suffix(".ko")
}

/// Whether a file of this name is a module, or the list of modules that are part of the kernel.
pub fn is_of_modules(file: &str) -> bool {
    file == BUILT_IN || stem(file).is_some()
}

impl<'a> Modules<'a> {
    /// Finds all modules below `folder`. Among files of the same name it takes the first, in the order of names, files
    /// before folders. Links to folders are not followed: in a build tree some lead in circles.
    pub fn below(folder: &'a Path, release: &'a str) -> Self {
        let mut modules = Self {
            folder,
            release,
            files: BTreeMap::new(),
            built_in: BTreeSet::new(),
        };
        modules.collect(folder, DEPTH);
        modules
    }

    fn collect(&mut self, folder: &Path, depth: u32) {
        let entries = fs::read_dir(folder);
        let mut entries: Vec<_> = entries.into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut folders = Vec::new();
        for entry in entries {
            let file = entry.file_name();
            let file = file.to_string_lossy();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) if file == BUILT_IN => self.built_in(&entry.path()),
                Ok(_) => {
                    if let Some(name) = stem(&file) {
                        let place = self.files.entry(module_key(name));
                        place.or_insert_with(|| entry.path());
                    }
                }
                Err(_) => {}
            }
        }
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        for folder in folders {
            self.collect(&folder, depth);
        }
    }

    /// Reads lines such as `kernel/virt/lib/irqbypass.ko`.
    fn built_in(&mut self, path: &Path) {
        let text = fs::read_to_string(path).unwrap_or_default();
        let names = text.lines().filter_map(|line| Path::new(line).file_name());
        let names = names.filter_map(|name| stem(name.to_str()?).map(module_key));
        self.built_in.extend(names);
    }

    /// Whether there is no module at all.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the steps that load these modules: each after the modules that it needs, otherwise in the order in which
    /// they are asked for.
    pub fn steps(
        &self,
        wanted: &[&str],
        architecture: Architecture,
    ) -> Result<Vec<Step>, KernelError> {
        let mut loading = Loading {
            modules: self,
            machine: architecture.facts().elf_machine,
            done: BTreeSet::new(),
            steps: Vec::new(),
        };
        for name in wanted {
            loading.module(name, &mut Vec::new())?;
        }
        // A module may be asked for after another one that needs it. It keeps the name by which it was asked for.
        for step in &mut loading.steps {
            if let Step::Load(module) = step {
                let asked = wanted
                    .iter()
                    .find(|name| module_key(name) == module_key(&module.name));
                if let Some(asked) = asked {
                    (*asked).clone_into(&mut module.name);
                }
            }
        }
        Ok(loading.steps)
    }
}

struct Loading<'a> {
    modules: &'a Modules<'a>,
    machine: u16,
    /// The plain names of the modules in `steps`.
    done: BTreeSet<String>,
    steps: Vec<Step>,
}

impl Loading<'_> {
    /// Adds the steps for a module. `for_whom`: the modules that need it, beginning with the module that was asked for.
    fn module(&mut self, name: &str, for_whom: &mut Vec<String>) -> Result<(), KernelError> {
        let plain_name = module_key(name);
        if self.done.contains(&plain_name) {
            return Ok(());
        }
        if let Some(at) = for_whom
            .iter()
            .position(|other| module_key(other) == plain_name)
        {
            let circle = for_whom.iter().skip(at).map(|name| &**name);
            return Err(KernelError::Circle(
                circle.chain([name]).collect::<Vec<_>>().join(" -> "),
            ));
        }
        let modules = self.modules;
        let Some(path) = modules.files.get(&plain_name) else {
            if modules.built_in.contains(&plain_name) {
                self.steps.push(Step::BuiltIn { name: name.into() });
                self.done.insert(plain_name);
                return Ok(());
            }
            return Err(modules.missing(name, for_whom.last()));
        };
        let (bytes, about) = self.read(path)?;
        for_whom.push(name.to_owned());
        for needed in &about.depends {
            self.module(needed, for_whom)?;
        }
        for_whom.pop();
        let file = path.file_name().and_then(|file| stem(file.to_str()?));
        self.steps.push(Step::Load(Loadable {
            name: match for_whom.last() {
                None => name.to_owned(),
                Some(_) => file.unwrap_or(name).to_owned(),
            },
            bytes,
            parameters: about.parameters,
        }));
        self.done.insert(plain_name);
        Ok(())
    }

    /// Reads a module, and checks that the kernel can load it.
    fn read(&self, path: &Path) -> Result<(Vec<u8>, About), KernelError> {
        let wrong = |what: String| KernelError::Module {
            path: path.to_owned(),
            what,
        };
        let bytes = fs::read(path).map_err(|e| KernelError::io(path, e))?;
        let packing = path.extension().and_then(|end| end.to_str());
        let bytes = match packing.and_then(Packing::of_suffix) {
            None => bytes,
            Some(packing) => packing
                .open(&bytes)
                .map_err(|e| wrong(format!("it can't be decompressed: {e}")))?,
        };
        let about = about(&bytes).map_err(|e| wrong(format!("it is not a kernel module: {e}")))?;
        if about.machine != self.machine {
            return Err(wrong(
                "it is for another architecture than the machine: use modules of the kernel's own build"
                    .into(),
            ));
        }
        let kernel = self.modules.release;
        match &about.release {
            Some(release) if kernel != UNKNOWN && release != kernel => Err(wrong(format!(
                "it is for Linux {release}, the kernel is {kernel}: build both again (make bzImage modules), or unpack packages of one version only"
            ))),
            _ => Ok((bytes, about)),
        }
    }
}

impl Modules<'_> {
    fn missing(&self, name: &str, needed_by: Option<&String>) -> KernelError {
        let (release, folder) = (self.release.to_owned(), self.folder.to_owned());
        match self.is_empty() {
            true => KernelError::NoModules { release, folder },
            false => KernelError::NoModule {
                name: name.to_owned(),
                needed_by: match needed_by {
                    None => String::new(),
                    Some(other) => format!(", which {other} needs"),
                },
                release,
                folder,
            },
        }
    }
}

/// Reads the values of a module's section .modinfo.
fn about(bytes: &[u8]) -> Result<About, object::Error> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let mut about = About {
        machine: header.e_machine(endian),
        ..About::default()
    };
    let text = match sections.section_by_name(endian, b".modinfo") {
        Some((_, section)) => section.data(endian, bytes)?,
        None => &[],
    };
    for entry in text.split(|byte| *byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        match entry.split_once('=') {
            Some(("depends", names)) => {
                let names = names.split(',').map(str::trim);
                let names = names.filter(|name| !name.is_empty());
                about.depends.extend(names.map(str::to_owned));
            }
            // Each parameter has a type, and may have a description.
            Some(("parmtype", parameter)) => {
                let name = parameter.split(':').next().unwrap_or_default();
                about.parameters.insert(module_key(name));
            }
            Some(("vermagic", text)) => {
                about.release = text.split(' ').next().map(str::to_owned);
            }
            _ => {}
        }
    }
    Ok(about)
}

#[cfg(test)]
#[path = "modules_tests.rs"]
mod tests;
