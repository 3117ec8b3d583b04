//! Expansion of a campaign file to its tasks, and of a task to its machine and cell.

use crate::campaign::{Campaign, Cells, Commits, Kernel, Tree};
use crate::cell::{Cell, Key};
use crate::folder::{Built, Folder};
use crate::submission::{Build, ToBuild};
use crate::task::Task;
use anyhow::{Context, bail};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use ws_kernels::short_hash;
use ws_kernels::tree::{self, Commit};
use ws_lab::sets::Architecture;
use ws_machines::image::{BenchmarkRow, GuestImage};
use ws_machines::machine::Machine;
use ws_machines::name::PlatformName;
use ws_machines::platforms::{self, APPLICATIONS, Platform};
use ws_machines::resources::Resources;
use ws_runner::benchmarks;
use ws_runner::parts::{self, Parts, Places};
use ws_terminal::{Stop, Usage};

/// A campaign's tasks.
#[derive(Debug, Default)]
pub struct Expanded {
    /// Tasks in the file's order: by kernel, then by machine.
    pub tasks: Vec<Known>,
    /// Kernels that the campaign builds, including those that are built already.
    pub builds: Vec<Build>,
    /// The lab's packages that the tasks need, sorted.
    pub sets: Vec<String>,
}

/// Task, with the state of its cell.
#[derive(Debug)]
pub struct Known {
    pub task: Task,
    pub cell: CellOf,
}

impl Known {
    /// Key of the task's cell, if the machine can be made.
    pub fn key(&self) -> Option<&Key> {
        match &self.cell {
            CellOf::Cell(key, _) => Some(key),
            _ => None,
        }
    }
}

/// The cell of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellOf {
    /// A cell of this key, and the machine if its counts are exact.
    Cell(Key, Option<Rc<Exact>>),
    /// The task's kernel is not built yet.
    Unbuilt,
    /// The task's kernel could not be built, for this reason.
    Failed(String),
    /// The task's machine can't be made here, for this reason.
    Impossible(String),
}

/// Parts of an exact machine that decide its digits, beside the task.
#[derive(Debug, PartialEq, Eq)]
pub struct Exact {
    /// Digest of the machine.
    pub digest: String,
    /// Digest of the guest image, if the machine has one.
    pub image_sha256: Option<String>,
    /// Benchmarks of the machine, in their order.
    pub rows: Vec<BenchmarkRow>,
}

/// A kernel for machines that boot one.
struct Choice {
    /// The variant of the platform's name.
    variant: String,
    /// Name of the kernel's folder, if the campaign builds the kernel.
    name: Option<String>,
}

impl Expanded {
    /// Expands a campaign to its tasks.
    pub fn of(
        campaign: &Campaign,
        folder: &Folder,
        resources: &Resources,
        places: &Places,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let mut expanded = Self::default();
        let mut choices = Vec::new();
        for (index, kernel) in campaign.kernels.iter().enumerate() {
            let field = || format!("kernel[{index}]");
            match kernel {
                Kernel::Package(kernel) => choices.push(Choice {
                    variant: kernel.package.clone(),
                    name: None,
                }),
                Kernel::Built(kernel) => choices.push(Choice {
                    variant: utf8(&kernel.built)?,
                    name: None,
                }),
                Kernel::Tree(tree) => {
                    let build = build(tree, places, stop).with_context(field)?;
                    for kernel in &build.kernels {
                        choices.push(Choice {
                            variant: utf8(&folder.kernel(&kernel.name))?,
                            name: Some(kernel.name.clone()),
                        });
                    }
                    expanded.builds.push(build);
                }
            }
        }
        expanded.machines(campaign, &choices, resources)?;
        expanded.cells(folder, resources);
        Ok(expanded)
    }

