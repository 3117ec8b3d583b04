//! Explains the found commit. Builds and records its kernel and its parent's again, because the search keeps only one
//! kernel.

use super::look::machine;
use super::say;
use crate::cli::lab::BisectArgs;
use anyhow::{Context, bail};
use std::path::Path;
use ws_explain::diff::Difference;
use ws_explain::explained::Explained;
use ws_kernels::build::Builder;
use ws_kernels::tree::{Commit, Tree};
use ws_recorder::Explainer;
use ws_runner::Session;
use ws_terminal::Progress;

/// Explains found commits.
pub struct Explainers<'a> {
    pub args: &'a BisectArgs,
    pub tree: &'a Tree,
    pub builder: &'a Builder,
    /// Folder of build logs.
    pub folder: &'a Path,
    pub session: &'a Session,
}

impl Explainers<'_> {
    /// Compares the functions that the commit and its first parent execute.
    ///
    /// # Errors
    /// The commit has no parent, a kernel can't be built or recorded, or the user stopped the command. The search's
    /// result stands in each case.
    pub fn difference(&self, found: &Commit) -> anyhow::Result<Difference> {
        let parent = self.tree.commit(&format!("{}^", found.id))?;
        say(&format!(
            "{} and {} are built again, to see which functions changed",
            parent.short(),
            found.short()
        ));
        let before = self.explain(&parent)?;
        let after = self.explain(found)?;
        Ok(Difference::of(&before, &after)?)
    }

    fn explain(&self, commit: &Commit) -> anyhow::Result<Explained> {
        self.tree.check_out(commit)?;
        let folder = self.folder.join(commit.short());
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("can't make {}", folder.display()))?;
        let log = folder.join("build-again.log");
        let progress = Progress::new(false);
        let built = self
            .builder
            .build(self.tree, commit, &log, &self.session.stop, &progress)?;
        if let Err(why) = built {
            bail!("{}: {why}", commit.short());
        }
        let explainer = Explainer {
            benchmark: &self.args.bench,
            parts: &self.args.parts.to_parts(),
            without: &[],
            debug: &[],
            session: self.session,
        };
        let explained = explainer
            .explain(&machine(self.args, self.tree)?)
            .with_context(|| commit.short().to_owned())?;
        let mut explained = explained.context("stopped")?;
        // Both are built in one folder, so its path would not tell them apart.
        explained.platform = format!("{} of {}", self.args.on, commit.short());
        Ok(explained)
    }
}
