//! The campaign file: the measurements that a user wants, and their machines. `docs/fleet.md` explains every field.

use crate::folder::Folder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use ws_history::Address;
use ws_terminal::{Usage, input};

/// Fault of a campaign file, with the field.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct CampaignError {
    path: PathBuf,
    what: String,
}

/// Reads the campaign of a file, and opens the folder that it names.
pub fn open(file: &Path) -> anyhow::Result<(Campaign, Folder)> {
    let campaign = Campaign::parse(&input::read(file)?, file).map_err(|e| Usage(e.to_string()))?;
    if campaign.post {
        let history = campaign.history.as_deref().unwrap_or_default();
        must_take_posts(history)
            .map_err(|what| Usage(format!("{}: post: {what}", file.display())))?;
    }
    let folder = Folder::at(&campaign.folder);
    Ok((campaign, folder))
}

/// Checks that nodes can post to a history: its address is kept in the shared folder.
fn must_take_posts(history: &str) -> Result<(), String> {
    if !Address::is_one(history) {
        return Err("it needs history = \"postgresql://...\", which all nodes reach".into());
    }
    match Address::has_password(history) {
        Ok(false) => Ok(()),
        Ok(true) => Err(
            "the shared folder keeps the history's address: put the password into ~/.pgpass".into(),
        ),
        Err(error) => Err(error.to_string()),
    }
}

/// A campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// A name of a-z, 0-9 and '-', at most 32: jobs are named for it.
    pub name: String,
    /// The folder that all nodes share. From [`Campaign::parse`] on it is absolute.
    pub folder: PathBuf,
    /// Platforms, as `--on` takes them, each once.
    pub machines: Vec<String>,
    /// The hosts on which platforms that measure time are measured, by the names of Slurm's nodes.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Names of benchmarks; empty: all.
    #[serde(default)]
    pub benchmarks: Vec<String>,
    /// Names of workloads, for machines that boot a whole Linux; empty: all.
    #[serde(default)]
    pub apps: Vec<String>,
    /// Benchmarks that are one cell.
    #[serde(default)]
    pub cells: Cells,
    /// Boots that are alike.
    #[serde(default = "two")]
    pub boots: u32,
    /// Additional boots that vary what should not matter.
    #[serde(default = "one")]
    pub perturb: u32,
    /// Samples of each benchmark in a boot; by default the guest chooses.
    pub samples: Option<u64>,
    /// Whether each node first measures one cell that all others measure too.
    #[serde(default = "yes")]
    pub proof: bool,
    /// The kernels of machines that boot one; empty: the machines' own.
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<Kernel>,
    /// History whose exact results are known, and to which collected ones are added: a file, absolute from
    /// [`Campaign::parse`] on, or `postgresql://...`.
    pub history: Option<String>,
    /// Whether each task adds its result to the history at once.
    #[serde(default)]
    pub post: bool,
    /// Costs that the campaign may cause.
    #[serde(default)]
    pub budget: Budget,
    /// The site's Slurm.
    #[serde(default)]
    pub slurm: Slurm,
}

/// Grouping of benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cells {
    /// All benchmarks of a machine in the same boots, as `worldswitch run` measures them.
    #[default]
    Machine,
    /// Each benchmark in boots of its own.
    Benchmark,
}

/// A kernel, or a range of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "KernelFields")]
pub enum Kernel {
    /// A kernel of the lab's packages, as in `lab:kvm@6.12`.
    Package(Package),
    /// A kernel that is built already.
    Built(Built),
    /// Commits to build.
    Tree(Tree),
}

/// A kernel of the lab's packages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Package {
    /// Version, such as `6.12`.
    pub package: String,
}

/// A built kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Built {
    /// A build tree, or a folder with `bzImage` and modules, which all nodes see. Absolute from
    /// [`Campaign::parse`] on.
    pub built: PathBuf,
}

/// Commits of a repository of Linux.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tree {
    /// The repository, which all nodes see. Absolute from [`Campaign::parse`] on.
    pub tree: PathBuf,
    /// `GOOD..BAD` (both ends are included), or names of commits.
    pub commits: Commits,
    /// Step in a range: only each N-th commit is taken, counted from the last, which is always taken.
    pub every: u32,
    /// Shell command that builds a commit, as `worldswitch lab bisect --build`; by default the lab's small
    /// configuration is built.
    pub build: Option<String>,
}