    /// Makes the tasks.
    fn machines(
        &mut self,
        campaign: &Campaign,
        choices: &[Choice],
        resources: &Resources,
    ) -> anyhow::Result<()> {
        let mut machines = Vec::new();
        for text in &campaign.machines {
            let wrong = |why: String| Usage(format!("machines: {text}: {why}"));
            let name: PlatformName = text.parse().map_err(|e| wrong(format!("{e}")))?;
            let platform = platforms::check(&name, resources).map_err(|e| wrong(e.to_string()))?;
            if name.path().is_some() {
                bail!(wrong(
                    "worldswitch does not boot this platform, so no job can".into()
                ));
            }
            if name.family.is_none() && campaign.hosts.is_empty() {
                bail!(wrong(
                    "this platform measures time: name the nodes that measure, as hosts = [\"n1\"]"
                        .into()
                ));
            }
            machines.push((name, platform));
        }
        let mut rows = Rows::of(campaign, resources)?;
        let takes_kernel = |name: &PlatformName, platform: &Platform| {
            let boots_one = platform
                .recipe()
                .is_some_and(|recipe| recipe.kernel.is_some());
            boots_one && name.variant.is_none()
        };
        // A machine that takes no kernel is measured once, whatever kernels the campaign names.
        let own: Vec<_> = machines
            .iter()
            .filter(|(name, platform)| choices.is_empty() || !takes_kernel(name, platform))
            .collect();
        for (name, platform) in own {
            self.add(campaign, name, platform, None, &mut rows)?;
        }
        for choice in choices {
            for (name, platform) in machines.iter().filter(|(n, p)| takes_kernel(n, p)) {
                let name = PlatformName {
                    variant: Some(choice.variant.clone()),
                    ..name.clone()
                };
                let text = name.to_string();
                if text.parse::<PlatformName>().as_ref() != Ok(&name) {
                    bail!(Usage(format!(
                        "{text} is not the name of a platform: use a folder without '+' and ',' in its path"
                    )));
                }
                let checked = match choice.name {
                    Some(_) => Ok(()),
                    None => platforms::check(&name, resources).map(drop),
                };
                checked.map_err(|e| Usage(format!("{text}: {e}")))?;
                self.add(campaign, &name, platform, choice.name.as_ref(), &mut rows)?;
            }
        }
        rows.all_found()?;
        self.sets.sort();
        self.sets.dedup();
        Ok(())
    }

    /// Adds a machine's tasks.
    fn add(
        &mut self,
        campaign: &Campaign,
        name: &PlatformName,
        platform: &Platform,
        kernel: Option<&String>,
        rows: &mut Rows,
    ) -> anyhow::Result<()> {
        let mut kinds = Vec::new();
        match platform.recipe() {
            Some(recipe) => {
                let own = rows
                    .resources
                    .lab()?
                    .recipe(&name.name, name.variant.as_deref());
                let sets = own.as_ref().unwrap_or(recipe).sets();
                // Options may have changed the emulator.
                let sets = sets.into_iter().chain(recipe.sets());
                self.sets
                    .extend(sets.filter(|set| rows.is_set(set)).map(str::to_owned));
                // A recipe with a root file system boots a whole Linux: its rows are workloads.
                kinds.push(recipe.root.is_some());
            }
            None => {
                let runs_apps = APPLICATIONS.contains(&&*name.base());
                let only_apps = name.base() == "host";
                if !only_apps && (campaign.apps.is_empty() || !campaign.benchmarks.is_empty()) {
                    kinds.push(false);
                }
                if runs_apps && (only_apps || !campaign.apps.is_empty()) {
                    kinds.push(true);
                }
            }
        }
        let hosts: Vec<Option<&String>> = match name.family {
            Some(_) => vec![None],
            None => campaign.hosts.iter().map(Some).collect(),
        };
        for apps in kinds {
            let all = rows.of_kind(apps, platform)?;
            let groups: Vec<Vec<String>> = match campaign.cells {
                Cells::Machine => vec![all],
                Cells::Benchmark => all.into_iter().map(|row| vec![row]).collect(),
            };
            for (rows, host) in groups
                .into_iter()
                .flat_map(|rows| hosts.iter().map(move |host| (rows.clone(), *host)))
            {
                let task = Task {
                    platform: name.to_string(),
                    kernel: kernel.cloned(),
                    host: host.cloned(),
                    apps,
                    rows,
                    boots: campaign.boots,
                    // Platforms that measure time have no perturbed boots.
                    perturb: if host.is_some() { 0 } else { campaign.perturb },
                    samples: campaign.samples,
                };
                self.tasks.push(Known {
                    task,
                    cell: CellOf::Unbuilt,
                });
            }
        }
        Ok(())
    }

