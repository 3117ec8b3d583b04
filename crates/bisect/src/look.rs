//! Builds, boots and measures the kernel of one commit.

use crate::search::{Search, say};
use crate::{Measured, show};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ws_analysis::Figure;
use ws_kernels::tree::Commit;
use ws_machines::platforms;
use ws_runner::{Benchmarks, Output, RunSpec, measure, parts};
use ws_terminal::{Progress, Stopped, time};

/// Measurement of a commit, or the reason why it was skipped.
pub(crate) type Look = Result<Measured, String>;

impl Measured {
    /// The figure and its band.
    pub(crate) fn text(&self) -> String {
        let band = show::band(&self.figure);
        let insns = show::number(self.figure.insns);
        match band.is_empty() {
            true => insns,
            false => format!("{insns} ({band})"),
        }
    }
}

impl Search<'_> {
    /// Builds `commit`, which is checked out, and boots it `boots` times, not counting perturbed boots.
    pub(crate) fn look(&mut self, commit: &Commit, boots: u32) -> anyhow::Result<Look> {
        say(&format!("{}: building: {}", commit.short(), commit.subject));
        let (folder, took) = match self.build(commit, "build.log")? {
            Ok(built) => built,
            Err(why) => return Ok(Err(why)),
        };
        // New for each commit: resources cache what the machine's files contain.
        let resources = parts::resources(&self.asked.parts);
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
                self.asked.bench,
                measured.text()
            ));
            self.known.insert(digest, measured.clone());
        }
        Ok(look)
    }

    /// Builds `commit`, which is checked out. Returns the commit's folder, which has the log, and the time that the
    /// build took; or the reason why the commit can't be built.
    pub(crate) fn build(
        &self,
        commit: &Commit,
        log: &str,
    ) -> anyhow::Result<Result<(PathBuf, Duration), String>> {
        let folder = self.folder().join(commit.short());
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("can't make {}", folder.display()))?;
        let (log, stop) = (folder.join(log), &self.session.stop);
        let progress = Progress::new(false);
        let built = self
            .builder
            .build(&self.tree, commit, &log, stop, &progress)?;
        Ok(built.map(|took| (folder, took)))
    }

    fn boot(&self, commit: &Commit, boots: u32, folder: &Path) -> anyhow::Result<Look> {
        let spec = RunSpec {
            platforms: vec![self.platform.clone()],
            benchmarks: Benchmarks::Named(vec![self.asked.bench.clone()]),
            boots: Some(boots),
            perturb: Some(self.asked.perturb),
            parts: self.asked.parts.clone(),
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
        Ok(match Figure::of(&result, &self.asked.bench) {
            Ok(figure) => Ok(Measured {
                result,
                figure,
                booted: commit.clone(),
            }),
            Err(why) => Err(format!("{}: {why}", self.asked.bench)),
        })
    }
}