/// The fields of a kernel in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelFields {
    package: Option<String>,
    built: Option<PathBuf>,
    tree: Option<PathBuf>,
    commits: Option<Commits>,
    every: Option<u32>,
    build: Option<String>,
}

impl TryFrom<KernelFields> for Kernel {
    type Error = &'static str;

    fn try_from(fields: KernelFields) -> Result<Self, Self::Error> {
        let of_tree = fields.commits.is_some() || fields.every.is_some() || fields.build.is_some();
        match (fields.package, fields.built, fields.tree) {
            (_, _, None) if of_tree => Err("commits, every and build need tree"),
            (Some(package), None, None) => Ok(Self::Package(Package { package })),
            (None, Some(built), None) => Ok(Self::Built(Built { built })),
            (None, None, Some(tree)) => Ok(Self::Tree(Tree {
                tree,
                commits: fields.commits.ok_or("tree needs commits")?,
                every: fields.every.unwrap_or(1),
                build: fields.build,
            })),
            _ => Err("a kernel has one of package, built and tree"),
        }
    }
}

/// Choice of commits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a range, as \"v6.12..v6.13\", or a list of commits"
)]
pub enum Commits {
    /// `FIRST..LAST`, or one commit.
    Range(String),
    /// Several commits.
    List(Vec<String>),
}

/// The costs that the user allows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Hours of one processor, over all submissions of the campaign. No limit without it.
    pub core_hours: Option<f64>,
    /// Assumed minutes of a cell, until a like one was measured.
    pub cell_minutes: Option<f64>,
}

/// A site's Slurm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slurm {
    /// `sbatch --partition`.
    pub partition: Option<String>,
    /// `sbatch --account`.
    pub account: Option<String>,
    /// `sbatch --time` of a cell.
    pub time: Option<String>,
    /// Processors of a cell; boots of one cell run side by side.
    pub cpus: u32,
    /// Further options of sbatch, each a word.
    pub options: Vec<String>,
    /// The most tasks in one array, at most the site's `MaxArraySize` less one.
    pub array: u32,
    /// The worldswitch of the nodes; by default the path of the one that submits.
    pub program: Option<PathBuf>,
    /// A node's folder for packages and counts; `%N` is the node's name. By default one in the node's
    /// temporary folder.
    pub cache: Option<String>,
    /// Whether the lab's packages are carried to nodes by an archive in the shared folder.
    pub carry: bool,
    /// The job that builds kernels.
    pub build: Build,
}

impl Default for Slurm {
    fn default() -> Self {
        Self {
            partition: None,
            account: None,
            time: None,
            cpus: 1,
            options: Vec::new(),
            array: 1000,
            program: None,
            cache: None,
            carry: true,
            build: Build::default(),
        }
    }
}

/// The job that builds kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Build {
    /// Processors of the job.
    pub cpus: u32,
    /// `sbatch --time`.
    pub time: Option<String>,
    /// Further options of sbatch.
    pub options: Vec<String>,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            cpus: 8,
            time: None,
            options: Vec::new(),
        }
    }
}

fn one() -> u32 {
    1
}

fn two() -> u32 {
    2
}

fn yes() -> bool {
    true
}

impl Campaign {
    /// Parses the file at `path`; folders in it are relative to the file's own. An error names the field.
    pub fn parse(text: &str, path: &Path) -> Result<Self, CampaignError> {
        let fail = |what: String| CampaignError {
            path: path.to_owned(),
            what,
        };
        let parser = toml::Deserializer::parse(text).map_err(|e| fail(e.to_string()))?;
        let mut campaign: Self = serde_path_to_error::deserialize(parser).map_err(|error| {
            let field = error.path().to_string();
            let field = if field == "." { "the file" } else { &field };
            fail(format!("{}: {}", field.escape_debug(), error.inner()))
        })?;
        campaign.check().map_err(fail)?;
        let base = std::path::absolute(path).map_err(|e| fail(e.to_string()))?;
        campaign.resolve(base.parent().unwrap_or(Path::new("/")));
        Ok(campaign)
    }

    /// Makes the campaign's folders absolute.
    fn resolve(&mut self, base: &Path) {
        self.folder = base.join(&self.folder);
        for kernel in &mut self.kernels {
            match kernel {
                Kernel::Package(_) => {}
                Kernel::Built(built) => built.built = base.join(&built.built),
                Kernel::Tree(tree) => tree.tree = base.join(&tree.tree),
            }
        }
        if let Some(history) = self.history.as_mut().filter(|text| !text.contains("://")) {
            *history = base.join(&history).to_string_lossy().into_owned();
        }
        if let Some(program) = &mut self.slurm.program {
            *program = base.join(&program);
        }
    }