    /// Finds the cell of each task. Each machine is made once.
    fn cells(&mut self, folder: &Folder, resources: &Resources) {
        let mut machines: BTreeMap<(String, bool), Result<Made, String>> = BTreeMap::new();
        for known in &mut self.tasks {
            let task = &known.task;
            known.cell = match task.kernel.as_ref().map(|name| folder.built(name)) {
                Some(Built::No) => CellOf::Unbuilt,
                Some(Built::Failed(why)) => CellOf::Failed(why),
                Some(Built::Yes) | None if task.host.is_some() => cell(task, &Made::default()),
                Some(Built::Yes) | None => {
                    let machine = machines
                        .entry((task.platform.clone(), task.apps))
                        .or_insert_with(|| make(task, resources).map_err(|e| format!("{e:#}")));
                    match machine {
                        Ok(made) => cell(task, made),
                        Err(why) => CellOf::Impossible(why.clone()),
                    }
                }
            };
        }
    }
}

/// The cell of a task on this machine.
fn cell(task: &Task, made: &Made) -> CellOf {
    let host = task.host.as_deref().unwrap_or("any host");
    let machine = match &made.digest {
        Some(digest) => digest.clone(),
        None => format!("{} on {host}", task.platform),
    };
    let cell = Cell {
        machine,
        rows: task.rows.clone(),
        boots: task.boots,
        perturb: task.perturb,
        samples: task.samples,
    };
    CellOf::Cell(cell.key(), made.exact.clone())
}

/// The cell of a task on this node, and whether it is exact.
pub fn cell_here(task: &Task, resources: &Resources) -> anyhow::Result<(Key, bool)> {
    let made = match task.host {
        Some(_) => Made::default(),
        None => make(task, resources)?,
    };
    match cell(task, &made) {
        CellOf::Cell(key, exact) => Ok((key, exact.is_some())),
        // cell() returns no other variant.
        _ => bail!("{} has no cell", task.platform),
    }
}

/// A machine that was made.
#[derive(Clone, Debug, Default)]
struct Made {
    digest: Option<String>,
    exact: Option<Rc<Exact>>,
}

/// Makes a task's machine.
fn make(task: &Task, resources: &Resources) -> anyhow::Result<Made> {
    let name: PlatformName = task.platform.parse()?;
    let machine: Box<dyn Machine> = match task.apps {
        true => platforms::open_applications(&name, resources)?,
        false => platforms::open(&name, resources)?,
    };
    let facts = machine.description();
    let Some(digest) = facts.digest.clone() else {
        return Ok(Made::default());
    };
    let exact = if facts.unit == Some("insns") && !facts.counts_only_exits {
        let (rows, image_sha256) = match &facts.workloads {
            Some(rows) => (rows.clone(), None),
            None => {
                let image = GuestImage::read(&resources.guest_for(facts.architecture)?)?;
                (image.rows, Some(image.sha256))
            }
        };
        let digest = digest.clone();
        Some(Rc::new(Exact {
            digest,
            image_sha256,
            rows,
        }))
    } else {
        None
    };
    Ok(Made {
        digest: Some(digest),
        exact,
    })
}

/// Rows of machines that the campaign chooses.
struct Rows<'a> {
    campaign: &'a Campaign,
    resources: &'a Resources,
    workloads: Vec<String>,
    /// The names of benchmarks, by the architecture of the machines' guests.
    images: BTreeMap<Architecture, Vec<String>>,
}

impl<'a> Rows<'a> {
    fn of(campaign: &'a Campaign, resources: &'a Resources) -> anyhow::Result<Self> {
        let workloads = resources.lab()?.workloads()?;
        for name in &campaign.apps {
            benchmarks::check(name, &workloads).map_err(|e| Usage(format!("apps: {e}")))?;
        }
        Ok(Self {
            campaign,
            resources,
            workloads,
            images: BTreeMap::new(),
        })
    }

    fn is_set(&self, name: &str) -> bool {
        let lab = self.resources.lab();
        lab.is_ok_and(|lab| lab.sets().contains_key(name))
    }

