//! The folders with recipes, workloads, sets and pins: the user's first, then the installed one.

use crate::quirks::{self, Quirks};
use crate::recipe::{Recipe, Word};
use crate::recipe_file::RecipeFile;
use crate::sets::{Lock, Package, Pins, Set, SetKind, Sets, parse_lock, parse_sets, write_lock};
use crate::store::Unpacked;
use crate::workload::{self, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Reason why recipes or sets can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("can't {doing} {}: {cause}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    /// The text names line and key.
    #[error("{}: {text}", path.display())]
    Toml { path: PathBuf, text: String },
    #[error("recipe {}: {what}", path.display())]
    Recipe { path: PathBuf, what: String },
    #[error("there is no lab recipe \"{name}\"; there are {known} (worldswitch lab list)")]
    NoRecipe { name: String, known: String },
    #[error("there is no workload \"{name}\"; there are {known}")]
    NoWorkload { name: String, known: String },
    #[error("there is no set of packages \"{name}\"; there are {known} (worldswitch lab list)")]
    NoSet { name: String, known: String },
    #[error(
        "there is no lab recipe and no set of packages \"{name}\"; the recipes are {recipes}, the sets {sets} (worldswitch lab list)"
    )]
    Neither {
        name: String,
        recipes: String,
        sets: String,
    },
    #[error(transparent)]
    Apply(#[from] crate::recipe::ApplyError),
}

impl LabError {
    pub(crate) fn toml(path: &Path, error: &toml::de::Error) -> Self {
        Self::Toml {
            path: path.to_owned(),
            text: error.to_string().trim_end().to_owned(),
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            cause,
        }
    }
}

/// The name of a folder's lock file.
const LOCK: &str = "lock.toml";

/// All recipes, sets and workloads. A folder may have `recipes/NAME.toml`, `workloads/NAME.toml` with
/// the files that it names, `packages.toml`, `lock.toml` and `quirks.toml`.
#[derive(Clone, Debug)]
pub struct Lab {
    folders: Vec<PathBuf>,
    sets: Sets,
    /// The folder of each set, as an index of `folders`.
    homes: BTreeMap<String, usize>,
    /// The pins of each folder.
    locks: Vec<Lock>,
    quirks: Quirks,
    /// Workloads that are in no folder, and their files: texts by name.
    workloads: BTreeMap<String, String>,
}

impl Lab {
    /// Reads the sets, pins and quirks of `folders`. If two folders have the same name, the first
    /// wins.
    pub fn open(folders: &[PathBuf]) -> Result<Self, LabError> {
        let mut lab = Self {
            folders: folders.to_vec(),
            sets: Sets::new(),
            homes: BTreeMap::new(),
            locks: Vec::new(),
            quirks: Quirks::new(),
            workloads: BTreeMap::new(),
        };
        for (home, folder) in folders.iter().enumerate() {
            fs::read_dir(folder).map_err(|e| LabError::io("read the lab folder", folder, e))?;
            let path = folder.join("packages.toml");
            if let Some(text) = read(&path)? {
                for (name, set) in parse_sets(&text, &path)? {
                    lab.homes.entry(name.clone()).or_insert(home);
                    lab.sets.entry(name).or_insert(set);
                }
            }
            let path = folder.join(LOCK);
            let lock = read(&path)?.map(|text| parse_lock(&text, &path));
            lab.locks.push(lock.transpose()?.unwrap_or_default());
            let path = folder.join("quirks.toml");
            if let Some(text) = read(&path)? {
                for (name, quirk) in quirks::parse(&text, &path)? {
                    lab.quirks.entry(name).or_insert(quirk);
                }
            }
        }
        Ok(lab)
    }

    /// Adds workloads that are in no folder: the texts of files `workloads/NAME.toml`, and of the files that they name,
    /// by name. They come before the workloads of folders.
    #[must_use]
    pub fn with_workloads(self, workloads: BTreeMap<String, String>) -> Self {
        Self { workloads, ..self }
    }

    /// Reads the recipe `name`, resolved, with the variant that follows `@`.
    pub fn recipe(&self, name: &str, variant: Option<&str>) -> Result<Recipe, LabError> {
        let (file, path) = self.resolve(name)?;
        let recipe = self.complete(name, variant, file, &path)?;
        let unknown = |fault: &&Word| !self.quirks.contains_key(&fault.word);
        match recipe.emulator.free_of.iter().find(unknown) {
            None => Ok(recipe),
            Some(fault) => Err(LabError::Recipe {
                path,
                what: format!(
                    "emulator.free_of names \"{}\", which no quirks.toml has",
                    fault.word
                ),
            }),
        }
    }

    fn complete(
        &self,
        name: &str,
        variant: Option<&str>,
        file: RecipeFile,
        path: &Path,
    ) -> Result<Recipe, LabError> {
        let Some(variant) = variant else {
            return file.complete(name, path);
        };
        if let Some(varied) = file.varied(variant) {
            let recipe = varied.complete(name, path)?;
            return Ok(Recipe {
                variant: Some(variant.to_owned()),
                ..recipe
            });
        }
        let own: Vec<String> = file.variants().cloned().collect();
        let recipe = file.complete(name, path)?;
        let sets: Vec<&str> = self.sets_for(&recipe).collect();
        Ok(recipe.with_variant(variant, &sets, &own)?)
    }