    /// Checks values beyond their types. Names end up in file names and on command lines.
    fn check(&self) -> Result<(), String> {
        let is_name = |text: &str, most: usize| {
            let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !text.is_empty()
                && text.len() <= most
                && text.chars().all(good)
                && !text.starts_with('-')
        };
        if !is_name(&self.name, 32) {
            return Err("name: use a-z, 0-9 and '-' (not first), at most 32 characters".into());
        }
        if self.folder.as_os_str().is_empty() {
            return Err("folder: name a folder that all nodes share".into());
        }
        if self.machines.is_empty() {
            return Err("machines: name at least one platform, as \"lab:kvm\"".into());
        }
        once("machines", &self.machines)?;
        once("benchmarks", &self.benchmarks)?;
        once("apps", &self.apps)?;
        once("hosts", &self.hosts)?;
        let is_host = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        for host in &self.hosts {
            if host.is_empty() || host.starts_with(['-', '.']) || !host.chars().all(is_host) {
                return Err(format!(
                    "hosts: \"{}\" is not the name of a node",
                    host.escape_debug()
                ));
            }
        }
        within("boots", self.boots, 1..=1000)?;
        within("perturb", self.perturb, 0..=100)?;
        within("slurm.cpus", self.slurm.cpus, 1..=4096)?;
        within("slurm.build.cpus", self.slurm.build.cpus, 1..=4096)?;
        within("slurm.array", self.slurm.array, 1..=1_000_000)?;
        if self
            .samples
            .is_some_and(|samples| !(1..=1024).contains(&samples))
        {
            return Err("samples: must be 1 to 1024".into());
        }
        let positive =
            |number: Option<f64>| number.is_none_or(|number| number > 0.0 && number.is_finite());
        if !positive(self.budget.core_hours) || !positive(self.budget.cell_minutes) {
            return Err("budget: core_hours and cell_minutes must be above 0".into());
        }
        if self.post {
            self.check_post()?;
        }
        let cache = self.slurm.cache.as_ref();
        if cache.is_some_and(|cache| !cache.starts_with('/')) {
            return Err("slurm.cache: must be an absolute path; %N is the node's name".into());
        }
        let mut kernels = self.kernels.iter().enumerate();
        kernels.try_for_each(|(index, kernel)| {
            kernel
                .check()
                .map_err(|what| format!("kernel[{index}]: {what}"))
        })
    }

    /// Checks that nodes post the same results as `collect` would add.
    fn check_post(&self) -> Result<(), String> {
        match self.cells {
            Cells::Machine => Ok(()),
            Cells::Benchmark => Err(
                "post needs cells = \"machine\": a result of one benchmark is not a result of its machine".into(),
            ),
        }
    }
}

impl Kernel {
    fn check(&self) -> Result<(), String> {
        let is_word = |text: &str| !text.is_empty() && !text.starts_with('-');
        match self {
            Self::Package(kernel) => {
                let good = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
                match is_word(&kernel.package) && kernel.package.chars().all(good) {
                    true => Ok(()),
                    false => Err("package: name a version of the lab's, as \"6.12\"".into()),
                }
            }
            Self::Built(_) => Ok(()),
            Self::Tree(tree) => {
                if tree.every == 0 {
                    return Err("every: must be 1 or more".into());
                }
                let commits = match &tree.commits {
                    Commits::Range(range) => vec![range],
                    Commits::List(list) => list.iter().collect(),
                };
                match !commits.is_empty() && commits.iter().all(|commit| is_word(commit)) {
                    true => Ok(()),
                    false => Err("commits: name a range, as \"v6.12..v6.13\", or commits".into()),
                }
            }
        }
    }
}

fn once(field: &str, names: &[String]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(twice) => Err(format!(
            "{field}: \"{}\" is named twice",
            twice.escape_debug()
        )),
    }
}

fn within(field: &str, number: u32, range: std::ops::RangeInclusive<u32>) -> Result<(), String> {
    match range.contains(&number) {
        true => Ok(()),
        false => Err(format!(
            "{field}: must be {} to {}",
            range.start(),
            range.end()
        )),
    }
}

#[cfg(test)]
#[path = "campaign_tests.rs"]
mod tests;