    /// The rows of a platform, sorted.
    fn of_kind(&mut self, apps: bool, platform: &Platform) -> anyhow::Result<Vec<String>> {
        let (names, wanted) = match apps {
            true => (self.workloads.clone(), &self.campaign.apps),
            false => {
                let architecture = platform.architecture();
                if let Entry::Vacant(place) = self.images.entry(architecture) {
                    let image = GuestImage::read(&self.resources.guest_for(architecture)?)?;
                    place.insert(image.rows.into_iter().map(|row| row.name).collect());
                }
                let names = self.images[&architecture].clone();
                (names, &self.campaign.benchmarks)
            }
        };
        let is_wanted = |name: &String| wanted.is_empty() || wanted.contains(name);
        let mut rows: Vec<String> = names.into_iter().filter(is_wanted).collect();
        rows.sort();
        if rows.is_empty() {
            self.all_found()?;
            bail!(Usage(format!(
                "machines: {} lacks all named benchmarks",
                platform.name
            )));
        }
        Ok(rows)
    }

    /// Checks that some machine has each benchmark.
    fn all_found(&self) -> Result<(), Usage> {
        if self.images.is_empty() {
            return Ok(());
        }
        let known: BTreeSet<&String> = self.images.values().flatten().collect();
        let known: Vec<&String> = known.into_iter().collect();
        let mut wanted = self.campaign.benchmarks.iter();
        wanted.try_for_each(|name| {
            benchmarks::check(name, &known).map_err(|e| Usage(format!("benchmarks: {e}")))
        })
    }
}

/// The kernels of a tree.
fn build(tree: &Tree, places: &Places, stop: &Stop) -> anyhow::Result<Build> {
    let commits = commits(tree, stop)?;
    let how = match &tree.build {
        Some(command) => command.clone().into_bytes(),
        None => {
            let config = parts::kernel_config(places)?;
            let bytes = std::fs::read(&config);
            bytes.with_context(|| format!("can't read {}", config.display()))?
        }
    };
    let how = short_hash([how], 8);
    let kernels = commits.into_iter().map(|commit| ToBuild {
        name: format!("{}-{how}", commit.short()),
        commit: commit.id,
        subject: commit.subject,
    });
    Ok(Build {
        tree: tree.tree.clone(),
        command: tree.build.clone(),
        kernels: kernels.collect(),
    })
}

/// The commits that a tree names, ancestors first.
fn commits(tree: &Tree, stop: &Stop) -> anyhow::Result<Vec<Commit>> {
    let single = |name: &str| tree::range(&tree.tree, name, name, stop);
    let all = match &tree.commits {
        Commits::List(names) => {
            let mut all: Vec<Commit> = Vec::new();
            for commit in names.iter().map(|name| single(name)) {
                all.extend(commit?.into_iter().next_back());
            }
            let mut seen = BTreeSet::new();
            all.retain(|commit| seen.insert(commit.id.clone()));
            all
        }
        Commits::Range(range) => match range.split_once("..") {
            Some((first, last)) => tree::range(&tree.tree, first, last, stop)?,
            None => single(range)?.into_iter().next_back().into_iter().collect(),
        },
    };
    if all.is_empty() {
        bail!(Usage("commits: this range has no commits".into()));
    }
    let last = all.len() - 1;
    let taken = all.into_iter().enumerate();
    let every = tree.every as usize;
    let taken = taken.filter(|(index, _)| (last - index) % every == 0);
    Ok(taken.map(|(_, commit)| commit).collect())
}

/// A path as part of a platform's name.
fn utf8(path: &Path) -> anyhow::Result<String> {
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => bail!(Usage(format!(
            "{} is not UTF-8: use another folder",
            path.display()
        ))),
    }
}

/// The submitter's own files, as words of a command line; their paths must be the same on all nodes.
pub(crate) fn words_of(parts: &Parts) -> anyhow::Result<Vec<String>> {
    let mut words = Vec::new();
    let lab_dirs = parts.lab.lab_dir.iter().map(|path| ("--lab-dir", path));
    let files = [
        ("--guest", &parts.guest),
        ("--qemu", &parts.qemu),
        ("--vmm", &parts.vmm),
    ];
    let files = files
        .into_iter()
        .filter_map(|(option, path)| Some((option, path.as_ref()?)));
    for (option, path) in lab_dirs.chain(files) {
        words.push(option.to_owned());
        words.push(utf8(&std::path::absolute(path)?)?);
    }
    Ok(words)
}