    /// The variants of a recipe: its own, and those that sets of packages offer. A user's path is a variant too, but is
    /// not listed.
    pub fn variants(&self, name: &str) -> Result<Vec<String>, LabError> {
        let (file, path) = self.resolve(name)?;
        let mut variants: Vec<String> = file.variants().cloned().collect();
        let recipe = file.complete(name, &path)?;
        if let Some(prefix) = recipe.varied_prefix() {
            let sets = self.sets_for(&recipe);
            variants.extend(sets.filter_map(|set| Some(set.strip_prefix(prefix)?.to_owned())));
        }
        Ok(variants)
    }

    /// The sets of packages for machines of a recipe's architecture.
    fn sets_for(&self, recipe: &Recipe) -> impl Iterator<Item = &str> {
        let fits = |set: &&Set| set.architecture == recipe.architecture;
        let sets = self.sets.iter();
        sets.filter_map(move |(name, set)| Some(set).filter(fits).map(|_| &**name))
    }

    /// The names of all recipes, sorted.
    pub fn recipes(&self) -> Result<Vec<String>, LabError> {
        self.names("recipes")
    }

    /// The names of all workloads, sorted.
    pub fn workloads(&self) -> Result<Vec<String>, LabError> {
        let own = self.workloads.keys();
        let own = own.filter_map(|name| name.strip_suffix(".toml"));
        let mut names: BTreeSet<String> = own.map(str::to_owned).collect();
        names.extend(self.names("workloads")?);
        Ok(names.into_iter().collect())
    }

    /// The workload `name`.
    pub fn workload(&self, name: &str) -> Result<Workload, LabError> {
        if workload::is_name(name) {
            if let Some((text, path)) = self.of_workloads(&format!("{name}.toml"))? {
                let find = |name: &str| Ok(self.of_workloads(name)?.map(|(text, _)| text));
                return Workload::parse(name, &text, &path, &find);
            }
        }
        Err(LabError::NoWorkload {
            name: name.to_owned(),
            known: list(&self.workloads()?),
        })
    }

    /// Reads a file of `workloads`. Returns its text and its path.
    fn of_workloads(&self, name: &str) -> Result<Option<(String, PathBuf)>, LabError> {
        if let Some(text) = self.workloads.get(name) {
            return Ok(Some((text.clone(), name.into())));
        }
        for folder in &self.folders {
            let path = folder.join("workloads").join(name);
            if let Some(text) = read(&path)? {
                return Ok(Some((text, path)));
            }
        }
        Ok(None)
    }

