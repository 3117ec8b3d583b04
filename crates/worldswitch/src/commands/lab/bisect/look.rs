//! Builds, boots and measures the kernel of one commit.

use super::say;
use crate::cli::lab::BisectArgs;
use crate::shared::figure::{self, number};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::Path;
use ws_analysis::Figure;
use ws_kernels::build::Builder;
use ws_kernels::tree::{Commit, Tree};
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_results::ResultFile;
use ws_runner::{Benchmarks, Output, RunSpec, Session, measure, parts};
use ws_terminal::{Progress, Stopped, time};

/// A kernel with its figure.
#[derive(Clone, Debug)]
pub struct Measured {
    pub result: ResultFile,
    pub figure: Figure,
    /// Commit that was booted: an earlier one if its kernel was byte for byte the same.
    pub booted: Commit,
}

impl Measured {
    /// The figure and its band.
    pub fn text(&self) -> String {
        let band = figure::band(&self.figure);
        let insns = number(self.figure.insns);
        match band.is_empty() {
            true => insns,
            false => format!("{insns} ({band})"),
        }
    }
}

/// Measurement of a commit, or the reason why it was skipped.
pub type Look = Result<Measured, String>;

/// Names the user's machine with the kernel in the tree's `out`.
///
/// # Errors
/// The cache's path can't be part of a platform's name.
pub fn machine(args: &BisectArgs, tree: &Tree) -> anyhow::Result<PlatformName> {
    let out = tree.out();
    let path = out
        .to_str()
        .with_context(|| format!("{} is not UTF-8: use another --cache", out.display()))?;
    Ok(PlatformName {
        variant: Some(path.to_owned()),
        ..args.on.clone()
    })
}

/// Measures commits that are checked out.
pub struct Looker<'a> {
    args: &'a BisectArgs,
    tree: &'a Tree,
    builder: &'a Builder,
    /// Folder of results and logs.
    folder: &'a Path,
    session: &'a Session,
    platform: PlatformName,
    /// Earlier measurements by the machine's digest: the same machine gives the same figures.
    known: BTreeMap<String, Measured>,
}

impl<'a> Looker<'a> {
    /// A looker without measurements.
    pub fn new(
        args: &'a BisectArgs,
        tree: &'a Tree,
        builder: &'a Builder,
        folder: &'a Path,
        session: &'a Session,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            platform: machine(args, tree)?,
            args,
            tree,
            builder,
            folder,
            session,
            known: BTreeMap::new(),
        })
    }

    /// Builds `commit`, which is checked out, and boots it `boots` times, not counting perturbed boots.
    pub fn look(&mut self, commit: &Commit, boots: u32) -> anyhow::Result<Look> {
        let folder = self.folder.join(commit.short());
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("can't make {}", folder.display()))?;
        say(&format!("{}: building: {}", commit.short(), commit.subject));
        let log = folder.join("build.log");
        let progress = Progress::new(false);
        let built = self
            .builder
            .build(self.tree, commit, &log, &self.session.stop, &progress)?;
        let took = match built {
            Ok(took) => took,
            Err(why) => return Ok(Err(why)),
        };
        // New for each commit: resources cache what the machine's files contain.
        let resources = parts::resources(&self.args.parts.to_parts());
        let machine = match platforms::open(&self.platform, &resources) {
            Ok(machine) => machine,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let digest = machine.description().digest.clone().unwrap_or_default();
        if let Some(known) = self.known.get(&digest) {
            say(&format!(
                "{}: the same kernel as {}, so not booted",
                commit.short(),
                known.booted.short()
            ));
            return Ok(Ok(known.clone()));
        }
        say(&format!(
            "{}: built in {}; booting it",
            commit.short(),
            time::short(took)
        ));
        let look = self.boot(commit, boots, &folder)?;
        if let Ok(measured) = &look {
            say(&format!(
                "{}: {} counts {}",
                commit.short(),
                self.args.bench,
                measured.text()
            ));
            self.known.insert(digest, measured.clone());
        }
        Ok(look)
    }

    fn boot(&self, commit: &Commit, boots: u32, folder: &Path) -> anyhow::Result<Look> {
        let spec = RunSpec {
            platforms: vec![self.platform.clone()],
            benchmarks: Benchmarks::Named(vec![self.args.bench.clone()]),
            boots: Some(boots),
            perturb: Some(self.args.perturb),
            parts: self.args.parts.to_parts(),
            output: Output {
                folder: Some(folder.to_owned()),
                force: true,
            },
            ..RunSpec::default()
        };
        let measured = measure(&spec, None, self.session);
        if self.session.stop.requested() {
            return Err(Stopped.into());
        }
        let measured = match measured {
            Ok(measured) => measured,
            Err(error) => return Ok(Err(format!("{error:#}"))),
        };
        if let Some(problem) = measured.problems.first() {
            if problem.broken {
                bail!("{}", problem.text);
            }
            return Ok(Err(problem.text.clone()));
        }
        let Some(result) = measured.results.into_iter().next() else {
            return Ok(Err("nothing was measured".into()));
        };
        Ok(match Figure::of(&result, &self.args.bench) {
            Ok(figure) => Ok(Measured {
                result,
                figure,
                booted: commit.clone(),
            }),
            Err(why) => Err(format!("{}: {why}", self.args.bench)),
        })
    }
}