    /// The names of the files in a subfolder of any folder, without `.toml`, sorted.
    fn names(&self, kind: &str) -> Result<Vec<String>, LabError> {
        let mut names = BTreeSet::new();
        for folder in self.folders.iter().map(|folder| folder.join(kind)) {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(LabError::io("read the folder", &folder, e)),
            };
            for entry in entries {
                let entry = entry.map_err(|e| LabError::io("read", &folder, e))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                names.extend(name.strip_suffix(".toml").map(str::to_owned));
            }
        }
        Ok(names.into_iter().collect())
    }

    /// The set `name`.
    pub fn set(&self, name: &str) -> Result<&Set, LabError> {
        self.sets.get(name).ok_or_else(|| LabError::NoSet {
            name: name.to_owned(),
            known: list(self.sets.keys()),
        })
    }

    /// The set with the debug information of the set `name`.
    pub fn debug_set(&self, name: &str) -> Option<String> {
        let debug = format!("debug-{name}");
        let is_one = |set: &Set| set.kind == SetKind::Debug;
        self.sets.get(&debug).is_some_and(is_one).then_some(debug)
    }

    /// All sets.
    pub fn sets(&self) -> &Sets {
        &self.sets
    }

    /// All known faults, with or without cures.
    pub fn quirks(&self) -> &Quirks {
        &self.quirks
    }

    /// Examines the files of a set in the store for known faults.
    pub(crate) fn health(&self, set: &Unpacked) -> io::Result<quirks::Health<'_>> {
        quirks::health(&self.quirks, &set.root, set.manifest(), false)
    }

    /// The faults of a set in the store that `lab fetch` would cure; none if its files can't be read.
    pub fn curable(&self, set: &Unpacked) -> Vec<&str> {
        let health = quirks::health(&self.quirks, &set.root, set.manifest(), true);
        health.map(|health| health.curable).unwrap_or_default()
    }

    /// Whether a recipe has its emulator from a set and wants it to be free of a fault.
    pub(crate) fn is_wanted_free_of(&self, set: &str, fault: &str) -> bool {
        let recipes = self.recipes().unwrap_or_default();
        let mut recipes = recipes
            .iter()
            .filter_map(|name| self.recipe(name, None).ok());
        recipes.any(|recipe| {
            let emulator = &recipe.emulator;
            emulator.package == set && emulator.free_of.iter().any(|word| word.word == fault)
        })
    }

    /// Whether a set in the store has all files that this version keeps. An older version of this program, or of the
    /// set's definition, may have kept fewer.
    pub fn has_all(&self, there: &Unpacked) -> bool {
        let set = self.sets.get(&there.set);
        set.is_none_or(|set| there.manifest().is_kept_by(set))
    }

    /// The packages that a set is pinned to, from the lock file in the folder of the set; empty if
    /// it is not pinned.
    pub fn pins(&self, set: &str) -> &[Package] {
        self.pinned(set).map_or(&[], |pins| &pins.packages)
    }

    /// The time at which the archive had the packages that a set is pinned to, as archives of old versions name their
    /// folders: `20261126T084355Z`.
    pub fn pinned_at(&self, set: &str) -> Option<String> {
        let date = self.pinned(set)?.date?.to_string();
        Some(date.replace(['-', ':'], ""))
    }

    fn pinned(&self, set: &str) -> Option<&Pins> {
        self.locks.get(*self.homes.get(set)?)?.get(set)
    }

    /// Writes new pins of these sets into the lock files in the sets' folders. Returns the files that were written.
    pub(crate) fn pin(&self, pins: BTreeMap<String, Pins>) -> Result<Vec<PathBuf>, LabError> {
        let mut written = Vec::new();
        for (home, (folder, lock)) in self.folders.iter().zip(&self.locks).enumerate() {
            let at_home = |set: &str| self.homes.get(set) == Some(&home);
            let mut lock = lock.clone();
            lock.extend(
                pins.iter()
                    .filter(|(set, _)| at_home(set))
                    .map(|(s, p)| (s.clone(), p.clone())),
            );
            // Pins of sets that no longer exist are dropped.
            lock.retain(|set, _| at_home(set));
            if !pins.keys().any(|set| at_home(set)) {
                continue;
            }
            let path = folder.join(LOCK);
            let mut file = tempfile::NamedTempFile::new_in(folder)
                .map_err(|e| LabError::io("write into", folder, e))?;
            file.write_all(write_lock(&lock).as_bytes())
                .and_then(|()| {
                    file.as_file()
                        .set_permissions(Permissions::from_mode(0o644))
                })
                .map_err(|e| LabError::io("write", &path, e))?;
            file.persist(&path)
                .map_err(|e| LabError::io("write", &path, e.error))?;
            written.push(path);
        }
        Ok(written)
    }

    /// The sets that a name stands for: the set of that name, or those of a recipe. A recipe is written like a
    /// platform, with or without `lab:` and a variant.
    pub fn sets_of(&self, name: &str) -> Result<Vec<String>, LabError> {
        if self.sets.contains_key(name) {
            return Ok(vec![name.to_owned()]);
        }
        let (recipe, variant) = split(name);
        let recipe = match self.recipe(recipe, variant) {
            Err(LabError::NoRecipe { known, .. }) => {
                return Err(LabError::Neither {
                    name: name.to_owned(),
                    recipes: known,
                    sets: list(self.sets.keys()),
                });
            }
            recipe => recipe?,
        };
        Ok(recipe.sets().into_iter().map(str::to_owned).collect())
    }

    /// Reads a recipe's file, merged with all that it extends, and its path.
    fn resolve(&self, name: &str) -> Result<(RecipeFile, PathBuf), LabError> {
        let (mut file, path) = self.file(name)?;
        let mut seen = vec![name.to_owned()];
        while let Some(parent) = file.extends.take() {
            if seen.contains(&parent) {
                return Err(LabError::Recipe {
                    path,
                    what: format!("it extends itself, via {} and {parent}", seen.join(", ")),
                });
            }
            let (parents, _) = self.file(&parent)?;
            file = file.over(parents);
            seen.push(parent);
        }
        Ok((file, path))
    }

    fn file(&self, name: &str) -> Result<(RecipeFile, PathBuf), LabError> {
        // A name must not be a path, which could lead out of the folders.
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.chars().all(good) {
            for folder in &self.folders {
                let path = folder.join("recipes").join(format!("{name}.toml"));
                if let Some(text) = read(&path)? {
                    return Ok((RecipeFile::parse(&text, &path)?, path));
                }
            }
        }
        Err(LabError::NoRecipe {
            name: name.to_owned(),
            known: list(&self.recipes()?),
        })
    }
}

/// A recipe's name and its variant: `lab:kvm@6.12`, the family may be left out.
pub fn split(name: &str) -> (&str, Option<&str>) {
    let name = name.strip_prefix("lab:").unwrap_or(name);
    match name.split_once('@') {
        Some((name, variant)) => (name, Some(variant)),
        None => (name, None),
    }
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.into_iter().map(|name| &**name).collect();
    match names.len() {
        0 => "none".to_owned(),
        _ => names.join(", "),
    }
}

/// Reads the text of a file; none if there is no such file.
fn read(path: &Path) -> Result<Option<String>, LabError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(LabError::io("read", path, e)),
    }
}
